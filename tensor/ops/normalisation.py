"""Rows of softmax and normalisation."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import b1, cast, check, f64, get, has, i64, kernel, local, maximum, null, ptr, text, u8
from jitlang.registry import PURE
from jitlang.tensor.kernels import neural as net
from jitlang.tensor.kernels import pointwise as drivers
from jitlang.tensor.kernels import reduction as r
from jitlang.tensor.kernels import views
from jitlang.tensor.kernels.creation import Ints, Tensor
from jitlang.tensor.kernels.reduction import all_dims
from jitlang.tensor.kernels.scalars import number
from jitlang.tensor.kernels.tensors import int_at, release, retain, shape_text
from jitlang.tensor.layout import FLOAT32, INT64, MAX_RANK, TensorImpl
from jitlang.tensor.ops import choices, elementary, reductions, rules, statistics
from jitlang.tensor.ops import pointwise as point
from jitlang.tensor.ops.families import row
from jitlang.tensor.ops.samples import A, D, Sample
from jitlang.tensor.promotion import RESULT_BOOL, SAME, is_float
from jitlang.types import dtype_coded

X, M, B = A((3, 5)), A((4, 3), layout="t"), A((2, 3, 8))
_FUNCTION: Any = {"variants": ("function",)}
MEAN, TOTAL = 1, 2
FLOAT32_TYPE, INT64_TYPE = dtype_coded(FLOAT32), dtype_coded(INT64)


def functional(name: str) -> Any:
    """A function whose PyTorch counterpart is in torch.nn.functional."""
    return {"extra": {"oracle": f"nn.functional.{name}"}, "variants": ("function",)}


# ---- softmax ------------------------------------------------------------------------------------------------------


@kernel
def cast_if(self: Tensor, dtype: Any) -> Tensor:
    """In an optional dtype, owned."""
    if has(dtype):
        return reductions.in_dtype(self, get(dtype))
    retain(self)
    return self


@kernel
def softmax_native(self: Tensor, dim: i64, dtype: Any) -> Tensor:
    """exp(self) / sum(exp(self)) along a dimension."""
    x = cast_if(self, dtype)
    result = net.rowwise(net.SOFTMAX.table, x, dim)
    release(x)
    return result


@kernel
def log_softmax_native(self: Tensor, dim: i64, dtype: Any) -> Tensor:
    """The logarithm of softmax."""
    x = cast_if(self, dtype)
    result = net.rowwise(net.LOG_SOFTMAX.table, x, dim)
    release(x)
    return result


@kernel
def logsumexp_native(self: Tensor, dim: Ints, keepdim: b1) -> Tensor:
    """log(sum(exp(self))) along dimensions."""
    mask = reductions.mask_of(self, dim)
    x = self
    if is_float(self.dtype) == 0:
        x = drivers.cast_tensor(self, FLOAT32)
    else:
        retain(x)
    result = log_of_sum(x, mask, i64(keepdim))
    release(x)
    return result


@kernel(extern=True)
def log_of_sum(x: Tensor, mask: i64, keepdim: i64) -> Tensor:
    """log(sum(exp(x))) with the largest element taken out; an infinite one is left in."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    top = r.reduce(reductions.MAX, x, mask, 1, x.dtype)
    finite = drivers.unary(point.ISFINITE, RESULT_BOOL, top)
    operands = local(Tensor, 3)
    operands[0] = finite
    operands[1] = top
    operands[2] = number(slot, cast(ptr[u8], room), 0.0)
    shift = drivers.several(choices.WHERE, x.dtype, x.dtype, 1, 3, operands)
    release(finite)
    release(top)
    moved = drivers.binary(point.SUB, SAME, x, shift)
    powers = drivers.unary(elementary.TABLES["exp"], SAME, moved)
    release(moved)
    total = r.reduce(reductions.SUM, powers, mask, keepdim, x.dtype)
    release(powers)
    result = drivers.unary(elementary.TABLES["log"], SAME, total)
    release(total)
    flat = views.reshape(shift, result.rank, result.sizes)
    same = drivers.binary_into(point.ADD, SAME, result, flat)
    release(same)
    release(flat)
    release(shift)
    return result


