"""Instructions over virtual registers and labels, and their assembly into `Bytecode`.

In: what `jitlang.interpreter.compiler` emits, one instruction after the other. Out: the bytecode: real registers, moves in sequence,
indices for labels, the line table, and what is needed to take loops out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from jitlang.errors import IRError
from jitlang.interpreter.allocation import Allocation, Step, allocate, sequence_moves
from jitlang.interpreter.bytecode import Bytecode, Instruction, Landing, Loop, instruction, verify
from jitlang.interpreter.opcodes import BY_NAME
from jitlang.interpreter.osr import RETURNED, Plan
from jitlang.ir.graph import Graph, Node, Value
from jitlang.source import SourceRange

Label = int
MOVES = "MOVES"  # the parallel move; exists only in here


@dataclasses.dataclass
class Item:
    """An instruction before allocation: registers are virtual, jump targets are labels; registers below 0 are constants."""

    name: str
    operands: tuple[Any, ...]
    where: SourceRange | None
    depth: int

    def registers(self, kinds: str) -> list[int]:
        """The virtual registers among the operands of these kinds."""
        if self.name == MOVES:
            return [r for r in self.operands[0 if kinds == "duD" else 1] if r >= 0]
        found: list[int] = []
        for kind, operand in zip(BY_NAME[self.name].kinds, self.operands, strict=True):
            if kind in kinds:
                found.extend(operand if kind in "DSP" else (operand,))
        return [r for r in found if r >= 0]


@dataclasses.dataclass
class OpenLoop:
    """A loop being compiled: its first iteration begins at `head`, and control goes on at `end` behind it."""

    node: Node
    head: Label
    end: Label
    plan: Plan


class Assembler:
    """Collects the instructions of one function."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.items: list[Item] = []
        self.labels: list[int] = []  # the position of each label
        self.count = 0
        self.register: dict[Value, int] = {}
        self.constants: list[Any] = []
        self.constant_of: dict[tuple[type, str], int] = {}
        self.loops: list[OpenLoop] = []
        self.terminators: dict[Node, int] = {}  # where an exit or next stands
        self.epilogue: tuple[int, int] = (-1, -1)
        self.placed = -1  # where the last label was placed
        self.depth = 0
        self.where: SourceRange | None = graph.range

    # ---- registers, labels, instructions

    def fresh(self) -> int:
        """A new virtual register."""
        self.count += 1
        return self.count - 1

    def define(self, value: Value) -> int:
        """A new virtual register for `value`."""
        self.register[value] = self.fresh()
        return self.register[value]

    def read(self, value: Value) -> int:
        """The virtual register of `value`; IRError if it has none yet."""
        try:
            return self.register[value]
        except KeyError:
            raise IRError(f"{self.graph.name}: %{value.name} is used where it is not defined") from None

    def reads(self, values: Sequence[Value]) -> tuple[int, ...]:
        """The virtual registers of these values."""
        return tuple(map(self.read, values))

    def constant(self, value: Any) -> int:
        """The (negative) register of a constant; equal scalars share one."""
        key = (type(value), repr(value))
        if isinstance(value, int | float | str | bool | None) and key in self.constant_of:
            return self.constant_of[key]
        self.constants.append(value)
        self.constant_of[key] = -len(self.constants)
        return -len(self.constants)

    def label(self) -> Label:
        """A new label."""
        self.labels.append(-1)
        return len(self.labels) - 1

    def place(self, label: Label) -> None:
        """Puts `label` in front of the next instruction."""
        self.labels[label] = len(self.items)
        self.placed = len(self.items)

    def emit(self, name: str, *operands: Any) -> None:
        """Appends an instruction."""
        self.items.append(Item(name, operands, self.where, self.depth))

    def move(self, targets: Sequence[int], sources: Sequence[int]) -> None:
        """Appends a parallel move."""
        if targets:
            self.emit(MOVES, tuple(targets), tuple(sources))

    # ---- allocation and assembly

    def assembled(self) -> Bytecode:
        """The bytecode of what was emitted, verified."""
        if self.loops:
            # Where a loop that ran as native code and returned from the function goes on; nothing else leads here.
            self.epilogue = (len(self.items), self.fresh())
            self.emit("RETURN", self.epilogue[1])
        steps = [self._step(index, item) for index, item in enumerate(self.items)]
        code = self._bytecode(allocate(steps, self.count, len(self.graph.params)))
        verify(code)
        return code

    def _step(self, index: int, item: Item) -> Step:
        if item.name == MOVES:
            copies = [(d, s) for d, s in zip(*item.operands, strict=True) if s >= 0]
            return Step(item.registers("duD"), item.registers("usSP"), (index + 1,), True, copies, item.depth)
        row = BY_NAME[item.name]
        reads = item.registers("usSP")
        successors = [] if row.ends else [index + 1]
        for kind, operand in zip(row.kinds, item.operands, strict=True):
            if kind == "j":
                successors.append(self.labels[operand])
            elif kind == "l":
                # The loop may be taken out here: what it needs must be in its registers.
                successors.append(self.labels[self.loops[operand].head])
                reads += [r for r in map(self.read, self.loops[operand].plan.inputs) if r >= 0]
        return Step(item.registers("duD"), reads, successors, depth=item.depth)

    def _bytecode(self, allocation: Allocation) -> Bytecode:
        registers = max([len(self.graph.params), *(r + 1 for r in allocation.real)])

        def fixed(register: int) -> int:
            return allocation.real[register] if register >= 0 else registers - register - 1

        starts: list[int] = []
        out: list[tuple[str, tuple[Any, ...]]] = []
        places: list[SourceRange | None] = []
        for item, alive in zip(self.items, allocation.after, strict=True):
            starts.append(len(out))
            if item.name == MOVES:
                wanted = [(fixed(d), fixed(s)) for d, s in zip(*item.operands, strict=True) if alive >> d & 1]
                out.extend((name, (d, s)) for name, d, s in sequence_moves(wanted))
            else:
                out.append((item.name, item.operands))
            places.extend([item.where] * (len(out) - len(places)))
        positions = [starts[position] if 0 <= position < len(starts) else -1 for position in self.labels]
        instructions = [_finished(name, operands, fixed, positions) for name, operands in out]
        code = Bytecode(self.graph, len(self.graph.params), registers, self.constants, instructions, places, [])
        code.loops = [self._loop(entry, allocation, fixed, starts) for entry in self.loops]
        code.registers_of = {value: fixed(register) for value, register in self.register.items()}
        return code

    def _loop(self, entry: OpenLoop, allocation: Allocation, fixed: Callable[[int], int], starts: list[int]) -> Loop:
        landings: list[Landing] = []
        for code, resume in enumerate(entry.plan.resumes):
            if code == RETURNED:
                at, register = self.epilogue
                landings.append(Landing(starts[at], [(fixed(register), slot) for slot in resume.slots]))
                continue
            at = self.labels[entry.end] if resume.terminator is None else self.terminators[resume.terminator]
            alive = allocation.before[at]
            found = [(self.register[value], slot) for value, slot in zip(resume.values, resume.slots, strict=True)]
            # A value that nothing reads there has no register of its own, and a constant is where it always is.
            landings.append(Landing(starts[at], [(fixed(r), slot) for r, slot in found if r >= 0 and alive >> r & 1]))
        inputs = [fixed(self.register[value]) for value in entry.plan.inputs]
        return Loop(entry.node, starts[self.labels[entry.head]], inputs, landings)


def _finished(name: str, operands: tuple[Any, ...], fixed: Callable[[int], int], positions: list[int]) -> Instruction:
    if name in ("MOVE", "SWAP"):
        return instruction(name, *operands)
    final: list[Any] = []
    for kind, operand in zip(BY_NAME[name].kinds, operands, strict=True):
        if kind in "dsu":
            final.append(fixed(operand))
        elif kind in "DSP":
            final.append(tuple(map(fixed, operand)))
        else:
            final.append(positions[operand] if kind == "j" else operand)
    return instruction(name, *final)
