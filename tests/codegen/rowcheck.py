"""Runs programs given as IR text in native code, on Python values, and in the interpreter; counts what they leave behind."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from jitlang.codegen.library import memory
from jitlang.grammar.types import parse_type
from jitlang.interpreter.vm import VM
from jitlang.ir.graph import Graph, Node, Program
from jitlang.ir.reader import parse_program
from jitlang.ir.rows import bind
from jitlang.registry import find
from jitlang.runtime.units import compile_unit, single_entry
from jitlang.types import DictType, ListType, OptionalType, TupleType, Type, TypeVariable, optional


def compile_native(program: Program) -> Callable[..., Any]:
    """The main function of a program as a Python callable; raises what the program raises."""
    call: Callable[..., Any] = single_entry(compile_unit(program, cached=False))
    return call


def outcome(function: Callable[..., Any], *arguments: Any) -> tuple[str, str]:
    """The result of a call, or the exception, as text."""
    try:
        value = function(*arguments)
        return type(value).__name__, repr(value)
    except Exception as error:
        return type(error).__name__, repr(error.args)


def check(text: str, *calls: tuple[Any, ...]) -> list[tuple[str, str]]:
    """Runs a program on each of the argument lists, natively and in the interpreter; both must agree and leave nothing behind."""
    native = compile_native(parse_program(text))
    reference = VM(parse_program(text)).function()
    results = []
    for arguments in calls:
        outcome(native, *copy.deepcopy(arguments))
        memory.counted(True)
        got = outcome(native, *copy.deepcopy(arguments))
        left = memory.counted(False)
        expected = outcome(reference, *copy.deepcopy(arguments))
        assert got == expected, f"{arguments}: native {got}, interpreter {expected}"
        assert left == 0, f"{arguments}: {left} blocks left"
        results.append(got)
    return results


# ---- single rows --------------------------------------------------------------------------------------------------


def row_program(qualified: str, types: list[Type], result: Type | None = None) -> Program:
    """A program that applies one row to its parameters, and returns (result, parameters that are containers…)."""
    row = find(f"py::{qualified}")
    graph = Graph("main")
    params = [graph.block.add_param(t, f"p{i}") for i, t in enumerate(types)]
    variables = bind(row, tuple(types))
    assert variables is not None, f"{qualified} does not take {types}"
    returned = row.schema.returns
    outputs = [result or substitute(returned[0].type, variables)] if returned else []
    node = graph.block.append(Node(row.kind, params, outputs, overload=qualified))
    kept = [*node.outputs, *(p for p in params if isinstance(p.type, ListType | DictType))]
    made = graph.block.append(Node("prim::Tuple", kept, [TupleType(tuple(v.type for v in kept))]))
    graph.block.append(Node("prim::return", [made.output]))
    graph.result = made.output.type
    return Program("main", {"main": graph})


def substitute(type: Type, variables: dict[str, Type]) -> Type:
    """A schema's type with what its variables stand for."""
    if isinstance(type, TypeVariable):
        return variables[type.name]
    if isinstance(type, ListType):
        return ListType(substitute(type.element, variables))
    if isinstance(type, OptionalType):
        return optional(substitute(type.element, variables))
    if isinstance(type, DictType):
        return DictType(substitute(type.key, variables), substitute(type.value, variables))
    if isinstance(type, TupleType):
        return TupleType(tuple(substitute(e, variables) for e in type.elements))
    return type


def row_meaning(qualified: str) -> Callable[..., Any]:
    """What `row_program` computes, in Python."""
    row = find(f"py::{qualified}")
    assert row.python is not None

    def meaning(*arguments: Any) -> tuple[Any, ...]:
        given = [copy.deepcopy(a) for a in arguments]
        assert row.python is not None
        value = row.python(*given)
        return (*([value] if row.schema.returns else []), *(g for g in given if isinstance(g, list | dict)))

    return meaning


def check_row(qualified: str, types: str, *calls: tuple[Any, ...], result: str = "") -> None:
    """Compares a row in native code with its Python meaning on each of the argument lists, and counts what is left behind."""
    kinds = [parse_type(t) for t in types.split("; ")]
    native = compile_native(row_program(qualified, kinds, parse_type(result) if result else None))
    meaning = row_meaning(qualified)
    for arguments in calls:
        outcome(native, *map(copy.deepcopy, arguments))
        memory.counted(True)
        got = outcome(native, *map(copy.deepcopy, arguments))
        left = memory.counted(False)
        expected = outcome(meaning, *arguments)
        assert got == expected, f"{qualified}{arguments}: native {got}, Python {expected}"
        assert left == 0, f"{qualified}{arguments}: {left} blocks left"
