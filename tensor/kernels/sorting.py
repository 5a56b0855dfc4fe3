"""Sorting and searching along a dimension. Sorts are stable: merges of runs; NaN counts as the largest number."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import b1, call_pointer, cast, check, i64, kernel, local, minimum, ptr, u8
from jitlang.tensor.kernels.creation import like
from jitlang.tensor.kernels.parallel import leave_python_for
from jitlang.tensor.kernels.pointwise import copy_into
from jitlang.tensor.kernels.tensors import empty, release
from jitlang.tensor.kernels.views import contiguous, contiguous_copy, transpose
from jitlang.tensor.layout import BOOL, CONTIGUOUS, INT64, MAX_RANK, TensorImpl
from jitlang.tensor.loops import Loop, loop_of, static
from jitlang.tensor.promotion import item_bytes
from jitlang.types import VOID, machine_type

Tensor = ptr[TensorImpl]


@kernel
def precedes(T: Any, a: Any, b: Any, descending: i64) -> b1:
    """Whether `a` must stand in front of `b`."""
    if T.kind == "f":
        if descending != 0:
            return a > b or (a != a and b == b)
        return a < b or (b != b and a == a)
    return a > b if descending != 0 else a < b


@kernel
def sort_loop(T: Any, rows: i64, n: i64, values: ptr[u8], places: ptr[i64], room: ptr[u8], spare: ptr[i64], descending: i64) -> None:
    """Sorts dense rows in place, and writes where each element stood."""
    for r in range(rows):
        v, p = cast(ptr[T], values) + r * n, places + r * n
        w, q = cast(ptr[T], room), spare
        for i in range(n):
            p[i] = i
        insert_runs(T, n, v, p, descending)
        width = 8
        while width < n:
            start = 0
            while start < n:
                merge(T, start, minimum(start + width, n), minimum(start + 2 * width, n), v, p, w, q, descending)
                start += 2 * width
            for i in range(n):
                v[i] = w[i]
                p[i] = q[i]
            width = width * 2


@kernel
def insert_runs(T: Any, n: i64, v: Any, p: ptr[i64], descending: i64) -> None:
    """Sorts runs of eight by insertion."""
    for i in range(n):
        x, at = v[i], p[i]
        j = i
        while j % 8 != 0:
            if not precedes(T, x, v[j - 1], descending):
                break
            v[j] = v[j - 1]
            p[j] = p[j - 1]
            j -= 1
        v[j] = x
        p[j] = at


@kernel
def merge(T: Any, first: i64, middle: i64, last: i64, v: Any, p: ptr[i64], w: Any, q: ptr[i64], descending: i64) -> None:
    """Merges two sorted runs."""
    a, b = first, middle
    for i in range(first, last):
        take_right = a >= middle
        if not take_right and b < last:
            take_right = precedes(T, v[b], v[a], descending)
        if take_right:
            w[i] = v[b]
            q[i] = p[b]
            b += 1
        else:
            w[i] = v[a]
            q[i] = p[a]
            a += 1


_SORT = (i64, i64, ptr[u8], ptr[i64], ptr[u8], ptr[i64], i64)
SORT = Loop("sort", lambda d: sort_loop.instance(static(machine_type(d)), *_SORT))


@kernel(extern=True)
def sort_rows(values: Tensor, places: Tensor, descending: i64) -> None:
    """Sorts the rows of a dense tensor in place; `places` is a dense int64 tensor of the same shape."""
    loop = loop_of(SORT.table, values.dtype)
    if values.numel == 0:
        return
    n = values.sizes[values.rank - 1] if values.rank > 0 else 1
    size = local(i64, 1)
    size[0] = n
    room, spare = empty(1, size, values.dtype), empty(1, size, INT64)
    leave_python_for(values.numel)
    call_pointer(VOID, loop, values.numel // n, n, values.data, cast(ptr[i64], places.data), room.data, cast(ptr[i64], spare.data), descending)
    release(spare)
    release(room)


@kernel(extern=True)
def sorted_along(self: Tensor, d: i64, descending: i64, places: ptr[Tensor]) -> Tensor:
    """The tensor sorted along a dimension; stores the owned tensor of places to `places`. Both have the dimension last if it is `d`."""
    loop_of(SORT.table, self.dtype)
    last = self.rank - 1
    turned = transpose(self, d, last) if self.rank > 0 else transpose(self, 0, 0)
    values = empty(turned.rank, turned.sizes, self.dtype)
    copy_into(values, turned)
    where = empty(turned.rank, turned.sizes, INT64)
    release(turned)
    sort_rows(values, where, descending)
    if self.rank < 2 or (d == last and self.flags & CONTIGUOUS != 0):
        places[0] = where
        return values
    places[0] = turned_back(where, d, last, self)
    return turned_back(values, d, last, self)


# ---- the first few of a sort ----------------------------------------------------------------------------------------


@kernel
def select_loop(T: Any, rows: i64, n: i64, k: i64, source: ptr[u8], values: ptr[u8], places: ptr[i64], descending: i64) -> None:
    """For each dense row, the first k elements that sorting gives, and where they stood: few of n enter the sorted list of those found so far."""
    for r in range(rows):
        x, v, p = cast(ptr[T], source) + r * n, cast(ptr[T], values) + r * k, places + r * k
        found = 0
        for i in range(n):
            y = x[i]
            if found == k:
                if not precedes(T, y, v[k - 1], descending):
                    continue
            else:
                found += 1
            low, high = 0, found - 1
            while low < high:
                middle = (low + high) // 2
                if precedes(T, y, v[middle], descending):
                    high = middle
                else:
                    low = middle + 1
            for j in range(found - 1, low, -1):
                v[j] = v[j - 1]
            for j in range(found - 1, low, -1):
                p[j] = p[j - 1]
            v[low] = y
            p[low] = i


_SELECT = (i64, i64, i64, ptr[u8], ptr[u8], ptr[i64], i64)
SELECT = Loop("topk", lambda d: select_loop.instance(static(machine_type(d)), *_SELECT))


@kernel(extern=True)
def first_along(self: Tensor, d: i64, k: i64, descending: i64, places: ptr[Tensor]) -> Tensor:
    """The first k >= 1 elements of a sort along a dimension; stores the owned tensor of places to `places`. Both are row-major."""
    loop = loop_of(SELECT.table, self.dtype)
    last = self.rank - 1
    turned = transpose(self, d, last)
    dense = contiguous(turned)
    sizes = local(i64, MAX_RANK)
    for i in range(self.rank):
        sizes[i] = turned.sizes[i]
    release(turned)
    n = sizes[last]
    sizes[last] = k
    values, where = empty(self.rank, sizes, self.dtype), empty(self.rank, sizes, INT64)
    call_pointer(VOID, loop, dense.numel // n, n, k, dense.data, values.data, cast(ptr[i64], where.data), descending)
    release(dense)
    if d == last:
        places[0] = where
        return values
    places[0] = turned_rows(where, d, last)
    return turned_rows(values, d, last)


@kernel
def turned_rows(t: Tensor, d: i64, last: i64) -> Tensor:
    """With two dimensions swapped, row-major; takes over the reference."""
    swapped = transpose(t, d, last)
    made = contiguous_copy(swapped)
    release(swapped)
    release(t)
    return made


@kernel
def turned_back(t: Tensor, d: i64, last: i64, model: Tensor) -> Tensor:
    """With two dimensions swapped, in the model's order of dimensions; takes over the reference."""
    swapped = transpose(t, d, last)
    made = like(model, t.dtype)
    copy_into(made, swapped)
    release(swapped)
    release(t)
    return made


