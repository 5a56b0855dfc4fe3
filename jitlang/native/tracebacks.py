"""Tracebacks through the user's own lines. In: source ranges. Out: traceback entries as if CPython had run those lines.

Each place gets a code object of its own, with the user's file name, function name, line and columns (so that Python
prints its carets), and a frame of it: the frame of a generator that is never started. Both are made once per place and
kept; adding a place to an exception then costs 0.2 µs. Nothing is executed.
"""

from __future__ import annotations

import linecache
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from jitlang.config import flag
from jitlang.source import Source, SourceRange

Place = tuple[types.FrameType, int]  # a frame and the line in it

_units: dict[int, Sequence[SourceRange]] = {}
_sites: dict[tuple[int, int], tuple[Place, ...]] = {}
_places: dict[tuple[Any, ...], Place] = {}
_generators: list[Any] = []  # a frame needs its generator
_shown: dict[int, Source] = {}  # by id, and kept alive, so that an id is never reused


def _template() -> Iterator[None]:
    yield


def register_unit(unit: int, sites: Sequence[SourceRange]) -> None:
    """Gives the places of a unit of native code: `sites[index]` is what (unit, index) in an error record means."""
    _units[unit] = sites
    for key in [key for key in _sites if key[0] == unit]:
        del _sites[key]


def forget_unit(unit: int) -> None:
    """Drops what `register_unit` was told; for native code that was unloaded."""
    register_unit(unit, ())
    del _units[unit]


def places(unit: int, index: int) -> tuple[Place, ...]:
    """The frames of one site, innermost first: the place itself and the places it was inlined into; () if unknown."""
    found = _sites.get((unit, index))
    if found is None:
        sites = _units.get(unit, ())
        ranges = sites[index].frames() if 0 <= index < len(sites) else []
        found = _sites[unit, index] = tuple(place_of(r) for r in ranges)
    return found


def place_of(where: SourceRange) -> Place:
    """The frame for one source range; made once for each place."""
    key = (where.source.filename, where.function, where.line, where.col, where.end_line, where.end_col)
    found = _places.get(key)
    if found is None:
        _show(where.source)
        found = _places[key] = (_frame(where), where.line)
    return found


def _frame(where: SourceRange) -> types.FrameType:
    model = _template.__code__
    code = model.replace(
        co_filename=where.source.filename,
        co_name=where.function.rsplit(".", 1)[-1],
        co_qualname=where.function,
        co_firstlineno=where.line,
        co_linetable=_line_table(where, len(model.co_code) // 2),
    )
    generator = types.FunctionType(code, {"__name__": "<script>", "__builtins__": __builtins__})()
    _generators.append(generator)
    frame: types.FrameType = generator.gi_frame
    return frame


def _line_table(where: SourceRange, units: int) -> bytes:
    """A location table in which every instruction stands at `where` (CPython's Objects/locations.md, long form)."""
    out = bytearray()
    while units > 0:
        count = min(units, 8)
        out.append(0x80 | 14 << 3 | count - 1)
        out += _varint(0)  # line - first line, as a signed number
        out += _varint(max(0, where.end_line - where.line))
        out += _varint(where.col + 1)
        out += _varint(where.end_col + 1)
        units -= count
    return bytes(out)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 64:
        out.append(64 | value & 63)
        value >>= 6
    out.append(value)
    return bytes(out)


def _show(source: Source) -> None:
    """Lets Python print lines of a text that is no file (a notebook cell, an archive entry)."""
    if id(source) in _shown:
        return
    _shown[id(source)] = source
    name = source.filename
    if name in linecache.cache or linecache.getlines(name) or Path(name).exists():
        return
    lines = ["\n"] * (source.first_line - 1) + [" " * source.indent + line + "\n" for line in source.lines()]
    linecache.cache[name] = (len(source.text), None, lines, name)


def attach(error: BaseException, sites: Iterable[tuple[Place, ...]]) -> BaseException:
    """Puts the places of `sites` (innermost first) in front of the traceback that `error` has; returns `error`.

    Frames of jitlang's own modules are left out, unless ``JITLANG_DEBUG`` is set.
    """
    trace = error.__traceback__
    if trace is not None and not flag("JITLANG_DEBUG"):
        trace = frames_that(_is_users, trace)
    make = types.TracebackType
    for site in sites:
        for frame, line in site:
            trace = make(trace, frame, 0, line)
    return error.with_traceback(trace)


def frames_that(keep: Callable[[types.FrameType], bool], trace: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback of those frames for which `keep` says so."""
    entries = []
    while trace is not None:
        if keep(trace.tb_frame):
            entries.append(trace)
        trace = trace.tb_next
    result: types.TracebackType | None = None
    for entry in reversed(entries):
        # An interrupt can meet an instruction that belongs to no line.
        line: int | None = entry.tb_lineno
        result = types.TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_frame.f_code.co_firstlineno if line is None else line)
    return result


def _is_users(frame: types.FrameType) -> bool:
    return not f"{frame.f_globals.get('__name__', '')}.".startswith("jitlang.")
