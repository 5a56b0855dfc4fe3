"""The loop kernels of all operators are also code for other machines: PTX that `ptxas` takes, and AArch64 objects."""

from __future__ import annotations

import shutil
import subprocess

import pytest

import jitlang  # noqa: F401  registers the operators
from jitlang.codegen.kernels import llvm_text
from jitlang.codegen.module import AARCH64, PTX
from jitlang.native import engine
from jitlang.tensor.loops import Loop, all_loops
from jitlang.types import DTYPES, dtype_named


def instances(loop: Loop, name: str):
    code = dtype_named(name).code
    if loop.name == "cast":
        return [loop.instance(code * 16 + source.code) for source in DTYPES]
    try:
        return [loop.instance(code)]
    except NotImplementedError:
        return []


@pytest.mark.parametrize("name", ["float32", "int64"])
def test_loops_compile_for_other_machines(name):
    made = 0
    for loop in all_loops():
        for instance in instances(loop, name):
            ptx = engine.compile_for(llvm_text(instance, PTX), "nvptx64-nvidia-cuda", "sm_80", level=1)
            assert b".visible .func" in ptx or b".entry" in ptx, loop.name
            code = engine.compile_for(llvm_text(instance, AARCH64), "aarch64-unknown-linux-gnu", level=1)
            assert code.startswith(b"\x7fELF"), loop.name
            made += 1
    assert made > 50


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="needs ptxas")
def test_ptxas_takes_the_loops(tmp_path):
    for loop in all_loops():
        for instance in instances(loop, "float32"):
            text = engine.compile_for(llvm_text(instance, PTX), "nvptx64-nvidia-cuda", "sm_80", level=1)
            file = tmp_path / "loop.ptx"
            file.write_bytes(text)
            done = subprocess.run(["ptxas", "-arch=sm_80", "-c", "-o", tmp_path / "loop.o", file], capture_output=True, text=True)
            assert done.returncode == 0, f"{loop.name}: {done.stderr}"
