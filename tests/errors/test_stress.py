"""What a program must survive: endless loops and recursion, huge allocations, thousands of exceptions, and many threads at once; in both tiers."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jitlang as jl

ROOT = Path(jl.__file__).parents[1]


@pytest.fixture(params=["vm", "native"], autouse=True)
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("JITLANG_TIER", request.param)
    return str(request.param)


# ---- Ctrl-C -------------------------------------------------------------------------------------------------------------

ENDLESS = {
    "plain": "n = (n * 7 + 1) % 1000003",
    "empty": "pass",
    "nested": "for i in range(1000):\n            n ^= i",
    "lists": "xs = [n, n + 1]\n        n = len(xs)",
    "calls": "n = g(n)",
    "tensors": "x = x * 1.0",
}
CHILD = """
import sys, threading, traceback
import jitlang as jl

def g(n: int) -> int:
    return n ^ 3

def f(n: int, once: bool) -> int:
    x = jl.ones(4)
    while True:
        {body}
        if once:
            return n

h = jl.script(f)
h(1, True)  # compiles all that it needs
timer = threading.Timer(0.3, lambda: (sys.stdout.write("running\\n"), sys.stdout.flush()))
timer.daemon = True
timer.start()
try:
    h(1, False)
except KeyboardInterrupt as error:
    print("interrupted", [frame.name for frame in traceback.extract_tb(error.__traceback__)], flush=True)
