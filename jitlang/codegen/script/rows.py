"""The table of native meanings of ``py::`` rows, and how a node finds its entry.

An entry is a function (builder, node) → operand, or a `Kernel` with static arguments. A row without an entry is
called in Python (`jitlang.codegen.script.host_calls`), unless it writes to an argument: then it must have one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitlang.codegen.function import FunctionBuilder, lowering
from jitlang.codegen.kernels import abi, reference
from jitlang.codegen.llvm_types import register_type
from jitlang.codegen.structured import DEFERRABLE, SPECULATABLE
from jitlang.errors import CodegenError
from jitlang.frontend.emitter import Static
from jitlang.frontend.kernel import Instance, Kernel
from jitlang.ir.graph import Node
from jitlang.ir.rows import row_of
from jitlang.registry import PURE
from jitlang.types import B1, BOOL, DEVICE, DTYPE, F64, FLOAT, I64, INT, NONE, U8, VOID, OptionalType, Pointer, Type

Entry = Callable[[FunctionBuilder, Node], str]
NATIVE: dict[str, Entry] = {}
FALLBACK: list[Callable[[FunctionBuilder, Node], None]] = []
_MACHINE: dict[Type, Type] = {INT: I64, FLOAT: F64, BOOL: B1, DTYPE: I64, DEVICE: I64, NONE: NONE}


def native(*names: str) -> Callable[[Entry], Entry]:
    """Enters a function as the native meaning of these rows (``name.overload``)."""

    def enter(function: Entry) -> Entry:
        for name in names:
            NATIVE[name] = function
        return function

    return enter


def kernel_row(name: str, kernel: Kernel, *statics: Any, order: Sequence[int] | None = None) -> None:
    """Enters a kernel, called with the node's inputs and then `statics`, as the native meaning of a row."""

    def entry(b: FunctionBuilder, node: Node) -> str:
        operands = [(v.type, b.operand(v)) for v in node.inputs]
        return call_kernel(b, node, kernel, [operands[i] for i in order] if order is not None else operands, *statics)

    NATIVE[name] = entry


def machine_type_of(type: Type) -> Type:
    """The machine type that a kernel takes for a script type."""
    if type in _MACHINE:
        return _MACHINE[type]
    if isinstance(type, OptionalType) and register_type(type) != "ptr":
        return OptionalType(machine_type_of(type.element))
    if register_type(type) == "ptr":
        return Pointer(U8)
    raise CodegenError(f"no kernel takes {type}")


def call_kernel(b: FunctionBuilder, node: Node, kernel: Kernel, operands: Sequence[tuple[Type, str]], *statics: Any) -> str:
    """A call of a kernel on (script or machine type, operand) pairs and static arguments; '' where it has no result."""
    types = [t if _is_machine(t) else machine_type_of(t) for t, _ in operands]
    annotated = [*types, *(Static(s) for s in statics)]
    instance: Instance = kernel.instance(*annotated)
    result, raises = abi(instance)
    arguments = [f"{register_type(t)} {operand}" for t, (_, operand) in zip(types, operands, strict=True)]
    made = b.call(node, reference(b.module, instance), result, arguments, raises=raises)
    return "" if result in (VOID, NONE) else made


def _is_machine(type: Type) -> bool:
    from jitlang.types import Machine

    return isinstance(type, Machine | Pointer)


@lowering("py::*")
def _lower_row(b: FunctionBuilder, node: Node) -> None:
    row = row_of(node)
    entry = NATIVE.get(row.qualified)
    if entry is not None:
        made = entry(b, node)
        if node.outputs:
            b.values[node.output] = made
        return
    if not FALLBACK:
        raise CodegenError(f"py::{row.qualified} has no native meaning")
    FALLBACK[0](b, node)


def _deferrable(node: Node) -> bool:
    if not node.kind.startswith("py::"):
        return False
    row = row_of(node)
    return row.has(PURE) and row.qualified in NATIVE


_CHEAP = {f"{name}.{kind}" for name in ("add", "sub", "mul", "neg", "eq", "ne", "lt", "le", "gt", "ge", "min", "max") for kind in ("int", "float", "bool")}
_CHEAP |= {"not", "and.bool", "or.bool", "xor.bool", "and.int", "or.int", "xor.int", "invert.int", "float.int", "int.bool", "bool.int", "abs.float"}


def _speculatable(node: Node) -> bool:
    if not node.kind.startswith("py::"):
        return False
    if node.kind in ("py::floordiv", "py::mod"):
        divisor = node.inputs[1]
        return divisor.is_constant and isinstance(divisor.constant, int) and divisor.constant > 0
    return row_of(node).qualified in _CHEAP


DEFERRABLE.append(_deferrable)
SPECULATABLE.append(_speculatable)
