"""``x[index]`` and ``x[index] = value`` with random indices, against PyTorch: what is read, its strides, whether it shares memory, what is written, errors."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import jitlang as jl

torch = pytest.importorskip("torch")

DTYPES = ("float32", "float64", "int64", "int32", "uint8", "bool")


def made(shape: tuple[int, ...], dtype: str) -> Any:
    count = int(np.prod(shape, dtype=int))
    return np.asarray(np.arange(count).reshape(shape) % (2 if dtype == "bool" else 100)).astype(dtype)


class Tensors:
    """An index entry that is a tensor of each library, made of one array."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def of(self, library: Any) -> Any:
        return library.tensor(self.array.tolist(), dtype=getattr(library, self.array.dtype.name)).reshape(self.array.shape)

    def __repr__(self) -> str:
        return f"{self.array.dtype}{self.array.tolist()}"


def entry(r: random.Random, sizes: list[int]) -> Any:
    """An entry; takes the dimensions that it indexes off `sizes`. Now and then one that is out of range."""
    kind = r.choice(["int", "int", "slice", "slice", "slice", "none", "bool", "tensor", "mask", "number", "list", "flag"])
    if kind == "none":
        return None
    if kind == "bool":
        return r.random() < 0.7
    if kind == "flag":
        return Tensors(np.array(r.random() < 0.7))
    if not sizes:
        return r.choice([None, 0])
    size = sizes[0]
    slack = int(r.random() < 0.05)
    if kind == "mask":
        rank = r.randint(1, min(2, len(sizes)))
        shape = [n + int(r.random() < 0.05) for n in sizes[:rank]]
        del sizes[:rank]
        return Tensors(np.random.default_rng(r.randrange(99)).integers(0, 2, shape).astype(bool))
    del sizes[0]
    if kind == "slice":
        start, stop = (r.choice([None, r.randint(-size - 2, size + 2)]) for _ in range(2))
        return slice(start, stop, r.choice([None, None, 1, 2, 3, 100, 0 if r.random() < 0.05 else 1, -1 if r.random() < 0.05 else 1]))
    if size == 0:
        return slice(None)
    low, high = -size - slack, size - 1 + slack
    if kind == "int":
        return r.randint(low, high)
    if kind == "number":
        return Tensors(np.array(r.randint(low, high), r.choice(["int64", "int32"])))
    shape = list(r.choice([(2,), (2,), (3,), (1,), (2, 2), (0,)]))
    array = np.array([r.randint(low, high) for _ in range(int(np.prod(shape)))], "int64").reshape(shape)
    return array.tolist() if kind == "list" and array.size else Tensors(array)


def index_for(r: random.Random, shape: tuple[int, ...]) -> tuple[Any, ...]:
    sizes = list(shape)
    parts = [entry(r, sizes) for _ in range(r.randint(0, len(shape) + 1))]
    if r.random() < 0.3 and ... not in [p for p in parts if not isinstance(p, list)]:
        parts.insert(r.randint(0, len(parts)), ...)
    return tuple(parts)


def of(library: Any, index: tuple[Any, ...]) -> Any:
    parts = tuple(p.of(library) if isinstance(p, Tensors) else p for p in index)
    return parts[0] if len(parts) == 1 and not isinstance(parts[0], list) else parts


def result(call: Any) -> tuple[Any, BaseException | None]:
    try:
        return call(), None
    except Exception as error:
        return None, error


def agree(ours: BaseException | None, theirs: BaseException | None, what: str) -> bool:
    """Whether both went well; fails where only one did. (Of several faults, each library names another one first.)"""
    if ours is None and theirs is None:
        return True
    assert ours is not None and theirs is not None, f"{what}\n  jitlang: {ours!r}\n  PyTorch: {theirs!r}"
    assert {type(ours), type(theirs)} <= {IndexError, ValueError, TypeError, RuntimeError}, f"{what}\n  jitlang: {ours!r}\n  PyTorch: {theirs!r}"
    return False


