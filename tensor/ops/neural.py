"""Rows of neural networks: softmax, normalisation, convolution, pooling, recurrent cells, losses, attention."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import b1, cast, check, f64, get, has, i64, kernel, local, maximum, minimum, null, ptr, sqrt, text, u8
from jitlang.registry import PURE, RANDOM
from jitlang.tensor.kernels import creation as make
from jitlang.tensor.kernels import indexing as by
from jitlang.tensor.kernels import joining as join
from jitlang.tensor.kernels import matrix as mat
from jitlang.tensor.kernels import neural as net
from jitlang.tensor.kernels import pointwise as loops
from jitlang.tensor.kernels import random, views
from jitlang.tensor.kernels import reduction as r
from jitlang.tensor.kernels.convolution import Window, convolve
from jitlang.tensor.kernels.creation import Ints, Tensor
from jitlang.tensor.kernels.neural import pair_at
from jitlang.tensor.kernels.reduction import all_dims
from jitlang.tensor.kernels.scalars import number
from jitlang.tensor.kernels.tensors import drop_ints, empty, int_at, new_ints, release, retain, shape_text, tensor_at
from jitlang.tensor.layout import BOOL, FLOAT32, INT64, MAX_RANK, TensorImpl
from jitlang.tensor.ops import elementary, reductions, rules
from jitlang.tensor.ops import pointwise as point
from jitlang.tensor.ops.families import row
from jitlang.tensor.ops.samples import A, D, Sample
from jitlang.tensor.promotion import RESULT_BOOL, SAME, is_float
from jitlang.types import TensorType, dtype_coded

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
        x = loops.cast_tensor(self, FLOAT32)
    else:
        retain(x)
    r.refuse_empty(x, mask, "logsumexp")
    result = log_of_sum(x, mask, i64(keepdim))
    release(x)
    return result


@kernel(extern=True)
def log_of_sum(x: Tensor, mask: i64, keepdim: i64) -> Tensor:
    """log(sum(exp(x))) with the largest element taken out; an infinite one is left in."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    top = r.reduce(reductions.MAX, x, mask, 1, x.dtype)
    finite = loops.unary(point.ISFINITE, RESULT_BOOL, top)
    operands = local(Tensor, 3)
    operands[0] = finite
    operands[1] = top
    operands[2] = number(slot, cast(ptr[u8], room), 0.0)
    shift = loops.several(elementary.WHERE, x.dtype, x.dtype, 1, 3, operands)
    release(finite)
    release(top)
    moved = loops.binary(point.SUB, SAME, x, shift)
    powers = loops.unary(elementary.TABLES["exp"], SAME, moved)
    release(moved)
    total = r.reduce(reductions.SUM, powers, mask, keepdim, x.dtype)
    release(powers)
    result = loops.unary(elementary.TABLES["log"], SAME, total)
    release(total)
    flat = views.reshape(shift, result.rank, result.sizes)
    same = loops.binary_into(point.ADD, SAME, result, flat)
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
        kept = loops.binary_into(point.MUL, SAME, running, number(slot, cast(ptr[u8], room), 1.0 - momentum))
        release(kept)
        part = loops.binary(point.MUL, SAME, fresh, number(slot, cast(ptr[u8], room), momentum * factor))
        kept = loops.binary_into(point.ADD, SAME, running, part)
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
        spread = reductions.variance(input, mask, 0, 0.0)
        count = f64(r.count_of(input, mask))
        moved_on(mean, middle, momentum, 1.0)
        moved_on(var, spread, momentum, count / (count - 1.0) if count > 1.0 else 1.0)
    else:
        check(mean != null(Tensor) and var != null(Tensor), "RuntimeError", "running_mean and running_var must be defined in evaluation mode")
        retain(middle)
        retain(spread)
    slot, room = local(TensorImpl, 1), local(f64, 1)
    wide = loops.binary(point.ADD, SAME, spread, number(slot, cast(ptr[u8], room), eps))
    factor = loops.unary(elementary.TABLES["rsqrt"], SAME, wide)
    release(wide)
    release(spread)
    if weight != null(Tensor):
        same = loops.binary_into(point.MUL, SAME, factor, weight)
        release(same)
    shifted = per_channel(middle, input.rank)
    result = loops.binary(point.SUB, SAME, input, shifted)
    release(shifted)
    release(middle)
    shifted = per_channel(factor, input.rank)
    same = loops.binary_into(point.MUL, SAME, result, shifted)
    release(same)
    release(shifted)
    release(factor)
    if bias != null(Tensor):
        shifted = per_channel(bias, input.rank)
        same = loops.binary_into(point.ADD, SAME, result, shifted)
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


