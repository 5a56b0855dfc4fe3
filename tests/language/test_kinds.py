"""Small functions that mix the constructs of the language."""

import dataclasses
from collections.abc import Callable
from typing import Any, Optional

import pytest

from tests.language.oracle import check


def loop_else(xs: list[int]):
    for i, x in enumerate(xs):
        if x == 3:
            break
    else:
        i = -1
    return i


def best_pair(d: dict[str, list[tuple[int, float]]]):
    best: Optional[tuple[int, float]] = None
    for k in sorted(d, reverse=True):
        for pair in d[k]:
            if best is None or pair[1] > best[1]:
                best = pair
    return best


def while_true(n: int):
    try_count = 0
    while True:
        try_count += 1
        if try_count * try_count >= n:
            return try_count


def vowel_counts(s: str):
    vowels = {c: 0 for c in "aeiou"}
    for c in s.lower():
        if c in vowels:
            vowels[c] += 1
    return {k: v for k, v in vowels.items() if v}, max(vowels.values())


def product(a: list[list[float]], b: list[list[float]]):
    return [[sum(x * y for x, y in zip(row, col)) for col in zip(*b)] for row in a]


def fibonacci(n: int):
    x, y, z = 0, 1, [1, 2, 3]
    for _ in range(n):
        x, y = y, x + y
        z[x % 3] += y
    return x, z, z[-1] if z else None


def receipt(items: list[tuple[str, int, float]]):
    total = sum(q * p for _, q, p in items)
    lines = [f"{name:<10}{qty:>4}{price:>8.2f}" for name, qty, price in items]
    lines.append("-" * 22)
    lines.append(f"{'total':<10}{total:>12.2f}")
    return "\n".join(lines)


def float_logic(x: float):
    return x if x > 0 else -x, x or 1.5, x and 2.0, not x, bool(x), int(x) if x == x else 0


def word_tools(text: str):
    words = text.split()
    longest = ""
    for w in words:
        w = w.strip(".,!").lower()
        if len(w) > len(longest):
            longest = w
    return longest, [w[::-1] for w in words], " ".join(sorted(words, key=str.lower)), sorted(words, key=len)


def star_lambda(n: int):
    def inner(a: int, *rest: int, k: int = 2):
        return a * k + sum(rest)

    return inner(n), inner(n, 1, 2), inner(n, k=5), (lambda *a: len(a))(1, 2, 3)


def chunks(xs: list[int], k: int):
    out = []
    for i in range(0, len(xs), k):
        out.append(xs[i : i + k])
    return out, [xs[i] for i in range(len(xs) - 1, -1, -1)], xs[:k] + xs[k:], [x for i, x in enumerate(xs) if i % 2]


def greatest(a: int, b: int):
    while b:
        a, b = b, a % b
    return a


def inverted(m: dict[int, str]):
    return {v: k for k, v in m.items()}, [f"{k}={v}" for k, v in sorted(m.items())], 3 in m, m.get(9, "?"), sorted(m.items(), key=lambda kv: kv[1])


def digits(s: str):
    n = 0
    for ch in s:
        n = n * 10 + (ord(ch) - 48)
    return n


def mean_of_known(xs: list[Optional[float]]):
    vals = [x for x in xs if x is not None]
    return sum(vals) / len(vals) if vals else None


@dataclasses.dataclass
class P:
    x: int
    y: int = 0

    def __add__(self, o):
        return P(self.x + o.x, self.y + o.y)

    @property
    def norm(self):
        return abs(self.x) + abs(self.y)


def points(n: int):
    ps = [P(i, -i) for i in range(n)]
    t = P(0)
    for p in ps:
        t = t + p
    return t, sum(p.norm for p in ps), max(ps, key=lambda p: p.norm), [p for p in ps if p.x % 2], {p.x: p for p in ps}[1].y


class Stats:
    def __init__(self):
        self.n = 0
        self.mean = 0.0
        self.m2 = 0.0

    def add(self, x: float):
        self.n += 1
        d = x - self.mean
        self.mean += d / self.n
        self.m2 += d * (x - self.mean)

    def __repr__(self):
        return f"Stats(n={self.n}, mean={self.mean:.3f}, var={self.m2 / max(self.n - 1, 1):.3f})"


