"""NaN in containers: compared by value in both tiers, also where both sides hold the same object (docs/deviations.md)."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import jitlang
from jitlang.interpreter.vm import VM
from tests.language.oracle import outcome, program_for, tier

NAN = float("nan")


def membership(xs: list[float], x: float):
    found = [x in xs, xs.count(x) > 0, (x, 1) in [(x, 1)], [x] in [[x]], x in (x, 2.0)]
    return found, x in [1.0, x], xs.count(1.0)


def where(xs: list[float], x: float):
    return xs.index(x)


def removed(xs: list[float], x: float):
    xs.remove(x)
    return xs


def equality(xs: list[float], x: float):
    a, b, c, d = [1.0, x], [1.0, x], (x, [x]), {1: x}
    return a == b, a != b, a == a, (x, 1) == (x, 1), c == (x, [x]), d == {1: x}, d == d, [[x]] == [[x]], {1: [x]} != {1: [x]}, xs == [x]


def order(xs: list[float], x: float):
    a, b = [1.0, x, 2.0], [1.0, x, 3.0]
    return a < b, a <= b, a > b, a >= b, (x, 1) < (x, 2), [x] <= [x], [[x], [1.0]] < [[x], [2.0]], xs <= [x]


def without(xs: list[float], x: float):
    return [1.0, 2.0] == [1.0, 2.0], xs == list(xs), xs < [*xs, 1.0], (1.0, xs) == (1.0, xs)


@pytest.mark.parametrize("function", [membership, where, removed, equality, order, without])
@pytest.mark.parametrize("x", [NAN, 1.0, 2.5])
def test_both_tiers_compare_values(function: Callable[..., Any], x: float) -> None:
    arguments = ([NAN, 1.0, NAN, 2.5], x)
    interpreted = outcome(VM(program_for(function, arguments)).function(), arguments)
    with tier("native"):
        native = outcome(jitlang.script(function), arguments)
    assert repr(interpreted) == repr(native)


def test_as_in_python_where_no_object_is_shared() -> None:
    """With each NaN an object of its own CPython compares values, too."""
    fresh = [float("nan") for _ in range(12)]
    numbers = itertools.cycle(fresh)
    a, b = [1.0, next(numbers)], [1.0, next(numbers)]
    for function in (membership, equality, order):
        plain = outcome(VM(program_for(function, (a, 1.0))).function(), (a, 1.0))
        assert repr(plain) == repr(outcome(function, (b, 1.0)))
