"""Bytecode as text, for ``jitlang dump --stage bytecode`` and for tests.

In: `Bytecode`. Out: one line for each instruction: its index, a ``>`` where a jump leads, the source line where it changes, the
mnemonic, the operands and the formula with the operands filled in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from jitlang.interpreter.bytecode import Bytecode, Function, Instruction
from jitlang.interpreter.compiler import compile_graph
from jitlang.ir.graph import Program


def disassemble_program(program: Program) -> str:
    """All functions of a program; IRError as from `compile_graph`."""
    return "\n".join(disassemble(compile_graph(graph, program)) for graph in program.functions.values())


def disassemble(code: Bytecode) -> str:
    """One function."""
    names = ", ".join(f"r{i} {p.name}" for i, p in enumerate(code.graph.params))
    head = f"function {code.name}({names}): {code.registers} registers, {len(code.constants)} constants, {len(code.loops)} loops"
    constants = [f"  r{code.registers + i} = {value!r}" for i, value in enumerate(code.constants)]
    return "\n".join([head, *constants, *_lines(code)]) + "\n"


def _lines(code: Bytecode) -> Iterator[str]:
    targets = {operand for item in code.instructions for kind, operand in item.pairs if kind == "j"}
    targets.update(loop.head for loop in code.loops)
    shown = None
    for index, item in enumerate(code.instructions):
        where = code.places[index]
        line = where.line if where is not None else None
        number = f"{line}" if line is not None and line != shown else ""
        shown = line
        operands = " ".join(filter(None, (_operand(kind, operand, code) for kind, operand in item.pairs)))
        text = f"{number:>5} {'>' if index in targets else ' '}{index:4}  {item.opcode.name:<16} {operands:<28} {formula(item, code)}"
        yield text.rstrip()


def _operand(kind: str, operand: Any, code: Bytecode) -> str:
    if kind in "dsu":
        return f"r{operand}"
    if kind in "DSP":
        return f"({', '.join(f'r{r}' for r in operand)})"
    if kind == "j":
        return f"@{operand}"
    if kind == "l":
        return f"@{code.loops[operand].head}"
    if isinstance(operand, Function):
        return operand.name
    return "" if operand is None else getattr(operand, "__name__", repr(operand))


def formula(item: Instruction, code: Bytecode) -> str:
    """The opcode's formula, if it is one line, with the operands in place of A, B and C."""
    text = item.opcode.formula
    if "\n" in text:
        return f"; {item.opcode.doc}"
    shown = {letter: _operand(kind, operand, code) for letter, (kind, operand) in zip("ABC", item.pairs, strict=False)}
    text = re.sub(r"R\[([ABC])\]", lambda match: shown[match[1]], text)
    return "; " + re.sub(r"\b([ABC])\b", lambda match: shown.get(match[1], match[1]), text)
