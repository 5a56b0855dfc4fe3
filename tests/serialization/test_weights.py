"""Tensors as safetensors: read by the safetensors package, views when read here, damaged ones refused."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from jitlang.errors import ArchiveError
from jitlang.serialization.weights import StoredTensor, decode_tensors, encode_tensors

ARRAYS = {
    "w": np.arange(12, dtype=np.float32).reshape(3, 4),
    "scalar": np.array(2.5),
    "empty": np.zeros((0, 5), np.int64),
    "ints": np.arange(5, dtype=np.int32),
    "bytes": np.arange(3, dtype=np.uint8),
    "flags": np.array([True, False, True]),
    "größe": np.ones(1, np.float64),
}


def stored(array: np.ndarray[Any, Any]) -> StoredTensor:
    return StoredTensor(str(array.dtype), array.shape, array.tobytes())


def blob(arrays: dict[str, np.ndarray[Any, Any]] = ARRAYS) -> bytes:
    return b"".join(encode_tensors({name: stored(a) for name, a in arrays.items()}))


def test_the_safetensors_package_reads_it() -> None:
    back = safetensors.numpy.load(blob())
    assert set(back) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert back[name].dtype == array.dtype and back[name].shape == array.shape and np.array_equal(back[name], array)


def test_round_trip_as_views_in_fixed_order() -> None:
    data = blob()
    assert data == blob(dict(reversed(ARRAYS.items())))
    assert (8 + struct.unpack("<Q", data[:8])[0]) % 64 == 0
    back = decode_tensors(memoryview(data), "w")
    for name, array in ARRAYS.items():
        tensor = back[name]
        assert (tensor.dtype, tensor.shape, bytes(tensor.data)) == (str(array.dtype), array.shape, array.tobytes())
        assert tensor.nbytes == 0 or (isinstance(tensor.data, memoryview) and tensor.data.obj is data)


def test_reads_what_the_safetensors_package_writes() -> None:
    data = safetensors.numpy.save(ARRAYS, metadata={"by": "someone"})
    assert {n: bytes(t.data) for n, t in decode_tensors(memoryview(data), "w").items()} == {n: a.tobytes() for n, a in ARRAYS.items()}


def test_a_buffer_of_the_wrong_size() -> None:
    with pytest.raises(ValueError, match="tensor 'a': 3 bytes given"):
        encode_tensors({"a": StoredTensor("float32", (1,), b"abc")})


def made(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def row(dtype: Any = "F32", shape: Any = (1,), place: Any = (0, 4)) -> dict[str, Any]:
    return {"a": {"dtype": dtype, "shape": shape, "data_offsets": place}}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "too short"),
        (struct.pack("<Q", 1 << 40) + b"{}", "said to be"),
        (made(b"{"), "cannot be read"),
        (made(b"[" * 100_000), "cannot be read"),
        (made([1]), "no table"),
        (made({"a": 1}), "row in the header is damaged"),
        (made(row("F13"), bytes(4)), "dtype 'F13' is not known"),
        (made(row(["F32"]), bytes(4)), "dtype"),
        (made(row(shape=[-1]), bytes(4)), "damaged"),
        (made(row(shape=[1.0]), bytes(4)), "damaged"),
        (made(row(shape=[1] * 65), bytes(4)), "damaged"),
        (made(row(shape=[0, 1 << 40, 1 << 40], place=[0, 0])), "too large"),
        (made(row(shape=[2]), bytes(4)), "do not agree"),
        (made(row(shape=[2], place=[0, 8]), bytes(4)), "do not agree"),
        (made(row(place=[4, 8]), bytes(8)), "do not agree"),
        (made({**row(), "b": row()["a"]}, bytes(4)), "tensor 'b'"),
        (made(row(), bytes(5)), "1 bytes belong to no tensor"),
        (made(row("BOOL", [2], [0, 2]), b"\1\2"), "no bools"),
    ],
)
def test_damaged_blobs(data: bytes, reason: str) -> None:
    with pytest.raises(ArchiveError, match=reason) as caught:
        decode_tensors(memoryview(data), "weights.safetensors")
    assert "weights.safetensors" in str(caught.value)
