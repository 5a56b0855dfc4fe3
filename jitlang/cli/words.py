"""Numbers as people read them: times, sizes, counts."""

from __future__ import annotations


def counted(count: int, thing: str) -> str:
    """A number of things: 1 function, 2 functions."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def size(count: int) -> str:
    """A number of bytes."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return counted(count, "byte")


def duration(seconds: float) -> str:
    """A time with three digits and a unit."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
