"""Views: tensors that share memory with another one under other sizes and strides."""

from __future__ import annotations

from typing import Any

from jitlang.codegen.library.layout import List
from jitlang.frontend.kernel import address, b1, cast, check, fail, i64, kernel, local, maximum, memcpy, minimum, ptr, text
from jitlang.tensor.kernels.pointwise import copy_into
from jitlang.tensor.kernels.tensors import empty, finish, int_at, list_text, new_view, release, retain
from jitlang.tensor.layout import CONTIGUOUS, MAX_RANK, TensorImpl
from jitlang.tensor.promotion import item_bytes

Tensor = ptr[TensorImpl]
Ints = ptr[List]


@kernel
def wrapped_dim(dim: i64, rank: i64) -> i64:
    """A dimension counted from the end as one counted from the start; a tensor without dimensions takes 0 and -1."""
    count = maximum(rank, 1)
    if dim < -count or dim >= count:
        fail("IndexError", "Dimension out of range (expected to be in range of [{}, {}], but got {})", -count, count - 1, dim)
    return from_start(dim, count)


@kernel
def copy_layout(t: Tensor, base: Tensor) -> None:
    """Gives a view the sizes and strides of its base."""
    memcpy(t.sizes, base.sizes, MAX_RANK * 8)
    memcpy(t.strides, base.strides, MAX_RANK * 8)


