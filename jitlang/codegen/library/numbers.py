"""Kernels of Python's arithmetic: what int and float operators and ``math`` do beyond one instruction.

Semantics and messages are CPython's (Objects/longobject.c, floatobject.c, Modules/mathmodule.c); messages are asked of
the running CPython where they differ between versions.
"""

from __future__ import annotations

import math
import operator

from jitlang.frontend.kernel import b1, bitcast, check, copysign, ctlz, f64, fabs, fail, floor, i64, i128, kernel, math_call, mulhi, rint, select, trunc, u64
from jitlang.operators.rows import message_of

OVERFLOW = "integer result does not fit in 64 bits"
LOWEST = -(2**63)
HUGE = 9223372036854775808.0  # 2**63


INT_DIVISION = message_of(operator.truediv, 1, 0)
INT_FLOOR = message_of(operator.floordiv, 1, 0)
INT_MODULO = message_of(operator.mod, 1, 0)
FLOAT_DIVISION = message_of(operator.truediv, 1.0, 0.0)
FLOAT_FLOOR = message_of(operator.floordiv, 1.0, 0.0)
FLOAT_MODULO = message_of(operator.mod, 1.0, 0.0)
NEGATIVE_SHIFT = message_of(operator.lshift, 1, -1)
ZERO_POWER = message_of(operator.pow, 0.0, -1.0)


@kernel
def floordiv_int(a: i64, b: i64) -> i64:
    """a // b."""
    check(b != 0, "ZeroDivisionError", INT_FLOOR)
    check(b != -1 or a != LOWEST, "OverflowError", OVERFLOW)
    return a // b


@kernel
def mod_int(a: i64, b: i64) -> i64:
    """a % b."""
    check(b != 0, "ZeroDivisionError", INT_MODULO)
    return a % select(b == -1, i64(1), b)


@kernel
def truediv_float(a: f64, b: f64) -> f64:
    """a / b."""
    check(b != 0.0, "ZeroDivisionError", FLOAT_DIVISION)
    return a / b


@kernel
def exact_int(a: i64) -> b1:
    """Whether the int is a float."""
    return a >= -9007199254740992 and a <= 9007199254740992


@kernel
def truediv_int(a: i64, b: i64) -> f64:
    """a / b, correctly rounded: in float where both are exact, else by long division of the magnitudes."""
    check(b != 0, "ZeroDivisionError", INT_DIVISION)
    if exact_int(a) and exact_int(b):
        return f64(a) / f64(b)
    return divide_wide(a, b)


