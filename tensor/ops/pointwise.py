"""Pointwise rows: arithmetic, comparison, logic, rounding, bits."""

from __future__ import annotations

import operator as python
from typing import Any

from jitlang.frontend.kernel import Kernel, b1, cast, check, f64, i64, kernel, local, ptr, typeof, u8
from jitlang.registry import COMMUTATIVE, POINTWISE, PURE
from jitlang.tensor.kernels import arithmetic as a
from jitlang.tensor.kernels import pointwise as drivers
from jitlang.tensor.kernels.elementary import ELEMENTARY
from jitlang.tensor.kernels.scalars import load_int, number
from jitlang.tensor.kernels.tensors import release
from jitlang.tensor.layout import BOOL, INT64, NUMBER, TensorImpl
from jitlang.tensor.ops import rules
from jitlang.tensor.ops.families import Tensor, binary, loop, row, unary, unchecked
from jitlang.tensor.ops.samples import ALL, FLOATS, INTS, A, Sample, pairs
from jitlang.tensor.promotion import RESULT_BOOL, SAME, TO_FLOAT, is_float

NUMERIC = (*FLOATS, *INTS)


def _every(op: Any, boolean: Any = None) -> dict[str, Any]:
    return {"f": op, "i": op, "u": op, "b": boolean or op}


def _integers(op: Any, boolean: Any = None) -> dict[str, Any]:
    return {"i": op, "u": op} | ({"b": boolean} if boolean else {})


# ---- addition and subtraction: with a factor ------------------------------------------------------------------------

ADD = loop("add", _every(a.add, a.logical_or), 2).table
SUB = loop("sub", a.sub, 2).table
ADD_SCALED = loop("add_alpha", _every(a.add_scaled, a.add_scaled), 3).table
SUB_SCALED = loop("sub_alpha", a.sub_scaled, 3).table


@kernel
def check_alpha(dtype: i64, alpha: Any) -> None:
    """Refuses a factor of a stronger kind than the result."""
    if typeof(alpha) is f64 or typeof(alpha) is float:
        check(is_float(dtype) == 1, "RuntimeError", "For integral input tensors, argument alpha must not be a floating point number.")
    if typeof(alpha) is b1 or typeof(alpha) is bool:
        check(dtype == BOOL, "RuntimeError", "Boolean alpha only supported for Boolean results.")


@kernel
def scaled(plain: Any, table: Any, self: Tensor, other: Tensor, alpha: Any) -> Tensor:
    """self ± alpha * other."""
    check_alpha(drivers.joined_dtype(self, other), alpha)
    if alpha == typeof(alpha)(1):
        return drivers.binary(plain, SAME, self, other)
    return with_factor(table, self, other, alpha)