@kernel(extern=True)
def as_strided(self: Tensor, rank: i64, sizes: ptr[i64], strides: ptr[i64], offset: i64) -> Tensor:
    """A view of the storage with any sizes and strides, `offset` elements from the start of the storage."""
    item = item_bytes(self.dtype)
    last = offset
    numel = 1
    for d in range(rank):
        check(sizes[d] >= 0 and sizes[d] < 1 << 40, "RuntimeError", "as_strided: size {} is not valid", sizes[d])
        check(
            strides[d] >= 0 and strides[d] < 1 << 40,
            "RuntimeError",
            "as_strided: Negative strides are not supported at the moment, got strides: {}",
            text(list_text(rank, strides)),
        )
        numel = minimum(numel * sizes[d], 1 << 40)
        last = minimum(last + (sizes[d] - 1) * strides[d], 1 << 60)
    start = address(self.data) - address(self.storage.data)
    if numel > 0:
        check(
            offset >= 0 and (last + 1) * item <= self.storage.bytes,
            "RuntimeError",
            "setStorage: sizes {}, strides {}, storage offset {}, and itemsize {} requiring a storage size of {} are out of bounds for storage of size {}",
            text(list_text(rank, sizes)),
            text(list_text(rank, strides)),
            offset,
            item,
            (last + 1) * item,
            self.storage.bytes,
        )
    t = new_view(self, rank, offset - start // item)
    for d in range(rank):
        t.sizes[d] = sizes[d]
        t.strides[d] = strides[d]
    finish(t)
    return t


@kernel
def start_of(self: Tensor) -> i64:
    """The offset of the first element in the storage, in elements."""
    return (address(self.data) - address(self.storage.data)) // item_bytes(self.dtype)


# ---- one dimension ------------------------------------------------------------------------------------------------


@kernel
def from_start(index: i64, size: i64) -> i64:
    """An index that may count from the end, as one that counts from the start."""
    return index + size if index < 0 else index


@kernel
def position(index: i64, size: i64, dim: i64) -> i64:
    """An index of dimension `dim`, perhaps counted from the end, as one counted from the start."""
    at = from_start(index, size)
    check(at >= 0 and at < size, "IndexError", "index {} is out of bounds for dimension {} with size {}", index, dim, size)
    return at


@kernel
def bounded(index: i64, size: i64) -> i64:
    """A bound of a slice as a position from 0 to `size`."""
    return minimum(maximum(from_start(index, size), 0), size)


@kernel
def slice_bounds(start: i64, stop: i64, step: i64, size: i64) -> Any:
    """First position, length and step of a slice with a positive step, by Python's rules; a step beyond all sizes is cut."""
    first = bounded(start, size)
    last = maximum(bounded(stop, size), first)
    every = step if step < 1 << 20 else minimum(step, maximum(size, 1))
    return first, (last - first + every - 1) // every, every


@kernel(extern=True)
def select(self: Tensor, dim: i64, index: i64) -> Tensor:
    """Element `index` of a dimension, which goes away."""
    check(self.rank > 0, "IndexError", "select() cannot be applied to a 0-dim tensor.")
    d = wrapped_dim(dim, self.rank)
    return select_item(self, d, index, d)


@kernel(extern=True)
def select_item(self: Tensor, d: i64, index: i64, place: i64) -> Tensor:
    """Element `index` of dimension `d`, which goes away; an error calls it dimension `place`."""
    t = new_view(self, self.rank - 1, position(index, self.sizes[d], place) * self.strides[d])
    for k in range(t.rank):
        source = k + 1 if k >= d else k
        t.sizes[k] = self.sizes[source]
        t.strides[k] = self.strides[source]
    finish(t)
    return t


@kernel(extern=True)
def slice_dim(self: Tensor, dim: i64, start: i64, stop: i64, step: i64) -> Tensor:
    """``start:stop:step`` of a dimension, by Python's rules."""
    check(self.rank > 0, "RuntimeError", "slice() cannot be applied to a 0-dim tensor.")
    check(step > 0, "RuntimeError", "slice step must be positive")
    d = wrapped_dim(dim, self.rank)
    first, length, every = slice_bounds(start, stop, step, self.sizes[d])
    t = new_view(self, self.rank, first * self.strides[d])
    copy_layout(t, self)
    t.sizes[d] = length
    t.strides[d] = self.strides[d] * every
    finish(t)
    return t


@kernel(extern=True)
def narrow(self: Tensor, dim: i64, start: i64, length: i64) -> Tensor:
    """`length` elements of a dimension from `start` on."""
    check(self.rank > 0, "RuntimeError", "narrow() cannot be applied to a 0-dim tensor.")
    check(length >= 0, "RuntimeError", "narrow(): length must be non-negative.")
    d = wrapped_dim(dim, self.rank)
    size = self.sizes[d]
    if start < -size or start > size:
        fail("IndexError", "start out of range (expected to be in range of [{}, {}], but got {})", -size, size, start)
    first = from_start(start, size)
    check(first <= size - length, "RuntimeError", "start ({}) + length ({}) exceeds dimension size ({}).", first, length, size)
    return slice_dim(self, d, first, first + length, 1)


@kernel(extern=True)
def unsqueeze(self: Tensor, dim: i64) -> Tensor:
    """A new dimension of size 1."""
    d = wrapped_dim(dim, self.rank + 1)
    t = new_view(self, self.rank + 1, 0)
    for k in range(t.rank):
        source = k - 1 if k > d else k
        t.sizes[k] = 1
        t.strides[k] = 1
        if k != d:
            t.sizes[k] = self.sizes[source]
            t.strides[k] = self.strides[source]
    if d < self.rank:
        t.strides[d] = self.sizes[d] * self.strides[d]
    finish(t)
    return t


@kernel(extern=True)
def squeeze(self: Tensor, mask: i64) -> Tensor:
    """Without those dimensions of size 1 whose bit is set in `mask`."""
    kept = 0
    for d in range(self.rank):
        if self.sizes[d] != 1 or (mask >> d) & 1 == 0:
            kept += 1
    t = new_view(self, kept, 0)
    at = 0
    for d in range(self.rank):
        if self.sizes[d] != 1 or (mask >> d) & 1 == 0:
            t.sizes[at] = self.sizes[d]
            t.strides[at] = self.strides[d]
            at += 1
    finish(t)
    return t


@kernel(extern=True)
def dim_mask(dims: Ints, rank: i64) -> i64:
    """A list of different dimensions as bits."""
    mask = 0
    for i in range(dims.length):
        d = wrapped_dim(int_at(dims, i), rank)
        check((mask >> d) & 1 == 0, "RuntimeError", "dim {} appears multiple times in the list of dims", d)
        mask = mask | (1 << d)
    return mask


# ---- several dimensions ---------------------------------------------------------------------------------------------


@kernel(extern=True)
def transpose(self: Tensor, dim0: i64, dim1: i64) -> Tensor:
    """Two dimensions swapped."""
    a, b = wrapped_dim(dim0, self.rank), wrapped_dim(dim1, self.rank)
    t = new_view(self, self.rank, 0)
    copy_layout(t, self)
    if self.rank > 0:
        t.sizes[a] = self.sizes[b]
        t.strides[a] = self.strides[b]
        t.sizes[b] = self.sizes[a]
        t.strides[b] = self.strides[a]
    finish(t)
    return t


@kernel(extern=True)
def permute(self: Tensor, dims: Ints) -> Tensor:
    """The dimensions in another order."""
    if dims.length != self.rank:
        fail(
            "RuntimeError",
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions i.e. input.dim() = {} is not equal to len(dims) = {}",
            self.rank,
            dims.length,
        )
    seen = 0
    t = new_view(self, self.rank, 0)
    for k in range(self.rank):
        d = int_at(dims, k)
        if d < 0:
            d += self.rank
        if d < 0 or d >= self.rank or (seen >> d) & 1 != 0:
            release(t)
            d = wrapped_dim(int_at(dims, k), self.rank)
            fail("RuntimeError", "permute(): duplicate dims are not allowed.")
        seen = seen | (1 << d)
        t.sizes[k] = self.sizes[d]
        t.strides[k] = self.strides[d]
    finish(t)
    return t


@kernel(extern=True)
def reverse_dims(self: Tensor) -> Tensor:
    """All dimensions in reverse order."""
    t = new_view(self, self.rank, 0)
    for k in range(self.rank):
        t.sizes[k] = self.sizes[self.rank - 1 - k]
        t.strides[k] = self.strides[self.rank - 1 - k]
    finish(t)
    return t


@kernel(extern=True)
def expand(self: Tensor, rank: i64, sizes: ptr[i64]) -> Tensor:
    """Dimensions of size 1 repeated without copying; -1 keeps a size."""
    if rank < self.rank:
        fail(
            "RuntimeError", "expand: the number of sizes provided ({}) must be greater or equal to the number of dimensions in the tensor ({})", rank, self.rank
        )
    shift = rank - self.rank
    for k in range(rank):
        wanted = sizes[k]
        if k < shift:
            check(wanted >= 0, "RuntimeError", "The expanded size of the tensor ({}) isn't allowed in a leading, non-existing dimension {}", wanted, k)
        elif wanted != -1 and wanted != self.sizes[k - shift]:
            check(
                self.sizes[k - shift] == 1,
                "RuntimeError",
                "The expanded size of the tensor ({}) must match the existing size ({}) at non-singleton dimension {}.",
                wanted,
                self.sizes[k - shift],
                k,
            )
            check(wanted >= 0, "RuntimeError", "The expanded size of the tensor ({}) isn't allowed", wanted)
    t = new_view(self, rank, 0)
    for k in range(rank):
        at = rank - 1 - k
        if at < shift:
            t.sizes[at] = sizes[at]
            t.strides[at] = 0
        else:
            size = self.sizes[at - shift]
            t.sizes[at] = size if sizes[at] == -1 else sizes[at]
            t.strides[at] = self.strides[at - shift] if t.sizes[at] == size else 0
    finish(t)
    return t


@kernel(extern=True)
def diagonal(self: Tensor, offset: i64, dim1: i64, dim2: i64) -> Tensor:
    """The diagonal of two dimensions, as a last dimension."""
    a, b = wrapped_dim(dim1, self.rank), wrapped_dim(dim2, self.rank)
    check(a != b, "RuntimeError", "diagonal dimensions cannot be identical {}, {}", dim1, dim2)
    rows, columns = self.sizes[a], self.sizes[b]
    shift = minimum(maximum(offset, -(1 << 40)), 1 << 40)
    length = minimum(rows, columns - shift) if shift >= 0 else minimum(rows + shift, columns)
    length = maximum(length, 0)
    start = 0
    if length > 0:
        start = shift * self.strides[b] if shift >= 0 else -shift * self.strides[a]
    t = new_view(self, self.rank - 1, start)
    at = 0
    for d in range(self.rank):
        if d != a and d != b:
            t.sizes[at] = self.sizes[d]
            t.strides[at] = self.strides[d]
            at += 1
    t.sizes[at] = length
    t.strides[at] = self.strides[a] + self.strides[b]
    finish(t)
    return t


@kernel(extern=True)
def unfold(self: Tensor, dim: i64, size: i64, step: i64) -> Tensor:
    """Windows of `size` elements of a dimension, `step` apart, as a last dimension."""
    d = wrapped_dim(dim, self.rank)
    length = self.sizes[d] if self.rank > 0 else 1
    stride = self.strides[d] if self.rank > 0 else 1
    check(size >= 0 and size <= length, "RuntimeError", "maximum size for tensor at dimension {} is {} but size is {}", d, length, size)
    check(step > 0, "RuntimeError", "step is {} but must be > 0", step)
    t = new_view(self, self.rank + 1, 0)
    for k in range(self.rank):
        t.sizes[k] = self.sizes[k]
        t.strides[k] = self.strides[k]
    if self.rank > 0:
        t.sizes[d] = (length - size) // step + 1
        t.strides[d] = stride * minimum(step, length + 1)
    t.sizes[self.rank] = size
    t.strides[self.rank] = stride
    finish(t)
    return t


# ---- view and reshape -----------------------------------------------------------------------------------------------


@kernel
def inferred_sizes(numel: i64, rank: i64, wanted: ptr[i64], sizes: ptr[i64]) -> None:
    """The sizes of a view, with the one -1 filled in."""
    check(rank <= MAX_RANK, "RuntimeError", "a tensor has at most 8 dimensions, not {}", rank)
    known = 1
    open_dim = -1
    for k in range(rank):
        size = wanted[k]
        sizes[k] = size
        if size == -1:
            check(open_dim == -1, "RuntimeError", "only one dimension can be inferred")
            open_dim = k
        else:
            check(size >= 0, "RuntimeError", "invalid shape dimension {}", size)
            known = minimum(known * size, 1 << 40) if size < 1 << 22 or known < 1 << 22 else 1 << 40
    if open_dim >= 0:
        if known == 0:
            check(
                False,
                "RuntimeError",
                "cannot reshape tensor of 0 elements into shape {} because the unspecified dimension size -1 can be any value and is ambiguous",
                text(list_text(rank, wanted)),
            )
        check(known > 0 and numel % maximum(known, 1) == 0, "RuntimeError", "shape '{}' is invalid for input of size {}", text(list_text(rank, wanted)), numel)
        sizes[open_dim] = numel // maximum(known, 1)
    else:
        check(known == numel, "RuntimeError", "shape '{}' is invalid for input of size {}", text(list_text(rank, wanted)), numel)


@kernel
def view_strides(self: Tensor, rank: i64, sizes: ptr[i64], strides: ptr[i64]) -> b1:
    """The strides of a view of other sizes, if there is one: each run of dimensions without gaps is cut up anew."""
    if self.numel == 0:
        step = 1
        for k in range(rank):
            at = rank - 1 - k
            strides[at] = step
            step = step * maximum(sizes[at], 1)
        return True
    fits = True
    at = rank - 1
    base = 1
    if self.rank > 0:
        base = self.strides[self.rank - 1]
    run, made = 1, 1
    for back in range(self.rank):
        d = self.rank - 1 - back
        run = run * self.sizes[d]
        ends = d == 0
        if not ends:
            ends = self.sizes[d - 1] != 1 and self.strides[d - 1] != run * base
        if ends:
            while at >= 0 and (made < run or sizes[at] == 1):
                strides[at] = made * base
                made = made * sizes[at]
                at -= 1
            if made != run:
                fits = False
            if d > 0:
                base = self.strides[d - 1]
                run = 1
                made = 1
    if self.rank == 0:
        for k in range(rank):
            strides[k] = 1
        return True
    return fits and at == -1


@kernel
def viewed(self: Tensor, rank: i64, sizes: ptr[i64], strides: ptr[i64]) -> Tensor:
    """A view with these sizes and strides."""
    t = new_view(self, rank, 0)
    for k in range(rank):
        t.sizes[k] = sizes[k]
        t.strides[k] = strides[k]
    finish(t)
    return t


@kernel(extern=True)
def view(self: Tensor, rank: i64, wanted: ptr[i64]) -> Tensor:
    """The same elements in order under other sizes, without copying."""
    sizes, strides = local(i64, MAX_RANK), local(i64, MAX_RANK)
    inferred_sizes(self.numel, rank, wanted, sizes)
    fits = view_strides(self, rank, sizes, strides)
    check(
        fits,
        "RuntimeError",
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead.",
    )
    return viewed(self, rank, sizes, strides)


@kernel(extern=True)
def reshape(self: Tensor, rank: i64, wanted: ptr[i64]) -> Tensor:
    """As `view`, copying where there is no such view."""
    sizes, strides = local(i64, MAX_RANK), local(i64, MAX_RANK)
    inferred_sizes(self.numel, rank, wanted, sizes)
    fits = view_strides(self, rank, sizes, strides)
    if fits:
        return viewed(self, rank, sizes, strides)
    dense = contiguous_copy(self)
    result = view(dense, rank, sizes)
    release(dense)
    return result


@kernel(extern=True)
def contiguous_copy(self: Tensor) -> Tensor:
    """A new row-major tensor with the same elements."""
    t = empty(self.rank, self.sizes, self.dtype)
    copy_into(t, self)
    return t


@kernel
def contiguous(self: Tensor) -> Tensor:
    """The tensor itself, retained, if it is row-major; else a copy."""
    if self.flags & CONTIGUOUS != 0:
        retain(self)
        return self
    return contiguous_copy(self)


@kernel(extern=True)
def flatten(self: Tensor, start: i64, end: i64) -> Tensor:
    """Dimensions `start` to `end` as one."""
    first, last = wrapped_dim(start, self.rank), wrapped_dim(end, self.rank)
    check(first <= last, "RuntimeError", "flatten() has invalid args: start_dim cannot come after end_dim")
    sizes = local(i64, MAX_RANK)
    if self.rank == 0:
        sizes[0] = 1
        return reshape(self, 1, sizes)
    if first == last:
        retain(self)
        return self
    product = 1
    at = 0
    for d in range(self.rank):
        if d < first or d > last:
            sizes[at] = self.sizes[d]
            at += 1
        else:
            product = product * self.sizes[d]
            if d == last:
                sizes[at] = product
                at += 1
    return reshape(self, at, sizes)


@kernel(extern=True)
def unflatten(self: Tensor, dim: i64, sizes: Ints) -> Tensor:
    """One dimension as several."""
    d = wrapped_dim(dim, self.rank)
    check(sizes.length > 0, "RuntimeError", "unflatten: sizes must be non-empty")
    check(self.rank + sizes.length - 1 <= MAX_RANK, "RuntimeError", "a tensor has at most 8 dimensions, not {}", self.rank + sizes.length - 1)
    inner = local(i64, MAX_RANK)
    inferred_sizes(self.sizes[d], sizes.length, cast(ptr[i64], sizes.data), inner)
    made = local(i64, MAX_RANK)
    at = 0
    for k in range(self.rank):
        if k != d:
            made[at] = self.sizes[k]
            at += 1
        else:
            for j in range(sizes.length):
                made[at] = inner[j]
                at += 1
    return view(self, at, made)


@kernel
def same(self: Tensor) -> Tensor:
    """The tensor itself, retained."""
    retain(self)
    return self
