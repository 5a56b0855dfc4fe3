"""log, log2, log10, log1p, and the pair logarithm that other files build on.

In: f32 or f64. Out: the same type, at most 1 ulp from the true value; log of 0 is -inf, of a negative number NaN.
Method: x = 2**k * m with m in [sqrt(1/2), sqrt(2)), then log(m) = 2 atanh(f / (2 + f)), f = m - 1 (as in FreeBSD's
msun, whose error analysis holds here), in f32 a polynomial in f; what is added last is added as pairs.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import bitcast, f32, f64, fabs, fma, i32, i64, maximum, select, typeof
from jitlang.tensor.kernels.elementary.coefficients import (
    ATANH_PAIRS,
    LN2,
    LN2_F32,
    LN2_SHORT,
    LOG2_E,
    LOG10_E,
    LOG_F32,
    LOG_F64,
    LOG_F64_LONG,
    LOG_F64_SHORT,
)
from jitlang.tensor.kernels.elementary.double import fast_two_sum, inlined, multiply2, polynomial, polynomial2, power_of_two, two_product, two_sum

INFINITY = float("inf")
NAN = float("nan")
SQRT_HALF_F32_BITS = 0x3F3504F3
SQRT_HALF_F64_BITS = 0x3FE6A09E667F3BCD


@inlined
def split(x: Any) -> Any:
    """k (an integer) and m in [sqrt(1/2), sqrt(2)) with x = m * 2**k, for positive normal x; anything for others."""
    if typeof(x) is f32:
        b = bitcast(i32, x)
        k = (b - SQRT_HALF_F32_BITS) >> 23
        return k, bitcast(f32, b - (k << 23))
    b = bitcast(i64, x)
    k = (b - SQRT_HALF_F64_BITS) >> 52
    return k, bitcast(f64, b - (k << 52))


@inlined
def split_any(x: Any) -> Any:
    """`split` for subnormal numbers too, with k as a float of the type of x."""
    T = typeof(x)
    if T is f32:
        small = x < 1.1754943508222875e-38
        k, m = split(select(small, x * 16777216.0, x))
        return f32(k) - select(small, f32(24.0), f32(0.0)), m
    small = x < 2.2250738585072014e-308
    k, m = split(select(small, x * 18014398509481984.0, x))
    return f64(k) - select(small, f64(54.0), f64(0.0)), m


@inlined
def domain(x: Any, y: Any) -> Any:
    """y, the logarithm found for x, corrected where x is 0, negative, infinite or NaN."""
    T = typeof(x)
    y = select(x == INFINITY, x, y)
    return select(x > 0.0, y, select(x == 0.0, T(-INFINITY), T(NAN)))


@inlined
def log_fraction_pair(f: f64, fl: f64) -> Any:
    """log(1 + f + fl) as a pair, relative error below 2**-68, for f in [sqrt(1/2) - 1, sqrt(2) - 1]."""
    d, dl = fast_two_sum(f64(2.0), f)
    dl += fl
    r = 1.0 / d
    s = f * r
    sl = (fma(-s, d, f) + (fl - s * dl)) * r
    s, sl = fast_two_sum(s, sl)
    z, zl = two_product(s, s)
    zl += 2.0 * s * sl
    h, low = polynomial2(z, zl, polynomial(z, LOG_F64_LONG), ATANH_PAIRS)
    h, low = multiply2(h, low, z, zl)
    h, low = multiply2(h, low, s, sl)
    h, e = fast_two_sum(2.0 * s, h)
    h, low = fast_two_sum(h, e + (low + 2.0 * sl))
    return h, low


@inlined
def log_fraction(f: f64, fl: f64) -> Any:
    """log(1 + f + fl) as a pair, relative error below 2**-57, for f in [sqrt(1/2) - 1, sqrt(2) - 1]."""
    half, half_low = two_product(0.5 * f, f)
    s = f / (2.0 + f)
    z = s * s
    # fl / (1 + f), of which little is left.
    rest = fma(fl, fma(f, f, -f), fl)
    h, e = fast_two_sum(f, -half)
    return h, e + (fma(s, fma(z, polynomial(z, LOG_F64), half), -half_low) + rest)


@inlined
def log_fraction_short(f: f64) -> f64:
    """log(1 + f) with a relative error below 2**-36, for f in [sqrt(1/2) - 1, sqrt(2) - 1]."""
    s = f / (2.0 + f)
    z = s * s
    return fma(s * z, polynomial(z, LOG_F64_SHORT), s + s)


@inlined
def add_exponent(k: f64, h: f64, low: f64) -> Any:
    """k * ln2 + (h + low) as a pair."""
    a, e = two_sum(k * LN2_SHORT[0], h)
    sh, sl = fast_two_sum(a, e + fma(k, LN2_SHORT[1], low))
    return sh, sl


@inlined
def log_pair(x: f64) -> Any:
    """log(x) as a pair, for finite x > 0."""
    k, m = split_any(x)
    h, low = log_fraction_pair(m - 1.0, f64(0.0))
    sh, sl = add_exponent(k, h, low)
    return sh, sl


@inlined
def log1p_pair(h: f64, low: f64, fraction: Any = log_fraction) -> Any:
    """log(1 + h + low) as a pair, for finite h > -1, |h| > 2**-900 (or low = 0); the relative error is that of `fraction`."""
    u, ul = two_sum(f64(1.0), h)
    k, m = split(u)
    s = power_of_two(maximum(-k, -1022), h)
    near = k == 0
    # From 2**1023 on what 2**-k multiplies is far below an ulp.
    f, fl = two_sum(select(near, h, m - 1.0), select(near, low, s * (ul + low)))
    ph, pl = fraction(f, fl)
    sh, sl = add_exponent(f64(k), ph, pl)
    return sh, sl


@inlined
def log1p_short(x: f64) -> f64:
    """log(1 + x) with a relative error below 2**-36, for finite x > -1."""
    u = 1.0 + x
    k, m = split(u)
    f = select(k == 0, x, m - 1.0)
    return fma(f64(k), LN2[0], log_fraction_short(f))


@inlined
def log_short(x: f64) -> f64:
    """log(x) with a relative error below 2**-36, for positive normal x."""
    k, m = split(x)
    return fma(f64(k), LN2[0], log_fraction_short(m - 1.0))


@inlined
def log(x: Any) -> Any:
    """The natural logarithm."""
    k, m = split_any(x)
    f = m - 1.0
    if typeof(x) is f32:
        z = f * f
        tail = fma(z * f, polynomial(f, LOG_F32), -0.5 * z)
        h, e = two_sum(k * LN2_F32[0], f)
        low = fma(k, LN2_F32[0], -(k * LN2_F32[0]))
        return domain(x, h + (e + (fma(k, LN2_F32[1], low) + tail)))
    h, low = log_fraction(f, f64(0.0))
    h, low = add_exponent(k, h, low)
    return domain(x, h + low)


@inlined
def log2(x: Any) -> Any:
    """The logarithm to base 2; exact for powers of two."""
    if typeof(x) is f32:
        k, m = split(f64(x))
        return domain(x, f32(fma(log_fraction_short(m - 1.0), LOG2_E[0], f64(k))))
    k, m = split_any(x)
    h, low = log_fraction(m - 1.0, f64(0.0))
    h, low = multiply2(h, low, f64(LOG2_E[0]), f64(LOG2_E[1]))
    s, e = two_sum(k, h)
    return domain(x, s + (e + low))


@inlined
def log10(x: Any) -> Any:
    """The logarithm to base 10."""
    if typeof(x) is f32:
        return domain(x, f32(log_short(f64(x)) * LOG10_E[0]))
    k, m = split_any(x)
    h, low = log_fraction(m - 1.0, f64(0.0))
    h, low = add_exponent(k, h, low)
    h, low = multiply2(h, low, f64(LOG10_E[0]), f64(LOG10_E[1]))
    return domain(x, h + low)


@inlined
def log1p(x: Any) -> Any:
    """log(1 + x) without loss near 0."""
    T = typeof(x)
    if T is f32:
        y = f32(log1p_short(f64(x)))
        y = select(fabs(x) < 1e-10, x, y)
    else:
        h, low = log1p_pair(x, f64(0.0))
        y = select(fabs(x) < 1e-20, x, h + low)
    y = select(x == INFINITY, x, y)
    return select(x > -1.0, y, select(x == -1.0, T(-INFINITY), T(NAN)))
