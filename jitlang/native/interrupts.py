"""The ticker, which makes native loops look up now and then. In: native code is active. Out: interrupt words are set.

A native loop tests its context's interrupt word at each back-edge: one load, no system call. Every 20 ms a thread, itself
native and without the GIL, sets the word of each context whose `active` count is not 0; the loop then calls
``jl.host.interrupted``, which runs Python's signal handlers (Ctrl-C raises KeyboardInterrupt in the main thread), then the
context's hook (time limits), and gives the GIL up so that other threads run. The thread starts with the first native call,
sleeps in ``read`` after a second without native code, and is started anew in a forked child.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from jitlang.native import context, host
from jitlang.native.signals import Deferred

# Values of the cell jl.ticker.
TICKING, ASLEEP, NOT_STARTED = 0, 1, 2
TICK_US = 20_000
IDLE_TICKS = 50  # ticks without active native code until the ticker falls asleep

_STATE = ctypes.c_int64.from_address(host.shared_cell("jl.ticker"))
_PIPE = ctypes.c_int64.from_address(host.shared_cell("jl.ticker.pipe"))
_pipe: list[int] = []
_lock = threading.Lock()


def start() -> None:
    """Starts the ticker thread, unless it runs."""
    with Deferred(), _lock:
        if _STATE.value != NOT_STARTED:
            return
        loop = ctypes.CFUNCTYPE(None, ctypes.c_int)(host.resolve(["jl.host.ticker"])["jl.host.ticker"])
        _pipe[:] = _pipe or os.pipe()  # the one of a start that failed
        _PIPE.value = _pipe[1]
        _STATE.value = TICKING
        try:
            threading.Thread(target=loop, args=(_pipe[0],), name="jitlang-ticker", daemon=True).start()
        except RuntimeError:  # too many threads: the next native call tries again
            _STATE.value = NOT_STARTED
            raise


def _after_fork() -> None:
    # The thread does not exist in the child, nor do the other threads' native calls.
    global _lock
    _lock = threading.Lock()
    for handle in _pipe:
        with contextlib.suppress(OSError):
            os.close(handle)
    _pipe.clear()
    _STATE.value = NOT_STARTED
    context.forget_other_threads()


_STATE.value = NOT_STARTED
host.object_cell("jl.py.ticker", start)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@contextlib.contextmanager
def on_tick(hook: Callable[[], Any]) -> Iterator[None]:
    """Within it, `hook` is called (with the GIL) at the ticks that native code of this thread sees; what it raises, the script raises."""
    here = context.current()
    before = here.hook
    here.hook = id(hook)
    try:
        yield
    finally:
        here.hook = before


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Within it, native code of this thread that runs past `seconds` raises TimeoutError at its next tick (20 ms)."""
    end = time.monotonic() + seconds

    def check() -> None:
        if time.monotonic() > end:
            raise TimeoutError(f"the script ran longer than {seconds:g} s")

    with on_tick(check):
        yield
