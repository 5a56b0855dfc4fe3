"""Literals of the text forms: numbers and strings, written and read.

In and out: Python values. What is written reads back as the same value, to the last bit of a float and to lone
surrogates in a string.
"""

from __future__ import annotations

import math
import re
import struct

from jitlang.errors import IRError

_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'", "0": "\0"}
_WRITE = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", '"': '\\"'}
_PLAIN = re.compile(r'[^"\\\x00-\x1f\x7f-\xa0\u0085\u2028\u2029\ud800-\udfff]*')


def write_string(value: str) -> str:
    """`value` in double quotes, on one line."""
    if _PLAIN.fullmatch(value) and value.isprintable():
        return f'"{value}"'
    return '"' + "".join(_write_character(c) for c in value) + '"'


def _write_character(c: str) -> str:
    if c in _WRITE:
        return _WRITE[c]
    if c.isprintable():
        return c
    code = ord(c)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def read_string(text: str) -> str:
    """The string that a quoted literal stands for. Raises IRError for an unknown escape."""

    def character(match: re.Match[str]) -> str:
        digits = match[1] or match[2] or match[3]
        if digits is not None:
            if int(digits, 16) > 0x10FFFF:
                raise IRError(f"no character has the code {match[0]}")
            return chr(int(digits, 16))
        if match[4] not in _SIMPLE:
            raise IRError(f"unknown escape {match[0]!r} in a string")
        return _SIMPLE[match[4]]

    inner = text[1:-1]
    return _ESCAPE.sub(character, inner) if "\\" in inner else inner


def write_float(value: float) -> str:
    """The shortest text that reads back as the same bits."""
    if value == value:
        return repr(value)
    bits = int.from_bytes(struct.pack(">d", value), "big")
    return "nan" if bits == 0x7FF8000000000000 else f"nan(0x{bits:016x})"


def read_number(text: str) -> int | float:
    """An int where `text` has only digits and a sign, a float otherwise (``inf``, ``nan``, ``nan(0x…)`` too)."""
    if text.startswith("nan"):
        if text == "nan":
            return math.nan
        (value,) = struct.unpack(">d", int(text[4:-1], 16).to_bytes(8, "big"))
        if value == value:
            raise IRError(f"{text} is no NaN")
        return float(value)
    return float(text) if any(c in text for c in ".einfE") else int(text)
