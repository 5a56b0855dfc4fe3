"""The thread pool: every chunk runs once, from any thread, nested, after fork, with any number of threads."""

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from jitlang.native import engine, host, threads

# mark(p, i): p[i] += 1 after some work. nested(p, i): runs mark over 8 chunks at p + 8 i.
PROGRAM = """
declare void @jl.host.parallel(ptr, ptr, i64)
define void @mark(ptr %p, i64 %i) {
  br label %loop
loop:
  %k = phi i64 [ 0, %0 ], [ %k1, %loop ]
  %x = phi i64 [ %i, %0 ], [ %x1, %loop ]
  %h = mul i64 %x, 6364136223846793005
  %x1 = xor i64 %h, %k
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, 2000
  br i1 %more, label %loop, label %done
done:
  %even = and i64 %x1, 0
  %one = add i64 %even, 1
  %at = getelementptr i64, ptr %p, i64 %i
  %old = load i64, ptr %at
  %new = add i64 %old, %one
  store i64 %new, ptr %at
  ret void
}
define void @nested(ptr %p, i64 %i) {
  %off = mul i64 %i, 8
  %at = getelementptr i64, ptr %p, i64 %off
  call void @jl.host.parallel(ptr @mark, ptr %at, i64 8)
  ret void
}
define void @run(ptr %p, i64 %n) {
  call void @jl.host.parallel(ptr @mark, ptr %p, i64 %n)
  ret void
}
define void @run.nested(ptr %p, i64 %n) {
  call void @jl.host.parallel(ptr @nested, ptr %p, i64 %n)
  ret void
}
"""


@pytest.fixture(scope="module")
def run() -> dict[str, Any]:
    names = ["run", "run.nested"]
    linked = engine.link(engine.compile_ir(PROGRAM, level=1), names, host.resolve(["jl.host.parallel"]))
    return {name: ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(linked[name]) for name in names}


@pytest.fixture(autouse=True)
def keep_limit() -> Iterator[None]:
    before = threads.get_num_threads()
    yield
    threads.set_num_threads(before)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_each_chunk_runs_once(run: dict[str, Any], count: int) -> None:
    threads.set_num_threads(count)
    for n in (0, 1, 2, 3, 100, 1000):
        cells = (ctypes.c_int64 * (n + 1))()
        for _ in range(5):
            run["run"](cells, n)
        assert list(cells) == [5] * n + [0]


def test_nested_and_concurrent_calls(run: dict[str, Any]) -> None:
    threads.set_num_threads(3)
    results: list[bool] = []

    def work() -> None:
        cells = (ctypes.c_int64 * 800)()
        for _ in range(20):
            run["run.nested"](cells, 100)
        results.append(list(cells) == [20] * 800)

    running = [threading.Thread(target=work) for _ in range(4)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert results == [True] * 4


def test_work_wakes_sleeping_threads(run: dict[str, Any]) -> None:
    threads.set_num_threads(4)
    cells = (ctypes.c_int64 * 64)()
    for k in range(1, 6):
        run["run"](cells, 64)
        time.sleep(0.01)
        assert list(cells) == [k] * 64


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_a_pool_of_its_own(run: dict[str, Any]) -> None:
    threads.set_num_threads(3)
    cells = (ctypes.c_int64 * 50)()
    run["run"](cells, 50)
    child = os.fork()
    if child == 0:
        run["run"](cells, 50)
        os._exit(0 if list(cells) == [2] * 50 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_numbers_of_threads() -> None:
    threads.set_num_threads(7)
    assert threads.get_num_threads() == 7
    with pytest.raises(ValueError, match="1 or more"):
        threads.set_num_threads(0)
    with pytest.raises(TypeError, match="str"):
        threads.set_num_threads("2")  # type: ignore[arg-type]


def test_flag_sets_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_THREADS", "3")
    assert threads.default_threads() == 3
    program = "from jitlang.native import threads; print(threads.get_num_threads())"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "3\n"
    monkeypatch.setenv("JITLANG_THREADS", "0")
    with pytest.raises(ValueError, match="JITLANG_THREADS"):
        threads.default_threads()
