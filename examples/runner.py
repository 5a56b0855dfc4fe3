"""Runs the command line in a process of its own, in an empty folder: what it finds is the archive, and no source of the model."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jitlang


def run(work: Path, *arguments: str) -> str:
    """What ``jitlang run`` with these arguments writes to standard output. Raises SystemExit where it fails; its own message has been shown then."""
    empty = work / "empty"
    empty.mkdir(exist_ok=True)
    home = str(Path(jitlang.__file__).parents[1])  # the same jitlang, installed or not
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))}
    done = subprocess.run([sys.executable, "-m", "jitlang", "run", *arguments], cwd=empty, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"jitlang run {' '.join(arguments)} failed with exit code {done.returncode}")
    return done.stdout
