"""Matrix products and convolutions beside PyTorch: ``python -m benchmarks.products [PART …]``; a part picks the rows that hold it.

One process, one thread, rounds interleaved; the ratio is the median of the ratios of rounds that ran one after the other. Weights rotate among so many
that they come from memory, as in a model.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import jitlang as jl

Work = tuple[str, Callable[[], Any], Callable[[], Any], int]  # name, jitlang's, PyTorch's, how many calls one execution is
CACHE = 24 << 20  # bytes of weights that do not stay in the second-level cache

random = np.random.default_rng(0)


def numbers(*shape: int) -> Any:
    return random.standard_normal(shape).astype(np.float32)


def own(array: Any) -> Any:
    return jl.from_numpy(array).clone()


def linear(m: int, k: int, n: int, bytes_of_weights: int = CACHE) -> Work:
    weights = [numbers(n, k) for _ in range(max(2, bytes_of_weights // (4 * k * n)))]
    x, bias = numbers(m, k), numbers(n)
    jx, jb, jw = own(x), own(bias), [own(w) for w in weights]
    tx, tb, tw = torch.from_numpy(x), torch.from_numpy(bias), [torch.from_numpy(w) for w in weights]
    f, g = jl.linear, torch.nn.functional.linear
    where = "" if bytes_of_weights == CACHE else ", weights in cache"
    return f"linear {m}×{k} → {n}{where}", lambda: [f(jx, w, jb) for w in jw], lambda: [g(tx, w, tb) for w in tw], len(weights)


def product(m: int, k: int, n: int) -> Work:
    a, b = numbers(m, k), numbers(k, n)
    ja, jb, ta, tb = jl.from_numpy(a), jl.from_numpy(b), torch.from_numpy(a), torch.from_numpy(b)  # shared memory: never packed
    return f"matmul {m}×{k} @ {k}×{n}, not packed", lambda: jl.matmul(ja, jb), lambda: torch.matmul(ta, tb), 1


def heads(count: int, m: int, k: int) -> Work:
    q = numbers(1, count, m, k)
    jq, tq = own(q), torch.from_numpy(q)
    return f"{count} × {m}×{k} @ {k}×{m}", lambda: jl.matmul(jq, jq.transpose(-1, -2)), lambda: torch.matmul(tq, tq.transpose(-1, -2)), 1


def convolution(channels: int, length: int, filters: int, width: int, stride: int, padding: int) -> Work:
    x, w, b = numbers(1, channels, length), numbers(filters, channels, width), numbers(filters)
    jx, jw, jb, tx, tw, tb = own(x), own(w), own(b), *map(torch.from_numpy, (x, w, b))
    f, g, s, p = jl.conv1d, torch.conv1d, [stride], [padding]
    return f"conv1d {channels}×{length} → {filters}, width {width}, stride {stride}", lambda: f(jx, jw, jb, s, p), lambda: g(tx, tw, tb, s, p), 1


def lstm(inputs: int, n: int) -> Work:
    given = [numbers(1, inputs), numbers(1, n), numbers(1, n), numbers(4 * n, inputs), numbers(4 * n, n), numbers(4 * n), numbers(4 * n)]
    j, t = [own(v) for v in given], [torch.from_numpy(v) for v in given]
    return f"lstm_cell {inputs} → {n}", lambda: jl.lstm_cell(j[0], [j[1], j[2]], *j[3:]), lambda: torch.lstm_cell(t[0], [t[1], t[2]], *t[3:]), 1


def rows() -> Iterator[Callable[[], Work]]:
    for shape in ((16, 384, 384), (16, 384, 1536), (16, 1536, 384), (1, 384, 1536), (1, 1024, 1024), (4, 512, 2048), (64, 384, 1536), (256, 384, 1536)):
        yield lambda shape=shape: linear(*shape)  # type: ignore[misc]
    yield lambda: linear(1, 128, 512, 1)
    for n in (16, 32, 64, 128, 256, 512, 1024):
        yield lambda n=n: product(n, n, n)  # type: ignore[misc]
    yield lambda: heads(12, 16, 32)
    for sizes in (
        (1, 640, 258, 256, 128, 0),
        (129, 4, 128, 3, 1, 1),
        (128, 4, 64, 3, 2, 1),
        (64, 2, 64, 3, 2, 1),
        (64, 1, 128, 3, 1, 1),
        (64, 4000, 64, 3, 1, 1),
    ):
        yield lambda sizes=sizes: convolution(*sizes)  # type: ignore[misc]
    yield lambda: lstm(128, 128)


def measure(work: Work, rounds: int = 41, slice_seconds: float = 0.01) -> str:
    name, ours, theirs, calls = work
    for _ in range(5):  # weights are packed at their second use
        ours(), theirs()
    start = time.perf_counter()
    ours(), theirs()
    count = max(1, round(slice_seconds / (time.perf_counter() - start)))
    taken: list[tuple[float, float]] = []
    for _ in range(rounds):
        a = time.perf_counter()
        for _ in range(count):
            ours()
        b = time.perf_counter()
        for _ in range(count):
            theirs()
        taken.append((b - a, time.perf_counter() - b))
    mine, other = (statistics.median(times) / (count * calls) * 1e6 for times in zip(*taken, strict=True))
    return f"| {name} | {mine:.1f} | {other:.1f} | {statistics.median(x / y for x, y in taken):.2f} |"


def main() -> None:
    """Measures, and prints a Markdown table."""
    jl.set_num_threads(1)
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    print("| work | jitlang, µs | PyTorch, µs | ratio |\n|---|---:|---:|---:|")
    for make in rows():
        work = make()
        if len(sys.argv) == 1 or any(part in work[0] for part in sys.argv[1:]):
            print(measure(work), flush=True)


if __name__ == "__main__":
    main()
