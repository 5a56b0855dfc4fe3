"""Graph, Block, Node, Value: the data structure that every pass, the VM and the code generator work on.

A `Program` is a set of graphs (functions) that call one another by name. A `Graph` is one function: one `Block` with
parameters. A `Block` is a list of nodes; its last node is a terminator. A `Node` has a kind (``namespace::name``),
inputs, outputs, attributes and nested blocks. A `Value` is defined once, by a node or as a block's parameter.

Structured control flow with explicit exits, so that ``break``, ``continue`` and ``return`` need no flags:

| node | blocks | meaning |
|---|---|---|
| ``prim::If(cond)`` | then(), else() | outputs = what the taken block yields |
| ``prim::For(start, stop, step, carried…)`` | body(i, carried…) | Python's ``for i in range(start, stop, step)``; a body's ``yield`` gives the next iteration's carried values; outputs = the carried values at the end |
| ``prim::While(carried…)`` | body(carried…) | endless loop, left by ``exit`` only; ``yield`` as in For; outputs = what ``exit`` carries |
| ``prim::Region()`` | body() | runs once; outputs = what its ``yield`` or an ``exit`` to it carries |

| terminator | meaning |
|---|---|
| ``prim::yield(values…)`` | the normal end of a block of an If, For, While or Region |
| ``prim::exit(values…)``, `target` = an enclosing For, While or Region | leaves it; `values` become its outputs |
| ``prim::next(values…)``, `target` = an enclosing For or While | begins its next iteration with `values` carried |
| ``prim::return(value)`` | leaves the function |
| ``prim::raise(args…)``, attribute ``cls`` | raises ``cls(*args)``; the arguments are int, float, bool or str |
| ``ll::raise(args…)``, attributes ``cls``, ``format`` | raises, in kernels |
| ``prim::unreachable()`` | control never gets here (both branches of the If before it have left) |

Every structured node dominates what is inside it; a value may be used in its block after its definition and in the
blocks nested there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jitlang.source import SourceRange
from jitlang.types import NONE, Type

TERMINATORS = frozenset({"prim::yield", "prim::exit", "prim::next", "prim::return", "prim::raise", "prim::unreachable", "ll::raise"})
LOOPS = frozenset({"prim::For", "prim::While"})


@dataclasses.dataclass(eq=False, slots=True)
class Value:
    """One SSA value: a type, a name for the printer, the place that defines it, and its uses."""

    type: Type
    name: str = ""
    node: Node | None = None  # the defining node, or None for a block parameter
    block: Block | None = None  # the block whose parameter it is, or None
    uses: list[Use] = dataclasses.field(default_factory=list)

    def replace_with(self, other: Value) -> None:
        """Given ``%a`` used anywhere. Execute ``a.replace_with(b)``. Result: each use reads ``%b``."""
        for use in list(self.uses):
            use.node.set_input(use.index, other)

    @property
    def constant(self) -> Any:
        """The Python value, where `is_constant`; ValueError otherwise."""
        if self.node is None or self.node.kind != "prim::Constant":
            raise ValueError("not a constant")
        return self.node.attributes["value"]

    @property
    def is_constant(self) -> bool:
        """Whether a ``prim::Constant`` defines this value."""
        return self.node is not None and self.node.kind == "prim::Constant"


@dataclasses.dataclass(eq=False, slots=True)
class Use:
    """`node` reads a value as its input number `index`."""

    node: Node
    index: int


class Node:
    """One operation. `target` is set on ``prim::exit`` and ``prim::next`` only: the node that they leave or repeat."""

    __slots__ = ("attributes", "block", "blocks", "inputs", "kind", "outputs", "range", "target")

    def __init__(
        self,
        kind: str,
        inputs: Iterable[Value] = (),
        types: Iterable[Type] = (),
        *,
        where: SourceRange | None = None,
        target: Node | None = None,
        **attributes: Any,
    ) -> None:
        self.kind = kind
        self.inputs: list[Value] = []
        self.outputs: list[Value] = [Value(t, node=self) for t in types]
        self.attributes: dict[str, Any] = attributes
        self.blocks: list[Block] = []
        self.block: Block | None = None
        self.range = where
        self.target = target
        for value in inputs:
            self.add_input(value)

    # -- inputs and outputs

    def add_input(self, value: Value) -> None:
        """Appends an input."""
        value.uses.append(Use(self, len(self.inputs)))
        self.inputs.append(value)

    def set_input(self, index: int, value: Value) -> None:
        """Makes input `index` read another value."""
        old = self.inputs[index]
        old.uses = [u for u in old.uses if not (u.node is self and u.index == index)]
        self.inputs[index] = value
        value.uses.append(Use(self, index))

    def remove_input(self, index: int) -> None:
        """Removes input `index`; the ones behind it move up."""
        values = list(self.inputs)
        del values[index]
        self.set_inputs(values)

    def set_inputs(self, values: Iterable[Value]) -> None:
        """Replaces all inputs."""
        for old in set(self.inputs):
            old.uses = [u for u in old.uses if u.node is not self]
        self.inputs = []
        for value in values:
            self.add_input(value)

    def add_output(self, type: Type, name: str = "") -> Value:
        """Appends an output and returns it."""
        value = Value(type, name, node=self)
        self.outputs.append(value)
        return value

    @property
    def output(self) -> Value:
        """The only output."""
        (value,) = self.outputs
        return value

    @property
    def is_terminator(self) -> bool:
        """Whether the node ends its block."""
        return self.kind in TERMINATORS

    # -- structure

    def add_block(self) -> Block:
        """Appends a nested block and returns it."""
        block = Block(self)
        self.blocks.append(block)
        return block

    def insert_before(self, other: Node) -> Node:
        """Puts this node, which is in no block, in front of `other`; returns it."""
        assert other.block is not None
        other.block.insert(other.block.nodes.index(other), self)
        return self

    def insert_after(self, other: Node) -> Node:
        """Puts this node, which is in no block, behind `other`; returns it."""
        assert other.block is not None
        other.block.insert(other.block.nodes.index(other) + 1, self)
        return self

    def destroy(self) -> None:
        """Removes the node and all inside it; its outputs must have no uses left outside it."""
        for block in self.blocks:
            for node in reversed(list(block.nodes)):
                node.destroy()
        self.set_inputs(())
        if self.block is not None:
            self.block.nodes.remove(self)
            self.block = None

    def walk(self) -> Iterator[Node]:
        """This node and all nodes nested in it, in program order."""
        yield self
        for block in self.blocks:
            yield from block.walk()

    def encloses(self, node: Node) -> bool:
        """Whether `node` is nested (at any depth) in one of this node's blocks."""
        block = node.block
        while block is not None:
            if block.owner is self:
                return True
            block = block.owner.block if isinstance(block.owner, Node) else None
        return False

    def __repr__(self) -> str:
        return f"<{self.kind} {[str(o.type) for o in self.outputs]}>"