# ---- convolution --------------------------------------------------------------------------------------------------


@kernel
def set_window(w: ptr[Window], weight: Tensor, stride: Ints, padding: Ints, dilation: Ints, dims: i64) -> None:
    """The window of a convolution in one or two dimensions."""
    last = dims - 1
    w.height = weight.sizes[2] if dims == 2 else 1
    w.width = weight.sizes[dims + 1]
    w.stride_h = pair_at(stride, 0) if dims == 2 else 1
    w.stride_w = pair_at(stride, last)
    w.pad_h = pair_at(padding, 0) if dims == 2 else 0
    w.pad_w = pair_at(padding, last)
    w.dilation_h = pair_at(dilation, 0) if dims == 2 else 1
    w.dilation_w = pair_at(dilation, last)


@kernel(extern=True)
def convolution(input: Tensor, weight: Tensor, bias: Tensor, w: ptr[Window], groups: i64, dims: i64) -> Tensor:
    """A convolution in one or two dimensions, of a batch or of one image."""
    check(weight.rank == dims + 2, "RuntimeError", "weight should have {} dimensions, got {}", dims + 2, weight.rank)
    check(
        input.rank == dims + 2 or input.rank == dims + 1,
        "RuntimeError",
        "Expected {}D (unbatched) or {}D (batched) input to conv, but got input of size: {}",
        dims + 1,
        dims + 2,
        text(shape_text(input)),
    )
    x = input
    if input.rank == dims + 1:
        x = views.unsqueeze(input, 0)
    else:
        retain(x)
    if not fits_together(x, weight, groups):
        release(x)
        x = input
    net.check_convolution(x, weight, bias, w, groups, dims)
    f = weight
    retain(f)
    if dims == 1:
        x, f = taller(x), taller(f)
    made = convolve(x, f, bias, w, groups)
    release(x)
    release(f)
    if dims == 1:
        made = mat.squeezed(made, 2)
    if input.rank == dims + 1:
        made = mat.squeezed(made, 0)
    return made


@kernel
def fits_together(x: Tensor, weight: Tensor, groups: i64) -> b1:
    """Whether nothing that `check_convolution` looks at with a batch of one would be refused for its channels."""
    return x.rank >= 3 and groups > 0 and x.dtype == weight.dtype


@kernel
def taller(t: Tensor) -> Tensor:
    """With a height of 1; takes over the reference."""
    made = views.unsqueeze(t, 2)
    release(t)
    return made


