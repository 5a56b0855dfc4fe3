"""Native meaning of ``aten::`` nodes: a call of the row's kernel, the very one that eager code runs.

Constants that are None, text or a device are static to the kernel; everything else is passed as its machine form. A row
without a kernel is called in Python.
"""

from __future__ import annotations

from jitlang.codegen.function import FunctionBuilder, lowering
from jitlang.codegen.kernels import abi, reference
from jitlang.codegen.llvm_types import register_type
from jitlang.codegen.script.rows import FALLBACK, machine_type_of
from jitlang.errors import CodegenError
from jitlang.frontend.emitter import Static
from jitlang.frontend.kernel_emitter import parameter_types
from jitlang.ir.graph import Node, Value
from jitlang.ir.rows import row_of
from jitlang.types import DEVICE, STR, VOID, ListType, OptionalType, Pointer, StructType, TensorType, Type


def _static(value: Value) -> Static | None:
    if value.node is not None and value.node.kind == "prim::Some" and value.node.inputs[0].type in (STR, DEVICE):
        value = value.node.inputs[0]
    if value.is_constant and (value.constant is None or value.type in (STR, DEVICE)):
        return Static(value.constant if value.constant is None else str(value.constant))
    return None


def _present(value: Value) -> Value:
    """What an optional holds, where that is known: kernels are specialised for its presence."""
    return value.node.inputs[0] if value.node is not None and value.node.kind == "prim::Some" else value


def kernel_type(type: Type) -> Type:
    """The type of a kernel's parameter for a script value."""
    if isinstance(type, TensorType):
        return Pointer(StructType.named["TensorImpl"])
    if isinstance(type, ListType):
        return Pointer(StructType.named["List"])
    if isinstance(type, OptionalType):
        return OptionalType(kernel_type(type.element))
    return machine_type_of(type)


@lowering("aten::*")
def _lower_tensor_row(b: FunctionBuilder, node: Node) -> None:
    row = row_of(node)
    if row.native is None:
        if not FALLBACK:
            raise CodegenError(f"aten::{row.qualified} has no native meaning")
        FALLBACK[0](b, node)
        return
    given: list[Type | Static] = []
    operands: list[str] = []
    for given_value, annotation in zip(node.inputs, parameter_types(row.native), strict=True):
        value = _present(given_value)
        static = _static(value)
        if static is not None:
            given.append(static)
            continue
        kind = annotation or kernel_type(value.type)
        given.append(kind)
        operands.append(f"{register_type(kind)} {b.operand(value)}")
    instance = row.native.instance(*given)
    result, raises = abi(instance)
    made = b.call(node, reference(b.module, instance), result, operands, raises=raises)
    if len(node.outputs) == 1:
        b.values[node.output] = made if result != VOID else "0"
    for index, output in enumerate(node.outputs if len(node.outputs) > 1 else ()):
        b.values[output] = b.op(f"extractvalue {register_type(result)} {made}, {index}")
