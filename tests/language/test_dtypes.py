"""dtypes by their names in the module, by PyTorch's aliases and by Python's classes: in eager code and in scripts."""

from __future__ import annotations

from typing import Any

import pytest

import jitlang as jl
from jitlang.types import DTYPES
from tests.language.oracle import check


def named():
    made = [jl.zeros(2, dtype=jl.float32), jl.zeros(2, dtype=jl.float64), jl.zeros(2, dtype=jl.int32), jl.zeros(2, dtype=jl.int64)]
    return made + [jl.zeros(2, dtype=jl.uint8), jl.zeros(2, dtype=jl.bool)]


def aliases():
    return [jl.zeros(2, dtype=jl.float), jl.zeros(2, dtype=jl.double), jl.zeros(2, dtype=jl.int), jl.zeros(2, dtype=jl.long)]


def of_classes():
    return [jl.ones(2, 2, dtype=bool), jl.ones([2], dtype=float), jl.arange(3, dtype=float), jl.full((2,), 3, dtype=int)]


def converted(x: jl.Tensor):
    return [x.to(jl.bool), x.to(float), x.to(dtype=int), x.sum(dtype=float), x.new_zeros(2, dtype=int), jl.zeros_like(x, dtype=bool)]


def from_data():
    return [jl.tensor([1, 2], dtype=float), jl.tensor(3, dtype=bool), jl.as_tensor([1], dtype=float), jl.tensor([1.5], dtype=jl.int)]


def compared(x: jl.Tensor):
    return x.dtype == jl.bool, x.to(bool).dtype == jl.bool, x.dtype == jl.float, x.dtype in (jl.float, jl.double)


def kept(x: jl.Tensor):
    wanted = jl.bool
    return x.to(wanted), wanted


@pytest.mark.parametrize("function", [named, aliases, of_classes, from_data])
def test_creation(function: Any) -> None:
    check(function)


@pytest.mark.parametrize("function", [converted, compared, kept])
def test_of_tensors(function: Any) -> None:
    check(function, jl.tensor([0.0, 1.5, -2.0]))


def test_all_are_named_here() -> None:
    assert [t.dtype for t in named()] == [getattr(jl, d.name) for d in (jl.float32, jl.float64, jl.int32, jl.int64, jl.uint8, jl.bool)]
    assert {t.dtype for t in named()} == set(DTYPES)
    assert [t.dtype.name for t in of_classes()] == ["bool", "float64", "float64", "int64"]


def test_other_classes_are_no_dtypes() -> None:
    with pytest.raises(TypeError, match="dtype must be a dtype of jitlang, or bool, int or float, not str"):
        jl.tensor([1], dtype=str)
