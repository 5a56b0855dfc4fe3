"""Matrix products: out[i, j] = bias[j] + Σ a[i, k] · b[k, j], blocked for the caches, around the tiles of `jitlang.native.tiles`.

The law: every element has one accumulator, which takes its terms with k ascending by fused multiply-adds; the bias comes last. Which blocks, packed
or not, how many threads: none of it changes a bit.

`b` is read from panels, each as wide as a tile, k after k. They come from `packed` (see `jitlang.tensor.kernels.packs`), are made on the way,
or, where rows of `b` are dense and few rows of `a` use them, are `b` itself.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import (
    addr,
    array,
    atomic_store,
    b1,
    call_pointer,
    cast,
    check,
    extern,
    f32,
    f64,
    function_pointer,
    i64,
    kernel,
    maximum,
    memcpy,
    minimum,
    null,
    ptr,
    shared,
    sizeof,
    struct,
    u8,
    unlikely,
)
from jitlang.tensor.kernels.parallel import leave_python, parallel
from jitlang.tensor.layout import MAX_RANK
from jitlang.tensor.loops import Loop, loop_of, static
from jitlang.tensor.memory import allocate, release_block
from jitlang.types import VOID, DType, machine_type

DEPTH_BYTES = 3072  # how much of a row is multiplied at a time: a tile's rows then stay in the first-level cache
DIRECT_DEPTH = 64  # the same where panels are b itself, whose rows then are read side by side
AHEAD_BYTES = 4096  # how far ahead a panel is fetched
BLOCK_ROWS = 96  # rows of a block at most, which stays in the second-level cache
WHOLE_ROWS = 64  # up to so many rows, a row block is read from `a` itself
MANY_PANELS = 48
CHUNKS = 16  # about so many chunks at least, where there is enough to do
CHUNK_WORK = 1 << 20  # multiply-adds of a chunk at least: some 20 µs
ROW_WORK = 8  # reading a panel costs as much as multiplying it with so many rows


@struct
class Tiles:
    """See `jitlang.native.tiles`."""

    width32: i64
    rows32: i64
    vectors32: i64
    width64: i64
    rows64: i64
    vectors64: i64
    spare: array[i64, 2]


@struct
class Product:
    """A product, or a batch of them. Strides count elements; those of dimensions of the batch stand in `a_steps` and `b_steps`.

    `out` holds the products one after the other, each with rows of `out_row` elements. The other fields are for `multiply`.
    """

    m: i64
    n: i64
    k: i64
    a: ptr[u8]
    a_row: i64
    a_k: i64
    b: ptr[u8]
    b_k: i64
    b_column: i64
    out: ptr[u8]
    out_row: i64
    out_step: i64
    bias: ptr[u8]
    packed: ptr[u8]
    batch_rank: i64
    batch_sizes: array[i64, MAX_RANK]
    a_steps: array[i64, MAX_RANK]
    b_steps: array[i64, MAX_RANK]
    panels: i64
    block_rows: i64
    row_blocks: i64
    column_blocks: i64
    failed: i64


TILES = shared("jl.tiles.geometry", Tiles)

_tile_arguments = [i64, i64, i64, i64, ptr[u8], i64, ptr[u8], i64, ptr[u8], i64, ptr[u8], i64, ptr[u8]]
_turn_arguments = [i64, i64, ptr[u8], i64, ptr[u8], i64]
tiles32 = extern("jl.tiles.f32", _tile_arguments)
tiles64 = extern("jl.tiles.f64", _tile_arguments)
turn32 = extern("jl.tiles.f32.turn", _turn_arguments)
turn64 = extern("jl.tiles.f64.turn", _turn_arguments)


@kernel
def tile_width(T: Any) -> i64:
    """Lanes of a register."""
    if T is f32:
        return TILES.width32
    return TILES.width64


@kernel
def tile_rows(T: Any) -> i64:
    """Rows of a tile."""
    if T is f32:
        return TILES.rows32
    return TILES.rows64


@kernel
def panel_columns(T: Any) -> i64:
    """Columns of a panel."""
    if T is f32:
        return TILES.width32 * TILES.vectors32
    return TILES.width64 * TILES.vectors64


@kernel
def tiles(
    T: Any, m: i64, vectors: i64, lanes: i64, k: i64, a: Any, a_row: i64, b: Any, b_k: i64, out: Any, out_row: i64, bias: Any, more: i64, ahead: Any
) -> None:
    """All rows of one panel."""
    x, y, z, w, f = cast(ptr[u8], a), cast(ptr[u8], b), cast(ptr[u8], out), cast(ptr[u8], bias), cast(ptr[u8], ahead)
    if T is f32:
        tiles32(m, vectors, lanes, k, x, a_row, y, b_k, z, out_row, w, more, f)
    else:
        tiles64(m, vectors, lanes, k, x, a_row, y, b_k, z, out_row, w, more, f)


# ---- packing ------------------------------------------------------------------------------------------------------------


@kernel
def packed_columns(T: Any, n: i64) -> i64:
    """The columns of all panels: whole registers."""
    return -(-n // tile_width(T)) * tile_width(T)


@kernel
def turn(T: Any, k: i64, rows: i64, source: Any, ld: i64, target: Any, pitch: i64) -> None:
    """Rows to columns, for at least a register's width of k."""
    x, y = cast(ptr[u8], source), cast(ptr[u8], target)
    if T is f32:
        turn32(k, rows, x, ld, y, pitch)
    else:
        turn64(k, rows, x, ld, y, pitch)


