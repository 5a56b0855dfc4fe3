"""logaddexp, the logarithm of a sum of two exponentials.

In: f32 or f64. Out: the same type, at most 1 ulp from the true value. Next to the curve exp(x) + exp(y) = 1, where the
result is near 0 and max(x, y) cancels, it is computed again, at last in integers. That is a branch: loops over arrays
compute `plain_sum` first, as vector code. In f32 everything is computed in f64.
"""

from __future__ import annotations

import math
from typing import Any

from jitlang.frontend.kernel import b1, bitcast, f32, f64, fabs, fma, i64, kernel, local, mulhi, ptr, select, typeof, unlikely, unrolled
from jitlang.tensor.kernels.elementary.activation import log1p_exp
from jitlang.tensor.kernels.elementary.coefficients import LN2, LN2_BITS, LOG_F64
from jitlang.tensor.kernels.elementary.double import fast_two_sum, inlined, polynomial, power_of_two, scale2, two_sum
from jitlang.tensor.kernels.elementary.exponential import clamp, exp_pair
from jitlang.tensor.kernels.elementary.logarithm import log1p_pair, log_fraction, log_fraction_pair, split

INFINITY = float("inf")
TINY_F64 = 2.2250738585072014e-308

# ---- numbers of 180 binary places ---------------------------------------------------------------------------------
# Three i64 (a, b, c) stand for a * 2**-60 + b * 2**-120 + c * 2**-180; b and c have 60 bits, a has a sign and may exceed 1.

PLACE = 60
MASK = (1 << PLACE) - 1


def places(n: int) -> tuple[int, int, int]:
    """n * 2**-180."""
    return n >> 2 * PLACE, (n >> PLACE) & MASK, n & MASK


