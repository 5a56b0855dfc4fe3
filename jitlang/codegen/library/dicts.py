"""Dicts and sets: kernels by type.

In: pointers to `Dict` and, as a static argument, the script type. `lookup` gives the number of an entry or -1; `prepare` does the same
for a key that is to be set, and makes room for it, which is all that can fail; `put` then takes the key and the value over.
"""

from __future__ import annotations

from jitlang.codegen.library import lists, values
from jitlang.codegen.library.layout import CHANGED, Dict, List
from jitlang.codegen.library.memory import allocate, bytes_for, recycle
from jitlang.codegen.library.values import entry_bytes, key_offset, key_type, slot, value_offset, value_type
from jitlang.frontend.kernel import b1, cast, check, i32, i64, kernel, likely, memcpy, memset, ptr, sizeof, u8
from jitlang.types import TupleType, Type

SMALLEST_BITS = 4
SMALLEST = 1 << SMALLEST_BITS  # slots of the first index; half of them are used


def pair_type(type: Type) -> Type:
    """The type of an item of a dict."""
    return TupleType((key_type(type), value_type(type)))


# ---- entries ------------------------------------------------------------------------------------------------------


@kernel
def entry(d: ptr[Dict], n: i64, t) -> ptr[u8]:
    """Entry n."""
    return d.entries + n * entry_bytes(t)


@kernel
def hash_at(d: ptr[Dict], n: i64, t) -> i64:
    """The hash of the key of entry n; -1 if it was removed."""
    return cast(ptr[i64], entry(d, n, t))[0]


@kernel
def key_at(d: ptr[Dict], n: i64, t):
    """The key of entry n."""
    return cast(ptr[slot(key_type(t))], entry(d, n, t) + key_offset(t))[0]


@kernel
def value_at(d: ptr[Dict], n: i64, t):
    """The value of entry n."""
    return cast(ptr[slot(value_type(t))], entry(d, n, t) + value_offset(t))[0]


@kernel
def set_value(d: ptr[Dict], n: i64, v, t) -> None:
    """Writes the value of entry n."""
    cast(ptr[slot(value_type(t))], entry(d, n, t) + value_offset(t))[0] = v


@kernel
def used(d: ptr[Dict]) -> i64:
    """The number of entries, removed ones too."""
    return d.used


# ---- making and growing -------------------------------------------------------------------------------------------


@kernel
def new(t) -> ptr[Dict]:
    """An empty dict."""
    made = cast(ptr[Dict], allocate(sizeof(Dict)))
    memset(cast(ptr[u8], made), 0, sizeof(Dict))
    made.references = 1
    return made


@kernel(inline="never")
def rebuild(d: ptr[Dict], room: i64, t) -> None:
    """Room for `room` keys; removed entries vanish."""
    check(room < 1 << 30, "MemoryError", "")
    slots = i64(SMALLEST)
    shift = i64(63 - SMALLEST_BITS)
    while slots >> 1 < room:
        slots = slots * 2
        shift -= 1
    capacity = slots >> 1
    size = entry_bytes(t)
    bytes = bytes_for(capacity, size)
    block = allocate(bytes + slots * 4)
    index = cast(ptr[i32], block + bytes)
    memset(cast(ptr[u8], index), 255, slots * 4)
    mask = slots - 1
    used = i64(0)
    for n in range(d.used):
        hash = hash_at(d, n, t)
        if hash != -1:
            memcpy(block + used * size, entry(d, n, t), size)
            at = hash >> shift
            while index[at] >= 0:
                at = (at + 1) & mask
            index[at] = i32(used)
            used += 1
    recycle(d.entries, values.block_bytes(d, t))
    d.entries = block
    d.index = index
    d.mask = mask
    d.shift = shift
    d.capacity = capacity
    d.used = used
    d.filled = used


@kernel
def reserve(d: ptr[Dict], t) -> None:
    """Room for one more key."""
    if not likely(d.filled < d.capacity):
        rebuild(d, d.length + (d.length >> 1) + 1, t)


