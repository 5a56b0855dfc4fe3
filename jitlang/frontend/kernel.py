"""Declarations of the kernel language: ``@kernel``, ``@struct``, `extern`, `shared`, types and intrinsics.

See ``docs/kernels.md``. In: Python functions. Out: `Kernel` objects, whose `Instance` for given argument types is an
IR graph (`jitlang.frontend.kernel_emitter`) that the code generator compiles.
"""

from __future__ import annotations

import dataclasses
import threading
import types as pytypes
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from jitlang.errors import CompileError
from jitlang.ir.graph import Graph
from jitlang.types import (
    B1,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    VOID,
    ArrayType,
    Machine,
    OptionalType,
    Pointer,
    StructType,
    TupleType,
    Type,
)

if TYPE_CHECKING:
    from jitlang.frontend.emitter import Static

i8, i16, i32, i64, i128, u8, u16, u32, u64 = I8, I16, I32, I64, I128, U8, U16, U32, U64
f32, f64, b1, void = F32, F64, B1, VOID


class _Indexable:
    def __init__(self, make: Callable[[Any], Type]) -> None:
        self._make = make

    def __getitem__(self, item: Any) -> Type:
        return self._make(item)


def _pointer(item: Any) -> Type:
    return Pointer(ForwardStruct(item) if isinstance(item, str) else item)


@dataclasses.dataclass(frozen=True)
class ForwardStruct(Type):
    """The name of a struct that is declared later in the same class body or module."""

    name: str


ptr = _Indexable(_pointer)
array = _Indexable(lambda item: ArrayType(item[0], item[1]))


def struct(cls: type) -> Any:
    """Declares a struct: the annotations of `cls`, in order, are its fields. ``ptr["Name"]`` may point to itself."""
    made = StructType(cls.__name__)
    for name, annotation in cls.__annotations__.items():
        field = annotation if isinstance(annotation, Type) else eval(annotation, vars(__import__("sys").modules[cls.__module__]), {cls.__name__: made})
        if isinstance(field, Pointer) and isinstance(field.element, ForwardStruct):
            if field.element.name != made.name:
                raise TypeError(f"struct {made.name}: field {name} points to the unknown struct {field.element.name}")
            field = Pointer(made)
        made.fields[name] = field
    return made


@dataclasses.dataclass(frozen=True, eq=False)
class Extern:
    """A C function of the process."""

    name: str
    arguments: tuple[Type, ...]
    result: Type


def extern(name: str, arguments: Sequence[Type], result: Type = VOID) -> Any:
    """Declares the C function `name`."""
    return Extern(name, tuple(arguments), result)


@dataclasses.dataclass(frozen=True, eq=False)
class Shared:
    """A zero-initialised piece of process memory, one for each `name`; `resolve` gives its address in this process."""

    name: str
    type: Type
    resolver: list[Callable[[str, int], int]] = dataclasses.field(default_factory=lambda: SHARED_RESOLVER)

    @property
    def address(self) -> int:
        """Where it is."""
        return self.resolver[0](self.name, size_of(self.type))


_emission = threading.RLock()
SHARED_RESOLVER: list[Callable[[str, int], int]] = []


def shared(name: str, type: Type) -> Any:
    """Declares shared memory of that name and type."""
    return Shared(name, type)


@dataclasses.dataclass(frozen=True)
class Intrinsic:
    """A function that the kernel emitter knows by name."""

    name: str

    def __call__(self, *_: Any) -> Any:
        raise TypeError(f"{self.name}() can be called in kernels only")


def _intrinsics(*names: str) -> list[Any]:
    return [Intrinsic(n) for n in names]


(sqrt, fabs, floor, ceil, trunc, rint, copysign, fma, fmin, fmax) = _intrinsics(
    "sqrt", "fabs", "floor", "ceil", "trunc", "rint", "copysign", "fma", "fmin", "fmax"
)
(minimum, maximum, ctlz, cttz, popcount, bswap, mulhi) = _intrinsics("minimum", "maximum", "ctlz", "cttz", "popcount", "bswap", "mulhi")
(udiv, urem, sdiv, srem) = _intrinsics("udiv", "urem", "sdiv", "srem")
(select, bitcast, cast, null, address, pointer, addr, sizeof, local, typeof) = _intrinsics(
    "select", "bitcast", "cast", "null", "address", "pointer", "addr", "sizeof", "local", "typeof"
)
(memcpy, memmove, memset, prefetch) = _intrinsics("memcpy", "memmove", "memset", "prefetch")
(atomic_add, atomic_load, atomic_store, atomic_cas) = _intrinsics("atomic_add", "atomic_load", "atomic_store", "atomic_cas")
(likely, unlikely, unreachable, context, function_pointer, call_pointer, math_call) = _intrinsics(
    "likely", "unlikely", "unreachable", "context", "function_pointer", "call_pointer", "math_call"
)
(check, fail, text, has, get, unrolled, failed) = _intrinsics("check", "fail", "text", "has", "get", "unrolled", "failed")


