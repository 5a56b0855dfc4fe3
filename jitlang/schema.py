"""Operator schemas: what an operator takes, returns and changes.

A schema is written as text, ``index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values) -> Tensor(a!)``; the
grammar is ``grammar/schema.lark``. Alias marks are the only source of what a pass knows of effects: ``(a)`` says that
the result may share storage with that argument, ``(a!)`` that the operator writes to it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from jitlang.types import Type

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()


@dataclasses.dataclass(frozen=True)
class Alias:
    """``(a)`` or ``(a!)``: the alias set, and whether it is written."""

    name: str
    write: bool = False

    def __str__(self) -> str:
        return f"({self.name}{'!' if self.write else ''})"


@dataclasses.dataclass(frozen=True)
class Argument:
    """One parameter. `default` is MISSING where there is none; `broadcast` is N in ``int[N]`` (an int counts as N of it)."""

    name: str
    type: Type
    default: Any = MISSING
    alias: Alias | None = None
    keyword_only: bool = False
    broadcast: int = 0


@dataclasses.dataclass(frozen=True)
class Return:
    """One result; `name` is '' where the schema gives none."""

    type: Type
    name: str = ""
    alias: Alias | None = None


@dataclasses.dataclass(frozen=True)
class Schema:
    """``namespace::name.overload(arguments) -> returns``."""

    namespace: str
    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]

    @property
    def kind(self) -> str:
        """The kind of the IR node: ``namespace::name``."""
        return f"{self.namespace}::{self.name}"

    @property
    def full_name(self) -> str:
        """``namespace::name.overload``, the name in archives."""
        return f"{self.kind}.{self.overload}" if self.overload else self.kind

    @property
    def writes(self) -> bool:
        """Whether some argument is changed."""
        return any(a.alias is not None and a.alias.write for a in self.arguments)
