"""Where archives and results go to and come from: files that appear whole or not at all, and streams of bytes."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

Place = str | os.PathLike[str] | IO[bytes]


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A stream to a temporary file that takes the place of `path` when the block ends well, and vanishes otherwise. Its OSErrors name `path`."""
    path = Path(os.path.realpath(path))  # a link keeps pointing where it points
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:  # a device or a pipe: nothing to replace
            yield stream
        return
    beside = path.with_name(f"{path.name}.tmp{secrets.token_hex(4)}")
    try:
        with beside.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            raise type(error)(error.errno, error.strerror, str(path)) from None
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the rename itself
    finally:
        os.close(folder)


def stream_of_bytes(place: Any, method: str) -> Any:
    """`place`, where it has the method that is needed of a stream; TypeError for what is neither a path nor a stream."""
    if not hasattr(place, method):
        raise TypeError(f"expected a path or a binary stream, not {type(place).__name__}")
    return place


def bytes_of_stream(place: Any) -> bytes:
    """What is left in a binary stream; TypeError for a stream of text."""
    data = stream_of_bytes(place, "read").read()
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"expected a binary stream; reading this {type(place).__name__} gives {type(data).__name__}")
    return bytes(data)
