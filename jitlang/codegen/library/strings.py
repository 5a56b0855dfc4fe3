"""Strings: making, reading, comparing, cutting and joining them, one text for all three kinds.

In: pointers to `Str`. Out: new references. The bytes behind the last character, up to a multiple of eight, are zero, so that strings can be compared
and hashed by words: `make` sees to it. A string is immutable, but one that has a single reference may be taken over and grown
(`append`): its block always has `block_bytes` of its size, so there is room to grow and the cost of a loop of appends is linear.
"""

from __future__ import annotations

from jitlang.codegen.library.layout import Str
from jitlang.codegen.library.memory import LARGEST, allocate, reallocate, recycle
from jitlang.frontend.kernel import (
    addr,
    array,
    atomic_load,
    atomic_store,
    b1,
    cast,
    check,
    ctlz,
    extern,
    fail,
    get,
    has,
    i32,
    i64,
    kernel,
    likely,
    maximum,
    memcpy,
    minimum,
    mulhi,
    ptr,
    select,
    shared,
    struct,
    u8,
    u16,
    u32,
    u64,
)

HEAD = 32
IMMORTAL = 1 << 62  # the reference count of strings that are never freed
SLOT = 48
EMPTY = 256  # the number of the empty string in the table

memcmp = extern("memcmp", [ptr[u8], ptr[u8], i64], i32)


@struct
class Table:
    """The strings of one character below 256 and the empty one, each made when it is first asked for."""

    bytes: array[u8, (EMPTY + 1) * SLOT]


TABLE = shared("jl.str.table", Table)


# ---- characters ---------------------------------------------------------------------------------------------------


@kernel
def chars(s: ptr[Str]) -> ptr[u8]:
    """Where the characters begin."""
    return cast(ptr[u8], s) + HEAD


@kernel
def read(data: ptr[u8], kind: i64, i: i64) -> i64:
    """Character i."""
    if kind == 1:
        return i64(data[i])
    if kind == 2:
        return i64(cast(ptr[u16], data)[i])
    return i64(cast(ptr[u32], data)[i])


@kernel
def write(data: ptr[u8], kind: i64, i: i64, code: i64) -> None:
    """Sets character i."""
    if kind == 1:
        data[i] = u8(code)
    elif kind == 2:
        cast(ptr[u16], data)[i] = u16(code)
    else:
        cast(ptr[u32], data)[i] = u32(code)


@kernel
def code_at(s: ptr[Str], i: i64) -> i64:
    """Character i of a string."""
    return read(chars(s), s.kind, i)


@kernel
def kind_of(code: i64) -> i64:
    """The least kind that holds a character."""
    return select(code < 256, i64(1), select(code < 65536, i64(2), i64(4)))


@kernel
def widest(data: ptr[u8], kind: i64, start: i64, count: i64) -> i64:
    """The least kind that holds these characters."""
    if kind == 1:
        return i64(1)
    all = i64(0)
    for i in range(start, start + count):
        all = all | read(data, kind, i)
    return kind_of(all)


@kernel
def copy(to: ptr[u8], to_kind: i64, at: i64, source: ptr[u8], kind: i64, start: i64, count: i64) -> None:
    """Copies characters; `to_kind` holds them."""
    if count == 1:
        write(to, to_kind, at, read(source, kind, start))
    elif to_kind == kind:
        memcpy(to + at * kind, source + start * kind, count * kind)
    elif kind == 1 and to_kind == 2:
        for i in range(count):
            cast(ptr[u16], to)[at + i] = u16(source[start + i])
    else:
        for i in range(count):
            write(to, to_kind, at + i, read(source, kind, start + i))


# ---- making -------------------------------------------------------------------------------------------------------


@kernel
def block_bytes(size: i64) -> i64:
    """The size of the block of a string of `size` bytes: multiples of 16, then eight sizes to a doubling."""
    if likely(size <= 256):
        return (size + 15) & -16
    step = i64(1) << (60 - ctlz(size))
    return (size + step - 1) & -step


@kernel
def make(kind: i64, length: i64) -> ptr[Str]:
    """A string whose characters are not set yet, for whoever sets them at once; length > 0."""
    check(length < LARGEST, "MemoryError", "")
    made = cast(ptr[Str], allocate(block_bytes(HEAD + length * kind)))
    made.refcount = 1
    made.hash = -1
    made.length = length
    made.kind = kind
    seal(made)
    return made


