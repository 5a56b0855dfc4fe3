"""Making, sharing and freeing tensors."""

from __future__ import annotations

from jitlang.codegen.library import memory as blocks
from jitlang.codegen.library.layout import List
from jitlang.frontend.kernel import (
    addr,
    array,
    atomic_add,
    atomic_load,
    b1,
    call_pointer,
    cast,
    check,
    i32,
    i64,
    kernel,
    likely,
    memcpy,
    memset,
    null,
    ptr,
    shared,
    sizeof,
    struct,
    text,
    u8,
    unlikely,
)
from jitlang.tensor.kernels.arena import drop_packs
from jitlang.tensor.layout import CONTIGUOUS, CPU, FOREIGN, HEAD, HEAD_BYTES, INLINE_BYTES, MAX_RANK, READ_ONLY, STATE_BITS, Storage, TensorImpl
from jitlang.tensor.memory import allocate, release_block
from jitlang.tensor.promotion import item_bytes
from jitlang.types import VOID

STORAGE_AT = HEAD_BYTES - 64  # where the Storage stands in a head block
MAX_BYTES = 1 << 46
TEXT_SLOTS = 64
TEXT_BYTES = 256


@struct
class Texts:
    """Shapes as text, for error messages; written round robin, so a text lives until 63 more errors were raised."""

    next: i64
    bytes: array[u8, TEXT_SLOTS * TEXT_BYTES]


TEXTS = shared("jl.tensor.texts", Texts)


# ---- life ---------------------------------------------------------------------------------------------------------


@kernel
def retain(t: ptr[TensorImpl]) -> None:
    """Adds a reference."""
    atomic_add(addr(t.references), 1)


@kernel(extern=True)
def destroy_storage(s: ptr[Storage]) -> None:
    """Frees a storage that no view uses any more, and the head block that it stands in."""
    head = cast(ptr[u8], s) - STORAGE_AT
    size = HEAD_BYTES
    if unlikely(s.state > STATE_BITS):
        drop_packs(s)
    if s.block != null(ptr[u8]):
        release_block(s.block, s.bytes)
    elif s.destroy != null(ptr[u8]):
        call_pointer(VOID, s.destroy, s.owner)
    elif s.state & FOREIGN == 0:
        size = HEAD_BYTES + s.bytes
    release_block(head, size)


@kernel
def release_storage(s: ptr[Storage]) -> None:
    """Gives up a reference to a storage."""
    if likely(atomic_load(addr(s.references)) == 1):
        destroy_storage(s)
    elif atomic_add(addr(s.references), -1) == 1:
        destroy_storage(s)


@kernel(extern=True)
def destroy(t: ptr[TensorImpl]) -> None:
    """Frees a view that nobody refers to."""
    s = t.storage
    if t.flags & HEAD == 0:
        release_block(cast(ptr[u8], t), HEAD_BYTES)
    release_storage(s)


@kernel
def release(t: ptr[TensorImpl]) -> None:
    """Gives up a reference."""
    # A sole owner needs no locked instruction: nobody else can take a reference from it.
    if likely(atomic_load(addr(t.references)) == 1):
        destroy(t)
    elif atomic_add(addr(t.references), -1) == 1:
        destroy(t)


@kernel(extern=True)
def retain_tensor(t: ptr[TensorImpl]) -> None:
    """`retain` as a function."""
    retain(t)


@kernel(extern=True)
def release_tensor(t: ptr[TensorImpl]) -> None:
    """`release` as a function."""
    release(t)


# ---- texts --------------------------------------------------------------------------------------------------------


@kernel
def put_number(buffer: ptr[u8], at: i64, value: i64) -> i64:
    """Writes a number in decimal; returns the position behind it."""
    if value < 0:
        buffer[at] = 45
        at += 1
        value = -value
    digits = 1
    rest = value // 10
    while rest > 0:
        digits += 1
        rest = rest // 10
    for i in range(digits):
        buffer[at + digits - 1 - i] = u8(48 + value % 10)
        value = value // 10
    return at + digits


@kernel
def text_slot() -> ptr[u8]:
    """Room for a text of an error message."""
    slot = atomic_add(addr(TEXTS.next), 1) % TEXT_SLOTS
    return TEXTS.bytes + slot * TEXT_BYTES


@kernel(inline="never")
def list_text(count: i64, values: ptr[i64]) -> ptr[u8]:
    """``[2, 3]``."""
    buffer = text_slot()
    buffer[0] = 91
    at = 1
    for i in range(count):
        if i > 0:
            buffer[at] = 44
            buffer[at + 1] = 32
            at += 2
        at = put_number(buffer, at, values[i])
        if at > TEXT_BYTES - 32:
            break
    buffer[at] = 93
    buffer[at + 1] = 0
    return buffer


@kernel
def shape_text(t: ptr[TensorImpl]) -> ptr[u8]:
    """The shape as text."""
    return list_text(t.rank, t.sizes)