def based(r: random.Random, library: Any, array: Any, form: str) -> Any:
    x = library.from_numpy(np.array(array))
    if form == "transposed" and array.ndim > 1:
        return x.transpose(0, array.ndim - 1)
    if form == "stepped" and array.ndim:
        return x[::2]
    return x


@pytest.mark.parametrize("seed", range(40))
def test_random_reads(seed):
    r = random.Random(seed)
    for _ in range(60):
        shape = tuple(r.choice([1, 2, 3, 4, 0] if r.random() < 0.1 else [1, 2, 3, 4]) for _ in range(r.randint(0, 4)))
        dtype, form = r.choice(DTYPES), r.choice(["dense", "transposed", "stepped"])
        array = made(shape, dtype)
        x, y = (based(r, library, array, form) for library in (jl, torch))
        index = index_for(r, tuple(x.shape))
        what = f"{dtype}{shape} {form} [{index}]"
        (got, ours), (expected, theirs) = result(lambda: x[of(jl, index)]), result(lambda: y[of(torch, index)])  # noqa: B023
        if not agree(ours, theirs, what):
            continue
        assert tuple(got.shape) == tuple(expected.shape), what
        assert np.array_equal(got.numpy(), expected.numpy()), what
        if expected.numel():
            if expected.untyped_storage().data_ptr() == y.untyped_storage().data_ptr():
                strides = [[s for n, s in zip(t.shape, t.stride(), strict=True) if n != 1] for t in (got, expected)]
                assert strides[0] == strides[1], what
                assert got.storage_offset() == expected.storage_offset(), what
                got.fill_(1), expected.fill_(1)
            assert np.array_equal(x.numpy(), y.numpy()), what


def value_for(r: random.Random, shape: tuple[int, ...], dtype: str) -> Any:
    kind = r.choice(["number", "number", "whole", "broadcast", "scalar", "wrong"])
    if kind == "number":
        return r.choice([0, 1, 7, True, 2.5, -3])
    if kind == "wrong":
        return Tensors(made((*shape, 5), dtype))
    sizes = shape if kind == "whole" else tuple(r.choice([n, 1]) for n in shape) if kind == "broadcast" else ()
    if r.random() < 0.2:
        sizes = (1, *sizes)
    return Tensors(made(sizes, r.choice([dtype, dtype, *DTYPES])))


@pytest.mark.parametrize("seed", range(40))
def test_random_writes(seed):
    r = random.Random(1000 + seed)
    for _ in range(60):
        shape = tuple(r.choice([1, 2, 3, 4]) for _ in range(r.randint(0, 3)))
        dtype, form = r.choice(DTYPES), r.choice(["dense", "transposed", "stepped"])
        array = made(shape, dtype)
        x, y = (based(r, library, array, form) for library in (jl, torch))
        index = index_for(r, tuple(x.shape))
        read, error = result(lambda: y[of(torch, index)])  # noqa: B023
        value = value_for(r, () if error else tuple(read.shape), dtype)
        what = f"{dtype}{shape} {form} [{index}] = {value}"
        if has_ties(index, y, read):
            continue
        ours, theirs = (result(lambda: assign(t, library, index, value))[1] for t, library in ((x, jl), (y, torch)))  # noqa: B023
        agree(ours, theirs, what)
        assert np.array_equal(x.numpy(), y.numpy()), f"{what}\n{x}\n{y}"


def has_ties(index: tuple[Any, ...], y: Any, read: Any) -> bool:
    """Whether an element is named twice: which value stays is not said."""
    if read is None:
        return False
    places = torch.arange(y.numel()).reshape(y.shape)[of(torch, index)].reshape(-1)
    return len(set(places.tolist())) != places.numel()


def assign(target: Any, library: Any, index: tuple[Any, ...], value: Any) -> None:
    target[of(library, index)] = value.of(library) if isinstance(value, Tensors) else value
