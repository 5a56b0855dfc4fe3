"""Classic exercises with lists, dicts, strings and classes, annotated by text: both tiers answer as CPython does."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

import jitlang as jl
from tests.language.oracle import check


class Stack:
    def __init__(self) -> None:
        self.items: list[int] = []

    def push(self, x: int) -> "Stack":
        self.items.append(x)
        return self

    def pop(self) -> int:
        if len(self.items) == 0:
            raise IndexError("empty stack")
        return self.items.pop()

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, x: int) -> bool:
        return x in self.items


@dataclass
class Box:
    w: float
    h: float
    tag: str = "box"

    def area(self) -> float:
        return self.w * self.h

    @property
    def ratio(self) -> float:
        return self.w / self.h

    @staticmethod
    def unit() -> Box:
        return Box(1.0, 1.0, "unit")


class Vec:
    def __init__(self, x: float, y: float) -> None:
        self.x = x
        self.y = y

    def __add__(self, o: Vec) -> Vec:
        return Vec(self.x + o.x, self.y + o.y)

    def __mul__(self, k: float) -> Vec:
        return Vec(self.x * k, self.y * k)

    def __eq__(self, o: object) -> bool:
        return isinstance(o, Vec) and self.x == o.x and self.y == o.y

    def __repr__(self) -> str:
        return f"Vec({self.x}, {self.y})"

    def __neg__(self) -> Vec:
        return Vec(-self.x, -self.y)


def stack(n: int) -> tuple[list[int], int, bool]:
    s = Stack()
    for i in range(n):
        s.push(i).push(i * i)
    out = [s.pop() for _ in range(3)]
    return out, len(s), 4 in s


def boxes(n: int) -> tuple[float, str, float]:
    bs = [Box(float(i), i + 0.5) for i in range(1, n)]
    bs.append(Box.unit())
    best = max(bs, key=lambda b: b.area())
    return sum([b.area() for b in bs]), best.tag + bs[-1].tag, best.ratio


def vecs() -> tuple[str, bool, list[str]]:
    v = Vec(1.0, 2.0) + Vec(0.5, -1.0) * 3.0
    return repr(v), v == Vec(2.5, -1.0), [str(-x) for x in (v, Vec(0.0, 1.0))]


def integrate(n: int) -> float:
    def f(x: float) -> float:
        return math.exp(-x * x)

    h = 2.0 / n
    return h * sum([(1 if i in (0, n) else 4 if i % 2 else 2) * f(i * h) for i in range(n + 1)]) / 3


def collatz_table(n: int) -> dict[int, int]:
    memo: dict[int, int] = {1: 0}
    for i in range(2, n):
        path = []
        k = i
        while k not in memo:
            path.append(k)
            k = k // 2 if k % 2 == 0 else 3 * k + 1
        base = memo[k]
        for j, p in enumerate(reversed(path), start=1):
            memo[p] = base + j
    return {k: memo[k] for k in range(1, n)}


def matrix_chain(dims: list[int]) -> tuple[int, str]:
    n = len(dims) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            cost[i][j] = 1 << 60
            for k in range(i, j):
                c = cost[i][k] + cost[k + 1][j] + dims[i] * dims[k + 1] * dims[j + 1]
                if c < cost[i][j]:
                    cost[i][j], split[i][j] = c, k
    return cost[0][n - 1], show(split, 0, n - 1)


def show(split: list[list[int]], i: int, j: int) -> str:
    if i == j:
        return chr(ord("A") + i)
    k = split[i][j]
    return "(" + show(split, i, k) + show(split, k + 1, j) + ")"


def primes(n: int) -> list[int]:
    sieve = [True] * (n + 1)
    sieve[:2] = [False, False]
    for p in range(2, int(n**0.5) + 1):
        if sieve[p]:
            for m in range(p * p, n + 1, p):
                sieve[m] = False
    return [i for i, ok in enumerate(sieve) if ok]


def caesar(s: str, k: int) -> str:
    out = []
    for ch in s:
        if ch.isalpha():
            a = ord("A") if ch.isupper() else ord("a")
            out.append(chr((ord(ch) - a + k) % 26 + a))
        else:
            out.append(ch)
    return "".join(out)


def csv(text: str) -> list[dict[str, str]]:
    lines = [l for l in text.splitlines() if l and not l.startswith("#")]
    head = [h.strip() for h in lines[0].split(",")]
    return [dict(zip(head, [c.strip() for c in line.split(",")])) for line in lines[1:]]


def spiral(m: list[list[int]]) -> list[int]:
    out: list[int] = []
    while m and m[0]:
        out += m[0]
        m = [list(r) for r in zip(*m[1:])][::-1]
    return out


def bisect(xs: list[float], x: float) -> int:
    lo, hi = 0, len(xs)
    while lo < hi:
        mid = (lo + hi) // 2
        if xs[mid] < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


def maxsub(xs: list[int]) -> tuple[int, int, int]:
    best, cur = xs[0], xs[0]
    start = s = e = 0
    for i, x in enumerate(xs[1:], 1):
        if cur < 0:
            cur, s = x, i
        else:
            cur += x
        if cur > best:
            best, start, e = cur, s, i
    return best, start, e


def perms(xs: list[int]) -> list[list[int]]:
    if len(xs) <= 1:
        return [xs[:]]
    out: list[list[int]] = []
    for i in range(len(xs)):
        for p in perms(xs[:i] + xs[i + 1 :]):
            out.append([xs[i]] + p)
    return out


def roman(n: int) -> str:
    table = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ]
    s = ""
    for v, r in table:
        q, n = divmod(n, v)
        s += r * q
    return s


def flags(x: int) -> tuple[int, str, str, int]:
    return x.bit_length(), bin(x), hex(x & 0xFF), bin(x).count("1") + (x >> 2 ^ x << 1)


def safe(d: dict[str, float], k: str, default: float | None = None) -> float | None:
    v = d.get(k)
    return v if v is not None else default


def rounding(xs: list[float]) -> list[float]:
    return [round(x, 1) for x in xs] + [float(round(x)) for x in xs] + [math.floor(x) + 0.0 for x in xs] + [x // 1 for x in xs] + [x % 0.7 for x in xs]


def mixed(x: jl.Tensor, mode: str) -> float | jl.Tensor:
    if mode == "sum":
        return x.sum()
    return x.mean()


ARGUMENTS: dict[str, tuple[object, ...]] = {
    "stack": (4,),
    "boxes": (4,),
    "vecs": (),
    "integrate": (50,),
    "collatz_table": (30,),
    "matrix_chain": ([10, 30, 5, 60, 7],),
    "primes": (60,),
    "caesar": ("Hello, World!", 3),
    "csv": ("# c\na, b\n1, 2\n\n3,4",),
    "spiral": ([[1, 2, 3], [4, 5, 6], [7, 8, 9]],),
    "bisect": ([1.0, 2.5, 4.0], 2.6),
    "maxsub": ([-2, 1, -3, 4, -1, 2, 1, -5, 4],),
    "perms": ([1, 2, 3],),
    "roman": (1994,),
    "flags": (1234567,),
    "safe": ({"a": 1.5}, "b", 2.0),
    "rounding": ([1.25, -0.35, 2.5, 3.5, -7.75],),
    "mixed": (jl.tensor([1.0, 2.0, 4.5]), "mean"),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_exercise(name: str) -> None:
    check(globals()[name], *ARGUMENTS[name], messages=True)


def test_an_empty_stack() -> None:
    check(stack, 1, messages=True)
