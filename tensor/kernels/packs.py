"""Right-hand sides that stay the same are packed once: at their second use, in memory that lasts as long as their storage.

A copy is good while the storage's version is the one that it was made from, and while nobody else can write to the memory (`LOAN`, `GIVEN`; foreign memory is asked
about). Results do not depend on it: packed or not, `jitlang.tensor.kernels.products` gives the same bits.
"""

from __future__ import annotations

from jitlang.frontend.kernel import addr, address, atomic_store, b1, call_pointer, cast, extern, i64, kernel, likely, null, ptr, sizeof, u8
from jitlang.tensor import sharing  # noqa: F401  defines jl.host.is_private
from jitlang.tensor.kernels.arena import MAX_PACKS, Pack, add_pack, first_pack, take_block, try_lock, unlock
from jitlang.tensor.kernels.products import PACK, PACKED_BYTES, Product, multiply, swap_roles
from jitlang.tensor.layout import FLOAT32, FLOAT64, FOREIGN, GIVEN, LOAN, Storage
from jitlang.tensor.loops import loop_of
from jitlang.tensor.memory import aligned_alloc
from jitlang.types import VOID

LEAST = 4096  # elements; smaller right-hand sides are packed on the way in no time
MOST_ROWS = 384  # with more rows packing on the way costs next to nothing

is_private = extern("jl.host.is_private", [i64], i64)


@kernel
def same_matrix(pack: ptr[Pack], dtype: i64, p: ptr[Product]) -> b1:
    """Whether a copy was made from the right-hand side of a product."""
    place = pack.data == p.b and pack.dtype == dtype
    shape = pack.k == p.k and pack.n == p.n
    return place and shape and pack.b_k == p.b_k and pack.b_column == p.b_column


@kernel
def find_pack(dtype: i64, p: ptr[Product], s: ptr[Storage]) -> ptr[Pack]:
    """The copy of the right-hand side, good or not; null where there is none."""
    pack = first_pack(s)
    while pack != null(ptr[Pack]) and not same_matrix(pack, dtype, p):
        pack = pack.next
    return pack


@kernel
def chain_length(s: ptr[Storage]) -> i64:
    """How many copies a storage has."""
    count = 0
    pack = first_pack(s)
    while pack != null(ptr[Pack]):
        count += 1
        pack = pack.next
    return count


@kernel
def new_pack(dtype: i64, p: ptr[Product], s: ptr[Storage]) -> ptr[Pack]:
    """An entry for the right-hand side, without a copy yet; null where there are too many."""
    if chain_length(s) >= MAX_PACKS:
        return null(ptr[Pack])
    pack = cast(ptr[Pack], aligned_alloc(64, (sizeof(Pack) + 63) & -64))
    if pack != null(ptr[Pack]):
        pack.data = p.b
        pack.dtype = dtype
        pack.k = p.k
        pack.n = p.n
        pack.b_k = p.b_k
        pack.b_column = p.b_column
        pack.version = s.version
        pack.ready = -1
        pack.uses = 0
        pack.block = null(ptr[u8])
        add_pack(s, pack)
    return pack


@kernel
def is_shared(s: ptr[Storage]) -> b1:
    """Whether somebody else may write to the memory."""
    return s.state & GIVEN != 0 or s.references >= LOAN


@kernel
def fill_pack(dtype: i64, p: ptr[Product], s: ptr[Storage], pack: ptr[Pack]) -> None:
    """Makes the copy, if the memory is nobody else's and there is room."""
    if s.state & FOREIGN != 0 and is_private(address(s.owner)) == 0:
        return
    if pack.block == null(ptr[u8]):
        take_block(pack, call_pointer(i64, loop_of(PACKED_BYTES.table, dtype), p))
    if pack.block != null(ptr[u8]):
        pack.ready = -1
        p.packed = pack.block
        call_pointer(VOID, loop_of(PACK.table, dtype), p)
        atomic_store(addr(pack.ready), pack.version)


@kernel
def count_use(dtype: i64, p: ptr[Product], s: ptr[Storage]) -> None:
    """Takes note of a use of a right-hand side that has no good copy, and makes one if it is time; the lock is held."""
    pack = find_pack(dtype, p, s)
    if pack == null(ptr[Pack]):
        pack = new_pack(dtype, p, s)
        if pack == null(ptr[Pack]):
            return
    if pack.version != s.version:
        pack.version = s.version
        pack.uses = 0
    pack.uses = pack.uses + 1
    # The second, fourth, eighth … use: asking again and again who owns foreign memory would cost more than it gains.
    if pack.uses > 1 and pack.uses & (pack.uses - 1) == 0 and not is_shared(s):
        fill_pack(dtype, p, s, pack)


@kernel(extern=True)
def prepare(dtype: i64, p: ptr[Product], s: ptr[Storage]) -> None:
    """Sets `packed` if this is the use at which the right-hand side is packed."""
    if try_lock():
        count_use(dtype, p, s)
        unlock()


@kernel
def multiply_with(dtype: i64, p: ptr[Product], left: ptr[Storage], right: ptr[Storage]) -> None:
    """Does a product of two tensors' elements, with a packed copy of the right-hand side where there is one.

    Raises:
        RuntimeError: there is no product of that dtype.
        MemoryError: there is no memory for blocks.
    """
    s = right
    if p.n == 1 and p.m > 1 and p.out_row == 1 and p.bias == null(ptr[u8]):
        swap_roles(p)
        s = left
    p.packed = null(ptr[u8])
    if p.batch_rank == 0 and p.k * p.n >= LEAST and p.m <= MOST_ROWS and (dtype == FLOAT32 or dtype == FLOAT64):
        pack = find_pack(dtype, p, s)
        if likely(pack != null(ptr[Pack]) and pack.ready == s.version and not is_shared(s)):
            p.packed = pack.block
        else:
            prepare(dtype, p, s)
    multiply(dtype, p)
