"""Indices of tensors out of range: one message in eager code and in both tiers, which numbers the tensor's own dimensions, as PyTorch does."""

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


def one_by_one(x: jl.Tensor, i: int):
    return x[1][i]


def element(x: jl.Tensor, i: int) -> float:
    return float(x[0, 1, i])


def element_one_by_one(x: jl.Tensor, i: int) -> float:
    return float(x[0][1, i])


def element_stored(x: jl.Tensor, i: int):
    x[1, 0, i] = 1.5
    return x


def behind_a_mask(x: jl.Tensor, i: int):
    return x[True, 0, i]


FUNCTIONS = {
    second: 1,
    third: 2,
    behind_a_slice: 1,
    behind_a_new_dimension: 0,
    behind_an_ellipsis: 2,
    stored: 1,
    one_by_one: 0,
    element: 2,
    element_one_by_one: 1,
    element_stored: 2,
    behind_a_mask: 1,
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("i", [0, -1, 7, -9])
def test_one_message(function: Callable[..., object], i: int) -> None:
    check(function, jl.ones(2, 3, 4), i, messages=True)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_which_dimension(function: Callable[..., object]) -> None:
    with pytest.raises(IndexError, match=f"^index 7 is out of bounds for dimension {FUNCTIONS[function]} with size "):
        function(jl.ones(2, 3, 4), 7)


# Behind None, '...' and bools PyTorch counts the entries of the subscript, not dimensions.
@pytest.mark.parametrize("function", [f for f in FUNCTIONS if f not in (behind_a_new_dimension, behind_an_ellipsis, behind_a_mask)])
def test_pytorch_numbers_them_so(function: Callable[..., object]) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(IndexError, match=f"index 7 is out of bounds for dimension {FUNCTIONS[function]} with size "):
        function(torch.ones(2, 3, 4), 7)
