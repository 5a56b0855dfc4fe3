"""The one table of ``JITLANG_*`` flags: environment variable, type, default and help.

``jitlang flags`` prints the table. A flag is read when it is asked for, so tests may set the environment.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


class FlagError(ValueError):
    """A flag whose text is not one that it takes; names the variable."""


@dataclasses.dataclass(frozen=True)
class Flag:
    """One row; `parse` turns the variable's text into the value and raises ValueError for a text it does not take."""

    name: str
    default: Any
    parse: Callable[[str], Any]
    help: str


def _choice(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"expected one of {', '.join(allowed)}")
        return text

    return parse


def _boolean(text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off", ""):
        return False
    raise ValueError("expected 0 or 1")


def _whole(least: int, most: int | None = None) -> Callable[[str], int]:
    expected = f"expected a whole number, {least} {'or more' if most is None else f'to {most}'}"

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ValueError(expected) from None
        if value < least or (most is not None and value > most):
            raise ValueError(expected)
        return value

    return parse


FLAGS: tuple[Flag, ...] = (
    Flag("JITLANG_TIER", "auto", _choice("auto", "vm", "native"), "auto: interpret first, compile hot code in the background; vm or native: that tier only"),
    Flag("JITLANG_CACHE_DIR", None, Path, "where compiled objects are kept (default: ~/.cache/jitlang); empty: keep none"),
    Flag("JITLANG_THREADS", None, _whole(1), "number of threads of tensor kernels (default: the cores of the process)"),
    Flag("JITLANG_OPT_LEVEL", 2, _whole(0, 2), "0: no pass and fast instruction selection; 1, 2: more"),
    Flag("JITLANG_OPT_LIMIT", "", str, "PASS=N[,PASS=N]: let a pass rewrite at most N times (to bisect a bad rewrite)"),
    Flag("JITLANG_DUMP", None, Path, "a folder: write the IR after each pass and the LLVM of each function there"),
    Flag("JITLANG_LOG", "", str, "comma-separated topics (passes, compile, cache, tiers) logged to standard error"),
    Flag("JITLANG_DEBUG", 0, _whole(0), "1: verify the IR after each pass; 2: also verify LLVM modules"),
    Flag("JITLANG_DISABLE", False, _boolean, "1: script() returns the Python function unchanged"),
)
_TABLE = {flag.name: flag for flag in FLAGS}


def flag(name: str) -> Any:
    """The value of a flag; KeyError for an unknown name, FlagError for a text that it does not take."""
    row = _TABLE[name]
    text = os.environ.get(name)
    if text is None:
        return row.default
    try:
        return row.parse(text)
    except ValueError as error:
        raise FlagError(f"environment variable {name}={text!r}: {error}") from None
