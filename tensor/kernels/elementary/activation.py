"""Activation functions: sigmoid, silu, gelu, softplus and their kin.

In: f32 or f64 (and parameters of the same type). Out: the same type; at most 1 ulp from the true value. The names and
the treatment of NaN are PyTorch's; x * 0 at x = -inf is NaN, as there (silu, gelu, mish).
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import f32, f64, fabs, fma, maximum, select, typeof
from jitlang.tensor.kernels.elementary.coefficients import SELU_NEGATIVE, SELU_SCALE, TWO_SQRT_TWO_OVER_PI
from jitlang.tensor.kernels.elementary.double import add2, divide2, fast_two_sum, inlined, multiply2, power_of_two, scale, scale2, two_product, two_sum
from jitlang.tensor.kernels.elementary.error_function import normal_short, normal_times
from jitlang.tensor.kernels.elementary.exponential import clamp, exp_pair, exp_short, expm1_pair
from jitlang.tensor.kernels.elementary.logarithm import log1p_pair, log1p_short, log_fraction

INFINITY = float("inf")
NAN = float("nan")


@inlined
def logistic(h: f64, low: f64) -> Any:
    """1 / (1 + exp(-(h + low))) as n and a pair to be scaled by 2**n."""
    back = h < 0.0
    n, e, el = exp_pair(clamp(-fabs(h), f64(-760.0), f64(0.0)), select(back, low, -low))
    p = power_of_two(maximum(n, -1000), h)
    d, dl = fast_two_sum(f64(1.0), e * p)
    dl = fma(el, p, dl)
    r = 1.0 / d
    top, top_low = select(back, e, 1.0), select(back, el, 0.0)
    q = top * r
    rest = fma(-q, d, top) + fma(-q, dl, top_low)
    return select(back, n, n - n), q, rest * r


@inlined
def one_plus_exp(x: f64) -> f64:
    """1 + exp(-x), for results in f32; needs |x| < 700 or NaN."""
    n, m = exp_short(-x)
    s = power_of_two(n, x)
    return 1.0 + fma(s, m, s)


@inlined
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    if typeof(x) is f32:
        return f32(1.0 / one_plus_exp(f64(clamp(x, f32(-120.0), f32(120.0)))))
    n, h, low = logistic(x, f64(0.0))
    return scale2(h, low, n)


@inlined
def silu(x: Any) -> Any:
    """x * sigmoid(x)."""
    T = typeof(x)
    y = select(x < -760.0, T(-760.0), x)
    if T is f32:
        y = select(x < -120.0, T(-120.0), x)
        y = f32(f64(y) / one_plus_exp(f64(clamp(y, f32(-120.0), f32(120.0)))))
    else:
        n, h, low = logistic(x, f64(0.0))
        p, e = two_product(y, h)
        y = scale2(p, fma(y, low, e), n)
    return select(x == 0.0, x, select(fabs(x) < INFINITY, y, select(x > 0.0, x, T(NAN))))


@inlined
def gelu(x: Any) -> Any:
    """x times the standard normal distribution's integral up to x."""
    T = typeof(x)
    if T is f32:
        y = f64(clamp(x, f32(-14.5), f32(14.5)))
        y = f32(y * normal_short(y))
    else:
        y = normal_times(clamp(x, f64(-38.7), f64(38.7)))
    y = select((x > 14.0) | (x == 0.0), x, y)
    return select(x > -INFINITY, y, T(NAN))


@inlined
def gelu_tanh(x: Any) -> Any:
    """x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2."""
    T = typeof(x)
    if T is f32:
        y = f64(x)
        v = y * fma(y * y, TWO_SQRT_TWO_OVER_PI[0] * 0.044715, f64(TWO_SQRT_TWO_OVER_PI[0]))
        y = f32(y / one_plus_exp(clamp(v, f64(-200.0), f64(200.0))))
    else:
        b = clamp(x, f64(-30.0), f64(30.0))
        q, ql = two_product(b, b)
        q, ql = multiply2(q, ql, f64(0.044715), f64(0.0))
        q, ql = add2(f64(1.0), f64(0.0), q, ql)
        h, low = multiply2(f64(TWO_SQRT_TWO_OVER_PI[0]), f64(TWO_SQRT_TWO_OVER_PI[1]), b, f64(0.0))
        h, low = multiply2(h, low, q, ql)
        n, h, low = logistic(h, low)
        p, e = two_product(b, h)
        y = scale2(p, fma(b, low, e), n)
        y = select((x > 30.0) | (x == 0.0), x, y)
    return select(x > -INFINITY, select(x == INFINITY, x, y), T(NAN))


