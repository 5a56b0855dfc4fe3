"""Nested functions and lambdas: emitted in place of each call, where the names of the enclosing function are at hand.

In: ``ast.FunctionDef`` and ``ast.Lambda`` inside a function, and module functions that are given such ones as arguments. Out: their bodies,
in a ``prim::Region`` where they return early. They cannot call themselves.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
import types
from collections.abc import Callable, Sequence
from typing import Any, cast

from jitlang.errors import CompileError, ScriptSyntaxError
from jitlang.frontend.annotations import annotation_type
from jitlang.frontend.emitter import Environment, Left, Maybe, Result, ReturnFrame, Static, WidenResult
from jitlang.frontend.liveness import Liveness, assigned, reads
from jitlang.frontend.script.functions import FunctionInfo, Parameter
from jitlang.frontend.script.methods import Methods
from jitlang.frontend.script.narrowing import PREFIX
from jitlang.frontend.script.statics import Callee
from jitlang.ir.graph import Node, Value
from jitlang.schema import MISSING
from jitlang.source import Source, SourceRange
from jitlang.types import Type


@dataclasses.dataclass(eq=False)
class LocalFunction(Callee):
    """A nested function or lambda: its syntax, the frame it was defined in, and the names there at that time."""

    node: ast.FunctionDef | ast.Lambda
    parameters: list[Parameter]
    frame: int
    env: Environment
    source: Source
    lookup: Callable[[str], Any]
    name: str
    info: LiftedInfo | None = None

    @property
    def body(self) -> list[ast.stmt]:
        """The statements."""
        if isinstance(self.node, ast.Lambda):
            return [ast.copy_location(ast.Return(self.node.body), self.node.body)]
        return self.node.body


@dataclasses.dataclass(eq=False)
class LiftedInfo(FunctionInfo):
    """A nested function that calls itself, as a function of its own: the names it captures are its first parameters."""

    local: LocalFunction | None = None
    captured: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.local.name if self.local is not None else ""

    @property
    def qualname(self) -> str:
        return self.name

    @property
    def class_cell(self) -> type | None:
        return None

    @property
    def names(self) -> dict[str, Any]:
        return {self.name: Static(Lifted(self)), **self.statics}

    statics: dict[str, Any] = dataclasses.field(default_factory=dict)

    def lookup(self, name: str) -> Any:
        return self.local.lookup(name) if self.local is not None else MISSING


@dataclasses.dataclass(eq=False)
class Lifted(Callee):
    """What the name of such a function stands for."""

    info: LiftedInfo


class Nested(Methods):
    """Functions in functions."""

    frames = itertools.count(1)

    def begin_frame(self) -> None:
        """Notes the function that is being emitted."""
        self.frame = next(self.frames)
        self.suspended: list[tuple[int, Environment]] = []
        self.active: list[Any] = []

    def bind_to(self, parameters: Sequence[Parameter], name: str, positional: Sequence[Result], keywords: dict[str, Result]) -> list[Result]:
        """The argument or default of each parameter, as Python binds them."""
        raise NotImplementedError

    def declared(self, value: Result, parameter: Parameter, name: str) -> Result:
        """An argument as its parameter takes it."""
        raise NotImplementedError

    def call_bound(self, info: FunctionInfo, bound: list[Result], owner: type | None) -> Result:
        """Calls a function with one argument for each parameter."""
        raise NotImplementedError

    def evaluate(self, node: ast.expr) -> Any:
        """A type expression, evaluated as Python does."""
        raise NotImplementedError

    def local_function(self, node: ast.FunctionDef | ast.Lambda) -> LocalFunction:
        """A nested function as a compile-time object."""
        a = node.args
        if a.kwarg is not None:
            self.fail(ScriptSyntaxError, "**kwargs is not supported in a script", hint="name the keyword parameters")
        parameters: list[Parameter] = []
        ordered = [*a.posonlyargs, *a.args]
        defaults: list[Any] = [MISSING] * (len(ordered) - len(a.defaults)) + [self.expr(d) for d in a.defaults]
        for at, (arg, default) in enumerate(zip(ordered, defaults, strict=True)):
            parameters.append(Parameter(arg.arg, self.local_type(arg.annotation), default, positional_only=at < len(a.posonlyargs)))
        if a.vararg is not None:
            parameters.append(Parameter(a.vararg.arg, None, variadic=True))
        for arg, kw in zip(a.kwonlyargs, a.kw_defaults, strict=True):
            parameters.append(Parameter(arg.arg, self.local_type(arg.annotation), MISSING if kw is None else self.expr(kw), keyword_only=True))
        name = getattr(node, "name", "<lambda>")
        return LocalFunction(node, parameters, self.frame, dict(self.env), self.source, self.lookup, name)

    def local_type(self, annotation: ast.expr | None) -> Type | None:
        """The type that an annotation inside a function means."""
        if annotation is None:
            return None
        with self.at(annotation):
            held = self.evaluate(annotation)
            try:
                return annotation_type(held, _Scope(self.lookup))
            except CompileError as error:
                error.where = error.where or self.where
                raise

    def lifted(self, function: LocalFunction) -> LiftedInfo | None:
        """A nested function that calls itself as one with captured names for parameters; None for one that does not."""
        if isinstance(function.node, ast.Lambda) or function.name not in frozenset().union(*(reads(s) for s in function.node.body)):
            return None
        if function.info is None:
            around = self.around(function)
            own = set(assigned(function.body)) | {p.name for p in function.parameters} | {function.name}
            read = sorted(frozenset().union(*(reads(s) for s in function.body)) - own)
            captured = tuple(n for n in read if isinstance(around.get(n), Value | Maybe))
            statics = {n: around[n] for n in read if isinstance(around.get(n), Static)}
            parameters = [Parameter(n, None) for n in captured]
            for p in function.parameters:
                default = p.default.constant if isinstance(p.default, Value) and p.default.is_constant else p.default
                if isinstance(default, Value):
                    self.fail(ScriptSyntaxError, f"the default of '{p.name}' must be a constant, because '{function.name}' calls itself")
                parameters.append(dataclasses.replace(p, default=default))
            returns = getattr(function.node, "returns", None)
            result = self.local_type(returns) if returns is not None else None
            function.info = LiftedInfo(
                cast(types.FunctionType, _no_function), function.source, function.node, parameters, result, False, function, captured, statics
            )
        return function.info

    def call_lifted(self, info: LiftedInfo, positional: Sequence[Result], keywords: dict[str, Result]) -> Result:
        """Calls a nested function that calls itself."""
        own = info.parameters[len(info.captured) :]
        bound = [self.declared(v, p, info.name) for v, p in zip(self.bind_to(own, info.name, positional, keywords), own, strict=True)]
        around = self.env if info.local is None or info.local.frame == self.frame or info.name in self.env else self.around(info.local)
        captured: list[Result] = []
        for name in info.captured:
            entry = around.get(name)
            if isinstance(entry, Maybe) or entry is None:
                entry = self.read(name)
            if entry is None:
                self.undefined(name)
            captured.append(entry)
        return self.call_bound(info, [*captured, *bound], None)

    def around(self, function: LocalFunction) -> Environment:
        """The names of the enclosing function, as they are now."""
        if function.frame == self.frame:
            return self.env
        return next((env for frame, env in self.suspended if frame == function.frame), function.env)

    def inline(self, function: LocalFunction, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """The body of a nested function in place of the call."""
        info = self.lifted(function)
        if info is not None:
            return self.call_lifted(info, positional, keywords)
        bound = self.bind_to(function.parameters, function.name, positional, keywords)
        args = [self.declared(v, p, function.name) for v, p in zip(bound, function.parameters, strict=True)]
        around = self.around(function)
        names = dict(zip([p.name for p in function.parameters], args, strict=True))
        return self.in_place(function, function.body, names, around, function.source, function.lookup, function.name, function.frame)

    def inline_info(self, info: FunctionInfo, bound: list[Result]) -> Result:
        """A function that is given nested functions or methods as arguments: its body in place of the call."""
        names = dict(zip([p.name for p in info.parameters], bound, strict=True))
        return self.in_place(info, info.body, names, {}, info.source, info.lookup, info.name, next(self.frames))

    def in_place(
        self,
        key: object,
        body: list[ast.stmt],
        names: dict[str, Result],
        around: Environment,
        source: Source,
        lookup: Callable[[str], Any],
        name: str,
        frame: int,
    ) -> Result:
        """Emits a body here, with these parameters and, around them, the names of the enclosing function."""
        if sum(k is key for k in self.active) > 2:
            self.fail(
                ScriptSyntaxError,
                f"the nested function '{name}' calls itself" if isinstance(key, LocalFunction) else f"'{name}' calls itself with a nested function as argument",
                hint="define it at module level, where recursion is possible",
            )
        saved = (self.env, self.source, self.function, self.lookup, self.liveness, self.frame, self.loops, self.locals, self.caller)
        self.suspended.append((self.frame, self.env))
        self.active.append(key)
        own = set(assigned(body)) - set(nonlocals(body))
        self.env = {k: v for k, v in around.items() if k not in own and not k.startswith(PREFIX)}
        self.env.update(names)
        self.source, self.lookup, self.function, self.caller = source, lookup, name, self.where
        self.liveness = self.analyse(body)
        self.frame = next(self.frames) if isinstance(key, LocalFunction) else frame
        self.loops = []
        self.locals = frozenset(own) | frozenset(names)
        depth = len(self.returns)
        try:
            return self.emit_body(body)
        except CompileError as error:
            if saved[2] != name and self.where is not None and error.where is not self.where:
                error.called_from(self.where)
            raise
        finally:
            del self.returns[depth:]
            self.env, self.source, self.function, self.lookup, self.liveness, self.frame, self.loops, self.locals, self.caller = saved
            self.suspended.pop()
            self.active.pop()

    locals: frozenset[str] = frozenset()
    caller: SourceRange | None = None  # the call that the body stands in place of

    def range_of(self, node: ast.AST) -> SourceRange:
        """The place of a node; within a body in place of a call, as seen from that call."""
        made = super().range_of(node)
        return made if self.caller is None else made.at(self.caller)

    def analyse(self, statements: Sequence[ast.stmt]) -> Liveness:
        """Names that nested functions read are live throughout."""
        return keep_captured(super().analyse(statements), statements)

    def emit_body(self, body: list[ast.stmt]) -> Result:
        """Emits a function body whose ``return`` gives the value of this call."""
        *head, last = body if body else [ast.Pass()]
        if isinstance(last, ast.Return) and not any(isinstance(n, ast.Return) for s in head for n in walk_function(s)):
            self.body(head)
            if self.block.terminated:
                raise Left
            return self.none() if last.value is None else self.expr(last.value)
        frame = ReturnFrame(None)
        env, block = dict(self.env), self.block
        while True:
            region = Node("prim::Region", where=self.where)
            frame.region = region
            self.env, self.block = dict(env), region.add_block()
            self.returns.append(frame)
            try:
                self.body(body)
                if not self.block.terminated:
                    self.return_value(None)
            except WidenResult as widen:
                if widen.frame is not frame:
                    raise
                frame.type = widen.type
                continue
            finally:
                self.returns.pop()
                self.block = block
            break
        block.append(region)
        if frame.type is None:
            self.emit("prim::unreachable")
            raise Left
        return region.add_output(frame.type)


class _Scope(dict[str, Any]):
    """Names looked up when they are asked for."""

    def __init__(self, lookup: Callable[[str], Any]) -> None:
        super().__init__()
        self._lookup = lookup

    def __missing__(self, name: str) -> Any:
        found = self._lookup(name)
        if found is MISSING:
            raise KeyError(name)
        return found


def walk_function(statement: ast.AST) -> Any:
    """The nodes of a statement, without those of nested functions."""
    yield statement
    if isinstance(statement, ast.FunctionDef | ast.Lambda | ast.ClassDef):
        return
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            yield from walk_function(child)


def _no_function() -> None:
    """Stands for the Python function of a nested one, which has none."""


def returns_function(info: FunctionInfo) -> bool:
    """Whether a function returns one that is nested in it."""
    if isinstance(info.node, ast.Lambda):
        return isinstance(info.node.body, ast.Lambda)
    names = {s.name for s in info.node.body if isinstance(s, ast.FunctionDef)}
    returned = [n.value for s in info.node.body for n in walk_function(s) if isinstance(n, ast.Return)]
    return any(isinstance(r, ast.Lambda) or (isinstance(r, ast.Name) and r.id in names) for r in returned)


def nonlocals(body: Sequence[ast.stmt]) -> list[str]:
    """The names declared nonlocal in a body."""
    return [n for s in body for node in walk_function(s) if isinstance(node, ast.Nonlocal) for n in node.names]


def keep_captured(liveness: Liveness, body: Sequence[ast.stmt]) -> Liveness:
    """Names that nested functions read live as long as the function, because a nested function may be called at any time."""
    captured: frozenset[str] = frozenset()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.FunctionDef):
                captured |= frozenset().union(*(reads(s) for s in node.body))
            elif isinstance(node, ast.Lambda):
                captured |= reads(node.body)
    if captured:
        for table in (liveness.after, liveness.head):
            for key in table:
                table[key] |= captured
    return liveness
