"""Kernels of neural networks: softmax, normalisation, convolution, pooling, recurrent cells, losses."""

from __future__ import annotations

from typing import Any

from jitlang.codegen.library.layout import List
from jitlang.frontend.kernel import (
    call_pointer,
    cast,
    check,
    f64,
    fail,
    i64,
    kernel,
    local,
    maximum,
    minimum,
    null,
    ptr,
    sizeof,
    sqrt,
    text,
    u8,
)
from jitlang.tensor.kernels.arithmetic import add
from jitlang.tensor.kernels.arithmetic import maximum as larger
from jitlang.tensor.kernels.convolution import Window
from jitlang.tensor.kernels.elementary import ELEMENTARY
from jitlang.tensor.kernels.parallel import leave_python_for
from jitlang.tensor.kernels.pointwise import copy_into, dtype_text
from jitlang.tensor.kernels.reduction import as_is, row, squared
from jitlang.tensor.kernels.tensors import empty, int_at, release, shape_text
from jitlang.tensor.kernels.views import contiguous, transpose, view, wrapped_dim
from jitlang.tensor.layout import INT64, MAX_RANK, LoopTable, TensorImpl
from jitlang.tensor.loops import Loop, loop_of, static
from jitlang.tensor.promotion import is_float
from jitlang.types import VOID, machine_type

Tensor = ptr[TensorImpl]
INFINITY = float("inf")


# ---- softmax ------------------------------------------------------------------------------------------------------


@kernel
def softmax_loop(T: Any, logarithm: Any, rows: i64, n: i64, x: ptr[u8], out: ptr[u8]) -> None:
    """Softmax, or its logarithm, of dense rows."""
    for r in range(rows):
        p, q = cast(ptr[T], x) + r * n, cast(ptr[T], out) + r * n
        top = row(larger, as_is, -INFINITY, T, T, n, cast(ptr[u8], p), sizeof(T))
        for i in range(n):
            q[i] = ELEMENTARY["exp"](p[i] - top)
        total = row(add, as_is, 0, T, T, n, cast(ptr[u8], q), sizeof(T))
        if logarithm:
            shift = ELEMENTARY["log"](total)
            for i in range(n):
                q[i] = (p[i] - top) - shift
        else:
            for i in range(n):
                q[i] = q[i] / total


_ROWS = (i64, i64, ptr[u8], ptr[u8])
SOFTMAX = Loop("softmax", lambda d: softmax_loop.instance(static(machine_type(d)), static(False), *_ROWS) if d.kind == "f" else None)
LOG_SOFTMAX = Loop("log_softmax", lambda d: softmax_loop.instance(static(machine_type(d)), static(True), *_ROWS) if d.kind == "f" else None)


