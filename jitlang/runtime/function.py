"""Script functions: what ``@script`` makes of a Python function, and what every operator is to eager code.

A `ScriptFunction` is a native callable. Its entry is a chain of specialisations, each of which tests the argument types; what fits
none comes to `dispatch`, which finds or makes the specialisation. A new one runs in the VM at once, is compiled by a
background thread, and is put at the head of the chain when it is ready.
"""

from __future__ import annotations

import dataclasses
import os
import threading
import time
import types
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any

from jitlang.config import flag
from jitlang.errors import CodegenError, JitlangError
from jitlang.ir.graph import Program, clone_program
from jitlang.native import host
from jitlang.native.pytypes import CallableType, callable_type
from jitlang.native.tracebacks import frames_that
from jitlang.runtime import background
from jitlang.runtime.arguments import is_exact, know_numpy
from jitlang.runtime.units import CLEAN_CELL, DISPATCH_CELL, Unit, compile_unit, entry_type, single_entry, slow_entry
from jitlang.types import NEVER, ClassType, Type

Key = Hashable  # argument types, and whatever else a callee tells specialisations apart by
CALLS_BEFORE_NATIVE = 2  # calls in the VM after which a specialisation is compiled


@dataclasses.dataclass(eq=False)
class Specialisation:
    """A function for one tuple of argument types."""

    key: Key
    program: Program
    tier: str = "vm"
    calls: int = 0
    frontend_seconds: float = 0.0
    unit: Unit | None = None
    failure: str = ""
    interpreted: Callable[..., Any] | None = None
    native: Callable[..., Any] | None = None
    queued: bool = False

    def __post_init__(self) -> None:
        self.revisions = Revisions(self.program)


class Revisions:
    """Whether a program still fits its classes: a later program may have given an attribute a wider type."""

    def __init__(self, program: Program) -> None:
        self.known = [(kind, kind.revision) for kind in program.classes.values() if isinstance(kind, ClassType)]

    def hold(self) -> bool:
        """Whether no class has changed."""
        return all(kind.revision == revision for kind, revision in self.known)


def for_empty_only(key: Key) -> bool:
    """Whether an argument was an empty list or dict that nothing gives a type: the parameter's is then chosen freely, and the code good for no other value."""
    return isinstance(key, tuple) and any(isinstance(t, Type) and NEVER in t.walk() for t in key)


class Callee:
    """What a `ScriptFunction` asks about the function it stands for."""

    name: str = ""
    always_native = False  # operators: the VM itself calls them

    def prepare(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Key, list[Any]]:
        """The key of the specialisation for these arguments, and the values that its entry takes.

        Raises what Python raises for arguments that do not fit (TypeError), and compile errors.
        """
        raise NotImplementedError

    def program(self, key: Key) -> Program:
        """The program of a specialisation."""
        raise NotImplementedError


class _Methods:
    """The Python side of a script function."""

    callee: Callee
    specialisations: dict[Key, Specialisation]
    lock: threading.RLock

    def specialise(self, key: Key) -> Specialisation:
        """The specialisation for this key, made if there is none that fits the classes as they are now."""
        found = self.specialisations.get(key)
        if found is None or not found.revisions.hold():
            with self.lock:
                found = self.specialisations.get(key)
                if found is None or not found.revisions.hold():
                    began = time.perf_counter()
                    program = self.callee.program(key)
                    found = Specialisation(key, program, frontend_seconds=time.perf_counter() - began)
                    self.specialisations[key] = found
        return found

    def compile(self, spec: Specialisation) -> None:
        """Compiles a specialisation and puts it at the head of the chain; notes the failure if that cannot be."""
        with self.lock:
            if spec.unit is not None or spec.failure:
                return
            try:
                unit = compile_unit(clone_program(spec.program))
            except CodegenError as error:
                spec.failure = str(error)
                if self.callee.always_native or flag("JITLANG_TIER") == "native":
                    raise
                return
            spec.unit, spec.tier = unit, "native"
            if not for_empty_only(spec.key):
                unit.chain(function_type().entry(self))
                function_type().set_entry(self, unit.entry)

    def __repr__(self) -> str:
        return f"<script function {self.callee.name}>"

    @property
    def __wrapped__(self) -> Any:
        return getattr(self.callee, "function", None)

    @property
    def __name__(self) -> str:
        return self.callee.name

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]  # `object` has a class attribute where functions have their own
        return getattr(self.callee, "doc", None) or getattr(self.__wrapped__, "__doc__", None)


