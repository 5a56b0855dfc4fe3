"""Rows of three operands, of division with rounding, and of rounding to decimals."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import cast, check, f64, get, has, i64, kernel, local, ptr, u8
from jitlang.registry import POINTWISE, PURE
from jitlang.tensor.kernels import arithmetic as a
from jitlang.tensor.kernels import pointwise as drivers
from jitlang.tensor.kernels.scalars import number
from jitlang.tensor.layout import FLOAT32, TensorImpl
from jitlang.tensor.ops import pointwise as point
from jitlang.tensor.ops import rules
from jitlang.tensor.ops.activations import apply_numbers, replaced
from jitlang.tensor.ops.choices import check_same_kind
from jitlang.tensor.ops.families import Tensor, loop, row
from jitlang.tensor.ops.samples import FLOATS, INTS, A, Sample
from jitlang.tensor.promotion import SAME, TO_FLOAT, is_float

NUMERIC = (*FLOATS, *INTS)
INFINITY = float("inf")


@kernel
def one_dtype(self: Tensor, other: Tensor) -> None:
    """Refuses operands of different dtypes."""
    check(self.dtype == other.dtype, "RuntimeError", "heaviside is not yet implemented for tensors with different dtypes.")


# ---- three operands -----------------------------------------------------------------------------------------------

LERP = loop("lerp", {"f": a.lerp}, 3).table
ADDCMUL, ADDCDIV = loop("addcmul", {"f": a.addcmul, "i": a.addcmul}, 4).table, loop("addcdiv", {"f": a.addcdiv}, 4).table


@kernel
def lerp_number(self: Tensor, end: Tensor, weight: Any) -> Tensor:
    """Between self and end, by a number."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    return three(LERP, self, end, number(slot, cast(ptr[u8], room), weight))


@kernel
def lerp_tensor(self: Tensor, end: Tensor, weight: Tensor) -> Tensor:
    """Between self and end, by a tensor."""
    return three(LERP, self, end, weight)


