"""Indices of tensors out of range: one message in eager code and in both tiers."""

from collections.abc import Callable

import pytest

import jitlang as jl
from tests.language.oracle import check


def second(x: jl.Tensor, i: int):
    return x[1, i]


def third(x: jl.Tensor, i: int):
    return x[0, 1, i]


def behind_a_slice(x: jl.Tensor, i: int):
    return x[:, i]


def behind_a_new_dimension(x: jl.Tensor, i: int):
    return x[None, i]


def behind_an_ellipsis(x: jl.Tensor, i: int):
    return x[..., i]


def stored(x: jl.Tensor, i: int):
    x[1, i] = 0.0
    return x


@pytest.mark.parametrize("function", [second, third, behind_a_slice, behind_a_new_dimension, behind_an_ellipsis, stored])
@pytest.mark.parametrize("i", [0, -1, 7, -9])
def test_one_message(function: Callable[..., object], i: int) -> None:
    check(function, jl.ones(2, 3, 4), i, messages=True)