@kernel(extern=True)
def rowwise(table: ptr[LoopTable], self: Tensor, dim: i64) -> Tensor:
    """A row-major tensor: a loop over the rows along `dim`."""
    loop = loop_of(table, self.dtype)
    d = wrapped_dim(dim, self.rank)
    result = empty(self.rank, self.sizes, self.dtype)
    if self.numel == 0:
        return result
    n = self.sizes[d] if self.rank > 0 else 1
    if self.rank == 0 or d == self.rank - 1:
        dense = contiguous(self)
        leave_python_for(self.numel)
        call_pointer(VOID, loop, self.numel // n, n, dense.data, result.data)
        release(dense)
        return result
    turned = transpose(self, d, self.rank - 1)
    dense = contiguous(turned)
    release(turned)
    made = empty(dense.rank, dense.sizes, self.dtype)
    leave_python_for(self.numel)
    call_pointer(VOID, loop, self.numel // n, n, dense.data, made.data)
    release(dense)
    back = transpose(made, d, self.rank - 1)
    copy_into(result, back)
    release(back)
    release(made)
    return result


# ---- normalisation --------------------------------------------------------------------------------------------------


@kernel
def norm_loop(T: Any, rows: i64, n: i64, x: ptr[u8], out: ptr[u8], scale: ptr[u8], shift: ptr[u8], per: i64, repeat: i64, epsilon: f64) -> None:
    """Each dense row to mean 0 and variance 1, then scaled and shifted.

    Element i of row r takes factor ((r mod `per`) * n + i) // `repeat` if `per` > 0; factor i if `per` is 0. Null pointers scale by 1 and shift by 0.
    """
    for r in range(rows):
        p, q = cast(ptr[T], x) + r * n, cast(ptr[T], out) + r * n
        middle = row(add, as_is, 0, T, T, n, cast(ptr[u8], p), sizeof(T)) / T(n)
        for i in range(n):
            q[i] = p[i] - middle
        spread = row(add, squared, 0, T, T, n, cast(ptr[u8], q), sizeof(T)) / T(n)
        factor = T(1) / sqrt(spread + T(epsilon))
        for i in range(n):
            q[i] = q[i] * factor
        scaled(T, q, n, scale, shift, per, repeat, (r % maximum(per, 1)) * n)


@kernel
def scaled(T: Any, q: Any, n: i64, scale: ptr[u8], shift: ptr[u8], per: i64, repeat: i64, first: i64) -> None:
    """Scales and shifts one row."""
    a, b = cast(ptr[T], scale), cast(ptr[T], shift)
    has_scale, has_shift = scale != null(ptr[u8]), shift != null(ptr[u8])
    if per == 0:
        if has_scale:
            for i in range(n):
                q[i] = q[i] * a[i]
        if has_shift:
            for i in range(n):
                q[i] = q[i] + b[i]
        return
    for i in range(n):
        at = (first + i) // repeat
        if has_scale:
            q[i] = q[i] * a[at]
        if has_shift:
            q[i] = q[i] + b[at]


_NORM = (i64, i64, ptr[u8], ptr[u8], ptr[u8], ptr[u8], i64, i64, f64)
NORM = Loop("layer_norm", lambda d: norm_loop.instance(static(machine_type(d)), *_NORM) if d.kind == "f" else None)


@kernel
def data_of(t: Tensor) -> ptr[u8]:
    """The elements of an optional row-major tensor, or null."""
    return null(ptr[u8]) if t == null(Tensor) else t.data


@kernel
def optional_dense(t: Tensor) -> Tensor:
    """An optional tensor row-major and owned; null stays null."""
    if t == null(Tensor):
        return t
    return contiguous(t)


@kernel
def drop_optional(t: Tensor) -> None:
    """Frees an optional tensor."""
    if t != null(Tensor):
        release(t)


@kernel(extern=True)
def normalised(self: Tensor, rows: i64, scale: Tensor, shift: Tensor, per: i64, repeat: i64, epsilon: f64) -> Tensor:
    """Rows of equal length brought to mean 0 and variance 1, scaled and shifted (null: not)."""
    loop = loop_of(NORM.table, self.dtype)
    dense = contiguous(self)
    a, b = optional_dense(scale), optional_dense(shift)
    result = empty(self.rank, self.sizes, self.dtype)
    if self.numel > 0:
        leave_python_for(self.numel)
        call_pointer(VOID, loop, rows, self.numel // rows, dense.data, result.data, data_of(a), data_of(b), per, repeat, epsilon)
    drop_optional(b)
    drop_optional(a)
    release(dense)
    return result


# ---- convolution --------------------------------------------------------------------------------------------------


@kernel
def check_convolution(x: Tensor, weight: Tensor, bias: Tensor, w: ptr[Window], groups: i64, dims: i64) -> None:
    """Refuses what does not fit together; `x` and `weight` have `dims` + 2 dimensions."""
    check(
        x.dtype == weight.dtype,
        "RuntimeError",
        "Input type ({}) and weight type ({}) should be the same",
        text(dtype_text(x.dtype)),
        text(dtype_text(weight.dtype)),
    )
    check(is_float(x.dtype) == 1, "RuntimeError", "convolution not implemented for '{}'", text(dtype_text(x.dtype)))
    check(groups > 0, "RuntimeError", "non-positive groups is not supported")
    check(w.stride_h > 0 and w.stride_w > 0, "RuntimeError", "non-positive stride is not supported")
    check(w.pad_h >= 0 and w.pad_w >= 0, "RuntimeError", "negative padding is not supported")
    check(w.dilation_h > 0 and w.dilation_w > 0, "RuntimeError", "dilation should be greater than zero")
    if weight.sizes[0] % groups != 0 or x.sizes[1] != weight.sizes[1] * groups:
        fail(
            "RuntimeError",
            "Given groups={}, weight of size {}, expected input{} to have {} channels, but got {} channels instead",
            groups,
            text(shape_text(weight)),
            text(shape_text(x)),
            weight.sizes[1] * groups,
            x.sizes[1],
        )
    if bias != null(Tensor):
        if bias.rank != 1 or bias.sizes[0] != weight.sizes[0]:
            fail(
                "RuntimeError",
                "Given weight of size {}, expected bias to be 1-dimensional with {} elements, but got bias of size {} instead",
                text(shape_text(weight)),
                weight.sizes[0],
                text(shape_text(bias)),
            )
        check(bias.dtype == x.dtype, "RuntimeError", "Input type and bias type should be the same")
    tall = x.sizes[2] + 2 * w.pad_h if dims == 2 else 1
    wide = x.sizes[dims + 1] + 2 * w.pad_w
    need_h, need_w = w.dilation_h * (w.height - 1) + 1, w.dilation_w * (w.width - 1) + 1
    if (dims == 2 and need_h > tall) or need_w > wide:
        fail(
            "RuntimeError",
            "Calculated padded input size per channel: ({} x {}). Kernel size: ({} x {}). Kernel size can't be greater than actual input size",
            tall,
            wide,
            need_h,
            need_w,
        )


# ---- pooling ------------------------------------------------------------------------------------------------------


@kernel
def pool_loop(
    T: Any,
    largest: Any,
    planes: i64,
    rows: i64,
    columns: i64,
    x: ptr[u8],
    w: ptr[Window],
    out_h: i64,
    out_w: i64,
    out: ptr[u8],
    places: ptr[i64],
    divisor: i64,
    count_pad: i64,
) -> None:
    """The largest element (and its place), or the mean, of each place of a window over dense planes."""
    for plane in range(planes):
        p, q = cast(ptr[T], x) + plane * rows * columns, cast(ptr[T], out) + plane * out_h * out_w
        for i in range(out_h):
            for j in range(out_w):
                top, left = i * w.stride_h - w.pad_h, j * w.stride_w - w.pad_w
                bottom, right = (
                    minimum(top + (w.height - 1) * w.dilation_h + 1, rows + w.pad_h),
                    minimum(left + (w.width - 1) * w.dilation_w + 1, columns + w.pad_w),
                )
                best, total, where = T(-INFINITY), T(0), -1
                covered = (bottom - top) * (right - left)
                seen = 0
                for u in range(w.height):
                    a = top + u * w.dilation_h
                    if a >= 0 and a < rows:
                        for v in range(w.width):
                            b = left + v * w.dilation_w
                            if b >= 0 and b < columns:
                                value = p[a * columns + b]
                                seen += 1
                                total = total + value
                                if value > best or value != value or where < 0:
                                    best = value
                                    where = a * columns + b
                if largest:
                    q[i * out_w + j] = best
                    places[plane * out_h * out_w + i * out_w + j] = where
                else:
                    count = divisor if divisor != 0 else (covered if count_pad != 0 else seen)
                    q[i * out_w + j] = total / T(count)


_POOL = (i64, i64, i64, ptr[u8], ptr[Window], i64, i64, ptr[u8], ptr[i64], i64, i64)
MAX_POOL = Loop("max_pool2d", lambda d: pool_loop.instance(static(machine_type(d)), static(True), *_POOL) if d.kind == "f" else None)
AVG_POOL = Loop("avg_pool2d", lambda d: pool_loop.instance(static(machine_type(d)), static(False), *_POOL) if d.kind == "f" else None)


@kernel
def pooled_size(size: i64, kernel_size: i64, stride: i64, pad: i64, dilation: i64, ceil_mode: i64) -> i64:
    """How many places a pooling window has; in `ceil_mode` the last one may hang over the edge, but must begin inside."""
    length = size + 2 * pad - dilation * (kernel_size - 1) - 1
    count = (length + (stride - 1 if ceil_mode != 0 else 0)) // stride + 1
    if ceil_mode != 0 and (count - 1) * stride >= size + pad:
        count -= 1
    return count


@kernel(extern=True)
def pool(table: ptr[LoopTable], x: Tensor, w: ptr[Window], ceil_mode: i64, places: ptr[Tensor], divisor: i64, count_pad: i64) -> Tensor:
    """Pooling of (…, H, W); stores the owned tensor of places to `places`."""
    loop = loop_of(table, x.dtype)
    check(x.rank == 3 or x.rank == 4, "RuntimeError", "non-empty 3D or 4D (batch mode) tensor expected for input")
    check(w.stride_h > 0 and w.stride_w > 0, "RuntimeError", "stride should not be zero")
    check(w.height > 0 and w.width > 0 and w.dilation_h > 0 and w.dilation_w > 0, "RuntimeError", "kernel size should be greater than zero")
    check(
        w.pad_h >= 0 and w.pad_w >= 0 and w.pad_h <= w.height // 2 and w.pad_w <= w.width // 2,
        "RuntimeError",
        "pad should be at most half of effective kernel size",
    )
    rows, columns = x.sizes[x.rank - 2], x.sizes[x.rank - 1]
    out_h, out_w = (
        pooled_size(rows, w.height, w.stride_h, w.pad_h, w.dilation_h, ceil_mode),
        pooled_size(columns, w.width, w.stride_w, w.pad_w, w.dilation_w, ceil_mode),
    )
    check(
        out_h > 0 and out_w > 0,
        "RuntimeError",
        "Given input size: ({}x{}). Calculated output size: ({}x{}). Output size is too small",
        rows,
        columns,
        out_h,
        out_w,
    )
    sizes = local(i64, MAX_RANK)
    planes = 1
    for k in range(x.rank - 2):
        sizes[k] = x.sizes[k]
        planes = planes * x.sizes[k]
    sizes[x.rank - 2], sizes[x.rank - 1] = out_h, out_w
    result, where = empty(x.rank, sizes, x.dtype), empty(x.rank, sizes, INT64)
    dense = contiguous(x)
    call_pointer(VOID, loop, planes, rows, columns, dense.data, w, out_h, out_w, result.data, cast(ptr[i64], where.data), divisor, count_pad)
    release(dense)
    places[0] = where
    return result


@kernel
def adaptive_loop(T: Any, planes: i64, rows: i64, columns: i64, x: ptr[u8], out_h: i64, out_w: i64, out: ptr[u8]) -> None:
    """Means of cells that divide each dense plane as evenly as they can."""
    for plane in range(planes):
        p, q = cast(ptr[T], x) + plane * rows * columns, cast(ptr[T], out) + plane * out_h * out_w
        for i in range(out_h):
            for j in range(out_w):
                top, bottom = i * rows // out_h, ((i + 1) * rows + out_h - 1) // out_h
                left, right = j * columns // out_w, ((j + 1) * columns + out_w - 1) // out_w
                total = T(0)
                for a in range(top, bottom):
                    for b in range(left, right):
                        total = total + p[a * columns + b]
                q[i * out_w + j] = total / T(bottom - top) / T(right - left)


_ADAPTIVE = (i64, i64, i64, ptr[u8], i64, i64, ptr[u8])
ADAPTIVE = Loop("adaptive_avg_pool2d", lambda d: adaptive_loop.instance(static(machine_type(d)), *_ADAPTIVE) if d.kind == "f" else None)


@kernel(extern=True)
def adaptive_pool(x: Tensor, out_h: i64, out_w: i64) -> Tensor:
    """Adaptive mean pooling of (…, H, W)."""
    loop = loop_of(ADAPTIVE.table, x.dtype)
    check(x.rank == 3 or x.rank == 4, "RuntimeError", "adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got {}", text(shape_text(x)))
    check(out_h >= 0 and out_w >= 0, "RuntimeError", "adaptive_avg_pool2d(): elements of output_size must be greater than or equal to 0")
    sizes = local(i64, MAX_RANK)
    planes = 1
    for k in range(x.rank - 2):
        sizes[k] = x.sizes[k]
        planes = planes * x.sizes[k]
    sizes[x.rank - 2], sizes[x.rank - 1] = out_h, out_w
    result = empty(x.rank, sizes, x.dtype)
    dense = contiguous(x)
    call_pointer(VOID, loop, planes, x.sizes[x.rank - 2], x.sizes[x.rank - 1], dense.data, out_h, out_w, result.data)
    release(dense)
    return result


# ---- recurrent cells --------------------------------------------------------------------------------------------------


@kernel
def lstm_loop(T: Any, rows: i64, n: i64, gates: ptr[u8], cell: ptr[u8], next_hidden: ptr[u8], next_cell: ptr[u8]) -> None:
    """The step of a long short-term memory: four dense gates a row, input, forget, cell and output."""
    for r in range(rows):
        g = cast(ptr[T], gates) + r * 4 * n
        c, h_next, c_next = cast(ptr[T], cell) + r * n, cast(ptr[T], next_hidden) + r * n, cast(ptr[T], next_cell) + r * n
        for i in range(n):
            value = ELEMENTARY["sigmoid"](g[n + i]) * c[i] + ELEMENTARY["sigmoid"](g[i]) * ELEMENTARY["tanh"](g[2 * n + i])
            c_next[i] = value
            h_next[i] = ELEMENTARY["sigmoid"](g[3 * n + i]) * ELEMENTARY["tanh"](value)


_LSTM = (i64, i64, ptr[u8], ptr[u8], ptr[u8], ptr[u8])
LSTM = Loop("lstm_cell", lambda d: lstm_loop.instance(static(machine_type(d)), *_LSTM) if d.kind == "f" else None)


@kernel(extern=True)
def lstm_step(gates: Tensor, cell: Tensor, next_cell: ptr[Tensor]) -> Tensor:
    """The next hidden state; stores the next cell state, owned, to `next_cell`."""
    loop = loop_of(LSTM.table, gates.dtype)
    dense = contiguous(cell)
    hidden, memory = empty(cell.rank, cell.sizes, cell.dtype), empty(cell.rank, cell.sizes, cell.dtype)
    n = cell.sizes[cell.rank - 1]
    if cell.numel > 0:
        call_pointer(VOID, loop, cell.numel // n, n, gates.data, dense.data, hidden.data, memory.data)
    release(dense)
    next_cell[0] = memory
    return hidden


# ---- losses -------------------------------------------------------------------------------------------------------


@kernel(extern=True)
def check_targets(target: Tensor, classes: i64, ignore: i64) -> None:
    """Refuses class numbers out of range."""
    dense = contiguous(target)
    items = cast(ptr[i64], dense.data)
    bad, found = 0, False
    for i in range(dense.numel):
        if items[i] != ignore and (items[i] < 0 or items[i] >= classes):
            bad, found = items[i], True
    release(dense)
    check(not found, "IndexError", "Target {} is out of bounds.", bad)


@kernel
def pair_at(items: ptr[List], at: i64) -> i64:
    """Entry `at` of a list of one or two ints."""
    return int_at(items, minimum(at, items.length - 1))


@kernel
def reshaped(t: Tensor, rank: i64, sizes: ptr[i64]) -> Tensor:
    """`view` that takes over the reference."""
    made = view(t, rank, sizes)
    release(t)
    return made
