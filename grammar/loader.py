"""Builds the lark parsers of this package, each on first use.

In: the ``.lark`` files beside this module, and an object whose methods, named as the grammar's rules, make the plain
syntax tree. Out: `Parser`, which turns text into that tree or raises `IRError` with line and column.
Importing this module does not import lark. Building a parser takes 30 to 70 ms, restoring it from its tables 2 to 8:
a layer above gives a place where these are kept (`keep_tables`).
"""

from __future__ import annotations

import contextlib
import functools
import marshal
import threading
from importlib import resources
from typing import Any, Protocol

from jitlang.errors import IRError

_BLANKS = "\n%ignore /[ \\t]+/\n"


def grammar_text(*names: str) -> str:
    """The text of the named grammar files, one behind the other; FileNotFoundError for a name that is none."""
    folder = resources.files("jitlang.grammar")
    return "\n".join((folder / f"{name}.lark").read_text(encoding="utf-8") for name in names) + _BLANKS


class Tables(Protocol):
    """Where tables of parsers are kept between processes; what is loaded must be what was stored, by jitlang and this CPython."""

    def load(self, name: str) -> bytes | None:
        """What was stored under `name`, or None."""

    def store(self, name: str, data: bytes) -> None:
        """Keeps `data`, or not."""


_kept: list[Tables] = []


def keep_tables(tables: Tables) -> None:
    """Has the parsers that are made from now on restored from `tables`, and kept there."""
    _kept[:] = [tables]


class Parser:
    """One start rule of the grammars `files`; `builder` has a method per rule, called with the list of children.

    Args:
        files: grammar files; the first names the language, the rest are what it uses.
        start: the start rule.
        builder: makes the tree.
        what: how an error names the text ("a type", "a schema").
        indented: whether indentation makes blocks (tokens ``_NL _INDENT _DEDENT``).
    """

    def __init__(self, files: tuple[str, ...], start: str, builder: object, what: str, *, indented: bool = False) -> None:
        self.files = files
        self.start = start
        self.builder = builder
        self.what = what
        self.indented = indented
        # Building is not thread-safe in lark, parsing is.
        self._lock = threading.Lock()

    @functools.cached_property
    def _lark(self) -> Any:
        import lark  # 50 ms that only those pay who read text
        from lark.indenter import Indenter

        class Layout(Indenter):
            NL_type = "_NL"
            OPEN_PAREN_types = ["LPAR", "LSQB", "LBRACE"]
            CLOSE_PAREN_types = ["RPAR", "RSQB", "RBRACE"]
            INDENT_type = "_INDENT"
            DEDENT_type = "_DEDENT"
            tab_len = 8

        live = {"transformer": self.builder, "postlex": Layout() if self.indented else None}
        name = f"lark {lark.__version__}: {self.start} of {' '.join(self.files)}"
        data = _kept[0].load(name) if _kept else None
        if data is not None:
            tables, terminals_and_rules = marshal.loads(data)
            restore: Any = lark.Lark._load_from_dict  # what the parsers that lark generates call
            return restore(tables, terminals_and_rules, **live)
        made = lark.Lark(grammar_text(*self.files), start=self.start, parser="lalr", lexer="contextual", maybe_placeholders=True, **live)
        if _kept:
            tables, terminals_and_rules = made.memo_serialize([lark.lexer.TerminalDef, lark.grammar.Rule])
            tables["options"] = {k: v for k, v in tables["options"].items() if k not in live}
            with contextlib.suppress(ValueError):  # tables of lark 1.2 hold strings that marshal does not take
                _kept[0].store(name, marshal.dumps((tables, terminals_and_rules)))
        return made

    def parse(self, text: str) -> Any:
        """The syntax tree of `text`. Raises IRError, which shows the line, for a text that does not fit the grammar."""
        with self._lock:
            parser = self._lark
            if self.indented:  # the layout filter keeps its state in the parser
                return self._guarded(parser, text)
        return self._guarded(parser, text)

    def _guarded(self, parser: Any, text: str) -> Any:
        import lark

        try:
            return parser.parse(text)
        except lark.exceptions.UnexpectedInput as error:
            raise syntax_error(self.what, text, error) from None
        except lark.exceptions.LarkError as error:
            # A tree builder raised, or indentation does not fit.
            raise IRError(f"cannot read {self.what}: {error}") from None


def syntax_error(what: str, text: str, error: Any) -> IRError:
    """The IRError for lark's `error`, with the place, the line and a caret."""
    line, column = getattr(error, "line", -1), getattr(error, "column", -1)
    lines = text.splitlines()
    if not isinstance(line, int) or line < 1:
        line, column = len(lines), len(lines[-1]) + 1 if lines else 1
    found = getattr(error, "token", None)
    shown = "end of text" if found is None or found.type == "$END" else "end of line" if found.type.startswith("_") else repr(str(found))
    if found is None and 0 < line <= len(lines) and 0 < column <= len(lines[line - 1]):
        shown = repr(lines[line - 1][column - 1])
    return IRError(place(f"cannot read {what}: unexpected {shown}", text, line, column))


def place(message: str, text: str, line: int, column: int) -> str:
    """`message` with line and column, the line itself and a caret under it."""
    lines = text.splitlines()
    where = f"{message} (line {line}, column {column})"
    if not 0 < line <= len(lines):
        return where
    return f"{where}\n  {lines[line - 1]}\n  {' ' * (column - 1)}^"
