"""``jitlang run`` and ``jitlang dump`` on archives and source made here: every kind of input and output, and what is said when one cannot be used."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import jitlang as jl
from jitlang.cli import main
from jitlang.cli.report import FILE, OK, SCRIPT, USAGE


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(a) for a in arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


class Scaler(jl.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.factor = jl.nn.Parameter(jl.tensor([2.0]))

    def forward(self, x: jl.Tensor, plus: float = 0.0) -> jl.Tensor:
        """Twice x, and more."""
        return x * self.factor + plus

    @jl.export
    def pieces(self, x: jl.Tensor, names: list[str], table: dict[str, int]) -> tuple[dict[str, jl.Tensor], list[int]]:
        print("scaling", len(names))
        table["all"] = len(names)
        return {name: x * float(i) for i, name in enumerate(names)}, [table[k] for k in table]

    @jl.export
    def item(self, xs: list[int], i: int) -> int:
        return xs[i]

    @jl.export
    def nothing(self, flag: bool, word: str) -> None:
        print(word if flag else "-")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("with space é") / "scaler ü.jlm"
    jl.save(jl.script(Scaler()), path)
    return path


def test_the_entry_called_forward_is_the_default(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", archive, "--input", "x=[1.0, 2.5]") == OK
    assert capsys.readouterr().out == "tensor([2., 5.])\n"
    assert run("run", archive, "--input", "plus=1", "--input", "x=1.5") == OK
    assert capsys.readouterr().out == "tensor([4.])\n"


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", "<i8", "<i4", "u1", "?"])
def test_arrays_of_every_kind(archive: Path, dtype: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = np.array([[0, 1], [1, 0]], dtype)
    np.save(tmp_path / "é.npy", values)
    np.savez(tmp_path / "one.npz", other=values)
    np.savez(tmp_path / "two.npz", x=values, y=values + values)
    for name in ("é.npy", "one.npz", "two.npz"):
        assert run("run", archive, "--input", f"x={tmp_path / name}", "--output", "-") == OK
        assert json.loads(capsys.readouterr().out) == [[0, 2], [2, 0]]


def test_what_a_file_is_counts_not_its_name(archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "a.npz", x=np.ones(1, np.float32))
    (tmp_path / "a.npz").rename(tmp_path / "a.npy")
    np.save(tmp_path / "b.npy", np.ones(1, np.float32))
    (tmp_path / "b.npy").rename(tmp_path / "b.npz")
    for name in ("a.npy", "b.npz"):
        assert run("run", archive, "--input", f"x={tmp_path / name}") == OK
        assert capsys.readouterr().out == "tensor([2.])\n"


def test_results_in_files(archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "table.json").write_text('{"a": 1}', "utf-8-sig")
    inputs = ["--input", "x=[1.0, 2.0]", "--input", 'names=["left one", "b/c"]', "--input", f"table={tmp_path / 'table.json'}"]
    out = tmp_path / "new" / "out é"
    assert run("run", archive, "--entry", "pieces", *inputs, "--output", out) == OK
    assert json.loads((out / "result.json").read_text()) == [{"left one": "result_0_left_one.npy", "b/c": "result_0_b_c.npy"}, [1, 2]]
    assert np.load(out / "result_0_b_c.npy").tolist() == [1.0, 2.0]
    assert np.load(out / "result_0_left_one.npy").dtype == np.float32
    assert sorted(p.name for p in out.iterdir()) == ["result.json", "result_0_b_c.npy", "result_0_left_one.npy"]
    shown = capsys.readouterr()
    assert shown.out == "scaling 2\n" and shown.err.count("wrote ") == 3


def test_json_stands_on_a_line_of_its_own_after_what_the_script_prints(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", archive, "--entry", "nothing", "--input", "flag=true", "--input", "word=é", "--output", "-") == OK
    assert capsys.readouterr().out == "é\nnull\n"
    inputs = ["--input", "x=1.0", "--input", "names=['a']", "--input", "table={}"]
    assert run("run", archive, "--entry", "pieces", *inputs, "--output", "-") == OK
    assert capsys.readouterr().out == 'scaling 1\n[{"a": [0.0]}, [1]]\n'.replace("[0.0]", "0.0")


def test_time(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", archive, "--entry", "item", "--input", "xs=[5, 6]", "--input", "i=1", "--time", "3") == OK
    out, err = capsys.readouterr()
    assert out == "6\n" and "then 3 calls: median " in err and err.count("\n") == 1


def test_what_the_script_raises(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", archive, "--entry", "item", "--input", "xs=[5, 6]", "--input", "i=2") == SCRIPT
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == "" and lines[0] == "error: IndexError: list index out of range"
    assert lines[1].startswith(f"  {archive.name}/test_run.py:") and lines[1].endswith("in item")
    assert lines[2].endswith("return xs[i]") and lines[3].strip("| ") == "^^^^^"


def repeat(x, times=2):  # its types are those of the calls
    return x * times


def test_the_form_of_an_entry_point_that_fits_best(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = jl.script(repeat)
    for value in (1, 2.5, "ab", jl.ones(2)):
        script(value)
    path = tmp_path / "repeat.jlm"
    jl.save(script, path)
    for text, shown in (("3", "6"), ("2.5", "5.0"), ("hi", "'hihi'"), ("'3'", "'33'"), ("[1.0, 2.0]", "tensor([2., 4.])")):
        assert run("run", path, "--input", f"x={text}") == OK
        assert capsys.readouterr().out == shown + "\n"
    assert run("run", path, "--input", "x=None") == OK  # it is a text, too
    capsys.readouterr()
    np.save(tmp_path / "x.npy", np.ones((2, 2)))
    assert run("run", path, "--input", f"x={tmp_path / 'x.npy'}", "--input", "times=x") == USAGE
    err = capsys.readouterr().err
    assert (
        "no form of repeat takes these inputs\n  repeat(x: " in err and "a tensor of float64 with 2 dimensions where Tensor[float32, 1, cpu] is expected" in err
    )


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        (b"", "x.npy", "no arrays as NumPy writes them"),
        (b"", "x.npz", "no arrays as NumPy writes them"),
        (b"", "x.json", "Expecting value"),
        (bytes(range(256)), "x.npy", "no arrays as NumPy writes them"),
        (bytes(range(256)), "x.json", "codec can't decode"),
        (b"\x80\x04K\x01.", "x.npy", "no arrays as NumPy writes them"),
        (b"\x93NUMPY\x01\x00\x10\x00garbage", "x.npy", "EOF"),
        (b"PK\x03\x04 and no more", "x.npz", "damaged: File is not a zip file"),
        (b"[[1, 2], [3]]", "x.json", "expected sequence of length 2"),
        (b"[" * 100_000, "x.json", "recursion"),
        (b'{"a": 1}', "x.json", "cannot make a tensor of a dict"),
    ],
)
def test_files_that_are_no_input(archive: Path, content: bytes, name: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_bytes(content)
    assert run("run", archive, "--input", f"x={tmp_path / name}") == USAGE
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: input x=") and reason in err and "the parameter is Tensor" in err and err.count("\n") == 2


def test_arrays_that_no_tensor_takes(archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for values in (np.ones(2, complex), np.array(["a"]), np.ones(2, np.float16)):
        np.save(tmp_path / "x.npy", values)
        assert run("run", archive, "--input", f"x={tmp_path / 'x.npy'}") == USAGE
        assert "can't convert np.ndarray of type" in capsys.readouterr().err
    assert run("run", archive, "--input", "x=99999999999999999999") == USAGE
    assert "without overflow" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "inspect", "dump", "opt"])
def test_what_is_no_file_of_the_right_kind(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = {"dump": ["--stage", "ir"], "opt": ["-p", "1"]}.get(command, [])
    (tmp_path / "empty").touch()
    (tmp_path / "garbage").write_bytes(os.urandom(3000))
    locked = tmp_path / "locked"
    locked.touch(0o000)
    for path in (tmp_path, tmp_path / "empty", tmp_path / "garbage", tmp_path / "missing", locked, Path(os.devnull)):
        assert run(command, path, *options) == FILE, path
        out, err = capsys.readouterr()
        assert out == "" and err.startswith(f"error: {path}: ") and err.count("\n") == 1, err


def test_nothing_is_left_of_what_could_not_be_written(archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert run("run", archive, "--input", "x=1.0", "--output", tmp_path / "file") == FILE
    assert capsys.readouterr().err == f"error: --output {tmp_path / 'file'}: it is no folder\n"
    assert run("run", archive, "--input", "x=1.0", "--output", tmp_path / "file" / "below") == FILE
    (tmp_path / "result.npy").mkdir()
    assert run("run", archive, "--input", "x=1.0", "--output", tmp_path) == FILE
    assert f"error: {tmp_path / 'result.npy'}: cannot be written: Is a directory" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "result.npy"]


# ---- dump -------------------------------------------------------------------------------------------------------------

SOURCE = """import jitlang as jl

