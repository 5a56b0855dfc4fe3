"""The dispatch loop, expanded from the opcode table.

In: `OPCODES`. Out: `dispatch_loop`, the Python function ``run(function, *arguments)`` that executes linked instructions. Four
variants exist, with and without a step limit and a tracing hook, so that neither costs anything when it is off; each is
compiled when it is first asked for.

An instruction is a list ``[number, A, B, C, index, next]``. Measured against a loop over
an index, iteration over slices of code, and closures, following a chain of lists was the fastest (350 ns for an iteration of
Collatz; the others 390, 370 and 465).
"""

from __future__ import annotations

import dataclasses
import functools
import heapq
import linecache
import sys
from collections.abc import Callable
from typing import Any

from jitlang.interpreter.frames import locate
from jitlang.interpreter.opcodes import OPCODES, Opcode
from jitlang.operators.rows import checked

_Tree = Opcode | tuple["_Tree", "_Tree"]


_GROUP = 240  # code units


def _size(row: Opcode) -> int:
    """About how many code units of CPython the formula and the test in front of it take."""
    return len(compile(row.formula.replace("return ", "V = "), row.name, "exec").co_code) // 2 + 6


def _decision_tree() -> _Tree:
    """The order of tests that find an instruction's formula: groups of opcodes, frequent ones first, and in a group a Huffman tree.

    CPython 3.11 tests small integers fast only where the jump over the left half is shorter than 256 code units; hence groups.
    Measured on Collatz: 355 ns for an iteration, one Huffman tree of all opcodes 400, a balanced tree 430.
    """
    groups: list[list[Opcode]] = [[]]
    room = _GROUP
    for row in sorted(OPCODES, key=lambda row: -row.weight):
        room -= _size(row)
        if room < 0:
            groups.append([])
            room = _GROUP - _size(row)
        groups[-1].append(row)
    tree = _huffman(groups.pop())
    for group in reversed(groups):
        tree = (_huffman(group), tree)
    return tree


def _huffman(rows: list[Opcode]) -> _Tree:
    heap: list[tuple[int, int, _Tree]] = [(row.weight, i, row) for i, row in enumerate(rows)]
    heapq.heapify(heap)
    for serial in range(len(heap), 2 * len(heap) - 1):
        light, heavy = heapq.heappop(heap), heapq.heappop(heap)
        heapq.heappush(heap, (light[0] + heavy[0], serial, (heavy[2], light[2])))
    return heap[0][2]


def _leaves(tree: _Tree) -> list[Opcode]:
    return [tree] if isinstance(tree, Opcode) else _leaves(tree[0]) + _leaves(tree[1])


_TREE = _decision_tree()
# Opcodes are numbered from left to right, so that one comparison tells the halves of a subtree apart.
NUMBERS: dict[str, int] = {row.name: number for number, row in enumerate(_leaves(_TREE))}

_HEAD = """\
def run(F, *ARGUMENTS):
    if len(ARGUMENTS) != F.parameters: refuse(F, len(ARGUMENTS))
    R = [*ARGUMENTS, *F.rest]
    S = []
    PC = F.entry
    AT = 0
    DEPTH = depth_limit()
{setup}    try:
        while True:
            O, A, B, C, AT, PC = PC
{each}"""
_TAIL = """\
    except BaseException as error:
        locate(error, F, AT, S)
        raise
"""


class StepLimitError(RuntimeError):
    """A script has executed as many instructions as it was allowed to."""


def too_deep() -> None:
    """Raises the RecursionError of a script that calls itself too deeply."""
    raise RecursionError("maximum recursion depth exceeded")


def refuse(function: Any, count: int) -> None:
    """Raises the TypeError of a call with a wrong number of arguments."""
    raise TypeError(f"{function.code.name}() takes {function.parameters} positional arguments but {count} were given")


def _decide(tree: _Tree, indent: str) -> list[str]:
    if isinstance(tree, Opcode):
        return [indent + line for line in tree.formula.splitlines()]
    left, right = tree
    first = NUMBERS[_leaves(right)[0].name]
    return [f"{indent}if O < {first}:", *_decide(left, indent + " "), f"{indent}else:", *_decide(right, indent + " ")]


def loop_text(limited: bool = False, traced: bool = False) -> str:
    """The text of the dispatch loop."""
    setup, each = "", ""
    if limited:
        setup += "    STEPS = F.step_limit\n"
        each += "            STEPS -= 1\n            if STEPS < 0: raise StepLimitError('the script reached its limit of steps')\n"
    if traced:
        setup += "    TRACE = F.trace\n"
        each += "            TRACE(F, AT, R)\n"
    return _HEAD.format(setup=setup, each=each) + "\n".join(_decide(_TREE, " " * 12)) + "\n" + _TAIL


def write_attribute(obj: object, name: str, value: object) -> None:
    """``setattr``, and the field of a frozen dataclass too: what the script may assign, the frontend has decided."""
    try:
        setattr(obj, name, value)
    except dataclasses.FrozenInstanceError:
        object.__setattr__(obj, name, value)


@functools.cache
def dispatch_loop(limited: bool = False, traced: bool = False) -> Callable[..., Any]:
    """The loop; `limited` obeys the function's `step_limit`, `traced` calls its `trace` before each instruction."""
    text = loop_text(limited, traced)
    name = f"<dispatch loop{' limited' * limited}{' traced' * traced}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {
        "__name__": __name__,
        "checked": checked,
        "locate": locate,
        "refuse": refuse,
        "too_deep": too_deep,
        "depth_limit": sys.getrecursionlimit,
        "StepLimitError": StepLimitError,
        "setattr": write_attribute,
    }
    exec(compile(text, name, "exec"), space)
    run: Callable[..., Any] = space["run"]
    return run
