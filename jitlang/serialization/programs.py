"""Programs as entries of an archive.

In: programs, whose source ranges point into files as the user's machine names them. Out: IR text without any path of that machine, and one
text per file for ``code/``; and back, with the ranges pointing into those texts.

The text for ``code/`` holds the lines of the functions that the program was made of, each at its place in the user's file, and leaves the other lines
empty, so that line numbers stay what they were.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import Any

from jitlang.errors import ArchiveError, IRError
from jitlang.grammar.literals import read_string, write_string
from jitlang.ir.graph import Program
from jitlang.ir.printer import Hook, print_program
from jitlang.ir.reader import parse_program
from jitlang.ir.verifier import verify_program
from jitlang.serialization.container import check_name
from jitlang.serialization.guard import harden
from jitlang.source import Source
from jitlang.types import ClassType, Type

_SOURCE_LINE = re.compile(r'^(source !\d+ = )("(?:\\.|[^"\\\n])*") line \d+ indent \d+$', re.MULTILINE)


def collect_sources(programs: Iterable[Program]) -> tuple[dict[str, str], dict[str, str]]:
    """What the programs' ranges point into: file name → name in the archive, and name in the archive → text."""
    names: dict[str, str] = {}
    lines: dict[str, list[str]] = {}
    for source, first, last in _stretches(programs):
        if source.filename not in names:
            names[source.filename] = _archive_name(source.filename, set(names.values()))
        _place(source, first, last, lines.setdefault(names[source.filename], []))
    return names, {name: "\n".join(found) + "\n" for name, found in lines.items()}


def _stretches(programs: Iterable[Program]) -> list[tuple[Source, int, int]]:
    """Each function's source, first and last line, in program order: what else stands in the user's files is nobody's business."""
    found: dict[tuple[int, str], tuple[Source, int, int]] = {}
    for program in programs:
        for graph in program.functions.values():
            for where in (graph.range, *(node.range for node in graph.walk())):
                for frame in where.frames() if where is not None else ():
                    key = (id(frame.source), frame.function)
                    _, first, last = found.get(key, (frame.source, frame.line, frame.end_line))
                    found[key] = (frame.source, min(first, frame.line), max(last, frame.end_line))
    return list(found.values())


def _place(source: Source, first: int, last: int, lines: list[str]) -> None:
    """Puts these lines of a source where they stand in its file."""
    own = source.lines()
    last = min(last, source.first_line + len(own) - 1)  # a damaged range may name a line far away
    lines.extend("" for _ in range(last - len(lines)))
    for number in range(max(first, source.first_line, 1), last + 1):
        line = own[number - source.first_line]
        if line.strip():
            lines[number - 1] = " " * source.indent + line


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


def decode_program(
    text: str, entry: str, texts: dict[str, str], label: str, references: Callable[[str], Any] | None = None
) -> tuple[Program, dict[str, dict[str, Type]]]:
    """The program that an entry says, and the types of its classes' attributes; ArchiveError naming the entry where it cannot be read, breaks an invariant of the IR, or is not safe to run.

    Its positions are in files called ``label/name``, so that no file of the reader's is taken for them.
    """
    try:
        moved, count = _SOURCE_LINE.subn(lambda match: f"{match[1]}{write_string(f'{label}/{read_string(match[2])}')} line 1 indent 0", text)
        if count != len(re.findall(r"^\s*source\b", text, re.MULTILINE)):
            raise IRError("a source has its text in the program, not in an entry of its own")
        program = parse_program(moved, texts={f"{label}/{name}": text for name, text in texts.items()}, references=references)
        verify_program(program)
        declared = {name: dict(kind.attributes) for name, kind in program.classes.items() if isinstance(kind, ClassType)}
        harden(program)
        return program, declared
    except RecursionError:
        raise ArchiveError(f"entry {entry!r}: its blocks are nested too deep") from None
    except (IRError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
        # The text comes from a stranger: whatever the reader trips over makes it unreadable, nothing worse.
        raise ArchiveError(f"entry {entry!r}: cannot be read: {error}") from None