def _convolution(dims: int) -> None:
    @kernel
    def native(input: Tensor, weight: Tensor, bias: Any, stride: Ints, padding: Ints, dilation: Ints, groups: i64) -> Tensor:
        check(weight.rank == dims + 2, "RuntimeError", "weight should have {} dimensions, got {}", dims + 2, weight.rank)
        w = local(Window, 1)
        set_window(w, weight, stride, padding, dilation, dims)
        return convolution(input, weight, optional(bias), w, groups, dims)

    @kernel
    def named(input: Tensor, weight: Tensor, bias: Any, stride: Ints, padding: Any, dilation: Ints, groups: i64) -> Tensor:
        check(weight.rank == dims + 2, "RuntimeError", "weight should have {} dimensions, got {}", dims + 2, weight.rank)
        w = local(Window, 1)
        set_window(w, weight, stride, dilation, dilation, dims)
        check(padding == "same" or padding == "valid", "RuntimeError", "Invalid padding string: '{}'", padding)
        if padding == "valid":
            w.pad_h, w.pad_w = 0, 0
            return convolution(input, weight, optional(bias), w, groups, dims)
        check(w.stride_h == 1 and w.stride_w == 1, "RuntimeError", "padding='same' is not supported for strided convolutions")
        return padded_same(input, weight, optional(bias), w, groups, dims)

    def infer(types: Any, _: Any) -> Any:
        return [TensorType(types[0].dtype, types[0].rank)]

    many = [
        Sample(A((2, 4, 9)), A((6, 4, 3), seed=1)),
        Sample(A((2, 4, 9)), A((6, 4, 3), seed=1), A((6,)), 2, 1),
        Sample(A((2, 4, 9)), A((6, 2, 3), seed=1), None, 1, 0, 2, 2),
        Sample(A((4, 9)), A((6, 4, 1), seed=1)),
        Sample(A((2, 3, 9)), A((6, 4, 3)), error=True),
        Sample(A((2, 4, 2)), A((6, 4, 3)), error=True),
        Sample(A((2, 4, 9), "float64"), A((6, 4, 1), "float64"), A((6,), "float64")),
    ]
    if dims == 2:
        many = [
            Sample(A((2, 4, 6, 7)), A((6, 4, 3, 3), seed=1)),
            Sample(A((2, 4, 6, 7)), A((6, 4, 3, 2), seed=1), A((6,)), [2, 1], [1, 0]),
            Sample(A((2, 4, 6, 7)), A((6, 2, 3, 3), seed=1), None, 1, 1, [1, 2], 2),
            Sample(A((4, 6, 7)), A((6, 4, 1, 1), seed=1)),
            Sample(A((2, 4, 6, 7)), A((4, 1, 3, 3), seed=1), None, 1, 1, 1, 4),
            Sample(A((2, 3, 6, 7)), A((6, 4, 3, 3)), error=True),
        ]
    for s in many:
        s.loose = 30
    same = [Sample(s.args[0], s.args[1], None, 1, p, loose=30) for s in many[:1] for p in ("same", "valid")]
    lists = f"int[{dims}] stride=1, int[{dims}] padding=0, int[{dims}] dilation=1, int groups=1"
    row(
        f"conv{dims}d(Tensor input, Tensor weight, Tensor? bias=None, {lists}) -> Tensor",
        f"A convolution in {dims} dimension{'s' if dims > 1 else ''}.",
        native,
        PURE,
        infer=infer,
        samples=many,
        **_FUNCTION,
    )
    strings = f"int[{dims}] stride=1, str padding='valid', int[{dims}] dilation=1, int groups=1"
    row(
        f"conv{dims}d.padding(Tensor input, Tensor weight, Tensor? bias=None, {strings}) -> Tensor",
        "A convolution with its padding by name.",
        named,
        PURE,
        infer=infer,
        samples=same,
        **_FUNCTION,
    )


@kernel(extern=True)
def padded_same(input: Tensor, weight: Tensor, bias: Tensor, w: ptr[Window], groups: i64, dims: i64) -> Tensor:
    """A convolution whose result has the input's size; where the padding is uneven, the end gets more."""
    total_h, total_w = w.dilation_h * (w.height - 1), w.dilation_w * (w.width - 1)
    w.pad_h, w.pad_w = total_h // 2, total_w // 2
    if total_h % 2 == 0 and total_w % 2 == 0:
        return convolution(input, weight, bias, w, groups, dims)
    widths = new_ints(4)
    numbers = cast(ptr[i64], widths.data)
    numbers[1] = total_w % 2
    numbers[3] = total_h % 2
    if dims == 1:
        widths.length = 2
    slot, room = local(TensorImpl, 1), local(f64, 1)
    wider = join.pad_constant(input, widths, number(slot, cast(ptr[u8], room), 0.0))
    drop_ints(widths)
    result = convolution(wider, weight, bias, w, groups, dims)
    release(wider)
    return result


_convolution(1)
_convolution(2)


# ---- pooling ------------------------------------------------------------------------------------------------------


@kernel
def pool_window(w: ptr[Window], kernel_size: Ints, stride: Ints, padding: Ints, dilation: Any) -> None:
    """The window of a pooling; no stride stands for the window's size."""
    w.height, w.width = pair_at(kernel_size, 0), pair_at(kernel_size, 1)
    w.stride_h, w.stride_w = w.height, w.width
    if stride.length > 0:
        w.stride_h, w.stride_w = pair_at(stride, 0), pair_at(stride, 1)
    w.pad_h, w.pad_w = pair_at(padding, 0), pair_at(padding, 1)
    w.dilation_h, w.dilation_w = 1, 1
    if has(dilation):
        w.dilation_h, w.dilation_w = pair_at(get(dilation), 0), pair_at(get(dilation), 1)


