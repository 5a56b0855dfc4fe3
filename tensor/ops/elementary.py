"""Rows of elementary functions, powers, activations, and pointwise choices (`where`, `clamp`, `lerp` …)."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import b1, cast, check, f64, i64, kernel, local, ptr, u8
from jitlang.registry import POINTWISE, PURE
from jitlang.tensor.kernels import arithmetic as a
from jitlang.tensor.kernels import pointwise as drivers
from jitlang.tensor.kernels import views
from jitlang.tensor.kernels.creation import filled
from jitlang.tensor.kernels.elementary import ELEMENTARY
from jitlang.tensor.kernels.scalars import load_float, load_int, number
from jitlang.tensor.kernels.tensors import release
from jitlang.tensor.layout import BOOL, TensorImpl
from jitlang.tensor.ops import rules
from jitlang.tensor.ops.families import Tensor, binary, loop, row, unary
from jitlang.tensor.ops.samples import ALL, FLOATS, INTS, A, Sample, pairs, tensors
from jitlang.tensor.promotion import SAME, TO_FLOAT, is_float
from jitlang.types import INT

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
    result = drivers.unary(LOG_SIGMOID, SAME, dense)
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


@kernel(extern=True)
def power_of_bools(self: Tensor, exponent: b1) -> Tensor:
    """self ** True, self ** False."""
    made = drivers.cast_tensor(self, BOOL)
    return made if exponent else filled(made, True)


@kernel
def pow_number(self: Tensor, exponent: Any) -> Tensor:
    """self ** number."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    value = number(slot, cast(ptr[u8], room), exponent)
    dtype = drivers.joined_dtype(self, value)
    if is_float(dtype) == 0:
        check(load_int(value.data, value.dtype) >= 0, "RuntimeError", "Integers to negative integer powers are not allowed.")
    if dtype == BOOL:
        return power_of_bools(self, load_int(value.data, value.dtype) != 0)
    if dtype == self.dtype:
        if load_float(value.data, value.dtype) == 2.0:
            return drivers.unary(POW_FORMS[2], SAME, self)
        if load_float(value.data, value.dtype) == 0.5:
            return drivers.unary(SQRT, SAME, self)
    return drivers.binary(POW, SAME, self, value)


@kernel
def pow_tensor(self: Tensor, exponent: Tensor) -> Tensor:
    """self ** tensor."""
    return drivers.binary(POW, SAME, self, exponent)


@kernel
def pow_of_number(self: Any, exponent: Tensor) -> Tensor:
    """number ** tensor."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    return drivers.binary(POW, SAME, number(slot, cast(ptr[u8], room), self), exponent)


@kernel
def pow_number_into(self: Tensor, exponent: Any) -> Tensor:
    """self = self ** number."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    value = number(slot, cast(ptr[u8], room), exponent)
    drivers.check_result(drivers.joined_dtype(self, value), self)
    made = pow_number(self, exponent)
    result = drivers.assign(self, made)
    release(made)
    return result


@kernel
def square_native(self: Tensor) -> Tensor:
    """self ** 2."""
    return pow_number(self, i64(2))


@kernel
def square_into(self: Tensor) -> Tensor:
    """self = self ** 2."""
    return pow_number_into(self, i64(2))


@kernel
def pow_tensor_into(self: Tensor, exponent: Tensor) -> Tensor:
    """self = self ** tensor."""
    return drivers.binary_into(POW, SAME, self, exponent)


_POWERS = [Sample(A((3, 4), d, 0.1), e) for d in NUMERIC for e in (2, 3, 0.5, 2.5, 0)] + [Sample(A((3, 4)), e) for e in (-1, -2, -0.5, 3)]
_POWERS += [Sample(A((3, 4), "bool"), e) for e in (True, False, 2, 1.5)]
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
_SQUARES = [Sample(t) for t in tensors(ALL)]


def _square_rule(types: Any, constants: Any) -> Any:
    return rules.pointwise()([types[0], INT], constants)


row("square(Tensor self) -> Tensor", "self ** 2.", square_native, PURE, POINTWISE, infer=_square_rule, samples=_SQUARES)
row("square_(Tensor(a!) self) -> Tensor(a!)", "self ** 2, in place.", square_into, infer=rules.same, samples=_SQUARES)
row(
    "pow_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)",
    "self ** exponent, in place.",
    pow_tensor_into,
    infer=rules.same,
    samples=_PAIRS[:3],
    variants=("method",),
)
