"""Entries from Python: contexts, the GIL, Ctrl-C, time limits, errors, fork."""

import _thread
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from jitlang.native import bridge, context, engine, host, interrupts, tracebacks
from jitlang.source import Source, SourceRange

# spin(limit): counts to limit, polling at each back-edge, and returns the count; NULL and the error if it was stopped.
# fail(): records a ValueError at unit 4242, place 0. python(f): calls f() and passes its error on.
PROGRAM = (
    bridge.inline()
    + """
declare i64 @jl.host.interrupted(ptr)
declare void @jl.host.raise(ptr)
declare void @jl.host.release(ptr)
declare void @jl.host.failed(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyObject_CallNoArgs(ptr)
@cls = private constant [11 x i8] c"ValueError\\00"
@fmt = private constant [13 x i8] c"number is {}\\00"

define ptr @spin(i64 %limit) {
  %ctx = call ptr @jl.enter()
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %go ]
  %next = add i64 %i, 1
  %word = load atomic i64, ptr %ctx monotonic, align 8
  %set = icmp ne i64 %word, 0
  br i1 %set, label %look, label %go
look:
  %stop = call i64 @jl.host.interrupted(ptr %ctx)
  %stopped = icmp ne i64 %stop, 0
  br i1 %stopped, label %error, label %go
go:
  %more = icmp slt i64 %next, %limit
  br i1 %more, label %loop, label %done
done:
  call void @jl.leave(ptr %ctx)
  %r = call ptr @PyLong_FromLongLong(i64 %next)
  ret ptr %r
error:
  call void @jl.leave(ptr %ctx)
  call void @jl.host.raise(ptr %ctx)
  ret ptr null
}

define ptr @fail(i64 %n) {
  %ctx = call ptr @jl.enter()
  call void @jl.host.release(ptr %ctx)
  %c = getelementptr %Context, ptr %ctx, i32 0, i32 4
  store ptr @cls, ptr %c
  %f = getelementptr %Context, ptr %ctx, i32 0, i32 5
  store ptr @fmt, ptr %f
  %k = getelementptr %Context, ptr %ctx, i32 0, i32 7
  store i64 1, ptr %k
  %v = getelementptr %Context, ptr %ctx, i32 0, i32 8
  store i64 %n, ptr %v
  %t = getelementptr %Context, ptr %ctx, i32 0, i32 9
  store i64 0, ptr %t
  %d = getelementptr %Context, ptr %ctx, i32 0, i32 3
  store i64 1, ptr %d
  %u = getelementptr %Context, ptr %ctx, i32 0, i32 16
  store i64 4242, ptr %u
  %s = getelementptr %Context, ptr %ctx, i32 0, i32 17
  store i64 0, ptr %s
  call void @jl.leave(ptr %ctx)
  call void @jl.host.raise(ptr %ctx)
  ret ptr null
}

define ptr @python(ptr %function) {
  %ctx = call ptr @jl.enter()
  %r = call ptr @PyObject_CallNoArgs(ptr %function)
  %bad = icmp eq ptr %r, null
  br i1 %bad, label %error, label %done
error:
  call void @jl.host.failed(ptr %ctx)
  call void @jl.leave(ptr %ctx)
  call void @jl.host.raise(ptr %ctx)
  ret ptr null
done:
  call void @jl.leave(ptr %ctx)
  ret ptr %r
}
"""
)


@pytest.fixture(scope="module")
def program() -> dict[str, Any]:
    names = ["spin", "fail", "python"]
    symbols = ["jl.host.context", "jl.host.wake", "jl.host.acquire", "jl.host.interrupted", "jl.host.raise", "jl.host.release", "jl.host.failed"]
    imports = host.resolve(symbols) | {name: host.shared_cell(name) for name in ("jl.current", "jl.ticker")}
    addresses = engine.link(engine.compile_ir(PROGRAM, level=1), names, imports)
    kinds: dict[str, Any] = {"spin": ctypes.c_int64, "fail": ctypes.c_int64, "python": ctypes.py_object}
    return {name: ctypes.PYFUNCTYPE(ctypes.py_object, kinds[name])(addresses[name]) for name in names}


FOREVER = 1 << 60


def test_a_call_runs_and_leaves_nothing_behind(program: dict[str, Any]) -> None:
    assert program["spin"](1000) == 1000
    assert context.current().active == 0
    assert context.current().gil is None


