"""The opcode table: its meanings against the operators' rows, its texts, and what is assembled from it."""

import itertools
import math
from pathlib import Path
from typing import Any

import pytest

from jitlang.errors import IRError
from jitlang.interpreter.allocation import sequence_moves
from jitlang.interpreter.bytecode import Bytecode, instruction, verify
from jitlang.interpreter.disassembler import disassemble
from jitlang.interpreter.loop import NUMBERS, loop_text
from jitlang.interpreter.opcodes import BY_NAME, OPCODES, manual, specialised
from jitlang.interpreter.vm import VM
from jitlang.ir.graph import Graph, Node, Program
from jitlang.registry import Operator, find
from jitlang.types import INT, Type, TypeVariable

SAMPLES: dict[str, list[Any]] = {
    "int": [0, 1, -1, 2, 7, -13, 2**29, 2**30, 2**31, 2**62, 2**63 - 1, -(2**63)],
    "float": [0.0, -0.0, 1.0, -2.5, 7.25, 1e300, math.inf, -math.inf, math.nan],
    "bool": [False, True],
    "str": ["", "a", "ab", "ä€"],
    "List[t]": [[], [1], [1, 2]],
    "List[int]": [[], [1], [1, 2]],
    "Dict[k, v]": [{}, {1: 2}, {0: 5, 1: 6}],
    "Any": [None, (1, 2), (1, 3)],
}
ROWS = [name for row in OPCODES for name in row.implements]


def shape(row: Operator, argument: Type) -> str:
    """The key of SAMPLES for one argument of a row."""
    if isinstance(argument, TypeVariable) or str(argument) in ("k", "v", "t"):
        return "int"
    return "List[int]" if row.name == "is_none" else str(argument)


def result(function: Any, *arguments: Any) -> tuple[Any, ...]:
    """What a call gives, and what it has made of its arguments; texts, so that nan equals nan and -0.0 differs from 0.0."""
    copies = [list(a) if isinstance(a, list) else dict(a) if isinstance(a, dict) else a for a in arguments]
    try:
        return "value", repr(function(*copies)), repr(copies)
    except Exception as error:
        return "raises", type(error), str(error)


@pytest.mark.parametrize("name", ROWS)
def test_a_specialised_instruction_does_what_the_row_says(name: str) -> None:
    row = find(name)
    assert row.python is not None
    types = [a.type for a in row.schema.arguments]
    graph = Graph("f", INT)
    params = [graph.block.add_param(t) for t in types]
    returns = row.schema.returns
    node = graph.block.append(Node(row.kind, params, [r.type for r in returns], overload=row.qualified))
    value = node.outputs[0] if returns else graph.block.append(Node("prim::Constant", (), [INT], value=None)).output
    graph.block.append(Node("prim::return", [value]))
    machine = VM(Program("f", {"f": graph}))
    function = machine.function()
    opcode = specialised(name)
    assert opcode is not None
    assert machine.executable("f").code.instructions[0].opcode is opcode
    for arguments in itertools.product(*(SAMPLES[shape(row, t)] for t in types)):
        assert result(function, *arguments) == result(row.python, *arguments), arguments


def test_every_row_is_well_formed() -> None:
    assert len(BY_NAME) == len(OPCODES)
    for row in OPCODES:
        assert set(row.kinds) <= set("dsuDSPjlfgk"), row.name
        assert row.branch == "" or row.branch in BY_NAME
        assert row.counting == "" or BY_NAME[row.counting].kinds == row.kinds
        for letter, kind in zip("ABC", row.kinds, strict=False):
            assert kind == "k" or letter in row.formula, (row.name, letter)


def test_the_dispatch_loop_holds_every_formula_once() -> None:
    text = loop_text()
    assert sorted(NUMBERS.values()) == list(range(len(OPCODES)))
    for row in OPCODES:
        assert row.formula.splitlines()[0] in text
    assert "STEPS" not in text
    assert "TRACE" not in text
    assert "TRACE(F, AT, R)" in loop_text(traced=True)


def test_the_reference_page_is_current() -> None:
    page = Path(__file__).parents[2] / "docs" / "bytecode.md"
    assert page.read_text(encoding="utf-8") == manual(), "run: python -m jitlang.interpreter.opcodes > docs/bytecode.md"


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_parallel_moves_in_sequence(count: int) -> None:
    for sources in itertools.product(range(4), repeat=count):
        for targets in itertools.permutations(range(4), count):
            registers = list("abcd")
            expected = list(registers)
            for target, source in zip(targets, sources, strict=True):
                expected[target] = registers[source]
            for name, a, b in sequence_moves(list(zip(targets, sources, strict=True))):
                registers[a], registers[b] = (registers[b], registers[b]) if name == "MOVE" else (registers[b], registers[a])
            assert registers == expected, (targets, sources)


def code(*instructions: Any) -> Bytecode:
    """Two registers, one of them a parameter, and a constant behind them."""
    graph = Graph("f", INT)
    graph.block.add_param(INT, "x")
    return Bytecode(graph, 1, 2, [7], list(instructions), [None] * len(instructions), [])


@pytest.mark.parametrize(
    ("instructions", "message"),
    [
        ([], "runs past the last instruction"),
        ([instruction("MOVE", 1, 0)], "runs past the last instruction"),
        ([instruction("MOVE", 2, 0), instruction("RETURN", 0)], "register 2 does not exist or is a constant"),
        ([instruction("MOVE", 1, 3), instruction("RETURN", 0)], "register 3 does not exist"),
        ([instruction("JUMP", 5)], "jump to 5"),
        ([instruction("LOOP", None, None, 0)], "loop 0 does not exist"),
        ([instruction("APPLY_1", 1, abs, 0), instruction("RETURN", 0)], "is no function"),
    ],
)
def test_the_verifier_refuses(instructions: list[Any], message: str) -> None:
    with pytest.raises(IRError, match=message):
        verify(code(*instructions))


def test_the_assembler_refuses() -> None:
    with pytest.raises(IRError, match="no instruction WAIT"):
        instruction("WAIT")
    with pytest.raises(IRError, match="MOVE takes 2 operands, not 1"):
        instruction("MOVE", 1)


def test_disassembly() -> None:
    made = code(instruction("ADD", 1, 0, 2), instruction("UNLESS_LT", 1, 2, 3), instruction("JUMP", 0), instruction("RETURN", 1))
    verify(made)
    assert disassemble(made).splitlines() == [
        "function f(r0 x): 2 registers, 1 constants, 0 loops",
        "  r2 = 7",
        "      >   0  ADD              r1 r0 r2                     ; r1 = r0 + r2",
        "          1  UNLESS_LT        r1 r2 @3                     ; if not r1 < r2: PC = @3",
        "          2  JUMP             @0                           ; PC = @0",
        "      >   3  RETURN           r1                           ; leaves the function",
    ]
