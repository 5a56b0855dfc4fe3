"""Rounding, remainders, comparisons and the other functions that are exact.

In: f32 or f64. Out: the same type, or b1 for the is-functions. Results are exact or correctly rounded; NaN and signed
zeros are treated as PyTorch treats them.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import bitcast, f64, fabs, fma, i64, rint, select, typeof
from jitlang.frontend.kernel import ceil as machine_ceil
from jitlang.frontend.kernel import copysign as machine_copysign
from jitlang.frontend.kernel import floor as machine_floor
from jitlang.frontend.kernel import maximum as integer_maximum
from jitlang.frontend.kernel import trunc as machine_trunc
from jitlang.tensor.kernels.elementary.double import inlined, scale

INFINITY = float("inf")
TINY_F64 = 2.2250738585072014e-308


@inlined
def floor(x: Any) -> Any:
    """The greatest integer not above x."""
    return machine_floor(x)


@inlined
def ceil(x: Any) -> Any:
    """The least integer not below x."""
    return machine_ceil(x)


@inlined
def round(x: Any) -> Any:
    """The nearest integer, of two the even one."""
    return rint(x)


@inlined
def trunc(x: Any) -> Any:
    """The integer part."""
    return machine_trunc(x)


@inlined
def frac(x: Any) -> Any:
    """x - trunc(x); NaN for an infinite x."""
    return x - machine_trunc(x)


@inlined
def neg(x: Any) -> Any:
    """-x."""
    return -x


@inlined
def abs(x: Any) -> Any:
    """The magnitude."""
    return fabs(x)


@inlined
def sign(x: Any) -> Any:
    """-1, 0 or 1; of NaN 0."""
    T = typeof(x)
    return select(x > 0.0, T(1.0), select(x < 0.0, T(-1.0), T(0.0)))


@inlined
def copysign(x: Any, y: Any) -> Any:
    """|x| with the sign of y."""
    return machine_copysign(x, y)


@inlined
def isnan(x: Any) -> Any:
    """Whether x is NaN."""
    return x != x


@inlined
def isinf(x: Any) -> Any:
    """Whether x is infinite."""
    return fabs(x) == INFINITY


@inlined
def isfinite(x: Any) -> Any:
    """Whether x is neither infinite nor NaN."""
    return fabs(x) < INFINITY


@inlined
def maximum(x: Any, y: Any) -> Any:
    """The greater; NaN if either is."""
    return select(x != x, x, select((x > y) | ((x == y) & (machine_copysign(typeof(x)(1.0), x) > 0.0)), x, y))


@inlined
def minimum(x: Any, y: Any) -> Any:
    """The smaller; NaN if either is."""
    return select(x != x, x, select((x < y) | ((x == y) & (machine_copysign(typeof(x)(1.0), x) < 0.0)), x, y))


@inlined
def nan_to_num(x: Any, nan: Any, positive: Any, negative: Any) -> Any:
    """x, but `nan`, `positive` or `negative` where it is NaN or infinite."""
    return select(x != x, nan, select(x == INFINITY, positive, select(x == -INFINITY, negative, x)))


@inlined
def exponent(x: f64) -> i64:
    """The exponent of positive finite x, as a biased field that goes on below 1 for subnormal numbers."""
    small = x < TINY_F64
    b = bitcast(i64, select(small, x * 18014398509481984.0, x)) >> 52
    return select(small, b - 54, b)


@inlined
def remainder_of_magnitudes(a: f64, b: f64) -> f64:
    """a - b * floor(a / b) exactly, for finite a >= 0 and b > 0."""
    r = a
    while r >= b:
        # A quotient below 2**51 is at most one too great; the products and differences are exact.
        t = scale(b, integer_maximum(exponent(r) - exponent(b) - 50, 0))
        r = fma(-machine_trunc(r / t), t, r)
        r = select(r < 0.0, r + t, r)
    return r


@inlined
def fmod(x: Any, y: Any) -> Any:
    """x - y * trunc(x / y), exact; NaN for y = 0 or an infinite x."""
    T = typeof(x)
    a, b = f64(fabs(x)), f64(fabs(y))
    regular = (a < INFINITY) & (b > 0.0) & (b < INFINITY)
    r = remainder_of_magnitudes(select(regular, a, 0.0), select(regular, b, 1.0))
    r = machine_copysign(T(r), x)
    # Not regular: an infinite y leaves a finite x as it is, all else is NaN.
    rest = select((a < INFINITY) & (b == INFINITY), x, (x - x) / (y - y))
    return select(regular, r, rest)


@inlined
def remainder(x: Any, y: Any) -> Any:
    """The remainder with the sign of y, as Python's and PyTorch's %."""
    r = fmod(x, y)
    return select((r != 0.0) & ((y < 0.0) != (r < 0.0)), r + y, r)


@inlined
def floor_divide(x: Any, y: Any) -> Any:
    """floor(x / y) of the exact quotient where it is a float; x / y for y = 0."""
    T = typeof(x)
    r = fmod(x, y)
    q = (x - r) / y
    q = select((r != 0.0) & ((y < 0.0) != (r < 0.0)), q - 1.0, q)
    down = machine_floor(q)
    down = select(q - down > 0.5, down + 1.0, down)
    down = select(q != 0.0, down, machine_copysign(T(0.0), x / y))
    return select(y == 0.0, x / y, down)
