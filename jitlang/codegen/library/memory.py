"""Memory of strings, containers and objects: the C library's, with free lists of small blocks, counted where a test asks for it.

In: a size. Out: a block, or MemoryError. Every block is one of `malloc`'s, so that whoever has no use for free lists may `free` it. Set ``COUNTERS.on`` to 1 to have `live` count blocks (leak tests).
"""

from __future__ import annotations

import ctypes
from typing import Any

from jitlang.frontend.kernel import (
    addr,
    address,
    array,
    atomic_add,
    atomic_cas,
    b1,
    cast,
    check,
    context,
    extern,
    i64,
    kernel,
    likely,
    local,
    null,
    ptr,
    shared,
    struct,
    u8,
    u64,
    unlikely,
)
from jitlang.native.layouts import CONTEXT

LARGEST = 1 << 46  # bytes; what is more than that is refused before it is multiplied further

CLASSES = 33  # sizes up to 512 bytes, in steps of 16
KEPT = 1 << 22  # bytes that a free list holds at most

malloc = extern("malloc", [i64], ptr[u8])
realloc = extern("realloc", [ptr[u8], i64], ptr[u8])
free = extern("free", [ptr[u8]])


@struct
class Counters:
    """`live`: blocks allocated and not freed while `on` was not 0."""

    on: i64
    live: i64


COUNTERS = shared("jl.memory.counters", Counters)


@struct
class FreeLists:
    """Small blocks that were given back, by size, for the one thread whose stack they are for: no other thread touches them.

    The first thread that allocates takes them. If it ends, they wait for a thread that gets the same stack.
    """

    low: i64  # the stack's bounds
    size: i64
    dying: ptr[ptr[u8]]  # the head of the chain of objects that an object's release is about to free, while there is one
    heads: array[ptr[u8], CLASSES]  # the first word of a free block points to the next one
    counts: array[i64, CLASSES]


FREE = shared("jl.memory.free", FreeLists)


@kernel
def is_owner() -> b1:
    """Whether the running thread is the one that the free lists are for."""
    here = address(local(u8, 1))
    return u64(here - FREE.low) < u64(FREE.size)


@kernel(inline="never")
def claim() -> None:
    """Makes the running thread the one that the free lists are for, if there is none yet."""
    ctx = cast(ptr[CONTEXT], context())
    if atomic_cas(addr(FREE.low), 0, ctx.stack_low) == 0:
        FREE.size = ctx.stack_high - ctx.stack_low


@kernel(inline="never")
def fresh(size: i64) -> ptr[u8]:
    """A block from the C library."""
    if FREE.low == 0:
        claim()
    block = malloc((size + 15) & -16)
    check(block != null(ptr[u8]), "MemoryError", "")
    return block


@kernel
def allocate(size: i64) -> ptr[u8]:
    """A block of `size` bytes."""
    if unlikely(COUNTERS.on != 0):
        atomic_add(addr(COUNTERS.live), 1)
    number = (size + 15) >> 4
    if likely(number < CLASSES):
        if likely(is_owner()):
            block = FREE.heads[number]
            if likely(block != null(ptr[u8])):
                FREE.heads[number] = cast(ptr[ptr[u8]], block)[0]
                FREE.counts[number] = FREE.counts[number] - 1
                return block
    return fresh(size)


@kernel
def recycle(block: ptr[u8], size: i64) -> None:
    """Gives back a block that was allocated for `size` bytes; null is none."""
    if block == null(ptr[u8]):
        return
    if unlikely(COUNTERS.on != 0):
        atomic_add(addr(COUNTERS.live), -1)
    number = (size + 15) >> 4
    if likely(number < CLASSES):
        if likely(is_owner()):
            if likely(FREE.counts[number] * number < KEPT // 16):
                cast(ptr[ptr[u8]], block)[0] = FREE.heads[number]
                FREE.heads[number] = block
                FREE.counts[number] = FREE.counts[number] + 1
                return
    free(block)


@kernel
def reallocate(block: ptr[u8], size: i64) -> ptr[u8]:
    """The block with another size; on MemoryError it stays as it was. A null block is made."""
    made = realloc(block, (size + 15) & -16)
    check(made != null(ptr[u8]), "MemoryError", "")
    if unlikely(COUNTERS.on != 0):
        if block == null(ptr[u8]):
            atomic_add(addr(COUNTERS.live), 1)
    return made


@kernel
def give_back(block: ptr[u8]) -> None:
    """Frees a block whose size the caller does not know; null is none."""
    if unlikely(COUNTERS.on != 0):
        if block != null(ptr[u8]):
            atomic_add(addr(COUNTERS.live), -1)
    free(block)


@kernel
def bytes_for(count: i64, size: i64) -> i64:
    """count * size, if that can be allocated; MemoryError otherwise. `size` is not 0."""
    check(count >= 0 and count < LARGEST // size, "MemoryError", "")
    return count * size


def counted(on: bool) -> int:
    """Turns counting on or off and sets the count to 0; returns what it was. For tests."""
    cells: Any = (ctypes.c_int64 * 2).from_address(COUNTERS.address)
    was = int(cells[1])
    cells[0], cells[1] = int(on), 0
    return was


def live() -> int:
    """The blocks allocated and not freed since counting was turned on."""
    return ctypes.c_int64.from_address(COUNTERS.address + 8).value
