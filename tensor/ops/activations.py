"""Rows of activations: functions of one tensor and a few numbers, or of a learned weight."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import Kernel, cast, check, f64, i64, kernel, local, ptr, u8
from jitlang.registry import POINTWISE, PURE
from jitlang.tensor.kernels import arithmetic as a
from jitlang.tensor.kernels import pointwise as drivers
from jitlang.tensor.kernels import views
from jitlang.tensor.kernels.elementary import ELEMENTARY
from jitlang.tensor.kernels.scalars import number
from jitlang.tensor.kernels.tensors import release
from jitlang.tensor.layout import MAX_RANK, LoopTable, TensorImpl
from jitlang.tensor.ops import rules
from jitlang.tensor.ops.families import Tensor, loop, row
from jitlang.tensor.ops.samples import FLOATS, INTS, A, Sample
from jitlang.tensor.promotion import SAME

NUMERIC = (*FLOATS, *INTS)
INFINITY = float("inf")


@kernel
def one_dtype(self: Tensor, other: Tensor) -> None:
    """Refuses operands of different dtypes."""
    check(self.dtype == other.dtype, "RuntimeError", "heaviside is not yet implemented for tensors with different dtypes.")


# ---- activations with parameters --------------------------------------------------------------------------------------


@kernel(extern=True)
def apply_numbers(table: ptr[LoopTable], self: Tensor, count: i64, values: ptr[f64]) -> Tensor:
    """A loop over a tensor and some numbers, in the tensor's dtype."""
    slots = local(TensorImpl, 4)
    operands = local(Tensor, 4)
    operands[0] = self
    for k in range(count):
        operands[k + 1] = number(slots + k, cast(ptr[u8], values + k), values[k])
    return drivers.several(table, self.dtype, self.dtype, 0, count + 1, operands)


def _with_one(name: str, text: str, doc: str, ops: Any, samples: list[Sample], *, inplace: bool = False) -> None:
    """``name(Tensor self, Scalar …)`` over a loop of two operands."""
    table = loop(name, ops, 2).table

    @kernel
    def native(self: Tensor, value: Any) -> Tensor:
        values = local(f64, 1)
        values[0] = f64(value)
        return apply_numbers(table, self, 1, values)

    @kernel
    def changing(self: Tensor, value: Any) -> Tensor:
        values = local(f64, 1)
        values[0] = f64(value)
        return replaced(self, apply_numbers(table, self, 1, values))

    _enter(name, text, doc, native, changing, samples, inplace)


def _with_two(name: str, text: str, doc: str, ops: Any, samples: list[Sample], *, inplace: bool = False) -> None:
    """``name(Tensor self, Scalar …, Scalar …)`` over a loop of three operands."""
    table = loop(name, ops, 3).table

    @kernel
    def native(self: Tensor, first: Any, second: Any) -> Tensor:
        values = local(f64, 2)
        values[0] = f64(first)
        values[1] = f64(second)
        return apply_numbers(table, self, 2, values)

    @kernel
    def changing(self: Tensor, first: Any, second: Any) -> Tensor:
        values = local(f64, 2)
        values[0] = f64(first)
        values[1] = f64(second)
        return replaced(self, apply_numbers(table, self, 2, values))

    _enter(name, text, doc, native, changing, samples, inplace)


def _enter(name: str, text: str, doc: str, native: Kernel, changing: Kernel, samples: list[Sample], inplace: bool) -> None:
    row(f"{name}(Tensor self, {text}) -> Tensor", doc, native, PURE, POINTWISE, infer=rules.same, samples=samples, variants=("function",))
    if inplace:
        row(f"{name}_(Tensor(a!) self, {text}) -> Tensor(a!)", f"{doc[:-1]}, in place.", changing, infer=rules.same, samples=samples, variants=("function",))


@kernel
def replaced(self: Tensor, made: Tensor) -> Tensor:
    """Stores a new tensor's elements in `self`; frees the new one."""
    result = drivers.assign(self, made)
    release(made)
    return result


