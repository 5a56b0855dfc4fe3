"""Runs programs given as IR text in native code, on Python values, and in the interpreter; counts what they leave behind."""

from __future__ import annotations

import copy
import ctypes
import importlib
from collections.abc import Callable
from typing import Any

from jitlang.codegen.function import FunctionBuilder
from jitlang.codegen.kernels import link, number_unit
from jitlang.codegen.library import memory
from jitlang.codegen.llvm_types import quote, register_type
from jitlang.codegen.module import UNIT
from jitlang.codegen.script import marshal
from jitlang.codegen.script.managed import MANAGED
from jitlang.codegen.script.program import lower_program, symbol_of
from jitlang.grammar.types import parse_type
from jitlang.ir.graph import Graph, Node, Program
from jitlang.ir.reader import parse_program
from jitlang.ir.rows import bind
from jitlang.native import context, engine
from jitlang.registry import find
from jitlang.types import NONE, DictType, ListType, OptionalType, TupleType, Type, TypeVariable, optional

for _name in ("containers", "dicts", "strings", "objects"):
    importlib.import_module(f"jitlang.codegen.script.{_name}")


def compile_native(program: Program, level: int = 2, show: bool = False) -> Callable[..., Any]:
    """The main function of a program as a Python callable; raises what the program raises."""
    module = lower_program(program)
    graph = program.main
    b = FunctionBuilder(module, Graph("go", graph.result), "go", raises=True, managed=MANAGED[0])
    site = Node("py::call")
    operands = []
    for index, param in enumerate(graph.params):
        operand = marshal.from_python(b, site, param.type, f"%a{index}")
        operands.append(operand)
    kind = "i1" if graph.result == NONE else f"{{{register_type(graph.result)}, i1}}"
    given = ", ".join(["ptr %ctx", *(f"{register_type(p.type)} {o}" for p, o in zip(graph.params, operands, strict=True))])
    got = b.op(f"call {kind} @{quote(symbol_of(graph.name))}({given})")
    for param, operand in zip(graph.params, operands, strict=True):
        b.managed.release(b, param.type, operand)
    good, bad = b.block("good"), b.block("bad")
    b.branch(got if kind == "i1" else b.op(f"extractvalue {kind} {got}, 1"), bad, good)
    b.place(good)
    result = "0" if kind == "i1" else b.op(f"extractvalue {kind} {got}, 0")
    boxed = marshal.to_python(b, graph.result, result)
    if b.managed.is_managed(graph.result):
        b.managed.release(b, graph.result, result)
    b.do(f"ret ptr {boxed}")
    b.current.closed = True
    b.place(bad)
    b.do("ret ptr null")
    b.current.closed = True
    lines = [f"define ptr @go({', '.join(['ptr %ctx', *(f'ptr %a{i}' for i in range(len(operands)))])}) {{"]
    for block in b.blocks:
        lines += [f"{block.label}:", *(f"  {line}" for line in (*block.phis, *block.lines))]
        if not block.closed:
            lines.append("  unreachable")
    text = "\n".join([*lines, "}"])
    for old in (f"ret {kind} ", "ret {"):
        text = text.replace(f"  {old}", f"  ret ptr null ; {old}")
    module.functions["go"] = text
    if show:
        print(module.text())
    exports = ["go", *([UNIT] if UNIT in module.globals else [])]
    addresses = link(engine.compile_ir(module.text(), level=level), module, exports)
    number_unit(addresses, module.sites)
    entry = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, *[ctypes.py_object] * len(operands))(addresses["go"])
    release = ctypes.pythonapi.Py_DecRef
    release.argtypes = [ctypes.py_object]

    def call(*arguments: Any) -> Any:
        try:
            made = entry(context.address(), *arguments)
        except BaseException as error:  # ctypes raises what Python's error indicator holds
            raise context.exception_of(context.address(), error) from None
        if made is None:
            raise context.exception_of(context.address())
        value = ctypes.cast(made, ctypes.py_object).value
        release(value)
        return value

    call.module = module  # type: ignore[attr-defined]
    return call


def outcome(function: Callable[..., Any], *arguments: Any) -> tuple[str, str]:
    """The result of a call, or the exception, as text."""
    try:
        value = function(*arguments)
        return type(value).__name__, repr(value)
    except Exception as error:
        return type(error).__name__, repr(error.args)


def check(text: str, *calls: tuple[Any, ...], show: bool = False) -> list[tuple[str, str]]:
    """Runs a program on each of the argument lists, natively and in the interpreter; both must agree and leave nothing behind."""
    from jitlang.interpreter.vm import VM

    native = compile_native(parse_program(text), show=show)
    reference = VM(parse_program(text)).function()
    results = []
    for arguments in calls:
        native(*arguments) if outcome(native, *arguments)[0] not in _ERRORS else None
        memory.counted(True)
        got = outcome(native, *arguments)
        left = memory.counted(False)
        expected = outcome(reference, *arguments)
        assert got == expected, f"{arguments}: native {got}, interpreter {expected}"
        assert left == 0, f"{arguments}: {left} blocks left"
        results.append(got)
    return results


_ERRORS = {name for name in vars(importlib.import_module("builtins")) if name.endswith("Error")}


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


def check_row(qualified: str, types: str, *calls: tuple[Any, ...], result: str = "", show: bool = False) -> None:
    """Compares a row in native code with its Python meaning on each of the argument lists, and counts what is left behind."""
    kinds = [parse_type(t) for t in types.split("; ")]
    native = compile_native(row_program(qualified, kinds, parse_type(result) if result else None), show=show)
    meaning = row_meaning(qualified)
    for arguments in calls:
        outcome(native, *arguments)
        memory.counted(True)
        got = outcome(native, *arguments)
        left = memory.counted(False)
        expected = outcome(meaning, *arguments)
        assert got == expected, f"{qualified}{arguments}: native {got}, Python {expected}"
        assert left == 0, f"{qualified}{arguments}: {left} blocks left"
