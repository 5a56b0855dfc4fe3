"""Fewer exits: Regions, early returns, breaks and continues become plain If where they can.

- Given a Region that nothing but its final ``yield`` leaves. Result: its nodes stand in its place.
- Given ``exit`` to a Region as the end of that Region's own body. Result: a ``yield``. Likewise ``next`` of a loop.
- Given an If whose blocks end in the same kind of jump (``exit``, ``next`` to one target, ``return``). Result: both
  yield what they carried, and one such jump follows the If.
- Given an If of which one block jumps and the other yields, where the rest of the block comes to the same place.
  Result: the rest stands in the yielding block.
- Given a node that control never gets past. Result: what follows it is gone, ``unreachable`` stands there.
- Given a While that is left at the end of its first iteration. Result: a Region.
"""

from __future__ import annotations

import dataclasses

from jitlang.ir.graph import LOOPS, Block, Graph, Node, Program
from jitlang.passes.blocks import blocks_inside, carried_params, completes, cut_after, depth_of, detach, exits_of, repeats_of, splice, substitute
from jitlang.passes.budget import Budget
from jitlang.types import Type

# A chain of early returns nests one level each; deeper than this it stays as it is.
MAX_DEPTH = 24
_JUMPS = frozenset({"prim::exit", "prim::next", "prim::return"})


@dataclasses.dataclass(frozen=True)
class Exits:
    """Structure without jumps, where that takes no copy of code."""

    name = "exits"

    def run(self, program: Program, budget: Budget) -> None:
        """Rewrites every function until nothing changes."""
        for graph in program.functions.values():
            changed = True
            while changed:
                changed = False
                for block in blocks_inside(graph.block):
                    changed |= _rewrite_block(block, budget, graph)


def _rewrite_block(block: Block, budget: Budget, graph: Graph) -> bool:
    changed = False
    # From the end: the rest that moves behind an early exit has lost its own early exits by then.
    for node in reversed(list(block.nodes)):
        if node.block is not block:
            continue
        if _is_end(node, block) and budget.take():
            cut_after(node)
            block.append(Node("prim::unreachable", where=node.range))
            changed = True
        if node.kind == "prim::If":
            changed |= _merge_jumps(node, budget, graph) or _move_rest(node, budget, graph)
        elif node.kind == "prim::Region":
            changed |= _splice_region(node, budget)
        elif node.kind == "prim::While" and not repeats_of(node) and budget.take():
            _once(node)
            changed = True
    return _normal_end(block, budget) or changed


def _is_end(node: Node, block: Block) -> bool:
    """Whether control never gets past the node, and something follows it."""
    return bool(node.blocks) and not completes(node) and block.nodes[block.nodes.index(node) + 1].kind != "prim::unreachable"


def _normal_end(block: Block, budget: Budget) -> bool:
    """An ``exit`` or ``next`` that goes where the end of its block goes anyhow is a ``yield``."""
    owner, end = block.owner, block.terminator
    if end.target is None or end.target is not owner:
        return False
    normal = "prim::next" if owner.kind in LOOPS else "prim::exit"
    if end.kind != normal or not budget.take():
        return False
    end.kind, end.target = "prim::yield", None
    return True


def _splice_region(region: Node, budget: Budget) -> bool:
    body = region.blocks[0]
    if exits_of(region) or not budget.take():
        return False
    splice(body, region)
    return True


def _once(loop: Node) -> None:
    body = loop.blocks[0]
    substitute(body.params, list(loop.inputs))
    body.params.clear()
    loop.set_inputs(())
    loop.kind = "prim::Region"


def _merge_jumps(node: Node, budget: Budget, graph: Graph) -> bool:
    then, other = (b.terminator for b in node.blocks)
    assert node.block is not None
    if then.kind not in _JUMPS or (then.kind, then.target) != (other.kind, other.target) or not budget.take():
        return False
    cut_after(node)
    del node.outputs[:]
    values = [node.add_output(t, v.name) for v, t in zip(then.inputs, _carried_types(then, graph), strict=True)]
    node.block.append(Node(then.kind, values, where=node.range, target=then.target))
    for end in (then, other):
        end.kind, end.target = "prim::yield", None
    return True


def _carried_types(jump: Node, graph: Graph) -> list[Type]:
    if jump.target is None:
        return [graph.result]
    return [v.type for v in (jump.target.outputs if jump.kind == "prim::exit" else carried_params(jump.target))]


def _destination(end: Node) -> tuple[str, Node | None]:
    """Where a terminator leads: (kind, target), with ``yield`` written as the jump that it stands for."""
    owner = end.block.owner if end.block is not None else None
    if end.kind != "prim::yield" or not isinstance(owner, Node):
        return end.kind, end.target
    if owner.kind == "prim::Region":
        return "prim::exit", owner
    return ("prim::next", owner) if owner.kind in LOOPS else ("prim::yield", owner)


def _move_rest(node: Node, budget: Budget, graph: Graph) -> bool:
    block = node.block
    assert block is not None
    ends = [b.terminator for b in node.blocks]
    staying = [e for e in ends if e.kind == "prim::yield"]
    if len(staying) != 1 or depth_of(block) > MAX_DEPTH:
        return False
    stays, last = staying[0], block.terminator
    jump = ends[1 - ends.index(stays)]
    inner = stays.block
    if inner is None or jump.kind not in _JUMPS or _destination(last) != _destination(jump) or not budget.take():
        return False
    types = _carried_types(jump, graph)
    for output, value in zip(node.outputs, list(stays.inputs), strict=True):
        output.replace_with(value)
    stays.destroy()
    del node.outputs[:]
    for item in block.nodes[block.nodes.index(node) + 1 : -1]:
        inner.append(detach(item))
    # The end of the block stays behind the If: both sides come to it with what they carried.
    inner.append(Node("prim::yield", last.inputs, where=last.range))
    last.set_inputs([node.add_output(t, v.name) for t, v in zip(types, last.inputs, strict=True)])
    jump.kind, jump.target = "prim::yield", None
    return True
