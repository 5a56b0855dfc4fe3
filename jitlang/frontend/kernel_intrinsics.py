"""What each intrinsic of the kernel language emits; see ``docs/kernels.md``.

In: the emitter and the argument results. Out: the result. One entry an intrinsic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jitlang.errors import ScriptTypeError
from jitlang.frontend.emitter import Result, Static
from jitlang.frontend.kernel import Kernel, size_of
from jitlang.types import B1, F64, I64, U8, VOID, Machine, OptionalType, Pointer, Type

if TYPE_CHECKING:
    from jitlang.frontend.kernel_emitter import KernelEmitter
    from jitlang.ir.graph import Value

Handler = Callable[["KernelEmitter", list[Result]], Result]
INTRINSICS: dict[str, Handler] = {}


def intrinsic(*names: str) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Enters a handler under these names; one that serves several is given the name first."""

    def enter(handler: Callable[..., Result]) -> Callable[..., Result]:
        for name in names:
            INTRINSICS[name] = handler if len(names) == 1 else _named(handler, name)
        return handler

    return enter


def _named(handler: Callable[..., Result], name: str) -> Handler:
    return lambda emitter, arguments: handler(name, emitter, arguments)


def _type(e: KernelEmitter, argument: Result) -> Type:
    if not isinstance(argument, Static) or not isinstance(argument.value, Type):
        e.fail(ScriptTypeError, "expected a type")
    return argument.value


def _same(e: KernelEmitter, arguments: list[Result]) -> list[Value]:
    """The arguments as values of one type; static numbers take the type of the others."""
    types = [a.type for a in arguments if not isinstance(a, Static)]
    if not types:
        types = [F64 if any(isinstance(a.value, float) for a in arguments if isinstance(a, Static)) else I64]
    return [e.coerce(a, types[0], f"argument {i + 1}") for i, a in enumerate(arguments)]


@intrinsic("sqrt", "fabs", "floor", "ceil", "trunc", "rint", "copysign", "fma", "fmin", "fmax")
def _float(name: str, e: KernelEmitter, a: list[Result]) -> Result:
    values = _same(e, a)
    kind = values[0].type
    if not isinstance(kind, Machine) or kind.kind != "f":
        e.fail(ScriptTypeError, f"{name}() takes floats, not {kind}")
    return e.emit("ll::intrinsic", values, (kind,), name=name).output


@intrinsic("minimum", "maximum", "mulhi", "ctlz", "cttz", "popcount", "bswap", "udiv", "urem", "sdiv", "srem")
def _integer(name: str, e: KernelEmitter, a: list[Result]) -> Result:
    values = _same(e, a)
    kind = values[0].type
    if not isinstance(kind, Machine) or kind.kind not in "iu":
        e.fail(ScriptTypeError, f"{name}() takes integers, not {kind}")
    return e.emit("ll::intrinsic", values, (kind,), name=name).output


@intrinsic("select")
def _select(e: KernelEmitter, a: list[Result]) -> Result:
    if isinstance(a[0], Static):
        return a[1] if a[0].value else a[2]
    if isinstance(a[1], Static) and isinstance(a[2], Static):
        values = [e.value(a[1], "argument 2"), e.value(a[2], "argument 3")]
    else:
        values = _same(e, a[1:])
    return e.emit("ll::select", (e.coerce(a[0], B1, "the condition"), *values), (values[0].type,)).output


@intrinsic("bitcast", "cast")
def _bitcast(name: str, e: KernelEmitter, a: list[Result]) -> Result:
    target = _type(e, a[0])
    value = e.value(a[1], "the value")
    return e.emit("ll::bitcast", (value,), (target,)).output


@intrinsic("typeof")
def _typeof(e: KernelEmitter, a: list[Result]) -> Result:
    if isinstance(a[0], Static):
        return Static(type(a[0].value))
    return Static(a[0].type)


@intrinsic("null")
def _null(e: KernelEmitter, a: list[Result]) -> Result:
    return e.emit("ll::null", (), (_type(e, a[0]),)).output


@intrinsic("address")
def _address(e: KernelEmitter, a: list[Result]) -> Result:
    return e.emit("ll::address", (e.value(a[0], "the pointer"),), (I64,)).output


@intrinsic("pointer")
def _pointer(e: KernelEmitter, a: list[Result]) -> Result:
    return e.emit("ll::pointer", (e.coerce(a[1], I64, "the address"),), (_type(e, a[0]),)).output


@intrinsic("addr")
def _addr(e: KernelEmitter, a: list[Result]) -> Result:  # the emitter handles it: its argument is no value
    raise AssertionError


@intrinsic("sizeof")
def _sizeof(e: KernelEmitter, a: list[Result]) -> Result:
    return Static(size_of(_type(e, a[0])))


@intrinsic("local")
def _local(e: KernelEmitter, a: list[Result]) -> Result:
    if not isinstance(a[1], Static):
        e.fail(ScriptTypeError, "local() needs a static length")
    return e.emit("ll::local", (), (Pointer(_type(e, a[0])),), length=int(a[1].value)).output