# ---- new tensors --------------------------------------------------------------------------------------------------


@kernel
def new_head(size: i64, dtype: i64, rank: i64) -> ptr[TensorImpl]:
    """A tensor with memory for `size` bytes; numel, sizes, strides and the flag CONTIGUOUS are still to be set."""
    total = HEAD_BYTES
    if likely(size <= INLINE_BYTES):
        total = HEAD_BYTES + size
    head = allocate(total)
    check(likely(head != null(ptr[u8])), "MemoryError", "out of memory: cannot allocate a tensor of {} bytes", size)
    t = cast(ptr[TensorImpl], head)
    s = cast(ptr[Storage], head + STORAGE_AT)
    s.references = 1
    s.data = head + HEAD_BYTES
    s.bytes = size
    s.block = null(ptr[u8])
    s.owner = null(ptr[u8])
    s.destroy = null(ptr[u8])
    s.version = 0
    s.state = 0
    if unlikely(size > INLINE_BYTES):
        block = allocate(size)
        if unlikely(block == null(ptr[u8])):
            release_block(head, HEAD_BYTES)
            check(block != null(ptr[u8]), "MemoryError", "out of memory: cannot allocate a tensor of {} bytes", size)
        s.data = block
        s.block = block
    t.references = 1
    t.storage = s
    t.data = s.data
    t.dtype = dtype
    t.rank = rank
    t.device = CPU
    t.flags = HEAD
    t.python = null(ptr[u8])
    return t


