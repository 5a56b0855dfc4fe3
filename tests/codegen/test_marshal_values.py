"""Values that pass through native code and come back equal, of every type, and what is refused."""

from __future__ import annotations

import math
import random
import sys
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jitlang.codegen.library import memory
from jitlang.frontend.annotations import named_tuple_type
from jitlang.types import BOOL, DTYPE, FLOAT, INT, NONE, STR, DictType, ListType, OptionalType, SetType, TupleType, Type, dtype_named
from tests.codegen.exchange import exchange, identity_program, lenient, strict

INTS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats()
TEXTS = st.text(st.characters(exclude_categories=()), max_size=20)
_LEAVES: dict[Type, Any] = {INT: INTS, FLOAT: FLOATS, BOOL: st.booleans(), NONE: st.none(), STR: TEXTS}


class Pair(NamedTuple):
    """For tests."""

    left: int
    right: str


def values(type: Type) -> Any:
    """A strategy for the values of a type."""
    if type in _LEAVES:
        return _LEAVES[type]
    if isinstance(type, OptionalType):
        return st.none() | values(type.element)
    if isinstance(type, TupleType):
        parts = st.tuples(*map(values, type.elements))
        return parts.map(lambda t: Pair(*t)) if type.name else parts
    if isinstance(type, ListType):
        return st.lists(values(type.element), max_size=12)
    if isinstance(type, SetType):
        return st.sets(values(type.element), max_size=12)
    assert isinstance(type, DictType)
    return st.dictionaries(values(type.key), values(type.value), max_size=12)


