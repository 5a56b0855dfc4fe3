"""Whole archives: round trips, files on disk, and every kind of damage, each an ArchiveError that names the entry."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitlang as jl
from jitlang.errors import ArchiveError
from jitlang.ir.printer import print_program
from jitlang.ir.reader import parse_program
from jitlang.serialization import Archive, EntryPoint, Parameter, StoredTensor, archive, read_archive, write_archive
from jitlang.serialization.container import write_container
from jitlang.serialization.manifest import FORMAT_VERSION, Manifest

IR = """
graph @double(%x: float) -> float at $0:2:0-3:16:
  %two: float = 2.0
  %y: float = py::mul(%x, %two) at $0:3:11-16
  return(%y) at $0:3:4-16
source !0 = "{file}" line 2 indent 4:
  "def double(x: float):"
  "    return x * 2.0"
scope $0 = !0 "double"
"""


def sample(file: str = "/home/someone/report.py") -> Archive:
    weights = np.arange(1000, dtype=np.float32)
    return Archive(
        entry_points=(
            EntryPoint("double", "main", "double", (Parameter("x", "float", 1.0), Parameter("y", "int", keyword_only=True)), "float", doc="Twice x."),
        ),
        programs={"main": parse_program(IR.replace("{file}", file.replace("\\", "\\\\")))},
        tensors={"w": StoredTensor("float32", (10, 100), weights.data.cast("B"))},
        state={"root": {"cell": 0}, "cells": [{"list": [1, "\ud800"]}]},
        extra={"note.txt": b"hello"},
        producer="jitlang 0",
    )


def packed(contents: Archive | None = None) -> bytes:
    stream = io.BytesIO()
    write_archive(contents or sample(), stream)
    return stream.getvalue()


def test_round_trip() -> None:
    back = read_archive(io.BytesIO(packed()))
    made = sample()
    assert back.entry_points == made.entry_points
    assert (back.producer, back.extra, back.state) == (made.producer, made.extra, made.state)
    assert back.tensors["w"].shape == (10, 100) and bytes(back.tensors["w"].data) == bytes(made.tensors["w"].data)
    assert print_program(back.programs["main"], ranges=False) == print_program(made.programs["main"], ranges=False)
    assert back.sizes.keys() == {"code/main.ir", "code/report.py", "state.json", "extra/note.txt", "weights.safetensors"}
    assert str(back.entry_points[0]) == "double(x: float = 1.0, *, y: int) -> float"


def test_positions_point_into_the_users_source() -> None:
    back = read_archive(io.BytesIO(packed()))
    assert back.sources == {"report.py": "\n    def double(x: float):\n        return x * 2.0\n"}
    where = back.programs["main"].main.block.nodes[1].range
    assert where is not None
    assert (str(where), where.function, where.text_line()) == ("<archive>/report.py:3:12", "double", "        return x * 2.0")


def test_same_contents_same_bytes_wherever_they_come_from() -> None:
    data = packed()
    assert data == packed() == packed(sample("/elsewhere/report.py")) == packed(read_archive(io.BytesIO(data)))
    assert b"someone" not in data


def test_two_files_of_one_name() -> None:
    contents = sample()
    contents.programs["other"] = parse_program(IR.replace("{file}", "/another/report.py").replace("2.0", "3.0"))
    back = read_archive(io.BytesIO(packed(contents)))
    assert sorted(back.sources) == ["report-2.py", "report.py"]
    assert "x * 3.0" in back.sources["report-2.py"]
    where = back.programs["other"].main.range
    assert where is not None and where.source.filename == "<archive>/report-2.py"


@pytest.mark.parametrize("name", ["<stdin>", "<ipython-input-3-abc>", "C:\\x\\größe.py", "", "../..", "a" * 300])
def test_names_of_sources_that_are_no_files(name: str) -> None:
    back = read_archive(io.BytesIO(packed(sample(name))))
    (file,) = back.sources
    assert file.endswith(".py") and "x * 2.0" in back.sources[file]


def test_constants_with_a_name() -> None:
    program = parse_program('graph @f() -> None with [note=&"w"]:\n  %x: None = None\n  return(%x)\n', references=lambda name: {"w": b"bytes"}[name])
    contents = Archive(programs={"main": program}, extra={"w": b"bytes"})
    with pytest.raises(ValueError, match="cannot be stored"):
        packed(contents)
    stream = io.BytesIO()
    write_archive(contents, stream, hook=lambda value: "w" if value == b"bytes" else None)
    with pytest.raises(ArchiveError, match=r"entry 'code/main.ir'.*reference 'w'"):
        read_archive(io.BytesIO(stream.getvalue()))
    back = read_archive(io.BytesIO(stream.getvalue()), references=lambda name, of: of.extra[name])
    assert back.programs["main"].main.attributes["note"] == b"bytes"
    with pytest.raises(ArchiveError, match="code/main.ir"):
        read_archive(io.BytesIO(stream.getvalue()), references=lambda name, of: of.tensors[name])


# ---- files --------------------------------------------------------------------------------------------------------


def test_a_file_is_mapped_and_never_written(tmp_path: Path) -> None:
    path = tmp_path / "model.jlm"
    write_archive(sample(), path)
    before = path.read_bytes()
    assert before == packed()
    back = read_archive(path)
    view = np.frombuffer(back.tensors["w"].data, np.float32)
    assert view.ctypes.data % 64 == 0
    view[:] = 7  # a private mapping: memory changes, the file does not
    assert path.read_bytes() == before
    path.unlink()
    assert view.sum() == 7000
    assert np.frombuffer(back.tensors["w"].data, np.float32)[0] == 7


def test_an_older_file_stays_until_the_new_one_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.jlm"
    path.write_bytes(b"old")
    contents = sample()
    contents.tensors["w"] = StoredTensor("float32", (3,), b"too short")
    with pytest.raises(ValueError, match="tensor 'w'"):
        write_archive(contents, path)
    monkeypatch.setattr(os, "fsync", lambda fd: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        write_archive(sample(), path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["model.jlm"]


def test_links_stay_links_and_modes_follow_the_mask(tmp_path: Path) -> None:
    real = tmp_path / "real.jlm"
    real.write_bytes(b"")
    link = tmp_path / "link.jlm"
    link.symlink_to("real.jlm")
    write_archive(sample(), link)
    assert link.is_symlink() and real.read_bytes() == packed()
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(real.stat().st_mode) == 0o666 & ~mask


def test_a_device_is_written_to() -> None:
    write_archive(sample(), "/dev/null")
    assert not Path("/dev/null").is_file()


def test_a_writer_that_is_killed_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "model.jlm"
    write_archive(sample(), path)
    script = (
        "import os, sys\nfrom jitlang.serialization import Archive, write_archive\n"
        "os.fsync = lambda fd: os._exit(9)\nwrite_archive(Archive(extra={'big': bytes(100000)}), sys.argv[1])"
    )
    run = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert run.returncode == 9
    assert path.read_bytes() == packed()


@pytest.mark.parametrize(
    ("place", "reason"),
    [("missing.jlm", "No such file"), (".", "Is a directory"), ("empty.jlm", "empty"), ("text.jlm", "not a jitlang archive"), ("nul\0l.jlm", "cannot be read")],
)
def test_places_that_are_no_archive(tmp_path: Path, place: str, reason: str) -> None:
    (tmp_path / "empty.jlm").touch()
    (tmp_path / "text.jlm").write_text("hello " * 100)
    with pytest.raises(ArchiveError, match=reason):
        read_archive(f"{tmp_path}/{place}")


# ---- damage -------------------------------------------------------------------------------------------------------


def test_truncated_at_every_percent(tmp_path: Path) -> None:
    data = packed()
    path = tmp_path / "cut.jlm"
    for percent in range(100):
        path.write_bytes(data[: len(data) * percent // 100])
        with pytest.raises(ArchiveError, match="cut.jlm"):
            read_archive(path)
        with pytest.raises(ArchiveError):
            read_archive(io.BytesIO(data[: len(data) * percent // 100]))


def test_2000_random_bit_flips() -> None:
    data = packed()
    rng = random.Random(2026)
    for _ in range(2000):
        broken = bytearray(data)
        at = rng.randrange(len(data) * 8)
        broken[at // 8] ^= 1 << at % 8
        with pytest.raises(ArchiveError):
            read_archive(io.BytesIO(broken))


def test_random_stretches_overwritten() -> None:
    data = packed()
    rng = random.Random(7)
    for _ in range(300):
        at, length = rng.randrange(len(data)), rng.randrange(1, 200)
        broken = data[:at] + rng.randbytes(length) + data[at + length :]
        if broken != data:
            with pytest.raises(ArchiveError):
                read_archive(io.BytesIO(broken))


def rebuilt(change: Callable[[dict[str, Any], dict[str, bytes]], None]) -> bytes:
    """A sound zip with mended checksums whose contents were changed by a stranger who knows the format."""
    with zipfile.ZipFile(io.BytesIO(packed())) as z:
        entries = {name: z.read(name) for name in z.namelist()}
    manifest = json.loads(entries.pop("manifest.json"))
    change(manifest, entries)
    if isinstance(manifest.get("sha256"), dict):
        manifest["sha256"] |= {name: hashlib.sha256(content).hexdigest() for name, content in entries.items() if name in manifest["sha256"]}
    stream = io.BytesIO()
    write_container(stream, [("manifest.json", [json.dumps(manifest).encode()]), *((n, [c]) for n, c in entries.items())])
    return stream.getvalue()


def put(name: str, content: bytes) -> Callable[[dict[str, Any], dict[str, bytes]], None]:
    def change(manifest: dict[str, Any], entries: dict[str, bytes]) -> None:
        manifest["sha256"][name] = ""
        entries[name] = content

    return change


def say(key: str, value: Any) -> Callable[[dict[str, Any], dict[str, bytes]], None]:
    return lambda manifest, entries: manifest.__setitem__(key, value)


def deep_ir(depth: int) -> bytes:
    lines = ["graph @f(%c: bool) -> None:"]
    for level in range(depth):
        pad = " " * (4 * level + 2)
        lines += [f"{pad}prim::If(%c):", f"{pad}  then():"]
    return "\n".join(lines).encode()


POINT = {"name": "f", "program": "main", "function": "double", "parameters": [], "result": "float", "bound": False, "doc": ""}


@pytest.mark.parametrize(
    ("change", "entry", "reason"),
    [
        (say("format", "another"), "manifest.json", "not say that this is a jitlang archive"),
        (say("format_version", "1"), "manifest.json", "'format_version' is missing or no int"),
        (say("entry_points", {}), "manifest.json", "'entry_points'"),
        (say("entry_points", [3]), "manifest.json", "int where a table"),
        (say("entry_points", [{**POINT, "name": 3}]), "manifest.json", "'name'"),
        (say("entry_points", [{**POINT, "parameters": [{"name": "x"}]}]), "manifest.json", "'type'"),
        (say("entry_points", [{**POINT, "program": "nowhere"}]), "manifest.json", "not there"),
        (say("entry_points", [{**POINT, "function": "nowhere"}]), "manifest.json", "not there"),
        (say("sha256", {"nowhere": 3}), "manifest.json", "not a string"),
        (say("sha256", {}), "code/main.ir", "manifest does not list it"),
        (lambda m, e: e.pop("state.json"), "state.json", "missing"),
        (put("state.json", b"{"), "state.json", "cannot be read"),
        (put("state.json", b"[" * 100_000), "state.json", "cannot be read"),
        (put("state.json", b"9" * 5000), "state.json", "cannot be read"),
        (put("weights.safetensors", b""), "weights.safetensors", "too short"),
        (put("code/report.py", b"\xff\xfe"), "code/report.py", "not UTF-8"),
        (put("code/main.ir", b"\xff\xfe"), "code/main.ir", "not UTF-8"),
        (put("code/main.ir", b""), "code/main.ir", "cannot be read"),
        (put("code/main.ir", b"graph @double("), "code/main.ir", "cannot be read"),
        (put("code/main.ir", b"graph @double() -> float:\n  return(%x)\n"), "code/main.ir", "%x is not defined"),
        (put("code/main.ir", b"graph @double() -> float:\n  %x: float = 1.0\n"), "code/main.ir", "does not end in a terminator"),
        (
            put("code/main.ir", b'graph @double() -> None:\n  %n: None = None\n  return(%n)\nsource !0 = "/etc/passwd" line 1 indent 0:\n  "x"\n'),
            "code/main.ir",
            "its text in the program",
        ),
        (put("code/main.ir", b"graph @double(%x: int) -> float:\n  return(%x)\n"), "code/main.ir", "int where float is expected"),
        (put("code/main.ir", b"graph @double(%x: int) -> int:\n  %y: int = py::system(%x)\n  return(%y)\n"), "code/main.ir", "no operator py::system"),
        (put("code/main.ir", b"graph @f() -> None:\n  %x: int = " + b"(" * 20000 + b")" * 20000 + b"\n"), "code/main.ir", "."),
        (put("code/main.ir", deep_ir(3000)), "code/main.ir", "."),
        (put("code/main.ir", b"graph @f(%x: " + b"List[" * 20000 + b"int" + b"]" * 20000 + b") -> None:\n  return(%x)\n"), "code/main.ir", "."),
    ],
)
def test_contents_that_are_wrong_though_the_file_is_sound(change: Callable[[dict[str, Any], dict[str, bytes]], None], entry: str, reason: str) -> None:
    with pytest.raises(ArchiveError, match=reason) as caught:
        read_archive(io.BytesIO(rebuilt(change)))
    assert repr(entry) in str(caught.value)


def test_a_newer_format() -> None:
    def change(manifest: dict[str, Any], entries: dict[str, bytes]) -> None:
        manifest.update(format_version=9, minimum_reader=9, producer="jitlang 9.1", entry_points="something else altogether")

    with pytest.raises(ArchiveError, match=r"format 9, written by jitlang 9\.1, and needs a reader of version 9.*install a newer jitlang"):
        read_archive(io.BytesIO(rebuilt(change)))

    # A newer writer may say that older readers can cope, and may add entries.
    def extend(manifest: dict[str, Any], entries: dict[str, bytes]) -> None:
        manifest.update(format_version=9, minimum_reader=FORMAT_VERSION, more=1)
        put("plans/x", b"?")(manifest, entries)

    assert read_archive(io.BytesIO(rebuilt(extend))).extra == {"note.txt": b"hello"}


def test_a_zip_that_is_no_archive() -> None:
    stream = io.BytesIO()
    write_container(stream, [("other", [b""])])
    with pytest.raises(ArchiveError, match=r"entry 'manifest.json' is missing"):
        read_archive(io.BytesIO(stream.getvalue()))


def test_limits_on_what_is_read_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, entry in ((".ir", "code/main.ir"), (".py", "code/report.py"), ("state.json", "state.json"), ("manifest.json", "manifest.json")):
        with monkeypatch.context() as patch:
            patch.setitem(archive.LIMITS, name, 5)
            with pytest.raises(ArchiveError, match=f"entry '{entry}': .* at most 5 are read"):
                read_archive(io.BytesIO(packed()))


def test_a_stream_that_ends_in_the_middle_of_an_error_names_no_file() -> None:
    with pytest.raises(ArchiveError) as caught:
        read_archive(io.BytesIO(b"x" * 50))
    assert str(caught.value).startswith("the file has no end record")


def test_the_manifest_is_readable_and_sorted() -> None:
    text = Manifest("p", (), {"b": "1", "a": "2"}).encode().decode()
    assert text.index('"a"') < text.index('"b"') and text.endswith("}\n")


class Plain:
    """A class without parameters."""


def plain(n: int) -> int:
    return n


@pytest.mark.parametrize(
    ("obj", "place", "message"),
    [
        (Plain, "a.jlm", "save.. takes a function or a module, not the class Plain"),
        (None, "a.jlm", "save.. takes a function or a module, not a NoneType"),
        (3, "a.jlm", "script.. takes a Python function, class or module, not int"),
        (plain, 3, "expected a path or a binary stream, not int"),
        (plain, io.StringIO(), None),
    ],
)
def test_what_cannot_be_saved(obj: Any, place: Any, message: str | None, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=message):
        jl.save(obj, tmp_path / place if isinstance(place, str) else place)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_loaded_from() -> None:
    for place, message in ((3, "expected a path or a binary stream, not int"), (io.StringIO("a"), "reading this StringIO gives str")):
        with pytest.raises(TypeError, match=message):
            jl.load(place)  # type: ignore[arg-type]  # on purpose


def test_nothing_is_saved_where_scripts_are_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_DISABLE", "1")
    with pytest.raises(TypeError, match="JITLANG_DISABLE is set"):
        jl.save(plain, io.BytesIO())


def test_errors_of_the_disk_name_the_file_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        jl.save(plain, tmp_path / "none" / "a.jlm")
    assert caught.value.filename == str(tmp_path / "none" / "a.jlm") and caught.value.filename2 is None
