"""Every ``*.ir`` file: the pipeline gives the expected text, and no pass changes what the program does.

```
# What the file shows, in a line or two.
# pipeline: fold, dce
# run: (3, -0.0) => 4.0
# run: (0, 1.0) => ZeroDivisionError: division by zero
graph @f(%n: int, %x: float) -> float:
  …
---
…
```

The arguments of a run are Python literals; its result is written as Python writes it, with the arguments behind it where
they were changed. ``BLESS=1 pytest tests/passes`` rewrites what is expected: read the difference before you commit it.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import math
import os
from pathlib import Path
from typing import Any

import pytest

from jitlang.interpreter.vm import VM
from jitlang.ir.equal import program_difference
from jitlang.ir.graph import Program
from jitlang.ir.printer import print_program
from jitlang.ir.reader import parse_program
from jitlang.ir.verifier import verify_program
from jitlang.passes.manager import PASSES, run_pipeline

BLESS = bool(os.environ.get("BLESS"))


@dataclasses.dataclass
class IRFile:
    """One file, taken apart."""

    path: Path
    comments: list[str]
    pipeline: str
    runs: list[tuple[str, str]]
    source: str
    expected: str

    def program(self) -> Program:
        """The input, read anew."""
        return parse_program(self.source)

    def bless(self, runs: list[tuple[str, str]], expected: str) -> None:
        """Rewrites the file with these results."""
        head = [*self.comments, f"# pipeline: {self.pipeline}", *(f"# run: {call} => {result}" for call, result in runs)]
        self.path.write_text("\n".join(head) + f"\n{self.source.strip()}\n---\n{expected.strip()}\n", encoding="utf-8")


def read_ir_file(path: Path) -> IRFile:
    """Takes a file apart. Raises ValueError for one without pipeline."""
    text, _, expected = path.read_text(encoding="utf-8").partition("\n---\n")
    comments: list[str] = []
    pipeline = ""
    runs: list[tuple[str, str]] = []
    lines = text.splitlines()
    body = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    for line in lines[:body]:
        if line.startswith("# pipeline:"):
            pipeline = line.partition(":")[2].strip()
        elif line.startswith("# run:"):
            call, _, result = line.partition(":")[2].partition("=>")
            runs.append((call.strip(), result.strip()))
        else:
            comments.append(line)
    if not pipeline:
        raise ValueError(f"{path} names no pipeline")
    return IRFile(path, comments, pipeline, runs, "\n".join(lines[body:]) + "\n", expected)


def shown(program: Program) -> str:
    """The program as the files hold it: without the entry line where the first function is the entry."""
    text = print_program(program)
    head, _, rest = text.partition("\n")
    return rest if head == f"entry @{next(iter(program.functions))}" else text


def outcome(program: Program, call: str) -> str:
    """What running the entry with these arguments gives: the result, or the exception, and the arguments if they changed."""
    arguments = ast.literal_eval(call) if call else ()
    before = copy.deepcopy(arguments)
    arguments = tuple({"inf": math.inf, "-inf": -math.inf, "nan": math.nan}.get(a, a) if isinstance(a, str) else a for a in arguments)
    try:
        result = write(VM(program).function(program.entry)(*arguments))
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
    changed = [write(a) for a, b in zip(arguments, before, strict=True) if isinstance(a, list | dict) and a != b]
    return result + "".join(f", leaving {c}" for c in changed)


def write(value: Any) -> str:
    """A value as Python writes it."""
    return repr(value)


FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.rglob("*.ir"))
NAMES = [str(f.relative_to(FOLDER)) for f in FILES]


def test_there_are_many_files() -> None:
    assert len(FILES) >= 80


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_file(path: Path) -> None:
    file = read_ir_file(path)
    program = file.program()
    verify_program(program)
    runs = [(call, outcome(file.program(), call)) for call, _ in file.runs]
    run_pipeline(program, file.pipeline)
    verify_program(program)
    text = shown(program)
    if BLESS:
        file.bless(runs, text)
        file = read_ir_file(path)
    assert program_difference(program, parse_program(text)) is None
    assert text.strip() == file.expected.strip()
    assert runs == file.runs
    for call, expected in file.runs:
        assert outcome(program, call) == expected


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_no_pipeline_changes_an_outcome(path: Path) -> None:
    file = read_ir_file(path)
    pipelines: list[str | int] = [*PASSES, 1, 2, "unroll(max_trips=100,max_nodes=2000),exits,carried,cse,licm,dce"]
    for pipeline in pipelines:
        program = file.program()
        run_pipeline(program, pipeline)
        verify_program(program)
        for call, expected in file.runs:
            assert outcome(program, call) == expected, f"after {pipeline}"
