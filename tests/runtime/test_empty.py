"""Empty lists and dicts for parameters without annotation: the answer does not depend on what the function was called with before."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import pytest

import jitlang as jl


def first(xs):
    for x in xs:
        return x
    return None


def total(xs):
    t = 0
    for x in xs:
        t += x
    return t


def halves(xs):
    return [x / 2 for x in xs], len(xs)


def appended(xs):
    xs.append(7)
    return xs


def item_or(xs):
    return xs[0] if xs else -1


def items(d):
    return {k: d[k] for k in d}, list(d.values())


LISTS: list[Any] = [[], [3, 4], [2.5]]
DICTS: list[Any] = [{}, {1: 2}, {"a": 1.5}]
CASES = [(f, LISTS) for f in (first, total, halves, item_or)] + [(appended, LISTS[:2]), (items, DICTS)]


@pytest.mark.parametrize("tier", ["vm", "native"])
@pytest.mark.parametrize(("function", "values"), CASES, ids=lambda v: getattr(v, "__name__", "values"))
def test_any_order(function: Callable[..., Any], values: list[Any], tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)
    for order in itertools.permutations(values):
        scripted = jl.script(function)
        for value in [*order, *order]:
            ours, theirs = copy.deepcopy(value), copy.deepcopy(value)
            assert repr(scripted(ours)) == repr(function(theirs)), (order, value)
            assert repr(ours) == repr(theirs)
