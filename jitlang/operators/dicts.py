"""Dicts, in insertion order: indexing and the methods of ``dict``. Keys, values and items are lists, not views."""

from __future__ import annotations

import operator
from typing import Any

from jitlang.operators.rows import method, row
from jitlang.registry import PURE, TOTAL


def getitem(items: dict[Any, Any], key: Any) -> Any:
    """items[key]."""
    return items[key]


def setitem(items: dict[Any, Any], key: Any, value: Any) -> None:
    """items[key] = value."""
    items[key] = value


def delitem(items: dict[Any, Any], key: Any) -> None:
    """del items[key]."""
    del items[key]


def keys(items: dict[Any, Any]) -> list[Any]:
    """list(items.keys())."""
    return list(items)


def values(items: dict[Any, Any]) -> list[Any]:
    """list(items.values())."""
    return list(items.values())


def items_of(items: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """list(items.items())."""
    return list(items.items())


def from_pairs(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """dict(pairs)."""
    return dict(pairs)


def merge(a: dict[Any, Any], b: dict[Any, Any]) -> dict[Any, Any]:
    """a | b."""
    return a | b


def update(items: dict[Any, Any], other: dict[Any, Any]) -> None:
    """items.update(other)."""
    items.update(other)


def entry(items: dict[Any, Any], key: Any) -> int:
    """Not negative where the key is there. Only native code has use for the number itself."""
    return 0 if key in items else -1


def entry_value(items: dict[Any, Any], number: int, key: Any) -> Any:
    """The value of an entry."""
    return items[key]


def entry_or(items: dict[Any, Any], number: int, key: Any, default: Any) -> Any:
    """The value of an entry, or the default."""
    return items.get(key, default)


def set_entry(items: dict[Any, Any], number: int, key: Any, value: Any) -> None:
    """Sets the value of an entry."""
    items[key] = value


def delete_entry(items: dict[Any, Any], number: int, key: Any) -> None:
    """Removes an entry."""
    del items[key]


row("len.dict(Dict[k, v] a) -> int", "The number of keys.", len, PURE, TOTAL)
row("getitem.dict(Dict[k, v] a, k key) -> v(*)", "The value of a key; KeyError for none.", getitem, PURE)
row("setitem.dict(Dict[k, v](a!) self, k(*) key, v(*) value) -> ()", "Set the value of a key.", setitem)
row("delitem.dict(Dict[k, v](a!) self, k key) -> ()", "Remove a key; KeyError for none.", delitem)
row("contains.dict(Dict[k, v] a, k key) -> bool", "Whether the key is there.", operator.contains, PURE)
row("dict.dict(Dict[k, v] a) -> Dict[k, v]", "A new dict of the same items.", dict, PURE, TOTAL)
row("dict.pairs(List[Tuple[k, v]] pairs) -> Dict[k, v]", "A dict of pairs; the last of equal keys counts.", from_pairs, PURE)
row("or.dict(Dict[k, v] a, Dict[k, v] b) -> Dict[k, v]", "A new dict of both; the second counts.", merge, PURE)
row("list.dict(Dict[k, v] a) -> List[k]", "The keys.", keys, PURE, TOTAL)

method("keys(Dict[k, v] self) -> List[k]", "The keys.", keys, PURE, TOTAL)
method("values(Dict[k, v] self) -> List[v]", "The values.", values, PURE, TOTAL)
method("items(Dict[k, v] self) -> List[Tuple[k, v]]", "Pairs of key and value.", items_of, PURE, TOTAL)
method("get(Dict[k, v] self, k key) -> Optional[v](*)", "The value of a key, or None.", dict.get, PURE)
method("get.default(Dict[k, v] self, k key, v(*) default) -> v(*)", "The value of a key, or `default`.", dict.get, PURE)
method("pop.dict(Dict[k, v](a!) self, k key) -> v(*)", "Remove a key, return its value; KeyError for none.", dict.pop)
method("pop.default(Dict[k, v](a!) self, k key, v(*) default) -> v(*)", "Remove a key, return its value or `default`.", dict.pop)
method("popitem(Dict[k, v](a!) self) -> Tuple[k, v](*)", "Remove and return the last item; KeyError for none.", dict.popitem)
method("setdefault(Dict[k, v](a!) self, k(*) key, v(*) default) -> v(*)", "The value of a key, set to `default` first if there is none.", dict.setdefault)
method("update(Dict[k, v](a!) self, Dict[k, v] other) -> ()", "Set all items of another.", update)
method("clear.dict(Dict[k, v](a!) self) -> ()", "Remove all.", dict.clear)
method("copy.dict(Dict[k, v] self) -> Dict[k, v]", "A new dict of the same items.", dict.copy, PURE, TOTAL)

# What `jitlang.passes.lookups` makes of several accesses to one key. `entry` is what ``entry(a, key)`` gave; nothing has changed the dict since.
row("entry(Dict[k, v] a, k key) -> int", "The number of the entry of a key; negative for none.", entry, PURE, TOTAL, variants=())
row("entry_value(Dict[k, v] a, int entry, k key) -> v(*)", "The value of an entry; KeyError for none.", entry_value, PURE, variants=())
row("entry_or(Dict[k, v] a, int entry, k key, v(*) default) -> v(*)", "The value of an entry, or `default`.", entry_or, PURE, TOTAL, variants=())
row("set_entry(Dict[k, v](a!) self, int entry, k(*) key, v(*) value) -> ()", "Set the value of an entry, or of a new one.", set_entry, variants=())
row("delete_entry(Dict[k, v](a!) self, int entry, k key) -> ()", "Remove an entry; KeyError for none.", delete_entry, variants=())
