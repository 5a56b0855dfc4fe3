"""Rows that make tensors."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import cast, check, f64, i64, kernel, local, null, ptr
from jitlang.registry import EFFECT, PURE, RANDOM
from jitlang.tensor.kernels import creation as make
from jitlang.tensor.kernels import random
from jitlang.tensor.kernels.creation import Ints, Tensor, or_default
from jitlang.tensor.kernels.pointwise import assign, cast_tensor
from jitlang.tensor.kernels.scalars import number_dtype
from jitlang.tensor.kernels.tensors import empty, empty_strided, release
from jitlang.tensor.layout import BOOL, FLOAT32, FLOAT64, INT64
from jitlang.tensor.ops import rules
from jitlang.tensor.ops.families import row
from jitlang.tensor.ops.samples import ALL, A, D, Sample
from jitlang.tensor.promotion import is_float
from jitlang.types import BOOL as BOOL_TYPE
from jitlang.types import FLOAT, dtype_coded

FLOAT32_TYPE, INT64_TYPE, BOOL_DTYPE = (dtype_coded(c) for c in (FLOAT32, INT64, BOOL))
_KIND = "dtype? dtype=None, device? device=None"


# ---- filled -------------------------------------------------------------------------------------------------------


def _constant(name: str, value: int, doc: str) -> None:
    @kernel
    def fresh(size: Ints, dtype: Any, device: Any) -> Tensor:
        code = or_default(dtype, device, FLOAT32)
        if value == 0:
            return make.zeros(size.length, cast(ptr[i64], size.data), code)
        return make.sized(size, code, value)

    @kernel
    def like(self: Tensor, dtype: Any, device: Any) -> Tensor:
        return make.filled(make.like(self, or_default(dtype, device, self.dtype)), value)

    @kernel
    def new(self: Tensor, size: Ints, dtype: Any, device: Any) -> Tensor:
        return make.sized(size, or_default(dtype, device, self.dtype), value)

    samples = [Sample([2, 3]), Sample([]), Sample([0, 2], dtype=D("int64")), Sample([3], dtype=D("bool")), Sample([-1], error=True), Sample([1])]
    infer = rules.created(1, FLOAT32_TYPE, rules.length_of(0))
    row(f"{name}(int[] size, *, {_KIND}) -> Tensor", doc, fresh, PURE, infer=infer, samples=samples, variants=("function",))
    likes = [Sample(A((2, 3), d)) for d in ALL] + [Sample(A((4, 3), layout="t")), Sample(A((3, 4), layout="e")), Sample(A((3,)), dtype=D("int32"))]
    row(
        f"{name}_like(Tensor self, *, {_KIND}) -> Tensor",
        f"{doc[:-1]}, in the shape of another.",
        like,
        PURE,
        infer=rules.like(1),
        samples=likes,
        variants=("function",),
    )
    news = [Sample(A((2,), d), [2, 3]) for d in ALL] + [Sample(A((2,)), [2], dtype=D("int64"))]
    row(
        f"new_{name}(Tensor self, int[] size, *, {_KIND}) -> Tensor",
        f"{doc[:-1]}, in the dtype of another.",
        new,
        PURE,
        infer=rules.created(2, None, rules.length_of(1)),
        samples=news,
        variants=("method",),
    )


_constant("zeros", 0, "A tensor full of zeros.")
_constant("ones", 1, "A tensor full of ones.")


@kernel
def empty_native(size: Ints, dtype: Any, device: Any) -> Tensor:
    """An uninitialised tensor."""
    return make.empty_of(size, or_default(dtype, device, FLOAT32))


@kernel
def empty_like_native(self: Tensor, dtype: Any, device: Any) -> Tensor:
    """An uninitialised tensor in the shape of another."""
    return make.like(self, or_default(dtype, device, self.dtype))


@kernel
def new_empty_native(self: Tensor, size: Ints, dtype: Any, device: Any) -> Tensor:
    """An uninitialised tensor in the dtype of another."""
    return make.empty_of(size, or_default(dtype, device, self.dtype))


@kernel
def empty_strided_native(size: Ints, stride: Ints, dtype: Any, device: Any) -> Tensor:
    """An uninitialised tensor with given strides."""
    check(size.length == stride.length, "RuntimeError", "mismatch in length of strides and shape")
    return empty_strided(size.length, cast(ptr[i64], size.data), cast(ptr[i64], stride.data), or_default(dtype, device, FLOAT32))


@kernel
def full_dtype(dtype: Any, device: Any, value: Any) -> i64:
    """The dtype of a tensor full of `value`."""
    code = number_dtype(value)
    return or_default(dtype, device, FLOAT32 if code == FLOAT64 else code)


@kernel
def full_native(size: Ints, fill_value: Any, dtype: Any, device: Any) -> Tensor:
    """A tensor full of a number."""
    return make.sized(size, full_dtype(dtype, device, fill_value), fill_value)


@kernel
def full_like_native(self: Tensor, fill_value: Any, dtype: Any, device: Any) -> Tensor:
    """A tensor full of a number in the shape of another."""
    return make.filled(make.like(self, or_default(dtype, device, self.dtype)), fill_value)


@kernel
def new_full_native(self: Tensor, size: Ints, fill_value: Any, dtype: Any, device: Any) -> Tensor:
    """A tensor full of a number in the dtype of another."""
    return make.sized(size, or_default(dtype, device, self.dtype), fill_value)


@kernel
def scalar_tensor_native(s: Any, dtype: Any, device: Any) -> Tensor:
    """A number as a tensor without dimensions."""
    t = make.zeros(0, null(ptr[i64]), or_default(dtype, device, FLOAT32))
    return make.filled(t, s)


def _full_rule(types: Any, constants: Any) -> Any:
    number = {BOOL_TYPE: BOOL_DTYPE, FLOAT: FLOAT32_TYPE}.get(types[1], INT64_TYPE)
    return [rules.TensorType(rules.dtype_of(constants[2], number), rules.length_of(0)(types, constants))]


_FUNCTION: Any = {"variants": ("function",)}
_METHOD: Any = {"variants": ("method",)}
_UNDEFINED = [Sample([2, 3], undefined=True), Sample([2], dtype=D("bool"), undefined=True), Sample([-1], error=True)]
row(
    f"empty(int[] size, *, {_KIND}) -> Tensor",
    "An uninitialised tensor.",
    empty_native,
    infer=rules.created(1, FLOAT32_TYPE, rules.length_of(0)),
    samples=_UNDEFINED,
    **_FUNCTION,
)
row(
    f"empty_like(Tensor self, *, {_KIND}) -> Tensor",
    "An uninitialised tensor in the shape of another.",
    empty_like_native,
    infer=rules.like(1),
    samples=[Sample(A((2, 3)), undefined=True), Sample(A((4, 3), layout="t"), undefined=True)],
    **_FUNCTION,
)
row(
    f"new_empty(Tensor self, int[] size, *, {_KIND}) -> Tensor",
    "An uninitialised tensor in the dtype of another.",
    new_empty_native,
    infer=rules.created(2, None, rules.length_of(1)),
    samples=[Sample(A((2, 3)), [4], undefined=True)],
    **_METHOD,
)
row(
    f"empty_strided(int[] size, int[] stride, *, {_KIND}) -> Tensor",
    "An uninitialised tensor with given strides.",
    empty_strided_native,
    infer=rules.created(2, FLOAT32_TYPE, rules.length_of(0)),
    samples=[Sample([2, 3], [1, 2], undefined=True)],
    **_FUNCTION,
)
row(
    f"full(int[] size, Scalar fill_value, *, {_KIND}) -> Tensor",
    "A tensor full of a number.",
    full_native,
    PURE,
    infer=_full_rule,
    samples=[Sample([2, 3], 7), Sample([2], 2.5), Sample([2], True), Sample([2], 2.9, dtype=D("int64"))],
    **_FUNCTION,
)
row(
    f"full_like(Tensor self, Scalar fill_value, *, {_KIND}) -> Tensor",
    "A tensor full of a number in the shape of another.",
    full_like_native,
    PURE,
    infer=rules.like(2),
    samples=[Sample(A((2, 3), d), 3) for d in ALL] + [Sample(A((4, 3), layout="t"), 2.5)],
    **_FUNCTION,
)
row(
    f"new_full(Tensor self, int[] size, Scalar fill_value, *, {_KIND}) -> Tensor",
    "A tensor full of a number in the dtype of another.",
    new_full_native,
    PURE,
    infer=rules.created(3, None, rules.length_of(1)),
    samples=[Sample(A((2, 3)), [4], 2), Sample(A((2,), "int64"), [2], 3)],
    **_METHOD,
)
row(
    f"scalar_tensor(Scalar s, *, {_KIND}) -> Tensor",
    "A number as a tensor without dimensions.",
    scalar_tensor_native,
    PURE,
    infer=rules.created(1, FLOAT32_TYPE, rules.fixed(0)),
    samples=[Sample(3), Sample(2.5, dtype=D("float64"))],
    **_FUNCTION,
)


# ---- ranges -------------------------------------------------------------------------------------------------------


@kernel
def dtype_or(dtype: Any, device: Any) -> i64:
    """An optional dtype, or -1."""
    return or_default(dtype, device, -1)


@kernel
def arange_end(end: Any, dtype: Any, device: Any) -> Tensor:
    """0, 1, … below `end`."""
    return make.arange(0, end, 1, dtype_or(dtype, device))


@kernel
def arange_start(start: Any, end: Any, dtype: Any, device: Any) -> Tensor:
    """start, start + 1, … below `end`."""
    return make.arange(start, end, 1, dtype_or(dtype, device))


@kernel
def arange_step(start: Any, end: Any, step: Any, dtype: Any, device: Any) -> Tensor:
    """start, start + step, … below `end`."""
    return make.arange(start, end, step, dtype_or(dtype, device))


def _range_rule(dtype_at: int) -> Any:
    def infer(types: Any, constants: Any) -> Any:
        number = FLOAT32_TYPE if FLOAT in types[:dtype_at] else INT64_TYPE
        return [rules.TensorType(rules.dtype_of(constants[dtype_at], number), 1)]

    return infer


_RANGE = "Numbers at equal distances, without the end."
row(
    f"arange(Scalar end, *, {_KIND}) -> Tensor",
    _RANGE,
    arange_end,
    PURE,
    infer=_range_rule(1),
    samples=[Sample(5), Sample(0), Sample(2.5), Sample(4, dtype=D("float64")), Sample(-1, error=True)],
    **_FUNCTION,
)
row(
    f"arange.start(Scalar start, Scalar end, *, {_KIND}) -> Tensor",
    _RANGE,
    arange_start,
    PURE,
    infer=_range_rule(2),
    samples=[Sample(2, 6), Sample(0.5, 3), Sample(1, 4, dtype=D("int32")), Sample(3, 3)],
    **_FUNCTION,
)
row(
    f"arange.start_step(Scalar start, Scalar end, Scalar step=1, *, {_KIND}) -> Tensor",
    _RANGE,
    arange_step,
    PURE,
    infer=_range_rule(3),
    samples=[
        Sample(0, 10, 3),
        Sample(5, 0, -2),
        Sample(0, 1, 0.1),
        Sample(0, 5, 0, error=True),
        Sample(0, 5, -1, error=True),
        Sample(0, 7, 2, dtype=D("uint8")),
    ],
    **_FUNCTION,
)


@kernel
def linspace_native(start: Any, end: Any, steps: i64, dtype: Any, device: Any) -> Tensor:
    """Numbers at equal distances, with the end."""
    return make.linspace(f64(start), f64(end), steps, or_default(dtype, device, FLOAT32))


row(
    f"linspace(Scalar start, Scalar end, int steps, *, {_KIND}) -> Tensor",
    "Numbers at equal distances, with the end.",
    linspace_native,
    PURE,
    infer=rules.created(3, FLOAT32_TYPE, rules.fixed(1)),
    samples=[Sample(0, 1, 5), Sample(-2.5, 7.5, 11), Sample(1, 2, 1), Sample(1, 2, 0), Sample(0, 10, 4, dtype=D("float64")), Sample(0, 1, -1, error=True)],
    **_FUNCTION,
)


@kernel
def eye_square(n: i64, dtype: Any, device: Any) -> Tensor:
    """A square matrix with ones on the diagonal."""
    return make.eye(n, n, or_default(dtype, device, FLOAT32))


@kernel
def eye_native(n: i64, m: i64, dtype: Any, device: Any) -> Tensor:
    """A matrix with ones on the diagonal."""
    return make.eye(n, m, or_default(dtype, device, FLOAT32))


row(
    f"eye(int n, *, {_KIND}) -> Tensor",
    "A square matrix with ones on the diagonal.",
    eye_square,
    PURE,
    infer=rules.created(1, FLOAT32_TYPE, rules.fixed(2)),
    samples=[Sample(3), Sample(0), Sample(2, dtype=D("int64")), Sample(-1, error=True)],
    **_FUNCTION,
)
row(
    f"eye.m(int n, int m, *, {_KIND}) -> Tensor",
    "A matrix with ones on the diagonal.",
    eye_native,
    PURE,
    infer=rules.created(2, FLOAT32_TYPE, rules.fixed(2)),
    samples=[Sample(3, 2), Sample(2, 4, dtype=D("bool"))],
    **_FUNCTION,
)


# ---- in place -----------------------------------------------------------------------------------------------------


@kernel
def fill_number(self: Tensor, value: Any) -> Tensor:
    """Fills with a number."""
    return make.fill(self, value)


@kernel
def fill_tensor(self: Tensor, value: Tensor) -> Tensor:
    """Fills with the only element of a tensor."""
    check(value.rank == 0, "RuntimeError", "fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.", value.rank)
    return assign(self, value)


@kernel
def zero_native(self: Tensor) -> Tensor:
    """Fills with zeros."""
    return make.fill(self, 0)


_FILLED = [A((3, 4), d) for d in ALL] + [A((4, 3), layout="t"), A((5,), layout="s"), A(())]
row(
    "fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)",
    "Fills with a number.",
    fill_number,
    infer=rules.same,
    samples=[Sample(t, 2) for t in _FILLED],
    **_METHOD,
)
row(
    "fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)",
    "Fills with the only element of a tensor.",
    fill_tensor,
    infer=rules.same,
    samples=[Sample(A((2, 3)), A(())), Sample(A((2, 3)), A((2,)), error=True)],
    **_METHOD,
)
row("zero_(Tensor(a!) self) -> Tensor(a!)", "Fills with zeros.", zero_native, infer=rules.same, samples=[Sample(t) for t in _FILLED], **_METHOD)


# ---- random -------------------------------------------------------------------------------------------------------


@kernel
def rand_native(size: Ints, dtype: Any, device: Any) -> Tensor:
    """Uniform numbers from 0 to 1."""
    t = make.empty_of(size, or_default(dtype, device, FLOAT32))
    random.fill_uniform(t, 0.0, 1.0)
    return t


@kernel
def rand_like_native(self: Tensor, dtype: Any, device: Any) -> Tensor:
    """Uniform numbers in the shape of another."""
    t = empty(self.rank, self.sizes, or_default(dtype, device, self.dtype))
    random.fill_uniform(t, 0.0, 1.0)
    return t


@kernel
def randn_native(size: Ints, dtype: Any, device: Any) -> Tensor:
    """Normal numbers."""
    t = make.empty_of(size, or_default(dtype, device, FLOAT32))
    random.fill_normal(t, 0.0, 1.0)
    return t


@kernel
def randn_like_native(self: Tensor, dtype: Any, device: Any) -> Tensor:
    """Normal numbers in the shape of another."""
    t = empty(self.rank, self.sizes, or_default(dtype, device, self.dtype))
    random.fill_normal(t, 0.0, 1.0)
    return t


@kernel
def normal_native(mean: f64, std: f64, size: Ints, dtype: Any, device: Any) -> Tensor:
    """Normal numbers of a mean and a standard deviation."""
    t = make.empty_of(size, or_default(dtype, device, FLOAT32))
    random.fill_normal(t, mean, std)
    return t


@kernel
def randint_native(high: i64, size: Ints, dtype: Any, device: Any) -> Tensor:
    """Integers from 0 to `high`, without it."""
    t = make.empty_of(size, or_default(dtype, device, INT64))
    random.fill_integers(t, 0, high)
    return t


@kernel
def randint_low(low: i64, high: i64, size: Ints, dtype: Any, device: Any) -> Tensor:
    """Integers from `low` to `high`, without it."""
    t = make.empty_of(size, or_default(dtype, device, INT64))
    random.fill_integers(t, low, high)
    return t


@kernel
def randperm_native(n: i64, dtype: Any, device: Any) -> Tensor:
    """0 to n - 1 in random order."""
    check(n >= 0, "RuntimeError", "n must be non-negative, got{}", n)
    size = local(i64, 1)
    size[0] = n
    t = empty(1, size, INT64)
    random.fill_permutation(t)
    code = or_default(dtype, device, INT64)
    if code == INT64:
        return t
    result = cast_tensor(t, code)
    release(t)
    return result


@kernel
def manual_seed_native(seed: i64) -> None:
    """Starts the generator anew."""
    random.manual_seed(seed)


@kernel
def uniform_native(self: Tensor, low: f64, high: f64) -> Tensor:
    """Fills with uniform numbers."""
    return refilled(self, low, high, 0)


@kernel
def normal_into(self: Tensor, mean: f64, std: f64) -> Tensor:
    """Fills with normal numbers."""
    return refilled(self, mean, std, 1)


@kernel
def bernoulli_into(self: Tensor, p: f64) -> Tensor:
    """Fills with ones, each with a probability, and zeros."""
    return refilled(self, p, 0.0, 2)


@kernel(extern=True)
def refilled(self: Tensor, a: f64, b: f64, what: i64) -> Tensor:
    """Fills a tensor of any layout with random numbers."""
    if what < 2:
        check(is_float(self.dtype) == 1, "RuntimeError", "random numbers of this kind need a floating-point tensor")
    t = empty(self.rank, self.sizes, self.dtype)
    if what == 0:
        random.fill_uniform(t, a, b)
    elif what == 1:
        random.fill_normal(t, a, b)
    else:
        random.fill_bernoulli(t, a)
    result = assign(self, t)
    release(t)
    return result


def _seeded(name: str) -> Any:
    return {"extra": {"oracle": name, "seeded": True}, "variants": ("function",)}


_SIZED = rules.created(1, FLOAT32_TYPE, rules.length_of(0))
_RANDOM_SAMPLES = [
    Sample([3]),
    Sample([2, 3], dtype=D("float64")),
    Sample([16]),
    Sample([5, 7]),
    Sample([100]),
    Sample([1000], dtype=D("float64")),
    Sample([0]),
    Sample([]),
]
row(f"rand(int[] size, *, {_KIND}) -> Tensor", "Uniform numbers from 0 to 1.", rand_native, RANDOM, infer=_SIZED, samples=_RANDOM_SAMPLES, **_seeded("rand"))
row(f"randn(int[] size, *, {_KIND}) -> Tensor", "Normal numbers.", randn_native, RANDOM, infer=_SIZED, samples=_RANDOM_SAMPLES, **_seeded("randn"))
row(
    f"rand_like(Tensor self, *, {_KIND}) -> Tensor",
    "Uniform numbers in the shape of another.",
    rand_like_native,
    RANDOM,
    infer=rules.like(1),
    samples=[Sample(A((3, 5)))],
    **_seeded("rand_like"),
)
row(
    f"randn_like(Tensor self, *, {_KIND}) -> Tensor",
    "Normal numbers in the shape of another.",
    randn_like_native,
    RANDOM,
    infer=rules.like(1),
    samples=[Sample(A((3, 7)))],
    **_seeded("randn_like"),
)
row(
    f"normal(float mean, float std, int[] size, *, {_KIND}) -> Tensor",
    "Normal numbers of a mean and a standard deviation.",
    normal_native,
    RANDOM,
    infer=rules.created(3, FLOAT32_TYPE, rules.length_of(2)),
    samples=[Sample(2.0, 3.0, [20]), Sample(0.5, 2.0, [3])],
    **_seeded("normal"),
)
row(
    f"randint(int high, int[] size, *, {_KIND}) -> Tensor",
    "Integers from 0 to a bound.",
    randint_native,
    RANDOM,
    infer=rules.created(2, INT64_TYPE, rules.length_of(1)),
    samples=[Sample(10, [20]), Sample(2**40, [5]), Sample(0, [2], error=True), Sample(7, [3], dtype=D("int32"))],
    **_seeded("randint"),
)
row(
    f"randint.low(int low, int high, int[] size, *, {_KIND}) -> Tensor",
    "Integers between two bounds.",
    randint_low,
    RANDOM,
    infer=rules.created(3, INT64_TYPE, rules.length_of(2)),
    samples=[Sample(-5, 5, [20])],
    **_seeded("randint"),
)
row(
    f"randperm(int n, *, {_KIND}) -> Tensor",
    "0 to n - 1 in random order.",
    randperm_native,
    RANDOM,
    infer=rules.created(1, INT64_TYPE, rules.fixed(1)),
    samples=[Sample(10), Sample(0), Sample(4, dtype=D("float32"))],
    **_seeded("randperm"),
)
row(
    "manual_seed(int seed) -> ()",
    "Starts the random generator anew.",
    manual_seed_native,
    EFFECT,
    RANDOM,
    samples=[Sample(3)],
    variants=("function",),
    extra={"oracle": lambda seed: None},
)
row(
    "uniform_(Tensor(a!) self, float from=0, float to=1) -> Tensor(a!)",
    "Fills with uniform numbers.",
    uniform_native,
    RANDOM,
    infer=rules.same,
    samples=[Sample(A((3, 5))), Sample(A((4,)), -1.0, 3.0), Sample(A((4,)), 3.0, 1.0, error=True)],
    variants=("method",),
    extra={"seeded": True},
)
row(
    "normal_(Tensor(a!) self, float mean=0, float std=1) -> Tensor(a!)",
    "Fills with normal numbers.",
    normal_into,
    RANDOM,
    infer=rules.same,
    samples=[Sample(A((3, 5))), Sample(A((40,)), -1.0, 3.0)],
    variants=("method",),
    extra={"seeded": True},
)
row(
    "bernoulli_.float(Tensor(a!) self, float p=0.5) -> Tensor(a!)",
    "Fills with ones, each with a probability, and zeros.",
    bernoulli_into,
    RANDOM,
    infer=rules.same,
    samples=[Sample(A((4,)), 1.0), Sample(A((4,)), 0.0)],
    variants=("method",),
)
