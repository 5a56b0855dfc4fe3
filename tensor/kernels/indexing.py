"""Indexing by tensors: reading, writing, masks, `gather`, `scatter`, `index_select`, `take`.

``index`` turns its index tensors into one row of byte offsets, one for each element of their broadcast shape; what is left of the
indexed tensor (the dimensions that no tensor indexes) is copied from, or to, each offset.
"""

from __future__ import annotations

from typing import Any

from jitlang.codegen.library.layout import List
from jitlang.frontend.kernel import array, b1, cast, check, fail, i32, i64, kernel, local, memcpy, null, ptr, sizeof, struct, text, u8
from jitlang.tensor.kernels.creation import check_fits
from jitlang.tensor.kernels.iteration import broadcast_into, run
from jitlang.tensor.kernels.pointwise import cast_function, cast_tensor, dtype_text, writing
from jitlang.tensor.kernels.scalars import load_float, load_int, store_float, store_int
from jitlang.tensor.kernels.stack_views import begin_view, keep_dims, put_dim, put_new_dim
from jitlang.tensor.kernels.tensors import empty, finish, list_text, release, retain, shape_text, tensor_at
from jitlang.tensor.kernels.views import contiguous, expand, from_start, select, transpose
from jitlang.tensor.layout import BOOL, INT32, INT64, MAX_RANK, NUMBER, UINT8, Iteration, TensorImpl
from jitlang.tensor.promotion import is_float, item_bytes

Tensor = ptr[TensorImpl]
FINE = 1 << 62


@struct
class IndexPlan:
    """An index, worked out: byte offsets of shape `shape`, the dimensions that are left, and where in the result they stand."""

    offsets: ptr[i64]
    count: i64
    holder: Tensor
    rank: i64
    sizes: array[i64, MAX_RANK]
    left: i64
    left_sizes: array[i64, MAX_RANK]
    left_strides: array[i64, MAX_RANK]
    before: i64


# ---- nonzero ------------------------------------------------------------------------------------------------------


@kernel(extern=True)
def as_bools(self: Tensor) -> Tensor:
    """A row-major tensor of bools."""
    if self.dtype == BOOL:
        return contiguous(self)
    made = cast_tensor(self, BOOL)
    dense = contiguous(made)
    release(made)
    return dense


@kernel(extern=True)
def nonzero(self: Tensor) -> Tensor:
    """The places of the elements that are not zero, one a row."""
    bools = as_bools(self)
    flags = bools.data
    count = 0
    for i in range(bools.numel):
        count += i64(flags[i])
    sizes = local(i64, 2)
    sizes[0], sizes[1] = self.rank, count
    columns = empty(2, sizes, INT64)
    out = cast(ptr[i64], columns.data)
    at = local(i64, MAX_RANK)
    for d in range(MAX_RANK):
        at[d] = 0
    row = 0
    for i in range(bools.numel):
        if flags[i] != 0:
            for d in range(self.rank):
                out[d * count + row] = at[d]
            row += 1
        for back in range(self.rank):
            d = self.rank - 1 - back
            at[d] = at[d] + 1
            if at[d] < self.sizes[d]:
                break
            at[d] = 0
    release(bools)
    result = transpose(columns, 0, 1)
    release(columns)
    return result


@kernel(extern=True)
def masked_select(self: Tensor, mask: Tensor) -> Tensor:
    """The elements where a mask of the same shape, row-major, holds; in order."""
    bools = as_bools(mask)
    dense = contiguous(self)
    item = item_bytes(self.dtype)
    count = 0
    for i in range(bools.numel):
        count += i64(bools.data[i])
    size = local(i64, 1)
    size[0] = count
    result = empty(1, size, self.dtype)
    at = 0
    for i in range(bools.numel):
        if bools.data[i] != 0:
            copy_item(result.data + at * item, dense.data + i * item, item)
            at += 1
    release(dense)
    release(bools)
    return result


@kernel
def copy_item(target: ptr[u8], source: ptr[u8], item: i64) -> None:
    """Copies one element."""
    if item == 8:
        cast(ptr[i64], target)[0] = cast(ptr[i64], source)[0]
    elif item == 4:
        cast(ptr[i32], target)[0] = cast(ptr[i32], source)[0]
    else:
        target[0] = source[0]


# ---- the plan of an index -------------------------------------------------------------------------------------------


@kernel
def is_mask(t: Tensor) -> Any:
    """Whether an index tensor is a mask."""
    return t.dtype == BOOL or t.dtype == UINT8


