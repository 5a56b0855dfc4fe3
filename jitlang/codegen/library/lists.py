"""Lists: kernels by element type.

In: pointers to `List` and, as a static argument, the element's script type. What a list takes in is owned (the caller gives its reference away),
what it hands out has a reference of its own. A kernel that may fail fails before it changes anything, so that the caller can
keep a reference until nothing can go wrong any more: `reserve` first, then `push`.
"""

from __future__ import annotations

import sys

from jitlang.codegen.library import values
from jitlang.codegen.library.layout import CHANGED, List
from jitlang.codegen.library.memory import allocate, bytes_for, reallocate, recycle
from jitlang.codegen.library.numbers import OVERFLOW
from jitlang.codegen.library.strings import slice_bounds
from jitlang.codegen.library.values import is_managed, slot
from jitlang.frontend.kernel import (
    b1,
    cast,
    check,
    f64,
    fabs,
    i64,
    i128,
    kernel,
    likely,
    maximum,
    memcpy,
    memmove,
    minimum,
    null,
    ptr,
    select,
    size_of,
    sizeof,
    u8,
)
from jitlang.operators.rows import message_of
from jitlang.types import ListType, Type

INDEX = "list index out of range"
ASSIGN = "list assignment index out of range"
SHORTEST = 8  # the capacity of a list when it first grows
MIN_EMPTY, MAX_EMPTY = message_of(min, []), message_of(max, [])
COMPENSATED = sys.version_info >= (3, 12)  # since then sum() of floats carries the rounding error along
LARGE = 1 << 62


def element_bytes(type: Type) -> int:
    """The size of an element."""
    return size_of(slot(type))


# ---- making and growing -------------------------------------------------------------------------------------------


@kernel
def new(capacity: i64, t) -> ptr[List]:
    """An empty list with room for `capacity` elements."""
    size = bytes_for(capacity, element_bytes(t))
    made = cast(ptr[List], allocate(sizeof(List)))
    made.references = 1
    made.length = 0
    made.capacity = capacity
    made.data = null(ptr[u8])
    made.version = 0
    made.owner = 0
    if size > 0:
        made.data = allocate(size)
    return made


@kernel
def items_of(a: ptr[List], t):
    """The elements."""
    return cast(ptr[slot(t)], a.data)


@kernel
def element(a: ptr[List], i: i64, t):
    """Element i, which is there; no reference is taken."""
    return items_of(a, t)[i]


@kernel(inline="never")
def grow(a: ptr[List], needed: i64, t) -> None:
    """Room for `needed` elements and some more."""
    capacity = maximum(needed, minimum(a.length, LARGE) + (a.length >> 1))
    capacity = maximum(capacity, SHORTEST)
    a.data = reallocate(a.data, bytes_for(capacity, element_bytes(t)))
    a.capacity = capacity


@kernel
def reserve(a: ptr[List], more: i64, t) -> None:
    """Room for `more` elements at the end."""
    if not likely(a.length + more <= a.capacity):
        grow(a, a.length + more, t)


@kernel(inline="always")
def push(a: ptr[List], v, t) -> None:
    """Puts an owned value at the end, for which there is room."""
    length = a.length
    items_of(a, t)[length] = v
    a.length = length + 1
    a.version = a.version + 1


@kernel
def fill(a: ptr[List], v, t) -> None:
    """Puts an owned value at the end of a list that is being made, for which there is room."""
    length = a.length
    items_of(a, t)[length] = v
    a.length = length + 1


@kernel
def with_items(source: ptr[u8], count: i64, t) -> ptr[List]:
    """A new list of `count` elements of an array, with references of its own."""
    made = new(count, t)
    if count > 0:
        memcpy(made.data, source, count * element_bytes(t))
        made.length = count
        values.retain_range(made.data, 0, count, t)
    return made


@kernel
def copied(a: ptr[List], t) -> ptr[List]:
    """A new list of the same elements."""
    return with_items(a.data, a.length, t)


# ---- elements -----------------------------------------------------------------------------------------------------


@kernel(inline="always")
def position(index: i64, length: i64) -> i64:
    """An index, counted from the end where it is negative."""
    return select(index < 0, index + length, index)


@kernel(inline="never")
def fail_index() -> None:
    """The error of reading outside."""
    check(False, "IndexError", INDEX)


@kernel(inline="never")
def fail_assign() -> None:
    """The error of writing outside."""
    check(False, "IndexError", ASSIGN)


@kernel
def remove_at(a: ptr[List], at: i64, t) -> None:
    """Takes element `at` out without giving its reference up."""
    size = element_bytes(t)
    memmove(a.data + at * size, a.data + (at + 1) * size, (a.length - at - 1) * size)
    a.length = a.length - 1
    a.version = a.version + 1


@kernel
def delitem(a: ptr[List], index: i64, t) -> None:
    """del a[index]."""
    at = position(index, a.length)
    check(at >= 0 and at < a.length, "IndexError", ASSIGN)
    old = items_of(a, t)[at]
    remove_at(a, at, t)
    values.release(old, t)


