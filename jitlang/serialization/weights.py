"""Tensors as one safetensors blob, the same bytes for the same tensors.

In: names, dtypes, shapes and buffers. Out: a header and the buffers, in a fixed order; and back, as views. The safetensors
package reads what is written here; its own writer does not promise an order or where the data begins.
"""

from __future__ import annotations

import dataclasses
import json
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from jitlang.errors import ArchiveError
from jitlang.types import DTYPES

ALIGNMENT = 64
MAX_HEADER = 100_000_000  # the limit of the safetensors format

_KIND = {"u": "U", "i": "I", "f": "F"}
_CODES = {d.name: "BOOL" if d.kind == "b" else f"{_KIND[d.kind]}{8 * d.itemsize}" for d in DTYPES}
_NAMES = {code: name for name, code in _CODES.items()}
_SIZES = {d.name: d.itemsize for d in DTYPES}


@dataclasses.dataclass(frozen=True)
class StoredTensor:
    """A tensor as data: dtype name, shape, and its elements row by row in a buffer of bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes | memoryview

    @property
    def nbytes(self) -> int:
        """How many bytes the elements take."""
        return memoryview(self.data).nbytes


def encode_tensors(tensors: Mapping[str, StoredTensor]) -> list[bytes | memoryview]:
    """The pieces of the blob: its header, then the buffers, those with wide elements first, then by name.

    Raises ValueError where a buffer does not have the size that dtype and shape say.
    """
    order = sorted(tensors, key=lambda name: (-_SIZES[tensors[name].dtype], name))
    header: dict[str, Any] = {}
    pieces: list[bytes | memoryview] = []
    offset = 0
    for name in order:
        tensor = tensors[name]
        expected = _SIZES[tensor.dtype] * math.prod(tensor.shape)
        if tensor.nbytes != expected:
            raise ValueError(f"tensor {name!r}: {tensor.nbytes} bytes given, {tensor.dtype}{list(tensor.shape)} has {expected}")
        header[name] = {"dtype": _CODES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, offset + expected]}
        pieces.append(memoryview(tensor.data).cast("B") if expected else b"")
        offset += expected
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    return [struct.pack("<Q", len(text)) + text, *pieces]


def decode_tensors(blob: memoryview, entry: str) -> dict[str, StoredTensor]:
    """The tensors of a blob, as views into it; ArchiveError naming `entry` for anything that does not fit."""
    if len(blob) < 8:
        raise ArchiveError(f"entry {entry!r}: too short for the header of its tensors")
    (length,) = struct.unpack("<Q", blob[:8])
    if length > min(MAX_HEADER, len(blob) - 8):
        raise ArchiveError(f"entry {entry!r}: the header of its tensors is said to be {length} bytes long")
    try:
        header = json.loads(str(blob[8 : 8 + length], "utf-8"))
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"entry {entry!r}: the header of its tensors cannot be read: {error}") from None
    if not isinstance(header, dict):
        raise ArchiveError(f"entry {entry!r}: the header of its tensors is no table")
    data = blob[8 + length :]
    header.pop("__metadata__", None)
    tensors: dict[str, StoredTensor] = {}
    end = 0
    for name, row in header.items():
        tensors[name] = tensor = _tensor(row, data, end, f"entry {entry!r}: tensor {name!r}")
        end += tensor.nbytes
    if end != len(data):
        raise ArchiveError(f"entry {entry!r}: {len(data) - end} bytes belong to no tensor")
    return tensors


def _tensor(row: Any, data: memoryview, start: int, who: str) -> StoredTensor:
    """One row of the header; its data must begin at `start`, so tensors neither overlap nor leave holes."""
    try:
        code, shape, (first, last) = row["dtype"], row["shape"], row["data_offsets"]
        whole = all(type(n) is int and 0 <= n < 1 << 62 for n in [*shape, first, last])
    except (TypeError, KeyError, ValueError):
        raise ArchiveError(f"{who}: its row in the header is damaged") from None
    if not whole or len(shape) > 64:
        raise ArchiveError(f"{who}: its shape or place in the header is damaged")
    if not isinstance(code, str) or code not in _NAMES:
        raise ArchiveError(f"{who}: dtype {code!r} is not known")
    dtype = _NAMES[code]
    if math.prod(n for n in shape if n) >= 1 << 62:
        raise ArchiveError(f"{who}: its shape {shape} is too large")
    if first != start or last - first != _SIZES[dtype] * math.prod(shape) or last > len(data):
        raise ArchiveError(f"{who}: its shape and its place in the data do not agree")
    content = data[first:last]
    # Kernels may take it for granted that a bool is 0 or 1.
    if dtype == "bool" and first != last and int(np.frombuffer(content, np.uint8).max()) > 1:
        raise ArchiveError(f"{who}: holds bytes that are no bools")
    return StoredTensor(dtype, tuple(shape), content)