@kernel
def lookup(d: ptr[Dict], key, hash: i64, t) -> i64:
    """The number of the entry of a key, or -1."""
    if d.filled == 0:
        return -1
    index = d.index
    mask = d.mask
    at = hash >> d.shift
    n = i64(index[at])
    while n >= 0:
        if hash_at(d, n, t) == hash:
            if likely(values.equal(key_at(d, n, t), key, key_type(t))):
                return n
        at = (at + 1) & mask
        n = i64(index[at])
    return -1


@kernel
def find(d: ptr[Dict], key, t) -> i64:
    """The number of the entry of a key, or -1."""
    if d.length == 0:
        return -1
    return lookup(d, key, values.hash_of(key, key_type(t)), t)


@kernel
def add(d: ptr[Dict], key, hash: i64, v, t) -> None:
    """Adds an owned key that is not there and its owned value; there is room."""
    n = d.used
    e = entry(d, n, t)
    cast(ptr[i64], e)[0] = hash
    cast(ptr[slot(key_type(t))], e + key_offset(t))[0] = key
    cast(ptr[slot(value_type(t))], e + value_offset(t))[0] = v
    index = d.index
    mask = d.mask
    at = hash >> d.shift
    while index[at] >= 0:
        at = (at + 1) & mask
    index[at] = i32(n)
    d.used = n + 1
    d.filled = d.filled + 1
    d.length = d.length + 1
    d.version = d.version + 1


@kernel
def replace(d: ptr[Dict], n: i64, v, t) -> None:
    """Gives entry n another value, which is owned."""
    old = value_at(d, n, t)
    set_value(d, n, v, t)
    d.version = CHANGED
    values.release(old, value_type(t))


@kernel
def prepare(d: ptr[Dict], key, hash: i64, t) -> i64:
    """The number of the entry of a key that is to be set; where there is none, -1 and room for it."""
    n = lookup(d, key, hash, t)
    if n < 0:
        reserve(d, t)
    return n


@kernel
def put(d: ptr[Dict], n: i64, key, hash: i64, v, t) -> None:
    """Sets an owned key to an owned value; `n` is what `prepare` gave."""
    if n >= 0:
        replace(d, n, v, t)
        values.release(key, key_type(t))
    else:
        add(d, key, hash, v, t)


@kernel
def room_for(d: ptr[Dict], n: i64, t) -> None:
    """Room for the key that was looked up, `n` being its entry or negative."""
    if n < 0:
        reserve(d, t)


@kernel
def put_entry(d: ptr[Dict], n: i64, key, v, t) -> None:
    """Sets an owned key to an owned value; `n` is its entry, or negative where there is `room_for` it."""
    hash = i64(0)
    if n < 0:
        hash = values.hash_of(key, key_type(t))
    put(d, n, key, hash, v, t)


@kernel
def contains(d: ptr[Dict], key, t) -> b1:
    """key in d."""
    return find(d, key, t) >= 0


# ---- removing -----------------------------------------------------------------------------------------------------


@kernel
def forget(d: ptr[Dict], n: i64, t) -> None:
    """Takes entry n out without giving its references up."""
    cast(ptr[i64], entry(d, n, t))[0] = -1
    d.length = d.length - 1
    d.version = d.version + 1


@kernel
def remove(d: ptr[Dict], n: i64, t) -> None:
    """Removes entry n."""
    key = key_at(d, n, t)
    v = value_at(d, n, t)
    forget(d, n, t)
    values.release(key, key_type(t))
    values.release(v, value_type(t))


@kernel
def take_value(d: ptr[Dict], n: i64, t):
    """Removes entry n and returns its value."""
    key = key_at(d, n, t)
    v = value_at(d, n, t)
    forget(d, n, t)
    values.release(key, key_type(t))
    return v


@kernel
def last(d: ptr[Dict], t) -> i64:
    """The number of the last entry; entries behind it that were removed are given back."""
    check(d.length > 0, "KeyError", "popitem(): dictionary is empty")
    n = d.used - 1
    while hash_at(d, n, t) == -1:
        n -= 1
    d.used = n + 1
    return n


