"""Programs from strangers: what is refused, and what is made safe."""

from __future__ import annotations

import pytest

from jitlang.errors import IRError
from jitlang.ir.printer import print_program
from jitlang.ir.reader import parse_program
from jitlang.ir.verifier import verify_program
from jitlang.serialization.guard import harden


def hardened(text: str) -> str:
    program = parse_program(text)
    verify_program(program)
    harden(program)
    verify_program(program)
    once = print_program(program)
    harden(program)
    assert print_program(program) == once
    return once


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("graph @f(%p: ptr[i64]) -> None:\n  %n: None = None\n  return(%n)\n", "machine type ptr"),
        ("graph @f(%p: i64) -> None:\n  %n: None = None\n  return(%n)\n", "machine type i64"),
        ("class C:\n  x: List[ptr[u8]]\ngraph @f(%p: C) -> None:\n  %n: None = None\n  return(%n)\n", "machine type ptr"),
        ("struct S:\n  x: i64\ngraph @f() -> None:\n  %n: None = None\n  return(%n)\n", "struct S"),
        ("graph @f(%x: int) -> int:\n  ll::trap(%x)\n  return(%x)\n", "ll::trap"),
        ("graph @f(%x: int) -> int:\n  unreachable()\n", "said to be unreachable"),
        (
            'graph @f(%x: int) -> int:\n  %y: int = prim::Call[callee="g"](%x)\n  unreachable()\ngraph @g(%x: int) -> int:\n  return(%x)\n',
            "said to be unreachable",
        ),
        (
            "graph @f(%c: bool) -> int:\n  prim::If(%c):\n    then():\n      %x: int = 1\n      return(%x)\n    else():\n      yield()\n  unreachable()\n",
            "said to be unreachable",
        ),
        ("graph @f(%x: int) -> List[int]:\n  %n: Never = prim::Uninitialized()\n  %l: List[int] = prim::Cast(%n)\n  return(%l)\n", "type Never"),
        ("graph @f(%x: List[int]) -> List[str]:\n  %n: Never = prim::Cast(%x)\n  %l: List[str] = prim::Cast(%n)\n  return(%l)\n", "type Never|cast"),
        ("graph @f(%x: Never) -> List[str]:\n  return(%x)\n", "type Never"),
        ("class Red enum:\n  A = 1\ngraph @f() -> Red:\n  %l: Red = 81985529216486895\n  return(%l)\n", "no member of Red"),
    ],
)
def test_refused(text: str, reason: str) -> None:
    program = parse_program(text)
    with pytest.raises(IRError, match=reason):
        verify_program(program)
        harden(program)


def test_what_types_say_of_tensors_is_erased() -> None:
    out = hardened(
        "class C:\n  w: Tensor[float32, 2]\n"
        "graph @f(%x: Tensor[float32, 1], %y: List[Tensor[int64, 1]]) -> Tensor[float32, 1]:\n  %z: Tensor[float32, 1] = prim::Cast(%x)\n  return(%z)\n"
    )
    assert "float32" not in out and "int64" not in out
    out = hardened("graph @f(%x: Tensor) -> Tensor[float32, 1]:\n  %z: Tensor[float32, 1] = prim::Cast(%x)\n  return(%z)\n")
    assert "float32" not in out


def test_what_is_unreachable_indeed_is_left() -> None:
    raising = 'graph @g(%x: int) -> None:\n  %m: str = "no"\n  raise[cls="own.Error"](%m)\n'
    hardened(f'entry @f\nexception own.Error(ValueError)\ngraph @f(%x: int) -> int:\n  %n: None = prim::Call[callee="g"](%x)\n  unreachable()\n{raising}')
    hardened("graph @f(%c: bool, %x: int) -> int:\n  prim::If(%c):\n    then():\n      return(%x)\n    else():\n      return(%x)\n  unreachable()\n")


def test_an_unwrap_is_tested_first() -> None:
    out = hardened("graph @f(%x: Optional[str]) -> str:\n  %y: str = prim::Unwrap(%x)\n  return(%y)\n")
    lines = [line.strip() for line in out.splitlines()]
    assert lines[2:8] == [
        "%1: bool = py::is_none(%x)",
        "prim::If(%1):",
        "then():",
        '%2: str = "an optional value that a file promised to be there is None"',
        'raise[cls="RuntimeError"](%2)',
        "else():",
    ]


def test_values_that_are_not_initialised_are_empty() -> None:
    kinds = ["int", "float", "bool", "str", "None", "List[int]", "Dict[str, int]", "Optional[str]", "Tuple[int, List[str]]", "dtype"]
    for kind in kinds:
        out = hardened(f"graph @f() -> {kind}:\n  %v: {kind} = prim::Uninitialized()\n  return(%v)\n")
        assert "Uninitialized" not in out


def test_objects_begin_with_empty_attributes() -> None:
    out = hardened(
        'class A:\n  name: str\n  b: B\n  next: Optional[A]\nclass B:\n  items: List[int]\ngraph @f() -> A:\n  %a: A = prim::New[cls="A"]()\n  return(%a)\n'
    )
    assert out.count("prim::SetAttr") == 4 and out.count("prim::New") == 2
    with pytest.raises(IRError, match="can never be set"):
        hardened('class A:\n  a: A\ngraph @f() -> A:\n  %a: A = prim::New[cls="A"]()\n  return(%a)\n')
