"""A parser restored from its tables is the parser that was built."""

from __future__ import annotations

import lark
import pytest

from jitlang.errors import IRError
from jitlang.grammar import ir, loader, rules, schema, types
from jitlang.grammar.loader import Parser
from jitlang.native.tables import CachedTables

PROGRAM = """graph @f(%n: int) -> int:
  %zero: int = 0
  %p: bool = py::lt[overload="int"](%n, %zero)
  %m: int = prim::If(%p):
    then():
      yield(%zero)
    else():
      yield(%n)
  return(%m)
"""
TEXTS = {
    "types": (types._parser, ["Dict[str, List[int]]", "Tensor[float32, 2]"], ["Dict[str", "", "List[int]]"]),
    "schema": (schema._parser, ["f.g(Tensor(a!) self, *, int dim=-1) -> Tensor(a!)", "h() -> ()"], ["f(Tensor", "f(int a) ->", "f(int a=) -> int"]),
    "rules": (rules._parser, ["not_not: py::not(py::not($x)) => $x"], ["a: py::not($x =>", "a: py::not($x)"]),
    "IR": (ir._parser, [PROGRAM], [PROGRAM.replace("then", "("), PROGRAM + "  x\n", "graph @f("]),
}


class Memory:
    """Tables kept in this process."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.loads = 0

    def load(self, name: str) -> bytes | None:
        self.loads += name in self.kept
        return self.kept.get(name)

    def store(self, name: str, data: bytes) -> None:
        self.kept[name] = data


def outcome(parser: Parser, text: str) -> str:
    try:
        return repr(parser.parse(text))
    except IRError as error:
        return f"IRError: {error}"


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    memory = Memory()
    monkeypatch.setattr(loader, "_kept", [memory])
    return memory


@pytest.mark.parametrize("name", TEXTS)
def test_restored_parsers_are_the_same(memory: Memory, name: str) -> None:
    make, good, bad = TEXTS[name]
    like = make()

    def fresh() -> Parser:
        return Parser(like.files, like.start, like.builder, like.what, indented=like.indented)

    built, restored = fresh(), fresh()
    wanted = [outcome(built, text) for text in (*good, *bad, *good)]
    assert [outcome(restored, text) for text in (*good, *bad, *good)] == wanted
    assert memory.loads == 1
    assert [w.startswith("IRError") for w in wanted] == [False] * len(good) + [True] * len(bad) + [False] * len(good)


def test_tables_that_cannot_be_kept_are_built_each_time(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    class Word(str):
        """As the tables of lark 1.2 hold: marshal takes exact types only."""

    monkeypatch.setattr(lark.Lark, "memo_serialize", lambda *_: ({"options": {}}, {Word("a"): 1}))
    like = types._parser()
    for _ in range(2):
        assert outcome(Parser(like.files, like.start, like.builder, like.what), "List[int]") == outcome(like, "List[int]")
    assert memory.kept == {}


def test_the_cache_keeps_them(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_CACHE_DIR", str(tmp_path))
    tables = CachedTables()
    assert tables.load("a") is None
    tables.store("a", b"\0data")
    assert tables.load("a") == b"\0data"
    [file] = tmp_path.rglob("*.jlo")
    file.write_bytes(file.read_bytes()[:-1])
    assert tables.load("a") is None
    monkeypatch.setenv("JITLANG_CACHE_DIR", "")
    tables.store("b", b"x")
    assert tables.load("b") is None
