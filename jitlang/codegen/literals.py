"""Lowerings of constants, tuples and optionals: values that are made and taken apart in registers."""

from __future__ import annotations

from collections.abc import Callable

from jitlang.codegen.function import FunctionBuilder, lowering
from jitlang.codegen.llvm_types import number_text, register_type
from jitlang.ir.graph import Node
from jitlang.types import Type


@lowering("prim::Uninitialized")
def _lower_uninitialized(b: FunctionBuilder, node: Node) -> None:
    # zeroinitializer, not poison: it may be released like any other value (null is never counted)
    b.values[node.output] = zero(node.output.type)


@lowering("prim::Constant")
def _lower_constant(b: FunctionBuilder, node: Node) -> None:
    b.values[node.output] = constant_operand(b, node.attributes["value"], node.output.type)


CONSTANTS: list[Callable[[FunctionBuilder, object, Type], str | None]] = []


def constant_operand(b: FunctionBuilder, value: object, type: Type) -> str:
    """The operand of a constant; script types with a structure of their own are found in `CONSTANTS`."""
    for maker in CONSTANTS:
        made = maker(b, value, type)
        if made is not None:
            return made
    if value is None:
        return zero(type)
    return number_text(value, type)


def zero(type: Type) -> str:
    """The operand whose bits are all zero."""
    text = register_type(type)
    return "zeroinitializer" if text.startswith("{") else number_text(0, type)


@lowering("prim::Tuple")
def _lower_tuple(b: FunctionBuilder, node: Node) -> None:
    kind = register_type(node.output.type)
    made = "poison" if node.inputs else "0"
    for index, value in enumerate(node.inputs):
        operand = b.take(node, index)
        made = b.op(f"insertvalue {kind} {made}, {register_type(value.type)} {operand}, {index}")
    b.values[node.output] = made


@lowering("prim::TupleIndex")
def _lower_tuple_index(b: FunctionBuilder, node: Node) -> None:
    (source,) = node.inputs
    made = b.op(f"extractvalue {b.typed(source)}, {node.attributes['index']}")
    b.values[node.output] = made
    b.managed.retain(b, node.output.type, made)


@lowering("prim::Some")
def _lower_some(b: FunctionBuilder, node: Node) -> None:
    kind = register_type(node.output.type)
    operand = b.take(node, 0)
    if kind == "ptr":
        b.values[node.output] = operand
        return
    half = b.op(f"insertvalue {kind} poison, i1 true, 0")
    b.values[node.output] = b.op(f"insertvalue {kind} {half}, {register_type(node.inputs[0].type)} {operand}, 1")


@lowering("prim::Unwrap", "ll::get")
def _lower_unwrap(b: FunctionBuilder, node: Node) -> None:
    (source,) = node.inputs
    made = b.operand(source) if register_type(source.type) == "ptr" else b.op(f"extractvalue {b.typed(source)}, 1")
    b.values[node.output] = made
    b.managed.retain(b, node.output.type, made)


@lowering("ll::has")
def _lower_has(b: FunctionBuilder, node: Node) -> None:
    (source,) = node.inputs
    if register_type(source.type) == "ptr":
        b.values[node.output] = b.op(f"icmp ne ptr {b.operand(source)}, null")
    else:
        b.values[node.output] = b.op(f"extractvalue {b.typed(source)}, 0")


@lowering("prim::Cast")
def _lower_cast(b: FunctionBuilder, node: Node) -> None:
    b.values[node.output] = b.take(node, 0)
