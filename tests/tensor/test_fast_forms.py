"""Functions with a cheaper form for loops over arrays: the same bits, whatever stands beside an argument."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import jitlang as jl
from jitlang.codegen import kernels as code
from jitlang.frontend.emitter import Static
from jitlang.frontend.kernel import Kernel, bitcast, f32, f64, i32, i64, kernel, ptr
from jitlang.tensor.kernels.elementary import FAST

KINDS = {"f32": (f32, np.float32, i32), "f64": (f64, np.float64, i64)}


@kernel
def compare_one(n: i64, x: Any, y: Any, found: ptr[i64], op: Any, form: Any, holds: Any, bits: Any) -> None:  # type: ignore[valid-type]
    """found = for how many arguments the form holds, and for how many of these the results differ in a bit."""
    good = different = i64(0)
    for i in range(n):
        fast = form(x[i])
        inside = holds(fast, x[i])
        good += i64(inside)
        different += i64(inside & (bitcast(bits, op(x[i])) != bitcast(bits, fast)))
    found[0], found[1] = good, different


@kernel
def compare_two(n: i64, x: Any, y: Any, found: ptr[i64], op: Any, form: Any, holds: Any, bits: Any) -> None:  # type: ignore[valid-type]
    """The same for a function of two."""
    good = different = i64(0)
    for i in range(n):
        fast = form(x[i], y[i])
        inside = holds(fast, x[i], y[i])
        good += i64(inside)
        different += i64(inside & (bitcast(bits, op(x[i], y[i])) != bitcast(bits, fast)))
    found[0], found[1] = good, different


def arguments(kind: Any, seed: int) -> Any:
    """Two million numbers: bit patterns, every size up to 2**26, and special ones."""
    random = np.random.default_rng(seed)
    patterns = random.integers(0, 1 << (8 * np.dtype(kind).itemsize), 1_000_000, np.dtype(f"u{np.dtype(kind).itemsize}")).view(kind)
    sizes = (2.0 ** random.uniform(-40, 26, 1_000_000) * random.choice([-1, 1], 1_000_000)).astype(kind)
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 2.0**26, np.nextafter(kind(2.0**26), kind(0))], kind)
    return np.concatenate([patterns, sizes, edges])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", FAST, ids=lambda op: op.function.__name__)
def test_the_forms_agree(op: Kernel, kind: str) -> None:
    machine, dtype, bits = KINDS[kind]
    x, y, found = arguments(dtype, 7), arguments(dtype, 8), np.zeros(2, np.int64)
    compare = compare_two if op.function.__name__ == "logaddexp" else compare_one
    statics = map(Static, (op, FAST[op].form, FAST[op].holds, bits))
    address = code.address_of(compare.instance(i64, ptr[machine], ptr[machine], ptr[i64], *statics))
    ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * 3)(address)(x.size, x.ctypes.data, y.ctypes.data, found.ctypes.data)
    assert found[0] > 1_000_000
    assert found[1] == 0


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "logaddexp"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbours_do_not_matter(name: str, dtype: Any) -> None:
    """A tensor with huge, infinite and NaN elements, and pairs on the curve of logaddexp, among usual ones, against the same elements one by one."""
    random = np.random.default_rng(3)
    x, y = random.normal(0, 10, 3000).astype(dtype), random.normal(0, 10, 3000).astype(dtype)
    x[[0, 255, 256, 700, 2999]] = [1e30, np.inf, 2.0**26, np.nan, -1e20]
    x[1000:1050] = -random.random(50)
    y[1000:1050] = np.log(-np.expm1(x[1000:1050]))
    arrays = [x, y][: 2 if name == "logaddexp" else 1]
    function = getattr(jl, name)
    alone = np.array([function(*(jl.from_numpy(a[i : i + 1]) for a in arrays)).item() for i in range(x.size)], dtype)
    for tensors in ([jl.from_numpy(a) for a in arrays], [jl.from_numpy(np.repeat(a, 2))[::2] for a in arrays]):
        assert function(*tensors).numpy().tobytes() == alone.tobytes()
