"""Elements named along one dimension: reading and writing, adding up."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import cast, check, fail, i32, i64, kernel, local, memcpy, ptr, text, u8
from jitlang.tensor.kernels.indexing import add_item, copy_item
from jitlang.tensor.kernels.pointwise import assign, cast_tensor, dtype_text, writing
from jitlang.tensor.kernels.scalars import load_float, load_int, store_float, store_int
from jitlang.tensor.kernels.tensors import empty, release, retain, shape_text
from jitlang.tensor.kernels.views import contiguous, from_start, select, wrapped_dim
from jitlang.tensor.layout import INT32, INT64, MAX_RANK, TensorImpl
from jitlang.tensor.promotion import is_float, item_bytes

Tensor = ptr[TensorImpl]


# ---- along one dimension --------------------------------------------------------------------------------------------


@kernel(extern=True)
def index_select(self: Tensor, dim: i64, indices: Tensor) -> Tensor:
    """The elements of a dimension that an index vector names."""
    check(
        indices.rank <= 1,
        "IndexError",
        "index_select(): Index is supposed to be a vector, but got dim: {} with type: {} and size: {}",
        indices.rank,
        text(dtype_text(indices.dtype)),
        text(shape_text(indices)),
    )
    check(indices.dtype == INT64 or indices.dtype == INT32, "RuntimeError", "index_select(): Expected dtype int32 or int64 for index")
    d = wrapped_dim(dim, self.rank)
    wide = cast_tensor(indices, INT64)
    dense = contiguous(wide)
    release(wide)
    items = cast(ptr[i64], dense.data)
    size = self.sizes[d] if self.rank > 0 else 1
    for i in range(dense.numel):
        at = items[i]
        if at < 0 or at >= size:
            release(dense)
            check(False, "IndexError", "index out of range in self")
    sizes = local(i64, MAX_RANK)
    for k in range(self.rank):
        sizes[k] = self.sizes[k]
    if self.rank > 0:
        sizes[d] = dense.numel
    result = empty(self.rank, sizes, self.dtype)
    source = contiguous(self)
    item = item_bytes(self.dtype)
    inner, outer = item, 1
    for k in range(self.rank):
        if k < d:
            outer = outer * self.sizes[k]
        if k > d:
            inner = inner * self.sizes[k]
    count = dense.numel
    for o in range(outer):
        for i in range(count):
            from_ = source.data + (o * size + items[i]) * inner
            to = result.data + (o * count + i) * inner
            if inner <= 8:
                copy_item(to, from_, inner)
            else:
                memcpy(to, from_, inner)
    release(source)
    release(dense)
    return result


@kernel
def check_gather(self: Tensor, d: i64, indices: Tensor, name: Any) -> None:
    """Refuses an index of another rank or dtype, or that is larger than the tensor beside `d`."""
    check(indices.dtype == INT64, "RuntimeError", f"{name}(): Expected dtype int64 for index")
    rank, own = self.rank if self.rank > 0 else 1, indices.rank if indices.rank > 0 else 1
    check(indices.numel == 0 or rank == own, "RuntimeError", "Index tensor must have the same number of dimensions as input tensor")
    for k in range(self.rank):
        if k != d and indices.rank == self.rank and indices.numel > 0:
            check(
                indices.sizes[k] <= self.sizes[k],
                "RuntimeError",
                "Size does not match at dimension {} expected index {} to be no larger than self {} apart from dimension {}",
                k,
                text(shape_text(indices)),
                text(shape_text(self)),
                d,
            )


@kernel
def checked_places(indices: Tensor, size: i64, d: i64) -> Tensor:
    """The index tensor, row-major and owned, all in range."""
    dense = contiguous(indices)
    items = cast(ptr[i64], dense.data)
    for i in range(dense.numel):
        at = items[i]
        if at < 0 or at >= size:
            release(dense)
            fail("RuntimeError", "index {} is out of bounds for dimension {} with size {}", at, d, size)
    return dense


@kernel
def last_size(t: Tensor) -> i64:
    """The length of a line: the size of the last dimension."""
    return t.sizes[t.rank - 1] if t.rank > 0 else 1


@kernel
def along_line(t: Tensor, d: i64) -> i64:
    """How far apart, in elements of `t`, neighbours of a line stand; 0 along `d`, which an index chooses."""
    return t.strides[t.rank - 1] if t.rank > 0 and d != t.rank - 1 else 0


@kernel
def base_offset(t: Tensor, shape: Tensor, flat: i64, skip: i64) -> i64:
    """The offset in `t`, in elements, of element `flat` of a row-major tensor of shape `shape`, dimension `skip` left out."""
    rest = flat
    offset = 0
    for back in range(shape.rank):
        k = shape.rank - 1 - back
        at = rest % shape.sizes[k]
        rest = rest // shape.sizes[k]
        if k != skip:
            offset += at * t.strides[k]
    return offset


@kernel(extern=True)
def gather_dim(self: Tensor, dim: i64, indices: Tensor) -> Tensor:
    """out[i, j] = self[index[i, j], j] for dimension 0, and so on."""
    d = wrapped_dim(dim, self.rank)
    check_gather(self, d, indices, "gather")
    places = checked_places(indices, self.sizes[d] if self.rank > 0 else 1, d)
    result = empty(indices.rank, indices.sizes, self.dtype)
    item = item_bytes(self.dtype)
    items = cast(ptr[i64], places.data)
    step = self.strides[d] if self.rank > 0 else 0
    n, along = last_size(indices), along_line(self, d)
    first = 0
    while first < places.numel:
        offset = base_offset(self, indices, first, d) if self.rank > 0 else 0
        gather_line(result.data + first * item, self.data + offset * item, items + first, n, along, step, item)
        first += n
    release(places)
    return result


@kernel
def gather_line(out: ptr[u8], source: ptr[u8], items: ptr[i64], n: i64, along: i64, step: i64, item: i64) -> None:
    """out[i] = source[i * along + items[i] * step], elements of `item` bytes."""
    if item == 4:
        for i in range(n):
            cast(ptr[i32], out)[i] = cast(ptr[i32], source)[i * along + items[i] * step]
    elif item == 8:
        for i in range(n):
            cast(ptr[i64], out)[i] = cast(ptr[i64], source)[i * along + items[i] * step]
    else:
        for i in range(n):
            copy_item(out + i * item, source + (i * along + items[i] * step) * item, item)


# What `scatter` does with an element that is there already.
REPLACE, ADD, MULTIPLY, LARGEST, SMALLEST = 0, 1, 2, 3, 4


@kernel(extern=True)
def scatter_into(self: Tensor, dim: i64, indices: Tensor, source: Tensor, how: i64) -> Tensor:
    """self[index[i, j], j] = source[i, j] for dimension 0, and so on; `source` may be one number. Returns `self`, retained."""
    d = wrapped_dim(dim, self.rank)
    check_gather(self, d, indices, "scatter")
    single = source.rank == 0 and indices.rank > 0
    if not single and indices.numel > 0:
        for k in range(indices.rank):
            check(
                source.rank == indices.rank and indices.sizes[k] <= source.sizes[k],
                "RuntimeError",
                "Expected index {} to be no larger than src {} size",
                text(shape_text(indices)),
                text(shape_text(source)),
            )
    places = checked_places(indices, self.sizes[d] if self.rank > 0 else 1, d)
    typed = cast_tensor(source, self.dtype)
    writing(self)
    item = item_bytes(self.dtype)
    items = cast(ptr[i64], places.data)
    step = self.strides[d] if self.rank > 0 else 0
    n, along = last_size(indices), along_line(self, d)
    between = 0 if single else along_line(typed, -1)
    first = 0
    while first < places.numel:
        target = self.data + (base_offset(self, indices, first, d) if self.rank > 0 else 0) * item
        from_ = typed.data
        if not single:
            from_ = typed.data + base_offset(typed, indices, first, -1) * item
        for i in range(n):
            merge_item(target + (i * along + items[first + i] * step) * item, from_ + i * between * item, self.dtype, how)
        first += n
    release(typed)
    release(places)
    retain(self)
    return self


@kernel
def merge_item(target: ptr[u8], source: ptr[u8], dtype: i64, how: i64) -> None:
    """Puts one element into the place of another."""
    if how == REPLACE:
        copy_item(target, source, item_bytes(dtype))
    elif how == ADD:
        add_item(target, source, dtype)
    elif is_float(dtype) == 1:
        x, y = load_float(target, dtype), load_float(source, dtype)
        store_float(target, dtype, x * y if how == MULTIPLY else ((x if x > y else y) if how == LARGEST else (x if x < y else y)))
    else:
        a, b = load_int(target, dtype), load_int(source, dtype)
        store_int(target, dtype, a * b if how == MULTIPLY else ((a if a > b else b) if how == LARGEST else (a if a < b else b)))


@kernel(extern=True)
def index_add_into(self: Tensor, dim: i64, indices: Tensor, source: Tensor, how: i64) -> Tensor:
    """Adds (or copies) each element of a dimension of `source` to the element of `self` that an index vector names."""
    d = wrapped_dim(dim, self.rank)
    check(indices.rank <= 1 and (indices.dtype == INT64 or indices.dtype == INT32), "RuntimeError", "index_add_(): Expected dtype int32/int64 for index")
    count = indices.numel
    check(
        self.rank == source.rank and (self.rank == 0 or source.sizes[d] == count),
        "RuntimeError",
        "index_add_(): Number of indices ({}) should be equal to source.size(dim)",
        count,
    )
    for k in range(self.rank):
        check(k == d or self.sizes[k] == source.sizes[k], "RuntimeError", "index_add_(): source and self differ in size at dimension {}", k)
    wide = cast_tensor(indices, INT64)
    places = checked_places(wide, self.sizes[d] if self.rank > 0 else 1, d)
    release(wide)
    typed = cast_tensor(source, self.dtype)
    dense = contiguous(typed)
    release(typed)
    writing(self)
    item = item_bytes(self.dtype)
    items = cast(ptr[i64], places.data)
    for i in range(dense.numel):
        offset = base_offset(self, dense, i, d)
        inner = 1
        for k in range(d + 1, self.rank):
            inner = inner * self.sizes[k]
        along = (i // inner) % count
        merge_item(self.data + (offset + items[along] * (self.strides[d] if self.rank > 0 else 0)) * item, dense.data + i * item, self.dtype, how)
    release(dense)
    release(places)
    retain(self)
    return self


@kernel(extern=True)
def take(self: Tensor, indices: Tensor) -> Tensor:
    """Elements of the flattened tensor."""
    check(indices.dtype == INT64, "RuntimeError", "take(): Expected a long tensor for index, but got {}", text(dtype_text(indices.dtype)))
    dense = contiguous(self)
    where = contiguous(indices)
    items = cast(ptr[i64], where.data)
    item = item_bytes(self.dtype)
    for i in range(where.numel):
        at = items[i]
        if at < -self.numel or at >= self.numel:
            release(where)
            release(dense)
            check(False, "IndexError", "out of range: tried to access index {} on a tensor of {} elements.", at, self.numel)
    result = empty(indices.rank, indices.sizes, self.dtype)
    for i in range(where.numel):
        at = items[i]
        copy_item(result.data + i * item, dense.data + from_start(at, self.numel) * item, item)
    release(where)
    release(dense)
    return result


@kernel(extern=True)
def index_select_checked(weight: Tensor, indices: Tensor) -> Tensor:
    """`index_select` of rows; frees `indices` before it raises."""
    wide = cast_tensor(indices, INT64)
    items = cast(ptr[i64], wide.data)
    bad = False
    for i in range(wide.numel):
        bad = bad or items[i] < 0 or items[i] >= weight.sizes[0]
    if bad:
        release(wide)
        release(indices)
        check(not bad, "IndexError", "index out of range in self")
    result = index_select(weight, 0, wide)
    release(wide)
    return result


@kernel(extern=True)
def scattered(self: Tensor, dim: i64, indices: Tensor, source: Tensor, how: i64) -> Tensor:
    """`scatter_into` a copy; what it checks is checked before the copy is made."""
    d = wrapped_dim(dim, self.rank)
    check_gather(self, d, indices, "scatter")
    places = checked_places(indices, self.sizes[d] if self.rank > 0 else 1, d)
    release(places)
    copy = cast_tensor(self, self.dtype)
    same = scatter_into(copy, dim, indices, source, how)
    release(same)
    return copy


@kernel
def take_along(self: Tensor, indices: Tensor, dim: i64) -> Tensor:
    """`gather`; the shapes beside `dim` are equal."""
    return gather_dim(self, dim, indices)


@kernel(extern=True)
def index_fill(self: Tensor, dim: i64, indices: Tensor, value: Tensor) -> Tensor:
    """Stores one value in the elements of a dimension that an index vector names; returns `self`, retained."""
    d = wrapped_dim(dim, self.rank)
    check(indices.dtype == INT64 and indices.rank <= 1, "IndexError", "index_fill_(): Expected dtype int64 for index.")
    places = checked_places(indices, self.sizes[d] if self.rank > 0 else 1, d)
    items = cast(ptr[i64], places.data)
    for i in range(places.numel):
        one = select(self, d, items[i])
        same = assign(one, value)
        release(same)
        release(one)
    release(places)
    retain(self)
    return self