class Block:
    """Parameters and nodes; `owner` is the node it is nested in, or the Graph."""

    __slots__ = ("nodes", "owner", "params")

    def __init__(self, owner: Node | Graph) -> None:
        self.owner = owner
        self.params: list[Value] = []
        self.nodes: list[Node] = []

    def add_param(self, type: Type, name: str = "") -> Value:
        """Appends a parameter and returns it."""
        value = Value(type, name, block=self)
        self.params.append(value)
        return value

    def append(self, node: Node) -> Node:
        """Puts `node` at the end; returns it."""
        return self.insert(len(self.nodes), node)

    def insert(self, index: int, node: Node) -> Node:
        """Puts `node` at position `index`; returns it."""
        assert node.block is None
        node.block = self
        self.nodes.insert(index, node)
        return node

    @property
    def terminator(self) -> Node:
        """The last node."""
        return self.nodes[-1]

    @property
    def terminated(self) -> bool:
        """Whether the block already ends in a terminator."""
        return bool(self.nodes) and self.nodes[-1].is_terminator

    def walk(self) -> Iterator[Node]:
        """All nodes, nested ones too, in program order; the block may change behind the iterator."""
        for node in list(self.nodes):
            yield from node.walk()


class Graph:
    """One function: a name, a block whose parameters are the function's, and the type it returns.

    `defaults` maps parameter names to Python values. `names` are the parameters' names as the user wrote them.
    """

    __slots__ = ("attributes", "block", "defaults", "name", "range", "result")

    def __init__(self, name: str, result: Type = NONE, where: SourceRange | None = None) -> None:
        self.name = name
        self.result = result
        self.block = Block(self)
        self.defaults: dict[str, Any] = {}
        self.attributes: dict[str, Any] = {}
        self.range = where

    @property
    def params(self) -> list[Value]:
        """The function's parameters."""
        return self.block.params

    def walk(self) -> Iterator[Node]:
        """All nodes in program order."""
        return self.block.walk()


