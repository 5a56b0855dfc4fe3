"""sin, cos, tan.

In: f32 or f64, in radians. Out: the same type, at most 1 ulp from the true value, whatever the size of x; NaN for an
infinite x. After `reduction`, polynomials in r*r on |r| <= pi/4; results in f32 are computed in f64.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import b1, f32, f64, fabs, fma, i64, select, typeof
from jitlang.tensor.kernels.elementary.coefficients import COS_F64, COS_F64_SHORT, SIN_F64, SIN_F64_SHORT
from jitlang.tensor.kernels.elementary.double import divide2, fast_two_sum, inlined, polynomial
from jitlang.tensor.kernels.elementary.reduction import LARGE, reduce_near, reduce_near_short, reduce_pair, reduce_short

INFINITY = float("inf")


@inlined
def sin_reduced(r: f64, low: f64) -> Any:
    """sin(r + low) as a pair for |r| <= pi/4."""
    z = r * r
    h, e = fast_two_sum(r, fma(r * z, polynomial(z, SIN_F64), fma(-0.5 * z, low, low)))
    return h, e


@inlined
def cos_reduced(r: f64, low: f64) -> Any:
    """cos(r + low) as a pair for |r| <= pi/4."""
    z = r * r
    half = 0.5 * z
    s, e = fast_two_sum(f64(1.0), -half)
    half_low = 0.5 * fma(r, r, -z)
    h, t = fast_two_sum(s, e + (fma(z * z, polynomial(z, COS_F64), -half_low) - r * low))
    return h, t


@inlined
def sin_short(r: f64) -> f64:
    """sin(r) for |r| <= pi/4, for results in f32."""
    z = r * r
    return fma(r * z, polynomial(z, SIN_F64_SHORT), r)


@inlined
def cos_short(r: f64) -> f64:
    """cos(r) for |r| <= pi/4, for results in f32."""
    z = r * r
    return fma(z * z, polynomial(z, COS_F64_SHORT), fma(-0.5, z, f64(1.0)))


@inlined
def sine_from(x: Any, turn: i64, short: Any, pair: Any) -> Any:
    """sin(x + turn * pi/2), x reduced by `short` (f32) or `pair` (f64)."""
    if typeof(x) is f32:
        n, r = short(f64(x))
        s, c = sin_short(r), cos_short(r)
    else:
        n, r, low = pair(x)
        sh, sl = sin_reduced(r, low)
        ch, cl = cos_reduced(r, low)
        s, c = sh + sl, ch + cl
    n += turn
    y = select((n & 1) != 0, c, s)
    y = select((n & 2) != 0, -y, y)
    return typeof(x)(y)


@inlined
def tangent(x: Any, short: Any, pair: Any) -> Any:
    """tan(x), x reduced by `short` (f32) or `pair` (f64)."""
    if typeof(x) is f32:
        n, r = short(f64(x))
        s, c = sin_short(r), cos_short(r)
        odd = (n & 1) != 0
        return f32(select(odd, -c, s) / select(odd, s, c))
    n, r, low = pair(x)
    sh, sl = sin_reduced(r, low)
    ch, cl = cos_reduced(r, low)
    odd = (n & 1) != 0
    h, e = divide2(select(odd, -ch, sh), select(odd, -cl, sl), select(odd, sh, ch), select(odd, sl, cl))
    return h + e


@inlined
def sin(x: Any) -> Any:
    """The sine."""
    y = select(fabs(x) < INFINITY, sine_from(x, i64(0), reduce_short, reduce_pair), x - x)
    return select(fabs(x) < 1e-8, x, y)


@inlined
def cos(x: Any) -> Any:
    """The cosine."""
    return select(fabs(x) < INFINITY, sine_from(x, i64(1), reduce_short, reduce_pair), x - x)


@inlined
def tan(x: Any) -> Any:
    """The tangent."""
    y = select(fabs(x) < INFINITY, tangent(x, reduce_short, reduce_pair), x - x)
    return select(fabs(x) < 1e-8, x, y)


@inlined
def is_near(result: Any, x: Any) -> b1:
    """Whether the cheap reduction serves; what follows computes the same bits as the functions above, for such x only."""
    return fabs(x) < LARGE


@inlined
def near_sin(x: Any) -> Any:
    """The sine of an x that `is_near`."""
    return select(fabs(x) < 1e-8, x, sine_from(x, i64(0), reduce_near_short, reduce_near))


@inlined
def near_cos(x: Any) -> Any:
    """The cosine of an x that `is_near`."""
    return sine_from(x, i64(1), reduce_near_short, reduce_near)


@inlined
def near_tan(x: Any) -> Any:
    """The tangent of an x that `is_near`."""
    return select(fabs(x) < 1e-8, x, tangent(x, reduce_near_short, reduce_near))
