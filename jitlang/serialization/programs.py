"""Programs as entries of an archive.

In: programs, whose source ranges point into files as the user's machine names them. Out: IR text without any path of that machine, and one
text per file for ``code/``; and back, with the ranges pointing into those texts.

A program knows only the functions that it was made of, each with its place in the file. The text for ``code/`` puts each at its own lines and leaves the
other lines empty, so that line numbers stay those of the user's file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath
from typing import Any

from jitlang.errors import ArchiveError, IRError
from jitlang.grammar.literals import read_string, write_string
from jitlang.ir.graph import Program
from jitlang.ir.printer import Hook, print_program
from jitlang.ir.reader import parse_program
from jitlang.serialization.container import check_name
from jitlang.source import Source

_SOURCE_LINE = re.compile(r'^(source !\d+ = )("(?:\\.|[^"\\\n])*") line \d+ indent \d+$', re.MULTILINE)


def collect_sources(programs: Iterable[Program]) -> tuple[dict[str, str], dict[str, str]]:
    """What the programs' ranges point into: file name → name in the archive, and name in the archive → text."""
    names: dict[str, str] = {}
    lines: dict[str, list[str]] = {}
    for source in _sources(programs):
        if source.filename not in names:
            names[source.filename] = _archive_name(source.filename, set(names.values()))
        found = lines.setdefault(names[source.filename], [])
        _place(source, found)
    return names, {name: "\n".join(found) + "\n" for name, found in lines.items()}


def _sources(programs: Iterable[Program]) -> Iterator[Source]:
    """Every source, once, in program order."""
    seen: set[int] = set()
    for program in programs:
        for graph in program.functions.values():
            for where in (graph.range, *(node.range for node in graph.walk())):
                for frame in where.frames() if where is not None else ():
                    if id(frame.source) not in seen:
                        seen.add(id(frame.source))
                        yield frame.source


def _place(source: Source, lines: list[str]) -> None:
    """Puts the lines of a source where they stand in its file."""
    start = max(0, source.first_line - 1)
    own = source.lines()
    lines.extend("" for _ in range(start + len(own) - len(lines)))
    for index, line in enumerate(own, start):
        if line.strip():
            lines[index] = " " * source.indent + line


def _archive_name(filename: str, taken: set[str]) -> str:
    """A short name without folders: ``report.py``, and ``report-2.py`` for another file of that name."""
    base = re.sub(r"[^\w.\- ]", "", PurePath(filename.replace("\\", "/")).name) or "source"
    stem = base.removesuffix(".py")[:80]
    number = 1
    while True:
        name = f"{stem}{'' if number == 1 else f'-{number}'}.py"
        if name not in taken and not check_name(f"code/{name}"):
            return name
        number += 1


def encode_program(program: Program, names: dict[str, str], hook: Hook | None = None) -> str:
    """The program as text; `names` gives the files' names in the archive, `hook` names constants that have no literal.

    Raises ValueError for a constant that cannot be stored.
    """

    def rename(match: re.Match[str]) -> str:
        return f"{match[1]}{write_string(names[read_string(match[2])])} line 1 indent 0"

    try:
        return _SOURCE_LINE.sub(rename, print_program(program, texts=False, hook=hook))
    except IRError as error:
        raise ValueError(f"the program {program.entry} cannot be stored: {error}") from None


def decode_program(text: str, entry: str, texts: dict[str, str], references: Callable[[str], Any] | None = None) -> Program:
    """The program that an entry says; ArchiveError naming the entry where it cannot be read."""
    try:
        return parse_program(text, texts=texts, references=references)
    except RecursionError:
        raise ArchiveError(f"entry {entry!r}: its blocks are nested too deep") from None
    except (IRError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
        # The text comes from a stranger: whatever the reader trips over makes it unreadable, nothing worse.
        raise ArchiveError(f"entry {entry!r}: cannot be read: {error}") from None
