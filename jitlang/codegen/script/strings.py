"""Strings in native code: the ``py::`` rows of str that need no tables of Unicode, and ``str`` of numbers.

In: nodes on strings. Out: calls of `jitlang.codegen.library.strings` and `text`. What is not here is called in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitlang.codegen.function import FunctionBuilder
from jitlang.codegen.library import strings, text, values
from jitlang.codegen.script import host_calls
from jitlang.codegen.script.managed import Operand, invoke, string_constant
from jitlang.codegen.script.rows import NATIVE, native
from jitlang.frontend.kernel import Kernel
from jitlang.ir.graph import Node
from jitlang.types import BOOL, INT, STR


def _kernel(kernel: Kernel, *more: Operand) -> Callable[[FunctionBuilder, Node], str]:
    """A row that is a kernel on its inputs and some constants."""
    return lambda b, node: invoke(b, node, kernel, [*((v.type, b.operand(v)) for v in node.inputs), *more])


for _name, _target in {
    "mul.str": strings.repeat,
    "getitem.str": strings.getitem,
    "slice.str": strings.slice_of,
    "contains.str": text.contains,
    "list.str": text.characters,
    "find": text.find,
    "rfind": text.rfind,
    "index.str": text.index,
    "rindex.str": text.rindex,
    "count.str": text.count,
    "startswith": text.startswith,
    "endswith": text.endswith,
    "replace": text.replace,
    "join": text.join,
    "split": text.split,
    "rsplit": text.rsplit,
    "removeprefix": text.removeprefix,
    "removesuffix": text.removesuffix,
    "isascii": text.is_ascii,
    "ord": strings.code_of,
    "str.int": text.of_int,
    "repr.int": text.of_int,
}.items():
    NATIVE[_name] = _kernel(_target)
NATIVE["strip"] = _kernel(text.strip, (BOOL, "true"), (BOOL, "true"))
NATIVE["lstrip"] = _kernel(text.strip, (BOOL, "true"), (BOOL, "false"))
NATIVE["rstrip"] = _kernel(text.strip, (BOOL, "false"), (BOOL, "true"))


@native("add.str")
def _add(b: FunctionBuilder, node: Node) -> str:
    # The left operand moves in where this is its last use: then it may be grown in place.
    left = b.take(node, 0)
    return invoke(b, node, strings.append, [(STR, left), (STR, b.operand(node.inputs[1]))])


@native("len.str")
def _len(b: FunctionBuilder, node: Node) -> str:
    return invoke(b, None, strings.length_of, [(STR, b.operand(node.inputs[0]))])


@native("bool.str")
def _bool(b: FunctionBuilder, node: Node) -> str:
    return b.op(f"icmp ne i64 {_len(b, node)}, 0")


@native("min.str", "max.str")
def _extremum(b: FunctionBuilder, node: Node) -> str:
    x, y = b.inputs(node)
    better = invoke(b, None, values.ordered, [(STR, y), (STR, x)], STR, "lt" if node.kind == "py::min" else "gt")
    made = b.op(f"select i1 {better}, ptr {y}, ptr {x}")
    b.managed.retain(b, STR, made)
    return made


@native("str.bool", "repr.bool")
def _str_bool(b: FunctionBuilder, node: Node) -> str:
    return b.op(f"select i1 {b.operand(node.inputs[0])}, ptr {string_constant(b, 'True')}, ptr {string_constant(b, 'False')}")


def _or_host(b: FunctionBuilder, node: Node, quick: str, make: Callable[[], str]) -> str:
    """`make` where the i1 `quick` is true, else a call of the row's Python function."""
    if b.slow is not None:  # what runs in Python is for the second run of the iteration
        following = b.block("quick")
        b.branch(quick, following, b.slow, likely=True)
        b.place(following)
        return make()
    fast, slow, joint = b.block("quick"), b.block("host"), b.joint("got")
    b.branch(quick, fast, slow, likely=True)
    b.place(fast)
    b.edge(joint, [make()])
    b.place(slow)
    host_calls.call_python(b, node)
    b.edge(joint, [b.values[node.output]])
    return b.arrive(joint, [node.output.type])[0]


def _ascii(kernel: Kernel, arguments: Sequence[int]) -> Callable[[FunctionBuilder, Node], str]:
    def entry(b: FunctionBuilder, node: Node) -> str:
        source = (STR, b.operand(node.inputs[0]))
        quick = invoke(b, None, text.is_ascii, [source])
        return _or_host(b, node, quick, lambda: invoke(b, node, kernel, [source, *((INT, str(a)) for a in arguments)]))

    return entry


NATIVE["upper"] = _ascii(text.ascii_case, [ord("a")])
NATIVE["lower"] = NATIVE["casefold"] = _ascii(text.ascii_case, [ord("A")])
_LETTERS, _DIGITS, _NONE = [ord("a"), ord("z")], [ord("0"), ord("9")], [1, 0]
NATIVE["isalpha"] = _ascii(text.all_within, [*_LETTERS, *_NONE])
NATIVE["isalnum"] = _ascii(text.all_within, [*_LETTERS, *_DIGITS])
NATIVE["isspace"] = _ascii(text.all_within, [9, 13, 28, 32])
for _name in ("isdigit", "isdecimal", "isnumeric"):
    NATIVE[_name] = _ascii(text.all_within, [*_DIGITS, *_NONE])


@native("int.str")
def _int(b: FunctionBuilder, node: Node) -> str:
    pair = invoke(b, None, text.plain_int, [(STR, b.operand(node.inputs[0]))])
    quick = b.op(f"extractvalue {{i64, i1}} {pair}, 1")
    return _or_host(b, node, quick, lambda: b.op(f"extractvalue {{i64, i1}} {pair}, 0"))


@native("chr")
def _chr(b: FunctionBuilder, node: Node) -> str:
    code = b.operand(node.inputs[0])
    return _or_host(b, node, b.op(f"icmp ult i64 {code}, {0x110000}"), lambda: invoke(b, node, strings.character, [(INT, code)]))
