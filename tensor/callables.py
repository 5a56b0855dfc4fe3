"""Operators as Python callables, made when they are first asked for.

`operator(name)` is the callable of all ``aten::name`` rows, `row_callable(row)` that of one row with all its arguments by position. The layer that
compiles scripts makes them, natively compiled: it calls `set_makers`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from jitlang.registry import Operator, on_register, overloads

Maker = Callable[[Sequence[Operator]], Callable[..., Any]]
RowMaker = Callable[[Operator], Callable[..., Any]]

_made: dict[str, Callable[..., Any]] = {}
_listeners: list[Callable[[list[str] | None], None]] = []
_lock = threading.Lock()


def _unset(rows: Sequence[Operator]) -> Callable[..., Any]:
    raise AttributeError(f"operator '{rows[0].name}' needs the layer that compiles scripts: import jitlang")


_makers: list[tuple[Maker, RowMaker]] = [(_unset, lambda row: _unset([row]))]


def set_makers(maker: Maker, row_maker: RowMaker) -> None:
    """Lets callables be made by these from now on; those made before are made anew when next asked for."""
    with _lock:
        _makers[0] = (maker, row_maker)
        _made.clear()
    for listener in _listeners:
        listener(None)


def operator(name: str) -> Callable[..., Any]:
    """The callable of the operator of that name.

    Raises:
        AttributeError: there is no such operator.
    """
    found = _made.get(name)
    if found is not None:
        return found
    rows = overloads(f"aten::{name}")
    if not rows:
        raise AttributeError(f"there is no tensor operator '{name}'")
    with _lock:
        if name not in _made:
            _made[name] = _makers[0][0](rows)
        return _made[name]


def row_callable(row: Operator) -> Callable[..., Any]:
    """The callable of one row, which takes all its arguments by position."""
    return _makers[0][1](row)


def on_change(listener: Callable[[list[str] | None], None]) -> None:
    """`listener` is told the names of operators whose callables are to be looked up anew (None: all)."""
    _listeners.append(listener)


def _forget(row: Operator) -> None:
    if _made.pop(row.name, None) is not None:
        for listener in _listeners:
            listener([row.name])


on_register(_forget)


def has_variant(name: str, variant: str) -> bool:
    """Whether some row of that name is a "function" of the top namespace or a "method" of tensors."""
    return any(variant in row.variants for row in overloads(f"aten::{name}"))
