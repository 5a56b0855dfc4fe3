"""Archives, whole: what is written into one, and what is checked before anything of one is used.

In: an `Archive`, plain data that knows nothing of the run time. Out: a ``.jlm`` file or a stream; and back.

| entry | holds |
|---|---|
| ``manifest.json`` | format, producer, entry points, SHA-256 of every other entry |
| ``code/NAME.ir`` | a program, as IR text |
| ``code/NAME.py`` | original source that the IR's positions point into; for messages only, never run |
| ``state.json`` | the root object's attributes (`tree`); absent where there are none |
| ``weights.safetensors`` | tensors; absent where there are none |
| ``extra/NAME`` | the user's own files |

Reading refuses with `ArchiveError`, naming the entry and the reason, before it returns: structure of the file, names, sizes, format version, checksums, IR
that cannot be read or breaks an invariant. Nothing from the file is executed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import mmap
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jitlang.errors import ArchiveError
from jitlang.ir.graph import Program
from jitlang.ir.printer import Hook
from jitlang.serialization.container import Buffer, check_crc, check_name, read_container, write_container
from jitlang.serialization.manifest import ENTRY, EntryPoint, Manifest, decode_manifest
from jitlang.serialization.place import Place, bytes_of_stream, stream_of_bytes, whole_file
from jitlang.serialization.programs import collect_sources, decode_program, encode_program
from jitlang.serialization.weights import StoredTensor, decode_tensors, encode_tensors
from jitlang.types import Type

STATE = "state.json"
WEIGHTS = "weights.safetensors"
# What is read into Python objects is limited; weights are only mapped, and cannot be larger than the file.
LIMITS = {ENTRY: 16 << 20, STATE: 256 << 20, ".ir": 64 << 20, ".py": 16 << 20}


@dataclasses.dataclass
class Archive:
    """The contents.

    Args:
        entry_points: what can be called.
        programs: name → program.
        texts: program name → its IR text, of an archive that was read: written again as it was, for the program itself has been changed (`guard`).
        sources: file name → text of the user's source, of an archive that was read; otherwise it is taken from the programs.
        tensors: name → tensor.
        state: the root object's tree (a document of `tree`), or None.
        extra: the user's own files.
        producer: who wrote it.
        sizes: entry name → bytes in the file, of an archive that was read.
        declared: program → class → attribute → type, as the file says them; the programs themselves know nothing of dtypes and ranks (`guard`).
    """

    entry_points: tuple[EntryPoint, ...] = ()
    programs: dict[str, Program] = dataclasses.field(default_factory=dict)
    texts: dict[str, str] = dataclasses.field(default_factory=dict)
    sources: dict[str, str] = dataclasses.field(default_factory=dict)
    tensors: dict[str, StoredTensor] = dataclasses.field(default_factory=dict)
    state: Any = None
    extra: dict[str, bytes] = dataclasses.field(default_factory=dict)
    producer: str = ""
    sizes: dict[str, int] = dataclasses.field(default_factory=dict)
    declared: dict[str, dict[str, dict[str, Type]]] = dataclasses.field(default_factory=dict)


# ---- writing ------------------------------------------------------------------------------------------------------


def write_archive(archive: Archive, place: Place, *, hook: Hook | None = None) -> None:
    """Writes the archive to a path or a binary stream.

    `hook` names constants in the programs that have no literal in IR text. A file appears complete or not at all: it is written beside its place, flushed to the disk, and renamed. Raises ValueError for contents that
    cannot be stored (a name that is not allowed, a tensor whose buffer does not fit), OSError where the disk does not take it.
    """
    entries = _entries(archive, hook)
    digests = {name: _sha256(pieces) for name, pieces in entries.items()}
    manifest = Manifest(archive.producer, archive.entry_points, digests)
    rows: list[tuple[str, list[Buffer]]] = [(ENTRY, [manifest.encode()]), *entries.items()]
    if not isinstance(place, str | os.PathLike):
        write_container(stream_of_bytes(place, "write"), rows)
        return
    with whole_file(Path(place)) as stream:
        write_container(stream, rows)


def _entries(archive: Archive, hook: Hook | None) -> dict[str, list[Buffer]]:
    """Every entry but the manifest, in the order of the file: text first, so that a look at a large file reads little."""
    entries: dict[str, list[Buffer]] = {}
    texts, sources = archive.texts, archive.sources
    if texts.keys() != archive.programs.keys():
        files, sources = collect_sources(archive.programs[name] for name in sorted(archive.programs))
        texts = {name: encode_program(program, files, hook) for name, program in archive.programs.items()}
    for name in sorted(texts):
        entries[f"code/{name}.ir"] = [texts[name].encode("utf-8", "surrogatepass")]
    for name in sorted(sources):
        entries[f"code/{name}"] = [sources[name].encode("utf-8", "surrogatepass")]
    if archive.state is not None:
        entries[STATE] = [json.dumps(archive.state, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")]
    for name in sorted(archive.extra):
        entries[f"extra/{name}"] = [archive.extra[name]]
    if archive.tensors:
        entries[WEIGHTS] = encode_tensors(archive.tensors)
    return entries


def _sha256(pieces: list[Buffer]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


# ---- reading ------------------------------------------------------------------------------------------------------


def read_archive(place: Place, *, references: Callable[[str, Archive], Any] | None = None) -> Archive:
    """The checked contents of a file or a binary stream.

    `references` gives the constants that were named by `write_archive`'s hook; it may look at the archive's tensors, and raises KeyError for a name it does not know.
    Tensors are views into the file's mapping (private: writing to one changes memory, never the file), so loading copies no
    weights; they keep the mapping alive. Raises ArchiveError, naming the entry and the reason, for a file that is missing, damaged, hostile or of a
    newer format.
    """
    data, name = _bytes_of(place)
    try:
        return _decode(data, references, Path(name).name or "<archive>")
    except ArchiveError as error:
        raise ArchiveError(f"{name}: {error}" if name else str(error)) from None


class _OwnMap(mmap.mmap):
    """A file's memory that only the tensors of one archive reach: what is written to it stays in this process."""

    private = True


