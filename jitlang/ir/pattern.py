"""Patterns of nodes: match them, and build what a replacement says.

In: trees of `jitlang.grammar.rules`. Out: `Pattern.match`, which binds variables to values, and `build`, which makes
nodes in front of the one that is replaced.

A variable that stands twice must be the same value both times. A literal matches a constant of the same type and bits
(``0`` is an int, ``0.0`` not ``-0.0``). ``$x: float`` matches values of that type; a type variable, ``$x: List[t]``,
stands for one type in the whole rule. Inner calls match the node that defines the input, wherever it stands; the rule
answers for memory that is written in between.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from jitlang.errors import IRError
from jitlang.grammar.rules import CallTree, ComputedTree, ConstantTree, ExpressionTree, VariableTree
from jitlang.grammar.types import TypeTree, build_type
from jitlang.ir.equal import literal_key
from jitlang.ir.graph import Node, Value
from jitlang.ir.rows import fits
from jitlang.types import BOOL, FLOAT, INT, NONE, STR, Type, TypeVariable

_LITERAL_TYPES: dict[type, Type] = {int: INT, float: FLOAT, bool: BOOL, str: STR, type(None): NONE}


@dataclasses.dataclass
class Match:
    """What a pattern's variables stand for; `values` by name with ``$``, `types` by name of type variable, `attributes` by name with ``$``."""

    values: dict[str, Value] = dataclasses.field(default_factory=dict)
    types: dict[str, Type] = dataclasses.field(default_factory=dict)
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)


Compute = Callable[[ComputedTree, Match], Any]


class Pattern:
    """A pattern of one output."""

    def __init__(self, tree: CallTree) -> None:
        self.tree = tree
        self._types: dict[TypeTree, Type] = {}

    def match(self, node: Node) -> Match | None:
        """What the variables stand for if `node` is such a node, or None."""
        found = Match()
        return found if self._call(self.tree, node, found) else None

    def _type(self, tree: TypeTree) -> Type:
        if tree not in self._types:
            self._types[tree] = build_type(tree, {}, variables=True)
        return self._types[tree]

    def _call(self, tree: CallTree, node: Node | None, found: Match) -> bool:
        if node is None or node.kind != tree.kind or len(node.inputs) != len(tree.inputs) or len(node.outputs) != 1:
            return False
        if tree.type is not None and not fits(self._type(tree.type), node.output.type, found.types):
            return False
        if not all(self._attribute(wanted, name, node, found) for name, wanted in tree.attributes.items()):
            return False
        if tree.result and found.values.setdefault(tree.result, node.output) is not node.output:
            return False
        return all(self._expression(t, v, found) for t, v in zip(tree.inputs, node.inputs, strict=True))

    def _attribute(self, wanted: VariableTree | ConstantTree, name: str, node: Node, found: Match) -> bool:
        if name not in node.attributes:
            return False
        value = node.attributes[name]
        if isinstance(wanted, ConstantTree):
            return bool(literal_key(value) == literal_key(wanted.value))
        return bool(literal_key(found.attributes.setdefault(wanted.name, value)) == literal_key(value))

    def _expression(self, tree: ExpressionTree, value: Value, found: Match) -> bool:
        if isinstance(tree, CallTree):
            return self._call(tree, value.node, found)
        if isinstance(tree, ConstantTree):
            return _is_literal(value, tree.value)
        if isinstance(tree, ComputedTree):
            raise IRError(f"{tree.name}(…) stands in a pattern")
        if tree.type is not None and not fits(self._type(tree.type), value.type, found.types):
            return False
        return same_value(found.values.setdefault(tree.name, value), value)


def _is_literal(value: Value, wanted: Any) -> bool:
    if not value.is_constant or literal_key(value.constant) != literal_key(wanted):
        return False
    # None is a constant of every Optional type.
    return wanted is None or value.type == _LITERAL_TYPES[wanted.__class__]


def same_value(a: Value, b: Value) -> bool:
    """Whether both are one value, or equal constants."""
    if a is b:
        return True
    return a.is_constant and b.is_constant and a.type == b.type and literal_key(a.constant) == literal_key(b.constant)


def build(tree: ExpressionTree, match: Match, at: Node, type: Type, compute: Compute | None = None) -> Value:
    """The value that a replacement stands for: new nodes are put in front of `at`; the outermost is of type `type`.

    `compute` gives the constant that a computed part stands for.

    Raises IRError for an inner call whose type the rule does not say, or an unbound variable.
    """
    if isinstance(tree, VariableTree):
        if tree.name not in match.values:
            raise IRError(f"the replacement reads {tree.name}, which the pattern does not bind")
        return match.values[tree.name]
    if isinstance(tree, ConstantTree):
        made = Node("prim::Constant", types=[_LITERAL_TYPES[tree.value.__class__]], where=at.range, value=tree.value)
        return made.insert_before(at).output
    if isinstance(tree, ComputedTree):
        if compute is None:
            raise IRError(f"nothing computes {tree.name}(…)")
        return Node("prim::Constant", types=[type], where=at.range, value=compute(tree, match)).insert_before(at).output
    inputs = [build(t, match, at, _inner_type(t, match), compute) for t in tree.inputs]
    node = Node(tree.kind, inputs, [type], where=at.range)
    for name, wanted in tree.attributes.items():
        node.attributes[name] = wanted.value if isinstance(wanted, ConstantTree) else match.attributes[wanted.name]
    return node.insert_before(at).output


def _inner_type(tree: ExpressionTree, match: Match) -> Type:
    if isinstance(tree, ConstantTree):
        return _LITERAL_TYPES[tree.value.__class__]
    if isinstance(tree, VariableTree):
        return match.values[tree.name].type if tree.name in match.values else NONE
    if isinstance(tree, ComputedTree) or tree.type is None:
        raise IRError(f"the rule does not say the type of the inner {tree.name if isinstance(tree, ComputedTree) else tree.kind}")
    kind = build_type(tree.type, {}, variables=True)
    if isinstance(kind, TypeVariable):
        return match.types[kind.name]
    return kind
