"""Arguments on their way into a script. In: Python values and the types that they stand for. Out: values of exactly those types."""

from __future__ import annotations

from typing import Any

from jitlang.types import FLOAT, INT, STR, OptionalType, Type


def exact(value: Any, kind: Type) -> Any:
    """`value` as an instance of exactly the Python type that stands for `kind`: an int for a float parameter becomes a float."""
    if kind == FLOAT and type(value) is not float:
        return float(value)
    if kind == INT and type(value) is not int:
        return int(value)
    if kind == STR and type(value) is not str:
        return str(value)
    if isinstance(kind, OptionalType) and value is not None:
        return exact(value, kind.element)
    return value
