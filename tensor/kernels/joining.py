"""Tensors from tensors: joined, repeated, mirrored, padded."""

from __future__ import annotations

from jitlang.codegen.library.layout import List
from jitlang.frontend.kernel import b1, check, fail, i64, kernel, local, maximum, ptr, text
from jitlang.tensor.kernels.iteration import same_shape
from jitlang.tensor.kernels.pointwise import copy_into
from jitlang.tensor.kernels.scalars import store_int
from jitlang.tensor.kernels.tensors import empty, finish, int_at, new_view, release, retain, shape_text, tensor_at
from jitlang.tensor.kernels.views import contiguous, copy_layout, slice_dim, unsqueeze, view, wrapped_dim
from jitlang.tensor.layout import INT64, MAX_RANK, UNDEFINED, TensorImpl
from jitlang.tensor.promotion import combine, item_bytes, promote

Tensor = ptr[TensorImpl]


@kernel(extern=True)
def joined_list_dtype(items: ptr[List]) -> i64:
    """The common dtype of the tensors in a list."""
    full, single = UNDEFINED, UNDEFINED
    for i in range(items.length):
        t = tensor_at(items, i)
        if t.rank > 0:
            full = promote(full, t.dtype)
        else:
            single = promote(single, t.dtype)
    return combine(full, single)


@kernel
def is_skipped(t: Tensor) -> b1:
    """Whether `cat` passes over a tensor: an empty vector fits beside anything."""
    return t.rank == 1 and t.sizes[0] == 0


@kernel(extern=True)
def cat(items: ptr[List], dim: i64) -> Tensor:
    """Tensors one after the other along a dimension."""
    check(items.length > 0, "ValueError", "torch.cat(): expected a non-empty list of Tensors")
    like = tensor_at(items, 0)
    for i in range(items.length):
        t = tensor_at(items, i)
        check(t.rank > 0, "RuntimeError", "zero-dimensional tensor (at position {}) cannot be concatenated", i)
        if is_skipped(like):
            like = t
    d = wrapped_dim(dim, like.rank)
    sizes = local(i64, MAX_RANK)
    for k in range(like.rank):
        sizes[k] = like.sizes[k]
    sizes[d] = 0
    for i in range(items.length):
        t = tensor_at(items, i)
        if not is_skipped(t):
            check(t.rank == like.rank, "RuntimeError", "Tensors must have same number of dimensions: got {} and {}", like.rank, t.rank)
            for k in range(like.rank):
                if k != d and t.sizes[k] != like.sizes[k]:
                    fail(
                        "RuntimeError",
                        "Sizes of tensors must match except in dimension {}. Expected size {} but got size {} for tensor number {} in the list.",
                        d,
                        like.sizes[k],
                        t.sizes[k],
                        i,
                    )
            sizes[d] = sizes[d] + t.sizes[d]
    result = empty(like.rank, sizes, joined_list_dtype(items))
    if result.numel == 0:
        return result
    start = 0
    for i in range(items.length):
        t = tensor_at(items, i)
        if not is_skipped(t):
            part = slice_dim(result, d, start, start + t.sizes[d], 1)
            copy_into(part, t)
            release(part)
            start += t.sizes[d]
    return result


@kernel(extern=True)
def stack(items: ptr[List], dim: i64) -> Tensor:
    """Tensors of one shape along a new dimension."""
    check(items.length > 0, "RuntimeError", "stack expects a non-empty TensorList")
    like = tensor_at(items, 0)
    d = wrapped_dim(dim, like.rank + 1)
    for i in range(items.length):
        t = tensor_at(items, i)
        if not same_shape(t, like):
            fail(
                "RuntimeError",
                "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {}",
                text(shape_text(like)),
                text(shape_text(t)),
                i,
            )
    check(like.rank < MAX_RANK, "RuntimeError", "a tensor has at most 8 dimensions, not {}", like.rank + 1)
    sizes = local(i64, MAX_RANK)
    for k in range(like.rank + 1):
        sizes[k] = items.length if k == d else like.sizes[k - 1 if k > d else k]
    result = empty(like.rank + 1, sizes, joined_list_dtype(items))
    for i in range(items.length):
        place = one_of(result, d, i)
        copy_into(place, tensor_at(items, i))
        release(place)
    return result


@kernel
def one_of(t: Tensor, d: i64, at: i64) -> Tensor:
    """Element `at` of dimension `d` as a view."""
    made = new_view(t, t.rank - 1, at * t.strides[d])
    for k in range(made.rank):
        source = k + 1 if k >= d else k
        made.sizes[k] = t.sizes[source]
        made.strides[k] = t.strides[source]
    finish(made)
    return made