@kernel(extern=True)
def check_index(self: Tensor, indices: ptr[List]) -> None:
    """Refuses index tensors that do not fit, before anything is allocated."""
    dim = 0
    for i in range(indices.length):
        t = tensor_at(indices, i)
        if t == null(Tensor):
            dim += 1
        elif is_mask(t):
            for k in range(t.rank):
                check(dim < self.rank, "IndexError", "too many indices for tensor of dimension {}", self.rank)
                if t.sizes[k] != self.sizes[dim]:
                    fail(
                        "IndexError",
                        "The shape of the mask {} at index {} does not match the shape of the indexed tensor {} at index {}",
                        text(shape_text(t)),
                        k,
                        text(shape_text(self)),
                        dim,
                    )
                dim += 1
        else:
            check(t.dtype == INT64 or t.dtype == INT32, "IndexError", "tensors used as indices must be long, int, byte or bool tensors")
            dim += 1
    check(dim <= self.rank, "IndexError", "too many indices for tensor of dimension {}", self.rank)


@kernel
def column(places: Tensor, k: i64) -> Tensor:
    """Column k of the result of `nonzero`, row-major."""
    one = select(places, 1, k)
    dense = contiguous(one)
    release(one)
    return dense


@kernel
def spread_indices(self: Tensor, indices: ptr[List], by_dim: ptr[Tensor]) -> None:
    """The index tensor of each dimension, owned (null where there is none); masks become the places where they hold."""
    for d in range(MAX_RANK):
        by_dim[d] = null(Tensor)
    dim = 0
    for i in range(indices.length):
        t = tensor_at(indices, i)
        if t == null(Tensor):
            dim += 1
        elif is_mask(t):
            places = nonzero(t)
            for k in range(t.rank):
                by_dim[dim] = column(places, k)
                dim += 1
            release(places)
        else:
            by_dim[dim] = cast_tensor(t, INT64)
            dim += 1


@kernel
def drop_all(by_dim: ptr[Tensor]) -> None:
    """Frees the index tensors."""
    for d in range(MAX_RANK):
        if by_dim[d] != null(Tensor):
            release(by_dim[d])


@kernel
def broadcasts(it: ptr[Iteration], by_dim: ptr[Tensor]) -> b1:
    """Works out the broadcast shape of the index tensors; says whether there is one."""
    it.rank = 0
    fits = True
    for d in range(MAX_RANK):
        t = by_dim[d]
        if t != null(Tensor):
            common = t.rank if t.rank < it.rank else it.rank
            for k in range(common):
                x, y = t.sizes[t.rank - 1 - k], it.sizes[it.rank - 1 - k]
                if x != y and x != 1 and y != 1:
                    fits = False
            if fits:
                broadcast_into(it, t)
    return fits


@kernel
def add_offsets(plan: ptr[IndexPlan], it: ptr[Iteration], t: Tensor, size: i64, step: i64) -> i64:
    """Adds index tensor * step to the offsets; returns an index that is out of range, or FINE where none is."""
    wide = expand(t, it.rank, it.sizes)
    dense = contiguous(wide)
    release(wide)
    items = cast(ptr[i64], dense.data)
    bad = FINE
    for b in range(plan.count):
        at = items[b]
        if at < -size or at >= size:
            bad = at
        else:
            plan.offsets[b] = plan.offsets[b] + from_start(at, size) * step
    release(dense)
    return bad


@struct
class Widened:
    """A tensor with a dimension of size 1 for each mask without dimensions, and the index that takes its element or none."""

    view: array[TensorImpl, 1]
    list: array[List, 1]
    tensors: array[ptr[u8], MAX_RANK]
    flags: array[TensorImpl, MAX_RANK]
    zero: array[i64, 1]


@kernel
def widen(self: Tensor, indices: ptr[List], w: ptr[Widened]) -> b1:
    """Fills `w`, where the index, which was checked, has a mask without dimensions; says whether."""
    masks = 0
    for i in range(indices.length):
        t = tensor_at(indices, i)
        masks += i64(t != null(Tensor) and is_mask(t) and t.rank == 0)
    if masks == 0:
        return False
    begin_view(w.view, self)
    w.list.data = cast(ptr[u8], w.tensors)
    w.list.length = 0
    w.zero[0] = 0
    d = 0
    for i in range(indices.length):
        t = tensor_at(indices, i)
        takes = 1
        if t != null(Tensor) and is_mask(t):
            takes = t.rank
        check(w.list.length < MAX_RANK, "RuntimeError", "a tensor has at most 8 dimensions, not {}", indices.length)
        if takes == 0:
            flag = w.flags + i
            begin_view(flag, t)
            flag.dtype = INT64
            flag.data = cast(ptr[u8], w.zero)
            put_dim(flag, i64(t.data[0] != 0), 1)
            finish(flag)
            t = flag
            put_new_dim(w.view, self, d)
        else:
            keep_dims(w.view, self, d, takes)
            d += takes
        w.tensors[i] = cast(ptr[u8], t)
        w.list.length = w.list.length + 1
    keep_dims(w.view, self, d, self.rank - d)
    finish(w.view)
    return True


