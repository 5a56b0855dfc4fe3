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
SEEDS = range(2)
COUNT = 25


def subscript(r: random.Random) -> str:
    chosen: list[str] = []
    room = 3 + int(r.random() < 0.1)
    for _ in range(r.randint(1, 4)):
        entry = r.choice(list(ENTRIES))
        if ENTRIES[entry] <= room and (entry != "..." or "..." not in chosen):
            room -= ENTRIES[entry]
            chosen.append(entry)
    return ", ".join(chosen)


def module_of(functions: list[str], folder: Path) -> ModuleType:
    file = folder / "subscripts.py"
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
    r = random.Random(seed)
    module = module_of([f"def f{k}({PARAMETERS}):\n    {r.choice(BODIES).format(subscript(r))}\n" for k in range(COUNT)], tmp_path)
    for k in range(COUNT):
        check(getattr(module, f"f{k}"), *arguments(random.Random(k)), messages=True)


PLAIN = ("0", "-1", "i", ":", "1:", "::2", "-2:", "None", "i:")
BY_TENSORS = ("number", "row", "[0, 1]")


def around_dots(r: random.Random) -> str:
    before, behind = ([r.choice(choice) for _ in range(r.randint(0, 2))] for choice in (PLAIN + BY_TENSORS, PLAIN))
    while sum(e != "None" for e in (*before, *behind)) > 3:
        (before or behind).pop()
    return ", ".join([*before, "...", *behind])


def test_dots_in_tensors_of_unknown_rank(tmp_path: Path) -> None:
    """Tensors that come out of a list, as entry points of archives see all their tensors."""
    r = random.Random(5)
    bodies = [r.choice(BODIES).format(around_dots(r)) for _ in range(COUNT)]
    texts = [f"def f{k}(xs: list[jl.Tensor], i: int, number: jl.Tensor, row: jl.Tensor):\n    x = xs[0]\n    {body}\n" for k, body in enumerate(bodies)]
    module = module_of(texts, tmp_path)
    for k in range(COUNT):
        x, i, _, number, _, row, _, _ = arguments(random.Random(k))
        check(getattr(module, f"f{k}"), [x], i, number, row)
