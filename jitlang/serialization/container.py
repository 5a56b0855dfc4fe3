"""The outer shell of an archive: a zip of one exact layout.

In: names and buffers. Out: bytes that any zip tool reads, the same for the same entries; and back, as views into the file.

The layout leaves nothing to choice: entries stored one behind the other from the first byte, each one's data at a
multiple of 64, fixed time stamps, no comments. The reader builds the headers that must be there and compares, so that a file that
lies about itself (overlapping, hidden, repeated or inflated entries) or that was damaged in any bit of its structure is refused.
"""

from __future__ import annotations

import dataclasses
import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import BinaryIO

from jitlang.errors import ArchiveError

Buffer = bytes | memoryview

ALIGNMENT = 64
MAX_ENTRIES = 10_000
MAX_NAME_BYTES = 255
WIDE = 0xFFFFFFFF  # sizes and offsets from here on go into zip64 fields,
WIDE_MARK = 0xFFFFFFFF  # and the old 32-bit fields then hold this

_LOCAL = struct.Struct("<IHHHHHIIIHH")
_CENTRAL = struct.Struct("<IHHHHHHIIIHHHHHII")
_END = struct.Struct("<IHHHHIIH")
_END64 = struct.Struct("<IQHHIIQQQQ")
_LOCATOR64 = struct.Struct("<IIQI")
_EXTRA = struct.Struct("<HH")
_UTF8, _STORED, _DATE = 0x0800, 0, 0x0021  # 1 January 1980, the first day of a zip
_MADE_BY, _VERSION, _VERSION64 = 3 << 8, 20, 45
_MODE = 0o100644 << 16
_PADDING_ID, _WIDE_ID = 0x4C4A, 0x0001


@dataclasses.dataclass(frozen=True)
class Entry:
    """One row of the directory: where the data stands in the file, and its CRC-32. `offset` is that of the local header."""

    name: str
    size: int
    crc: int
    offset: int

    @property
    def wide(self) -> bool:
        """Whether the entry needs zip64 fields."""
        return self.size >= WIDE or self.offset >= WIDE

    def wide_fields(self) -> bytes:
        """The zip64 extra field, or nothing."""
        return _EXTRA.pack(_WIDE_ID, 24) + struct.pack("<QQQ", self.size, self.size, self.offset) if self.wide else b""

    def local_header(self) -> bytes:
        """What stands in front of the data, padded so that the data is aligned."""
        name, extra = self.name.encode(), self.wide_fields()
        if self.wide:
            extra = _EXTRA.pack(_WIDE_ID, 16) + struct.pack("<QQ", self.size, self.size)
        start = self.offset + _LOCAL.size + len(name) + len(extra) + _EXTRA.size
        padding = -start % ALIGNMENT
        extra += _EXTRA.pack(_PADDING_ID, padding) + bytes(padding)
        size = WIDE_MARK if self.wide else self.size
        version = _VERSION64 if self.wide else _VERSION
        return _LOCAL.pack(0x04034B50, version, _UTF8, _STORED, 0, _DATE, self.crc, size, size, len(name), len(extra)) + name + extra

    def central_header(self) -> bytes:
        """The entry's row in the directory at the end of the file."""
        name, extra = self.name.encode(), self.wide_fields()
        size, offset = (WIDE_MARK, WIDE_MARK) if self.wide else (self.size, self.offset)
        version = _VERSION64 if self.wide else _VERSION
        head = (0x02014B50, _MADE_BY | version, version, _UTF8, _STORED, 0, _DATE, self.crc, size, size)
        return _CENTRAL.pack(*head, len(name), len(extra), 0, 0, 0, _MODE, offset) + name + extra


def check_name(name: str) -> str:
    """Why `name` cannot be an entry's name, or ''."""
    if not name:
        return "the name is empty"
    if len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        return f"the name is longer than {MAX_NAME_BYTES} bytes"
    if name.startswith("/") or ":" in name:
        return "the name is an absolute path"
    if "\\" in name or not name.isprintable():
        return "the name holds a backslash or an unprintable character"
    parts = name.split("/")
    if ".." in parts:
        return "the name leads out of the archive ('..')"
    if "" in parts or "." in parts:
        return "the name has an empty part or '.'"
    return ""


# ---- writing ------------------------------------------------------------------------------------------------------


def write_container(stream: BinaryIO, entries: Iterable[tuple[str, Sequence[Buffer]]]) -> None:
    """Writes the entries, each given as a name and the pieces of its data, in that order.

    Raises ValueError for a name that is not allowed or occurs twice.
    """
    rows: dict[str, Entry] = {}
    offset = 0
    for name, pieces in entries:
        reason = check_name(name) or ("the name occurs twice" if name in rows else "")
        if reason:
            raise ValueError(f"archive entry {name!r}: {reason}")
        crc = size = 0
        for piece in pieces:
            crc = zlib.crc32(piece, crc)
            size += memoryview(piece).nbytes
        row = Entry(name, size, crc, offset)
        header = row.local_header()
        stream.write(header)
        for piece in pieces:
            stream.write(piece)
        offset += len(header) + size
        rows[name] = row
    stream.write(_tail(list(rows.values()), offset))


