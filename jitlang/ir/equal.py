"""Whether two programs are the same but for the names of their values.

In: two `Program` or `Graph` objects. Out: None where they are equal, else a sentence that says where they differ.
Compared are structure, kinds, types (classes by name), attributes to the last bit, targets, ranges, defaults, and the
names of parameters. The text of a source is compared, its identity is not.
"""

from __future__ import annotations

import struct
from typing import Any

from jitlang.ir.graph import Block, Graph, Node, Program, Value
from jitlang.ir.printer import written_values
from jitlang.source import SourceRange
from jitlang.types import ClassType, StructType, Type


def program_difference(a: Program, b: Program, *, ranges: bool = True) -> str | None:
    """The first difference, or None; without `ranges`, source ranges do not count."""
    if a.entry != b.entry or list(a.functions) != list(b.functions):
        return f"functions {a.entry} of {list(a.functions)} and {b.entry} of {list(b.functions)}"
    for name, kind in a.classes.items():
        # The class of a NamedTuple is no part of the text: its type has name and fields.
        if _class_key(kind) is not None and (name not in b.classes or _class_key(kind) != _class_key(b.classes[name])):
            return f"class {name}"
    for name, graph in a.functions.items():
        found = graph_difference(graph, b.functions[name], ranges=ranges)
        if found is not None:
            return f"{name}: {found}"
    return None


def graph_difference(a: Graph, b: Graph, *, ranges: bool = True) -> str | None:
    """The first difference, or None; without `ranges`, source ranges do not count."""
    if (a.name, str(a.result), literal_key(a.defaults), literal_key(a.attributes)) != (
        b.name,
        str(b.result),
        literal_key(b.defaults),
        literal_key(b.attributes),
    ):
        return "name, result, defaults or attributes"
    if [p.name for p in a.params] != [p.name for p in b.params]:
        return "names of parameters"
    if ranges and range_key(a.range) != range_key(b.range):
        return "range of the function"
    return _Comparison(ranges).blocks(a.block, b.block)


def literal_key(value: Any) -> Any:
    """A hashable key that tells 1, 1.0, True, 0.0 and -0.0 apart and finds NaN equal to itself."""
    if isinstance(value, float):
        return ("float", struct.pack("d", value))
    if isinstance(value, tuple | list):
        return (type(value).__name__, *(literal_key(v) for v in value))
    if isinstance(value, dict):
        return ("dict", *((k, literal_key(v)) for k, v in value.items()))
    if isinstance(value, Type):
        return ("type", str(value))
    return (type(value).__name__, value)


def range_key(where: SourceRange | None) -> Any:
    """What a range says, without the identity of its source."""
    if where is None:
        return None
    source = where.source
    position = (where.line, where.col, where.end_line, where.end_col, where.function)
    return (source.filename, source.first_line, source.indent, source.text, *position, range_key(where.caller))


def _class_key(kind: Any) -> Any:
    if isinstance(kind, StructType):
        return (kind.name, [(n, str(t)) for n, t in kind.fields.items()])
    if isinstance(kind, ClassType):
        return (
            kind.name,
            kind.is_module,
            kind.is_enum,
            [(n, str(t)) for n, t in kind.attributes.items()],
            sorted(kind.missing),
            literal_key(dict(written_values(kind))),
        )
    if isinstance(kind, type) and issubclass(kind, BaseException):
        return ("exception", [c.__name__ for c in kind.__mro__])
    return None


class _Comparison:
    def __init__(self, ranges: bool) -> None:
        self.ranges = ranges
        self.values: dict[Value, Value] = {}
        self.nodes: dict[Node, Node] = {}

    def blocks(self, a: Block, b: Block) -> str | None:
        if not self._define(a.params, b.params):
            return "parameters of a block"
        if len(a.nodes) != len(b.nodes):
            return f"{len(a.nodes)} and {len(b.nodes)} nodes in a block"
        for x, y in zip(a.nodes, b.nodes, strict=True):
            found = self._node(x, y)
            if found is not None:
                return found
        return None

    def _define(self, a: list[Value], b: list[Value]) -> bool:
        self.values.update(zip(a, b, strict=False))
        return [str(v.type) for v in a] == [str(v.type) for v in b]

    def _node(self, a: Node, b: Node) -> str | None:
        self.nodes[a] = b
        if (a.kind, literal_key(a.attributes)) != (b.kind, literal_key(b.attributes)):
            return f"{a.kind} {a.attributes} and {b.kind} {b.attributes}"
        if len(a.blocks) != len(b.blocks) or [self.values.get(v) for v in a.inputs] != b.inputs:
            return f"inputs or blocks of {a.kind}"
        if (self.nodes.get(a.target) if a.target is not None else None) is not b.target:
            return f"target of {a.kind}"
        if self.ranges and range_key(a.range) != range_key(b.range):
            return f"range of {a.kind}: {a.range} and {b.range}"
        for x, y in zip(a.blocks, b.blocks, strict=True):
            found = self.blocks(x, y)
            if found is not None:
                return found
        return None if self._define(a.outputs, b.outputs) else f"outputs of {a.kind}"
