"""Every operator row against PyTorch, on the row's own samples: everything that can be seen of the results is compared."""

from __future__ import annotations

import functools
import hashlib
import math
import warnings
from typing import Any

import numpy as np
import pytest

from jitlang.errors import CompileError
from jitlang.ir.rows import row_of
from jitlang.registry import Operator, all_operators, overloads
from jitlang.runtime.operators import OperatorCallee
from jitlang.tensor import tensor as jl
from jitlang.tensor.callables import operator
from jitlang.tensor.ops.samples import A, D, Sample
from jitlang.types import DType, dtype_named


def array(a: A) -> Any:
    """The elements of a sample tensor in its layout, as a NumPy array."""
    shape = a.shape
    if a.layout == "t":
        return array_of(a, shape[::-1]).T
    if a.layout == "s":
        return array_of(a, (*shape[:-1], shape[-1] * 2))[..., ::2]
    if a.layout == "e":
        return np.broadcast_to(array_of(a, (1, *shape[1:])), shape)
    return array_of(a, shape)


def array_of(a: A, shape: tuple[int, ...]) -> Any:
    seed = int.from_bytes(hashlib.sha256(repr((a.dtype, a.low, a.high, a.seed, shape)).encode()).digest()[:4], "little")
    random = np.random.default_rng(seed)
    kind = np.dtype(a.dtype).kind
    if kind == "b":
        return np.array(random.integers(0, 2, shape)).astype(bool)
    if kind in "iu":
        return np.array(random.integers(math.ceil(a.low), max(math.floor(a.high), math.ceil(a.low)) + 1, shape)).astype(a.dtype)
    made = np.array(random.random(shape) * (a.high - a.low) + a.low).astype(a.dtype)
    if a.special and made.size > 8:
        made.reshape(-1)[:6] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5]
    return made


def to_jitlang(value: Any) -> Any:
    if isinstance(value, A):
        return expanded_jitlang(value) if a_expanded(value) else jl.from_numpy(array(value))
    if isinstance(value, D):
        return dtype_named(value.name)
    if isinstance(value, list | tuple):
        return type(value)(to_jitlang(v) for v in value)
    return value


def expanded_jitlang(a: A) -> Any:
    return jl.from_numpy(array_of(a, (1, *a.shape[1:]))).expand(list(a.shape))


def to_torch(value: Any) -> Any:
    import torch

    if isinstance(value, A):
        if a_expanded(value):
            return torch.from_numpy(array_of(value, (1, *value.shape[1:]))).expand(value.shape)
        return torch.from_numpy(array(value))
    if isinstance(value, D):
        return getattr(torch, value.name)
    if isinstance(value, list | tuple):
        return type(value)(to_torch(v) for v in value)
    return value


def a_expanded(a: A) -> bool:
    return a.layout == "e"


def torch_function(row: Operator) -> Any:
    """What PyTorch calls the operator."""
    import torch

    special = row.extra.get("oracle")
    if isinstance(special, str):
        return functools.reduce(getattr, special.split("."), torch)
    if special is not None:
        return special
    places = (torch, torch.nn.functional, torch.Tensor, torch.special) if "function" in row.variants else (torch.Tensor,)
    for place in places:
        if hasattr(place, row.name):
            return getattr(place, row.name)
    return getattr(torch.ops.aten, row.name)


