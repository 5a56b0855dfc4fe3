"""Runs programs given as IR text in native code, on Python values, and in the interpreter; counts what they leave behind."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from typing import Any

from jitlang.codegen.function import FunctionBuilder
from jitlang.codegen.kernels import link, number_unit
from jitlang.codegen.library import memory
from jitlang.codegen.llvm_types import quote, register_type
from jitlang.codegen.module import UNIT
from jitlang.codegen.script import host_calls
from jitlang.codegen.script.program import MANAGED, lower_program, symbol_of
from jitlang.ir.graph import Graph, Node, Program
from jitlang.ir.reader import parse_program
from jitlang.native import context, engine
from jitlang.types import NONE

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
        operand = host_calls.from_python(b, site, param.type, f"%a{index}")
        host_calls.api(b, "Py_IncRef", "void (ptr)", f"%a{index}")
        host_calls.drop(b, f"%a{index}")
        operands.append(f"{register_type(param.type)} {operand}")
    kind = "i1" if graph.result == NONE else f"{{{register_type(graph.result)}, i1}}"
    got = b.op(f"call {kind} @{quote(symbol_of(graph.name))}({', '.join(['ptr %ctx', *operands])})")
    for param, text in zip(graph.params, operands, strict=True):
        if b.managed.is_managed(param.type):
            b.managed.release(b, param.type, text.split(" ", 1)[1])
    good, bad = b.block("good"), b.block("bad")
    b.branch(got if kind == "i1" else b.op(f"extractvalue {kind} {got}, 1"), bad, good)
    b.place(good)
    result = "0" if kind == "i1" else b.op(f"extractvalue {kind} {got}, 0")
    boxed = host_calls.to_python(b, graph.result, result)
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
        made = entry(context.address(), *arguments)
        if made is None:
            record = context.current()
            if record.flags:
                try:
                    ctypes.PYFUNCTYPE(ctypes.py_object)(_null())()
                except BaseException as error:
                    raise context.exception_of(context.address(), error) from None
            raise context.exception_of(context.address())
        value = ctypes.cast(made, ctypes.py_object).value
        release(value)
        return value

    call.module = module  # type: ignore[attr-defined]
    return call


_cell: list[int] = []


def _null() -> int:
    """The address of a function that returns null, so that ctypes raises the error that is set."""
    if not _cell:
        _cell.append(engine.link(engine.compile_ir("define ptr @null() { ret ptr null }", level=0), ["null"])["null"])
    return _cell[0]


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
