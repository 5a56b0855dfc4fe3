"""The bytecode of one function, as data: what the compiler makes and what the disassembler and the VM read.

An `Instruction` is an opcode and up to three operands: register numbers, instruction indices, tuples of registers, or
Python values, as the opcode's row says. The line table, `Bytecode.places`, stands beside the instructions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from jitlang.errors import IRError
from jitlang.interpreter.opcodes import BY_NAME, Opcode
from jitlang.ir.graph import Graph, Node, Value
from jitlang.source import SourceRange

Operand = Any


@dataclasses.dataclass(frozen=True)
class Function:
    """An ``f`` operand: a Python function and the name it is shown by (an operator's full name, mostly)."""

    name: str
    call: Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class Instruction:
    """One instruction; the operands that the opcode does not have are None."""

    opcode: Opcode
    operands: tuple[Operand, ...]

    @property
    def pairs(self) -> list[tuple[str, Operand]]:
        """(kind, operand) of each operand."""
        return list(zip(self.opcode.kinds, self.operands, strict=True))


@dataclasses.dataclass
class Landing:
    """Where the VM goes on after a loop ran outside it: at instruction `at`, with result[slot] in register."""

    at: int
    writes: list[tuple[int, int]]  # (register, index in the result)


@dataclasses.dataclass
class Loop:
    """One loop of a function: its head, and what is needed to run the rest of it elsewhere.

    Args:
        node: the ``prim::For`` or ``prim::While``.
        head: the instruction that an iteration begins with.
        inputs: the registers that hold, at the head, the parameters of the function `take_out` makes of the loop.
        landings: by the code that this function returns.
    """

    node: Node
    head: int
    inputs: list[int]
    landings: list[Landing]


@dataclasses.dataclass
class Bytecode:
    """One function.

    Args:
        graph: what it was made of.
        parameters: how many arguments it takes; they are in the first registers.
        registers: how many registers there are, without constants.
        constants: the values in the registers behind those.
        instructions: the code; execution starts at the first.
        places: the source range of each instruction, or None.
        loops: the loops, by the number in the ``l`` operand of their back-edges.
        registers_of: register by value, for debuggers.
    """

    graph: Graph
    parameters: int
    registers: int
    constants: list[Any]
    instructions: list[Instruction]
    places: list[SourceRange | None]
    loops: list[Loop]
    registers_of: dict[Value, int] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """The function's name."""
        return self.graph.name


def instruction(name: str, *operands: Operand) -> Instruction:
    """Assembles one instruction; IRError for an unknown name or a wrong number of operands."""
    row = BY_NAME.get(name)
    if row is None:
        raise IRError(f"there is no instruction {name}")
    if len(operands) != len(row.kinds):
        raise IRError(f"{name} takes {len(row.kinds)} operands, not {len(operands)}")
    return Instruction(row, operands)


def verify(code: Bytecode) -> None:
    """Checks the invariants below; IRError naming the function and the instruction that breaks one.

    1. Registers exist; only registers that are no constants are written.
    2. Jumps and loop numbers lead to existing instructions.
    3. Control cannot run past the last instruction.
    4. Each instruction has one place (or None).
    """
    limit = code.registers + len(code.constants)
    if len(code.places) != len(code.instructions):
        raise IRError(f"{code.name}: {len(code.places)} places for {len(code.instructions)} instructions")
    if not code.instructions or not code.instructions[-1].opcode.ends:
        raise IRError(f"{code.name}: control runs past the last instruction")
    for index, item in enumerate(code.instructions):
        for kind, operand in item.pairs:
            problem = _problem(kind, operand, code, limit)
            if problem:
                raise IRError(f"{code.name}: instruction {index}, {item.opcode.name}: {problem}")


def _problem(kind: str, operand: Operand, code: Bytecode, limit: int) -> str:
    if kind in "dusDSP":
        bound = limit if kind in "sSP" else code.registers
        registers = operand if kind in "DSP" else (operand,)
        return "".join(f"register {r} does not exist or is a constant" for r in registers if not 0 <= r < bound)
    if kind == "j":
        return "" if 0 <= operand < len(code.instructions) else f"jump to {operand}"
    if kind == "l":
        return "" if 0 <= operand < len(code.loops) else f"loop {operand} does not exist"
    return "" if kind != "f" or isinstance(operand, Function) else f"{operand!r} is no function"
