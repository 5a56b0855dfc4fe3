"""Strings between Python and native code.

In: a Python string, or a `Str`. Out: a new reference to the other, or null with Python's error set.
"""

from __future__ import annotations

from jitlang.codegen.library.layout import Str
from jitlang.codegen.library.marshal_python import TEXT_ASCII, TEXT_WIDE
from jitlang.codegen.library.marshal_state import block_of
from jitlang.codegen.library.memory import recycle
from jitlang.codegen.library.python_api import new_text, text_codes, text_length
from jitlang.codegen.library.strings import EMPTY, HEAD, block_bytes, chars, copy, memcmp, seal, small, widest
from jitlang.frontend.kernel import b1, cast, i32, i64, kernel, likely, memcpy, null, ptr, select, u8, u32


@kernel
def blank(kind: i64, length: i64) -> ptr[Str]:
    """A string whose characters are not set yet; null with MemoryError set where there is no memory."""
    made = cast(ptr[Str], block_of(block_bytes(HEAD + length * kind)))
    if made != null(ptr[Str]):
        made.refcount = 1
        made.hash = -1
        made.length = length
        made.kind = kind
        seal(made)
    return made


@kernel
def copied_text(source: ptr[u8], kind: i64, length: i64) -> ptr[Str]:
    """A string of characters that need this kind."""
    if length == 1 and kind == 1:
        return small(i64(source[0]))
    made = blank(kind, length)
    if made != null(ptr[Str]):
        memcpy(chars(made), source, length * kind)
    return made


@kernel(inline="never")
def widened_text(object: ptr[u8], length: i64) -> ptr[Str]:
    """The string of any Python string, by way of its code points."""
    codes = block_of(length * 4)
    if codes == null(ptr[u8]):
        return null(ptr[Str])
    made = null(ptr[Str])
    if text_codes(object, codes, length, 0) != null(ptr[u8]):
        kind = widest(codes, 4, 0, length)
        made = blank(kind, length)
        if made != null(ptr[Str]):
            copy(chars(made), kind, 0, codes, 4, 0, length)
    recycle(codes, length * 4)
    return made


@kernel(extern=True)
def text_from(object: ptr[u8]) -> ptr[Str]:
    """The native string of a Python string."""
    length = text_length(object)
    if length == 0:
        return small(EMPTY)
    if TEXT_ASCII != 0:
        state = i64(cast(ptr[u32], object)[8])
        if likely((state >> 5) & 1 == 1):  # compact: the characters stand behind the head
            kind = (state >> 2) & 7
            at = select((state >> 6) & 1 == 1, i64(TEXT_ASCII), i64(TEXT_WIDE))
            return copied_text(object + at, kind, length)
    return widened_text(object, length)


@kernel(extern=True)
def text_to(s: ptr[Str]) -> ptr[u8]:
    """The Python string of a native string."""
    return new_text(i32(s.kind), chars(s), s.length)


@kernel
def same_text(object: ptr[u8], s: ptr[Str]) -> b1:
    """Whether a Python string has the same characters as a native string; False where that is not cheap to say."""
    length = text_length(object)
    if length != s.length:
        return False
    if TEXT_ASCII != 0:
        state = i64(cast(ptr[u32], object)[8])
        if (state >> 5) & 1 == 1 and (state >> 2) & 7 == s.kind:
            at = select((state >> 6) & 1 == 1, i64(TEXT_ASCII), i64(TEXT_WIDE))
            return memcmp(object + at, chars(s), length * s.kind) == 0
    return False