@kernel(inline="never")
def with_factor(table: Any, self: Tensor, other: Tensor, alpha: Any) -> Tensor:
    """The operation of three operands, the third a number."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    dtype = drivers.joined_dtype(self, other)
    operands = local(Tensor, 3)
    operands[0] = self
    operands[1] = other
    operands[2] = number(slot, cast(ptr[u8], room), alpha)
    return drivers.several(table, dtype, dtype, 0, 3, operands)


@kernel
def scaled_into(plain: Any, table: Any, self: Tensor, other: Tensor, alpha: Any) -> Tensor:
    """self = self ± alpha * other."""
    dtype = drivers.joined_dtype(self, other)
    check_alpha(dtype, alpha)
    if alpha == typeof(alpha)(1):
        return drivers.binary_into(plain, SAME, self, other)
    drivers.check_result(dtype, self)
    made = with_factor(table, self, other, alpha)
    result = drivers.assign(self, made)
    release(made)
    return result


@kernel
def refuse_bools(self: Tensor, other: Tensor) -> None:
    """Raises where a bool would be subtracted, or subtracted from."""
    check(
        self.dtype != BOOL and other.dtype != BOOL,
        "RuntimeError",
        "Subtraction, the `-` operator, with a bool tensor is not supported. "
        "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
    )


def _with_alpha(name: str, alias: str, plain: Any, factor: Any, doc: str, operator: Any, dtypes: tuple[str, ...], condition: Kernel) -> None:
    @kernel
    def tensor(self: Tensor, other: Tensor, alpha: Any) -> Tensor:
        condition(self, other)
        return scaled(plain, factor, self, other, alpha)

    @kernel
    def scalar(self: Tensor, other: Any, alpha: Any) -> Tensor:
        slot, room = local(TensorImpl, 1), local(f64, 1)
        value = number(slot, cast(ptr[u8], room), other)
        condition(self, value)
        return scaled(plain, factor, self, value, alpha)

    @kernel
    def tensor_into(self: Tensor, other: Tensor, alpha: Any) -> Tensor:
        condition(self, other)
        return scaled_into(plain, factor, self, other, alpha)

    @kernel
    def scalar_into(self: Tensor, other: Any, alpha: Any) -> Tensor:
        slot, room = local(TensorImpl, 1), local(f64, 1)
        value = number(slot, cast(ptr[u8], room), other)
        condition(self, value)
        return scaled_into(plain, factor, self, value, alpha)

    @kernel
    def scalar_tensor(self: Any, other: Tensor) -> Tensor:
        slot, room = local(TensorImpl, 1), local(f64, 1)
        value = number(slot, cast(ptr[u8], room), self)
        condition(value, other)
        return drivers.binary(plain, SAME, value, other)

    def both() -> list[Sample]:
        made = [Sample(x, y) for x, y in pairs(dtypes)]
        made += [Sample(A((3, 4)), A((4,), seed=1), alpha=2.5), Sample(A((3,), "int64"), A((3,)), alpha=3)]
        if condition is refuse_bools:
            made += [Sample(A((3,), "bool"), A((3,)), error=True), Sample(A((3,)), A((3,), "bool"), error=True)]
        return [*made, Sample(A((3,), "int64"), A((3,), "int32"), alpha=0.5, error=True), Sample(A((3,)), A((4,)), error=True)]

    def single() -> list[Sample]:
        return [Sample(A((3, 4), d, 0), s) for d in dtypes for s in (2, 2.5)] + [
            Sample(A((3,)), 2, alpha=3),
            Sample(A((3,)), True, error=condition is refuse_bools),
        ]

    infer, more = rules.pointwise(SAME, 2), {"variants": ("function",), "extra": {"oracle": operator}}
    for each in filter(None, (name, alias)):
        row(f"{each}.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", doc, tensor, PURE, POINTWISE, infer=infer, samples=both)
        row(f"{each}.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", doc, scalar, PURE, POINTWISE, infer=infer, samples=single)
        inplace = f"{doc[:-1]}, in place."
        row(f"{each}_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)", inplace, tensor_into, infer=rules.same, samples=both)
        row(f"{each}_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)", inplace, scalar_into, infer=rules.same, samples=single)
    text = f"{name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"
    row(text, doc, scalar_tensor, PURE, POINTWISE, infer=infer, samples=[Sample(2, A((3, 4))), Sample(2.5, A((3,), "int64"))], **more)


_with_alpha("add", "", ADD, ADD_SCALED, "self + alpha * other.", python.add, ALL, unchecked)
_with_alpha("sub", "subtract", SUB, SUB_SCALED, "self - alpha * other.", python.sub, NUMERIC, refuse_bools)


@kernel
def rsub_tensor(self: Tensor, other: Tensor, alpha: Any) -> Tensor:
    """other - alpha * self."""
    refuse_bools(self, other)
    return scaled(SUB, SUB_SCALED, other, self, alpha)


@kernel
def rsub_scalar(self: Tensor, other: Any, alpha: Any) -> Tensor:
    """other - alpha * self."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    value = number(slot, cast(ptr[u8], room), other)
    refuse_bools(self, value)
    return scaled(SUB, SUB_SCALED, value, self, alpha)


_RSUB = {"infer": rules.pointwise(SAME, 2)}
row(
    "rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "other - alpha * self.",
    rsub_tensor,
    PURE,
    POINTWISE,
    **_RSUB,
    samples=[Sample(A((3, 4)), A((4,)))],
)
row(
    "rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    "other - alpha * self.",
    rsub_scalar,
    PURE,
    POINTWISE,
    **_RSUB,
    samples=[Sample(A((3, 4)), 2), Sample(A((3,), "int64"), 2.5)],
)


# ---- the other arithmetic operators ---------------------------------------------------------------------------------


@kernel
def refuse_zero(self: Tensor, other: Tensor) -> None:
    """Raises where integers would be divided by zero."""
    if is_float(drivers.joined_dtype(self, other)) == 0 and self.numel > 0:
        look_for_zero(other)


@kernel(extern=True)
def look_for_zero(t: Tensor) -> None:
    """Raises if an element of an integer tensor is zero."""
    dense = drivers.cast_tensor(t, INT64)
    items = cast(ptr[i64], dense.data)
    found = False
    for i in range(t.numel):
        if items[i] == 0:
            found = True
    release(dense)
    check(not found, "RuntimeError", "ZeroDivisionError")


@kernel
def refuse_negative_power(self: Tensor, other: Tensor) -> None:
    """Raises where an integer tensor would be raised to a negative Python int."""
    if other.flags & NUMBER != 0 and is_float(drivers.joined_dtype(self, other)) == 0:
        check(load_int(other.data, other.dtype) >= 0, "RuntimeError", "Integers to negative integer powers are not allowed.")


