"""Pipelines of passes: run one after the other, each with a budget of rewrites, verified and dumped where flags say so.

In: a `Program` and a pipeline: the text ``"inline,fold,unroll(max_trips=4)"``, or a level (0, 1, 2). Out: the same
program, changed in place, with the same meaning.

To add a pass: a module with a frozen dataclass that has a `name`, a field per option and ``run(program, budget)``; a
line in `PASSES`; its place in `PIPELINES`; files in ``tests/passes``. It asks ``budget.take()`` before each rewrite, so
that ``JITLANG_OPT_LIMIT=cse=17`` finds the rewrite that is wrong. No pass changes which exception is raised first, or
any bit of a result; none is needed for correctness.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from jitlang.config import flag
from jitlang.ir.graph import Program
from jitlang.ir.printer import print_program
from jitlang.ir.verifier import verify_program
from jitlang.passes.budget import Budget
from jitlang.passes.carried import Carried
from jitlang.passes.cse import CommonSubexpressions
from jitlang.passes.dce import DeadCode
from jitlang.passes.elements import Elements
from jitlang.passes.exits import Exits
from jitlang.passes.fold import Fold
from jitlang.passes.inline import Inline
from jitlang.passes.licm import LoopInvariants
from jitlang.passes.lookups import LookUps
from jitlang.passes.peephole import Peephole
from jitlang.passes.prune import Prune
from jitlang.passes.unroll import Unroll


class Pass(Protocol):
    """What a pass is."""

    name: Any

    def run(self, program: Program, budget: Budget) -> None:
        """Changes `program` in place."""


PASSES: dict[str, type[Any]] = {
    cls.name: cls for cls in (Inline, Exits, Fold, Peephole, CommonSubexpressions, DeadCode, Unroll, LoopInvariants, Carried, Prune, Elements, LookUps)
}

PIPELINES: dict[int, tuple[str, ...]] = {
    0: (),
    1: ("exits", "fold", "peephole", "dce"),
    2: (
        "inline",
        "prune",
        "exits",
        "elements",
        "fold",
        "peephole",
        "carried",
        "cse",
        "dce",
        "unroll",
        "exits",
        "fold",
        "peephole",
        "carried",
        "cse",
        "licm",
        "cse",
        "lookups",
        "dce",
    ),
}

_STEP = re.compile(r"\s*([a-z_]\w*)\s*(?:\(([^()]*)\))?\s*")
_dumps = itertools.count()


def passes_of(pipeline: str | int | Iterable[str]) -> list[Pass]:
    """The passes of a pipeline. Raises ValueError for an unknown pass, option or level."""
    if isinstance(pipeline, int):
        if pipeline < 0:
            raise ValueError(f"there is no optimisation level {pipeline}")
        steps: Iterable[str] = PIPELINES[min(pipeline, max(PIPELINES))]
    elif isinstance(pipeline, str):
        steps = _split(pipeline)
    else:
        steps = pipeline
    return [_pass(step) for step in steps]


def _split(pipeline: str) -> list[str]:
    """Splits at the commas that stand outside parentheses."""
    return [step for step in re.split(r",(?![^()]*\))", pipeline) if step.strip()]


def _pass(step: str) -> Pass:
    match = _STEP.fullmatch(step)
    if match is None or match[1] not in PASSES:
        raise ValueError(f"there is no pass {step.strip()!r}; there are {', '.join(PASSES)}")
    options: dict[str, int] = {}
    for option in (match[2] or "").split(","):
        name, equals, value = (part.strip() for part in option.partition("="))
        if not name:
            continue
        if not equals or not value.lstrip("-").isdigit() or name not in PASSES[match[1]].__dataclass_fields__:
            raise ValueError(f"the pass {match[1]} has no option {option.strip()!r}")
        options[name] = int(value)
    made: Pass = PASSES[match[1]](**options)
    return made


def run_pipeline(program: Program, pipeline: str | int | Iterable[str]) -> Program:
    """Runs the passes of `pipeline` on `program`, in place, and returns it.

    ``JITLANG_OPT_LIMIT`` bounds the rewrites of a pass, ``JITLANG_DEBUG=1`` verifies after each pass, ``JITLANG_DUMP``
    writes the program after each pass, ``JITLANG_LOG=passes`` counts rewrites on standard error.
    Raises ValueError for a pipeline that is none, IRError where verification fails.
    """
    limits = _limits()
    debug, folder = flag("JITLANG_DEBUG"), flag("JITLANG_DUMP")
    log = "passes" in flag("JITLANG_LOG").split(",")
    for step in passes_of(pipeline):
        budget = limits.get(step.name) or Budget()
        before = budget.used
        step.run(program, budget)
        if debug >= 1:
            _verify(program, step.name)
        if folder is not None:
            _dump(program, step.name, folder)
        if log:
            print(f"jitlang: passes: {program.entry}: {step.name}: {budget.used - before} rewrites", file=sys.stderr)
    return program


def optimise(program: Program, level: int | None = None) -> Program:
    """Runs the pipeline of `level` (default: ``JITLANG_OPT_LEVEL``) on `program`, in place, and returns it."""
    return run_pipeline(program, flag("JITLANG_OPT_LEVEL") if level is None else level)


def _limits() -> dict[str, Budget]:
    """The budgets that ``JITLANG_OPT_LIMIT`` gives; one is shared by all runs of its pass in a pipeline."""
    found: dict[str, Budget] = {}
    for item in filter(None, flag("JITLANG_OPT_LIMIT").split(",")):
        name, _, count = item.partition("=")
        if name.strip() not in PASSES or not count.strip().isdigit():
            raise ValueError(f"environment variable JITLANG_OPT_LIMIT: expected PASS=N, found {item!r}")
        found[name.strip()] = Budget(int(count))
    return found


def _verify(program: Program, name: str) -> None:
    try:
        verify_program(program)
    except Exception as error:
        error.add_note(f"after the pass {name}")
        raise


def _dump(program: Program, name: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    entry = re.sub(r"\W+", "_", program.entry)[:60]
    (folder / f"{next(_dumps):05}-{entry}-{name}.ir").write_text(print_program(program, texts=False, hook=repr), encoding="utf-8")
