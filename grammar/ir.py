"""IR text → its plain syntax tree.

In: the text form of a program. Out: `ProgramTree`, which knows no Graph: names are strings, types are `TypeTree`,
literals are Python values (`Literal` where a value is known only later: types and references). The reader,
`jitlang.ir.reader`, builds the program from it.
"""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple

from jitlang.errors import IRError
from jitlang.grammar.literals import read_number, read_string
from jitlang.grammar.loader import Parser
from jitlang.grammar.types import TypeBuilder, TypeTree
from jitlang.types import dtype_named


class Literal(NamedTuple):
    """``type(…)``: `kind` "type", `value` a TypeTree; ``&"…"``: "reference" and a string; a tuple with one inside: "tuple"."""

    kind: str
    value: Any


class Place(NamedTuple):
    """``at $0:3:7-4:12``: scope, line, first column (counted from 0), end line, end column."""

    scope: int
    line: int
    col: int
    end_line: int
    end_col: int


class Definition(NamedTuple):
    """``%name: type``, a parameter's default in a 1-tuple."""

    name: str
    type: TypeTree
    default: tuple[Any, ...] | None
    line: int


class NodeTree(NamedTuple):
    """One node; `label` is its own name, or what a terminator leaves or repeats."""

    kind: str
    inputs: list[str]
    outputs: list[Definition]
    attributes: dict[str, Any]
    label: str | None
    place: Place | None
    blocks: list[BlockTree]
    line: int
    column: int


class BlockTree(NamedTuple):
    """One block."""

    name: str
    params: list[Definition]
    nodes: list[NodeTree]
    line: int


class GraphTree(NamedTuple):
    """One function."""

    name: str
    params: list[Definition]
    result: TypeTree
    attributes: dict[str, Any]
    place: Place | None
    nodes: list[NodeTree]
    line: int


class ClassTree(NamedTuple):
    """A class or struct: `flags` holds "struct", "module", "enum"; `missing` the members that an object may lack."""

    name: str
    flags: frozenset[str]
    members: list[tuple[str, TypeTree]]
    values: dict[str, Any]
    line: int
    missing: frozenset[str] = frozenset()


class ExceptionTree(NamedTuple):
    """An exception class of the user's, and the class it derives from."""

    name: str
    base: str
    line: int


class SourceTree(NamedTuple):
    """A file; `text` is None where it is not given."""

    number: int
    filename: str
    first_line: int
    indent: int
    text: str | None


class ScopeTree(NamedTuple):
    """A function in a file, and the place it was inlined at."""

    number: int
    source: int
    function: str
    caller: Place | None


class ProgramTree(NamedTuple):
    """All of a text."""

    entry: str | None
    classes: list[ClassTree]
    graphs: list[GraphTree]
    sources: list[SourceTree]
    scopes: list[ScopeTree]
    exceptions: list[ExceptionTree]


_PLACE = re.compile(r"at +\$(\d+):(\d+):(\d+)-(?:(\d+):)?(\d+)")


