"""The table of contents of an archive: format, producer, entry points, and the checksum of every other entry.

In: entry points and checksums. Out: ``manifest.json``, sorted and indented, the same text for the same contents; and back.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from jitlang.errors import ArchiveError
from jitlang.schema import MISSING

ENTRY = "manifest.json"
FORMAT = "jitlang archive"
FORMAT_VERSION = 1  # of the files written here; raised by any change that an older reader would misread
READER_VERSION = 1  # the newest format that this reader reads


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of an entry point; `type` is a type's text form, `default` an atom of `tree`, or MISSING."""

    name: str
    type: str
    default: Any = MISSING
    keyword_only: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {self.type}" + ("" if self.default is MISSING else f" = {_shown(self.default)}")


@dataclasses.dataclass(frozen=True)
class EntryPoint:
    """What can be called from outside.

    Args:
        name: what the user calls it, ``forward``. Names may repeat: one row per combination of argument types.
        program: the program (``code/<program>.ir``) that holds the function.
        function: the function's name in it.
        parameters: without the object that a method is called on.
        result: the result's type, as text.
        bound: whether the function's first parameter is the archive's root object.
        doc: the docstring's first line.
    """

    name: str
    program: str
    function: str
    parameters: tuple[Parameter, ...] = ()
    result: str = "None"
    bound: bool = False
    doc: str = ""

    def __str__(self) -> str:
        star = next((i for i, p in enumerate(self.parameters) if p.keyword_only), None)
        parts = [str(p) for p in self.parameters]
        if star is not None:
            parts.insert(star, "*")
        return f"{self.name}({', '.join(parts)}) -> {self.result}"


@dataclasses.dataclass(frozen=True)
class Manifest:
    """The whole table; `checksums` maps entry names to SHA-256 in hexadecimal."""

    producer: str
    entry_points: tuple[EntryPoint, ...]
    checksums: Mapping[str, str]
    format_version: int = FORMAT_VERSION
    minimum_reader: int = FORMAT_VERSION

    def encode(self) -> bytes:
        """The text of ``manifest.json``."""
        table = {
            "format": FORMAT,
            "format_version": self.format_version,
            "minimum_reader": self.minimum_reader,
            "producer": self.producer,
            "entry_points": [_entry_point_row(e) for e in self.entry_points],
            "sha256": dict(self.checksums),
        }
        return (json.dumps(table, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _entry_point_row(entry: EntryPoint) -> dict[str, Any]:
    row = dataclasses.asdict(dataclasses.replace(entry, parameters=()))
    row["parameters"] = []
    for parameter in entry.parameters:
        table = {"name": parameter.name, "type": parameter.type, "keyword_only": parameter.keyword_only}
        if parameter.default is not MISSING:
            table["default"] = parameter.default
        row["parameters"].append(table)
    return row


def decode_manifest(text: memoryview) -> Manifest:
    """The manifest; ArchiveError for one that is damaged or of a format that this version does not read."""
    try:
        table = json.loads(str(text, "utf-8"))
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"entry {ENTRY!r}: cannot be read: {error}") from None
    if not isinstance(table, dict) or table.get("format") != FORMAT:
        raise ArchiveError(f"entry {ENTRY!r}: does not say that this is a jitlang archive")
    version, minimum = _field(table, "format_version", int), _field(table, "minimum_reader", int)
    if minimum > READER_VERSION:
        producer = table.get("producer")
        raise ArchiveError(
            f"entry {ENTRY!r}: the file has format {version}, written by {producer}, and needs a reader of version {minimum} or later; "
            f"this jitlang reads up to {READER_VERSION}: install a newer jitlang"
        )
    points = tuple(_entry_point(row) for row in _field(table, "entry_points", list))
    checksums = _field(table, "sha256", dict)
    if not all(isinstance(v, str) for v in checksums.values()):
        raise ArchiveError(f"entry {ENTRY!r}: a checksum is not a string")
    return Manifest(_field(table, "producer", str), points, checksums, version, minimum)


def _entry_point(row: Any) -> EntryPoint:
    texts = {key: _field(row, key, str) for key in ("name", "program", "function", "result", "doc")}
    parameters = tuple(_parameter(p) for p in _field(row, "parameters", list))
    return EntryPoint(parameters=parameters, bound=_field(row, "bound", bool), **texts)


def _parameter(row: Any) -> Parameter:
    name, kind = _field(row, "name", str), _field(row, "type", str)
    return Parameter(name, kind, row.get("default", MISSING), _field(row, "keyword_only", bool))


def _field(row: Any, key: str, kind: type) -> Any:
    """The value of a key, of exactly that type."""
    if not isinstance(row, dict):
        raise ArchiveError(f"entry {ENTRY!r}: a {type(row).__name__} where a table is expected")
    if type(row.get(key)) is not kind:
        raise ArchiveError(f"entry {ENTRY!r}: field {key!r} is missing or no {kind.__name__}")
    return row[key]


def _shown(atom: Any) -> str:
    """An atom of `tree` as Python writes it."""
    if not isinstance(atom, dict):
        return repr(atom)
    ((kind, inner),) = atom.items()
    if kind == "tuple":
        return f"({', '.join(map(_shown, inner))}{',' if len(inner) == 1 else ''})"
    return f"float({inner!r})" if kind == "float" else str(inner)
