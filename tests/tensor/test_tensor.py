"""Tensors in Python, without PyTorch: attributes, printing, indexing, memory, exchange, errors."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import jitlang as jl
from jitlang.tensor.kernels.tensors import MAX_BYTES

TREE = """
import jitlang, sys
assert "numpy" not in sys.modules, "importing jitlang imports numpy"
"""


def values(tensor):
    return tensor.tolist()


# ---- making -------------------------------------------------------------------------------------------------------


def test_tensor_infers_shape_and_dtype():
    assert jl.tensor([[1, 2], [3, 4]]).dtype is jl.int64
    assert jl.tensor([1, 2.5]).dtype is jl.float32
    assert jl.tensor([True, False]).dtype is jl.bool
    assert jl.tensor(3.0).shape == ()
    assert jl.tensor([[], []]).shape == (2, 0)
    assert values(jl.tensor((1, (2)), dtype=jl.float64)) == [1.0, 2.0]


@pytest.mark.parametrize(
    ("data", "kind"),
    [([[1, 2], [3]], ValueError), ([1, [2]], (TypeError, ValueError)), (["a"], TypeError), ([1, None], TypeError), ([[1], 2], TypeError)],
)
def test_tensor_refuses_uneven_data(data, kind):
    with pytest.raises(kind):
        jl.tensor(data)


def test_integers_that_do_not_fit():
    with pytest.raises(RuntimeError, match="without overflow"):
        jl.tensor([300], dtype=jl.uint8)


def test_too_large_is_a_memory_error():
    with pytest.raises(MemoryError, match="too large|cannot allocate"):
        jl.zeros(MAX_BYTES)
    with pytest.raises(MemoryError):
        jl.empty([2**40, 2**40])


def test_more_than_eight_dimensions():
    with pytest.raises(RuntimeError, match="at most 8 dimensions"):
        jl.zeros([1] * 9)
    with pytest.raises(RuntimeError, match="at most 8 dimensions"):
        jl.zeros([1] * 8).unsqueeze(0)


def test_manual_seed_gives_the_published_numbers():
    jl.manual_seed(0)
    assert values(jl.rand(3)) == pytest.approx([0.49625658988952637, 0.7682217955589294, 0.08847743272781372], abs=0)
    jl.manual_seed(0)
    assert values(jl.randn(2)) == pytest.approx([1.5409960746765137, -0.293428897857666], abs=0)


# ---- printing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (lambda: jl.tensor([1.0, 2.0]), "tensor([1., 2.])"),
        (lambda: jl.tensor([1.5, 2.25]), "tensor([1.5000, 2.2500])"),
        (lambda: jl.tensor([1, -20]), "tensor([  1, -20])"),
        (lambda: jl.tensor([True, False]), "tensor([ True, False])"),
        (lambda: jl.tensor(2.5), "tensor(2.5000)"),
        (lambda: jl.tensor([]), "tensor([])"),
        (lambda: jl.zeros(0, 3), "tensor([], size=(0, 3))"),
        (lambda: jl.tensor([1, 2], dtype=jl.int32), "tensor([1, 2], dtype=jitlang.int32)"),
        (lambda: jl.tensor([1e-5, 1.0]), "tensor([1.0000e-05, 1.0000e+00])"),
        (lambda: jl.tensor([float("nan"), float("inf"), 1.0]), "tensor([nan, inf, 1.])"),
        (lambda: jl.tensor([[1.0, 2.0], [3.0, 4.5]]), "tensor([[1.0000, 2.0000],\n        [3.0000, 4.5000]])"),
        (lambda: jl.zeros(2, 1, 2), "tensor([[[0., 0.]],\n\n        [[0., 0.]]])"),
        (lambda: jl.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    ],
)
def test_text(tensor, text):
    assert repr(tensor()) == text


def test_format():
    assert f"{jl.tensor(2.5):.1f}" == "2.5"
    assert f"{jl.tensor([1])}" == "tensor([1])"
    with pytest.raises(TypeError):
        f"{jl.tensor([1]):.1f}"


# ---- attributes and conversions ---------------------------------------------------------------------------------------


def test_attributes():
    x = jl.zeros(2, 3)
    assert (x.shape, x.ndim, x.dtype, str(x.device), x.numel(), x.itemsize, x.nbytes) == ((2, 3), 2, jl.float32, "cpu", 6, 4, 24)
    assert (x.size(0), x.size(-1), x.stride(), x.stride(1), x.is_contiguous(), x.T.shape, x.mT.stride()) == (2, 3, (3, 1), 1, True, (3, 2), (1, 3))
    assert x.size() == (2, 3) == tuple(x.size())
    assert not x.requires_grad
    assert len(x) == 2
    with pytest.raises(AttributeError, match="nothing_like_this"):
        x.nothing_like_this  # noqa: B018
    with pytest.raises(TypeError):
        len(jl.tensor(1))


def test_numbers():
    assert (int(jl.tensor(3.7)), float(jl.tensor([2])), bool(jl.tensor([[0]])), jl.tensor(5).__index__(), [10, 20, 30][jl.tensor(1)]) == (3, 2.0, False, 5, 20)
    assert jl.tensor(2).item() == 2
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(jl.tensor([1, 2]))
    with pytest.raises(RuntimeError, match="cannot be converted to Scalar"):
        jl.tensor([1, 2]).item()
    with pytest.raises(TypeError):
        [1][jl.tensor(0.0)]


def test_operators_with_python_numbers():
    x = jl.tensor([1, 2, 3])
    assert values(2 - x) == [1, 0, -1]
    assert values(6 / x) == [6.0, 3.0, 2.0]
    assert values(7 // x) == [7, 3, 2]
    assert values(2**x) == [2, 4, 8]
    assert values(-x + True) == [0, -1, -2]
    assert (x + 1.5).dtype is jl.float32
    assert values(x == 2) == [False, True, False]
    assert values(3 > x) == [True, True, False]
    assert (x == "a") is False
    assert (x != None) is True  # noqa: E711
    assert 2 in x
    with pytest.raises(TypeError):
        x + "a"


def test_in_place_operators_keep_the_object():
    x = y = jl.tensor([1.0, 2.0])
    x += 1
    x *= jl.tensor([2.0, 3.0])
    assert x is y
    assert values(y) == [4.0, 9.0]
    assert y._version == 2


# ---- indexing -----------------------------------------------------------------------------------------------------

INDICES = [
    (1,),
    (-1,),
    (slice(None), 2),
    (slice(1, None), slice(None, -1)),
    (slice(None, None, 2),),
    (..., 0),
    (None, 1, ...),
    (slice(5, 9),),
    (1, slice(0, 0)),
    (Ellipsis,),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_basic_indexing_is_numpys_and_shares_memory(index):
    array = np.arange(24.0).reshape(2, 3, 4)
    x = jl.from_numpy(array.copy())
    assert np.array_equal(x[index].numpy(), array[index])
    view = x[index]
    view.fill_(-1.0)
    array[index] = -1.0
    assert np.array_equal(x.numpy(), array)


@pytest.mark.parametrize(
    "index",
    [([0, 2],), (slice(None), [1, 0, 1]), ([[0], [1]], [0, 2]), (None, [1]), ([0, 1], slice(None), [2, 3]), (slice(None), [0, 2], [1, 1])],
    ids=str,
)
def test_index_tensors_are_numpys(index):
    array = np.arange(60.0).reshape(3, 4, 5)
    x = jl.from_numpy(array.copy())
    ours = tuple(jl.tensor(i) if isinstance(i, list) else i for i in index)
    assert np.array_equal(x[ours].numpy(), array[index])
    x[ours] = 7.0
    array[index] = 7.0
    assert np.array_equal(x.numpy(), array)


def test_masks():
    array = np.arange(12.0).reshape(3, 4)
    x = jl.from_numpy(array.copy())
    assert np.array_equal(x[x > 5].numpy(), array[array > 5])
    x[x > 5] = 0
    array[array > 5] = 0
    assert np.array_equal(x.numpy(), array)
    x[jl.tensor([True, False, True])] = jl.tensor([1.0, 2.0, 3.0, 4.0], dtype=jl.float64)
    array[[True, False, True]] = [1.0, 2.0, 3.0, 4.0]
    assert np.array_equal(x.numpy(), array)


@pytest.mark.parametrize(
    ("index", "kind", "text"),
    [
        (3, IndexError, "index 3 is out of bounds for dimension 0 with size 3"),
        ((0, 0, 0), IndexError, "too many indices"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        ((..., ...), IndexError, "single ellipsis"),
        (1.5, TypeError, "cannot be indexed by float"),
        ("a", TypeError, "cannot be indexed by str"),
    ],
)
def test_wrong_indices(index, kind, text):
    with pytest.raises(kind, match=text):
        jl.zeros(3, 4)[index]


def test_assignment_broadcasts_and_converts():
    x = jl.zeros(2, 3, dtype=jl.int64)
    x[1] = jl.tensor([1.9, 2.9, 3.9])
    x[:, 0] = True
    assert values(x) == [[1, 0, 0], [1, 2, 3]]
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape|must match the size"):
        x[0] = jl.zeros(4)


# ---- NumPy and DLPack -----------------------------------------------------------------------------------------------


def test_numpy_shares_memory_both_ways():
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    x = jl.from_numpy(array.T)
    array[0, 1] = 100
    assert values(x) == [[0, 3], [100, 4], [2, 5]]
    back = x.numpy()
    back[0, 0] = -1
    assert array[0, 0] == -1
    assert np.asarray(x).dtype == np.int32
    assert np.array(x, dtype=np.float64).dtype == np.float64


@pytest.mark.parametrize("order", range(4))
def test_memory_lives_as_long_as_anyone_uses_it(order):
    array = np.arange(1000.0)
    x = jl.from_numpy(array)
    view, out = x[10:20], None
    if order == 0:
        del array, x
    elif order == 1:
        out = view.numpy()
        del view, x, array
    elif order == 2:
        del x
        out = np.from_dlpack(view)
        del view, array
    else:
        out = jl.from_dlpack(view)
        del x, view, array
    gc.collect()
    rubbish = [np.full(1000, 7.0) for _ in range(50)]
    assert list(map(float, (view if out is None else out)))[:3] == [10.0, 11.0, 12.0]
    del rubbish


def test_foreign_memory_is_let_go():
    array = np.arange(10.0)
    gone = weakref.ref(array)
    x = jl.from_numpy(array)
    y = x[2:]
    del array, x
    assert gone() is not None
    del y
    gc.collect()
    assert gone() is None


def test_read_only_arrays():
    array = np.arange(3.0)
    array.flags.writeable = False
    x = jl.from_numpy(array)
    with pytest.raises(RuntimeError, match="read-only"):
        x += 1
    assert values(x + 1) == [1.0, 2.0, 3.0]
    assert not x.numpy().flags.writeable


@pytest.mark.parametrize("bad", [np.arange(3)[::-1], np.zeros(3, np.complex64), np.zeros(3, ">f4"), [1, 2]], ids=lambda b: str(getattr(b, "dtype", b)))
def test_arrays_that_cannot_be_shared(bad):
    with pytest.raises((TypeError, ValueError)):
        jl.from_numpy(bad)


def test_dlpack_capsules_are_used_once():
    capsule = jl.tensor([1.0, 2.0]).__dlpack__()
    assert values(jl.from_dlpack(capsule)) == [1.0, 2.0]
    with pytest.raises(ValueError, match="not used before"):
        jl.from_dlpack(capsule)
    del capsule
    gc.collect()


# ---- copies -------------------------------------------------------------------------------------------------------


def test_copies_and_pickles():
    x = jl.arange(6).reshape(2, 3).T
    for made in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), x.clone()):
        assert values(made) == values(x)
        made.zero_()
    assert values(x) == [[0, 3], [1, 4], [2, 5]]
    copy.copy(x).zero_()
    assert values(x) == [[0, 0], [0, 0], [0, 0]]


# ---- the law of one answer ------------------------------------------------------------------------------------------


def test_sums_do_not_depend_on_layout():
    random = np.random.default_rng(0)
    array = random.standard_normal((37, 5000)).astype(np.float32)
    x = jl.from_numpy(array)
    rows = x.sum(1).numpy()
    turned = x.t().contiguous()
    assert np.array_equal(turned.sum(0).numpy(), rows)
    assert np.array_equal(x.t().sum(0).numpy(), rows)
    assert np.array_equal(jl.stack([x[i].sum() for i in range(37)]).numpy(), rows)
    strided = jl.from_numpy(np.repeat(array, 2, axis=1))[:, ::2]
    assert np.array_equal(strided.sum(1).numpy(), rows)
    assert rows == pytest.approx(array.sum(1, dtype=np.float64), rel=1e-4, abs=1e-3)


def test_pointwise_results_do_not_depend_on_layout():
    array = np.linspace(-5, 5, 3 * 1000).reshape(3, 1000).astype(np.float32)
    x = jl.from_numpy(array)
    dense = jl.exp(x).numpy()
    assert np.array_equal(jl.exp(x.t()).t().numpy(), dense)
    assert np.array_equal(jl.exp(jl.from_numpy(np.repeat(array, 2, axis=1))[:, ::2]).numpy(), dense)
    assert np.array_equal(jl.stack([jl.exp(v) for v in x[0, :20]]).numpy(), dense[0, :20])


# ---- memory -------------------------------------------------------------------------------------------------------


def resident() -> int:
    with open("/proc/self/statm") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_nothing_leaks():
    def work():
        x = jl.rand(50, 50)
        y = (x @ x.t() + 1).sum(0)[::2]
        y[y > 3] = 0
        z = jl.cat([y, y.clone()]).reshape(5, -1).max(1).values
        for bad in (lambda: x + jl.zeros(7), lambda: x[60], lambda: x @ jl.zeros(3), lambda: x.view(7), lambda: jl.cat([x, z])):
            with pytest.raises((RuntimeError, IndexError)):
                bad()
        return z.sum().item()

    for _ in range(20):
        work()
    gc.collect()
    before = resident()
    for _ in range(150):
        work()
    gc.collect()
    assert resident() - before < 4 << 20


def test_threads_share_tensors():
    x = jl.arange(1000, dtype=jl.float64)
    results: list[float] = []

    def work():
        total = 0.0
        for _ in range(50):
            total += (x * 2 + 1)[::3].sum().item()
        results.append(total)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 8
    assert len(set(results)) == 1


# ---- errors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: jl.zeros(3) + jl.zeros(4), RuntimeError, r"The size of tensor a \(3\) must match the size of tensor b \(4\) at non-singleton dimension 0"),
        (lambda: jl.zeros(2, 3) @ jl.zeros(2, 3), RuntimeError, r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"),
        (lambda: jl.tensor([1]) // 0, RuntimeError, "ZeroDivisionError"),
        (lambda: jl.zeros(2, 3).sum(2), IndexError, "Dimension out of range"),
        (lambda: jl.zeros(6).view(4), RuntimeError, r"shape '\[4\]' is invalid for input of size 6"),
        (lambda: jl.tensor([1]).add_(0.5), RuntimeError, "result type Float can't be cast to the desired output type Long"),
        (lambda: jl.zeros(3).expand(2, 3).add_(1), RuntimeError, "more than one element of the written-to tensor"),
        (lambda: jl.tensor([True]) - jl.tensor([True]), RuntimeError, "with a bool tensor is not supported"),
        (lambda: jl.zeros(2, device="cuda"), RuntimeError, "there is no device 'cuda', expected 'cpu'"),
        (lambda: jl.arange(3, device="meta"), RuntimeError, "there is no device 'meta'"),
        (lambda: jl.rand_like(jl.zeros(2), device="nonsense"), RuntimeError, "there is no device 'nonsense'"),
        (lambda: jl.zeros(2).to("cuda"), RuntimeError, "there is no device 'cuda'"),
        (lambda: jl.zeros(2).to(device="cuda:1", dtype=jl.int64), RuntimeError, "there is no device 'cuda:1'"),
        (lambda: jl.cat([]), (ValueError, TypeError), "non-empty|form"),
        (lambda: jl.tensor([1.0]) & 1, RuntimeError, "not implemented for 'float32'"),
    ],
)
def test_messages(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_the_device_that_there_is():
    for device in ("cpu", "cpu:0", jl.device("cpu"), jl.zeros(1).device):
        assert jl.ones(2, device=device).to(device).tolist() == [1.0, 1.0]

    @jl.script
    def moved(x: jl.Tensor, gpu: bool) -> jl.Tensor:
        if gpu:
            x = x.to("cuda")
        return x

    assert moved(jl.ones(1), False).tolist() == [1.0]
    with pytest.raises(RuntimeError, match="there is no device 'cuda'"):
        moved(jl.ones(1), True)


def test_wrong_arguments_are_type_errors():
    for call in (lambda: jl.sum("a"), lambda: jl.zeros("a"), lambda: jl.cat(1), lambda: jl.tensor([1]).view("x"), lambda: jl.exp()):
        with pytest.raises(TypeError):
            call()


def test_math_of_special_values():
    x = jl.tensor([0.0, -0.0, math.inf, -math.inf, math.nan])
    assert values(jl.isnan(x)) == [False] * 4 + [True]
    assert values(jl.maximum(x, jl.tensor(1.0)))[:4] == [1.0, 1.0, math.inf, 1.0]
    assert math.isnan(values(x.max())) and math.isnan(values(x.sum()))
    assert values(x.nan_to_num(7.0, 8.0, 9.0)) == [0.0, -0.0, 8.0, 9.0, 7.0]


def test_import_needs_no_numpy():
    made = subprocess.run([sys.executable, "-c", TREE], capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr
