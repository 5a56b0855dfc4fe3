"""Ownership of script values, calls of library kernels, and constants of script types.

In: script types and operands. Out: LLVM text, by way of `jitlang.codegen.library`. `ScriptManaged` is what
`jitlang.codegen.script.program` hands to the function builders.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from jitlang.codegen.function import FunctionBuilder, Managed
from jitlang.codegen.kernels import abi, reference
from jitlang.codegen.library import values
from jitlang.codegen.library.strings import IMMORTAL
from jitlang.codegen.literals import CONSTANTS, constant_operand
from jitlang.codegen.llvm_types import bytes_text, register_type
from jitlang.frontend.emitter import Static
from jitlang.frontend.kernel import Kernel
from jitlang.frontend.kernel_emitter import parameter_types
from jitlang.ir.graph import Node
from jitlang.types import DEVICE, NONE, STR, VOID, DType, Machine, OptionalType, Pointer, TupleType, Type

TENSOR = values.TENSOR  # the tensor runtime's kernels "retain" and "release"
DEVICES = ("cpu", "cuda")  # a device's native number is its place here
Operand = tuple[Type, str]


def machine(type: Type) -> Type:
    """The machine type by which a kernel knows values of a script type; a machine type stays."""
    return type if isinstance(type, Machine | Pointer) else values.slot(type)


def invoke(b: FunctionBuilder, node: Node | None, kernel: Kernel, operands: Sequence[Operand], *statics: Any) -> str:
    """A call of a library kernel: run-time operands first, then static arguments; '' where it has no result.

    `node` is what fails if the kernel raises; None for a kernel that does not.
    """
    annotated = parameter_types(kernel)
    types = [known or machine(t) for known, (t, _) in zip(annotated, operands, strict=False)]
    instance = kernel.instance(*types, *(Static(s) for s in statics))
    result, raises = abi(instance)
    arguments = [f"{register_type(t)} {operand}" for t, (_, operand) in zip(types, operands, strict=True)]
    made = b.call(node, reference(b.module, instance), result, arguments, raises=raises)
    return "" if result in (VOID, NONE) else made


def call_inputs(b: FunctionBuilder, node: Node, kernel: Kernel, *statics: Any) -> str:
    """`invoke` on a node's inputs."""
    return invoke(b, node, kernel, [(v.type, b.operand(v)) for v in node.inputs], *statics)


@functools.lru_cache(maxsize=4096)
def _is_managed(type: Type) -> bool:
    return not isinstance(type, Machine | Pointer) and type != VOID and values.is_managed(type)


class ScriptManaged(Managed):
    """References of strings, containers, objects and tensors, and of what holds them."""

    def is_managed(self, type: Type) -> bool:
        return _is_managed(type)

    def retain(self, builder: FunctionBuilder, type: Type, operand: str) -> None:
        if _is_managed(type):
            invoke(builder, None, values.retain, [(type, operand)], type)

    def release(self, builder: FunctionBuilder, type: Type, operand: str) -> None:
        if _is_managed(type):
            invoke(builder, None, values.release, [(type, operand)], type)


MANAGED: Managed = ScriptManaged()


# ---- constants ----------------------------------------------------------------------------------------------------


def string_constant(b: FunctionBuilder, text: str) -> str:
    """The address of an immortal string in the module."""
    kind = 1 if all(ord(c) < 256 for c in text) else 2 if all(ord(c) < 65536 for c in text) else 4
    data = b"".join(ord(c).to_bytes(kind, "little") for c in text)
    name = f"jl.text.{kind}.{data.hex()}" if len(data) <= 64 else f"jl.text.{len(b.module.globals)}"
    known: dict[str, str] = b.module.__dict__.setdefault("_texts", {})
    if text not in known:
        length = max(len(data), 1)
        padded = data.ljust(length, b"\0")
        body = f'internal global {{i64, i64, i64, i64, [{length} x i8]}} {{i64 {IMMORTAL}, i64 -1, i64 {len(text)}, i64 {kind}, [{length} x i8] c"{bytes_text(padded)}"}}, align 16'
        known[text] = b.module.constant(name, body)
    return known[text]


def _constant(b: FunctionBuilder, value: object, type: Type) -> str | None:
    if isinstance(value, str) and type == STR:
        return string_constant(b, value)
    if isinstance(value, DType):
        return str(value.code)
    if type == DEVICE:
        kind = str(value).partition(":")[0]
        return str(DEVICES.index(kind) if kind in DEVICES else -1)
    if isinstance(type, OptionalType) and value is not None:
        inner = constant_operand(b, value, type.element)
        text = register_type(type)
        return inner if text == "ptr" else f"{{i1 true, {register_type(type.element)} {inner}}}"
    if isinstance(type, TupleType) and isinstance(value, tuple) and value:
        parts = [f"{register_type(e)} {constant_operand(b, v, e)}" for v, e in zip(value, type.elements, strict=True)]
        return "{" + ", ".join(parts) + "}"
    return None


CONSTANTS.append(_constant)
