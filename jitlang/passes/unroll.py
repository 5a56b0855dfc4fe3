"""Unrolling: a For with a constant, small number of iterations becomes its iterations, one after the other.

Given ``prim::For(%start, %stop, %step, carried…)`` with constant bounds. Result: for each iteration a copy of the body in
which the index is a constant; ``next`` becomes ``exit`` from a Region around the copy, ``exit`` from the loop becomes
``exit`` from a Region around all of them. The pass ``exits`` takes those Regions away where it can.
"""

from __future__ import annotations

import dataclasses

from jitlang.ir.graph import Block, Node, Program, Value, clone_block
from jitlang.passes.blocks import carried_inputs, exits_of, nexts_of, splice
from jitlang.passes.budget import Budget
from jitlang.passes.fold import trip_count


@dataclasses.dataclass(frozen=True)
class Unroll:
    """Innermost loops first.

    Args:
        max_trips: loops of more iterations stay.
        max_nodes: so many nodes may come of one loop.
    """

    max_trips: int = 8
    max_nodes: int = 160
    name = "unroll"

    def run(self, program: Program, budget: Budget) -> None:
        """Rewrites every function."""
        for graph in program.functions.values():
            for loop in [n for n in reversed(list(graph.walk())) if n.kind == "prim::For"]:
                trips = trip_count(loop)
                size = sum(1 for _ in loop.blocks[0].walk())
                if trips is not None and trips <= self.max_trips and trips * size <= self.max_nodes and budget.take():
                    unroll(loop, trips)


def unroll(loop: Node, trips: int) -> None:
    """Replaces `loop`, whose body runs `trips` times unless something leaves it."""
    whole = Node("prim::Region", where=loop.range)
    body = whole.add_block()
    whole.insert_before(loop)
    start, _, step = (v.constant for v in loop.inputs[:3])
    carried = list(carried_inputs(loop))
    for trip in range(trips):
        if body.terminated:
            break
        carried = _iteration(loop, whole, body, start + trip * step, carried)
    if not body.terminated:
        body.append(Node("prim::yield", carried, where=loop.range))
    for output in loop.outputs:
        output.replace_with(whole.add_output(output.type, output.name))
    leaves = bool(exits_of(whole))
    loop.destroy()
    if not leaves:
        splice(body, whole)


def _iteration(loop: Node, whole: Node, into: Block, index: int, carried: list[Value]) -> list[Value]:
    """Appends one copy of the body of `loop`; returns the values carried on, or nothing where it ends the block."""
    source = loop.blocks[0]
    constant = into.append(Node("prim::Constant", types=[source.params[0].type], where=loop.range, value=index)).output
    copy = Node("prim::Region", where=loop.range)
    body = copy.add_block()
    into.append(copy)

    def remap(old: Node, new: Node) -> None:
        if old.target is loop:
            new.kind, new.target = "prim::exit", whole if old.kind == "prim::exit" else copy

    clone_block(source, body, dict(zip(source.params, [constant, *carried], strict=True)), remap)
    results = [copy.add_output(p.type, p.name) for p in source.params[1:]]
    if nexts_of(loop):
        return results
    ends = body.terminator
    if ends.kind == "prim::yield":
        following = list(ends.inputs)
        splice(body, copy)
        return following
    splice(body, copy)
    return []