_state: dict[str, Any] = {}


def function_type() -> CallableType:
    """The native type of script functions."""
    found: CallableType | None = _state.get("type")
    if found is None:
        base = type("ScriptFunction", (_Methods,), {"__module__": "jitlang"})
        found = _state["type"] = callable_type(base)
        found.type.__doc__ = _Methods.__dict__["__doc__"]  # CPython gives the native type a __doc__ of its own, None
        host.object_cell(DISPATCH_CELL, dispatch)
        host.object_cell(CLEAN_CELL, user_traceback)
    return found


def make_function(callee: Callee) -> Any:
    """A script function for `callee`."""
    kind = function_type()
    made = kind.type()
    made.callee, made.specialisations, made.lock = callee, {}, threading.RLock()
    kind.set_entry(made, slow_entry())
    return made


class ArgumentError(TypeError):
    """A call whose arguments do not fit; shown as Python shows it, without library frames."""


ArgumentError.__name__ = ArgumentError.__qualname__ = "TypeError"
ArgumentError.__module__ = "builtins"
_PACKAGE = f"{Path(__file__).absolute().parent.parent}{os.sep}"


def user_traceback(error: BaseException) -> types.TracebackType | None:
    """The traceback of `error` without jitlang's own frames, unless the error is a fault of jitlang itself."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is not None and not _is_users(last.tb_frame) and not isinstance(error, JitlangError | ArgumentError | KeyboardInterrupt):
        return error.__traceback__
    return frames_that(_is_users, error.__traceback__)


def _is_users(frame: types.FrameType) -> bool:
    return not frame.f_code.co_filename.startswith(_PACKAGE)


def dispatch(function: Any, *args: Any, **kwargs: Any) -> Any:
    """The end of every chain: binds the arguments, finds or makes the specialisation, and runs it in the tier of the moment."""
    if isinstance(function, entry_type().type):  # `_native` called it: an argument is not what its type said
        raise ArgumentError(f"the arguments {', '.join(type(a).__name__ for a in args)} have no native form")
    know_numpy()
    callee: Callee = function.callee
    key, values = callee.prepare(args, kwargs)
    spec = function.specialise(key)
    if spec.unit is None and not spec.failure:
        _advance(function, spec, values)
    if spec.unit is not None:
        return _native(spec, values)
    spec.calls += 1
    return _interpreted(spec)(*values)


def _advance(function: Any, spec: Specialisation, values: list[Any]) -> None:
    tier = "native" if function.callee.always_native else flag("JITLANG_TIER")
    if tier != "native" and not all(is_exact(v, p.type) for v, p in zip(values, spec.program.main.params, strict=False)):
        tier = "native"  # values are converted there
    if tier == "native":
        function.compile(spec)
    elif tier == "auto" and spec.calls >= CALLS_BEFORE_NATIVE - 1 and not spec.queued:
        spec.queued = True
        background.submit(lambda: function.compile(spec))


def _native(spec: Specialisation, values: list[Any]) -> Any:
    """Calls one specialisation's own entry."""
    if spec.native is None:
        assert spec.unit is not None
        spec.native = single_entry(spec.unit)
    return spec.native(*values)


def _interpreted(spec: Specialisation) -> Callable[..., Any]:
    if spec.interpreted is None:
        from jitlang.interpreter.vm import VM  # eager operators never need it
        from jitlang.runtime.hot import HotCode

        if flag("JITLANG_TIER") == "auto":
            hot = HotCode(spec.program)
            vm = VM(spec.program, on_hot_loop=hot.loop, on_hot_function=hot.function)
        else:
            vm = VM(spec.program)
        spec.interpreted = vm.function()
    return spec.interpreted
