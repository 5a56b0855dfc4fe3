"""Script values to Python objects and back, by type, where native code calls Python.

In: an operand. Out: LLVM text, in functions of the module (one for each type, so a conversion is emitted once). The types that
`jitlang.codegen.script.marshal` knows are converted by it, the others here, always to new objects: no identity is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitlang.codegen.function import FunctionBuilder
from jitlang.codegen.kernels import reference
from jitlang.codegen.library import dicts, lists, strings, values
from jitlang.codegen.library.layout import Dict
from jitlang.codegen.llvm_types import quote, register_type
from jitlang.codegen.records import record_error
from jitlang.codegen.script.managed import invoke
from jitlang.codegen.script.marshal import Marshaller, marshaller
from jitlang.errors import CodegenError
from jitlang.frontend.kernel import Kernel, offset_of
from jitlang.ir.graph import Graph, Node
from jitlang.native.layouts import STR as STR_LAYOUT
from jitlang.native.layouts import STR_DATA
from jitlang.types import I64, INT, NONE, STR, U8, DictType, ListType, OptionalType, Pointer, TupleType, Type

KIND, LENGTH = offset_of(STR_LAYOUT, "kind"), offset_of(STR_LAYOUT, "length")
_DICT: Any = Dict
VERSION = offset_of(_DICT, "version")
_SITE = Node("py::call")  # stands for a node in functions that note no place of their own


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


# ---- functions of the module --------------------------------------------------------------------------------------


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


def _ret(b: FunctionBuilder, text: str) -> None:
    b.do(f"ret {text}")
    b.current.closed = True


def _loop(b: FunctionBuilder, count: str, body: Callable[[str], None]) -> None:
    """Emits a loop over 0 … count - 1."""
    head, inside, after = b.block("head"), b.block("inside"), b.block("after")
    before = b.current.label
    b.jump(head)
    b.place(head)
    index, following = b.name("i"), b.name("n")
    b.branch(b.op(f"icmp slt i64 {index}, {count}"), inside, after)
    b.place(inside)
    body(index)
    b.do(f"{following} = add i64 {index}, 1")
    head.phis.append(f"{index} = phi i64 [ 0, %{before} ], [ {following}, %{b.current.label} ]")
    b.jump(head)
    b.place(after)


def _stop_if(b: FunctionBuilder, bad: str, undo: Callable[[], None], failing: str) -> None:
    """Returns `failing` after `undo` if the i1 `bad` is true."""
    stop, following = b.block("stop"), b.block("on")
    b.branch(bad, stop, following, likely=False)
    b.place(stop)
    undo()
    _ret(b, failing)
    b.place(following)


def _field(b: FunctionBuilder, pointer: str, at: int) -> str:
    return b.op(f"load i64, ptr {b.op(f'getelementptr i8, ptr {pointer}, i64 {at}')}")


# ---- boxing -------------------------------------------------------------------------------------------------------


def _known(type: Type) -> Marshaller | None:
    """The marshaller of a type that is not converted here."""
    if type == STR or isinstance(type, OptionalType | ListType | DictType) or (isinstance(type, TupleType) and not type.name):
        return None
    return marshaller(type)


def to_python(b: FunctionBuilder, type: Type, operand: str) -> str:
    """Emits the making of a Python object; null, with Python's error set, where that fails. The GIL is held."""
    known = _known(type)
    if known is not None:
        return known.box(b, type, operand)
    text = register_type(type)
    callee = module_function(b, f"jl.box<{type}>", type, "ptr", [f"{text} %value"], _box)
    return b.op(f"call ptr {callee}({text} {operand})")


def _box(b: FunctionBuilder, type: Type) -> None:
    if type == STR:
        kind, length = _field(b, "%value", KIND), _field(b, "%value", LENGTH)
        data = b.op(f"getelementptr i8, ptr %value, i64 {STR_DATA}")
        narrow = b.op(f"trunc i64 {kind} to i32")
        _ret(b, f"ptr {api(b, 'PyUnicode_FromKindAndData', 'ptr (i32, ptr, i64)', narrow, data, length)}")
    elif isinstance(type, OptionalType):
        _box_optional(b, type)
    elif isinstance(type, TupleType):
        made = api(b, "PyTuple_New", "ptr (i64)", str(len(type.elements)))
        _stop_if(b, b.op(f"icmp eq ptr {made}, null"), lambda: None, "ptr null")
        for index, element in enumerate(type.elements):
            part = to_python(b, element, b.op(f"extractvalue {register_type(type)} %value, {index}"))
            _stop_if(b, b.op(f"icmp eq ptr {part}, null"), lambda: drop(b, made), "ptr null")
            api(b, "PyTuple_SetItem", "i32 (ptr, i64, ptr)", made, str(index), part)
        _ret(b, f"ptr {made}")
    elif isinstance(type, ListType):
        _box_list(b, type)
    elif isinstance(type, DictType):
        _box_dict(b, type)
    else:
        raise CodegenError(f"a {type} cannot be handed to Python from native code")


