"""Several accesses to one key of a dict, which native code does with one look-up."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.language.oracle import check


def counts(keys: list[int], table: dict[int, int]):
    for k in keys:
        if k in table:
            table[k] += 1
        else:
            table[k] = 1
    return len(table)


def counts_by_get(keys: list[str], table: dict[str, int]):
    for k in keys:
        table[k] = table.get(k, 0) + 1
    return table


def float_keys(keys: list[float]):
    table: dict[float, int] = {}
    for k in keys:
        table[k] = table.get(k, 0) + 1
    return len(table), list(table.values())


def tuple_keys(points: list[tuple[int, str]]):
    table: dict[tuple[int, str], list[int]] = {}
    for i, p in enumerate(points):
        if p not in table:
            table[p] = []
        table[p].append(i)
        table[p] = table[p] + [len(table[p])]
    return table


def alternating(keys: list[int]):
    """Adds and removes, so that the index fills with removed entries and is rebuilt between accesses."""
    table: dict[int, str] = {}
    for k in keys:
        if k in table:
            table[k] = table[k] + "!"
            del table[k]
        else:
            table[k] = f"{k}"
            table[k] += "?"
            for other in range(k % 5):
                table[1000 + other * k] = "x"
            table[k] += "."
    return table


def two_dicts(a: dict[int, int], b: dict[int, int], k: int):
    n = a[k]
    b[k] = n + 1
    a[k] = a[k] + b[k]
    del b[k]
    return a[k] if k in a else -n


def replaced_values(names: list[str]):
    """The old value is released only after the new one, made of it, is there."""
    table: dict[str, list[str]] = {"": []}
    for name in names:
        table[""] = [*table[""], name]
        if name in table:
            table[name] = table[name] + table[""]
        else:
            table[name] = table[""]
    return table


def missing(table: dict[str, int], k: str):
    table[k] -= 1
    table[k] = table[k] * 2
    return table[k]


def deleted(table: dict[str, int], k: str):
    if k in table:
        del table[k]
    del table[k]


NUMBERS = [(i * 7919 + i * i) % 41 for i in range(500)]
SHARED = {1: 2, 3: 4}
CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (counts, (NUMBERS, {})),
    (counts, (NUMBERS, {0: 5, -1: 2**62})),
    (counts_by_get, ("the cat the dog a cat".split(), {"a": 4})),
    (float_keys, ([0.0, -0.0, 1.5, 1.5, float("inf"), 2.0**60, 2.0**60],)),
    (tuple_keys, ([(n % 3, "ab"[n % 2]) for n in range(20)],)),
    (alternating, (NUMBERS,)),
    (two_dicts, ({1: 2, 3: 4}, {3: 9}, 3)),
    (two_dicts, (SHARED, SHARED, 3)),
    (two_dicts, ({1: 2}, {}, 3)),
    (replaced_values, ("ab ba ab c c ab".split(),)),
    (missing, ({"a": 3}, "a")),
    (missing, ({"a": 3}, "b")),
    (deleted, ({"a": 3}, "a")),
]


@pytest.mark.parametrize(("function", "args"), CASES, ids=lambda v: getattr(v, "__name__", "args"))
def test_entries(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(function, *args)
