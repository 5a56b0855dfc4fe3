"""What touches CPython's own structures, for every version of it: calls, types, references, exceptions, buffers, threads. Needs pytest and nothing else."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Dict, List, Optional, Tuple

import numpy as np
import pytest

import jitlang as jl


def add(a: float, b: float = 2.0) -> float:
    return a + b


def collect(items: List[int], counts: Dict[str, int], name: str, note: Optional[str] = None) -> Tuple[int, str]:
    items.append(len(items))
    counts[name] = counts.get(name, 0) + 1
    return counts[name], name if note is None else name + note


def divide(a: int, b: int) -> int:
    return a // b


def forever() -> int:
    n = 0
    while True:
        n = (n + 1) % 1000
    return n


@pytest.fixture(params=["vm", "native"])
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name: str = request.param
    monkeypatch.setenv("JITLANG_TIER", name)
    return name


def test_calls(tier: str) -> None:
    f = jl.script(add)
    assert f(1.0, 3.0) == 4.0
    assert f(1.0) == 3.0
    assert f(a=1.0, b=4.0) == f(1.0, b=4.0) == f(b=4.0, a=1.0) == 5.0
    assert f(*[1.0], **{"b": 0.5}) == 1.5
    with pytest.raises(TypeError):
        f()
    with pytest.raises(TypeError):
        f(1.0, 2.0, 3.0)
    with pytest.raises(TypeError):
        f(1.0, c=2.0)


def test_containers_are_the_callers(tier: str) -> None:
    f = jl.script(collect)
    items: List[int] = [7]
    counts: Dict[str, int] = {"ü": 4}
    assert f(items, counts, "ü") == (5, "ü")
    assert f(items, counts, "x", note="!") == (1, "x!")
    assert items == [7, 1, 2] and counts == {"ü": 5, "x": 1}


def test_exceptions_show_the_users_line(tier: str) -> None:
    f = jl.script(divide)
    assert f(7, 2) == 3 and f(-7, 2) == -4
    with pytest.raises(ZeroDivisionError) as caught:
        f(1, 0)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (Path(last.filename).name, last.name, last.line) == ("test_bridge.py", "divide", "return a // b")
    with pytest.raises(OverflowError):
        f(-(2**63), -1)


def test_nothing_leaks(tier: str) -> None:
    f, g = jl.script(divide), jl.script(collect)
    for _ in range(20):
        with pytest.raises(ZeroDivisionError):
            f(1, 0)
    name = "a name of its own " * 3
    items: List[int] = []
    counts: Dict[str, int] = {}
    g(items, counts, name)
    gc.collect()
    before = sys.getrefcount(name), sys.getrefcount(items), sys.getrefcount(counts)
    for _ in range(200):
        g(items, counts, name)
        with pytest.raises(ZeroDivisionError):
            f(1, 0)
    gc.collect()
    assert (sys.getrefcount(name), sys.getrefcount(items), sys.getrefcount(counts)) == before


def test_tensors_and_buffers() -> None:
    x = jl.tensor([1.0, 2.0, 3.0])
    assert (x + x).tolist() == [2.0, 4.0, 6.0]
    array = np.arange(6, dtype=np.float32)
    shared = jl.from_numpy(array)
    array[0] = 9
    view = shared.numpy()
    del array, shared
    gc.collect()
    assert view.tolist() == [9.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert np.asarray(x).tolist() == [1.0, 2.0, 3.0]
    held = np.from_dlpack(x)
    del x
    gc.collect()
    assert held.tolist() == [1.0, 2.0, 3.0]


def test_tensors_in_scripts(tier: str) -> None:
    def scaled(x, factor: float):
        return (x * factor + 1.0).sum()

    f = jl.script(scaled)
    assert float(f(jl.tensor([1.0, 2.0]), 3.0)) == 11.0
    assert float(f(jl.tensor([[1, 2], [3, 4]]), 0.5)) == 9.0


def test_objects_are_collected() -> None:
    """A script function and a tensor are ordinary objects: they can be made and dropped for ever."""
    for _ in range(3):
        made = [jl.script(add) for _ in range(10)]
        assert made[0](1.0) == 3.0
        del made
        gc.collect()
    for _ in range(1000):
        jl.tensor([1.0]) + 1.0


def test_threads(tier: str) -> None:
    f = jl.script(add)
    answers: List[float] = []

    def work() -> None:
        answers.append(sum(f(float(i), 1.0) for i in range(100)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert answers == [5050.0] * 8


def test_ctrl_c(tier: str) -> None:
    f = jl.script(forever)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        f()
    assert time.perf_counter() - start < 30
    timer.join()


def test_archive(tmp_path: Path) -> None:
    path = tmp_path / "add.jlm"
    jl.save(jl.script(add), path)
    done = subprocess.run(
        [sys.executable, "-m", "jitlang", "run", str(path), "--input", "a=1.5", "--input", "b=2"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "3.5\n", "")
