"""Native attributes, conversions and subscripts of `Tensor`: ``x.shape``, ``float(x)``, ``x[1:3]``, ``x[i] = v`` run no Python code.

In: nothing. Out: slot name → address, for `jitlang.native.pytypes.handle_type`. The work is done by kernels (`kernels/attributes.py`,
`kernels/subscripts.py`). What they do not know goes to the Python method that `fill` puts into a cell.
`addresses` gives the slots; what subscripts and arrays need is compiled when they are first used (`load_subscripts`, `over_array`).
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from jitlang.codegen.library.marshal_layout import DONE
from jitlang.native import cache, host
from jitlang.native.layouts import ctypes_type
from jitlang.tensor.devices import CPU
from jitlang.tensor.kernels import attributes as native
from jitlang.tensor.kernels import buffers, objects, subscripts
from jitlang.types import U8, Pointer

_GETTERS = {"shape": native.shape, "dtype": native.dtype, "device": native.device, "ndim": native.ndim}
_METHODS = {"item": native.item, "tolist": native.tolist}
_CALLED = {"size": native.size, "stride": native.stride}  # methods with arguments
_OBJECTS = {"nb_float": (native.as_float, "__float__"), "nb_int": (native.as_int, "__int__"), "nb_index": (native.as_index, "__index__")}
_ANSWERS = {"nb_bool": (native.truth, "i32", "__bool__"), "mp_length": (native.length, "i64", "__len__")}
_NATIVE_CELLS = ("jl.slot.native.get", "jl.slot.native.set")
_SUBSCRIPT_SLOTS = {"mp_subscript": "slot.subscript", "mp_ass_subscript": "slot.assign"}
# What Python knows: the name of the cell → the attribute of the class with the Python methods.
_PYTHON = [*_METHODS, *_CALLED, *(n for _, n in _OBJECTS.values()), *(n for *_, n in _ANSWERS.values()), "__getitem__", "__setitem__", "__delitem__"]
_VARARGS, _KEYWORDS, _NOARGS = 1, 2, 4
_OBJECT = Pointer(U8)
_kept: list[Any] = []

_ASK = """
define internal ptr @ask(ptr %cell, ptr %a, ptr %b, ptr %c, i64 %count) cold noinline {
  %args = alloca [4 x ptr]
  %wrong = call ptr @PyErr_Occurred()
  %failed = icmp ne ptr %wrong, null
  br i1 %failed, label %out, label %go
go:
  %a.p = getelementptr ptr, ptr %args, i64 1
  %b.p = getelementptr ptr, ptr %args, i64 2
  %c.p = getelementptr ptr, ptr %args, i64 3
  store ptr %a, ptr %a.p
  store ptr %b, ptr %b.p
  %missing = icmp eq ptr %c, null
  %some = select i1 %missing, ptr @_Py_NoneStruct, ptr %c
  store ptr %some, ptr %c.p
  %f = load ptr, ptr %cell
  %n = or i64 %count, -9223372036854775808
  %r = call ptr @PyObject_Vectorcall(ptr %f, ptr %a.p, i64 %n, ptr null)
  ret ptr %r
out:
  ret ptr null
}
"""
# What they do not do gives null or -1, with an error set where there is one.
_SUBSCRIPTS = """
define ptr @native.subscript(ptr %a, ptr %b) {
  %to = alloca ptr
  %ctx = call ptr @jl.enter()
  %r = call {i64, i1} GET(ptr %ctx, ptr %a, ptr %b, ptr %to)
  call void @jl.leave(ptr %ctx)
  %raised = extractvalue {i64, i1} %r, 1
  br i1 %raised, label %raise, label %look
look:
  %status = extractvalue {i64, i1} %r, 0
  %done = icmp eq i64 %status, DONE
  br i1 %done, label %give, label %none
give:
  %t = load ptr, ptr %to
  %o = call ptr WRAP(ptr %t)
  ret ptr %o
raise:
  call void @jl.host.raise(ptr %ctx)
  br label %none
none:
  ret ptr null
}

