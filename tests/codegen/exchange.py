"""Conversions between Python and native code, by themselves: `exchange(type)` copies a Python value through its native form."""

from __future__ import annotations

import ctypes
import functools
import importlib
from collections.abc import Callable
from typing import Any

from jitlang.codegen.function import FunctionBuilder
from jitlang.codegen.kernels import link, reference
from jitlang.codegen.library.marshal_layout import FAILED, FINISH, State
from jitlang.codegen.library.marshal_state import begin
from jitlang.codegen.module import Module
from jitlang.codegen.script.managed import MANAGED
from jitlang.codegen.script.marshal import Exit, call_end, marshaller
from jitlang.codegen.script.marshal_objects import OBJECTS, bind, keys_of
from jitlang.frontend.annotations import named_tuple_class
from jitlang.frontend.kernel import size_of
from jitlang.ir.graph import Graph, Node, Program
from jitlang.native import engine
from jitlang.native.pytypes import callable_type
from jitlang.runtime.units import Unit, compile_unit, single_entry
from jitlang.types import I64, ClassType, Pointer, TupleType, Type

_STATE: Any = State

for _name in ("containers", "dicts", "strings", "objects"):
    importlib.import_module(f"jitlang.codegen.script.{_name}")


@functools.cache
def exchange(type: Type) -> Callable[[Any], Any]:
    """A function that converts its argument to native code and back; TypeError for what is not of the type."""
    return _convert(type, keep=False)


@functools.cache
def snapshot(type: Type) -> Callable[[Any], Any]:
    """As `exchange`, but as a call of a Python function in the middle of a native call: what came from Python is handed out itself."""
    return _convert(type, keep=True)


def _convert(type: Type, *, keep: bool) -> Callable[[Any], Any]:
    module = Module()
    b = FunctionBuilder(module, Graph("go", type), "go", raises=False, managed=MANAGED)
    bad, failed, misfit = b.block("bad"), b.block("failed"), b.block("misfit")
    status = b.stack("i64", 1, 8)
    state = b.stack("i8", size_of(_STATE), 8) if keep else "null"
    if keep:
        b.do(f"call void {reference(module, begin.instance(Pointer(_STATE), I64, I64))}(ptr {state}, i64 0, i64 0)")
    operand = marshaller(type).take(b, type, "%object", state, Exit(bad, status))
    made = marshaller(type).give(b, type, operand, "null")
    b.managed.release(b, type, operand)
    if keep:
        call_end(b, FINISH, state)
    b.do(f"ret ptr {made}")
    b.place(bad)
    if keep:
        call_end(b, FINISH, state)
    b.branch(b.op(f"icmp eq i64 {b.op(f'load i64, ptr {status}')}, {FAILED}"), failed, misfit)
    b.place(misfit)
    error = b.op(f"load ptr, ptr {module.external('PyExc_TypeError')}")
    b.do(f"call void {module.declare('PyErr_SetString', 'void (ptr, ptr)')}(ptr {error}, ptr {module.string(b'misfit')})")
    b.jump(failed)
    b.place(failed)
    b.do("ret ptr null")
    lines = [f"{block.label}:\n" + "\n".join(f"  {line}" for line in (*block.phis, *block.lines)) for block in b.blocks]
    module.functions["go"] = "\n".join(["define ptr @go(ptr %object) {", *lines, "}"])
    exports = ["go", *([OBJECTS] if keys_of(module) else [])]
    addresses = link(engine.compile_ir(module.text(), level=1), module, exports)
    if OBJECTS in addresses:
        bind(addresses[OBJECTS], keys_of(module), Program("", classes=classes_in(type)))
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(addresses["go"])


def classes_in(*types: Type) -> dict[str, Any]:
    """The classes and NamedTuple classes in types, as a program's table holds them."""
    found: dict[str, Any] = {}
    todo = list(types)
    while todo:
        for inner in todo.pop().walk():
            if isinstance(inner, ClassType) and inner.name not in found:
                found[inner.name] = inner
                todo.extend(inner.attributes.values())
            elif isinstance(inner, TupleType) and inner.name:
                found[inner.name] = named_tuple_class(inner.name)
    return found


def identity_program(*types: Type, result: int = 0) -> Program:
    """A program that returns one of its parameters, which are named a, b, c …"""
    graph = Graph("main", types[result])
    params = [graph.block.add_param(t, "abcdefgh"[i]) for i, t in enumerate(types)]
    graph.block.append(Node("prim::return", [params[result]]))
    return Program("main", {"main": graph}, classes_in(*types))


def lenient(program: Program) -> Any:
    """The program as the dispatcher calls it."""
    return single_entry(compile_unit(program, cached=False))


_MISFIT = """
@_Py_EllipsisObject = external global i8
declare void @Py_IncRef(ptr)
define ptr @misfit(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames) {
  call void @Py_IncRef(ptr @_Py_EllipsisObject)
  ret ptr @_Py_EllipsisObject
}
"""


@functools.cache
def _chained() -> tuple[Any, int]:
    kind = callable_type(type("Chained", (), {"__slots__": ()}))
    address = engine.link(engine.compile_ir(_MISFIT, level=0), ["misfit"], {"_Py_EllipsisObject": id(...)})["misfit"]
    return kind, address


def strict(program: Program) -> Any:
    """The program as a link of a chain; a call that does not fit returns Ellipsis."""
    kind, misfit = _chained()
    unit: Unit = compile_unit(program, cached=False)
    unit.chain(misfit)
    made = kind.type()
    kind.set_entry(made, unit.entry)
    return made