@kernel(inline="never")
def divide_wide(a: i64, b: i64) -> f64:
    """a / b for operands beyond 2**53: the quotient to 55 bits and a sticky bit, which the conversion rounds once."""
    n = select(a < 0, u64(0) - u64(a), u64(a))
    d = select(b < 0, u64(0) - u64(b), u64(b))
    if n == 0:
        return f64(0)
    shift = i64(55) + i64(ctlz(n)) - i64(ctlz(d))
    wide = i128(n)
    under = i128(d)
    if shift >= 0:
        wide = wide << i128(shift)
    else:
        under = under << i128(0 - shift)
    quotient = i64(wide // under)
    if i128(quotient) * under != wide:
        quotient = quotient | 1
    scaled = f64(quotient) * bitcast(f64, (i64(1023) - shift) << 52)
    return -scaled if (a < 0) != (b < 0) else scaled


@kernel
def floordiv_float(a: f64, b: f64) -> f64:
    """a // b: the floor of the exact quotient."""
    check(b != 0.0, "ZeroDivisionError", FLOAT_FLOOR)
    m = math_call("fmod", a, b)
    d = (a - m) / b
    if m != 0.0 and (b < 0.0) != (m < 0.0):
        d -= 1.0
    if d == 0.0:
        return copysign(0.0, a / b)
    f = floor(d)
    return f + 1.0 if d - f > 0.5 else f


@kernel
def mod_float(a: f64, b: f64) -> f64:
    """a % b, with the sign of b."""
    check(b != 0.0, "ZeroDivisionError", FLOAT_MODULO)
    m = math_call("fmod", a, b)
    if m == 0.0:
        return copysign(0.0, b)
    return m + b if (b < 0.0) != (m < 0.0) else m


@kernel
def multiply_checked(a: i64, b: i64) -> i64:
    """a * b."""
    low = a * b
    sign = select(a < 0, b, i64(0)) + select(b < 0, a, i64(0))
    high = mulhi(a, b) - sign
    check(high == low >> 63, "OverflowError", OVERFLOW)
    return low


@kernel
def power_int(a: i64, b: i64) -> i64:
    """a ** b for b >= 0."""
    if b < 0:
        check(a != 0, "ZeroDivisionError", ZERO_POWER)
        fail("ValueError", "int ** negative int is a float in Python; write float(base) ** exponent")
    if a == 0 or a == 1:
        return i64(1) if b == 0 else a
    if a == -1:
        return i64(1) if b % 2 == 0 else i64(-1)
    check(b <= 64, "OverflowError", OVERFLOW)
    result = i64(1)
    base = a
    left = b
    while left > 0:
        if left & 1 == 1:
            result = multiply_checked(result, base)
        left = left >> 1
        if left > 0:
            base = multiply_checked(base, base)
    return result


@kernel
def lshift_int(a: i64, b: i64) -> i64:
    """a << b."""
    check(b >= 0, "ValueError", NEGATIVE_SHIFT)
    if a == 0:
        return a
    check(b < 64, "OverflowError", OVERFLOW)
    moved = a << b
    check(moved >> b == a, "OverflowError", OVERFLOW)
    return moved


@kernel
def rshift_int(a: i64, b: i64) -> i64:
    """a >> b."""
    check(b >= 0, "ValueError", NEGATIVE_SHIFT)
    return a >> select(b > 63, i64(63), b)


RANGE = message_of(operator.pow, 10.0, 1000.0)


@kernel
def power_float(a: f64, b: f64) -> f64:
    """a ** b as float.__pow__ defines it."""
    if b == 0.0:
        return 1.0
    if a != a:
        return a
    if b != b:
        return 1.0 if a == 1.0 else b
    finite_b = fabs(b) != math.inf
    if finite_b and a == 0.0:
        check(b > 0.0, "ZeroDivisionError", ZERO_POWER)
    if finite_b and a < 0.0 and fabs(a) != math.inf and floor(b) != b:
        fail("ValueError", "negative number cannot be raised to a fractional power (the result is complex)")
    result = math_call("pow", a, b)
    if fabs(result) == math.inf and fabs(a) != math.inf and finite_b:
        fail("OverflowError", RANGE)
    return result


@kernel
def int_of_float(x: f64, rounded) -> i64:
    """The int that a float is when `rounded` (a static function) has rounded it."""
    check(x == x, "ValueError", "cannot convert float NaN to integer")
    check(fabs(x) != math.inf, "OverflowError", "cannot convert float infinity to integer")
    whole = rounded(x)
    check(whole >= -HUGE and whole < HUGE, "OverflowError", OVERFLOW)
    return i64(whole)


@kernel
def whole_trunc(x: f64) -> f64:
    """Rounded towards zero."""
    return trunc(x)


@kernel
def whole_floor(x: f64) -> f64:
    """Rounded down."""
    return floor(x)


@kernel
def whole_ceil(x: f64) -> f64:
    """Rounded up."""
    return -floor(-x)


@kernel
def whole_rint(x: f64) -> f64:
    """Rounded to nearest, half to even."""
    return rint(x)


@kernel
def compare_int_float(a: i64, b: f64) -> i64:
    """-1, 0 or 1 as a is less than, equal to, greater than b; 2 where b is not a number. Exact."""
    if b != b:
        return i64(2)
    if b >= HUGE:
        return i64(-1)
    if b < -HUGE:
        return i64(1)
    whole = trunc(b)
    n = i64(whole)
    if a != n:
        return i64(-1) if a < n else i64(1)
    return i64(0) if whole == b else (i64(-1) if whole < b else i64(1))


# ---- math -------------------------------------------------------------------------------------------------------------

DOMAIN = message_of(math.acos, 2.0)
MATH_RANGE = message_of(math.exp, 1e6)
# What a function says of an argument outside its domain: asked of CPython with an argument that is.
DOMAINS = {
    name: message_of(getattr(math, name), bad)
    for name, bad in {
        "sqrt": -1.0,
        "log": -1.0,
        "log2": -1.0,
        "log10": -1.0,
        "log1p": -2.0,
        "sin": math.inf,
        "cos": math.inf,
        "tan": math.inf,
        "asin": 2.0,
        "acos": 2.0,
        "acosh": 0.0,
        "atanh": 2.0,
    }.items()
}
# At a pole these raise ValueError; functions not named here that reach infinity raise OverflowError.
POLES = {"log": 0.0, "log2": 0.0, "log10": 0.0, "log1p": -1.0, "atanh": 1.0}
POLE_MESSAGES = {name: message_of(getattr(math, name), at) for name, at in POLES.items()}


@kernel
def math_unary(x: f64, name) -> f64:
    """``math.name(x)`` for the functions that CPython takes from libm."""
    result = math_call(name, x)
    if result != result and x == x:
        fail("ValueError", DOMAINS.get(name, DOMAIN))
    if fabs(result) == math.inf and fabs(x) != math.inf:
        if name in POLES:
            fail("ValueError", POLE_MESSAGES.get(name))
        else:
            fail("OverflowError", MATH_RANGE)
    return result


@kernel
def math_logarithm(x: f64, name) -> f64:
    """``math.log``, ``log2``, ``log10``: CPython tests the argument before it calls libm."""
    if x != x or x == math.inf:
        return x
    if x <= 0.0:
        if x == 0.0:
            fail("ValueError", POLE_MESSAGES.get(name))
        else:
            fail("ValueError", DOMAINS.get(name))
    return math_call(name, x)
