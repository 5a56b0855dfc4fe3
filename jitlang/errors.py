"""The error tree: what went wrong, where in the user's file, what was expected, and what to write instead.

`CompileError` is what a script that cannot be compiled raises. Its concrete classes also derive from the Python
exception that the same mistake raises in Python, so ``except TypeError`` works as people expect.
"""

from __future__ import annotations

from jitlang.source import SourceRange, highlight


class JitlangError(Exception):
    """Base class of every error that jitlang itself defines."""


class CompileError(JitlangError):
    """A script that cannot be compiled.

    Args:
        message: what is wrong, in one sentence.
        where: the place in the user's file.
        note: a remark printed behind the caret (types of the operands, say).
        hint: what to write instead.
    """

    def __init__(self, message: str, where: SourceRange | None = None, *, note: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.note = note
        self.hint = hint
        self.frames: list[SourceRange] = []

    def called_from(self, where: SourceRange) -> None:
        """Adds a calling place: the error was found while compiling a function that is called there."""
        self.frames.append(where)

    def __str__(self) -> str:
        parts = [self.message]
        if self.where is not None:
            parts.append(highlight(self.where, self.note))
        if self.hint:
            parts.append(f"  {self.hint}")
        for frame in self.frames:
            parts.append(f"called from\n{highlight(frame)}")
        return "\n".join(parts)


class ScriptTypeError(CompileError, TypeError):
    """Types that do not fit."""


class ScriptNameError(CompileError, NameError):
    """A name that is not defined."""


class ScriptAttributeError(CompileError, AttributeError):
    """An attribute or method that the type does not have."""


class ScriptValueError(CompileError, ValueError):
    """A value known at compile time that is not allowed."""


class ScriptSyntaxError(CompileError, SyntaxError):
    """Python that is not part of the language."""


class IRError(JitlangError):
    """IR text that cannot be read, or a graph that breaks an invariant."""


class ArchiveError(JitlangError):
    """An archive that is missing, damaged, of a newer format, or hostile; names the entry and the reason."""


class CodegenError(JitlangError):
    """Native code could not be made or linked; a fault of jitlang, not of the script."""
