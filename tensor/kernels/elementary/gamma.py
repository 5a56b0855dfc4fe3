"""lgamma, the logarithm of the magnitude of the gamma function.

In: f32 or f64. Out: the same type. In f32, and in f64 for x > 0, at most 1 ulp from the true value; for negative x in f64
the error is absolute, about 2**-60, so it grows to some ulp in a narrow neighbourhood of the function's zeros there.
Near 1 and 2 a polynomial for lgamma(2 + t) / t; elsewhere Stirling's series at x or x + 8 (Abramowitz and Stegun,
6.1.41), for x < 0 the reflection formula 6.1.17.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import f32, f64, fabs, fma, rint, select, typeof, unrolled
from jitlang.tensor.kernels.elementary.coefficients import (
    DIGAMMA_OF_TWO,
    HALF_LOG_TWO_PI,
    LGAMMA_F64,
    LGAMMA_SECOND,
    LOG_PI,
    PI,
    STIRLING,
)
from jitlang.tensor.kernels.elementary.double import add2, fast_two_sum, inlined, multiply2, polynomial, polynomial2, two_sum
from jitlang.tensor.kernels.elementary.logarithm import log_pair
from jitlang.tensor.kernels.elementary.power import log_plain
from jitlang.tensor.kernels.elementary.trigonometric import cos_reduced, sin_reduced

INFINITY = float("inf")
GREATEST = 2.5599833278516383e305  # beyond, the result overflows
STIRLING_F64 = STIRLING[:9]
STIRLING_F32 = STIRLING[:5]


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
    """|sin(pi * x)| as a pair."""
    r = fabs(x - rint(x))
    flip = r > 0.25
    h, low = multiply2(f64(PI[0]), f64(PI[1]), select(flip, 0.5 - r, r), f64(0.0))
    s, sl = sin_reduced(h, low)
    c, cl = cos_reduced(h, low)
    return select(flip, c, s), select(flip, cl, sl)


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
    r = 1.0 / y
    a, al = two_sum(y, f64(-0.5))
    sh, sl = multiply2(a, al + yl, lh, ll)
    bh, bl = fast_two_sum(f64(HALF_LOG_TWO_PI[0]), f64(-0.5))
    sh, sl = add2(sh, sl, bh, bl + HALF_LOG_TWO_PI[1] + r * polynomial(r * r, STIRLING_F64))
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
def lgamma(x: Any) -> Any:
    """log(|gamma(x)|); infinite at 0, the negative integers and both infinities."""
    T = typeof(x)
    a = f64(fabs(x))
    pole = (x <= 0.0) & (rint(x) == x)
    s, sl = sine_of_pi(a)
    # Below 1e-10 (f64: 1e-20) the sign of x makes no difference.
    reflect = (x < 0.0) & (rint(x) != x) & (a > (1e-10 if T is f32 else 1e-20))
    s, sl = select(reflect, s, 1.0), select(reflect, sl, 0.0)
    b = select((a > 0.0) & (a <= GREATEST), a, 1.0)
    if T is f32:
        y = lgamma_positive_plain(b)
        y = f32(select(reflect, (LOG_PI[0] - log_plain(select(reflect, b * s, 1.0))) - y, y))
    else:
        h, low = lgamma_positive(b)
        q, ql = multiply2(select(reflect, b, 1.0), f64(0.0), s, sl)
        gh, gl = log_pair(q)
        gh, gl = add2(gh, gl, ql / q, f64(0.0))
        gh, gl = add2(f64(LOG_PI[0]), f64(LOG_PI[1]), -gh, -gl)
        gh, gl = add2(gh, gl, -h, -low)
        y = select(reflect, gh + gl, h + low)
    y = select((a > GREATEST) | pole, T(INFINITY), y)
    return select(x != x, x, y)
