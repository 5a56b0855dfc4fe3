"""Methods of str: searching, replacing, splitting, joining, stripping, case, numbers as text.

In: pointers to `Str`. Out: new references. What needs Unicode's tables (case and classes of characters beyond ASCII) is CPython's to do.
"""

from __future__ import annotations

from jitlang.codegen.library import lists, strings
from jitlang.codegen.library.layout import List, Str
from jitlang.codegen.library.memory import LARGEST
from jitlang.codegen.library.strings import EMPTY, chars, code_at, copy, make, part, read, share, small, write
from jitlang.frontend.kernel import (
    address,
    b1,
    cast,
    check,
    extern,
    i64,
    kernel,
    local,
    maximum,
    memcpy,
    minimum,
    null,
    ptr,
    select,
    u8,
    u64,
    udiv,
    urem,
)
from jitlang.types import STR

memcmp = strings.memcmp
memmem = extern("memmem", [ptr[u8], i64, ptr[u8], i64], ptr[u8])


# ---- searching ----------------------------------------------------------------------------------------------------


@kernel
def matches(s: ptr[Str], at: i64, what: ptr[Str]) -> b1:
    """Whether `what` stands at position `at`, where there is room for it."""
    if s.kind == what.kind:
        return memcmp(chars(s) + at * s.kind, chars(what), what.length * s.kind) == 0
    for i in range(what.length):
        if code_at(s, at + i) != code_at(what, i):
            return False
    return True


@kernel(extern=True)
def search(s: ptr[Str], what: ptr[Str], start: i64, stop: i64) -> i64:
    """The first position of `what` within [start, stop), bounds that lie in the string; -1 where there is none."""
    count = what.length
    if stop - start < count:
        return -1
    if count == 0:
        return start
    if what.kind > s.kind:
        return -1
    if s.kind == 1:
        data = chars(s)
        found = memmem(data + start, stop - start, chars(what), count)
        return select(found == null(ptr[u8]), i64(-1), address(found) - address(data))
    first = code_at(what, 0)
    for at in range(start, stop - count + 1):
        if code_at(s, at) == first:
            if matches(s, at, what):
                return at
    return -1


@kernel(extern=True)
def search_back(s: ptr[Str], what: ptr[Str], start: i64, stop: i64) -> i64:
    """The last position of `what` within [start, stop); -1 where there is none."""
    at = stop - what.length
    while at >= start:
        if matches(s, at, what):
            return at
        at -= 1
    return -1


@kernel
def bounds(length: i64, start: i64, stop: i64):
    """The bounds of a search, as CPython adjusts them; a start behind the end stays there."""
    high = minimum(stop, length)
    high = maximum(high + length, 0) if high < 0 else high
    low = maximum(start + length, 0) if start < 0 else start
    return low, high


@kernel
def find(s: ptr[Str], what: ptr[Str], start: i64, stop: i64) -> i64:
    """s.find(what, start, stop)."""
    low, high = bounds(s.length, start, stop)
    return search(s, what, low, high)


@kernel
def rfind(s: ptr[Str], what: ptr[Str], start: i64, stop: i64) -> i64:
    """s.rfind(what, start, stop)."""
    low, high = bounds(s.length, start, stop)
    return search_back(s, what, low, high)


@kernel
def index(s: ptr[Str], what: ptr[Str], start: i64, stop: i64) -> i64:
    """s.index(what, start, stop)."""
    at = find(s, what, start, stop)
    check(at >= 0, "ValueError", "substring not found")
    return at


@kernel
def rindex(s: ptr[Str], what: ptr[Str], start: i64, stop: i64) -> i64:
    """s.rindex(what, start, stop)."""
    at = rfind(s, what, start, stop)
    check(at >= 0, "ValueError", "substring not found")
    return at


@kernel
def contains(s: ptr[Str], what: ptr[Str]) -> b1:
    """what in s."""
    return search(s, what, 0, s.length) >= 0


