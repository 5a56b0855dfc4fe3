"""Containers and objects that a script gets are the caller's: identity, aliasing, changes that are seen, also after an exception."""

from __future__ import annotations

import copy
import dataclasses
import sys
from collections.abc import Callable, Iterator
from typing import Any, Dict, List, NamedTuple, Optional, Tuple  # noqa: UP035

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jitlang.codegen.library import memory
from jitlang.frontend.script.class_types import class_type
from jitlang.frontend.script.unit import compile_function
from jitlang.runtime.script import script
from jitlang.types import INT, SetType
from tests.codegen.exchange import identity_program, lenient, strict


@pytest.fixture(autouse=True)
def native(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everything runs in native code."""
    monkeypatch.setenv("JITLANG_TIER", "native")
    yield


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a call gives and what it leaves of its arguments, with their aliases: as text."""
    try:
        result = function(*arguments)
    except Exception as error:
        return (type(error).__name__, str(error), shape(arguments, {}))
    return ("", shape((result, *arguments), {}))


def shape(value: Any, seen: dict[int, int]) -> Any:
    """A value as nested tuples; a container that occurs again is its number."""
    if isinstance(value, list | dict | set) or hasattr(value, "__dict__"):
        if id(value) in seen:
            return ("again", seen[id(value)])
        seen[id(value)] = len(seen)
    if isinstance(value, list | tuple):
        return (type(value).__name__, *(shape(v, seen) for v in value))
    if isinstance(value, dict):
        return ("dict", *((shape(k, seen), shape(v, seen)) for k, v in value.items()))
    if isinstance(value, set):
        return ("set", *sorted(map(repr, value)))
    if hasattr(value, "__dict__"):
        return (type(value).__name__, *((k, shape(v, seen)) for k, v in vars(value).items()))
    return (type(value).__name__, repr(value))


def check(function: Any, *arguments: Any) -> None:
    """Compares a script with its Python function on copies of the arguments; and again, for what is left behind."""
    scripted = script(function)
    wanted = outcome(function, copy.deepcopy(arguments))
    assert outcome(scripted, copy.deepcopy(arguments)) == wanted
    assert all(s.unit is not None for s in scripted.specialisations.values()), [s.failure for s in scripted.specialisations.values()]
    memory.counted(True)
    for _ in range(3):
        assert outcome(scripted, copy.deepcopy(arguments)) == wanted
    assert memory.counted(False) == 0


# ---- lists, dicts, sets -------------------------------------------------------------------------------------------


def edit_list(a: List[int], b: List[int]) -> List[int]:
    a.append(len(b))
    b[0] = 100
    return b


def test_the_same_list_twice() -> None:
    one = [1, 2, 3]
    check(edit_list, one, [4, 5])
    check(edit_list, one, one)
    assert script(edit_list)(one, one) is one
    assert one == [100, 2, 3, 3]


def nest(a: List[List[int]], b: List[int]) -> List[int]:
    a.append(b)
    a[0].append(7)
    b.append(8)
    fresh = [1]
    a.append(fresh)
    a.append(fresh)
    fresh.append(2)
    return fresh


def test_nested_lists() -> None:
    inner = [1]
    check(nest, [inner, inner], inner)
    check(nest, [[5], [6]], inner)
    outer = [inner, [2]]
    result = script(nest)(outer, inner)
    assert outer[0] is inner and outer[2] is inner and outer[3] is outer[4] is result


def fail_late(a: List[int], b: Dict[str, int], c: List[str]) -> int:
    a.append(1)
    b["x"] = 2
    c.append("z")
    a[0] = a[100]
    return 0


def test_changes_are_seen_after_an_exception() -> None:
    check(fail_late, [9], {"y": 1}, ["c"])
    a, b, c = [9], {"y": 1}, ["c"]
    with pytest.raises(IndexError):
        script(fail_late)(a, b, c)
    assert (a, b, c) == ([9, 1], {"y": 1, "x": 2}, ["c", "z"])


def shrink(a: List[str], n: int) -> int:
    while len(a) > n:
        a.pop(0)
    a.sort()
    return len(a)


def test_lists_that_shrink_and_move() -> None:
    for n in (0, 1, 3, 10):
        check(shrink, ["c", "b", "\xe4", "a"], n)
    kept = ["a", "longer text", "c", "b"]
    text = kept[1]
    script(set_text)(kept, 3)
    assert kept == ["a", "longer text", "c", "new"] and kept[1] is text


def set_text(a: List[str], i: int) -> int:
    a[i] = "new"
    return 0


def edit_dict(d: Dict[str, List[int]], gone: str, new: str) -> List[int]:
    for key in d:
        d[key].append(len(key))
    if gone in d:
        del d[gone]
    d[new] = [1]
    d[new].append(2)
    return d[new]


def test_dicts() -> None:
    for gone in ("a", "b", "c", "zz"):
        for new in ("a", "b", "d"):
            check(edit_dict, {"a": [1], "b": [], "c": [2, 3]}, gone, new)
    shared = [1]
    check(edit_dict, {"a": shared, "b": shared}, "a", "x")
    kept = {"a": shared, "b": [2]}
    second = kept["b"]
    script(edit_dict)(kept, "a", "n")
    assert kept["b"] is second and list(kept) == ["b", "n"]


def count_words(words: List[str], counts: Dict[str, int]) -> Dict[str, int]:
    for w in words:
        counts[w] = counts.get(w, 0) + 1
    return counts


def test_counting_into_the_callers_dict() -> None:
    check(count_words, ["a", "b", "a", "\u20ac"], {"b": 10})
    many = {f"k{i}": i for i in range(3000)}
    check(count_words, [f"k{i}" for i in range(0, 4000, 7)], many)


def test_sets() -> None:
    kind = SetType(INT)
    one = {1, 2}
    assert lenient(identity_program(kind, kind))(one, {3}) is one
    assert strict(identity_program(kind))([1]) is ...


def many(rows: List[List[int]]) -> int:
    total = 0
    for row in rows:
        row.append(1)
        total += len(row)
    return total


def test_many_containers_with_aliases() -> None:
    rows: List[List[int]] = [[i] for i in range(500)]
    check(many, rows + rows[::3])


def tuples(a: Tuple[List[int], List[int]], o: Optional[List[int]]) -> Tuple[List[int], Optional[List[int]]]:
    a[0].append(1)
    a[1].append(2)
    if o is not None:
        o.append(3)
    return a[1], o


def test_containers_in_tuples_and_optionals() -> None:
    one = [0]
    check(tuples, (one, [5]), one)
    check(tuples, (one, one), None)
    check(tuples, (one, one), [7])


def untouched(a: List[float]) -> float:
    return a[0]


def test_what_does_not_change_is_left_alone() -> None:
    mixed: list[Any] = [1, 2.5]
    script(untouched)(mixed)
    assert list(map(type, mixed)) == [int, float]


def set_one(a: List[float], v: float) -> int:
    a[1] = v
    return 0


def test_elements_that_do_not_change_stay_the_objects_they_were() -> None:
    mixed: list[Any] = [1, 2.5, 3]
    script(set_one)(mixed, 9.5)
    assert mixed == [1, 9.5, 3] and list(map(type, mixed)) == [int, float, int]


# ---- objects ------------------------------------------------------------------------------------------------------


class Counter:
    """A script class."""

    def __init__(self, start: int) -> None:
        self.count = start
        self.names: List[str] = []


class Node:
    """A chain that may be a ring."""

    def __init__(self, value: int) -> None:
        self.value = value
        self.next: Optional[Node] = None


@dataclasses.dataclass
class Point:
    """A dataclass."""

    x: int
    y: float = 1.5


@dataclasses.dataclass(frozen=True)
class Frozen:
    """One that Python code may not change."""

    x: int


class Slotted:
    """A class without __dict__."""

    __slots__ = ("a", "b")

    def __init__(self, a: int, b: str) -> None:
        self.a = a
        self.b = b


class Pair(NamedTuple):
    """A NamedTuple."""

    left: int
    right: str


def bump(c: Counter, d: Counter, name: str) -> Counter:
    c.count += 1
    d.names.append(name)
    return d


def test_objects() -> None:
    one = Counter(3)
    check(bump, one, Counter(7), "x")
    check(bump, one, one, "y")
    names = one.names
    assert script(bump)(one, one, "z") is one
    assert one.count == 4 and one.names is names and names == ["z"]


def bump_and_fail(c: Counter, xs: List[int]) -> int:
    c.count = 77
    c.names = ["new"]
    return xs[5]


def test_objects_after_an_exception() -> None:
    one = Counter(0)
    with pytest.raises(IndexError):
        script(bump_and_fail)(one, [])
    assert one.count == 77 and one.names == ["new"]


def walk(n: Node) -> int:
    total = 0
    at: Optional[Node] = n
    for _ in range(5):
        if at is None:
            break
        total += at.value
        at.value += 1
        at = at.next
    return total


def test_rings() -> None:
    a, b = Node(1), Node(10)
    a.next, b.next = b, a
    before = sys.getrefcount(a)
    function = lenient(compile_function(walk, [class_type(Node)]))
    assert function(a) == 27 and (a.value, b.value) == (4, 12)
    memory.counted(True)
    for _ in range(10):
        function(a)
    assert memory.counted(False) == 0
    assert sys.getrefcount(a) == before


def grow(n: Node) -> Node:
    made = Node(5)
    made.next = n
    n.next = made
    n.value = 6
    return made


def test_new_objects_that_refer_to_old_ones() -> None:
    first = Node(1)
    made = script(grow)(first)
    assert type(made) is Node and made.next is first and first.next is made and (made.value, first.value) == (5, 6)


def points(p: Point, items: List[Point]) -> Point:
    p.x += 1
    fresh = Point(p.x, 2.5)
    items.append(fresh)
    items.append(p)
    fresh.y = 9.0
    return fresh


def test_dataclasses() -> None:
    check(points, Point(1), [Point(5, 5.0)])
    p = Point(3)
    items = [p]
    fresh = script(points)(p, items)
    assert items[0] is p and items[1] is fresh and items[2] is p and fresh == Point(4, 9.0)


def freeze(f: Frozen) -> Frozen:
    return Frozen(f.x + 1)


def test_frozen_dataclasses() -> None:
    check(freeze, Frozen(1))


def slots(s: Slotted) -> Slotted:
    s.a += 1
    s.b += "!"
    return Slotted(s.a, s.b)


def test_slots() -> None:
    s = Slotted(1, "x")
    made = script(slots)(s)
    assert (s.a, s.b, made.a, made.b) == (2, "x!", 2, "x!") and type(made) is Slotted


def pairs(p: Pair, all: List[Pair]) -> Pair:
    all.append(Pair(p.left + 1, p.right + "!"))
    return all[0]


def test_named_tuples() -> None:
    check(pairs, Pair(1, "a"), [Pair(2, "b")])


class Base:
    """A subclass of it is another type."""

    def __init__(self, x: int) -> None:
        self.x = x


def read_base(b: Base) -> int:
    return b.x


def test_an_object_whose_attribute_is_gone_or_of_another_type() -> None:
    function = script(read_base)
    assert function(Base(4)) == 4
    odd = Base(5)
    del odd.x
    with pytest.raises(Exception):
        function(odd)
    assert function(Base(6)) == 6


# ---- leaks --------------------------------------------------------------------------------------------------------


def test_references_are_given_up() -> None:
    function = script(nest)
    inner, outer = [1], [[2]]
    function(outer, inner)
    del outer[1:], inner[1:]
    item = outer[0]
    before = [sys.getrefcount(v) for v in (inner, outer, item)]
    for _ in range(50):
        function(outer, inner)
        del outer[1:], inner[1:], item[1:]
    assert [sys.getrefcount(v) for v in (inner, outer, item)] == before


def test_memory_does_not_grow() -> None:
    resource = pytest.importorskip("resource")
    function, failing = script(count_words), script(fail_late)
    words, counts = ["a", "b"] * 20, {"x": 1}

    def run(n: int) -> int:
        for _ in range(n):
            function(words, counts)
            with pytest.raises(IndexError):
                failing([1], {"y": 1}, ["c"])
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    before = run(2000)
    assert run(8000) - before < 2000


# ---- long chains --------------------------------------------------------------------------------------------------


class Link:
    """A link of a long chain."""

    def __init__(self, value: int) -> None:
        self.value = value
        self.next: Optional[Link] = None


def total(first: Link) -> int:
    sum = 0
    at: Optional[Link] = first
    while at is not None:
        sum += at.value
        at.value = 0
        at = at.next
    return sum


def build(n: int) -> Link:
    first = Link(0)
    for i in range(n):
        made = Link(i)
        made.next = first
        first = made
    return first


def chain(n: int) -> Link:
    """A chain of Python objects."""
    first = Link(0)
    for i in range(n):
        made = Link(i)
        made.next = first
        first = made
    return first


def test_long_chains_of_objects_need_no_deep_stack() -> None:
    n = 100_000
    first = chain(n)
    function = lenient(compile_function(total, [class_type(Link)]))
    memory.counted(True)
    assert function(first) == n * (n - 1) // 2
    assert first.value == 0 and first.next is not None and first.next.value == 0
    made = lenient(compile_function(build, [INT]))(n)
    assert memory.counted(False) == 0
    count, at = 0, made
    while at is not None:
        count, at = count + 1, at.next
    assert count == n + 1
    for end in (first, made):  # piece by piece: CPython frees a chain by recursion
        while end is not None:
            end.next, end = None, end.next


# ---- random changes -----------------------------------------------------------------------------------------------


def change_dict(d: Dict[str, int], steps: List[Tuple[int, str, int]]) -> int:
    for what, key, value in steps:
        if what == 0:
            d[key] = value
        elif what == 1:
            if key in d:
                del d[key]
        elif what == 2:
            if key in d:
                d[key] += 1
        elif what == 3:
            d.pop(key, 0)
            d[key] = value
        else:
            d.clear()
    return len(d)


def change_list(a: List[str], steps: List[Tuple[int, str, int]]) -> int:
    for what, text, at in steps:
        if what == 0:
            a.append(text)
        elif what == 1:
            a.insert(at, text)
        elif what == 2:
            if len(a) > 0:
                a.pop(at % len(a))
        elif what == 3:
            if len(a) > 0:
                a[at % len(a)] = text
        else:
            a.reverse()
    return len(a)


_KEYS = st.sampled_from(["a", "b", "c", "\xe4", "\u20ac", "long key"])
_STEPS = st.lists(st.tuples(st.integers(0, 4), _KEYS, st.integers(-3, 9)), max_size=12)


def test_random_changes() -> None:
    in_dict, in_list = script(change_dict), script(change_list)

    @settings(max_examples=150, deadline=None, derandomize=True)
    @given(st.dictionaries(_KEYS, st.integers(-3, 9)), st.lists(_KEYS, max_size=6), _STEPS)
    def check_steps(d: Dict[str, int], a: List[str], steps: List[Tuple[int, str, int]]) -> None:
        cases: list[tuple[Any, Callable[..., Any], Any]] = [(in_dict, change_dict, d), (in_list, change_list, a)]
        for scripted, function, value in cases:
            given_value = copy.copy(value)
            wanted = function(value, steps)
            assert scripted(given_value, steps) == wanted
            assert shape(given_value, {}) == shape(value, {})

    check_steps()