@kernel
def checked_numel(rank: i64, sizes: ptr[i64], item: i64) -> i64:
    """The product of the sizes; raises for a negative size, too many dimensions, or too many bytes."""
    check(rank <= MAX_RANK, "RuntimeError", "a tensor has at most 8 dimensions, not {}", rank)
    numel = 1
    empty = False
    for i in range(rank):
        size = sizes[i]
        if unlikely(size < 0):
            check(size >= 0, "RuntimeError", "Trying to create tensor with negative dimension {}: {}", size, text(list_text(rank, sizes)))
        if size == 0:
            empty = True
        elif numel > MAX_BYTES // size:
            numel = MAX_BYTES + 1
        else:
            numel = numel * size
    if empty:
        return 0
    if unlikely(numel > MAX_BYTES // item):
        check(False, "MemoryError", "out of memory: a tensor of shape {} with {} bytes an element is too large", text(list_text(rank, sizes)), item)
    return numel


@kernel
def set_row_major(t: ptr[TensorImpl], sizes: ptr[i64]) -> None:
    """Copies the sizes and sets the strides of a dense tensor."""
    stride = 1
    for i in range(t.rank):
        at = t.rank - 1 - i
        size = sizes[at]
        t.sizes[at] = size
        t.strides[at] = stride
        if size > 1:
            stride = stride * size
    t.flags = t.flags | CONTIGUOUS


@kernel(extern=True)
def empty(rank: i64, sizes: ptr[i64], dtype: i64) -> ptr[TensorImpl]:
    """A dense tensor, not initialised."""
    item = item_bytes(dtype)
    numel = checked_numel(rank, sizes, item)
    t = new_head(numel * item, dtype, rank)
    t.numel = numel
    set_row_major(t, sizes)
    return t


@kernel
def empty_as(like: ptr[TensorImpl], dtype: i64) -> ptr[TensorImpl]:
    """A tensor with the sizes and strides of a dense tensor, not initialised."""
    t = new_head(like.numel * item_bytes(dtype), dtype, like.rank)
    t.numel = like.numel
    t.flags = HEAD | (like.flags & CONTIGUOUS)
    memcpy(t.sizes, like.sizes, MAX_RANK * 8)
    memcpy(t.strides, like.strides, MAX_RANK * 8)
    return t


@kernel
def is_row_major(t: ptr[TensorImpl]) -> b1:
    """Whether elements stand in order without gaps; dimensions of size 1 do not count, and no element is in order."""
    expected = 1
    right = True
    for i in range(t.rank):
        at = t.rank - 1 - i
        size = t.sizes[at]
        if size != 1:
            if t.strides[at] != expected:
                right = False
            expected = expected * size
    return right or t.numel == 0


@kernel
def finish(t: ptr[TensorImpl]) -> None:
    """Sets numel and the flag CONTIGUOUS from sizes and strides."""
    numel = 1
    for i in range(t.rank):
        numel = numel * t.sizes[i]
    t.numel = numel
    t.flags = (t.flags & ~CONTIGUOUS) | (i32(CONTIGUOUS) if is_row_major(t) else i32(0))


@kernel(extern=True)
def empty_strided(rank: i64, sizes: ptr[i64], strides: ptr[i64], dtype: i64) -> ptr[TensorImpl]:
    """A tensor of these sizes and (not negative) strides, not initialised."""
    item = item_bytes(dtype)
    numel = checked_numel(rank, sizes, item)
    span = 0
    if numel > 0:
        span = 1
        for i in range(rank):
            check(
                strides[i] >= 0, "RuntimeError", "as_strided: Negative strides are not supported at the moment, got strides: {}", text(list_text(rank, strides))
            )
            check(strides[i] <= MAX_BYTES // sizes[i], "MemoryError", "out of memory: strides {} are too large", text(list_text(rank, strides)))
            span += (sizes[i] - 1) * strides[i]
    check(span <= MAX_BYTES // item, "MemoryError", "out of memory: a tensor of shape {} is too large", text(list_text(rank, sizes)))
    t = new_head(span * item, dtype, rank)
    for i in range(rank):
        t.sizes[i] = sizes[i]
        t.strides[i] = strides[i]
    finish(t)
    return t


@kernel(extern=True)
def foreign(
    rank: i64, sizes: ptr[i64], strides: ptr[i64], dtype: i64, data: ptr[u8], size: i64, owner: ptr[u8], destroy: ptr[u8], flags: i64
) -> ptr[TensorImpl]:
    """A tensor over memory of somebody else; ``destroy(owner)`` is called when its last view is gone."""
    check(rank <= MAX_RANK, "RuntimeError", "a tensor has at most 8 dimensions, not {}", rank)
    t = new_head(0, dtype, rank)
    s = t.storage
    s.data = data
    s.bytes = size
    s.owner = owner
    s.destroy = destroy
    s.state = FOREIGN
    t.data = data
    t.flags = t.flags | i32(flags & READ_ONLY)
    for i in range(rank):
        t.sizes[i] = sizes[i]
        t.strides[i] = strides[i]
    finish(t)
    return t


@kernel
def scalar(dtype: i64) -> ptr[TensorImpl]:
    """A tensor without dimensions, not initialised."""
    t = new_head(item_bytes(dtype), dtype, 0)
    t.numel = 1
    t.flags = HEAD | CONTIGUOUS
    return t


# ---- views --------------------------------------------------------------------------------------------------------


@kernel
def new_view(base: ptr[TensorImpl], rank: i64, offset: i64) -> ptr[TensorImpl]:
    """A view of the same storage that begins `offset` elements further on; sizes and strides are to be set, then `finish`."""
    check(rank <= MAX_RANK, "RuntimeError", "a tensor has at most 8 dimensions, not {}", rank)
    block = allocate(HEAD_BYTES)
    check(block != null(ptr[u8]), "MemoryError", "out of memory: cannot allocate a view")
    t = cast(ptr[TensorImpl], block)
    s = base.storage
    atomic_add(addr(s.references), 1)
    t.references = 1
    t.storage = s
    t.data = base.data + offset * item_bytes(base.dtype)
    t.numel = base.numel
    t.dtype = base.dtype
    t.rank = rank
    t.device = base.device
    t.flags = base.flags & READ_ONLY
    t.python = null(ptr[u8])
    return t


@kernel(extern=True)
def alias(base: ptr[TensorImpl]) -> ptr[TensorImpl]:
    """A second view of the same elements."""
    t = new_view(base, base.rank, 0)
    memcpy(t.sizes, base.sizes, MAX_RANK * 8)
    memcpy(t.strides, base.strides, MAX_RANK * 8)
    t.flags = base.flags & ~HEAD
    return t


# ---- lists of tensors ---------------------------------------------------------------------------------------------


@kernel
def new_list(length: i64) -> ptr[List]:
    """A list of `length` tensors, all null."""
    check(length < 1 << 40, "MemoryError", "out of memory: cannot allocate a list of {} tensors", length)
    room = blocks.allocate(8 * (length + 1))
    made = cast(ptr[List], blocks.allocate(sizeof(List)))
    memset(room, 0, 8 * (length + 1))
    made.references = 1
    made.length = length
    made.capacity = length + 1
    made.data = room
    made.version = 0
    made.owner = 0
    return made


@kernel
def new_ints(length: i64) -> ptr[List]:
    """A list of `length` ints, all zero."""
    return new_list(length)


@kernel
def drop_ints(items: ptr[List]) -> None:
    """Frees a list of ints that only its maker has."""
    blocks.give_back(items.data)
    blocks.give_back(cast(ptr[u8], items))


@kernel
def tensor_at(items: ptr[List], at: i64) -> ptr[TensorImpl]:
    """Element `at`, borrowed."""
    return cast(ptr[ptr[TensorImpl]], items.data)[at]


@kernel
def int_at(items: ptr[List], at: i64) -> i64:
    """Element `at` of a list of ints."""
    return cast(ptr[i64], items.data)[at]


@kernel
def put_tensor(items: ptr[List], at: i64, t: ptr[TensorImpl]) -> None:
    """Stores an owned tensor."""
    cast(ptr[ptr[TensorImpl]], items.data)[at] = t
