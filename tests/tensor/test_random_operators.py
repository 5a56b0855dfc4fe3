"""Random operators, reductions and texts against PyTorch: values, dtype, shape, strides, whether it is an error.

The rows' samples (`test_oracle.py`) name what matters for each operator; here dtypes, layouts, numbers, tensors without dimensions and dimensions meet by chance.
"""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

import jitlang as jl

torch = pytest.importorskip("torch")

DTYPES = ("float32", "float64", "int64", "int32", "uint8", "bool")
NUMBERS = (2, 0, -3, 1.5, 0.0, True, False, -1, 3.0, float("inf"), float("nan"))
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "<", "<=", "==", "!=", ">", ">=")
REDUCTIONS = ("sum", "mean", "prod", "amax", "amin", "any", "all", "var", "std", "logsumexp")
PLACES = ("argmax", "argmin", "max", "min", "median", "cumsum", "cumprod", "softmax", "log_softmax")


class Given:
    """A tensor of each library with the same elements in the same layout."""

    def __init__(self, r: random.Random, shape: tuple[int, ...], dtype: str) -> None:
        g = np.random.default_rng(r.randrange(1 << 30))
        if dtype.startswith("float"):
            array = np.asarray(g.standard_normal(shape) * 3)
            if array.size > 3 and r.random() < 0.2:
                array.reshape(-1)[:4] = [np.nan, np.inf, -np.inf, -0.0]
        else:
            low, high = {"bool": (0, 2), "uint8": (0, 200)}.get(dtype, (-9, 10))
            array = np.asarray(g.integers(low, high, shape))
        self.array, self.form = array.astype(dtype), r.choice(["", "", "transposed", "stepped", "expanded"])

    def of(self, library: Any) -> Any:
        x = library.from_numpy(np.array(self.array))
        if self.form == "transposed" and x.ndim > 1:
            return x.transpose(0, -1)
        if self.form == "stepped" and x.ndim and x.shape[0] > 1:
            return x[::2]
        if self.form == "expanded" and x.ndim:
            return x[:1].expand(*x.shape)
        return x

    def __repr__(self) -> str:
        return f"{self.form} {self.array.dtype}{self.array.shape}"


def shape_of(r: random.Random) -> tuple[int, ...]:
    return tuple(r.choice([1, 2, 3, 4] if r.random() < 0.95 else [0]) for _ in range(r.randint(0, 3)))


def result(call: Any) -> tuple[Any, Exception | None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call(), None
    except Exception as error:
        return None, error


def compare(call: Any, what: str, layout: bool = True) -> None:
    """Calls with each library and compares; strides only if the `layout` is meant to be the same."""
    (got, ours), (expected, theirs) = result(lambda: call(jl)), result(lambda: call(torch))
    assert (ours is None) == (theirs is None), f"{what}\n  jitlang: {ours!r} {got}\n  PyTorch: {theirs!r} {expected}"
    if ours is not None:
        return
    parts = zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]
    for mine, other in parts:
        assert mine.dtype.name == str(other.dtype).removeprefix("torch."), what
        assert tuple(mine.shape) == tuple(other.shape), what
        a, b = mine.numpy(), other.numpy()
        assert np.allclose(a, b, rtol=2e-5 if a.dtype != np.float64 else 1e-12, atol=2e-5, equal_nan=True), f"{what}\n{a}\n  instead of\n{b}"
        if layout and 0 not in a.shape:
            strides = [[s for n, s in zip(t.shape, t.stride(), strict=True) if n > 1] for t in (mine, other)]
            assert strides[0] == strides[1], what


def operand(r: random.Random, shape: tuple[int, ...]) -> Any:
    if r.random() < 0.45:
        return r.choice(NUMBERS)
    sizes = tuple(r.choice([n, n, 1]) for n in shape)
    return Given(r, sizes[r.randint(0, len(sizes)) :] if r.random() < 0.3 else sizes, r.choice(DTYPES))


def value(given: Any, library: Any) -> Any:
    return given.of(library) if isinstance(given, Given) else given


