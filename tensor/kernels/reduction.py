"""Reductions: sums, products, extremes along any dimensions, always in the same order.

The elements that make up one result are taken in row-major order, in chunks of `CHUNK`. Within a chunk, element i goes to lane
i mod `LANES`; the lanes are then combined pairwise, and the chunks are combined pairwise in turn (a binary counter). So the bits
of a result depend on the values and their order only: not on strides, vector width, or threads.

A loop is ``loop(n, x, step, m, gap, out, out_gap)``: m results from n elements each; strides are in bytes. With the gap `COMBINE`, `x` are m values `step` bytes
apart: those of n pieces of equal size, a power of two chunks, and where m > n that of the shorter piece behind them; the result is that of all their elements.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import b1, call_pointer, cast, fail, i64, kernel, local, memcpy, minimum, ptr, sizeof, typeof, u8, unrolled
from jitlang.tensor.kernels.arithmetic import absolute
from jitlang.tensor.kernels.iteration import coalesce, order_dimensions
from jitlang.tensor.kernels.parallel import SPLIT, leave_python_for
from jitlang.tensor.kernels.pointwise import copy_into
from jitlang.tensor.kernels.reduction_threads import CHUNK, COMBINE, WIDTH, share_reduction
from jitlang.tensor.kernels.scalars import convert
from jitlang.tensor.kernels.tensors import empty, finish, new_view, release
from jitlang.tensor.kernels.views import contiguous
from jitlang.tensor.layout import MAX_RANK, Iteration, LoopTable, TensorImpl
from jitlang.tensor.loops import loop_of
from jitlang.tensor.promotion import item_bytes
from jitlang.types import VOID

Tensor = ptr[TensorImpl]
LANES = 32
LEVELS = 40

LOOP_ARGUMENTS = (i64, ptr[u8], i64, i64, i64, ptr[u8], i64)


# ---- loops --------------------------------------------------------------------------------------------------------


@kernel
def reduce_loop(op: Any, prepare: Any, initial: Any, T: Any, S: Any, n: i64, x: ptr[u8], step: i64, m: i64, gap: i64, out: ptr[u8], out_gap: i64) -> None:
    """Reduces with `op` from `initial`, each element passed through `prepare`; T is the elements' type, S the results'."""
    if gap == COMBINE:
        combine(op, initial, S, n, x, step, m > n, out)
        return
    if gap == sizeof(T) and step != sizeof(T) and m > 1:
        done = 0
        while done < m:
            width = minimum(m - done, WIDTH)
            if width == WIDTH:
                columns(op, prepare, initial, T, S, n, x + done * gap, step, WIDTH, out + done * out_gap, out_gap)
            else:
                columns(op, prepare, initial, T, S, n, x + done * gap, step, width, out + done * out_gap, out_gap)
            done += width
        return
    for i in range(m):
        cast(ptr[S], out + i * out_gap)[0] = row(op, prepare, initial, T, S, n, x + i * gap, step)


@kernel
def row(op: Any, prepare: Any, initial: Any, T: Any, S: Any, n: i64, x: ptr[u8], step: i64) -> Any:
    """One result."""
    parts = local(S, LEVELS)
    parts[0] = S(initial)
    lanes = local(S, LANES)
    count = 0
    done = 0
    while done < n:
        size = minimum(n - done, CHUNK)
        one_chunk(op, prepare, initial, T, S, lanes, size, x + done * step, step)
        value = lanes[0]
        level = 0
        while (count >> level) & 1 == 1:
            value = op(parts[level], value)
            level += 1
        parts[level] = value
        count += 1
        done += size
    return remaining(op, S, parts, count, S(initial), False)


@kernel
def remaining(op: Any, S: Any, parts: Any, count: i64, result: Any, some: Any) -> Any:
    """Combines what a binary counter of chunks holds, later chunks first, behind which stands `result` if there is `some`."""
    for level in range(LEVELS):
        if (count >> level) & 1 == 1:
            result = op(parts[level], result) if some else parts[level]
            some = True
    return result


@kernel(inline="never")
def combine(op: Any, initial: Any, S: Any, n: i64, x: ptr[u8], step: i64, more: b1, out: ptr[u8]) -> None:
    """The result from the values of n pieces and, if there is `more`, of a shorter one."""
    parts = local(S, LEVELS)
    for count in range(n):
        value = cast(ptr[S], x + count * step)[0]
        level = 0
        while (count >> level) & 1 == 1:
            value = op(parts[level], value)
            level += 1
        parts[level] = value
    last = S(initial)
    if more:
        last = cast(ptr[S], x + n * step)[0]
    cast(ptr[S], out)[0] = remaining(op, S, parts, n, last, more)


@kernel
def one_chunk(op: Any, prepare: Any, initial: Any, T: Any, S: Any, lanes: Any, size: i64, x: ptr[u8], step: i64) -> None:
    """Reduces one chunk into lane 0."""
    for j in range(LANES):
        lanes[j] = S(initial)
    whole = size // LANES
    if step == sizeof(T):
        p = cast(ptr[T], x)
        for k in range(whole):
            for j in range(LANES):
                lanes[j] = op(lanes[j], prepare(S, p[k * LANES + j]))
    else:
        for k in range(whole):
            for j in range(LANES):
                lanes[j] = op(lanes[j], prepare(S, cast(ptr[T], x + (k * LANES + j) * step)[0]))
    for j in range(size - whole * LANES):
        lanes[j] = op(lanes[j], prepare(S, cast(ptr[T], x + (whole * LANES + j) * step)[0]))
    for half in unrolled((16, 8, 4, 2, 1)):
        for j in range(half):
            lanes[j] = op(lanes[j], lanes[j + half])


@kernel
def columns(op: Any, prepare: Any, initial: Any, T: Any, S: Any, n: i64, x: ptr[u8], step: i64, width: Any, out: ptr[u8], out_gap: i64) -> None:
    """Neighbouring results side by side."""
    lanes = local(S, LANES * WIDTH)
    parts = local(S, LEVELS * WIDTH)
    used = LANES
    # A lane that gets no element holds the neutral value, so leaving it out changes no bit.
    while used > 1 and used >= 2 * n:
        used = used >> 1
    count = 0
    done = 0
    while done < n:
        size = minimum(n - done, CHUNK)
        for j in range(used * WIDTH):
            lanes[j] = S(initial)
        for k in range(size):
            p = cast(ptr[T], x + (done + k) * step)
            a = lanes + (k % used) * WIDTH
            for c in range(width):
                a[c] = op(a[c], prepare(S, p[c]))
        half = used >> 1
        while half > 0:
            for j in range(half * WIDTH):
                lanes[j] = op(lanes[j], lanes[j + half * WIDTH])
            half = half >> 1
        level = 0
        while (count >> level) & 1 == 1:
            for c in range(width):
                lanes[c] = op(parts[level * WIDTH + c], lanes[c])
            level += 1
        for c in range(width):
            parts[level * WIDTH + c] = lanes[c]
        count += 1
        done += size
    for c in range(width):
        result = S(initial)
        some = False
        for level in range(LEVELS):
            if (count >> level) & 1 == 1:
                result = op(parts[level * WIDTH + c], result) if some else parts[level * WIDTH + c]
                some = True
        cast(ptr[S], out + c * out_gap)[0] = result


@kernel
def as_is(S: Any, x: Any) -> Any:
    """The element as the result's type."""
    return convert(S, x)


