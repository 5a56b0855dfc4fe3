"""Calls of operators from Python: which row fits the arguments, and how they are handed to its native kernel.

In: rows of one kind, Python arguments. Out: Python results. This is the way of calls that nobody has compiled; the compiled
way (`callables.make_callable`) must pick the same row.
"""

from __future__ import annotations

import collections
import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

from jitlang.frontend.emitter import Static
from jitlang.registry import Operator
from jitlang.schema import MISSING, Argument
from jitlang.tensor.handles import Tensor, pointer_of, take
from jitlang.tensor.layout import IntList, TensorImpl
from jitlang.types import (
    B1,
    BOOL,
    DEVICE,
    DTYPE,
    F64,
    FLOAT,
    I64,
    INT,
    SCALAR,
    STR,
    DType,
    ListType,
    OptionalType,
    Pointer,
    TensorType,
    TupleType,
    Type,
    dtype_coded,
)

_TENSOR, _LIST = Pointer(TensorImpl), Pointer(IntList)
_Lowered = tuple[Any, Any, Any]  # the type (or Static) that the kernel is specialised for, the value, what to keep alive


class NoMatchError(TypeError):
    """The arguments do not fit a row."""


# ---- values -------------------------------------------------------------------------------------------------------


def _is_int(value: Any) -> bool:
    return type(value) is int or (hasattr(value, "__index__") and not isinstance(value, bool | Tensor | float))


def fits(value: Any, kind: Type, broadcast: int = 0) -> bool:
    """Whether a Python value may be passed for a parameter of that type."""
    if isinstance(kind, OptionalType):
        return value is None or fits(value, kind.element, broadcast)
    if isinstance(kind, TensorType):
        return isinstance(value, Tensor)
    if isinstance(kind, ListType):
        if broadcast and fits(value, kind.element):
            return True
        return isinstance(value, list | tuple) and all(fits(v, kind.element) for v in value)
    test = _FITS.get(kind)
    return test is not None and test(value)


_FITS: dict[Type, Callable[[Any], bool]] = {
    INT: _is_int,
    FLOAT: lambda v: isinstance(v, int | float) or _is_int(v),
    BOOL: lambda v: isinstance(v, bool),
    SCALAR: lambda v: isinstance(v, int | float) or _is_int(v),
    STR: lambda v: isinstance(v, str),
    DTYPE: lambda v: isinstance(v, DType),
    DEVICE: lambda v: isinstance(v, str) or hasattr(v, "type"),
}


def _list_struct(data: int, length: int) -> Any:
    from jitlang.native.layouts import ctypes_type

    made = ctypes_type(IntList)()
    made.references = 1 << 40
    made.length = made.capacity = length
    made.data = data
    return made


def _lower_list(value: Any, kind: ListType, broadcast: int) -> _Lowered:
    if not isinstance(value, list | tuple):
        value = [value] * broadcast
    count = max(1, len(value))
    if isinstance(kind.element, TensorType):
        room: Any = (ctypes.c_void_p * count)(*(pointer_of(v) for v in value))
    elif isinstance(kind.element, OptionalType):
        room = (ctypes.c_void_p * count)(*(None if v is None else pointer_of(v) for v in value))
    elif kind.element == FLOAT:
        room = (ctypes.c_double * count)(*value)
    elif kind.element == BOOL:
        room = (ctypes.c_int8 * count)(*value)
    else:
        room = (ctypes.c_int64 * count)(*(_int64(v) for v in value))
    made = _list_struct(ctypes.addressof(room), len(value))
    return _LIST, ctypes.addressof(made), (made, room, value)


def _int64(value: Any) -> int:
    number = value.__index__()
    if not -(2**63) <= number < 2**63:
        raise OverflowError(f"{number} does not fit in 64 bits")
    return int(number)


def _lower_number(value: Any) -> _Lowered:
    if isinstance(value, bool):
        return B1, value, None
    if isinstance(value, float):
        return F64, value, None
    return I64, _int64(value), None


def lower(value: Any, kind: Type, broadcast: int = 0) -> _Lowered:
    """A value as the kernel takes it."""
    if value is None:
        return Static(None), None, None
    if isinstance(kind, OptionalType):
        return lower(value, kind.element, broadcast)
    if isinstance(kind, TensorType):
        return _TENSOR, pointer_of(value), value
    if isinstance(kind, ListType):
        return _lower_list(value, kind, broadcast)
    if kind == FLOAT:
        return F64, float(value), None
    if kind == DTYPE:
        return I64, value.code, None
    if kind in (STR, DEVICE):
        return Static(str(value)), None, None
    return _lower_number(value)


# ---- binding ------------------------------------------------------------------------------------------------------