@kernel(extern=True)
def plan_index(self: Tensor, indices: ptr[List], plan: ptr[IndexPlan]) -> None:
    """Works out an index. The caller releases ``plan.holder``."""
    check_index(self, indices)
    w = local(Widened, 1)
    if widen(self, indices, w):
        self = w.view
        indices = w.list
    by_dim = local(Tensor, MAX_RANK)
    spread_indices(self, indices, by_dim)
    it = local(Iteration, 1)
    if not broadcasts(it, by_dim):
        drop_all(by_dim)
        fail("IndexError", "shape mismatch: indexing tensors could not be broadcast together")
    plan.holder = empty(it.rank, it.sizes, INT64)
    plan.offsets = cast(ptr[i64], plan.holder.data)
    plan.count = plan.holder.numel
    plan.rank = it.rank
    for d in range(it.rank):
        plan.sizes[d] = it.sizes[d]
    for b in range(plan.count):
        plan.offsets[b] = 0
    item = item_bytes(self.dtype)
    first, last, used = -1, -1, 0
    left = 1  # elements for each index; where there are none, it does not matter what the indices are
    for d in range(self.rank):
        if by_dim[d] == null(Tensor):
            left = left * self.sizes[d]
    plan.left = 0
    plan.before = 0
    for d in range(self.rank):
        t = by_dim[d]
        if t == null(Tensor):
            plan.left_sizes[plan.left] = self.sizes[d]
            plan.left_strides[plan.left] = self.strides[d]
            plan.left = plan.left + 1
        else:
            if first < 0:
                first = d
                plan.before = plan.left
            last = d
            used += 1
            bad = add_offsets(plan, it, t, self.sizes[d], self.strides[d] * item)
            if bad != FINE and (left > 0 or self.sizes[d] == 0):
                drop_all(by_dim)
                release(plan.holder)
                fail("IndexError", "index {} is out of bounds for dimension {} with size {}", bad, d, self.sizes[d])
    drop_all(by_dim)
    # Index tensors with dimensions between them go to the front.
    if last - first + 1 != used:
        plan.before = 0


@kernel
def result_shape(plan: ptr[IndexPlan], sizes: ptr[i64]) -> i64:
    """The shape of what is read; returns its rank."""
    rank = plan.left + plan.rank
    check(rank <= MAX_RANK, "RuntimeError", "a tensor has at most 8 dimensions, not {}", rank)
    at = 0
    for d in range(plan.before):
        sizes[at] = plan.left_sizes[d]
        at += 1
    for d in range(plan.rank):
        sizes[at] = plan.sizes[d]
        at += 1
    for d in range(plan.before, plan.left):
        sizes[at] = plan.left_sizes[d]
        at += 1
    return rank


@kernel
def left_over(plan: ptr[IndexPlan], dense: Tensor, item: i64, it: ptr[Iteration], outward: Any) -> i64:
    """Sets up the loop nest over the dimensions that are left, between the tensor and a dense one; returns the dense step of an index."""
    it.count = 2
    it.rank = plan.left
    dense_at = 1 if outward else 0
    step = 1
    for back in range(plan.left - plan.before):
        d = plan.left - 1 - back
        it.sizes[back] = plan.left_sizes[d]
        it.strides[dense_at * MAX_RANK + back] = step * item
        it.strides[(1 - dense_at) * MAX_RANK + back] = plan.left_strides[d] * item
        step = step * plan.left_sizes[d]
    per_index = step
    step = step * plan.count
    for back in range(plan.before):
        d = plan.before - 1 - back
        at = plan.left - plan.before + back
        it.sizes[at] = plan.left_sizes[d]
        it.strides[dense_at * MAX_RANK + at] = step * item
        it.strides[(1 - dense_at) * MAX_RANK + at] = plan.left_strides[d] * item
        step = step * plan.left_sizes[d]
    return per_index * item


