"""Matrix products: right for every shape, the same bits however they are computed, and packed copies that never are out of date."""

from __future__ import annotations

import ctypes
import gc
from typing import Any, cast

import numpy as np
import pytest

import jitlang as jl
from jitlang.native import host
from jitlang.native.layouts import ctypes_type
from jitlang.tensor.handles import storage
from jitlang.tensor.kernels.arena import ARENA, Arena, Pack
from jitlang.tensor.layout import STATE_BITS
from jitlang.types import StructType

FLOATS = ("float32", "float64")
random = np.random.default_rng(0)


def numbers(*shape: int, dtype: str = "float32") -> Any:
    return random.standard_normal(shape).astype(dtype)


def own(array: Any) -> Any:
    """A tensor over memory of its own, which may be packed."""
    return jl.from_numpy(array).clone()


def same_bits(a: Any, b: Any) -> bool:
    return a.shape == b.shape and bytes(a.clone().numpy().tobytes()) == bytes(b.clone().numpy().tobytes())


def is_packed(tensor: Any) -> bool:
    """Whether there is a good copy of a tensor that was a right-hand side."""
    state = storage(tensor).state
    if state <= STATE_BITS:
        return False
    return bool(ctypes_type(cast(StructType, Pack)).from_address(state & ~STATE_BITS).ready == storage(tensor).version)


def arena_bytes() -> int:
    return int(ctypes_type(cast(StructType, Arena)).from_address(host.shared_cell(ARENA.name, ctypes.sizeof(ctypes_type(cast(StructType, Arena))))).bytes)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("k", [0, 1, 16, 33, 800])
def test_ragged_sizes(dtype: str, k: int) -> None:
    for m in (1, 7, 8, 9, 17, 65, 97, 130):
        for n in (1, 15, 16, 17, 47, 48, 49, 145):
            a, b, bias = numbers(m, k, dtype=dtype), numbers(k, n, dtype=dtype), numbers(n, dtype=dtype)
            wide = a.astype(np.float64) @ b.astype(np.float64)
            room = 1e-6 * (k + 1) if dtype == "float32" else 1e-14 * (k + 1)
            first = jl.matmul(jl.from_numpy(a), jl.from_numpy(b))
            assert np.allclose(first.numpy(), wide, rtol=0, atol=room)
            layouts = [np.asfortranarray(a), np.repeat(a, 2, 1)[:, ::2]], [b, np.asfortranarray(b), np.repeat(b, 2, 1)[:, ::2]]
            for x in layouts[0]:
                for y in layouts[1]:
                    assert same_bits(jl.matmul(jl.from_numpy(x), jl.from_numpy(y)), first)
            with_bias = jl.linear(jl.from_numpy(a), jl.from_numpy(b.T), jl.from_numpy(bias))
            assert same_bits(with_bias, first + jl.from_numpy(bias))


@pytest.mark.parametrize("dtype", FLOATS)
def test_rows_and_batches_change_no_bit(dtype: str) -> None:
    a, b = jl.from_numpy(numbers(3, 40, 100, dtype=dtype)), jl.from_numpy(numbers(100, 70, dtype=dtype))
    whole = jl.matmul(a, b)
    assert same_bits(jl.bmm(a, b.expand([3, 100, 70])), whole)
    for i in range(40):
        assert same_bits(jl.matmul(a[1, i], b), whole[1, i])
        assert same_bits(jl.matmul(a[1, i : i + 3], b), whole[1, i : i + 3])
    column = jl.matmul(a[0], b[:, 5])
    assert same_bits(column, whole[0, :, 5].clone())


def test_threads_change_no_bit() -> None:
    before = jl.get_num_threads()
    shapes = [(1, 2000, 1500), (16, 384, 1536), (130, 700, 500), (300, 64, 90)]
    operands = [(own(numbers(m, k)), own(numbers(n, k)), own(numbers(n))) for m, k, n in shapes]
    batch = own(numbers(40, 64, 48)), own(numbers(40, 48, 64))
    try:
        found = []
        for threads in (1, 2, 5):
            jl.set_num_threads(threads)
            found.append([jl.linear(*o) for o in operands] + [jl.bmm(*batch)])
    finally:
        jl.set_num_threads(before)
    for other in found[1:]:
        assert all(same_bits(x, y) for x, y in zip(found[0], other, strict=True))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("m", [1, 3, 16, 100, 300])
