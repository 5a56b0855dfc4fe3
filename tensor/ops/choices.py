"""Rows that choose between elements: `where`, masks, bounds."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import cast, check, f64, get, has, kernel, local, ptr, text, typeof, u8
from jitlang.registry import POINTWISE, PURE
from jitlang.tensor.kernels import arithmetic as a
from jitlang.tensor.kernels import pointwise as drivers
from jitlang.tensor.kernels import pointwise_loops
from jitlang.tensor.kernels.creation import check_fits
from jitlang.tensor.kernels.scalars import number
from jitlang.tensor.kernels.tensors import release
from jitlang.tensor.layout import BOOL, UINT8, TensorImpl
from jitlang.tensor.loops import Loop, pointwise
from jitlang.tensor.ops import pointwise as point
from jitlang.tensor.ops import rules
from jitlang.tensor.ops.activations import replaced
from jitlang.tensor.ops.families import Tensor, loop, row
from jitlang.tensor.ops.samples import ALL, FLOATS, INTS, A, Sample
from jitlang.tensor.promotion import SAME, category
from jitlang.types import U8, DType, machine_type

NUMERIC = (*FLOATS, *INTS)
INFINITY = float("inf")


@kernel
def one_dtype(self: Tensor, other: Tensor) -> None:
    """Refuses operands of different dtypes."""
    check(self.dtype == other.dtype, "RuntimeError", "heaviside is not yet implemented for tensors with different dtypes.")


# ---- choices ------------------------------------------------------------------------------------------------------


def _where_loop(dtype: DType) -> Any:
    machine = machine_type(dtype)
    return pointwise(pointwise_loops.ternary_loop, a.choose, U8, machine, machine, machine)


WHERE = Loop("where", _where_loop).table


@kernel
def check_condition(condition: Tensor) -> None:
    """Refuses conditions that are no bools."""
    check(
        condition.dtype == BOOL or condition.dtype == UINT8,
        "RuntimeError",
        "where expected condition to be a boolean tensor, but got a tensor with dtype {}",
        text(drivers.dtype_text(condition.dtype)),
    )


@kernel
def chosen(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """x where the condition holds, else y."""
    check_condition(condition)
    dtype = drivers.joined_dtype(x, y)
    operands = local(Tensor, 3)
    operands[0] = condition
    operands[1] = x
    operands[2] = y
    return drivers.several(WHERE, dtype, dtype, 1, 3, operands)


@kernel
def where_tensors(condition: Tensor, self: Tensor, other: Tensor) -> Tensor:
    """self where the condition holds, else other."""
    return chosen(condition, self, other)


@kernel
def where_left(condition: Tensor, self: Any, other: Tensor) -> Tensor:
    """self where the condition holds, else other."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    return chosen(condition, number(slot, cast(ptr[u8], room), self), other)


@kernel
def where_right(condition: Tensor, self: Tensor, other: Any) -> Tensor:
    """self where the condition holds, else other."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    return chosen(condition, self, number(slot, cast(ptr[u8], room), other))


@kernel
def where_numbers(condition: Tensor, self: Any, other: Any) -> Tensor:
    """self where the condition holds, else other."""
    slots, room = local(TensorImpl, 2), local(f64, 2)
    return chosen(condition, number(slots, cast(ptr[u8], room), self), number(slots + 1, cast(ptr[u8], room + 1), other))


_C = A((3, 4), "bool")
_WHERE = [
    Sample(_C, A((3, 4)), A((4,), seed=1)),
    Sample(_C, A((3, 4), "int64"), A((3, 4))),
    Sample(_C, A(()), A((3, 4), "int64")),
    Sample(A((4, 3), "bool", layout="t"), A((4, 3), layout="t"), A((4, 3))),
]
_WHERE += [Sample(A((3, 4)), A((3, 4)), A((3, 4)), error=True), Sample(_C, A((5,)), A((3, 4)), error=True), Sample(A((), "bool"), A((2, 3)), A((2, 3), seed=2))]
row(
    "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
    "self where the condition holds, else other.",
    where_tensors,
    PURE,
    POINTWISE,
    infer=rules.chosen,
    samples=_WHERE,
    variants=("function",),
)
row(
    "where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
    "self where the condition holds, else other.",
    where_left,
    PURE,
    POINTWISE,
    infer=rules.chosen,
    samples=[Sample(_C, 2, A((3, 4))), Sample(_C, 2.5, A((3, 4), "int64"))],
    variants=("function",),
)
row(
    "where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
    "self where the condition holds, else other.",
    where_right,
    PURE,
    POINTWISE,
    infer=rules.chosen,
    samples=[Sample(_C, A((3, 4)), 0), Sample(_C, A((3, 4), "int64"), 0.5)],
    variants=("function",),
)
row(
    "where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
    "self where the condition holds, else other.",
    where_numbers,
    PURE,
    POINTWISE,
    infer=rules.chosen,
    samples=[Sample(_C, 1, 0), Sample(_C, 1.0, 0)],
    variants=("function",),
)


@kernel
def masked_fill_number(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """self with a number where the mask holds."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    return masked(self, mask, number(slot, cast(ptr[u8], room), value))


