"""Annotations and values to types."""

import dataclasses
import typing
from collections import namedtuple
from typing import Any, Callable, Dict, Final, List, Literal, NamedTuple, NewType, Optional, Sequence, Tuple, TypeVar, Union  # noqa: UP035

import pytest

from jitlang.errors import ScriptTypeError
from jitlang.frontend.annotations import annotation_type, fits, general, parameter_type, type_comments, type_of_value
from jitlang.frontend.script import signature_of
from jitlang.types import FLOAT, INT, NONE, STR, ListType, OptionalType, TensorType, TupleType, dtype_named


class NotedPair(NamedTuple):
    a: int
    b: str


class NotedPoint:
    def __init__(self, x: float, y: float = 0.0):
        self.x, self.y, self.tags = x, y, [""]


class Guess:
    def __init__(self, x):
        self.x = x


@dataclasses.dataclass
class Data:
    n: int
    names: List[str] = dataclasses.field(default_factory=list)  # noqa: UP006


UserId = NewType("UserId", int)
T = TypeVar("T")
Untyped = namedtuple("Untyped", ["p", "q"])


@pytest.mark.parametrize(
    ("annotation", "wanted"),
    [
        (int, "int"),
        (float, "float"),
        ("bool", "bool"),
        (None, "None"),
        (List[int], "List[int]"),  # noqa: UP006
        (list[str], "List[str]"),
        (Dict[str, List[float]], "Dict[str, List[float]]"),  # noqa: UP006
        (Tuple[int, str], "Tuple[int, str]"),  # noqa: UP006
        (tuple[()], "Tuple[()]"),
        (Optional[int], "Optional[int]"),
        (Union[int, None], "Optional[int]"),
        ("int | None", "Optional[int]"),
        ("Optional[List[str]]", "Optional[List[str]]"),
        (Optional[Optional[int]], "Optional[int]"),
        (Literal["a", "b"], "str"),
        (Final[int], "int"),
        (typing.Annotated[int, "x"], "int"),
        (UserId, "int"),
        (NotedPair, "NamedTuple[NotedPair](a: int, b: str)"),
        (NotedPoint, "NotedPoint"),
        (List[NotedPoint], "List[NotedPoint]"),  # noqa: UP006
        (Data, "Data"),
    ],
)
def test_annotations(annotation: Any, wanted: str) -> None:
    assert str(annotation_type(annotation, globals())) == wanted


@pytest.mark.parametrize(
    "annotation",
    [Any, T, Callable[[int], int], list, dict, Tuple[int, ...], Sequence[int], Union[int, str], object, Untyped, List[T], Literal[1, "a"]],  # noqa: UP006
)
def test_annotations_that_take_any_type(annotation: Any) -> None:
    assert annotation_type(annotation) is None


def test_annotations_that_are_none() -> None:
    with pytest.raises(ScriptTypeError, match="cannot be evaluated: name 'Nope' is not defined"):
        annotation_type("Nope")
    with pytest.raises(ScriptTypeError, match="is not a type of the language"):
        annotation_type(3)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (1, "int"),
        (True, "bool"),
        ("a", "str"),
        (None, "None"),
        ([1, 2], "List[int]"),
        ([1, 2.5], "List[float]"),
        ([1, None], "Optional[int]"),
        ({"a": [1]}, "Dict[str, List[int]]"),
        ((1, "a", None), "Tuple[int, str, None]"),
        ([[], [1]], "List[List[int]]"),
        ([], "List[Never]"),
        (NotedPair(1, "x"), "NamedTuple[NotedPair](a: int, b: str)"),
        (Untyped(1, 2.5), "NamedTuple[Untyped](p: int, q: float)"),
        (NotedPoint(1.0), "NotedPoint"),
        (dtype_named("int64"), "dtype"),
    ],
)
def test_values(value: Any, wanted: str) -> None:
    found = str(type_of_value(value))
    assert found == (f"List[{wanted}]" if value == [1, None] else wanted)


def test_values_without_a_type() -> None:
    assert type_of_value(len) is None
    with pytest.raises(ScriptTypeError, match="elements of one container are int and str"):
        type_of_value([1, "a"])


def test_classes_have_the_attributes_that_init_sets() -> None:
    point = annotation_type(NotedPoint)
    assert {n: str(t) for n, t in point.attributes.items()} == {"x": "float", "y": "float", "tags": "List[str]"}  # type: ignore[union-attr]
    assert type_of_value(NotedPoint(1.0)) is point
    assert annotation_type(Data) is type_of_value(Data(1))
    one, two = type_of_value(Guess(1)), type_of_value(Guess("a"))
    assert one is not two
    assert type_of_value(Guess(5)) is one


def test_parameters_keep_what_is_known_of_the_argument() -> None:
    matrix = TensorType(dtype_named("float32"), 2)
    assert parameter_type(matrix, TensorType()) == matrix
    assert parameter_type(matrix, OptionalType(TensorType())) == matrix
    assert parameter_type(NONE, OptionalType(INT)) == NONE
    assert parameter_type(INT, FLOAT) == FLOAT
    assert parameter_type(TupleType((matrix, INT)), TupleType((TensorType(), FLOAT))) == TupleType((matrix, FLOAT))
    with pytest.raises(ScriptTypeError, match="expected int, got str"):
        parameter_type(STR, INT)
    assert fits(ListType(INT), ListType(FLOAT))
    assert not fits(ListType(STR), ListType(FLOAT))
    assert general(ListType(matrix)) == ListType(TensorType())
    assert general(matrix) == matrix


def commented(a, b, c):
    # type: (int, Dict[str, int], Tuple[int, float]) -> Optional[str]
    return None if a else "x"


def line_comments(
    a,  # type: int
    b,  # type: List[str]
):
    # type: (...) -> float
    return a / len(b)


def test_type_comments() -> None:
    assert [str(p.type) for p in signature_of(commented).parameters] == ["int", "Dict[str, int]", "Tuple[int, float]"]
    assert str(signature_of(commented).result) == "Optional[str]"
    assert [str(p.type) for p in signature_of(line_comments).parameters] == ["int", "List[str]"]
    assert str(signature_of(line_comments).result) == "float"
    assert type_comments(["x = 1  # type: ignore"]) is None


def test_signatures() -> None:
    def f(a: int, /, b="x", *rest, c: float = 1.5, d=None):
        return a, b, rest, c, d

    info = signature_of(f)
    assert [(p.name, str(p.type), p.positional_only, p.keyword_only, p.variadic) for p in info.parameters] == [
        ("a", "int", True, False, False),
        ("b", "None", False, False, False),
        ("rest", "None", False, False, True),
        ("c", "float", False, True, False),
        ("d", "None", False, True, False),
    ]
    assert not info.annotated


def test_a_text_of_a_text() -> None:
    scope = {"NotedPoint": NotedPoint, "loop": "loop"}
    assert annotation_type("'NotedPoint'", scope) == annotation_type(NotedPoint)
    assert annotation_type("list['int']") == ListType(INT)
    with pytest.raises(ScriptTypeError, match="'loop' is not a type of the language"):
        annotation_type("loop", scope)
