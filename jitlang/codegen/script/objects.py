"""Class instances in native code: making them, attributes, what frees them; identity.

In: ``prim::New``, ``prim::GetAttr``, ``prim::SetAttr``, ``py::is``, ``py::is_none``. Out: loads and stores at the attribute's offset. Each module
has, for each class that it makes instances of, a `ClassInfo` and the function that frees an instance.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jitlang.codegen.function import FunctionBuilder, lowering
from jitlang.codegen.library import memory, numbers, objects, values
from jitlang.codegen.library.layout import CHANGED, OBJECT_BYTES, Object
from jitlang.codegen.llvm_types import quote, register_type, size_and_align
from jitlang.codegen.script.containers import load_value, store_value, tag
from jitlang.codegen.script.managed import invoke
from jitlang.codegen.script.rows import native
from jitlang.frontend.kernel import offset_of
from jitlang.ir.graph import Graph, Node
from jitlang.types import FLOAT, INT, NONE, U8, ClassType, OptionalType, Pointer, TupleType, Type

_OBJECT: Any = Object
_VERSION = offset_of(_OBJECT, "version")


def layout(type: ClassType) -> tuple[dict[str, int], int]:
    """The offsets of the attributes, and the size of an instance."""
    return _layout(tuple(type.attributes.items()))


@functools.lru_cache(maxsize=1024)
def _layout(attributes: tuple[tuple[str, Type], ...]) -> tuple[dict[str, int], int]:
    offsets, at = {}, OBJECT_BYTES
    for name, type in attributes:
        size, align = size_and_align(type)
        at = (at + align - 1) // align * align
        offsets[name] = at
        at += size
    return offsets, (at + 7) // 8 * 8


def module_function(b: FunctionBuilder, symbol: str, type: Type, result: str, parameters: list[str], body: Callable[[FunctionBuilder, Type], None]) -> str:
    """The name of an internal function of the module, made on first use; `body` returns by ``ret``."""
    module = b.module
    if symbol not in module.functions:
        module.functions[symbol] = ""
        inner = FunctionBuilder(module, Graph(symbol, type), symbol, raises=True, managed=b.managed)
        body(inner, type)
        lines = [f"define internal {result} @{quote(symbol)}({', '.join(parameters)}) nounwind {{"]
        for block in inner.blocks:
            lines += [f"{block.label}:", *(f"  {line}" for line in (*block.phis, *block.lines))]
            if not block.closed:
                lines.append("  unreachable")
        module.functions[symbol] = "\n".join([*lines, "}"])
    return f"@{quote(symbol)}"


def attribute_address(b: FunctionBuilder, type: ClassType, object: str, name: str) -> str:
    """The address of an attribute."""
    return b.op(f"getelementptr inbounds i8, ptr {object}, i64 {layout(type)[0][name]}")


def class_info(b: FunctionBuilder, type: ClassType) -> str:
    """The address of the module's `ClassInfo` of a class."""
    name = f"jl.class<{type.name}>"
    if name not in b.module.globals:
        destroy = module_function(b, f"jl.destroy<{type.name}>", type, "void", ["ptr %object", "ptr %pending"], _destroy)
        text = b.module.string(type.name.encode())
        b.module.constant(name, f"internal constant {{ptr, i64, ptr}} {{ptr {destroy}, i64 {layout(type)[1]}, ptr {text}}}, align 8")
    return b.module.constant(name, "")


def _destroy(b: FunctionBuilder, type: Type) -> None:
    assert isinstance(type, ClassType)
    for name, held in type.attributes.items():
        if not b.managed.is_managed(held):
            continue
        value = load_value(b, attribute_address(b, type, "%object", name), held, f"{type.name}.{name}")
        inner = held.element if isinstance(held, OptionalType) else held
        if isinstance(inner, ClassType):
            invoke(b, None, values.release_later, [(held, value), (Pointer(Pointer(U8)), "%pending")])
        else:
            b.managed.release(b, held, value)
    invoke(b, None, memory.recycle, [(type, "%object"), (INT, str(layout(type)[1]))])
    b.do("ret void")
    b.current.closed = True