_X = [Sample(A((3, 4))), Sample(A((3, 4), "float64")), Sample(A((4, 3), layout="t"))]
_F = {"f": a.leaky_relu}
_with_one("leaky_relu", "Scalar negative_slope=0.01", "self above 0, a small multiple of it below.", _F, [*_X, Sample(A((5,)), 0.3)], inplace=True)
_with_one("celu", "Scalar alpha=1.0", "An exponential unit with a smooth derivative.", {"f": a.celu}, [*_X, Sample(A((5,)), 0.5)])
_with_one("hardshrink", "Scalar lambd=0.5", "self outside of ±lambd, else 0.", {"f": a.hardshrink}, _X)
_with_one("softshrink", "Scalar lambd=0.5", "self moved towards 0 by lambd.", {"f": a.softshrink}, _X)
_with_two("softplus", "Scalar beta=1, Scalar threshold=20", "log(1 + exp(beta * self)) / beta.", {"f": a.softplus}, [*_X, Sample(A((5,), high=40), 2, 20)])
_with_two(
    "hardtanh",
    "Scalar min_val=-1, Scalar max_val=1",
    "self, at least min_val and at most max_val.",
    {"f": a.clamp, "i": a.clamp},
    [*_X, Sample(A((5,)), -2, 0.5)],
    inplace=True,
)
_with_two(
    "threshold",
    "Scalar threshold, Scalar value",
    "self above the threshold, else the value.",
    {"f": a.threshold, "i": a.threshold, "u": a.threshold},
    [Sample(A((3, 4)), 0.1, 20)],
)
_with_two("elu", "Scalar alpha=1, Scalar scale=1", "An exponential unit.", {"f": a.elu}, [*_X, Sample(A((5,)), 0.5)], inplace=True)

GELU, GELU_TANH = (loop(n, {"f": ELEMENTARY[n]}, 1).table for n in ("gelu", "gelu_tanh"))


@kernel
def gelu_native(self: Tensor, approximate: Any) -> Tensor:
    """self times the normal distribution."""
    if approximate == "tanh":
        return drivers.unary(GELU_TANH, SAME, self)
    check(approximate == "none", "RuntimeError", "approximate argument must be either none or tanh.")
    return drivers.unary(GELU, SAME, self)


row(
    "gelu(Tensor self, *, str approximate='none') -> Tensor",
    "self times the normal distribution.",
    gelu_native,
    PURE,
    POINTWISE,
    infer=rules.same,
    samples=[
        Sample(A((3, 4)), loose=9),
        Sample(A((4, 3), layout="t"), loose=9),
        Sample(A((3, 4), "float64")),
        Sample(A((3, 4)), approximate="tanh", loose=9),
        Sample(A((3,)), approximate="x", error=True),
    ],
    variants=("function",),
)

PRELU = loop("prelu", {"f": a.prelu}, 2).table


@kernel
def prelu_native(self: Tensor, weight: Tensor) -> Tensor:
    """self above 0, a multiple of it below; one factor, or one for each channel."""
    if weight.numel == 1 or self.rank < 2:
        return drivers.binary(PRELU, SAME, self, weight)
    check(
        weight.numel == self.sizes[1],
        "RuntimeError",
        "Mismatch of parameter numbers and input channel size. Found parameter numbers = {} and channel size = {}.",
        weight.numel,
        self.sizes[1],
    )
    sizes = local(i64, MAX_RANK)
    for d in range(self.rank):
        sizes[d] = 1
    sizes[1] = weight.numel
    shaped = views.view(weight, self.rank, sizes)
    result = drivers.binary(PRELU, SAME, self, shaped)
    release(shaped)
    return result


row(
    "prelu(Tensor self, Tensor weight) -> Tensor",
    "self above 0, a learned multiple of it below.",
    prelu_native,
    PURE,
    infer=rules.same,
    samples=[Sample(A((3, 4)), A((1,), seed=1)), Sample(A((2, 4)), A((4,), seed=1)), Sample(A((2, 4, 3)), A((4,), seed=1))],
)