def run(function: Any, args: Any, kwargs: Any) -> tuple[Any, BaseException | None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch warns of much that is well defined
            return function(*args, **kwargs), None
    except Exception as error:
        return None, error


def check(row: Operator, sample: Sample) -> None:
    """Compares one call: values, dtype, shape, strides, what was written, what is shared, kind of error."""
    import torch

    ours_args, torch_args = to_jitlang(sample.args), to_torch(sample.args)
    ours_kwargs = {k: to_jitlang(v) for k, v in sample.kwargs.items()}
    torch_kwargs = {k: to_torch(v) for k, v in sample.kwargs.items()}
    jl.manual_seed(0)
    got, error = run(operator(row.name), ours_args, ours_kwargs)
    torch.manual_seed(0)
    expected, expected_error = run(torch_function(row), torch_args, torch_kwargs)
    what = f"{row.text}\n  {sample}"
    sample.strides = row.extra.get("strides", True)
    if expected_error is not None:
        assert error is not None, f"{what}\n  PyTorch raises {expected_error!r}, jitlang gives {got!r}"
        assert_same_error(error, expected_error, what)
        return
    if error is not None:
        raise AssertionError(f"{what}\n  raises {error!r}") from error
    assert not sample.error, f"{what}\n  should raise, PyTorch gives {expected!r}"
    compare(got, expected, sample, what)
    for mine, theirs in zip(flatten(ours_args), flatten(torch_args), strict=True):
        compare(mine, theirs, sample, what + "\n  (argument afterwards)")
    if not row.extra.get("shares", True):
        return
    shared = [shares(got, a) for a in flatten(ours_args)]
    assert shared == [torch_shares(expected, a) for a in flatten(torch_args)], f"{what}\n  shares memory with arguments: {shared}"


def assert_same_error(error: BaseException, expected: BaseException, what: str) -> None:
    kinds = {"NotImplementedError": "RuntimeError", "LinAlgError": "RuntimeError", "_LinAlgError": "RuntimeError"}
    mine, theirs = (kinds.get(type(e).__name__, type(e).__name__) for e in (error, expected))
    assert mine == theirs or (isinstance(error, MemoryError | ValueError | TypeError) and theirs == "RuntimeError"), (
        f"{what}\n  raises {error!r}, PyTorch {expected!r}"
    )


def flatten(value: Any) -> list[Any]:
    if isinstance(value, list | tuple) and not isinstance(value, jl.Size):
        return [x for v in value for x in flatten(v)]
    return [value]


def shares(value: Any, other: Any) -> bool:
    if not isinstance(other, jl.Tensor):
        return False
    return any(isinstance(v, jl.Tensor) and storage_of(v) == storage_of(other) for v in flatten(value))


def storage_of(tensor: Any) -> int:
    from jitlang.tensor.handles import storage

    return int(storage(tensor).data)


def torch_shares(value: Any, other: Any) -> bool:
    import torch

    if not isinstance(other, torch.Tensor):
        return False
    pointer = other.untyped_storage().data_ptr()
    return any(isinstance(v, torch.Tensor) and v.untyped_storage().data_ptr() == pointer for v in flatten(value))


def compare(got: Any, expected: Any, sample: Sample, what: str) -> None:
    import torch

    if isinstance(expected, torch.Tensor):
        compare_tensors(got, expected, sample, what)
    elif isinstance(expected, list | tuple):
        assert len(got) == len(expected), f"{what}\n  {got!r} instead of {expected!r}"
        for g, e in zip(got, expected, strict=True):
            compare(g, e, sample, what)
    elif isinstance(expected, torch.dtype):
        assert isinstance(got, DType), what
        assert got.name == str(expected).removeprefix("torch."), what
    elif isinstance(expected, float):
        assert got == expected or math.isclose(got, expected, rel_tol=1e-6) or (got != got and expected != expected), (
            f"{what}\n  {got!r} instead of {expected!r}"
        )
    else:
        assert type(got) is type(expected), f"{what}\n  {got!r} instead of {expected!r}"
        assert got == expected, f"{what}\n  {got!r} instead of {expected!r}"


def compare_tensors(got: Any, expected: Any, sample: Sample, what: str) -> None:
    assert isinstance(got, jl.Tensor), f"{what}\n  {got!r} instead of a tensor"
    assert got.dtype.name == str(expected.dtype).removeprefix("torch."), f"{what}\n  {got.dtype} instead of {expected.dtype}"
    assert tuple(got.shape) == tuple(expected.shape), f"{what}\n  shape {tuple(got.shape)} instead of {tuple(expected.shape)}"
    assert not sample.strides or meaningful(got) == meaningful(expected), (
        f"{what}\n  strides {got.stride()} instead of {expected.stride()} for shape {tuple(got.shape)}"
    )
    if sample.undefined:
        return
    mine, theirs = got.numpy(), expected.resolve_neg().numpy()
    if mine.dtype.kind != "f":
        assert np.array_equal(mine, theirs), f"{what}\n{mine}\n  instead of\n{theirs}"
        return
    tolerance = sample.loose * (2e-6 if mine.dtype == np.float32 else 1e-14)
    scale = np.max(np.abs(theirs[np.isfinite(theirs)]), initial=1e-3) if sample.loose > 1 else 1e-3
    close = np.isclose(mine, theirs, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    assert close.all(), f"{what}\n{mine[~close][:10]}\n  instead of\n{theirs[~close][:10]}"


def meaningful(tensor: Any) -> list[int]:
    """The strides that matter: of dimensions with more than one element, of tensors that are not empty."""
    if 0 in tuple(tensor.shape):
        return []
    return [s for n, s in zip(tuple(tensor.shape), tensor.stride(), strict=True) if n > 1]


ROWS = [row for row in all_operators() if row.namespace == "aten"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.qualified)
def test_row_has_samples(row: Operator) -> None:
    assert row.samples and samples_of(row), f"{row.text} has no samples"
    assert row.extra.get("oracle", "") is not None, f"{row.text} names nothing of PyTorch's to compare with"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.qualified)
def test_samples_name_the_row(row: Operator) -> None:
    """Of several rows of one name it is this one that some sample is compared with."""
    assert any(row in rows_of(row.kind, s) for s in samples_of(row)), f"each sample of {row.text} is taken by another row"


def rows_of(kind: str, sample: Sample) -> list[Operator]:
    """The rows that a call becomes."""
    callee = OperatorCallee(overloads(kind))
    key, _ = callee.prepare(tuple(to_jitlang(sample.args)), {k: to_jitlang(v) for k, v in sample.kwargs.items()})
    try:
        program = callee.program(key)
    except CompileError:
        return []
    return [row_of(node) for node in program.functions[program.entry].walk() if node.kind == kind]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.qualified)
def test_as_pytorch(row: Operator) -> None:
    pytest.importorskip("torch")
    for sample in samples_of(row):
        check(row, sample)


def samples_of(row: Operator) -> list[Any]:
    return list(row.samples() if callable(row.samples) else row.samples)