# ---- searching ----------------------------------------------------------------------------------------------------


@kernel
def search_loop(T: Any, n: i64, line: ptr[u8], count: i64, wanted: ptr[u8], out: ptr[i64], right: i64) -> None:
    """For each wanted number, where it belongs in a sorted line."""
    v, w = cast(ptr[T], line), cast(ptr[T], wanted)
    for i in range(count):
        low, high = 0, n
        x = w[i]
        while low < high:
            middle = (low + high) // 2
            before = precedes(T, v[middle], x, 0)
            if right != 0:
                before = not precedes(T, x, v[middle], 0)
            if before:
                low = middle + 1
            else:
                high = middle
        out[i] = low


_SEARCH = (i64, ptr[u8], i64, ptr[u8], ptr[i64], i64)
SEARCH = Loop("searchsorted", lambda d: search_loop.instance(static(machine_type(d)), *_SEARCH))


@kernel(extern=True)
def searched(line: Tensor, wanted: Tensor, right: i64) -> Tensor:
    """Where each number belongs in sorted lines: one line for all, or one for each row of `wanted`."""
    loop = loop_of(SEARCH.table, line.dtype)
    check(line.rank > 0, "RuntimeError", "boundaries tensor should have positive dimension")
    check(
        line.rank == 1 or line.rank == wanted.rank,
        "RuntimeError",
        "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input value tensor must match",
    )
    rows = 1
    if line.rank > 1:
        for k in range(line.rank - 1):
            check(
                line.sizes[k] == wanted.sizes[k],
                "RuntimeError",
                "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input value tensor must match",
            )
            rows = rows * line.sizes[k]
    result = empty(wanted.rank, wanted.sizes, INT64)
    if wanted.numel == 0:
        return result
    lines, numbers = contiguous(line), contiguous(wanted)
    n, count = line.sizes[line.rank - 1], wanted.numel // rows
    size = numbers.numel // rows
    item = item_bytes(line.dtype)
    for r in range(rows):
        call_pointer(VOID, loop, n, lines.data + r * n * item, count, numbers.data + r * size * item, cast(ptr[i64], result.data) + r * count, right)
    release(numbers)
    release(lines)
    return result


# ---- distinct values --------------------------------------------------------------------------------------------------


@kernel
def same_loop(T: Any, n: i64, line: ptr[u8], changed: ptr[u8]) -> None:
    """Marks the elements of a line that differ from the one before them."""
    v = cast(ptr[T], line)
    for i in range(n):
        changed[i] = 1
        if i > 0:
            changed[i] = u8(v[i] != v[i - 1])


_SAME = (i64, ptr[u8], ptr[u8])
CHANGES = Loop("unique", lambda d: same_loop.instance(static(machine_type(d)), *_SAME))


@kernel(extern=True)
def changes(line: Tensor) -> Tensor:
    """A dense vector's mask of elements that differ from the one before them."""
    loop = loop_of(CHANGES.table, line.dtype)
    mask = empty(1, line.sizes, BOOL)
    call_pointer(VOID, loop, line.numel, line.data, mask.data)
    return mask
