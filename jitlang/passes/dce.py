"""Dead code: removes nodes, block outputs and carried values that nothing observable depends on.

Given ``%y: int = py::invert(%x)`` where ``%y`` has no use. Execute ``dce``. Result: the node is gone; so are an
output of an If that nothing reads, with what its blocks compute for it, and a value that a loop carries only for itself.

What may raise, write, leave or run for ever stays (`jitlang.ir.alias.has_effect`).
"""

from __future__ import annotations

import dataclasses

from jitlang.ir.alias import has_effect
from jitlang.ir.graph import LOOPS, Block, Graph, Node, Program, Value
from jitlang.passes.blocks import carried_inputs, carried_params, repeats_of, results_of
from jitlang.passes.budget import Budget


@dataclasses.dataclass(frozen=True)
class DeadCode:
    """Mark from what is observable, sweep the rest."""

    name = "dce"

    def run(self, program: Program, budget: Budget) -> None:
        """Sweeps every function; one function is one rewrite."""
        for graph in program.functions.values():
            marker = _Marker(graph)
            if marker.dead() and budget.take():
                marker.sweep()


class _Marker:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: set[Node] = set()
        self.values: set[Value] = set()
        self.work: list[Value] = []
        self._observe(graph.block)
        while self.work:
            self._mark_source(self.work.pop())

    # -- marking

    def _observe(self, block: Block) -> None:
        """Marks what must happen in a block that is kept."""
        for node in block.nodes:
            if has_effect(node):
                self._keep(node)

    def _keep(self, node: Node) -> None:
        if node in self.nodes:
            return
        self.nodes.add(node)
        owner = node.block.owner if node.block is not None else None
        if isinstance(owner, Node):
            self._keep(owner)
        if not node.blocks:
            # What a yield, exit or next carries is live where its receiver is.
            if node.kind not in ("prim::yield", "prim::exit", "prim::next"):
                self._read(node.inputs)
            return
        self._read(node.inputs[:3] if node.kind == "prim::For" else node.inputs if node.kind == "prim::If" else [])
        for block in node.blocks:
            self._observe(block)

    def _read(self, values: list[Value]) -> None:
        for value in values:
            if value not in self.values:
                self.values.add(value)
                self.work.append(value)

    def _mark_source(self, value: Value) -> None:
        node = value.node
        if node is None:
            owner = value.block.owner if value.block is not None else None
            if isinstance(owner, Node) and owner.kind in LOOPS:
                self._keep(owner)
                self._mark_carried(owner, value)
            return
        self._keep(node)
        if not node.blocks:
            return
        index = node.outputs.index(value)
        for end in results_of(node):
            self._read([end.inputs[index]])
        if node.kind == "prim::For":
            self._read([carried_params(node)[index]])

    def _mark_carried(self, loop: Node, param: Value) -> None:
        params = carried_params(loop)
        if param not in params:
            return
        index = params.index(param)
        self._read([carried_inputs(loop)[index], *(n.inputs[index] for n in repeats_of(loop))])
        if loop.kind == "prim::For":
            self._read([loop.outputs[index]])

    # -- sweeping

    def sweep(self) -> None:
        """Removes what is not marked."""
        kept = [n for n in self.graph.walk() if n in self.nodes and n.blocks]
        # First what is carried: then nothing that stays reads a node that goes.
        for node in kept:
            self._sweep_outputs(node)
            if node.kind in LOOPS:
                self._sweep_params(node)
        self._sweep_block(self.graph.block)

    def dead(self) -> bool:
        """Whether there is anything to remove."""
        return any(self._dead_parts(n) for n in self.graph.walk())

    def _dead_parts(self, node: Node) -> bool:
        if node not in self.nodes:
            return node.block is not None and node.kind != "prim::yield"
        params = carried_params(node) if node.kind in LOOPS else []
        return bool(node.blocks) and any(v not in self.values for v in (*node.outputs, *params))

    def _sweep_block(self, block: Block) -> None:
        for node in reversed(list(block.nodes)):
            if node not in self.nodes:
                node.destroy()
                continue
            for inner in node.blocks:
                self._sweep_block(inner)

    def _sweep_outputs(self, node: Node) -> None:
        for index in reversed(range(len(node.outputs))):
            # The outputs of a For are its parameters at the end: `_sweep_params` takes both.
            if node.kind != "prim::For" and node.outputs[index] not in self.values:
                for end in results_of(node):
                    end.remove_input(index)
                del node.outputs[index]

    def _sweep_params(self, loop: Node) -> None:
        params, leading = loop.blocks[0].params, 3 if loop.kind == "prim::For" else 0
        skipped = len(params) - len(carried_params(loop))
        for index in reversed(range(len(carried_params(loop)))):
            if params[index + skipped] in self.values:
                continue
            ends = repeats_of(loop) + (results_of(loop) if leading else [])
            for node in ends:
                node.remove_input(index)
            loop.remove_input(index + leading)
            del params[index + skipped]
            if leading:
                del loop.outputs[index]
