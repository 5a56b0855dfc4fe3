"""The forms of elementary functions for their usual arguments: the same bits, whatever stands beside an argument."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import jitlang as jl
from jitlang.codegen import kernels as code
from jitlang.frontend.emitter import Static
from jitlang.frontend.kernel import Kernel, bitcast, f32, f64, i32, i64, kernel, ptr
from jitlang.tensor.kernels.elementary import USUAL

KINDS = {"f32": (f32, np.float32, i32), "f64": (f64, np.float64, i64)}


@kernel
def compare(n: i64, x: Any, found: ptr[i64], op: Any, is_usual: Any, form: Any, bits: Any) -> None:  # type: ignore[valid-type]
    """found = how many arguments are usual, and for how many of these the results differ in a bit."""
    usual = different = i64(0)
    for i in range(n):
        inside = is_usual(x[i])
        usual += i64(inside)
        different += i64(inside & (bitcast(bits, op(x[i])) != bitcast(bits, form(x[i]))))
    found[0], found[1] = usual, different


def arguments(kind: Any) -> Any:
    """Two million bit patterns, a quarter of them special or huge, the rest of every size up to 2**26."""
    random = np.random.default_rng(7)
    patterns = random.integers(0, 1 << (8 * np.dtype(kind).itemsize), 1_000_000, np.dtype(f"u{np.dtype(kind).itemsize}")).view(kind)
    sizes = (2.0 ** random.uniform(-40, 26, 1_000_000) * random.choice([-1, 1], 1_000_000)).astype(kind)
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 2.0**26, np.nextafter(kind(2.0**26), kind(0))], kind)
    return np.concatenate([patterns, sizes, edges])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", USUAL, ids=lambda op: op.function.__name__)
def test_the_forms_agree(op: Kernel, kind: str) -> None:
    machine, numpy, bits = KINDS[kind]
    x, found = arguments(numpy), np.zeros(2, np.int64)
    is_usual, form = USUAL[op]
    address = code.address_of(compare.instance(i64, ptr[machine], ptr[i64], *map(Static, (op, is_usual, form, bits))))
    ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(address)(x.size, x.ctypes.data, found.ctypes.data)
    assert found[0] > 1_000_000
    assert found[1] == 0


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbours_do_not_matter(name: str, dtype: Any) -> None:
    """A tensor with huge, infinite and NaN elements among usual ones, against the same elements one by one."""
    x = np.random.default_rng(3).normal(0, 10, 3000).astype(dtype)
    x[[0, 255, 256, 700, 2999]] = [1e30, np.inf, 2.0**26, np.nan, -1e20]
    function = getattr(jl, name)
    alone = np.array([function(jl.from_numpy(x[i : i + 1])).item() for i in range(x.size)], dtype)
    for tensor in (jl.from_numpy(x), jl.from_numpy(np.repeat(x, 2))[::2]):
        assert function(tensor).numpy().tobytes() == alone.tobytes()