def _box_optional(b: FunctionBuilder, type: OptionalType) -> None:
    kind = register_type(type)
    nullable = kind == "ptr"
    none, some = b.block("none"), b.block("some")
    test = b.op("icmp ne ptr %value, null" if nullable else f"extractvalue {kind} %value, 0")
    b.branch(test, some, none)
    b.place(none)
    _ret(b, f"ptr {to_python(b, NONE, '0')}")
    b.place(some)
    inner = "%value" if nullable else b.op(f"extractvalue {kind} %value, 1")
    _ret(b, f"ptr {to_python(b, type.element, inner)}")


def _box_list(b: FunctionBuilder, type: ListType) -> None:
    length = _field(b, "%value", 8)
    made = api(b, "PyList_New", "ptr (i64)", length)
    _stop_if(b, b.op(f"icmp eq ptr {made}, null"), lambda: None, "ptr null")

    def element(index: str) -> None:
        value = invoke(b, None, lists.element, [(type, "%value"), (INT, index)], type.element)
        object = to_python(b, type.element, value)
        _stop_if(b, b.op(f"icmp eq ptr {object}, null"), lambda: drop(b, made), "ptr null")
        api(b, "PyList_SetItem", "i32 (ptr, i64, ptr)", made, index, object)

    _loop(b, length, element)
    _ret(b, f"ptr {made}")


def _box_dict(b: FunctionBuilder, type: DictType) -> None:
    made = api(b, "PyDict_New", "ptr ()")
    _stop_if(b, b.op(f"icmp eq ptr {made}, null"), lambda: None, "ptr null")
    used = invoke(b, None, dicts.used, [(type, "%value")])

    def item(index: str) -> None:
        live, following = b.block("live"), b.block("next")
        hash = invoke(b, None, dicts.hash_at, [(type, "%value"), (INT, index)], type)
        b.branch(b.op(f"icmp eq i64 {hash}, -1"), following, live)
        b.place(live)
        key = to_python(b, type.key, invoke(b, None, dicts.key_at, [(type, "%value"), (INT, index)], type))
        _stop_if(b, b.op(f"icmp eq ptr {key}, null"), lambda: drop(b, made), "ptr null")
        value = to_python(b, type.value, invoke(b, None, dicts.value_at, [(type, "%value"), (INT, index)], type))

        def undo() -> None:
            drop(b, key)
            drop(b, made)

        _stop_if(b, b.op(f"icmp eq ptr {value}, null"), undo, "ptr null")
        status = api(b, "PyDict_SetItem", "i32 (ptr, ptr, ptr)", made, key, value)
        drop(b, key)
        drop(b, value)
        _stop_if(b, b.op(f"icmp ne i32 {status}, 0"), lambda: drop(b, made), "ptr null")
        b.jump(following)
        b.place(following)

    _loop(b, used, item)
    _ret(b, f"ptr {made}")


# ---- unboxing -----------------------------------------------------------------------------------------------------


def from_python(b: FunctionBuilder, node: Node, type: Type, object: str) -> str:
    """Emits the conversion of an object that is of `type`, with a reference of its own; fails as `node` where it is not. The GIL is held."""
    text = register_type(type)
    callee = module_function(b, f"jl.unbox<{type}>", type, f"{{{text}, i1}}", ["ptr %ctx", "ptr %object"], _unbox)
    made = b.op(f"call {{{text}, i1}} {callee}(ptr %ctx, ptr {object})")
    bad, following = b.block("misfit"), b.block("fits")
    b.branch(b.op(f"extractvalue {{{text}, i1}} {made}, 1"), bad, following, likely=False)
    b.place(bad)
    drop(b, object)
    b.do(f"br label %{b.failure(node)}")
    b.current.closed = True
    b.place(following)
    return b.op(f"extractvalue {{{text}, i1}} {made}, 0")


def _result(b: FunctionBuilder, text: str, operand: str) -> None:
    half = b.op(f"insertvalue {{{text}, i1}} poison, {text} {operand}, 0")
    _ret(b, f"{{{text}, i1}} {b.op(f'insertvalue {{{text}, i1}} {half}, i1 false, 1')}")