@inlined
def log1p_exp(d: f64, dl: f64, fraction: Any = log_fraction) -> Any:
    """log(1 + exp(d + dl)) as a pair, for d <= 0; `fraction` as for `log1p_pair`."""
    n, h, low = exp_pair(clamp(d, f64(-746.0), f64(0.0)), select(d > -746.0, dl, 0.0))
    p = power_of_two(maximum(n, -100), d)
    g, e = log1p_pair(h * p, low * p, fraction)
    tiny = d < -40.0
    return select(tiny, scale(h, n), g), select(tiny, scale(low, n), e)


@inlined
def softplus(x: Any) -> Any:
    """log(1 + exp(x))."""
    if typeof(x) is f32:
        n, m = exp_short(f64(clamp(-fabs(x), f32(-200.0), f32(0.0))))
        s = power_of_two(n, f64(0.0))
        y = f32(f64(select(x > 0.0, x, f32(0.0))) + log1p_short(fma(s, m, s)))
    else:
        h, low = log1p_exp(-fabs(x), f64(0.0))
        s, e = two_sum(select(x > 0.0, x, 0.0), h)
        y = s + (e + low)
    return select(fabs(x) < INFINITY, y, select(x < 0.0, typeof(x)(0.0), x))


@inlined
def log_sigmoid(x: Any) -> Any:
    """log(1 / (1 + exp(-x)))."""
    return -softplus(-x)


@inlined
def mish(x: Any) -> Any:
    """x * tanh(softplus(x))."""
    T = typeof(x)
    if T is f32:
        b = f64(clamp(x, f32(-120.0), f32(40.0)))
        n, m = exp_short(b)
        s = power_of_two(n, b)
        e = fma(s, m, s)
        q = e * (e + 2.0)
        y = f32(b * (q / (q + 2.0)))
    else:
        c = clamp(x, f64(-760.0), f64(40.0))
        n, h, low = exp_pair(c, f64(0.0))
        p = power_of_two(maximum(n, -500), x)
        eh, el = h * p, low * p
        a, b = add2(eh, el, f64(2.0), f64(0.0))
        q, ql = multiply2(a, b, eh, el)
        q, ql = add2(q, ql, f64(2.0), f64(0.0))
        h, low = multiply2(h, low, a, b)
        h, low = divide2(h, low, q, ql)
        h, low = multiply2(h, low, c, f64(0.0))
        y = scale2(h, low, n)
    y = select((x > 40.0) | (x == 0.0), x, y)
    return select(x > -INFINITY, y, T(NAN))


@inlined
def exponential_unit(x: Any, high: Any, low: Any) -> Any:
    """(high + low) * (exp(x) - 1) for x <= 0, `high` and `low` of the type of x or static."""
    T = typeof(x)
    if T is f32:
        n, m = exp_short(f64(clamp(x, f32(-30.0), f32(0.0))))
        s = power_of_two(n, f64(0.0))
        y = f32(fma(s, m, s - 1.0) * (f64(high) + f64(low)))
        return select(x == 0.0, x * high, y)
    h, e = expm1_pair(clamp(x, f64(-60.0), f64(0.0)), f64(0.0))
    h, e = multiply2(h + h, e + e, T(high), T(low))
    return select(x > -1e-20, x * high, h + e)


@inlined
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """x where it is positive, alpha * (exp(x) - 1) elsewhere."""
    return select(x > 0.0, x, exponential_unit(x, alpha, 0.0))


@inlined
def selu(x: Any) -> Any:
    """elu with the alpha and the scale of G. Klambauer et al., Self-Normalizing Neural Networks (2017)."""
    T = typeof(x)
    if T is f32:
        y = f32(f64(x) * SELU_SCALE[0])
    else:
        y = fma(x, f64(SELU_SCALE[0]), x * SELU_SCALE[1])
    return select(x > 0.0, select(x < INFINITY, y, x), exponential_unit(x, SELU_NEGATIVE[0], SELU_NEGATIVE[1]))
