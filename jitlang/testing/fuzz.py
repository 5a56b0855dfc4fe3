"""Random programs without end: ``python -m jitlang.testing.fuzz [--seed N] [--count N] [--jobs N] [--tiers vm,native]``.

In: seeds. Out: for each program on which a tier differs from CPython, its seed, the difference and the program made small; a line with the count and the
last seed now and then. Exit code 1 if any differed. Programs run in processes of their own, so that one that crashes or hangs is reported too.
The optimisation level turns with the seed, unless JITLANG_OPT_LEVEL says it.
"""

from __future__ import annotations

import argparse
import dataclasses
import faulthandler
import itertools
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator

from jitlang.testing.oracle import TIERS, Difference, difference
from jitlang.testing.shrink import shrunk
from jitlang.testing.statements import program

LEVELS = (0, 0, 1, 0, 2)
CHUNK = 100  # programs per process: code that is not needed any more goes with it
PATIENCE = 60  # seconds that one program may take
_LEVEL = os.environ.get("JITLANG_OPT_LEVEL", "")


@dataclasses.dataclass(frozen=True)
class Found:
    """A program that a tier gets wrong."""

    seed: int
    text: str


def source(seed: int) -> str:
    """The program of a seed."""
    return program(random.Random(seed))


def check(seed: int, tiers: tuple[str, ...] = TIERS, attempts: int = 0) -> str:
    """What is wrong with the program of a seed, with the program made small by so many attempts; empty where nothing is."""
    os.environ["JITLANG_OPT_LEVEL"] = _LEVEL or str(LEVELS[seed % len(LEVELS)])
    text = source(seed)
    found = _difference(text, tiers)
    if found is None:
        return ""
    if attempts:
        which, wanted = (found.tier,) if found.tier in TIERS else tiers, found
        text = shrunk(text, lambda t: _alike(_difference(t, which), wanted), attempts)
        found = _difference(text, tiers) or found
    return f"seed {seed}, level {os.environ['JITLANG_OPT_LEVEL']}: {found}\n{text}\n"


def _difference(text: str, tiers: tuple[str, ...]) -> Difference | None:
    try:
        return difference(text, tiers)
    except Exception as error:  # a fault of the compiler is a finding, too
        return Difference("failed", "compiler", 0, "", f"{type(error).__name__}: {error}")


def _alike(a: Difference | None, b: Difference) -> bool:
    return a is not None and (a.kind, a.tier) == (b.kind, b.tier) and _head(a) == _head(b)


def _head(d: Difference) -> tuple[str, str]:
    """What must stay as it is while a program shrinks: what was raised; of a refusal, the first words of its reason."""
    raised = [t.split(";")[0].split(":")[0] if t.startswith("raises") else "" for t in (d.wanted, d.got)]
    return ("", d.got[:40]) if d.kind in ("refused", "failed") else (raised[0], raised[1])


def work(seeds: Iterator[int], tiers: tuple[str, ...], attempts: int) -> None:
    """Checks each seed; writes ``begin SEED`` before and the finding, if any, after."""
    for seed in seeds:
        print(f"begin {seed}", flush=True)
        faulthandler.dump_traceback_later(PATIENCE * (1 + attempts // 20), exit=True)
        found = check(seed, tiers, attempts)
        faulthandler.cancel_dump_traceback_later()
        if found:
            print("found " + repr(found), flush=True)


def run_chunk(first: int, count: int, tiers: tuple[str, ...], attempts: int, cache: str) -> list[Found]:
    """Checks `count` seeds in a process of its own; a crash is a finding of the seed at which it came, and the rest is run anew."""
    found: list[Found] = []
    while count > 0:
        command = [
            sys.executable,
            "-m",
            "jitlang.testing.fuzz",
            "--work",
            str(first),
            "--count",
            str(count),
            "--tiers",
            ",".join(tiers),
            "--shrink",
            str(attempts),
        ]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env={"JITLANG_CACHE_DIR": cache, **os.environ})
        last = first
        for line in done.stdout.splitlines():
            word, _, rest = line.partition(" ")
            if word == "begin":
                last = int(rest)
            elif word == "found":
                found.append(Found(last, str(_literal(rest))))
        if done.returncode == 0:
            break
        found.append(Found(last, f"seed {last}: the process ended with {done.returncode}\n{done.stderr[-2000:]}\n{source(last)}"))
        count -= last + 1 - first
        first = last + 1
    return found


def _literal(text: str) -> object:
    import ast

    return ast.literal_eval(text)


def fuzz(first: int, count: int | None, *, jobs: int = 1, tiers: tuple[str, ...] = TIERS, attempts: int = 0, report: bool = False) -> list[Found]:
    """Checks the programs of `count` seeds from `first` (None: without end); what it finds."""
    found: list[Found] = []
    cache = tempfile.TemporaryDirectory()  # the kernels are compiled once, not by each process
    lock = threading.Lock()
    starts = itertools.count(first, CHUNK)
    began, done = time.monotonic(), [0]

    def worker() -> None:
        while True:
            with lock:
                start = next(starts)
            size = CHUNK if count is None else min(CHUNK, first + count - start)
            if size <= 0:
                return
            new = run_chunk(start, size, tiers, attempts, cache.name)
            with lock:
                found.extend(new)
                done[0] += size
                if report:
                    for each in new:
                        print(each.text, flush=True)
                    print(f"{done[0]} programs, {len(found)} differ, seeds {start} to {start + size - 1}, {time.monotonic() - began:.0f} s", flush=True)

    threads = [threading.Thread(target=worker, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cache.cleanup()
    return found


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m jitlang.testing.fuzz", description="Random programs: CPython against both tiers.")
    parser.add_argument("--seed", type=int, default=None, help="the first seed (default: by the clock)")
    parser.add_argument("--count", type=int, default=None, help="how many programs (default: without end)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
    parser.add_argument("--tiers", default=",".join(TIERS))
    parser.add_argument("--shrink", type=int, default=300, help="attempts at making a failing program small")
    parser.add_argument("--show", type=int, help="print the program of this seed")
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    tiers = tuple(options.tiers.split(","))
    if options.show is not None:
        print(source(options.show))
        return 0
    if options.work is not None:
        work(iter(range(options.work, options.work + options.count)), tiers, options.shrink)
        return 0
    first = options.seed if options.seed is not None else int(time.time()) * 1000
    print(f"seeds from {first}", flush=True)
    try:
        found = fuzz(first, options.count, jobs=options.jobs, tiers=tiers, attempts=options.shrink, report=True)
    except KeyboardInterrupt:
        return 0
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
