"""Loop nests: broadcasting, the order of dimensions, coalescing, and running a compiled inner loop over all of it.

An inner loop is ``loop(n, data, strides)``: n elements, for each operand (the result first) its address and its stride in
bytes. A nest is planned as PyTorch's TensorIterator plans it, so that results get the same strides.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import (
    call_pointer,
    cast,
    check,
    fail,
    function_pointer,
    i64,
    kernel,
    likely,
    local,
    maximum,
    minimum,
    null,
    ptr,
    struct,
    text,
    u8,
)
from jitlang.tensor.kernels.parallel import GRAIN, SPLIT, share
from jitlang.tensor.kernels.tensors import checked_numel, finish, list_text, new_head, shape_text
from jitlang.tensor.layout import MAX_OPERANDS, MAX_RANK, Iteration, TensorImpl
from jitlang.tensor.promotion import item_bytes
from jitlang.types import VOID


@kernel
def broadcast_into(it: ptr[Iteration], t: ptr[TensorImpl]) -> None:
    """Widens the shape in `it` (outermost dimension first) by the shape of `t`."""
    rank = maximum(it.rank, t.rank)
    shift = rank - it.rank
    if shift > 0:
        for i in range(it.rank):
            at = it.rank - 1 - i
            it.sizes[at + shift] = it.sizes[at]
        for i in range(shift):
            it.sizes[i] = 1
        it.rank = rank
    for i in range(t.rank):
        at = i + rank - t.rank
        size = t.sizes[i]
        known = it.sizes[at]
        if size != known:
            check(
                size == 1 or known == 1,
                "RuntimeError",
                "The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton dimension {}",
                known,
                size,
                at,
            )
            if known == 1:
                it.sizes[at] = size


@kernel
def add_operand(it: ptr[Iteration], k: i64, t: ptr[TensorImpl]) -> None:
    """Enters the strides of operand `k` under the shape of `it`, outermost dimension first."""
    item = item_bytes(t.dtype)
    shift = it.rank - t.rank
    strides = it.strides + k * MAX_RANK
    for d in range(it.rank):
        stride = 0
        if d >= shift:
            if t.sizes[d - shift] != 1 or it.sizes[d] == 1:
                stride = t.strides[d - shift] * item
        strides[d] = stride
    it.data[k] = t.data


@kernel
def compare_dimensions(it: ptr[Iteration], first: i64, a: i64, b: i64) -> i64:
    """Whether dimension `a` should run slower than `b` (1), faster (-1), or no matter (0)."""
    for k in range(first, it.count):
        x = it.strides[k * MAX_RANK + a]
        y = it.strides[k * MAX_RANK + b]
        if x != 0 and y != 0:
            if x < y:
                return -1
            if x > y:
                return 1
            if it.sizes[a] > it.sizes[b]:
                return 1
    return 0


@kernel(extern=True)
def order_dimensions(it: ptr[Iteration], first: i64) -> None:
    """Puts the dimensions fastest first, by the strides of the operands from `first` on; `order` keeps where each was."""
    rank = it.rank
    for d in range(rank):
        it.order[d] = rank - 1 - d
    for i in range(1, rank):
        place = i
        for back in range(i):
            other = i - 1 - back
            found = compare_dimensions(it, first, it.order[other], it.order[place])
            if found > 0:
                kept = it.order[other]
                it.order[other] = it.order[place]
                it.order[place] = kept
                place = other
            elif found < 0:
                break
    sizes = local(i64, MAX_RANK)
    for d in range(rank):
        sizes[d] = it.sizes[d]
    for d in range(rank):
        it.sizes[d] = sizes[it.order[d]]
    for k in range(first, it.count):
        strides = it.strides + k * MAX_RANK
        for d in range(rank):
            sizes[d] = strides[d]
        for d in range(rank):
            strides[d] = sizes[it.order[d]]


@kernel(extern=True)
def allocate_result(it: ptr[Iteration], dtype: i64) -> ptr[TensorImpl]:
    """Makes operand 0: dense, in the order of the nest."""
    item = item_bytes(dtype)
    numel = checked_numel(it.rank, it.sizes, item)
    t = new_head(numel * item, dtype, it.rank)
    stride = 1
    for d in range(it.rank):
        at = it.order[d]
        t.sizes[at] = it.sizes[d]
        t.strides[at] = stride
        it.strides[d] = stride * item
        stride = stride * maximum(it.sizes[d], 1)
    finish(t)
    it.data[0] = t.data
    return t


@kernel
def mergeable(it: ptr[Iteration], a: i64, b: i64) -> Any:
    """Whether dimension `b` continues dimension `a` for all operands."""
    fits = True
    size = it.sizes[a]
    for k in range(it.count):
        if it.strides[k * MAX_RANK + b] != it.strides[k * MAX_RANK + a] * size:
            fits = False
    return fits


@kernel
def coalesce(it: ptr[Iteration]) -> None:
    """Joins neighbouring dimensions that all operands walk through alike; drops those of size 1."""
    kept = 0
    for d in range(1, it.rank):
        if it.sizes[d] == 1:
            continue
        if it.sizes[kept] == 1 or mergeable(it, kept, d):
            if it.sizes[kept] == 1:
                for k in range(it.count):
                    it.strides[k * MAX_RANK + kept] = it.strides[k * MAX_RANK + d]
            it.sizes[kept] = it.sizes[kept] * it.sizes[d]
        else:
            kept += 1
            it.sizes[kept] = it.sizes[d]
            for k in range(it.count):
                it.strides[k * MAX_RANK + kept] = it.strides[k * MAX_RANK + d]
    if it.rank > 0:
        it.rank = kept + 1


@struct
class Nest:
    """A loop nest to be shared among threads."""

    loop: ptr[u8]
    it: ptr[Iteration]
    total: i64


@kernel
def walk(loop: ptr[u8], it: ptr[Iteration], first: i64, last: i64) -> None:
    """Runs an inner loop over the elements from `first` to before `last` of a coalesced nest."""
    strides = local(i64, MAX_OPERANDS)
    data = local(ptr[u8], MAX_OPERANDS)
    at = local(i64, MAX_RANK)
    count = it.count
    for d in range(MAX_RANK):
        at[d] = 0
    for k in range(count):
        data[k] = it.data[k]
        strides[k] = it.strides[k * MAX_RANK]
    rest = first
    if rest > 0:
        for d in range(it.rank):
            at[d] = rest % it.sizes[d]
            rest = rest // it.sizes[d]
            for k in range(count):
                data[k] = data[k] + it.strides[k * MAX_RANK + d] * at[d]
    left = last - first
    while True:
        inner = minimum(it.sizes[0] - at[0], left)
        call_pointer(VOID, loop, inner, data, strides)
        left -= inner
        if left == 0:
            break
        for k in range(count):
            data[k] = data[k] - strides[k] * at[0]
        at[0] = 0
        d = 1
        while True:
            at[d] = at[d] + 1
            for k in range(count):
                data[k] = data[k] + it.strides[k * MAX_RANK + d]
            if at[d] < it.sizes[d]:
                break
            for k in range(count):
                data[k] = data[k] - it.strides[k * MAX_RANK + d] * it.sizes[d]
            at[d] = 0
            d += 1


@kernel
def nest_chunk(argument: ptr[u8], chunk: i64) -> None:
    """One chunk of a nest."""
    nest = cast(ptr[Nest], argument)
    walk(nest.loop, nest.it, chunk * GRAIN, minimum((chunk + 1) * GRAIN, nest.total))


@kernel(inline="never")
def share_nest(loop: ptr[u8], it: ptr[Iteration], total: i64) -> None:
    """Runs an inner loop over a coalesced nest on several threads."""
    nest = local(Nest, 1)
    nest.loop = loop
    nest.it = it
    nest.total = total
    share(function_pointer(nest_chunk, ptr[u8], i64), cast(ptr[u8], nest), -(-total // GRAIN))


@kernel(extern=True)
def run(loop: ptr[u8], it: ptr[Iteration]) -> None:
    """Runs an inner loop over the whole nest."""
    coalesce(it)
    if it.rank == 0:
        it.rank = 1
        it.sizes[0] = 1
        for k in range(it.count):
            it.strides[k * MAX_RANK] = 0
    total = 1
    for d in range(it.rank):
        total = total * it.sizes[d]
    if total >= SPLIT:
        share_nest(loop, it, total)
    elif total > 0:
        walk(loop, it, 0, total)


@kernel(extern=True)
def run_line(loop: ptr[u8], n: i64, count: i64, data: ptr[ptr[u8]], strides: ptr[i64]) -> None:
    """Runs an inner loop over many elements that stand in one line."""
    it = local(Iteration, 1)
    it.count = count
    it.rank = 1
    it.sizes[0] = n
    for k in range(count):
        it.data[k] = data[k]
        it.strides[k * MAX_RANK] = strides[k]
    share_nest(loop, it, n)


@kernel
def line(loop: ptr[u8], n: i64, count: i64, data: ptr[ptr[u8]], strides: ptr[i64]) -> None:
    """Runs an inner loop over elements that stand in one line."""
    if likely(n < SPLIT):
        if likely(n > 0):
            call_pointer(VOID, loop, n, data, strides)
    else:
        run_line(loop, n, count, data, strides)


@kernel(extern=True)
def compute(loop: ptr[u8], count: i64, inputs: ptr[ptr[TensorImpl]], dtype: i64) -> ptr[TensorImpl]:
    """A new tensor: the loop over the broadcast inputs, which have the dtypes that the loop expects."""
    it = local(Iteration, 1)
    it.rank = 0
    it.count = count + 1
    for k in range(count):
        broadcast_into(it, inputs[k])
    for k in range(count):
        add_operand(it, k + 1, inputs[k])
    order_dimensions(it, 1)
    result = allocate_result(it, dtype)
    run(loop, it)
    return result


@kernel(extern=True)
def compute_into(loop: ptr[u8], count: i64, inputs: ptr[ptr[TensorImpl]], target: ptr[TensorImpl]) -> None:
    """As `compute`, into a tensor whose shape is already known to fit (`check_target`)."""
    it = local(Iteration, 1)
    it.rank = target.rank
    it.count = count + 1
    for d in range(target.rank):
        it.sizes[d] = target.sizes[d]
    add_operand(it, 0, target)
    for k in range(count):
        add_operand(it, k + 1, inputs[k])
    order_dimensions(it, 0)
    run(loop, it)


@kernel(extern=True)
def check_target(target: ptr[TensorImpl], count: i64, inputs: ptr[ptr[TensorImpl]]) -> None:
    """Raises unless the inputs broadcast to exactly the shape of `target`, and no two elements of it share memory."""
    it = local(Iteration, 1)
    it.rank = 0
    broadcast_into(it, target)
    for k in range(count):
        broadcast_into(it, inputs[k])
    same = it.rank == target.rank
    if same:
        for d in range(target.rank):
            same = same and it.sizes[d] == target.sizes[d]
    if not same:
        fail(
            "RuntimeError",
            "output with shape {} doesn't match the broadcast shape {}",
            text(shape_text(target)),
            text(list_text(it.rank, it.sizes)),
        )
    check_no_overlap(target)


@kernel
def check_no_overlap(target: ptr[TensorImpl]) -> None:
    """Raises where one element of `target` stands for several (an expanded tensor)."""
    for d in range(target.rank):
        check(
            target.strides[d] != 0 or target.sizes[d] <= 1 or target.numel == 0,
            "RuntimeError",
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation.",
        )


@kernel
def same_shape(a: ptr[TensorImpl], b: ptr[TensorImpl]) -> Any:
    """Whether two tensors have the same sizes."""
    same = a.rank == b.rank
    if likely(same):
        for d in range(a.rank):
            if a.sizes[d] != b.sizes[d]:
                same = False
    return same


@kernel
def none() -> ptr[TensorImpl]:
    """No tensor."""
    return null(ptr[TensorImpl])
