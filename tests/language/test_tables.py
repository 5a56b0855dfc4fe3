"""Functions as values: dispatch tables, lambdas in one line, reduce; copies; lists as arguments of max, min and print."""

import copy
import functools
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from jitlang.errors import ScriptTypeError
from tests.language.oracle import check, check_error

# fmt: off
TABLE = {"square": lambda x: x * x, "negate": lambda x: -x}
STEPS = [lambda x: x + 1, lambda x: x + 2, lambda x: (lambda y: y * x)(x)]
FIRST, SECOND = (lambda a: a, lambda a: a * 2)
# fmt: on


def twice(x: int) -> int:
    return 2 * x


def module_tables(x: int, i: int, key: str):
    found = TABLE["square"](x), TABLE["negate"](x), [f(x) for f in TABLE.values()], STEPS[0](x), STEPS[1](x), STEPS[2](x)
    return found, FIRST(x), SECOND(x), key in TABLE, TABLE.get(key, twice)(x), STEPS[i](x), TABLE[key](x)


def local_tables(op: str, a: int, b: int):
    ops = {"+": lambda x, y: x + y, "-": lambda x, y: x - y}
    if op not in ops:
        raise ValueError(f"no {op}")
    return ops[op](a, b), [abs, twice][a % 2](b), (twice, abs)[a > b](a)


def reduced(xs: list[int], words: list[str]):
    product = functools.reduce(lambda a, b: a * b, xs, 1)
    longest = functools.reduce(lambda a, b: a if len(a) >= len(b) else b, words, "")
    return product, longest, functools.reduce(lambda a, b: a - b, xs), functools.reduce(lambda a, b: a + len(b), words, 0)


def copies(xs: list[list[int]], d: dict[str, list[int]], o: list[tuple[int, list[int]]]):
    xs.append(xs[0])
    shallow, deep, deep_dict, deep_pairs = copy.copy(xs), copy.deepcopy(xs), copy.deepcopy(d), copy.deepcopy(o)
    deep[0].append(7)
    deep_dict["n"] = [9]
    deep_pairs[0][1].append(8)
    return xs, shallow, deep, deep_dict, deep_pairs, shallow[0] is xs[0], deep[0] is deep[-1], deep[0] is xs[0], copy.copy(d), copy.deepcopy("a")


def starred(xs: list[int]):
    print(*xs)
    print("x", *xs, sep=", ", end="!\n")
    print(*xs, *[str(x) for x in xs], sep="")
    return max(0, *xs), min(100, *xs, *[5]), max(1, *xs, key=lambda v: -v)


def translated(s: str, a: str, b: str):
    return s.translate(str.maketrans(a, b)), "{x} {y:>3}".format_map({"x": 1, "y": len(s)})


def popped(d: dict[str, int], k: str):
    value = d.pop(k, None)
    d.pop("none", None)
    return (-1 if value is None else value + 1), d


def spread_after_a_change(a: int):
    d = {"x": a, "y": 2}
    return _named(**{"x": a, "y": 2}), d


def _named(x: int, y: int) -> int:
    return 10 * x + y


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (module_tables, (3, 1, "square")),
    (module_tables, (3, -1, "negate")),
    (module_tables, (3, 5, "square")),
    (module_tables, (3, -4, "square")),
    (module_tables, (3, 0, "none")),
    (local_tables, ("+", 1, 2)),
    (local_tables, ("-", 2, -1)),
    (local_tables, ("?", 2, -1)),
    (reduced, ([1, 2, 3], ["a", "bcd", "ef"])),
    (reduced, ([], [])),
    (copies, ([[0], [1]], {"k": [1]}, [(1, [2])])),
    (starred, ([3, 7],)),
    (starred, ([],)),
    (translated, ("abcde", "ab", "12")),
    (translated, ("abcde", "ab", "1")),
    (popped, ({"a": 1}, "a")),
    (popped, ({"a": 1}, "b")),
    (spread_after_a_change, (1,)),
]


@pytest.mark.parametrize(("function", "args"), CASES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_functions_as_values(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(function, *args, messages=True)


def average(xs: list[int]):
    if not xs:
        return 0
    return sum(xs) / len(xs)


def branches(c: bool, x: float):
    best = 0
    if c:
        best = x * 2
    return 1 if c else x, x if c else 0, best, [average([1, 2]), average([])]


def mixed(c: bool, n: int, x: float):
    return n if c else x


@pytest.mark.parametrize("c", [False, True])
def test_a_literal_int_beside_a_float_is_a_float(c: bool) -> None:
    check(lambda c, x: [float(v) for v in _flat(branches(c, x))], c, 0.5)
    check_error(mixed, c, 1, 0.5, error=ScriptTypeError, match="int on one path and float on another", line=1, col=12)


def _flat(values: tuple[float, float, float, list[float]]):
    a, b, c, d = values
    return [a, b, c, *d]


def library(s: str):
    return textwrap.dedent(s)


def changed_before_spread(a: int):
    d = {"x": a, "y": 2}
    d["x"] = 3
    return _named(**d)


def test_errors() -> None:
    check_error(library, " a", error=ScriptTypeError, match="textwrap.dedent\\(\\) is not possible in a script", line=1, col=12)
    check_error(changed_before_spread, 1, error=ScriptTypeError, match="need a dict display", line=3, col=21)