@kernel
def max_pool_native(self: Tensor, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: b1) -> Tensor:
    """The largest element of each place of a window."""
    w, places = local(Window, 1), local(Tensor, 1)
    pool_window(w, kernel_size, stride, padding, dilation)
    result = net.pool(net.MAX_POOL.table, self, w, i64(ceil_mode), places, 0, 0)
    release(places[0])
    return result


@kernel
def max_pool_places(self: Tensor, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: b1) -> Any:
    """The largest element of each place of a window, and its place."""
    w, places = local(Window, 1), local(Tensor, 1)
    pool_window(w, kernel_size, stride, padding, dilation)
    result = net.pool(net.MAX_POOL.table, self, w, i64(ceil_mode), places, 0, 0)
    return result, places[0]


@kernel
def avg_pool_native(self: Tensor, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: b1, count_include_pad: b1, divisor_override: Any) -> Tensor:
    """The mean of each place of a window."""
    w, places = local(Window, 1), local(Tensor, 1)
    pool_window(w, kernel_size, stride, padding, None)
    divisor = 0
    if has(divisor_override):
        divisor = get(divisor_override)
    result = net.pool(net.AVG_POOL.table, self, w, i64(ceil_mode), places, divisor, i64(count_include_pad))
    release(places[0])
    return result


@kernel
def adaptive_native(self: Tensor, output_size: Ints) -> Tensor:
    """Means of cells that divide each plane."""
    return net.adaptive_pool(self, pair_at(output_size, 0), pair_at(output_size, 1))


I4 = A((2, 3, 6, 7))
row(
    "max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor",
    "The largest element of each place of a window.",
    max_pool_native,
    PURE,
    infer=rules.same,
    samples=[
        Sample(I4, 2),
        Sample(I4, [3, 2], 2, 1),
        Sample(I4, 3, 2, 0, 1, True),
        Sample(A((3, 6, 7)), 2),
        Sample(I4, 3, 1, 1, 2),
        Sample(I4, 2, 1, 2, error=True),
    ],
    **functional("max_pool2d"),
)
row(
    "max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
    "The largest element of each place of a window, and its place.",
    max_pool_places,
    PURE,
    infer=lambda types, _: [TensorType(types[0].dtype, types[0].rank), TensorType(None, types[0].rank)],
    samples=[Sample(I4, 2), Sample(I4, 3, 2, 1)],
    **_FUNCTION,
    extra={"oracle": lambda *a: __import__("torch").ops.aten.max_pool2d_with_indices(a[0], *[[v, v] if isinstance(v, int) else v for v in a[1:]])},
)
row(
    "avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
    "The mean of each place of a window.",
    avg_pool_native,
    PURE,
    infer=rules.same,
    samples=[
        Sample(I4, 2, loose=9),
        Sample(I4, [3, 2], 2, 1, loose=9),
        Sample(I4, 3, 2, 1, False, False, loose=9),
        Sample(I4, 2, 2, 0, True, loose=9),
        Sample(I4, 2, divisor_override=3, loose=9),
    ],
    **functional("avg_pool2d"),
)
row(
    "adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor",
    "Means of cells that divide each plane.",
    adaptive_native,
    PURE,
    infer=rules.same,
    samples=[Sample(I4, 1, loose=9), Sample(I4, [3, 4], loose=9), Sample(A((3, 6, 7)), 2, loose=9)],
    **functional("adaptive_avg_pool2d"),
)


# ---- recurrent cells --------------------------------------------------------------------------------------------------


@kernel
def lstm_native(input: Tensor, hx: Ints, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any) -> Any:
    """One step of a long short-term memory: the next hidden state and cell."""
    check(hx.length == 2, "RuntimeError", "lstm_cell expects two hidden states")
    memory = local(Tensor, 1)
    hidden = lstm(input, tensor_at(hx, 0), tensor_at(hx, 1), w_ih, w_hh, optional(b_ih), optional(b_hh), memory)
    return hidden, memory[0]