def _tail(rows: Sequence[Entry], start: int) -> bytes:
    """The directory and the end records, for a directory that begins at `start`."""
    directory = b"".join(row.central_header() for row in rows)
    count, size = len(rows), len(directory)
    if start < WIDE:
        return directory + _END.pack(0x06054B50, 0, 0, count, count, size, start, 0)
    end64 = _END64.pack(0x06064B50, _END64.size - 12, _MADE_BY | _VERSION64, _VERSION64, 0, 0, count, count, size, start)
    locator = _LOCATOR64.pack(0x07064B50, 0, start + size, 1)
    return directory + end64 + locator + _END.pack(0x06054B50, 0, 0, count, count, size, WIDE_MARK, 0)


# ---- reading ------------------------------------------------------------------------------------------------------


def read_container(data: memoryview) -> dict[str, memoryview]:
    """The entries of an archive, in order, as views into `data`.

    Raises ArchiveError, naming the entry where there is one, for anything but the exact layout. Says nothing about what the
    data of an entry holds: see `check_crc`, and the checksums of the manifest.
    """
    start, count = _directory_place(data)
    rows = _directory(data, start, count)
    found: dict[str, memoryview] = {}
    cursor = 0
    for row in rows:
        header = row.local_header()
        if row.offset != cursor or data[cursor : cursor + len(header)] != header:
            raise ArchiveError(f"entry {row.name!r}: its header is damaged, or does not stand where the one before it ends")
        cursor += len(header)
        if cursor + row.size > start:
            raise ArchiveError(f"entry {row.name!r}: claims {row.size} bytes, which reach past the end of the data")
        found[row.name] = data[cursor : cursor + row.size]
        cursor += row.size
    if cursor != start or data[start:] != _tail(rows, start):
        raise ArchiveError("the directory at the end of the file is damaged, or data is hidden between entries")
    return found


def check_crc(data: memoryview, name: str, content: memoryview) -> None:
    """Raises ArchiveError where the CRC-32 of an entry's content is not the one in the directory of `data`."""
    row = next(r for r in _directory(data, *_directory_place(data)) if r.name == name)
    if zlib.crc32(content) != row.crc:
        raise ArchiveError(f"entry {name!r}: damaged (its CRC-32 is wrong)")


def _directory_place(data: memoryview) -> tuple[int, int]:
    """Where the directory begins, and how many rows it has."""
    if not data:
        raise ArchiveError("the file is empty")
    if len(data) < _END.size:
        raise ArchiveError(f"the file is {len(data)} bytes long: not an archive, or cut off")
    magic, _, _, _, count, _, start, comment = _END.unpack(data[-_END.size :])
    if magic != 0x06054B50 or comment != 0:
        kind = "cut off or damaged at its end" if bytes(data[:4]) == b"PK\x03\x04" else "not a jitlang archive"
        raise ArchiveError(f"the file has no end record: it is {kind}")
    if start == WIDE_MARK:
        end64 = len(data) - _END.size - _LOCATOR64.size - _END64.size
        if end64 < 0 or bytes(data[end64 : end64 + 4]) != b"PK\x06\x06":
            raise ArchiveError("the end record of the file is damaged")
        *_, count, _, start = _END64.unpack(data[end64 : end64 + _END64.size])
    if start > len(data) - _END.size:
        raise ArchiveError("the directory of the file is said to begin behind its end")
    if not 0 < count <= MAX_ENTRIES:
        raise ArchiveError(f"the file has {count} entries; allowed are 1 to {MAX_ENTRIES}")
    return start, count


def _directory(data: memoryview, start: int, count: int) -> list[Entry]:
    rows: list[Entry] = []
    names: set[str] = set()
    for index in range(count):
        row, start = _row(data, start, index)
        if row.name in names:
            raise ArchiveError(f"entry {row.name!r}: the name occurs twice")
        names.add(row.name)
        rows.append(row)
    return rows


def _row(data: memoryview, at: int, index: int) -> tuple[Entry, int]:
    """The directory row at `at`, and where the next one begins."""
    head = data[at : at + _CENTRAL.size]
    if len(head) < _CENTRAL.size or bytes(head[:4]) != b"PK\x01\x02":
        raise ArchiveError(f"entry number {index + 1}: its row in the directory is damaged")
    _, _, _, flags, method, _, _, crc, packed, size, name_length, extra_length, *_, offset = _CENTRAL.unpack(head)
    at += _CENTRAL.size
    try:
        name = str(data[at : at + name_length], "utf-8")
    except UnicodeDecodeError:
        raise ArchiveError(f"entry number {index + 1}: its name is not UTF-8") from None
    at += name_length
    extra = data[at : at + extra_length]
    reason = check_name(name)
    if not reason and flags & 1:
        reason = "it is encrypted"
    if not reason and (method != _STORED or packed != size):
        reason = "it is compressed; entries of an archive are stored as they are"
    if reason:
        raise ArchiveError(f"entry {name!r}: {reason}")
    if offset == WIDE_MARK and len(extra) == 28:
        size, _, offset = struct.unpack("<QQQ", extra[4:])
    return Entry(name, size, crc, offset), at + extra_length
