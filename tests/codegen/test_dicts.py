"""Rows of dicts in native code against their Python meaning, and comparison by structure."""

from typing import Any

import pytest

from tests.codegen.rowcheck import check_row

# key type, value type, a dict, a key in it, one that is not, a value
KINDS: list[tuple[str, str, dict[Any, Any], Any, Any, Any]] = [
    ("int", "int", {i * 7: i for i in range(40)}, 7, 999, 5),
    ("str", "List[int]", {"k": [1], "\xfc": [], "": [2]}, "\xfc", "m", [7]),
    ("Tuple[int, str]", "float", {(1, "a"): 1.5, (2, "b"): 2.5}, (2, "b"), (2, "c"), 0.5),
    ("float", "bool", {0.0: True, 1.5: False}, -0.0, 2.5, True),
    ("str", "Optional[int]", {"a": None, "b": 1}, "b", "c", None),
]
kinds = pytest.mark.parametrize(("key", "value", "items", "hit", "miss", "other"), KINDS, ids=[f"{k[0]}-{k[1]}" for k in KINDS])


@kinds
def test_keys(key: str, value: str, items: dict[Any, Any], hit: Any, miss: Any, other: Any) -> None:
    kind = f"Dict[{key}, {value}]"
    for name in ("getitem.dict", "delitem.dict", "contains.dict", "get", "pop.dict"):
        check_row(name, f"{kind}; {key}", (items, hit), (items, miss), ({}, hit))
    for name in ("setitem.dict", "get.default", "pop.default", "setdefault"):
        check_row(name, f"{kind}; {key}; {value}", (items, hit, other), (items, miss, other), ({}, hit, other))


@kinds
def test_whole_dicts(key: str, value: str, items: dict[Any, Any], hit: Any, miss: Any, other: Any) -> None:
    kind = f"Dict[{key}, {value}]"
    for name in ("len.dict", "copy.dict", "keys", "values", "items", "popitem", "clear.dict"):
        check_row(name, kind, (items,), ({},))
    more = {hit: other, miss: other}
    for name in ("or.dict", "update", "eq.any", "ne.any"):
        check_row(name, f"{kind}; {kind}", (items, more), (items, {}), ({}, items), (items, items), (items, {**items, miss: other}))
    check_row("dict.pairs", f"List[Tuple[{key}, {value}]]", ([*items.items(), (hit, other)],), ([],))


@pytest.mark.parametrize(
    ("kind", "a", "b"),
    [
        ("Tuple[int, str]", (1, "a"), (1, "b")),
        ("Tuple[float, Tuple[bool, int]]", (1.0, (True, 2)), (1.0, (True, 3))),
        ("Optional[int]", None, 3),
        ("Optional[str]", None, "a"),
        ("List[Tuple[int, List[str]]]", [(1, ["a"])], [(1, ["b"])]),
    ],
)
def test_comparison(kind: str, a: Any, b: Any) -> None:
    order = [] if "Optional" in kind else ["lt.any", "le.any", "gt.any", "ge.any"]
    for name in ["eq.any", "ne.any", *order]:
        check_row(name, f"{kind}; {kind}", (a, b), (a, a), (b, b), (b, a))
