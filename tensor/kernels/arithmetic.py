"""Scalar operations that pointwise loops are made of: arithmetic, comparison, logic, rounding, bits.

Each takes and returns machine numbers of an element's type; bool elements are u8 holding 0 or 1. None of them branches in
a way that would keep a loop from being vectorised, and none has undefined results.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend import kernel as k
from jitlang.frontend.kernel import bitcast, copysign, f32, f64, i32, i64, kernel, select, typeof, u8
from jitlang.tensor.kernels.elementary import ELEMENTARY
from jitlang.tensor.kernels.scalars import convert

INFINITY = float("inf")


# ---- arithmetic ---------------------------------------------------------------------------------------------------


@kernel
def add(a: Any, b: Any) -> Any:
    """a + b."""
    return a + b


@kernel
def sub(a: Any, b: Any) -> Any:
    """a - b."""
    return a - b


@kernel
def rsub(a: Any, b: Any) -> Any:
    """b - a."""
    return b - a


@kernel
def mul(a: Any, b: Any) -> Any:
    """a * b."""
    return a * b


@kernel
def div(a: Any, b: Any) -> Any:
    """a / b, floats."""
    return a / b


@kernel
def add_scaled(a: Any, b: Any, alpha: Any) -> Any:
    """a + alpha * b."""
    return a + alpha * b


@kernel
def sub_scaled(a: Any, b: Any, alpha: Any) -> Any:
    """a - alpha * b."""
    return a - alpha * b


@kernel
def rsub_scaled(a: Any, b: Any, alpha: Any) -> Any:
    """b - alpha * a."""
    return b - alpha * a


@kernel
def safe_divisor(b: Any) -> Any:
    """The divisor of an integer division with what a machine cannot divide by replaced; the caller has refused zeros."""
    T = typeof(b)
    if T.kind == "i":
        return select((b == 0) | (b == -1), T(1), b)
    return select(b == 0, T(1), b)


@kernel
def fmod(a: Any, b: Any) -> Any:
    """The remainder with the sign of a."""
    T = typeof(a)
    if T.kind == "f":
        return ELEMENTARY["fmod"](a, b)
    if T.kind == "i":
        return select(b == -1, T(0), k.srem(a, safe_divisor(b)))
    return k.urem(a, safe_divisor(b))


@kernel
def remainder(a: Any, b: Any) -> Any:
    """The remainder with the sign of b."""
    T = typeof(a)
    if T.kind == "f":
        return ELEMENTARY["remainder"](a, b)
    if T.kind == "i":
        return select(b == -1, T(0), a % safe_divisor(b))
    return a % safe_divisor(b)


@kernel
def floor_divide(a: Any, b: Any) -> Any:
    """The floor of the quotient."""
    T = typeof(a)
    if T.kind == "f":
        return ELEMENTARY["floor_divide"](a, b)
    if T.kind == "i":
        return select(b == -1, T(0) - a, a // safe_divisor(b))
    return a // safe_divisor(b)


@kernel
def trunc_divide(a: Any, b: Any) -> Any:
    """The quotient cut to a whole number."""
    T = typeof(a)
    if T.kind == "f":
        return k.trunc(a / b)
    if T.kind == "i":
        return select(b == -1, T(0) - a, k.sdiv(a, safe_divisor(b)))
    return k.udiv(a, safe_divisor(b))


@kernel
def integer_power(a: Any, b: Any) -> Any:
    """a ** b modulo the type's range; a negative exponent gives 1, -1 or 0."""
    T = typeof(a)
    result, base = T(1), a
    left = b
    if T.kind == "i":
        if b < 0:
            odd = (b & 1) == 1
            return select(a == 1, T(1), select(a == -1, select(odd, T(-1), T(1)), T(0)))
    while left > 0:
        if left & 1 == 1:
            result = result * base
        base = base * base
        left = left >> 1
    return result


@kernel
def neg(a: Any) -> Any:
    """-a."""
    return -a


@kernel
def absolute(a: Any) -> Any:
    """The magnitude."""
    T = typeof(a)
    if T.kind == "f":
        return k.fabs(a)
    if T.kind == "i":
        return select(a < 0, T(0) - a, a)
    return a


@kernel
def identity(a: Any) -> Any:
    """a."""
    return a


@kernel
def sign(a: Any) -> Any:
    """-1, 0 or 1; 0 for a NaN."""
    T = typeof(a)
    if T.kind == "u":
        return T(a > 0)
    return T(a > T(0)) - T(a < T(0))


