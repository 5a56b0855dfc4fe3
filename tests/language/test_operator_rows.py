"""The rows of Python's own types: their schemas, flags and meanings hang together."""

import inspect

import pytest

from jitlang.operators import rows as row_module
from jitlang.registry import EFFECT, PURE, TOTAL, Operator, all_operators, find, overloads
from jitlang.types import ANY, BOOL, FLOAT, INT, STR, DictType, ListType, OptionalType, TupleType, Type, TypeVariable

ROWS = [r for r in all_operators() if r.namespace == "py"]


def sample(type: Type) -> object:
    """A plain value of a type."""
    if isinstance(type, TypeVariable) or type in (INT, ANY):
        return 3
    if isinstance(type, ListType):
        return [sample(type.element)]
    if isinstance(type, DictType):
        return {sample(type.key): sample(type.value)}
    if isinstance(type, TupleType):
        return tuple(sample(e) for e in type.elements)
    if isinstance(type, OptionalType):
        return None
    return {FLOAT: 0.5, BOOL: True, STR: "3"}.get(type, "cpu")  # type: ignore[call-overload]


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.qualified)
def test_a_row_is_complete(row: Operator) -> None:
    schema = row.schema
    assert schema.full_name == f"py::{row.qualified}"
    assert row.doc.endswith("."), "a doc is a sentence"
    assert row.python is not None
    assert len(schema.returns) <= 1
    writes = any(a.alias is not None and a.alias.write for a in schema.arguments)
    assert not (writes and row.has(PURE)), "what writes is not pure"
    assert writes or row.has(PURE) or row.has(EFFECT) or not schema.returns
    assert find(f"py::{row.qualified}") is row


@pytest.mark.parametrize("row", [r for r in ROWS if r.has(TOTAL)], ids=lambda r: r.qualified)
def test_a_total_row_takes_any_value(row: Operator) -> None:
    assert row.python is not None
    value = row.python(*(sample(a.type) for a in row.schema.arguments))
    wanted = row.schema.returns[0].type
    kinds = {INT: int, FLOAT: float, BOOL: bool, STR: str}
    if wanted in kinds:
        assert type(value) is kinds[wanted]  # type: ignore[index]


def test_overloads_of_a_kind_differ() -> None:
    for row in ROWS:
        signatures = [tuple(str(a.type) for a in r.schema.arguments) for r in overloads(row.kind)]
        assert len(signatures) == len(set(signatures)), row.kind


def test_checked_integers() -> None:
    assert row_module.checked(2**63 - 1) == 2**63 - 1
    with pytest.raises(OverflowError, match="64 bits"):
        row_module.checked(2**63)
    for name, args in (
        ("add.int", (2**62, 2**62)),
        ("mul.int", (2**32, 2**32)),
        ("neg.int", (-(2**63),)),
        ("floordiv.int", (-(2**63), -1)),
        ("pow.int", (2, 63)),
        ("lshift.int", (1, 63)),
    ):
        python = find(f"py::{name}").python
        assert python is not None
        with pytest.raises(OverflowError):
            python(*args)


def test_meanings_take_their_arguments_by_position() -> None:
    for row in ROWS:
        try:
            signature = inspect.signature(row.python)  # type: ignore[arg-type]
        except ValueError:
            continue  # a builtin without a signature
        signature.bind(*row.schema.arguments)
