"""Errors as one readable block on standard error. In: an exception. Out: the block, and the exit code for it."""

from __future__ import annotations

import itertools
import linecache
import os
import traceback
from pathlib import Path

import click

from jitlang.config import FlagError, flag
from jitlang.errors import ArchiveError, CompileError, IRError

OK, SCRIPT, USAGE, FILE, INTERRUPTED = 0, 1, 2, 3, 130
_LIBRARY = (Path(__file__).parents[1], Path(click.__file__).parent)
_PYTHON = Path(os.__file__).parent


class ScriptRaised(Exception):
    """Carries an exception that the user's script raised; `__cause__` is it."""


class Failed(click.ClickException):
    """Something a command was asked to check does not hold."""

    exit_code = SCRIPT


class BadFile(click.ClickException):
    """A file that cannot be used."""

    exit_code = FILE


def need_scripts() -> None:
    """Raises UsageError where scripts are switched off, for a command that is about them."""
    if flag("JITLANG_DISABLE"):
        raise click.UsageError("JITLANG_DISABLE is set: script() returns Python functions unchanged, and this command needs scripts")


def report(error: BaseException) -> int:
    """Prints the block; returns the exit code."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.Abort | KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    cause = error.__cause__ if isinstance(error, ScriptRaised) else error
    if isinstance(cause, BrokenPipeError | SystemExit):  # click makes the one of the other: the reader of a pipe has left
        return OK
    if isinstance(cause, FlagError):
        click.echo(f"error: {cause}\n  see: jitlang flags", err=True)
        return USAGE
    if isinstance(error, ScriptRaised):
        assert cause is not None
        click.echo(script_error(cause), err=True)
        return INTERRUPTED if isinstance(cause, KeyboardInterrupt) else SCRIPT
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return USAGE
    if isinstance(error, click.UsageError):
        hint = f"\n  see: {error.ctx.command_path} --help" if error.ctx is not None else ""
        click.echo(f"error: {error.format_message()}{hint}", err=True)
        return USAGE
    if isinstance(error, click.ClickException):
        click.echo(f"error: {error.format_message()}", err=True)
        return error.exit_code
    if isinstance(error, ArchiveError | IRError):
        click.echo("\n".join([f"error: {error}", *(f"  {note}" for note in getattr(error, "__notes__", ()))]), err=True)
        return FILE
    if isinstance(error, CompileError):
        click.echo(f"error: {type(error).__name__.removeprefix('Script')}: {error}", err=True)
        return FILE
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        click.echo(f"error: {where}{error.strerror or error}", err=True)
        return FILE
    if os.environ.get("JITLANG_DEBUG"):
        traceback.print_exception(error)
    last = traceback.extract_tb(error.__traceback__)[-1:] if error.__traceback__ else []
    place = f" ({Path(last[0].filename).name}:{last[0].lineno})" if last else ""
    click.echo(f"error: {type(error).__name__}: {error}\n  a fault of jitlang itself{place}; JITLANG_DEBUG=1 shows where", err=True)
    return SCRIPT


def script_error(error: BaseException) -> str:
    """An exception of a script: kind and message, then the user's frames, innermost first, each with its line."""
    if isinstance(error, KeyboardInterrupt):
        lines = ["interrupted"]
    else:
        lines = ["error: " + (f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)]
    frames = list(reversed(users_frames(error)))
    for _, group in itertools.groupby(frames, lambda f: (f.filename, f.lineno, f.colno)):
        first, *more = group
        lines += _shown(first)
        if more:
            lines.append(f"  … and {len(more):,} more times from there")
    return "\n".join(lines)


def users_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """The frames of a traceback, outermost first, without jitlang's own and those of Python's library that these call."""
    frames, below_library = [], False
    for frame in traceback.extract_tb(error.__traceback__):
        below_library = _is_library(frame.filename) or (below_library and _is_pythons(frame.filename))
        if not below_library:
            frames.append(frame)
    return frames


def _shown(frame: traceback.FrameSummary) -> list[str]:
    """One frame: place, line, caret."""
    column = f":{frame.colno + 1}" if frame.colno is not None else ""
    lines = [f"  {frame.filename}:{frame.lineno}{column} in {frame.name}"]
    text = linecache.getline(frame.filename, frame.lineno or 0).rstrip()
    return [*lines, f"    {frame.lineno} | {text}", *_caret(frame, text)] if text else lines


def _caret(frame: traceback.FrameSummary, text: str) -> list[str]:
    if frame.colno is None or frame.end_colno is None:
        return []
    # Columns of a traceback count bytes.
    start = len(text.encode()[: frame.colno].decode(errors="replace"))
    last = len(text) if frame.end_lineno != frame.lineno else len(text.encode()[: frame.end_colno].decode(errors="replace"))
    return [f"    {' ' * len(str(frame.lineno))} | {' ' * start}{'^' * max(1, last - start)}"]


def _is_library(filename: str) -> bool:
    return filename.startswith("<frozen") or any(folder in Path(filename).parents for folder in _LIBRARY)


def _is_pythons(filename: str) -> bool:
    path = Path(filename)
    return _PYTHON in path.parents and not {"site-packages", "dist-packages"} & set(path.parts)
