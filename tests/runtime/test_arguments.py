"""Arguments that are not of exactly a type of the language: subclasses, NumPy's numbers, arrays. Both tiers take and refuse the same."""

from __future__ import annotations

import collections
import enum
import time
from collections.abc import Callable
from typing import Any, Dict, List, NamedTuple, Tuple  # noqa: UP035

import pytest

import jitlang as jl
from jitlang import nn

np = pytest.importorskip("numpy")


class Items(list[Any]):
    """A list with a method and attributes of its own."""

    def total(self) -> Any:
        return sum(self)


class Table(dict[Any, Any]):
    """A dict that shows itself in its own way."""

    def __repr__(self) -> str:
        return f"Table of {len(self)}"


class Members(set[Any]):
    """A set with nothing of its own."""


class Row(tuple[Any, ...]):
    """A tuple with a method of its own."""

    __slots__ = ()

    def first(self) -> Any:
        return self[0]


class Pair(NamedTuple):
    """For tests."""

    left: int
    right: float


class Color(enum.IntEnum):
    RED = 1
    BLUE = 2


class Word(str, enum.Enum):
    HELLO = "hello"


class Whole(int):
    """An int with nothing of its own."""


class Text(str):
    """A string that is shown in its own way."""

    def __str__(self) -> str:
        return "something else"

    __slots__ = ()


TIERS = ("vm", "native", "auto")


def same(value: Any) -> Any:
    return value


def plus(value: Any) -> Any:
    return value + value


def head(values: Any) -> Any:
    return values[0]


def size(values: Any) -> Any:
    return len(values)


def last_value(d: Any) -> Any:
    found = [d[k] for k in d]
    return found[-1]


def keys(d: Any) -> Any:
    return [k for k in d]


def run(function: Callable[..., Any], *arguments: Any) -> Any:
    """The outcome of a few calls, which must be one: the first ones run in the VM, the last ones natively."""
    scripted = jl.script(function)
    outcomes = set()
    for _ in range(4):
        try:
            found = scripted(*arguments)
            outcomes.add((type(found).__name__, repr(found)))
        except (TypeError, OverflowError) as error:
            outcomes.add((type(error).__name__, str(error)))
        if jl.status(scripted):
            time.sleep(0.01)
    (outcome,) = outcomes
    return outcome


ACCEPTED: list[tuple[Callable[..., Any], Any, Any]] = [
    (plus, np.float64(1.5), 3.0),
    (plus, np.float32(1.5), 3.0),
    (plus, np.float16(1.5), 3.0),
    (plus, np.int64(3), 6),
    (plus, np.int8(3), 6),
    (plus, np.uint64(3), 6),
    (same, np.bool_(True), True),
    (same, np.str_("text"), "text"),
    (plus, Whole(4), 8),
    (plus, Color.BLUE, 4),
    (same, Word.HELLO, "hello"),
    (same, Text("plain"), "plain"),
    (head, [np.float64(1.5), 2.5], 1.5),
    (head, [1, np.float64(2.5)], 1.0),
    (head, [np.float32(0.5)], 0.5),
    (head, [np.int32(7), 8], 7),
    (head, [np.bool_(False), True], False),
    (head, [Text("plain"), "b"], "plain"),
    (head, [Color.BLUE], 2),
    (head, [Whole(3)], 3),
    (head, (np.int64(7), 1.5), 7),
    (head, Row((1, 2.5)), 1),
    (same, Row((1, "a")), (1, "a")),
    (same, (Row((1, "a")), 2), ((1, "a"), 2)),
    (head, [Row((1, 2))], (1, 2)),
    (head, [[np.int64(3)]], [np.int64(3)]),  # the caller's own list
    (same, jl.zeros(2, 3).shape, (2, 3)),
    (head, [jl.zeros(2, 3).shape], (2, 3)),
    (same, Pair(np.int64(1), np.float32(0.5)), Pair(1, 0.5)),
    (head, [Pair(np.int64(1), 0.5)], Pair(1, 0.5)),
    (head, Items([1, 2]), 1),
    (size, Items(), 0),
    (head, [Items([1])], Items([1])),
    (last_value, Table(a=1, b=2), 2),
    (last_value, {"a": np.float64(0.5)}, 0.5),
    (keys, {np.int64(3): "x", 4: "y"}, [3, 4]),
    (keys, collections.OrderedDict(a=1, b=2), ["a", "b"]),
    (last_value, {"k": collections.OrderedDict(a=1)}, collections.OrderedDict(a=1)),
    (same, Members([1, 2]), Members([1, 2])),
    (same, frozenset([1, np.int64(2)]), frozenset([1, np.int64(2)])),
]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(("function", "given", "wanted"), ACCEPTED, ids=lambda v: v.__name__ if callable(v) else type(v).__name__)
def test_what_stands_for_a_type_is_taken_as_it(function: Callable[..., Any], given: Any, wanted: Any, tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)
    shown = repr(given)
    assert run(function, given) == (type(wanted).__name__, repr(wanted))
    assert repr(given) == shown