@kernel(inline="never")
def pack(T: Any, k: i64, columns: i64, b: Any, b_k: i64, b_column: i64, pitch: i64, target: Any) -> None:
    """Writes columns of `b` side by side, k after k; what stands in the rest of the last register is a number, but of no use."""
    width = tile_width(T)
    if b_k == 1 and k >= width:
        done = 0
        while done < columns:
            turn(T, k, minimum(width, columns - done), b + done * b_column, b_column, target + done, pitch)
            done += width
        return
    for i in range(k):
        source, row = b + i * b_k, target + i * pitch
        if b_column == 1:
            for j in range(columns):
                row[j] = source[j]
        else:
            for j in range(columns):
                row[j] = source[j * b_column]
        for j in range(columns, pitch):
            row[j] = T(0.0)


@kernel(inline="never")
def pack_chunk(T: Any, p: ptr[Product], index: i64) -> None:
    """Packs one panel."""
    width, panel = tile_width(T), panel_columns(T)
    at = index * panel
    columns = minimum(panel, p.n - at)
    pitch = -(-columns // width) * width
    pack(T, p.k, columns, cast(ptr[T], p.b) + at * p.b_column, p.b_k, p.b_column, pitch, cast(ptr[T], p.packed) + at * p.k)


@kernel
def pack_f32(p: ptr[u8], index: i64) -> None:
    """`pack_chunk` for f32."""
    pack_chunk(f32, cast(ptr[Product], p), index)


@kernel
def pack_f64(p: ptr[u8], index: i64) -> None:
    """`pack_chunk` for f64."""
    pack_chunk(f64, cast(ptr[Product], p), index)


@kernel
def pack_all(T: Any, p: ptr[Product]) -> None:
    """Packs `b` into `packed`, which has room for it."""
    panel = panel_columns(T)
    count = -(-p.n // panel)
    if T is f32:
        function = function_pointer(pack_f32, ptr[u8], i64)
    else:
        function = function_pointer(pack_f64, ptr[u8], i64)
    if p.k * p.n < CHUNK_WORK // 4:
        for i in range(count):
            pack_chunk(T, p, i)
    else:
        parallel(function, cast(ptr[u8], p), count)


# ---- one chunk: some rows, some panels ----------------------------------------------------------------------------------


@kernel
def few_rows(T: Any, p: ptr[Product]) -> b1:
    """Whether panels that are `b` itself do better than packed ones, if its rows are dense."""
    return p.m <= 2 * tile_rows(T)


@kernel
def copied_rows(T: Any, p: ptr[Product]) -> b1:
    """Whether a block of `a` is copied, so that it is dense."""
    return p.a_k != 1 or p.m > WHOLE_ROWS


@kernel(inline="never")
def product_chunk(T: Any, p: ptr[Product], index: i64) -> None:
    """The product for one block of rows and some panels."""
    column_block = index % p.column_blocks
    rest = index // p.column_blocks
    row_block = rest % p.row_blocks
    number = rest // p.row_blocks
    a, b, out = cast(ptr[T], p.a), cast(ptr[T], p.b), cast(ptr[T], p.out) + number * p.out_step
    for d in range(p.batch_rank):
        size = p.batch_sizes[p.batch_rank - 1 - d]
        a = a + number % size * p.a_steps[p.batch_rank - 1 - d]
        b = b + number % size * p.b_steps[p.batch_rank - 1 - d]
        number = number // size
    first_row = row_block * p.block_rows
    rows = minimum(p.block_rows, p.m - first_row)
    a = a + first_row * p.a_row
    out = out + first_row * p.out_row
    width, panel = tile_width(T), panel_columns(T)
    first = column_block * p.panels * panel
    last = minimum(p.n, first + p.panels * panel)
    is_packed = p.packed != null(ptr[u8])
    direct = not is_packed and p.b_column == 1 and few_rows(T, p)
    depth = minimum(p.k, DIRECT_DEPTH if direct else DEPTH_BYTES // sizeof(T))
    copied = copied_rows(T, p)
    pitch = (depth + width - 1) // width * width + width  # not a power of two, which would fall on few cache sets
    block_size = 0
    if copied:
        block_size = rows * pitch
    size = (block_size + depth * panel) * sizeof(T) + 64
    room = allocate(size)
    if unlikely(room == null(ptr[u8])):
        atomic_store(addr(p.failed), 1)
        return
    block = cast(ptr[T], room)
    packing = block + block_size
    # With several tiles to a panel there is time to fetch the next one; a single tile must keep close to what it reads.
    ahead = AHEAD_BYTES // sizeof(T) if rows <= tile_rows(T) else p.k * panel
    done = 0
    while True:
        now = minimum(depth, p.k - done)
        a_from, a_row = a + done, p.a_row
        if copied:
            copy_block(T, rows, now, a + done * p.a_k, p.a_row, p.a_k, block, pitch)
            a_from, a_row = block, pitch
        more = i64(done > 0)
        ends = done + now >= p.k
        at = first
        while at < last:
            columns = minimum(panel, last - at)
            vectors = (columns + width - 1) // width
            bias = null(ptr[T])
            if ends and p.bias != null(ptr[u8]):
                bias = cast(ptr[T], p.bias) + at
            if is_packed:
                source = cast(ptr[T], p.packed) + (at * p.k + done * vectors * width)
                tiles(
                    T,
                    rows,
                    vectors,
                    columns - (vectors - 1) * width,
                    now,
                    a_from,
                    a_row,
                    source,
                    vectors * width,
                    out + at,
                    p.out_row,
                    bias,
                    more,
                    source + ahead,
                )
            else:
                source = b + (done * p.b_k + at * p.b_column)
                whole = 0
                if direct:
                    whole = columns // width
                    if whole > 0:
                        tiles(T, rows, whole, width, now, a_from, a_row, source, p.b_k, out + at, p.out_row, bias, more, source)
                columns -= whole * width
                vectors -= whole
                if columns > 0:
                    pack(T, now, columns, source + whole * width * p.b_column, p.b_k, p.b_column, vectors * width, packing)
                    if bias != null(ptr[T]):
                        bias = bias + whole * width
                    tiles(
                        T,
                        rows,
                        vectors,
                        columns - (vectors - 1) * width,
                        now,
                        a_from,
                        a_row,
                        packing,
                        vectors * width,
                        out + (at + whole * width),
                        p.out_row,
                        bias,
                        more,
                        packing,
                    )
            at += panel
        done += now
        if done >= p.k:
            break
    release_block(room, size)


@kernel(inline="never")
def copy_block(T: Any, rows: i64, k: i64, a: Any, a_row: i64, a_k: i64, block: Any, pitch: i64) -> None:
    """A dense copy of a block of `a`."""
    if a_k == 1:
        for i in range(rows):
            memcpy(cast(ptr[u8], block + i * pitch), cast(ptr[u8], a + i * a_row), k * sizeof(T))
    else:
        # Rows of the source are columns of the block: this is `pack` with the roles of rows and columns exchanged.
        pack(T, rows, k, a, a_row, a_k, pitch, block)


@kernel
def product_f32(p: ptr[u8], index: i64) -> None:
    """`product_chunk` for f32."""
    product_chunk(f32, cast(ptr[Product], p), index)


@kernel
def product_f64(p: ptr[u8], index: i64) -> None:
    """`product_chunk` for f64."""
    product_chunk(f64, cast(ptr[Product], p), index)


# ---- the whole -----------------------------------------------------------------------------------------------------------


@kernel
def batch_count(p: ptr[Product]) -> i64:
    """How many products there are."""
    count = 1
    for d in range(p.batch_rank):
        count = count * p.batch_sizes[d]
    return count


@kernel
def multiply_floats(T: Any, p: ptr[Product]) -> None:
    """Splits the work into chunks and does them."""
    batch = batch_count(p)
    if p.m <= 0 or p.n <= 0 or batch <= 0:
        return
    temporary = null(ptr[u8])
    size = packed_columns(T, p.n) * p.k * sizeof(T)
    if p.packed == null(ptr[u8]) and p.m > BLOCK_ROWS and batch == 1 and p.k > 0:
        # Several blocks of rows would pack the same panels again and again.
        temporary = allocate(size)
        if unlikely(temporary == null(ptr[u8])):
            p.failed = 1
            return
        p.packed = temporary
        pack_all(T, p)
    panel = panel_columns(T)
    panels = -(-p.n // panel)
    high = tile_rows(T)
    p.block_rows = -(-p.m // (-(-p.m // BLOCK_ROWS) * high)) * high
    p.row_blocks = -(-p.m // p.block_rows)
    work = maximum(1, maximum(minimum(p.m, p.block_rows), ROW_WORK) * panel * p.k)
    least = 1
    if copied_rows(T, p):  # a chunk copies its block of `a`: a wide one does it for more panels
        least = minimum(MANY_PANELS, maximum(4, panels * p.row_blocks * batch // CHUNKS))
    p.panels = minimum(panels, maximum(least, -(-CHUNK_WORK // work)))
    p.column_blocks = -(-panels // p.panels)
    chunks = batch * p.row_blocks * p.column_blocks
    if work * panels < 3 * CHUNK_WORK // maximum(1, batch * p.row_blocks):
        for i in range(chunks):
            product_chunk(T, p, i)
    elif T is f32:
        parallel(function_pointer(product_f32, ptr[u8], i64), cast(ptr[u8], p), chunks)
    else:
        parallel(function_pointer(product_f64, ptr[u8], i64), cast(ptr[u8], p), chunks)
    if temporary != null(ptr[u8]):
        p.packed = null(ptr[u8])
        release_block(temporary, size)


@kernel
def multiply_integers(T: Any, p: ptr[Product]) -> None:
    """Integers wrap; any order gives the same."""
    for number in range(batch_count(p)):
        a, b, out = cast(ptr[T], p.a), cast(ptr[T], p.b), cast(ptr[T], p.out) + number * p.out_step
        rest = number
        for e in range(p.batch_rank):
            d = p.batch_rank - 1 - e
            a = a + rest % p.batch_sizes[d] * p.a_steps[d]
            b = b + rest % p.batch_sizes[d] * p.b_steps[d]
            rest = rest // p.batch_sizes[d]
        for i in range(p.m):
            row = out + i * p.out_row
            for j in range(p.n):
                row[j] = T(0)
            for h in range(p.k):
                x = a[i * p.a_row + h * p.a_k]
                source = b + h * p.b_k
                for j in range(p.n):
                    row[j] = row[j] + x * source[j * p.b_column]
            if p.bias != null(ptr[u8]):
                for j in range(p.n):
                    row[j] = row[j] + cast(ptr[T], p.bias)[j]


@kernel(extern=True)
def multiply_type(T: Any, p: ptr[Product]) -> None:
    """`multiply` for one type of elements."""
    if T is f32 or T is f64:
        multiply_floats(T, p)
    else:
        multiply_integers(T, p)


@kernel(extern=True)
def pack_type(T: Any, p: ptr[Product]) -> None:
    """`pack_all` for one type of elements."""
    pack_all(T, p)


@kernel(extern=True)
def packed_bytes_of(T: Any, p: ptr[Product]) -> i64:
    """The room that `pack_type` needs."""
    return packed_columns(T, p.n) * p.k * sizeof(T)


def _multiplying(dtype: DType) -> Any:
    return None if dtype.kind == "b" else multiply_type.instance(static(machine_type(dtype)), ptr[Product])


def _packing(dtype: DType) -> Any:
    return pack_type.instance(static(machine_type(dtype)), ptr[Product]) if dtype.kind == "f" else None


def _room(dtype: DType) -> Any:
    return packed_bytes_of.instance(static(machine_type(dtype)), ptr[Product]) if dtype.kind == "f" else None


MULTIPLY = Loop("addmm_impl_cpu_", _multiplying)
PACK = Loop("pack", _packing)
PACKED_BYTES = Loop("packed_bytes", _room)


@kernel
def swap_roles(p: ptr[Product]) -> None:
    """A column as a row: the same sums, a register full of them at a time."""
    p.n, p.m = p.m, p.n
    p.a, p.b = p.b, p.a
    a_row, a_k = p.a_row, p.a_k
    p.a_row, p.a_k = p.b_column, p.b_k
    p.b_column, p.b_k = a_row, a_k
    p.out_row = p.n
    for d in range(p.batch_rank):
        p.a_steps[d], p.b_steps[d] = p.b_steps[d], p.a_steps[d]


@kernel
def multiply(dtype: i64, p: ptr[Product]) -> None:
    """Does a product; raises where the dtype has none, or where there is no memory."""
    p.failed = 0
    if f64(p.m) * f64(p.n) * f64(p.k) * f64(batch_count(p)) >= f64(3 * CHUNK_WORK):
        leave_python()
    call_pointer(VOID, loop_of(MULTIPLY.table, dtype), p)
    check(p.failed == 0, "MemoryError", "out of memory: cannot allocate the blocks of a matrix product")
