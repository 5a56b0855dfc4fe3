"""The pass manager: pipelines as text, limits, dumps, verification, logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from jitlang.errors import IRError
from jitlang.ir.graph import Program
from jitlang.ir.printer import print_program
from jitlang.ir.reader import parse_program
from jitlang.passes import manager
from jitlang.passes.budget import Budget
from jitlang.passes.manager import PIPELINES, optimise, passes_of, run_pipeline
from jitlang.passes.unroll import Unroll

TEXT = """\
graph @f(%x: int) -> int:
  %zero: int = 0
  %a: int = py::add(%x, %zero)
  %b: int = py::sub(%a, %zero)
  %c: int = py::or(%b, %zero)
  return(%c)
"""


def test_pipelines_are_data() -> None:
    for level in PIPELINES:
        assert [p.name for p in passes_of(level)] == [step.partition("(")[0] for step in PIPELINES[level]]
    assert passes_of(" unroll( max_trips = 3 , max_nodes=9), dce ,")[0] == Unroll(3, 9)
    assert [p.name for p in passes_of(["cse", "dce"])] == ["cse", "dce"]
    assert len(passes_of(99)) == len(PIPELINES[2])


@pytest.mark.parametrize("pipeline", ["nosuch", "cse(x=1)", "unroll(max_trips)", "unroll(max_trips=x)", "unroll(name=1)", "cse dce", -1])
def test_no_pipelines(pipeline: str | int) -> None:
    with pytest.raises(ValueError, match=r"there is no|has no option"):
        passes_of(pipeline)


@pytest.mark.parametrize(("limit", "operators"), [("peephole=0", 3), ("peephole=1", 2), ("cse=5, peephole=2", 1), ("peephole=9", 0)])
def test_limit(monkeypatch: pytest.MonkeyPatch, limit: str, operators: int) -> None:
    monkeypatch.setenv("JITLANG_OPT_LIMIT", limit)
    program = run_pipeline(parse_program(TEXT), "peephole,dce,peephole")
    assert sum(n.kind.startswith("py::") for n in program.main.walk()) == operators


def test_bad_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_OPT_LIMIT", "peephole")
    with pytest.raises(ValueError, match="JITLANG_OPT_LIMIT: expected PASS=N, found 'peephole'"):
        run_pipeline(parse_program(TEXT), "peephole")


def test_level_comes_from_the_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_OPT_LEVEL", "0")
    assert print_program(optimise(parse_program(TEXT))) == print_program(parse_program(TEXT))
    assert len(list(optimise(parse_program(TEXT), 2).main.walk())) == 1


def test_dumps_and_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("JITLANG_DUMP", str(tmp_path / "dump"))
    monkeypatch.setenv("JITLANG_LOG", "cache,passes")
    run_pipeline(parse_program(TEXT), "peephole,dce")
    files = sorted(f.name.partition("-")[2] for f in (tmp_path / "dump").iterdir())
    assert files == ["f-dce.ir", "f-peephole.ir"]
    assert capsys.readouterr().err == "jitlang: passes: f: peephole: 3 rewrites\njitlang: passes: f: dce: 1 rewrites\n"


def test_debug_verifies_after_each_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    class Breaks:
        name = "breaks"

        def run(self, program: Program, budget: Budget) -> None:
            program.main.block.nodes.pop()

    monkeypatch.setattr(manager, "passes_of", lambda pipeline: [Breaks()])
    run_pipeline(parse_program(TEXT), "breaks")
    monkeypatch.setenv("JITLANG_DEBUG", "1")
    with pytest.raises(IRError, match="invariant 1") as caught:
        run_pipeline(parse_program(TEXT), "breaks")
    assert caught.value.__notes__ == ["after the pass breaks"]
