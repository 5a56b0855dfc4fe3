"""Elementary functions: accuracy against mpmath, special values of C99 annex F and of PyTorch, exactness, vector code.

The error is measured in units in the last place of the true value: |result - value| / ulp(value). All 2**32 inputs in
f32 and ten million in f64 are tried by ``test_elementary_all.py`` (marked slow).
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from jitlang.codegen import kernels as code
from jitlang.frontend.emitter import Static
from jitlang.frontend.kernel import Kernel, b1, f32, f64, i64, kernel, ptr
from jitlang.native import engine
from jitlang.tensor.kernels.elementary import ELEMENTARY

inf, nan = math.inf, math.nan
TYPES = {"f32": (f32, np.float32, 24, -126), "f64": (f64, np.float64, 53, -1022)}
PREDICATES = {"isnan", "isinf", "isfinite"}
LOOPS = {"fmod", "remainder", "floor_divide"}


@kernel
def map_one(n: i64, x: Any, y: Any, op: Any) -> None:  # type: ignore[valid-type]
    """y = op(x), element by element."""
    for i in range(n):
        y[i] = op(x[i])


@kernel
def map_two(n: i64, x: Any, z: Any, y: Any, op: Any) -> None:  # type: ignore[valid-type]
    """y = op(x, z), element by element."""
    for i in range(n):
        y[i] = op(x[i], z[i])


@kernel
def map_three(n: i64, x: Any, z: Any, w: Any, y: Any, op: Any) -> None:  # type: ignore[valid-type]
    """y = op(x, z, w), element by element."""
    for i in range(n):
        y[i] = op(x[i], z[i], w[i])


def instance(op: Kernel, kind: Any, count: int, result: Any) -> Any:
    loop = (map_one, map_two, map_three)[count - 1]
    return loop.instance(i64, *[ptr[kind]] * count, ptr[result], Static(op))


def apply(name: str, kind: str, *arrays: Any) -> Any:
    """The function on whole arrays."""
    machine, dtype, _, _ = TYPES[kind]
    inputs = [np.ascontiguousarray(a, dtype) for a in arrays]
    result = np.empty(inputs[0].shape, bool if name in PREDICATES else dtype)
    address = code.address_of(instance(ELEMENTARY[name], machine, len(inputs), b1 if name in PREDICATES else machine))
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (len(inputs) + 1))(address)
    function(inputs[0].size, *[a.ctypes.data for a in inputs], result.ctypes.data)
    return result


def error(got: float, true: Any, precision: int, least: int) -> float:
    """The error of a finite or infinite result in units in the last place of the true value."""
    if true == 0:
        return 0.0 if got == 0 else inf
    exponent = max(mp.frexp(true)[1] - 1, least)
    if math.isinf(got):
        got_value = mp.ldexp(1, -least + 2) * (1 if got > 0 else -1)
        if abs(true) > abs(got_value) - mp.ldexp(1, exponent - precision):
            return 0.0 if (true > 0) == (got > 0) else inf
    else:
        got_value = mp.mpf(got)
    return float(abs(got_value - true) / mp.ldexp(1, exponent - precision + 1))


# ---- accuracy -----------------------------------------------------------------------------------------------------


def sigma(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def log1p_exp(x: Any) -> Any:
    return x + mp.log1p(mp.exp(-x)) if x > 0 else mp.log1p(mp.exp(x))


def mish(x: Any) -> Any:
    q = mp.exp(x) * (mp.exp(x) + 2)
    return x * q / (q + 2)


def hardsigmoid(x: Any) -> Any:
    return min(max(x + 3, 0), 6) / mp.mpf(6)


def logaddexp(x: Any, y: Any) -> Any:
    high, low = max(x, y), min(x, y)
    return mp.log1p(mp.expm1(high) + mp.exp(low)) if -1 < high < 0 else high + mp.log1p(mp.exp(low - high))


SELU_SCALE, SELU_ALPHA = "1.0507009873554804934193349852946", "1.6732632423543772848170429916717"
REAL: dict[str, tuple[Callable[..., Any], float, float]] = {  # the function and where it is tried
    "exp": (mp.exp, -760, 720),
    "exp2": (lambda x: mp.power(2, x), -1080, 1030),
    "expm1": (mp.expm1, -60, 720),
    "log": (mp.log, 0, inf),
    "log2": (lambda x: mp.log(x) / mp.log(2), 0, inf),
    "log10": (lambda x: mp.log(x) / mp.log(10), 0, inf),
    "log1p": (mp.log1p, -1 + 2**-20, inf),
    "sin": (mp.sin, -inf, inf),
    "cos": (mp.cos, -inf, inf),
    "tan": (mp.tan, -inf, inf),
    "asin": (mp.asin, -1, 1),
    "acos": (mp.acos, -1, 1),
    "atan": (mp.atan, -inf, inf),
    "sinh": (mp.sinh, -720, 720),
    "cosh": (mp.cosh, -720, 720),
    "tanh": (mp.tanh, -720, 720),
    "asinh": (mp.asinh, -inf, inf),
    "acosh": (mp.acosh, 1, inf),
    "atanh": (mp.atanh, -1 + 2**-20, 1 - 2**-20),
    "sqrt": (mp.sqrt, 0, inf),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), 0, inf),
    "reciprocal": (lambda x: 1 / x, -inf, inf),
    "square": (lambda x: x * x, -inf, inf),
    "erf": (mp.erf, -30, 30),
    "erfc": (mp.erfc, -30, 30),
    "lgamma": (lambda x: mp.loggamma(x).real, 0, inf),
    "sigmoid": (sigma, -760, 760),
    "log_sigmoid": (lambda x: -log1p_exp(-x), -760, 760),
    "softplus": (log1p_exp, -760, 760),
    "gelu": (lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2, -60, 60),
    "gelu_tanh": (lambda x: x * sigma(2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf(0.044715) * x**3)), -60, 60),
    "silu": (lambda x: x * sigma(x), -760, 760),
    "mish": (mish, -760, 760),
    "selu": (lambda x: mp.mpf(SELU_SCALE) * (x if x > 0 else mp.mpf(SELU_ALPHA) * mp.expm1(x)), -760, 760),
    "hardsigmoid": (hardsigmoid, -inf, inf),
    "hardswish": (lambda x: x * hardsigmoid(x), -inf, inf),
    "softsign": (lambda x: x / (1 + abs(x)), -inf, inf),
}
EDGES = [1.0, -1.0, 0.5, -0.5, 2.0, 2.5, math.pi / 4, math.pi / 2, math.pi, 100 * math.pi, 1e22, 22.0, 88.72, -87.33, -103.97, 709.78, -708.39, -745.13]


def samples(kind: str, low: float, high: float, seed: int = 1) -> Any:
    """Inputs of all magnitudes, and dense ones near the edges of the methods."""
    _, dtype, precision, least = TYPES[kind]
    random = np.random.default_rng(seed)
    unsigned = {24: np.uint32, 53: np.uint64}[precision]
    bits = random.integers(0, np.iinfo(unsigned).max, 120, unsigned, endpoint=True).view(dtype)
    near = [e * (1 + random.choice([-1, 1]) * 2.0 ** random.uniform(-precision, -2)) for e in EDGES for _ in range(4)]
    plain = random.normal(0, [[0.3], [2], [20], [200]], (4, 40)).ravel()
    x = np.concatenate([bits, np.asarray(near, dtype), plain.astype(dtype), np.asarray(EDGES, dtype)])
    x = np.unique(np.concatenate([x, 2.0 ** random.uniform(least - precision, 8, 60).astype(dtype)]))
    return x[np.isfinite(x) & (x >= low) & (x <= high) & (x != 0)]


def worst(name: str, kind: str, true: Callable[..., Any], *arrays: Any) -> tuple[float, tuple[float, ...]]:
    """The greatest error, and where."""
    _, _, precision, least = TYPES[kind]
    found = apply(name, kind, *arrays)
    greatest, where = -1.0, ()
    with mp.workprec(360):  # next to its zero a result may be 2**-110 times the operand
        for y, *x in zip(found.tolist(), *(a.tolist() for a in arrays), strict=True):
            e = error(y, true(*map(mp.mpf, x)), precision, least)
            if not e <= greatest:
                greatest, where = e, tuple(x)
    return greatest, where


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", list(REAL))
def test_error_is_below_one_unit(name: str, kind: str) -> None:
    true, low, high = REAL[name]
    greatest, where = worst(name, kind, true, samples(kind, low, high))
    assert greatest <= 1.0, where


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", ["pow", "atan2", "hypot", "logaddexp", "elu"])
def test_error_of_functions_of_two(name: str, kind: str) -> None:
    x, y = samples(kind, -inf, inf, 2), samples(kind, -inf, inf, 3)
    if name == "pow":
        x, y = np.resize(abs(x), 600), np.random.default_rng(4).normal(0, 20, 600).astype(x.dtype)
        y = (y / np.maximum(1, abs(np.log(x)))).astype(x.dtype)
    if name == "logaddexp":
        x, y = x[abs(x) < 1000], y[abs(y) < 1000]
    if name == "elu":
        x, y = x[abs(x) < 700], abs(y[(abs(y) < 700) & (abs(y) > 0.001)])
    x, y = np.resize(x, 600), np.resize(y, 600)
    true: dict[str, Callable[..., Any]] = {
        "pow": mp.power,
        "atan2": mp.atan2,
        "hypot": mp.hypot,
        "logaddexp": logaddexp,
        "elu": lambda a, alpha: a if a > 0 else alpha * mp.expm1(a),
    }
    greatest, where = worst(name, kind, true[name], x, y)
    assert greatest <= 1.0, where


def test_sine_of_hard_arguments() -> None:
    """Doubles and floats that lie closest to multiples of pi/2 (J.-M. Muller, Elementary Functions, 3rd ed., ch. 11)."""
    hard = np.array([6381956970095103.0 * 2.0**797, 5.319372648326541e255, 6.0 * 2.0**1021, 1.7976931348623157e308])
    for name, true in (("sin", mp.sin), ("cos", mp.cos), ("tan", mp.tan)):
        assert worst(name, "f64", true, hard)[0] <= 1.0
        assert worst(name, "f32", true, np.array([16367173.0 * 2.0**72, 3.4028235e38, 1e30], np.float32).astype(np.float64))[0] <= 1.0


def zeros_of_lgamma() -> list[Any]:
    """Its zeros at negative x: one in each half unit below -2, after -17 all but at the poles."""
    zeros = []
    for i in range(29):
        pole, other = sorted((mp.mpf(-2 - i / 2), mp.mpf(-2.5 - i / 2)), key=lambda x: x != mp.floor(x))
        for _ in range(mp.mp.prec):
            middle = (pole + other) / 2
            pole, other = (middle, other) if abs(mp.rgamma(middle)) < 1 else (pole, middle)
        zeros.append(pole)
    return zeros


def around(z: Any, dtype: Any, scale: float, count: int = 12) -> Any:
    """The neighbours of z among floats, and others ever further from it, up to about `scale`."""
    near = dtype(float(z)) + np.arange(-4, 5).astype(dtype) * np.spacing(abs(dtype(float(z))))
    far = [dtype(float(z + side * scale * mp.mpf(2) ** -k)) for k in np.linspace(1, np.finfo(dtype).nmant, count) for side in (1, -1)]
    return np.unique(np.concatenate([near, np.array(far, dtype)]))


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_lgamma_of_negative_numbers(kind: str) -> None:
    dtype = TYPES[kind][1]
    with mp.workprec(200):
        zeros = [around(z, dtype, float(abs(z - mp.nint(z)))) for z in zeros_of_lgamma()]
    random = np.random.default_rng(8)
    x = np.concatenate([*zeros, random.uniform(-40, 0, 400).astype(dtype), -(2.0 ** random.uniform(-100, 20, 200)).astype(dtype)])
    x = x[x != np.rint(x)]
    greatest, where = worst("lgamma", kind, lambda x: -mp.log(abs(mp.rgamma(x))), x)
    assert greatest <= 1.0, where


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_logaddexp_next_to_its_zeros(kind: str) -> None:
    """Along the curve exp(x) + exp(y) = 1."""
    dtype = TYPES[kind][1]
    random = np.random.default_rng(9)
    x = np.concatenate([-random.uniform(0, math.log(2), 60), -(2.0 ** random.uniform(-120 if kind == "f32" else -1074, 0, 60))]).astype(dtype)
    pairs = []
    with mp.workprec(200):
        for v in x.tolist():
            y = mp.log(-mp.expm1(mp.mpf(v)))
            near = around(y, dtype, float(abs(y)))
            pairs += [(v, w) for w in near.tolist()]
    first, second = np.array(pairs, dtype).T
    assert len(pairs) > 1000
    greatest, where = worst("logaddexp", kind, logaddexp, first, second)
    assert greatest <= 1.0, where
    assert np.array_equal(apply("logaddexp", kind, first, second), apply("logaddexp", kind, second, first))


# ---- special values -----------------------------------------------------------------------------------------------

PI = math.pi
SPECIAL: dict[str, list[tuple[float, float]]] = {
    "exp": [(inf, inf), (-inf, 0.0), (0.0, 1.0), (-0.0, 1.0), (nan, nan), (1000, inf), (-1000, 0.0)],
    "exp2": [(inf, inf), (-inf, 0.0), (0.0, 1.0), (nan, nan), (3.0, 8.0), (-2.0, 0.25), (2000, inf), (-2000, 0.0)],
    "expm1": [(inf, inf), (-inf, -1.0), (0.0, 0.0), (-0.0, -0.0), (nan, nan), (1000, inf), (-1000, -1.0)],
    "log": [(inf, inf), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (-1.0, nan), (-inf, nan), (nan, nan)],
    "log2": [(inf, inf), (0.0, -inf), (1.0, 0.0), (8.0, 3.0), (0.125, -3.0), (-1.0, nan), (nan, nan)],
    "log10": [(inf, inf), (-0.0, -inf), (1.0, 0.0), (1000.0, 3.0), (-1.0, nan), (nan, nan)],
    "log1p": [(inf, inf), (-1.0, -inf), (0.0, 0.0), (-0.0, -0.0), (-2.0, nan), (-inf, nan), (nan, nan)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan), (nan, nan)],
    "cos": [(0.0, 1.0), (inf, nan), (-inf, nan), (nan, nan)],
    "tan": [(0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan), (nan, nan)],
    "asin": [(0.0, 0.0), (-0.0, -0.0), (1.0, PI / 2), (-1.0, -PI / 2), (1.5, nan), (-inf, nan), (nan, nan)],
    "acos": [(1.0, 0.0), (-1.0, PI), (0.0, PI / 2), (1.5, nan), (inf, nan), (nan, nan)],
    "atan": [(0.0, 0.0), (-0.0, -0.0), (inf, PI / 2), (-inf, -PI / 2), (nan, nan)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf), (1000, inf), (-1000, -inf), (nan, nan)],
    "cosh": [(0.0, 1.0), (inf, inf), (-inf, inf), (1000, inf), (nan, nan)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0), (1000, 1.0), (nan, nan)],
    "asinh": [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf), (nan, nan)],
    "acosh": [(1.0, 0.0), (0.5, nan), (inf, inf), (-inf, nan), (nan, nan)],
    "atanh": [(0.0, 0.0), (-0.0, -0.0), (1.0, inf), (-1.0, -inf), (1.5, nan), (inf, nan), (nan, nan)],
    "sqrt": [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-1.0, nan), (nan, nan)],
    "rsqrt": [(0.0, inf), (-0.0, -inf), (inf, 0.0), (4.0, 0.5), (-1.0, nan), (nan, nan)],
    "reciprocal": [(0.0, inf), (-0.0, -inf), (inf, 0.0), (-inf, -0.0), (nan, nan)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0), (nan, nan)],
    "erfc": [(0.0, 1.0), (inf, 0.0), (-inf, 2.0), (nan, nan)],
    "lgamma": [(1.0, 0.0), (2.0, 0.0), (0.0, inf), (-0.0, inf), (-3.0, inf), (inf, inf), (-inf, inf), (nan, nan)],
    "sigmoid": [(0.0, 0.5), (inf, 1.0), (-inf, 0.0), (nan, nan)],
    "log_sigmoid": [(inf, -0.0), (-inf, -inf), (nan, nan)],
    "softplus": [(inf, inf), (-inf, 0.0), (nan, nan)],
    "gelu": [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, nan), (100.0, 100.0), (-100.0, -0.0), (nan, nan)],
    "gelu_tanh": [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, nan), (100.0, 100.0), (-100.0, -0.0), (nan, nan)],
    "silu": [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, nan), (1000.0, 1000.0), (-1000.0, -0.0), (nan, nan)],
    "mish": [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, nan), (-1000.0, -0.0), (nan, nan)],
    "elu": [(-0.0, -0.0), (inf, inf), (-inf, -1.0), (nan, nan)],
    "selu": [(-0.0, -0.0), (inf, inf), (nan, nan)],
    "relu": [(-0.0, -0.0), (inf, inf), (-inf, 0.0), (nan, nan), (-2.0, 0.0), (2.0, 2.0)],
    "relu6": [(inf, 6.0), (-inf, 0.0), (nan, nan), (-2.0, 0.0), (2.0, 2.0), (7.0, 6.0)],
    "leaky_relu": [(inf, inf), (-inf, -inf), (nan, nan), (2.0, 2.0)],
    "hardtanh": [(inf, 1.0), (-inf, -1.0), (nan, nan), (0.5, 0.5)],
    "hardsigmoid": [(inf, 1.0), (-inf, 0.0), (nan, nan), (0.0, 0.5)],
    "hardswish": [(inf, inf), (-inf, nan), (nan, nan), (0.0, 0.0), (-0.0, -0.0), (4.0, 4.0), (-4.0, -0.0), (1e38, 1e38)],
    "softsign": [(0.0, 0.0), (-0.0, -0.0), (1.0, 0.5), (-3.0, -0.75), (inf, nan), (nan, nan)],
    "round": [(0.5, 0.0), (1.5, 2.0), (2.5, 2.0), (-0.5, -0.0), (-1.5, -2.0), (inf, inf), (nan, nan)],
    "floor": [(0.5, 0.0), (-0.5, -1.0), (-0.0, -0.0), (inf, inf), (nan, nan)],
    "ceil": [(0.5, 1.0), (-0.5, -0.0), (-inf, -inf), (nan, nan)],
    "trunc": [(1.7, 1.0), (-1.7, -1.0), (-0.5, -0.0), (inf, inf), (nan, nan)],
    "frac": [(1.75, 0.75), (-1.75, -0.75), (inf, nan), (nan, nan)],
    "sign": [(-3.0, -1.0), (0.5, 1.0), (-0.0, 0.0), (inf, 1.0), (nan, 0.0)],
    "abs": [(-3.0, 3.0), (-0.0, 0.0), (-inf, inf), (nan, nan)],
    "neg": [(-3.0, 3.0), (0.0, -0.0), (-inf, inf), (nan, nan)],
    "square": [(-3.0, 9.0), (-0.0, 0.0), (-inf, inf), (nan, nan)],
    "isnan": [(nan, True), (inf, False), (0.0, False)],
    "isinf": [(nan, False), (inf, True), (-inf, True), (1.0, False)],
    "isfinite": [(nan, False), (inf, False), (-inf, False), (1.0, True), (-0.0, True)],
}


def same(got: Any, wanted: Any) -> bool:
    """Equal as numbers, signs of zeros and NaN included."""
    a, b = np.asarray(got), np.asarray(wanted)
    return bool(np.all(np.where(np.isnan(b), np.isnan(a), (a == b) & (np.signbit(a) == np.signbit(b)))))


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", list(SPECIAL))
def test_special_values(name: str, kind: str) -> None:
    dtype = bool if name in PREDICATES else TYPES[kind][1]
    for x, wanted in SPECIAL[name]:
        extra = {"elu": [1.0], "leaky_relu": [0.125], "hardtanh": [-1.0, 1.0]}.get(name, [])
        got = apply(name, kind, *([v] * 17 for v in (x, *extra)))
        assert same(got, np.full(17, wanted, dtype)), (x, got[0], wanted)


def pairs(kind: str) -> Iterator[Any]:
    values = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -3.0, 4.0, 1e30, -2.5, inf, -inf, nan, TYPES[kind][1](np.finfo(TYPES[kind][1]).smallest_subnormal)]
    x, y = np.meshgrid(np.array(values, TYPES[kind][1]), np.array(values, TYPES[kind][1]))
    return iter((x.ravel(), y.ravel()))


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_special_values_of_functions_of_two(kind: str) -> None:
    x, y = pairs(kind)
    with np.errstate(all="ignore"):
        for name, wanted in {"atan2": np.arctan2(x, y), "hypot": np.hypot(x, y), "fmod": np.fmod(x, y), "copysign": np.copysign(x, y)}.items():
            got = apply(name, kind, x, y)
            close = np.isclose(got, wanted, rtol=4e-7 if kind == "f32" else 1e-15, atol=0, equal_nan=True)
            zeros = (wanted != 0) | (np.signbit(got) == np.signbit(wanted))
            assert np.all(close & zeros), name
        for name, wanted in {"maximum": np.maximum(x, y), "minimum": np.minimum(x, y)}.items():
            assert np.array_equal(apply(name, kind, x, y), wanted, equal_nan=True), name
        assert np.allclose(apply("logaddexp", kind, x, y), np.logaddexp(x, y), rtol=1e-6, equal_nan=True)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_special_values_of_pow(kind: str) -> None:
    x, y = pairs(kind)
    got = apply("pow", kind, x, y)
    for a, b, c in zip(x.tolist(), y.tolist(), got, strict=True):
        try:
            wanted: Any = math.pow(a, b)
        except OverflowError:
            wanted = inf if not (a < 0 and b % 2 == 1) else -inf
        except ValueError:  # Python raises where C99 gives NaN, or infinity for a zero to a negative power
            odd = math.isfinite(b) and b == math.floor(b) and b % 2 == 1
            wanted = (math.copysign(inf, a) if odd else inf) if a == 0 else nan
        with np.errstate(over="ignore"):
            rounded = TYPES[kind][1](wanted)
        assert same(c, rounded) or (0 < abs(wanted) < inf and abs(c / wanted - 1) < 1e-6), (a, b, c, wanted)


# ---- exact functions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_remainders_are_exact(kind: str) -> None:
    x, y = samples(kind, -inf, inf, 5), samples(kind, -inf, inf, 6)
    x, y = np.resize(x, 3000), np.resize(y, 3000)
    assert same(apply("fmod", kind, x, y), np.fmod(x, y))
    plain = [(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True) if abs(a / b) < 1e15]
    a, b = np.array(plain, x.dtype).T
    wanted = np.array([p % q for p, q in zip(a.tolist(), b.tolist(), strict=True)], x.dtype)
    got = apply("remainder", kind, a, b)
    assert np.array_equal(got[wanted != 0], wanted[wanted != 0])
    assert not np.any(got[wanted == 0])
    with np.errstate(all="ignore"):
        assert np.array_equal(apply("floor_divide", kind, a, b), np.floor_divide(a, b))


def test_floor_divide_by_zero_and_infinity() -> None:
    x = np.array([5.0, -5.0, 1.0, -1.0, 0.0, -7.0, 7.0])
    y = np.array([inf, inf, 0.0, 0.0, 0.0, 2.0, -2.0])
    assert same(apply("floor_divide", "f64", x, y), [0.0, -1.0, inf, -inf, nan, -4.0, -4.0])
    assert same(apply("remainder", "f64", x, y), [5.0, inf, nan, nan, nan, 1.0, -1.0])


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_rounding_agrees_with_numpy(kind: str) -> None:
    x = samples(kind, -inf, inf, 7)
    x = np.concatenate([x, np.arange(-20, 20, dtype=x.dtype) / 4])
    table = {"floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc, "abs": np.abs, "neg": np.negative, "sign": np.sign}
    for name, wanted in table.items():
        assert np.array_equal(apply(name, kind, x), wanted(x)), name
    assert np.array_equal(apply("frac", kind, x), x - np.trunc(x))


def test_nan_to_num_and_parameters() -> None:
    nan_to_num = instance_of_nan_to_num()
    assert same(nan_to_num, [7.0, 8.0, -9.0, 0.5])
    x = np.array([-2.0, -0.5, 0.0, 0.5, 2.0])
    assert same(apply("leaky_relu", "f64", x, np.full(5, 0.25)), [-0.5, -0.125, 0.0, 0.5, 2.0])
    assert same(apply("hardtanh", "f64", x, np.full(5, -1.0), np.full(5, 0.25)), [-1.0, -0.5, 0.0, 0.25, 0.25])
    assert same(apply("leaky_relu", "f64", x), [-0.02, -0.005, 0.0, 0.5, 2.0])


def instance_of_nan_to_num() -> Any:
    @kernel
    def replaced(x: Any) -> Any:
        return ELEMENTARY["nan_to_num"](x, 7.0, 8.0, -9.0)

    loop = map_one.instance(i64, ptr[f64], ptr[f64], Static(replaced))
    x, y = np.array([nan, inf, -inf, 0.5]), np.empty(4)
    ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(code.address_of(loop))(4, x.ctypes.data, y.ctypes.data)
    return y


# ---- the code -----------------------------------------------------------------------------------------------------


def test_there_are_many() -> None:
    assert len(ELEMENTARY) >= 60
    untested = set(ELEMENTARY) - set(REAL) - set(SPECIAL) - LOOPS
    assert untested == {"pow", "atan2", "hypot", "logaddexp", "copysign", "maximum", "minimum", "nan_to_num"}


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sigmoid", "erf", "gelu", "silu", "sin", "atan", "lgamma", "relu"])
def test_loops_become_vector_code(name: str) -> None:
    text = engine.optimized(code.llvm_text(instance(ELEMENTARY[name], f32, 1, f32)), level=2)
    assert " x float>" in text
    assert 'call float @"' not in text
