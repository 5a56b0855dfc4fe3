"""Text of values (``str``, ``repr``, ``format``) and printing."""

from __future__ import annotations

import sys
from typing import Any

from jitlang.operators.rows import row
from jitlang.registry import EFFECT, PURE, TOTAL


def write(text: str) -> None:
    """Writes to what `sys.stdout` is at that moment."""
    sys.stdout.write(text)


def write_error(text: str) -> None:
    """Writes to what `sys.stderr` is at that moment."""
    sys.stderr.write(text)


def flush() -> None:
    """Flushes `sys.stdout`."""
    sys.stdout.flush()


def format_text(pattern: str, args: tuple[Any, ...]) -> str:
    """pattern.format(*args)."""
    return pattern.format(*args)


def percent(pattern: str, args: tuple[Any, ...]) -> str:
    """pattern % args."""
    return pattern % args


def warn(message: str) -> None:
    """warnings.warn(message)."""
    import warnings  # rarely needed

    warnings.warn(message, stacklevel=2)


for _type in ("int", "float", "bool"):
    row(f"str.{_type}({_type} a) -> str", "The text that print shows.", str, PURE, TOTAL)
    row(f"repr.{_type}({_type} a) -> str", "The text of a literal.", repr, PURE, TOTAL)
row("str.any(Any a) -> str", "The text that print shows.", str, PURE)
row("repr.str(str a) -> str", "The text of a literal, in quotes.", repr, PURE, TOTAL)
row("repr.any(Any a) -> str", "The text of a literal.", repr, PURE)
row("ascii(Any a) -> str", "repr with non-ASCII characters escaped.", ascii, PURE)
for _type in ("int", "float", "bool", "str"):
    row(f"format.{_type}({_type} a, str spec) -> str", "The text by a format specification.", format, PURE)
row("format.any(Any a, str spec) -> str", "The text by a format specification.", format, PURE)
row("format_text(str pattern, Any args) -> str", "pattern.format(*args) of a tuple.", format_text, PURE)
row("percent(str pattern, Any args) -> str", "pattern % args of a tuple.", percent, PURE)
row("print(str text) -> ()", "Write to the standard output.", write, EFFECT)
row("print_error(str text) -> ()", "Write to the standard error.", write_error, EFFECT)
row("flush() -> ()", "Flush the standard output.", flush, EFFECT)
row("warn(str message) -> ()", "Issue a UserWarning.", warn, EFFECT)