@kernel(extern=True)
def lstm(input: Tensor, hidden: Tensor, cell: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor, memory: ptr[Tensor]) -> Tensor:
    """`lstm_native`; stores the next cell to `memory`."""
    last = hidden.sizes[hidden.rank - 1] if hidden.rank > 0 else 0
    fits = input.rank >= 1 and hidden.rank == input.rank and cell.rank == hidden.rank and w_ih.rank == 2 and w_hh.rank == 2
    if fits:
        fits = input.sizes[input.rank - 1] == w_ih.sizes[1] and last == w_hh.sizes[1] and w_ih.sizes[0] == 4 * last and w_hh.sizes[0] == 4 * last
        for k in range(input.rank - 1):
            fits = fits and input.sizes[k] == hidden.sizes[k]
        for k in range(hidden.rank):
            fits = fits and cell.sizes[k] == hidden.sizes[k]
    check(
        fits,
        "RuntimeError",
        "lstm_cell: input of size {} does not fit hidden states of size {} and weights of size {}",
        text(shape_text(input)),
        text(shape_text(hidden)),
        text(shape_text(w_ih)),
    )
    check(
        input.dtype == hidden.dtype and input.dtype == cell.dtype and input.dtype == w_ih.dtype and input.dtype == w_hh.dtype,
        "RuntimeError",
        "lstm_cell: all tensors must have one dtype",
    )
    gates = with_bias(input, w_ih, b_ih)
    more = with_bias(hidden, w_hh, b_hh)
    same = loops.binary_into(point.ADD, SAME, gates, more)
    release(same)
    release(more)
    made = net.lstm_step(gates, cell, memory)
    release(gates)
    return made


@kernel
def with_bias(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """`linear` with an optional bias."""
    if bias != null(Tensor):
        return mat.linear(x, weight, bias, 1)
    return mat.linear(x, weight, weight, 0)


_LSTM = (A((2, 3)), [A((2, 4)), A((2, 4), seed=1)], A((16, 3)), A((16, 4), seed=2))
row(
    "lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)",
    "One step of a long short-term memory.",
    lstm_native,
    PURE,
    infer=lambda types, _: [TensorType(types[0].dtype, types[0].rank)] * 2,
    samples=[Sample(*_LSTM, loose=30), Sample(*_LSTM, A((16,)), A((16,), seed=1), loose=30), Sample(A((2, 5)), *_LSTM[1:], error=True)],
    **_FUNCTION,
)


# ---- attention ----------------------------------------------------------------------------------------------------


@kernel
def attention_native(query: Tensor, key: Tensor, value: Tensor, attn_mask: Any, dropout_p: f64, is_causal: b1, scale: Any) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value."""
    factor = 0.0
    if has(scale):
        factor = get(scale)
    elif query.rank > 0:
        factor = 1.0 / sqrt(f64(query.sizes[query.rank - 1]))
    check(dropout_p == 0.0, "RuntimeError", "scaled_dot_product_attention: dropout is not available")
    return attention(query, key, value, optional(attn_mask), i64(is_causal), factor)


@kernel(extern=True)
def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, causal: i64, scale: f64) -> Tensor:
    """`attention_native`."""
    check(
        query.rank >= 2 and key.rank >= 2 and value.rank >= 2,
        "RuntimeError",
        "scaled_dot_product_attention: expected at least 2 dimensions, but they are {}D, {}D and {}D",
        query.rank,
        key.rank,
        value.rank,
    )
    check(mask == null(Tensor) or causal == 0, "RuntimeError", "scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    slot, room = local(TensorImpl, 1), local(f64, 1)
    turned = views.transpose(key, -2, -1)
    scores = mat.matmul(query, turned)
    release(turned)
    same = loops.binary_into(point.MUL, SAME, scores, number(slot, cast(ptr[u8], room), scale))
    release(same)
    if causal != 0:
        sizes = local(i64, 2)
        sizes[0], sizes[1] = scores.sizes[scores.rank - 2], scores.sizes[scores.rank - 1]
        ones = make.filled(empty(2, sizes, BOOL), True)
        make.zero_triangle(ones, 0, 0)
        scores = masked_scores(scores, ones)
        release(ones)
    elif mask != null(Tensor):
        if mask.dtype == BOOL:
            scores = masked_scores(scores, mask)
        else:
            sum_ = loops.binary(point.ADD, SAME, scores, mask)
            release(scores)
            scores = sum_
    weights = net.rowwise(net.SOFTMAX.table, scores, -1)
    release(scores)
    result = mat.matmul(weights, value)
    release(weights)
    return result


@kernel
def masked_scores(scores: Tensor, mask: Tensor) -> Tensor:
    """Scores with -inf where the mask does not hold; takes over the reference."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    operands = local(Tensor, 3)
    operands[0] = mask
    operands[1] = scores
    operands[2] = number(slot, cast(ptr[u8], room), -float("inf"))
    made = loops.several(elementary.WHERE, scores.dtype, scores.dtype, 1, 3, operands)
    release(scores)
    return made


_Q, _K, _V = A((2, 3, 5, 8)), A((2, 3, 6, 8), seed=1), A((2, 3, 6, 8), seed=2)
row(
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None) -> Tensor",
    "softmax(query @ key.T * scale + mask) @ value.",
    attention_native,
    PURE,
    infer=rules.same,
    samples=[
        Sample(_Q, _K, _V, loose=30),
        Sample(_Q, _K, _V, A((5, 6)), loose=30),
        Sample(_Q, _K, _V, scale=0.5, loose=30),
        Sample(_Q, _Q, _Q, None, 0.0, True, loose=30),
    ],
    variants=("function",),
    extra={"oracle": "nn.functional.scaled_dot_product_attention", "strides": False},
)


