"""Inputs of the command line: what fits which type, and what does not."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jitlang.cli.values import WrongInput, parse_input
from jitlang.grammar.types import parse_type


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("3", "int", 3),
        ("3", "float", 3.0),
        ("-1e3", "float", -1000.0),
        ("inf", "float", math.inf),
        ("True", "bool", True),
        ("true", "bool", True),
        ("hello world", "str", "hello world"),
        ("'3'", "str", "3"),
        ("3", "str", "3"),
        ("x=1", "str", "x=1"),
        ("None", "Optional[int]", None),
        ("null", "Optional[int]", None),
        ("4", "Optional[float]", 4.0),
        ("hi", "Optional[str]", "hi"),
        ("[1, 2]", "List[float]", [1.0, 2.0]),
        ("(1, 'a')", "Tuple[int, str]", (1, "a")),
        ("[1, 'a']", "Tuple[int, str]", (1, "a")),
        ("{1, 2}", "Set[int]", {1, 2}),
        ("{'a': [1]}", "Dict[str, List[int]]", {"a": [1]}),
        ("{1: 2}", "Dict[int, float]", {1: 2.0}),
    ],
)
def test_literals(text: str, kind: str, value: Any) -> None:
    found = parse_input("x", text, parse_type(kind))
    assert found == value and repr(found) == repr(value)


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("1.5", "int", "float where int"),
        ("True", "int", "bool where int"),
        ("1", "bool", "int where bool"),
        ("9223372036854775808", "int", "64 bits"),
        ("None", "int", "NoneType where int"),
        ("[1, 'a']", "List[int]", "str where int"),
        ("(1,)", "Tuple[int, int]", "1 values for a tuple of 2"),
        ("3", "List[int]", "int where List"),
        ("3", "Dict[str, int]", "int where Dict"),
        ("[" * 1000, "List[int]", "literal"),
        ("__import__('os')", "int", "literal"),
    ],
)
def test_what_does_not_fit(text: str, kind: str, reason: str) -> None:
    with pytest.raises(WrongInput, match=reason) as caught:
        parse_input("x", text, parse_type(kind))
    assert str(caught.value).startswith("input x=") and len(str(caught.value)) < 300


def test_files(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text(json.dumps({"1": [1, 2.5]}))
    assert parse_input("x", str(tmp_path / "d.json"), parse_type("Dict[int, List[float]]")) == {1: [1.0, 2.5]}
    np.save(tmp_path / "a.npy", np.arange(3))
    assert parse_input("x", str(tmp_path / "a.npy"), parse_type("List[int]")) == [0, 1, 2]
    np.savez(tmp_path / "b.npz", x=np.array(5), y=np.zeros(2))
    assert parse_input("x", str(tmp_path / "b.npz"), parse_type("int")) == 5
    np.savez(tmp_path / "one.npz", other=np.array([2.0]))
    assert parse_input("x", str(tmp_path / "one.npz"), parse_type("List[float]")) == [2.0]


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([object()], dtype=object), allow_pickle=True)
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY\x01")
    (tmp_path / "bad.json").write_text("{")
    np.savez(tmp_path / "two.npz", a=np.zeros(1), b=np.zeros(1))
    for name, reason in (
        ("o.npy", "pickle"),
        ("cut.npy", "header|read"),
        ("bad.json", "Expecting"),
        ("two.npz", "none is called x"),
        ("no.npz", "No such file"),
    ):
        with pytest.raises(WrongInput, match=reason):
            parse_input("x", str(tmp_path / name), parse_type("List[float]"))
