"""Elementary functions on all 2**32 inputs in f32, and on ten million in f64; marked slow.

``pytest -m slow tests/tensor/test_elementary_all.py -k "f32 and exp" -s`` prints the greatest error found and where. In
f32 the true value is that of the f64 kernel, which ``test_elementary.py`` and the other tests here check by other means;
in f64 it is NumPy's in extended precision (x86 only), 64 bits wide, so that an error is known to about 0.001 ulp, and for
what NumPy lacks or cancels mpmath's, on a hundred thousand inputs. A function takes between 10 seconds and 3 minutes in
f32 on one core, ten seconds to a minute in f64.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from jitlang.codegen import kernels as code
from jitlang.frontend.emitter import Static
from jitlang.frontend.kernel import Kernel, bitcast, copysign, f32, f64, fabs, i32, i64, kernel, local, maximum, minimum, ptr, select
from jitlang.tensor.kernels.elementary import ELEMENTARY
from tests.tensor.test_elementary import PREDICATES, REAL, apply, logaddexp, worst, zeros_of_lgamma

pytestmark = pytest.mark.slow
STEP = 1 << 26
LONG = np.longdouble
INFINITY = float("inf")
OVERFLOW = 2.0**128 - 2.0**103  # from here on a value rounds to infinity in f32


@kernel
def errors(y: f32, r: f64) -> f64:  # type: ignore[valid-type]
    """The error of y in units in the last place of r; infinite where NaN, infinities or signs of zeros do not agree."""
    exponent = maximum(bitcast(i64, fabs(r)) >> 52, 1023 - 126)
    value = select(fabs(y) == INFINITY, copysign(f64(2.0**128), f64(y)), f64(y))
    e = fabs(value - r) * bitcast(f64, (2046 + 23 - exponent) << 52)
    over = fabs(r) >= OVERFLOW
    e = select(over, select((fabs(y) == INFINITY) & ((y < 0.0) == (r < 0.0)), 0.0, INFINITY), e)
    zero = (y == 0.0) & (bitcast(i64, r) >> 63 == i64(bitcast(i32, y)) >> 63)
    e = select(r == 0.0, select(zero, 0.0, INFINITY), e)
    return select((y != y) | (r != r), select((y != y) & (r != r), 0.0, INFINITY), e)


@kernel
def scan(start: i64, stop: i64, found: ptr[f64], op: Any) -> None:  # type: ignore[valid-type]
    """Tries all f32 numbers whose bits are in [start, stop): found = the greatest error, and the bits of where."""
    buffer = local(f64, 512)
    worst, where = f64(-1.0), start
    at = start
    while at < stop:
        n = minimum(stop - at, 512)
        for i in range(n):
            x = bitcast(f32, i32(at + i))
            buffer[i] = errors(op(x), op(f64(x)))
        for i in range(n):
            if buffer[i] > worst:
                worst, where = buffer[i], at + i
        at += n
    found[0], found[1] = worst, f64(where)


def sigma(x: Any) -> Any:
    e = np.exp(-abs(x))
    return np.where(x < 0, e / (1 + e), 1 / (1 + e))


def log1p_exp(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-abs(x)))


def mish(x: Any) -> Any:
    e = np.exp(np.minimum(x, 50))
    return np.where(x > 50, x, x * (e * (e + 2) / (e * (e + 2) + 2)))


def selu(x: Any) -> Any:
    scale, alpha = (LONG(s).astype(x.dtype) for s in ("1.0507009873554804934193349852946", "1.6732632423543772848170429916717"))
    return scale * np.where(x > 0, x, alpha * np.expm1(x))


def required(op: Kernel) -> int:
    """The number of parameters without a default."""
    return op.function.__code__.co_argcount - len(op.function.__defaults__ or ())


NUMPY: dict[str, Callable[[Any], Any]] = {
    **{n: getattr(np, n) for n in "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh sqrt".split()},
    **{n: getattr(np, n.replace("a", "arc", 1)) for n in "asin acos atan asinh acosh atanh".split()},
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": sigma,
    "silu": lambda x: x * sigma(x),
    "softplus": log1p_exp,
    "log_sigmoid": lambda x: -log1p_exp(-x),
    "mish": mish,
    "selu": selu,
    "reciprocal": lambda x: 1 / x,
    "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hardswish": lambda x: x * (np.clip(x + 3, 0, 6) / 6),
    "softsign": lambda x: x / (1 + abs(x)),
}
NUMPY_OF_TWO: dict[str, Callable[[Any, Any], Any]] = {
    "pow": np.power,
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "elu": lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(x)),
}
UNARY = [name for name, op in ELEMENTARY.items() if required(op) == 1 and name not in PREDICATES]


def error(got: Any, true: Any, precision: int, least: int) -> Any:
    """Errors in units in the last place; infinite where NaN, infinities or zeros do not agree."""
    one = true.dtype.type(1)
    _, exponent = np.frexp(true)
    unit = np.ldexp(one, np.maximum(exponent, least + 1) - precision)
    limit = np.ldexp(one, -least + 2) - np.ldexp(one, -least + 1 - precision)
    over = ~(abs(true) < limit)
    finite = abs(np.where(over, 0, got.astype(true.dtype)) - np.where(over, 0, true)) / unit
    agree = (np.isnan(got) & np.isnan(true)) | (np.isinf(got) & (got == np.where(over, np.copysign(np.inf, true), true)))
    result = np.where(over, np.where(agree, 0, np.inf), finite)
    result[(true == 0) & ((got != 0) | (np.signbit(got) != np.signbit(true)))] = np.inf
    return np.where(np.isnan(result), np.inf, result)


@pytest.mark.parametrize("name", UNARY)
def test_every_f32(name: str) -> None:
    address = code.address_of(scan.instance(i64, i64, ptr[f64], Static(ELEMENTARY[name])))
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(address)
    worst, found = (-1.0, 0), np.empty(2)
    for start in range(0, 1 << 32, STEP):
        function(start, start + STEP, found.ctypes.data)
        worst = max(worst, (float(found[0]), int(found[1])))
    print(f"{name} f32: {worst[0]:.4f} ulp at {np.uint32(worst[1]).view(np.float32)!r}")
    assert worst[0] <= 1.0


def magnitudes(random: Any, low: float, high: float, count: int) -> Any:
    """Numbers of either sign whose logarithms to base 2 are even in [low, high]."""
    return 2.0 ** random.uniform(low, high, count) * random.choice([-1, 1], count)


def million(random: Any) -> Any:
    """A third of random bits, a third of all moderate magnitudes, a third where the methods change."""
    bits = random.integers(0, 1 << 64, 300_000, np.uint64).view(np.float64)
    plain = [random.normal(0, s, 80_000) for s in (0.3, 2, 20, 300)]
    return np.concatenate([bits, magnitudes(random, -60, 10, 300_000), *plain, 1 + magnitudes(random, -52, -1, 80_000)])


def measured(name: str, true: Callable[..., Any], rounds: int, inputs: Callable[[Any], tuple[Any, ...]]) -> None:
    """Prints the greatest error on the inputs of each round, from extended precision, and asserts that it is at most one unit."""
    found: tuple[float, tuple[float, ...]] = (-1.0, ())
    for seed in range(rounds):
        arrays = inputs(np.random.default_rng(seed))
        with np.errstate(all="ignore"):
            errors = error(apply(name, "f64", *arrays), true(*(x.astype(LONG) for x in arrays)), 53, -1022)
        at = int(np.argmax(errors))
        found = max(found, (float(errors[at]), tuple(float(x[at]) for x in arrays)))
    print(f"{name} f64: {found[0]:.4f} ulp at {found[1]!r}")
    assert found[0] <= 1.0


extended = pytest.mark.skipif(np.finfo(LONG).nmant != 63, reason="needs 80-bit extended precision")


@extended
@pytest.mark.parametrize("name", list(NUMPY))
def test_ten_million_f64(name: str) -> None:
    def inputs(random: Any) -> tuple[Any, ...]:
        x = million(random)
        # The x87 argument reduction is good to 66 bits of pi only.
        return (x[abs(x) < 100] if name in ("sin", "cos", "tan") else x,)

    measured(name, NUMPY[name], 10, inputs)


@extended
@pytest.mark.parametrize("name", list(NUMPY_OF_TWO))
def test_ten_million_f64_of_two(name: str) -> None:
    def inputs(random: Any) -> tuple[Any, ...]:
        x, y = million(random), million(random)
        with np.errstate(all="ignore"):
            y = {
                "pow": lambda: np.where(random.random(x.size) < 0.7, random.uniform(-760, 720, x.size) / np.log(abs(x)), y),
                "atan2": lambda: np.where(random.random(x.size) < 0.5, x * magnitudes(random, -1070, 60, x.size), y),
                "hypot": lambda: np.where(random.random(x.size) < 0.5, x * magnitudes(random, -30, 30, x.size), y),
                "elu": lambda: y,
            }[name]()
        x = abs(x) if name == "pow" else x
        regular = np.isfinite(x) & np.isfinite(y)
        return x[regular], y[regular]

    measured(name, NUMPY_OF_TWO[name], 10, inputs)


def near_zeros_of_lgamma(random: Any) -> tuple[Any, ...]:
    with mp.workprec(200):
        zeros = [(float(z), float(abs(z - mp.nint(z)))) for z in zeros_of_lgamma()]
    near = [z + magnitudes(random, -53, 0, 1500) * scale for z, scale in zeros]
    x = np.concatenate([*near, random.uniform(-30, 0, 40_000), random.uniform(-5, -2, 20_000)])
    return (x[x != np.rint(x)],)


def near_curve_of_logaddexp(random: Any) -> tuple[Any, ...]:
    x = np.concatenate([-random.uniform(0, 0.9, 30_000), -(2.0 ** random.uniform(-1074, 0, 10_000))])
    with np.errstate(all="ignore"):
        y = np.log(-np.expm1(x)) * (1 + magnitudes(random, -60, 0, x.size))
    return np.concatenate([x, random.normal(0, 1, 40_000)]), np.concatenate([y, random.normal(0, 1, 40_000)])


MPMATH: dict[str, tuple[Callable[..., Any], Callable[[Any], tuple[Any, ...]]]] = {
    "lgamma": (lambda x: -mp.log(abs(mp.rgamma(x))), near_zeros_of_lgamma),
    "logaddexp": (logaddexp, near_curve_of_logaddexp),
    **{name: (REAL[name][0], lambda random: (random.normal(0, 6, 100_000),)) for name in ("erf", "erfc", "gelu", "gelu_tanh")},
}


@pytest.mark.parametrize("name", list(MPMATH))
def test_hundred_thousand_f64(name: str) -> None:
    true, inputs = MPMATH[name]
    greatest, where = worst(name, "f64", true, *inputs(np.random.default_rng(0)))
    print(f"{name} f64: {greatest:.4f} ulp at {where!r}")
    assert greatest <= 1.0
