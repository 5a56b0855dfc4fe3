"""Python functions called out of native code see the caller's own containers and objects, as they are at that moment."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Dict, List, Optional, Tuple  # noqa: UP035

import pytest

from jitlang.codegen.library import memory
from jitlang.frontend.script.class_types import class_type
from jitlang.frontend.script.unit import compile_function
from jitlang.native import host
from jitlang.runtime.script import script
from jitlang.types import INT, STR, DictType, ListType
from tests.codegen.exchange import lenient, snapshot

CELL = "jl.row.py.str.any"  # str(x) of what has no native text


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What ``str`` was called with in scripts, each with its text at that time."""
    monkeypatch.setenv("JITLANG_TIER", "native")
    found: list[Any] = []

    def spy(value: Any) -> str:
        found.append((value, repr(value)))
        return str(value)

    host.object_cell(CELL, spy)
    yield found
    host.object_cell(CELL, str)


def lists(a: List[int], rows: List[List[int]]) -> str:
    a.append(1)
    text = str(a)
    rows[0].append(2)
    rows.append(a)
    text += str(rows)
    a.append(3)
    fresh = [[5], [6]]
    text += str(fresh)
    fresh.append(fresh[0])
    text += str(fresh)
    return text


def test_lists_are_brought_up_to_date_and_handed_out_themselves(seen: list[Any]) -> None:
    a: List[int] = []
    inner = [9]
    rows = [inner]
    scripted = script(lists)
    copy: tuple[List[int], List[List[int]]] = ([], [[9]])
    wanted = lists(*copy)
    assert scripted(a, rows) == wanted
    assert seen[0][0] is a and seen[0][1] == "[1]"
    assert seen[1][0] is rows and seen[1][1] == "[[9, 2], [1]]" and rows[0] is inner and rows[1] is a
    assert seen[2][1] == "[[5], [6]]" and seen[3][1] == "[[5], [6], [5]]" and seen[3][0][0] is seen[3][0][2]
    assert (a, rows) == ([1, 3], [[9, 2], [1, 3]])
    seen.clear()
    memory.counted(True)
    for _ in range(5):
        a.clear()
        rows[:] = [[9]]
        assert scripted(a, rows) == wanted
    assert memory.counted(False) == 0


def dicts(d: Dict[str, List[int]], t: Tuple[List[int], int], o: Optional[List[int]]) -> str:
    text = str(d)
    d["n"] = t[0]
    t[0].append(7)
    text += str(d) + str(t)
    if o is not None:
        o.append(8)
    d["a"].append(8)
    text += str(o)
    return text


def test_dicts_tuples_and_optionals(seen: list[Any]) -> None:
    one, two = [1], [2]
    d = {"a": one, "b": two}
    wanted = dicts({"a": [1], "b": [2]}, ([5], 3), [4])
    five, four = [5], [4]
    assert script(dicts)(d, (five, 3), four) == wanted
    assert seen[0][0] is d and d["a"] is one and d["n"] is five and four == [4, 8] and one == [1, 8]
    assert script(dicts)({"a": [1]}, (five, 3), None) == dicts({"a": [1]}, ([5, 7], 3), None)


class Box:
    """Prints itself."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.items: List[int] = []
        self.next: Optional[Box] = None

    def __repr__(self) -> str:
        return f"Box({self.n}, {self.items}, {self.next is self})"


def boxes(b: Box, all: List[Box]) -> str:
    b.n += 1
    b.items.append(b.n)
    all.append(b)
    text = str(all)
    made = Box(50)
    made.next = made
    all.append(made)
    text += str(all)
    b.n += 1
    return text


def test_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", "native")

    def make() -> tuple[Box, list[Box]]:
        b = Box(1)
        b.next = b
        return b, [Box(3)]

    kind: Any = class_type(Box)
    function = lenient(compile_function(boxes, [kind, ListType(kind)]))
    b, all = make()
    first = all[0]
    wanted = boxes(*make())
    assert function(b, all) == wanted
    assert all[0] is first and all[1] is b and (b.n, b.items) == (3, [2])
    assert all[2].n == 50 and all[2].next is all[2]
    memory.counted(True)
    for _ in range(3):
        assert function(*make()) == wanted
    assert memory.counted(False) == 0


def test_a_snapshot_of_what_came_from_python_is_that_object() -> None:
    kind: Any = class_type(Box)
    b = Box(1)
    b.next = Box(2)
    b.next.next = b
    for type, value in ((kind, b), (ListType(kind), [b, b]), (DictType(STR, ListType(INT)), {"a": [1], "b": [2]}), (ListType(ListType(INT)), [[1], [2]])):
        back = snapshot(type)
        inner = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else [value.next, value.items]
        assert back(value) is value
        now = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else [value.next, value.items]
        assert all(x is y for x, y in zip(inner, now, strict=True))
        before = [sys.getrefcount(value), *map(sys.getrefcount, inner)]
        memory.counted(True)
        for _ in range(10):
            back(value)
        assert memory.counted(False) == 0
        assert [sys.getrefcount(value), *map(sys.getrefcount, inner)] == before
