"""Elementary functions as scalar kernels: `ELEMENTARY` maps a name to the kernel.

In: f32 or f64; each kernel takes its type from its argument. Out: the same type (b1 for isnan, isinf, isfinite), at most
1 ulp from the true value. The kernels have no branch, table or call (but fmod, remainder and floor_divide, and logaddexp in f64), so a
loop over one of them vectorises. ``docs/elementary.md`` gives the measured errors; ``benchmarks/fit_elementary.py``
derives the coefficients; ``tests/tensor/test_elementary_all.py`` tries all 2**32 inputs in f32.

Files, lowest first: `double` (pairs, polynomials), `coefficients`, `exponential`, `logarithm`, `reduction`,
`trigonometric`, `inverse_trigonometric`, `hyperbolic`, `power`, `error_function`, `gamma`, `activation`, `log_sum`,
`rectifier`, `rounding`. To add a function: write the kernel in the file of its topic, enter it here, add its rows in
``tests/tensor/test_elementary.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jitlang.tensor.kernels.elementary import (
    activation,
    error_function,
    exponential,
    gamma,
    hyperbolic,
    inverse_trigonometric,
    log_sum,
    logarithm,
    power,
    rectifier,
    rounding,
    trigonometric,
)

if TYPE_CHECKING:
    from types import ModuleType

    from jitlang.frontend.kernel import Kernel

_NAMES: tuple[tuple[ModuleType, str], ...] = (
    (exponential, "exp exp2 expm1"),
    (logarithm, "log log2 log10 log1p"),
    (trigonometric, "sin cos tan"),
    (inverse_trigonometric, "asin acos atan atan2"),
    (hyperbolic, "sinh cosh tanh asinh acosh atanh"),
    (power, "sqrt rsqrt reciprocal square pow hypot"),
    (error_function, "erf erfc"),
    (gamma, "lgamma"),
    (activation, "sigmoid log_sigmoid softplus gelu gelu_tanh silu mish elu selu"),
    (log_sum, "logaddexp"),
    (rectifier, "relu relu6 leaky_relu hardtanh hardsigmoid hardswish softsign"),
    (rounding, "floor ceil round trunc frac sign abs neg copysign maximum minimum nan_to_num isnan isinf isfinite fmod remainder floor_divide"),
)

ELEMENTARY: dict[str, Kernel] = {name: getattr(module, name) for module, names in _NAMES for name in names.split()}


class Fast(NamedTuple):
    """A cheaper form of a function, and whether its result, given that and the arguments, is the function's, to the last bit."""

    form: Kernel
    holds: Kernel


# Loops compute `form` for a chunk, as vector code, and then once more the elements for which it does not hold.
FAST: dict[Kernel, Fast] = {
    trigonometric.sin: Fast(trigonometric.near_sin, trigonometric.is_near),
    trigonometric.cos: Fast(trigonometric.near_cos, trigonometric.is_near),
    trigonometric.tan: Fast(trigonometric.near_tan, trigonometric.is_near),
    log_sum.logaddexp: Fast(log_sum.plain_sum, log_sum.is_off_curve),
}
