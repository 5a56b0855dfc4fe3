"""Sorting: a stable merge sort of lists, by the elements' own order or by a second list of keys.

In: a list. Out: its elements in order. Neighbouring runs that are in order already are copied, not merged.
"""

from __future__ import annotations

from jitlang.codegen.library import values
from jitlang.codegen.library.layout import List
from jitlang.codegen.library.lists import copied, element_bytes, items_of, new
from jitlang.codegen.library.memory import allocate, bytes_for, recycle
from jitlang.codegen.library.values import slot
from jitlang.frontend.kernel import b1, cast, i64, kernel, memcpy, minimum, ptr, u8
from jitlang.types import INT

RUN = 16  # what is sorted by insertion


@kernel
def before(x, y, keys: ptr[u8], k, by_keys, descending: b1) -> b1:
    """Whether y must come before x although it stands behind it."""
    if by_keys:
        a = cast(ptr[slot(k)], keys)[x]
        b = cast(ptr[slot(k)], keys)[y]
        return values.ordered(a, b, k, "lt") if descending else values.ordered(b, a, k, "lt")
    return values.ordered(x, y, k, "lt") if descending else values.ordered(y, x, k, "lt")


@kernel
def insertion(data: ptr[u8], start: i64, stop: i64, keys: ptr[u8], descending: b1, t, k, by_keys) -> None:
    """Sorts elements [start, stop)."""
    items = cast(ptr[slot(t)], data)
    for i in range(start + 1, stop):
        v = items[i]
        at = i
        while at > start and before(items[at - 1], v, keys, k, by_keys, descending):
            items[at] = items[at - 1]
            at -= 1
        items[at] = v


@kernel
def merge(source: ptr[u8], to: ptr[u8], start: i64, middle: i64, stop: i64, keys: ptr[u8], descending: b1, t, k, by_keys) -> None:
    """Merges two sorted runs of `source` into `to`."""
    items = cast(ptr[slot(t)], source)
    out = cast(ptr[slot(t)], to)
    size = element_bytes(t)
    if middle >= stop or not before(items[middle - 1], items[middle], keys, k, by_keys, descending):
        memcpy(to + start * size, source + start * size, (stop - start) * size)
        return
    i = start
    j = middle
    at = start
    while i < middle and j < stop:
        x = items[i]
        y = items[j]
        if before(x, y, keys, k, by_keys, descending):
            out[at] = y
            j += 1
        else:
            out[at] = x
            i += 1
        at += 1
    memcpy(to + at * size, source + i * size, (middle - i) * size)
    memcpy(to + (at + middle - i) * size, source + j * size, (stop - j) * size)


@kernel(inline="never")
def sort_array(data: ptr[u8], length: i64, keys: ptr[u8], descending: b1, t, k, by_keys) -> None:
    """Sorts an array of t by its elements, or (by_keys) an array of indices by the keys of type k that they index."""
    if length < 2:
        return
    start = i64(0)
    while start < length:
        insertion(data, start, minimum(start + RUN, length), keys, descending, t, k, by_keys)
        start += RUN
    if length <= RUN:
        return
    size = element_bytes(t)
    spare = allocate(bytes_for(length, size))
    source = data
    to = spare
    width = i64(RUN)
    while width < length:
        start = i64(0)
        while start < length:
            middle = minimum(start + width, length)
            merge(source, to, start, middle, minimum(middle + width, length), keys, descending, t, k, by_keys)
            start += width * 2
        last = source
        source = to
        to = last
        width = width * 2
    if source != data:
        memcpy(data, source, length * size)
    recycle(spare, length * size)


@kernel
def sort(a: ptr[List], descending: b1, t) -> None:
    """a.sort(reverse=descending)."""
    sort_array(a.data, a.length, a.data, descending, t, t, False)
    a.version = a.version + 1


@kernel
def sorted_copy(a: ptr[List], descending: b1, t) -> ptr[List]:
    """sorted(a, reverse=descending)."""
    made = copied(a, t)
    sort_array(made.data, made.length, made.data, descending, t, t, False)
    return made


@kernel
def sorted_by(a: ptr[List], keys: ptr[List], descending: b1, t, k) -> ptr[List]:
    """The elements of `a` in the stable order of `keys`, which has the same length."""
    length = a.length
    order = allocate(bytes_for(length, 8) + 8)
    made = new(length, t)
    for i in range(length):
        cast(ptr[i64], order)[i] = i
    sort_array(order, length, keys.data, descending, INT, k, True)
    for i in range(length):
        v = items_of(a, t)[cast(ptr[i64], order)[i]]
        values.retain(v, t)
        items_of(made, t)[i] = v
    made.length = length
    recycle(order, length * 8 + 8)
    return made
