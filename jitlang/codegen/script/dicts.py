"""Dicts in native code: ``prim::Dict`` and the ``py::`` rows of dicts.

In: nodes on dicts. Out: calls of `jitlang.codegen.library.dicts`. A value is taken over only when nothing can fail any more.
"""

from __future__ import annotations

from collections.abc import Callable

from jitlang.codegen.function import FunctionBuilder, lowering
from jitlang.codegen.library import dicts, values
from jitlang.codegen.llvm_types import register_type
from jitlang.codegen.records import record_error
from jitlang.codegen.script import host_calls
from jitlang.codegen.script.managed import Operand, call_inputs, invoke
from jitlang.codegen.script.rows import NATIVE, native
from jitlang.frontend.kernel import Kernel
from jitlang.ir.graph import Node
from jitlang.types import BOOL, FLOAT, INT, STR, Type


def _inputs(b: FunctionBuilder, node: Node) -> list[Operand]:
    return [(v.type, b.operand(v)) for v in node.inputs]


def store_item(b: FunctionBuilder, node: Node, type: Type, target: str, key: int, value: int) -> None:
    """Sets the key that is input `key` to the value that is input `value`."""
    name: Operand = (node.inputs[key].type, b.operand(node.inputs[key]))
    hash: Operand = (INT, invoke(b, node, values.hash_of, [name], name[0]))
    at: Operand = (INT, invoke(b, node, dicts.prepare, [(type, target), name, hash], type))
    b.take(node, key)
    item = (node.inputs[value].type, b.take(node, value))
    invoke(b, node, dicts.put, [(type, target), at, name, hash, item], type)


@lowering("prim::Dict")
def _lower_dict(b: FunctionBuilder, node: Node) -> None:
    type = node.output.type
    made = invoke(b, node, dicts.new, [], type)
    b.values[node.output] = made
    if not node.inputs:
        return
    # What has been made so far is released if the rest fails.
    b.own(node.output)
    for index in range(0, len(node.inputs), 2):
        store_item(b, node, type, made, index, index + 1)
    del b.scopes[-1].owned[node.output]


def key_error(b: FunctionBuilder, node: Node, found: str, key: Operand) -> None:
    """Goes on if `found` (a number of an entry) is not negative, else fails with KeyError(key)."""
    there = b.op(f"icmp sge i64 {found}, 0")
    following = b.block("found")
    if b.slow is not None:
        b.branch(there, following, b.slow, likely=True)
        b.place(following)
        return
    missing = b.block("missing")
    b.branch(there, following, missing, likely=True)
    b.place(missing)
    if key[0] in (INT, FLOAT, BOOL, STR):
        b.managed.retain(b, *key)
        record_error(b, "KeyError", None, [key])
        b.do(f"br label %{b.failure(node)}")
        b.current.closed = True
    else:
        host_calls.raise_boxed(b, node, "PyExc_KeyError", key)
    b.place(following)


def _find(b: FunctionBuilder, node: Node) -> tuple[Operand, str]:
    source, key, *_ = _inputs(b, node)
    return source, invoke(b, node, dicts.find, [source, key], source[0])


def _present(b: FunctionBuilder, node: Node) -> tuple[Operand, Operand]:
    """The dict and the number of the entry of its key; KeyError where there is none."""
    source, found = _find(b, node)
    key_error(b, node, found, (node.inputs[1].type, b.operand(node.inputs[1])))
    return source, (INT, found)


def _value(b: FunctionBuilder, source: Operand, found: Operand) -> str:
    """The value of an entry, with a reference of its own."""
    made = invoke(b, None, dicts.value_at, [source, found], source[0])
    b.managed.retain(b, values.value_type(source[0]), made)
    return made


def _either(b: FunctionBuilder, found: str, type: Type, there: Callable[[], str], missing: Callable[[], str]) -> str:
    """One of two values of a type, as an entry was found or not."""
    first, second, joint = b.block("there"), b.block("missing"), b.joint("got")
    b.branch(b.op(f"icmp sge i64 {found}, 0"), first, second)
    for block, make in ((first, there), (second, missing)):
        b.place(block)
        b.edge(joint, [make()])
    return b.arrive(joint, [type])[0]


@native("getitem.dict")
def _getitem(b: FunctionBuilder, node: Node) -> str:
    return _value(b, *_present(b, node))


@native("setitem.dict")
def _setitem(b: FunctionBuilder, node: Node) -> str:
    store_item(b, node, node.inputs[0].type, b.operand(node.inputs[0]), 1, 2)
    return ""


