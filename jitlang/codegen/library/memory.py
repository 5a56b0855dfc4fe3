"""Memory of strings, containers and objects: the C library's, counted where a test asks for it.

In: a size. Out: a block, or MemoryError. Set ``COUNTERS.on`` to 1 to have `live` count blocks (leak tests).
"""

from __future__ import annotations

import ctypes
from typing import Any

from jitlang.frontend.kernel import addr, atomic_add, check, extern, i64, kernel, null, ptr, shared, struct, u8, unlikely

LARGEST = 1 << 46  # bytes; what is more than that is refused before it is multiplied further

malloc = extern("malloc", [i64], ptr[u8])
realloc = extern("realloc", [ptr[u8], i64], ptr[u8])
free = extern("free", [ptr[u8]])


@struct
class Counters:
    """`live`: blocks allocated and not freed while `on` was not 0."""

    on: i64
    live: i64


COUNTERS = shared("jl.memory.counters", Counters)


@kernel
def allocate(size: i64) -> ptr[u8]:
    """A block of `size` bytes."""
    block = malloc(size)
    check(block != null(ptr[u8]), "MemoryError", "")
    if unlikely(COUNTERS.on != 0):
        atomic_add(addr(COUNTERS.live), 1)
    return block


@kernel
def reallocate(block: ptr[u8], size: i64) -> ptr[u8]:
    """The block with another size; on MemoryError it stays as it was. A null block is made."""
    made = realloc(block, size)
    check(made != null(ptr[u8]), "MemoryError", "")
    if unlikely(COUNTERS.on != 0):
        if block == null(ptr[u8]):
            atomic_add(addr(COUNTERS.live), 1)
    return made


@kernel
def give_back(block: ptr[u8]) -> None:
    """Frees a block; null is none."""
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