def test_errors_carry_places_and_set_the_context(program: dict[str, Any]) -> None:
    source = Source("def f(n):\n    raise ValueError(n)\n", "bridged.py")
    tracebacks.register_unit(4242, [SourceRange(source, 2, 4, 2, 23, "f")])
    with pytest.raises(ValueError, match=r"^number is -5$") as caught:
        program["fail"](-5)
    names = [(os.path.basename(f.filename), f.name) for f in traceback.extract_tb(caught.value.__traceback__)]  # noqa: PTH119
    assert names == [("test_bridge.py", "test_errors_carry_places_and_set_the_context"), ("bridged.py", "f")]
    try:
        raise KeyError("first")
    except KeyError as first:
        with pytest.raises(ValueError, match="number") as caught:
            program["fail"](1)
        assert caught.value.__context__ is first


def test_errors_of_python_functions_pass_through(program: dict[str, Any]) -> None:
    def raises() -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine") as caught:
        program["python"](raises)
    assert [f.name for f in traceback.extract_tb(caught.value.__traceback__)][-1] == "raises"
    assert program["python"](lambda: 5) == 5
    assert program["python"](lambda: program["spin"](3)) == 3


def interrupt_after(seconds: float, act: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(seconds, act)
    timer.start()
    return timer


def test_control_c_stops_a_loop_within_100_ms(program: dict[str, Any]) -> None:
    when: list[float] = []

    def press() -> None:
        when.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = interrupt_after(0.2, press)
    with pytest.raises(KeyboardInterrupt):
        program["spin"](FOREVER)
    assert time.monotonic() - when[0] < 0.1
    timer.join()
    assert context.current().active == 0


def test_other_threads_run_while_native_code_loops(program: dict[str, Any]) -> None:
    done: list[int] = []
    thread = threading.Thread(target=lambda: done.append(program["spin"](200_000_000)))
    thread.start()
    count = 0
    while thread.is_alive():
        count += 1
        time.sleep(0.001)
    assert done == [200_000_000]
    assert count >= 2


def test_interrupt_reaches_the_main_thread_while_a_worker_loops(program: dict[str, Any]) -> None:
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            program["spin"](10_000_000)

    worker = threading.Thread(target=work)
    worker.start()
    timer = interrupt_after(0.15, _thread.interrupt_main)
    try:
        with pytest.raises(KeyboardInterrupt):
            program["spin"](FOREVER)
    finally:
        stop.set()
        worker.join()
        timer.join()


def test_time_limit(program: dict[str, Any]) -> None:
    start = time.monotonic()
    with pytest.raises(TimeoutError, match=r"0\.05 s"), interrupts.time_limit(0.05):
        program["spin"](FOREVER)
    assert 0.05 <= time.monotonic() - start < 0.3
    assert program["spin"](10) == 10


def test_ticker_sleeps_and_wakes(program: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    program["spin"](10)
    end = time.monotonic() + 5
    while interrupts._STATE.value != interrupts.ASLEEP and time.monotonic() < end:
        time.sleep(0.05)
    assert interrupts._STATE.value == interrupts.ASLEEP
    for _ in range(3):
        with pytest.raises(TimeoutError), interrupts.time_limit(0.03):
            program["spin"](FOREVER)
    assert interrupts._STATE.value == interrupts.TICKING


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_a_ticker_of_its_own(program: dict[str, Any]) -> None:
    program["spin"](10)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with interrupts.time_limit(0.05):
                program["spin"](FOREVER)
        except TimeoutError:
            code = 7
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_eight_threads_enter_and_fail(program: dict[str, Any]) -> None:
    wrong: list[object] = []

    def work(k: int) -> None:
        for i in range(300):
            try:
                program["fail"](k * 1000 + i)
            except ValueError as error:
                if str(error) != f"number is {k * 1000 + i}":
                    wrong.append(error)
            if program["spin"](50) != 50:
                wrong.append("spin")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_process_ends_while_a_daemon_thread_loops() -> None:
    code = (
        "import ctypes, threading, time\n"
        "from tests.native.test_bridge import PROGRAM\n"
        "from jitlang.native import engine, host\n"
        "names = ['jl.host.' + n for n in ('context', 'wake', 'acquire', 'interrupted', 'raise', 'release', 'failed')]\n"
        "imports = host.resolve(names) | {n: host.shared_cell(n) for n in ('jl.current', 'jl.ticker')}\n"
        "spin = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_int64)(engine.link(engine.compile_ir(PROGRAM, level=1), ['spin'], imports)['spin'])\n"
        "threading.Thread(target=spin, args=(1 << 60,), daemon=True).start()\n"
        "time.sleep(0.2)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=30)
    assert result.returncode == 0, result.stderr
