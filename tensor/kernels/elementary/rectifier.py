"""Activation functions that are piecewise linear or rational.

In: f32 or f64, parameters of the same type or static. Out: the same type. Each operation is rounded once, in the order
written; NaN stays NaN.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import fabs, select
from jitlang.tensor.kernels.elementary.double import inlined


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
def hardsigmoid(x: Any) -> Any:
    """(x + 3) / 6 limited to [0, 1]."""
    return relu6(x + 3.0) / 6.0


@inlined
def hardswish(x: Any) -> Any:
    """x * hardsigmoid(x)."""
    return x * relu6(x + 3.0) / 6.0


@inlined
def softsign(x: Any) -> Any:
    """x / (1 + |x|)."""
    return x / (1.0 + fabs(x))
