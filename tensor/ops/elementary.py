"""Rows of elementary functions, powers, activations, and pointwise choices (`where`, `clamp`, `lerp` …)."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import Kernel, cast, check, f64, get, has, i64, kernel, local, ptr, text, typeof, u8
from jitlang.registry import POINTWISE, PURE
from jitlang.tensor.kernels import arithmetic as a
from jitlang.tensor.kernels import pointwise as loops
from jitlang.tensor.kernels import views
from jitlang.tensor.kernels.creation import check_fits
from jitlang.tensor.kernels.elementary import ELEMENTARY
from jitlang.tensor.kernels.scalars import load_float, load_int, number
from jitlang.tensor.kernels.tensors import release
from jitlang.tensor.layout import BOOL, FLOAT32, MAX_RANK, UINT8, LoopTable, TensorImpl
from jitlang.tensor.loops import Loop, pointwise
from jitlang.tensor.ops import pointwise as point
from jitlang.tensor.ops import rules
from jitlang.tensor.ops.families import Tensor, binary, loop, row, unary
from jitlang.tensor.ops.samples import ALL, FLOATS, INTS, A, Sample, pairs
from jitlang.tensor.promotion import SAME, TO_FLOAT, category, is_float
from jitlang.types import U8, DType, machine_type

NUMERIC = (*FLOATS, *INTS)
INFINITY = float("inf")


@kernel
def one_dtype(self: Tensor, other: Tensor) -> None:
    """Refuses operands of different dtypes."""
    check(self.dtype == other.dtype, "RuntimeError", "heaviside is not yet implemented for tensors with different dtypes.")


# ---- functions of one number ------------------------------------------------------------------------------------------

_FUNCTIONS: tuple[tuple[str, str, float, float, tuple[str, ...]], ...] = (
    ("exp", "e to the power self.", -4, 4, ("special_exp",)),
    ("exp2", "2 to the power self.", -4, 4, ()),
    ("expm1", "exp(self) - 1 without cancellation.", -2, 2, ()),
    ("log", "The natural logarithm.", -1, 9, ()),
    ("log2", "The logarithm in base 2.", -1, 9, ()),
    ("log10", "The logarithm in base 10.", -1, 9, ()),
    ("log1p", "log(1 + self) without cancellation.", -1.5, 4, ()),
    ("sin", "The sine.", -9, 9, ()),
    ("cos", "The cosine.", -9, 9, ()),
    ("tan", "The tangent.", -1.4, 1.4, ()),
    ("asin", "The arc sine.", -1.2, 1.2, ("arcsin",)),
    ("acos", "The arc cosine.", -1.2, 1.2, ("arccos",)),
    ("atan", "The arc tangent.", -4, 4, ("arctan",)),
    ("sinh", "The hyperbolic sine.", -4, 4, ()),
    ("cosh", "The hyperbolic cosine.", -4, 4, ()),
    ("tanh", "The hyperbolic tangent.", -4, 4, ()),
    ("asinh", "The inverse hyperbolic sine.", -4, 4, ("arcsinh",)),
    ("acosh", "The inverse hyperbolic cosine.", 0, 4, ("arccosh",)),
    ("atanh", "The inverse hyperbolic tangent.", -1.2, 1.2, ("arctanh",)),
    ("rsqrt", "1 / sqrt(self).", -1, 9, ()),
    ("reciprocal", "1 / self.", -4, 4, ()),
    ("erf", "The error function.", -3, 3, ()),
    ("erfc", "1 - erf(self) without cancellation.", -3, 3, ()),
    ("lgamma", "The logarithm of the gamma function's magnitude.", 0.1, 9, ()),
    ("sigmoid", "1 / (1 + exp(-self)).", -9, 9, ("special_expit",)),
)
TABLES: dict[str, Any] = {}
for _name, _doc, _low, _high, _alias in _FUNCTIONS:
    _names = tuple(n for n in _alias if not n.startswith("special_"))
    TABLES[_name] = unary(_name, {"f": ELEMENTARY[_name]}, _doc, TO_FLOAT, dtypes=ALL, low=_low, high=_high, alias=_names)
TABLES["sqrt"] = SQRT = unary("sqrt", {"f": ELEMENTARY["sqrt"]}, "The square root.", TO_FLOAT, dtypes=ALL, low=-1, high=9)
unary("square", {"f": a.square, "i": a.square, "u": a.square}, "self * self.", dtypes=NUMERIC)
unary("relu", a.relu, "The larger of self and 0.", dtypes=NUMERIC, special=True)
for _name, _doc in (
    ("silu", "self * sigmoid(self)."),
    ("mish", "self * tanh(softplus(self))."),
    ("selu", "A scaled exponential unit."),
    ("hardsigmoid", "A sigmoid of straight lines."),
    ("hardswish", "self * hardsigmoid(self)."),
    ("relu6", "self, at least 0 and at most 6."),
):
    unary(_name, {"f": ELEMENTARY[_name]}, _doc, high=9, low=-9, inplace=_name in ("silu", "mish", "selu"), variants=("function",))
LOG_SIGMOID = loop("log_sigmoid", {"f": ELEMENTARY["log_sigmoid"]}, 1).table


@kernel
def log_sigmoid_native(self: Tensor) -> Tensor:
    """log(sigmoid(self)), row-major."""
    dense = views.contiguous(self)
    result = loops.unary(LOG_SIGMOID, SAME, dense)
    release(dense)
    return result


_S = [Sample(A((3, 4), d, -9, 9)) for d in FLOATS] + [Sample(A((4, 3), layout="t"))]
row("log_sigmoid(Tensor self) -> Tensor", "log(sigmoid(self)).", log_sigmoid_native, PURE, POINTWISE, infer=rules.same, samples=_S, variants=("function",))
row("logsigmoid(Tensor self) -> Tensor", "log(sigmoid(self)).", log_sigmoid_native, PURE, POINTWISE, infer=rules.same, samples=_S, variants=("function",))
unary("softsign", {"f": ELEMENTARY["softsign"]}, "self / (1 + |self|).", inplace=False, variants=("function",))
unary("deg2rad", {"f": a.deg2rad}, "Degrees to radians.", TO_FLOAT)
unary("rad2deg", {"f": a.rad2deg}, "Radians to degrees.", TO_FLOAT)

binary(
    "atan2", {"f": ELEMENTARY["atan2"]}, "The angle of the point (other, self).", TO_FLOAT, forms=("Tensor",), plain=True, dtypes=NUMERIC, alias=("arctan2",)
)
binary("hypot", {"f": ELEMENTARY["hypot"]}, "The length of the vector (self, other).", forms=("Tensor",), plain=True, dtypes=FLOATS)
binary("logaddexp", {"f": ELEMENTARY["logaddexp"]}, "log(exp(self) + exp(other)).", forms=("Tensor",), plain=True, inplace=False, dtypes=FLOATS)
binary("heaviside", a.heaviside, "0 below zero, 1 above, other at zero.", forms=("Tensor",), plain=True, check=one_dtype, dtypes=("float64",))
binary("xlogy", {"f": a.xlogy}, "self * log(other), 0 where self is 0.", TO_FLOAT, dtypes=FLOATS, low=0.1, scalars=(2, 2.5))


# ---- powers -------------------------------------------------------------------------------------------------------

_POW = {"f": ELEMENTARY["pow"], "i": a.integer_power, "u": a.integer_power}
POW = loop("pow", _POW, 2).table
POW_FORMS: dict[Any, Any] = {2: loop("square of", {"f": a.square, "i": a.square, "u": a.square}, 1).table}


@kernel
def pow_number(self: Tensor, exponent: Any) -> Tensor:
    """self ** number."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    value = number(slot, cast(ptr[u8], room), exponent)
    dtype = loops.joined_dtype(self, value)
    if is_float(dtype) == 0:
        check(load_int(value.data, value.dtype) >= 0, "RuntimeError", "Integers to negative integer powers are not allowed.")
    if dtype == self.dtype:
        if load_float(value.data, value.dtype) == 2.0:
            return loops.unary(POW_FORMS[2], SAME, self)
        if load_float(value.data, value.dtype) == 0.5:
            return loops.unary(SQRT, SAME, self)
    return loops.binary(POW, SAME, self, value)