def test_packed_at_the_second_use(dtype: str, m: int) -> None:
    x, w = own(numbers(m, 130, dtype=dtype)), own(numbers(70, 130, dtype=dtype))
    first = jl.linear(x, w)
    assert not is_packed(w)
    second = jl.linear(x, w)
    assert is_packed(w)
    assert same_bits(first, second)
    assert same_bits(first, jl.linear(x, w))
    plain = own(numbers(130, 70, dtype=dtype))
    results = [jl.matmul(x, plain) for _ in range(3)]
    assert is_packed(plain)
    assert same_bits(results[0], results[2])


def test_small_or_single_use_is_not_packed() -> None:
    small, x = own(numbers(16, 16)), own(numbers(4, 16))
    for _ in range(4):
        jl.linear(x, small)
    assert not is_packed(small)


def change_in_place(w: Any) -> None:
    w.mul_(2.0)


def change_element(w: Any) -> None:
    w[3, 4] = 1000.0


def change_view(w: Any) -> None:
    w.t()[5:9].zero_()


def change_array(w: Any) -> None:
    w.numpy()[2, 2] = -500.0


def change_through_dlpack(w: Any) -> None:
    jl.from_dlpack(w)[0, 0] = 77.0


@pytest.mark.parametrize("change", [change_in_place, change_element, change_view, change_array, change_through_dlpack])
def test_changed_weights(change: Any) -> None:
    x, w = own(numbers(4, 130)), own(numbers(70, 130))
    for _ in range(3):
        for _ in range(3):
            jl.linear(x, w)
        change(w)
        assert same_bits(jl.linear(x, w), jl.linear(x, w.clone()))


def test_lent_memory() -> None:
    x, w = own(numbers(4, 130)), own(numbers(70, 130))
    for _ in range(3):
        jl.linear(x, w)
    array = w.numpy()
    for value in (5.0, 6.0, 7.0):
        array[1, 1] = value
        assert same_bits(jl.linear(x, w), jl.linear(x, w.clone()))
    again = w.numpy()
    del array
    again[0, 0] = 8.0
    assert same_bits(jl.linear(x, w), jl.linear(x, w.clone()))
    del again
    for _ in range(2):
        assert same_bits(jl.linear(x, w), jl.linear(x, w.clone()))
    assert is_packed(w)


def test_address_given_away() -> None:
    x, w = own(numbers(4, 130)), own(numbers(70, 130))
    for _ in range(3):
        jl.linear(x, w)
    element = ctypes.c_float.from_address(w.data_ptr())
    for value in (1.0, 2.0):
        element.value = value
        assert same_bits(jl.linear(x, w), jl.linear(x, w.clone()))


def test_arrays_of_others() -> None:
    array, x = numbers(70, 130), own(numbers(4, 130))
    shared = jl.from_numpy(array)
    for i in range(9):
        array[0, 0] = i
        assert same_bits(jl.linear(x, shared), jl.linear(x, shared.clone()))
    assert not is_packed(shared)
    array = numbers(100, 130)
    for given, alone in ((jl.from_numpy(numbers(70, 130)), True), (jl.from_numpy(array[:70]), False)):
        for _ in range(9):
            jl.linear(x, given)
        assert is_packed(given) == alone


def test_tensors_of_archives(tmp_path: Any) -> None:
    class Model(jl.nn.Module):
        def __init__(self, weight: jl.Tensor) -> None:
            super().__init__()
            self.weight = jl.nn.Parameter(weight)

        def forward(self, x: jl.Tensor) -> jl.Tensor:
            return jl.linear(x, self.weight)

    jl.save(jl.script(Model(own(numbers(70, 130)))), tmp_path / "model.jlm")
    model, x = jl.load(tmp_path / "model.jlm"), own(numbers(4, 130))
    first = model(x)
    for _ in range(3):
        assert same_bits(model(x), first)
    assert is_packed(model.weight)


def test_copies_go_with_their_weights() -> None:
    x = own(numbers(2, 256))
    start = arena_bytes()
    for _ in range(200):
        w = own(numbers(256, 256))
        for _ in range(3):
            jl.linear(x, w)
        assert is_packed(w)
    del w
    gc.collect()
    assert arena_bytes() - start <= 3 << 23  # 50 MB of copies were made


def test_a_chain_of_copies_has_an_end() -> None:
    x, w = own(numbers(2, 64)), own(numbers(40, 64, 64))
    for _ in range(3):
        whole = [jl.linear(x, w[i]) for i in range(40)]
    assert all(same_bits(jl.linear(x, w[i].clone()), whole[i]) for i in range(40))
