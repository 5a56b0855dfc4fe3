"""Names that some paths leave undefined, read where the frontend looks at an expression before it knows what becomes of it."""

from collections.abc import Callable
from typing import Any, Optional

import pytest

from tests.language.oracle import check


def one_side(p: bool, v: Optional[int]):
    if p:
        w = 4
    if v if v is not None else w:
        pass
    return w


def other_side(p: bool, q: bool):
    if p:
        x = 1
    y = 2
    z = x if q else y
    return z, x


def functions(p: bool, q: bool):
    f = abs if p else int
    if q:
        n = 3
    g = f if p else int
    m = n if q else 7
    return g(m), n


def columns(p: bool, q: bool):
    if p:
        rows = [[1, 2], [3, 4]]
    out = [x for x in zip(*rows)] if q else []  # noqa: C416
    return len(out), len(rows)


def generator(p: bool, q: bool):
    if p:
        items = (1, 2.5)
    n = any(v > 2 for v in items) if q else False
    return n, len(items)


def attributes(p: bool, q: bool):
    if p:
        text = "ab"
    n = getattr(text, "nothing", None) if q else None
    return n is None, len(text)


@pytest.mark.parametrize("function", [other_side, functions, columns, generator, attributes])
@pytest.mark.parametrize("p", [True, False])
@pytest.mark.parametrize("q", [True, False])
def test_as_in_python(function: Callable[..., Any], p: bool, q: bool) -> None:
    check(function, p, q)


@pytest.mark.parametrize("v", [None, 0, 1])
@pytest.mark.parametrize("p", [True, False])
def test_one_side_of_a_condition(p: bool, v: Optional[int]) -> None:
    check(one_side, p, v)
