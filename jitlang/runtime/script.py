"""``@script``: Python functions, classes and modules as script functions.

In: a Python object. Out: a `ScriptFunction`, the class itself (its methods are compiled where scripts use them), or a `ScriptModule`.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping
from typing import Any

from jitlang.config import flag
from jitlang.errors import CompileError, ScriptNameError, ScriptSyntaxError, ScriptTypeError
from jitlang.frontend.annotations import parameter_type, type_of_value
from jitlang.frontend.emitter import Static
from jitlang.frontend.script.class_types import is_module
from jitlang.frontend.script.functions import ForwardNameError, FunctionInfo, Parameter, function_info
from jitlang.frontend.script.statics import show_static
from jitlang.frontend.script.unit import compile_function
from jitlang.ir.graph import Program
from jitlang.runtime.arguments import check_argument, check_object, exact
from jitlang.runtime.function import ArgumentError, Callee, Key, function_type, make_function
from jitlang.schema import MISSING
from jitlang.types import DictType, ListType, TensorType, TupleType, Type


class FunctionCallee(Callee):
    """A Python function in the language. `owner` is the class whose method it is, for ``super()``."""

    def __init__(self, function: types.FunctionType, owner: type | None = None) -> None:
        self.function = function
        self.owner = owner
        self.name = function.__qualname__
        self.info: FunctionInfo = function_info(function)

    def prepare(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Key, list[Any]]:
        values = bind(self.info, args, kwargs)
        key: list[Any] = []
        given: list[Any] = []
        for parameter, value in zip(self.info.parameters, values, strict=True):
            kind = self.type_of(parameter, value)
            if kind is None:
                key.append(_StaticKey(value))
                continue
            key.append(kind)
            given.append(exact(value, kind))
        return tuple(key), given

    def type_of(self, parameter: Parameter, value: Any) -> Type | None:
        """The type that an argument is specialised by; None for what is known at compile time only (a function)."""
        try:
            kind = type_of_value(value)
            if kind is None:
                check_argument(value)
                if parameter.type is not None:
                    raise ScriptTypeError(f"expected {parameter.type}, got {show_static(value)}")
                return None
            check_object(kind, parameter.type)
            return parameter_type(kind, parameter.type)
        except CompileError as error:
            hint = error.hint.replace("(…) of it", f"({parameter.name})")
            raise ScriptTypeError(f"argument '{parameter.name}' of {self.info.name}(): {error.message}", self.info.where, hint=hint) from None

    def program(self, key: Key) -> Program:
        assert isinstance(key, tuple)  # what `prepare` made
        kinds: list[Any] = list(key)
        given: list[Any] = []
        for p, k in zip(self.info.parameters, kinds, strict=True):
            given += k.elements if p.variadic and isinstance(k, TupleType) else [Static(k.value) if isinstance(k, _StaticKey) else k]
        made = compile_function(self.function, given, owner=self.owner)
        how = [_how(p, k) for p, k in zip(self.info.parameters, kinds, strict=True)]
        if any(h != "any" for h in how):
            made.main.attributes["signature"] = tuple(zip((p.name for p in self.info.parameters), how, strict=True))
        inferred = tuple(p.name for p, k in zip(self.info.parameters, kinds, strict=True) if p.type is None and isinstance(k, ListType | DictType))
        if inferred:
            made.main.attributes["inferred"] = inferred
        return made

    def check(self) -> None:
        """Compiles for the annotated types, to report errors at decoration."""
        kinds = [p.type for p in self.info.parameters]
        if any(k is None for k in kinds) or not self.info.annotated:
            return
        try:
            self.program(tuple(kinds))
        except ForwardNameError:
            return  # a function further down in the module; the first call finds it
        except (ScriptSyntaxError, ScriptNameError):
            raise
        except CompileError:
            # What needs a tensor's dtype or rank is known at the first call only.
            if not any(isinstance(t, TensorType) for k in kinds if k is not None for t in k.walk()):
                raise


def _how(parameter: Parameter, kind: Any) -> str:
    """How a parameter may be passed, as `jitlang.codegen.script.entry` knows it."""
    if parameter.variadic or isinstance(kind, _StaticKey):
        return "rest"
    return "keyword" if parameter.keyword_only else "positional" if parameter.positional_only else "any"


class _StaticKey:
    """A compile-time argument in a key: by identity."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _StaticKey) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def bind(info: FunctionInfo, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
    """The values of all parameters; TypeError with Python's own message where the arguments do not fit."""
    positional = [p for p in info.parameters if not p.keyword_only and not p.variadic]
    rest = next((p for p in info.parameters if p.variadic), None)
    if len(args) > len(positional) and rest is None:
        raise _python_error(info, args, kwargs)
    left = dict(kwargs)
    values: list[Any] = []
    at = 0
    for p in info.parameters:
        if p.variadic:
            values.append(tuple(args[at:]))
            at = len(args)
        elif not p.keyword_only and at < len(args):
            if p.name in left:
                raise _python_error(info, args, kwargs)
            values.append(args[at])
            at += 1
        elif p.name in left and not p.positional_only:
            values.append(left.pop(p.name))
        elif p.default is not MISSING:
            values.append(p.default)
        else:
            raise _python_error(info, args, kwargs)
    if left:
        raise _python_error(info, args, kwargs)
    return values


def _python_error(info: FunctionInfo, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> ArgumentError:
    try:
        inspect.signature(info.function).bind(*args, **kwargs)
    except TypeError as error:
        return ArgumentError(f"{info.name}() {error}")
    return ArgumentError(f"{info.name}(): the arguments do not fit")


def script(obj: Any = None, **_: Any) -> Any:
    """Compiles a Python function, class or module into the language.

    A function becomes a callable that is specialised by the types of its arguments and runs natively. A class is returned as it is: its
    objects, in scripts, are native. A module (`jitlang.nn.Module`) becomes a `ScriptModule` with its exported methods.

    Raises:
        CompileError: the function is not in the language, or, where all its parameters are annotated, has a type error.
    """
    if obj is None:
        return script
    if flag("JITLANG_DISABLE") or isinstance(obj, function_type().type):
        return obj
    if isinstance(obj, type):
        return obj
    from jitlang.runtime.module import ScriptModule, script_module

    if isinstance(obj, ScriptModule):
        return obj
    if is_module(obj):
        return script_module(obj)
    function = inspect.unwrap(obj)
    if isinstance(function, types.MethodType):
        return types.MethodType(script(function.__func__), function.__self__)
    if not isinstance(function, types.FunctionType):
        raise TypeError(f"script() takes a Python function, class or module, not {type(obj).__name__}")
    callee = FunctionCallee(function)
    callee.check()
    return make_function(callee)