def _spread(arguments: Sequence[Argument], args: Sequence[Any]) -> Sequence[Any]:
    """``view(2, 3)`` as ``view([2, 3])``."""
    for at, argument in enumerate(arguments):
        if at >= len(args) or argument.keyword_only:
            break
        if argument.type == ListType(INT) and not argument.broadcast and _is_int(args[at]):
            end = at
            while end < len(args) and _is_int(args[end]):
                end += 1
            return [*args[:at], list(args[at:end]), *args[end:]]
    return args


def bind(row: Operator, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The values of all parameters of `row`; NoMatchError where the arguments do not fit."""
    arguments = row.schema.arguments
    args = _spread(arguments, args)
    positional = [a for a in arguments if not a.keyword_only]
    if len(args) > len(positional):
        raise NoMatchError(f"takes {len(positional)} positional arguments, {len(args)} given")
    given = dict(zip((a.name for a in positional), args, strict=False))
    for name, value in kwargs.items():
        if name in given:
            raise NoMatchError(f"got two values for '{name}'")
        given[name] = value
    values = []
    for argument in arguments:
        value = given.pop(argument.name, argument.default)
        if value is MISSING:
            raise NoMatchError(f"is missing the argument '{argument.name}'")
        if argument.name in kwargs or value is not argument.default:
            if not fits(value, argument.type, argument.broadcast):
                raise NoMatchError(f"argument '{argument.name}' must be {argument.type}, not {describe(value)}")
        values.append(value)
    if given:
        raise NoMatchError(f"got an unexpected argument '{next(iter(given))}'")
    return values


def describe(value: Any) -> str:
    """A value's type as messages name it."""
    if isinstance(value, list | tuple):
        return f"{type(value).__name__} of ({', '.join(dict.fromkeys(describe(v) for v in value))})"
    return type(value).__name__


def call(rows: Sequence[Operator], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Calls the first row that fits.

    Raises:
        TypeError: none does; the message lists the rows with the reasons.
    """
    reasons = []
    for row in rows:
        try:
            values = bind(row, args, kwargs)
        except NoMatchError as error:
            reasons.append(f"  {row.text}\n    {error}")
            continue
        return invoke(row, values)
    given = ", ".join([*map(describe, args), *(f"{k}={describe(v)}" for k, v in kwargs.items())])
    raise TypeError(f"{rows[0].name}() has no form for the arguments ({given}):\n" + "\n".join(reasons))


def invoke(row: Operator, values: Sequence[Any]) -> Any:
    """Runs a row's native kernel, or its Python meaning where it has none."""
    if row.native is None:
        assert row.python is not None
        return row.python(*values)
    from jitlang.codegen.kernels import run_instance

    lowered = [lower(v, a.type, a.broadcast) for v, a in zip(values, row.schema.arguments, strict=True)]
    instance = row.native.instance(*_specialised(row, [k for k, _, _ in lowered]))
    runtime = [v for (_, v, _), t in zip(lowered, instance.arguments, strict=True) if isinstance(t, Type)]
    return lift(row, run_instance(instance, runtime), instance.result)


def _specialised(row: Operator, given: list[Any]) -> list[Any]:
    from jitlang.frontend.kernel_emitter import parameter_types

    return [a if a is not None and isinstance(g, Type) else g for a, g in zip(parameter_types(row.native), given, strict=True)]


# ---- results ------------------------------------------------------------------------------------------------------


def lift(row: Operator, value: Any, native: Type) -> Any:
    """The Python value of a native result."""
    returns = row.schema.returns
    if isinstance(native, TupleType):
        parts = [_lift(v, t, r.type) for v, t, r in zip(value, native.elements, returns, strict=True)]
        names = [r.name for r in returns]
        return _named(row.name, tuple(names))(*parts) if all(names) else tuple(parts)
    return _lift(value, native, returns[0].type) if returns else None


@functools.cache
def _named(name: str, fields: tuple[str, ...]) -> Any:
    return collections.namedtuple(name, fields)


def _lift(value: Any, native: Type, kind: Type) -> Any:
    if native == _TENSOR:
        return take(value)
    if native == _LIST:
        return _lift_list(value, kind)
    if kind == BOOL:
        return bool(value)
    return dtype_coded(value) if kind == DTYPE else value


def _lift_list(address: int, kind: Type) -> list[Any]:
    from jitlang.native import host
    from jitlang.native.layouts import ctypes_type

    made = ctypes_type(IntList).from_address(address)
    assert isinstance(kind, ListType)
    if isinstance(kind.element, TensorType):
        items: list[Any] = [take(p) for p in (ctypes.c_void_p * made.length).from_address(made.data)] if made.length else []
    else:
        element: Any = ctypes.c_double if kind.element == FLOAT else ctypes.c_int8 if kind.element == BOOL else ctypes.c_int64
        items = list((element * made.length).from_address(made.data)) if made.length else []
    free = host.process().free
    free.argtypes = [ctypes.c_void_p]
    free(made.data)
    free(address)
    return items
