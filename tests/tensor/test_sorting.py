"""The first few of a sort, chosen without sorting, are those that a stable sort puts first: ties, NaN and places too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitlang as jl

DTYPES = (np.float32, np.float64, np.int32, np.int64, np.uint8)


def numbers(dtype: Any, shape: tuple[int, ...], seed: int) -> Any:
    """Few different numbers, NaN and infinities among them."""
    random = np.random.default_rng(seed)
    x = random.integers(0, 9, shape).astype(dtype)
    if dtype in (np.float32, np.float64):
        x[random.random(shape) < 0.1] = np.nan
        x[random.random(shape) < 0.05] = -np.inf
        x[random.random(shape) < 0.05] = -0.0
    return x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("k", [1, 2, 7, 12, 40])
def test_topk_is_the_head_of_a_sort(dtype: Any, largest: bool, k: int) -> None:
    for shape, dim in (((3, 97), 1), ((97, 3), 0), ((2, 97, 2), 1), ((97,), -1)):
        x = jl.from_numpy(numbers(dtype, shape, k))
        values, places = x.topk(k, dim, largest)
        sorted_values, sorted_places = x.sort(dim, largest)
        assert values.numpy().tobytes() == sorted_values.narrow(dim, 0, k).contiguous().numpy().tobytes()
        assert places.tolist() == sorted_places.narrow(dim, 0, k).tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_gather_and_scatter_by_lines(dtype: Any) -> None:
    random = np.random.default_rng(5)
    for shape, index_shape in (((4, 5), (3, 5)), ((4, 5), (4, 2)), ((2, 3, 4), (2, 2, 3)), ((6,), (9,))):
        x = random.integers(0, 200, shape).astype(dtype)
        for dim in range(len(shape)):
            if any(i > s for k, (i, s) in enumerate(zip(index_shape, shape, strict=True)) if k != dim):
                continue
            index = random.integers(0, shape[dim], index_shape)
            for given in (x, np.asfortranarray(x)):
                got = jl.from_numpy(given).gather(dim, jl.from_numpy(index))
                wanted = np.empty(index_shape, dtype)
                for at in np.ndindex(*index_shape):
                    taken = list(at)
                    taken[dim] = int(index[at])
                    wanted[at] = x[tuple(taken)]
                assert got.tolist() == wanted.tolist()
            source = random.integers(0, 200, index_shape).astype(dtype)
            target, plain = x.copy(), x.copy()
            jl.from_numpy(target).scatter_(dim, jl.from_numpy(index), jl.from_numpy(np.asfortranarray(source)))
            for at in np.ndindex(*index_shape):
                place = list(at)
                place[dim] = int(index[at])
                plain[tuple(place)] = source[at]
            assert target.tolist() == plain.tolist()
