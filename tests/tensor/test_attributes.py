"""What Python asks a tensor for natively, and what an index may be made of beside ints, slices and tensors."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import jitlang as jl


def test_shape_is_a_tuple_of_its_own_type():
    shape = jl.zeros(2, 3).shape
    assert type(shape) is jl.Size
    assert shape == (2, 3)
    assert hash(shape) == hash((2, 3))
    assert {(2, 3): 1}[shape] == 1
    assert shape.numel() == 6
    assert jl.zeros(()).shape == ()
    big = jl.zeros(1).expand(10**9).shape
    assert big == (10**9,)


@pytest.mark.parametrize("name", ["size", "stride"])
def test_sizes_of_one_dimension(name):
    x = jl.zeros(2, 3)
    whole = getattr(x, name)()
    assert [getattr(x, name)(d) for d in (0, 1, -1, -2)] == [whole[0], whole[1], whole[1], whole[0]]
    assert getattr(x, name)(dim=1) == whole[1]
    assert getattr(x, name)(None) == getattr(x, name)(dim=None) == whole
    for wrong, kind in ((2, IndexError), (-3, IndexError), ("a", TypeError), (1.0, TypeError)):
        with pytest.raises(kind):
            getattr(x, name)(wrong)
    with pytest.raises(TypeError):
        getattr(x, name)(0, 1)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "uint8", "bool"])
def test_one_element_as_a_number(dtype):
    array = np.array(1).astype(dtype)
    x = jl.from_numpy(np.array([array])).reshape(1, 1)
    assert type(x.item()) is type(array.item())
    assert (x.item(), float(x), int(x), bool(x)) == (1, 1.0, 1, True)
    if dtype.startswith("float"):
        with pytest.raises(TypeError):
            x.__index__()
    else:
        assert [10, 20][x] == 20
    assert x.tolist() == [[array.item()]]


def test_numbers_of_floats_are_pythons():
    assert int(jl.tensor(-2.7)) == -2
    assert int(jl.tensor(1e30, dtype=jl.float64)) == int(1e30)
    with pytest.raises(ValueError, match="NaN"):
        int(jl.tensor(float("nan")))
    with pytest.raises(OverflowError):
        int(jl.tensor(float("inf")))


def test_what_is_no_single_number():
    for x in (jl.zeros(2), jl.zeros(0)):
        with pytest.raises(RuntimeError, match="cannot be converted to Scalar"):
            x.item()
        for convert in (int, float):
            with pytest.raises(ValueError, match="only one element"):
                convert(x)
        with pytest.raises(RuntimeError, match="ambiguous"):
            bool(x)
        with pytest.raises(TypeError):
            range(3)[x]
    with pytest.raises(TypeError, match="0-d"):
        len(jl.tensor(1))
    with pytest.raises(TypeError, match="deleted"):
        del jl.zeros(2)[0]


def test_a_tensor_is_a_key_by_its_identity():
    x, y = jl.ones(2), jl.ones(2)
    table = {x: "x", y: "y"}
    assert table[x] == "x"
    assert table[y] == "y"
    assert len({x, y, x}) == 2


def test_lists_of_views():
    array = np.arange(24.0).reshape(2, 3, 4)
    x = jl.from_numpy(array)
    for make in (lambda t: t, lambda t: t[:, ::2], lambda t: t[1:1], lambda t: t[..., :0]):
        assert make(x).tolist() == make(array).tolist()
    assert x.transpose(0, 2).tolist() == array.transpose(2, 1, 0).tolist()


def test_indices_of_other_kinds():
    array = np.arange(12.0).reshape(3, 4)
    x = jl.from_numpy(array)
    for index in ([0, 2], (slice(None), [1, 3]), np.int64(1), (np.int32(2), 1), np.array([2, 0]), np.array([True, False, True]), np.array(1)):
        assert x[index].tolist() == array[index].tolist()
    assert x[range(2)].tolist() == array[:2].tolist()
    assert x[[]].shape == (0, 4)
    x[[0, 2]] = np.array([9.0])
    assert array[0].tolist() == array[2].tolist() == [9.0] * 4
    x[0] = [1, 2, 3, 4]
    assert array[0].tolist() == [1, 2, 3, 4]


class Raising:
    def __index__(self):
        raise KeyError("mine")


def test_errors_in_an_index_pass_through_and_leak_nothing():
    x = jl.zeros(3, 4)
    held = sys.getrefcount(x)
    for index, kind in (((0, slice(Raising(), 1)), KeyError), ((0, 9), IndexError), ((None,) * 9, RuntimeError), (2**70, IndexError), (Raising(), KeyError)):
        for _ in range(100):
            with pytest.raises(kind):
                x[index]
            with pytest.raises(kind):
                x[index] = 1.0
    assert sys.getrefcount(x) == held


def test_the_first_thing_that_a_process_does_may_be_any_of_these():
    for code in ("jl.tensor([1.5])", "jl.tensor(1).item()", "jl.tensor([1, 2])[0:1]", "jl.tensor([1, 2]).shape", "jl.tensor([1]).device", "bool(jl.tensor(1))"):
        done = subprocess.run([sys.executable, "-c", f"import jitlang as jl\nprint({code})"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