@dataclasses.dataclass
class Program:
    """Functions that call one another: ``prim::Call`` names its callee in the attribute ``callee``.

    `entry` is the name of the function that is run; `classes` holds the script classes used, by name.
    """

    entry: str
    functions: dict[str, Graph] = dataclasses.field(default_factory=dict)
    classes: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def main(self) -> Graph:
        """The entry function."""
        return self.functions[self.entry]


def clone_block(source: Block, into: Block, mapping: dict[Value, Value], remap: Callable[[Node, Node], None] | None = None) -> None:
    """Copies the nodes of `source` to the end of `into`.

    Args:
        mapping: old value → new value; must hold the parameters of `source`; is extended by everything copied.
        remap: called with (old node, new node) for each copy, to change source ranges, say.

    Targets of exits inside what is copied follow the copy; other targets stay.
    """
    nodes: dict[Node, Node] = {}
    _clone_into(source, into, mapping, nodes, remap)


def _clone_into(source: Block, into: Block, mapping: dict[Value, Value], nodes: dict[Node, Node], remap: Callable[[Node, Node], None] | None) -> None:
    for old in source.nodes:
        target = nodes.get(old.target, old.target) if old.target is not None else None
        new = Node(old.kind, [mapping.get(v, v) for v in old.inputs], where=old.range, target=target)
        new.attributes = dict(old.attributes)
        nodes[old] = new
        for out in old.outputs:
            mapping[out] = new.add_output(out.type, out.name)
        for block in old.blocks:
            inner = new.add_block()
            for param in block.params:
                mapping[param] = inner.add_param(param.type, param.name)
            _clone_into(block, inner, mapping, nodes, remap)
        into.append(new)
        if remap is not None:
            remap(old, new)


def recompute_uses(graph: Graph) -> None:
    """Makes the use lists of all values in `graph` true, whatever was abandoned while it was built."""
    for value in _values(graph.block):
        value.uses = []
    for node in graph.walk():
        for index, value in enumerate(node.inputs):
            value.uses.append(Use(node, index))


def _values(block: Block) -> Iterator[Value]:
    yield from block.params
    for node in block.nodes:
        yield from node.outputs
        for inner in node.blocks:
            yield from _values(inner)


def clone_graph(graph: Graph, name: str = "") -> Graph:
    """A copy of `graph` that shares nothing with it but types, constants and source ranges."""
    made = Graph(name or graph.name, graph.result, graph.range)
    made.defaults = dict(graph.defaults)
    made.attributes = dict(graph.attributes)
    mapping = {old: made.block.add_param(old.type, old.name) for old in graph.params}
    clone_block(graph.block, made.block, mapping)
    return made


def clone_program(program: Program, entry: Graph | None = None) -> Program:
    """A copy of `program`; with `entry`, that graph (which is not copied) is a further function and the one that is run."""
    functions = {name: clone_graph(graph) for name, graph in program.functions.items()}
    if entry is None:
        return Program(program.entry, functions, dict(program.classes))
    return Program(entry.name, {**functions, entry.name: entry}, dict(program.classes))
