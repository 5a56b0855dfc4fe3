"""Every kernel of the tensor runtime, every row's native function and every loop is PTX that ptxas accepts, and an AArch64 object."""

from __future__ import annotations

import importlib
import pkgutil
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from jitlang.codegen.kernels import emit
from jitlang.codegen.module import AARCH64, PTX, Module, Target
from jitlang.frontend.emitter import Static
from jitlang.frontend.kernel import Instance, Kernel
from jitlang.frontend.kernel_emitter import parameter_types
from jitlang.native import engine
from jitlang.registry import Operator, all_operators
from jitlang.schema import MISSING
from jitlang.tensor.kernels.elementary import ELEMENTARY
from jitlang.tensor.loops import all_loops
from jitlang.types import BOOL, DEVICE, DTYPE, DTYPES, F32, F64, I64, INT, STR, U8, ListType, OptionalType, Pointer, Type, machine_type

ROWS = [r for r in all_operators() if isinstance(r.native, Kernel)]
WORDS = {"rounding_mode": "floor", "indexing": "ij", "ord": "fro", "equation": "ij,jk->ik", "dtype": "float32", "places": "0123", "p": "fro"}


def runtime_kernels() -> list[Instance]:
    """The kernels of `jitlang.tensor.kernels` all of whose parameters have types; the generic ones come in through rows and loops."""
    package = importlib.import_module("jitlang.tensor.kernels")
    found: dict[str, Instance] = {}
    for module in pkgutil.walk_packages(package.__path__, "jitlang.tensor.kernels."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Kernel) and value.function.__module__ == module.name and None not in parameter_types(value):
                found[value.qualified] = value.instance(*[t for t in parameter_types(value) if t is not None])
    return list(found.values())


def elementary() -> list[Instance]:
    """The elementary functions, which are generic in their float type."""
    return [k.instance(*[t] * k.function.__code__.co_argcount) for k in ELEMENTARY.values() for t in (F32, F64)]


def of_rows() -> list[Instance]:
    """The native function of each row, for arguments of its schema's types."""
    found = []
    for row in ROWS:
        types = parameter_types(row.native)
        found.append(row.native.instance(*[t if t is not None else argument(row, i) for i, t in enumerate(types)]))
    return found


def argument(row: Operator, at: int) -> Any:
    """A type, or a compile-time value, for a parameter that takes any."""
    given = row.schema.arguments[at]
    type: Type = given.type
    if isinstance(type, OptionalType):
        return Static(None if given.default in (None, MISSING) else given.default)
    if type == STR:
        return Static(given.default if isinstance(given.default, str) else WORDS[given.name])
    if isinstance(type, ListType):
        return Pointer(U8)
    plain: dict[Any, Type] = {INT: I64, BOOL: machine_type(next(d for d in DTYPES if d.name == "bool")), DTYPE: I64, DEVICE: I64}
    return plain.get(type, F64)


def loops() -> list[Instance]:
    """The loops of all operators, for every dtype that they are defined for."""
    found: dict[str, Instance] = {}
    for loop in all_loops():
        for dtype in DTYPES:
            made = loop.make(dtype)
            if made is not None:
                found.setdefault(made.symbol, made)
    return list(found.values())


def module_of(target: Target, instances: Iterable[Instance]) -> str:
    """One module with all of them."""
    module = Module(target)
    for instance in instances:
        if instance.symbol not in module.functions:
            emit(module, instance, linkage="")
    return module.text()


SETS = {"kernels": runtime_kernels, "elementary": elementary, "rows": of_rows, "loops": loops}


@pytest.mark.parametrize("which", SETS)
def test_aarch64(which: str) -> None:
    code = engine.compile_for(module_of(AARCH64, SETS[which]()), "aarch64-unknown-linux-gnu", level=0)
    assert code[:4] == b"\x7fELF"
    assert int.from_bytes(code[18:20], "little") == 183  # EM_AARCH64


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="needs ptxas")
@pytest.mark.parametrize("which", SETS)
def test_ptx(which: str, tmp_path: Path) -> None:
    """For relocation (-c): what a kernel calls of the host is found, or missed, where it is linked."""
    text = module_of(PTX, SETS[which]())
    for architecture in ("sm_80", "sm_90"):
        file = tmp_path / f"{architecture}.ptx"
        file.write_bytes(engine.compile_for(text, "nvptx64-nvidia-cuda", architecture, level=0))
        done = subprocess.run(
            ["ptxas", "-c", f"-arch={architecture}", "-O0", str(file), "-o", str(tmp_path / "x.o")], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[:2000]


def test_nothing_is_left_out() -> None:
    assert len(of_rows()) == len(ROWS) > 300
    assert len(loops()) > 300
    assert len(runtime_kernels()) > 200
    assert len(elementary()) > 80
