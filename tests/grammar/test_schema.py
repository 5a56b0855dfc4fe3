"""Types and schemas as text."""

import time

import pytest

from jitlang.errors import IRError
from jitlang.grammar.schema import parse_schema
from jitlang.grammar.types import parse_type
from jitlang.schema import MISSING, Alias
from jitlang.types import (
    ANY,
    DTYPE,
    DTYPES,
    F32,
    FLOAT,
    INT,
    NONE,
    SCALAR,
    STR,
    TENSOR,
    U8,
    ArrayType,
    ClassType,
    DictType,
    ListType,
    OptionalType,
    Pointer,
    SetType,
    TensorType,
    TupleType,
    Type,
    TypeVariable,
)

TYPES: list[Type] = [
    INT,
    ListType(INT),
    DictType(STR, ListType(OptionalType(FLOAT))),
    SetType(INT),
    TENSOR,
    TensorType(DTYPES[3], 2, "cuda"),
    TensorType(None, 2),
    TensorType(DTYPES[5]),
    TupleType(()),
    TupleType((INT, TupleType((STR,)))),
    TupleType((INT, TENSOR), "a.P", ("x", "y")),
    TupleType((), "Empty"),
    Pointer(Pointer(U8)),
    ArrayType(F32, 4),
    OptionalType(TensorType(None, 1)),
    TypeVariable("t"),
    ANY,
]


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_types_round_trip(kind: Type) -> None:
    assert parse_type(str(kind)) == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("int[]", ListType(INT)),
        ("int[2]?", OptionalType(ListType(INT))),
        ("Tensor?[]", ListType(OptionalType(TENSOR))),
        ("List[int][]", ListType(ListType(INT))),
        ("ScalarType?", OptionalType(DTYPE)),
    ],
)
def test_short_forms(text: str, kind: Type) -> None:
    assert parse_type(text) == kind


def test_classes_by_name() -> None:
    kind = ClassType("m.f.<locals>.C")
    assert parse_type("List[m.f.<locals>.C]", {kind.name: kind}) == ListType(kind)


@pytest.mark.parametrize(
    "text", ["", "int[", "Foo", "List[int, int]", "Tensor[flot]", "Tuple[int, *]", "ptr[]x", "Tensor[2.5]", "array[int]", "NamedTuple(x: int)", "1"]
)
def test_no_types(text: str) -> None:
    with pytest.raises(IRError):
        parse_type(text)


def test_torch_schema() -> None:
    schema = parse_schema("sum.dim(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
    assert (schema.kind, schema.overload, schema.full_name) == ("aten::sum", "dim", "aten::sum.dim")
    self, dim, keepdim, dtype = schema.arguments
    assert (self.type, self.default, self.keyword_only) == (TENSOR, MISSING, False)
    assert (dim.type, dim.default, dim.broadcast) == (OptionalType(ListType(INT)), None, 1)
    assert keepdim.default is False
    assert dtype.keyword_only and dtype.type == OptionalType(DTYPE)
    assert not schema.writes


def test_alias_marks() -> None:
    schema = parse_schema("f(Tensor(a!)[] self, Tensor(b)? other, Tensor c) -> (Tensor(a!) values, Tensor(b) indices)")
    assert [a.alias for a in schema.arguments] == [Alias("a", True), Alias("b"), None]
    assert schema.arguments[0].type == ListType(TENSOR)
    assert [(r.name, r.alias) for r in schema.returns] == [("values", Alias("a", True)), ("indices", Alias("b"))]
    assert schema.writes


def test_defaults() -> None:
    text = (
        "f(int[] a=[1, 2], float b=1, float[] c=[1], str d=\"it's\", str e='x', Scalar g=-inf, ScalarType h=float32, Optional[t] i=None, float j=1e-05) -> ()"
    )
    schema = parse_schema(text, "py")
    values = [a.default for a in schema.arguments]
    assert values == [[1, 2], 1.0, [1.0], "it's", "x", float("-inf"), DTYPES[3], None, 1e-05]
    assert [type(v) for v in values[1:3]] == [float, list] and type(values[2][0]) is float
    assert schema.returns == ()


def test_python_schema() -> None:
    schema = parse_schema("get(Dict[k, v] self, k key, v default) -> v", "py")
    assert schema.arguments[0].type == DictType(TypeVariable("k"), TypeVariable("v"))
    assert schema.returns[0].type == TypeVariable("v")
    append = parse_schema("append(List[t](a!) self, t value) -> None", "py")
    assert append.arguments[0].alias == Alias("a", True) and append.returns[0].type == NONE
    assert parse_schema("print(Any[] values, Scalar x) -> None", "py").arguments[1].type == SCALAR


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f(int) -> int", "unexpected ')' (line 1, column 6)"),
        ("f(int a, int a) -> int", "two parameters are called a"),
        ("f(intt a) -> int", "unknown type intt"),
        ("f(int a=None) -> int", "the default None does not fit int"),
        ("f(int a=foo) -> int", "foo is no default value"),
        ("f(int a)", "unexpected end of text"),
    ],
)
def test_no_schemas(text: str, message: str) -> None:
    with pytest.raises(IRError) as caught:
        parse_schema(text)
    assert message in str(caught.value) and text in str(caught.value)


def test_a_schema_is_read_quickly() -> None:
    text = "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    parse_schema(text)
    start = time.perf_counter()
    for _ in range(100):
        parse_schema(text)
    assert (time.perf_counter() - start) / 100 < 0.002  # 0.1 ms on an idle machine
