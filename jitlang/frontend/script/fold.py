"""Operations on Python objects that are known at compile time (enum members, flags, dtypes)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
_COMPARISON: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def apply_binary(symbol: str, a: Any, b: Any) -> Any:
    """``a symbol b``; TypeError where Python has none."""
    return _BINARY[symbol](a, b)


def apply_comparison(symbol: str, a: Any, b: Any) -> bool:
    """``bool(a symbol b)``; TypeError where Python has none."""
    return bool(_COMPARISON[symbol](a, b))
