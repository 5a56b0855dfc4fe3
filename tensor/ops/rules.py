"""Type rules: what an operator's results are, from its argument types and constants; None where only the run knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitlang.tensor import promotion
from jitlang.tensor.layout import BOOL, FLOAT32, INT64, UNDEFINED
from jitlang.types import BOOL as BOOL_TYPE
from jitlang.types import FLOAT, INT, TENSOR, DType, ListType, OptionalType, TensorType, Type, dtype_coded

Rule = Callable[[Sequence[Type], Sequence[Any]], list[Type]]

_promote = promotion.as_python(promotion.promote)
_combine = promotion.as_python(promotion.combine)
_computing = promotion.as_python(promotion.computing)
_produced = promotion.as_python(promotion.produced)
_NUMBERS = {BOOL_TYPE: BOOL, INT: INT64, FLOAT: FLOAT32}


def joined(types: Sequence[Type]) -> int | None:
    """The code of the common dtype of operands, tensors and numbers; None where it is not known."""
    full = single = literal = UNDEFINED
    for t in types:
        if t in _NUMBERS:
            literal = _promote(literal, _NUMBERS[t])
        elif isinstance(t, TensorType):
            if t.dtype is None or (t.rank is None and len(types) > 1):
                return None
            if t.rank == 0:
                single = _promote(single, t.dtype.code)
            else:
                full = _promote(full, t.dtype.code)
    code: int = _combine(full, _combine(single, literal))
    return None if code == UNDEFINED else code


def common_dtype(types: Sequence[Type]) -> int | None:
    """As `joined`, also where ranks are not known but cannot matter: all tensors of one dtype, and no stronger number."""
    found = joined(types)
    if found is not None:
        return found
    tensors = [t for t in types if isinstance(t, TensorType)]
    codes = {t.dtype.code if t.dtype else None for t in tensors}
    if len(codes) != 1 or None in codes:
        return None
    (code,) = codes
    return joined([TensorType(t.dtype, 1) if isinstance(t, TensorType) else t for t in types]) if code is not None else None


def broadcast_rank(types: Sequence[Type]) -> int | None:
    """The rank of broadcast operands."""
    ranks = [t.rank for t in types if isinstance(t, TensorType)]
    return None if None in ranks else max((r for r in ranks if r is not None), default=0)


def _type(code: int | None, rank: int | None) -> TensorType:
    return TensorType(None if code is None else dtype_coded(code), rank)


def pointwise(rule: int = promotion.SAME, operands: int | None = None, first: int = 0) -> Rule:
    """Of pointwise operators: the common dtype of operands `first` … `operands`, changed by `rule`; broadcast rank."""

    def infer(types: Sequence[Type], _: Sequence[Any]) -> list[Type]:
        used = list(types[first:operands])
        code = common_dtype(used)
        if code is None:
            code = BOOL if rule & promotion.RESULT_BOOL else None
        else:
            code = _produced(rule, _computing(rule, code))
        return [_type(code, broadcast_rank(list(types[:operands])))]

    return infer


def same(types: Sequence[Type], _: Sequence[Any]) -> list[Type]:
    """The first argument's type."""
    first = types[0]
    return [TensorType(first.dtype, first.rank) if isinstance(first, TensorType) else TENSOR]


def dtype_of(value: Any, default: DType | None) -> DType | None:
    """The dtype that a constant argument names; `default` where it is None, unknown (None) where it is no constant."""
    if isinstance(value, DType):
        return value
    return default if value is None else None


def with_rank(change: Callable[[int], int]) -> Rule:
    """The first argument's dtype, with a rank computed from its own."""

    def infer(types: Sequence[Type], _: Sequence[Any]) -> list[Type]:
        first = types[0]
        if not isinstance(first, TensorType):
            return [TENSOR]
        return [TensorType(first.dtype, None if first.rank is None else change(first.rank))]

    return infer


