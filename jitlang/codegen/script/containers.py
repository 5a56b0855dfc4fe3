"""Lists in native code: ``prim::List`` and the ``py::`` rows of lists.

In: nodes on lists. Out: calls of `jitlang.codegen.library.lists`; reading, writing and appending one element are inline, so that a
loop over a list compiles to a test of bounds and a load. A value is taken over only when nothing can fail any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitlang.codegen.function import FunctionBuilder, lowering
from jitlang.codegen.library import lists, sorting, values
from jitlang.codegen.library.layout import CHANGED, List
from jitlang.codegen.llvm_types import memory_type, register_type, size_and_align
from jitlang.codegen.script.managed import call_inputs, invoke
from jitlang.codegen.script.rows import NATIVE, native
from jitlang.frontend.kernel import Kernel, offset_of
from jitlang.ir.graph import Node
from jitlang.types import INT, ListType, Type

_LIST: Any = List


def element_of(type: Type) -> Type:
    """The element type of a list type."""
    assert isinstance(type, ListType), type
    return type.element


# ---- memory -------------------------------------------------------------------------------------------------------


def tag(b: FunctionBuilder, name: str) -> str:
    """Metadata for loads and stores: those with different names never touch the same memory, so LLVM may move them past each other."""
    table: dict[str, int] = b.module.__dict__.setdefault("_tags", {})
    if not table:
        b.module.globals["!tbaa"] = '!100 = !{!"jitlang"}'
    if name not in table:
        number = table[name] = 101 + 2 * len(table)
        b.module.globals[f"!tbaa {name}"] = f'!{number} = !{{!"{name}", !100}}\n!{number + 1} = !{{!{number}, !{number}, i64 0}}'
    return f", !tbaa !{table[name] + 1}"


def list_field(b: FunctionBuilder, list: str, name: str) -> str:
    """The address of a field of a list."""
    return b.op(f"getelementptr inbounds i8, ptr {list}, i64 {offset_of(_LIST, name)}")


def length_of(b: FunctionBuilder, list: str) -> str:
    """The length of a list."""
    return b.op(f"load i64, ptr {list_field(b, list, 'length')}, align 8{tag(b, 'list length')}")


def element_address(b: FunctionBuilder, list: str, at: str, type: Type) -> str:
    """The address of element `at`, which is there."""
    data = b.op(f"load ptr, ptr {list_field(b, list, 'data')}, align 8{tag(b, 'list data')}")
    return b.op(f"getelementptr inbounds {memory_type(type)}, ptr {data}, i64 {at}")


def load_value(b: FunctionBuilder, address: str, type: Type, name: str = "element") -> str:
    """Reads a value of a script type; no reference is taken."""
    align = size_and_align(type)[1]
    made = b.op(f"load {memory_type(type)}, ptr {address}, align {align}{tag(b, name)}")
    return b.op(f"trunc i8 {made} to i1") if register_type(type) == "i1" else made


def store_value(b: FunctionBuilder, address: str, type: Type, operand: str, name: str = "element") -> None:
    """Writes a value of a script type; its reference goes with it."""
    if register_type(type) == "i1":
        operand = b.op(f"zext i1 {operand} to i8")
    b.do(f"store {memory_type(type)} {operand}, ptr {address}, align {size_and_align(type)[1]}{tag(b, name)}")


def fail_with(b: FunctionBuilder, node: Node, ok: str, kernel: Kernel, operands: Sequence[tuple[Type, str]] = (), *statics: Any) -> None:
    """Goes on if `ok`, else fails with the error that `kernel` raises."""
    following = b.block("ok")
    if b.slow is not None:
        b.branch(ok, following, b.slow, likely=True)
    else:
        wrong = b.block("wrong")
        b.branch(ok, following, wrong, likely=True)
        b.place(wrong)
        invoke(b, node, kernel, operands, *statics)
        b.do("unreachable")
        b.current.closed = True
    b.place(following)


def position(b: FunctionBuilder, node: Node, list: str, at: int, error: Kernel) -> str:
    """Input `at` as an index that lies within the list, counted from its beginning."""
    index, value = b.operand(node.inputs[at]), node.inputs[at]
    length = length_of(b, list)
    if not (value.is_constant and value.constant >= 0):
        negative = b.op(f"icmp slt i64 {index}, 0")
        index = b.op(f"select i1 {negative}, i64 {b.op(f'add i64 {index}, {length}')}, i64 {index}")
    fail_with(b, node, b.op(f"icmp ult i64 {index}, {length}"), error)
    return index


def touch(b: FunctionBuilder, list: str) -> None:
    """Notes that an element was changed."""
    b.do(f"store i64 {CHANGED}, ptr {list_field(b, list, 'version')}, align 8{tag(b, 'list version')}")


# ---- one element --------------------------------------------------------------------------------------------------


@lowering("prim::List")
def _lower_list(b: FunctionBuilder, node: Node) -> None:
    element = element_of(node.output.type)
    made = invoke(b, node, lists.new, [(INT, str(len(node.inputs)))], element)
    b.values[node.output] = made
    if not node.inputs:
        return
    data = b.op(f"load ptr, ptr {list_field(b, made, 'data')}, align 8{tag(b, 'list data')}")
    for index in range(len(node.inputs)):
        operand = b.take(node, index)
        store_value(b, b.op(f"getelementptr inbounds {memory_type(element)}, ptr {data}, i64 {index}"), element, operand)
    b.do(f"store i64 {len(node.inputs)}, ptr {list_field(b, made, 'length')}, align 8{tag(b, 'list length')}")


@native("getitem.list")
def _getitem(b: FunctionBuilder, node: Node) -> str:
    source = b.operand(node.inputs[0])
    element = element_of(node.inputs[0].type)
    at = position(b, node, source, 1, lists.fail_index)
    made = load_value(b, element_address(b, source, at, element), element)
    b.managed.retain(b, element, made)
    return made


@native("setitem.list")
def _setitem(b: FunctionBuilder, node: Node) -> str:
    target = b.operand(node.inputs[0])
    element = element_of(node.inputs[0].type)
    at = position(b, node, target, 1, lists.fail_assign)
    operand = b.take(node, 2)
    address = element_address(b, target, at, element)
    managed = b.managed.is_managed(element)
    old = load_value(b, address, element) if managed else ""
    store_value(b, address, element, operand)
    touch(b, target)
    if managed:
        b.managed.release(b, element, old)
    return ""


@native("append")
def _append(b: FunctionBuilder, node: Node) -> str:
    target = b.operand(node.inputs[0])
    element = element_of(node.inputs[0].type)
    length = length_of(b, target)
    capacity = b.op(f"load i64, ptr {list_field(b, target, 'capacity')}, align 8{tag(b, 'list capacity')}")
    full, following = b.block("full"), b.block("room")
    b.branch(b.op(f"icmp slt i64 {length}, {capacity}"), following, full, likely=True)
    b.place(full)
    more = b.op(f"add i64 {length}, 1")
    invoke(b, node, lists.grow, [(node.inputs[0].type, target), (INT, more)], element)
    b.jump(following)
    b.place(following)
    operand = b.take(node, 1)
    store_value(b, element_address(b, target, length, element), element, operand)
    b.do(f"store i64 {b.op(f'add i64 {length}, 1')}, ptr {list_field(b, target, 'length')}, align 8{tag(b, 'list length')}")
    version = list_field(b, target, "version")
    old = b.op(f"load i64, ptr {version}, align 8{tag(b, 'list version')}")
    b.do(f"store i64 {b.op(f'add i64 {old}, 1')}, ptr {version}, align 8{tag(b, 'list version')}")
    return ""


@native("insert")
def _insert(b: FunctionBuilder, node: Node) -> str:
    target, index, value = ((v.type, b.operand(v)) for v in node.inputs)
    element = element_of(node.inputs[0].type)
    invoke(b, node, lists.reserve, [target, (INT, "1")], element)
    b.take(node, 2)
    invoke(b, node, lists.insert, [target, index, value], element)
    return ""


@native("len.list", "len.dict")
def _len(b: FunctionBuilder, node: Node) -> str:
    return length_of(b, b.operand(node.inputs[0]))


@native("bool.list", "bool.dict")
def _bool(b: FunctionBuilder, node: Node) -> str:
    return b.op(f"icmp ne i64 {length_of(b, b.operand(node.inputs[0]))}, 0")


# ---- whole lists --------------------------------------------------------------------------------------------------


def _by_element(kernel: Kernel, *statics: Any) -> Callable[[FunctionBuilder, Node], str]:
    """A row whose kernel takes the element type of the first argument."""
    return lambda b, node: call_inputs(b, node, kernel, element_of(node.inputs[0].type), *statics)


for _name, _kernel in {
    "add.list": lists.concat,
    "mul.list": lists.repeat,
    "imul.list": lists.repeat_in_place,
    "iadd.list": lists.extend,
    "extend": lists.extend,
    "delitem.list": lists.delitem,
    "slice.list": lists.slice_of,
    "set_slice": lists.set_slice,
    "del_slice": lists.del_slice,
    "contains.list": lists.contains,
    "list.list": lists.copied,
    "copy.list": lists.copied,
    "reversed": lists.reversed_copy,
    "reverse": lists.reverse,
    "pop.list": lists.pop,
    "remove": lists.remove,
    "clear.list": lists.clear,
    "count.list": lists.count,
    "sum.int": lists.sum_int,
    "sum.float": lists.sum_float,
    "any": lists.any_of,
    "all": lists.all_of,
}.items():
    NATIVE[_name] = _by_element(_kernel)
NATIVE["range_list"] = lambda b, node: call_inputs(b, node, lists.of_range, INT)
NATIVE["range_length"] = lambda b, node: call_inputs(b, node, lists.range_length)


NATIVE["min.list"] = _by_element(lists.extremum, "lt")
NATIVE["max.list"] = _by_element(lists.extremum, "gt")
NATIVE["sort"] = _by_element(sorting.sort)
NATIVE["sorted"] = _by_element(sorting.sorted_copy)


@native("sorted_by")
def _sorted_by(b: FunctionBuilder, node: Node) -> str:
    return call_inputs(b, node, sorting.sorted_by, element_of(node.inputs[0].type), element_of(node.inputs[1].type))


# ---- comparison ---------------------------------------------------------------------------------------------------


def compare(b: FunctionBuilder, node: Node) -> str:
    """A comparison of two values of one type, by structure."""
    first = node.inputs[0].type
    name = node.kind[4:]
    if name in ("eq", "ne"):
        made = call_inputs(b, node, values.equal, first)
        return made if name == "eq" else b.op(f"xor i1 {made}, true")
    return call_inputs(b, node, values.ordered, first, name)


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    for _kind in ("list", "any", "str"):
        NATIVE[f"{_name}.{_kind}"] = compare
