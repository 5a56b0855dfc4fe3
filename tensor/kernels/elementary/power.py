"""pow, sqrt, rsqrt, reciprocal, square, hypot.

In: f32 or f64. Out: the same type; at most 1 ulp from the true value (sqrt, reciprocal and square are correctly rounded).
pow is exp(y * log|x|) with the logarithm and the product in pairs (in f32: in f64), special cases as in C99 annex
F.9.4.4. Integer exponents of integer tensors are the caller's.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import bitcast, copysign, f32, f64, fabs, fma, i64, maximum, minimum, select, trunc, typeof
from jitlang.frontend.kernel import sqrt as machine_sqrt
from jitlang.tensor.kernels.elementary.coefficients import LN2, LOG_F64
from jitlang.tensor.kernels.elementary.double import fast_two_sum, inlined, polynomial, power_of_two, scale2, sqrt2, two_product
from jitlang.tensor.kernels.elementary.exponential import clamp, exp_pair, exp_short
from jitlang.tensor.kernels.elementary.logarithm import log_pair, split

INFINITY = float("inf")
NAN = float("nan")


@inlined
def log_plain(x: f64) -> f64:
    """log(x) with a relative error below 2**-50, for positive normal x."""
    k, m = split(x)
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    return fma(f64(k), LN2[0], fma(s * z, polynomial(z, LOG_F64), s + s))


@inlined
def power_of_magnitude(a: Any, y: Any) -> Any:
    """a**y for a >= 0, but for a == 1 and y == 0."""
    if typeof(a) is f32:
        b = f64(a)
        log = select(b == 0.0, -INFINITY, select(b == INFINITY, INFINITY, log_plain(b)))
        n, m = exp_short(clamp(f64(y) * log, f64(-700.0), f64(700.0)))
        s = power_of_two(n, f64(0.0))
        return f32(fma(s, m, s))
    h, low = log_pair(a)
    h = select(a == 0.0, -INFINITY, select(a == INFINITY, INFINITY, h))
    p, e = two_product(y, h)
    e = fma(y, low, e)
    n, h, low = exp_pair(clamp(p, f64(-746.0), f64(710.0)), select(fabs(p) < 746.0, e, 0.0))
    return scale2(h, low, n)


@inlined
def pow(x: Any, y: Any) -> Any:
    """x to the power y."""
    T = typeof(x)
    a = fabs(x)
    result = power_of_magnitude(a, y)
    whole = trunc(y) == y
    odd = whole & (trunc(0.5 * y) != 0.5 * y)
    negative = copysign(T(1.0), x) < 0.0
    result = select(a == 1.0, T(1.0), result)
    result = select(negative & odd, -result, result)
    finite = (x < 0.0) & (a < INFINITY)
    result = select(finite & (trunc(y) != y), T(NAN), result)
    result = select((x != x) | (y != y), x + y, result)
    return select((x == 1.0) | (y == 0.0), T(1.0), result)


@inlined
def sqrt(x: Any) -> Any:
    """The square root."""
    return machine_sqrt(x)


@inlined
def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""
    T = typeof(x)
    # Small numbers are scaled, so that the remainder of the root does not vanish.
    small = x < (2.0**-80 if T is f32 else 2.0**-900)
    s = select(small, x * (2.0**80 if T is f32 else 2.0**300), x)
    root = machine_sqrt(s)
    r = 1.0 / root
    rest = fma(-r, root, T(1.0)) - 0.5 * r * r * fma(-root, root, s)
    r = select((x > 0.0) & (x < INFINITY), fma(r, rest, r), r)
    return r * select(small, T(2.0**40 if T is f32 else 2.0**150), T(1.0))


@inlined
def reciprocal(x: Any) -> Any:
    """1 / x."""
    return 1.0 / x


@inlined
def square(x: Any) -> Any:
    """x * x."""
    return x * x


@inlined
def hypot(x: Any, y: Any) -> Any:
    """sqrt(x * x + y * y) without overflow in between; infinite if either is, even beside a NaN."""
    T = typeof(x)
    a, b = fabs(x), fabs(y)
    if T is f32:
        p, q = f64(a), f64(b)
        result = f32(machine_sqrt(fma(p, p, q * q)))
    else:
        big, small = select(a > b, a, b), select(a > b, b, a)
        e = minimum(maximum(bitcast(i64, big) >> 52, 54), 2044)
        scale = bitcast(f64, (2046 - e) << 52)
        p, q = big * scale, small * scale
        s, sl = two_product(p, p)
        t, tl = two_product(q, q)
        h, low = fast_two_sum(s, t)
        h, low = fast_two_sum(h, low + (sl + tl))
        h, low = sqrt2(h, low, machine_sqrt(h))
        result = (h + low) * bitcast(f64, e << 52)
    result = select((x != x) | (y != y), x + y, result)
    return select((a == INFINITY) | (b == INFINITY), T(INFINITY), result)
