"""Where an exception happened: gives it a traceback through the user's own lines.

In: an exception on its way out of the dispatch loop, and where the script stood. Out: the same exception, whose traceback
holds one frame for each function of the script (inlined ones too), and none of the library's.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Protocol

from jitlang.native import tracebacks
from jitlang.source import SourceRange


class Located(Protocol):
    """What `locate` asks of a function: where its instructions come from."""

    def place(self, at: int) -> SourceRange | None:
        """The source range of instruction `at`."""

    def enters_native(self, at: int) -> bool:
        """Whether instruction `at` may run a piece of this very function as native code."""


def locate(error: BaseException, function: Located, at: int, stack: Sequence[tuple[Any, ...]]) -> None:
    """Gives `error` its traceback: through the suspended callers in `stack` to `function` at instruction `at`."""
    frames = [(entry[4], entry[0]) for entry in stack]
    # Native code of a loop has recorded the frame of its function itself.
    if not (function.enters_native(at) and _in_script(error.__traceback__)):
        frames.append((at, function))
    ranges = [owner.place(index) for index, owner in reversed(frames)]
    tracebacks.attach(error, [tuple(tracebacks.place_of(r) for r in where.frames()) for where in ranges if where is not None])


def _in_script(trace: TracebackType | None) -> bool:
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__") == "<script>":
            return True
        trace = trace.tb_next
    return False