@native("delitem.dict")
def _delitem(b: FunctionBuilder, node: Node) -> str:
    source, found = _present(b, node)
    return invoke(b, node, dicts.remove, [source, found], source[0])


@native("entry")
def _entry(b: FunctionBuilder, node: Node) -> str:
    return _find(b, node)[1]


def _given(b: FunctionBuilder, node: Node) -> tuple[Operand, Operand]:
    """The dict and the number of an entry that is there; KeyError where it is not."""
    source, found, key, *_ = _inputs(b, node)
    key_error(b, node, found[1], key)
    return source, found


@native("entry_value")
def _entry_value(b: FunctionBuilder, node: Node) -> str:
    return _value(b, *_given(b, node))


@native("delete_entry")
def _delete_entry(b: FunctionBuilder, node: Node) -> str:
    source, found = _given(b, node)
    return invoke(b, node, dicts.remove, [source, found], source[0])


@native("set_entry")
def _set_entry(b: FunctionBuilder, node: Node) -> str:
    source, found, key, value = _inputs(b, node)
    invoke(b, node, dicts.room_for, [source, found], source[0])
    b.take(node, 2)
    b.take(node, 3)
    return invoke(b, node, dicts.put_entry, [source, found, key, value], source[0])


@native("entry_or")
def _entry_or(b: FunctionBuilder, node: Node) -> str:
    source, found, _, default = _inputs(b, node)

    def missing() -> str:
        b.managed.retain(b, *default)
        return default[1]

    return _either(b, found[1], node.output.type, lambda: _value(b, source, found), missing)


@native("get")
def _get(b: FunctionBuilder, node: Node) -> str:
    source, found = _find(b, node)
    wanted, held = register_type(node.output.type), values.value_type(source[0])

    def there() -> str:
        made = _value(b, source, (INT, found))
        if wanted == register_type(held):
            return made
        half = b.op(f"insertvalue {wanted} poison, i1 true, 0")
        return b.op(f"insertvalue {wanted} {half}, {register_type(held)} {made}, 1")

    return _either(b, found, node.output.type, there, lambda: "null" if wanted == "ptr" else "zeroinitializer")


@native("get.default")
def _get_default(b: FunctionBuilder, node: Node) -> str:
    source, found = _find(b, node)

    def missing() -> str:
        b.managed.retain(b, node.inputs[2].type, b.operand(node.inputs[2]))
        return b.operand(node.inputs[2])

    return _either(b, found, node.output.type, lambda: _value(b, source, (INT, found)), missing)


@native("pop.dict")
def _pop(b: FunctionBuilder, node: Node) -> str:
    source, found = _present(b, node)
    return invoke(b, node, dicts.take_value, [source, found], source[0])


@native("pop.default")
def _pop_default(b: FunctionBuilder, node: Node) -> str:
    source, found = _find(b, node)

    def missing() -> str:
        b.managed.retain(b, node.inputs[2].type, b.operand(node.inputs[2]))
        return b.operand(node.inputs[2])

    return _either(b, found, node.output.type, lambda: invoke(b, None, dicts.take_value, [source, (INT, found)], source[0]), missing)


@native("setdefault")
def _setdefault(b: FunctionBuilder, node: Node) -> str:
    source, key, default = _inputs(b, node)
    hash: Operand = (INT, invoke(b, node, values.hash_of, [key], key[0]))
    found = invoke(b, node, dicts.prepare, [source, key, hash], source[0])

    def missing() -> str:
        for operand in (key, default, default):
            b.managed.retain(b, *operand)
        invoke(b, None, dicts.add, [source, key, hash, default], source[0])
        return default[1]

    return _either(b, found, node.output.type, lambda: _value(b, source, (INT, found)), missing)


def _by_type(kernel: Kernel) -> Callable[[FunctionBuilder, Node], str]:
    """A row whose kernel takes the type of the first argument."""
    return lambda b, node: call_inputs(b, node, kernel, node.inputs[0].type)


for _name, _kernel in {
    "contains.dict": dicts.contains,
    "dict.dict": dicts.copied,
    "copy.dict": dicts.copied,
    "or.dict": dicts.merged,
    "list.dict": dicts.keys,
    "keys": dicts.keys,
    "values": dicts.values_of,
    "items": dicts.items,
    "popitem": dicts.popitem,
    "update": dicts.update,
    "clear.dict": dicts.clear,
}.items():
    NATIVE[_name] = _by_type(_kernel)


@native("dict.pairs")
def _pairs(b: FunctionBuilder, node: Node) -> str:
    return call_inputs(b, node, dicts.of_pairs, node.output.type)
