"""Lists, dicts and tensors of the user's module as tables of constants (`jitlang.ir.tables`).

In: a Python object. Out: the literal and the type of a ``prim::Table``, or None where the object is no table.
"""

from __future__ import annotations

from typing import Any

from jitlang.errors import CompileError
from jitlang.frontend.annotations import is_tensor, type_of_value
from jitlang.frontend.python_kinds import plain
from jitlang.ir.kind_rules import is_constant_of
from jitlang.types import PYTHON_CLASSES, DictType, ListType, OptionalType, TensorType, TupleType, Type

SMALLEST = 16  # a smaller list or dict is made by code, which passes see through


def may_change(value: Any) -> bool:
    """Whether a Python object is a list, dict or tensor that a script may change, so that only its run-time value says what is in it."""
    return is_tensor(value) or (isinstance(value, list | dict) and _type_of(value) is not None)


def _type_of(value: Any) -> Type | None:
    try:
        return type_of_value(value)
    except (CompileError, TypeError):
        return None  # what it is used for says what is wrong with it


def table_of(value: Any) -> tuple[tuple[Any, ...], Type] | None:
    """The table that a list or dict of constants is."""
    kind = _type_of(value) if len(value) >= SMALLEST else None
    if isinstance(kind, ListType):
        element, items = kind.element, value
    elif isinstance(kind, DictType):
        element, items = TupleType((kind.key, kind.value)), value.items()
    else:
        return None
    if any(isinstance(t, TupleType) and t.name for t in element.walk()):
        return None
    found = tuple(_constant(v, element) for v in items)
    return (found, kind) if all(is_constant_of(v, element) for v in found) else None


def _constant(value: Any, kind: Type) -> Any:
    if kind in PYTHON_CLASSES:
        return plain(value, PYTHON_CLASSES[kind])
    if isinstance(kind, OptionalType):
        return None if value is None else _constant(value, kind.element)
    if isinstance(kind, TupleType):
        return tuple(map(_constant, value, kind.elements))
    return value


def tensor_table(value: Any) -> tuple[tuple[Any, ...], Type]:
    """The table that a tensor is."""
    kind = type_of_value(value)
    assert isinstance(kind, TensorType)
    return (kind.dtype, tuple(map(int, value.shape)), tuple(value.reshape([-1]).tolist())), kind
