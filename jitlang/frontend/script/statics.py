"""Things that exist at compile time only, and what they are called. In: what a `Static` holds. Out: its parts, its type as a constant, its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitlang.frontend.emitter import Result
from jitlang.ir.graph import Value
from jitlang.types import DTYPE, PYTHON_CLASSES, DType, TupleType, Type

_TYPES: dict[type, Type] = {cls: kind for kind, cls in PYTHON_CLASSES.items()}


class Callee:
    """A callable at compile time that is no Python function: a nested function, a method not called yet."""


class RangeValue:
    """A ``range`` at compile time: three INT values."""

    def __init__(self, start: Value, stop: Value, step: Value) -> None:
        self.start, self.stop, self.step = start, stop, step


class Parts:
    """A tuple at compile time, some of whose items may be Static."""

    def __init__(self, items: Sequence[Result]) -> None:
        self.items = list(items)


def constant_type(value: Any) -> Type:
    """The type of a constant."""
    if isinstance(value, DType):
        return DTYPE
    if isinstance(value, tuple):
        return TupleType(tuple(constant_type(v) for v in value))
    for cls in type(value).__mro__:
        if cls in _TYPES:
            return _TYPES[cls]
    raise TypeError(f"{value!r} is no constant of the language")


def show_static(value: Any) -> str:
    """What a compile-time object is, in words."""
    if isinstance(value, Callee):
        return "a function"
    name = getattr(value, "__qualname__", getattr(value, "__name__", type(value).__name__))
    if isinstance(value, type):
        return f"the class {name}"
    if callable(value):
        return f"the function {name}"
    return f"a Python object of type {type(value).__name__}"
