"""One look-up of a key in a dict where there were several.

| given, `%d` a dict and `%k` a key | result, `%e` the entry of the key |
|---|---|
| the first of several accesses to one key of one dict | ``%e: int = py::entry(%d, %k)`` in front of it |
| ``py::contains(%d, %k)`` | ``py::ge(%e, 0)`` |
| ``%d[%k]`` | ``py::entry_value(%d, %e, %k)`` |
| ``%d.get(%k, %v)`` | ``py::entry_or(%d, %e, %k, %v)`` |
| ``%d[%k] = %v``, ``del %d[%k]`` where the entry is known | ``py::set_entry(%d, %e, %k, %v)``, ``py::delete_entry(%d, %e, %k)`` |

The first access dominates the others, and nothing between them may write to the dict or to one that may be the same.
"""

from __future__ import annotations

import dataclasses

from jitlang.ir.alias import AliasAnalysis, Effects
from jitlang.ir.graph import LOOPS, Block, Node, Program, Value
from jitlang.passes.budget import Budget
from jitlang.types import INT, DictType

_READS = ("py::contains", "py::getitem", "py::get")
_GIVEN_ENTRY = {"py::getitem": "py::entry_value", "py::get": "py::entry_or", "py::setitem": "py::set_entry", "py::delitem": "py::delete_entry"}


@dataclasses.dataclass(frozen=True)
class LookUps:
    """One walk down the dominator tree."""

    name = "lookups"

    def run(self, program: Program, budget: Budget) -> None:
        """Rewrites every function."""
        for graph in program.functions.values():
            _Walk(AliasAnalysis(graph), budget).block(graph.block, {})


@dataclasses.dataclass
class _Entry:
    """A key that was looked up: by `first`, in a look-up of its own as soon as there is an `entry`."""

    first: Node
    effects: Effects
    entry: Value | None = None


_Known = dict[tuple[Value, Value], _Entry]


class _Walk:
    def __init__(self, aliases: AliasAnalysis, budget: Budget) -> None:
        self.aliases = aliases
        self.budget = budget

    def block(self, block: Block, known: _Known) -> None:
        """`known` belongs to this block from here on."""
        for node in list(block.nodes):
            effects = self.aliases.effects(node)
            if node.blocks:
                if node.kind in LOOPS:
                    # An iteration begins with what the one before it may have written.
                    self._forget(known, effects)
                for inner in node.blocks:
                    self.block(inner, dict(known))
            elif _is_access(node):
                self._access(node, known)
            self._forget(known, effects)

    @staticmethod
    def _forget(known: _Known, effects: Effects) -> None:
        if effects.writes:
            for key in [k for k, entry in known.items() if effects.clashes(entry.effects)]:
                del known[key]

    def _access(self, node: Node, known: _Known) -> None:
        key = (node.inputs[0], node.inputs[1])
        found = known.get(key)
        if found is None:
            if node.kind in _READS:
                known[key] = _Entry(node, Effects(reads=self.aliases.cells(node.inputs[0])))
        elif self.budget.take():
            if found.entry is None:
                look_up = Node("py::entry", key, (INT,), where=found.first.range)
                found.entry = look_up.insert_before(found.first).output
                _rewrite(found.first, found.entry)
            _rewrite(node, found.entry)


def _is_access(node: Node) -> bool:
    """Whether the node has a row of `_rewrite` (``d.get(k)`` has none: its result is an Optional)."""
    if not (node.kind in _READS or node.kind in _GIVEN_ENTRY) or not isinstance(node.inputs[0].type, DictType):
        return False
    return node.kind != "py::get" or len(node.inputs) == 3


def _rewrite(node: Node, entry: Value) -> None:
    """Puts the form of the access that is given the entry in the place of `node`."""
    items, key, *rest = node.inputs
    types = [o.type for o in node.outputs]
    if node.kind == "py::contains":
        zero = Node("prim::Constant", (), (INT,), where=node.range, value=0).insert_before(node).output
        made = Node("py::ge", (entry, zero), types, where=node.range, overload="int")
    else:
        made = Node(_GIVEN_ENTRY[node.kind], (items, entry, key, *rest), types, where=node.range)
    made.insert_before(node)
    for old, new in zip(node.outputs, made.outputs, strict=True):
        old.replace_with(new)
    node.destroy()
