"""Arithmetic on int and float. Mixed operands never reach these rows: the frontend converts int to float first.

Ints are 64-bit and checked: a result outside int64 raises OverflowError.
"""

from __future__ import annotations

import operator
from typing import Any

from jitlang.operators.rows import checked, checking, row
from jitlang.registry import COMMUTATIVE, PURE, TOTAL


def add_int(a: int, b: int) -> int:
    """a + b, checked."""
    return checked(a + b)


def multiply_int(a: int, b: int) -> int:
    """a * b, checked."""
    return checked(a * b)


def power_int(a: int, b: int) -> int:
    """a ** b for b >= 0, checked; ValueError for a negative exponent, whose result would be a float."""
    if b < 0:
        if a == 0:
            raise ZeroDivisionError("0.0 cannot be raised to a negative power")
        raise ValueError("int ** negative int is a float in Python; write float(base) ** exponent")
    # Bounds the work: |a| >= 2 overflows beyond exponent 63.
    if b > 64 and a not in (-1, 0, 1):
        raise OverflowError("integer result does not fit in 64 bits")
    return checked(a ** (b if b <= 64 else 64 + b % 2))


def power_float(a: float, b: float) -> float:
    """a ** b; ValueError where Python would give a complex number."""
    value: Any = a**b
    if isinstance(value, complex):
        raise ValueError("negative number cannot be raised to a fractional power (the result is complex)")
    return float(value)


def power_float_int(a: float, b: int) -> float:
    """a ** b for an int exponent."""
    return float(a**b)


def power_modulo(a: int, b: int, m: int) -> int:
    """pow(a, b, m)."""
    return pow(a, b, m)


def left_shift(a: int, b: int) -> int:
    """a << b, checked; ValueError for a negative count."""
    if b > 64 and a != 0:
        raise OverflowError("integer result does not fit in 64 bits")
    return checked(a << min(b, 65))


def round_int_digits(a: int, digits: int) -> int:
    """round(a, digits), an int."""
    if digits >= 0:
        return a
    return 0 if digits < -20 else checked(round(a, digits))


row("add.int(int a, int b) -> int", "Add.", add_int, PURE, COMMUTATIVE)
row("add.float(float a, float b) -> float", "Add.", operator.add, PURE, TOTAL, COMMUTATIVE)
row("sub.int(int a, int b) -> int", "Subtract.", checking(operator.sub), PURE)
row("sub.float(float a, float b) -> float", "Subtract.", operator.sub, PURE, TOTAL)
row("mul.int(int a, int b) -> int", "Multiply.", multiply_int, PURE, COMMUTATIVE)
row("mul.float(float a, float b) -> float", "Multiply.", operator.mul, PURE, TOTAL, COMMUTATIVE)
row("truediv.int(int a, int b) -> float", "Divide; correctly rounded even where the operands are no floats.", operator.truediv, PURE)
row("truediv.float(float a, float b) -> float", "Divide; ZeroDivisionError for a zero divisor.", operator.truediv, PURE)
row("floordiv.int(int a, int b) -> int", "Divide, rounding down.", checking(operator.floordiv), PURE)
row("floordiv.float(float a, float b) -> float", "Divide, rounding down.", operator.floordiv, PURE)
row("mod.int(int a, int b) -> int", "Remainder with the divisor's sign.", operator.mod, PURE)
row("mod.float(float a, float b) -> float", "Remainder with the divisor's sign.", operator.mod, PURE)
row("pow.int(int a, int b) -> int", "Raise to a non-negative power.", power_int, PURE)
row("pow.float(float a, float b) -> float", "Raise to a power.", power_float, PURE)
row("pow.modulo(int a, int b, int m) -> int", "Raise to a power modulo m.", power_modulo, PURE)
row("neg.int(int a) -> int", "Negate.", checking(operator.neg), PURE)
row("neg.float(float a) -> float", "Negate.", operator.neg, PURE, TOTAL)
row("invert.int(int a) -> int", "Flip every bit.", operator.invert, PURE, TOTAL)
row("and.int(int a, int b) -> int", "Bitwise and.", operator.and_, PURE, TOTAL, COMMUTATIVE)
row("or.int(int a, int b) -> int", "Bitwise or.", operator.or_, PURE, TOTAL, COMMUTATIVE)
row("xor.int(int a, int b) -> int", "Bitwise exclusive or.", operator.xor, PURE, TOTAL, COMMUTATIVE)
row("lshift.int(int a, int b) -> int", "Shift left.", left_shift, PURE)
row("rshift.int(int a, int b) -> int", "Shift right, keeping the sign.", operator.rshift, PURE)
row("abs.int(int a) -> int", "Absolute value.", checking(abs), PURE)
row("abs.float(float a) -> float", "Absolute value.", abs, PURE, TOTAL)
row("round.int(int a) -> int", "The int itself.", round, PURE, TOTAL)
row("round.int_digits(int a, int digits) -> int", "Round to a power of ten, half to even.", round_int_digits, PURE)
row("round.float(float a) -> int", "Round to the nearest int, half to even.", checking(round), PURE)
row("round.float_digits(float a, int digits) -> float", "Round to decimal digits.", round, PURE)
row("min.int(int a, int b) -> int", "The smaller.", min, PURE, TOTAL)
row("min.float(float a, float b) -> float", "The smaller; the first of equals and of unordered ones.", min, PURE, TOTAL)
row("max.int(int a, int b) -> int", "The larger.", max, PURE, TOTAL)
row("max.float(float a, float b) -> float", "The larger; the first of equals and of unordered ones.", max, PURE, TOTAL)
row("bit_length(int self) -> int", "The number of bits of the absolute value.", int.bit_length, PURE, TOTAL, variants=("method",))
row("bit_count(int self) -> int", "The number of ones of the absolute value.", int.bit_count, PURE, TOTAL, variants=("method",))
row("is_integer(float self) -> bool", "Whether the float is a whole number.", float.is_integer, PURE, TOTAL, variants=("method",))
row("hex.float(float self) -> str", "The float in hexadecimal.", float.hex, PURE, TOTAL, variants=("method",))
row("bin(int a) -> str", "The int in base 2, with 0b.", bin, PURE, TOTAL)
row("oct(int a) -> str", "The int in base 8, with 0o.", oct, PURE, TOTAL)
row("hex.int(int a) -> str", "The int in base 16, with 0x.", hex, PURE, TOTAL)
row("chr(int a) -> str", "The character of that code point.", chr, PURE)
