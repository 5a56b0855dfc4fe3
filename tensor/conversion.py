"""Tensors from Python numbers, lists and arrays: `tensor`."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

from jitlang.tensor.callables import operator
from jitlang.tensor.handles import Tensor, impl, take
from jitlang.tensor.kernels.tensors import empty
from jitlang.tensor.layout import MAX_RANK
from jitlang.types import I64, DType, Pointer, dtype_named

C_TYPES: dict[str, Any] = {
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8,
    "bool": ctypes.c_bool,
}
_EMPTY = empty.instance(I64, Pointer(I64), I64)
_RANGES = {"int32": (-(2**31), 2**31), "int64": (-(2**63), 2**63), "uint8": (0, 256)}


def new(sizes: tuple[int, ...] | list[int], dtype: DType) -> Any:
    """An uninitialised dense tensor."""
    from jitlang.codegen.kernels import run_instance

    room = (ctypes.c_int64 * MAX_RANK)(*sizes) if len(sizes) <= MAX_RANK else (ctypes.c_int64 * len(sizes))(*sizes)
    return take(run_instance(_EMPTY, [len(sizes), ctypes.addressof(room), dtype.code]))


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


def _flat(data: Any, shape: list[int], depth: int = 0) -> Iterator[Any]:
    if depth == len(shape):
        if isinstance(data, list | tuple):
            raise ValueError(f"too many dimensions: expected a number at depth {depth}, found a {type(data).__name__}")
        yield data.item() if isinstance(data, Tensor) else data
        return
    if isinstance(data, Tensor):
        data = list(data)
    if not isinstance(data, list | tuple):
        raise TypeError(f"expected a list of {shape[depth]} at dimension {depth}, found {type(data).__name__}")
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    for part in data:
        yield from _flat(part, shape, depth + 1)


def _dtype_of(values: list[Any]) -> DType:
    kinds = {type(v) for v in values}
    if not values:
        return dtype_named("float32")
    if kinds == {bool}:
        return dtype_named("bool")
    if kinds <= {bool, int}:
        return dtype_named("int64")
    if kinds <= {bool, int, float}:
        return dtype_named("float32")
    wrong = next(v for v in values if type(v) not in (bool, int, float))
    raise TypeError(f"cannot make a tensor of a {type(wrong).__name__}")


def _plain(value: Any) -> Any:
    """A NumPy scalar or the like as a Python number."""
    if type(value) in (bool, int, float):
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


def tensor(data: Any, *, dtype: DType | None = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A new tensor with the values of a number, of nested lists, of an array or of a tensor.

    Raises:
        ValueError: lists of different lengths stand side by side.
        TypeError: something in them is no number.
        RuntimeError: an integer does not fit the dtype.
    """
    from jitlang.tensor.devices import device as check_device

    if device is not None:
        check_device(device)
    if isinstance(data, Tensor):
        return operator("to")(operator("clone")(data), dtype or data.dtype)
    if hasattr(data, "__array_interface__") and not isinstance(data, int | float):
        from jitlang.tensor.exchange import from_array_copy

        made = from_array_copy(data)
        return made if dtype is None else operator("to")(made, dtype)
    shape = _shape_of(data)
    values = [_plain(v) for v in _flat(data, shape)]
    kind = dtype or _dtype_of(values)
    made = new(shape, kind)
    if values:
        elements(made)[:] = [_cast(v, kind) for v in values]
    return made