@kernel
def pop(a: ptr[List], index: i64, t):
    """a.pop(index)."""
    length = a.length
    check(length > 0, "IndexError", "pop from empty list")
    at = position(index, length)
    check(at >= 0 and at < length, "IndexError", "pop index out of range")
    old = items_of(a, t)[at]
    if at == length - 1:
        a.length = at
        a.version = a.version + 1
    else:
        remove_at(a, at, t)
    return old


@kernel
def insert(a: ptr[List], index: i64, v, t) -> None:
    """a.insert(index, v); there is room, `v` is owned."""
    at = maximum(minimum(position(index, a.length), a.length), 0)
    size = element_bytes(t)
    memmove(a.data + (at + 1) * size, a.data + at * size, (a.length - at) * size)
    items_of(a, t)[at] = v
    a.length = a.length + 1
    a.version = a.version + 1


@kernel
def clear(a: ptr[List], t) -> None:
    """a.clear()."""
    data = a.data
    length = a.length
    size = a.capacity * element_bytes(t)
    a.data = null(ptr[u8])
    a.length = 0
    a.capacity = 0
    a.version = a.version + 1
    if is_managed(t):
        values.release_range(data, 0, length, t)
    recycle(data, size)


@kernel
def find(a: ptr[List], v, start: i64, stop: i64, t) -> i64:
    """The first index in [start, stop) with an equal element, or -1."""
    length = a.length
    low = maximum(position(start, length), 0)
    high = minimum(position(stop, length), length)
    for i in range(low, high):
        if values.equal(items_of(a, t)[i], v, t):
            return i
    return -1


@kernel
def contains(a: ptr[List], v, t) -> b1:
    """v in a."""
    return find(a, v, 0, a.length, t) >= 0


@kernel
def count(a: ptr[List], v, t) -> i64:
    """a.count(v)."""
    found = i64(0)
    for i in range(a.length):
        if values.equal(items_of(a, t)[i], v, t):
            found += 1
    return found


@kernel
def remove(a: ptr[List], v, t) -> None:
    """a.remove(v)."""
    at = find(a, v, 0, a.length, t)
    check(at >= 0, "ValueError", "list.remove(x): x not in list")
    delitem(a, at, t)


# ---- several elements ---------------------------------------------------------------------------------------------


@kernel
def concat(a: ptr[List], b: ptr[List], t) -> ptr[List]:
    """a + b."""
    size = element_bytes(t)
    made = new(a.length + b.length, t)
    memcpy(made.data, a.data, a.length * size)
    memcpy(made.data + a.length * size, b.data, b.length * size)
    made.length = a.length + b.length
    values.retain_range(made.data, 0, made.length, t)
    return made


@kernel
def repeat_into(data: ptr[u8], length: i64, n: i64, t) -> None:
    """Copies the first `length` elements of an array n - 1 times behind themselves."""
    if length == 1:
        v = cast(ptr[slot(t)], data)[0]
        for i in range(1, n):
            cast(ptr[slot(t)], data)[i] = v
    else:
        size = length * element_bytes(t)
        for i in range(1, n):
            memcpy(data + i * size, data, size)
    values.retain_range(data, length, length * n, t)


@kernel
def repeat(a: ptr[List], n: i64, t) -> ptr[List]:
    """a * n."""
    length = a.length
    if n <= 0 or length == 0:
        return new(0, t)
    made = new(bytes_for(n, length), t)
    memcpy(made.data, a.data, length * element_bytes(t))
    made.length = length * n
    values.retain_range(made.data, 0, length, t)
    repeat_into(made.data, length, n, t)
    return made


@kernel
def repeat_in_place(a: ptr[List], n: i64, t) -> None:
    """a *= n."""
    length = a.length
    if n <= 0:
        clear(a, t)
    elif length > 0:
        reserve(a, bytes_for(n, length) - length, t)
        repeat_into(a.data, length, n, t)
        a.length = length * n
        a.version = a.version + 1


@kernel
def extend(a: ptr[List], b: ptr[List], t) -> None:
    """a.extend(b)."""
    length = a.length
    more = b.length
    if more > 0:
        reserve(a, more, t)
        size = element_bytes(t)
        memcpy(a.data + length * size, b.data, more * size)
        values.retain_range(a.data, length, length + more, t)
        a.length = length + more
        a.version = a.version + 1


@kernel
def slice_of(a: ptr[List], start, stop, step, t) -> ptr[List]:
    """a[start:stop:step]."""
    first, many, stride = slice_bounds(a.length, start, stop, step)
    if stride == 1:
        return with_items(a.data + first * element_bytes(t), many, t)
    made = new(many, t)
    for i in range(many):
        v = items_of(a, t)[first + i * stride]
        values.retain(v, t)
        items_of(made, t)[i] = v
    made.length = many
    return made