@kernel
def maximum(a: Any, b: Any) -> Any:
    """The larger; NaN where either is one."""
    if typeof(a).kind == "f":
        return select((a != a) | (a > b), a, b)
    return select(a > b, a, b)


@kernel
def minimum(a: Any, b: Any) -> Any:
    """The smaller; NaN where either is one."""
    if typeof(a).kind == "f":
        return select((a != a) | (a < b), a, b)
    return select(a < b, a, b)


@kernel
def fmax(a: Any, b: Any) -> Any:
    """The larger; the other one where one is a NaN."""
    if typeof(a).kind == "f":
        return select(b != b, a, select(a > b, a, b))
    return select(a > b, a, b)


@kernel
def fmin(a: Any, b: Any) -> Any:
    """The smaller; the other one where one is a NaN."""
    if typeof(a).kind == "f":
        return select(b != b, a, select(a < b, a, b))
    return select(a < b, a, b)


@kernel
def clamp(a: Any, low: Any, high: Any) -> Any:
    """a, at least `low`, then at most `high`."""
    return minimum(maximum(a, low), high)


@kernel
def lerp(a: Any, b: Any, weight: Any) -> Any:
    """From a to b by `weight`, exact at both ends."""
    T = typeof(a)
    near = a + weight * (b - a)
    return select(k.fabs(weight) < T(0.5), near, b - (b - a) * (T(1.0) - weight))


@kernel
def addcmul(a: Any, b: Any, c: Any, value: Any) -> Any:
    """a + value * b * c."""
    return a + value * b * c


@kernel
def addcdiv(a: Any, b: Any, c: Any, value: Any) -> Any:
    """a + value * b / c."""
    return a + value * (b / c)


# ---- rounding -----------------------------------------------------------------------------------------------------


@kernel
def round_decimals(a: Any, scale: Any) -> Any:
    """The nearest multiple of 1 / scale."""
    return k.rint(a * scale) / scale


@kernel
def round_tens(a: Any, scale: Any) -> Any:
    """The nearest multiple of scale."""
    return k.rint(a / scale) * scale


# ---- comparison and logic -----------------------------------------------------------------------------------------


@kernel
def eq(a: Any, b: Any) -> Any:
    """a == b."""
    return u8(a == b)


@kernel
def ne(a: Any, b: Any) -> Any:
    """a != b."""
    return u8(a != b)


@kernel
def lt(a: Any, b: Any) -> Any:
    """a < b."""
    return u8(a < b)


@kernel
def le(a: Any, b: Any) -> Any:
    """a <= b."""
    return u8(a <= b)


@kernel
def gt(a: Any, b: Any) -> Any:
    """a > b."""
    return u8(a > b)


@kernel
def ge(a: Any, b: Any) -> Any:
    """a >= b."""
    return u8(a >= b)


@kernel
def logical_and(a: Any, b: Any) -> Any:
    """Both are not zero."""
    T = typeof(a)
    return u8((a != T(0)) & (b != T(0)))


@kernel
def logical_or(a: Any, b: Any) -> Any:
    """One is not zero."""
    T = typeof(a)
    return u8((a != T(0)) | (b != T(0)))


@kernel
def logical_xor(a: Any, b: Any) -> Any:
    """Just one is not zero."""
    T = typeof(a)
    return u8((a != T(0)) != (b != T(0)))


@kernel
def logical_not(a: Any) -> Any:
    """It is zero."""
    return u8(a == typeof(a)(0))


@kernel
def isnan(a: Any) -> Any:
    """It is not a number."""
    return u8(a != a)


@kernel
def isinf(a: Any) -> Any:
    """It is infinite."""
    if typeof(a).kind == "f":
        return u8(k.fabs(a) == INFINITY)
    return u8(a != a)


@kernel
def isposinf(a: Any) -> Any:
    """It is plus infinity."""
    if typeof(a).kind == "f":
        return u8(a == INFINITY)
    return u8(a != a)


@kernel
def isneginf(a: Any) -> Any:
    """It is minus infinity."""
    if typeof(a).kind == "f":
        return u8(a == -INFINITY)
    return u8(a != a)


@kernel
def isfinite(a: Any) -> Any:
    """It is neither infinite nor a NaN."""
    if typeof(a).kind == "f":
        return u8(k.fabs(a) < INFINITY)
    return u8(a == a)


