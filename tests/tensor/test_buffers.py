"""Arrays taken natively: every dtype and layout, what is refused, and who keeps whom alive."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest

import jitlang as jl


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8", "bool", "q", "l"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (2, 0, 3), (1, 2, 1, 2, 1, 2, 1, 2)])
def test_memory_is_shared(dtype: str, shape: tuple[int, ...]) -> None:
    array = (np.arange(max(1, int(np.prod(shape)))) % 2).astype(dtype)[: int(np.prod(shape))].reshape(shape)
    tensor = jl.from_numpy(array)
    assert tensor.shape == shape
    assert tensor.dtype.name == np.dtype(dtype).name
    assert tensor.tolist() == array.tolist()
    assert not array.size or tensor.data_ptr() == array.ctypes.data
    if array.size:
        array[...] = 1
        assert tensor.tolist() == array.tolist()


def test_layouts() -> None:
    base = np.arange(24.0).reshape(4, 6)
    for array in (base.T, base[::2], base[:, 1::2], base[1:3, 2:5], np.broadcast_to(base[0], (3, 6)), np.asfortranarray(base)):
        tensor = jl.from_numpy(array)
        assert tensor.tolist() == array.tolist()
        assert tensor.stride() == tuple(s // 8 for s in array.strides)


@pytest.mark.parametrize(
    ("array", "error", "message"),
    [
        (np.zeros(3, np.float16), TypeError, "float16"),
        (np.zeros(3, np.uint32), TypeError, "uint32"),
        (np.zeros(3, complex), TypeError, "complex128"),
        (np.zeros(3, ">f4"), TypeError, ">f4"),
        (np.array(["a"]), TypeError, "<U1"),
        (np.array([None]), TypeError, "object"),
        (np.zeros(3, "datetime64[s]"), TypeError, "datetime64"),
        (np.zeros(3, [("a", "f4")]), TypeError, "'a'"),
        (np.zeros(3)[::-1], ValueError, "negative stride"),
        (np.zeros(3, [("a", "f4"), ("b", "i2")])["a"], ValueError, "no multiples"),
        (np.zeros((1,) * 9), RuntimeError, "at most 8 dimensions"),
        ([1.0], TypeError, "expected an np.ndarray"),
    ],
    ids=str,
)
def test_what_is_refused(array: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        jl.from_numpy(array)


def test_a_tensor_over_constant_memory_is_not_written_to() -> None:
    array = np.zeros(3)
    array.flags.writeable = False
    tensor = jl.from_numpy(array)
    with pytest.raises(RuntimeError):
        tensor += 1.0
    assert array.tolist() == [0.0] * 3
    assert not tensor.numpy().flags.writeable


def test_who_keeps_whom_alive() -> None:
    array = np.zeros((4, 5), np.float32)
    before = sys.getrefcount(array)
    for _ in range(100):
        tensor = jl.from_numpy(array)
        view = tensor[1:3]
        del tensor
        assert sys.getrefcount(array) == before + 1
        view.fill_(2.0)
        del view
    for wrong in (np.zeros(3, np.float16), np.zeros(3)[::-1]):
        count = sys.getrefcount(wrong)
        for _ in range(100):
            with pytest.raises((TypeError, ValueError)):
                jl.from_numpy(wrong)
        gc.collect()
        assert sys.getrefcount(wrong) == count
    assert sys.getrefcount(array) == before
    assert array[1:3].tolist() == [[2.0] * 5] * 2
    array.resize((5, 4), refcheck=False)  # no buffer is held