@kernel
def replace(a: ptr[List], first: i64, many: i64, source: ptr[u8], added: i64, t) -> None:
    """Puts `added` elements of an array that is not a's own in place of `many` elements from `first` on."""
    size = element_bytes(t)
    length = a.length
    if added > many:
        reserve(a, added - many, t)
    old = null(ptr[u8])
    if is_managed(t):
        if many > 0:
            old = allocate(many * size)
            memcpy(old, a.data + first * size, many * size)
    memmove(a.data + (first + added) * size, a.data + (first + many) * size, (length - first - many) * size)
    memcpy(a.data + first * size, source, added * size)
    values.retain_range(a.data, first, first + added, t)
    a.length = length - many + added
    a.version = a.version + 1
    if is_managed(t):
        values.release_range(old, 0, many, t)
        recycle(old, many * size)


@kernel
def set_slice(a: ptr[List], start, stop, step, b: ptr[List], t) -> None:
    """a[start:stop:step] = b."""
    first, many, stride = slice_bounds(a.length, start, stop, step)
    if stride != 1:
        check(b.length == many, "ValueError", "attempt to assign sequence of size {} to extended slice of size {}", b.length, many)
    source = b
    if a == b:
        source = copied(b, t)
    if stride == 1:
        replace(a, first, many, source.data, source.length, t)
    else:
        for i in range(many):
            at = first + i * stride
            v = items_of(source, t)[i]
            values.retain(v, t)
            old = items_of(a, t)[at]
            items_of(a, t)[at] = v
            values.release(old, t)
        a.version = CHANGED
    if a == b:
        values.release(cast(ptr[u8], source), ListType(t))


@kernel
def del_slice(a: ptr[List], start, stop, step, t) -> None:
    """del a[start:stop:step]."""
    first, many, stride = slice_bounds(a.length, start, stop, step)
    if many == 0:
        return
    if stride == 1:
        replace(a, first, many, null(ptr[u8]), 0, t)
        return
    if stride < 0:
        first = first + (many - 1) * stride
        stride = 0 - stride
    items = items_of(a, t)
    to = first
    for at in range(first, a.length):
        v = items[at]
        if (at - first) % stride == 0 and (at - first) // stride < many:
            values.release(v, t)
        else:
            items[to] = v
            to += 1
    a.length = to
    a.version = a.version + 1


@kernel
def reverse(a: ptr[List], t) -> None:
    """a.reverse()."""
    items = items_of(a, t)
    length = a.length
    for i in range(length // 2):
        v = items[i]
        items[i] = items[length - 1 - i]
        items[length - 1 - i] = v
    a.version = a.version + 1


@kernel
def reversed_copy(a: ptr[List], t) -> ptr[List]:
    """a[::-1]."""
    made = copied(a, t)
    reverse(made, t)
    made.version = 0
    return made


# ---- numbers ------------------------------------------------------------------------------------------------------


@kernel
def range_length(start: i64, stop: i64, step: i64) -> i64:
    """len(range(start, stop, step))."""
    check(step != 0, "ValueError", "range() arg 3 must not be zero")
    distance = i128(stop) - i128(start)
    if step < 0:
        distance = i128(0) - distance
    if distance <= 0:
        return i64(0)
    size = i128(step) if step > 0 else i128(0) - i128(step)
    length = (distance - 1) // size + 1
    check(length <= 9223372036854775807, "OverflowError", OVERFLOW)
    return i64(length)


@kernel
def of_range(start: i64, stop: i64, step: i64, t) -> ptr[List]:
    """list(range(start, stop, step))."""
    many = range_length(start, stop, step)
    made = new(many, t)
    for i in range(many):
        items_of(made, t)[i] = start + i * step
    made.length = many
    return made


@kernel
def sum_int(a: ptr[List], start: i64, t) -> i64:
    """sum(a, start); only the result must fit."""
    total = i128(start)
    for i in range(a.length):
        total += i128(items_of(a, t)[i])
    made = i64(total)
    check(i128(made) == total, "OverflowError", OVERFLOW)
    return made


@kernel
def sum_float(a: ptr[List], start: f64, t) -> f64:
    """sum(a, start), as the running CPython adds."""
    total = start
    error = f64(0)
    for i in range(a.length):
        x = items_of(a, t)[i]
        if COMPENSATED:
            next = total + x
            error += (total - next) + x if fabs(total) >= fabs(x) else (x - next) + total
            total = next
        else:
            total += x
    if COMPENSATED:
        if error != 0.0 and error - error == 0.0:
            return total + error
    return total


def extremum_message(op: str) -> str:
    """What min() or max() says of an empty list."""
    return MIN_EMPTY if op == "lt" else MAX_EMPTY


@kernel
def extremum(a: ptr[List], t, op):
    """The first element that no other is `op` (lt: the smallest, gt: the largest)."""
    check(a.length > 0, "ValueError", extremum_message(op))
    best = items_of(a, t)[0]
    for i in range(1, a.length):
        x = items_of(a, t)[i]
        if values.ordered(x, best, t, op):
            best = x
    values.retain(best, t)
    return best


@kernel
def any_of(a: ptr[List], t) -> b1:
    """any(a)."""
    for i in range(a.length):
        if values.truth(items_of(a, t)[i], t):
            return True
    return False


@kernel
def all_of(a: ptr[List], t) -> b1:
    """all(a)."""
    for i in range(a.length):
        if not values.truth(items_of(a, t)[i], t):
            return False
    return True
