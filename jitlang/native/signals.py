"""Ctrl-C at moments when nobody could take it.

In: code that must not be left half-way. Out: the same code, with the interrupt behind it. An exception of a signal handler can
come between any two instructions of Python in the main thread: with a lock of llvmlite's taken and no ``with`` block entered yet, in
a half-made object, in a finaliser that swallows it.
"""

from __future__ import annotations

import signal
import threading
import types
from typing import Any


class Deferred:
    """A context in which Ctrl-C waits: Python's handler for SIGINT runs at its end. In other threads than the main one, which runs the handlers, it does nothing."""

    __slots__ = ("arrived", "handler")

    def __init__(self) -> None:
        self.handler: Any = None
        self.arrived: int | None = None

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                self.handler = handler
                signal.signal(signal.SIGINT, self._note)

    def __exit__(self, *error: object) -> None:
        if self.handler is not None:
            signal.signal(signal.SIGINT, self.handler)
            if self.arrived is not None:
                self.handler(self.arrived, None)

    def _note(self, number: int, _: types.FrameType | None) -> None:
        self.arrived = number