_SOFT = [
    Sample(X, 1, loose=3),
    Sample(X, 0, loose=3),
    Sample(B, 1, loose=3),
    Sample(M, -1, loose=3),
    Sample(A(()), 0),
    Sample(A((3, 5), "float64"), 1, loose=3),
    Sample(X, 1, D("float64"), loose=1e8),
    Sample(X, 2, error=True),
    Sample(A((3,), "int64"), 0, error=True),
    Sample(A((0, 3)), 1),
    Sample(A((3, 700)), 1, loose=5),
    Sample(A((3,), "int64"), 0, D("float32"), loose=9),
]
for _name in ("softmax", "log_softmax"):
    _native = softmax_native if _name == "softmax" else log_softmax_native
    row(
        f"{_name}.int(Tensor self, int dim, dtype? dtype=None) -> Tensor",
        "exp(self) / sum(exp(self)) along a dimension." if _name == "softmax" else "The logarithm of softmax.",
        _native,
        PURE,
        infer=rules.like(2),
        samples=_SOFT,
    )
row(
    "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    "log(sum(exp(self))) along dimensions.",
    logsumexp_native,
    PURE,
    infer=reductions.rule(lambda d: d if d is None or d.kind == "f" else FLOAT32_TYPE, 1, 2),
    samples=[
        Sample(X, 1, loose=9),
        Sample(X, [0, 1], True, loose=9),
        Sample(M, 0, loose=9),
        Sample(A((3, 4), special=True), 1, loose=9),
        Sample(A((3,), "int64"), 0, loose=9),
        Sample(A((3, 0)), 1),
        Sample(A((3, 0)), [0, 1], True),
        Sample(A((3, 0)), 0),
    ],
)


# ---- normalisation --------------------------------------------------------------------------------------------------


@kernel
def optional(t: Any) -> Tensor:
    """An optional tensor as a pointer that may be null."""
    if has(t):
        return get(t)
    return null(Tensor)


@kernel
def check_factor(t: Tensor, shape: Ints, input: Tensor) -> None:
    """Refuses a scale or shift of another shape than the one that is normalised."""
    if t != null(Tensor):
        fits = t.rank == shape.length
        if fits:
            for k in range(t.rank):
                fits = fits and t.sizes[k] == int_at(shape, k)
        check(fits, "RuntimeError", "Expected weight and bias to be of same shape as normalized_shape")
        check(t.dtype == input.dtype, "RuntimeError", "mixed dtype (CPU): expect parameter to have scalar type of the input")


@kernel
def layer_norm_native(input: Tensor, normalized_shape: Ints, weight: Any, bias: Any, eps: f64, cudnn_enable: b1) -> Tensor:
    """The last dimensions brought to mean 0 and variance 1."""
    return layer_norm(input, normalized_shape, optional(weight), optional(bias), eps)