@pytest.mark.parametrize("seed", range(12))
def test_operators(seed):
    r = random.Random(seed)
    for _ in range(100):
        shape = shape_of(r)
        x, y, sign = Given(r, shape, r.choice(DTYPES)), operand(r, shape), r.choice(OPERATORS)
        in_place = r.random() < 0.25 and sign[0] not in "<>=!" and x.form != "expanded"
        if sign in ("<<", ">>") and not (isinstance(y, int | bool) and 0 <= y < 8):
            continue  # by more bits than there are: C leaves it open
        if in_place and x.array.dtype == "uint8" and not isinstance(y, Given):
            continue

        def call(library: Any) -> Any:
            a, b = x.of(library), value(y, library)  # noqa: B023
            if not in_place:  # noqa: B023
                return eval(f"a {sign} b" if swapped is None else f"b {sign} a", {"a": a, "b": b})  # noqa: B023
            names = {"a": a.clone(), "b": b}
            exec(f"a {sign}= b", names)  # noqa: B023
            return names["a"]

        swapped = True if not in_place and not isinstance(y, Given) and r.random() < 0.3 else None
        compare(call, f"{x} {sign}{'=' if in_place else ''} {y}" + (" (swapped)" if swapped else ""), layout=not (swapped and sign == "**"))


def dims_of(r: random.Random, rank: int, one: bool) -> Any:
    count = max(rank, 1)
    if r.random() < 0.1:
        return r.choice([rank + 1, -rank - 2])
    if one or r.random() < 0.6:
        return r.randint(-count, count - 1)
    return [d - (count if r.random() < 0.3 else 0) for d in r.sample(range(count), r.randint(1, count))]


@pytest.mark.parametrize("seed", range(12))
def test_reductions(seed):
    r = random.Random(100 + seed)
    for _ in range(80):
        one = r.random() < 0.5
        name = r.choice(PLACES if one else REDUCTIONS)
        x = Given(r, shape_of(r), r.choice(DTYPES))
        dim = dims_of(r, x.array.ndim, one)
        keywords = {"keepdim": r.random() < 0.5} if name[:3] not in ("cum", "sof", "log") or name == "logsumexp" else {}
        if name == "prod" and not isinstance(dim, int):
            continue
        if name == "median" and (x.array.dtype.kind != "f" or x.form == "expanded"):
            continue  # of equal elements, whose place is named is not said
        if "softmax" in name and not x.array.dtype.kind == "f":
            continue
        compare(lambda library: getattr(x.of(library), name)(dim, **keywords), f"{name} of {x}, {dim} {keywords}")  # noqa: B023


def elements(r: random.Random) -> Any:
    g, dtype = np.random.default_rng(r.randrange(1 << 30)), r.choice(DTYPES)
    shape = r.choice([(), (3,), (2, 3), (2, 1, 3), (1, 2, 2, 2), (0,), (2, 0), (1001,), (1100, 2), (3, 500), (2, 11, 60), (40,), (7,)])
    if not dtype.startswith("float"):
        top = {"bool": 2, "uint8": 256}.get(dtype, 10 ** r.randint(1, 9))
        return g.integers(-top if dtype.startswith("int") else 0, top, shape).astype(dtype) if shape else np.array(1).astype(dtype)
    kinds = [
        g.integers(-50, 50, shape) * 1.0,
        g.standard_normal(shape),
        g.standard_normal(shape) * 10.0 ** g.integers(-6, 6, shape),
        g.standard_normal(shape) * 1e10,
    ]
    array = np.array([*kinds, np.round(g.standard_normal(shape) * 1000, 2), np.full(shape, r.choice([0.0, -0.0, 1e8, 1e-4, 0.1, 123456.789]))][r.randrange(6)])
    for special in r.sample([np.nan, np.inf, -np.inf, 0.0, -0.0], r.randint(0, 3)) if array.size else []:
        array.reshape(-1)[r.randrange(array.size)] = special
    return array.astype(dtype)


@pytest.mark.parametrize("seed", range(6))
def test_texts(seed):
    r = random.Random(200 + seed)
    for _ in range(50):
        array = elements(r)
        ours, theirs = repr(jl.from_numpy(array.copy())), repr(torch.from_numpy(array.copy()))
        assert ours.replace("jitlang.", "") == theirs.replace("torch.", "")