# ---- losses -------------------------------------------------------------------------------------------------------


@kernel
def reduced_loss(t: Tensor, reduction: i64) -> Tensor:
    """A loss as it is, its mean, or its sum; takes over the reference."""
    if reduction == MEAN:
        made = reductions.mean_in(t, all_dims(t), 0, t.dtype)
        release(t)
        return made
    if reduction == TOTAL:
        made = r.reduce(reductions.SUM, t, all_dims(t), 0, t.dtype)
        release(t)
        return made
    return t


@kernel
def mse_native(self: Tensor, target: Tensor, reduction: i64) -> Tensor:
    """Squared differences."""
    gap = loops.binary(point.SUB, SAME, self, target)
    squares = loops.binary(point.MUL, SAME, gap, gap)
    release(gap)
    return reduced_loss(squares, reduction)


@kernel
def l1_native(self: Tensor, target: Tensor, reduction: i64) -> Tensor:
    """Absolute differences."""
    gap = loops.binary(point.SUB, SAME, self, target)
    sizes = loops.unary(point.ABS, SAME, gap)
    release(gap)
    return reduced_loss(sizes, reduction)


@kernel
def bce_logits_native(self: Tensor, target: Tensor, weight: Any, pos_weight: Any, reduction: i64) -> Tensor:
    """Binary cross entropy of sigmoid(self)."""
    check(not has(weight) and not has(pos_weight), "RuntimeError", "binary_cross_entropy_with_logits: weights are not available")
    slot, room = local(TensorImpl, 1), local(f64, 1)
    # (1 - target) * self - log_sigmoid(self)
    one = number(slot, cast(ptr[u8], room), 1.0)
    rest = loops.binary(point.SUB, SAME, one, target)
    part = loops.binary(point.MUL, SAME, rest, self)
    release(rest)
    logarithm = loops.unary(elementary.LOG_SIGMOID, SAME, self)
    made = loops.binary(point.SUB, SAME, part, logarithm)
    release(logarithm)
    release(part)
    return reduced_loss(made, reduction)


@kernel(extern=True)
def nll(self: Tensor, target: Tensor, ignore: i64, reduction: i64) -> Tensor:
    """The negative of the element that each target names, along dimension 1 (or 0 of a vector)."""
    check(target.dtype == INT64, "RuntimeError", "expected scalar type Long for the target")
    d = 1 if self.rank > 1 else 0
    check(self.rank > 0 and target.rank == self.rank - 1, "RuntimeError", "nll_loss: expected a target of {} dimensions, got {}", self.rank - 1, target.rank)
    for k in range(target.rank):
        check(
            target.sizes[k] == self.sizes[k if k < d else k + 1],
            "RuntimeError",
            "size mismatch (got input: {}, target: {})",
            text(shape_text(self)),
            text(shape_text(target)),
        )
    net.check_targets(target, self.sizes[d], ignore)
    slots, room = local(TensorImpl, 2), local(f64, 2)
    zero, skipped = number(slots, cast(ptr[u8], room), 0.0), number(slots + 1, cast(ptr[u8], room + 1), ignore)
    kept = loops.binary(point.NE, RESULT_BOOL, target, skipped)
    operands = local(Tensor, 3)
    operands[0], operands[1], operands[2] = kept, target, zero
    places = loops.several(elementary.WHERE, INT64, INT64, 1, 3, operands)
    line = views.unsqueeze(places, d)
    release(places)
    picked = by.gather_dim(self, d, line)
    release(line)
    flat = mat.squeezed(picked, d)
    negative = loops.unary(point.NEG, SAME, flat)
    release(flat)
    operands[0], operands[1], operands[2] = kept, negative, zero
    losses = loops.several(elementary.WHERE, self.dtype, self.dtype, 1, 3, operands)
    release(negative)
    if reduction == MEAN:
        count = r.reduce(reductions.COUNT, kept, all_dims(kept), 0, INT64)
        total = r.reduce(reductions.SUM, losses, all_dims(losses), 0, self.dtype)
        release(losses)
        losses = loops.binary(point.DIV, SAME, total, count)
        release(total)
        release(count)
    elif reduction == TOTAL:
        total = r.reduce(reductions.SUM, losses, all_dims(losses), 0, self.dtype)
        release(losses)
        losses = total
    release(kept)
    return losses