@intrinsic("memcpy", "memmove", "memset")
def _memory(name: str, e: KernelEmitter, a: list[Result]) -> Result:
    first = e.value(a[0], "the destination")
    second = e.coerce(a[1], U8, "the byte") if name == "memset" else e.value(a[1], "the source")
    e.emit("ll::memory", (first, second, e.coerce(a[2], I64, "the byte count")), name=name)
    return Static(None)


@intrinsic("prefetch")
def _prefetch(e: KernelEmitter, a: list[Result]) -> Result:
    e.emit("ll::prefetch", (e.value(a[0], "the pointer"),))
    return Static(None)


def _pointee(e: KernelEmitter, pointer: Value) -> Type:
    if not isinstance(pointer.type, Pointer):
        e.fail(ScriptTypeError, f"expected a pointer, not {pointer.type}")
    return pointer.type.element


@intrinsic("atomic_add", "atomic_load", "atomic_store", "atomic_cas")
def _atomic(name: str, e: KernelEmitter, a: list[Result]) -> Result:
    pointer = e.value(a[0], "the pointer")
    element = _pointee(e, pointer)
    values = [e.coerce(v, element, "the value") for v in a[1:]]
    node = e.emit("ll::atomic", (pointer, *values), () if name == "atomic_store" else (element,), name=name)
    return node.output if node.outputs else Static(None)


@intrinsic("likely", "unlikely")
def _likely(name: str, e: KernelEmitter, a: list[Result]) -> Result:
    if isinstance(a[0], Static):
        return a[0]
    return e.emit("ll::expect", (a[0],), (B1,), value=name == "likely").output


@intrinsic("unreachable")
def _unreachable(e: KernelEmitter, a: list[Result]) -> Result:
    e.emit("prim::unreachable")
    return Static(None)


@intrinsic("context")
def _context(e: KernelEmitter, a: list[Result]) -> Result:
    e.instance.raises = True
    return e.emit("ll::context", (), (Pointer(U8),)).output


@intrinsic("function_pointer")
def _function_pointer(e: KernelEmitter, a: list[Result]) -> Result:
    if not isinstance(a[0], Static) or not isinstance(a[0].value, Kernel):
        e.fail(ScriptTypeError, "function_pointer() takes a kernel and its argument types")
    chosen = [x if isinstance(x, Static) and not isinstance(x.value, Type) else _type(e, x) for x in a[1:]]
    instance = a[0].value.instance(*chosen)
    return e.emit("ll::function", (), (Pointer(U8),), instance=instance).output


@intrinsic("call_pointer")
def _call_pointer(e: KernelEmitter, a: list[Result]) -> Result:
    result = VOID if isinstance(a[0], Static) and a[0].value is None else _type(e, a[0])
    values = [e.value(v, "the argument") for v in a[1:]]
    node = e.emit("ll::call_pointer", values, () if result == VOID else (result,))
    return node.output if node.outputs else Static(None)


@intrinsic("math_call")
def _math_call(e: KernelEmitter, a: list[Result]) -> Result:
    if not isinstance(a[0], Static):
        e.fail(ScriptTypeError, "math_call() takes a static name")
    return e.emit("ll::extern", [e.coerce(v, F64, "the argument") for v in a[1:]], (F64,), name=a[0].value).output


@intrinsic("has")
def _has(e: KernelEmitter, a: list[Result]) -> Result:
    if isinstance(a[0], Static):
        return Static(a[0].value is not None)
    if not isinstance(a[0].type, OptionalType):
        return Static(True)
    return e.emit("ll::has", (a[0],), (B1,)).output


@intrinsic("get")
def _get(e: KernelEmitter, a: list[Result]) -> Result:
    if isinstance(a[0], Static) or not isinstance(a[0].type, OptionalType):
        return a[0]
    return e.emit("ll::get", (a[0],), (a[0].type.element,)).output


@intrinsic("text")
def _text(e: KernelEmitter, a: list[Result]) -> Result:
    return e.value(a[0], "the text")


def _raise(e: KernelEmitter, a: list[Result]) -> None:
    cls, form, *rest = a
    if not (isinstance(cls, Static) and isinstance(form, Static)):
        e.fail(ScriptTypeError, "the class and the format of an error are static")
    pieces = str(form.value).split("{}")
    if len(pieces) != len(rest) + 1:
        e.fail(ScriptTypeError, f"the format takes {len(pieces) - 1} arguments, {len(rest)} given")
    made = pieces[0]
    values: list[Value] = []
    for argument, piece in zip(rest, pieces[1:], strict=True):
        if isinstance(argument, Static):
            made += str(argument.value).replace("{", "{{").replace("}", "}}") + piece
        else:
            values.append(argument)
            made += "{}" + piece
    e.instance.raises = True
    e.emit("ll::raise", values, cls=str(cls.value), format=made)


@intrinsic("fail")
def _fail(e: KernelEmitter, a: list[Result]) -> Result:
    _raise(e, a)
    return Static(None)


@intrinsic("check")
def _check(e: KernelEmitter, a: list[Result]) -> Result:
    if isinstance(a[0], Static):
        if not a[0].value:
            _raise(e, a[1:])
        return Static(None)
    node: Any = e.emit("prim::If", (e.coerce(a[0], B1, "the condition"),))
    with e.inside(node.add_block()):
        e.emit("prim::yield")
    with e.inside(node.add_block()):
        _raise(e, a[1:])
    return Static(None)