LN2_PLACES = places(LN2_BITS)
DECAY = tuple(part for j in range(49) for part in places((1 << 3 * PLACE) // math.factorial(j + 1)))


@inlined
def carried(a: i64, b: i64, c: i64) -> Any:
    """The number whose lower places have a sign or are a few bits too wide."""
    b += c >> PLACE
    return a + (b >> PLACE), b & MASK, c & MASK


@inlined
def wide(a: i64, b: i64) -> Any:
    """a * b for a, b >= 0 as its bits from the 60th on, and the others."""
    low = a * b
    return (mulhi(a, b) << (64 - PLACE)) | ((low >> PLACE) & 15), low & MASK


@inlined
def product(a: i64, b: i64, c: i64, d: i64, e: i64, f: i64) -> Any:
    """(a, b, c) * (d, e, f), both positive and below 4; a few units too small in the last place."""
    p, p_low = wide(a, d)
    q, q_low = wide(a, e)
    r, r_low = wide(b, d)
    s, _ = wide(a, f)
    t, _ = wide(b, e)
    u, _ = wide(c, d)
    a, b, c = carried(p, p_low + q + r, q_low + r_low + s + t + u)
    return a, b, c


@kernel(inline="never")
def decay(a: i64, b: i64, c: i64, series: ptr[i64]) -> Any:
    """(1 - exp(-x)) / x for x = (a, b, c) in [-0.35, 1.6], with fewer places beyond 1.1; `series` holds DECAY."""
    sign = (a >> 63) | 1
    a, b, c = carried(sign * a, sign * b, sign * c)
    at = i64(len(DECAY) - 3)
    s, t, u = series[at], series[at + 1], series[at + 2]
    while at > 0:
        at -= 3
        s, t, u = product(a, b, c, s, t, u)
        s, t, u = carried(series[at] - sign * s, series[at + 1] - sign * t, series[at + 2] - sign * u)
    return s, t, u


@inlined
def shifted(m: i64, k: i64) -> Any:
    """m * 2**-60 * 2**-k for 0 <= m < 2**60, k >= 0."""
    high, low = m >> (k % PLACE), (m << (PLACE - k % PLACE)) & MASK
    return select(k < 60, high, 0), select(k < 60, low, select(k < 120, high, 0)), select(k < 60, 0, select(k < 120, low, select(k < 180, high, 0)))


@inlined
def as_pair(a: i64, b: i64, c: i64) -> Any:
    """The number as a pair; relative error below 2**-59."""
    sign = (a >> 63) | 1
    a, b, c = carried(sign * a, sign * b, sign * c)
    unit = select(a == 0, f64(2.0 ** (-2 * PLACE)), f64(2.0**-PLACE)) * f64(sign)
    a, b = select(a == 0, b, a), select(a == 0, c, b)
    # In halves, which are exact as floats.
    h, low = fast_two_sum(f64(a >> 30) * 2.0**30, f64(a & 0x3FFFFFFF))
    h, low = fast_two_sum(h, low + f64(b >> 30) * 2.0**-30)
    h, low = fast_two_sum(h, low + f64(b & 0x3FFFFFFF) * 2.0**-60)
    return h * unit, low * unit


@kernel(inline="never")
def on_curve(x: f64, y: f64) -> f64:
    """log(exp(x) + exp(y)) for x >= y, x < 0, where its magnitude is below |x| / 4, in integers."""
    series = local(i64, len(DECAY))
    for i in unrolled(len(DECAY)):
        series[i] = DECAY[i]
    # -x = m * 2**-k, 1/2 <= m < 1; then log1p of exp(x) - 1 + exp(y) = (exp(-(k ln2 + rest)) * 2**k - m * decay(-x)) * 2**-k.
    small = -x < TINY_F64
    bits = bitcast(i64, select(small, x * 18014398509481984.0, x)) & 0x7FFFFFFFFFFFFFFF
    m = ((bits & 0xFFFFFFFFFFFFF) | 0x10000000000000) << (PLACE - 53)
    k = select(small, 1022 + 54, 1022) - (bits >> 52)
    a, b, c = shifted(m, k)
    a, b, c = decay(a, b, c, series)
    p, q, r = product(m, i64(0), i64(0), a, b, c)
    # The rest is below 8, so that what overflows does not matter.
    b, b_low = wide(k, i64(LN2_PLACES[1]))
    c, c_low = wide(k, i64(LN2_PLACES[2]))
    a, b, c = carried((i64(-y * 2.0**53) << (PLACE - 53)) - k * LN2_PLACES[0] - b, -b_low - c, -c_low)
    d, e, f = decay(a, b, c, series)
    # The rest has a sign, a product has not.
    sign = (a >> 63) | 1
    a, b, c = carried(sign * a, sign * b, sign * c)
    d, e, f = product(a, b, c, d, e, f)
    a, b, c = carried((1 << PLACE) - sign * d - p, -sign * e - q, -sign * f - r)
    h, low = as_pair(a, b, c)
    if k >= 64:
        return scale2(h, low, -k)
    s = power_of_two(-k, h)
    h, low = log1p_pair(h * s, low * s)
    return h + low


@inlined
def log_sum(x: f64, y: f64, fraction: Any) -> f64:
    """log(exp(x) + exp(y)) for x >= y; the error is absolute, that of `fraction` (as for `log1p_pair`) times x."""
    d, dl = two_sum(y, -x)
    h, e = log1p_exp(d, dl, fraction)
    s, t = two_sum(x, h)
    return s + (t + e)


@kernel(inline="never")
def near_curve(x: f64, y: f64) -> f64:
    """log(exp(x) + exp(y)) for x >= y, x < 0."""
    result = log_sum(x, y, log_fraction_pair)
    if fabs(result) < -0.125 * x:
        result = on_curve(x, y)
    return result


@inlined
def log1p_exp_plain(d: f64) -> f64:
    """log(1 + exp(d)) for d <= 0 with an error of a few units in the last place of f64, for results in f32."""
    n, h, low = exp_pair(clamp(d, f64(-700.0), f64(0.0)), f64(0.0))
    e = (h + low) * power_of_two(n, d)
    u = 1.0 + e
    k, m = split(u)
    near = k == 0
    f = select(near, e, m - 1.0)
    s = f / (2.0 + f)
    z = s * s
    rest = select(near, 0.0, 0.5 * ((1.0 - u) + e))
    return fma(f64(k), LN2[0], fma(s * z, polynomial(z, LOG_F64), s + s) + rest)


@inlined
def plain_sum(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)) where that `is_off_curve`, and special values."""
    T = typeof(x)
    high, low = select(x > y, x, y), select(x > y, y, x)
    if T is f32:
        result = f32(f64(high) + log1p_exp_plain(f64(low) - f64(high)))
    else:
        result = log_sum(high, low, log_fraction)
    result = select(fabs(high) == INFINITY, high, result)
    result = select(low == -INFINITY, high, result)
    return select((x != x) | (y != y), x + y, result)


@inlined
def is_off_curve(result: Any, x: Any, y: Any) -> b1:
    """Whether `plain_sum` has few enough bits cancelled."""
    high = select(x > y, x, y)
    least = 2.0**-20 if typeof(x) is f32 else 0.5
    return not (fabs(result) < typeof(x)(-least) * high)


@inlined
def logaddexp(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y))."""
    result = plain_sum(x, y)
    if unlikely(not is_off_curve(result, x, y)):
        high, low = f64(select(x > y, x, y)), f64(select(x > y, y, x))
        result = typeof(x)(near_curve(high, low))
    return result
