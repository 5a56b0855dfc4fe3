"""Which of Python's own types a value stands for: its own, the one that its class inherits from, or that of NumPy's number.

In: classes and values. Out: one of `BASES`, or None. An instance of a subclass is taken for what it inherits from; that is only right where the class leaves alone what
a script may do with its values, so others are refused (`defaultdict`, say, whose look-up makes values).
"""

from __future__ import annotations

import collections
import enum
import sys
import weakref
from collections.abc import Callable
from typing import Any

from jitlang.errors import ScriptTypeError

BASES: tuple[type, ...] = (bool, int, float, str, tuple, list, dict, set, frozenset)
# Classes whose own methods do what those of the base do.
_SAME = frozenset({collections.OrderedDict})
# What a class may define for itself: how it is made, shown, copied and stored is no matter of scripts.
_FREE = frozenset(dir(object)) - {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__"} | {"copy", "__getnewargs__", "__class_getitem__"}
_known: weakref.WeakKeyDictionary[type, type | None] = weakref.WeakKeyDictionary()


def base_type(cls: type) -> type | None:
    """The type of `BASES` that values of a class stand for; None for any other class.

    Raises ScriptTypeError for a class that inherits from one of them, but behaves differently.
    """
    if cls in BASES:
        return cls
    if cls not in _known:
        _known[cls] = _find(cls)
    return _known[cls]


def _find(cls: type) -> type | None:
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(cls, numpy.generic):
        if issubclass(cls, numpy.floating):
            return float if numpy.dtype(cls).itemsize <= 8 else None
        return bool if issubclass(cls, numpy.bool_) else int if issubclass(cls, numpy.integer) else str if issubclass(cls, numpy.str_) else None
    base = next((b for b in BASES if issubclass(cls, b)), None)
    if base is None or issubclass(cls, enum.Enum) or cls in _SAME or hasattr(cls, "_fields"):
        return base
    own = _difference(cls, base)
    if own:
        raise ScriptTypeError(
            f"a {cls.__qualname__} has a {own} of its own, so it is no {base.__name__} of the language", hint=f"pass {base.__name__}(…) of it"
        )
    return base


def _difference(cls: type, base: type) -> str:
    """The first method of the base's that a class changes, or ''."""
    names = {*dir(base), *(("__missing__",) if base is dict else ())} - _FREE
    for other in cls.__mro__[: cls.__mro__.index(base)]:
        changed: list[str] = sorted(names & vars(other).keys()) if other not in _SAME else []
        if changed:
            return changed[0]
    return ""


# ---- values -------------------------------------------------------------------------------------------------------

_PLAIN: dict[type, Callable[[Any], Any]] = {
    bool: bool,
    int: lambda value: int.__int__(value) if isinstance(value, int) else value.__index__(),
    float: lambda value: float.__float__(value) if isinstance(value, float) else float(value),
    str: str.__str__,
}


def plain(value: Any, base: type) -> Any:
    """A number or string as an instance of exactly `base`; OverflowError for an int that is too large for a float."""
    return value if type(value) is base else _PLAIN[base](value)
