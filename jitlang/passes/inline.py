"""Inlining: the body of a callee in place of the call.

Given ``%r: int = prim::Call[callee="g"](%a)``. Execute ``inline``. Result: ``%r: int = prim::Region():`` with a copy of the
body of ``@g`` in which ``%a`` stands for the parameter and ``exit`` to the Region stands for ``return``. Source ranges
keep their place in ``@g`` and name the call as their caller, so tracebacks do not change.

Functions that call themselves, directly or through others, are not inlined, nor is one with the attribute
``inline="never"``; a callee is inlined if it is small, or has one call in the whole program.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from jitlang.ir.graph import Graph, Node, Program, clone_block
from jitlang.passes.blocks import detach
from jitlang.passes.budget import Budget


@dataclasses.dataclass(frozen=True)
class Inline:
    """Callees first.

    Args:
        max_nodes: a callee of at most so many nodes is inlined everywhere.
        max_total: a function does not grow beyond so many nodes.
    """

    max_nodes: int = 80
    max_total: int = 4000
    name = "inline"

    def run(self, program: Program, budget: Budget) -> None:
        """Inlines into every function."""
        calls = {name: list(_calls(graph)) for name, graph in program.functions.items()}
        counts: dict[str, int] = {}
        for found in calls.values():
            for call in found:
                counts[call.attributes["callee"]] = counts.get(call.attributes["callee"], 0) + 1
        recursive = _recursive({name: [c.attributes["callee"] for c in found] for name, found in calls.items()})
        for name in _callees_first({n: [c.attributes["callee"] for c in found] for n, found in calls.items()}):
            graph = program.functions[name]
            total = sum(1 for _ in graph.walk())
            for call in list(_calls(graph)):
                callee = program.functions.get(call.attributes["callee"])
                if callee is None or callee.name in recursive or callee.attributes.get("inline") == "never":
                    continue
                size = sum(1 for _ in callee.walk())
                wanted = size <= self.max_nodes or counts.get(callee.name) == 1 or callee.attributes.get("inline") == "always"
                if wanted and total + size <= self.max_total and budget.take():
                    inline_call(call, callee)
                    total += size


def _calls(graph: Graph) -> Iterator[Node]:
    return (n for n in graph.walk() if n.kind == "prim::Call")


def inline_call(call: Node, callee: Graph) -> Node:
    """Replaces one call by a Region; returns the Region."""
    region = Node("prim::Region", where=call.range)
    body = region.add_block()
    region.insert_before(call)

    def remap(old: Node, new: Node) -> None:
        if old.range is not None and call.range is not None:
            new.range = old.range.at(call.range)
        if old.kind == "prim::return":
            new.kind, new.target = ("prim::yield", None) if old.block is callee.block else ("prim::exit", region)

    clone_block(callee.block, body, dict(zip(callee.params, call.inputs, strict=True)), remap)
    for output in call.outputs:
        output.replace_with(region.add_output(output.type, output.name))
    detach(call).set_inputs(())
    return region


def _recursive(calls: dict[str, list[str]]) -> set[str]:
    """The functions that can come back to themselves."""
    return {name for name in calls if name in _reach(name, calls)}


def _reach(name: str, calls: dict[str, list[str]]) -> set[str]:
    found: set[str] = set()
    pending = list(calls[name])
    while pending:
        callee = pending.pop()
        if callee not in found:
            found.add(callee)
            pending += calls.get(callee, [])
    return found


def _callees_first(calls: dict[str, list[str]]) -> list[str]:
    done: dict[str, None] = {}
    for name in calls:
        stack = [(name, iter(calls[name]))]
        open_names = {name}
        while stack:
            current, rest = stack[-1]
            callee = next((c for c in rest if c in calls and c not in done and c not in open_names), None)
            if callee is None:
                done[current] = None
                stack.pop()
            else:
                open_names.add(callee)
                stack.append((callee, iter(calls[callee])))
    return list(done)