define i32 @native.assign(ptr %a, ptr %b, ptr %c) {
  %ctx = call ptr @jl.enter()
  %r = call {i64, i1} SET(ptr %ctx, ptr %a, ptr %b, ptr %c)
  call void @jl.leave(ptr %ctx)
  %raised = extractvalue {i64, i1} %r, 1
  br i1 %raised, label %raise, label %look
look:
  %status = extractvalue {i64, i1} %r, 0
  %done = icmp eq i64 %status, DONE
  %answer = select i1 %done, i32 0, i32 -1
  ret i32 %answer
raise:
  call void @jl.host.raise(ptr %ctx)
  ret i32 -1
}
"""

_OVER = """
define ptr @over.array(ptr %a) {
  %ctx = call ptr @jl.enter()
  %r = call {ptr, i1} OVER(ptr %ctx, ptr %a)
  call void @jl.leave(ptr %ctx)
  %raised = extractvalue {ptr, i1} %r, 1
  br i1 %raised, label %raise, label %done
done:
  %o = extractvalue {ptr, i1} %r, 0
  ret ptr %o
raise:
  call void @jl.host.raise(ptr %ctx)
  ret ptr null
}
"""
# Subscripts are much code: their slots lead to what `load_subscripts` has put into cells, and to Python before that, and where that has no answer.
_SUBSCRIPT_ENTRIES = """
define ptr @slot.subscript(ptr %a, ptr %b) {
  %f = load ptr, ptr @jl.slot.native.get
  %later = icmp eq ptr %f, null
  br i1 %later, label %other, label %go
go:
  %r = call ptr %f(ptr %a, ptr %b)
  %none = icmp eq ptr %r, null
  br i1 %none, label %other, label %done
done:
  ret ptr %r
other:
  %s = call ptr @ask(ptr @"jl.slot.method.__getitem__", ptr %a, ptr %b, ptr null, i64 2)
  ret ptr %s
}

define i32 @slot.assign(ptr %a, ptr %b, ptr %c) {
  %delete = icmp eq ptr %c, null
  br i1 %delete, label %remove, label %look
remove:
  %d = call ptr @ask(ptr @"jl.slot.method.__delitem__", ptr %a, ptr %b, ptr null, i64 2)
  br label %fail
look:
  %f = load ptr, ptr @jl.slot.native.set
  %later = icmp eq ptr %f, null
  br i1 %later, label %other, label %go
go:
  %r = call i32 %f(ptr %a, ptr %b, ptr %c)
  %set = icmp eq i32 %r, 0
  br i1 %set, label %done, label %other
other:
  %s = call ptr @ask(ptr @"jl.slot.method.__setitem__", ptr %a, ptr %b, ptr %c, i64 3)
  %failed = icmp eq ptr %s, null
  br i1 %failed, label %fail, label %drop
drop:
  call void @Py_DecRef(ptr %s)
  br label %done
done:
  ret i32 0
fail:
  ret i32 -1
}
"""


def _cell(method: str) -> str:
    return f"jl.slot.method.{method}"


def _function(kind: str, symbol: str, parameters: int, callee: str, passed: int, nothing: str, method: str) -> str:
    """A function that gives the kernel's answer or, where that is `nothing`, asks the Python method."""
    given, names = (", ".join(f"ptr %{x}" for x in "abc"[:n]) for n in (parameters, passed))
    asked = ", ".join(f"ptr %{x}" if i < passed else "ptr null" for i, x in enumerate("abc"))
    answer = "ret ptr %s" if kind == "ptr" else f"ret {kind} {nothing}"
    return f"""define {kind} @"{symbol}"({given}) {{
  %r = call {kind} {callee}({names})
  %none = icmp eq {kind} %r, {nothing}
  br i1 %none, label %other, label %done
done:
  ret {kind} %r
other:
  %s = call ptr @ask(ptr @"{_cell(method)}", {asked}, i64 {passed})
  {answer}
}}"""


def _module() -> Any:
    """A module in which the texts above can be."""
    from jitlang.codegen.module import Module
    from jitlang.codegen.script.entry import prelude

    module = Module()
    prelude(module)
    for name, signature in (("PyErr_Occurred", "ptr ()"), ("PyObject_Vectorcall", "ptr (ptr, ptr, i64, ptr)"), ("Py_DecRef", "void (ptr)")):
        module.declare(name, signature)
    module.declare("jl.host.raise", "void (ptr)")
    module.external("_Py_NoneStruct")
    for method in _PYTHON:
        module.external(_cell(method), 8)
    for cell in _NATIVE_CELLS:
        module.external(cell, 8)
    return module


