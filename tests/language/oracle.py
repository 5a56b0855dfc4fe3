"""CPython as the oracle: a function is run undecorated, in the virtual machine and natively, and all must agree.

In: a Python function and arguments. Out: an assertion. Values agree in value and type, exceptions in type, arguments in what the call
left in them, and both print the same.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import io
import os
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

import jitlang
from jitlang.errors import CompileError
from jitlang.frontend.annotations import type_of_value
from jitlang.frontend.emitter import Static
from jitlang.frontend.script import compile_function, signature_of
from jitlang.interpreter.vm import VM
from jitlang.ir.graph import Program
from jitlang.ir.verifier import verify_program
from jitlang.runtime.install import install
from jitlang.schema import MISSING

install()


@dataclasses.dataclass
class Outcome:
    """What a call gave."""

    value: Any
    raised: str
    message: str
    printed: str
    args: Sequence[Any]


def outcome(call: Callable[..., Any], args: Sequence[Any]) -> Outcome:
    """Calls with a copy of the arguments and notes all that can be seen."""
    given = [copied(a) for a in args]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            return Outcome(call(*given), "", "", out.getvalue(), given)
        except Exception as error:
            return Outcome(None, type(error).__name__, str(error), out.getvalue(), given)


def copied(value: Any) -> Any:
    """A copy, of tensors too."""
    if hasattr(value, "clone"):
        return value.clone()
    if type(value) in (list, tuple):
        return type(value)(map(copied, value))
    if type(value) is dict:
        return {k: copied(v) for k, v in value.items()}
    return copy.deepcopy(value)


def same(a: Any, b: Any) -> bool:
    """Equal in value and in type, containers throughout; NaN equals NaN, -0.0 is not 0.0."""
    if isinstance(a, tuple) and isinstance(b, tuple) and "Size" in (type(a).__name__, type(b).__name__):
        return tuple(a) == tuple(b)
    if type(a) is not type(b):
        return False
    if hasattr(a, "tolist"):
        return a.dtype == b.dtype and same(a.tolist(), b.tolist()) and tuple(a.shape) == tuple(b.shape)
    if isinstance(a, float):
        return repr(a) == repr(b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(map(repr, a)) == list(map(repr, b)) and all(map(same, a.values(), b.values()))
    if hasattr(a, "__dict__") and not isinstance(a, type | types.FunctionType):
        return same(vars(a), vars(b))
    return bool(a == b)


def program_for(function: Callable[..., Any], args: Sequence[Any]) -> Program:
    """The program that a call with these arguments runs; verified."""
    info = signature_of(function)
    kinds = [_type(value, p.type) for value, p in zip(args, info.parameters, strict=False)]
    program = compile_function(function, kinds)
    verify_program(program)
    return program


def _type(value: Any, declared: Any) -> Any:
    kind = type_of_value(value)
    if kind is None:
        return Static(value)
    unknown = "Never" in str(kind) or (isinstance(value, list | dict) and declared is not None)
    return declared if unknown and declared is not None else kind


def as_declared(function: Callable[..., Any], args: Sequence[Any]) -> list[Any]:
    """The arguments as the parameters take them: an int given for a float parameter is converted."""
    info = signature_of(function)
    out = list(args)
    for at, (value, p) in enumerate(zip(args, info.parameters, strict=False)):
        if str(p.type) == "float" and type(value) in (int, bool):
            out[at] = float(value)
    return out


def check(function: Callable[..., Any], *args: Any, messages: bool = False) -> Any:
    """Asserts that the virtual machine and native code do what CPython does with `function(*args)`; returns CPython's value."""
    program = program_for(function, args)
    run = VM(program).function()
    wanted = outcome(function, args)
    missing = [p.default for p in signature_of(function).parameters[len(args) :] if p.default is not MISSING]
    for _ in range(2):
        compare(outcome(run, [*as_declared(function, args), *missing]), wanted, f"{function.__name__}{tuple(args)} in the VM", messages)
    with tier("native"):
        native = jitlang.script(function)
        for _ in range(2):
            compare(outcome(native, args), wanted, f"{function.__name__}{tuple(args)} in native code", messages)
    return wanted.value


def compare(got: Outcome, wanted: Outcome, what: str, messages: bool) -> None:
    """Asserts that a call did what CPython does."""
    shown = f"{what}: {got}, CPython {wanted}"
    assert got.raised == wanted.raised, shown
    assert same(got.value, wanted.value), shown
    assert got.printed == wanted.printed, shown
    assert all(map(same, got.args, wanted.args)), shown
    if messages and wanted.raised != "AssertionError":  # pytest rewrites the assertions of a test module
        assert got.message == wanted.message, shown


@contextlib.contextmanager
def tier(name: str) -> Iterator[None]:
    """Within the block, scripts run in that tier only."""
    before = os.environ.get("JITLANG_TIER")
    os.environ["JITLANG_TIER"] = name
    try:
        yield
    finally:
        if before is None:
            del os.environ["JITLANG_TIER"]
        else:
            os.environ["JITLANG_TIER"] = before


def check_error(function: Callable[..., Any], *args: Any, error: type[CompileError], match: str, line: int, col: int, hint: str = "") -> None:
    """Asserts that `function` cannot be compiled, and that the error shows the right place: `line` counts from the ``def``, columns from 1."""
    with pytest.raises(error, match=match) as found:
        program_for(function, args)
    where = found.value.where
    assert where is not None, "the error has no place"
    first = function.__code__.co_firstlineno
    assert (where.line - first, where.col + 1) == (line, col), f"the error stands at {where.line - first}:{where.col + 1}: {found.value}"
    assert hint in found.value.hint, found.value.hint
    assert where.source.filename == function.__code__.co_filename
