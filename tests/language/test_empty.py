"""Empty lists and dicts whose element type a later statement says: read in loops before anything has been put into them."""

from collections.abc import Callable
from typing import Any

import pytest

import jitlang
from tests.language.oracle import check, tier


class Item:
    def __init__(self, value: int):
        self.value = value


def monotonic(xs: list[int]):
    stack = []
    out = []
    for i, x in enumerate(xs):
        while stack and xs[stack[-1]] < x:
            out.append((stack.pop() * 2, x))
        stack.append(i)
        if len(stack) > 1:
            a, b = stack[0], stack[-1]
            out.append((a, b))
    return out, stack


def objects(n: int):
    level, total = [], 0
    for i in range(n):
        for item in level:
            total += item.value
        level = [Item(i), Item(i + 1)]
    return total


def appended_objects(n: int):
    level, total = [], 0
    for i in range(n):
        for item in level:
            total += item.value
        level.append(Item(i))
    return total


def tables(n: int):
    d = {}
    out = []
    for i in range(n):
        for k, v in d.items():
            out.append(k + str(v))
        for k in d:
            d[k] += 1
        if "k0" in d and d["k0"] > 2:
            out.append("big")
        d["k" + str(i)] = i
    return d, out


def nested(words: list[str]):
    groups = {}
    seen = []
    for w in words:
        if w[0] in groups and groups[w[0]][-1].startswith(w):
            continue
        if seen and seen[-1][0] == len(w):
            seen[-1][1].append(w)
        else:
            seen.append((len(w), [w]))
        groups.setdefault(w[0], []).append(w)
    return groups, seen


def copies(n: int):
    xs = []
    out = []
    for i in range(n):
        ys = xs[-2:]
        for y in reversed(ys):
            out.append(y.upper())
        xs += [str(i) + "a"]
    return out


def first_of_nothing(n: int):
    xs = []
    if n > 0:
        return xs[0]
    return len(xs)


def spread(root: int):
    queue = [root] if root else []
    out = []
    while queue:
        a = queue.pop(0)
        out.append(a + 1)
        if a > 1:
            queue.append(a - 1)
    return out


def from_nothing():
    return _upper([]), [x.value for x in []]


def _upper(xs):
    return [x.upper() for x in xs]


def carried(xs):
    total = 0
    while xs:
        for x in xs:
            total += x
        xs = xs[1:]
    return total


def in_a_tuple(n: int):
    names, counts = [], {}
    for i in range(n):
        names.append(str(i))
        counts[names[-1]] = i
    return names, counts


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (monotonic, ([3, 1, 2, 5],)),
    (monotonic, ([],)),
    *((f, (n,)) for f in (objects, appended_objects, tables, copies) for n in (0, 4)),
    (nested, (["ab", "ac", "a", "bcd", "bc"],)),
    (nested, ([],)),
    (first_of_nothing, (0,)),
    (first_of_nothing, (1,)),
    (spread, (0,)),
    (spread, (3,)),
    (from_nothing, ()),
    (in_a_tuple, (3,)),
    (carried, ([],)),
    (carried, ([1, 2],)),
]


@pytest.mark.parametrize(("function", "args"), CASES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_empty_containers(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(function, *args, messages=True)


def test_what_was_compiled_for_an_empty_list_may_get_another() -> None:
    with tier("native"):
        scripted = jitlang.script(carried)
        assert [scripted([]), scripted([1, 2]), scripted([0.5])] == [0, 5, 0.5]
