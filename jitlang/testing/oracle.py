"""Runs one program in CPython, in the VM and in native code, and says where they differ.

In: the text of a module with `main` and `arguments`. Out: None, or a `Difference`. Compared are value, type, exception type, message where it is
Python's own business to say it, what the call left in its arguments, and which of all those objects are one object.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import linecache
import os
from collections.abc import Callable, Iterator
from typing import Any

from jitlang.errors import CompileError
from jitlang.runtime.script import script
from jitlang.tensor.tensor import Tensor
from jitlang.testing.checked import checked_module

TIERS = ("vm", "native")
# The texts of these are CPython's version's own, or speak of a range that Python's ints do not have.
SILENT = ("OverflowError", "ZeroDivisionError", "MemoryError", "RecursionError", "UnboundLocalError", "AttributeError")
_numbers = itertools.count()


@dataclasses.dataclass(frozen=True)
class Difference:
    """A tier that does not do what CPython does. `kind`: refused, crashed, raised, value."""

    kind: str
    tier: str
    call: int
    wanted: str
    got: str

    def __str__(self) -> str:
        return f"{self.kind} in {self.tier}, call {self.call}\n  CPython: {self.wanted}\n  {self.tier}: {self.got}"


def describe(value: Any, seen: dict[Any, int]) -> str:
    """A text that two values share only if they are alike in type and value, and in which of their parts are one object."""
    if isinstance(value, Tensor):
        # Two tensors on one storage cannot be told apart but by `is`: which Python objects stand for them is not compared.
        start = value.data_ptr() - value.storage_offset() * value.element_size()
        number = seen.setdefault(("storage", start) if value.numel() else id(value), len(seen))
        return f"Tensor@{number}({value.dtype}, {tuple(value.shape)}, {value.stride()}, {describe(value.tolist(), {})})"
    if isinstance(value, list | dict):
        if id(value) in seen:
            return f"#{seen[id(value)]}"
        seen[id(value)] = number = len(seen)
        items = [f"{describe(k, seen)}: {describe(v, seen)}" for k, v in value.items()] if isinstance(value, dict) else [describe(v, seen) for v in value]
        return f"{type(value).__name__}#{number}[{', '.join(items)}]"
    if hasattr(value, "__dict__"):
        if id(value) in seen:
            return f"#{seen[id(value)]}"
        seen[id(value)] = number = len(seen)
        return f"{type(value).__name__}#{number}<{', '.join(f'{k}={describe(v, seen)}' for k, v in sorted(vars(value).items()))}>"
    if isinstance(value, tuple):
        return f"{type(value).__name__}({', '.join(describe(v, seen) for v in value)})"
    return f"{value!r}" if type(value) in (int, float, str, bool, type(None)) else f"{type(value).__name__} {value!r}"


def outcome(call: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """What a call gives, as a text."""
    seen: dict[Any, int] = {}
    try:
        result = call(*args)
    except CompileError:
        raise
    except Exception as error:
        # Before 3.12 a comprehension is a function of its own, to which a variable without value is a free one.
        kind = "UnboundLocalError" if isinstance(error, NameError) else type(error).__name__
        text = "" if kind in SILENT else f": {error}"
        return f"raises {kind}{text}; arguments {describe(args, seen)}"
    given = describe(args, seen)  # first: a result that is one of them is then known by its number
    return f"arguments {given}; returns {describe(result, seen)}"


@contextlib.contextmanager
def tier(name: str) -> Iterator[None]:
    """Runs its body with JITLANG_TIER set."""
    before = os.environ.get("JITLANG_TIER")
    os.environ["JITLANG_TIER"] = name
    try:
        yield
    finally:
        if before is None:
            del os.environ["JITLANG_TIER"]
        else:
            os.environ["JITLANG_TIER"] = before


@contextlib.contextmanager
def source_file(text: str) -> Iterator[str]:
    """A name under which `inspect` and tracebacks find the text."""
    name = f"<generated {next(_numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    try:
        yield name
    finally:
        linecache.cache.pop(name, None)


def difference(text: str, tiers: tuple[str, ...] = TIERS) -> Difference | None:
    """The first difference between CPython and the tiers; None where there is none."""
    with source_file(text) as name:
        oracle = checked_module(text, name)
        wanted = [outcome(oracle["main"], args) for args in oracle["arguments"]()]
        for each in tiers:
            found = _compare(text, name, each, wanted)
            if found is not None:
                return found
    return None


def _compare(text: str, name: str, which: str, wanted: list[str]) -> Difference | None:
    names: dict[str, Any] = {"__name__": "generated"}
    exec(compile(text, name, "exec"), names)
    with tier(which):
        try:
            main = script(names["main"])
            for at, args in enumerate(names["arguments"]()):
                got = outcome(main, args)
                if got != wanted[at]:
                    return Difference("raised" if "raises" in (got[:6], wanted[at][:6]) else "value", which, at, wanted[at], got)
        except CompileError as error:
            if "used before it is assigned" in error.message:
                return None  # no path assigns it: the compiler may say so at once
            return Difference("refused", which, 0, wanted[0], f"{type(error).__name__}: {error}")
    return None
