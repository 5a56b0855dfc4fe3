"""What a row's rule says of its result before the call (dtype, rank) is so, on the row's own samples, however much of the arguments is known."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest

from jitlang.registry import Operator
from jitlang.schema import MISSING
from jitlang.tensor import tensor as jl
from jitlang.tensor.callables import operator
from jitlang.types import BOOL, DTYPE, FLOAT, INT, NONE, STR, DType, ListType, TensorType, Type, join
from tests.tensor.test_oracle import ROWS, rows_of, run, samples_of, to_jitlang

_PLAIN: dict[type, Type] = {bool: BOOL, int: INT, float: FLOAT, str: STR, DType: DTYPE, type(None): NONE}


def type_of(value: Any, declared: Type) -> Type:
    if isinstance(value, jl.Tensor):
        return TensorType(value.dtype, len(value.shape), "cpu")
    if isinstance(value, list | tuple) and value:
        return ListType(functools.reduce(lambda a, b: join(a, b) or declared, [type_of(v, declared) for v in value]))
    return _PLAIN.get(type(value), declared)


def constant_of(value: Any) -> Any:
    if isinstance(value, list | tuple):
        items = tuple(constant_of(v) for v in value)
        return MISSING if MISSING in items else items
    return MISSING if isinstance(value, jl.Tensor) else value


def without(type_: Type, *, dtype: bool = False, rank: bool = False) -> Type:
    if isinstance(type_, ListType):
        return ListType(without(type_.element, dtype=dtype, rank=rank))
    if not isinstance(type_, TensorType):
        return type_
    return TensorType(None if dtype else type_.dtype, None if rank else type_.rank, type_.device)


def knowledge(row: Operator, values: list[Any]) -> Iterator[tuple[list[Type], list[Any]]]:
    """Types and constants, from all to little that is known."""
    types = [type_of(v, a.type) for v, a in zip(values, row.schema.arguments, strict=True)]
    constants = [constant_of(v) for v in values]
    yield types, constants
    yield types, [MISSING] * len(values)
    yield [without(t, dtype=True) for t in types], constants
    yield [without(t, rank=True) for t in types], constants


def fits(said: Type, value: Any) -> bool:
    if isinstance(value, jl.Tensor):
        return isinstance(said, TensorType) and said.dtype in (None, value.dtype) and said.rank in (None, len(value.shape))
    if isinstance(value, list):
        return isinstance(said, ListType) and all(fits(said.element, item) for item in value)
    return said == _PLAIN[type(value)]


@pytest.mark.parametrize("row", [r for r in ROWS if r.infer is not None], ids=lambda row: row.qualified)
def test_rule(row: Operator) -> None:
    assert row.infer is not None
    for sample in samples_of(row):
        if sample.error or row not in rows_of(row.kind, sample):
            continue
        args, kwargs = to_jitlang(sample.args), {k: to_jitlang(v) for k, v in sample.kwargs.items()}
        values = [args[i] if i < len(args) else kwargs.get(a.name, a.default) for i, a in enumerate(row.schema.arguments)]
        known = list(knowledge(row, values))  # before the call, which may change them
        result, error = run(operator(row.name), args, kwargs)
        if error is not None:
            continue
        several = isinstance(result, tuple) and len(row.schema.returns) > 1
        results = result if several else [result]
        for types, constants in known:
            said = row.infer(types, constants)
            outputs = said if isinstance(said, list | tuple) else [said]
            if said is not None and not all(map(fits, outputs, results)):
                pytest.fail(f"{row.text}\n  {sample}\n  of {types}, {constants} it says {said}, but it gives\n{result}")
