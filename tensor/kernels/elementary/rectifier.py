"""Activation functions that are piecewise linear or rational.

In: f32 or f64, parameters of the same type or static. Out: the same type, at most 1 ulp from the true value; NaN stays
NaN, and x * 0 at x = -inf is NaN (hardswish).
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import fabs, fma, select, typeof
from jitlang.tensor.kernels.elementary.double import inlined, two_product, two_sum


@inlined
def relu(x: Any) -> Any:
    """x where it is positive, 0 elsewhere."""
    return select(x < 0.0, 0.0, x)


@inlined
def hardtanh(x: Any, low: Any = -1.0, high: Any = 1.0) -> Any:
    """x limited to [low, high]."""
    return select(x < low, low, select(x > high, high, x))


@inlined
def relu6(x: Any) -> Any:
    """x limited to [0, 6]."""
    return hardtanh(x, 0.0, 6.0)


@inlined
def leaky_relu(x: Any, slope: Any = 0.01) -> Any:
    """x where it is positive, slope * x elsewhere."""
    return select(x > 0.0, x, x * slope)


@inlined
def sixth(h: Any, low: Any) -> Any:
    """A sixth of the pair, rounded once but for a last-bit coincidence."""
    T = typeof(h)
    q = h / 6.0
    return q + (fma(-q, T(6.0), h) + low) * T(1.0 / 6.0)


@inlined
def hardsigmoid(x: Any) -> Any:
    """(x + 3) / 6 limited to [0, 1]."""
    T = typeof(x)
    s, e = two_sum(x, T(3.0))
    return select(x <= -3.0, T(0.0), select(x >= 3.0, T(1.0), sixth(s, e)))


@inlined
def hardswish(x: Any) -> Any:
    """x * hardsigmoid(x)."""
    s, e = two_sum(x, typeof(x)(3.0))
    p, t = two_product(x, s)
    y = select((x >= 3.0) | (x == 0.0), x, sixth(p, fma(x, e, t)))
    return select(x <= -3.0, x * 0.0, y)


@inlined
def softsign(x: Any) -> Any:
    """x / (1 + |x|)."""
    T = typeof(x)
    s, e = two_sum(T(1.0), fabs(x))
    r = 1.0 / s
    q = x * r
    return select(x == 0.0, x, q + (fma(-q, s, x) - q * e) * r)
