"""Tensors from Python numbers, lists and arrays: `tensor`."""

from __future__ import annotations

import array
import ctypes
from typing import Any

from jitlang.tensor.callables import operator
from jitlang.tensor.handles import Tensor, impl
from jitlang.types import CLASS_DTYPES, DType, dtype_named

C_TYPES: dict[str, Any] = {
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8,
    "bool": ctypes.c_bool,
}
_NUMBERS = {bool, int, float}
_RANGES = {"int32": (-(2**31), 2**31), "int64": (-(2**63), 2**63), "uint8": (0, 256)}


def new(sizes: tuple[int, ...] | list[int], dtype: DType) -> Any:
    """An uninitialised dense tensor."""
    return operator("empty")(sizes, dtype=dtype)


def elements(tensor: Any) -> Any:
    """The elements of a dense tensor as a ctypes array over its memory, which the tensor must outlive."""
    t = impl(tensor)
    return (C_TYPES[tensor.dtype.name] * t.numel).from_address(t.data)


# ---- from Python --------------------------------------------------------------------------------------------------


def _shape_of(data: Any) -> list[int]:
    shape = []
    while isinstance(data, list | tuple):
        shape.append(len(data))
        if not data:
            break
        data = data[0]
    if isinstance(data, Tensor):
        shape.extend(data.shape)
    return shape


def _flat(data: Any, shape: list[int]) -> list[Any]:
    """The numbers in nested lists of that shape, level by level."""
    level = [data]
    for depth, size in enumerate(shape):
        parts: list[Any] = []
        for part in level:
            if isinstance(part, Tensor):
                part = list(part)
            if not isinstance(part, list | tuple):
                raise TypeError(f"expected a list of {size} at dimension {depth}, found {type(part).__name__}")
            if len(part) != size:
                raise ValueError(f"expected sequence of length {size} at dim {depth} (got {len(part)})")
            parts += part
        level = parts
    if set(map(type, level)) <= _NUMBERS:
        return level
    return [_plain(value, len(shape)) for value in level]


def _dtype_of(values: list[Any]) -> DType:
    kinds = set(map(type, values))
    if not values:
        return dtype_named("float32")
    if kinds == {bool}:
        return dtype_named("bool")
    if kinds <= {bool, int}:
        return dtype_named("int64")
    if kinds <= _NUMBERS:
        return dtype_named("float32")
    wrong = next(v for v in values if type(v) not in _NUMBERS)
    raise TypeError(f"cannot make a tensor of a {type(wrong).__name__}")


def _plain(value: Any, depth: int) -> Any:
    """A NumPy scalar, a tensor of one element or the like as a Python number."""
    if isinstance(value, list | tuple):
        raise ValueError(f"too many dimensions: expected a number at depth {depth}, found a {type(value).__name__}")
    if type(value) in _NUMBERS:
        return value
    if isinstance(value, int | float):
        return int(value) if isinstance(value, int) else float(value)
    if hasattr(value, "item"):
        return value.item()
    return value.__index__() if hasattr(value, "__index__") else value


def _cast(value: Any, dtype: DType) -> Any:
    if dtype.kind == "f":
        return float(value)
    if dtype.kind == "b":
        return bool(value)
    number = int(value)
    low, high = _RANGES[dtype.name]
    if not low <= number < high:
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow: {number}")
    return number


def _packed(values: list[Any], dtype: DType) -> bytes:
    """The values in memory, as the dtype has them."""
    code = "B" if dtype.kind == "b" else C_TYPES[dtype.name]._type_  # the letters of the module array
    try:
        return array.array(code, map(bool, values) if dtype.kind == "b" else values).tobytes()
    except (TypeError, OverflowError, ValueError):  # a float for an int, or a number that does not fit
        return array.array(code, [_cast(v, dtype) for v in values]).tobytes()


def tensor(data: Any, *, dtype: DType | type | None = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A new tensor with the values of a number, of nested lists, of an array or of a tensor.

    Raises:
        ValueError: lists of different lengths stand side by side.
        TypeError: something in them is no number.
        RuntimeError: an integer does not fit the dtype.
    """
    from jitlang.tensor.devices import device as check_device

    if device is not None:
        check_device(device)
    if isinstance(dtype, type):
        if dtype not in CLASS_DTYPES:
            raise TypeError(f"dtype must be a dtype of jitlang, or bool, int or float, not {dtype.__name__}")
        dtype = CLASS_DTYPES[dtype]
    if isinstance(data, Tensor):
        return operator("to")(operator("clone")(data), dtype or data.dtype)
    if hasattr(data, "__array_interface__") and not isinstance(data, int | float):
        from jitlang.tensor.exchange import from_array_copy

        made = from_array_copy(data)
        return made if dtype is None else operator("to")(made, dtype)
    shape = _shape_of(data)
    values = _flat(data, shape)
    kind = dtype or _dtype_of(values)
    made = new(shape, kind)
    if values:
        ctypes.memmove(impl(made).data, _packed(values, kind), len(values) * kind.itemsize)
    return made