class Loud(list[Any]):
    def __getitem__(self, index: Any) -> Any:
        return 42


class Counting(dict[Any, Any]):
    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value + 1)


class Money(float):
    def __add__(self, other: Any) -> Any:
        return Money(float(self) + float(other))


class Heavy(Loud):
    """Inherits what is not the list's."""


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (Loud([1]), "a Loud has a __getitem__ of its own, so it is no list of the language|pass list(value)"),
        (Heavy([1]), "a Heavy has a __getitem__ of its own, so it is no list of the language|pass list(value)"),
        ([[Loud([1])]], "a Loud has a __getitem__ of its own"),
        (Counting(a=1), "a Counting has a __setitem__ of its own, so it is no dict|pass dict(value)"),
        (collections.defaultdict(int), "a defaultdict has a __missing__ of its own|pass dict(value)"),
        ({"a": collections.Counter("ab")}, "a Counter has a|no dict of the language"),
        (Money(1.5), "a Money has a __add__ of its own, so it is no float|pass float(value)"),
        (np.zeros(3), "a numpy.ndarray is no value of a script|pass jitlang.from_numpy(value)"),
        (np.array(3), "a numpy.ndarray is no value of a script"),
        (np.longdouble(1), "no value of a script|pass float(value)"),
        (np.complex64(1), "a numpy.complex64 is no value of a script"),
        ([1, 2**70], "64 bits"),
        (2**63, "64 bits"),
        (np.uint64(2**63), "64 bits"),
        ([np.uint64(2**63)], "64 bits"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_what_would_behave_otherwise_is_refused(given: Any, words: str, tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)
    _, text = run(same, given)
    for word in words.split("|"):
        assert word in text
    if "64 bits" not in words:
        assert "argument 'value' of same()" in text and "test_arguments.py:" in text


# ---- changes are the caller's --------------------------------------------------------------------------------------


def change_list(xs: List[float]) -> List[float]:
    xs[1] = 7.5
    xs.append(xs[0])
    return xs


def change_dict(d: Dict[str, int]) -> Dict[str, int]:
    d["b"] = 20
    d["z"] = d["a"]
    return d


def shift_dict(d: Dict[str, int]) -> Dict[str, int]:
    first = d.pop("a")
    d["a"] = first + 1
    return d


@pytest.mark.parametrize("tier", ["vm", "native"])
@pytest.mark.parametrize("kind", [dict, Table, collections.OrderedDict])
def test_changes_of_a_dict_of_a_subclass(kind: Any, tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)
    for function in (change_dict, shift_dict):
        wanted, given = kind(c=0, a=1, b=2), kind(c=0, a=1, b=2)
        for d in (wanted, given):
            if kind is collections.OrderedDict:
                d.move_to_end("c")
        function(wanted)
        assert jl.script(function)(given) is given
        assert list(given.items()) == list(wanted.items())
        assert list(reversed(given)) == list(reversed(wanted))
        assert given == wanted and type(given) is kind


@pytest.mark.parametrize("tier", ["vm", "native"])
def test_changes_of_a_list_keep_what_agrees(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)
    for kind in (list, Items):
        given = kind([np.float64(0.5), np.float64(1.5), 2, np.float32(0.25)])
        before = list(given)
        assert jl.script(change_list)(given) is given
        assert given[0] is before[0] and given[2] is before[2] and given[3] is before[3]
        assert [type(v) for v in given[1:2] + given[4:]] == [float, float]
        assert given == [0.5, 7.5, 2, 0.25, 0.5]


# ---- in objects and modules ----------------------------------------------------------------------------------------


class Settings:
    """For tests."""

    def __init__(self, scale: float, sizes: List[int], names: Dict[str, float]) -> None:
        self.scale = scale
        self.sizes = sizes
        self.names = names


def use(s: Settings) -> Tuple[float, int, float]:
    s.sizes.append(5)
    return s.scale / 2.0, s.sizes[0] + 1, s.names["a"]


@pytest.mark.parametrize("tier", TIERS)
def test_numbers_of_numpy_in_an_object(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)
    scripted = jl.script(use)
    for _ in range(4):
        given = Settings(np.float32(0.5), Items([np.int64(3)]), collections.OrderedDict(a=np.float64(0.25)))
        found = scripted(given)
        assert found == (0.25, 4, 0.25)
        assert [type(v) for v in found] == [float, int, float]
        assert given.sizes == [3, 5] and type(given.sizes) is Items and type(given.scale) is np.float32


class Scaled(nn.Module):
    """For tests."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = np.float32(0.5)
        self.sizes = (np.int64(2), 3)
        self.flags = [np.bool_(True)]

    def forward(self, x: float) -> Tuple[float, int, bool]:
        return x * self.scale, self.sizes[0] + 1, self.flags[0]


@pytest.mark.parametrize("tier", TIERS)
def test_numbers_of_numpy_in_a_module(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)
    scripted = jl.script(Scaled())
    for _ in range(4):
        found = scripted(np.float64(3.0))
        assert found == (1.5, 3, True)
        assert [type(v) for v in found] == [float, int, bool]