@kernel(extern=True)
def count(s: ptr[Str], what: ptr[Str], start: i64, stop: i64) -> i64:
    """s.count(what, start, stop)."""
    low, high = bounds(s.length, start, stop)
    if high < low:
        return i64(0)
    if what.length == 0:
        return high - low + 1
    found = i64(0)
    at = search(s, what, low, high)
    while at >= 0:
        found += 1
        at = search(s, what, at + what.length, high)
    return found


@kernel(extern=True)
def startswith(s: ptr[Str], what: ptr[Str], start: i64, stop: i64) -> b1:
    """s.startswith(what, start, stop)."""
    low, high = bounds(s.length, start, stop)
    return high - low >= what.length and matches(s, low, what)


@kernel(extern=True)
def endswith(s: ptr[Str], what: ptr[Str], start: i64, stop: i64) -> b1:
    """s.endswith(what, start, stop)."""
    low, high = bounds(s.length, start, stop)
    return high - low >= what.length and matches(s, high - what.length, what)


# ---- making -------------------------------------------------------------------------------------------------------


@kernel(extern=True)
def replace(s: ptr[Str], old: ptr[Str], new: ptr[Str], limit: i64) -> ptr[Str]:
    """s.replace(old, new, limit)."""
    length = s.length
    many = count(s, old, 0, length)
    if limit >= 0:
        many = minimum(many, limit)
    if many == 0:
        return share(s)
    step = old.length
    total = length + many * (new.length - step)
    check(new.length == 0 or many < LARGEST // new.length, "MemoryError", "")
    if total == 0:
        return small(EMPTY)
    # The result may be of a lesser kind than the string, if the replaced characters were its widest.
    made = make(maximum(s.kind, new.kind), total)
    kind = made.kind
    data = chars(made)
    at = i64(0)
    to = i64(0)
    for i in range(many):
        found = at + select(i == 0, i64(0), i64(1)) if step == 0 else search(s, old, at, length)
        begin = at
        copy(data, kind, to, chars(s), s.kind, begin, found - begin)
        to += found - begin
        copy(data, kind, to, chars(new), new.kind, 0, new.length)
        to += new.length
        at = found + step
    copy(data, kind, to, chars(s), s.kind, at, length - at)
    return narrowed(made)


@kernel
def narrowed(s: ptr[Str]) -> ptr[Str]:
    """An owned string that was just made, in the least kind that holds it."""
    needed = strings.widest(chars(s), s.kind, 0, s.length)
    if needed == s.kind:
        return s
    made = make(needed, s.length)
    copy(chars(made), needed, 0, chars(s), s.kind, 0, s.length)
    strings.release(s)
    return made


@kernel
def texts(parts: ptr[List]):
    """The strings of a list."""
    return cast(ptr[ptr[Str]], parts.data)


@kernel(extern=True)
def join(s: ptr[Str], parts: ptr[List]) -> ptr[Str]:
    """s.join(parts)."""
    many = parts.length
    if many == 0:
        return small(EMPTY)
    if many == 1:
        return share(texts(parts)[0])
    kind = s.kind
    total = s.length * (many - 1)
    for i in range(many):
        piece = texts(parts)[i]
        kind = maximum(kind, piece.kind)
        total += piece.length
    check(total < LARGEST, "MemoryError", "")
    if total == 0:
        return small(EMPTY)
    made = make(kind, total)
    data = chars(made)
    at = i64(0)
    for i in range(many):
        if i > 0:
            copy(data, kind, at, chars(s), s.kind, 0, s.length)
            at += s.length
        piece = texts(parts)[i]
        copy(data, kind, at, chars(piece), piece.kind, 0, piece.length)
        at += piece.length
    return made


@kernel(extern=True)
def characters(s: ptr[Str]) -> ptr[List]:
    """list(s)."""
    made = lists.new(s.length, STR)
    for i in range(s.length):
        lists.fill(made, cast(ptr[u8], strings.character(code_at(s, i))), STR)
    return made


# ---- splitting ----------------------------------------------------------------------------------------------------


SPACES = sum(1 << code for code in range(64) if chr(code).isspace())


@kernel
def is_space(code: i64) -> b1:
    """Whether str.isspace() holds of a character."""
    if code > 32 and code < 0x85:
        return False
    if code <= 32:
        return (SPACES >> code) & 1 == 1
    if code < 256:
        return code == 0x85 or code == 0xA0
    return code == 0x1680 or (code >= 0x2000 and code <= 0x200A) or code == 0x2028 or code == 0x2029 or code == 0x202F or code == 0x205F or code == 0x3000


@kernel
def put_part(made: ptr[List], s: ptr[Str], start: i64, stop: i64) -> None:
    """Appends s[start:stop]."""
    lists.reserve(made, 1, STR)
    lists.fill(made, cast(ptr[u8], part(s, start, stop - start)), STR)


@kernel(extern=True)
def split(s: ptr[Str], separator, limit: i64) -> ptr[List]:
    """s.split(separator, limit); a null separator is white space."""
    if separator != null(ptr[u8]):
        return split_at(s, cast(ptr[Str], separator), limit)
    if s.kind == 1:
        return split_spaces(s, limit, 1)
    return split_spaces(s, limit, 2) if s.kind == 2 else split_spaces(s, limit, 4)


@kernel
def split_spaces(s: ptr[Str], limit: i64, kind) -> ptr[List]:
    """s.split(None, limit) of a string of that (static) kind."""
    made = lists.new(8, STR)
    data = chars(s)
    length = s.length
    at = i64(0)
    left = limit
    while at < length:
        while at < length and is_space(read(data, kind, at)):
            at += 1
        if at < length:
            start = at
            if left == 0:
                put_part(made, s, start, length)
                at = length
            else:
                while at < length and not is_space(read(data, kind, at)):
                    at += 1
                put_part(made, s, start, at)
                left -= 1
    return made


@kernel
def split_at(s: ptr[Str], separator: ptr[Str], limit: i64) -> ptr[List]:
    """s.split(separator, limit)."""
    check(separator.length > 0, "ValueError", "empty separator")
    made = lists.new(8, STR)
    length = s.length
    at = i64(0)
    left = limit
    found = search(s, separator, 0, length)
    while found >= 0 and left != 0:
        put_part(made, s, at, found)
        at = found + separator.length
        left -= 1
        found = search(s, separator, at, length)
    put_part(made, s, at, length)
    return made


@kernel(extern=True)
def rsplit(s: ptr[Str], separator, limit: i64) -> ptr[List]:
    """s.rsplit(separator, limit); a null separator is white space."""
    if limit < 0:
        return split(s, separator, -1)
    made = rsplit_at(s, cast(ptr[Str], separator), limit) if separator != null(ptr[u8]) else rsplit_spaces(s, limit)
    lists.reverse(made, STR)
    made.version = 0
    return made


@kernel
def rsplit_spaces(s: ptr[Str], limit: i64) -> ptr[List]:
    """s.rsplit(None, limit), last part first."""
    made = lists.new(8, STR)
    at = s.length
    left = limit
    while at > 0:
        while at > 0 and is_space(code_at(s, at - 1)):
            at -= 1
        if at > 0:
            stop = at
            if left == 0:
                put_part(made, s, 0, stop)
                at = 0
            else:
                while at > 0 and not is_space(code_at(s, at - 1)):
                    at -= 1
                put_part(made, s, at, stop)
                left -= 1
    return made


@kernel
def rsplit_at(s: ptr[Str], separator: ptr[Str], limit: i64) -> ptr[List]:
    """s.rsplit(separator, limit), last part first."""
    check(separator.length > 0, "ValueError", "empty separator")
    made = lists.new(8, STR)
    at = s.length
    left = limit
    found = search_back(s, separator, 0, at)
    while found >= 0 and left != 0:
        put_part(made, s, found + separator.length, at)
        at = found
        left -= 1
        found = search_back(s, separator, 0, at)
    put_part(made, s, 0, at)
    return made


# ---- the ends -----------------------------------------------------------------------------------------------------


@kernel
def is_stripped(code: i64, set: ptr[u8]) -> b1:
    """Whether a character is one that is taken off: white space, or one of a set."""
    if set == null(ptr[u8]):
        return is_space(code)
    s = cast(ptr[Str], set)
    for i in range(s.length):
        if code_at(s, i) == code:
            return True
    return False


@kernel(extern=True)
def strip(s: ptr[Str], set: ptr[u8], left: b1, right: b1) -> ptr[Str]:
    """s.strip(set) on the sides named; a null set is white space."""
    start = i64(0)
    stop = s.length
    if left:
        while start < stop and is_stripped(code_at(s, start), set):
            start += 1
    if right:
        while stop > start and is_stripped(code_at(s, stop - 1), set):
            stop -= 1
    return part(s, start, stop - start)


@kernel(extern=True)
def removeprefix(s: ptr[Str], what: ptr[Str]) -> ptr[Str]:
    """s.removeprefix(what)."""
    if s.length >= what.length and matches(s, 0, what):
        return part(s, what.length, s.length - what.length)
    return share(s)


@kernel(extern=True)
def removesuffix(s: ptr[Str], what: ptr[Str]) -> ptr[Str]:
    """s.removesuffix(what)."""
    if s.length >= what.length and matches(s, s.length - what.length, what):
        return part(s, 0, s.length - what.length)
    return share(s)


@kernel(extern=True)
def pad(s: ptr[Str], width: i64, fill: ptr[Str], before: i64) -> ptr[Str]:
    """The string with `fill` around it to `width` > its length; `before` characters of it in front."""
    check(width < LARGEST, "MemoryError", "")
    made = make(maximum(s.kind, fill.kind), width)
    code = code_at(fill, 0)
    for i in range(width):
        write(chars(made), made.kind, i, code)
    copy(chars(made), made.kind, before, chars(s), s.kind, 0, s.length)
    return made


# ---- ASCII --------------------------------------------------------------------------------------------------------


@kernel(extern=True)
def is_ascii(s: ptr[Str]) -> b1:
    """s.isascii()."""
    if s.kind != 1:
        return False
    all = u8(0)
    for i in range(s.length):
        all = all | chars(s)[i]
    return all < 128


@kernel(extern=True)
def ascii_case(s: ptr[Str], first: i64) -> ptr[Str]:
    """An ASCII string with the letters of one case, that of which `first` is the first letter, in the other case."""
    if s.length == 0:
        return share(s)
    made = make(1, s.length)
    for i in range(s.length):
        code = chars(s)[i]
        letter = code - u8(first)
        chars(made)[i] = select(letter < 26, code ^ 32, code)
    return made


@kernel(extern=True)
def all_within(s: ptr[Str], low: i64, high: i64, low2: i64, high2: i64) -> b1:
    """Whether an ASCII string is not empty and all its characters, made lower case, lie in one of two ranges."""
    for i in range(s.length):
        code = i64(chars(s)[i])
        folded = select(code >= 65 and code <= 90, code + 32, code)
        if not ((folded >= low and folded <= high) or (folded >= low2 and folded <= high2)):
            return False
    return s.length > 0


# ---- numbers ------------------------------------------------------------------------------------------------------


@kernel(extern=True)
def plain_int(s: ptr[Str]):
    """(int(s), True) of a text of up to 18 digits with a sign or none; (0, False) of another, which may be an int all the same."""
    data = chars(s)
    start = i64(0)
    if s.length > 0 and (data[0] == 45 or data[0] == 43):
        start = 1
    digits = s.length - start
    if s.kind != 1 or digits < 1 or digits > 18:
        return i64(0), b1(False)
    value = i64(0)
    for i in range(start, s.length):
        digit = data[i] - 48
        if digit > 9:
            return i64(0), b1(False)
        value = value * 10 + i64(digit)
    return select(data[0] == 45, 0 - value, value), b1(True)


@kernel(extern=True)
def of_int(value: i64) -> ptr[Str]:
    """str(value)."""
    digits = local(u8, 24)
    at = i64(24)
    left = select(value < 0, u64(0) - u64(value), u64(value))
    while left >= 10:
        at -= 1
        digits[at] = u8(urem(left, u64(10)) + 48)
        left = udiv(left, u64(10))
    at -= 1
    digits[at] = u8(left + 48)
    if value < 0:
        at -= 1
        digits[at] = 45
    if at == 23:
        return small(i64(digits[23]))
    made = make(1, 24 - at)
    memcpy(chars(made), digits + at, 24 - at)
    return made
