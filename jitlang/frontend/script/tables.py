"""Dispatch tables: dicts, lists and tuples of functions and classes, which are known at compile time, with keys known at run time.

In: a table and a key. Out: a `Choice` among its items, whose call calls the one that the key says.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Sequence
from typing import Any

from jitlang.frontend.emitter import Result, Static
from jitlang.frontend.script.conditions import Conditions
from jitlang.frontend.script.operators import Choice
from jitlang.frontend.script.statics import Parts
from jitlang.ir.graph import Value
from jitlang.types import INT

_DATA = (bool, int, float, str, list, dict, Value)
Entries = Sequence[tuple[Result, Result]]


class Tables(Conditions):
    """``TABLE[key](…)``."""

    def table_entries(self, held: object) -> Entries | None:
        """The keys and items of a table; None for anything else."""
        if not isinstance(held, dict | list | tuple | Parts):
            return None
        items: Collection[Any] = held.items if isinstance(held, Parts) else held.values() if isinstance(held, dict) else held
        if any(v is None or type(v) in _DATA for v in items):
            return None  # a table of data may be long
        if isinstance(held, dict):
            pairs = [(self.static(k), self.static(v)) for k, v in held.items()]
        else:
            pairs = [(self.constant(i), self.static(v)) for i, v in enumerate(items)]
        return pairs if pairs and all(isinstance(v, Static) and self.is_object(v.value) for _, v in pairs) else None

    def table_tests(self, entries: Entries, key: Result) -> list[Value]:
        """Whether `key` is that of each entry."""
        return [self.as_bool(self.truth(self.relation(ast.Eq, known, key))) for known, _ in entries]

    def table_item(self, held: object, entries: Entries, key: Value) -> Result:
        """``held[key]``; KeyError or IndexError at run time where there is none."""
        error: tuple[str, str | Value] = ("KeyError", key)
        if not isinstance(held, dict):
            at, error = self.convert(key, INT, "the index"), ("IndexError", f"{'list' if isinstance(held, list) else 'tuple'} index out of range")
            key = self.choose(self.op("py::lt", at, self.constant(0)), lambda: self.op("py::add", at, self.constant(len(entries))), lambda: at)
        tests = self.table_tests(entries, key)
        known = functools.reduce(lambda a, b: self.op("py::or", a, b), tests)
        self.when(self.op("py::not", known), lambda: self.raise_error(*error))
        return self.table_choice(entries[:-1], tests[:-1], entries[-1][1])

    def table_get(self, entries: Entries, key: Value, default: Result) -> Result:
        """``held.get(key, default)``."""
        return self.table_choice(entries, self.table_tests(entries, key), default)

    def table_choice(self, entries: Entries, tests: Sequence[Value], default: Result) -> Result:
        """The item whose test holds, else the default."""
        for test, (_, item) in reversed(list(zip(tests, entries, strict=True))):
            default = Static(Choice(test, item, default))
        return default