@kernel
def moved(self: Tensor, plan: ptr[IndexPlan], dense: Tensor, outward: Any) -> None:
    """Copies between what the index names (`self`) and a dense tensor of the result's shape; outward is to `self`."""
    item = item_bytes(self.dtype)
    loop = cast_function(self.dtype, self.dtype)
    it = local(Iteration, 1)
    step = left_over(plan, dense, item, it, outward)
    total = 1
    for d in range(it.rank):
        total = total * it.sizes[d]
    if total == 1:
        for b in range(plan.count):
            if outward:
                copy_item(self.data + plan.offsets[b], dense.data + b * item, item)
            else:
                copy_item(dense.data + b * item, self.data + plan.offsets[b], item)
        return
    if total == 0:
        return
    kept = local(Iteration, 1)
    memcpy(kept, it, sizeof(Iteration))
    for b in range(plan.count):
        memcpy(it, kept, sizeof(Iteration))
        if outward:
            it.data[0] = self.data + plan.offsets[b]
            it.data[1] = dense.data + b * step
        else:
            it.data[0] = dense.data + b * step
            it.data[1] = self.data + plan.offsets[b]
        run(loop, it)


@kernel(extern=True)
def index(self: Tensor, indices: ptr[List]) -> Tensor:
    """``self[indices]``."""
    plan = local(IndexPlan, 1)
    plan_index(self, indices, plan)
    sizes = local(i64, MAX_RANK)
    rank = result_shape(plan, sizes)
    result = empty(rank, sizes, self.dtype)
    moved(self, plan, result, False)
    release(plan.holder)
    return result


@kernel
def may_put(self: Tensor, indices: ptr[List], values: Tensor) -> b1:
    """Whether values have the right dtype. A Python number is converted, and so is a single value for a mask, as of `masked_fill_`."""
    if values.flags & NUMBER != 0 or values.dtype == self.dtype:
        return True
    masks = 0
    others = 0
    for i in range(indices.length):
        t = tensor_at(indices, i)
        if t != null(Tensor):
            if is_mask(t) and t.rank > 0:
                masks += 1
            else:
                others += 1
    return values.numel == 1 and masks == 1 and others == 0


@kernel(extern=True)
def index_put(self: Tensor, indices: ptr[List], values: Tensor, accumulate: i64) -> Tensor:
    """``self[indices] = values``; returns `self`, retained."""
    if values.flags & NUMBER != 0:
        check_fits(self.dtype, values)
    plan = local(IndexPlan, 1)
    plan_index(self, indices, plan)
    if not may_put(self, indices, values):
        release(plan.holder)
        fail(
            "RuntimeError",
            "Index put requires the source and destination dtypes match, got {} for the destination and {} for the source.",
            text(dtype_text(self.dtype)),
            text(dtype_text(values.dtype)),
        )
    sizes = local(i64, MAX_RANK)
    rank = result_shape(plan, sizes)
    fits = values.rank <= rank
    if fits:
        for k in range(values.rank):
            have, want = values.sizes[values.rank - 1 - k], sizes[rank - 1 - k]
            fits = fits and (have == want or have == 1)
    if not fits:
        release(plan.holder)
        fail(
            "RuntimeError",
            "shape mismatch: value tensor of shape {} cannot be broadcast to indexing result of shape {}",
            text(shape_text(values)),
            text(list_text(rank, sizes)),
        )
    writing(self)
    typed = cast_tensor(values, self.dtype)
    wide = expand(typed, rank, sizes)
    dense = contiguous(wide)
    release(wide)
    release(typed)
    if accumulate != 0:
        accumulated(self, plan, dense)
    else:
        moved(self, plan, dense, True)
    release(dense)
    release(plan.holder)
    retain(self)
    return self


@kernel
def accumulated(self: Tensor, plan: ptr[IndexPlan], dense: Tensor) -> None:
    """Adds a dense tensor of the result's shape to what the index names, one element after the other."""
    item = item_bytes(self.dtype)
    it = local(Iteration, 1)
    step = left_over(plan, dense, item, it, True)
    at = local(i64, MAX_RANK)
    total = 1
    for d in range(it.rank):
        total = total * it.sizes[d]
    for b in range(plan.count):
        target = self.data + plan.offsets[b]
        source = dense.data + b * step
        for d in range(MAX_RANK):
            at[d] = 0
        for _ in range(total):
            add_item(target, source, self.dtype)
            for d in range(it.rank):
                at[d] = at[d] + 1
                target = target + it.strides[d]
                source = source + it.strides[MAX_RANK + d]
                if at[d] < it.sizes[d]:
                    break
                target = target - it.strides[d] * it.sizes[d]
                source = source - it.strides[MAX_RANK + d] * it.sizes[d]
                at[d] = 0


@kernel
def add_item(target: ptr[u8], source: ptr[u8], dtype: i64) -> None:
    """Adds one element to another."""
    if is_float(dtype) == 1:
        store_float(target, dtype, load_float(target, dtype) + load_float(source, dtype))
    else:
        store_int(target, dtype, load_int(target, dtype) + load_int(source, dtype))
