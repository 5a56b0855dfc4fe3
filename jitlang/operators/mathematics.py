"""``math.*``: the C library's functions as CPython's own module calls them, with its ValueError and OverflowError."""

from __future__ import annotations

import math
from collections.abc import Callable

from jitlang.operators.rows import checking, row
from jitlang.registry import PURE, TOTAL


def log_base(x: float, base: float) -> float:
    """math.log(x, base)."""
    return math.log(x, base)


def hypot2(x: float, y: float) -> float:
    """math.hypot(x, y)."""
    return math.hypot(x, y)


def hypot_all(items: list[float]) -> float:
    """math.hypot(*items)."""
    return math.hypot(*items)


def modf(x: float) -> tuple[float, float]:
    """math.modf(x)."""
    return math.modf(x)


def isclose(a: float, b: float, rel_tol: float, abs_tol: float) -> bool:
    """math.isclose with both tolerances."""
    return math.isclose(a, b, rel_tol=rel_tol, abs_tol=abs_tol)


def cbrt(x: float) -> float:
    """The cube root."""
    return math.cbrt(x)


def prod_float(items: list[float], start: float) -> float:
    """math.prod(items, start=start)."""
    return math.prod(items, start=start)


def prod_int(items: list[int], start: int) -> int:
    """math.prod(items, start=start), each partial product being an int."""
    total = start
    for item in items:
        total *= item
    return total


def factorial(n: int) -> int:
    """math.factorial; refuses early what cannot fit in 64 bits."""
    if n > 20:
        raise OverflowError("integer result does not fit in 64 bits")
    return math.factorial(n)


UNARY: tuple[tuple[str, Callable[[float], float], str], ...] = (
    ("sqrt", math.sqrt, "Square root."),
    ("cbrt", cbrt, "Cube root."),
    ("exp", math.exp, "e to the power x."),
    ("exp2", math.exp2, "2 to the power x."),
    ("expm1", math.expm1, "exp(x) - 1 without cancellation."),
    ("log", math.log, "Natural logarithm."),
    ("log2", math.log2, "Logarithm in base 2."),
    ("log10", math.log10, "Logarithm in base 10."),
    ("log1p", math.log1p, "log(1 + x) without cancellation."),
    ("sin", math.sin, "Sine."),
    ("cos", math.cos, "Cosine."),
    ("tan", math.tan, "Tangent."),
    ("asin", math.asin, "Arc sine."),
    ("acos", math.acos, "Arc cosine."),
    ("atan", math.atan, "Arc tangent."),
    ("sinh", math.sinh, "Hyperbolic sine."),
    ("cosh", math.cosh, "Hyperbolic cosine."),
    ("tanh", math.tanh, "Hyperbolic tangent."),
    ("asinh", math.asinh, "Inverse hyperbolic sine."),
    ("acosh", math.acosh, "Inverse hyperbolic cosine."),
    ("atanh", math.atanh, "Inverse hyperbolic tangent."),
    ("erf", math.erf, "Error function."),
    ("erfc", math.erfc, "1 - erf(x) without cancellation."),
    ("gamma", math.gamma, "Gamma function."),
    ("lgamma", math.lgamma, "Logarithm of the absolute value of the gamma function."),
)
for _name, _function, _doc in UNARY:
    row(f"math_{_name}(float x) -> float", _doc, _function, PURE)
for _name, _function, _doc in (
    ("fabs", math.fabs, "Absolute value."),
    ("degrees", math.degrees, "Radians to degrees."),
    ("radians", math.radians, "Degrees to radians."),
    ("ulp", math.ulp, "The distance to the next float."),
):
    row(f"math_{_name}(float x) -> float", _doc, _function, PURE, TOTAL)
for _name, _binary, _doc in (
    ("pow", math.pow, "x to the power y, as a float."),
    ("fmod", math.fmod, "Remainder with the sign of x."),
    ("remainder", math.remainder, "IEEE remainder: of the nearest quotient."),
):
    row(f"math_{_name}(float x, float y) -> float", _doc, _binary, PURE)
for _name, _binary, _doc in (
    ("atan2", math.atan2, "The angle of the point (y, x)."),
    ("copysign", math.copysign, "x with the sign of y."),
):
    row(f"math_{_name}(float x, float y) -> float", _doc, _binary, PURE, TOTAL)
row("math_nextafter(float x, float y) -> float", "The next float from x towards y.", math.nextafter, PURE, TOTAL)
row("math_hypot.two(float x, float y) -> float", "The length of the vector (x, y).", hypot2, PURE, TOTAL)
row("math_hypot.list(List[float] items) -> float", "The length of a vector.", hypot_all, PURE, TOTAL)
row("math_dist(List[float] p, List[float] q) -> float", "The distance of two points.", math.dist, PURE)
row("math_log.base(float x, float base) -> float", "Logarithm in a base.", log_base, PURE)
row("math_ldexp(float x, int i) -> float", "x * 2 ** i.", math.ldexp, PURE)
row("math_frexp(float x) -> Tuple[float, int]", "Mantissa and exponent.", math.frexp, PURE, TOTAL)
row("math_modf(float x) -> Tuple[float, float]", "Fractional and whole part.", modf, PURE, TOTAL)
row("math_isnan(float x) -> bool", "Whether it is not a number.", math.isnan, PURE, TOTAL)
row("math_isinf(float x) -> bool", "Whether it is infinite.", math.isinf, PURE, TOTAL)
row("math_isfinite(float x) -> bool", "Whether it is neither infinite nor a NaN.", math.isfinite, PURE, TOTAL)
row("math_isclose(float a, float b, float rel_tol=1e-09, float abs_tol=0.0) -> bool", "Whether both are close.", isclose, PURE)
row("math_floor.float(float x) -> int", "Round down.", checking(math.floor), PURE)
row("math_floor.int(int x) -> int", "The int itself.", math.floor, PURE, TOTAL)
row("math_ceil.float(float x) -> int", "Round up.", checking(math.ceil), PURE)
row("math_ceil.int(int x) -> int", "The int itself.", math.ceil, PURE, TOTAL)
row("math_trunc.float(float x) -> int", "Cut the fraction off.", checking(math.trunc), PURE)
row("math_trunc.int(int x) -> int", "The int itself.", math.trunc, PURE, TOTAL)
row("math_gcd(int a, int b) -> int", "Greatest common divisor.", checking(math.gcd), PURE)
row("math_lcm(int a, int b) -> int", "Least common multiple.", checking(math.lcm), PURE)
row("math_isqrt(int n) -> int", "The whole part of the square root.", math.isqrt, PURE)
row("math_factorial(int n) -> int", "The product of 1 to n.", factorial, PURE)
row("math_comb(int n, int k) -> int", "Ways to choose k of n.", checking(math.comb), PURE)
row("math_perm(int n, int k) -> int", "Ways to arrange k of n.", checking(math.perm), PURE)
row("math_fsum(List[float] items) -> float", "The exactly rounded sum.", math.fsum, PURE)
row("math_prod.int(List[int] items, int start=1) -> int", "The product.", checking(prod_int), PURE)
row("math_prod.float(List[float] items, float start=1.0) -> float", "The product.", prod_float, PURE)