def _text(module: Any, parts: list[str], words: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The module's text with `parts`, in which words stand for kernels and constants, and what linking needs."""
    from jitlang.codegen.kernels import metadata_of, reference

    body = "\n".join(parts)
    for word, meant in words.items():
        name = str(meant) if isinstance(meant, int) else reference(module, meant[0].instance(*meant[1:]))
        body = body.replace(f" {word}", f" {name}")
    module.functions["slots"] = body
    return module.text(), metadata_of(module)


def _build() -> tuple[str, dict[str, Any]]:
    """All but the subscripts."""
    from jitlang.codegen.kernels import reference

    module = _module()

    def callee(kernel: Any, *types: Any) -> str:
        return reference(module, kernel.instance(*types))

    parts = [_ASK]
    for name, kernel in _GETTERS.items():
        parts.append(f'define ptr @"get.{name}"(ptr %a, ptr %b) {{\n  %r = call ptr {callee(kernel, _OBJECT)}(ptr %a)\n  ret ptr %r\n}}')
    for name, kernel in _METHODS.items():
        parts.append(_function("ptr", f"call.{name}", 2, callee(kernel, _OBJECT), 1, "null", name))
    for name, kernel in _CALLED.items():
        parts.append(_function("ptr", f"call.{name}", 3, callee(kernel, _OBJECT, _OBJECT, _OBJECT), 3, "null", name))
    for slot, (kernel, method) in _OBJECTS.items():
        parts.append(_function("ptr", slot, 1, callee(kernel, _OBJECT), 1, "null", method))
    for slot, (kernel, kind, method) in _ANSWERS.items():
        parts.append(_function(kind, slot, 1, callee(kernel, _OBJECT), 1, "-1", method))
    return _text(module, [*parts, _SUBSCRIPT_ENTRIES], {})


def _build_subscripts() -> tuple[str, dict[str, Any]]:
    words = {
        "GET": (subscripts.get_item, _OBJECT, _OBJECT, Pointer(objects.Tensor)),
        "SET": (subscripts.set_item, _OBJECT, _OBJECT, _OBJECT),
        "WRAP": (objects.wrapped, objects.Tensor),
        "DONE": DONE,
    }
    return _text(_module(), [_SUBSCRIPTS], words)


def _build_over() -> tuple[str, dict[str, Any]]:
    return _text(_module(), [_OVER], {"OVER": (buffers.tensor_over, _OBJECT)})


@functools.cache
def load_subscripts() -> None:
    """Has subscripts done natively from now on; Python's first subscript asks for it."""
    from jitlang.codegen.kernels import link

    code, metadata, _ = cache.cached_object(["tensor subscripts"], _build_subscripts, level=2)
    linked = link(code, metadata, ["native.subscript", "native.assign"])
    for cell, symbol in zip(_NATIVE_CELLS, ("native.subscript", "native.assign"), strict=True):
        ctypes.c_void_p.from_address(host.shared_cell(cell, 8)).value = linked[symbol]


@functools.cache
def over_array() -> Any:
    """The native `buffers.tensor_over`."""
    from jitlang.codegen.kernels import link

    code, metadata, _ = cache.cached_object(["tensors over arrays"], _build_over, level=2)
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(link(code, metadata, ["over.array"])["over.array"])


class _Getter(ctypes.Structure):
    _fields_ = [(n, ctypes.c_char_p if n in ("name", "doc") else ctypes.c_void_p) for n in ("name", "get", "set", "doc", "closure")]


class _Method(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


def addresses() -> dict[str, int]:
    """The slots' addresses."""
    from jitlang.codegen.kernels import link

    code, metadata, _ = cache.cached_object(["tensor attributes"], _build, level=2)
    plain = [*_OBJECTS, *_ANSWERS]
    exports = [*plain, *_SUBSCRIPT_SLOTS.values(), *(f"get.{n}" for n in _GETTERS), *(f"call.{n}" for n in (*_METHODS, *_CALLED))]
    linked = link(code, metadata, exports)

    getters = [_Getter(n.encode(), linked[f"get.{n}"], None, k.__doc__.encode(), None) for n, k in _GETTERS.items()]
    methods = [
        _Method(n.encode(), linked[f"call.{n}"], flags, k.__doc__.encode())
        for made, flags in ((_METHODS, _NOARGS), (_CALLED, _VARARGS | _KEYWORDS))
        for n, k in made.items()
    ]
    tables = ((_Getter * (len(getters) + 1))(*getters), (_Method * (len(methods) + 1))(*methods))
    _kept.append(tables)
    found = {slot: linked[slot] for slot in plain} | {slot: linked[symbol] for slot, symbol in _SUBSCRIPT_SLOTS.items()}
    return {**found, "tp_getset": ctypes.addressof(tables[0]), "tp_methods": ctypes.addressof(tables[1])}


def fill(handle: Any, methods: type, size: type) -> None:
    """Fills the cells, and the table of objects that native code needs.

    Args:
        handle: the native type of tensors.
        methods: the class with the Python methods.
        size: the type of shapes.
    """
    for name in _PYTHON:
        host.object_cell(_cell(name), getattr(methods, name))
    layout: Any = objects.Faces
    faces = ctypes_type(layout).from_address(objects.FACES.address)
    faces.tensor, faces.wrap, faces.size, faces.cpu = id(handle.type), handle.wrap, id(size), id(CPU)
    faces.slice, faces.ellipsis = id(slice), id(Ellipsis)
