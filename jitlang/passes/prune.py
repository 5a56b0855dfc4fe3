"""Removes functions that the entry does not reach.

Given a program whose entry does not call ``@g``, directly or through others. Execute ``prune``. Result: ``@g`` is gone.
"""

from __future__ import annotations

import dataclasses

from jitlang.ir.graph import Program
from jitlang.passes.budget import Budget


@dataclasses.dataclass(frozen=True)
class Prune:
    """Keep what is reachable from the entry."""

    name = "prune"

    def run(self, program: Program, budget: Budget) -> None:
        """Removes the functions that no chain of calls from the entry reaches."""
        reached: set[str] = set()
        pending = [program.entry]
        while pending:
            name = pending.pop()
            if name in reached or name not in program.functions:
                continue
            reached.add(name)
            pending += [n.attributes["callee"] for n in program.functions[name].walk() if n.kind == "prim::Call"]
        for name in list(program.functions):
            if name not in reached and budget.take():
                del program.functions[name]