MUL = binary("mul", _every(a.mul, a.bit_and), "self * other.", flags=(COMMUTATIVE,), dtypes=ALL, alias=("multiply",), operator=python.mul)
DIV = binary("div", {"f": a.div}, "self / other, true division.", TO_FLOAT, dtypes=ALL, low2=1, alias=("divide", "true_divide"), operator=python.truediv)
binary("floor_divide", a.floor_divide, "self // other.", check=refuse_zero, low2=1, plain=True, operator=python.floordiv)
binary("remainder", a.remainder, "self % other, with the sign of other.", check=refuse_zero, low2=1, operator=python.mod)
binary("fmod", a.fmod, "The remainder of self / other, with the sign of self.", check=refuse_zero, low2=1)
MAXIMUM = binary(
    "maximum",
    _every(a.maximum, a.bit_or),
    "The larger of both; NaN where either is.",
    forms=("Tensor",),
    inplace=False,
    plain=True,
    flags=(COMMUTATIVE,),
    dtypes=ALL,
)
MINIMUM = binary(
    "minimum",
    _every(a.minimum, a.bit_and),
    "The smaller of both; NaN where either is.",
    forms=("Tensor",),
    inplace=False,
    plain=True,
    flags=(COMMUTATIVE,),
    dtypes=ALL,
)
binary("fmax", _every(a.fmax, a.bit_or), "The larger of both; the other one where one is NaN.", forms=("Tensor",), inplace=False, plain=True, dtypes=ALL)
binary("fmin", _every(a.fmin, a.bit_and), "The smaller of both; the other one where one is NaN.", forms=("Tensor",), inplace=False, plain=True, dtypes=ALL)
binary("copysign", {"f": a.copy_sign}, "The magnitude of self with the sign of other.", TO_FLOAT, dtypes=NUMERIC)

TABLES: dict[str, Any] = {}
for _name, _op, _operator, _alias in (
    ("eq", a.eq, python.eq, ()),
    ("ne", a.ne, python.ne, ("not_equal",)),
    ("lt", a.lt, python.lt, ("less",)),
    ("le", a.le, python.le, ("less_equal",)),
    ("gt", a.gt, python.gt, ("greater",)),
    ("ge", a.ge, python.ge, ("greater_equal",)),
):
    TABLES[_name] = binary(_name, _every(_op), f"Element by element self {_name} other.", RESULT_BOOL, dtypes=ALL, alias=_alias, operator=_operator)
EQ, NE = TABLES["eq"], TABLES["ne"]
for _name, _op in (("logical_and", a.logical_and), ("logical_or", a.logical_or), ("logical_xor", a.logical_xor)):
    binary(_name, _every(_op), f"{_name.split('_')[1].capitalize()} of the truth of both.", RESULT_BOOL, forms=("Tensor",), plain=True, dtypes=ALL)
BITS: dict[str, Any] = {}
for _name, _op, _operator in (("and", a.bit_and, python.and_), ("or", a.bit_or, python.or_), ("xor", a.bit_xor, python.xor)):
    BITS[_name] = binary(
        f"bitwise_{_name}",
        {"i": _op, "u": _op, "b": _op},
        f"Bitwise {_name}.",
        dtypes=(*INTS, "bool"),
        scalars=(2,),
        operator=_operator,
        alias=(f"__{_name}__",),
    )
for _name, _op, _operator, _alias in (
    ("left", a.shift_left, python.lshift, "__lshift__"),
    ("right", a.shift_right, python.rshift, "__rshift__"),
):
    binary(
        f"bitwise_{_name}_shift", {"i": _op, "u": _op}, f"Shifts bits to the {_name}.", dtypes=INTS, low2=0, scalars=(2,), operator=_operator, alias=(_alias,)
    )


# ---- one operand ----------------------------------------------------------------------------------------------------

SIGNED = (*FLOATS, "int64", "int32")
NEG = unary("neg", a.neg, "-self.", dtypes=NUMERIC, alias=("negative",))
ABS = unary("abs", a.absolute, "The magnitude.", dtypes=NUMERIC, special=True, alias=("absolute",))
unary("sign", _every(a.sign, a.identity), "-1, 0 or 1.", dtypes=NUMERIC, alias=("sgn",))
for _name, _doc in (("floor", "Rounds down."), ("ceil", "Rounds up."), ("trunc", "Cuts the fraction off.")):
    unary(_name, {"f": ELEMENTARY[_name], "i": a.identity, "u": a.identity}, _doc, dtypes=NUMERIC, special=True, alias=("fix",) if _name == "trunc" else ())
unary(
    "round", {"f": ELEMENTARY["round"], "i": a.identity, "u": a.identity}, "Rounds to the nearest whole number, halves to even.", dtypes=NUMERIC, special=True
)
unary("frac", {"f": ELEMENTARY["frac"]}, "The fraction.")
unary("bitwise_not", {"i": a.bit_not, "u": a.bit_not, "b": a.flip_bool}, "Inverts the bits.", dtypes=(*INTS, "bool"))
unary("logical_not", _every(a.logical_not), "Whether it is zero.", RESULT_BOOL, dtypes=ALL)
for _name, _op, _doc in (
    ("isnan", a.isnan, "Whether it is not a number."),
    ("isinf", a.isinf, "Whether it is infinite."),
    ("isposinf", a.isposinf, "Whether it is plus infinity."),
    ("isneginf", a.isneginf, "Whether it is minus infinity."),
    ("isfinite", a.isfinite, "Whether it is neither infinite nor NaN."),
    ("signbit", _every(a.signbit), "Whether it has a minus sign."),
):
    TABLES[_name] = unary(_name, _op if isinstance(_op, dict) else _every(_op), _doc, RESULT_BOOL, inplace=False, dtypes=ALL, special=True)
ISFINITE = TABLES["isfinite"]
