"""Tuples as a whole.

What depends on the tuple's length or on constant indices is done by the frontend (``prim::Tuple``, ``prim::TupleIndex``).
"""

from __future__ import annotations

from jitlang.operators.equality import contains
from jitlang.operators.rows import row
from jitlang.registry import PURE

row("contains.tuple(Any items, Any item) -> bool", "Whether a tuple holds an equal element.", contains, PURE)
