"""Registers for values: liveness, coalescing of copies, colouring.

In: straight-line code over virtual registers, in which the copies at merges and loop ends are single parallel moves. Out: a real
register for each virtual one, such that values alive together never share, parameters keep their places, and as many copies as
possible become copies of a register to itself, which vanish. Sets of virtual registers are bit masks in Python integers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence


@dataclasses.dataclass
class Step:
    """What allocation needs to know of one instruction.

    Args:
        writes: virtual registers that it defines.
        reads: virtual registers that it uses.
        successors: the indices of the instructions that may follow.
        move: whether it is a parallel move; a write that nobody reads is dropped then.
        copies: for a parallel move, which write takes which read (writes of constants are not listed).
        depth: how many loops it is in; copies deep inside are coalesced first.
    """

    writes: Sequence[int]
    reads: Sequence[int]
    successors: Sequence[int]
    move: bool = False
    copies: Sequence[tuple[int, int]] = ()
    depth: int = 0


def bits(mask: int) -> Iterator[int]:
    """The numbers of the ones in `mask`."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def mask_of(numbers: Iterable[int]) -> int:
    """The mask that holds these numbers."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


@dataclasses.dataclass
class Allocation:
    """The real register of each virtual one, and for each step the virtual registers alive before and after it."""

    real: list[int]
    before: list[int]
    after: list[int]


def liveness(steps: Sequence[Step]) -> tuple[list[int], list[int]]:
    """For each step the registers whose values are read at it or later, and those read later."""
    before = [0] * len(steps)
    after = [0] * len(steps)
    changed = True
    while changed:
        changed = False
        for index in range(len(steps) - 1, -1, -1):
            step = steps[index]
            out = 0
            for successor in step.successors:
                out |= before[successor]
            after[index] = out
            # A move whose target is never read does not read its source either.
            reads = mask_of(s for d, s in step.copies if out >> d & 1) if step.move else mask_of(step.reads)
            new = out & ~mask_of(step.writes) | reads
            if new != before[index]:
                before[index] = new
                changed = True
    return before, after


def _conflicts(steps: Sequence[Step], after: Sequence[int], count: int, parameters: int) -> list[int]:
    """For each register the ones that hold another value at the same time."""
    conflicts = [0] * count
    everything = (1 << parameters) - 1
    for parameter in range(parameters):
        conflicts[parameter] |= everything & ~(1 << parameter)
    for step, alive in zip(steps, after, strict=True):
        source = dict(step.copies)
        together = mask_of(step.writes)
        for register in step.writes:
            if step.move and not alive >> register & 1:
                continue  # a copy that is dropped
            same = source.get(register)
            others = (alive | (together & alive if step.move else together)) & ~(1 << register)
            conflicts[register] |= others if same is None else others & ~(1 << same)
    for register in range(count):
        for other in bits(conflicts[register]):
            conflicts[other] |= 1 << register
    return conflicts


def allocate(steps: Sequence[Step], count: int, parameters: int) -> Allocation:
    """Real registers for the virtual registers 0 … count-1, of which the first `parameters` keep their numbers."""
    before, after = liveness(steps)
    conflicts = _conflicts(steps, after, count, parameters)
    root = list(range(count))
    members = [1 << register for register in range(count)]

    def find(register: int) -> int:
        while root[register] != register:
            root[register] = root[root[register]]
            register = root[register]
        return register

    moves = [(-step.depth, d, s) for step, alive in zip(steps, after, strict=True) for d, s in step.copies if alive >> d & 1]
    for _, d, s in sorted(moves):
        a, b = sorted((find(d), find(s)))
        if a == b or (a < parameters and b < parameters) or conflicts[a] & members[b]:
            continue
        root[b] = a
        members[a] |= members[b]
        conflicts[a] |= conflicts[b]

    real = [-1] * count
    holders: list[int] = []
    for register in range(count):
        leader = find(register)
        if real[leader] < 0:
            real[leader] = _colour(leader, conflicts[leader], holders, parameters)
            holders[real[leader]] |= members[leader]
        real[register] = real[leader]
    return Allocation(real, before, after)


def _colour(leader: int, conflicts: int, holders: list[int], parameters: int) -> int:
    if leader < parameters:
        while len(holders) <= leader:
            holders.append(0)
        return leader
    for colour, held in enumerate(holders):
        if not held & conflicts:
            return colour
    holders.append(0)
    return len(holders) - 1


def sequence_moves(moves: Sequence[tuple[int, int]]) -> list[tuple[str, int, int]]:
    """A parallel move (target, source)… as MOVE and SWAP instructions one after the other.

    Targets are distinct. First the targets that nothing else reads, then the cycles that are left, by exchanges.
    """
    pending = {target: source for target, source in moves if target != source}
    out: list[tuple[str, int, int]] = []
    while pending:
        sources = set(pending.values())
        ready = [target for target in pending if target not in sources]
        for target in ready:
            out.append(("MOVE", target, pending.pop(target)))
        if ready:
            continue
        target, source = next(iter(pending.items()))
        out.append(("SWAP", target, source))
        del pending[target]
        # What was in `target` is in `source` now, and the other way round.
        for other, wanted in list(pending.items()):
            if wanted == target:
                pending[other] = source
        pending = {t: s for t, s in pending.items() if t != s}
    return out
