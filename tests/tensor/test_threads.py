"""Large operators on several threads: the same bits whatever their number, without the GIL."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import jitlang as jl

SHAPES = [(300_007,), (131_072,), (70_001, 5), (5, 70_001), (3, 50_000, 4), (700, 700), (4, 4, 40_000), (200_000, 1), (1, 200_000), (2_000_001,)]
VIEWS = {"dense": lambda t: t, "transposed": lambda t: t.transpose(0, t.ndim - 1), "stepped": lambda t: t[::3]}
OPERATORS = {
    "add": lambda v: v + v,
    "exp": lambda v: v.exp(),
    "compare": lambda v: v * 2 > 1,
    "convert": lambda v: v.to(jl.int64),
    "broadcast": lambda v: v + v[:1],
    "in place": lambda v: v.clone().mul_(v[:1]),
    "overlapping": lambda v: v.clone().narrow(0, 1, v.shape[0] - 1).add_(v.narrow(0, 0, v.shape[0] - 1)),
    "where": lambda v: jl.where(v > 0, v, -v),
    "sum": lambda v: v.sum(),
    "sum of the first": lambda v: v.sum(0),
    "sum of the last": lambda v: v.sum(-1),
    "prod": lambda v: v.prod(0),
    "norm": lambda v: v.norm(),
    "var": lambda v: v.var(0),
    "amax": lambda v: v.amax(),
    "any": lambda v: (v > 3).any(),
    "argmax": lambda v: v.argmax(),
    "softmax": lambda v: v.softmax(-1),
    "cumsum": lambda v: v.cumsum(0),
}


@pytest.fixture(autouse=True)
def threads_afterwards():
    before = jl.get_num_threads()
    yield
    jl.set_num_threads(before)


def elements(shape, dtype):
    made = np.random.default_rng(3).standard_normal(shape) * 3
    made.reshape(-1)[:: max(1, made.size // 7)] = [-0.0, np.inf, np.nan, 0.0, 1.0, -np.inf, -0.0, 2.0][: len(made.reshape(-1)[:: max(1, made.size // 7)])]
    return (np.clip(np.nan_to_num(made), -9, 9) if dtype == "int64" else made).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_bits_do_not_depend_on_threads(shape, dtype):
    x = jl.from_numpy(elements(shape, dtype))
    for view, look in VIEWS.items():
        v = look(x)
        for name, call in OPERATORS.items():
            if dtype == "int64" and name in ("norm", "var", "softmax"):
                continue
            bits = []
            for count in (1, 2, 5):
                jl.set_num_threads(count)
                bits.append(call(v).contiguous().numpy().tobytes())
            assert bits[0] == bits[1] == bits[2], f"{name} of {view} {dtype}{shape}"


@pytest.mark.parametrize("count", [1, 4, 15, 16, 17, 31, 32, 33, 48, 100])
@pytest.mark.parametrize("rest", [0, 1, 31, 4095])
def test_pieces_of_a_sum_are_those_of_its_tree(count, rest):
    """A long sum is that of a tree over chunks of 4096, which NumPy can build too."""
    array = np.random.default_rng(count).standard_normal(4096 * count + rest).astype("float32")
    wide = jl.from_numpy(np.stack([array] * 3, axis=1).copy())
    alone = jl.from_numpy(array).sum().item()
    assert wide.sum(0).tolist() == [alone] * 3
    assert jl.from_numpy(array)[None].expand(40, array.size).sum(1).tolist() == [alone] * 40


LONG = {
    "matmul": lambda x: x.expand(3000, 3000) @ x.expand(3000, 3000),
    "sum": lambda x: x.expand(100_000, 3000).sum(),
    "sort": lambda x: x.expand(200, 3000).contiguous().sort(0),
    "cumsum": lambda x: x.expand(20_000, 3000).cumsum(1),
    "softmax": lambda x: x.expand(10_000, 3000).softmax(1),
    "exp": lambda x: x.expand(20_000, 3000).exp(),
}


@pytest.mark.parametrize("name", LONG)
def test_others_run_python_meanwhile(name):
    x, call = jl.rand(1, 3000), LONG[name]
    gaps, stop = [], threading.Event()

    def work():
        last = time.perf_counter()
        while not stop.is_set():
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    shares = []
    for _ in range(4):
        gaps.clear()
        stop.clear()
        thread = threading.Thread(target=work)
        thread.start()
        begun = time.perf_counter()
        call(x)
        took = time.perf_counter() - begun
        stop.set()
        thread.join()
        shares.append(max(gaps) / took)
    assert min(shares) < 0.7, shares


def test_several_threads_at_once():
    x = jl.rand(300_000)
    expected = (x.exp() + x).sum().item()
    found = []
    threads = [threading.Thread(target=lambda: found.extend((x.exp() + x).sum().item() for _ in range(20))) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [expected] * 120
