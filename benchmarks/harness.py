"""Measures jitlang beside its peers: one process, one thread each, rounds interleaved, medians.

In: cases. Out: rows of times and ratios. Absolute times drift between machines and days; ratios of rounds that ran one after the other drift less.
"""

from __future__ import annotations

import dataclasses
import statistics
import sys
import timeit
from collections.abc import Callable, Iterable
from typing import Any

Names = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Case:
    """One piece of work.

    Args:
        name: what is done.
        statement: what is timed, ``f(a, b)``.
        peers: makes, for each peer that is installed, the names in the statement.
        targets: peer → the ratio of jitlang's time to its time that is aimed at.
        same: whether two peers' answers agree (default: equality).
    """

    name: str
    statement: str
    peers: Callable[[], dict[str, Names]]
    targets: dict[str, float] = dataclasses.field(default_factory=dict)
    same: Callable[[Any, Any], bool] = lambda a, b: bool(a == b)


@dataclasses.dataclass(frozen=True)
class Result:
    """Seconds of one execution, by peer, and whether all peers gave one answer."""

    case: Case
    seconds: dict[str, float]
    agree: bool

    def ratio(self, peer: str) -> float:
        """jitlang's time in terms of the peer's."""
        return self.seconds["jitlang"] / self.seconds[peer]


def measure(case: Case, rounds: int, slice_seconds: float) -> Result:
    """Times every peer in turn, `rounds` times, each for about `slice_seconds`."""
    import jitlang

    names = case.peers()
    answers = {peer: eval(case.statement, dict(own)) for peer, own in names.items()}
    agree = all(case.same(answers["jitlang"], answer) for answer in answers.values())
    for own in names.values():  # compilers that wait for the second or third call have had it then
        for _ in range(3):
            eval(case.statement, dict(own))
    jitlang.wait_for_compilation()
    timers = {peer: timeit.Timer(case.statement, globals=own) for peer, own in names.items()}
    counts = {peer: _calls(timer, slice_seconds) for peer, timer in timers.items()}
    taken: dict[str, list[float]] = {peer: [] for peer in timers}
    for _ in range(rounds):
        for peer, timer in timers.items():
            taken[peer].append(timer.timeit(counts[peer]) / counts[peer])
    return Result(case, {peer: statistics.median(times) for peer, times in taken.items()}, agree)


def _calls(timer: timeit.Timer, slice_seconds: float) -> int:
    count = 1
    while True:
        seconds = min(timer.repeat(3, count))  # the first of them may pay for something
        if seconds * 4 >= slice_seconds:
            return max(1, round(count * slice_seconds / seconds))
        count *= 4


def installed(name: str) -> Any:
    """The module, or None where it is not installed."""
    try:
        return __import__(name)
    except ImportError:
        return None


def compiled(function: Callable[..., Any], *, python: bool = True, numba: bool = True, torch: bool = True) -> dict[str, Callable[..., Any]]:
    """One Python function as each peer compiles it; the arguments say which peers take part."""
    import jitlang

    found: dict[str, Callable[..., Any]] = {"jitlang": jitlang.script(function)}
    if python:
        found["CPython"] = function
    if torch and (module := installed("torch")) is not None:
        found["TorchScript"] = module.jit.script(function)
    if numba and (module := installed("numba")) is not None:
        found["Numba"] = module.njit(function)
    return found


def table(results: Iterable[Result]) -> str:
    """Rows of a Markdown table: µs of each peer, ratios, and whether targets are met."""
    lines = ["| work | jitlang, µs | peers, µs | ratio | aim |", "|---|---:|---|---|---|"]
    for result in results:
        others = {peer: s for peer, s in result.seconds.items() if peer != "jitlang"}
        peers = ", ".join(f"{peer} {microseconds(s)}" for peer, s in others.items())
        ratios = ", ".join(f"{result.ratio(peer):.3g} × {peer}" for peer in others)
        aims = ", ".join(f"≤ {aim} × {peer} {_met(result, peer, aim)}" for peer, aim in result.case.targets.items())
        differ = "" if result.agree else " (answers differ)"
        lines.append(f"| {result.case.name}{differ} | {microseconds(result.seconds['jitlang'])} | {peers} | {ratios} | {aims} |")
    return "\n".join(lines)


def _met(result: Result, peer: str, aim: float) -> str:
    if peer not in result.seconds:
        return "(not installed)"
    return "✓" if result.ratio(peer) <= aim else "✗"


def microseconds(seconds: float) -> str:
    """Microseconds with three digits."""
    return f"{seconds * 1e6:,.0f}" if seconds >= 1e-4 else f"{seconds * 1e6:.3g}"


def single_thread() -> None:
    """Makes every peer that is installed use one thread."""
    import jitlang

    jitlang.set_num_threads(1)
    if "torch" in sys.modules or installed("torch") is not None:
        sys.modules["torch"].set_num_threads(1)
