"""Strings: concatenation, indexing, and the methods of ``str``."""

from __future__ import annotations

import operator

from jitlang.operators.rows import method, row
from jitlang.registry import PURE, TOTAL

WHOLE = "int start=0, int stop=9223372036854775807"


def getitem(text: str, index: int) -> str:
    """text[index]."""
    return text[index]


def slice_of(text: str, start: int | None, stop: int | None, step: int | None) -> str:
    """text[start:stop:step]."""
    return text[start:stop:step]


def translate(text: str, table: dict[int, str]) -> str:
    """text.translate(table)."""
    return text.translate(table)


row("add.str(str a, str b) -> str", "Concatenate.", operator.add, PURE)
row("mul.str(str a, int n) -> str", "Repeat.", operator.mul, PURE)
row("len.str(str a) -> int", "The number of characters.", len, PURE, TOTAL)
row("getitem.str(str a, int index) -> str", "One character; IndexError outside.", getitem, PURE)
row("slice.str(str a, int? start, int? stop, int? step) -> str", "A part.", slice_of, PURE)
row("contains.str(str a, str part) -> bool", "Whether `part` occurs.", operator.contains, PURE, TOTAL)
row("min.str(str a, str b) -> str", "The smaller.", min, PURE, TOTAL)
row("max.str(str a, str b) -> str", "The larger.", max, PURE, TOTAL)
row("list.str(str a) -> List[str]", "The characters.", list, PURE, TOTAL)

for _name, _doc in (
    ("capitalize", "First character upper case, the others lower case."),
    ("casefold", "For comparison without case."),
    ("lower", "Lower case."),
    ("swapcase", "Upper and lower case exchanged."),
    ("title", "Words begin in upper case."),
    ("upper", "Upper case."),
):
    method(f"{_name}(str self) -> str", _doc, getattr(str, _name), PURE, TOTAL)
for _name in ("alnum", "alpha", "ascii", "decimal", "digit", "identifier", "lower", "numeric", "printable", "space", "title", "upper"):
    method(f"is{_name}(str self) -> bool", f"Whether all characters are of the kind {_name}.", getattr(str, f"is{_name}"), PURE, TOTAL)
for _name in ("strip", "lstrip", "rstrip"):
    method(f"{_name}(str self, str? chars=None) -> str", "Take white space, or `chars`, off the ends.", getattr(str, _name), PURE, TOTAL)
for _name in ("center", "ljust", "rjust"):
    method(f'{_name}(str self, int width, str fill=" ") -> str', "Pad to a width.", getattr(str, _name), PURE)
for _name in ("find", "rfind"):
    method(f"{_name}(str self, str part, {WHOLE}) -> int", "Where `part` occurs, or -1.", getattr(str, _name), PURE, TOTAL)
for _name in ("index", "rindex"):
    method(f"{_name}.str(str self, str part, {WHOLE}) -> int", "Where `part` occurs; ValueError if nowhere.", getattr(str, _name), PURE)
method(f"count.str(str self, str part, {WHOLE}) -> int", "How often `part` occurs.", str.count, PURE, TOTAL)
for _name in ("startswith", "endswith"):
    method(f"{_name}(str self, str part, {WHOLE}) -> bool", "Whether it begins or ends so.", getattr(str, _name), PURE, TOTAL)
    method(f"{_name}.any(str self, Any parts, {WHOLE}) -> bool", "Whether it begins or ends with one of a tuple.", getattr(str, _name), PURE)
method("expandtabs(str self, int tabsize=8) -> str", "Tabs to spaces.", str.expandtabs, PURE)
method("join(str self, List[str] parts) -> str", "Concatenate with this between.", str.join, PURE)
for _name in ("partition", "rpartition"):
    method(f"{_name}(str self, str sep) -> Tuple[str, str, str]", "Before, separator, after.", getattr(str, _name), PURE)
for _name in ("removeprefix", "removesuffix"):
    method(f"{_name}(str self, str part) -> str", "Without that end.", getattr(str, _name), PURE, TOTAL)
method("replace(str self, str old, str new, int count=-1) -> str", "Replace occurrences.", str.replace, PURE)
for _name in ("split", "rsplit"):
    method(f"{_name}(str self, str? sep=None, int maxsplit=-1) -> List[str]", "The parts between separators.", getattr(str, _name), PURE)
method("splitlines(str self, bool keepends=False) -> List[str]", "The lines.", str.splitlines, PURE, TOTAL)
method("zfill(str self, int width) -> str", "Pad with zeros, after a sign.", str.zfill, PURE)
method("translate(str self, Dict[int, str] table) -> str", "Replace characters by a table.", translate, PURE)