class _Builder(TypeBuilder):
    """One method per rule of ``ir.lark``."""

    def program(self, children: list[Any]) -> ProgramTree:
        entries = [c[0] for c in children if type(c) is tuple and isinstance(c[0], str)]
        if len(entries) > 1:
            raise IRError("a program has one entry")
        kinds = (ClassTree, GraphTree, SourceTree, ScopeTree, ExceptionTree)
        parts: list[list[Any]] = [[c for c in children if isinstance(c, k)] for k in kinds]
        return ProgramTree(entries[0] if entries else None, *parts)

    def entry(self, children: list[Any]) -> tuple[str]:
        return (_symbol(children[0]),)

    def exception(self, children: list[Any]) -> ExceptionTree:
        return ExceptionTree(str(children[0]), str(children[1]), children[0].line)

    def struct_tree(self, children: list[Any]) -> ClassTree:
        members = [c[:2] for c in children[1:] if c is not None]
        return ClassTree(str(children[0]), frozenset({"struct"}), members, {}, children[0].line)

    def class_tree(self, children: list[Any]) -> ClassTree:
        rest = [c for c in children[1:] if c is not None]
        members = [c for c in rest if isinstance(c, tuple) and isinstance(c[1], TypeTree)]
        missing = frozenset(name for name, _, maybe in members if maybe)
        values = {c[0]: c[1][0] for c in rest if isinstance(c, tuple) and not isinstance(c[1], TypeTree)}
        return ClassTree(str(children[0]), frozenset(str(c) for c in rest if isinstance(c, str)), [m[:2] for m in members], values, children[0].line, missing)

    def member(self, children: list[Any]) -> tuple[str, TypeTree, bool]:
        return _member_name(children[0]), children[2], children[1] is not None

    def constant(self, children: list[Any]) -> tuple[str, tuple[Any]]:
        return _member_name(children[0]), children[1]

    def graph(self, children: list[Any]) -> GraphTree:
        name, *rest = children
        split = next(i for i, c in enumerate(rest) if isinstance(c, TypeTree))
        params = [c for c in rest[:split] if c is not None]
        result, attributes, place, *nodes = rest[split:]
        return GraphTree(_symbol(name), params, result, attributes or {}, _place(place), nodes, name.line)

    def parameter(self, children: list[Any]) -> Definition:
        name, kind, default = children
        return Definition(name[1:], kind, default, name.line)

    def definition(self, children: list[Any]) -> Definition:
        return Definition(children[0][1:], children[1], None, children[0].line)

    def definitions(self, children: list[Any]) -> list[Definition]:
        return children

    def node(self, children: list[Any]) -> NodeTree:
        outputs, (kind, attributes, inputs, line, column), label, place, *blocks = children
        return NodeTree(kind, inputs, outputs or [], attributes, label and _symbol(label), _place(place), [b for b in blocks if b is not None], line, column)

    def operation(self, children: list[Any]) -> tuple[str, dict[str, Any], list[str], int, int]:
        kind, attributes, inputs = children
        return str(kind), attributes or {}, inputs, kind.line, kind.column

    def literal_operation(self, children: list[Any]) -> tuple[str, dict[str, Any], list[str], int, int]:
        return "prim::Constant", {"value": children[0][0]}, [], 0, 0

    def terminator(self, children: list[Any]) -> NodeTree:
        kind, attributes, label, inputs, place = children
        return NodeTree(f"prim::{kind}", inputs, [], attributes or {}, label and _symbol(label), _place(place), [], kind.line, kind.column)

    def block(self, children: list[Any]) -> BlockTree:
        name, *rest = children
        params = [c for c in rest if isinstance(c, Definition)]
        return BlockTree(str(name), params, [c for c in rest if isinstance(c, NodeTree)], name.line)

    def values(self, children: list[Any]) -> list[str]:
        return [c[1:] for c in children]

    def attributes(self, children: list[Any]) -> dict[str, Any]:
        found = dict(children)
        if len(found) < len(children):
            raise IRError("an attribute is given twice")
        return found

    def attribute(self, children: list[Any]) -> tuple[str, Any]:
        return str(children[0]), children[1][0]

    def source(self, children: list[Any]) -> SourceTree:
        number, name, line, indent, *texts = children
        text = "\n".join(read_string(t) for t in texts) if texts and texts[0] is not None else None
        return SourceTree(int(number[1:]), read_string(name), int(line), int(indent), text)

    def scope(self, children: list[Any]) -> ScopeTree:
        number, source, function, caller = children
        return ScopeTree(int(number[1:]), int(source[1:]), read_string(function), _place(caller))

    # A literal travels in a 1-tuple, so that None, the value, is not None, the absence.

    def number(self, children: list[Any]) -> tuple[Any]:
        return (read_number(children[0]),)

    def string(self, children: list[Any]) -> tuple[Any]:
        return (read_string(children[0]),)

    def true(self, children: list[Any]) -> tuple[Any]:
        return (True,)

    def false(self, children: list[Any]) -> tuple[Any]:
        return (False,)

    def none(self, children: list[Any]) -> tuple[Any]:
        return (None,)

    def type_literal(self, children: list[Any]) -> tuple[Any]:
        return (Literal("type", children[0]),)

    def dtype(self, children: list[Any]) -> tuple[Any]:
        name = children[0].partition(".")[2]
        try:
            return (dtype_named(name),)
        except KeyError:
            raise IRError(f"unknown dtype {name} (line {children[0].line})") from None

    def reference(self, children: list[Any]) -> tuple[Any]:
        return (Literal("reference", read_string(children[0][1:])),)

    def tuple(self, children: list[Any]) -> tuple[Any]:
        values = tuple(c[0] for c in children if c is not None)
        return (Literal("tuple", values) if any(isinstance(v, Literal) for v in values) else values,)


def _member_name(token: Any) -> str:
    """A name that is no identifier (the parts of a module list are called 0, 1, …) stands in quotes."""
    return read_string(str(token)) if token.type == "STRING" else str(token)


def _symbol(token: str) -> str:
    return read_string(token[1:]) if token.startswith('@"') else str(token[1:])


def _place(token: str | None) -> Place | None:
    if token is None:
        return None
    match = _PLACE.fullmatch(token)
    assert match is not None
    scope, line, col, end_line, end_col = match.groups()
    return Place(int(scope), int(line), int(col), int(end_line or line), int(end_col))


@functools.cache
def _parser() -> Parser:
    return Parser(("ir", "types"), "program", _Builder(), "IR", indented=True)


def parse_ir(text: str) -> ProgramTree:
    """The tree of a program's text. Raises IRError, which shows line and column, for text that does not fit."""
    tree: ProgramTree = _parser().parse(text if text.endswith("\n") else text + "\n")
    return tree
