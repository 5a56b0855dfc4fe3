"""Helpers that register ``py::`` rows: `row` for operators and builtin functions, `method` for methods.

The text of a schema is the one that `jitlang.schema` describes. Conventions of the ``py`` namespace:

- Overloads of a kind are told apart by the types of the inputs alone; every conversion has been made explicit before.
- A node carries all arguments of its row, defaults too, and has one output, or none where the schema returns ``()``.
- ``(a!)`` marks an argument that is written; ``(*)`` marks a value that is stored in, or taken out of, a container.
- A row whose meaning reads memory that others may write is still PURE: passes ask `jitlang.ir.alias` for writes between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitlang.registry import Operator, register

INT_MIN, INT_MAX = -(2**63), 2**63 - 1


def row(text: str, doc: str, python: Callable[..., Any], *flags: str, variants: tuple[str, ...] = ("function",)) -> Operator:
    """Registers a row of the ``py`` namespace; ValueError where the name is taken."""
    return register(Operator(text, "py", doc, frozenset(flags), python, variants=variants))


def method(text: str, doc: str, python: Callable[..., Any], *flags: str) -> Operator:
    """Registers a row that scripts call as a method of its first argument; ValueError where the name is taken."""
    return row(text, doc, python, *flags, variants=("method",))


def checked(value: int) -> int:
    """`value`, if it fits in 64 bits; OverflowError otherwise."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise OverflowError("integer result does not fit in 64 bits")


def checking(function: Callable[..., int]) -> Callable[..., int]:
    """The same function with its result `checked`."""

    def meaning(*args: Any) -> int:
        value = function(*args)
        if INT_MIN <= value <= INT_MAX:
            return value
        raise OverflowError("integer result does not fit in 64 bits")

    return meaning


def message_of(function: Callable[..., Any], *arguments: Any) -> str:
    """The message of the exception that ``function(*arguments)`` raises in the running CPython, as a format without fields."""
    try:
        function(*arguments)
    except (ArithmeticError, ValueError) as error:
        return str(error).replace("{", "{{").replace("}", "}}")
    raise AssertionError(f"{function} does not raise")