"""


@pytest.mark.parametrize("name", ENDLESS)
def test_ctrl_c_stops_an_endless_loop(name: str, tmp_path: Path) -> None:
    file = tmp_path / "endless.py"
    file.write_text(CHILD.format(body=ENDLESS[name]), "utf-8")
    child = subprocess.Popen(
        [sys.executable, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "running\n", child.stderr.read() if child.stderr else ""
        time.sleep(0.1)
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        line = child.stdout.readline()
        took = time.monotonic() - began
        assert line.startswith("interrupted"), line
        assert "'f'" in line, line
        # 100 ms are promised; a machine that is busy with other things may need longer to let the process run.
        busy = os.getloadavg()[0] / len(os.sched_getaffinity(0))
        assert took < 0.1 * max(1.0, 2.0 * busy), f"{took:.3f} s"
    finally:
        child.kill()
        child.communicate()


MAKING = """
import jitlang as jl
try:
    print("running", flush=True)
    for dtype in (jl.float32, jl.float64, jl.int64):
        x = jl.ones(3, dtype=dtype)
        for name in ("sin", "exp", "tanh", "abs", "sqrt", "erf", "neg", "sigmoid"):
            if name in ("abs", "neg") or dtype != jl.int64:
                getattr(jl, name)(x)
        (x + x * 2 < x).any(), x.sum(), x.max(), x.cumsum(0), x.sort()
    print("done")
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("delay", [0.0, 0.15, 0.4, 0.8])
def test_ctrl_c_while_kernels_are_made(delay: float) -> None:
    """Native code waits for an address then, which it must get: the interrupt comes after it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JITLANG_CACHE_DIR": "", "PYTHONFAULTHANDLER": "1"}
    child = subprocess.Popen([sys.executable, "-c", MAKING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "running\n"
        time.sleep(delay)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
    finally:
        child.kill()
    assert out.split()[-1:] in (["interrupted"], ["done"]), err
    assert "Fatal" not in err, err


# ---- recursion and memory -------------------------------------------------------------------------------------------------


def endless(n: int) -> int:
    return endless(n + 1) + 1


def ping(n: int) -> int:
    return pong(n + 1)


def pong(n: int) -> int:
    return ping(n) + 1


def endless_list(xs: list[int]) -> list[int]:
    return endless_list([len(xs)])


def depth(n: int) -> int:
    return 0 if n == 0 else depth(n - 1) + 1


def test_endless_recursion() -> None:
    for function, args in ((endless, (0,)), (ping, (0,)), (endless_list, ([],))):
        h = jl.script(function)
        for _ in range(2):
            with pytest.raises(RecursionError):
                h(*args)
    assert jl.script(depth)(500) == 500


def test_endless_recursion_in_a_thread() -> None:
    outcome: list[type] = []

    def run() -> None:
        try:
            jl.script(endless)(0)
        except RecursionError as error:
            outcome.append(type(error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert outcome == [RecursionError]


def huge_list(n: int) -> int:
    xs = [0] * n
    return len(xs)


def huge_text(n: int) -> int:
    return len("abc" * n)


def huge_range(n: int) -> int:
    return len(list(range(n)))


def huge_tensor(n: int) -> jl.Tensor:
    return jl.zeros(n)


def huge_matrix(n: int) -> jl.Tensor:
    return jl.ones(n, n)


def huge_broadcast(x: jl.Tensor, n: int) -> jl.Tensor:
    return x.expand(n, 3) + 1.0


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (huge_list, (2**50,)),
        (huge_list, (2**61,)),
        (huge_text, (2**60,)),
        (huge_range, (2**55,)),
        (huge_tensor, (2**50,)),
        (huge_matrix, (2**31,)),
        (huge_matrix, (2**24,)),
    ],
    ids=lambda x: getattr(x, "__name__", str(x)),
)
def test_allocations_too_large(function: Callable[..., Any], args: tuple[int]) -> None:
    h = jl.script(function)
    for _ in range(3):
        with pytest.raises(MemoryError):
            h(*args)
    assert h(2) is not None


def test_a_broadcast_too_large() -> None:
    with pytest.raises(MemoryError):
        jl.script(huge_broadcast)(jl.ones(1, 3), 2**50)


# ---- leaks --------------------------------------------------------------------------------------------------------------


class Box:
    def __init__(self, items: list[int]):
        self.items = items
        self.name = "box"


def fails_late(xs: list[list[int]], d: dict[str, list[float]], s: str, x: jl.Tensor, n: int) -> int:
    ys = [a + [n] for a in xs]
    text = s * 50 + str(n)
    e = {k: v + [1.0] for k, v in d.items()}
    y = x * 2.0 + 1.0
    box = Box(ys[0])
    pair = (text, ys, y)
    xs.append(box.items)
    del xs[-1]
    if n >= 0:
        for i in range(3):
            z = y + float(i)
            if i == 2:
                raise ValueError(f"{text[-3:]} {len(e)} {float(z.sum())} {len(pair[1])}")
    return len(ys) // n


def rss() -> int:
    """Bytes of memory that are resident."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_ten_thousand_raises_leak_nothing(tier: str) -> None:
    h = jl.script(fails_late)
    xs, d, s, x = [[1, 2], [3]], {"a": [0.5]}, "".join(["leaks", "?"]), jl.ones(300)
    counts = [sys.getrefcount(o) for o in (xs, xs[0], d, d["a"], s, x)]

    def many(times: int) -> None:
        for _ in range(times):
            try:
                h(xs, d, s, x, 7)
            except ValueError:
                continue
            raise AssertionError("nothing was raised")

    many(1000)
    gc.collect()
    before = rss()
    many(10_000)
    gc.collect()
    assert rss() - before < 2_000_000
    assert [sys.getrefcount(o) for o in (xs, xs[0], d, d["a"], s, x)] == counts
    assert (xs, d) == ([[1, 2], [3]], {"a": [0.5]})


# ---- threads ------------------------------------------------------------------------------------------------------------


def work(n: int, xs: list[int]) -> tuple[int, list[int], str]:
    total = 0
    for i in range(n):
        total += xs[i % len(xs)] * i % 7
    return total, [x * n for x in xs], f"{total}:{n}"


def work_tensor(x: jl.Tensor, n: int) -> jl.Tensor:
    for i in range(n):
        x = (x * 1.5 + i).sin()
    return x


@pytest.mark.parametrize("which", ["native", "auto"])
def test_eight_threads_compile_and_call_the_same_function(which: str, tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", which if tier == "native" else tier)
    h, t = jl.script(work), jl.script(work_tensor)
    x = jl.arange(5, dtype=jl.float32)
    wanted, wanted_tensor = work(200, [3, 1, 2]), work_tensor(x, 20).tolist()
    failures: list[str] = []
    barrier = threading.Barrier(8)

    def run(seed: int) -> None:
        try:
            barrier.wait()
            for _ in range(20):
                assert h(200, [3, 1, 2]) == wanted
                assert t(x, 20).tolist() == wanted_tensor
                try:
                    h(seed + 1, [])
                except ZeroDivisionError:
                    continue
                raise AssertionError("nothing was raised")
        except BaseException as error:
            failures.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert failures == []
    jl.wait_for_compilation()
    assert h(200, [3, 1, 2]) == wanted
