"""Masks of tensors whose rank the compiler knows only in part."""

from __future__ import annotations

from typing import Any

import pytest

import jitlang as jl
from tests.language.oracle import check


def flat_mask(x: Any) -> Any:
    v = x.flatten()
    v[v > 0] = 1
    return v, v.shape, x.flatten(1).shape, x.flatten(0, 1).ndim


def mask_of_unknown_rank(x: Any, wide: bool) -> Any:
    y = x.clone() if wide else x.flatten()
    y[y > 1] = -1.0
    return y, y[y < 0]


@pytest.mark.parametrize("wide", [False, True])
def test_masks(wide: bool) -> None:
    x = jl.tensor([[-2.0, 0.0, 0.5], [3.0, 3.0, 1.5]], dtype=jl.float64)
    check(flat_mask, x)
    check(mask_of_unknown_rank, x, wide)
