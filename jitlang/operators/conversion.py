"""Conversions between numbers, bool and str, and code points."""

from __future__ import annotations

from typing import Any

from jitlang.operators.rows import checking, row
from jitlang.registry import PURE, TOTAL


def same(value: Any) -> Any:
    """The value itself."""
    return value


def device_type(device: Any) -> str:
    """The kind of a device."""
    return str(device).partition(":")[0]


def device_index(device: Any) -> int | None:
    """The number of a device, if it has one."""
    index = str(device).partition(":")[2]
    return int(index) if index else None


row("device_type(device a) -> str", "The kind of a device.", device_type, PURE, TOTAL)
row("device_index(device a) -> int?", "The number of a device, or None.", device_index, PURE, TOTAL)
row("float.int(int a) -> float", "The nearest float.", float, PURE, TOTAL)
row("float.bool(bool a) -> float", "1.0 or 0.0.", float, PURE, TOTAL)
row("float.str(str a) -> float", "Read a float; ValueError where the text is none.", float, PURE)
row("int.float(float a) -> int", "Cut the fraction off.", checking(int), PURE)
row("int.bool(bool a) -> int", "1 or 0.", int, PURE, TOTAL)
row("int.str(str a) -> int", "Read an int in base 10; ValueError where the text is none.", checking(int), PURE)
row("int.base(str a, int base) -> int", "Read an int in a base.", checking(int), PURE)
row("bool.int(int a) -> bool", "Whether it is not zero.", bool, PURE, TOTAL)
row("bool.float(float a) -> bool", "Whether it is not zero.", bool, PURE, TOTAL)
row("bool.str(str a) -> bool", "Whether it is not empty.", bool, PURE, TOTAL)
row("bool.list(List[t] a) -> bool", "Whether it is not empty.", bool, PURE, TOTAL)
row("bool.dict(Dict[k, v] a) -> bool", "Whether it is not empty.", bool, PURE, TOTAL)
row("ord(str a) -> int", "The code point of a string of one character; TypeError for another length.", ord, PURE)
row("hash(Any a) -> int", "Python's hash; that of a str differs between processes.", hash, PURE)