@kernel
def three(table: Any, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """A loop of three operands of one dtype."""
    operands = local(Tensor, 3)
    operands[0] = x
    operands[1] = y
    operands[2] = z
    return drivers.several(table, x.dtype, x.dtype, 0, 3, operands)


@kernel
def four(table: Any, self: Tensor, x: Tensor, y: Tensor, value: Any) -> Tensor:
    """A loop of three tensors and a number."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    dtype = drivers.joined_dtype_of(self, x, y)
    operands = local(Tensor, 4)
    operands[0] = self
    operands[1] = x
    operands[2] = y
    operands[3] = number(slot, cast(ptr[u8], room), value)
    return drivers.several(table, dtype, dtype, 0, 4, operands)


def _fused(name: str, table: Any, doc: str) -> None:
    @kernel
    def native(self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any) -> Tensor:
        return four(table, self, tensor1, tensor2, value)

    @kernel
    def changing(self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any) -> Tensor:
        made = four(table, self, tensor1, tensor2, value)
        check_same_kind(made, self)
        return replaced(self, made)

    samples = [
        Sample(A((3, 4)), A((3, 4), low=1, seed=1), A((4,), low=1, seed=2)),
        Sample(A((3, 4), "float64"), A((3, 4), "float64", low=1, seed=1), A((4,), "float64", low=1, seed=2), value=0.5),
    ]
    row(
        f"{name}(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
        doc,
        native,
        PURE,
        POINTWISE,
        infer=rules.pointwise(SAME, 3),
        samples=samples,
    )
    row(
        f"{name}_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)",
        f"{doc[:-1]}, in place.",
        changing,
        infer=rules.same,
        samples=samples,
        variants=("method",),
    )


_fused("addcmul", ADDCMUL, "self + value * tensor1 * tensor2.")
_fused("addcdiv", ADDCDIV, "self + value * tensor1 / tensor2.")
row(
    "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
    "Between self and end, by a number.",
    lerp_number,
    PURE,
    POINTWISE,
    infer=rules.pointwise(SAME, 2),
    samples=[Sample(A((3, 4)), A((3, 4), seed=1), 0.3), Sample(A((3, 4)), A((4,), seed=1), 0.8)],
)
row(
    "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
    "Between self and end, by a tensor.",
    lerp_tensor,
    PURE,
    POINTWISE,
    infer=rules.pointwise(),
    samples=[Sample(A((3, 4)), A((3, 4), seed=1), A((4,), low=0, high=1))],
)


# ---- division with rounding, rounding to decimals ------------------------------------------------------------------------

TRUNC_DIVIDE = loop("trunc_divide", a.trunc_divide, 2).table
FLOOR_DIVIDE = loop("floor_divide_mode", a.floor_divide, 2).table
ROUND_DECIMALS, ROUND_TENS = loop("round to decimals", {"f": a.round_decimals}, 2).table, loop("round to tens", {"f": a.round_tens}, 2).table


@kernel
def divided(self: Tensor, other: Tensor, mode: Any) -> Tensor:
    """A division with a rounding mode."""
    if not has(mode):
        return drivers.binary(point.DIV, TO_FLOAT, self, other)
    check(mode == "floor" or mode == "trunc", "RuntimeError", "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{}'", mode)
    point.refuse_zero(self, other)
    if mode == "floor":
        return drivers.binary(FLOOR_DIVIDE, SAME, self, other)
    return drivers.binary(TRUNC_DIVIDE, SAME, self, other)


@kernel
def div_mode_tensor(self: Tensor, other: Tensor, rounding_mode: Any) -> Tensor:
    """self / other, rounded."""
    return divided(self, other, rounding_mode)


@kernel
def div_mode_number(self: Tensor, other: Any, rounding_mode: Any) -> Tensor:
    """self / other, rounded."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    return divided(self, number(slot, cast(ptr[u8], room), other), rounding_mode)


@kernel
def round_places(self: Tensor, decimals: i64) -> Tensor:
    """Rounded to a number of decimals."""
    scale = 1.0
    for _ in range(decimals if decimals >= 0 else -decimals):
        scale = scale * 10.0
    values = local(f64, 1)
    values[0] = scale
    if decimals >= 0:
        return apply_numbers(ROUND_DECIMALS, self, 1, values)
    return apply_numbers(ROUND_TENS, self, 1, values)


_MODES = [Sample(A((3, 4), d), A((3, 4), d, 1, seed=1), rounding_mode=m) for d in NUMERIC for m in ("floor", "trunc")] + [
    Sample(A((3,)), A((3,)), rounding_mode=None),
    Sample(A((3,)), A((3,)), rounding_mode="up", error=True),
    Sample(A((3,), "int64"), A((3,), "int64", 0, 0), rounding_mode="floor", error=True),
]
row(
    "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    "self / other, rounded.",
    div_mode_tensor,
    PURE,
    POINTWISE,
    infer=rules.division,
    samples=_MODES,
)
row(
    "div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
    "self / other, rounded.",
    div_mode_number,
    PURE,
    POINTWISE,
    infer=rules.division,
    samples=[
        Sample(A((3, 4)), 2, rounding_mode="floor"),
        Sample(A((3, 4), "int64"), 2, rounding_mode="trunc"),
        Sample(A((3,), "int64"), 0, rounding_mode="trunc", error=True),
    ],
)
row(
    "round.decimals(Tensor self, *, int decimals) -> Tensor",
    "Rounded to a number of decimals.",
    round_places,
    PURE,
    POINTWISE,
    infer=rules.same,
    samples=[Sample(A((3, 4)), decimals=2), Sample(A((3, 4), high=400), decimals=-1), Sample(A((3,), "int64"), decimals=1, error=True)],
)


@kernel
def nan_to_num_native(self: Tensor, nan: Any, posinf: Any, neginf: Any) -> Tensor:
    """self with NaN and the infinities replaced."""
    if is_float(self.dtype) == 0:
        return drivers.cast_tensor(self, self.dtype)
    largest = 3.4028234663852886e38 if self.dtype == FLOAT32 else 1.7976931348623157e308
    values = local(f64, 3)
    values[0] = 0.0
    values[1] = largest
    values[2] = -largest
    if has(nan):
        values[0] = get(nan)
    if has(posinf):
        values[1] = get(posinf)
    if has(neginf):
        values[2] = get(neginf)
    return apply_numbers(NAN_TO_NUM, self, 3, values)


NAN_TO_NUM = loop("nan_to_num", {"f": a.nan_to_num}, 4).table
row(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
    "self with NaN and the infinities replaced.",
    nan_to_num_native,
    PURE,
    POINTWISE,
    infer=rules.same,
    samples=[Sample(A((3, 4), special=True)), Sample(A((3, 4), special=True), 1.0, 2.0, 3.0), Sample(A((3,), "int64"))],
)