@kernel
def magnitude(S: Any, x: Any) -> Any:
    """|x|."""
    return absolute(convert(S, x))


@kernel
def squared(S: Any, x: Any) -> Any:
    """x²."""
    v = convert(S, x)
    return v * v


@kernel
def is_set(S: Any, x: Any) -> Any:
    """1 unless x is zero."""
    return S(u8(x != typeof(x)(0)))


@kernel
def count_set(S: Any, x: Any) -> Any:
    """1 unless x is zero, as a count."""
    return S(i64(x != typeof(x)(0)))


# ---- driver -------------------------------------------------------------------------------------------------------


@kernel(extern=True)
def reduced_view(self: Tensor, mask: i64) -> Tensor:
    """The tensor with the dimensions in `mask` behind the others and joined to one; copied where they do not join."""
    t = new_view(self, self.rank, 0)
    at = 0
    kept = 0
    for d in range(self.rank):
        if (mask >> d) & 1 == 0:
            t.sizes[at] = self.sizes[d]
            t.strides[at] = self.strides[d]
            at += 1
    kept = at
    for d in range(self.rank):
        if (mask >> d) & 1 != 0:
            t.sizes[at] = self.sizes[d]
            t.strides[at] = self.strides[d]
            at += 1
    finish(t)
    joined = joined_tail(t, kept)
    if joined:
        return t
    dense = contiguous(t)
    release(t)
    u = new_view(dense, dense.rank, 0)
    memcpy(u.sizes, dense.sizes, MAX_RANK * 8)
    memcpy(u.strides, dense.strides, MAX_RANK * 8)
    finish(u)
    release(dense)
    joined_tail(u, kept)
    return u


