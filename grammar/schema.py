"""Schema text → `Schema`.

In: PyTorch's form, ``add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor``, and the same with Python's
types, ``get(Dict[k, v] self, k key, v default) -> v``. Out: `jitlang.schema.Schema`.

``-> None`` is one result of type None; ``-> ()`` is no result at all. A default is a number, a string, a list of those,
True, False, None, or the name of a dtype.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from jitlang.errors import IRError
from jitlang.grammar.literals import read_number, read_string
from jitlang.grammar.loader import Parser
from jitlang.grammar.types import TypeBuilder, TypeTree, build_type
from jitlang.schema import MISSING, Alias, Argument, Return, Schema
from jitlang.types import DTYPES, FLOAT, ListType, OptionalType, Type

_WORDS: dict[str, Any] = {"True": True, "False": False, "None": None, **{d.name: d for d in DTYPES}}


class ArgumentTree(NamedTuple):
    """One parameter or result as written."""

    type: TypeTree
    alias: Alias | None
    name: str
    default: Any


class _Marked(NamedTuple):
    type: TypeTree
    alias: Alias | None


class SchemaTree(NamedTuple):
    """A schema as written; None among the parameters stands for ``*``."""

    name: str
    parameters: tuple[ArgumentTree | None, ...]
    returns: tuple[ArgumentTree, ...]


class _Builder(TypeBuilder):
    """One method per rule of ``schema.lark``."""

    def schema(self, children: list[Any]) -> SchemaTree:
        name, *parameters, returns = children
        found = () if parameters == [None] else tuple(None if p == "*" else p for p in parameters)
        return SchemaTree(str(name), found, tuple(returns) if isinstance(returns, list) else (returns,))

    def star(self, children: list[Any]) -> str:
        return "*"

    def argument(self, children: list[Any]) -> ArgumentTree:
        marked, name, default = children
        kind, alias = marked if isinstance(marked, _Marked) else (marked, None)
        return ArgumentTree(kind, alias, str(name), default[0] if default is not None else MISSING)

    def result(self, children: list[Any]) -> ArgumentTree:
        marked, name = children
        kind, alias = marked if isinstance(marked, _Marked) else (marked, None)
        return ArgumentTree(kind, alias, str(name or ""), MISSING)

    def several(self, children: list[Any]) -> list[ArgumentTree]:
        return [c for c in children if c is not None]

    def mark(self, children: list[Any]) -> _Marked:
        text = children[1][1:-1]
        return _Marked(children[0], Alias(text.rstrip("!"), text.endswith("!")))

    def list_of_mark(self, children: list[Any]) -> _Marked:
        return _Marked(TypeTree("[]", (children[0].type, children[1] and int(children[1]))), children[0].alias)

    def optional_mark(self, children: list[Any]) -> _Marked:
        return _Marked(TypeTree("?", (children[0].type,)), children[0].alias)

    # A default travels in a 1-tuple, so that None, the value, is not None, the absence.

    def number(self, children: list[Any]) -> tuple[Any]:
        return (read_number(children[0]),)

    def string(self, children: list[Any]) -> tuple[Any]:
        return (read_string(children[0]),)

    def word(self, children: list[Any]) -> tuple[Any]:
        if children[0] not in _WORDS:
            raise IRError(f"{children[0]} is no default value")
        return (_WORDS[children[0]],)

    def list(self, children: list[Any]) -> tuple[Any]:
        return ([c[0] for c in children if c is not None],)


@functools.cache
def _parser() -> Parser:
    return Parser(("schema", "types"), "schema", _Builder(), "a schema")


def parse_schema(text: str, namespace: str = "aten", classes: Mapping[str, Type] | None = None) -> Schema:
    """The schema that `text` says. Raises IRError, which shows the place, for text that is none."""
    try:
        tree: SchemaTree = _parser().parse(text.strip())
        name, _, overload = tree.name.partition(".")
        return Schema(namespace, name, overload, tuple(_arguments(tree, classes or {})), tuple(_returns(tree, classes or {})))
    except IRError as error:
        raise IRError(f"{error}\n  in the schema {text}") from None


def _arguments(tree: SchemaTree, classes: Mapping[str, Type]) -> list[Argument]:
    found: list[Argument] = []
    keyword_only = False
    for parameter in tree.parameters:
        if parameter is None:
            keyword_only = True
            continue
        if any(a.name == parameter.name for a in found):
            raise IRError(f"two parameters are called {parameter.name}")
        kind = build_type(parameter.type, classes, variables=True)
        default = _fit_default(parameter.default, kind)
        found.append(Argument(parameter.name, kind, default, parameter.alias, keyword_only, _broadcast(parameter.type)))
    return found


def _returns(tree: SchemaTree, classes: Mapping[str, Type]) -> list[Return]:
    return [Return(build_type(r.type, classes, variables=True), r.name, r.alias) for r in tree.returns]


def _broadcast(tree: TypeTree) -> int:
    if tree.name == "?":
        return _broadcast(tree.items[0])
    return tree.items[1] or 0 if tree.name == "[]" else 0


def _fit_default(value: Any, kind: Type) -> Any:
    """`float p=1` means 1.0; `int[2] stride=1` means [1, 1] is left to the reader of `broadcast`."""
    if value is None and not isinstance(kind, OptionalType) and str(kind) != "None":
        raise IRError(f"the default None does not fit {kind}")
    inner = kind.element if isinstance(kind, OptionalType) else kind
    if inner == FLOAT and type(value) is int:
        return float(value)
    if inner == ListType(FLOAT) and isinstance(value, list):
        return [float(v) for v in value]
    return value
