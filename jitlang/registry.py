"""Look-up of operators by name; the rows themselves are registered by `jitlang.operators` and `jitlang.tensor.ops`.

An `Operator` is one row: the schema's text (read by the grammar on first use, so that importing a few hundred rows
costs nothing), a one-line doc, flags, and the meanings that the layers ask for. Nothing about an operator is written
anywhere else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jitlang.schema import Schema

PURE = "pure"  # no effect but the result (may still raise, unless also TOTAL)
TOTAL = "total"  # never raises
COMMUTATIVE = "commutative"
POINTWISE = "pointwise"
VIEW = "view"  # the result shares the first argument's storage
RANDOM = "random"  # depends on the generator's state
EFFECT = "effect"  # prints, or the like: keep, and keep in order


@dataclasses.dataclass(eq=False)
class Operator:
    """One row.

    Args:
        text: the schema as text, without namespace.
        namespace: ``py`` (operators of Python's own types) or ``aten`` (tensors).
        doc: one line, in the imperative.
        flags: names from this module's constants.
        python: the meaning, a Python function of the arguments' Python values. For ``py`` rows it is what the VM
            runs, what constant folding runs, and what native code is tested against.
        native: what native code calls; a kernel, or what `jitlang.codegen` makes of it.
        infer: the type rule: (argument types, argument constants) → result types, where the schema alone does not say
            (dtype and rank of tensors). None: the schema says.
        grad: derivative formulas, argument name → text.
        samples: makes sample inputs for the tests.
        methods: whether it is also a Tensor method / a function of the top namespace ("function", "method").
    """

    text: str
    namespace: str = "aten"
    doc: str = ""
    flags: frozenset[str] = frozenset()
    python: Callable[..., Any] | None = None
    native: Any = None
    infer: Callable[..., Any] | None = None
    grad: dict[str, str] = dataclasses.field(default_factory=dict)
    samples: Any = None
    variants: tuple[str, ...] = ("function", "method")
    extra: dict[str, Any] = dataclasses.field(default_factory=dict)
    _schema: Schema | None = None

    @property
    def qualified(self) -> str:
        """``name.overload``, or ``name``."""
        return self.text[: self.text.index("(")].strip()

    @property
    def name(self) -> str:
        """The name without overload."""
        return self.qualified.split(".")[0]

    @property
    def kind(self) -> str:
        """The kind of the IR nodes that apply it."""
        return f"{self.namespace}::{self.name}"

    @property
    def schema(self) -> Schema:
        """The schema, read from `text` on first use."""
        if self._schema is None:
            from jitlang.grammar.schema import parse_schema  # the grammar is read only when it is needed

            self._schema = parse_schema(self.text, self.namespace)
        return self._schema

    def has(self, flag: str) -> bool:
        """Whether the row carries `flag`."""
        return flag in self.flags


_rows: dict[str, list[Operator]] = {}
_listeners: list[Callable[[Operator], None]] = []


def register(row: Operator) -> Operator:
    """Adds a row; overloads of one kind are tried in the order of registration. ValueError if the name is taken."""
    rows = _rows.setdefault(row.kind, [])
    if any(r.qualified == row.qualified for r in rows):
        raise ValueError(f"operator {row.namespace}::{row.qualified} is registered already")
    rows.append(row)
    for listener in _listeners:
        listener(row)
    return row


def unregister(row: Operator) -> None:
    """Takes a row out again (tests)."""
    _rows[row.kind].remove(row)


def overloads(kind: str) -> list[Operator]:
    """The rows of ``namespace::name``, in order; empty where there is none."""
    return _rows.get(kind, [])


def find(full_name: str) -> Operator:
    """The row ``namespace::name.overload``; KeyError where there is none."""
    namespace, _, qualified = full_name.partition("::")
    for row in overloads(f"{namespace}::{qualified.split('.')[0]}"):
        if row.qualified == qualified:
            return row
    raise KeyError(full_name)


def all_operators() -> Iterator[Operator]:
    """Every row, in the order of registration."""
    for rows in _rows.values():
        yield from rows


def kinds(namespaces: Iterable[str] = ("py", "aten")) -> list[str]:
    """The registered kinds of these namespaces."""
    return [k for k in _rows if k.split("::")[0] in set(namespaces)]


def on_register(listener: Callable[[Operator], None]) -> None:
    """`listener` is called for every row registered from now on."""
    _listeners.append(listener)
