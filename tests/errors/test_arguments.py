"""Whatever a script calls with too few or too many arguments: a compile error at the call, or what CPython says; never a fault of the compiler."""

from __future__ import annotations

import builtins
import importlib.util
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import jitlang as jl
from jitlang.frontend.script.emitter import ScriptEmitter
from jitlang.registry import all_operators

BUILTINS = sorted(n.removeprefix("builtin_") for n in dir(ScriptEmitter) if n.startswith("builtin_") and hasattr(builtins, n.removeprefix("builtin_")))
OWNERS = {"str": "'a b'", "list": "[3, 1]", "dict": "{'a': 1}", "tensor": "jl.ones(2, 2)"}
METHODS = {
    kind: sorted({r.name for r in all_operators() if "method" in r.variants and r.namespace == ("aten" if kind == "tensor" else "py")}) for kind in OWNERS
}
FUNCTIONS = sorted({r.name for r in all_operators() if r.namespace == "aten" and "function" in r.variants and not r.name.startswith("_")})


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", "vm")


ARGUMENTS = ("", "1", "'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'", "no_such_name=1")


def module_of(expressions: list[str], folder: Path) -> ModuleType:
    path = folder / "calls.py"
    lines = ["import jitlang as jl", "import math", ""]
    for number, expression in enumerate(expressions):
        lines += [f"def f{number}():", f"    return {expression}", ""]
    path.write_text("\n".join(lines), "utf-8")
    spec = importlib.util.spec_from_file_location("calls", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def outcome(function: Any, line: int) -> str:
    """What goes wrong in the compiler for this function; nothing where it says what is wrong with the call, or can make it."""
    try:
        jl.script(function)()
    except jl.CompileError as error:
        if error.where is None or error.where.line != line or not str(error.where.source.filename).endswith("calls.py"):
            return f"the error stands elsewhere: {error}"
        return "" if error.message else "no message"
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return "" if last.filename.endswith("calls.py") and last.lineno == line else f"{type(error).__name__}: {error}"
    return ""


def check(called: list[str], folder: Path, arguments: tuple[str, ...] = ARGUMENTS) -> None:
    expressions = [f"{c}({a})" for c in called for a in arguments]
    module = module_of(expressions, folder)
    found = {e: outcome(getattr(module, f"f{i}"), 5 + 3 * i) for i, e in enumerate(expressions)}
    assert {e: fault for e, fault in found.items() if fault} == {}


def test_builtins(tmp_path: Path) -> None:
    assert len(BUILTINS) > 30
    check(BUILTINS, tmp_path)


@pytest.mark.parametrize("kind", OWNERS)
def test_methods(kind: str, tmp_path: Path) -> None:
    check([f"{OWNERS[kind]}.{name}" for name in METHODS[kind]], tmp_path, ARGUMENTS[2:] if kind == "tensor" else ARGUMENTS)


def test_functions_of_tensors(tmp_path: Path) -> None:
    check([f"jl.{name}" for name in [*FUNCTIONS, "tensor", "as_tensor", "Tensor"]], tmp_path, ARGUMENTS[::3])


def test_functions_of_math(tmp_path: Path) -> None:
    import math

    check([f"math.{name}" for name in dir(math) if callable(getattr(math, name))], tmp_path)
