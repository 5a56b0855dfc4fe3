"""asin, acos, atan, atan2.

In: f32 or f64. Out: radians in the same type, at most 1 ulp from the true value; NaN outside the domain.
atan is reduced to |t| <= tan(pi/8) by t = (a - b) / (a + b) and t = -b / a; asin beyond 1/2 by
asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)) (W. Cody and W. Waite, 1980). Results in f32 are computed in f64.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import bitcast, copysign, f32, f64, fabs, fma, i64, maximum, minimum, select, sqrt, typeof
from jitlang.tensor.kernels.elementary.coefficients import (
    ASIN_F64,
    ASIN_F64_SHORT,
    ATAN_F64,
    ATAN_F64_SHORT,
    HALF_PI,
    PI,
    QUARTER_PI,
)
from jitlang.tensor.kernels.elementary.double import divide2, fast_two_sum, inlined, polynomial, sqrt2, two_sum

TAN_EIGHTH_PI, TAN_THREE_EIGHTHS_PI = 0.41421356237309503, 2.414213562373095
INFINITY = float("inf")


@inlined
def atan_ratio(a: f64, b: f64) -> Any:
    """atan(a / b) as a pair, for a, b >= 0, not both 0, of moderate size."""
    low, high = a <= TAN_EIGHTH_PI * b, a > TAN_THREE_EIGHTHS_PI * b
    d, dl = two_sum(a, -b)
    s, sl = two_sum(a, b)
    n, nl = select(low, a, select(high, -b, d)), select(low | high, 0.0, dl)
    m, ml = select(low, b, select(high, a, s)), select(low | high, 0.0, sl)
    t, tl = divide2(n, nl, m, ml)
    z = t * t
    base = select(low, 0.0, select(high, f64(HALF_PI[0]), f64(QUARTER_PI[0])))
    base_low = select(low, 0.0, select(high, f64(HALF_PI[1]), f64(QUARTER_PI[1])))
    h, e = two_sum(base, t)
    h, e = fast_two_sum(h, e + (base_low + fma(t * z, polynomial(z, ATAN_F64), tl)))
    return h, e


@inlined
def atan_ratio_short(a: f64, b: f64) -> f64:
    """atan(a / b) for a, b >= 0, not both 0, for results in f32."""
    low, high = a <= TAN_EIGHTH_PI * b, a > TAN_THREE_EIGHTHS_PI * b
    t = select(low, a, select(high, -b, a - b)) / select(low, b, select(high, a, a + b))
    z = t * t
    base = select(low, 0.0, select(high, f64(HALF_PI[0]), f64(QUARTER_PI[0])))
    return base + fma(t * z, polynomial(z, ATAN_F64_SHORT), t)


@inlined
def atan(x: Any) -> Any:
    """The arc tangent, in [-pi/2, pi/2]."""
    a = f64(fabs(x))
    a = select(a > 1e19, 1e19, a)
    if typeof(x) is f32:
        return copysign(f32(atan_ratio_short(a, f64(1.0))), x)
    h, low = atan_ratio(a, f64(1.0))
    return copysign(select(a < 1e-9, a, h + low), x)


@inlined
def atan2(y: Any, x: Any) -> Any:
    """The angle of the point (x, y), in [-pi, pi]; zeros and infinities as in C99 (annex F.9.1.4)."""
    T = typeof(x)
    a, b = f64(fabs(y)), f64(fabs(x))
    big = select(a > b, a, b)
    # Scaled so that neither products nor low parts overflow or vanish.
    scale = bitcast(f64, (2046 - minimum(maximum(bitcast(i64, big) >> 52, 1), 2045)) << 52)
    both = select(a == b, 1.0, 0.0)
    p = select(big == INFINITY, select(a == INFINITY, 1.0, both), a * scale)
    q = select(big == INFINITY, select(b == INFINITY, 1.0, both), select(big == 0.0, 1.0, b * scale))
    back = copysign(f64(1.0), f64(x)) < 0.0
    if T is f32:
        r = atan_ratio_short(p, q)
        angle = f32(select(back, PI[0] - r, r))
    else:
        h, low = atan_ratio(p, q)
        g, e = fast_two_sum(f64(PI[0]), -h)
        # A tiny angle is the quotient: unlike p and q it is not rounded twice where it is subnormal.
        angle = select(back, g + (e + (PI[1] - low)), select(a < 1e-9 * b, a / b, h + low))
    return select((x != x) | (y != y), x + y, copysign(angle, y))


@inlined
def asin(x: Any) -> Any:
    """The arc sine, in [-pi/2, pi/2]."""
    a = f64(fabs(x))
    small = a <= 0.5
    z = select(small, a * a, 0.5 - 0.5 * a)
    root = sqrt(z)
    s = select(small, a, root)
    if typeof(x) is f32:
        r = fma(s * z, polynomial(z, ASIN_F64_SHORT), s)
        return copysign(f32(select(small, r, HALF_PI[0] - 2.0 * r)), x)
    tail = s * z * polynomial(z, ASIN_F64)
    _, root_low = sqrt2(z, f64(0.0), root)
    h, e = fast_two_sum(f64(HALF_PI[0]), -2.0 * root)
    y = h + (e + (HALF_PI[1] - 2.0 * (root_low + tail)))
    return copysign(select(small, a + tail, y), x)


@inlined
def acos(x: Any) -> Any:
    """The arc cosine, in [0, pi]."""
    a = f64(fabs(x))
    small, back = a <= 0.5, x < 0.0
    z = select(small, a * a, 0.5 - 0.5 * a)
    root = sqrt(z)
    s = select(small, a, root)
    s = select(back, -s, s)
    if typeof(x) is f32:
        r = fma(s * z, polynomial(z, ASIN_F64_SHORT), s)
        return f32(select(small, HALF_PI[0] - r, 2.0 * r + select(back, f64(PI[0]), f64(0.0))))
    tail = s * z * polynomial(z, ASIN_F64)
    _, root_low = sqrt2(z, f64(0.0), root)
    base = select(small, f64(HALF_PI[0]), select(back, f64(PI[0]), f64(0.0)))
    base_low = select(small, f64(HALF_PI[1]), select(back, f64(PI[1]), f64(0.0)))
    low = select(small, -tail, 2.0 * (tail + select(back, -root_low, root_low)))
    h, e = two_sum(base, select(small, -s, 2.0 * s))
    return h + (e + (base_low + low))
