"""Rows of convolution and pooling."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import b1, cast, check, f64, get, has, i64, kernel, local, ptr, text, u8
from jitlang.registry import PURE
from jitlang.tensor.kernels import joining as join
from jitlang.tensor.kernels import matrix as mat
from jitlang.tensor.kernels import neural as net
from jitlang.tensor.kernels import views
from jitlang.tensor.kernels.convolution import Window, convolve
from jitlang.tensor.kernels.creation import Ints, Tensor
from jitlang.tensor.kernels.neural import pair_at
from jitlang.tensor.kernels.scalars import number
from jitlang.tensor.kernels.tensors import drop_ints, new_ints, release, retain, shape_text
from jitlang.tensor.layout import FLOAT32, INT64, TensorImpl
from jitlang.tensor.ops import rules
from jitlang.tensor.ops.families import row
from jitlang.tensor.ops.normalisation import optional
from jitlang.tensor.ops.samples import A, Sample
from jitlang.types import TensorType, dtype_coded

X, M, B = A((3, 5)), A((4, 3), layout="t"), A((2, 3, 8))
_FUNCTION: Any = {"variants": ("function",)}
MEAN, TOTAL = 1, 2
FLOAT32_TYPE, INT64_TYPE = dtype_coded(FLOAT32), dtype_coded(INT64)


def functional(name: str) -> Any:
    """A function whose PyTorch counterpart is in torch.nn.functional."""
    return {"extra": {"oracle": f"nn.functional.{name}"}, "variants": ("function",)}


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
