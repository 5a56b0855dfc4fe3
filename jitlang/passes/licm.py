"""Loop-invariant motion: what a loop computes anew in each iteration from values outside it is computed in front of it.

Given a node in the body of a For or While whose inputs are defined outside, which writes nothing and reads nothing that
the loop writes. Result: the node stands in front of the loop, if one of these holds:

- it can be executed where the program would not have executed it (`is_speculatable`: it never raises, and reads no value
  that may be unset on the path where the loop does not run), or
- the loop certainly executes it, and before anything that could be noticed: it stands at the head of the body, the
  nodes above it raise nothing and write nothing, and there is a first iteration (a While has one).

An object that each iteration makes anew is made once only where nobody can tell.
"""

from __future__ import annotations

import dataclasses

from jitlang.ir.alias import AliasAnalysis, has_effect, is_fresh, is_speculatable, may_write
from jitlang.ir.graph import LOOPS, Block, Graph, Node, Program, Value
from jitlang.passes.blocks import detach
from jitlang.passes.budget import Budget
from jitlang.passes.fold import trip_count


@dataclasses.dataclass(frozen=True)
class LoopInvariants:
    """Inner loops first, so that a node may move out of several."""

    name = "licm"

    def run(self, program: Program, budget: Budget) -> None:
        """Rewrites every function."""
        for graph in program.functions.values():
            aliases = AliasAnalysis(graph)
            for loop in _loops_inside(graph):
                _hoist(loop, aliases, budget)


def _loops_inside(graph: Graph) -> list[Node]:
    return [n for n in reversed(list(graph.walk())) if n.kind in LOOPS]


def _hoist(loop: Node, aliases: AliasAnalysis, budget: Budget) -> None:
    inside = _defined_inside(loop)
    effects = aliases.effects(loop)
    runs = loop.kind == "prim::While" or (trip_count(loop) or 0) > 0

    def invariant(node: Node) -> bool:
        if node.blocks or node.is_terminator or node.kind == "prim::Uninitialized" or may_write(node):
            return False
        if any(v in inside for v in node.inputs):
            return False
        if is_fresh(node) and not all(aliases.is_mergeable(v) for v in node.outputs):
            return False
        return not effects.clashes(aliases.effects(node))

    def visit(block: Block, certain: bool) -> None:
        # certain: control comes here in the first iteration, and nothing that can be noticed has happened since it began
        for node in list(block.nodes):
            if invariant(node) and (certain or is_speculatable(node)) and budget.take():
                detach(node).insert_before(loop)
                inside.difference_update(node.outputs)
                continue
            for inner in node.blocks:
                visit(inner, certain and node.kind == "prim::Region")
            certain = certain and not has_effect(node)

    visit(loop.blocks[0], runs)


def _defined_inside(loop: Node) -> set[Value]:
    found: set[Value] = set()
    for node in loop.walk():
        found.update(node.outputs if node is not loop else ())
        for block in node.blocks:
            found.update(block.params)
    return found
