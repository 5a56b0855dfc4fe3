"""The command line in a process of its own, where something around it is missing, closed, full or interrupts it: a message, an exit code, no traceback."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import jitlang as jl

HOME = str(Path(jl.__file__).parents[1])


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "jitlang", *map(str, arguments)]


def environment(**changes: str) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [HOME, os.environ.get("PYTHONPATH")]))} | changes


def run(*arguments: str | Path, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, env=environment(**changes), check=False)


def shell(line: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A line of bash in which ``"$@"`` is the command."""
    return subprocess.run(["bash", "-c", line, "bash", *command(*arguments)], capture_output=True, text=True, env=environment(), check=False)


def says(name: str) -> str:
    print("hello", name)
    return "hello " + name


def spin(n: int) -> int:
    print("spinning")
    while True:
        n ^= 1


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archives")
    for function in (says, spin):
        jl.save(function, folder / f"{function.__name__}.jlm")
    return folder


@pytest.mark.parametrize("kind", ["inspect", "run"])
def test_streams_that_are_closed_or_full_or_left(kind: str, archives: Path) -> None:
    says = archives / "says.jlm"
    arguments = [kind, str(says), *(["--input", "name=x"] if kind == "run" else [])]
    assert (done := shell('"$@" >&-', *arguments)).returncode == 0 and done.stderr == ""
    assert shell('"$@" 2>&- >&- <&-', *arguments).returncode == 0
    left = shell('"$@" | true; exit ${PIPESTATUS[0]}', *arguments)
    assert left.returncode == 0 and left.stderr == ""
    if Path("/dev/full").exists():
        full = shell('"$@" >/dev/full', *arguments)
        assert full.returncode in (1, 3) and "No space left on device" in full.stderr
        assert full.stderr.startswith("error: ") and "Traceback" not in full.stderr and "ignored" not in full.stderr


def test_errors_without_a_place_to_go() -> None:
    assert shell('"$@" 2>&-', "run", "missing.jlm").returncode == 3


def test_standard_input() -> None:
    ir = "graph @f(%x: int) -> int:\n  return(%x)\n"
    done = shell(f"printf '{ir}' | \"$@\"".replace("%x", "%%x").replace("\n", "\\n"), "opt", "-p", "1", "-")
    assert (done.returncode, done.stdout) == (0, f"entry @f\n{ir}")
    wrong = shell("printf '\\377' | \"$@\"", "opt", "-p", "1", "-")
    assert (wrong.returncode, wrong.stderr) == (3, "error: -: not UTF-8: invalid start byte at byte 0\n")


def interrupted(*arguments: str | Path, wait_for: str) -> tuple[int, str]:
    """Exit code and standard error of a process that gets a SIGINT once it has printed a line."""
    child = subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(PYTHONUNBUFFERED="1"))
    try:
        assert child.stdout is not None
        assert child.stdout.readline().startswith(wait_for)
        time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    finally:
        child.kill()
    return child.returncode, err


def test_ctrl_c_in_a_script_says_where_it_was(archives: Path) -> None:
    code, err = interrupted("run", archives / "spin.jlm", "--input", "n=1", wait_for="spinning")
    assert code == 130
    lines = err.splitlines()
    assert lines[0] == "interrupted" and lines[1].endswith("in spin") and "test_surroundings.py:" in lines[1] and len(lines) == 4


def test_ctrl_c_in_a_file_that_is_run(tmp_path: Path) -> None:
    file = tmp_path / "slow.py"
    file.write_text("import time\nprint('waiting', flush=True)\ntime.sleep(60)\n")
    code, err = interrupted("dump", file, "--stage", "ir", wait_for="waiting")
    assert code == 130
    assert err.splitlines()[:2] == ["interrupted", f"  {file}:3:1 in <module>"]


def test_ctrl_c_in_code_that_is_made_from_text(tmp_path: Path) -> None:
    # CPython remembers an interrupt that left exec of a string, and would end the process by the signal, whatever its exit code.
    file = tmp_path / "slow.py"
    file.write_text("exec('import time; print(\\'waiting\\', flush=True); time.sleep(60)')\n")
    code, err = interrupted("dump", file, "--stage", "ir", wait_for="waiting")
    assert code == 130 and err.splitlines()[0] == "interrupted"


def test_ctrl_c_in_a_command(tmp_path: Path) -> None:
    code, err = interrupted("demo", "--epochs", "2", wait_for="trained on")
    assert code == 130 and err.strip() == "interrupted"


def test_a_cache_folder_that_cannot_be_used(archives: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/nowhere")):
        done = run("run", archives / "says.jlm", "--input", "name=x", JITLANG_CACHE_DIR=str(folder))
        assert (done.returncode, done.stdout, done.stderr) == (0, "hello x\n'hello x'\n", "")
    told = run("doctor", JITLANG_CACHE_DIR=str(tmp_path / "file"))
    assert told.returncode == 0 and "cannot be written (File exists): new code is compiled in each process" in told.stdout


def test_no_home(archives: Path) -> None:
    for home in ("/nonexistent/home", "/proc"):
        without = {"HOME": home, "XDG_CACHE_HOME": ""}
        clean = {k: v for k, v in environment(**without).items() if k != "JITLANG_CACHE_DIR"}
        done = subprocess.run(command("run", archives / "says.jlm", "--input", "name=x"), capture_output=True, text=True, env=clean, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "hello x\n'hello x'\n", "")


@pytest.mark.parametrize("surroundings", [{"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "ascii"}])
def test_locales_without_unicode(surroundings: dict[str, str], archives: Path) -> None:
    done = run("run", archives / "says.jlm", "--input", "name=x", "--time", "1", **surroundings)
    assert done.returncode == 0 and "then 1 call: median" in done.stderr
    assert run("run", "é.jlm", **surroundings).returncode == 3


def on_a_terminal(*arguments: str | Path, **changes: str) -> str:
    """What a command shows on a terminal of its own."""
    main, other = pty.openpty()
    child = subprocess.Popen(command(*arguments), stdin=other, stdout=other, stderr=other, env=environment(**({"TERM": "xterm"} | changes)))
    os.close(other)
    shown = b""
    try:
        while part := os.read(main, 65536):
            shown += part
    except OSError:  # how a terminal ends
        pass
    finally:
        os.close(main)
    assert child.wait(60) == 0
    return shown.decode()


def test_colours_and_progress_are_for_terminals(archives: Path) -> None:
    says = archives / "says.jlm"
    assert "\x1b[" in on_a_terminal("inspect", says)
    assert "\x1b[1m" not in on_a_terminal("inspect", says, TERM="dumb")
    timed = "run", says, "--input", "name=x", "--time", "2"
    assert "timing" in on_a_terminal(*timed)
    done = run(*timed)
    assert "timing" not in done.stdout + done.stderr and "\x1b" not in done.stdout + done.stderr
    assert "\x1b" not in run("inspect", says).stdout + run("doctor").stdout


def test_no_color_is_heeded(archives: Path) -> None:
    for arguments in (["doctor"], ["inspect", archives / "says.jlm"]):
        shown = on_a_terminal(*arguments, NO_COLOR="1")
        assert not any(f"\x1b[{colour}m" in shown for colour in range(30, 38))
