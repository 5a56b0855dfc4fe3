"""sinh, cosh, tanh and their inverses.

In: f32 or f64. Out: the same type, at most 1 ulp from the true value; infinities, zeros and domains as in C99 annex F.
All follow from exp, expm1 and log1p in pairs (results in f32: in f64); tanh in f32 is a polynomial below 1 and
1 - 2 / (exp(2x) + 1) from there on.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import copysign, f32, f64, fabs, fma, minimum, select, sqrt, typeof
from jitlang.tensor.kernels.elementary.coefficients import LN2, SINH_F64, TANH_F32
from jitlang.tensor.kernels.elementary.double import add2, divide2, fast_two_sum, inlined, polynomial, power_of_two, sqrt2, two_product, two_sum
from jitlang.tensor.kernels.elementary.exponential import clamp, exp_pair, exp_parts, exp_short, expm1_pair
from jitlang.tensor.kernels.elementary.logarithm import log1p_pair, log1p_short

INFINITY = float("inf")
NAN = float("nan")


@inlined
def exp_and_reciprocal(a: f64) -> Any:
    """exp(a) / 4 and exp(-a) / 4 as pairs, for 0 <= a <= 710.5; below 2**-1000 the second stands still."""
    n, h, low = exp_pair(a, f64(0.0))
    r = 1.0 / h
    rest = r * (fma(-h, r, f64(1.0)) - low * r)
    up, down = power_of_two(n - 2, a), power_of_two(-2 - minimum(n, 1000), a)
    return h * up, low * up, r * down, rest * down


@inlined
def sinh(x: Any) -> Any:
    """The hyperbolic sine."""
    a = fabs(x)
    if typeof(x) is f32:
        n, m = exp_short(f64(clamp(a, f32(0.0), f32(90.0))))
        s = power_of_two(n, f64(0.0))
        u = fma(s, m, s - 1.0)
        return select(a < 1e-5, x, copysign(f32(0.5 * (u + u / (u + 1.0))), x))
    h, low, g, e = exp_and_reciprocal(clamp(a, f64(0.0), f64(710.5)))
    h, low = add2(h, low, -g, -e)
    z = a * a
    y = select(a < 0.35, fma(a * z, polynomial(z, SINH_F64), a), (h + low) * 2.0)
    return copysign(select(a < 1e-9, a, y), x)


@inlined
def cosh(x: Any) -> Any:
    """The hyperbolic cosine."""
    a = fabs(x)
    if typeof(x) is f32:
        n, m = exp_short(f64(clamp(a, f32(0.0), f32(90.0))))
        s = power_of_two(n, f64(0.0))
        u = fma(s, m, s)
        return f32(0.5 * (u + 1.0 / u))
    h, low, g, e = exp_and_reciprocal(clamp(a, f64(0.0), f64(710.5)))
    h, low = add2(h, low, g, e)
    return (h + low) * 2.0


@inlined
def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    a = fabs(x)
    if typeof(x) is f32:
        z = x * x
        near = fma(a * z, polynomial(z, TANH_F32), a)
        n, h, low = exp_parts(clamp(a + a, f32(0.0), f32(20.0)))
        far = 1.0 - 2.0 / fma(h + low, power_of_two(n, a), f32(1.0))
        return copysign(select(a < 1.0, near, far), x)
    h, low = expm1_pair(clamp(a + a, f64(0.0), f64(60.0)), f64(0.0))
    d, e = two_sum(f64(1.0), h)
    h, low = divide2(h, low, d, e + low)
    return copysign(select(a < 1e-9, a, h + low), x)


@inlined
def asinh(x: Any) -> Any:
    """The inverse hyperbolic sine."""
    a = fabs(x)
    if typeof(x) is f32:
        b = f64(a)
        y = log1p_short(b + b * b / (1.0 + sqrt(fma(b, b, f64(1.0)))))
        return select((a > 1e-5) & (a < INFINITY), copysign(f32(y), x), x)
    big = a > 1e18
    b = select(big, 1.0, a)
    q, ql = two_product(b, b)
    s, e = two_sum(q, f64(1.0))
    s, e = fast_two_sum(s, e + ql)
    r, rl = sqrt2(s, e, sqrt(s))
    d, dl = fast_two_sum(1.0 + r, (r - ((1.0 + r) - 1.0)) + rl)
    h, low = divide2(q, ql, d, dl)
    h, low = add2(b, f64(0.0), h, low)
    h, low = log1p_pair(select(big, a, h), select(big, 0.0, low))
    h, low = add2(h, low, select(big, LN2[0], f64(0.0)), select(big, LN2[1], f64(0.0)))
    return select((a < 1e-9) | (a == INFINITY), x, copysign(h + low, x))


@inlined
def acosh(x: Any) -> Any:
    """The inverse hyperbolic cosine; NaN below 1."""
    T = typeof(x)
    if T is f32:
        t = f64(x) - 1.0
        y = f32(log1p_short(t + sqrt(t * (t + 2.0))))
        y = select(x == INFINITY, x, y)
    else:
        big = x > 1e18
        t, tl = two_sum(select(big, 2.0, x), f64(-1.0))
        q, e = two_product(t, t)
        s, sl = add2(q, fma(2.0 * t, tl, e), 2.0 * t, 2.0 * tl)
        r, rl = sqrt2(s, sl, sqrt(s))
        h, low = add2(t, tl, r, rl)
        h, low = log1p_pair(select(big, x, h), select(big, 0.0, low))
        h, low = add2(h, low, select(big, LN2[0], f64(0.0)), select(big, LN2[1], f64(0.0)))
        y = select(x == INFINITY, x, h + low)
    return select(x >= 1.0, y, T(NAN))


@inlined
def atanh(x: Any) -> Any:
    """The inverse hyperbolic tangent; infinite at 1 and -1, NaN beyond."""
    T = typeof(x)
    a = fabs(x)
    if T is f32:
        b = f64(a)
        y = f32(0.5 * log1p_short(2.0 * b / (1.0 - b)))
    else:
        d, e = two_sum(f64(1.0), -a)
        h, low = divide2(2.0 * a, f64(0.0), d, e)
        h, low = log1p_pair(h, low)
        y = 0.5 * (h + low)
    y = select(a < 1.0, y, select(a == 1.0, T(INFINITY), T(NAN)))
    return select(a < (1e-5 if T is f32 else 1e-9), x, copysign(y, x))
