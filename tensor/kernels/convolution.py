"""Convolutions as matrix products: what each place of the window covers is a row or a column of a matrix.

With few places the filters are the right-hand side, so that they can stay packed, and the result is turned afterwards; with many they are the left-hand
side. Both take the terms of a sum in the order (channel, row, column) and add the bias last, so both give the same bits.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import b1, cast, f32, f64, i32, i64, kernel, local, maximum, minimum, null, ptr, struct, u8
from jitlang.tensor.kernels.packs import multiply_with
from jitlang.tensor.kernels.products import Product, multiply
from jitlang.tensor.kernels.tensors import empty, release
from jitlang.tensor.kernels.views import contiguous
from jitlang.tensor.layout import FLOAT32, MAX_RANK, TensorImpl
from jitlang.tensor.promotion import item_bytes

Tensor = ptr[TensorImpl]
FEW_PLACES = 48


@struct
class Window:
    """A sliding window over the last two dimensions."""

    height: i64
    width: i64
    stride_h: i64
    stride_w: i64
    pad_h: i64
    pad_w: i64
    dilation_h: i64
    dilation_w: i64


@kernel
def span(size: i64, kernel_size: i64, stride: i64, pad: i64, dilation: i64) -> i64:
    """How many places a window has along one dimension."""
    return (size + 2 * pad - dilation * (kernel_size - 1) - 1) // stride + 1


@kernel
def columns_of(
    T: Any, x: Any, channels: i64, rows: i64, columns: i64, w: ptr[Window], out_h: i64, out_w: i64, target: Any, place_step: i64, cover_step: i64
) -> None:
    """What each place of the window covers: elements `cover_step` apart, places `place_step` apart; zeros where the window stands over the edge."""
    window = w.height * w.width
    for v in range(w.width):
        left = v * w.dilation_w - w.pad_w
        # The places whose element is inside the image are neighbours.
        first = minimum(out_w, maximum(0, -(left // w.stride_w)))
        last = maximum(first, minimum(out_w, (columns - 1 - left) // w.stride_w + 1))
        for u in range(w.height):
            for c in range(channels):
                place = target + (c * window + u * w.width + v) * cover_step
                for i in range(out_h):
                    row = i * w.stride_h - w.pad_h + u * w.dilation_h
                    begin, end = first, last
                    if row < 0 or row >= rows:
                        begin, end = out_w, out_w
                    source = x + ((c * rows + row) * columns + left)
                    for k in range(begin):
                        place[k * place_step] = T(0)
                    if place_step == 1 and w.stride_w == 1:
                        for k in range(begin, end):
                            place[k] = source[k]
                    else:
                        for k in range(begin, end):
                            place[k * place_step] = source[k * w.stride_w]
                    for k in range(end, out_w):
                        place[k * place_step] = T(0)
                    place = place + out_w * place_step


@kernel(extern=True)
def cover(
    item: i64, x: ptr[u8], channels: i64, rows: i64, columns: i64, w: ptr[Window], out_h: i64, out_w: i64, target: ptr[u8], place_step: i64, cover_step: i64
) -> None:
    """`columns_of` for elements of 4 or 8 bytes, whose bits it moves."""
    if item == 4:
        columns_of(i32, cast(ptr[i32], x), channels, rows, columns, w, out_h, out_w, cast(ptr[i32], target), place_step, cover_step)
    else:
        columns_of(i64, cast(ptr[i64], x), channels, rows, columns, w, out_h, out_w, cast(ptr[i64], target), place_step, cover_step)


@kernel
def is_plain(w: ptr[Window]) -> b1:
    """Whether the window is one element that moves by one: the image then is its own matrix."""
    return w.height == 1 and w.width == 1 and w.stride_h == 1 and w.stride_w == 1 and w.pad_h == 0 and w.pad_w == 0


@kernel
def is_line(x: Tensor, w: ptr[Window], groups: i64) -> b1:
    """Whether the window slides along one line without edges: what places cover then are overlapping rows of the image."""
    return x.sizes[1] == groups and x.sizes[2] == 1 and w.height == 1 and w.pad_h == 0 and w.pad_w == 0 and w.dilation_w == 1


@kernel
def filters_right(x: Tensor, weight: Tensor, bias: ptr[u8], w: ptr[Window], groups: i64, places: i64, out_w: i64, out: Tensor) -> None:
    """Few places: rows that places cover, times filters; `out` is (N, groups, places, filters)."""
    per_group, per_filters = x.sizes[1] // groups, weight.sizes[0] // groups
    item = item_bytes(x.dtype)
    length = per_group * w.height * w.width
    line, plain = is_line(x, w, groups), is_plain(w)
    sizes = local(i64, 2)
    sizes[0], sizes[1] = places, 0 if line or plain else length
    room = empty(2, sizes, x.dtype)
    p = local(Product, 1)
    p.batch_rank = 0
    for n in range(x.sizes[0] * groups):
        g = n % groups
        p.m, p.n, p.k = places, per_filters, length  # again for each: a product with a column changes roles
        p.b_k, p.b_column = 1, length
        p.out_row, p.out_step = per_filters, 0
        source = x.data + n * per_group * x.sizes[2] * x.sizes[3] * item
        p.a, p.a_row, p.a_k = room.data, length, 1
        if line:
            p.a, p.a_row = source, w.stride_w
        elif plain:
            p.a, p.a_row, p.a_k = source, 1, places
        else:
            cover(item, source, per_group, x.sizes[2], x.sizes[3], w, places // maximum(out_w, 1), out_w, room.data, length, 1)
        p.b = weight.data + g * per_filters * length * item
        p.out = out.data + n * places * per_filters * item
        p.bias = null(ptr[u8])
        if bias != null(ptr[u8]):
            p.bias = bias + g * per_filters * item
        multiply_with(x.dtype, p, room.storage, weight.storage)
    release(room)


@kernel
def filters_left(x: Tensor, weight: Tensor, w: ptr[Window], groups: i64, places: i64, out_w: i64, out: Tensor) -> None:
    """Many places: filters times columns that places cover; `out` is (N, groups, filters, places)."""
    per_group, per_filters = x.sizes[1] // groups, weight.sizes[0] // groups
    item = item_bytes(x.dtype)
    length = per_group * w.height * w.width
    plain = is_plain(w)
    sizes = local(i64, 2)
    sizes[0], sizes[1] = length, 0 if plain else places
    room = empty(2, sizes, x.dtype)
    p = local(Product, 1)
    p.m, p.n, p.k = per_filters, places, length
    p.a_row, p.a_k = length, 1
    p.b_k, p.b_column = places, 1
    p.out_row, p.out_step, p.batch_rank = places, 0, 0
    for n in range(x.sizes[0] * groups):
        p.b = x.data + n * per_group * x.sizes[2] * x.sizes[3] * item
        if not plain:
            cover(item, p.b, per_group, x.sizes[2], x.sizes[3], w, places // maximum(out_w, 1), out_w, room.data, 1, places)
            p.b = room.data
        p.a = weight.data + n % groups * per_filters * length * item
        p.out = out.data + n * per_filters * places * item
        p.bias, p.packed = null(ptr[u8]), null(ptr[u8])
        # Not `multiply_with`: the room is written again and again without a new version.
        multiply(x.dtype, p)
    release(room)


@kernel
def add_bias(result: Tensor, bias: ptr[u8], places: i64) -> None:
    """Adds a number to each filter's places, unless `bias` is null."""
    if bias != null(ptr[u8]):
        if result.dtype == FLOAT32:
            add_to_rows(f32, result.numel // places, result.sizes[1], places, cast(ptr[f32], bias), cast(ptr[f32], result.data))
        else:
            add_to_rows(f64, result.numel // places, result.sizes[1], places, cast(ptr[f64], bias), cast(ptr[f64], result.data))


@kernel
def add_to_rows(T: Any, rows: i64, count: i64, n: i64, bias: Any, out: Any) -> None:
    """Adds bias[r mod count] to row r."""
    for r in range(rows):
        value = bias[r % count]
        for i in range(n):
            out[r * n + i] = out[r * n + i] + value


@kernel(extern=True)
def convolve(x: Tensor, weight: Tensor, bias: Tensor, w: ptr[Window], groups: i64) -> Tensor:
    """A convolution of (N, C, H, W) by (O, C / groups, kH, kW), plus a bias that may be null."""
    filters = weight.sizes[0]
    out_h, out_w = span(x.sizes[2], w.height, w.stride_h, w.pad_h, w.dilation_h), span(x.sizes[3], w.width, w.stride_w, w.pad_w, w.dilation_w)
    places = out_h * out_w
    sizes = local(i64, MAX_RANK)
    sizes[0], sizes[1], sizes[2], sizes[3] = x.sizes[0], filters, out_h, out_w
    result = empty(4, sizes, x.dtype)
    image, table = contiguous(x), contiguous(weight)
    dense, added = bias, null(ptr[u8])
    if bias != null(Tensor):
        dense = contiguous(bias)
        added = dense.data
    if places >= FEW_PLACES:
        filters_left(image, table, w, groups, places, out_w, result)
        add_bias(result, added, places)
    elif places == 1:
        filters_right(image, table, added, w, groups, places, out_w, result)
    else:
        sizes[1], sizes[2], sizes[3] = groups, places, filters // groups
        turned = empty(4, sizes, x.dtype)
        filters_right(image, table, added, w, groups, places, out_w, turned)
        turn_places(result, turned, filters // groups, places)
        release(turned)
    if bias != null(Tensor):
        release(dense)
    release(table)
    release(image)
    return result


@kernel
def turned_loop(T: Any, matrices: i64, rows: i64, columns: i64, source: Any, target: Any) -> None:
    """Transposes dense matrices."""
    for n in range(matrices):
        for j in range(columns):
            for i in range(rows):
                target[(n * columns + j) * rows + i] = source[(n * rows + i) * columns + j]


@kernel
def turn_places(result: Tensor, source: Tensor, filters: i64, places: i64) -> None:
    """result = source with places and filters exchanged."""
    count = source.sizes[0] * source.sizes[1]
    if item_bytes(result.dtype) == 4:
        turned_loop(i32, count, places, filters, cast(ptr[i32], source.data), cast(ptr[i32], result.data))
    else:
        turned_loop(i64, count, places, filters, cast(ptr[i64], source.data), cast(ptr[i64], result.data))
