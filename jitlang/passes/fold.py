"""Constant folding: what depends on constants only is computed now, by the row's own Python meaning.

- Given a pure operator all of whose inputs are constants. Result: a constant. A computation that raises stays and
  raises when it is run; so does one whose result could be large.
- Given an If whose condition is a constant. Result: the nodes of the block that is taken.
- Given a For over an empty range. Result: the values that it would carry.
- Given an element of a tuple that was just made, ``Unwrap`` of ``Some``, ``Some`` of ``Unwrap``, a ``Cast`` that changes nothing.
  Result: the value that was put in.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

from jitlang.ir.graph import Block, Node, Program, Value
from jitlang.ir.kind_rules import is_constant_of
from jitlang.ir.rows import row_or_none
from jitlang.passes.blocks import carried_inputs, splice, substitute
from jitlang.passes.budget import Budget
from jitlang.registry import PURE, RANDOM
from jitlang.types import TupleType

# A folded string or tuple is not made longer than this, an argument that may say how long a result gets not larger.
MAX_LENGTH = 4096
# Its result differs from process to process, and what is compiled is kept on disk.
_PER_PROCESS = frozenset({"py::hash"})
_LONG_NUMBER = re.compile(r"\d{4}")


@dataclasses.dataclass(frozen=True)
class Fold:
    """One walk in program order, so that a result is a constant where it is used."""

    name = "fold"

    def run(self, program: Program, budget: Budget) -> None:
        """Folds in every function."""
        for graph in program.functions.values():
            _fold_block(graph.block, budget)


def _fold_block(block: Block, budget: Budget) -> None:
    at = 0
    while at < len(block.nodes):
        node = block.nodes[at]
        # A spliced block is looked at from its first node on.
        at += 0 if _fold_structure(node, budget) else 1
        if node.block is None:
            continue
        for inner in node.blocks:
            _fold_block(inner, budget)
        _fold_node(node, budget)


def _fold_structure(node: Node, budget: Budget) -> bool:
    if node.kind == "prim::If" and node.inputs[0].is_constant and budget.take():
        splice(node.blocks[0 if node.inputs[0].constant else 1], node)
        return True
    if node.kind == "prim::For" and trip_count(node) == 0 and budget.take():
        substitute(node.outputs, list(carried_inputs(node)))
        node.destroy()
        return True
    return False


def trip_count(loop: Node) -> int | None:
    """How often the body of a For runs if nothing leaves it; None where that is not known."""
    bounds = loop.inputs[:3]
    if not all(b.is_constant for b in bounds) or bounds[2].constant == 0:
        return None
    start, stop, step = (b.constant for b in bounds)
    trips: int = max(0, -((start - stop) // step))
    return trips


def _fold_node(node: Node, budget: Budget) -> None:
    forward = _FORWARD.get(node.kind)
    if forward is not None and node.output.uses:
        value = forward(node)
        if value is not None and value.type == node.output.type and budget.take():
            node.output.replace_with(value)
        return
    if node.kind in ("prim::Tuple", "prim::TupleIndex") or node.kind.startswith(("py::", "aten::")):
        _fold_constants(node, budget)


def _fold_constants(node: Node, budget: Budget) -> None:
    if len(node.outputs) != 1 or not node.inputs or not all(v.is_constant for v in node.inputs):
        return
    known, value = _evaluate(node, [v.constant for v in node.inputs])
    if known and is_constant_of(value, node.output.type) and budget.take():
        made = Node("prim::Constant", types=[node.output.type], where=node.range, value=value)
        made.insert_before(node)
        made.output.name = node.output.name
        node.output.replace_with(made.output)
        node.destroy()


def _evaluate(node: Node, arguments: list[Any]) -> tuple[bool, Any]:
    if node.kind == "prim::Tuple":
        # A constant is a plain tuple, a NamedTuple an object of its class.
        return not (isinstance(node.output.type, TupleType) and node.output.type.name), tuple(arguments)
    row = row_or_none(node)
    if row is None or row.python is None or not row.has(PURE) or row.has(RANDOM) or node.kind in _PER_PROCESS or _may_be_large(arguments):
        return False, None
    try:
        value = row.python(*arguments)
    except Exception:
        return False, None
    return not (isinstance(value, str | tuple) and len(value) > MAX_LENGTH), value


def _may_be_large(arguments: list[Any]) -> bool:
    """Whether a number among the arguments may be a length: ``"x" * 10**9``, a width in a format."""
    texts = [a for a in arguments if isinstance(a, str | tuple)]
    if not texts:
        return False
    numbers = [a for a in arguments if a.__class__ is int]
    return any(abs(n) > MAX_LENGTH and n != 2**63 - 1 for n in numbers) or any(_LONG_NUMBER.search(t) for t in texts if isinstance(t, str))


# ---- values that are handed through -----------------------------------------------------------------------------------


def _through_tuple(node: Node) -> Value | None:
    made, index = node.inputs[0].node, node.attributes["index"]
    if made is None:
        return None
    if made.kind == "prim::Tuple":
        element: Value = made.inputs[index]
        return element
    if made.kind == "prim::Constant" and node.output.uses:
        constant = Node("prim::Constant", types=[node.output.type], where=node.range, value=made.attributes["value"][index])
        return constant.insert_before(node).output
    return None


def _through(kind: str) -> Callable[[Node], Value | None]:
    def forward(node: Node) -> Value | None:
        made = node.inputs[0].node
        return made.inputs[0] if made is not None and made.kind == kind else None

    return forward


def _cast(node: Node) -> Value | None:
    source = node.inputs[0]
    if source.type == node.output.type:
        return source
    return _through("prim::Cast")(node)


_FORWARD: dict[str, Callable[[Node], Value | None]] = {
    "prim::TupleIndex": _through_tuple,
    "prim::Unwrap": _through("prim::Some"),
    "prim::Some": _through("prim::Unwrap"),
    "prim::Cast": _cast,
}
