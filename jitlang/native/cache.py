"""Compiled objects on disk. In: what the code depends on. Out: the object and its metadata, or a miss.

One entry is one file: magic, lengths, SHA-256 of the rest, a JSON header, the object. Entries are written to a
temporary file and renamed, so that any number of processes may share the folder. Whatever is wrong with an entry or
the folder (damaged, truncated, unreadable, not ours) is a miss; whatever is wrong with writing is ignored. Only
entries that belong to this user, root or the owner of jitlang's own files are loaded: an entry is code that will run.

Loading takes about 0.1 ms, storing 0.3 ms. When the entries exceed 512 MB, the ones unused for longest are removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from jitlang.config import flag
from jitlang.native import engine

_MAGIC = b"jitlang object 1\n"
_HEAD = struct.Struct("<QQ32s")  # length of the JSON header, length of the object, SHA-256 of both
_LIMIT = 512 << 20
_CHECK_EVERY = 64  # stores of one process between two looks at the folder's size
_DAY = 86400.0

_state: dict[str, Any] = {}
_lock = threading.Lock()
counters = {"hits": 0, "misses": 0, "stores": 0}


def folder() -> Path | None:
    """Where entries are kept, or None where ``JITLANG_CACHE_DIR`` is empty; the folder need not exist."""
    if os.environ.get("JITLANG_CACHE_DIR") == "":
        return None
    chosen: Path | None = flag("JITLANG_CACHE_DIR")
    if chosen is not None:
        return chosen
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "jitlang"
    except RuntimeError:  # no home directory
        return None


# ---- keys ---------------------------------------------------------------------------------------------------------


def fingerprint() -> str:
    """Changes when any of jitlang's own files does: a digest of their paths, sizes and times (0.5 ms, once a process)."""
    if "fingerprint" not in _state:
        digest = hashlib.sha256()
        root = Path(__file__).resolve().parent.parent
        for path, info in sorted(_files(str(root))):
            digest.update(f"{os.path.relpath(path, root)}:{info.st_size}:{info.st_mtime_ns}\n".encode())
        _state["fingerprint"] = digest.hexdigest()
    found: str = _state["fingerprint"]
    return found


def _files(top: str) -> Iterable[tuple[str, os.stat_result]]:
    with os.scandir(top) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _files(entry.path)
            elif entry.name.endswith((".py", ".lark", ".rules")):
                yield entry.path, entry.stat()


def key(parts: Iterable[str | bytes], *, level: int, whole_package: bool = True) -> str:
    """The name of an entry.

    Args:
        parts: all that the code depends on: IR or LLVM text, captured constants, signature.
        level: the engine's level.
        whole_package: whether `parts` leave out what jitlang's own files decide. False where a part is the LLVM
            text itself, so that the entry survives changes of jitlang that leave the text alone.
    """
    here = engine.host()
    digest = hashlib.sha256()
    own = [fingerprint()] if whole_package else []
    # Bridge code holds offsets of the running CPython.
    python = sys.implementation.cache_tag or ""
    for part in (*own, python, here.triple, here.cpu, here.features, here.llvm, here.llvmlite, str(level), *parts):
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


# ---- entries ------------------------------------------------------------------------------------------------------


def _path(top: Path, name: str) -> Path:
    return top / name[:2] / f"{name[2:]}.jlo"


def _trusted(owner: int) -> bool:
    if not hasattr(os, "geteuid"):
        return True
    if "package_owner" not in _state:
        _state["package_owner"] = Path(__file__).stat().st_uid
    return owner in (os.geteuid(), 0, _state["package_owner"])


def load(name: str) -> tuple[dict[str, Any], bytes] | None:
    """Metadata and object of an entry, or None."""
    found = _read(name)
    counters["misses" if found is None else "hits"] += 1
    return found


def _read(name: str) -> tuple[dict[str, Any], bytes] | None:
    top = folder()
    if top is None:
        return None
    path = _path(top, name)
    try:
        with path.open("rb") as file:
            info = os.fstat(file.fileno())
            data = file.read()
        if not _trusted(info.st_uid) or not data.startswith(_MAGIC):
            return None
        header_length, object_length, digest = _HEAD.unpack_from(data, len(_MAGIC))
        body = memoryview(data)[len(_MAGIC) + _HEAD.size :]
        if len(body) != header_length + object_length or hashlib.sha256(body).digest() != digest:
            return None
        metadata = json.loads(bytes(body[:header_length]))
    except (OSError, ValueError, struct.error):
        return None
    if time.time() - info.st_mtime > _DAY:
        with contextlib.suppress(OSError):
            os.utime(path)  # the time tells eviction when the entry was last of use
    return metadata, bytes(body[header_length:])


def store(name: str, metadata: dict[str, Any], code: bytes) -> bool:
    """Writes an entry; whether it could be written. `metadata` must be JSON."""
    top = folder()
    if top is None:
        return False
    header = json.dumps(metadata, separators=(",", ":")).encode()
    body = header + code
    data = _MAGIC + _HEAD.pack(len(header), len(code), hashlib.sha256(body).digest()) + body
    path = _path(top, name)
    try:
        top.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        _write(path, data)
    except OSError:
        return False
    with _lock:
        counters["stores"] += 1
        due = counters["stores"] % _CHECK_EVERY == 1
    if due:
        evict(top)
    return True


def _write(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def entries(top: Path) -> list[tuple[float, int, Path]]:
    """(time of last use, size, path) of every file in the cache, oldest first."""
    found = []
    for sub in _scan(str(top)):
        if len(sub.name) == 2 and sub.is_dir(follow_symlinks=False):
            for entry in _scan(sub.path):
                with contextlib.suppress(OSError):
                    info = entry.stat(follow_symlinks=False)
                    found.append((info.st_mtime, info.st_size, Path(entry.path)))
    return sorted(found)


def _scan(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as listing:
            return list(listing)
    except OSError:
        return []


def evict(top: Path, limit: int = _LIMIT) -> int:
    """Removes temporary files an hour old, and the oldest entries until at most `limit` bytes are left; how many went."""
    found = entries(top)
    total = sum(size for _, size, _ in found)
    removed = 0
    for used, size, path in found:
        abandoned = path.name.startswith(".new-") and time.time() - used > 3600
        if total > limit or abandoned:
            with contextlib.suppress(OSError):
                path.unlink()
                removed += 1
            total -= size
    return removed


def cached_object(
    parts: Iterable[str | bytes], build: Callable[[], tuple[str, dict[str, Any]]], *, level: int, whole_package: bool = True
) -> tuple[bytes, dict[str, Any], bool]:
    """The object for `parts`, its metadata, and whether it came from the disk.

    `build` is called on a miss and returns LLVM IR and the metadata to keep with the object.
    """
    name = key(parts, level=level, whole_package=whole_package)
    found = load(name)
    if found is not None:
        return found[1], found[0], True
    text, metadata = build()
    code = engine.compile_ir(text, level=level)
    store(name, metadata, code)
    return code, metadata, False