@kernel(extern=True)
def repeat(self: Tensor, repeats: ptr[List]) -> Tensor:
    """The tensor side by side with itself, so many times along each dimension."""
    rank = repeats.length
    check(rank >= self.rank, "RuntimeError", "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    check(rank <= MAX_RANK, "RuntimeError", "a tensor has at most 8 dimensions, not {}", rank)
    sizes = local(i64, MAX_RANK)
    shift = rank - self.rank
    for k in range(rank):
        own = self.sizes[k - shift] if k >= shift else 1
        times = int_at(repeats, k)
        check(times >= 0, "RuntimeError", "Trying to create tensor with negative dimension {}", times * own)
        check(times < 1 << 40, "MemoryError", "out of memory: cannot repeat a tensor {} times", times)
        sizes[k] = own * times
    result = empty(rank, sizes, self.dtype)
    fill_tiles(result, self, shift)
    return result


@kernel
def fill_tiles(result: Tensor, self: Tensor, shift: i64) -> None:
    """Copies the tensor to each tile of the result."""
    if result.numel == 0:
        return
    at = local(i64, MAX_RANK)
    total = 1
    for k in range(result.rank):
        at[k] = 0
        own = self.sizes[k - shift] if k >= shift else 1
        total = total * (result.sizes[k] // own)
    tile = new_view(result, result.rank, 0)
    copy_layout(tile, result)
    for k in range(result.rank):
        tile.sizes[k] = self.sizes[k - shift] if k >= shift else 1
    finish(tile)
    for _ in range(total):
        copy_into(tile, self)
        for back in range(result.rank):
            k = result.rank - 1 - back
            step = tile.sizes[k] * result.strides[k] * item_bytes(self.dtype)
            at[k] = at[k] + 1
            tile.data = tile.data + step
            if at[k] < result.sizes[k] // tile.sizes[k]:
                break
            tile.data = tile.data - step * at[k]
            at[k] = 0
    release(tile)


@kernel(extern=True)
def flip(self: Tensor, mask: i64) -> Tensor:
    """The elements of the dimensions in `mask` in reverse order."""
    result = empty(self.rank, self.sizes, self.dtype)
    if self.numel == 0:
        return result
    # A view that runs backwards: strides may be negative within the runtime, never in a tensor that a script sees.
    back = new_view(self, self.rank, 0)
    copy_layout(back, self)
    for d in range(self.rank):
        if (mask >> d) & 1 != 0:
            back.data = back.data + (self.sizes[d] - 1) * self.strides[d] * item_bytes(self.dtype)
            back.strides[d] = -self.strides[d]
    back.flags = 0
    copy_into(result, back)
    release(back)
    return result


@kernel(extern=True)
def roll(self: Tensor, shift: i64, dim: i64) -> Tensor:
    """The elements of a dimension moved on, those at the end to the front."""
    d = wrapped_dim(dim, self.rank)
    result = empty(self.rank, self.sizes, self.dtype)
    if self.numel == 0 or self.rank == 0:
        copy_into(result, self)
        return result
    size = self.sizes[d]
    by = shift % size
    move_part(result, by, self, 0, size - by, d)
    move_part(result, 0, self, size - by, by, d)
    return result


@kernel
def move_part(result: Tensor, to: i64, self: Tensor, from_: i64, length: i64, d: i64) -> None:
    """Copies a stretch of a dimension."""
    target = slice_dim(result, d, to, to + length, 1)
    source = slice_dim(self, d, from_, from_ + length, 1)
    copy_into(target, source)
    release(source)
    release(target)


# ---- padding ------------------------------------------------------------------------------------------------------


@kernel
def check_pad(self: Tensor, pad: ptr[List]) -> None:
    """Refuses paddings of an odd number of entries, or for more dimensions than there are."""
    check(pad.length % 2 == 0, "RuntimeError", "Padding length must be divisible by 2")
    check(
        pad.length // 2 <= self.rank,
        "RuntimeError",
        "Padding length should be less than or equal to two times the input dimension. Got padding length {} and input of dimension {}",
        pad.length,
        self.rank,
    )
    for i in range(pad.length // 2):
        d = self.rank - 1 - i
        before, after = int_at(pad, 2 * i), int_at(pad, 2 * i + 1)
        check(
            before < 1 << 40 and after < 1 << 40 and before > -(1 << 40) and after > -(1 << 40),
            "MemoryError",
            "out of memory: padding {}, {} is too large",
            before,
            after,
        )
        size = self.sizes[d] + before + after
        check(
            size >= 0,
            "RuntimeError",
            "The input size {}, plus negative padding {} and {}, resulted in a negative output size, which is invalid. Check dimension {} of your input.",
            self.sizes[d],
            before,
            after,
            d,
        )


@kernel(extern=True)
def pad_constant(self: Tensor, pad: ptr[List], value: Tensor) -> Tensor:
    """A border of one value around the tensor; negative widths cut."""
    check_pad(self, pad)
    sizes = local(i64, MAX_RANK)
    for k in range(self.rank):
        sizes[k] = self.sizes[k]
    for i in range(pad.length // 2):
        sizes[self.rank - 1 - i] = self.sizes[self.rank - 1 - i] + int_at(pad, 2 * i) + int_at(pad, 2 * i + 1)
    result = empty(self.rank, sizes, self.dtype)
    copy_into(result, value)
    retain(result)
    retain(self)
    inner, source = result, self
    for i in range(pad.length // 2):
        d = self.rank - 1 - i
        before, after = int_at(pad, 2 * i), int_at(pad, 2 * i + 1)
        inner = narrowed(inner, d, maximum(before, 0), maximum(after, 0))
        source = narrowed(source, d, maximum(-before, 0), maximum(-after, 0))
    copy_into(inner, source)
    release(inner)
    release(source)
    return result


@kernel
def narrowed(t: Tensor, d: i64, before: i64, after: i64) -> Tensor:
    """The view without so many elements at both ends of a dimension; takes over the reference to `t`."""
    made = slice_dim(t, d, before, maximum(t.sizes[d] - after, before), 1)
    release(t)
    return made


REFLECT, REPLICATE, CIRCULAR = 1, 2, 3


@kernel
def source_place(at: i64, size: i64, mode: i64) -> i64:
    """The element that stands at place `at`, counted from the first one, of a padded dimension."""
    if mode == REFLECT:
        if at < 0:
            return -at
        return at if at < size else 2 * (size - 1) - at
    if mode == REPLICATE:
        return 0 if at < 0 else (at if at < size else size - 1)
    return at % size


@kernel
def check_mirror(self: Tensor, pad: ptr[List], mode: i64) -> None:
    """Refuses paddings wider than what they repeat."""
    for i in range(pad.length // 2):
        d = self.rank - 1 - i
        size, before, after = self.sizes[d], int_at(pad, 2 * i), int_at(pad, 2 * i + 1)
        if mode == REFLECT:
            check(
                before < size and after < size,
                "RuntimeError",
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding ({}, {}) at dimension {} of input {}",
                before,
                after,
                d,
                text(shape_text(self)),
            )
        if mode == CIRCULAR:
            check(before <= size and after <= size, "RuntimeError", "Padding value causes wrapping around more than once.")
        check(size > 0 or mode == CIRCULAR, "RuntimeError", "Expected a non-empty input for this padding, got {}", text(shape_text(self)))


@kernel(extern=True)
def padding_places(size: i64, before: i64, after: i64, mode: i64) -> Tensor:
    """For each place of a padded dimension, the element that stands there."""
    length = local(i64, 1)
    length[0] = size + before + after
    made = empty(1, length, INT64)
    for i in range(length[0]):
        store_int(made.data + i * 8, INT64, source_place(i - before, size, mode))
    return made


@kernel(extern=True)
def repeat_interleave(self: Tensor, times: i64, dim: i64) -> Tensor:
    """Each element of a dimension so many times in a row."""
    check(times >= 0, "RuntimeError", "repeats has to be a non-negative number, got {}", times)
    d = wrapped_dim(dim, self.rank)
    check(self.rank < MAX_RANK, "RuntimeError", "a tensor of 8 dimensions cannot be repeated")
    wide = unsqueeze(self, d + 1)
    wide.sizes[d + 1] = times
    wide.strides[d + 1] = 0
    finish(wide)
    dense = contiguous(wide)
    release(wide)
    sizes = local(i64, MAX_RANK)
    for k in range(self.rank):
        sizes[k] = self.sizes[k] * times if k == d else self.sizes[k]
    result = view(dense, self.rank, sizes)
    release(dense)
    return result


@kernel(extern=True)
def diag_embed(self: Tensor, offset: i64, zeros: Tensor) -> Tensor:
    """Writes a vector to a diagonal of a matrix of zeros."""
    size = self.sizes[0]
    step = self.strides[0]
    down, right = maximum(-offset, 0), maximum(offset, 0)
    item = item_bytes(self.dtype)
    for i in range(size):
        target = zeros.data + ((i + down) * zeros.sizes[1] + i + right) * item
        source = self.data + i * step * item
        for byte in range(item):
            target[byte] = source[byte]
    return zeros
