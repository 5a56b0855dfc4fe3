"""lgamma, the logarithm of the magnitude of the gamma function.

In: f32 or f64. Out: the same type, at most 1 ulp from the true value.
Near 1 and 2 a polynomial for lgamma(2 + t) / t; elsewhere Stirling's series at x or x + 8 (Abramowitz and Stegun,
6.1.41), for x < 0 the reflection formula 6.1.17. That cancels next to the zeros at negative x, one in each half unit
below -2; in f64 a series around the zero is selected there, until, at -17, no float lies so near to a zero.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import f32, f64, fabs, fma, rint, select, typeof, unrolled
from jitlang.tensor.kernels.elementary.coefficients import (
    DIGAMMA_OF_TWO,
    HALF_LOG_TWO_PI,
    LGAMMA_BENDS,
    LGAMMA_F64,
    LGAMMA_SCALE,
    LGAMMA_SECOND,
    LGAMMA_SLOPE,
    LGAMMA_SLOPE_LOW,
    LGAMMA_ZERO,
    LGAMMA_ZERO_LOW,
    LGAMMA_ZERO_LOWEST,
    SINC_F64,
    SINC_F64_HEAD,
    STIRLING,
    TWELFTH,
)
from jitlang.tensor.kernels.elementary.double import add2, fast_two_sum, inlined, multiply2, polynomial, polynomial2, two_product, two_sum
from jitlang.tensor.kernels.elementary.logarithm import log_pair
from jitlang.tensor.kernels.elementary.power import log_plain

INFINITY = float("inf")
GREATEST = 2.5599833278516383e305  # beyond, the result overflows
STIRLING_F64 = STIRLING[1:9]
STIRLING_F32 = STIRLING[:5]
SINC_F64_PLAIN = tuple(high for high, _ in SINC_F64_HEAD) + SINC_F64


@inlined
def rising(x: f64) -> Any:
    """x (x + 1) ... (x + 7) as a pair."""
    h, low = x, f64(0.0)
    for i in unrolled(7):
        s, e = two_sum(x, f64(i + 1.0))
        h, low = multiply2(h, low, s, e)
    return h, low


@inlined
def sine_of_pi(x: f64) -> Any:
    """|sin(pi * x)| / pi as a pair."""
    r = fabs(x - rint(x))
    z, zl = two_product(r, r)
    h, low = polynomial2(z, zl, polynomial(z, SINC_F64), SINC_F64_HEAD)
    h, low = multiply2(h, low, r, f64(0.0))
    return h, low


@inlined
def sine_of_pi_plain(x: f64) -> f64:
    """|sin(pi * x)| / pi with an error of a few units in the last place."""
    r = fabs(x - rint(x))
    return r * polynomial(r * r, SINC_F64_PLAIN)


@inlined
def lgamma_positive(x: f64) -> Any:
    """lgamma(x) as a pair, for 0 < x <= GREATEST."""
    near, small = x < 2.5, x < 12.0
    # The polynomial, at t = x - 2 or at t = x - 1 or at t = x.
    t = select(x >= 1.5, x - 2.0, select(x >= 0.5, x - 1.0, x))
    ph, pl = polynomial2(t, f64(0.0), polynomial(t, LGAMMA_F64), (DIGAMMA_OF_TWO, LGAMMA_SECOND))
    ph, pl = multiply2(ph, pl, t, f64(0.0))
    # Stirling's series at y.
    y, yl = two_sum(x, select(small, f64(8.0), f64(0.0)))
    lh, ll = log_pair(y)
    lh, ll = add2(lh, ll, yl / y, f64(0.0))
    # (y - 1/2) (log(y) - 1) - 1/2 rather than (y - 1/2) log(y) - y: this overflows only where the result does.
    lh, ll = add2(lh, ll, f64(-1.0), f64(0.0))
    a, al = two_sum(y, f64(-0.5))
    sh, sl = multiply2(a, al + yl, lh, ll)
    bh, bl = fast_two_sum(f64(HALF_LOG_TWO_PI[0]), f64(-0.5))
    sh, sl = add2(sh, sl, bh, bl + HALF_LOG_TWO_PI[1])
    r = 1.0 / y
    bh, bl = multiply2(r, r * (fma(-r, y, f64(1.0)) - r * yl), f64(TWELFTH[0]), f64(TWELFTH[1]))
    z = r * r
    sh, sl = add2(sh, sl, bh, fma(r * z, polynomial(z, STIRLING_F64), bl))
    # What the recurrence takes off: log(1 + t), log(x (x + 1)), or log of the product.
    qh, ql = rising(x)
    wh, wl = two_sum(x, f64(1.0))
    wh, wl = multiply2(x, f64(0.0), wh, wl)
    qh, ql = select(near, select(x >= 1.5, 1.0, select(x >= 0.5, x, wh)), qh), select(near, select(x >= 0.5, 0.0, wl), ql)
    gh, gl = log_pair(select(small, qh, 1.0))
    gh, gl = add2(gh, gl, select(small, ql / qh, 0.0), f64(0.0))
    h, low = add2(select(near, ph, sh), select(near, pl, sl), -gh, -gl)
    return h, low


@inlined
def lgamma_positive_plain(x: f64) -> f64:
    """lgamma(x) for x > 0 with an error of a few units in the last place of f64, for results in f32."""
    near, small = x < 2.5, x < 8.0
    t = select(x >= 1.5, x - 2.0, select(x >= 0.5, x - 1.0, x))
    p = t * fma(t, fma(t, polynomial(t, LGAMMA_F64), f64(LGAMMA_SECOND[0])), f64(DIGAMMA_OF_TWO[0]))
    y = select(small, x + 8.0, x)
    r = 1.0 / y
    s = fma(y - 0.5, log_plain(y), -y) + (HALF_LOG_TWO_PI[0] + r * polynomial(r * r, STIRLING_F32))
    q, _ = rising(x)
    q = select(near, select(x >= 1.5, 1.0, select(x >= 0.5, x, x * (x + 1.0))), select(small, q, 1.0))
    return select(near, p, s) - log_plain(q)


@inlined
def in_halves(x: f64, values: Any) -> f64:
    """values[i] for x in [-2.5 - i/2, -2 - i/2); the first for a greater x, the last for a smaller one."""
    y = f64(values[0])
    for i in unrolled(len(values) - 1):
        y = select(x < -2.5 - 0.5 * i, f64(values[i + 1]), y)
    return y


@inlined
def lgamma_near_zero(x: f64) -> Any:
    """Whether x is next to one of the zeros below -2, and what lgamma(x) is then."""
    d, dl = fast_two_sum(x - in_halves(x, LGAMMA_ZERO), -in_halves(x, LGAMMA_ZERO_LOW))
    dl -= in_halves(x, LGAMMA_ZERO_LOWEST)
    slope = in_halves(x, LGAMMA_SLOPE)
    u = d * in_halves(x, LGAMMA_SCALE)
    p = in_halves(x, LGAMMA_BENDS[-1])
    for i in unrolled(len(LGAMMA_BENDS) - 1):
        p = fma(p, u, in_halves(x, LGAMMA_BENDS[len(LGAMMA_BENDS) - 2 - i]))
    v, e = two_product(d, slope)
    return fabs(u) <= 0.0625, v + (e + fma(d, in_halves(x, LGAMMA_SLOPE_LOW), dl * slope) + u * u * p)


@inlined
def lgamma(x: Any) -> Any:
    """log(|gamma(x)|); infinite at 0, the negative integers and both infinities."""
    T = typeof(x)
    a = f64(fabs(x))
    pole = (x <= 0.0) & (rint(x) == x)
    # Below 1e-10 (f64: 1e-20) the sign of x makes no difference.
    reflect = (x < 0.0) & (rint(x) != x) & (a > (1e-10 if T is f32 else 1e-20))
    b = select((a > 0.0) & (a <= GREATEST), a, 1.0)
    if T is f32:
        y = lgamma_positive_plain(b)
        y = f32(select(reflect, -log_plain(select(reflect, b * sine_of_pi_plain(a), 1.0)) - y, y))
    else:
        h, low = lgamma_positive(b)
        s, sl = sine_of_pi(a)
        q, ql = multiply2(b, f64(0.0), s, sl)
        q, ql = select(reflect, q, 1.0), select(reflect, ql, 0.0)
        gh, gl = log_pair(q)
        gh, gl = add2(gh, gl, ql / q, f64(0.0))
        gh, gl = add2(gh, gl, h, low)
        near, value = lgamma_near_zero(x)
        y = select(near, value, select(reflect, -(gh + gl), h + low))
    y = select((a > GREATEST) | pole, T(INFINITY), y)
    return select(x != x, x, y)
