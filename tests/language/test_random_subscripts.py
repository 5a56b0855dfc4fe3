"""Random subscripts of tensors in scripts, with values that are known only at the call: both tiers do what eager code does."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import jitlang as jl
from tests.language.oracle import check

# entry → how many dimensions it takes; names are parameters
ENTRIES = {e: 1 for e in ("0", "1", "-1", "3", "i", "i:", ":", "1:", "::2", "-2:", "[0, 1]", "number", "row", "table")}
ENTRIES |= {"None": 0, "...": 0, "True": 0, "False": 0, "flag": 0, "single": 0, "mask": 2}
PARAMETERS = "x: jl.Tensor, i: int, flag: bool, number: jl.Tensor, single: jl.Tensor, row: jl.Tensor, table: jl.Tensor, mask: jl.Tensor"
BODIES = ("return x[{0}]", "x[{0}] = 9\n    return x", "x[{0}] += 1\n    return x", "y = x[{0}]\n    y += 1\n    return x")
SEEDS = range(3)
COUNT = 30


def subscript(r: random.Random) -> str:
    chosen: list[str] = []
    room = 3 + int(r.random() < 0.1)
    for _ in range(r.randint(1, 4)):
        entry = r.choice(list(ENTRIES))
        if ENTRIES[entry] <= room and (entry != "..." or "..." not in chosen):
            room -= ENTRIES[entry]
            chosen.append(entry)
    return ", ".join(chosen)


def module_of(seed: int, folder: Path) -> ModuleType:
    r = random.Random(seed)
    functions = [f"def f{k}({PARAMETERS}):\n    {r.choice(BODIES).format(subscript(r))}\n" for k in range(COUNT)]
    file = folder / f"subscripts_{seed}.py"
    file.write_text("import jitlang as jl\n\n\n" + "\n\n".join(functions), "utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments(r: random.Random) -> list[Any]:
    return [
        jl.arange(36.0).reshape(3, 3, 4),
        r.choice([0, 1, -1, 2]),
        r.choice([True, False]),
        jl.tensor(r.choice([0, 1, -2]), dtype=r.choice([jl.int64, jl.int32])),
        jl.tensor(r.choice([True, False])),
        jl.tensor([r.choice([0, 1, -1]), 1]),
        jl.tensor([[0, 1], [-1, 2]]),
        jl.tensor([[True, False, True], [False, False, True], [True, True, False]]),
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_scripts_index_as_eager_code_does(seed: int, tmp_path: Path) -> None:
    module = module_of(seed, tmp_path)
    for k in range(COUNT):
        check(getattr(module, f"f{k}"), *arguments(random.Random(k)), messages=True)
