"""The README's sample, run as it stands: it prints what the README says that it prints, but for the times."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jitlang as jl

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
TIME = re.compile(r"\d+\.\d+ s\b")


def test_the_sample_and_its_output(tmp_path: Path) -> None:
    (sample,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (session,) = re.findall(r"```\n(\$ .*?)```", README, re.DOTALL)
    (tmp_path / "longest.py").write_text(sample, "utf-8")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(Path(jl.__file__).parents[1]), os.environ.get("PYTHONPATH")]))}
    for part in session.split("$ ")[1:]:
        command, _, expected = part.partition("\n")
        program, *arguments = command.split()
        runner = {"python": [sys.executable], "jitlang": [sys.executable, "-m", "jitlang"]}[program]
        done = subprocess.run([*runner, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert TIME.sub("TIME", done.stdout) == TIME.sub("TIME", expected)


def test_the_commands_name_what_there_is() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/jitlang demo" in README
    assert ".venv/bin/pip install '.[test]' && .venv/bin/pytest" in README
    assert project["scripts"] == {"jitlang": "jitlang.cli:main"} and "pytest" in " ".join(project["optional-dependencies"]["test"])
    for name in re.findall(r"python -m (examples\.\w+)", README):
        assert (ROOT / name.replace(".", "/") / "__main__.py").exists()