class _OwnBytes(bytearray):
    """The same for bytes that were read from a stream."""

    private = True


def _bytes_of(place: Place) -> tuple[memoryview, str]:
    """The bytes, and the name of the file for messages."""
    if not isinstance(place, str | os.PathLike):
        return memoryview(_OwnBytes(bytes_of_stream(place))), ""
    name = os.fspath(place)
    try:
        with Path(place).open("rb") as stream:
            if os.fstat(stream.fileno()).st_size == 0:
                raise ArchiveError(f"{name}: the file is empty")
            return memoryview(_OwnMap(stream.fileno(), 0, access=mmap.ACCESS_COPY)), name
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ArchiveError(f"{name}: cannot be read: {reason}") from None


def _decode(data: memoryview, references: Callable[[str, Archive], Any] | None, label: str) -> Archive:
    entries = read_container(data)
    if ENTRY not in entries:
        raise ArchiveError(f"entry {ENTRY!r} is missing: this is a zip, but not a jitlang archive")
    _check_size(ENTRY, entries[ENTRY])
    check_crc(data, ENTRY, entries[ENTRY])
    manifest = decode_manifest(entries.pop(ENTRY))
    weights_are_sound = _check_sums(entries, manifest.checksums)
    archive = Archive(manifest.entry_points, producer=manifest.producer, sizes={n: len(e) for n, e in entries.items()})
    for name, content in entries.items():
        _check_size(name, content)
        _take(archive, name, content)
    constants = None if references is None else lambda reference: references(reference, archive)
    for name, content in entries.items():
        if name.startswith("code/") and name.endswith(".ir"):
            text, key = _text(name, content), name[5:-3]
            archive.programs[key], archive.declared[key] = decode_program(text, name, archive.sources, label, constants)
            archive.texts[key] = text
    weights_are_sound()
    for point in archive.entry_points:
        held = archive.programs.get(point.program)
        if held is None or point.function not in held.functions:
            raise ArchiveError(
                f"entry {ENTRY!r}: entry point {point.name!r} names function {point.function!r} of program {point.program!r}, which is not there"
            )
    return archive


def _take(archive: Archive, name: str, content: memoryview) -> None:
    """Puts one entry, other than a program, where it belongs; entries of unknown folders are left for later versions."""
    if name == STATE:
        try:
            archive.state = json.loads(str(content, "utf-8", "surrogatepass"))
        except (ValueError, RecursionError) as error:
            raise ArchiveError(f"entry {name!r}: cannot be read: {error}") from None
    elif name == WEIGHTS:
        archive.tensors = decode_tensors(content, name)
    elif name.startswith("code/") and not name.endswith(".ir"):
        archive.sources[name[5:]] = _text(name, content)
    elif name.startswith("extra/"):
        archive.extra[name[6:]] = bytes(content)


def _check_sums(entries: Mapping[str, memoryview], checksums: Mapping[str, str]) -> Callable[[], None]:
    """Checks every entry but the weights, which a thread looks at while the programs are parsed: the function returned waits for it and raises."""
    for name in checksums:
        if name not in entries:
            raise ArchiveError(f"entry {name!r} is missing")
    for name, content in entries.items():
        if name not in checksums:
            raise ArchiveError(f"entry {name!r}: the manifest does not list it")
        if name != WEIGHTS:
            _check_sum(name, content, checksums[name])
    if WEIGHTS not in entries:
        return lambda: None
    failures: list[ArchiveError] = []

    def look() -> None:
        try:
            _check_sum(WEIGHTS, entries[WEIGHTS], checksums[WEIGHTS])
        except ArchiveError as error:
            failures.append(error)

    thread = threading.Thread(target=look)
    thread.start()

    def wait() -> None:
        thread.join()
        if failures:
            raise failures[0]

    return wait


def _check_sum(name: str, content: memoryview, wanted: str) -> None:
    if hashlib.sha256(content).hexdigest() != wanted:
        raise ArchiveError(f"entry {name!r}: damaged (its SHA-256 is not the one in the manifest)")


def _check_size(name: str, content: memoryview) -> None:
    limit = LIMITS.get(name) or LIMITS.get(Path(name).suffix if name.startswith("code/") else "")
    if limit is not None and len(content) > limit:
        raise ArchiveError(f"entry {name!r}: {len(content)} bytes; at most {limit} are read")


def _text(name: str, content: memoryview) -> str:
    try:
        return str(content, "utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise ArchiveError(f"entry {name!r}: not UTF-8: {error.reason} at byte {error.start}") from None


def check_extra_name(name: str) -> str:
    """Why a file of the user's cannot be stored under that name, or ''."""
    return check_name(f"extra/{name}")
