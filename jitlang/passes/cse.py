"""Common subexpressions: a node that computes what is known already is replaced by the earlier result.

- Given two nodes with the same operator, inputs and attributes, the first of which dominates the second, and nothing
  between them that writes what they read. Result: the second is gone. A node that may raise counts too: where the first
  did not raise, the second does not.
- Given ``prim::SetAttr[name="x"](%o, %v)`` and then ``prim::GetAttr[name="x"](%o)``. Result: ``%v``.

Two results that are fresh objects are merged only where nobody can tell (`AliasAnalysis.is_mergeable`).
"""

from __future__ import annotations

import dataclasses
from typing import Any

from jitlang.ir.alias import AliasAnalysis, Effects, is_fresh, is_unshared, tested_for_identity
from jitlang.ir.equal import literal_key
from jitlang.ir.graph import LOOPS, Block, Node, Program, Value
from jitlang.ir.rows import row_or_none
from jitlang.passes.budget import Budget
from jitlang.registry import COMMUTATIVE, PURE, RANDOM, Operator
from jitlang.types import FLOAT

_VALUES = frozenset({"prim::Constant", "prim::Tuple", "prim::TupleIndex", "prim::Some", "prim::Unwrap", "prim::Cast"})
_SAME = frozenset({*_VALUES, "prim::GetAttr"})
_OBJECTS = frozenset({"prim::List", "prim::Dict", "prim::Set"})


@dataclasses.dataclass(frozen=True)
class CommonSubexpressions:
    """One walk down the dominator tree."""

    name = "cse"

    def run(self, program: Program, budget: Budget) -> None:
        """Rewrites every function."""
        for graph in program.functions.values():
            _Walk(AliasAnalysis(graph), budget).block(graph.block, {})


@dataclasses.dataclass(frozen=True)
class _Known:
    """Results that can be had without computing them, as long as nothing writes what `effects` reads."""

    results: tuple[Value, ...]
    effects: Effects


_Table = dict[Any, _Known]


class _Walk:
    def __init__(self, aliases: AliasAnalysis, budget: Budget) -> None:
        self.aliases = aliases
        self.budget = budget

    def block(self, block: Block, known: _Table) -> None:
        """`known` belongs to this block from here on."""
        for node in list(block.nodes):
            if node.blocks:
                self._structured(node, known)
                continue
            key = self._key(node)
            found = known.get(key) if key is not None else None
            if found is not None and self._may_replace(node, found) and self.budget.take():
                for output, value in zip(node.outputs, found.results, strict=True):
                    output.replace_with(value)
                node.destroy()
                continue
            effects = self.aliases.effects(node)
            self._forget(known, effects)
            if key is not None and found is None:
                known[key] = _Known(tuple(node.outputs), effects)
            elif node.kind == "prim::SetAttr":
                owner, value = node.inputs
                known[_attribute_key(owner, node.attributes["name"])] = _Known((value,), Effects(reads=effects.writes))

    def _structured(self, node: Node, known: _Table) -> None:
        effects = self.aliases.effects(node)
        if node.kind in LOOPS:
            # An iteration begins with what the one before it may have written.
            self._forget(known, effects)
        for inner in node.blocks:
            self.block(inner, dict(known))
        self._forget(known, effects)

    @staticmethod
    def _forget(known: _Table, effects: Effects) -> None:
        if effects.writes:
            for key in [k for k, entry in known.items() if entry.effects.reads and effects.clashes(entry.effects)]:
                del known[key]

    def _may_replace(self, node: Node, found: _Known) -> bool:
        if any(a.type != b.type for a, b in zip(node.outputs, found.results, strict=True)):
            return False
        values = (*node.outputs, *found.results)
        if node.kind in _OBJECTS or (node.kind not in _SAME and is_fresh(node)):
            return all(self.aliases.is_mergeable(v) or is_unshared(v) for v in values)
        return node.kind != "prim::Tuple" or not any(tested_for_identity(v) for v in values)

    def _key(self, node: Node) -> Any:
        if node.kind in _VALUES or node.kind in _OBJECTS:
            inputs = tuple(map(id, node.inputs))
            return (node.kind, inputs, literal_key(node.attributes), str(node.outputs[0].type))
        if node.kind == "prim::GetAttr":
            return _attribute_key(node.inputs[0], node.attributes["name"])
        row = row_or_none(node) if node.kind.startswith(("py::", "aten::")) else None
        if row is None or not row.has(PURE) or row.has(RANDOM) or not node.outputs:
            return None
        return _operator_key(node, row)


def _attribute_key(owner: Value, name: str) -> Any:
    return ("attribute", id(owner), name)


def _operator_key(node: Node, row: Operator) -> Any:
    inputs = [id(v) for v in node.inputs]
    # Which of two NaN a float sum is depends on their order.
    if row.has(COMMUTATIVE) and node.inputs[0].type != FLOAT:
        inputs[:2] = sorted(inputs[:2])
    rest = literal_key({k: v for k, v in node.attributes.items() if k != "overload"})
    return (row.schema.full_name, tuple(inputs), rest)
