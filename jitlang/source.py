"""Where a piece of the user's program stands, and how it is shown.

In: source texts and positions from ``ast``. Out: `SourceRange`, the one way in which every later layer (IR nodes,
bytecode, error records) points at the user's file, and `highlight`, the one way in which a position is printed.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, eq=False)
class Source:
    """One text: a file, a notebook cell, or an archive entry.

    Args:
        text: the text that positions index into (dedented function source, or a whole file).
        filename: the name shown to the user.
        first_line: the number, in the user's file, of the first line of `text` (1-based).
        indent: how many columns were removed from the left of each line of `text`.
    """

    text: str
    filename: str = "<string>"
    first_line: int = 1
    indent: int = 0

    def lines(self) -> list[str]:
        """The lines of the text, without their ends."""
        return self.text.splitlines()


@dataclasses.dataclass(frozen=True)
class SourceRange:
    """A stretch of a `Source`: lines are 1-based in the user's file, columns are 0-based in the user's line.

    `caller` is the place that this code was inlined into (None where it was not), so that a traceback shows the
    user's frames whether or not the inliner ran.
    """

    source: Source
    line: int
    col: int
    end_line: int
    end_col: int
    function: str = "<module>"
    caller: SourceRange | None = None

    def text_line(self) -> str:
        """The line of the user's file in which this range begins, or '' where the text is not known."""
        lines = self.source.lines()
        index = self.line - self.source.first_line
        return " " * self.source.indent + lines[index] if 0 <= index < len(lines) else ""

    def at(self, caller: SourceRange | None) -> SourceRange:
        """This range as seen from `caller`: the outermost end of the chain of callers is extended by it."""
        outer = caller if self.caller is None else self.caller.at(caller)
        return dataclasses.replace(self, caller=outer)

    def frames(self) -> list[SourceRange]:
        """This range and its callers, innermost first."""
        return [self, *(self.caller.frames() if self.caller else [])]

    def __str__(self) -> str:
        return f"{self.source.filename}:{self.line}:{self.col + 1}"


def highlight(where: SourceRange, note: str = "") -> str:
    """The place, its line and a caret under it, in the form that every jitlang error uses.

    ```
      report.py:7:13 in summary
        7 |     total = count + name
          |             ^^^^^^^^^^^^  note
    ```
    """
    head = f"  {where.source.filename}:{where.line}:{where.col + 1} in {where.function}"
    line = where.text_line()
    if not line.strip():
        return head
    end = where.end_col if where.end_line == where.line else len(line.rstrip())
    number = str(where.line)
    gutter = " " * len(number)
    caret = " " * where.col + "^" * max(1, end - where.col)
    tail = f"  {note}" if note else ""
    return f"{head}\n    {number} | {line.rstrip()}\n    {gutter} | {caret}{tail}"