@kernel
def popitem(d: ptr[Dict], t):
    """d.popitem()."""
    n = last(d, t)
    key = key_at(d, n, t)
    v = value_at(d, n, t)
    forget(d, n, t)
    d.used = n
    return key, v


@kernel
def clear(d: ptr[Dict], t) -> None:
    """d.clear()."""
    old = d.entries
    size = values.block_bytes(d, t)
    version = d.version
    values.release_entries(d, t)
    references = d.references
    owner = d.owner
    memset(cast(ptr[u8], d), 0, sizeof(Dict))
    d.references = references
    d.owner = owner
    d.version = version + 1
    recycle(old, size)


# ---- whole dicts --------------------------------------------------------------------------------------------------


@kernel
def set_copy(d: ptr[Dict], key, hash: i64, v, t) -> None:
    """Sets a key to a value, both of which keep their references."""
    n = prepare(d, key, hash, t)
    values.retain(key, key_type(t))
    values.retain(v, value_type(t))
    put(d, n, key, hash, v, t)


@kernel
def update(d: ptr[Dict], other: ptr[Dict], t) -> None:
    """d.update(other)."""
    if d != other:
        for n in range(other.used):
            hash = hash_at(other, n, t)
            if hash != -1:
                set_copy(d, key_at(other, n, t), hash, value_at(other, n, t), t)


@kernel
def copied(d: ptr[Dict], t) -> ptr[Dict]:
    """A new dict of the same items."""
    made = new(t)
    if d.length > 0:
        rebuild(made, d.length, t)
        update(made, d, t)
        made.version = 0
    return made


@kernel
def merged(a: ptr[Dict], b: ptr[Dict], t) -> ptr[Dict]:
    """a | b."""
    made = copied(a, t)
    update(made, b, t)
    made.version = 0
    return made


@kernel
def of_pairs(pairs: ptr[List], t) -> ptr[Dict]:
    """dict(pairs)."""
    made = new(t)
    for i in range(pairs.length):
        pair = lists.items_of(pairs, pair_type(t))[i]
        set_copy(made, pair[0], values.hash_of(pair[0], key_type(t)), pair[1], t)
    made.version = 0
    return made


@kernel
def keys(d: ptr[Dict], t) -> ptr[List]:
    """list(d.keys())."""
    made = lists.new(d.length, key_type(t))
    for n in range(d.used):
        if hash_at(d, n, t) != -1:
            key = key_at(d, n, t)
            values.retain(key, key_type(t))
            lists.fill(made, key, key_type(t))
    return made


@kernel
def values_of(d: ptr[Dict], t) -> ptr[List]:
    """list(d.values())."""
    made = lists.new(d.length, value_type(t))
    for n in range(d.used):
        if hash_at(d, n, t) != -1:
            v = value_at(d, n, t)
            values.retain(v, value_type(t))
            lists.fill(made, v, value_type(t))
    return made


@kernel
def items(d: ptr[Dict], t) -> ptr[List]:
    """list(d.items())."""
    made = lists.new(d.length, pair_type(t))
    for n in range(d.used):
        if hash_at(d, n, t) != -1:
            key = key_at(d, n, t)
            v = value_at(d, n, t)
            values.retain(key, key_type(t))
            values.retain(v, value_type(t))
            at = made.length
            lists.items_of(made, pair_type(t))[at] = (key, v)
            made.length = at + 1
    return made


@kernel
def equal(a: ptr[Dict], b: ptr[Dict], t) -> b1:
    """a == b."""
    if a == b and not values.holds_float(t):
        return True
    if a.length != b.length:
        return False
    for n in range(a.used):
        hash = hash_at(a, n, t)
        if hash != -1:
            m = lookup(b, key_at(a, n, t), hash, t)
            if m < 0:
                return False
            if not values.equal(value_at(a, n, t), value_at(b, m, t), value_type(t)):
                return False
    return True


values.enter_dict_equal(equal)
