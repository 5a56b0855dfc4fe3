"""exp, exp2, expm1, and the reduced exponential that other files build on.

In: f32 or f64. Out: the same type, at most 1 ulp from the true value; overflow gives inf, underflow subnormals, then 0.
Method: x = n*ln2 + r, |r| <= ln2/2 (W. Cody and W. Waite, Software Manual for the Elementary Functions, 1980), then a
polynomial for exp(r) - 1; in f64 its leading terms are pairs. n is rounded by adding 1.5 * 2**(precision - 1), so no
conversion to an integer can be undefined, whatever x is.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import bitcast, f32, f64, fabs, fma, i32, i64, select, typeof
from jitlang.tensor.kernels.elementary.coefficients import EXP2_F32, EXP_F32, EXP_F64, EXP_F64_SHORT, LN2, LN2_F32
from jitlang.tensor.kernels.elementary.double import fast_two_sum, inlined, polynomial, power_of_two, scale, two_product, two_sum

LOG2_E = 1.4426950408889634
ROUND_F32, ROUND_F32_BITS = 12582912.0, 0x4B400000
ROUND_F64, ROUND_F64_BITS = 6755399441055744.0, 0x4338000000000000


@inlined
def clamp(x: Any, low: Any, high: Any) -> Any:
    """x limited to [low, high]; NaN stays NaN."""
    return select(x > high, high, select(x < low, low, x))


@inlined
def nearest(x: Any) -> Any:
    """The integer nearest to x, as a float and as an i32 (f32) or i64; needs |x| < 2**21 (f64: 2**50) or NaN."""
    if typeof(x) is f32:
        t = x + ROUND_F32
        return t - ROUND_F32, bitcast(i32, t) - ROUND_F32_BITS
    t = x + ROUND_F64
    return t - ROUND_F64, bitcast(i64, t) - ROUND_F64_BITS


@inlined
def exp_reduced(h: Any, low: Any) -> Any:
    """n, mh, ml with exp(h + low) = 2**n * (1 + mh + ml), f64, relative error of mh + ml below 2**-60; needs |h| < 2**40."""
    k, n = nearest(h * LOG2_E)
    rest = fma(-k, LN2[0], h)
    r, rl = two_sum(rest, fma(-k, LN2[1], low))
    s = r * r
    sl = fma(r, r, -s)
    a, e = fast_two_sum(r, 0.5 * s)
    tail = fma(0.5, sl, rl) + fma(r * s, polynomial(r, EXP_F64), rl * r)
    mh, ml = fast_two_sum(a, e + tail)
    return n, mh, ml


@inlined
def exp_short(x: f64) -> Any:
    """n, m with exp(x) = 2**n * (1 + m), relative error of m below 2**-31: for results in f32; needs |x| < 2**40."""
    k, n = nearest(x * LOG2_E)
    r = fma(-k, LN2[0], x)
    return n, fma(r * r, polynomial(r, EXP_F64_SHORT), r)


@inlined
def exp_pair(h: Any, low: Any) -> Any:
    """exp(h + low) as n and a pair to be scaled by 2**n."""
    n, mh, ml = exp_reduced(h, low)
    s, e = fast_two_sum(typeof(h)(1.0), mh)
    sh, sl = fast_two_sum(s, e + ml)
    return n, sh, sl


@inlined
def exp_parts(x: Any) -> Any:
    """n, h, low with exp(x) = 2**n * (h + low); low is small but not below ulp(h)/2; needs |x| < 2**20 or NaN."""
    T = typeof(x)
    hi, low = LN2_F32 if T is f32 else LN2
    k, n = nearest(x * T(LOG2_E))
    r = fma(-k, T(low), fma(-k, T(hi), x))
    q = polynomial(r, EXP_F32) if T is f32 else fma(r, polynomial(r, EXP_F64), T(0.5))
    h = 1.0 + r
    return n, h, fma(r * r, q, r - (h - 1.0))


@inlined
def exp(x: Any) -> Any:
    """The exponential."""
    T = typeof(x)
    n, h, low = exp_parts(clamp(x, f32(-104.5), f32(89.0)) if T is f32 else clamp(x, f64(-746.0), f64(710.0)))
    return scale(h + low, n)


@inlined
def exp2(x: Any) -> Any:
    """2**x."""
    T = typeof(x)
    y = clamp(x, f32(-151.0), f32(129.0)) if T is f32 else clamp(x, f64(-1076.0), f64(1025.0))
    k, n = nearest(y)
    r = y - k
    if T is f32:
        return scale(fma(r, polynomial(r, EXP2_F32), f32(1.0)), n)
    h, low = two_product(r, f64(LN2[0]))
    low = fma(r, LN2[1], low)
    return scale(fma(h * h, fma(h, polynomial(h, EXP_F64), f64(0.5)), low) + h + 1.0, n)


@inlined
def expm1_pair(h: f64, low: f64) -> Any:
    """exp(h + low) - 1 as a pair, halved; h must be at most 709.9 and above -60 (below, the result is -1 as well)."""
    n, mh, ml = exp_reduced(h, low)
    s = power_of_two(n - 1, h)
    a, al = two_sum(s, f64(-0.5))
    b, bl = two_sum(a, s * mh)
    eh, el = fast_two_sum(b, bl + (al + s * ml))
    return eh, el


@inlined
def expm1(x: Any) -> Any:
    """exp(x) - 1 without cancellation near 0."""
    T = typeof(x)
    if T is f32:
        n, m = exp_short(f64(clamp(x, f32(-20.0), f32(90.0))))
        s = power_of_two(n, f64(0.0))
        return select(x == 0.0, x, f32(fma(s, m, s - 1.0)))
    h, low = expm1_pair(clamp(x, f64(-60.0), f64(710.0)), f64(0.0))
    return select(fabs(x) < 1e-20, x, (h + low) * 2.0)