def _misfit(b: FunctionBuilder, type: Type, undo: Callable[[], None] = lambda: None) -> str:
    """The label of a block that records that an object is not of `type` and returns."""
    saved, block = b.current, b.block("misfit")
    b.place(block)
    undo()
    record_error(b, "TypeError", f"the function returned a value that is not {type}")
    _failed(b, type)
    b.current = saved
    return block.label


def _failed(b: FunctionBuilder, type: Type) -> None:
    text = register_type(type)
    _ret(b, f"{{{text}, i1}} {b.op(f'insertvalue {{{text}, i1}} poison, i1 true, 1')}")


def _unbox(b: FunctionBuilder, type: Type) -> None:
    text = register_type(type)
    known = _known(type)
    if known is not None:
        fail = b.block("misfit")
        known.guard(b, type, "%object", fail)
        _result(b, text, known.unbox(b, type, "%object", fail))
        b.place(fail)
        record_error(b, "TypeError", f"the function returned a value that is not {type}")
        _failed(b, type)
        return
    if type == STR:
        _unbox_str(b)
    elif isinstance(type, OptionalType):
        _unbox_optional(b, type)
    elif isinstance(type, TupleType):
        _unbox_tuple(b, type)
    elif isinstance(type, ListType):
        _unbox_list(b, type)
    elif isinstance(type, DictType):
        _unbox_dict(b, type)
    else:
        raise CodegenError(f"a {type} cannot be taken from Python into native code")


def _is(b: FunctionBuilder, python_type: str) -> str:
    """Whether the object is of a type or a subtype of it."""
    at = b.op("getelementptr i8, ptr %object, i64 8")
    kind = b.op(f"load ptr, ptr {at}")
    return b.op(f"icmp ne i32 {api(b, 'PyType_IsSubtype', 'i32 (ptr, ptr)', kind, b.module.external(python_type))}, 0")


def _check(b: FunctionBuilder, ok: str, other: str) -> None:
    following = b.block("right")
    b.branch(ok, following, other, likely=True)
    b.place(following)


def _unbox_str(b: FunctionBuilder) -> None:
    _check(b, _is(b, "PyUnicode_Type"), _misfit(b, STR))
    size = b.stack("i64", 1, 8)
    length = api(b, "PyUnicode_GetLength", "i64 (ptr)", "%object")
    text = api(b, "PyUnicode_AsUTF8AndSize", "ptr (ptr, ptr)", "%object", size)
    look, wide, plain = b.block("look"), b.block("wide"), b.block("plain")
    b.branch(b.op(f"icmp eq ptr {text}, null"), wide, look, likely=False)
    b.place(look)
    # As many bytes as characters: ASCII.
    b.branch(b.op(f"icmp eq i64 {b.op(f'load i64, ptr {size}')}, {length}"), plain, wide)
    b.place(plain)
    _returned(b, STR, strings.from_latin1, text, length)
    b.place(wide)
    api(b, "PyErr_Clear", "void ()")
    codes = api(b, "PyUnicode_AsUCS4Copy", "ptr (ptr)", "%object")
    bad, following = b.block("null"), b.block("codes")
    b.branch(b.op(f"icmp eq ptr {codes}, null"), bad, following, likely=False)
    b.place(bad)
    api(b, "jl.host.failed", "void (ptr)", "%ctx")
    _failed(b, STR)
    b.place(following)
    got = _call(b, strings.from_codes, codes, "4", length)
    api(b, "PyMem_Free", "void (ptr)", codes)
    _ret(b, f"{{ptr, i1}} {got}")


def _call(b: FunctionBuilder, kernel: Kernel, pointer: str, *numbers: str) -> str:
    """A raising kernel's whole result: ``{ptr, i1}``."""
    instance = kernel.instance(Pointer(U8), *[I64 for _ in numbers])
    given = ", ".join(["ptr %ctx", f"ptr {pointer}", *(f"i64 {n}" for n in numbers)])
    return b.op(f"call {{ptr, i1}} {reference(b.module, instance)}({given})")


def _returned(b: FunctionBuilder, type: Type, kernel: Kernel, pointer: str, *numbers: str) -> None:
    _ret(b, f"{{ptr, i1}} {_call(b, kernel, pointer, *numbers)}")