@kernel
def pow_tensor(self: Tensor, exponent: Tensor) -> Tensor:
    """self ** tensor."""
    return loops.binary(POW, SAME, self, exponent)


@kernel
def pow_of_number(self: Any, exponent: Tensor) -> Tensor:
    """number ** tensor."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    return loops.binary(POW, SAME, number(slot, cast(ptr[u8], room), self), exponent)


@kernel
def pow_number_into(self: Tensor, exponent: Any) -> Tensor:
    """self = self ** number."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    value = number(slot, cast(ptr[u8], room), exponent)
    loops.check_result(loops.joined_dtype(self, value), self)
    made = pow_number(self, exponent)
    result = loops.assign(self, made)
    release(made)
    return result


@kernel
def pow_tensor_into(self: Tensor, exponent: Tensor) -> Tensor:
    """self = self ** tensor."""
    return loops.binary_into(POW, SAME, self, exponent)


_POWERS = [Sample(A((3, 4), d, 0.1), e) for d in NUMERIC for e in (2, 3, 0.5, 2.5, 0)] + [Sample(A((3, 4)), e) for e in (-1, -2, -0.5, 3)]
_POWERS += [Sample(A((3,), "int64"), -1, error=True), Sample(A((3,), "int64"), 3), Sample(A((4, 3), layout="t"), 2)]
_PAIRS = [Sample(x, y) for x, y in pairs(("float32", "float64", "int64"), 0.2, 3.0)] + [Sample(A((5,), "int64", -3, 3), A((5,), "int64", 0, 3, seed=1))]
row("pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", "self ** exponent.", pow_number, PURE, POINTWISE, infer=rules.pointwise(), samples=_POWERS)
row("pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", "self ** exponent.", pow_tensor, PURE, POINTWISE, infer=rules.pointwise(), samples=_PAIRS)
row(
    "pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
    "self ** exponent.",
    pow_of_number,
    PURE,
    POINTWISE,
    infer=rules.pointwise(),
    samples=[Sample(2, A((3, 4))), Sample(2.5, A((3,), "int64")), Sample(2, A((3,), "int64", 0, 4))],
    variants=("function",),
)
row(
    "pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)",
    "self ** exponent, in place.",
    pow_number_into,
    infer=rules.same,
    samples=[*_POWERS[:5], Sample(A((3,), "int64"), 0.5, error=True)],
    variants=("method",),
)
row(
    "pow_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)",
    "self ** exponent, in place.",
    pow_tensor_into,
    infer=rules.same,
    samples=_PAIRS[:3],
    variants=("method",),
)


