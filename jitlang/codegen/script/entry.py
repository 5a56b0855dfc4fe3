"""The way into a script function from Python: a vectorcall function for one specialisation.

In: a program's main function. Out: ``ptr jl.entry(ptr callable, ptr args, i64 nargsf, ptr kwnames)`` in its module.
It finds the objects for the parameters, by position, keyword or default, tests their types, unboxes them, calls, writes changes of
containers and objects back, and boxes the result. Where the call does not fit, the next entry of the chain (cell ``jl.next``) is called; the
chain's end is Python's dispatcher. An error leaves through ``jl.host.raise``, which turns the record into Python's exception.

How parameters may be passed stands in the graph's attribute ``signature``: for each, in order, (name, how) with how one of ``any``,
``positional``, ``keyword``, ``rest``; a parameter that is known at compile time, and so none of the graph's, has its value behind these. Where it
is missing, each parameter is ``any``. The attribute ``inferred`` names lists and dicts whose types come from the arguments. A callable of the type in
the cell ``jl.py.single`` passes exactly the graph's parameters.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from jitlang.codegen.function import BasicBlock, FunctionBuilder
from jitlang.codegen.kernels import reference
from jitlang.codegen.library import marshal_calls
from jitlang.codegen.library.marshal_layout import BACK, BACK_FAILED, FAILED, FINISH, State
from jitlang.codegen.library.marshal_state import begin
from jitlang.codegen.llvm_types import quote, register_type
from jitlang.codegen.module import Module
from jitlang.codegen.script.managed import MANAGED
from jitlang.codegen.script.marshal import Exit, call_end, is_plain, marshaller, require, tensor_pointer, type_of
from jitlang.codegen.script.marshal_objects import cell
from jitlang.codegen.script.marshal_plans import has_identity
from jitlang.codegen.script.program import symbol_of
from jitlang.frontend.kernel import size_of
from jitlang.ir.graph import Graph, Value
from jitlang.native import bridge
from jitlang.types import I64, NONE, U8, DictType, ListType, Pointer, TensorType, Type

ENTRY, NEXT, SINGLE = "jl.entry", "jl.next", "jl.py.single"
_OFFSET_FLAG = 2**63  # PY_VECTORCALL_ARGUMENTS_OFFSET
_HOW = {"any": marshal_calls.ANY, "positional": marshal_calls.POSITIONAL, "keyword": marshal_calls.KEYWORD}


def add_entry(module: Module, graph: Graph) -> None:
    """Adds the entry of `graph`, which is a function of `module`."""
    prelude(module)
    module.globals.setdefault(NEXT, f"@{quote(NEXT)} = global ptr null, align 8")
    b = FunctionBuilder(module, graph, ENTRY, raises=False, managed=MANAGED)
    _Entry(b, graph).emit()
    lines = [f"define ptr @{quote(ENTRY)}(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames) nounwind {{"]
    for block in b.blocks:
        lines += [f"{block.label}:", *(f"  {line}" for line in (*block.phis, *block.lines))]
    module.functions[ENTRY] = "\n".join([*lines, "}"])


@dataclasses.dataclass
class _Argument:
    """What Python sees of one parameter; `index` is its number among the graph's, -1 where it is known at compile time."""

    name: str
    how: str
    index: int
    static: Any = None


def _signature(graph: Graph) -> list[_Argument]:
    given = graph.attributes.get("signature")
    if given is None:
        return [_Argument(p.name, "any", i) for i, p in enumerate(graph.params)]
    found, index = [], 0
    for name, how, *static in given:
        found.append(_Argument(name, how, -1 if static else index, *static))
        index += not static
    return found


