"""The dispatch loop, expanded from the opcode table.

In: `OPCODES`. Out: `dispatch_loop`, the Python function ``run(function, *arguments)`` that executes linked instructions. Four
variants exist, with and without a step limit and a tracing hook, so that neither costs anything when it is off; each is
compiled when it is first asked for.

An instruction is a list ``[number, A, B, C, index, next]``. Measured against a loop over an index, slices of code and
closures, the chain of lists was the fastest (350 against 390, 370 and 465 ns for an iteration of Collatz).
"""

from __future__ import annotations

import functools
import linecache
import sys
from collections.abc import Callable
from typing import Any

from jitlang.interpreter.frames import locate
from jitlang.interpreter.opcodes import OPCODES, Opcode
from jitlang.operators.rows import checked

_NUMBERED = sorted(OPCODES, key=lambda row: -row.weight)
NUMBERS: dict[str, int] = {row.name: number for number, row in enumerate(_NUMBERED)}

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


def refuse(function: Any, count: int) -> None:
    """Raises the TypeError of a call with a wrong number of arguments."""
    raise TypeError(f"{function.code.name}() takes {function.parameters} positional arguments but {count} were given")


def _decide(rows: list[Opcode], first: int, indent: str) -> list[str]:
    """A tree of tests on O; each split halves the weight, so that frequent instructions are near the root."""
    if len(rows) == 1:
        return [indent + line for line in rows[0].formula.splitlines()]
    half, total, split = 0, sum(r.weight for r in rows), 0
    while split < len(rows) - 1 and (split == 0 or 2 * (half + rows[split].weight) <= total):
        half += rows[split].weight
        split += 1
    test = f"{indent}if O < {first + split}:" if split > 1 else f"{indent}if O == {first}:"
    return [test, *_decide(rows[:split], first, indent + " "), f"{indent}else:", *_decide(rows[split:], first + split, indent + " ")]


def loop_text(limited: bool = False, traced: bool = False) -> str:
    """The text of the dispatch loop."""
    setup, each = "", ""
    if limited:
        setup += "    STEPS = F.step_limit\n"
        each += "            STEPS -= 1\n            if STEPS < 0: raise StepLimitError('the script reached its limit of steps')\n"
    if traced:
        setup += "    TRACE = F.trace\n"
        each += "            TRACE(F, AT, R)\n"
    return _HEAD.format(setup=setup, each=each) + "\n".join(_decide(_NUMBERED, 0, " " * 12)) + "\n" + _TAIL


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
        "depth_limit": sys.getrecursionlimit,
        "StepLimitError": StepLimitError,
    }
    exec(compile(text, name, "exec"), space)
    run: Callable[..., Any] = space["run"]
    return run
