"""Attributes that are known not to be None: ``if self.state is not None: …``, ``self.state = x``.

In: tests and assignments of attribute paths (``self.state``). Out: entries ``$path:self.state`` in the environment. Such an entry holds as long
as no call and no assignment to an attribute has been emitted behind it, and not around the back of a loop; everything that can change an
attribute raises `epoch`, and an entry of an older epoch is not read.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jitlang.frontend.emitter import Result
from jitlang.frontend.script.conversions import Conversions
from jitlang.ir.graph import Node, Value
from jitlang.types import OptionalType, Type

PREFIX = "$path:"


class Narrowing(Conversions):
    """Keeps track of what is known of attributes."""

    epoch = 0

    @property
    def epochs(self) -> dict[Value, int]:
        """When each value of an attribute was known to be current."""
        found: dict[Value, int] = self.__dict__.setdefault("_epochs", {})
        return found

    def emit(self, kind: str, inputs: Iterable[Value] = (), types: Iterable[Type] = (), **attributes: Any) -> Node:
        """As in `Emitter`; calls and assignments to attributes end what is known."""
        if kind in ("prim::Call", "prim::SetAttr"):
            self.epoch += 1
        return super().emit(kind, inputs, types, **attributes)

    def path_of(self, node: ast.expr) -> str:
        """The key of an attribute path that begins with a local name; '' for any other expression."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not parts or not isinstance(node, ast.Name) or node.id not in self.env:
            return ""
        return PREFIX + ".".join([node.id, *reversed(parts)])

    def known_path(self, path: str) -> Value | None:
        """The value that an attribute path is known to have."""
        value = self.env.get(path)
        return value if isinstance(value, Value) and self.epochs.get(value) == self.epoch else None

    def note_read(self, path: str, value: Result) -> None:
        """Notes that `value` has just been read from a path."""
        if path and isinstance(value, Value) and isinstance(value.type, OptionalType):
            self.epochs[value] = self.epoch

    def note_path(self, path: str, value: Value) -> None:
        """Notes that a path has a value now."""
        self.env[path] = value
        self.epochs[value] = self.epoch

    def is_current(self, value: Value) -> bool:
        """Whether nothing can have changed the attribute since `value` was read from it."""
        return self.epochs.get(value) == self.epoch

    def bind(self, name: str, value: Result) -> None:
        """As in `Emitter`; what was known of the old object's attributes is forgotten."""
        super().bind(name, value)
        for key in [k for k in self.env if k.startswith(f"{PREFIX}{name}.")]:
            del self.env[key]

    def valid_paths(self) -> set[str]:
        """The paths whose values are known now."""
        return {k for k in self.env if k.startswith(PREFIX) and self.known_path(k) is not None}

    def branch(self, cond: Value, then: Callable[[], None], other: Callable[[], None], names: set[str], live: frozenset[str]) -> None:
        """As in `Emitter`; what both sides know of attributes is known behind them."""
        merged = set(names) | {k for k in self.env if k.startswith(PREFIX)}
        known: list[set[str]] = []

        def side(emit: Callable[[], None]) -> Callable[[], None]:
            def run() -> None:
                emit()
                if not self.block.terminated:
                    known.append(self.valid_paths())
                    merged.update(set.intersection(*known))

            return run

        super().branch(cond, side(then), side(other), merged, live)
        for path in set.intersection(*known) if known else ():
            value = self.env.get(path)
            if isinstance(value, Value):
                self.epochs[value] = self.epoch
        if known:
            for path in [k for k in self.env if k.startswith(PREFIX) and k not in set.intersection(*known)]:
                del self.env[path]

    def loop(
        self,
        kind: str,
        leading: Sequence[Value],
        leading_types: Sequence[Type],
        names: Sequence[str],
        body: Callable[[list[Value]], None],
        orelse: Sequence[ast.stmt] = (),
    ) -> None:
        """As in `LoopEmitter`; nothing is known of attributes at the head of a loop, because its body may change them."""
        self.epoch += 1

        def run(params: list[Value]) -> None:
            self.epoch += 1
            body(params)

        super().loop(kind, leading, leading_types, names, run, orelse)
        self.epoch += 1