@kernel
def signbit(a: Any) -> Any:
    """It has a minus sign."""
    T = typeof(a)
    if T is f32:
        return u8(bitcast(i32, a) < 0)
    if T is f64:
        return u8(bitcast(i64, a) < 0)
    return u8(a < 0)


# ---- bits ---------------------------------------------------------------------------------------------------------


@kernel
def bit_and(a: Any, b: Any) -> Any:
    """a & b."""
    return a & b


@kernel
def bit_or(a: Any, b: Any) -> Any:
    """a | b."""
    return a | b


@kernel
def bit_xor(a: Any, b: Any) -> Any:
    """a ^ b."""
    return a ^ b


@kernel
def bit_not(a: Any) -> Any:
    """~a."""
    return ~a


@kernel
def flip_bool(a: Any) -> Any:
    """not a, of a bool."""
    return a ^ 1


@kernel
def shift_left(a: Any, b: Any) -> Any:
    """a << b; 0 where b is no count of bits."""
    T = typeof(a)
    fine = (b >= 0) & (b < T.bits)
    return select(fine, a << select(fine, b, T(0)), T(0))


@kernel
def shift_right(a: Any, b: Any) -> Any:
    """a >> b; all sign bits where b is no count of bits."""
    T = typeof(a)
    fine = (b >= 0) & (b < T.bits)
    return a >> select(fine, b, T(T.bits - 1))


# ---- two types ----------------------------------------------------------------------------------------------------


@kernel
def choose(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, else b."""
    return select(condition != 0, a, b)


@kernel
def copy_sign(a: Any, b: Any) -> Any:
    """The magnitude of a with the sign of b."""
    return copysign(a, b)


@kernel
def heaviside(a: Any, values: Any) -> Any:
    """0 below zero, 1 above, `values` at zero."""
    T = typeof(a)
    return select(a == T(0), values, select(a != a, a, convert(T, u8(a > T(0)))))


@kernel
def nan_to_num(a: Any, nan: Any, high: Any, low: Any) -> Any:
    """a with NaN and the infinities replaced."""
    return select(a != a, nan, select(a == INFINITY, high, select(a == -INFINITY, low, a)))


# ---- activations --------------------------------------------------------------------------------------------------


@kernel
def square(a: Any) -> Any:
    """a * a."""
    return a * a


@kernel
def relu(a: Any) -> Any:
    """The larger of a and 0; NaN stays."""
    return select(a < typeof(a)(0), typeof(a)(0), a)


@kernel
def deg2rad(a: Any) -> Any:
    """Degrees to radians."""
    return a * typeof(a)(0.017453292519943295)


@kernel
def rad2deg(a: Any) -> Any:
    """Radians to degrees."""
    return a * typeof(a)(57.29577951308232)


@kernel
def xlogy(a: Any, b: Any) -> Any:
    """a * log(b), 0 where a is 0."""
    return select(b != b, b, select(a == 0.0, typeof(a)(0), a * ELEMENTARY["log"](b)))


@kernel
def leaky_relu(a: Any, slope: Any) -> Any:
    """a above 0, slope * a below."""
    return select(a > 0.0, a, a * slope)


@kernel
def elu(a: Any, alpha: Any, scale: Any) -> Any:
    """scale * a above 0, scale * alpha * (exp(a) - 1) below."""
    return select(a > 0.0, a * scale, ELEMENTARY["expm1"](a) * alpha * scale)


@kernel
def celu(a: Any, alpha: Any) -> Any:
    """a above 0, alpha * (exp(a / alpha) - 1) below."""
    return select(a > 0.0, a, ELEMENTARY["expm1"](a / alpha) * alpha)


@kernel
def softplus(a: Any, beta: Any, threshold: Any) -> Any:
    """log(1 + exp(beta * a)) / beta; a where beta * a is above the threshold."""
    return select(a * beta > threshold, a, ELEMENTARY["softplus"](a * beta) / beta)


@kernel
def threshold(a: Any, limit: Any, value: Any) -> Any:
    """a above the limit, else the value."""
    return select(a <= limit, value, a)


@kernel
def hardshrink(a: Any, limit: Any) -> Any:
    """a outside of ±limit, else 0."""
    return select((a >= -limit) & (a <= limit), typeof(a)(0), a)


@kernel
def softshrink(a: Any, limit: Any) -> Any:
    """a moved towards 0 by the limit."""
    return select(a > limit, a - limit, select(a < -limit, a + limit, a * 0.0))


@kernel
def prelu(a: Any, weight: Any) -> Any:
    """a above 0, weight * a below."""
    return select(a > 0.0, a, a * weight)
