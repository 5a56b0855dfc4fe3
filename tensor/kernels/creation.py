"""New tensors: filled, counted, spaced."""

from __future__ import annotations

from typing import Any

from jitlang.codegen.library.layout import List
from jitlang.frontend.kernel import cast, ceil, check, f32, f64, fail, get, has, i64, kernel, local, memset, ptr, text, typeof, u8
from jitlang.tensor.kernels.pointwise import copy_into, dtype_text, writing
from jitlang.tensor.kernels.scalars import as_int, load_float, number, store_float, store_int
from jitlang.tensor.kernels.tensors import empty, empty_as, empty_strided, retain
from jitlang.tensor.layout import CONTIGUOUS, CPU, FLOAT32, INT32, INT64, UINT8, TensorImpl
from jitlang.tensor.promotion import is_float, item_bytes

Tensor = ptr[TensorImpl]
Ints = ptr[List]


@kernel
def empty_of(size: Ints, dtype: i64) -> Tensor:
    """An uninitialised tensor of the sizes in a list."""
    return empty(size.length, cast(ptr[i64], size.data), dtype)


@kernel
def filled(t: Tensor, value: Any) -> Tensor:
    """Fills a new tensor with a number."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    copy_into(t, number(slot, cast(ptr[u8], room), value))
    return t


@kernel(extern=True)
def zeros(rank: i64, sizes: ptr[i64], dtype: i64) -> Tensor:
    """A tensor of zeros."""
    t = empty(rank, sizes, dtype)
    memset(t.data, 0, t.numel * item_bytes(dtype))
    return t


@kernel(extern=True)
def like(t: Tensor, dtype: i64) -> Tensor:
    """An uninitialised tensor of the shape of `t`, with its order of dimensions where it has no gaps and no overlap."""
    if t.flags & CONTIGUOUS != 0:
        return empty_as(t, dtype)
    order, used = local(i64, 8), 0
    expected = 1
    fits = True
    for k in range(t.rank):
        best = -1
        for d in range(t.rank):
            if (used >> d) & 1 == 0:
                if best < 0 or before(t, d, best):
                    best = d
        used = used | (1 << best)
        order[k] = best
        if t.sizes[best] != 1:
            if t.strides[best] != expected:
                fits = False
            expected = expected * t.sizes[best]
    if fits:
        return empty_strided(t.rank, t.sizes, t.strides, dtype)
    return empty_in_order(t, order, dtype)


@kernel
def before(t: Tensor, a: i64, b: i64) -> Any:
    """Whether dimension `a` runs faster than `b`; later ones of the same stride do."""
    if t.strides[a] == t.strides[b]:
        return t.sizes[a] == 1 or t.sizes[b] != 1
    return t.strides[a] < t.strides[b]


@kernel
def empty_in_order(t: Tensor, order: ptr[i64], dtype: i64) -> Tensor:
    """A dense tensor whose dimensions run in that order, fastest first; row-major where some are expanded."""
    strides = local(i64, 8)
    step = 1
    for k in range(t.rank):
        strides[order[k]] = step
        step = step * t.sizes[order[k]]
        if t.strides[order[k]] == 0 and t.sizes[order[k]] > 1:
            return empty(t.rank, t.sizes, dtype)
    return empty_strided(t.rank, t.sizes, strides, dtype)


@kernel(extern=True)
def check_fits(dtype: i64, value: Tensor) -> None:
    """Refuses a single value that an integer dtype does not hold; fractions are cut, and uint8 takes negative numbers."""
    if dtype == INT32 or dtype == UINT8:
        limit = 2147483648.0 if dtype == INT32 else 256.0
        x = load_float(value.data, value.dtype)
        if not (x < limit and x > -limit - (1.0 if dtype == INT32 else 0.0)):
            fail("RuntimeError", "value cannot be converted to type {} without overflow", text(dtype_text(dtype)))


@kernel
def fill_from(t: Tensor, x: Tensor) -> None:
    """Fills a tensor that a script sees with a number."""
    check_fits(t.dtype, x)
    writing(t)
    copy_into(t, x)


@kernel
def fill(t: Tensor, value: Any) -> Tensor:
    """Fills a tensor that a script sees; returns it, retained."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    fill_from(t, number(slot, cast(ptr[u8], room), value))
    retain(t)
    return t


# ---- ranges -------------------------------------------------------------------------------------------------------


@kernel
def is_float_number(value: Any) -> Any:
    """Whether a number is a float (static)."""
    return typeof(value) is f64 or typeof(value) is float


@kernel
def arange(start: Any, end: Any, step: Any, dtype: i64) -> Tensor:
    """``start, start + step, …`` below `end`; a negative dtype stands for int64, or float32 if a bound is a float."""
    if is_float_number(start) or is_float_number(end) or is_float_number(step):
        return arange_float(f64(start), f64(end), f64(step), FLOAT32 if dtype < 0 else dtype)
    return arange_int(as_int(start), as_int(end), as_int(step), INT64 if dtype < 0 else dtype)


