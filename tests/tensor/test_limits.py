"""`finfo` and `iinfo`, the method `where`, arrays as operands, and ``nn.functional.dropout``: in eager code, in scripts, and as PyTorch has them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import jitlang as jl
import jitlang.nn.functional as F
from jitlang.errors import ScriptTypeError
from tests.language.oracle import check, check_error


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_finfo(name: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = jl.finfo(getattr(jl, name)), torch.finfo(getattr(torch, name))
    for field in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"):
        assert getattr(ours, field) == getattr(theirs, field), field
    assert repr(ours) == repr(theirs)
    numpys = np.finfo(name)
    assert [ours.eps, ours.max, ours.tiny] == [float(v) for v in (numpys.eps, numpys.max, numpys.tiny)]


@pytest.mark.parametrize("name", ["int32", "int64", "uint8"])
def test_iinfo(name: str) -> None:
    ours, numpys = jl.iinfo(getattr(jl, name)), np.iinfo(name)
    assert (ours.min, ours.max, ours.bits, ours.dtype) == (numpys.min, numpys.max, numpys.bits, name)
    assert repr(ours) == f"iinfo(min={numpys.min}, max={numpys.max}, dtype={name})"


def test_of_other_dtypes() -> None:
    assert jl.finfo().dtype == "float32" and jl.finfo(float).bits == 64 and jl.iinfo(int).bits == 64
    with pytest.raises(TypeError, match=r"^finfo\(\) requires a floating point dtype, not jitlang.int32$"):
        jl.finfo(jl.int32)
    with pytest.raises(TypeError, match=r"^iinfo\(\) requires an integer dtype, not jitlang.bool$"):
        jl.iinfo(jl.bool)


def limits(x: jl.Tensor):
    return jl.finfo(x.dtype).min, jl.finfo(jl.float64).eps, jl.iinfo(jl.int32).max, jl.finfo(jl.float).tiny, jl.iinfo(jl.uint8).min


def masked(x: jl.Tensor):
    return x.masked_fill(x > 1, jl.finfo(x.dtype).min)


def chosen(x: jl.Tensor):
    return x.where(x > 0, jl.zeros(1)), x.where(x > 0, 0.5), x.where(condition=x < 0, other=x * 2)


def dropped(x: jl.Tensor, training: bool):
    return F.dropout(x, 0.5, training=False), F.dropout(x, p=0.0), F.dropout(x, 1.0, training), F.dropout(x.clone(), 0.0, training, inplace=True)


@pytest.mark.parametrize("function", [limits, masked, chosen])
def test_in_scripts(function: Callable[..., object]) -> None:
    check(function, jl.tensor([[1.5, -2.0, 3.0]]))


@pytest.mark.parametrize("training", [False, True])
def test_dropout(training: bool) -> None:
    check(dropped, jl.tensor([[1.5, -2.0, 3.0]]), training)


def unknown(xs: list[jl.Tensor]):
    return jl.finfo(xs[0].dtype).min


def test_a_dtype_that_is_not_known() -> None:
    check_error(unknown, [jl.ones(1)], error=ScriptTypeError, match="finfo\\(\\) needs a dtype that is known", line=1, col=12)


def whole(x: jl.Tensor):
    return jl.finfo(jl.int32).max


def bare(x: jl.Tensor):
    return x.where()


def test_wrong_calls() -> None:
    check_error(whole, jl.ones(1), error=ScriptTypeError, match="finfo\\(\\) requires a floating point dtype, not jitlang.int32", line=1, col=12)
    check_error(bare, jl.ones(1), error=ScriptTypeError, match="where\\(\\) lacks the argument 'condition'", line=1, col=12)


def test_arrays_are_operands() -> None:
    x = jl.tensor([[1.5, -2.0, 3.0]])
    row = np.array([1.0, 2.0, 3.0], dtype=np.float32)
    assert (x + row).tolist() == [[2.5, 0.0, 6.0]] and (row * x).tolist() == [[1.5, -4.0, 9.0]]
    assert isinstance(row * x, jl.Tensor) and (x + np.ones(3)).dtype == jl.float64 and (x * np.array(2.0)).tolist() == [[3.0, -4.0, 6.0]]
    assert (x + np.arange(3)[::-1]).tolist() == [[3.5, -1.0, 3.0]] and jl.maximum(x, row).tolist() == [[1.5, 2.0, 3.0]]
    with pytest.raises(TypeError, match="float16"):
        x + np.ones(3, dtype=np.float16)
