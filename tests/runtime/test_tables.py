"""Lists, dicts and tensors that stand outside the function: each call sees them as they were when it was compiled, whatever it does to them."""

from __future__ import annotations

import io
import math
import threading
import time
from collections.abc import Callable
from typing import Any, Dict, List, Optional, Tuple  # noqa: UP035

import pytest

import jitlang as jl
from jitlang.codegen.library import memory
from jitlang.frontend.script import compile_function
from jitlang.ir.equal import program_difference
from jitlang.ir.printer import print_program
from jitlang.ir.reader import parse_program
from jitlang.ir.verifier import verify_program
from jitlang.types import INT

SMALL = [1, 2, 3]
DAYS = {"mon": 1}
INTS = [i * 7 % 31 for i in range(100)]
REALS = [1, *(i / 3 for i in range(98)), math.inf]
WORDS = [f"w{i}" for i in range(50)] + ["\u20ac\U0001f600"]
FLAGS = [i % 3 == 0 for i in range(40)]
PAIRS = [(i, str(i)) for i in range(40)]
MAYBE = [None if i % 2 else i for i in range(40)]
ROWS = [[i + j for j in range(20)] for i in range(20)]
INDEX = {f"w{i}": i for i in range(300)}
GRID = {(i, i % 5): i / 2 for i in range(60)}
GROUPS = {i: [i, i + 1] for i in range(30)}
WEIGHT = jl.arange(60).float().reshape(3, 20) / 7
COUNTS = jl.arange(20)
MASK = jl.tensor([True, False] * 10)


def read(i: int) -> Tuple[int, float, str, bool, Tuple[int, str], Optional[int], int]:
    return INTS[i], REALS[i], WORDS[i], FLAGS[i], PAIRS[i], MAYBE[i], ROWS[i][i]


def read_dicts(i: int) -> Tuple[int, float, List[int]]:
    return INDEX[WORDS[i]], GRID[i, i % 5], GROUPS[i]


def totals(i: int) -> Tuple[int, float, int, int]:
    words = 0
    for w in WORDS:
        words += len(w)
    found = 0
    for k in INDEX:
        if k in INDEX and INDEX[k] > i:
            found += 1
    return sum(INTS), max(REALS[1:50]), words, found


def change(i: int) -> Tuple[List[int], Dict[str, int], int, List[List[int]]]:
    INTS.append(i)
    INTS[0] += i
    INDEX["new"] = i
    del INDEX["w0"]
    ROWS[0][0] += i
    return INTS, INDEX, len(INDEX), ROWS


def alias(i: int) -> Tuple[int, int]:
    a = INTS
    b = INTS
    a.append(i)
    return len(b), b[-1]


def helper(xs: List[int], i: int) -> int:
    xs[i] = 1000
    return sum(xs)


def passed(i: int) -> Tuple[int, int]:
    return helper(INTS, i), INTS[i]


def in_a_loop(i: int) -> int:
    total = 0
    for k in range(i):
        total += INTS[k] * INDEX["w3"]
    return total


def tensors(i: int) -> Tuple[jl.Tensor, jl.Tensor, jl.Tensor, int]:
    return WEIGHT * 2.0, COUNTS + i, MASK, int(COUNTS[i])


def change_tensor(i: int) -> Tuple[float, float]:
    before = float(WEIGHT.sum())
    WEIGHT.add_(float(i))
    return before, float(WEIGHT.sum())


def small(i: int) -> Tuple[int, int, bool, bool]:
    SMALL.append(i)
    DAYS["sun"] = i
    found = len(SMALL), len(DAYS), bool(DAYS)
    SMALL.clear()
    return *found, bool(SMALL)


def missing(i: int) -> int:
    return INDEX["none"] + i


FUNCTIONS: list[Callable[..., Any]] = [read, read_dicts, totals, alias, passed, in_a_loop, tensors, small]
OWN: Tuple[Any, ...] = (INTS, INDEX, ROWS, GROUPS, WEIGHT, SMALL, DAYS)


def plain(value: Any) -> Any:
    if isinstance(value, jl.Tensor):
        return str(value.dtype), value.tolist()
    return type(value)(map(plain, value)) if type(value) in (list, tuple) else value


def fresh(function: Callable[..., Any], i: int) -> Any:
    """What Python says when the tables are as they were."""
    held: list[Any] = [
        x.clone() if isinstance(x, jl.Tensor) else [list(y) if isinstance(y, list) else y for y in x] if isinstance(x, list) else dict(x) for x in OWN
    ]
    try:
        return plain([v.copy() if isinstance(v, list | dict) else v for v in function(i)] if function is change else function(i))
    finally:
        for own, was in zip(OWN, held, strict=True):
            if isinstance(own, jl.Tensor):
                own.copy_(was)
            elif isinstance(own, dict):
                own.clear()
                own.update(was)
            else:
                own[:] = was


@pytest.mark.parametrize("tier", ["vm", "native", "auto"])
@pytest.mark.parametrize("function", [*FUNCTIONS, change, change_tensor], ids=lambda f: f.__name__)
def test_calls_see_the_tables_as_they_were(function: Callable[..., Any], tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)
    scripted = jl.script(function)
    stream = io.BytesIO()
    jl.save(scripted, stream)
    loaded = jl.load(io.BytesIO(stream.getvalue()))
    again = io.BytesIO()
    jl.save(loaded, again)
    assert again.getvalue() == stream.getvalue()
    shown = plain([list(x) if isinstance(x, list) else x for x in OWN])
    for i in (3, 5, 3, 3):
        wanted = fresh(function, i)
        for f in (scripted, loaded):
            found = f(i)
            assert plain(list(found) if function is change else found) == wanted
        if tier == "auto":
            time.sleep(0.02)
    assert plain([list(x) if isinstance(x, list) else x for x in OWN]) == shown  # what the script changes is its own


def test_nothing_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", "native")
    for function in [*FUNCTIONS, change, change_tensor, missing]:
        scripted = jl.script(function)
        for counted in (False, True):
            memory.counted(counted)
            for _ in range(5):
                if function is missing:
                    with pytest.raises(KeyError):
                        scripted(3)
                else:
                    scripted(3)
            if counted:
                assert memory.counted(False) == 0


def test_threads_make_a_table_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", "native")
    wanted = fresh(totals, 3)
    scripted = jl.script(totals)
    found: list[Any] = []
    start = threading.Barrier(8)

    def work() -> None:
        start.wait()
        found.extend(plain(scripted(3)) for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [wanted] * 160


def test_the_text_form() -> None:
    for function in [read, read_dicts, tensors]:
        program = compile_function(function, [INT])
        verify_program(program)
        text = print_program(program)
        assert "prim::Table[value=(" in text
        back = parse_program(text)
        verify_program(back)
        assert program_difference(program, back) is None
    assert "prim::Table" not in print_program(compile_function(lambda i: SMALL[i], [INT]), texts=False)  # passes see through a small one


def test_a_large_table_is_compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", "native")
    vocabulary = {f"word {i}": i for i in range(20_000)}
    numbers = list(range(100_000))

    def look(text: str, i: int) -> int:
        return vocabulary[text] + numbers[i]

    scripted = jl.script(look)
    began = time.perf_counter()
    assert scripted("word 19999", 99_999) == 119_998
    assert time.perf_counter() - began < 30
    began = time.perf_counter()
    for _ in range(100):
        scripted("word 7", 5)
    assert time.perf_counter() - began < 0.1