# ---- activations with parameters --------------------------------------------------------------------------------------


@kernel(extern=True)
def apply_numbers(table: ptr[LoopTable], self: Tensor, count: i64, values: ptr[f64]) -> Tensor:
    """A loop over a tensor and some numbers, in the tensor's dtype."""
    slots = local(TensorImpl, 4)
    operands = local(Tensor, 4)
    operands[0] = self
    for k in range(count):
        operands[k + 1] = number(slots + k, cast(ptr[u8], values + k), values[k])
    return loops.several(table, self.dtype, self.dtype, 0, count + 1, operands)


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
    result = loops.assign(self, made)
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
        return loops.unary(GELU_TANH, SAME, self)
    check(approximate == "none", "RuntimeError", "approximate argument must be either none or tanh.")
    return loops.unary(GELU, SAME, self)


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
        return loops.binary(PRELU, SAME, self, weight)
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
    result = loops.binary(PRELU, SAME, self, shaped)
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


# ---- choices ------------------------------------------------------------------------------------------------------


def _where_loop(dtype: DType) -> Any:
    machine = machine_type(dtype)
    return pointwise(loops.ternary_loop, a.choose, U8, machine, machine, machine)


WHERE = Loop("where", _where_loop).table


@kernel
def check_condition(condition: Tensor) -> None:
    """Refuses conditions that are no bools."""
    check(
        condition.dtype == BOOL or condition.dtype == UINT8,
        "RuntimeError",
        "where expected condition to be a boolean tensor, but got a tensor with dtype {}",
        text(loops.dtype_text(condition.dtype)),
    )


@kernel
def chosen(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """x where the condition holds, else y."""
    check_condition(condition)
    dtype = loops.joined_dtype(x, y)
    operands = local(Tensor, 3)
    operands[0] = condition
    operands[1] = x
    operands[2] = y
    return loops.several(WHERE, dtype, dtype, 1, 3, operands)


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
    check(mask.dtype == BOOL, "RuntimeError", "masked_fill only supports boolean masks, but got mask with dtype {}", text(loops.dtype_text(mask.dtype)))
    check_fits(self.dtype, value)
    operands = local(Tensor, 3)
    operands[0] = mask
    operands[1] = value
    operands[2] = self
    return loops.several(WHERE, self.dtype, self.dtype, 1, 3, operands)


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
    dtype = loops.joined_dtype_of(self, low, high)
    operands = local(Tensor, 3)
    operands[0] = self
    operands[1] = low
    operands[2] = high
    return loops.several(CLAMP, dtype, dtype, 0, 3, operands)


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
        return loops.binary(point.MAXIMUM, SAME, self, bound(slots, cast(ptr[u8], room), get(low)))
    check(has(high), "RuntimeError", "torch.clamp: At least one of 'min' or 'max' must not be None")
    return loops.binary(point.MINIMUM, SAME, self, bound(slots, cast(ptr[u8], room), get(high)))


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
        loops.check_result(dtype, self)


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
    return loops.several(table, x.dtype, x.dtype, 0, 3, operands)


@kernel
def four(table: Any, self: Tensor, x: Tensor, y: Tensor, value: Any) -> Tensor:
    """A loop of three tensors and a number."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    dtype = loops.joined_dtype_of(self, x, y)
    operands = local(Tensor, 4)
    operands[0] = self
    operands[1] = x
    operands[2] = y
    operands[3] = number(slot, cast(ptr[u8], room), value)
    return loops.several(table, dtype, dtype, 0, 4, operands)


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
        return loops.binary(point.DIV, TO_FLOAT, self, other)
    check(mode == "floor" or mode == "trunc", "RuntimeError", "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{}'", mode)
    point.refuse_zero(self, other)
    if mode == "floor":
        return loops.binary(FLOOR_DIVIDE, SAME, self, other)
    return loops.binary(TRUNC_DIVIDE, SAME, self, other)


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
        return loops.cast_tensor(self, self.dtype)
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
