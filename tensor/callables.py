"""Operators as Python callables, made when they are first asked for.

`operator(name)` is the callable of all ``aten::name`` rows. The layer that compiles scripts makes it, natively compiled: it calls `set_maker`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from jitlang.registry import Operator, on_register, overloads

Maker = Callable[[Sequence[Operator]], Callable[..., Any]]

_made: dict[str, Callable[..., Any]] = {}
_listeners: list[Callable[[list[str] | None], None]] = []
_lock = threading.Lock()


def _unset(rows: Sequence[Operator]) -> Callable[..., Any]:
    raise AttributeError(f"operator '{rows[0].name}' needs the layer that compiles scripts: import jitlang")


make_callable: list[Maker] = [_unset]


def set_maker(maker: Maker) -> None:
    """Lets callables be made by `maker` from now on; those made before are made anew when next asked for."""
    with _lock:
        make_callable[0] = maker
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
            _made[name] = make_callable[0](rows)
        return _made[name]


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