@kernel
def joined_tail(t: Tensor, kept: i64) -> b1:
    """Joins the dimensions from `kept` on to one, if they are one run; says whether they were."""
    size, stride = 1, 1
    started = False
    fits = True
    total = 1
    for d in range(kept, t.rank):
        total = total * t.sizes[d]
    for back in range(t.rank - kept):
        d = t.rank - 1 - back
        if t.sizes[d] != 1:
            if not started:
                stride = t.strides[d]
                started = True
            elif t.strides[d] != size * stride:
                fits = False
            size = size * t.sizes[d]
    if fits or total == 0:
        t.sizes[kept] = total
        t.strides[kept] = stride
        t.rank = kept + 1
        fits = True
    return fits


@kernel(extern=True)
def reduce(table: ptr[LoopTable], self: Tensor, mask: i64, keepdim: i64, dtype: i64) -> Tensor:
    """A new tensor: the dimensions in `mask` reduced by the loops of `table`, which give elements of `dtype`."""
    loop = loop_of(table, self.dtype)
    result = empty_result(self, mask, keepdim, dtype)
    if self.numel == 0 and result.numel == 0:
        return result
    if self.rank == 0:
        # One element is a reduction of one step.
        call_pointer(VOID, loop, 1, self.data, 0, 1, 0, result.data, 0)
        return result
    reduce_into(loop, self, mask, result)
    return result


@kernel(extern=True)
def empty_result(self: Tensor, mask: i64, keepdim: i64, dtype: i64) -> Tensor:
    """The uninitialised result of a reduction."""
    sizes = local(i64, MAX_RANK)
    rank = 0
    for d in range(self.rank):
        if (mask >> d) & 1 == 0:
            sizes[rank] = self.sizes[d]
            rank += 1
        elif keepdim != 0:
            sizes[rank] = 1
            rank += 1
    return empty(rank, sizes, dtype)


@kernel(extern=True)
def reduce_into(loop: ptr[u8], self: Tensor, mask: i64, result: Tensor) -> None:
    """Runs a reduction loop over everything that is kept."""
    t = reduced_view(self, mask)
    kept = t.rank - 1
    item = item_bytes(self.dtype)
    n, step = t.sizes[kept], t.strides[kept] * item
    it = local(Iteration, 1)
    it.count = 2
    it.rank = kept
    it.data[0] = result.data
    it.data[1] = t.data
    gap = item_bytes(result.dtype)
    for back in range(kept):
        d = kept - 1 - back
        it.sizes[d] = t.sizes[d]
        it.strides[d] = gap
        it.strides[MAX_RANK + d] = t.strides[d] * item
        gap = gap * t.sizes[d]
    order_both(it)
    coalesce(it)
    if self.numel < SPLIT:
        walk(loop, it, n, step)
    else:
        share_reduction(loop, it, n, step, item, item_bytes(result.dtype))
    release(t)


@kernel
def order_both(it: ptr[Iteration]) -> None:
    """Puts the dimensions fastest first by the input's strides, the result's along with them."""
    kept = local(i64, MAX_RANK)
    for d in range(it.rank):
        kept[d] = it.strides[d]
    order_dimensions(it, 1)
    for d in range(it.rank):
        it.strides[d] = kept[it.order[d]]


@kernel
def walk(loop: ptr[u8], it: ptr[Iteration], n: i64, step: i64) -> None:
    """Calls a reduction loop for each run of kept elements."""
    m, gap, out_gap = 1, 0, 0
    if it.rank > 0:
        m, gap, out_gap = it.sizes[0], it.strides[MAX_RANK], it.strides[0]
    total = 1
    for d in range(1, it.rank):
        total = total * it.sizes[d]
    at = local(i64, MAX_RANK)
    for d in range(MAX_RANK):
        at[d] = 0
    out, x = it.data[0], it.data[1]
    for _ in range(total):
        call_pointer(VOID, loop, n, x, step, m, gap, out, out_gap)
        for d in range(1, it.rank):
            at[d] = at[d] + 1
            out = out + it.strides[d]
            x = x + it.strides[MAX_RANK + d]
            if at[d] < it.sizes[d]:
                break
            out = out - it.strides[d] * it.sizes[d]
            x = x - it.strides[MAX_RANK + d] * it.sizes[d]
            at[d] = 0


