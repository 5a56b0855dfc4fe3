"""Reductions on several threads.

In: the nest of a reduction (`jitlang.tensor.kernels.reduction`). Out: its results, bit for bit those of one thread. Where there are many results, a chunk is some
of them. Where there are few, of many elements, a chunk is a piece of ``CHUNK << level`` elements, which the tree of the reduction combines to one value anyhow;
the reduction's loop then combines these in the order of the tree.
"""

from __future__ import annotations

from jitlang.frontend.kernel import call_pointer, cast, function_pointer, i64, kernel, local, maximum, minimum, null, ptr, struct, u8
from jitlang.tensor.kernels.parallel import GRAIN, share
from jitlang.tensor.layout import MAX_RANK, Iteration
from jitlang.tensor.memory import allocate, release_block
from jitlang.types import VOID

CHUNK = 4096  # of the tree
WIDTH = 64  # results that are computed side by side when they are neighbours in memory
COMBINE = -1  # the gap that tells a loop to combine pieces
ENOUGH = 16  # chunks, so that no thread waits long for the last one
PIECE = 1 << 16  # elements of a piece, about


@struct
class Reduction:
    """A reduction: `m` results in each of `outer` runs; a run is split into `parts`, each of `size` results or (`pieces` not null) elements."""

    loop: ptr[u8]
    it: ptr[Iteration]
    n: i64
    step: i64
    m: i64
    gap: i64
    out_gap: i64
    outer: i64
    parts: i64
    size: i64
    pieces: ptr[u8]
    item: i64


@kernel
def moved_to(r: ptr[Reduction], k: i64, run: i64) -> i64:
    """How many bytes from the first run on run `run` of operand k begins."""
    offset = 0
    rest = run
    for d in range(1, r.it.rank):
        offset += rest % r.it.sizes[d] * r.it.strides[k * MAX_RANK + d]
        rest = rest // r.it.sizes[d]
    return offset


@kernel
def some_results(argument: ptr[u8], chunk: i64) -> None:
    """Some results of one run."""
    r = cast(ptr[Reduction], argument)
    run, first = chunk // r.parts, chunk % r.parts * r.size
    out = r.it.data[0] + (moved_to(r, 0, run) + first * r.out_gap)
    x = r.it.data[1] + (moved_to(r, 1, run) + first * r.gap)
    call_pointer(VOID, r.loop, r.n, x, r.step, minimum(r.size, r.m - first), r.gap, out, r.out_gap)


@kernel
def some_elements(argument: ptr[u8], chunk: i64) -> None:
    """A piece of the elements of all results of one run."""
    r = cast(ptr[Reduction], argument)
    run, first = chunk // r.parts, chunk % r.parts * r.size
    x = r.it.data[1] + (moved_to(r, 1, run) + first * r.step)
    call_pointer(VOID, r.loop, minimum(r.size, r.n - first), x, r.step, r.m, r.gap, r.pieces + chunk * r.m * r.item, r.item)


@kernel
def combine_pieces(r: ptr[Reduction]) -> None:
    """The results from their pieces."""
    for run in range(r.outer):
        out = r.it.data[0] + moved_to(r, 0, run)
        for c in range(r.m):
            x = r.pieces + (run * r.parts * r.m + c) * r.item
            call_pointer(VOID, r.loop, r.n // r.size, x, r.m * r.item, r.parts, COMBINE, out + c * r.out_gap, 0)


@kernel(extern=True)
def share_reduction(loop: ptr[u8], it: ptr[Iteration], n: i64, step: i64, item_in: i64, item_out: i64) -> None:
    """As `jitlang.tensor.kernels.reduction.walk`."""
    r = local(Reduction, 1)
    r.loop, r.it, r.n, r.step = loop, it, n, step
    r.m, r.gap, r.out_gap, r.outer = 1, 0, 0, 1
    if it.rank > 0:
        r.m, r.gap, r.out_gap = it.sizes[0], it.strides[MAX_RANK], it.strides[0]
    for d in range(1, it.rank):
        r.outer = r.outer * it.sizes[d]
    unit = 1
    if r.gap == item_in and step != item_in and r.m > 1:
        unit = WIDTH
    r.size = -(-maximum(GRAIN // maximum(n, 1), 1) // unit) * unit
    r.parts = -(-r.m // r.size)
    r.pieces = null(ptr[u8])
    if r.outer * r.parts < ENOUGH and n >= 2 * CHUNK:
        size = CHUNK
        while size * r.m < PIECE:
            size = size * 2
        room = -(-n // size) * r.outer * r.m * item_out
        r.pieces = allocate(room)
        if r.pieces != null(ptr[u8]):
            r.size, r.item = size, item_out
            r.parts = -(-n // size)
            share(function_pointer(some_elements, ptr[u8], i64), cast(ptr[u8], r), r.outer * r.parts)
            combine_pieces(r)
            release_block(r.pieces, room)
            return
    share(function_pointer(some_results, ptr[u8], i64), cast(ptr[u8], r), r.outer * r.parts)
