"""Objects in containers and in order: sorting by ``__lt__``, equality by ``__eq__``, keys, members of an Enum by a condition."""

import dataclasses
import enum
from collections.abc import Callable
from typing import Any, Optional

import pytest

from jitlang.errors import ScriptTypeError
from tests.language.oracle import check, check_error


class Card:
    def __init__(self, rank: int, suit: str):
        self.rank = rank
        self.suit = suit

    def __lt__(self, other: "Card") -> bool:
        return self.rank < other.rank


@dataclasses.dataclass(order=True)
class Version:
    major: int
    minor: int = 0


class Same:
    def __init__(self, n: int):
        self.n = n

    def __eq__(self, other) -> bool:
        return self.n == other.n

    def __hash__(self) -> int:
        return self.n


class Colour(enum.Enum):
    RED = 1
    GREEN = 2
    BLUE = 3


def sorted_objects(xs: list[int]):
    cards = [Card(x, str(i)) for i, x in enumerate(xs)]
    up = [c.suit for c in sorted(cards)]
    down = [c.suit for c in sorted(cards, reverse=True)]
    by = [c.suit for c in sorted(cards, key=lambda c: Card(c.rank % 3, ""))]
    pairs = [i for _, i in sorted([(c.rank % 2, i) for i, c in enumerate(cards)], reverse=True)]
    least = min(cards).suit if cards else ""
    cards.sort()
    first = [c.suit for c in cards]
    cards.sort(key=lambda c: Card(-c.rank, ""), reverse=len(xs) > 3)
    return up, down, by, pairs, least, first, [c.suit for c in cards]


def sorted_dataclasses(a: int):
    items = [Version(a, 2), Version(1, 9), Version(a), Version(1, 9)]
    return [(v.major, v.minor) for v in sorted(items)], max(items).minor, sorted([(v, i) for i, v in enumerate(items)])[0][1], Version(1) < Version(1, 1)


def equal_containers(a: int):
    lists = [Version(1, a)] == [Version(1, 2)], [Version(1)] != [Version(a)], [Same(1), Same(2)] == [Same(1)], [[Same(1)], []] == [[Same(1)], []]
    dicts = {"a": Same(1)} == {"a": Same(a)}, {"a": Same(1)} == {"b": Same(1)}, {"a": Same(1)} == {"a": Same(1), "b": Same(2)}
    places = [Same(1)] in [[Same(2)], [Same(1)]], [[Same(1)], [Same(a)]].index([Same(2)]), [[Same(1)], [Same(1)]].count([Same(1)])
    return lists, dicts, places


def chosen(n: int):
    c = Colour.RED if n == 1 else Colour.GREEN
    return c == Colour.RED, c is Colour.GREEN, c.value, c.name, Colour.RED != c, c in (Colour.RED,), _number(c), _number(Colour.GREEN)


def _number(c: Colour) -> int:
    return 10 if c is Colour.RED else 20


def chosen_by_statements(n: int):
    if n == 1:
        c, step = Colour.RED, abs
    elif n == 2:
        c, step = Colour.GREEN, _double
    else:
        c = Colour.BLUE
        step = _double if n > 5 else abs
    make = Card
    if n > 1:
        make = Version
    return c.name, c == Colour.BLUE, step(-n), c in (Colour.RED, Colour.BLUE), _number(c), make is Card


def _double(n: int) -> int:
    return 2 * n


def optional_order(d: dict[str, int], xs: list[Optional[int]], ys: list[tuple[int, Optional[str]]]):
    by_value = sorted(d, key=d.get), sorted(d, key=d.get, reverse=True), max(d, key=d.get) if d else ""
    ys.sort()
    xs.sort(reverse=True)
    return by_value, sorted(ys), xs, sorted(xs), min(xs)


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (sorted_objects, ([5, 3, 3, 9, 1, 5, 5, 2],)),
    (sorted_objects, ([2, 1],)),
    (sorted_objects, ([],)),
    (sorted_dataclasses, (1,)),
    (equal_containers, (2,)),
    (equal_containers, (1,)),
    (optional_order, ({"a": 3, "b": 1, "z": 2}, [2, 1, 3], [(1, "a"), (0, None)])),
    (optional_order, ({"a": 3}, [None], [(1, "b"), (1, "a")])),
    (optional_order, ({}, [1, None], [])),
    *((chosen_by_statements, (n,)) for n in (1, 2, 3, 6)),
    (chosen, (1,)),
    (chosen, (2,)),
]


@pytest.mark.parametrize(("function", "args"), CASES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_objects(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(function, *args)


def key_of_dict(n: int):
    return {Same(n): 1}


def key_in_tuple(n: int):
    d = {}
    d[Version(n), 1] = 2
    return len(d)


def test_objects_with_their_own_equality_are_no_keys() -> None:
    check_error(key_of_dict, 1, error=ScriptTypeError, match="Same has an __eq__ of its own", line=1, col=12, hint="a tuple of its attributes")
    check_error(key_in_tuple, 1, error=ScriptTypeError, match="has an __eq__ of its own", line=1, col=9)