class _Entry:
    """Emits one entry."""

    def __init__(self, b: FunctionBuilder, graph: Graph) -> None:
        self.b = b
        self.graph = graph
        self.other = b.block("other")
        self.status = ""
        self.state = "null"
        self.undo = self.other
        # whether Python objects may have to be told of changes, and whether any conversion keeps a record
        self.shares = any(has_identity(p.type) for p in graph.params)
        self.keeps = self.shares or has_identity(graph.result)

    def emit(self) -> None:
        """The whole function."""
        b, graph = self.b, self.graph
        given = self.arguments()
        objects = []
        for index, param in enumerate(graph.params):
            object = b.op(f"load ptr, ptr {b.op(f'getelementptr ptr, ptr {given}, i64 {index}')}")
            self.guard(param, object)
            objects.append(object)
        operands = self.unboxed(objects)
        ctx = b.op("call ptr @jl.enter()")
        kind = "i1" if graph.result == NONE else f"{{{register_type(graph.result)}, i1}}"
        arguments = ", ".join([f"ptr {ctx}", *(f"{register_type(p.type)} {o}" for p, o in zip(graph.params, operands, strict=True))])
        got = b.op(f"call {kind} @{quote(symbol_of(graph.name))}({arguments})")
        b.do(f"call void @jl.leave(ptr {ctx})")
        failed = got if kind == "i1" else b.op(f"extractvalue {kind} {got}, 1")
        good, bad = b.block("good"), b.block("bad")
        b.branch(failed, bad, good, likely=False)
        b.place(good)
        self.succeed("0" if kind == "i1" else b.op(f"extractvalue {kind} {got}, 0"), operands)
        b.place(bad)
        b.do(f"call void {b.module.declare('jl.host.raise', 'void (ptr)')}(ptr {ctx})")
        if self.shares:
            call_end(b, BACK_FAILED, self.state)
        self.release(operands, self.shares)
        _return(b, "null")
        b.place(self.other)
        following = b.op(f"load ptr, ptr @{quote(NEXT)}")
        _return(b, b.op(f"call ptr {following}(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames)"))

    # ---- arguments --------------------------------------------------------------------------------------------------

    def arguments(self) -> str:
        """Where the objects for the graph's parameters stand."""
        b, count = self.b, len(self.graph.params)
        given = b.op(f"and i64 %nargsf, {_OFFSET_FLAG - 1}")
        plain = b.op(f"and i1 {b.op(f'icmp eq i64 {given}, {count}')}, {b.op('icmp eq ptr %kwnames, null')}")
        signature = _signature(self.graph)
        regular = len(signature) == count and all(a.how in ("any", "positional") for a in signature)
        if not regular:
            plain = b.op(f"and i1 {plain}, {self.is_single()}")
        go, special = b.block("go"), b.block("special")
        b.branch(plain, go, special, likely=True)
        b.place(special)
        if not signature or any(a.how == "rest" for a in signature):
            b.jump(self.other)
            b.place(go)
            return "%args"
        room = b.stack("ptr", len(signature), 8)
        kernel = marshal_calls.arrange.instance(Pointer(Pointer(U8)), I64, Pointer(U8), Pointer(marshal_calls.Parameter), I64, Pointer(Pointer(U8)))
        callee = reference(b.module, kernel)
        table = self.parameter_table(signature)
        done = b.op(f"call i1 {callee}(ptr %args, i64 {given}, ptr %kwnames, ptr {table}, i64 {len(signature)}, ptr {room})")
        here = b.current.label
        b.branch(done, go, self.other)
        b.place(go)
        return b.phi(go, Pointer(U8), [(b.entry.label, "%args"), (here, room)])

    def guard(self, param: Value, object: str) -> None:
        """Goes on if an object is, at first sight, of a parameter's type; or if the dispatcher says so: then an instance of a subclass is taken too."""
        b = self.b
        unfit = self.other if is_plain(param.type) else b.block("unfit")
        marshaller(param.type).guard(b, param.type, object, unfit)
        if unfit is not self.other:
            if param.name in self.graph.attributes.get("inferred", ()):
                self.refuse_empty(param.type, object, unfit)
            following = b.block("fit")
            b.jump(following)
            b.place(unfit)
            b.branch(self.is_single(), following, self.other)
            b.place(following)

    def refuse_empty(self, type: Type, object: str, unfit: BasicBlock) -> None:
        """Leaves an empty list or dict to the dispatcher: it is of every such type, and the answer must not depend on what else was compiled."""
        size = {ListType: "PyList_Size", DictType: "PyDict_Size"}.get(type.__class__)
        if size is not None:
            count = self.b.op(f"call i64 {self.b.module.declare(size, 'i64 (ptr)')}(ptr {object})")
            require(self.b, self.b.op(f"icmp sgt i64 {count}, 0"), unfit)

    def parameter_table(self, signature: list[_Argument]) -> str:
        """The constant that describes the parameters to `marshal_calls.arrange`."""
        module, defaults = self.b.module, self.graph.defaults
        rows = []
        for a in signature:
            cells = [
                cell(module, ["name", a.name]) if a.name else "null",
                cell(module, ["default", a.name]) if a.name and a.name in defaults else "null",
                cell(module, ["static", *_static_key(a.static)]) if a.index < 0 else "null",
            ]
            how = _HOW[a.how] if a.name else marshal_calls.POSITIONAL
            rows.append(f"{{ptr, ptr, ptr, i64, i64}} {{{', '.join(f'ptr {c}' for c in cells)}, i64 {how}, i64 {a.index}}}")
        return module.constant("jl.parameters", f"internal constant [{len(rows)} x {{ptr, ptr, ptr, i64, i64}}] [{', '.join(rows)}], align 8")

    def is_single(self) -> str:
        """Whether the callable passes exactly the graph's parameters, found fit for this specialisation by the dispatcher."""
        b = self.b
        single = b.op(f"load ptr, ptr {b.module.external(SINGLE, 8)}")
        return b.op(f"icmp eq ptr {type_of(b, '%callable')}, {single}")

    def unboxed(self, objects: list[str]) -> list[str]:
        """The native values; what one has made is given up where a later one cannot be made."""
        b = self.b
        if not all(is_plain(p.type) for p in self.graph.params):
            self.begin()
        self.status = b.stack("i64", 1, 8)
        operands: list[str] = []
        undone = self.undo = b.block("undone")
        # The guards have proved the types of plain values, so no plan is needed ("null" would say that nothing is proved).
        state = "guarded" if self.state == "null" else self.state
        for param, object in zip(self.graph.params, objects, strict=True):
            if isinstance(param.type, TensorType):
                operands.append(tensor_pointer(b, object))
                continue
            operand = marshaller(param.type).take(b, param.type, object, state, Exit(self.undo, self.status))
            operands.append(operand)
            if self.is_owned(param):
                self.undo = self.releasing(param, operand, self.undo)
        here = b.current
        b.place(undone)
        if self.shares:
            call_end(b, FINISH, self.state)
        error = b.block("error")
        b.branch(b.op(f"icmp eq i64 {b.op(f'load i64, ptr {self.status}')}, {FAILED}"), error, self.other)
        b.place(error)
        _return(b, "null")
        b.current = here
        return operands

    def is_owned(self, param: Value) -> bool:
        """Whether the entry holds a reference to an argument's native value. A tensor is kept alive by its Python object, which never exchanges it."""
        return self.b.managed.is_managed(param.type) and not isinstance(param.type, TensorType)

    def begin(self) -> None:
        """Sets up the state of the call; values are taken leniently where the dispatcher has found that this specialisation is meant."""
        b = self.b
        self.state = b.stack("i8", size_of(State), 8)
        callee = reference(b.module, begin.instance(Pointer(State), I64, I64))
        b.do(f"call void {callee}(ptr {self.state}, i64 {b.op(f'zext i1 {self.is_single()} to i64')}, i64 0)")

    def releasing(self, param: Value, operand: str, then: BasicBlock) -> BasicBlock:
        """A block that gives up one operand and goes on undoing."""
        b = self.b
        here, block = b.current, b.block("undo")
        b.place(block)
        b.managed.release(b, param.type, operand)
        b.jump(then)
        b.current = here
        return block

    # ---- results ----------------------------------------------------------------------------------------------------

    def succeed(self, result: str, operands: list[str]) -> None:
        """The way out without an error: `result` is owned."""
        b, type = self.b, self.graph.result
        if self.keeps and self.state == "null":
            self.begin()
        lost, joined = b.block("lost"), b.block("ends")
        if self.shares:
            following = b.block("back")
            written = call_end(b, BACK, self.state, at=self.state)
            b.branch(b.op(f"icmp eq ptr {written}, null"), lost, following, likely=False)
            b.place(lost)
            b.jump(joined)
            b.place(following)
        boxed = marshaller(type).give(b, type, result, self.state)
        if self.shares:
            here = b.current.label
            b.jump(joined)
            b.place(joined)
            boxed = b.phi(joined, Pointer(U8), [(here, boxed), (lost.label, "null")])
        if b.managed.is_managed(type):
            b.managed.release(b, type, result)
        self.release(operands, self.keeps)
        _return(b, boxed)

    def release(self, operands: list[str], finish: bool) -> None:
        """Gives up the arguments, and the state if there is one."""
        b = self.b
        for param, operand in zip(self.graph.params, operands, strict=True):
            if self.is_owned(param):
                b.managed.release(b, param.type, operand)
        if finish:
            call_end(b, FINISH, self.state)


def _static_key(value: Any) -> list[str]:
    return ["none"] if value is None else ["text", value]


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


def _return(b: FunctionBuilder, operand: str) -> None:
    b.do(f"ret ptr {operand}")
    b.current.closed = True
