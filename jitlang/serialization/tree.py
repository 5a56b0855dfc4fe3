"""Python values as a JSON document, with shared and cyclic references kept.

In: a value built of None, bool, int, float, str, tuple, list, dict, set and what the caller adds (tensors, objects of script classes); an instance of a subclass and
a number of NumPy are stored as the plain value that scripts take them for. Out:
``{"root": atom, "cells": [cell, …]}``, and back. What has an identity (list, dict, set, object) is a cell in the table and is referred to by
number, so that two attributes that hold one list hold one list again after loading.

| atom | meaning |
|---|---|
| ``null true 1 2.5 "x"`` | the value itself |
| ``{"float": "inf"}`` | a float that JSON has no word for |
| ``{"tuple": [atom, …]}`` | a tuple |
| ``{"named": ["Point", ["x", "y"], [atom, …]]}`` | an instance of a NamedTuple class |
| ``{"cell": 3}`` | cell 3 |
| ``{"leaf": …}`` | what the caller's `leaf` function made of the value (a tensor, a dtype, an enum member) |

| cell | meaning |
|---|---|
| ``{"list": [atom, …]}``, ``{"set": [atom, …]}`` | a list, a set |
| ``{"dict": [[atom, atom], …]}`` | a dict, in order |
| ``{"object": "Class", "attributes": {name: atom, …}}`` | an object of a script class |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from jitlang.errors import ArchiveError
from jitlang.frontend.annotations import is_named_tuple, stored_tuple
from jitlang.frontend.python_kinds import base_type, plain

MAX_DEPTH = 100  # of tuples in tuples; cells are not nested in the document


class Encoder:
    """Makes the document.

    Args:
        leaf: JSON-able form of a value that the tables above do not name, or None where it is an object.
        attributes: class name and attributes of an object; raises TypeError for a value that cannot be stored.
        tuple_name: the name of a NamedTuple class.
    """

    def __init__(
        self,
        leaf: Callable[[Any], Any],
        attributes: Callable[[Any], tuple[str, Mapping[str, Any]]],
        tuple_name: Callable[[type], str] = lambda cls: cls.__name__,
    ) -> None:
        self._leaf = leaf
        self._tuple_name = tuple_name
        self._attributes = attributes
        self._cells: list[dict[str, Any]] = []
        self._numbers: dict[int, int] = {}
        self._pending: list[Any] = []  # cell number n is made of value n

    def encode(self, value: Any) -> dict[str, Any]:
        """The document. Raises TypeError or ValueError for a value that cannot be stored."""
        root = self._atom(value, 0)
        while len(self._cells) < len(self._pending):
            self._cells.append(self._cell(self._pending[len(self._cells)]))
        return {"root": root, "cells": self._cells}

    def _atom(self, value: Any, depth: int) -> Any:
        base = base_type(type(value))
        if value is None:
            return None
        if base in (bool, int, float, str):
            return _number(plain(value, base))
        if base is tuple:
            if depth > MAX_DEPTH:
                raise ValueError(f"tuples are nested more than {MAX_DEPTH} deep")
            atoms = [self._atom(v, depth + 1) for v in value]
            cls = type(value)
            return {"named": [self._tuple_name(cls), list(cls._fields), atoms]} if is_named_tuple(cls) else {"tuple": atoms}
        if base is None:
            leaf = self._leaf(value)
            if leaf is not None:
                return {"leaf": leaf}
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._pending)
            self._pending.append(value)
        return {"cell": self._numbers[id(value)]}

    def _cell(self, value: Any) -> dict[str, Any]:
        base = base_type(type(value))
        if base is list:
            return {"list": [self._atom(v, 0) for v in value]}
        if base is dict:
            return {"dict": [[self._atom(k, 0), self._atom(v, 0)] for k, v in value.items()]}
        if base in (set, frozenset):
            return {"set": [self._atom(v, 0) for v in value]}
        name, attributes = self._attributes(value)
        return {"object": name, "attributes": {k: self._atom(v, 0) for k, v in attributes.items()}}


def _number(value: Any) -> Any:
    """The atom of a number, truth value or string."""
    if type(value) is int and not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"the int {value} does not fit in 64 bits")
    return {"float": str(value)} if type(value) is float and not math.isfinite(value) else value


class Decoder:
    """Makes the value again.

    Args:
        document: what `Encoder.encode` returned, from a file that is not trusted.
        entry: the archive entry's name, for errors.
        leaf: the value of a leaf.
        new: a blank object of the class with that name.
        fill: sets the attributes of a blank object.

    The three functions may raise KeyError, TypeError or ValueError for what they do not take: it becomes an ArchiveError.
    """

    def __init__(
        self,
        document: Any,
        entry: str,
        leaf: Callable[[Any], Any],
        new: Callable[[str], Any],
        fill: Callable[[Any, dict[str, Any]], None],
    ) -> None:
        self._document = document
        self._entry = entry
        self._leaf = leaf
        self._new = new
        self._fill = fill
        self._values: list[Any] = []

    def decode(self) -> Any:
        """The value; ArchiveError naming the entry where the document does not have the form above."""
        try:
            cells = _of_type(list, self._document["cells"])
            self._values = [self._blank(cell) for cell in cells]
            for cell, value in zip(cells, self._values, strict=True):
                self._fill_cell(cell, value)
            return self._atom(self._document["root"], 0)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) and error.args else str(error)
            raise ArchiveError(f"entry {self._entry!r}: not a tree of values: {reason}") from None

    def _blank(self, cell: Any) -> Any:
        if "object" in cell:
            return self._new(_of_type(str, cell["object"]))
        for kind in (list, dict, set):
            if kind.__name__ in cell:
                return kind()
        raise ValueError("a cell of unknown kind")

    def _fill_cell(self, cell: Any, value: Any) -> None:
        if "object" in cell:
            self._fill(value, {k: self._atom(v, 0) for k, v in _of_type(dict, cell["attributes"]).items()})
        elif "list" in cell:
            value.extend(self._atom(v, 0) for v in _of_type(list, cell["list"]))
        elif "dict" in cell:
            value.update((self._atom(k, 0), self._atom(v, 0)) for k, v in _of_type(list, cell["dict"]))
        else:
            value.update(self._atom(v, 0) for v in _of_type(list, cell["set"]))

    def _atom(self, atom: Any, depth: int) -> Any:
        if not isinstance(atom, dict):
            return _plain(atom)
        ((kind, inner),) = atom.items()
        if kind == "cell":
            if not 0 <= _of_type(int, inner) < len(self._values):
                raise ValueError(f"there is no cell {inner}")
            return self._values[inner]
        if kind == "tuple" and depth <= MAX_DEPTH:
            return tuple(self._atom(v, depth + 1) for v in _of_type(list, inner))
        if kind == "named" and depth <= MAX_DEPTH:
            name, fields, atoms = inner
            cls = stored_tuple(_of_type(str, name), tuple(_of_type(str, f) for f in _of_type(list, fields)))
            return cls(*(self._atom(v, depth + 1) for v in _of_type(list, atoms)))
        if kind == "float":
            return float(_of_type(str, inner))
        if kind == "leaf":
            return self._leaf(inner)
        raise ValueError(f"{kind!r} is not a kind of atom, or stands too deep")


def _plain(atom: Any) -> Any:
    if isinstance(atom, list):
        raise TypeError("a list where an atom is expected")
    if type(atom) is int and not -(1 << 63) <= atom < 1 << 63:
        raise ValueError("an int that does not fit in 64 bits")
    return atom


def _of_type(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{type(value).__name__} where {kind.__name__} is expected")
    return value
