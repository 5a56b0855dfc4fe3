"""Which operator a node applies.

In: a node of a namespace with rows (``py``, ``aten``). Out: its `Operator`: the one that the attribute ``overload``
names (IR written by hand may leave it out), else the first whose schema the types of the inputs fit.
"""

from __future__ import annotations

import functools
import importlib

from jitlang.errors import IRError
from jitlang.ir.graph import Node
from jitlang.registry import Operator, on_register, overloads
from jitlang.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NEVER,
    SCALAR,
    DictType,
    ListType,
    OptionalType,
    SetType,
    TupleType,
    Type,
    TypeVariable,
    is_subtype,
)

importlib.import_module("jitlang.operators")  # registers the ``py`` rows
_NESTED = (ListType, DictType, SetType, OptionalType, TupleType)


def row_of(node: Node) -> Operator:
    """The row of the operator that `node` applies. Raises IRError where there is none."""
    row = row_or_none(node)
    if row is None:
        wanted = node.attributes.get("overload")
        shown = f"{node.kind} overload {wanted}" if wanted else f"{node.kind}({', '.join(str(v.type) for v in node.inputs)})"
        raise IRError(f"there is no operator {shown}")
    return row


def row_or_none(node: Node) -> Operator | None:
    """The row of the operator that `node` applies, or None where there is none (``prim`` and ``ll`` nodes, unknown operators)."""
    row = find_row(node.kind, tuple(v.type for v in node.inputs), node.attributes.get("overload"))
    if row is not None and row not in overloads(node.kind):  # it was taken out since
        find_row.cache_clear()
        return row_or_none(node)
    return row


@functools.lru_cache(maxsize=4096)
def find_row(kind: str, types: tuple[Type, ...], overload: str | None = None) -> Operator | None:
    """The row of `kind` for inputs of these types; with `overload`, only the row of that qualified name or overload name."""
    for row in overloads(kind):
        if overload is not None and overload not in (row.qualified, row.qualified.partition(".")[2]):
            continue
        if bind(row, types) is not None:
            return row
    return None


# A new row may be a better match.
on_register(lambda row: find_row.cache_clear())


def bind(row: Operator, types: tuple[Type, ...]) -> dict[str, Type] | None:
    """What the schema's type variables stand for with inputs of these types; None if they do not fit."""
    arguments = row.schema.arguments
    variables: dict[str, Type] = {}
    if len(arguments) != len(types) or not all(fits(a.type, t, variables) for a, t in zip(arguments, types, strict=True)):
        return None
    return variables


def fits(pattern: Type, kind: Type, variables: dict[str, Type]) -> bool:
    """Whether a value of type `kind` may be passed where a schema says `pattern`; binds type variables."""
    if kind == NEVER or pattern == ANY:
        return True
    if isinstance(pattern, TypeVariable):
        return variables.setdefault(pattern.name, kind) == kind
    if pattern == SCALAR:
        return kind in (INT, FLOAT, BOOL)
    for cls in _NESTED:
        if isinstance(pattern, cls) and isinstance(kind, cls):
            inner, found = pattern.children(), kind.children()
            return len(inner) == len(found) and all(fits(p, k, variables) for p, k in zip(inner, found, strict=True))
    return is_subtype(kind, pattern)


def mentions_variable(kind: Type) -> bool:
    """Whether a schema's type contains a type variable or Any."""
    return any(isinstance(t, TypeVariable) or t in (ANY, SCALAR) for t in kind.walk())