def same_dtype(types: Sequence[Type], _: Sequence[Any]) -> list[Type]:
    """The first argument's dtype, of unknown rank."""
    first = types[0]
    return [TensorType(first.dtype) if isinstance(first, TensorType) else TENSOR]


def flattened(types: Sequence[Type], constants: Sequence[Any]) -> list[Type]:
    """``flatten(x, start, end)``: one dimension in the place of those from start to end."""
    first, start, end = types[0], constants[1], constants[2]
    if not isinstance(first, TensorType):
        return [TENSOR]
    rank: int | None = None
    if start == 0 and end == -1 and isinstance(start, int):
        rank = 1
    elif first.rank and isinstance(start, int) and isinstance(end, int):
        begin, last = start % first.rank, end % first.rank
        rank = first.rank - (last - begin) if begin <= last else None
    return [TensorType(first.dtype, rank)]


def list_of_same_dtype(types: Sequence[Type], _: Sequence[Any]) -> list[Type]:
    """A list of tensors with the first argument's dtype."""
    first = types[0]
    return [ListType(TENSOR if not isinstance(first, TensorType) else TensorType(None))]


def is_none(kind: Type, value: Any) -> bool | None:
    """Whether an optional argument is None; None where that is not known."""
    if value is None:
        return True
    return None if isinstance(kind, OptionalType) else False


def created(dtype_at: int, default: DType | None, rank: Callable[[Sequence[Type], Sequence[Any]], int | None]) -> Rule:
    """Of functions that make tensors: the dtype is argument `dtype_at` (`default` where it is None)."""

    def infer(types: Sequence[Type], constants: Sequence[Any]) -> list[Type]:
        return [TensorType(dtype_of(constants[dtype_at], default), rank(types, constants))]

    return infer


def length_of(at: int) -> Callable[[Sequence[Type], Sequence[Any]], int | None]:
    """The length of a constant list argument."""

    def rank(_: Sequence[Type], constants: Sequence[Any]) -> int | None:
        value = constants[at]
        return len(value) if isinstance(value, list | tuple) else None

    return rank


def fixed(count: int) -> Callable[[Sequence[Type], Sequence[Any]], int | None]:
    """A rank that is always the same."""
    return lambda _types, _constants: count


def like(dtype_at: int) -> Rule:
    """Of ``…_like``: the first argument's rank and, unless `dtype_at` names another, dtype."""

    def infer(types: Sequence[Type], constants: Sequence[Any]) -> list[Type]:
        first = types[0]
        if not isinstance(first, TensorType):
            return [TENSOR]
        return [TensorType(dtype_of(constants[dtype_at], first.dtype), first.rank)]

    return infer


def converted(dtype_at: int) -> Rule:
    """The first argument's rank in the dtype that argument `dtype_at` names."""
    return like(dtype_at)


def in_dtype(dtype: DType) -> Rule:
    """The first argument's rank, always in one dtype."""

    def infer(types: Sequence[Type], _: Sequence[Any]) -> list[Type]:
        first = types[0]
        return [TensorType(dtype, first.rank if isinstance(first, TensorType) else None)]

    return infer


def chosen(types: Sequence[Type], _: Sequence[Any]) -> list[Type]:
    """Of ``where(condition, x, y)``."""
    return [_type(common_dtype(types[1:3]), broadcast_rank(types))]


def masked(types: Sequence[Type], _: Sequence[Any]) -> list[Type]:
    """Of ``masked_fill``: the first argument's dtype, the rank of it and the mask."""
    first = types[0]
    return [TensorType(first.dtype if isinstance(first, TensorType) else None, broadcast_rank(types[:2]))]


def division(types: Sequence[Type], constants: Sequence[Any]) -> list[Type]:
    """Of ``div`` with a rounding mode: without one, integers give float32."""
    if constants[2] is None:
        return pointwise(promotion.TO_FLOAT, 2)(types, constants)
    return pointwise(promotion.SAME, 2)(types, constants) if isinstance(constants[2], str) else [TensorType(None, broadcast_rank(types[:2]))]