@kernel(extern=True)
def layer_norm(input: Tensor, shape: Ints, weight: Tensor, bias: Tensor, eps: f64) -> Tensor:
    """`layer_norm_native`."""
    count = shape.length
    check(count > 0, "RuntimeError", "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element")
    fits = count <= input.rank
    inner = 1
    if fits:
        for k in range(count):
            fits = fits and input.sizes[input.rank - count + k] == int_at(shape, k)
            inner = inner * int_at(shape, k)
    check(fits, "RuntimeError", "Given normalized_shape, expected input with the same last sizes, but got input of size {}", text(shape_text(input)))
    check_factor(weight, shape, input)
    check_factor(bias, shape, input)
    return net.normalised(input, input.numel // maximum(inner, 1), weight, bias, 0, 1, eps)


_NORMS = [
    Sample(X, [5], loose=9),
    Sample(X, [5], A((5,)), A((5,), seed=1), loose=9),
    Sample(B, [3, 8], A((3, 8)), None, loose=9),
    Sample(B, [8], None, A((8,)), 1e-3, loose=9),
    Sample(X, [4], error=True),
    Sample(X, [5], A((4,)), error=True),
    Sample(M, [3], loose=9),
    Sample(A((2, 384)), [384], A((384,)), A((384,), seed=1), loose=30),
]
row(
    "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
    "The last dimensions brought to mean 0 and variance 1.",
    layer_norm_native,
    PURE,
    infer=rules.same,
    samples=_NORMS,
    **functional("layer_norm"),
)


@kernel
def group_norm_native(input: Tensor, num_groups: i64, weight: Any, bias: Any, eps: f64, cudnn_enabled: b1) -> Tensor:
    """Groups of channels brought to mean 0 and variance 1."""
    check(input.rank >= 2, "RuntimeError", "Expected at least 2 dimensions for input tensor but received {}", input.rank)
    check(
        num_groups > 0 and input.sizes[1] % maximum(num_groups, 1) == 0,
        "RuntimeError",
        "Expected number of channels in input to be divisible by num_groups, but got input of shape {} and num_groups={}",
        text(shape_text(input)),
        num_groups,
    )
    inner = 1
    for k in range(2, input.rank):
        inner = inner * input.sizes[k]
    return net.normalised(input, input.sizes[0] * num_groups, optional(weight), optional(bias), num_groups, maximum(inner, 1), eps)


row(
    "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor",
    "Groups of channels brought to mean 0 and variance 1.",
    group_norm_native,
    PURE,
    infer=rules.same,
    samples=[Sample(A((2, 6, 5)), 3, loose=30), Sample(A((2, 6, 5)), 2, A((6,)), A((6,), seed=1), loose=30), Sample(A((2, 6)), 4, error=True)],
    **functional("group_norm"),
)


@kernel
def batch_norm_native(input: Tensor, running_mean: Any, running_var: Any, weight: Any, bias: Any, training: b1, momentum: f64, eps: f64) -> Tensor:
    """Channels brought to mean 0 and variance 1, by running statistics or by those of the batch."""
    return batch_norm(input, optional(running_mean), optional(running_var), optional(weight), optional(bias), i64(training), momentum, eps)


@kernel
def per_channel(t: Tensor, rank: i64) -> Tensor:
    """A vector with one element a channel, shaped to broadcast; owned."""
    sizes = local(i64, MAX_RANK)
    for k in range(rank):
        sizes[k] = 1
    sizes[1] = t.numel
    return views.view(t, rank, sizes)


@kernel
def moved_on(running: Tensor, fresh: Tensor, momentum: f64, factor: f64) -> None:
    """running = (1 - momentum) * running + momentum * factor * fresh."""
    if running != null(Tensor):
        slot, room = local(TensorImpl, 1), local(f64, 1)
        kept = drivers.binary_into(point.MUL, SAME, running, number(slot, cast(ptr[u8], room), 1.0 - momentum))
        release(kept)
        part = drivers.binary(point.MUL, SAME, fresh, number(slot, cast(ptr[u8], room), momentum * factor))
        kept = drivers.binary_into(point.ADD, SAME, running, part)
        release(kept)
        release(part)


@kernel(extern=True)
def batch_norm(input: Tensor, mean: Tensor, var: Tensor, weight: Tensor, bias: Tensor, training: i64, momentum: f64, eps: f64) -> Tensor:
    """`batch_norm_native`."""
    check(input.rank >= 2, "RuntimeError", "batch_norm: expected at least 2 dimensions, got {}", input.rank)
    middle, spread = mean, var
    if training != 0:
        mask = all_dims(input) & ~2
        middle = reductions.mean_in(input, mask, 0, input.dtype)
        spread = statistics.variance(input, mask, 0, 0.0)
        count = f64(r.count_of(input, mask))
        moved_on(mean, middle, momentum, 1.0)
        moved_on(var, spread, momentum, count / (count - 1.0) if count > 1.0 else 1.0)
    else:
        check(mean != null(Tensor) and var != null(Tensor), "RuntimeError", "running_mean and running_var must be defined in evaluation mode")
        retain(middle)
        retain(spread)
    slot, room = local(TensorImpl, 1), local(f64, 1)
    wide = drivers.binary(point.ADD, SAME, spread, number(slot, cast(ptr[u8], room), eps))
    factor = drivers.unary(elementary.TABLES["rsqrt"], SAME, wide)
    release(wide)
    release(spread)
    if weight != null(Tensor):
        same = drivers.binary_into(point.MUL, SAME, factor, weight)
        release(same)
    shifted = per_channel(middle, input.rank)
    result = drivers.binary(point.SUB, SAME, input, shifted)
    release(shifted)
    release(middle)
    shifted = per_channel(factor, input.rank)
    same = drivers.binary_into(point.MUL, SAME, result, shifted)
    release(same)
    release(shifted)
    release(factor)
    if bias != null(Tensor):
        shifted = per_channel(bias, input.rank)
        same = drivers.binary_into(point.ADD, SAME, result, shifted)
        release(same)
        release(shifted)
    return result


row(
    "batch_norm(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, Tensor? bias=None, bool training=False, float momentum=0.1, float eps=1e-05) -> Tensor",
    "Channels brought to mean 0 and variance 1.",
    batch_norm_native,
    infer=rules.same,
    samples=[
        Sample(B, A((3,)), A((3,), low=1), loose=9),
        Sample(B, A((3,)), A((3,), low=1), A((3,), seed=1), A((3,), seed=2), loose=9),
        Sample(B, A((3,)), A((3,), low=1), None, None, True, loose=30),
        Sample(A((4, 3)), A((3,)), A((3,), low=1), loose=9),
    ],
    **functional("batch_norm"),
)
