"""Packed copies of right-hand sides, and the memory that they stand in.

A copy belongs to the storage that it was made from: a chain hangs on `Storage.state` and goes with the storage. The memory comes from chunks of whole
2 MB pages, because reading weights from small pages takes twice as long; a chunk is freed when nothing in it is in use.
"""

from __future__ import annotations

import ctypes
import os

from jitlang.frontend.kernel import (
    addr,
    address,
    atomic_add,
    atomic_cas,
    atomic_load,
    atomic_store,
    b1,
    cast,
    i64,
    kernel,
    null,
    pointer,
    ptr,
    shared,
    struct,
    u8,
)
from jitlang.native import host
from jitlang.tensor.layout import STATE_BITS, Storage
from jitlang.tensor.memory import HUGE, MADV_HUGEPAGE, aligned_alloc, free, madvise

CHUNK_BYTES = 4 * HUGE
CHUNK_HEAD = 64
MAX_PACKS = 16  # packed copies of one storage


@struct
class Chunk:
    """The beginning of a chunk. `users` counts the blocks in use, and the arena itself while it takes blocks from the chunk."""

    users: i64
    used: i64
    bytes: i64


@struct
class Arena:
    """The chunk that blocks are taken from, the bytes of all chunks, and how many there may be. Who has `lock` may take blocks and make copies."""

    lock: i64
    chunk: ptr[Chunk]
    bytes: i64
    limit: i64


@struct
class Pack:
    """A packed copy of one matrix: where it stands in the storage, how it lies there, and the storage's version.

    `ready` is the version that `block` was packed from, or -1. `uses` counts the products since `version`.
    """

    next: ptr[Pack]
    data: ptr[u8]
    dtype: i64
    k: i64
    n: i64
    b_k: i64
    b_column: i64
    version: i64
    ready: i64
    uses: i64
    block: ptr[u8]
    chunk: ptr[Chunk]


ARENA = shared("jl.tensor.arena", Arena)


def _set_limit() -> None:
    # What is packed stands in memory twice: a quarter of the machine's memory is enough for that.
    cell = (ctypes.c_int64 * 4).from_address(host.shared_cell(ARENA.name, 32))
    cell[3] = max(0, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4)


_set_limit()


@kernel
def leave_chunk(chunk: ptr[Chunk]) -> None:
    """Gives up a use of a chunk."""
    if atomic_add(addr(chunk.users), -1) == 1:
        atomic_add(addr(ARENA.bytes), -chunk.bytes)
        free(cast(ptr[u8], chunk))


@kernel
def new_chunk(size: i64) -> ptr[Chunk]:
    """A chunk with one user; null where there is no memory, or no more is allowed."""
    if ARENA.bytes + size > ARENA.limit:
        return null(ptr[Chunk])
    chunk = cast(ptr[Chunk], aligned_alloc(HUGE, size))
    if chunk != null(ptr[Chunk]):
        madvise(cast(ptr[u8], chunk), size, MADV_HUGEPAGE)
        chunk.users = 1
        chunk.used = CHUNK_HEAD
        chunk.bytes = size
        atomic_add(addr(ARENA.bytes), size)
    return chunk


@kernel
def take_block(pack: ptr[Pack], size: i64) -> None:
    """Gives a packed copy its block, if there is memory; the lock is held."""
    size = (size + 63) & -64
    if size > CHUNK_BYTES // 2:
        chunk = new_chunk((size + CHUNK_HEAD + HUGE - 1) & -HUGE)
        if chunk == null(ptr[Chunk]):
            return
    else:
        chunk = ARENA.chunk
        if chunk == null(ptr[Chunk]) or chunk.used + size > chunk.bytes:
            if chunk != null(ptr[Chunk]):
                leave_chunk(chunk)
            chunk = new_chunk(CHUNK_BYTES)
            ARENA.chunk = chunk
            if chunk == null(ptr[Chunk]):
                return
        atomic_add(addr(chunk.users), 1)
    pack.chunk = chunk
    pack.block = cast(ptr[u8], chunk) + chunk.used
    chunk.used = chunk.used + size


@kernel
def first_pack(s: ptr[Storage]) -> ptr[Pack]:
    """The chain of a storage's packed copies."""
    return pointer(ptr[Pack], atomic_load(addr(s.state)) & ~STATE_BITS)


@kernel
def add_pack(s: ptr[Storage], pack: ptr[Pack]) -> None:
    """Puts a packed copy at the head of the chain; the lock is held."""
    pack.next = first_pack(s)
    # The bits below the address may change meanwhile, so the difference is added.
    atomic_add(addr(s.state), address(pack) - address(pack.next))


@kernel(extern=True)
def drop_packs(s: ptr[Storage]) -> None:
    """Frees the packed copies of a storage that nobody uses any more."""
    pack = first_pack(s)
    while pack != null(ptr[Pack]):
        following = pack.next
        if pack.block != null(ptr[u8]):
            leave_chunk(pack.chunk)
        free(cast(ptr[u8], pack))
        pack = following


@kernel
def try_lock() -> b1:
    """Whether the lock was free; it is now held."""
    return atomic_cas(addr(ARENA.lock), 0, 1) == 0


@kernel
def unlock() -> None:
    """Lets the lock go."""
    atomic_store(addr(ARENA.lock), 0)
