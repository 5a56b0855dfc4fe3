"""Merging programs: equal functions are stored once, different ones are told apart."""

from __future__ import annotations

import pytest

from jitlang.ir.equal import program_difference
from jitlang.ir.reader import parse_program
from jitlang.ir.verifier import verify_program
from jitlang.serialization.merging import merge_programs

HELPER = "graph @helper(%x: int) -> int:\n  %k: int = {k}\n  %y: int = py::mul(%x, %k)\n  return(%y)\n"
CALLER = 'graph @{name}(%x: int) -> int:\n  %y: int = prim::Call[callee="helper"](%x)\n  return(%y)\n'


def text(name: str, k: int) -> str:
    return f"entry @{name}\n" + CALLER.replace("{name}", name) + HELPER.replace("{k}", str(k))


def test_equal_functions_are_shared() -> None:
    merged, entries = merge_programs({"a": parse_program(text("f", 2)), "b": parse_program(text("g", 2))})
    assert list(merged.functions) == ["f", "helper", "g"] and entries == {"a": "f", "b": "g"} and merged.entry == "f"
    verify_program(merged)


def test_different_functions_get_names_and_so_do_their_callers() -> None:
    programs = {"a": parse_program(text("f", 2)), "b": parse_program(text("f", 3)), "c": parse_program(text("f", 4))}
    before = parse_program(text("f", 3))
    merged, entries = merge_programs(programs)
    assert set(merged.functions) == {"f", "helper", "f$2", "helper$2", "f$3", "helper$3"} and entries == {"a": "f", "b": "f$2", "c": "f$3"}
    callee = {n.attributes["callee"] for n in merged.functions["f$3"].walk() if n.kind == "prim::Call"}
    assert callee == {"helper$3"}
    verify_program(merged)
    assert program_difference(programs["b"], before) is None


def test_classes_of_one_name() -> None:
    with_class = 'class C:\n  x: int\ngraph @{n}(%c: C) -> int:\n  %x: int = prim::GetAttr[name="x"](%c)\n  return(%x)\n'
    a = parse_program(with_class.replace("{n}", "f"))
    with pytest.raises(ValueError, match="two different classes are called C"):
        merge_programs({"a": a, "b": parse_program(with_class.replace("{n}", "g"))})
    merged, _ = merge_programs({"a": a, "b": a})
    assert list(merged.functions) == ["f"] and list(merged.classes) == ["C"]
