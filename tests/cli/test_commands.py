"""The command line: help, exit codes, error blocks, and the commands that only look."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from jitlang.cli import COMMANDS, main
from jitlang.cli.report import FILE, INTERRUPTED, OK, SCRIPT, USAGE, ScriptRaised, report
from jitlang.errors import ScriptTypeError
from jitlang.ir.reader import parse_program
from jitlang.serialization import Archive, EntryPoint, Parameter, StoredTensor, write_archive
from jitlang.source import Source, SourceRange


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    assert isinstance(caught.value.code, int)
    return caught.value.code


@pytest.fixture
def archive(tmp_path: Path) -> Path:

    ir = "graph @twice(%x: float) -> float:\n  %two: float = 2.0\n  %y: float = py::mul(%x, %two)\n  return(%y)\n"
    points = (EntryPoint("twice", "main", "twice", (Parameter("x", "float"),), "float", doc="Twice x."),)
    tensors = {"layer.weight": StoredTensor("float32", (2, 3), bytes(24)), "layer.bias": StoredTensor("float32", (2,), bytes(8))}
    path = tmp_path / "model.jlm"
    write_archive(Archive(points, {"main": parse_program(ir)}, tensors=tensors, extra={"note": b"x"}, producer="jitlang test"), path)
    return path


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*filter(None, [command]), "--help") == OK
    out = capsys.readouterr().out
    assert out.startswith("Usage: jitlang")
    assert ("Exit codes:" in out and "130  interrupted" in out) or command


def test_help_costs_little() -> None:
    """Nothing is imported for it beyond what `import jitlang` needs: no NumPy, no grammar, no terminal library."""
    code = (
        "import sys; from jitlang.cli import main\ntry: main(['--help'])\nfinally: print(sorted({'numpy', 'rich', 'lark'} & set(sys.modules)), file=sys.stderr)"
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert time.perf_counter() - start < 5


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == OK
    assert capsys.readouterr().out.startswith("jitlang 0.")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nosuch"], USAGE, "No such command 'nosuch'"),
        (["flags", "--nosuch"], USAGE, "No such option"),
        (["inspect"], USAGE, "Missing argument 'FILE'"),
        (["inspect", "missing.jlm"], FILE, "missing.jlm: cannot be read: No such file or directory"),
        (["run", "missing.jlm"], FILE, "missing.jlm: cannot be read"),
        (["run", "script.py"], FILE, "Python source, not an archive"),
        (["run", "x.jlm", "--time", "0"], USAGE, "0 is not in the range"),
    ],
)
def test_errors_are_one_block(arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == code
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and message in err and "Traceback" not in err


def test_what_each_exception_becomes(capsys: pytest.CaptureFixture[str]) -> None:
    where = SourceRange(Source("def f(name):\n    return 1 + name\n", "report.py"), 2, 11, 2, 19, "f")
    assert report(ScriptTypeError("cannot add 'str' to 'int'", where, hint="write str(1) + name")) == FILE
    err = capsys.readouterr().err
    assert err.startswith("error: TypeError: cannot add 'str' to 'int'\n  report.py:2:12 in f\n    2 |     return 1 + name")
    assert err.endswith("write str(1) + name\n")
    assert report(KeyboardInterrupt()) == INTERRUPTED
    assert report(PermissionError(13, "Permission denied", "out/x.npy")) == FILE
    assert capsys.readouterr().err == "interrupted\nerror: out/x.npy: Permission denied\n"
    assert report(RuntimeError("odd")) == SCRIPT
    assert "a fault of jitlang itself" in capsys.readouterr().err


def test_an_exception_of_a_script_shows_the_users_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "report.py"
    file.write_text("def f(x):\n    return g(x)\n\ndef g(x):\n    ü = 1; return x / 0\n", "utf-8")
    space: dict[str, Any] = {}
    exec(compile(file.read_text("utf-8"), str(file), "exec"), space)
    try:
        space["f"](1)
    except ZeroDivisionError as error:
        carrier = ScriptRaised()
        carrier.__cause__ = error
        assert report(carrier) == SCRIPT
    err = capsys.readouterr().err.splitlines()
    assert err[0] == "error: ZeroDivisionError: division by zero"
    assert err[1] == f"  {file}:5:20 in g" or err[1].startswith(f"  {file}:5:")
    assert err[2:4] == ["    5 |     ü = 1; return x / 0", "      |                   ^^^^^"]
    assert err[4].startswith(f"  {file}:2:") and err[4].endswith("in f")


def test_long_recursion_is_shown_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def down(n: int) -> int:
        return down(n + 1)

    try:
        down(0)
    except RecursionError as error:
        carrier = ScriptRaised()
        carrier.__cause__ = error
        assert report(carrier) == SCRIPT
    err = capsys.readouterr().err
    assert err.startswith("error: RecursionError: maximum recursion depth exceeded") and "more times from there" in err and err.count("\n") < 12


def test_inspect(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("inspect", str(archive)) == OK
    out = capsys.readouterr().out
    for part in (
        "written by jitlang test",
        "twice(x: float) -> float",
        "Twice x.",
        "layer.weight",
        "[2, 3]",
        "2, 8 elements, 32 bytes",
        "py::mul",
        "extra/note",
    ):
        assert part in out


def test_inspect_as_json(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("inspect", str(archive), "--json") == OK
    table = json.loads(capsys.readouterr().out)
    assert table["entry_points"] == [{"name": "twice", "signature": "twice(x: float) -> float", "doc": "Twice x."}]
    assert table["operators"] == {"py::mul": 1}
    assert {t["name"]: t["bytes"] for t in table["tensors"]} == {"layer.weight": 24, "layer.bias": 8}
    assert table["bytes"] == archive.stat().st_size


def test_a_damaged_archive(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray(archive.read_bytes())
    data[data.index(b"py::mul")] ^= 1
    archive.write_bytes(data)
    for command in ("inspect", "run"):
        assert run(command, str(archive)) == FILE
        err = capsys.readouterr().err
        assert err.startswith(f"error: {archive}: entry 'code/main.ir': damaged") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--entry", "other"], "no entry point 'other'; there are: twice"),
        (["--input", "x"], "expected NAME=VALUE"),
        (["--input", "y=1"], "twice has no parameter 'y': twice(x: float) -> float"),
        (["--input", "x=1", "--input", "x=2"], "the input 'x' is given twice"),
        ([], "missing --input x=… for twice(x: float) -> float"),
        (["--input", "x='a'"], "str where float is expected; the parameter is float"),
        (["--input", "x=foo"], "neither a Python literal nor the name of a"),
        (["--input", "x=missing.json"], "No such file or directory"),
    ],
)
def test_wrong_inputs(archive: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", str(archive), *arguments) == USAGE
    out, err = capsys.readouterr()
    assert out == "" and message in err


def test_opt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "f.ir"
    file.write_text("graph @f(%x: int) -> int:\n  %a: int = 2\n  %b: int = 3\n  %c: int = py::mul(%a, %b)\n  %d: int = py::add(%x, %c)\n  return(%d)\n")
    assert run("opt", "-p", "fold,dce", str(file)) == OK
    assert capsys.readouterr().out == "entry @f\ngraph @f(%x: int) -> int:\n  %c: int = 6\n  %d: int = py::add(%x, %c)\n  return(%d)\n"
    assert run("opt", "-p", "nosuch", str(file)) == USAGE
    assert "there is no pass 'nosuch'; there are inline" in capsys.readouterr().err
    file.write_text("graph @f() -> int:\n  %a: int = 2\n")
    assert run("opt", "-p", "", str(file)) == FILE
    assert "invariant 1: a block does not end in a terminator" in capsys.readouterr().err
    assert run("opt", "-p", "2", str(tmp_path / "none.ir")) == FILE
    assert "none.ir: No such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("stage", "part"), [("ir", "py::mul(%x, %two)"), ("opt", "py::mul(%x, %two)"), ("bytecode", "MUL"), ("llvm", "fmul double"), ("asm", "jl.entry:")]
)
def test_dump_of_an_archive(archive: Path, stage: str, part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("dump", str(archive), "--stage", stage) == OK
    assert part in capsys.readouterr().out


def test_dump_of_what_is_not_there(archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("dump", str(archive), "--stage", "ir", "--function", "other") == USAGE
    assert "choose an entry point with --function: twice" in capsys.readouterr().err
    assert run("dump", str(tmp_path / "none.py"), "--stage", "ir") == FILE
    (tmp_path / "raises.py").write_text("x = 1\nraise ValueError('no')\n")
    assert run("dump", str(tmp_path / "raises.py"), "--stage", "ir") == SCRIPT
    assert f"error: ValueError: no\n  {tmp_path}/raises.py:2" in capsys.readouterr().err


def test_flags(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from jitlang.config import FLAGS

    monkeypatch.setenv("JITLANG_TIER", "vm")
    monkeypatch.setenv("JITLANG_DEBUG", "many")
    assert run("flags") == OK
    out = capsys.readouterr().out
    assert "JITLANG_TIER = 'vm'\n" in out and "! environment variable JITLANG_DEBUG='many'" in out
    assert run("flags", "--json") == OK
    rows = json.loads(capsys.readouterr().out)
    assert [r["name"] for r in rows] == [f.name for f in FLAGS] and all(r["help"] for r in rows)


def test_a_reader_that_leaves_is_no_error() -> None:
    command = f"{sys.executable} -m jitlang flags | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert (done.stderr, done.stdout) == ("", "0\n")
