"""CONTRIBUTING's recipe "add a tensor operator", followed: one row, and the operator is everywhere."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jitlang as jl
from jitlang.cli import main
from jitlang.codegen.kernels import llvm_text
from jitlang.codegen.module import PTX
from jitlang.frontend.kernel import kernel
from jitlang.native import engine
from jitlang.registry import all_operators, unregister
from jitlang.serialization import read_archive
from jitlang.tensor.cuda.emulator import Emulator
from jitlang.tensor.cuda.launch import ptx_kernel
from jitlang.tensor.loops import all_loops
from jitlang.tensor.ops.families import unary
from jitlang.types import F32, dtype_named

NAME = "toy_cube"


@kernel
def cube(x: Any) -> Any:
    """x ** 3, of one element."""
    return x * x * x


@pytest.fixture(scope="module", autouse=True)
def row() -> Iterator[None]:
    unary(NAME, cube, "The third power, element by element.", inplace=False)
    yield
    for found in [r for r in all_operators() if r.name == NAME]:
        unregister(found)


def cubes(x: jl.Tensor) -> jl.Tensor:
    return jl.toy_cube(x) + x.toy_cube()


X = [[1.0, -2.0], [0.5, 3.0]]
EXPECTED = [[2.0, -16.0], [0.25, 54.0]]


def test_eager_function_and_method() -> None:
    x = jl.tensor(X)
    assert jl.toy_cube(x).tolist() == x.toy_cube().tolist() == (np.array(X) ** 3).tolist()
    assert "toy_cube" in dir(jl) and "The third power" in str(jl.toy_cube.__doc__)


@pytest.mark.parametrize("tier", ["vm", "native"])
def test_script(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)
    function = jl.script(cubes)
    assert function(jl.tensor(X)).tolist() == EXPECTED
    assert jl.status(function)[0].tier == tier


def test_ptx() -> None:
    made = engine.compile_for(llvm_text(cube.instance(F32), PTX), "nvptx64-nvidia-cuda", "sm_80")
    assert made.count(b"mul.rn.f32") == 2


def test_launchable_kernel() -> None:
    loop = next(each for each in all_loops() if each.name == NAME)
    launchable = ptx_kernel(loop.instance(dtype_named("float64").code), "toy_entry")
    assert launchable is not None
    assert ".visible .entry toy_entry(" in launchable.ptx()
    x, out = np.array(X), np.zeros((2, 2))
    Emulator(launchable)(2, 3, 4, out.ctypes.data, x.ctypes.data)
    assert out.tolist() == (x**3).tolist()


def test_archive() -> None:
    stream = io.BytesIO()
    jl.save(cubes, stream)
    loaded = jl.load(io.BytesIO(stream.getvalue()))
    assert loaded(jl.tensor(X)).tolist() == EXPECTED
    archive = read_archive(io.BytesIO(stream.getvalue()))
    assert {n.kind for n in archive.programs["main"].main.walk()} >= {f"aten::{NAME}"}


def test_command_line_and_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    for options in (["--json"], ["--markdown"], []):
        with pytest.raises(SystemExit):
            main(["ops", NAME, *options])
    out = capsys.readouterr().out
    rows = json.JSONDecoder().raw_decode(out)[0]
    assert [(r["name"], r["schema"], r["doc"]) for r in rows] == [(f"aten::{NAME}", f"{NAME}(Tensor self) -> Tensor", "The third power, element by element.")]
    assert f"| `{NAME}(Tensor self) -> Tensor` | The third power, element by element. |" in out
