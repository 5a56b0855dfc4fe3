"""The type lattice, of scripts and of kernels.

Types are immutable values compared by structure (classes by name). ``str(type)`` is the text form that
``grammar/types.lark`` reads back. The script types are those a user sees (`INT`, `FLOAT`, `TensorType` …); the
machine types (`I64`, `F32`, `Pointer` …) appear only in kernels. A script `int` is a checked 64-bit integer, a
kernel `i64` wraps: the same bits under other laws, hence two types.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar


@dataclasses.dataclass(frozen=True)
class DType:
    """The element type of a tensor. `code` is its number in native code and in archives; never renumber."""

    name: str
    code: int
    itemsize: int
    kind: str  # 'b' bool, 'u' unsigned, 'i' signed, 'f' floating point

    @property
    def is_floating_point(self) -> bool:
        """Whether elements are floating-point numbers."""
        return self.kind == "f"

    def __repr__(self) -> str:
        return f"jitlang.{self.name}"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (dtype_named, (self.name,))


DTYPES: tuple[DType, ...] = (
    DType("uint8", 0, 1, "u"),
    DType("int32", 3, 4, "i"),
    DType("int64", 4, 8, "i"),
    DType("float32", 6, 4, "f"),
    DType("float64", 7, 8, "f"),
    DType("bool", 11, 1, "b"),
)
_BY_NAME = {d.name: d for d in DTYPES} | {"float": DTYPES[3], "double": DTYPES[4], "long": DTYPES[2], "int": DTYPES[1]}
_BY_CODE = {d.code: d for d in DTYPES}


def dtype_named(name: str) -> DType:
    """The dtype of that name (`float`, `double`, `int`, `long` are PyTorch's aliases); KeyError where there is none."""
    return _BY_NAME[name]


# Python's classes as dtypes, as PyTorch takes them: ``zeros(2, dtype=float)`` holds float64.
CLASS_DTYPES: dict[type, DType] = {bool: _BY_NAME["bool"], int: _BY_NAME["int64"], float: _BY_NAME["float64"]}


def dtype_coded(code: int) -> DType:
    """The dtype with that native code; KeyError where there is none."""
    return _BY_CODE[code]


class Type:
    """Base class of all types."""

    def children(self) -> tuple[Type, ...]:
        """The types this type is built of."""
        return ()

    def walk(self) -> Iterator[Type]:
        """This type and everything inside it, outermost first."""
        yield self
        for child in self.children():
            yield from child.walk()


@dataclasses.dataclass(frozen=True)
class _Simple(Type):
    name: str

    def __str__(self) -> str:
        return self.name


INT = _Simple("int")
FLOAT = _Simple("float")
BOOL = _Simple("bool")
STR = _Simple("str")
NONE = _Simple("None")
DTYPE = _Simple("dtype")
DEVICE = _Simple("device")
SCALAR = _Simple("Scalar")  # in operator schemas only: an int, a float or a bool
SLICE = _Simple("slice")
NEVER = _Simple("Never")  # the type of an expression that does not return
ANY = _Simple("Any")  # in operator schemas only: a value of whatever type


# The Python class whose instances, and only they, are the values of a type.
PYTHON_CLASSES: dict[Type, type] = {INT: int, FLOAT: float, BOOL: bool, STR: str, NONE: type(None)}


@dataclasses.dataclass(frozen=True)
class TensorType(Type):
    """A tensor; None stands for "not known until run time". The device is "cpu" or "cuda"."""

    dtype: DType | None = None
    rank: int | None = None
    device: str | None = None

    def __str__(self) -> str:
        if self == TENSOR:
            return "Tensor"
        parts = [self.dtype.name if self.dtype else "*", "*" if self.rank is None else str(self.rank)]
        return f"Tensor[{', '.join(parts + ([self.device] if self.device else []))}]"


TENSOR = TensorType()


@dataclasses.dataclass(frozen=True)
class ListType(Type):
    """``List[element]``."""

    element: Type

    def children(self) -> tuple[Type, ...]:
        return (self.element,)

    def __str__(self) -> str:
        return f"List[{self.element}]"


@dataclasses.dataclass(frozen=True)
class DictType(Type):
    """``Dict[key, value]``, in insertion order."""

    key: Type
    value: Type

    def children(self) -> tuple[Type, ...]:
        return (self.key, self.value)

    def __str__(self) -> str:
        return f"Dict[{self.key}, {self.value}]"


@dataclasses.dataclass(frozen=True)
class SetType(Type):
    """``Set[element]``."""

    element: Type

    def children(self) -> tuple[Type, ...]:
        return (self.element,)

    def __str__(self) -> str:
        return f"Set[{self.element}]"


@dataclasses.dataclass(frozen=True)
class TupleType(Type):
    """``Tuple[a, b, …]``; with `name` and `fields`, a NamedTuple class of that name."""

    elements: tuple[Type, ...]
    name: str = ""
    fields: tuple[str, ...] = ()

    def children(self) -> tuple[Type, ...]:
        return self.elements

    def __str__(self) -> str:
        if self.name:
            inner = ", ".join(f"{f}: {e}" for f, e in zip(self.fields, self.elements, strict=True))
            return f"NamedTuple[{self.name}]({inner})"
        return f"Tuple[{', '.join(map(str, self.elements)) or '()'}]"


@dataclasses.dataclass(frozen=True)
class OptionalType(Type):
    """``Optional[element]``; never nested, never of None."""

    element: Type

    def children(self) -> tuple[Type, ...]:
        return (self.element,)

    def __str__(self) -> str:
        return f"Optional[{self.element}]"


@dataclasses.dataclass(eq=False)
class ClassType(Type):
    """A script class or module: nominal, one object per class and attribute types.

    `attributes` maps names to types in order; the frontend fills it while it compiles ``__init__`` and freezes it
    then. `python` is the Python class (None for one that came from an archive). `revision` counts the changes of `attributes` after programs may have
    been made: those made before no longer fit. `missing` are the attributes that an object may lack: they are Optionals here, None while they are missing.
    """

    name: str
    attributes: dict[str, Type] = dataclasses.field(default_factory=dict)
    python: type | None = None
    is_module: bool = False
    is_enum: bool = False
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    missing: set[str] = dataclasses.field(default_factory=set)
    revision: int = 0

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"ClassType({self.name})"


@dataclasses.dataclass(frozen=True)
class TypeVariable(Type):
    """In operator schemas: stands for one type, the same wherever it occurs (``t``, ``k``, ``v``)."""

    name: str

    def __str__(self) -> str:
        return self.name


def rebuilt(kind: Type, change: Callable[[Type], Type]) -> Type:
    """A script type with `change` applied to it and to all inside it, innermost first. Attributes of classes are not inside."""
    if isinstance(kind, ListType | SetType | OptionalType):
        kind = type(kind)(rebuilt(kind.element, change))
    elif isinstance(kind, DictType):
        kind = DictType(rebuilt(kind.key, change), rebuilt(kind.value, change))
    elif isinstance(kind, TupleType):
        kind = TupleType(tuple(rebuilt(e, change) for e in kind.elements), kind.name, kind.fields)
    return change(kind)


# ---- machine types: kernels only ----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Machine(Type):
    """A sized machine number: kind 'i' signed, 'u' unsigned, 'f' floating point, 'b' one bit."""

    name: str
    bits: int
    kind: str

    def __str__(self) -> str:
        return self.name

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return max(1, self.bits // 8)


I8, I16, I32, I64 = (Machine(f"i{n}", n, "i") for n in (8, 16, 32, 64))
U8, U16, U32, U64 = (Machine(f"u{n}", n, "u") for n in (8, 16, 32, 64))
I128 = Machine("i128", 128, "i")
F32, F64 = Machine("f32", 32, "f"), Machine("f64", 64, "f")
B1 = Machine("b1", 1, "b")
VOID = _Simple("void")
MACHINE_TYPES: dict[str, Type] = {t.name: t for t in (I8, I16, I32, I64, I128, U8, U16, U32, U64, F32, F64, B1)}


@dataclasses.dataclass(frozen=True)
class Pointer(Type):
    """``ptr[element]``; `ptr[u8]` is the pointer to anything."""

    element: Type

    def children(self) -> tuple[Type, ...]:
        # A struct may point to itself: its fields are no part of the pointer.
        return () if isinstance(self.element, StructType) else (self.element,)

    def __str__(self) -> str:
        return f"ptr[{self.element}]"


@dataclasses.dataclass(eq=False)
class StructType(Type):
    """A C struct, compared by identity; fields are laid out as the C compiler of the target does. `named` holds all, by name."""

    named: ClassVar[dict[str, StructType]] = {}
    name: str
    fields: dict[str, Type] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        self.named[self.name] = self

    def __str__(self) -> str:
        return self.name


@dataclasses.dataclass(frozen=True)
class ArrayType(Type):
    """``array[element, length]``: a fixed number of elements inline in a struct."""

    element: Type
    length: int

    def children(self) -> tuple[Type, ...]:
        return (self.element,)

    def __str__(self) -> str:
        return f"array[{self.element}, {self.length}]"


def machine_type(dtype: DType) -> Machine:
    """The machine type of one element of a tensor of that dtype (bool is a u8 that holds 0 or 1)."""
    table = {"uint8": U8, "bool": U8, "int32": I32, "int64": I64, "float32": F32, "float64": F64}
    return table[dtype.name]


# ---- the lattice --------------------------------------------------------------------------------------------------


def optional(element: Type) -> Type:
    """``Optional[element]``, flattened: of None it is None, of an Optional it is that Optional."""
    return element if isinstance(element, OptionalType) or element == NONE else OptionalType(element)


def is_subtype(a: Type, b: Type) -> bool:
    """Whether a value of type `a` is, with its bits unchanged, a value of type `b`.

    Only refinement of tensors is subtyping; int → float, T → Optional[T] are conversions (`frontend`).
    """
    if a == b or a == NEVER:
        return True
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return all(y is None or x == y for x, y in ((a.dtype, b.dtype), (a.rank, b.rank), (a.device, b.device)))
    if isinstance(a, OptionalType) and isinstance(b, OptionalType):
        return is_subtype(a.element, b.element)
    if isinstance(a, TupleType) and isinstance(b, TupleType):
        same = a.name == b.name or not b.name
        return same and len(a.elements) == len(b.elements) and all(map(is_subtype, a.elements, b.elements))
    # Containers are mutable, hence invariant; the exception is what a container of tensors says of their dtype.
    if isinstance(a, ListType) and isinstance(b, ListType):
        return isinstance(a.element, TensorType) and is_subtype(a.element, b.element)
    if isinstance(a, DictType) and isinstance(b, DictType):
        return a.key == b.key and isinstance(a.value, TensorType) and is_subtype(a.value, b.value)
    return False


def join(a: Type, b: Type) -> Type | None:
    """The least type that values of both types convert to at a merge of control flow, or None.

    join(int, None) = Optional[int]; join(Tensor[float32, 2], Tensor[float32, 3]) = Tensor[float32, *]. Numbers of
    different types do not join: Python would keep each value's own type.
    """
    if is_subtype(a, b):
        return b
    if is_subtype(b, a):
        return a
    if a == NONE or b == NONE:
        return optional(b if a == NONE else a)
    if isinstance(a, OptionalType) or isinstance(b, OptionalType):
        inner = join(*(t.element if isinstance(t, OptionalType) else t for t in (a, b)))
        return None if inner is None else optional(inner)
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return TensorType(
            a.dtype if a.dtype == b.dtype else None,
            a.rank if a.rank == b.rank else None,
            a.device if a.device == b.device else None,
        )
    if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a.elements) == len(b.elements) and a.name == b.name:
        joined = [join(x, y) for x, y in zip(a.elements, b.elements, strict=True)]
        return None if None in joined else TupleType(tuple(t for t in joined if t is not None), a.name, a.fields)
    if isinstance(a, ListType) and isinstance(b, ListType) and isinstance(a.element, TensorType):
        inner = join(a.element, b.element) if isinstance(b.element, TensorType) else None
        return None if inner is None else ListType(inner)
    return None
