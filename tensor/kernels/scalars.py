"""Single elements: reading, writing and converting them, whatever their dtype."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import b1, cast, f32, f64, i32, i64, kernel, ptr, select, typeof, u8
from jitlang.tensor.layout import BOOL, CONTIGUOUS, FLOAT32, FLOAT64, INT32, INT64, NUMBER, TensorImpl
from jitlang.tensor.promotion import is_float


@kernel
def to_integer(x: Any) -> i64:
    """A float cut to an integer; what does not fit gives the smallest int64, as x86 does."""
    T = typeof(x)
    fits = x >= T(-9223372036854775808.0) and x < T(9223372036854775808.0)
    # LLVM leaves the result undefined where the value does not fit, so zero is converted there.
    return select(fits, i64(select(fits, x, T(0.0))), -9223372036854775808)


@kernel
def convert(T: Any, x: Any) -> Any:
    """An element of machine type `x` as one of machine type T, by C's rules; floats that do not fit are defined too."""
    S = typeof(x)
    if S is T:
        return x
    if S.kind == "f" and T.kind != "f":
        if T is i32:
            whole = to_integer(x)
            return select(whole >= -2147483648 and whole <= 2147483647, i32(whole), -2147483648)
        return T(to_integer(x))
    return T(x)


@kernel
def load_int(p: ptr[u8], dtype: i64) -> i64:
    """An element of an integer or bool dtype."""
    if dtype == INT64:
        return cast(ptr[i64], p)[0]
    if dtype == INT32:
        return i64(cast(ptr[i32], p)[0])
    return i64(p[0])


@kernel
def load_float(p: ptr[u8], dtype: i64) -> f64:
    """An element of any dtype as a float."""
    if dtype == FLOAT32:
        return f64(cast(ptr[f32], p)[0])
    if dtype == FLOAT64:
        return cast(ptr[f64], p)[0]
    return f64(load_int(p, dtype))


@kernel
def store_int(p: ptr[u8], dtype: i64, value: i64) -> None:
    """Writes an integer as an element of any dtype."""
    if dtype == FLOAT32:
        cast(ptr[f32], p)[0] = f32(value)
    elif dtype == INT64:
        cast(ptr[i64], p)[0] = value
    elif dtype == FLOAT64:
        cast(ptr[f64], p)[0] = f64(value)
    elif dtype == INT32:
        cast(ptr[i32], p)[0] = i32(value)
    elif dtype == BOOL:
        p[0] = u8(value != 0)
    else:
        p[0] = u8(value)


@kernel
def store_float(p: ptr[u8], dtype: i64, value: f64) -> None:
    """Writes a float as an element of any dtype."""
    if dtype == FLOAT32:
        cast(ptr[f32], p)[0] = f32(value)
    elif dtype == FLOAT64:
        cast(ptr[f64], p)[0] = value
    elif dtype == INT32:
        cast(ptr[i32], p)[0] = convert(i32, value)
    elif dtype == BOOL:
        p[0] = u8(value != 0.0)
    else:
        store_int(p, dtype, to_integer(value))


@kernel
def store_number(p: ptr[u8], dtype: i64, value: Any) -> None:
    """Writes a machine number as an element of any dtype."""
    if typeof(value) is f64:
        store_float(p, dtype, value)
    elif typeof(value) is b1:
        store_int(p, dtype, i64(value))
    else:
        store_int(p, dtype, value)


@kernel
def store_element(p: ptr[u8], dtype: i64, source: ptr[u8], source_dtype: i64) -> None:
    """Converts one element."""
    if is_float(source_dtype) == 1:
        store_float(p, dtype, load_float(source, source_dtype))
    else:
        store_int(p, dtype, load_int(source, source_dtype))


@kernel
def as_int(value: Any) -> i64:
    """A machine number as an integer."""
    if typeof(value) is f64:
        return to_integer(value)
    return i64(value)


@kernel
def number_dtype(value: Any) -> Any:
    """The dtype that a Python number has in a tensor operator, before promotion (static)."""
    if typeof(value) is f64 or typeof(value) is float:
        return FLOAT64
    if typeof(value) is b1 or typeof(value) is bool:
        return BOOL
    return INT64


@kernel
def number(slot: ptr[TensorImpl], room: ptr[u8], value: Any) -> ptr[TensorImpl]:
    """Makes `slot`, a tensor on the stack, stand for a Python number."""
    if typeof(value) is f64 or typeof(value) is float:
        slot.dtype = FLOAT64
        cast(ptr[f64], room)[0] = f64(value)
    elif typeof(value) is b1 or typeof(value) is bool:
        slot.dtype = BOOL
        room[0] = u8(value)
    else:
        slot.dtype = INT64
        cast(ptr[i64], room)[0] = i64(value)
    slot.data = room
    slot.rank = 0
    slot.numel = 1
    slot.flags = NUMBER | CONTIGUOUS
    return slot
