"""Rows without native code: boxed arguments, a call of the row's Python function, an unboxed result.

In: a node of a ``py::`` row. Out: LLVM text that takes the GIL and calls ``row.python``, which native code finds in the
cell ``jl.row.<namespace>.<name>``. An exception stays Python's; the record says that it is set.
"""

from __future__ import annotations

from collections.abc import Callable

from jitlang import registry
from jitlang.codegen.function import FunctionBuilder
from jitlang.codegen.script.marshal import from_python, to_python
from jitlang.codegen.script.rows import FALLBACK
from jitlang.errors import CodegenError
from jitlang.ir.graph import Node
from jitlang.ir.rows import row_of
from jitlang.native import host
from jitlang.types import Type

# ---- the Python functions -----------------------------------------------------------------------------------------


def _cell_name(row: registry.Operator) -> str:
    return f"jl.row.{row.namespace}.{row.qualified}"


def _provide(row: registry.Operator) -> None:
    if row.python is not None:
        host.object_cell(_cell_name(row), row.python)


registry.on_register(_provide)
for _row in list(registry.all_operators()):
    _provide(_row)


# ---- the CPython API ----------------------------------------------------------------------------------------------


def api(b: FunctionBuilder, name: str, signature: str, *arguments: str) -> str:
    """A call of a function of CPython's; returns the result's operand ('' where there is none)."""
    result, _, types = signature.partition(" (")
    given = ", ".join(f"{t} {a}" for t, a in zip(types[:-1].split(", "), arguments, strict=False))
    text = f"call {result} {b.module.declare(name, signature)}({given})"
    if result == "void":
        b.do(text)
        return ""
    return b.op(text)


def drop(b: FunctionBuilder, object: str) -> None:
    """Gives up a reference to a Python object."""
    api(b, "Py_DecRef", "void (ptr)", object)


def acquire(b: FunctionBuilder) -> None:
    """Takes the GIL, unless it is held."""
    api(b, "jl.host.acquire", "void (ptr)", "%ctx")


def python_failed(b: FunctionBuilder, node: Node) -> None:
    """Ends the block: Python's error indicator is set."""
    api(b, "jl.host.failed", "void (ptr)", "%ctx")
    b.do(f"br label %{b.failure(node)}")
    b.current.closed = True


def require(b: FunctionBuilder, node: Node, object: str, undo: Callable[[], None] = lambda: None) -> str:
    """Goes on if `object` is not null, else fails with Python's error after `undo`; returns the object."""
    bad, following = b.block("null"), b.block("made")
    b.branch(b.op(f"icmp eq ptr {object}, null"), bad, following, likely=False)
    b.place(bad)
    undo()
    python_failed(b, node)
    b.place(following)
    return object


# ---- calls --------------------------------------------------------------------------------------------------------


def call_python(b: FunctionBuilder, node: Node) -> None:
    """Lowers a node by a call of its row's Python function."""
    row = row_of(node)
    if row.python is None or row.schema.writes:
        raise CodegenError(f"py::{row.qualified} has no native meaning")
    if b.slow is not None:
        raise CodegenError(f"py::{row.qualified} in a loop that is run twice")
    acquire(b)
    count = len(node.inputs)
    array = b.stack("ptr", max(count, 1), 8)
    objects: list[str] = []

    def undo() -> None:
        for object in objects:
            drop(b, object)

    for index, value in enumerate(node.inputs):
        object = require(b, node, to_python(b, value.type, b.operand(value)), undo)
        b.do(f"store ptr {object}, ptr {b.op(f'getelementptr ptr, ptr {array}, i64 {index}')}")
        objects.append(object)
    # The cell is defined in each process before code that names it is linked.
    callee = b.op(f"load ptr, ptr {b.module.external(_cell_name(row))}")
    made = api(b, "PyObject_Vectorcall", "ptr (ptr, ptr, i64, ptr)", callee, array, str(count), "null")
    undo()
    require(b, node, made)
    for out in node.outputs:
        b.values[out] = from_python(b, node, out.type, made, lambda: drop(b, made))
    drop(b, made)


def raise_boxed(b: FunctionBuilder, node: Node, cls: str, value: tuple[Type, str]) -> None:
    """Ends the block: raises the exception class that the symbol `cls` of CPython's holds, with `value` as its argument."""
    acquire(b)
    object = require(b, node, to_python(b, *value))
    arguments = api(b, "PyTuple_New", "ptr (i64)", "1")
    require(b, node, arguments, lambda: drop(b, object))
    api(b, "PyTuple_SetItem", "i32 (ptr, i64, ptr)", arguments, "0", object)
    kind = b.op(f"load ptr, ptr {b.module.external(cls)}")
    api(b, "PyErr_SetObject", "void (ptr, ptr)", kind, arguments)
    drop(b, arguments)
    python_failed(b, node)


FALLBACK.append(call_python)