@kernel
def all_dims(self: Tensor) -> i64:
    """The mask of all dimensions."""
    return (1 << self.rank) - 1


@kernel
def count_of(self: Tensor, mask: i64) -> i64:
    """How many elements make up one result."""
    count = 1
    for d in range(self.rank):
        if (mask >> d) & 1 != 0:
            count = count * self.sizes[d]
    return count


@kernel
def refuse_empty(self: Tensor, mask: i64, name: Any) -> None:
    """Raises where a result would be made of no element and has no neutral one."""
    for d in range(self.rank):
        if (mask >> d) & 1 != 0 and self.sizes[d] == 0:
            fail("IndexError", f"{name}(): Expected reduction dim {{}} to have non-zero size.", d)


# ---- places of extremes ---------------------------------------------------------------------------------------------


@kernel
def place_loop(T: Any, n: i64, x: ptr[u8], step: i64, m: i64, gap: i64, best: ptr[u8], best_gap: i64, out: ptr[u8], out_gap: i64) -> None:
    """For each of m results, the first of n elements that equals `best` (or is NaN where that is)."""
    for i in range(m):
        wanted = cast(ptr[T], best + i * best_gap)[0]
        p = x + i * gap
        at = 0
        while at < n - 1:
            v = cast(ptr[T], p + at * step)[0]
            if v == wanted or v != v:
                break
            at += 1
        cast(ptr[i64], out + i * out_gap)[0] = at


PLACE_ARGUMENTS = (i64, ptr[u8], i64, i64, i64, ptr[u8], i64, ptr[u8], i64)


@kernel(extern=True)
def places(table: ptr[LoopTable], self: Tensor, mask: i64, best: Tensor, result: Tensor) -> None:
    """Fills `result` with the places of the extremes `best`; both are row-major and of one shape."""
    loop = loop_of(table, self.dtype)
    if result.numel == 0:
        return
    t = reduced_view(self, mask)
    dense = contiguous(t)
    item = item_bytes(self.dtype)
    n = dense.sizes[dense.rank - 1]
    leave_python_for(self.numel)
    call_pointer(VOID, loop, n, dense.data, item, result.numel, n * item, best.data, item, result.data, 8)
    release(dense)
    release(t)


# ---- running totals -------------------------------------------------------------------------------------------------


@kernel
def scan_loop(op: Any, T: Any, n: i64, data: ptr[ptr[u8]], strides: ptr[i64]) -> None:
    """Running results along one dimension."""
    o, a = data[0], data[1]
    so, sa = strides[0], strides[1]
    total = cast(ptr[T], a)[0]
    cast(ptr[T], o)[0] = total
    for i in range(1, n):
        total = op(total, cast(ptr[T], a + i * sa)[0])
        cast(ptr[T], o + i * so)[0] = total


@kernel(extern=True)
def scan(table: ptr[LoopTable], self: Tensor, dim: i64) -> Tensor:
    """A new row-major tensor of running results along `dim`."""
    loop = loop_of(table, self.dtype)
    result = empty(self.rank, self.sizes, self.dtype)
    if self.numel == 0:
        return result
    if self.rank == 0:
        copy_into(result, self)
        return result
    item = item_bytes(self.dtype)
    data, strides = local(ptr[u8], 2), local(i64, 2)
    strides[0] = result.strides[dim] * item
    strides[1] = self.strides[dim] * item
    at = local(i64, MAX_RANK)
    for d in range(MAX_RANK):
        at[d] = 0
    data[0], data[1] = result.data, self.data
    leave_python_for(self.numel)
    for _ in range(self.numel // self.sizes[dim]):
        call_pointer(VOID, loop, self.sizes[dim], data, strides)
        for back in range(self.rank):
            d = self.rank - 1 - back
            if d == dim:
                continue
            at[d] = at[d] + 1
            data[0] = data[0] + result.strides[d] * item
            data[1] = data[1] + self.strides[d] * item
            if at[d] < self.sizes[d]:
                break
            data[0] = data[0] - result.strides[d] * item * self.sizes[d]
            data[1] = data[1] - self.strides[d] * item * self.sizes[d]
            at[d] = 0
    return result
