"""Words of messages. In: expressions, rows, names. Out: how a message writes them, and hints."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from jitlang.registry import Operator


def describe(node: ast.AST) -> str:
    """A short name for an expression in messages."""
    text = ast.unparse(node)
    return f"'{text}'" if len(text) <= 40 else "the value"


def signature_text(row: Operator) -> str:
    """The operator as the user would write it."""
    return f"{row.name}({', '.join(f'{a.name}: {a.type}' for a in row.schema.arguments)})"


def suggestion(name: str, known: Iterable[str]) -> str:
    """The hint for a name that is none of those known: the nearest of them, if one is near."""
    import difflib

    near = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean '{near[0]}'?" if near else ""
