"""Values that a loop carries without changing them, and values that two branches agree on.

Given a While or For whose ``yield`` and ``next`` pass parameter ``%x`` on as it came in, with ``%a`` as its first value.
Execute ``carried``. Result: ``%a`` is read instead of ``%x``, and of the output if every exit carries ``%x``, too.

Given an If whose two blocks yield the same value. Execute ``carried``. Result: that value is read instead of the output.
"""

from __future__ import annotations

import dataclasses

from jitlang.ir.equal import literal_key
from jitlang.ir.graph import LOOPS, Block, Node, Program, Value
from jitlang.passes.blocks import carried_inputs, carried_params, completes, repeats_of, results_of
from jitlang.passes.budget import Budget


@dataclasses.dataclass(frozen=True)
class Carried:
    """Read the value itself instead of what is carried."""

    name = "carried"

    def run(self, program: Program, budget: Budget) -> None:
        """Rewrites every function; the unused parameters and outputs are left to ``dce``."""
        for graph in program.functions.values():
            _rewrite_block(graph.block, budget)


def _rewrite_block(block: Block, budget: Budget) -> None:
    for node in list(block.nodes):
        if node.kind in LOOPS:
            _invariant_params(node, budget)
        for inner in node.blocks:
            _rewrite_block(inner, budget)
        if node.blocks:
            _agreed_outputs(node, budget)


def _invariant_params(loop: Node, budget: Budget) -> None:
    repeats = repeats_of(loop)
    for index, param in enumerate(carried_params(loop)):
        first = carried_inputs(loop)[index]
        # Types may differ where a tensor is refined: the wider one is what the body was checked with.
        if param.type != first.type or not any(True for u in param.uses if not (u.node in repeats and u.index == index)):
            continue
        if all(n.inputs[index] in (param, first) for n in repeats) and budget.take():
            param.replace_with(first)


def _agreed_outputs(node: Node, budget: Budget) -> None:
    for index, output in enumerate(node.outputs):
        if not output.uses or not completes(node):
            continue
        values = [n.inputs[index] for n in results_of(node)]
        if node.kind == "prim::For":
            values += [carried_inputs(node)[index], *(n.inputs[index] for n in repeats_of(node))]
            values = [v for v in values if v is not carried_params(node)[index]]
        if output.type == values[0].type and _agree(values, node) and budget.take():
            output.replace_with(_agreed(values[0], node))


def _agree(values: list[Value], node: Node) -> bool:
    """Whether all are one value that is defined outside `node`, or equal constants."""
    first = values[0]
    if all(v is first for v in values) and not _defined_inside(first, node):
        return True
    return all(v.is_constant and v.type == first.type and literal_key(v.constant) == literal_key(first.constant) for v in values)


def _agreed(value: Value, node: Node) -> Value:
    """`value`, or a copy of that constant in front of `node`."""
    if not _defined_inside(value, node):
        return value
    return Node("prim::Constant", types=[value.type], where=node.range, value=value.constant).insert_before(node).output


def _defined_inside(value: Value, node: Node) -> bool:
    if value.node is not None:
        return node.encloses(value.node)
    block = value.block
    return block is not None and isinstance(block.owner, Node) and (block.owner is node or node.encloses(block.owner))
