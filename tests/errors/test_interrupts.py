"""Ctrl-C at any moment of a first use: it raises KeyboardInterrupt where it came, nothing else happens, and the next use gives the right answer."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

import jitlang as jl
from jitlang.native.signals import Deferred
from tests.errors.test_stress import ENDLESS

ROOT = Path(jl.__file__).parents[1]

# The parent sends SIGINT some time after the child has said that it starts; the child reports on one line.
CHILD = '''
import io, os, signal, sys, time, traceback
import numpy as np
import jitlang as jl

class Count(jl.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = jl.nn.Parameter(jl.ones(3, 3))
        self.calls = 0

    def forward(self, x: jl.Tensor) -> jl.Tensor:
        self.calls += 1
        return (x @ self.w).relu() * self.calls

def f(x: jl.Tensor, xs: list[int]) -> tuple[jl.Tensor, float, str]:
    total, text = 0.0, ""
    for i, v in enumerate(xs):
        total += v * i * 0.5
        text += f"{v}-"
    xs.append(len(text))
    return (x.transpose(0, 1) @ x).softmax(1) + x[0, 1:3].sum(), total, text

def action():
    x = jl.from_numpy(np.arange(12, dtype=np.float32).reshape(4, 3))
    xs = [1, 5, 9]
    result = jl.script(f)(x, xs)
    model = jl.script(Count())
    file = io.BytesIO()
    jl.save(model, file)
    file.seek(0)
    return repr([result, xs, model(x).numpy().tolist(), jl.load(file)(x).numpy().tolist(), np.asarray(x[1:3].exp()).tolist()])

def interrupted(after):
    faults, swallowed = [], []

    def unraisable(what):
        # Python's own finalisers (of import locks, say) swallow what they meet.
        ours = getattr(what.object, "__module__", "").startswith(("jitlang", "llvmlite"))
        (faults if ours else swallowed).append(f"unraisable {what.exc_value!r} in {what.object!r}")

    sys.unraisablehook = unraisable
    ready, told = os.pipe()
    if os.fork() == 0:
        os.read(ready, 1)
        time.sleep(after)
        os.kill(os.getppid(), signal.SIGINT)
        os._exit(0)
    met = False
    try:
        os.write(told, b".")
        action()
        os.wait()
        time.sleep(0.01)
    except KeyboardInterrupt:
        met = True
    except BaseException:
        faults.append(traceback.format_exc())
    if not met and not swallowed:
        faults.append("the interrupt was lost")
    return faults, action()

def elsewhere(function):
    """What a function answers in a child that has used nothing yet."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, function().encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as answer:
        text = answer.read().decode()
    os.waitpid(pid, 0)
    return text

def report(after):
    faults, answer = interrupted(after)
    return "\\n".join([*faults, "ok" if answer == right else f"{answer} instead of {right}"])

right = elsewhere(action)
for after in map(float, sys.argv[1:]):
    text = elsewhere(lambda: report(after))
    print(text if text == "ok" else f"after {after} s: {text or 'died'}", flush=True)
'''


@pytest.mark.parametrize("tier", ["vm", "native", "auto"])
def test_ctrl_c_at_any_moment(tier: str, tmp_path: Path) -> None:
    file = tmp_path / "child.py"
    file.write_text(CHILD, "utf-8")
    times = [f"{random.Random(tier).random() * 0.02 + i * 0.03:.4f}" for i in range(6)]
    done = subprocess.run(
        [sys.executable, str(file), *times], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT), "JITLANG_TIER": tier}, check=False
    )
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.split("\n") == ["ok"] * len(times) + [""]


# One process is interrupted again and again in an endless loop; each time it must come out by KeyboardInterrupt, through the function's line.
MANY = """
import os, signal, sys, threading, time, traceback
import jitlang as jl

def g(n: int) -> int:
    return n ^ 3

def f(n: int, once: bool) -> int:
    x = jl.ones(4)
    while True:
        {body}
        if once:
            return n

sys.setswitchinterval(0.0005)
h = jl.script(f)
h(1, True)
running = threading.Event()

def interrupt():
    for i in range({times}):
        running.wait()
        running.clear()
        time.sleep(i * 37 % 100 / 20_000)
        os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
for _ in range({times}):
    try:
        running.set()
        h(1, False)
    except KeyboardInterrupt as error:
        names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        assert names in (["<module>", "f"], ["<module>", "f", "g"]), names
print("ok")
"""
BODIES = {name: ENDLESS[name] for name in ("plain", "calls", "lists", "tensors")}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize(("tier", "times"), [("vm", 150), ("native", 20)])
def test_ctrl_c_again_and_again(tier: str, times: int, name: str, tmp_path: Path) -> None:
    file = tmp_path / "child.py"
    file.write_text(MANY.format(body=BODIES[name], times=times), "utf-8")
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": str(ROOT), "JITLANG_TIER": tier}, check=False
    )
    assert (done.stdout, done.stderr) == ("ok\n", "")


def test_ctrl_c_while_the_ticker_starts(tmp_path: Path) -> None:
    file = tmp_path / "child.py"
    file.write_text(
        textwrap.dedent("""
            import jitlang as jl
            from jitlang.native import host, interrupts

            def spin(n: int) -> int:
                while True:
                    n ^= 1

            def start():
                interrupts.start()
                raise KeyboardInterrupt

            host.object_cell("jl.py.ticker", start)
            try:
                jl.script(spin)(1)
            except KeyboardInterrupt:
                print("interrupted")
        """),
        "utf-8",
    )
    done = subprocess.run(
        [sys.executable, str(file)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT), "JITLANG_TIER": "native"},
        check=False,
    )
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


def test_a_deferred_interrupt_comes_at_the_end() -> None:
    reached = False
    with pytest.raises(KeyboardInterrupt), Deferred():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        reached = True
    assert reached and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_deferring_is_the_main_threads() -> None:
    handlers = []

    def other() -> None:
        with Deferred():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]


def test_an_ignored_interrupt_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Deferred():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
