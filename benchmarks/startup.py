"""What a run costs before it does anything: import, memory, and the time to the first native result. Each in processes of its own.

Byte code is on disk, as pip leaves it: the first process writes it into a temporary folder, and is not counted.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

IMPORT = "import time; t = time.perf_counter(); import jitlang; print(time.perf_counter() - t)"
MEMORY = "import jitlang; print([int(line.split()[1]) / 1000 for line in open('/proc/self/status') if line.startswith('VmRSS')][0])"
FIRST = "from benchmarks.cases.scalars import collatz; import jitlang; f = jitlang.script(collatz); print(f(100))"


def run(code: str, environment: dict[str, str]) -> tuple[str, float]:
    """The output of a process, and how long it lived."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip(), time.perf_counter() - start


def figures(repeats: int = 5) -> list[tuple[str, str, str]]:
    """Rows: what, measured, aim."""
    with tempfile.TemporaryDirectory() as compiled:
        return _figures({k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {"PYTHONPYCACHEPREFIX": compiled}, repeats)


def _figures(base: dict[str, str], repeats: int) -> list[tuple[str, str, str]]:
    run(IMPORT, base)
    imports = statistics.median(float(run(IMPORT, base)[0]) for _ in range(repeats))
    memory = float(run(MEMORY, base)[0])
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as warm:
        run(FIRST, base | {"JITLANG_TIER": "native", "JITLANG_CACHE_DIR": first})
        native = base | {"JITLANG_TIER": "native", "JITLANG_CACHE_DIR": warm}
        cold = run(FIRST, native)[1]
        hot = statistics.median(run(FIRST, native)[1] for _ in range(repeats))
    rows = [("import jitlang", f"{imports:.2f} s", "≤ 0.30 s"), ("resident memory after import", f"{memory:.0f} MB", "≤ 90 MB")]
    return rows + [("process start to first native result, cache warm", f"{hot:.2f} s", "≤ 0.5 s"), ("the same, cache cold", f"{cold:.2f} s", "≤ 1.0 s")]


def table() -> str:
    """The rows as a Markdown table."""
    lines = ["| start-up | measured | aim |", "|---|---:|---:|"]
    return "\n".join(lines + [f"| {what} | {measured} | {aim} |" for what, measured, aim in figures()])
