"""erf, erfc, and the normal distribution's integral that gelu needs.

In: f32 or f64. Out: the same type, at most 1 ulp from the true value, in the tails too.
Near 0 a polynomial; elsewhere erfc(x) = exp(-x*x) * h(t) / (1 + 2x) with a polynomial h in t = (x - 3) / (x + 3)
(M. Shepherd and J. Laframboise, Math. Comp. 36, 1981); erf in f32 is 1 - exp(-q(x)) with a polynomial q.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import copysign, f32, f64, fabs, fma, maximum, select, typeof
from jitlang.tensor.kernels.elementary.coefficients import (
    ERF_F32,
    ERF_F64,
    ERFCX_F64,
    ERFCX_F64_HEAD,
    ERFCX_F64_SHORT,
    LOG_ERFC_F32,
    SQRT_HALF,
    TWO_OVER_SQRT_PI,
    TWO_OVER_SQRT_PI_F32,
)
from jitlang.tensor.kernels.elementary.double import (
    add2,
    divide2,
    fast_two_sum,
    inlined,
    multiply2,
    polynomial,
    polynomial2,
    power_of_two,
    scale2,
    two_product,
    two_sum,
)
from jitlang.tensor.kernels.elementary.exponential import clamp, exp_pair, exp_parts, exp_short

LOG_ERFC_F32_REST = LOG_ERFC_F32[1:]


@inlined
def erf_near(x: f64) -> Any:
    """erf(x) as a pair, for |x| <= 1/2."""
    z = x * x
    h, low = two_product(x, f64(TWO_OVER_SQRT_PI[0]))
    h, low = fast_two_sum(h, low + fma(x * z, polynomial(z, ERF_F64), x * TWO_OVER_SQRT_PI[1]))
    return h, low


@inlined
def erfc_far(x: f64, low: f64) -> Any:
    """erfc(x + low) for 1/2 <= x <= 27.4, as n and a pair to be scaled by 2**n."""
    z, zl = two_product(x, x)
    n, eh, el = exp_pair(-z, -fma(2.0 * x, low, zl))
    a, al = two_sum(x, f64(-3.0))
    b, bl = two_sum(x, f64(3.0))
    t, tl = divide2(a, al + low, b, bl + low)
    h, e = polynomial2(t, tl, polynomial(t, ERFCX_F64), ERFCX_F64_HEAD)
    h, e = multiply2(h, e, eh, el)
    d, dl = two_sum(f64(1.0), x + x)
    h, e = divide2(h, e, d, fma(2.0, low, dl))
    return n, h, e


@inlined
def erfc_short(x: f64) -> f64:
    """erfc(x) for 0 <= x <= 10.3, relative error below 2**-30."""
    n, m = exp_short(-x * x)
    s = power_of_two(n, x)
    # t = (x - 2) / (x + 2) and 1 / (1 + 2x) by one division.
    a, b = x + 2.0, fma(2.0, x, f64(1.0))
    r = 1.0 / (a * b)
    return fma(s, m, s) * polynomial((x - 2.0) * b * r, ERFCX_F64_SHORT) * (a * r)


@inlined
def erf(x: Any) -> Any:
    """The error function."""
    a = fabs(x)
    if typeof(x) is f32:
        z = x * x
        near = fma(x, f32(TWO_OVER_SQRT_PI_F32[0]), x * fma(z, polynomial(z, ERF_F32), f32(TWO_OVER_SQRT_PI_F32[1])))
        b = clamp(a, f32(0.0), f32(4.0))
        t, tl = two_product(b, polynomial(b, LOG_ERFC_F32_REST))
        q, e = two_sum(f32(LOG_ERFC_F32[0]), t)
        n, h, low = exp_parts(-q)
        s = power_of_two(n, x)
        y, t = fast_two_sum(f32(1.0), -h * s)
        far = y + fma(fma(h, e + tl, -low), s, t)
        return copysign(select(a < 0.8, near, far), x)
    h, low = erf_near(x)
    n, g, e = erfc_far(clamp(a, f64(0.5), f64(6.0)), f64(0.0))
    s = power_of_two(n, x)
    y, t = fast_two_sum(f64(1.0), -g * s)
    # The least numbers are multiplied by 2/sqrt(pi) only: their low parts would vanish.
    tiny = select(a < 1e-290, x * TWO_OVER_SQRT_PI[0], h + low)
    return select(a <= 0.5, tiny, copysign(y + (t - e * s), x))


@inlined
def erfc(x: Any) -> Any:
    """1 - erf(x), without cancellation for large x."""
    a = fabs(x)
    if typeof(x) is f32:
        y = erfc_short(f64(clamp(a, f32(0.0), f32(10.3))))
        return select(x != x, x, f32(select(x < 0.0, 2.0 - y, y)))
    h, low = erf_near(x)
    s, t = fast_two_sum(f64(1.0), -h)
    near = s + (t - low)
    n, g, e = erfc_far(clamp(a, f64(0.5), f64(27.4)), f64(0.0))
    p = power_of_two(maximum(n, -1000), x)
    y, t = fast_two_sum(f64(2.0), -g * p)
    return select(a <= 0.5, near, select(x < 0.0, y + (t - e * p), scale2(g, e, n)))


@inlined
def normal_short(x: f64) -> f64:
    """The standard normal distribution's integral up to x, |x| <= 14.5, for results in f32."""
    y = 0.5 * erfc_short(fabs(x) * SQRT_HALF[0])
    return select(x < 0.0, y, 1.0 - y)


@inlined
def normal_times(x: f64) -> f64:
    """x times the standard normal distribution's integral up to x, for |x| <= 38.7."""
    z, zl = two_product(x, f64(SQRT_HALF[0]))
    zl = fma(x, SQRT_HALF[1], zl)
    q = z * z
    h, low = erf_near(z)
    # The derivative of erf, good enough for the low part of its argument.
    slope = TWO_OVER_SQRT_PI[0] * fma(q, fma(q, fma(q, f64(-1.0 / 6.0), f64(0.5)), f64(-1.0)), f64(1.0))
    mh, ml = add2(f64(1.0), f64(0.0), h, fma(slope, zl, low))
    back = z < 0.0
    n, g, e = erfc_far(clamp(fabs(z), f64(0.5), f64(27.4)), select(back, -zl, zl))
    p = power_of_two(maximum(n, -1000), x)
    fh, fl = add2(f64(2.0), f64(0.0), -g * p, -e * p)
    near = fabs(z) <= 0.5
    tail = back & (fabs(z) > 0.5)
    h, low = select(near, mh, select(tail, g, fh)), select(near, ml, select(tail, e, fl))
    y, t = two_product(x, h)
    return scale2(y, fma(x, low, t), select(tail, n, n - n) - 1)
