"""The zip layout: deterministic, aligned, readable by other tools, and refused in any other form."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

import pytest

from jitlang.errors import ArchiveError
from jitlang.serialization import container

ENTRIES = [("manifest.json", [b"{}"]), ("code/a.ir", [b"one", b"two"]), ("weights", [bytes(range(200))]), ("empty", [b""])]


def packed(entries: list[tuple[str, list[bytes]]] = ENTRIES) -> bytes:
    stream = io.BytesIO()
    container.write_container(stream, entries)
    return stream.getvalue()


def contents(data: bytes) -> dict[str, bytes]:
    return {name: bytes(view) for name, view in container.read_container(memoryview(data)).items()}


def data_start(info: zipfile.ZipInfo, data: bytes) -> int:
    extra = int.from_bytes(data[info.header_offset + 28 : info.header_offset + 30], "little")
    return info.header_offset + 30 + len(info.filename.encode()) + extra


def test_round_trip_alignment_and_other_tools() -> None:
    data = packed()
    assert data == packed()
    assert contents(data) == {name: b"".join(pieces) for name, pieces in ENTRIES}
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        assert z.testzip() is None
        assert {i.filename: z.read(i) for i in z.infolist()} == contents(data)
        for info in z.infolist():
            assert data_start(info, data) % 64 == 0


def test_names_beyond_ascii() -> None:
    data = packed([("extra/größe – 尺.txt", [b"x"])])
    assert list(contents(data)) == ["extra/größe – 尺.txt"]
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        assert z.namelist() == ["extra/größe – 尺.txt"]


def test_large_files_use_zip64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "WIDE", 300)
    data = packed([("small", [b"x"]), ("large", [bytes(500)]), ("far", [b"yz"])])
    assert contents(data) == {"small": b"x", "large": bytes(500), "far": b"yz"}
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        assert z.testzip() is None
        assert {i.filename: z.read(i) for i in z.infolist()} == contents(data)


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/", "C:/x", "a\\b", "a\nb", "x" * 256])
def test_names_that_are_not_allowed(name: str) -> None:
    with pytest.raises(ValueError, match="archive entry"):
        packed([(name, [b""])])
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as z:
        z.writestr("manifest.json", b"{}")
        z.writestr(zipfile.ZipInfo("PLACEHOLDER"), b"")
    data = stream.getvalue()
    if name and len(name) <= len("PLACEHOLDER"):
        padded = name + "x" * (len("PLACEHOLDER") - len(name)) if not name.endswith("/") else "x" * (len("PLACEHOLDER") - len(name)) + name
        data = data.replace(b"PLACEHOLDER", padded.encode())
        with pytest.raises(ArchiveError, match="name") as caught:
            contents(data)
        assert repr(padded) in str(caught.value)


def test_names_twice() -> None:
    with pytest.raises(ValueError, match="twice"):
        packed([("a", [b""]), ("a", [b""])])
    data = packed([("aa", [b"1"]), ("ab", [b"2"])]).replace(b"ab", b"aa")
    with pytest.raises(ArchiveError, match="entry 'aa': the name occurs twice"):
        contents(data)


def test_zip_bombs_and_compressed_entries() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("manifest.json", bytes(10_000_000))
    with pytest.raises(ArchiveError, match="entry 'manifest.json': it is compressed"):
        contents(stream.getvalue())


def test_an_entry_that_claims_more_than_there_is() -> None:
    data = bytearray(packed())
    directory = data.index(b"PK\x01\x02")
    for field in (directory + 20, directory + 24):
        data[field : field + 4] = (1 << 30).to_bytes(4, "little")
    with pytest.raises(ArchiveError, match=r"entry 'manifest.json'"):
        contents(bytes(data))


def overlapping() -> bytes:
    """Two rows of the directory that share one stretch of the file, as the "better zip bomb" has."""
    data = packed([("aa", [b"x" * 100]), ("bb", [b"y" * 100])])
    start = data.index(b"PK\x01\x02")
    rows = bytearray(data[start:])
    second = rows.index(b"PK\x01\x02", 4)
    rows[second + 42 : second + 46] = bytes(4)
    return data[:start] + bytes(rows)


def hidden() -> bytes:
    """Bytes between the entries and the directory, with the offsets mended."""
    data = packed()
    start = data.index(b"PK\x01\x02")
    end = bytearray(data[-22:])
    end[16:20] = (start + 5).to_bytes(4, "little")
    return data[:start] + b"boo!!" + data[start:-22] + bytes(end)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (overlapping, "does not stand where"),
        (hidden, "hidden between entries"),
        (lambda: b"", "empty"),
        (lambda: b"PK", "2 bytes long"),
        (lambda: b"x" * 1000, "not a jitlang archive"),
        (lambda: b"leading" + packed(), "entry"),
        (lambda: packed() + b"trailing", "cut off or damaged"),
        (lambda: packed([]), "0 entries"),
    ],
)
def test_other_layouts(make: Callable[[], bytes], reason: str) -> None:
    with pytest.raises(ArchiveError, match=reason):
        contents(make())


def test_too_many_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "MAX_ENTRIES", 3)
    with pytest.raises(ArchiveError, match="4 entries"):
        contents(packed())


def test_each_bit_of_the_structure_is_checked() -> None:
    data = packed()
    structure = set(range(len(data)))
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        for info in z.infolist():
            structure -= set(range(data_start(info, data), data_start(info, data) + info.file_size))
    for at in structure:
        for bit in range(8):
            broken = bytearray(data)
            broken[at] ^= 1 << bit
            with pytest.raises(ArchiveError):
                contents(bytes(broken))