@kernel
def seal(s: ptr[Str]) -> None:
    """Clears the word in which the characters end, before they are written; the string is not empty."""
    cast(ptr[u64], chars(s))[(s.length * s.kind - 1) >> 3] = 0


@kernel(inline="never")
def fill_slot(p: ptr[Str], number: i64) -> None:
    """Makes a string of the table; threads that do so at once write the same."""
    p.hash = -1
    p.length = select(number == EMPTY, i64(0), i64(1))
    p.kind = 1
    cast(ptr[u64], chars(p))[0] = select(number == EMPTY, u64(0), u64(number))
    atomic_store(addr(p.refcount), IMMORTAL)


@kernel
def small(number: i64) -> ptr[Str]:
    """The string of the character `number` < 256, or (EMPTY) the empty one."""
    p = cast(ptr[Str], TABLE.bytes + number * SLOT)
    if not likely(atomic_load(addr(p.refcount)) != 0):
        fill_slot(p, number)
    p.refcount = p.refcount + 1
    return p


@kernel
def character(code: i64) -> ptr[Str]:
    """The string of one character."""
    if likely(code < 256):
        return small(code)
    made = make(kind_of(code), 1)
    write(chars(made), made.kind, 0, code)
    return made


@kernel
def part(s: ptr[Str], start: i64, count: i64) -> ptr[Str]:
    """`count` characters from `start` on, which are there."""
    if count <= 0:
        return small(EMPTY)
    if count == s.length:
        s.refcount = s.refcount + 1
        return s
    if count == 1:
        return character(code_at(s, start))
    kind = widest(chars(s), s.kind, start, count)
    made = make(kind, count)
    copy(chars(made), kind, 0, chars(s), s.kind, start, count)
    return made


@kernel(extern=True)
def from_latin1(source: ptr[u8], length: i64) -> ptr[Str]:
    """A string of bytes that are characters below 256."""
    if length == 0:
        return small(EMPTY)
    made = make(1, length)
    memcpy(chars(made), source, length)
    return made


@kernel(extern=True)
def from_codes(source: ptr[u8], kind: i64, length: i64) -> ptr[Str]:
    """A string of the characters of an array of 1, 2 or 4 bytes each."""
    if length == 0:
        return small(EMPTY)
    needed = widest(source, kind, 0, length)
    made = make(needed, length)
    copy(chars(made), needed, 0, source, kind, 0, length)
    return made


@kernel
def release(s: ptr[Str]) -> None:
    """Gives up a reference."""
    s.refcount = s.refcount - 1
    if s.refcount == 0:
        recycle(cast(ptr[u8], s), block_bytes(HEAD + s.length * s.kind))


@kernel
def share(s: ptr[Str]) -> ptr[Str]:
    """Another reference."""
    s.refcount = s.refcount + 1
    return s


# ---- comparing ----------------------------------------------------------------------------------------------------


@kernel
def equal(a: ptr[Str], b: ptr[Str]) -> b1:
    """a == b."""
    if a == b:
        return True
    if a.length != b.length or a.kind != b.kind:
        return False
    size = a.length * a.kind
    if size > 128:
        return memcmp(chars(a), chars(b), size) == 0
    x = cast(ptr[u64], chars(a))
    y = cast(ptr[u64], chars(b))
    for i in range((size + 7) >> 3):
        if x[i] != y[i]:
            return False
    return True


@kernel(extern=True)
def compare(a: ptr[Str], b: ptr[Str]) -> i64:
    """Less than, equal to or greater than 0 as a is less than, equal to or greater than b, by code points."""
    count = minimum(a.length, b.length)
    if a.kind == 1 and b.kind == 1:
        order = i64(memcmp(chars(a), chars(b), count))
        return select(order != 0, order, a.length - b.length)
    for i in range(count):
        x = code_at(a, i)
        y = code_at(b, i)
        if x != y:
            return x - y
    return a.length - b.length


@kernel
def mix(a: u64, b: u64) -> u64:
    """Two words to one, every bit of it depending on all of theirs."""
    return (a * b) ^ mulhi(a, b)


@kernel(extern=True)
def compute_hash(s: ptr[Str]) -> i64:
    """The hash of a string, which is kept in it; not negative."""
    size = s.length * s.kind
    words = cast(ptr[u64], chars(s))
    state = u64(size) ^ 0xA0761D6478BD642F
    for i in range((size + 7) >> 3):
        state = mix(state ^ words[i], 0xE7037ED1A0B428DB)
    made = i64(mix(state, 0x8EBC6AF09C88C6E3) >> 1)
    s.hash = made
    return made


