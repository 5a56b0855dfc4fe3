"""Elementary functions on all 2**32 inputs in f32, and on ten million in f64; marked slow.

``pytest -m slow tests/tensor/test_elementary_all.py -k "f32 and exp" -s`` prints the greatest error found and where. In
f32 the true value is that of the f64 kernel, which ``test_elementary.py`` and the second test here check by other means;
in f64 it is NumPy's in extended precision (x86 only), 64 bits wide, so that an error is known to about 0.001 ulp. A
function takes between 10 and 60 seconds in f32 on one core, ten seconds in f64.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jitlang.codegen import kernels as code
from jitlang.frontend.emitter import Static
from jitlang.frontend.kernel import Kernel, bitcast, copysign, f32, f64, fabs, i32, i64, kernel, local, maximum, minimum, ptr, select
from jitlang.tensor.kernels.elementary import ELEMENTARY

pytestmark = pytest.mark.slow
STEP = 1 << 26
LONG = np.longdouble
INFINITY = float("inf")
OVERFLOW = 2.0**128 - 2.0**103  # from here on a value rounds to infinity in f32


@kernel
def map_one(n: i64, x: Any, y: Any, op: Any) -> None:  # type: ignore[valid-type]
    """y = op(x), element by element."""
    for i in range(n):
        y[i] = op(x[i])


def runner(op: Kernel, kind: Any) -> Callable[[Any], Any]:
    """A function on whole arrays."""
    address = code.address_of(map_one.instance(i64, ptr[kind], ptr[kind], Static(op)))
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(address)

    def run(x: Any) -> Any:
        y = np.empty_like(x)
        function(x.size, x.ctypes.data, y.ctypes.data)
        return y

    return run


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
}
UNARY = [*NUMPY, "erf", "erfc", "gelu", "gelu_tanh", "lgamma", "elu"]


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


def greatest(run: Callable[[Any], Any], true: Callable[[Any], Any], x: Any, wide: Any, precision: int, least: int) -> tuple[float, float]:
    """The greatest error on an array, and where."""
    with np.errstate(all="ignore"):
        errors = error(run(x), true(x.astype(wide)), precision, least)
    at = int(np.argmax(errors))
    return float(errors[at]), float(x[at])


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


@pytest.mark.skipif(np.finfo(LONG).nmant != 63, reason="needs 80-bit extended precision")
@pytest.mark.parametrize("name", list(NUMPY))
def test_ten_million_f64(name: str) -> None:
    run = runner(ELEMENTARY[name], f64)
    worst = (-1.0, 0.0)
    for seed in range(10):
        random = np.random.default_rng(seed)
        x = np.concatenate(
            [
                random.integers(0, 1 << 64, 300_000, np.uint64).view(np.float64),
                2.0 ** random.uniform(-60, 10, 300_000) * random.choice([-1, 1], 300_000),
                *(random.normal(0, s, 80_000) for s in (0.3, 2, 20, 300)),
                1 + 2.0 ** random.uniform(-52, -1, 80_000) * random.choice([-1, 1], 80_000),
            ]
        )
        if name in ("sin", "cos", "tan"):  # the x87 argument reduction is good to 66 bits of pi only
            x = x[abs(x) < 100]
        worst = max(worst, greatest(run, NUMPY[name], x, LONG, 53, -1022))
    print(f"{name} f64: {worst[0]:.4f} ulp at {worst[1]!r}")
    assert worst[0] <= 1.0, worst
