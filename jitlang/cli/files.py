"""What a command is given to open. In: paths. Out: archives, models, IR programs; errors that `report` shows."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click

from jitlang.cli.report import BadFile

# An argument that names a file; whether it can be read is seen when it is.
PATH: click.Path = click.Path(path_type=Path, readable=False)


def open_archive(path: Path) -> Any:
    """The checked contents of an archive, as plain data; nothing of it is compiled. Raises ArchiveError."""
    import jitlang  # noqa: F401  (registers the operators that programs are checked against)
    from jitlang.serialization import read_archive

    if path.suffix == ".py":
        raise BadFile(f"{path}: Python source, not an archive; make one with jitlang.save(script, 'name.jlm')")
    return read_archive(path)


def read_text(path: Path) -> str:
    """The text of a file; `-` is standard input."""
    try:
        return (sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadFile(f"{path}: not UTF-8: {error.reason} at byte {error.start}") from None


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """`whole_file` of a command. Raises BadFile where it cannot be written."""
    from jitlang.serialization.place import whole_file

    try:
        with whole_file(path) as stream:
            yield stream
    except OSError as error:
        raise BadFile(f"{path}: cannot be written: {error.strerror or error}") from None
