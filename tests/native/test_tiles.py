"""The tiles of matrix products, for every geometry that this machine can run, and as code for others."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from jitlang.native import engine, tiles
from jitlang.native.tiles import Geometry

HOST = tiles.geometry("f32", engine.host().features, "")
GEOMETRIES = {
    "f32": [Geometry(4, 4, 2, False), *([Geometry(4, 8, 3, True), Geometry(8, 4, 3, True), HOST] if HOST.fused else [])],
    "f64": [Geometry(2, 4, 2, False), *([Geometry(4, 4, 3, True)] if HOST.fused else [])],
}
CASES = [(kind, shape) for kind, shapes in GEOMETRIES.items() for shape in shapes]


def linked(kind: str, shape: Geometry) -> tuple[Any, Any]:
    names = tiles.exports(kind)
    found = engine.link(engine.compile_ir(tiles.text(kind, shape), level=1), names)
    count, address = ctypes.c_int64, ctypes.c_void_p
    product = ctypes.CFUNCTYPE(None, count, count, count, count, address, count, address, count, address, count, address, count, address)(found[names[0]])
    turn = ctypes.CFUNCTYPE(None, count, count, address, count, address, count)(found[names[1]])
    return product, turn


@pytest.mark.parametrize(("kind", "shape"), CASES, ids=str)
def test_rows_of_a_panel(kind: str, shape: Geometry) -> None:
    product, _ = linked(kind, shape)
    dtype = np.dtype({"f32": np.float32, "f64": np.float64}[kind])
    random = np.random.default_rng(0)
    for m in range(1, 2 * shape.rows + 3):
        for columns in range(1, shape.width * shape.vectors + 1):
            k, vectors = int(random.integers(0, 40)), -(-columns // shape.width)
            panel = vectors * shape.width
            a, b = random.standard_normal((m, k + 3)).astype(dtype), np.zeros((k + 1, panel), dtype)
            b[:, :columns] = random.standard_normal((k + 1, columns))
            bias, out = random.standard_normal(columns).astype(dtype), np.full((m, panel + 2), 7, dtype)
            lanes = columns - (vectors - 1) * shape.width

            def run(depth: int, first: int, more: int, end: Any) -> None:
                at = first * dtype.itemsize
                product(
                    m, vectors, lanes, depth, a.ctypes.data + at, k + 3, b.ctypes.data + at * panel, panel, out.ctypes.data, panel + 2, end, more, b.ctypes.data
                )

            run(k, 0, 0, bias.ctypes.data)
            expected = a[:, :k].astype(np.float64) @ b[:k, :columns].astype(np.float64) + bias
            assert np.allclose(out[:, :columns], expected, rtol=0, atol=1e-4 if kind == "f32" else 1e-12)
            assert (out[:, columns:] == 7).all()  # not a column more is written
            whole = out.copy()
            run(k // 2, 0, 0, None)
            run(k - k // 2, k // 2, 1, bias.ctypes.data)
            assert (out.view(np.uint8) == whole.view(np.uint8)).all()  # in two parts: the same bits


@pytest.mark.parametrize(("kind", "shape"), CASES, ids=str)
def test_rows_to_columns(kind: str, shape: Geometry) -> None:
    _, turn = linked(kind, shape)
    dtype = np.dtype({"f32": np.float32, "f64": np.float64}[kind])
    w = shape.width
    for k in range(w, 3 * w + 2):
        for rows in range(1, w + 1):
            source = np.arange(rows * (k + 1), dtype=dtype).reshape(rows, k + 1)
            target = np.full((k, w + 3), -1, dtype)
            turn(k, rows, source.ctypes.data, k + 1, target.ctypes.data, w + 3)
            assert (target[:, :rows] == source[:, :k].T).all()
            assert (target[:, w:] == -1).all()


def test_other_processors() -> None:
    assert tiles.geometry("f32", "+avx512f,+avx2,+fma", "x86_64") == Geometry(16, 8, 3, True)
    assert tiles.geometry("f64", "+avx2,+fma", "x86_64") == Geometry(4, 4, 3, True)
    assert tiles.geometry("f32", "+sse2", "x86_64") == Geometry(4, 4, 2, False)
    arm = tiles.geometry("f32", "", "aarch64")
    assembly = engine.compile_for(tiles.text("f32", arm), "aarch64-unknown-linux-gnu", level=1, asm=True).decode()
    assert "fmla" in assembly
