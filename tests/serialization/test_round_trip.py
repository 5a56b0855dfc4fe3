"""Whole programs, saved and loaded: the same value, the same exception, the same output."""

from __future__ import annotations

import importlib.util
import io
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import jitlang as jl

LANGUAGE = Path(__file__).parents[1] / "language"


def load(name: str) -> ModuleType:
    sys.path.insert(0, str(LANGUAGE))
    try:
        spec = importlib.util.spec_from_file_location(f"round_trip_{name}", LANGUAGE / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(LANGUAGE))


programs, oracle = load("test_programs"), load("oracle")


@pytest.mark.parametrize(("function", "args"), programs.CASES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_a_program_from_a_file(function: Any, args: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", "vm")
    scripted = jl.script(function)
    first = oracle.outcome(scripted, args)
    stream = io.BytesIO()
    jl.save(scripted, stream)
    again = oracle.outcome(jl.load(io.BytesIO(stream.getvalue())), args)
    wanted = oracle.outcome(function, args)
    for found in (first, again):
        assert (found.raised, found.message, found.printed) == (wanted.raised, wanted.message, wanted.printed)
        assert plain(found.value) == plain(wanted.value) and plain(found.args) == plain(wanted.args)


def plain(value: Any) -> Any:
    """A value without the identity of its classes: those of an archive are its own."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value).__name__, tuple(map(plain, value))
    if isinstance(value, list | tuple):
        return type(value), tuple(map(plain, value))
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}, list(map(repr, value))
    return (type(value).__name__, {k: plain(v) for k, v in vars(value).items()}) if hasattr(value, "__dict__") else (type(value), repr(value))