def statistics(xs: list[float]):
    s = Stats()
    for x in xs:
        s.add(x)
    return repr(s), f"{s}", s.n


def median(xs: list[float]):
    xs = sorted(xs)
    n = len(xs)
    mid = n // 2
    med = xs[mid] if n % 2 else (xs[mid - 1] + xs[mid]) / 2
    return med, xs


def common(a: str, b: str):
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a)):
        for j in range(len(b)):
            table[i + 1][j + 1] = table[i][j] + 1 if a[i] == b[j] else max(table[i + 1][j], table[i][j + 1])
    out, i, j = "", len(a), len(b)
    while i and j:
        if a[i - 1] == b[j - 1]:
            out = a[i - 1] + out
            i -= 1
            j -= 1
        elif table[i - 1][j] >= table[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return out


def pascal(n: int):
    rows = [[1]]
    for _ in range(n):
        prev = rows[-1]
        rows.append([1, *[a + b for a, b in zip(prev, prev[1:])], 1])
    return rows


def smallest(xs: list[int]):
    if not xs:
        return None
    lo, *rest = xs
    for r in rest:
        if r < lo:
            lo = r
    return lo


def popped(d: dict[str, int], k: str):
    if k in d and d[k] > 2 or len(d) == 1:
        return d.pop(k)
    d.setdefault(k, 5)
    return -1


def fizzbuzz(n: int) -> list[str]:
    return ["FizzBuzz" if i % 15 == 0 else "Fizz" if i % 3 == 0 else "Buzz" if i % 5 == 0 else str(i) for i in range(1, n + 1)]


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (loop_else, ([1, 3],)),
    (loop_else, ([1],)),
    (best_pair, ({"a": [(1, 2.5)], "b": [(3, 9.0)]},)),
    (while_true, (50,)),
    (vowel_counts, ("Education",)),
    (product, ([[1.0, 2.0]], [[3.0], [4.0]])),
    (fibonacci, (5,)),
    (receipt, ([("a", 2, 1.5), ("bb", 1, 10.0)],)),
    (float_logic, (0.0,)),
    (float_logic, (2.5,)),
    (word_tools, ("The quick, brown fox.",)),
    (star_lambda, (3,)),
    (chunks, ([1, 2, 3, 4, 5], 2)),
    (greatest, (12, 18)),
    (inverted, ({1: "b", 2: "a"},)),
    (digits, ("123",)),
    (mean_of_known, ([1.0, None, 2.0],)),
    (mean_of_known, ([None],)),
    (points, (4,)),
    (statistics, ([1.0, 2.0, 4.0],)),
    (median, ([3.0, 1.0, 2.0],)),
    (common, ("abcbdab", "bdcaba")),
    (pascal, (4,)),
    (smallest, ([3, 1],)),
    (smallest, ([],)),
    (popped, ({"a": 3}, "a")),
    (popped, ({"a": 1, "b": 2}, "c")),
    (fizzbuzz, (16,)),
]


@pytest.mark.parametrize(("function", "args"), CASES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_kinds(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(function, *args)


def sides_of_two_types(n: int, s: str) -> str:
    return f"{n if n > 1 else ''}|{n if n > 1 else s!r:>5}|{None if n else 2.5}|{(1, 2) if n else [3]}"


def three_sides(n: int) -> str:
    return f"{'x' if n > 2 else n if n > 1 else 0.5:>{n + 3}}"


def a_side_that_narrows(n: int | None) -> str:
    return f"{n + 1 if n is not None else 'none'}{n if n is not None else -1}"


def a_side_that_raises(n: int) -> str:
    return f"{1 / n if n else 'inf'}"


@pytest.mark.parametrize(("function", "arguments"), [(sides_of_two_types, (n, "q")) for n in (0, 1, 3)] + [(three_sides, (n,)) for n in (0, 2, 5)])
def test_a_ternary_as_text(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check(function, *arguments)


@pytest.mark.parametrize("n", [None, 4])
def test_a_narrowed_ternary_as_text(n: int | None) -> None:
    check(a_side_that_narrows, n)


@pytest.mark.parametrize("n", [0, 3])
def test_a_ternary_as_text_takes_one_side(n: int) -> None:
    check(a_side_that_raises, n)
