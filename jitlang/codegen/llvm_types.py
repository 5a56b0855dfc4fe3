"""jitlang types as LLVM types and constants as LLVM text.

Two forms of each type: in registers (`register_type`; a bool is ``i1``) and in memory (`memory_type`; a bool is ``i8``).
"""

from __future__ import annotations

import math
import struct
from typing import Any

from jitlang.types import (
    BOOL,
    DEVICE,
    DTYPE,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    VOID,
    ArrayType,
    ClassType,
    DictType,
    ListType,
    Machine,
    OptionalType,
    Pointer,
    SetType,
    StructType,
    TensorType,
    TupleType,
    Type,
)

_SIMPLE = {INT: "i64", FLOAT: "double", BOOL: "i1", NONE: "i8", STR: "ptr", DTYPE: "i64", DEVICE: "i64", VOID: "void", NEVER: "i8"}
_FLOATS = {32: "float", 64: "double"}


def register_type(type: Type) -> str:
    """The LLVM type of an SSA value of `type`."""
    if isinstance(type, Machine):
        return _FLOATS[type.bits] if type.kind == "f" else f"i{type.bits}"
    if type in _SIMPLE:
        return _SIMPLE[type]
    if isinstance(type, Pointer | ListType | DictType | SetType | TensorType | ClassType):
        return "ptr"
    if isinstance(type, TupleType):
        return "{" + ", ".join(register_type(t) for t in type.elements) + "}" if type.elements else "i8"
    if isinstance(type, OptionalType):
        inner = register_type(type.element)
        return "ptr" if inner == "ptr" else f"{{i1, {inner}}}"
    raise TypeError(f"{type} has no native form")


def is_nullable(type: OptionalType) -> bool:
    """Whether None is the null pointer (else an Optional is a flag and a payload)."""
    return register_type(type.element) == "ptr"


def memory_type(type: Type) -> str:
    """The LLVM type of a value of `type` in memory; a struct is its name."""
    if isinstance(type, StructType):
        return f'%"{type.name}"'
    if isinstance(type, ArrayType):
        return f"[{type.length} x {memory_type(type.element)}]"
    text = register_type(type)
    return "i8" if text == "i1" else text


def size_and_align(type: Type) -> tuple[int, int]:
    """Bytes and alignment of a script value in memory (containers' elements, objects' attributes)."""
    text = memory_type(type)
    return _layout_of(text)


def _layout_of(text: str) -> tuple[int, int]:
    simple = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "float": 4, "i64": 8, "double": 8, "ptr": 8}
    if text in simple:
        return simple[text], simple[text]
    at, align = 0, 1
    for part in _parts(text[1:-1]):
        size, a = _layout_of(part)
        at = (at + a - 1) // a * a + size
        align = max(align, a)
    return (at + align - 1) // align * align, align


def _parts(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for i, ch in enumerate(text):
        depth += (ch == "{") - (ch == "}")
        if ch == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()]


def float_text(value: float, bits: int = 64) -> str:
    """A floating-point constant: the bits of the double that it is, in hexadecimal."""
    if bits == 32 and not math.isnan(value) and not math.isinf(value):
        value = _round_to_f32(value)
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


def _round_to_f32(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def number_text(value: Any, type: Type) -> str:
    """A number, truth value or null as an LLVM constant of that type."""
    text = register_type(type)
    if text in ("double", "float"):
        return float_text(float(value), 32 if text == "float" else 64)
    if text == "ptr":
        return "null"
    if text == "i1":
        return "true" if value else "false"
    return str(int(value))


def quote(name: str) -> str:
    """A symbol's name as LLVM writes it."""
    escaped = "".join(c if c not in '"\\' and 32 <= ord(c) < 127 else "".join(f"\\{b:02X}" for b in c.encode()) for c in name)
    return f'"{escaped}"'


def bytes_text(data: bytes) -> str:
    """Bytes as the inside of an LLVM ``c"…"`` constant."""
    return "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in data)