@kernel
def masked_fill_tensor(self: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    """self with an element where the mask holds."""
    check(value.rank == 0, "RuntimeError", "masked_fill only supports a 0-dimensional value tensor, but got tensor with {} dimension(s).", value.rank)
    return masked(self, mask, value)


@kernel
def masked(self: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    """self, always in its dtype, with a value where the mask holds."""
    check(mask.dtype == BOOL, "RuntimeError", "masked_fill only supports boolean masks, but got mask with dtype {}", text(drivers.dtype_text(mask.dtype)))
    check_fits(self.dtype, value)
    operands = local(Tensor, 3)
    operands[0] = mask
    operands[1] = value
    operands[2] = self
    return drivers.several(WHERE, self.dtype, self.dtype, 1, 3, operands)


@kernel
def masked_fill_number_into(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Stores a number where the mask holds."""
    return replaced(self, masked_fill_number(self, mask, value))


@kernel
def masked_fill_tensor_into(self: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    """Stores an element where the mask holds."""
    return replaced(self, masked_fill_tensor(self, mask, value))


_FILLS = [Sample(A((3, 4), d), A((3, 4), "bool"), 2) for d in ALL] + [
    Sample(A((3, 4)), A((4,), "bool"), -INFINITY),
    Sample(A((4, 3), layout="t"), A((4, 3), "bool"), 0.5),
    Sample(A((3, 4)), A((3, 4)), 1, error=True),
]
_FILLS_WIDE = [*_FILLS, Sample(A((1, 4)), A((3, 1), "bool"), 1.5)]
row(
    "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    "self with a number where the mask holds.",
    masked_fill_number,
    PURE,
    infer=rules.masked,
    samples=_FILLS_WIDE,
)
row(
    "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
    "self with an element where the mask holds.",
    masked_fill_tensor,
    PURE,
    infer=rules.masked,
    samples=[Sample(A((3, 4)), A((4,), "bool"), A(())), Sample(A((3,)), A((3,), "bool"), A((1,)), error=True)],
)
row(
    "masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!)",
    "Stores a number where the mask holds.",
    masked_fill_number_into,
    infer=rules.same,
    samples=_FILLS,
    variants=("method",),
)
row(
    "masked_fill_.Tensor(Tensor(a!) self, Tensor mask, Tensor value) -> Tensor(a!)",
    "Stores an element where the mask holds.",
    masked_fill_tensor_into,
    infer=rules.same,
    samples=[Sample(A((3, 4)), A((4,), "bool"), A(()))],
    variants=("method",),
)


# ---- clamp --------------------------------------------------------------------------------------------------------

CLAMP = loop("clamp", {"f": a.clamp, "i": a.clamp, "u": a.clamp}, 3).table


@kernel
def clamped(self: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """self, at least `low` and at most `high`."""
    dtype = drivers.joined_dtype_of(self, low, high)
    operands = local(Tensor, 3)
    operands[0] = self
    operands[1] = low
    operands[2] = high
    return drivers.several(CLAMP, dtype, dtype, 0, 3, operands)


@kernel
def bound(slot: Tensor, room: ptr[u8], value: Any) -> Tensor:
    """A bound as a tensor: a number, or a tensor itself."""
    if typeof(value) == Tensor:
        return value
    return number(slot, room, value)


@kernel
def clamp_any(self: Tensor, low: Any, high: Any) -> Tensor:
    """self between bounds that are numbers, tensors or missing."""
    slots, room = local(TensorImpl, 2), local(f64, 2)
    if has(low):
        if has(high):
            return clamped(self, bound(slots, cast(ptr[u8], room), get(low)), bound(slots + 1, cast(ptr[u8], room + 1), get(high)))
        return drivers.binary(point.MAXIMUM, SAME, self, bound(slots, cast(ptr[u8], room), get(low)))
    check(has(high), "RuntimeError", "torch.clamp: At least one of 'min' or 'max' must not be None")
    return drivers.binary(point.MINIMUM, SAME, self, bound(slots, cast(ptr[u8], room), get(high)))


@kernel
def clamp_native(self: Tensor, min: Any, max: Any) -> Tensor:
    """self between two bounds."""
    return clamp_any(self, min, max)


@kernel
def clamp_into(self: Tensor, min: Any, max: Any) -> Tensor:
    """self between two bounds, in place."""
    made = clamp_any(self, min, max)
    check_same_kind(made, self)
    return replaced(self, made)


@kernel
def check_same_kind(made: Tensor, self: Tensor) -> None:
    """Refuses a result of a stronger kind than the target; frees the result then."""
    if category(made.dtype) > category(self.dtype):
        dtype = made.dtype
        release(made)
        drivers.check_result(dtype, self)


@kernel
def clamp_min_native(self: Tensor, min: Any) -> Tensor:
    """self, at least a bound."""
    return clamp_any(self, min, None)


@kernel
def clamp_max_native(self: Tensor, max: Any) -> Tensor:
    """self, at most a bound."""
    return clamp_any(self, None, max)


_CLAMPS = [Sample(A((3, 4), d), 1, 2) for d in NUMERIC] + [
    Sample(A((3, 4)), -1.5),
    Sample(A((3, 4)), None, 0.5),
    Sample(A((3, 4), "int64"), 0.5, 2.5),
    Sample(A((3,)), error=True),
    Sample(A((3, 4), special=True), -1, 1),
    Sample(A((4, 3), layout="t"), 0, 1),
    Sample(A((3, 4)), min=-1),
    Sample(A((3, 4)), 2, 1),
]
for _name in ("clamp", "clip"):
    row(
        f"{_name}(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
        "self between two bounds.",
        clamp_native,
        PURE,
        POINTWISE,
        infer=rules.pointwise(),
        samples=_CLAMPS,
    )
    row(
        f"{_name}.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
        "self between two bounds.",
        clamp_native,
        PURE,
        POINTWISE,
        infer=rules.pointwise(),
        samples=[Sample(A((3, 4)), A((4,)), A((4,), seed=3)), Sample(A((3, 4)), None, A(()))],
    )
    row(
        f"{_name}_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)",
        "self between two bounds, in place.",
        clamp_into,
        infer=rules.same,
        samples=[s for s in _CLAMPS if s.args[0].dtype != "int64"],
    )
row(
    "clamp_min(Tensor self, Scalar min) -> Tensor",
    "self, at least a bound.",
    clamp_min_native,
    PURE,
    POINTWISE,
    infer=rules.pointwise(),
    samples=[Sample(A((3, 4)), 0.5), Sample(A((3,), "int64"), 1)],
)
row(
    "clamp_max(Tensor self, Scalar max) -> Tensor",
    "self, at most a bound.",
    clamp_max_native,
    PURE,
    POINTWISE,
    infer=rules.pointwise(),
    samples=[Sample(A((3, 4)), 0.5), Sample(A((3,), "int64"), 1)],
)
row(
    "clamp_min.Tensor(Tensor self, Tensor min) -> Tensor",
    "self, at least a bound.",
    clamp_min_native,
    PURE,
    POINTWISE,
    infer=rules.pointwise(),
    samples=[Sample(A((3, 4)), A((4,), seed=1))],
)
row(
    "clamp_max.Tensor(Tensor self, Tensor max) -> Tensor",
    "self, at most a bound.",
    clamp_max_native,
    PURE,
    POINTWISE,
    infer=rules.pointwise(),
    samples=[Sample(A((3, 4)), A((4,), seed=1))],
)
