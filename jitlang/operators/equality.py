"""Equality and order of containers by value alone, as native code has them, where floats are no objects.

CPython takes the same object as equal to itself, so that ``[x] == [x]`` and ``x in [x]`` hold for a NaN; here they do not,
and a list that holds NaN is not equal to itself: whether two lists are one object is the optimiser's business.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

_WITHOUT_NAN = {int, bool, str, type(None)}


def has_nan(value: Any) -> bool:
    """Whether a value is NaN or holds one."""
    if type(value) is float:
        return value != value
    if isinstance(value, list | tuple):
        return not set(map(type, value)) <= _WITHOUT_NAN and any(map(has_nan, value))
    if isinstance(value, dict):
        return has_nan(list(value)) or has_nan(list(value.values()))
    return False


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(k in b and _equal(v, b[k]) for k, v in a.items())
    return bool(a == b)


def equal(a: Any, b: Any) -> Any:
    """a == b."""
    found = a == b
    return _equal(a, b) if found is True and has_nan(a) else found


def unequal(a: Any, b: Any) -> Any:
    """a != b."""
    found = a != b
    return not _equal(a, b) if found is False and has_nan(a) else found


def _ordering(order: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def relation(a: Any, b: Any) -> Any:
        if not (isinstance(a, list | tuple) and has_nan(a) and has_nan(b)):
            return order(a, b)
        for x, y in zip(a, b, strict=False):
            if not _equal(x, y):
                return relation(x, y)
        return order(len(a), len(b))

    relation.__doc__ = f"The relation ``operator.{order.__name__}``."
    return relation


RELATIONS: dict[str, Callable[[Any, Any], Any]] = {"eq": equal, "ne": unequal} | {n: _ordering(getattr(operator, n)) for n in ("lt", "le", "gt", "ge")}


def contains(items: Any, item: Any) -> bool:
    """item in items, a list or a tuple."""
    return item in items and (not has_nan(item) or any(_equal(x, item) for x in items))


def count(items: list[Any], item: Any) -> int:
    """items.count(item)."""
    return sum(_equal(x, item) for x in items) if has_nan(item) else items.count(item)


def index(items: list[Any], item: Any, start: int, stop: int) -> int:
    """items.index(item, start, stop)."""
    if has_nan(item):
        for at in range(*slice(start, stop).indices(len(items))):
            if _equal(items[at], item):
                return at
        raise ValueError(f"{item!r} is not in list")
    return items.index(item, start, stop)


def remove(items: list[Any], item: Any) -> None:
    """items.remove(item)."""
    if has_nan(item):
        for at, x in enumerate(items):
            if _equal(x, item):
                del items[at]
                return
        raise ValueError("list.remove(x): x not in list")
    items.remove(item)