@kernel
def nll_native(self: Tensor, target: Tensor, weight: Any, reduction: i64, ignore_index: i64) -> Tensor:
    """The negative of the element that each target names."""
    check(not has(weight), "RuntimeError", "nll_loss: weights are not available")
    return nll(self, target, ignore_index, reduction)


@kernel
def cross_entropy_native(self: Tensor, target: Tensor, weight: Any, reduction: i64, ignore_index: i64, label_smoothing: f64) -> Tensor:
    """The negative log-probability of the class that each target names."""
    check(not has(weight) and label_smoothing == 0.0, "RuntimeError", "cross_entropy: weights and label smoothing are not available")
    check(target.dtype == INT64, "RuntimeError", "cross_entropy: expected class numbers (int64) as target")
    logarithms = net.rowwise(net.LOG_SOFTMAX.table, self, 1 if self.rank > 1 else 0)
    if not targets_fit(self, target, ignore_index):
        release(logarithms)
        return nll(self, target, ignore_index, reduction)
    made = nll(logarithms, target, ignore_index, reduction)
    release(logarithms)
    return made


@kernel(extern=True)
def targets_fit(self: Tensor, target: Tensor, ignore: i64) -> b1:
    """Whether `nll` will raise nothing."""
    d = 1 if self.rank > 1 else 0
    fits = target.rank == self.rank - 1
    if fits:
        for k in range(target.rank):
            fits = fits and target.sizes[k] == self.sizes[k if k < d else k + 1]
        dense = views.contiguous(target)
        items = cast(ptr[i64], dense.data)
        for i in range(dense.numel):
            fits = fits and (items[i] == ignore or (items[i] >= 0 and items[i] < self.sizes[d]))
        release(dense)
    return fits


def _loss_rule(reduction_at: int) -> Any:
    def infer(types: Any, constants: Any) -> Any:
        reduction = constants[reduction_at]
        return [TensorType(types[0].dtype, 0 if reduction in (MEAN, TOTAL) else None)]

    return infer


def _loss(name: str) -> Any:
    names = {0: "none", 1: "mean", 2: "sum"}

    def oracle(input: Any, target: Any, *rest: Any, reduction: int = 1, **more: Any) -> Any:
        import torch

        return getattr(torch.nn.functional, name)(input, target, reduction=names[rest[-1] if rest else reduction], **more)

    return {"extra": {"oracle": oracle}, "variants": ("function",)}


_T, _C = A((3,), "int64", 0, 4), A((3, 5), seed=1)
_LOSSES = [Sample(X, _C, k, loose=9) for k in (0, 1, 2)]
row(
    "mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    "Squared differences.",
    mse_native,
    PURE,
    infer=_loss_rule(2),
    samples=_LOSSES,
    **_loss("mse_loss"),
)
row(
    "l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    "Absolute differences.",
    l1_native,
    PURE,
    infer=_loss_rule(2),
    samples=_LOSSES,
    **_loss("l1_loss"),
)
row(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor",
    "Binary cross entropy of sigmoid(self).",
    bce_logits_native,
    PURE,
    infer=_loss_rule(4),
    samples=[Sample(X, A((3, 5), low=0, high=1), reduction=k, loose=9) for k in (0, 1, 2)],
    **_loss("binary_cross_entropy_with_logits"),
)
row(
    "nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) -> Tensor",
    "The negative of the element that each target names.",
    nll_native,
    PURE,
    infer=_loss_rule(3),
    samples=[Sample(X, _T, reduction=k, loose=9) for k in (0, 1, 2)]
    + [
        Sample(X, A((3,), "int64", 5, 9), error=True),
        Sample(A((2, 5, 3)), A((2, 3), "int64", 0, 4), loose=9),
        Sample(X, A((3,), "int64", 0, 2), ignore_index=1, loose=9),
    ],
    **_loss("nll_loss"),
)
row(
    "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, float label_smoothing=0.0) -> Tensor",
    "The negative log-probability of the class that each target names.",
    cross_entropy_native,
    PURE,
    infer=_loss_rule(3),
    samples=[Sample(X, _T, reduction=k, loose=9) for k in (0, 1, 2)]
    + [Sample(X, A((3,), "int64", 5, 9), error=True), Sample(A((5,)), A((), "int64", 0, 4), loose=9)],
    **_loss("cross_entropy"),
)