def same(a: Any, b: Any) -> bool:
    """Equal in value and type, bit for bit, in order."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return math.isnan(a) and math.isnan(b) if a != a else a == b and math.copysign(1, a) == math.copysign(1, b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    return bool(a == b) if not isinstance(a, set) else len(a) == len(b) and sorted(map(repr, a)) == sorted(map(repr, b))


KEYS = [INT, STR, BOOL, FLOAT, TupleType((INT, STR)), OptionalType(STR), OptionalType(INT), TupleType((TupleType((BOOL, FLOAT)), STR))]
TYPES = [
    INT,
    FLOAT,
    BOOL,
    NONE,
    STR,
    OptionalType(INT),
    OptionalType(STR),
    OptionalType(BOOL),
    TupleType(()),
    TupleType((BOOL, INT)),
    TupleType((STR, FLOAT, BOOL, STR)),
    named_tuple_type(Pair, (INT, STR)),
    OptionalType(TupleType((BOOL, STR))),
    *map(ListType, (INT, FLOAT, BOOL, STR, NONE, OptionalType(FLOAT), OptionalType(STR), TupleType((BOOL, INT, STR)), named_tuple_type(Pair, (INT, STR)))),
    ListType(ListType(INT)),
    ListType(OptionalType(ListType(STR))),
    *(DictType(k, INT) for k in KEYS),
    DictType(STR, ListType(FLOAT)),
    DictType(INT, DictType(STR, BOOL)),
    DictType(STR, TupleType((BOOL, STR))),
    *map(SetType, KEYS),
    TupleType((ListType(INT), DictType(STR, ListType(STR)), OptionalType(SetType(INT)))),
]


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_round_trip(type: Type) -> None:
    convert = exchange(type)

    @settings(max_examples=40, deadline=None, derandomize=True)
    @given(values(type))
    def check(value: Any) -> None:
        assert same(convert(value), value)

    check()


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_what_is_not_of_the_type_is_refused_and_leaves_nothing(type: Type) -> None:
    convert = exchange(type)
    odd: list[Any] = [
        object(),
        b"x",
        1j,
        [object()],
        {1: object()},
        {object()},
        (object(),),
        [1, object()],
        ["a", "b", 3j],
        {"a": 1, "b": 2j},
        (1, object()),
        [[1], [2, 3j]],
    ]
    odd += [[(True, 1, "x"), (True, 1, object())], {"a": ["x"], "b": [b"y"]}, [None, object()], {"a": [1.5, "x"]}, (True, "x", 1, 2, 3), ("s", 1.5, True, b"")]
    for value in odd:
        with pytest.raises((TypeError, OverflowError)):
            convert(value)
        before = sys.getrefcount(value)
        memory.counted(True)
        for _ in range(20):
            with pytest.raises((TypeError, OverflowError)):
                convert(value)
        assert memory.counted(False) == 0
        assert not isinstance(value, list | dict | set) or sys.getrefcount(value) == before


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_nothing_leaks(type: Type) -> None:
    convert = exchange(type)
    random.seed(3)

    @settings(max_examples=5, deadline=None, derandomize=True)
    @given(values(type))
    def check(value: Any) -> None:
        convert(value)
        before = sys.getrefcount(value)
        memory.counted(True)
        for _ in range(10):
            convert(value)
        assert memory.counted(False) == 0
        assert not isinstance(value, list | dict | set) or sys.getrefcount(value) == before

    check()


def test_huge_lists() -> None:
    for make in (lambda i: i, lambda i: i + 0.5, lambda i: str(i), lambda i: (i, str(i)), lambda i: [i]):
        data = [make(i) for i in range(50_000)]
        kinds = [INT, FLOAT, STR, TupleType((INT, STR)), ListType(INT)]
        convert = exchange(ListType(next(k for k in kinds if same_kind(k, data[0]))))
        assert same(convert(data), data)
    many = {i * 7919: str(i) for i in range(50_000)}
    assert list(exchange(DictType(INT, STR))(many).items()) == list(many.items())


def same_kind(type: Type, value: Any) -> bool:
    """Whether a value is of one of the types of `test_huge_lists`."""
    return {int: INT, float: FLOAT, str: STR, tuple: TupleType((INT, STR)), list: ListType(INT)}[value.__class__] == type


@pytest.mark.parametrize(
    "text",
    ["", "a", "\xe4", "\u20ac", "\U0001f600", "abc", "a\xe4", "a\u20ac", "a\U0001f600", "\ud800", "x\udfff\ud800", "\x00", "a\x00b", "x" * 5000, "\xe4" * 5000],
)
def test_strings_of_every_kind(text: str) -> None:
    for made in (text, "".join(list(text)), type("Text", (str,), {})(text)):
        back = exchange(STR)(made)
        assert type(back) is str and back == text


def test_numbers_that_do_not_fit() -> None:
    for value in (2**63, -(2**63) - 1, 10**30):
        for convert, argument in (
            (exchange(INT), value),
            (exchange(ListType(INT)), [1, value]),
            (exchange(DictType(INT, INT)), {1: value}),
            (exchange(TupleType((STR, INT))), ("a", value)),
        ):
            with pytest.raises(OverflowError, match="64 bits"):
                convert(argument)
    with pytest.raises(OverflowError):
        exchange(FLOAT)(10**400)
    with pytest.raises(OverflowError, match="64 bits"):
        strict(identity_program(INT))(2**64)
    assert exchange(INT)(2**63 - 1) == 2**63 - 1 and exchange(INT)(-(2**63)) == -(2**63)


def test_a_chain_takes_exact_types_only() -> None:
    numpy = pytest.importorskip("numpy")
    numbers = (True, numpy.float64(1.5), type("I", (int,), {})(3), 1, 1.5, "x", None)
    for kind, good in ((INT, 1), (FLOAT, 1.5), (BOOL, True), (STR, "x")):
        single, listed = strict(identity_program(kind)), strict(identity_program(ListType(kind)))
        for value in numbers:
            fits = type(value) is type(good)
            assert (single(value) is ...) != fits
            assert (listed([value]) is ...) != fits
    assert strict(identity_program(ListType(INT)))(type("L", (list,), {})([1])) is ...
    assert strict(identity_program(DictType(INT, INT)))(type("D", (dict,), {})({1: 1})) is ...
    assert strict(identity_program(TupleType((INT, STR))))(Pair(1, "a")) is ...
    assert strict(identity_program(named_tuple_type(Pair, (INT, STR))))((1, "a")) is ...


def test_the_dispatcher_may_pass_what_converts() -> None:
    numpy = pytest.importorskip("numpy")
    assert same(exchange(ListType(FLOAT))([1, 2.5, True, numpy.float64(3.5)]), [1.0, 2.5, 1.0, 3.5])
    assert same(exchange(ListType(INT))([1, True, type("I", (int,), {})(3)]), [1, 1, 3])
    numbers = [1, 2.5]
    assert lenient(identity_program(ListType(FLOAT)))(numbers) is numbers
    assert list(map(type, numbers)) == [int, float]


def test_dtypes() -> None:
    for name in ("float32", "int64", "bool"):
        dtype = dtype_named(name)
        assert exchange(DTYPE)(dtype) is dtype
    with pytest.raises(TypeError):
        exchange(DTYPE)("float32")
