"""Argument reduction of the trigonometric functions: x = n * pi/2 + r, |r| <= pi/4, for every finite x.

In: f64 (an f32 is converted first). Out: n (i64, right modulo 4) and r, as a pair or, for results in f32, as one f64.
Two ways are computed and one is selected, so that loops vectorise (`reduce_near`, `reduce_near_short` are the first alone): Cody and
Waite's subtraction of n times a three-part pi/2 for small |x|, and the product with a window of the bits of 2/pi for large ones
(M. Payne and R. Hanek, SIGNUM Newsletter 18, 1983): bits of 2/pi above the window only add multiples of 4 quarter turns.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import bitcast, f64, fabs, fma, i64, select, u64
from jitlang.tensor.kernels.elementary.coefficients import HALF_PI, HALF_PI_THIRD, TWO_OVER_PI, TWO_OVER_PI_WORDS
from jitlang.tensor.kernels.elementary.double import fast_two_sum, inlined, multiply2, two_product, two_sum
from jitlang.tensor.kernels.elementary.exponential import nearest

W = (0, *TWO_OVER_PI_WORDS)
LARGE = 67108864.0  # 2**26
TWO_30, TWO_62, TWO_94, TWO_126 = 2.0**-30, 2.0**-62, 2.0**-94, 2.0**-126


@inlined
def funnel(a: u64, b: u64, count: u64) -> u64:
    """The upper word of the two-word number (a, b) shifted left by `count` < 64."""
    return (a << count) | ((b >> 1) >> (63 - count))


@inlined
def high_product(m: u64, w: u64) -> u64:
    """The upper 64 bits of m * w for m < 2**53, from 32-bit halves: unlike a 128-bit product, loops over it vectorise."""
    mask = u64(0xFFFFFFFF)
    m1, m0, w1, w0 = m >> 32, m & mask, w >> 32, w & mask
    t = m1 * w0 + ((m0 * w0) >> 32)
    s = m0 * w1 + (t & mask)
    return m1 * w1 + (t >> 32) + (s >> 32)


@inlined
def window(start: i64) -> Any:
    """Four words of (64 zero bits, then 2/pi) from word `start` >> 6 on, which must be in 0..16; selects, not a look-up."""
    c = (start & 1024) != 0
    a0, a1, a2, a3 = select(c, u64(W[16]), u64(W[0])), select(c, u64(W[17]), u64(W[1])), select(c, u64(W[18]), u64(W[2])), select(c, u64(W[19]), u64(W[3]))
    c = (start & 512) != 0
    b0, b1, b2, b3 = select(c, u64(W[8]), a0), select(c, u64(W[9]), a1), select(c, u64(W[10]), a2), select(c, u64(W[11]), a3)
    b4, b5, b6, b7 = select(c, u64(W[12]), u64(W[4])), select(c, u64(W[13]), u64(W[5])), select(c, u64(W[14]), u64(W[6])), select(c, u64(W[15]), u64(W[7]))
    b8, b9, b10 = select(c, u64(W[16]), u64(W[8])), select(c, u64(W[17]), u64(W[9])), select(c, u64(W[18]), u64(W[10]))
    c = (start & 256) != 0
    a0, a1, a2, a3 = select(c, b4, b0), select(c, b5, b1), select(c, b6, b2), select(c, b7, b3)
    a4, a5, a6 = select(c, b8, b4), select(c, b9, b5), select(c, b10, b6)
    c = (start & 128) != 0
    b0, b1, b2, b3, b4 = select(c, a2, a0), select(c, a3, a1), select(c, a4, a2), select(c, a5, a3), select(c, a6, a4)
    c = (start & 64) != 0
    return select(c, b1, b0), select(c, b2, b1), select(c, b3, b2), select(c, b4, b3)


@inlined
def quarter_turns(hi: u64, mid: u64) -> Any:
    """n and a pair f, |f| <= 1/2, with n + f = (hi * 2**64 + mid) * 2**-126 modulo 4."""
    n = (hi + 0x2000000000000000) >> 62
    rest = bitcast(i64, hi - (n << 62))
    s, e = fast_two_sum(f64(rest >> 32) * TWO_30, f64(rest & 0xFFFFFFFF) * TWO_62)
    # In two halves, so that no bit is lost where the upper word is nearly zero.
    h, low = fast_two_sum(s, e + f64(mid >> 32) * TWO_94)
    h, low = fast_two_sum(h, low + f64(mid & 0xFFFFFFFF) * TWO_126)
    return bitcast(i64, n), h, low


@inlined
def reduce_large(x: f64) -> Any:
    """n and the pair r for LARGE <= x < inf."""
    bits = bitcast(i64, x)
    m = bitcast(u64, (bits & 0xFFFFFFFFFFFFF) | 0x10000000000000)
    # x = m * 2**e; the window begins two bits before the one of weight 2**-e, 64 zero bits stand before 2/pi.
    start = (bits >> 52) - (1075 + 2 - 64)
    w0, w1, w2, w3 = window(start)
    shift = bitcast(u64, start & 63)
    a, b, c = funnel(w0, w1, shift), funnel(w1, w2, shift), funnel(w2, w3, shift)
    mid = m * b + high_product(m, c)
    carry = select(mid < m * b, u64(1), u64(0))
    n, f, fl = quarter_turns(m * a + high_product(m, b) + carry, mid)
    h, low = multiply2(f, fl, f64(HALF_PI[0]), f64(HALF_PI[1]))
    return n, h, low


@inlined
def reduce_near(x: f64) -> Any:
    """n and the pair r for |x| < LARGE, relative error below 2**-60."""
    k, n = nearest(x * TWO_OVER_PI[0])
    p, pl = two_product(k, f64(HALF_PI[1]))
    h, low = two_sum(fma(-k, HALF_PI[0], x), -p)
    h, low = fast_two_sum(h, low - fma(k, HALF_PI_THIRD, pl))
    return n, h, low


@inlined
def reduce_pair(x: f64) -> Any:
    """n and the pair r, relative error below 2**-60; anything where x is not finite."""
    n, h, low = reduce_near(x)
    m, g, gl = reduce_large(fabs(x))
    large, back = fabs(x) >= LARGE, x < 0.0
    return select(large, select(back, -m, m), n), select(large, select(back, -g, g), h), select(large, select(back, -gl, gl), low)


@inlined
def reduce_near_short(x: f64) -> Any:
    """n and r for an x that is an f32, |x| < LARGE, relative error below 2**-32."""
    k, n = nearest(x * TWO_OVER_PI[0])
    return n, fma(-k, HALF_PI[1], fma(-k, HALF_PI[0], x))


@inlined
def reduce_short(x: f64) -> Any:
    """n and r for an x that is an f32, relative error below 2**-32; anything where x is not finite."""
    n, r = reduce_near_short(x)
    bits = bitcast(i64, x) & 0x7FFFFFFFFFFFFFFF
    m = bitcast(u64, ((bits & 0xFFFFFFFFFFFFF) | 0x10000000000000) >> 29)
    start = (bits >> 52) - (1046 + 2)
    c = (start & 64) != 0
    w0, w1, w2 = select(c, u64(W[2]), u64(W[1])), select(c, u64(W[3]), u64(W[2])), select(c, u64(W[4]), u64(W[3]))
    shift = bitcast(u64, start & 63)
    turns = m * funnel(w0, w1, shift) + ((m * (funnel(w1, w2, shift) >> 32)) >> 32)
    q = (turns + 0x2000000000000000) >> 62
    g = f64(bitcast(i64, turns - (q << 62))) * (TWO_62 * HALF_PI[0])
    large, back = fabs(x) >= LARGE, x < 0.0
    turn = bitcast(i64, q)
    return select(large, select(back, -turn, turn), n), select(large, select(back, -g, g), r)
