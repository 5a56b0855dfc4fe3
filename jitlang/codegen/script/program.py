"""A program to one LLVM module: each function in jitlang's own convention, calls between them, raising.

In: a `Program`. Out: a `Module` in which ``symbol_of(name)`` is ``{T, i1} (ptr ctx, arguments…)``.
"""

from __future__ import annotations

from jitlang.codegen import kernels  # noqa: F401  enters the lowerings of kernels
from jitlang.codegen.function import FunctionBuilder, lowering
from jitlang.codegen.llvm_types import quote
from jitlang.codegen.module import CPU, Module, Target
from jitlang.codegen.records import field, record_error
from jitlang.codegen.script import containers, dicts, host_calls, objects, scalars, strings, tables, tensors  # noqa: F401  enter the native meanings of rows
from jitlang.codegen.script.managed import MANAGED
from jitlang.ir.graph import Graph, Node, Program
from jitlang.native.layouts import MAX_ARGUMENTS
from jitlang.types import NONE

RECURSION = "maximum recursion depth exceeded"


def symbol_of(name: str) -> str:
    """The symbol of a program's function."""
    return f"script.{name}"


def lower_program(program: Program, target: Target = CPU, module: Module | None = None) -> Module:
    """Lowers every function of `program`; CodegenError where a node has no native meaning."""
    module = module or Module(target)
    recursive = recursive_functions(program)
    for name, graph in program.functions.items():
        builder = ScriptBuilder(module, graph, symbol_of(name), raises=True, script=True, managed=MANAGED)
        builder.program = program
        if name in recursive:
            _guard_stack(builder, graph)
        builder.lower()
    return module


class ScriptBuilder(FunctionBuilder):
    """A function builder that knows the program it works on."""

    program: Program


def recursive_functions(program: Program) -> set[str]:
    """The names of the functions that may call themselves, directly or by way of others."""
    calls = {name: {n.attributes["callee"] for n in graph.walk() if n.kind == "prim::Call"} for name, graph in program.functions.items()}
    found = set()
    for name in calls:
        seen: set[str] = set()
        work = list(calls[name])
        while work:
            callee = work.pop()
            if callee not in seen:
                seen.add(callee)
                work.extend(calls.get(callee, ()))
        if name in seen:
            found.add(name)
    return found


def _guard_stack(b: ScriptBuilder, graph: Graph) -> None:
    """On entry: RecursionError if the thread's stack is nearly used up."""
    frame = b.op(f"call ptr {b.module.declare('llvm.frameaddress.p0', 'ptr (i32)')}(i32 0)")
    limit = b.op(f"load i64, ptr {field(b, 'stack_limit')}")
    room = b.op(f"icmp ugt i64 {b.op(f'ptrtoint ptr {frame} to i64')}, {limit}")
    deep, following = b.block("deep"), b.block("body")
    b.branch(room, following, deep, likely=True)
    b.place(deep)
    record_error(b, "RecursionError", RECURSION)
    b.do(f"br label %{b.failure(Node('prim::Call', where=graph.range))}")
    b.current.closed = True
    b.place(following)


@lowering("prim::Call")
def _lower_call(b: FunctionBuilder, node: Node) -> None:
    assert isinstance(b, ScriptBuilder)
    callee = b.program.functions[node.attributes["callee"]]
    made = b.call(node, f"@{quote(symbol_of(callee.name))}", callee.result, [b.typed(v) for v in node.inputs], raises=True)
    for out in node.outputs:
        b.values[out] = "0" if callee.result == NONE else made


@lowering("prim::raise")
def _lower_raise(b: FunctionBuilder, node: Node) -> None:
    message = node.inputs[0] if len(node.inputs) == 1 else None
    if message is not None and message.is_constant and isinstance(message.constant, str) and message.constant:
        record_error(b, node.attributes["cls"], message.constant.replace("{", "{{").replace("}", "}}"))
    else:
        arguments = [(v.type, b.operand(v)) for v in node.inputs]
        assert len(arguments) <= MAX_ARGUMENTS
        for argument in arguments:
            b.managed.retain(b, *argument)
        record_error(b, node.attributes["cls"], None, arguments)
    b.do(f"br label %{b.failure(node)}")
    b.current.closed = True
