"""Double-double arithmetic and polynomials: the tools of the other files of this folder.

In and out: pairs (high, low) of one float type that stand for the unevaluated sum high + low, |low| <= ulp(high)/2.
The error-free transformations are T. J. Dekker's (Numerische Mathematik 18, 1971) and D. Knuth's (TAOCP 2, 4.2.2);
products use fma. Nothing here is exact once a low part is subnormal: callers scale.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import bitcast, f32, f64, fma, i32, i64, kernel, select, typeof, unrolled

# Without its own inlining LLVM would call the greater ones, and no loop over them would vectorise.
inlined = kernel(inline="always")


@inlined
def fast_two_sum(a: Any, b: Any) -> Any:
    """a + b exactly, as a pair; needs |a| >= |b| or a = 0."""
    s = a + b
    return s, b - (s - a)


@inlined
def two_sum(a: Any, b: Any) -> Any:
    """a + b exactly, as a pair."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@inlined
def two_product(a: Any, b: Any) -> Any:
    """a * b exactly, as a pair."""
    p = a * b
    return p, fma(a, b, -p)


@inlined
def add2(ah: Any, al: Any, bh: Any, bl: Any) -> Any:
    """The sum of two pairs."""
    h, e = two_sum(ah, bh)
    s, t = fast_two_sum(h, e + (al + bl))
    return s, t


@inlined
def multiply2(ah: Any, al: Any, bh: Any, bl: Any) -> Any:
    """The product of two pairs."""
    p = ah * bh
    e = fma(ah, bh, -p) + fma(ah, bl, al * bh)
    s, t = fast_two_sum(p, e)
    return s, t


@inlined
def divide2(ah: Any, al: Any, bh: Any, bl: Any) -> Any:
    """The quotient of two pairs."""
    T = typeof(ah)
    r = T(1.0) / bh
    q = ah * r
    # One step of long division: the remainder is exact but for the low parts.
    rest = fma(-q, bh, ah) + (al - q * bl)
    s, t = fast_two_sum(q, rest * r)
    return s, t


@inlined
def sqrt2(h: Any, low: Any, root: Any) -> Any:
    """The square root of the pair (h, low) from `root`, the rounded square root of h; of 0 it is 0."""
    T = typeof(h)
    rest = fma(-root, root, h) + low
    s, t = fast_two_sum(root, select(root > 0.0, rest / (root + root), T(0.0)))
    return s, t


@inlined
def polynomial(x: Any, coefficients: Any) -> Any:
    """Horner's scheme: coefficients[0] + coefficients[1] * x + ..., a static tuple."""
    T = typeof(x)
    p = T(coefficients[-1])
    for i in unrolled(len(coefficients) - 1):
        p = fma(p, x, T(coefficients[len(coefficients) - 2 - i]))
    return p


@inlined
def polynomial2(xh: Any, xl: Any, tail: Any, coefficients: Any) -> Any:
    """Horner's scheme in pairs: `coefficients` are pairs, lowest power first; `tail` stands for what is above them."""
    T = typeof(xh)
    h, low = fast_two_sum(T(coefficients[-1][0]), fma(tail, xh, T(coefficients[-1][1])))
    for i in unrolled(len(coefficients) - 1):
        c = coefficients[len(coefficients) - 2 - i]
        ph, pl = multiply2(h, low, xh, xl)
        h, e = two_sum(T(c[0]), ph)
        h, low = fast_two_sum(h, e + (pl + T(c[1])))
    return h, low


@inlined
def power_of_two(n: Any, like: Any) -> Any:
    """2**n, for an integer n for which it is a normal number of the float type of `like`."""
    if typeof(like) is f32:
        return bitcast(f32, (i32(n) + 127) << 23)
    return bitcast(f64, (i64(n) + 1023) << 52)


@inlined
def scale(x: Any, n: Any) -> Any:
    """x * 2**n with one rounding, also where the result is subnormal, zero or infinite; |n| < 2 * 1022 (f32: 2 * 126)."""
    half = n >> 1
    return x * power_of_two(half, x) * power_of_two(n - half, x)


@inlined
def scale2(h: Any, low: Any, n: Any) -> Any:
    """(h + low) * 2**n as one number; where it is subnormal it is rounded once but for a last-bit coincidence."""
    half = n >> 1
    p, q = power_of_two(half, h), power_of_two(n - half, h)
    return (h + low) * p * q