@kernel
def hash_of(s: ptr[Str]) -> i64:
    """The hash of a string."""
    if likely(s.hash != -1):
        return s.hash
    return compute_hash(s)


# ---- the operators ------------------------------------------------------------------------------------------------


@kernel
def getitem(s: ptr[Str], index: i64) -> ptr[Str]:
    """s[index]."""
    at = index + s.length if index < 0 else index
    check(at >= 0 and at < s.length, "IndexError", "string index out of range")
    return character(code_at(s, at))


@kernel(extern=True)
def concat(a: ptr[Str], b: ptr[Str]) -> ptr[Str]:
    """a + b."""
    if a.length == 0:
        return share(b)
    if b.length == 0:
        return share(a)
    made = make(maximum(a.kind, b.kind), a.length + b.length)
    copy(chars(made), made.kind, 0, chars(a), a.kind, 0, a.length)
    copy(chars(made), made.kind, a.length, chars(b), b.kind, 0, b.length)
    return made


@kernel(extern=True)
def append(a: ptr[Str], b: ptr[Str]) -> ptr[Str]:
    """a + b, where the reference to `a` is the caller's to give: in a's own block if nobody else has one."""
    count = b.length
    if a.refcount != 1 or b.kind > a.kind or a.length == 0 or a == b:
        made = concat(a, b)
        release(a)
        return made
    if count == 0:
        return a
    at = a.length
    kind = a.kind
    size = HEAD + (at + count) * kind
    if size > block_bytes(HEAD + at * kind):
        check(at + count < LARGEST, "MemoryError", "")
        a = cast(ptr[Str], reallocate(cast(ptr[u8], a), block_bytes(size)))
    last = (at * kind - 1) >> 3
    kept = cast(ptr[u64], chars(a))[last]
    a.length = at + count
    a.hash = -1
    seal(a)
    cast(ptr[u64], chars(a))[last] = kept
    copy(chars(a), kind, at, chars(b), b.kind, 0, count)
    return a


@kernel(extern=True)
def repeat(s: ptr[Str], n: i64) -> ptr[Str]:
    """s * n."""
    length = s.length
    if n <= 0 or length == 0:
        return small(EMPTY)
    check(n < LARGEST // length, "MemoryError", "")
    made = make(s.kind, length * n)
    size = length * s.kind
    if size == 1:
        byte = chars(s)[0]
        for i in range(n):
            chars(made)[i] = byte
    else:
        for i in range(n):
            memcpy(chars(made) + i * size, chars(s), size)
    return made


@kernel
def slice_bounds(length: i64, start, stop, step):
    """(first index, count, step) of ``[start:stop:step]`` of a sequence of that length."""
    stride = get(step) if has(step) else i64(1)
    check(stride != 0, "ValueError", "slice step cannot be zero")
    stride = maximum(stride, i64(-(2**63) + 1))
    low = select(stride < 0, i64(-1), i64(0))
    high = select(stride < 0, length - 1, length)
    first = clamped(get(start), length, low, high) if has(start) else select(stride < 0, high, low)
    last = clamped(get(stop), length, low, high) if has(stop) else select(stride < 0, low, high)
    count = i64(0)
    if stride > 0 and first < last:
        count = i64(1) if stride == 1 and last - first == 1 else (last - first - 1) // stride + 1
    if stride < 0 and last < first:
        count = (first - last - 1) // (0 - stride) + 1
    return first, count, stride


@kernel
def clamped(index: i64, length: i64, low: i64, high: i64) -> i64:
    """A bound of a slice, counted from the end where it is negative, within bounds."""
    at = index + length if index < 0 else index
    return select(at < low, low, select(at > high, high, at))


@kernel(extern=True)
def slice_of(s: ptr[Str], start, stop, step) -> ptr[Str]:
    """s[start:stop:step]."""
    first, count, stride = slice_bounds(s.length, start, stop, step)
    if stride == 1 or count <= 1:
        return part(s, first, count)
    all = i64(0)
    for i in range(count):
        all = all | code_at(s, first + i * stride)
    made = make(kind_of(all), count)
    for i in range(count):
        write(chars(made), made.kind, i, code_at(s, first + i * stride))
    return made


@kernel
def length_of(s: ptr[Str]) -> i64:
    """len(s)."""
    return s.length


@kernel
def code_of(s: ptr[Str]) -> i64:
    """ord(s)."""
    if s.length != 1:
        fail("TypeError", "ord() expected a character, but string of length {} found", s.length)
    return code_at(s, 0)
