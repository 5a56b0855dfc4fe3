"""The way into a script function from Python: a vectorcall function for one specialisation.

In: a program's main function. Out: ``ptr jl.entry(ptr callable, ptr args, i64 nargsf, ptr kwnames)`` in its module.
It tests the number and the exact types of the arguments; where one does not fit, or keywords are given, it calls the next
entry of the chain (cell ``jl.next``), whose end is Python's dispatcher. Then it unboxes, calls, and boxes the result. An error leaves
through ``jl.host.raise``, which turns the record into Python's exception.
"""

from __future__ import annotations

from jitlang.codegen.function import BasicBlock, FunctionBuilder, Managed
from jitlang.codegen.llvm_types import quote, register_type
from jitlang.codegen.module import Module
from jitlang.codegen.script.marshal import marshaller
from jitlang.codegen.script.program import MANAGED, symbol_of
from jitlang.ir.graph import Graph
from jitlang.native import bridge
from jitlang.types import NONE

ENTRY, NEXT = "jl.entry", "jl.next"
_OFFSET_FLAG = 2**63  # PY_VECTORCALL_ARGUMENTS_OFFSET


def add_entry(module: Module, graph: Graph) -> None:
    """Adds the entry of `graph`, which is a function of `module`."""
    prelude(module)
    module.globals.setdefault(NEXT, f"@{quote(NEXT)} = global ptr null, align 8")
    b = FunctionBuilder(module, graph, ENTRY, raises=False, managed=MANAGED[0] if MANAGED else Managed())
    other = b.block("other")
    count = b.op(f"and i64 %nargsf, {_OFFSET_FLAG - 1}")
    fits = b.op(f"icmp eq i64 {count}, {len(graph.params)}")
    plain = b.op("icmp eq ptr %kwnames, null")
    _require(b, b.op(f"and i1 {fits}, {plain}"), other)
    objects = []
    for index, param in enumerate(graph.params):
        object = b.op(f"load ptr, ptr {b.op(f'getelementptr ptr, ptr %args, i64 {index}')}")
        marshaller(param.type).guard(b, param.type, object, other)
        objects.append(object)
    operands: list[str] = []
    undo: BasicBlock = other  # where to go when an unboxing fails: releases what was unboxed before it
    for param, object in zip(graph.params, objects, strict=True):
        operand = marshaller(param.type).unbox(b, param.type, object, undo)
        operands.append(operand)
        if b.managed.is_managed(param.type):
            undo = _releasing(b, param.type, operand, undo)
    ctx = b.op("call ptr @jl.enter()")
    kind = "i1" if graph.result == NONE else f"{{{register_type(graph.result)}, i1}}"
    arguments = ", ".join([f"ptr {ctx}", *(f"{register_type(p.type)} {o}" for p, o in zip(graph.params, operands, strict=True))])
    got = b.op(f"call {kind} @{quote(symbol_of(graph.name))}({arguments})")
    b.do(f"call void @jl.leave(ptr {ctx})")
    for param, operand in zip(graph.params, operands, strict=True):
        if b.managed.is_managed(param.type):
            b.managed.release(b, param.type, operand)
    failed = got if kind == "i1" else b.op(f"extractvalue {kind} {got}, 1")
    good, bad = b.block("good"), b.block("bad")
    b.branch(failed, bad, good, likely=False)
    b.place(good)
    result = "0" if kind == "i1" else b.op(f"extractvalue {kind} {got}, 0")
    boxed = marshaller(graph.result).box(b, graph.result, result)
    if b.managed.is_managed(graph.result):
        b.managed.release(b, graph.result, result)
    _return(b, boxed)
    b.place(bad)
    b.do(f"call void {b.module.declare('jl.host.raise', 'void (ptr)')}(ptr {ctx})")
    _return(b, "null")
    b.place(other)
    following = b.op(f"load ptr, ptr @{quote(NEXT)}")
    _return(b, b.op(f"call ptr {following}(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames)"))
    lines = [f"define ptr @{quote(ENTRY)}(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames) nounwind {{"]
    for block in b.blocks:
        lines += [f"{block.label}:", *(f"  {line}" for line in (*block.phis, *block.lines))]
    module.functions[ENTRY] = "\n".join([*lines, "}"])


def prelude(module: Module) -> None:
    """Adds the bridge's inline functions (`jl.enter`, `jl.leave`) to a module."""
    if "jl.enter" in module.functions:
        return
    module.functions["jl.enter"] = bridge.inline()
    module.functions["jl.leave"] = ""
    for name in ("jl.host.context", "jl.host.wake", "jl.host.acquire"):
        module.functions[name] = ""  # declared in that text
        module.imports.add(name)
    for name in ("jl.current", "jl.ticker"):
        module.shared[name] = 8
        module.imports.add(name)


def _require(b: FunctionBuilder, condition: str, other: BasicBlock) -> None:
    following = b.block("go")
    b.branch(condition, following, other, likely=True)
    b.place(following)


def _return(b: FunctionBuilder, operand: str) -> None:
    b.do(f"ret ptr {operand}")
    b.current.closed = True


def _releasing(b: FunctionBuilder, type: object, operand: str, then: BasicBlock) -> BasicBlock:
    from jitlang.types import Type

    assert isinstance(type, Type)
    here, block = b.current, b.block("undo")
    b.place(block)
    b.managed.release(b, type, operand)
    b.jump(then)
    b.current = here
    return block