def _inner(b: FunctionBuilder, type: Type, object: str, undo: Callable[[], None], outer: Type) -> str:
    """Unboxes a part of the object; if that fails, `undo` and the failure of the whole."""
    text = register_type(type)
    callee = module_function(b, f"jl.unbox<{type}>", type, f"{{{text}, i1}}", ["ptr %ctx", "ptr %object"], _unbox)
    made = b.op(f"call {{{text}, i1}} {callee}(ptr %ctx, ptr {object})")
    bad, following = b.block("misfit"), b.block("fits")
    b.branch(b.op(f"extractvalue {{{text}, i1}} {made}, 1"), bad, following, likely=False)
    b.place(bad)
    undo()
    _failed(b, outer)
    b.place(following)
    return b.op(f"extractvalue {{{text}, i1}} {made}, 0")


def _unbox_optional(b: FunctionBuilder, type: OptionalType) -> None:
    text = register_type(type)
    none, some = b.block("none"), b.block("some")
    b.branch(b.op(f"icmp eq ptr %object, {b.module.external('_Py_NoneStruct')}"), none, some)
    b.place(none)
    _result(b, text, "null" if text == "ptr" else "zeroinitializer")
    b.place(some)
    inner = _inner(b, type.element, "%object", lambda: None, type)
    if text != "ptr":
        half = b.op(f"insertvalue {text} poison, i1 true, 0")
        inner = b.op(f"insertvalue {text} {half}, {register_type(type.element)} {inner}, 1")
    _result(b, text, inner)


def _unbox_tuple(b: FunctionBuilder, type: TupleType) -> None:
    text = register_type(type)
    wrong = _misfit(b, type)
    _check(b, _is(b, "PyTuple_Type"), wrong)
    _check(b, b.op(f"icmp eq i64 {api(b, 'PyTuple_Size', 'i64 (ptr)', '%object')}, {len(type.elements)}"), wrong)
    made = "poison" if type.elements else "0"
    done: list[tuple[Type, str]] = []

    def undo() -> None:
        for kind, operand in done:
            b.managed.release(b, kind, operand)

    for index, element in enumerate(type.elements):
        part = _inner(b, element, api(b, "PyTuple_GetItem", "ptr (ptr, i64)", "%object", str(index)), undo, type)
        done.append((element, part))
        made = b.op(f"insertvalue {text} {made}, {register_type(element)} {part}, {index}")
    _result(b, text, made)


def _unbox_list(b: FunctionBuilder, type: ListType) -> None:
    _check(b, _is(b, "PyList_Type"), _misfit(b, type))
    length = api(b, "PyList_Size", "i64 (ptr)", "%object")
    made = invoke(b, _SITE, lists.new, [(INT, length)], type.element)

    def element(index: str) -> None:
        object = api(b, "PyList_GetItem", "ptr (ptr, i64)", "%object", index)
        value = _inner(b, type.element, object, lambda: b.managed.release(b, type, made), type)
        invoke(b, None, lists.fill, [(type, made), (type.element, value)], type.element)

    _loop(b, length, element)
    _result(b, "ptr", made)


def _unbox_dict(b: FunctionBuilder, type: DictType) -> None:
    _check(b, _is(b, "PyDict_Type"), _misfit(b, type))
    made = invoke(b, _SITE, dicts.new, [], type)
    at, key, value = b.stack("i64", 1, 8), b.stack("ptr", 1, 8), b.stack("ptr", 1, 8)
    b.do(f"store i64 0, ptr {at}")

    def undo() -> None:
        b.managed.release(b, type, made)

    head, inside, after = b.block("head"), b.block("item"), b.block("after")
    b.jump(head)
    b.place(head)
    more = api(b, "PyDict_Next", "i32 (ptr, ptr, ptr, ptr)", "%object", at, key, value)
    b.branch(b.op(f"icmp ne i32 {more}, 0"), inside, after)
    b.place(inside)
    name = _inner(b, type.key, b.op(f"load ptr, ptr {key}"), undo, type)

    def undo_both() -> None:
        b.managed.release(b, type.key, name)
        undo()

    item = _inner(b, type.value, b.op(f"load ptr, ptr {value}"), undo_both, type)
    hash = invoke(b, None, values.hash_of, [(type.key, name)], type.key)
    found = invoke(b, _SITE, dicts.prepare, [(type, made), (type.key, name), (INT, hash)], type)
    invoke(b, None, dicts.put, [(type, made), (INT, found), (type.key, name), (INT, hash), (type.value, item)], type)
    b.jump(head)
    b.place(after)
    b.do(f"store i64 0, ptr {b.op(f'getelementptr i8, ptr {made}, i64 {VERSION}')}")
    _result(b, "ptr", made)