@kernel(extern=True)
def arange_int(start: i64, end: i64, step: i64, dtype: i64) -> Tensor:
    """`arange` of ints."""
    check(step != 0, "RuntimeError", "step must be nonzero")
    check((step > 0 and end >= start) or (step < 0 and end <= start), "RuntimeError", "upper bound and lower bound inconsistent with step sign")
    gap = f64(end) - f64(start)
    check(gap < 4.0e18 and gap > -4.0e18, "RuntimeError", "invalid size, possible overflow?")
    size = local(i64, 1)
    size[0] = (end - start + step - 1) // step if step > 0 else (start - end - step - 1) // -step
    t = empty(1, size, dtype)
    if dtype == INT64:
        items = cast(ptr[i64], t.data)
        for i in range(size[0]):
            items[i] = start + i * step
        return t
    item = item_bytes(dtype)
    for i in range(size[0]):
        store_int(t.data + i * item, dtype, start + i * step)
    return t


@kernel(extern=True)
def arange_float(start: f64, end: f64, step: f64, dtype: i64) -> Tensor:
    """`arange` of floats."""
    check(step != 0.0, "RuntimeError", "step must be nonzero")
    infinity = float("inf")
    check(start - start == 0.0 and end - end == 0.0, "RuntimeError", "unsupported range: {} -> {}", start, end)
    check((step > 0.0 and end >= start) or (step < 0.0 and end <= start), "RuntimeError", "upper bound and lower bound inconsistent with step sign")
    count = ceil((end - start) / step)
    check(count >= 0.0 and count < 4.0e18 and step < infinity, "RuntimeError", "invalid size, possible overflow?")
    size = local(i64, 1)
    size[0] = i64(count)
    t = empty(1, size, dtype)
    item = item_bytes(dtype)
    if is_float(dtype) == 0:
        for i in range(size[0]):
            store_int(t.data + i * item, dtype, as_int(start) + i * as_int(step))
        return t
    for i in range(size[0]):
        store_float(t.data + i * item, dtype, start + f64(i) * step)
    return t


@kernel(extern=True)
def linspace(start: f64, end: f64, steps: i64, dtype: i64) -> Tensor:
    """`steps` numbers from `start` to `end`, counted from both ends towards the middle."""
    check(steps >= 0, "RuntimeError", "number of steps must be non-negative")
    size = local(i64, 1)
    size[0] = steps
    t = empty(1, size, dtype)
    if steps == 1:
        store_float(t.data, dtype, start)
        return t
    if dtype == FLOAT32:
        low, high = f32(start), f32(end)
        step32 = (high - low) / f32(steps - 1)
        target = cast(ptr[f32], t.data)
        for i in range(steps):
            target[i] = low + step32 * f32(i) if i < steps // 2 else high - step32 * f32(steps - i - 1)
        return t
    step = (end - start) / f64(steps - 1)
    item = item_bytes(dtype)
    for i in range(steps):
        store_float(t.data + i * item, dtype, start + step * f64(i) if i < steps // 2 else end - step * f64(steps - i - 1))
    return t


@kernel(extern=True)
def eye(n: i64, m: i64, dtype: i64) -> Tensor:
    """Ones on the diagonal."""
    check(n >= 0, "RuntimeError", "n must be greater or equal to 0, got {}", n)
    check(m >= 0, "RuntimeError", "m must be greater or equal to 0, got {}", m)
    sizes = local(i64, 2)
    sizes[0], sizes[1] = n, m
    t = zeros(2, sizes, dtype)
    item = item_bytes(dtype)
    for i in range(n if n < m else m):
        store_int(t.data + (i * m + i) * item, dtype, 1)
    return t


@kernel(extern=True)
def triangle(self: Tensor, diagonal: i64, upper: i64) -> Tensor:
    """A row-major copy with what is below (or above) a diagonal of the last two dimensions zeroed."""
    if self.rank < 2:
        fail("RuntimeError", "tril/triu: input tensor must have at least 2 dimensions")
    t = empty(self.rank, self.sizes, self.dtype)
    copy_into(t, self)
    zero_triangle(t, diagonal, upper)
    return t


@kernel(extern=True)
def zero_triangle(t: Tensor, diagonal: i64, upper: i64) -> None:
    """Zeroes what is below (or above) a diagonal, in a row-major tensor."""
    rows, columns = t.sizes[t.rank - 2], t.sizes[t.rank - 1]
    item = item_bytes(t.dtype)
    shift = diagonal
    if shift > columns:
        shift = columns
    if shift < -rows:
        shift = -rows
    total = t.numel // columns if columns > 0 else 0
    for r in range(total):
        row = r % rows
        edge = row + shift
        if upper != 0:
            keep = edge if edge > 0 else 0
            memset(t.data + r * columns * item, 0, (keep if keep < columns else columns) * item)
        else:
            first = edge + 1 if edge + 1 > 0 else 0
            if first < columns:
                memset(t.data + (r * columns + first) * item, 0, (columns - first) * item)


@kernel
def sized(size: Ints, dtype: i64, value: Any) -> Tensor:
    """A tensor of those sizes full of a number."""
    return filled(empty_of(size, dtype), value)


@kernel
def check_device(device: Any) -> None:
    """Refuses an optional device argument that is not the CPU."""
    if has(device):
        name = get(device)
        if typeof(name) is str:
            check(name == "cpu" or name == "cpu:0", "RuntimeError", f"there is no device '{name}', expected 'cpu'")
        else:
            check(name == CPU, "RuntimeError", "there is no such device; expected 'cpu'")


@kernel
def or_default(dtype: Any, device: Any, default: i64) -> i64:
    """An optional dtype argument, or the default, for a device that is there."""
    check_device(device)
    if has(dtype):
        return get(dtype)
    return default
