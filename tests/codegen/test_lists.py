"""Rows of lists in native code against their Python meaning, for elements of each shape in memory."""

from typing import Any

import pytest

from tests.codegen.rowcheck import check_row

LAST = 2**63 - 1
# element type, a list, a value that is not in it
KINDS: dict[str, tuple[list[Any], Any]] = {
    "int": ([3, 1, 2, 5, 4], 7),
    "float": ([1.5, -0.0, 2.0], 9.5),
    "bool": ([True, False, True], False),
    "str": (["b", "a", "\xfc", "", "\u4e2d"], "x"),
    "Tuple[int, str]": ([(1, "a"), (0, "b"), (1, "")], (9, "q")),
    "Optional[int]": ([1, None], 2),
    "List[int]": ([[1], [], [2, 3]], [4]),
}
BOUNDS = [(a, b, c) for a in (None, 0, 1, -1, 99, -99) for b in (None, 2, -1, 99) for c in (None, 1, 2, -1, -2, 0)]
kinds = pytest.mark.parametrize("kind", KINDS)
few = pytest.mark.parametrize("kind", ["int", "bool", "str"])


@kinds
def test_elements(kind: str) -> None:
    items, other = KINDS[kind]
    places = (0, 1, -1, -2, 99, -99)
    check_row("getitem.list", f"List[{kind}]; int", *[(items, i) for i in places])
    check_row("setitem.list", f"List[{kind}]; int; {kind}", *[(items, i, other) for i in places])
    check_row("append", f"List[{kind}]; {kind}", (items, other), ([], other))


@few
def test_removal(kind: str) -> None:
    items, other = KINDS[kind]
    places = (0, 1, -1, -2, 99, -99)
    check_row("delitem.list", f"List[{kind}]; int", *[(items, i) for i in places])
    check_row("pop.list", f"List[{kind}]; int", *[(items, i) for i in places], ([], -1))
    check_row("insert", f"List[{kind}]; int; {kind}", *[(items, i, other) for i in places])
    check_row("clear.list", f"List[{kind}]", (items,), ([],))
    check_row("remove", f"List[{kind}]; {kind}", (items, items[1]), ([], other))


@few
def test_search(kind: str) -> None:
    items, other = KINDS[kind]
    for name in ("contains.list", "count.list"):
        check_row(name, f"List[{kind}]; {kind}", (items, items[1]), (items, other), ([], other))
    check_row("index.list", f"List[{kind}]; {kind}; int; int", (items, items[1], 0, LAST), (items, items[0], -2, -1))


@few
def test_whole_lists(kind: str) -> None:
    items, _ = KINDS[kind]
    both = f"List[{kind}]; List[{kind}]"
    for name in ("add.list", "iadd.list", "extend"):
        check_row(name, both, (items, items), ([], items), (items, []))
    for name in ("mul.list", "imul.list"):
        check_row(name, f"List[{kind}]; int", (items, 3), (items, 0), (items, -1), ([], 5), (items[:1], 4), (items, 2**62))
    for name in ("len.list", "bool.list", "list.list", "reverse", "reversed", "any", "all"):
        check_row(name, f"List[{kind}]", (items,), ([],))


@few
def test_slices(kind: str) -> None:
    items, other = KINDS[kind]
    types = f"List[{kind}]; Optional[int]; Optional[int]; Optional[int]"
    check_row("slice.list", types, *[(items, *s) for s in BOUNDS])
    check_row("del_slice", types, *[(items, *s) for s in BOUNDS])
    check_row("set_slice", f"{types}; List[{kind}]", *[(items, *s, v) for s in BOUNDS for v in ([], [other], items)])


@pytest.mark.parametrize("kind", ["int", "float", "str", "Tuple[int, str]", "List[int]"])
def test_order(kind: str) -> None:
    items, other = KINDS[kind]
    for name in ("eq.list", "lt.list", "ge.list"):
        check_row(name, f"List[{kind}]; List[{kind}]", (items, items), (items, items[:-1]), (items, [*items[:-1], other]), ([], []))
    check_row("sort", f"List[{kind}]; bool", (items, False), (items, True), ([], False), (items * 20, False), (items * 20, True))
    check_row("sorted", f"List[{kind}]; bool", (items, False), (items, True))
    check_row("min.list", f"List[{kind}]", (items,), ([],))
    check_row("max.list", f"List[{kind}]", (items,), ([],))
    keys = [[len(items) - i // 2 for i in range(len(items))], [i % 2 for i in range(len(items))]]
    check_row("sorted_by", f"List[{kind}]; List[int]; bool", *[(items, k, down) for k in keys for down in (False, True)])


def test_numbers() -> None:
    check_row("sum.int", "List[int]; int", ([1, 2], 3), ([2**62, 2**62, -(2**62)], 0), ([2**62, 2**62], 0))
    check_row("sum.float", "List[float]; float", ([0.1] * 50, 0.0), ([], -0.0), ([1e308, 1e308], 0.0), ([1e16, 1.0, -1e16], 0.0))
    check_row("range_list", "int; int; int", (0, 5, 1), (5, 0, -2), (0, 5, 0), (0, -1, 1), (LAST, -LAST, -(2**62)))
