"""Truth: logic on bool, identity, and the tests for None."""

from __future__ import annotations

import operator
from typing import Any

from jitlang.operators.rows import row
from jitlang.registry import COMMUTATIVE, PURE, TOTAL


def is_none(value: Any) -> bool:
    """Whether the optional holds nothing."""
    return value is None


row("not(bool a) -> bool", "Logical negation.", operator.not_, PURE, TOTAL)
row("and.bool(bool a, bool b) -> bool", "Both.", operator.and_, PURE, TOTAL, COMMUTATIVE)
row("or.bool(bool a, bool b) -> bool", "At least one.", operator.or_, PURE, TOTAL, COMMUTATIVE)
row("xor.bool(bool a, bool b) -> bool", "Exactly one.", operator.xor, PURE, TOTAL, COMMUTATIVE)
row("is_none(Any a) -> bool", "Whether the optional is None.", is_none, PURE, TOTAL)
row("is(Any a, Any b) -> bool", "Whether both are the same object (lists, dicts, objects, tensors).", operator.is_, PURE, TOTAL)
row("any(List[t] items) -> bool", "Whether some element is true.", any, PURE, TOTAL)
row("all(List[t] items) -> bool", "Whether every element is true.", all, PURE, TOTAL)
