"""Rule text → its plain syntax tree.

In: ``neg_neg: py::neg(py::neg($x: float)) => $x``. Out: `RuleTree`. What the names of filters mean is
`jitlang.passes.peephole`'s business, how a tree matches nodes `jitlang.ir.pattern`'s.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from jitlang.grammar.literals import read_number, read_string
from jitlang.grammar.loader import Parser
from jitlang.grammar.types import TypeBuilder, TypeTree


class VariableTree(NamedTuple):
    """``$x: type``."""

    name: str
    type: TypeTree | None


class ConstantTree(NamedTuple):
    """A literal."""

    value: Any


class CallTree(NamedTuple):
    """``$result = kind[attribute=…](inputs) : type``; `result` is '' where it has no name."""

    kind: str
    inputs: tuple[ExpressionTree, ...]
    attributes: dict[str, VariableTree | ConstantTree]
    type: TypeTree | None
    result: str = ""


class ComputedTree(NamedTuple):
    """``name($x)`` in a replacement: a constant, computed by a function of that name."""

    name: str
    arguments: tuple[str | ConstantTree, ...]


ExpressionTree = CallTree | VariableTree | ConstantTree | ComputedTree


class ConditionTree(NamedTuple):
    """``name($x, 1)``: arguments are names of variables (with ``$``) and constants."""

    name: str
    arguments: tuple[str | ConstantTree, ...]


class RuleTree(NamedTuple):
    """One rule."""

    name: str
    pattern: CallTree
    replacement: ExpressionTree
    conditions: tuple[ConditionTree, ...]


class _Builder(TypeBuilder):
    """One method per rule of ``rules.lark``."""

    def rule(self, children: list[Any]) -> RuleTree:
        name, pattern, replacement, *conditions = children
        return RuleTree(str(name or ""), pattern, replacement, tuple(c for c in conditions if c is not None))

    def call(self, children: list[Any]) -> CallTree:
        result, kind, attributes, *inputs, type_ = children
        return CallTree(str(kind), tuple(i for i in inputs if i is not None), attributes or {}, type_, str(result or ""))

    def computed(self, children: list[Any]) -> ComputedTree:
        return ComputedTree(str(children[0]), tuple(c if isinstance(c, ConstantTree) else str(c) for c in children[1:]))

    def variable(self, children: list[Any]) -> VariableTree:
        return VariableTree(str(children[0]), children[1])

    def attributes(self, children: list[Any]) -> dict[str, Any]:
        return dict(children)

    def attribute(self, children: list[Any]) -> tuple[str, Any]:
        return str(children[0]), children[1]

    def condition(self, children: list[Any]) -> ConditionTree:
        return ConditionTree(str(children[0]), tuple(c if isinstance(c, ConstantTree) else str(c) for c in children[1:] if c is not None))

    def number(self, children: list[Any]) -> ConstantTree:
        return ConstantTree(read_number(children[0]))

    def string(self, children: list[Any]) -> ConstantTree:
        return ConstantTree(read_string(children[0]))

    def true(self, children: list[Any]) -> ConstantTree:
        return ConstantTree(True)

    def false(self, children: list[Any]) -> ConstantTree:
        return ConstantTree(False)

    def none(self, children: list[Any]) -> ConstantTree:
        return ConstantTree(None)


@functools.cache
def _parser() -> Parser:
    return Parser(("rules", "types"), "rule", _Builder(), "a rule")


def parse_rule(text: str) -> RuleTree:
    """The tree of one rule. Raises IRError, which shows the place."""
    tree: RuleTree = _parser().parse(text.strip())
    return tree
