"""Whole programs, as people write them."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Optional

import pytest

from tests.language.oracle import check

ROMAN = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
VOWELS = "aeiou"
DIRECTIONS = ((0, 1), (1, 0), (0, -1), (-1, 0))


def roman(n: int):
    out = ""
    for value, letters in ROMAN:
        while n >= value:
            out += letters
            n -= value
    return out


def prime_factors(n: int):
    factors: dict[int, int] = {}
    d = 2
    while d * d <= n:
        while n % d == 0:
            factors[d] = factors.get(d, 0) + 1
            n //= d
        d += 1 if d == 2 else 2
    if n > 1:
        factors[n] = factors.get(n, 0) + 1
    return factors, " * ".join(f"{p}^{e}" if e > 1 else str(p) for p, e in factors.items())


def binary_search(xs: list[int], wanted: int):
    low, high = 0, len(xs) - 1
    while low <= high:
        mid = (low + high) // 2
        if xs[mid] == wanted:
            return mid
        if xs[mid] < wanted:
            low = mid + 1
        else:
            high = mid - 1
    return ~low


def knapsack(weights: list[int], values: list[int], room: int):
    best = [[0] * (room + 1) for _ in range(len(weights) + 1)]
    for i, (w, v) in enumerate(zip(weights, values)):
        for r in range(room + 1):
            best[i + 1][r] = best[i][r] if w > r else max(best[i][r], best[i][r - w] + v)
    taken = []
    r = room
    for i in range(len(weights), 0, -1):
        if best[i][r] != best[i - 1][r]:
            taken.append(i - 1)
            r -= weights[i - 1]
    return best[-1][-1], taken[::-1]


def life(rows: list[str], steps: int):
    alive = {(y, x): True for y, row in enumerate(rows) for x, c in enumerate(row) if c == "#"}
    for _ in range(steps):
        counts: dict[tuple[int, int], int] = {}
        for y, x in alive:
            for dy in (-1, 0, 1):
                for dx in (-1, 0, 1):
                    if dy or dx:
                        at = (y + dy, x + dx)
                        counts[at] = counts.get(at, 0) + 1
        alive = {at: True for at, n in counts.items() if n == 3 or (n == 2 and at in alive)}
    return sorted(alive.keys())


def dijkstra(edges: dict[str, list[tuple[str, float]]], start: str):
    dist = {start: 0.0}
    came: dict[str, str] = {}
    todo = [start]
    done: list[str] = []
    while todo:
        at = min(todo, key=lambda n: dist[n])
        todo.remove(at)
        done.append(at)
        for to, cost in edges.get(at, []):
            far = dist[at] + cost
            if to not in dist or far < dist[to]:
                dist[to] = far
                came[to] = at
                if to not in todo and to not in done:
                    todo.append(to)
    return dist, came, done


def queens(n: int):
    solutions: list[list[int]] = []
    columns: list[int] = []

    def place(row: int):
        if row == n:
            solutions.append(columns[:])
            return
        for c in range(n):
            if all(c != k and abs(c - k) != row - r for r, k in enumerate(columns)):
                columns.append(c)
                place(row + 1)
                columns.pop()

    place(0)
    return len(solutions), solutions[0]


def permutations(items: list[str]) -> list[list[str]]:
    if len(items) <= 1:
        return [items[:]]
    out: list[list[str]] = []
    for i, item in enumerate(items):
        for rest in permutations(items[:i] + items[i + 1 :]):
            out.append([item] + rest)
    return out


def determinant(m: list[list[float]]) -> float:
    if len(m) == 1:
        return m[0][0]
    total = 0.0
    for j, value in enumerate(m[0]):
        minor = [row[:j] + row[j + 1 :] for row in m[1:]]
        total += (-1) ** j * value * determinant(minor)
    return total


def caesar(text: str, shift: int):
    out = []
    for c in text:
        if c.isalpha():
            base = ord("A") if c.isupper() else ord("a")
            out.append(chr((ord(c) - base + shift) % 26 + base))
        else:
            out.append(c)
    return "".join(out)


def run_lengths(text: str):
    runs: list[tuple[str, int]] = []
    for c in text:
        if runs and runs[-1][0] == c:
            runs[-1] = (c, runs[-1][1] + 1)
        else:
            runs.append((c, 1))
    return runs, "".join(c * n for c, n in runs) == text


def report(words: list[str], width: int):
    lines: list[str] = []
    line = ""
    for word in words:
        if line and len(line) + 1 + len(word) > width:
            lines.append(line.ljust(width, "."))
            line = word
        else:
            line = f"{line} {word}" if line else word
    if line:
        lines.append(line)
    for number, text in enumerate(lines, 1):
        print(f"{number:>3}: {text}")
    return max(map(len, lines)), sum(w[0] in VOWELS for w in words)


class Token(NamedTuple):
    kind: str
    text: str


def tokens(text: str) -> list[Token]:
    out: list[Token] = []
    i = 0
    while i < len(text):
        c = text[i]
        if c == " ":
            i += 1
        elif c.isdigit() or c == ".":
            j = i
            while j < len(text) and (text[j].isdigit() or text[j] == "."):
                j += 1
            out.append(Token("number", text[i:j]))
            i = j
        elif c in "+-*/()^":
            out.append(Token("sign", c))
            i += 1
        else:
            raise ValueError(f"unexpected {c!r} at {i}")
    return out


class Parser:
    def __init__(self, text: str):
        self.tokens = tokens(text)
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def next(self) -> Token:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def sum(self) -> float:
        value = self.product()
        while self.peek() in ("+", "-"):
            sign = self.next().text
            right = self.product()
            value = value + right if sign == "+" else value - right
        return value

    def product(self) -> float:
        value = self.power()
        while self.peek() and self.peek() in "*/":
            if self.next().text == "*":
                value *= self.power()
            else:
                value /= self.power()
        return value

    def power(self) -> float:
        base = self.atom()
        if self.peek() == "^":
            self.next()
            return base ** self.power()
        return base

    def atom(self) -> float:
        token = self.next()
        if token.text == "(":
            value = self.sum()
            assert self.next().text == ")", "missing )"
            return value
        if token == Token("sign", "-"):
            return -self.atom()
        return float(token.text)


def evaluate(text: str):
    return Parser(text).sum()


class Tree:
    def __init__(self, key: int):
        self.key = key
        self.left: Optional[Tree] = None
        self.right: Optional[Tree] = None

    def insert(self, key: int) -> None:
        if key < self.key:
            if self.left is None:
                self.left = Tree(key)
            else:
                self.left.insert(key)
        elif self.right is None:
            self.right = Tree(key)
        else:
            self.right.insert(key)

    def walk(self, out: list[int]) -> None:
        if self.left is not None:
            self.left.walk(out)
        out.append(self.key)
        if self.right is not None:
            self.right.walk(out)


def depth(tree: Optional[Tree]) -> int:
    return 0 if tree is None else 1 + max(depth(tree.left), depth(tree.right))


def tree_sort(xs: list[int]):
    root = Tree(xs[0])
    for x in xs[1:]:
        root.insert(x)
    out: list[int] = []
    root.walk(out)
    return out, depth(root), root.left is None


class Heap:
    def __init__(self):
        self.items: list[tuple[float, str]] = []

    def push(self, cost: float, name: str):
        self.items.append((cost, name))
        i = len(self.items) - 1
        while i > 0 and self.items[i] < self.items[(i - 1) // 2]:
            up = (i - 1) // 2
            self.items[i], self.items[up] = self.items[up], self.items[i]
            i = up

    def pop(self):
        top = self.items[0]
        last = self.items.pop()
        if self.items:
            self.items[0] = last
            i = 0
            while True:
                child = 2 * i + 1
                if child + 1 < len(self.items) and self.items[child + 1] < self.items[child]:
                    child += 1
                if child >= len(self.items) or self.items[i] <= self.items[child]:
                    break
                self.items[i], self.items[child] = self.items[child], self.items[i]
                i = child
        return top

    def __len__(self):
        return len(self.items)


def heap_order(costs: list[float]):
    heap = Heap()
    for i, c in enumerate(costs):
        heap.push(c, f"job{i}")
    out = []
    while heap:
        cost, name = heap.pop()
        out.append(f"{name}:{cost}")
    return out


class Account:
    def __init__(self, owner: str, balance: float = 0.0):
        self.owner = owner
        self.balance = balance
        self.history: list[tuple[str, float]] = []

    def deposit(self, amount: float):
        if amount <= 0:
            raise ValueError("Deposit must be positive")
        self.balance += amount
        self.history.append(("deposit", amount))

    def withdraw(self, amount: float) -> bool:
        if amount > self.balance:
            return False
        self.balance -= amount
        self.history.append(("withdraw", -amount))
        return True


def bank(amounts: list[float]):
    accounts = {name: Account(name) for name in ("ann", "bob")}
    for i, amount in enumerate(amounts):
        account = accounts["ann" if i % 2 == 0 else "bob"]
        if amount > 0:
            account.deposit(amount)
        elif not account.withdraw(-amount):
            print(f"{account.owner} lacks {-amount - account.balance:.2f}")
    return {k: (a.balance, len(a.history)) for k, a in accounts.items()}, sum(a.balance for a in accounts.values())


class LRU:
    def __init__(self, size: int):
        self.size = size
        self.data: dict[str, int] = {}
        self.hits = self.misses = 0

    def get(self, key: str) -> Optional[int]:
        if key not in self.data:
            self.misses += 1
            return None
        self.hits += 1
        value = self.data.pop(key)
        self.data[key] = value
        return value

    def put(self, key: str, value: int):
        if key in self.data:
            del self.data[key]
        elif len(self.data) >= self.size:
            oldest = list(self.data)[0]
            del self.data[oldest]
        self.data[key] = value


def cache(keys: list[str]):
    lru = LRU(2)
    total = 0
    for i, key in enumerate(keys):
        found = lru.get(key)
        if found is None:
            lru.put(key, i)
        else:
            total += found
    return total, lru.hits, lru.misses, lru.data


def flood(grid: list[list[int]], y: int, x: int, color: int):
    old = grid[y][x]
    todo = [(y, x)]
    while todo:
        cy, cx = todo.pop()
        if 0 <= cy < len(grid) and 0 <= cx < len(grid[0]) and grid[cy][cx] == old != color:
            grid[cy][cx] = color
            todo.extend((cy + dy, cx + dx) for dy, dx in DIRECTIONS)
    return grid


def newton(f: float, tolerance: float):
    x = f / 2 or 1.0
    steps = 0
    while abs(x * x - f) > tolerance:
        x = (x + f / x) / 2
        steps += 1
        if steps > 50:
            break
    else:
        return x, steps
    return math.nan, steps


def pendulum(angle: float, n: int, dt: float = 0.01):
    speed = 0.0
    energies = []
    for i in range(n):
        speed -= 9.81 * math.sin(angle) * dt
        angle += speed * dt
        if i % (n // 4) == 0:
            energies.append(round(0.5 * speed**2 - 9.81 * math.cos(angle), 6))
    return angle, energies, min(energies) < max(energies)


def histogram(values: list[float], bins: int = 4):
    low, high = min(values), max(values)
    step = (high - low) / bins
    counts = [0] * bins
    for v in values:
        counts[min(int((v - low) / step), bins - 1)] += 1
    bars = [f"{low + i * step:6.2f} | {'#' * c}" for i, c in enumerate(counts)]
    return counts, "\n".join(bars)


def transpose(rows: list[list[int]]):
    return [[row[i] for row in rows] for i in range(len(rows[0]))], [sum(r) for r in rows], {i: sum(r[i] for r in rows) for i in range(len(rows[0]))}


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (roman, (1994,)),
    (prime_factors, (360,)),
    (prime_factors, (97,)),
    (binary_search, ([1, 3, 5, 7], 5)),
    (binary_search, ([1, 3, 5, 7], 4)),
    (knapsack, ([1, 3, 4, 5], [1, 4, 5, 7], 7)),
    (life, ([".#.", "..#", "###"], 4)),
    (dijkstra, ({"a": [("b", 1.0), ("c", 4.0)], "b": [("c", 2.0), ("d", 6.0)], "c": [("d", 3.0)]}, "a")),
    (queens, (6,)),
    (permutations, (["a", "b", "c"],)),
    (determinant, ([[2.0, 1.0, 3.0], [0.0, 4.0, 1.0], [5.0, 2.0, 1.0]],)),
    (caesar, ("Hello, World!", 3)),
    (run_lengths, ("aaabccd",)),
    (report, (["the", "quick", "brown", "fox", "is", "an", "animal"], 11)),
    (evaluate, ("2 * (3 + 4) - -1 ^ 2 / 4",)),
    (evaluate, ("2 ^ 3 ^ 2 + 1.5",)),
    (evaluate, ("2 $ 3",)),
    (evaluate, ("(2",)),
    (tree_sort, ([5, 2, 8, 1, 9, 3],)),
    (heap_order, ([3.0, 1.5, 2.5, 0.5, 1.5],)),
    (bank, ([10.0, 5.0, -3.0, -7.5, 2.0],)),
    (bank, ([0.0],)),
    (cache, (["a", "b", "a", "c", "b", "a", "a"],)),
    (flood, ([[1, 1, 0], [1, 0, 0], [1, 1, 1]], 0, 0, 7)),
    (newton, (2.0, 1e-12)),
    (newton, (2.0, 0.0)),
    (pendulum, (0.5, 40)),
    (histogram, ([1.0, 2.0, 2.5, 4.0, 8.0, 8.5],)),
    (transpose, ([[1, 2, 3], [4, 5, 6]],)),
]


@pytest.mark.parametrize(("function", "args"), CASES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_programs(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(function, *args)