# ---- dropout and classes ----------------------------------------------------------------------------------------------


@kernel
def dropout_native(input: Tensor, p: f64, train: b1) -> Tensor:
    """Elements set to 0 with a probability, the others scaled up."""
    check(p >= 0.0 and p <= 1.0, "RuntimeError", "dropout probability has to be between 0 and 1, but got {}", p)
    if not train or p == 0.0:
        retain(input)
        return input
    return dropped(input, p)


@kernel(extern=True)
def dropped(input: Tensor, p: f64) -> Tensor:
    """`dropout_native` while training."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    mask = empty(input.rank, input.sizes, input.dtype)
    random.fill_bernoulli(mask, 1.0 - p)
    scale = 1.0 / (1.0 - p) if p < 1.0 else 0.0
    same = loops.binary_into(point.MUL, SAME, mask, number(slot, cast(ptr[u8], room), scale))
    release(same)
    result = loops.binary(point.MUL, SAME, input, mask)
    release(mask)
    return result


@kernel
def one_hot_native(self: Tensor, num_classes: i64) -> Tensor:
    """A 1 at the place that each class number names."""
    check(self.dtype == INT64, "RuntimeError", "one_hot is only applicable to index tensor of type LongTensor.")
    return one_hot(self, num_classes)


@kernel(extern=True)
def one_hot(self: Tensor, num_classes: i64) -> Tensor:
    """`one_hot_native`."""
    check(self.rank < MAX_RANK, "RuntimeError", "a tensor has at most 8 dimensions, not {}", self.rank + 1)
    check(self.numel > 0 or num_classes > 0, "RuntimeError", "Can not infer total number of classes from empty tensor.")
    dense = views.contiguous(self)
    items = cast(ptr[i64], dense.data)
    low, high = 0, -1
    for i in range(dense.numel):
        low, high = minimum(low, items[i]), maximum(high, items[i])
    if low < 0 or (num_classes >= 0 and high >= num_classes):
        release(dense)
        check(low >= 0, "RuntimeError", "Class values must be non-negative.")
        check(False, "RuntimeError", "Class values must be smaller than num_classes.")
    count = num_classes if num_classes >= 0 else high + 1
    sizes = local(i64, MAX_RANK)
    for k in range(self.rank):
        sizes[k] = self.sizes[k]
    sizes[self.rank] = count
    result = make.zeros(self.rank + 1, sizes, INT64)
    for i in range(dense.numel):
        cast(ptr[i64], result.data)[i * count + items[i]] = 1
    release(dense)
    return result


row(
    "dropout(Tensor input, float p, bool train) -> Tensor",
    "Elements set to 0 with a probability, the others scaled up.",
    dropout_native,
    RANDOM,
    infer=rules.same,
    samples=[Sample(X, 0.5, False), Sample(X, 0.0, True), Sample(X, 1.0, True), Sample(X, 1.5, True, error=True)],
    **_FUNCTION,
)
row(
    "one_hot(Tensor self, int num_classes=-1) -> Tensor",
    "A 1 at the place that each class number names.",
    one_hot_native,
    PURE,
    infer=lambda types, _: [TensorType(INT64_TYPE, None if types[0].rank is None else types[0].rank + 1)],
    samples=[Sample(_T), Sample(_T, 9), Sample(_T, 1, error=True), Sample(A((2,), "int64", -3, -1), error=True), Sample(X, error=True)],
    **functional("one_hot"),
)
