"""Control flow, integers, lists, dicts and strings: the same function text for every peer."""

from __future__ import annotations

from typing import Dict, List

from benchmarks.harness import Case, Names, compiled


def add(a: float, b: float) -> float:
    return a + b


def collatz(limit: int) -> int:
    best = 0
    for start in range(1, limit):
        n = start
        steps = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        if steps > best:
            best = steps
    return best


def mandelbrot(width: int, height: int, limit: int) -> int:
    total = 0
    for row in range(height):
        for column in range(width):
            x0 = 3.0 * column / width - 2.0
            y0 = 2.0 * row / height - 1.0
            x = 0.0
            y = 0.0
            n = 0
            while n < limit and x * x + y * y <= 4.0:
                t = x * x - y * y + x0
                y = 2.0 * x * y + y0
                x = t
                n += 1
            total += n
    return total


def sieve(limit: int) -> int:
    prime = [True] * limit
    prime[0] = False
    prime[1] = False
    n = 2
    while n * n < limit:
        if prime[n]:
            m = n * n
            while m < limit:
                prime[m] = False
                m += n
        n += 1
    count = 0
    for is_prime in prime:
        if is_prime:
            count += 1
    return count


def histogram(values: List[int]) -> Dict[int, int]:
    counts: Dict[int, int] = {}
    for value in values:
        if value in counts:
            counts[value] += 1
        else:
            counts[value] = 1
    return counts


def count_words(text: str) -> Dict[str, int]:
    counts: Dict[str, int] = {}
    for word in text.split():
        if word in counts:
            counts[word] += 1
        else:
            counts[word] = 1
    return counts


def _peers(functions: Names, **names: object) -> dict[str, Names]:
    return {peer: {"f": function, **names} for peer, function in functions.items()}


VALUES = [(i * 7919 + i * i) % 257 for i in range(20_000)]
TEXT = " ".join(f"word{(i * i + 13 * i) % 331}" for i in range(2_700))

CASES = [
    Case("a + b on two floats", "f(a, b)", lambda: _peers(compiled(add), a=1.5, b=2.5), {"Numba": 0.35}),
    Case("longest Collatz run below 3000", "f(3000)", lambda: _peers(compiled(collatz)), {"Numba": 1.25}),
    Case("Mandelbrot 60 × 40 × 100", "f(60, 40, 100)", lambda: _peers(compiled(mandelbrot)), {"Numba": 1.1}),
    Case("sieve to 20,000 on a list", "f(20000)", lambda: _peers(compiled(sieve)), {"TorchScript": 0.02}),
    Case("histogram of 20,000 ints in a dict", "f(v)", lambda: _peers(compiled(histogram, numba=False), v=VALUES), {"TorchScript": 0.02}),
    Case("word count, 2,700 words", "f(t)", lambda: _peers(compiled(count_words, numba=False), t=TEXT), {"CPython": 0.5}),
]
