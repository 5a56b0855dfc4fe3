"""What a Python function says of itself: syntax tree, parameters, annotations, defaults, and the names around it.

In: a function object. Out: a `FunctionInfo`, made once for each function.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import inspect
import types
import weakref
from collections.abc import Mapping
from typing import Any

from jitlang.errors import CompileError, ScriptNameError, ScriptSyntaxError
from jitlang.frontend.annotations import annotation_type, type_comments
from jitlang.frontend.liveness import assigned
from jitlang.frontend.python_source import FunctionNode, function_ast
from jitlang.schema import MISSING
from jitlang.source import Source, SourceRange
from jitlang.types import Type


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter. `type` is None where any type will do; `default` is MISSING where there is none."""

    name: str
    type: Type | None
    default: Any = MISSING
    keyword_only: bool = False
    positional_only: bool = False
    variadic: bool = False  # *args


@dataclasses.dataclass(eq=False)
class FunctionInfo:
    """A function as the compiler sees it; `result` is None where its type is inferred."""

    function: types.FunctionType
    source: Source
    node: FunctionNode
    parameters: list[Parameter]
    result: Type | None
    annotated: bool

    @property
    def name(self) -> str:
        """The function's own name."""
        return self.function.__name__

    @property
    def qualname(self) -> str:
        """The name for the program."""
        return self.function.__qualname__

    @property
    def class_cell(self) -> type | None:
        """The class whose body holds the function, where it uses ``super()``."""
        found = self.scope().get("__class__") if "__class__" in self.function.__code__.co_freevars else None
        return found if isinstance(found, type) else None

    @property
    def names(self) -> dict[str, Any]:
        """Names of the enclosing function that stand for compile-time objects (of a nested function only)."""
        return {}

    @property
    def body(self) -> list[ast.stmt]:
        """The statements; a lambda's expression as a return statement."""
        if isinstance(self.node, ast.Lambda):
            return [ast.copy_location(ast.Return(self.node.body), self.node.body)]
        return self.node.body

    @property
    def where(self) -> SourceRange:
        """The place of the definition's head."""
        line = self.node.lineno + self.source.first_line - 1
        first = self.source.lines()[self.node.lineno - 1] if self.node.lineno <= len(self.source.lines()) else ""
        return SourceRange(self.source, line, self.node.col_offset, line, max(len(first.rstrip()), self.node.col_offset + 1), self.name)

    def lookup(self, name: str) -> Any:
        """The Python object that a name which is not local stands for; MISSING where there is none."""
        scope = self.scope()
        if name in scope:
            return scope[name]
        if name == self.function.__name__:  # it calls itself while its decorator runs
            return self.function
        return getattr(builtins, name, MISSING)

    def is_bound_later(self, name: str) -> bool:
        """Whether a name that stands for nothing yet is bound further down in the module or in the enclosing function."""
        if name in self.function.__code__.co_freevars:
            return True
        return name in _module_names(self.source.text, self.source.filename)

    def scope(self) -> Mapping[str, Any]:
        """The names of the closure and of the module."""
        return _scope(self.function)


@functools.lru_cache(maxsize=64)
def _module_names(text: str, filename: str) -> frozenset[str]:
    try:
        return frozenset(assigned(ast.parse(text, filename).body))
    except SyntaxError:
        return frozenset()


class ForwardNameError(ScriptNameError):
    """A name that is bound further down in the module: the function can be compiled when it is called, not yet."""


def _scope(function: types.FunctionType) -> Mapping[str, Any]:
    free = function.__code__.co_freevars
    if not free or function.__closure__ is None:
        return function.__globals__
    cells: dict[str, Any] = {}
    for name, cell in zip(free, function.__closure__, strict=True):
        try:
            cells[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return {**function.__globals__, **cells}


_known: weakref.WeakKeyDictionary[types.FunctionType, FunctionInfo] = weakref.WeakKeyDictionary()


def function_info(function: types.FunctionType) -> FunctionInfo:
    """The information on `function`; a compile error where its source or its signature cannot be used."""
    info = _known.get(function)
    if info is None:
        source, node = function_ast(function)
        info = FunctionInfo(function, source, node, [], None, False)
        try:
            _signature(info)
        except CompileError as error:
            error.where = error.where or info.where
            raise
        _known[function] = info
    return info


def _signature(info: FunctionInfo) -> None:
    function, scope = info.function, info.scope()
    hints: dict[str, Any] = dict(function.__annotations__)
    signature = inspect.Signature.from_callable(function, follow_wrapped=False)
    if not hints and isinstance(info.node, ast.FunctionDef):
        first, last = info.node.lineno, info.node.body[0].lineno
        comments = type_comments(info.source.lines()[first - 1 : last])
        if comments is not None:
            names = list(signature.parameters)
            given, result = comments
            if len(given) == len(names) - 1:  # of a method: `self` has none
                names = names[1:]
            hints = dict(zip(names, given, strict=False)) | {"return": result}
    for name, p in signature.parameters.items():
        if p.kind is inspect.Parameter.VAR_KEYWORD:
            raise ScriptSyntaxError("**kwargs is not supported in a script", info.where, hint="name the keyword parameters")
        variadic = p.kind is inspect.Parameter.VAR_POSITIONAL
        declared = annotation_type(hints[name], scope) if name in hints and not variadic else None
        default = MISSING if p.default is inspect.Parameter.empty else p.default
        keyword_only = p.kind is inspect.Parameter.KEYWORD_ONLY
        positional_only = p.kind is inspect.Parameter.POSITIONAL_ONLY
        info.parameters.append(Parameter(name, declared, default, keyword_only, positional_only, variadic))
    if "return" in hints:
        info.result = annotation_type(hints["return"], scope)
    info.annotated = all(p.type is not None for p in info.parameters)
