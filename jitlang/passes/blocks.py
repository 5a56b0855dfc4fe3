"""Moves that several passes make on blocks and structured nodes.

In: nodes of a graph. Out: the graph changed; each function says what it takes for granted.
"""

from __future__ import annotations

from jitlang.ir.graph import LOOPS, Block, Node, Value


def carried_params(loop: Node) -> list[Value]:
    """The parameters of the body that a For or While carries from one iteration to the next."""
    return loop.blocks[0].params[1:] if loop.kind == "prim::For" else loop.blocks[0].params


def carried_inputs(loop: Node) -> list[Value]:
    """The values that these have in the first iteration."""
    return loop.inputs[3:] if loop.kind == "prim::For" else loop.inputs


def exits_of(node: Node) -> list[Node]:
    """The ``exit`` nodes that leave `node`."""
    return [n for n in node.walk() if n.kind == "prim::exit" and n.target is node]


def nexts_of(loop: Node) -> list[Node]:
    """The ``next`` nodes that repeat `loop`."""
    return [n for n in loop.walk() if n.kind == "prim::next" and n.target is loop]


def repeats_of(loop: Node) -> list[Node]:
    """What begins another iteration: its ``next`` nodes and the ``yield`` of its body."""
    end = loop.blocks[0].terminator
    return [*nexts_of(loop), *([end] if end.kind == "prim::yield" else [])]


def results_of(node: Node) -> list[Node]:
    """The terminators whose inputs are the outputs of `node`, but for the normal end of a For."""
    found = exits_of(node)
    if node.kind not in LOOPS:
        found += [b.terminator for b in node.blocks if b.terminator.kind == "prim::yield"]
    return found


def completes(node: Node) -> bool:
    """Whether control may come to the node behind this one."""
    if node.kind == "prim::For":
        return True
    return not node.blocks or bool(results_of(node))


def detach(node: Node) -> Node:
    """Takes `node` out of its block; its inputs stay."""
    assert node.block is not None
    node.block.nodes.remove(node)
    node.block = None
    return node


def move_nodes(source: Block, into: Block, index: int, count: int | None = None) -> None:
    """Moves the first `count` nodes (default: all) of `source` to position `index` of `into`."""
    moved = source.nodes[:count]
    del source.nodes[: len(moved)]
    for node in moved:
        node.block = into
    into.nodes[index:index] = moved


def cut_after(node: Node) -> None:
    """Removes all nodes behind `node` in its block. Their outputs are used by one another only."""
    assert node.block is not None
    nodes = node.block.nodes
    for dead in reversed(nodes[nodes.index(node) + 1 :]):
        dead.destroy()


def splice(block: Block, at: Node) -> None:
    """Given ``at`` = a node with `block` among its blocks. Execute ``splice(block, at)``. Result: the nodes of `block` stand in its place.

    If `block` ends in ``yield``, what it yields replaces the outputs of `at`; otherwise control never comes behind
    `at`, and all that follows is removed.
    """
    outer = at.block
    assert outer is not None
    end = block.terminator
    if end.kind == "prim::yield":
        for output, value in zip(at.outputs, list(end.inputs), strict=True):
            output.replace_with(value)
        end.destroy()
    else:
        cut_after(at)
    move_nodes(block, outer, outer.nodes.index(at))
    at.destroy()


def substitute(params: list[Value], values: list[Value]) -> None:
    """Makes all uses of `params` read `values`."""
    for param, value in zip(params, values, strict=True):
        param.replace_with(value)


def blocks_inside(block: Block) -> list[Block]:
    """`block` and all blocks nested in it, the innermost first."""
    found: list[Block] = []
    for node in block.nodes:
        for inner in node.blocks:
            found += blocks_inside(inner)
    return [*found, block]


def depth_of(block: Block) -> int:
    """How many nodes the block is nested in."""
    depth = 0
    while isinstance(block.owner, Node) and block.owner.block is not None:
        depth += 1
        block = block.owner.block
    return depth