class Instance:
    """A kernel specialised for argument types (and static arguments).

    `graph` is emitted on first use; `raises` says whether it may record an error; `callees` are the instances that it
    calls, `shared` and `externs` the process symbols that it needs.
    """

    def __init__(self, kernel: Kernel, arguments: tuple[Any, ...]) -> None:
        self.kernel = kernel
        self.arguments = arguments
        self._graph: Graph | None = None
        self.raises = False
        self.emitting = False

    @property
    def symbol(self) -> str:
        """The name of the compiled function."""
        return f"{self.kernel.qualified}<{', '.join(_mangled(a) for a in self.arguments)}>"

    @property
    def types(self) -> list[Type]:
        """The types of the run-time parameters."""
        return [a for a in self.arguments if isinstance(a, Type)]

    @property
    def graph(self) -> Graph:
        """The IR."""
        if self._graph is None:
            from jitlang.frontend.kernel_emitter import emit_instance  # the emitter imports this module

            with _emission:  # the background compiler and the main thread may ask for the same kernel
                if self._graph is None:
                    self._graph = emit_instance(self)
        return self._graph

    @property
    def result(self) -> Type:
        """The result type."""
        return self.graph.result


def _mangled(argument: Any) -> str:
    from jitlang.frontend.emitter import Static

    if not isinstance(argument, Static):
        return str(argument)
    value = argument.value
    if isinstance(value, Kernel):
        return value.qualified
    if isinstance(value, Instance):
        return value.symbol
    return str(value) if isinstance(value, Type) else repr(value)


class Kernel:
    """A kernel: a Python function in the kernel language. Made by ``@kernel``."""

    runner: Callable[[Kernel, tuple[Any, ...]], Any] | None = None  # set by the code generator

    def __init__(self, function: pytypes.FunctionType, *, extern: bool = False, inline: str = "", fast_path: bool = False) -> None:
        self.function = function
        self.extern = extern
        self.inline = inline
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.qualified = f"{function.__module__.removeprefix('jitlang.')}.{function.__qualname__.replace('<locals>.', '')}"
        self._instances: dict[tuple[Any, ...], Instance] = {}

    def instance(self, *arguments: Type | Static) -> Instance:
        """The instance for these argument types and static arguments, in the order of the parameters."""
        key = tuple(a if isinstance(a, Type) else ("static", type(a.value).__name__, _key(a.value)) for a in arguments)
        found = self._instances.get(key)
        if found is None:
            found = self._instances[key] = Instance(self, arguments)
        return found

    def __call__(self, *arguments: Any) -> Any:
        """Compiles and runs the kernel on Python numbers and addresses."""
        if Kernel.runner is None:
            raise CompileError("the code generator is not loaded")
        return Kernel.runner(self, arguments)

    def __repr__(self) -> str:
        return f"<kernel {self.qualified}>"


def _key(value: Any) -> Any:
    if isinstance(value, float):
        return repr(value)  # -0.0 and nan are keys of their own
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def kernel(function: Any = None, *, extern: bool = False, inline: str = "") -> Any:
    """Declares a kernel; see ``docs/kernels.md``."""
    if function is None:
        return lambda f: Kernel(f, extern=extern, inline=inline)
    return Kernel(function, extern=extern, inline=inline)


def size_of(type: Type) -> int:
    """Bytes that a value of `type` takes in memory, by the C rules of 64-bit targets."""
    return _layout(type)[0]


def align_of(type: Type) -> int:
    """The alignment of `type`."""
    return _layout(type)[1]


def _layout(type: Type) -> tuple[int, int]:
    if isinstance(type, Machine):
        return type.size, type.size
    if isinstance(type, Pointer):
        return 8, 8
    if isinstance(type, ArrayType):
        size, align = _layout(type.element)
        return size * type.length, align
    if isinstance(type, StructType):
        return _fields_layout(type.fields.values())
    if isinstance(type, TupleType):
        return _fields_layout(type.elements or (U8,))
    if isinstance(type, OptionalType):
        return _fields_layout((B1, type.element))
    raise TypeError(f"{type} has no layout")


def _fields_layout(fields: Iterable[Type]) -> tuple[int, int]:
    at, align = 0, 1
    for field in fields:
        size, a = _layout(field)
        at = (at + a - 1) // a * a + size
        align = max(align, a)
    return (at + align - 1) // align * align, align


def offset_of(type: StructType, name: str) -> int:
    """The offset of a field, in bytes."""
    at = 0
    for field, field_type in type.fields.items():
        size, align = _layout(field_type)
        at = (at + align - 1) // align * align
        if field == name:
            return at
        at += size
    raise KeyError(name)
