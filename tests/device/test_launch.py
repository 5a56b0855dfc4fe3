"""Launchable kernels: their PTX has an entry, and on the emulated device they give what the loops of the CPU give, bit for bit."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitlang as jl
from jitlang.frontend.kernel import Instance
from jitlang.registry import all_operators
from jitlang.tensor.cuda.emulator import Emulator
from jitlang.tensor.cuda.launch import GRIDS, Launchable, ptx_kernel
from jitlang.tensor.loops import all_loops
from jitlang.types import DType, dtype_named

all_operators()


def launchable(name: str, dtype: str) -> Launchable:
    loop = next(each for each in all_loops() if each.name == name)
    made = ptx_kernel(loop.instance(dtype_named(dtype).code), f"{name}_{dtype}")
    assert made is not None
    return made


@pytest.mark.parametrize(("blocks", "threads"), [(1, 1), (3, 32), (7, 5), (200, 2)])
@pytest.mark.parametrize(("name", "dtype"), [("add", "float32"), ("mul", "int64"), ("div", "float64"), ("maximum", "float32"), ("lt", "float32")])
def test_binary(name: str, dtype: str, blocks: int, threads: int) -> None:
    a, b = (np.arange(1, 301) * 37 % 91 - 40).astype(dtype), (np.arange(1, 301) * 53 % 89 + 1).astype(dtype)
    wanted = getattr(jl, name)(jl.from_numpy(a), jl.from_numpy(b)).numpy()
    out = np.zeros(300, wanted.dtype)
    Emulator(launchable(name, dtype))(blocks, threads, 300, out.ctypes.data, a.ctypes.data, b.ctypes.data)
    assert out.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", ["sin", "exp", "tanh", "sqrt", "erf", "sigmoid"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_unary(name: str, dtype: str) -> None:
    a = np.linspace(-30, 30, 501).astype(dtype)
    wanted = getattr(jl, name)(jl.from_numpy(a)).numpy()
    out = np.zeros_like(wanted)
    Emulator(launchable(name, dtype))(4, 33, 501, out.ctypes.data, a.ctypes.data)
    assert out.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", ["sum", "prod", "max"])
def test_reduction_in_the_same_order(name: str) -> None:
    """One result of many elements for each thread: the tree of the CPU's loop, so the same rounding."""
    x = (np.random.default_rng(3).standard_normal((17, 5000)) * 0.1 + 1).astype(np.float32)
    wanted = getattr(jl, "amax" if name == "max" else name)(jl.from_numpy(x), 1).numpy()
    loop = next(each for each in all_loops() if each.name == name)
    made = ptx_kernel(loop.instance(dtype_named("float32").code), name)
    assert made is not None
    assert [n for n, _ in made.parameters] == ["m", "n", "x", "stride", "gap", "out", "out_gap"]
    out = np.zeros(17, np.float32)
    Emulator(made)(2, 4, 17, 5000, x.ctypes.data, 4, 4 * 5000, out.ctypes.data, 4)
    assert out.tobytes() == wanted.tobytes()


def test_an_element_is_written_by_one_thread() -> None:
    a = np.arange(10, dtype=np.float32)
    kernel = Emulator(launchable("add", "float32"))
    kernel(3, 2, 7, a.ctypes.data, a.ctypes.data, a.ctypes.data)  # in place: a second visit would double again
    assert a.tolist() == [0, 2, 4, 6, 8, 10, 12, 7, 8, 9]
    with pytest.raises(ValueError, match="takes 4 arguments"):
        kernel(1, 1, 3)


def test_entry_in_ptx() -> None:
    text = launchable("add", "float32").ptx("sm_90")
    assert ".visible .entry add_float32(" in text
    assert ".target sm_90" in text
    assert "%ctaid.x" in text
    assert "%nctaid.x" in text
    assert "add.rn.f32" in text
    assert "fma" not in launchable("mul", "float64").ptx()


def launchables() -> list[Launchable]:
    dtypes = [dtype_named(n) for n in ("float32", "float64", "int64", "int32", "uint8", "bool")]

    def instance(loop: Any, dtype: DType) -> Instance | None:
        return loop.make(dtype)

    found = {}
    for loop in all_loops():
        for dtype in dtypes:
            made = instance(loop, dtype)
            if made is not None and made.kernel in GRIDS:
                kernel = ptx_kernel(made, f"{loop.name}_{dtype.name}".replace(".", "_"))
                assert kernel is not None
                found[kernel.instance.symbol] = kernel
    return list(found.values())


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="needs ptxas")
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_ptxas_accepts_launchable_kernels(architecture: str, tmp_path: Path) -> None:
    """Every seventh; `test_targets` shows all loops to ptxas."""
    for kernel in launchables()[:: 7 if architecture == "sm_80" else 31]:
        file = tmp_path / "kernel.ptx"
        file.write_text(kernel.ptx(architecture, level=1))
        done = subprocess.run(
            ["ptxas", f"-arch={architecture}", "-O1", str(file), "-o", str(tmp_path / "kernel.cubin")], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{kernel.name}: {done.stderr}"
