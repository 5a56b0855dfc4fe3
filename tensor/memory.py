"""The allocator: blocks by size class, kept in free lists when they are given back.

A page fault costs as much as the arithmetic on the page, so freed blocks are reused. A free list is guarded by a lock that is
only ever tried: who finds it taken goes to the C library, so no thread waits for another one that is not running.
"""

from __future__ import annotations

from jitlang.frontend.kernel import (
    addr,
    array,
    atomic_add,
    atomic_cas,
    atomic_store,
    cast,
    ctlz,
    extern,
    i32,
    i64,
    kernel,
    likely,
    minimum,
    null,
    ptr,
    shared,
    struct,
    u8,
    unlikely,
)

CLASSES = 176
HUGE = 1 << 21
CACHE_LIMIT = 1 << 30  # bytes kept in all free lists together
CLASS_LIMIT = 1 << 25  # bytes kept in one free list, but at least one block
MADV_HUGEPAGE = 14

aligned_alloc = extern("aligned_alloc", [i64, i64], ptr[u8])
free = extern("free", [ptr[u8]])
madvise = extern("madvise", [ptr[u8], i64, i32], i32)


@struct
class FreeList:
    """Blocks of one size class; the first word of a free block points to the next one."""

    lock: i64
    count: i64
    head: ptr[u8]
    spare: array[i64, 5]


@struct
class Heap:
    """The free lists and the bytes in them."""

    cached: i64
    in_use: i64
    spare: array[i64, 6]
    lists: array[FreeList, CLASSES]


HEAP = shared("jl.memory.heap", Heap)


@kernel
def size_class(size: i64) -> i64:
    """The number of the size class of `size` > 0: multiples of 64 up to 1024, then four to a doubling."""
    if likely(size <= 1024):
        return (size + 63) >> 6
    exponent = 63 - ctlz(size - 1)
    return 17 + ((exponent - 10) << 2) + (((size - 1) >> (exponent - 2)) & 3)


@kernel
def class_bytes(number: i64) -> i64:
    """The block size of a class."""
    if number <= 16:
        return number << 6
    exponent = 10 + ((number - 17) >> 2)
    return (5 + ((number - 17) & 3)) << (exponent - 2)


@kernel(inline="never")
def fresh_block(number: i64) -> ptr[u8]:
    """A block of a size class from the C library; null where there is no memory."""
    size = class_bytes(number)
    if size < HUGE:
        return aligned_alloc(64, size)
    size = (size + (HUGE - 1)) & -HUGE
    block = aligned_alloc(HUGE, size)
    if block != null(ptr[u8]):
        madvise(block, size, MADV_HUGEPAGE)
    return block


@kernel(extern=True)
def trim() -> None:
    """Gives every cached block back to the C library."""
    for number in range(CLASSES):
        room = HEAP.lists + number
        if atomic_cas(addr(room.lock), 0, 1) == 0:
            block = room.head
            count = room.count
            room.head = null(ptr[u8])
            room.count = 0
            atomic_store(addr(room.lock), 0)
            while block != null(ptr[u8]):
                following = cast(ptr[ptr[u8]], block)[0]
                free(block)
                block = following
            if number > 16:
                atomic_add(addr(HEAP.cached), -count * class_bytes(number))


@kernel(inline="never")
def block_after_trim(number: i64) -> ptr[u8]:
    """A fresh block, after giving the cache back if need be."""
    block = fresh_block(number)
    if block == null(ptr[u8]):
        trim()
        block = fresh_block(number)
    return block


@kernel
def allocate(size: i64) -> ptr[u8]:
    """A block of at least `size` > 0 bytes, 64-byte aligned; null where there is no memory."""
    number = size_class(size)
    room = HEAP.lists + number
    if likely(room.count > 0):
        if likely(atomic_cas(addr(room.lock), 0, 1) == 0):
            block = room.head
            if likely(block != null(ptr[u8])):
                room.head = cast(ptr[ptr[u8]], block)[0]
                room.count = room.count - 1
                atomic_store(addr(room.lock), 0)
                if unlikely(number > 16):
                    atomic_add(addr(HEAP.cached), -class_bytes(number))
                return block
            atomic_store(addr(room.lock), 0)
    return block_after_trim(number)


@kernel
def release_block(block: ptr[u8], size: i64) -> None:
    """Gives back a block that was allocated for `size` bytes."""
    number = size_class(size)
    room = HEAP.lists + number
    bytes = class_bytes(number)
    keep = room.count * bytes < CLASS_LIMIT
    if unlikely(number > 16):
        keep = keep and HEAP.cached + bytes <= CACHE_LIMIT
    if likely(keep):
        if likely(atomic_cas(addr(room.lock), 0, 1) == 0):
            cast(ptr[ptr[u8]], block)[0] = room.head
            room.head = block
            room.count = room.count + 1
            atomic_store(addr(room.lock), 0)
            if unlikely(number > 16):
                atomic_add(addr(HEAP.cached), bytes)
            return
    free(block)


@kernel
def rounded(size: i64) -> i64:
    """The bytes that a block for `size` really has."""
    return class_bytes(size_class(minimum(size, 1 << 46)))
