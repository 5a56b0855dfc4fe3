"""Operators as eager code calls them: each is a script function whose programs have one node.

In: the rows of a kind. Out: a callable. The arguments' types pick the row, by the same schema matching as in scripts; tensors are not told
apart by dtype or rank, so an operator is compiled once for each form it is called in.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, cast

from jitlang.errors import CompileError, ScriptTypeError
from jitlang.frontend.annotations import general, type_of_value
from jitlang.frontend.emitter import Result, Static
from jitlang.frontend.python_kinds import base_type, plain
from jitlang.frontend.script.emitter import ScriptEmitter
from jitlang.frontend.script.unit import Unit
from jitlang.ir.graph import Graph, Program, Value, recompute_uses
from jitlang.registry import Operator
from jitlang.runtime.function import Callee, Key, make_function
from jitlang.source import Source
from jitlang.tensor.handles import Tensor
from jitlang.types import CLASS_DTYPES, NONE, STR, Type


class OperatorCallee(Callee):
    """The operator that some rows of one kind declare."""

    always_native = True

    def __init__(self, rows: Sequence[Operator]) -> None:
        self.rows = rows
        self.name = rows[0].name
        self.kind = rows[0].kind

    @property
    def doc(self) -> str:
        """What the rows say."""
        return "\n\n".join([self.rows[0].doc, "\n".join(row.text for row in self.rows)])

    def prepare(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Key, list[Any]]:
        args = tuple(map(_plain, args))
        kwargs = {name: _plain(value) for name, value in kwargs.items()}
        given = [_given(value) for value in args]
        named = [(name, _given(value)) for name, value in kwargs.items()]
        values = [v for v, t in zip((*args, *kwargs.values()), (*given, *(t for _, t in named)), strict=True) if isinstance(t, Type)]
        return (tuple(map(_key, given)), tuple((n, _key(t)) for n, t in named)), values

    def program(self, key: Key) -> Program:
        positional, named = cast(tuple[Sequence[Any], Sequence[tuple[str, Any]]], key)
        unit = Unit()
        graph = Graph(f"aten.{self.name}")
        emitter = ScriptEmitter(unit, graph, Source(""), self.name, lambda name: None)
        emitter.begin_frame()
        try:
            arguments: list[Result] = [_argument(emitter, graph, kind) for kind in positional]
            keywords: dict[str, Result] = {name: _argument(emitter, graph, kind) for name, kind in named}
            result = emitter.value(emitter.tensor_call(self.kind, arguments, keywords), "the result")
        except CompileError as error:
            error.where = None
            raise
        graph.result = result.type
        graph.attributes["signature"] = (*(_passed("", "positional", k) for k in positional), *(_passed(n, "keyword", k) for n, k in named))
        emitter.emit("prim::return", (result,))
        emitter.finish()
        recompute_uses(graph)
        unit.program.functions[graph.name] = graph
        unit.program.entry = graph.name
        return unit.program


class RowCallee(OperatorCallee):
    """One row, which takes all its arguments by position: what the VM calls."""

    def prepare(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Key, list[Any]]:
        arguments = self.rows[0].schema.arguments
        split = next((i for i, a in enumerate(arguments) if a.keyword_only), len(arguments))
        return super().prepare(args[:split], {a.name: v for a, v in zip(arguments[split:], args[split:], strict=True)})


_EXACT = (int, float, bool, str, list, tuple, type(None))
_BASES: tuple[type[Any], ...] = (bool, int, float, str, tuple, list)


def _plain(value: Any) -> Any:
    """`value` as one of exactly Python's own types, where it is a subclass of one (a `Size`, an IntEnum) or a number of NumPy."""
    if type(value) in _EXACT:
        return value
    for kind in _BASES:
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, type) and value in CLASS_DTYPES:
        return CLASS_DTYPES[value]
    if not isinstance(value, Tensor):
        base = base_type(type(value))
        if base in (bool, int, float):
            return plain(value, base)
        if hasattr(value, "__array_interface__"):
            from jitlang.tensor.exchange import from_array_copy

            return from_array_copy(value)
        if hasattr(value, "__index__"):
            return value.__index__()
    return value


def _given(value: Any) -> Type | Static:
    """What an argument is known by: text and None by their value, everything else by its type."""
    if value is None or isinstance(value, str):
        return Static(value)
    kind = type_of_value(value)
    if kind is None:
        raise ScriptTypeError(f"a {type(value).__name__} is no argument of an operator")
    return general(kind, True)


def _argument(emitter: ScriptEmitter, graph: Graph, kind: Any) -> Value:
    if isinstance(kind, Type):
        return graph.block.add_param(kind)
    return emitter.constant(kind[1], NONE if kind[1] is None else STR)


def _passed(name: str, how: str, kind: Any) -> tuple[Any, ...]:
    """How an argument is passed, as `jitlang.codegen.script.entry` knows it."""
    return (name, how) if isinstance(kind, Type) else (name, how, kind[1])


def _key(given: Type | Static) -> Any:
    return given if isinstance(given, Type) else ("static", given.value)


def operator_function(rows: Sequence[Operator]) -> Any:
    """The callable of these rows."""
    return make_function(OperatorCallee(rows))


@functools.lru_cache(maxsize=2048)
def row_function(row: Operator) -> Any:
    """The callable of one row, with all its arguments by position."""
    return make_function(RowCallee([row]))