@jl.script
def twice(x: int) -> int:
    return x + x

def plain(x, y):
    return x * y
"""


@pytest.mark.parametrize(
    ("stage", "part"),
    [("ast", "name='twice'"), ("ir", "graph @twice(%x: int) -> int:"), ("opt", "py::add"), ("bytecode", "RETURN"), ("llvm", "define"), ("asm", "ret")],
)
def test_dump_of_a_file(stage: str, part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "with space é.py"
    file.write_text(SOURCE, "utf-8")
    assert run("dump", file, "--stage", stage) == OK
    assert part in capsys.readouterr().out


def test_dump_for_given_types(archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "given.py"
    file.write_text(SOURCE, "utf-8")
    assert run("dump", file, "--stage", "ir", "--function", "plain", "--types", "Tensor[float32, 2], float") == OK
    assert "@plain(%x: Tensor[float32, 2], %y: float) -> Tensor[float32, 2]" in capsys.readouterr().out
    for options, message in (
        (["--function", "plain"], "give the types of the parameters with --types: x, y"),
        (["--function", "plain", "--types", "int"], "give the types of the parameters with --types: x, y"),
        (["--function", "plain", "--types", "int, fool"], "--types int, fool: unknown type fool"),
        (["--function", "other"], "has no script 'other'; there are: twice"),
    ):
        assert run("dump", file, "--stage", "ir", *options) == USAGE
        assert message in capsys.readouterr().err
    assert run("dump", archive, "--stage", "ir", "--types", "int") == USAGE
    assert "--types is for Python files" in capsys.readouterr().err
    assert run("dump", archive, "--stage", "ast", "--function", "other") == USAGE


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("x = 1\ny = (x +\n", "error: SyntaxError: '(' was never closed\n  {file}:2:5 in <module>\n    2 | y = (x +\n      |     ^\n"),
        ("if x\n    pass\n", "error: SyntaxError: expected ':'\n  {file}:1:5 in <module>\n    1 | if x\n      |     ^\n"),
        ("x = 1\0\n", "error: {file}: not Python: source code string cannot contain null bytes\n"),
    ],
)
def test_dump_of_what_is_no_python(text: str, block: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.py"
    file.write_text(text)
    assert run("dump", file, "--stage", "ir") == FILE
    assert capsys.readouterr() == ("", block.format(file=file))


def test_ir_that_cannot_be_read_is_named_with_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "f.ir"
    file.write_text("graph @f(%x: int) -> int:\n  %y: int = py::nosuch(%x)\n  return(%y)\n")
    assert run("opt", "-p", "1", file) == FILE
    assert capsys.readouterr().err.startswith(f"error: {file}: ")


def test_the_type_of_a_mistake_at_compile_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "wrong.py"
    file.write_text("import jitlang as jl\n\n@jl.script\ndef f(a: int, b: str) -> int:\n    return a + b\n")
    assert run("dump", file, "--stage", "ir") == FILE
    err = capsys.readouterr().err
    assert err.startswith("error: TypeError: unsupported operand types for +") and f"{file}:5:12 in f" in err


def test_scripts_switched_off(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_DISABLE", "1")
    file = tmp_path / "off.py"
    file.write_text(SOURCE)
    for arguments in (["dump", file, "--stage", "ir"], ["demo"]):
        assert run(*arguments) == USAGE
        assert "JITLANG_DISABLE is set" in capsys.readouterr().err


def test_a_flag_that_makes_no_sense(archive: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", "fast")
    assert run("run", archive, "--input", "x=1.0") == USAGE
    assert capsys.readouterr().err == "error: environment variable JITLANG_TIER='fast': expected one of auto, vm, native\n  see: jitlang flags\n"
