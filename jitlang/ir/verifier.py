"""Checks that a graph keeps the invariants of the IR.

In: a `Program` or a `Graph`. Out: nothing, or `IRError` that names the broken invariant and shows ten lines around it.

1. Every block ends in a terminator, and a terminator stands nowhere else.
2. A node knows its block, a block its owner, an output its node, a parameter its block; each node is in one place.
3. The uses of a value are exactly the inputs that read it.
4. A value is read only after its definition, in the block that defines it or in one nested there.
5. Only ``exit`` and ``next`` have a target: an enclosing For, While or (exit only) Region.
6. An If has a bool input and two blocks without parameters; For, While and Region have one block; a For has three
   bounds, and an index as first parameter of its body; nothing else has blocks.
7. What is carried fits where it goes: the inputs of a loop its parameters, ``yield`` and ``next`` the parameters of the
   loop (the outputs of an If or Region), ``exit`` the outputs of its target, the parameters of a For its outputs.
8. ``return`` has one input, of the function's type. ``raise`` has one input, a str, and the attribute ``cls``, a str.
9. A ``prim`` node has the inputs, attributes and outputs that its kind says; a constant's value is one of its type.
10. A ``py`` or ``aten`` node is one that a registered row fits, and its outputs are what the row's schema says.
11. A call names a function of the program and passes what that function takes; classes and their attributes exist.
12. Names of parameters are unique, defaults belong to parameters, functions are filed under their names, the entry exists.
"""

from __future__ import annotations

from jitlang.errors import IRError
from jitlang.ir.graph import Block, Graph, Node, Program, Value
from jitlang.ir.kind_rules import CONTEXT_RULES, PLAIN_RULES, BrokenInvariant, fit
from jitlang.ir.printer import print_nodes
from jitlang.ir.rows import bind, find_row, fits
from jitlang.types import NONE, VOID, ListType, TensorType, Type, is_subtype

_STRUCTURED = {"prim::If": 2, "prim::For": 1, "prim::While": 1, "prim::Region": 1}
_LEAVES = {"prim::exit": ("prim::For", "prim::While", "prim::Region"), "prim::next": ("prim::For", "prim::While")}


def verify_program(program: Program) -> None:
    """Verifies every function and what they say of one another. Raises IRError."""
    if program.entry not in program.functions:
        raise IRError(f"invariant 12: the entry {program.entry!r} is not defined")
    for name, graph in program.functions.items():
        if name != graph.name:
            raise IRError(f"invariant 12: the function {graph.name!r} is filed as {name!r}")
        _Verifier(graph, program).run()


def verify_graph(graph: Graph, program: Program | None = None) -> None:
    """Verifies one function; invariant 11 only where `program` is given. Raises IRError."""
    _Verifier(graph, program).run()


