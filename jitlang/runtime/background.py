"""The background compiler: one daemon thread that compiles what it is given, in order.

llvmlite gives the GIL up while LLVM works, so scripts go on in the VM meanwhile. The thread starts with the first job
and is started anew in a forked child, where jobs of the parent are dropped.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
from collections.abc import Callable

Job = Callable[[], None]
_log = logging.getLogger("jitlang.compile")


class _Worker:
    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self.pending = 0
        self.idle = threading.Condition()
        self.thread: threading.Thread | None = None

    def submit(self, job: Job) -> None:
        """Adds a job; starts the thread if it does not run."""
        with self.idle:
            self.pending += 1
            if self.thread is None:
                self.thread = threading.Thread(target=self.run, name="jitlang-compiler", daemon=True)
                self.thread.start()
        self.jobs.put(job)

    def run(self) -> None:
        """The thread's loop."""
        while True:
            job = self.jobs.get()
            try:
                job()
            except Exception:
                _log.exception("background compilation failed")
            with self.idle:
                self.pending -= 1
                self.idle.notify_all()

    def wait(self, seconds: float | None) -> bool:
        """Waits until no job is left."""
        with self.idle:
            return self.idle.wait_for(lambda: self.pending == 0, seconds)


_worker = _Worker()


def submit(job: Job) -> None:
    """Has `job` run in the background thread."""
    _worker.submit(job)


def wait(seconds: float | None = None) -> bool:
    """Waits until everything submitted has been compiled; False if that took longer than `seconds`."""
    return _worker.wait(seconds)


def _renew() -> None:
    global _worker
    _worker = _Worker()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
