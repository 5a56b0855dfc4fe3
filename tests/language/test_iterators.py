"""Iterators and the lengths of what loops run over: iter, next, dicts that change, empty containers, steps of zero."""

from collections.abc import Callable
from typing import Any

import pytest

from jitlang.errors import ScriptTypeError
from tests.language.oracle import check, check_error


class Pair:
    def __init__(self, n: int):
        self.items = [n, n + 1]

    def __iter__(self):
        return iter(self.items)


def first_items(xs: list[int], d: dict[str, int]):
    big = next((x for x in xs if x > 2), -1)
    none = next((x for x in xs if x > 99), None)
    key = next((k for k, v in d.items() if v == 2), "none")
    nested = next((i * j for i in xs for j in xs if i != j), 0)
    fixed = next((i for i in (1, 2, 3) if i > 1), 9)
    return big, none, key, nested, fixed, next(iter(xs), 0), next(iter(d), "")


def first_or_stop(xs: list[int]):
    return next(x for x in xs if x > 2), next(iter(xs))


def iterated(xs: list[int]):
    total = 0
    for x in iter(xs):
        total += x
    return total, list(iter(xs)), list(Pair(4)), [x for x in Pair(total)], sum(Pair(1)), max(Pair(2))


def sets_while_iterating(d: dict[int, int], k: int):
    for a in d:
        if a == k:
            d[a + 100] = 1
            break
        d[a] = 5
    for a, b in d.items():
        d[a] = b + 1
    for a in list(d):
        d[a + 1000] = 0
    return d


def pops_while_iterating(d: dict[int, int]):
    for a in d:
        d.pop(a)


def grows_in_a_call(d: dict[int, int]):
    for a in d.values():
        _grow(d, a)
    return d


def grows_another(d: dict[int, int], e: dict[int, int]):
    for i, a in enumerate(d):
        e[a + 50] = i


def grows_before_else(d: dict[int, int]):
    for a in d:
        d.setdefault(a * 2, a)
    else:
        return "ended"


def _grow(d: dict[int, int], a: int) -> None:
    d[a + 7] = 1


def nothing_reversed():
    out: list[list[int]] = []
    for v in reversed([]):
        out.append(v)
    xs: list[list[int]] = list(reversed([]))
    ys: list[str] = [v for v in []]
    zs: dict[str, list[int]] = {k: [1] for k in []}
    n = []
    for m in n:
        xs.append(m)
    ws: list[list[int]] = sorted(n)
    return out, xs, ys, zs, ws, len(n)


def never_kept(xs: list[str]):
    kept = [x for x in xs if False]
    kept.append("a")
    return kept, [len(x) for x in xs if None], {x: 1 for x in xs if 0}, any(x for x in xs if False), all(x for x in xs if False)


def step_of_zero(a: int, step: int):
    xs = [1]
    xs.append(len(range(0, a, step)))
    for i in range(a, 0, step):
        xs.append(i)
    return xs


def divided(a: float, b: float):
    return divmod(a, b)


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (first_items, ([1, 2, 3, 4], {"a": 1, "b": 2})),
    (first_items, ([], {})),
    (first_or_stop, ([1, 5],)),
    (first_or_stop, ([],)),
    (first_or_stop, ([1],)),
    (iterated, ([1, 2],)),
    (iterated, ([],)),
    (sets_while_iterating, ({1: 1, 2: 2}, 2)),
    (sets_while_iterating, ({}, 2)),
    (pops_while_iterating, ({1: 1},)),
    (pops_while_iterating, ({},)),
    (grows_in_a_call, ({1: 1},)),
    (grows_in_a_call, ({8: 1},)),
    (grows_another, ({1: 1, 2: 2}, {})),
    (grows_before_else, ({0: 1},)),
    (grows_before_else, ({1: 1},)),
    (nothing_reversed, ()),
    (never_kept, (["a", "b"],)),
    (step_of_zero, (3, -1)),
    (step_of_zero, (3, 0)),
    (divided, (7.5, 2.0)),
    (divided, (1.0, 0.0)),
]


@pytest.mark.parametrize(("function", "args"), CASES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_iterators(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(function, *args, messages=True)


def keeps_an_iterator(xs: list[int]):
    it = iter(xs)
    return next(it)


def keeps_a_generator(xs: list[int]):
    squares = (x * x for x in xs)
    return sum(squares)


def next_of_a_list(xs: list[int]):
    return next(xs)


def test_an_iterator_has_no_name() -> None:
    check_error(keeps_an_iterator, [1], error=ScriptTypeError, match="an iterator cannot be kept", line=1, col=5, hint="it = list(…)")
    check_error(keeps_a_generator, [1], error=ScriptTypeError, match="a generator expression cannot be kept", line=1, col=5, hint="squares = list(…)")
    check_error(next_of_a_list, [1], error=ScriptTypeError, match="next\\(\\) takes a generator expression", line=1, col=12, hint="keep an index")


def test_a_step_of_zero_is_marked_at_the_call() -> None:
    import traceback

    import jitlang

    with pytest.raises(ValueError, match="must not be zero") as found:
        jitlang.script(step_of_zero)(3, 0)
    last = traceback.extract_tb(found.value.__traceback__)[-1]
    assert (last.line or "").strip() == "xs.append(len(range(0, a, step)))"