class _Verifier:
    def __init__(self, graph: Graph, program: Program | None) -> None:
        self.graph = graph
        self.program = program
        self.visible: set[Value] = set()
        self.seen: set[Node] = set()
        self.node: Node | None = None

    def run(self) -> None:
        try:
            self._parameters()
            self._block(self.graph.block, self.graph)
            self._uses()
        except BrokenInvariant as broken:
            raise IRError(f"invariant {broken.invariant}: {broken.message}\n{_around(self.graph, self.node)}") from None

    def _parameters(self) -> None:
        names = [p.name for p in self.graph.params if p.name]
        if len(set(names)) < len(names):
            raise BrokenInvariant(12, f"two parameters of {self.graph.name} have one name")
        unknown = [n for n in self.graph.defaults if n not in names]
        if unknown:
            raise BrokenInvariant(12, f"the default of {unknown[0]!r} belongs to no parameter")

    # -- structure

    def _block(self, block: Block, owner: Node | Graph) -> None:
        if block.owner is not owner:
            raise BrokenInvariant(2, "a block's owner is another node")
        if not block.terminated:
            self.node = block.nodes[-1] if block.nodes else owner if isinstance(owner, Node) else None
            raise BrokenInvariant(1, "a block does not end in a terminator")
        added: list[Value] = []
        for param in block.params:
            self._define(param, added, param.block is block and param.node is None)
        for node in block.nodes:
            self.node = node
            self._node(node, block, added)
        self.visible.difference_update(added)

    def _define(self, value: Value, added: list[Value], linked: bool) -> None:
        if not linked or value in self.visible:
            raise BrokenInvariant(2, f"the value {value.name or value.type} is defined in two places")
        self.visible.add(value)
        added.append(value)

    def _node(self, node: Node, block: Block, added: list[Value]) -> None:
        if node.block is not block or node in self.seen:
            raise BrokenInvariant(2, "the node is in two places, or does not know its block")
        self.seen.add(node)
        if node.is_terminator and node is not block.nodes[-1]:
            raise BrokenInvariant(1, "a terminator stands in the middle of a block")
        for index, value in enumerate(node.inputs):
            if value not in self.visible:
                raise BrokenInvariant(4, f"input {index} is read where it is not defined")
        self._target(node)
        self._check(node)
        for inner in node.blocks:
            self._block(inner, node)
        self.node = node
        for output in node.outputs:
            self._define(output, added, output.node is node)

    def _uses(self) -> None:
        self.node = None
        wanted: dict[Value, set[tuple[Node, int]]] = {}
        for node in self.graph.walk():
            for index, value in enumerate(node.inputs):
                wanted.setdefault(value, set()).add((node, index))
        for value in _values(self.graph.block):
            found = [(u.node, u.index) for u in value.uses]
            if set(found) != wanted.get(value, set()) or len(found) != len(set(found)):
                self.node = value.node
                raise BrokenInvariant(3, f"the uses of %{value.name or value.type} are not the inputs that read it")

    def _target(self, node: Node) -> None:
        allowed = _LEAVES.get(node.kind)
        if allowed is None:
            if node.target is not None:
                raise BrokenInvariant(5, f"{node.kind} has a target")
        elif node.target is None or node.target.kind not in allowed or not node.target.encloses(node):
            raise BrokenInvariant(5, f"{node.kind} needs an enclosing {' or '.join(k.partition('::')[2] for k in allowed)} as target")

    # -- kinds

    def _check(self, node: Node) -> None:
        blocks = _STRUCTURED.get(node.kind, 0)
        if len(node.blocks) != blocks:
            raise BrokenInvariant(6, f"{node.kind} has {len(node.blocks)} blocks, not {blocks}")
        if node.kind in PLAIN_RULES:
            PLAIN_RULES[node.kind](node)
        elif node.kind in CONTEXT_RULES:
            CONTEXT_RULES[node.kind](node, self.program)
        elif node.kind == "prim::return":
            # A kernel without result returns None.
            fit(8, "return", node.inputs, [NONE if self.graph.result == VOID else self.graph.result])
        elif node.kind.startswith("prim::"):
            raise BrokenInvariant(9, f"there is no {node.kind}")
        elif node.kind.startswith(("py::", "aten::")):
            self._operator(node)

    def _operator(self, node: Node) -> None:
        types = tuple(v.type for v in node.inputs)
        row = find_row(node.kind, types, node.attributes.get("overload"))
        if row is None:
            raise BrokenInvariant(10, f"no operator {node.kind}({', '.join(map(str, types))})")
        variables = bind(row, types) or {}
        returns = row.schema.returns
        if len(returns) != len(node.outputs):
            raise BrokenInvariant(10, f"{row.schema.full_name} has {len(returns)} results, not {len(node.outputs)}")
        for result, output in zip(returns, node.outputs, strict=True):
            if not fits(result.type, output.type, dict(variables)) and not _refines(result.type, output.type):
                raise BrokenInvariant(10, f"the result of {row.schema.full_name} is {result.type}, not {output.type}")


def _refines(declared: Type, found: Type) -> bool:
    """A list of tensors of known dtype is what a row that says ``Tensor[]`` gives; `fits` is for arguments."""
    return isinstance(declared, ListType | TensorType) and is_subtype(found, declared)


def _values(block: Block) -> list[Value]:
    found = list(block.params)
    for node in block.nodes:
        found += node.outputs
        for inner in node.blocks:
            found += _values(inner)
    return found


def _around(graph: Graph, node: Node | None) -> str:
    lines = print_nodes(graph, node)
    at = next((i for i, (marked, _) in enumerate(lines) if marked), 0)
    start = max(0, min(at - 5, len(lines) - 10))
    shown = [("> " if marked else "  ") + line for marked, line in lines[start : start + 10]]
    head = [] if start == 0 else [f"  {lines[0][1]}", "    …"]
    return "\n".join(head + shown)