def make_object(b: FunctionBuilder, node: Node, type: ClassType) -> str:
    """A new instance whose attributes are zero."""
    return invoke(b, node, objects.new, [(type, class_info(b, type)), (INT, str(layout(type)[1]))])


@lowering("prim::New")
def _lower_new(b: FunctionBuilder, node: Node) -> None:
    type = node.output.type
    assert isinstance(type, ClassType)
    b.values[node.output] = make_object(b, node, type)


@lowering("prim::GetAttr")
def _lower_get(b: FunctionBuilder, node: Node) -> None:
    type, name = node.inputs[0].type, node.attributes["name"]
    assert isinstance(type, ClassType)
    held = type.attributes[name]
    made = load_value(b, attribute_address(b, type, b.operand(node.inputs[0]), name), held, f"{type.name}.{name}")
    b.managed.retain(b, held, made)
    b.values[node.output] = made


@lowering("prim::SetAttr")
def _lower_set(b: FunctionBuilder, node: Node) -> None:
    type, name = node.inputs[0].type, node.attributes["name"]
    assert isinstance(type, ClassType)
    held, object = type.attributes[name], b.operand(node.inputs[0])
    operand = b.take(node, 1)
    address = attribute_address(b, type, object, name)
    managed = b.managed.is_managed(held)
    old = load_value(b, address, held, f"{type.name}.{name}") if managed else ""
    store_value(b, address, held, operand, f"{type.name}.{name}")
    version = b.op(f"getelementptr inbounds i8, ptr {object}, i64 {_VERSION}")
    b.do(f"store i64 {CHANGED}, ptr {version}, align 8{tag(b, 'object version')}")
    if managed:
        b.managed.release(b, held, old)


# ---- identity -----------------------------------------------------------------------------------------------------


def is_none(b: FunctionBuilder, operand: str, type: Type) -> str:
    """Whether a value is None."""
    if type == NONE:
        return "true"
    if not isinstance(type, OptionalType):
        return "false"
    if register_type(type) == "ptr":
        return b.op(f"icmp eq ptr {operand}, null")
    return b.op(f"xor i1 {b.op(f'extractvalue {register_type(type)} {operand}, 0')}, true")


@native("is_none")
def _is_none(b: FunctionBuilder, node: Node) -> str:
    return is_none(b, b.operand(node.inputs[0]), node.inputs[0].type)


@native("is")
def _is(b: FunctionBuilder, node: Node) -> str:
    x, y = node.inputs
    if NONE in (x.type, y.type):
        other = y if x.type == NONE else x
        return is_none(b, b.operand(other), other.type)
    text = register_type(x.type)
    if text != register_type(y.type):
        return "false"
    if text == "ptr" or text.startswith("i"):
        return b.op(f"icmp eq {text} {b.operand(x)}, {b.operand(y)}")
    # Numbers and tuples have no identity of their own: equal ones may be the same object in Python, or not.
    return invoke(b, node, values.equal, [(x.type, b.operand(x)), (y.type, b.operand(y))], x.type)


@native("contains.tuple")
def _contains_tuple(b: FunctionBuilder, node: Node) -> str:
    items, item = node.inputs
    assert isinstance(items.type, TupleType)
    found = "false"
    for index, type in enumerate(items.type.elements):
        part = b.op(f"extractvalue {b.typed(items)}, {index}")
        found = b.op(f"or i1 {found}, {_equal_values(b, node, (type, part), (item.type, b.operand(item)))}")
    return found


def _equal_values(b: FunctionBuilder, node: Node, x: tuple[Type, str], y: tuple[Type, str]) -> str:
    if x[0] == y[0]:
        return invoke(b, node, values.equal, [x, y], x[0])
    if x[0] == FLOAT:
        x, y = y, x
    if (x[0], y[0]) == (INT, FLOAT):
        return b.op(f"icmp eq i64 {invoke(b, node, numbers.compare_int_float, [x, y])}, 0")
    return "false"  # of types that are never equal
