"""Derives the coefficients and constants of the elementary functions.

In: the tables `FITS` (function, interval, number of terms, weight) and `PAIRS` (numbers). Out: on standard output, the
text of ``tensor/kernels/elementary/coefficients.py``; each polynomial with the greatest weighted error, as a power of
two, that it has before its coefficients are rounded.

Each polynomial is the minimax approximation found by Remez' exchange algorithm in 300-bit arithmetic (E. Ya. Remez,
Comptes Rendus 199, 1934), started near the roots of a Chebyshev polynomial (shifted, as weights may vanish at 0). Needs mpmath:
``python benchmarks/fit_elementary.py > tensor/kernels/elementary/coefficients.py``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp

Function = Callable[[mp.mpf], mp.mpf]
GRID = 1500


@dataclass(frozen=True)
class Fit:
    """One polynomial: sum of c[j] * x**j for j < `terms`, close to `f` on [low, high].

    `f32`: coefficients in binary32. `head`: so many of the lowest coefficients are printed as pairs, apart.
    """

    f: Function
    low: mp.mpf
    high: mp.mpf
    terms: int
    weight: Function
    f32: bool = False
    head: int = 0


def remez(fit: Fit, rounds: int = 12) -> tuple[list[mp.mpf], mp.mpf]:
    """The coefficients and the greatest value of |(p(x) - f(x)) * weight(x)| on the interval."""
    n, low, high = fit.terms, mp.mpf(fit.low), mp.mpf(fit.high)
    middle, half = (low + high) / 2, (high - low) / 2
    points = [middle - half * mp.cos(mp.pi * (i + mp.mpf("0.45")) / (n + 1)) for i in range(n + 1)]
    grid = [middle - half * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / GRID) for i in range(GRID)]
    wanted, weights = [fit.f(x) for x in grid], [abs(fit.weight(x)) for x in grid]
    worst, coefficients = mp.inf, []
    for _ in range(rounds):
        matrix, right = mp.matrix(n + 1, n + 1), mp.matrix(n + 1, 1)
        for i, x in enumerate(points):
            for j in range(n):
                matrix[i, j] = x**j
            matrix[i, n], right[i] = (-1) ** i / abs(fit.weight(x)), fit.f(x)
        solved = mp.lu_solve(matrix, right)
        coefficients = [solved[j] for j in range(n)]
        errors = [(mp.polyval(coefficients[::-1], x) - y) * w for x, y, w in zip(grid, wanted, weights, strict=True)]
        worst = max(abs(e) for e in errors)
        extrema = alternation(errors, n + 1)
        if len(extrema) < n + 1 or worst < abs(solved[n]) * mp.mpf("1.01"):
            break
        points = [grid[i] for i in extrema]
    return coefficients, worst


def alternation(errors: list[mp.mpf], count: int) -> list[int]:
    """The positions of at most `count` extrema of alternating sign."""
    extrema, best = [], 0
    for i in range(1, len(errors)):
        if errors[i] * errors[best] < 0:
            extrema.append(best)
            best = i
        elif abs(errors[i]) > abs(errors[best]):
            best = i
    extrema.append(best)
    while len(extrema) > count:
        extrema.pop(0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1)
    return extrema


def rounded(c: mp.mpf, f32: bool) -> float:
    """The nearest binary64 or binary32 number."""
    return float(struct.unpack("f", struct.pack("f", float(c)))[0]) if f32 else float(c)


def text(values: list[mp.mpf], f32: bool) -> str:
    """The tuple as Python source: shortest digits that give the number back."""
    if not f32:
        return ", ".join(repr(float(c)) for c in values)
    return ", ".join(next(s for s in (f"{rounded(c, True):.{d}g}" for d in range(6, 18)) if rounded(mp.mpf(s), True) == rounded(c, True)) for c in values)


def near_zero(f: Function, series: Callable[[mp.mpf], mp.mpf]) -> Function:
    """`f` away from 0, `series` (its limit) where |x| is so small that `f` would cancel."""
    return lambda x: series(x) if abs(x) < mp.mpf(2) ** -40 else f(x)


def one(x: mp.mpf) -> mp.mpf:
    """Weight of an absolute error."""
    return mp.mpf(1)


def in_square(f: Function) -> Function:
    """f(sqrt(z)): odd and even functions are fitted in z = x*x."""
    return lambda z: f(mp.sqrt(z))


def erfcx(x: mp.mpf) -> mp.mpf:
    """exp(x*x) * erfc(x)."""
    return mp.exp(x * x) * mp.erfc(x)


def shepherd(c: float) -> Function:
    """(1 + 2x) * erfcx(x) as a function of t = (x - c) / (x + c), after M. Shepherd and J. Laframboise, Math. Comp. 36 (1981)."""

    def h(t: mp.mpf) -> mp.mpf:
        x = c * (1 + t) / (1 - t)
        if x > 60:
            z = 1 / (2 * x * x)
            return (1 + 2 * x) / (x * mp.sqrt(mp.pi)) * sum((-1) ** k * mp.fac2(2 * k - 1) * z**k for k in range(30))
        return (1 + 2 * x) * erfcx(x)

    return h


def shepherd_t(c: float, x: float) -> float:
    """t for x."""
    return (x - c) / (x + c)


mp.mp.prec = 1500 if __name__ == "__main__" else 300
LN2_2 = mp.log(2) / 2 * mp.mpf("1.0001")
LOG_LOW, LOG_HIGH = mp.sqrt(0.5) - 1, mp.sqrt(2) - 1
S2 = (mp.sqrt(2) - 1) ** 2 / (mp.sqrt(2) + 1) ** 2 * mp.mpf("1.0001")
QUARTER = (mp.pi / 4 * mp.mpf("1.0001")) ** 2
PI_8 = mp.tan(mp.pi / 8) ** 2 * mp.mpf("1.0001")


def row_exp(taken: int) -> Function:
    """The exponential's Taylor remainder after `taken` terms, divided by x**taken."""
    return near_zero(lambda x: (mp.exp(x) - sum(x**k / mp.factorial(k) for k in range(taken))) / x**taken, lambda x: 1 / mp.factorial(taken))


def row_atanh(taken: int) -> Function:
    """(2 * atanh(s) / s - first `taken` terms) / z**taken, z = s*s."""

    def f(z: mp.mpf) -> mp.mpf:
        if z < mp.mpf(2) ** -20:
            return sum(2 * z**k / (2 * (k + taken) + 1) for k in range(12))
        s = mp.sqrt(z)
        return (2 * mp.atanh(s) / s - sum(2 * z**k / (2 * k + 1) for k in range(taken))) / z**taken

    return f


def odd_tail(f: Function, third: float) -> Function:
    """(f(x) - x) / x**3 in z = x*x; `third` is its value at 0."""
    return near_zero(in_square(lambda x: (f(x) - x) / x**3), lambda z: mp.mpf(third))


def cos_tail(z: mp.mpf) -> mp.mpf:
    """(cos(x) - 1 + z/2) / z**2."""
    return mp.mpf(1) / 24 if z < mp.mpf(2) ** -40 else (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2


def erf_tail(z: mp.mpf) -> mp.mpf:
    """(erf(x)/x - 2/sqrt(pi)) / z."""
    x = mp.sqrt(z)
    return -2 / (3 * mp.sqrt(mp.pi)) if z < mp.mpf(2) ** -40 else (mp.erf(x) / x - 2 / mp.sqrt(mp.pi)) / z


def lgamma_tail(x: mp.mpf) -> mp.mpf:
    """lgamma(2 + x) without the first two terms of its Taylor series, divided by x**3."""
    if abs(x) < mp.mpf(2) ** -60:
        return -mp.zeta(3) / 3 + mp.mpf(1) / 3
    return (mp.loggamma(2 + x) / x - mp.digamma(2) - x * LGAMMA_SECOND) / x**2


def sinc(z: mp.mpf) -> mp.mpf:
    """sin(pi * x) / (pi * x), z = x*x."""
    x = mp.pi * mp.sqrt(z)
    return mp.mpf(1) if z < mp.mpf(2) ** -400 else mp.sin(x) / x


LGAMMA_SECOND = (mp.zeta(2) - 1) / 2
FITS: dict[str, Fit] = {
    "EXP_F32": Fit(row_exp(2), -LN2_2, LN2_2, 5, lambda x: x**2, True),
    "EXP_F64": Fit(row_exp(3), -LN2_2, LN2_2, 10, lambda x: x**2),
    "EXP_F64_SHORT": Fit(row_exp(2), -LN2_2, LN2_2, 6, lambda x: x),
    "EXP2_F32": Fit(near_zero(lambda x: (mp.power(2, x) - 1) / x, lambda x: mp.log(2)), -0.5001, 0.5001, 7, lambda x: x, True),
    "LOG_F32": Fit(near_zero(lambda x: (mp.log1p(x) - x + x * x / 2) / x**3, lambda x: mp.mpf(1) / 3), LOG_LOW, LOG_HIGH, 9, lambda x: x**2, True),
    "LOG_F64": Fit(row_atanh(1), 0, S2, 7, lambda z: z),
    "LOG_F64_SHORT": Fit(row_atanh(1), 0, S2, 4, lambda z: z),
    "LOG_F64_LONG": Fit(row_atanh(4), 0, S2, 8, lambda z: z**4),
    "SIN_F64": Fit(odd_tail(mp.sin, -1 / mp.mpf(6)), 0, QUARTER, 7, lambda z: z),
    "COS_F64": Fit(cos_tail, 0, QUARTER, 7, lambda z: z**2),
    "SIN_F64_SHORT": Fit(odd_tail(mp.sin, -1 / mp.mpf(6)), 0, QUARTER, 4, lambda z: z),
    "COS_F64_SHORT": Fit(cos_tail, 0, QUARTER, 4, lambda z: z**2),
    "ATAN_F64": Fit(odd_tail(mp.atan, -1 / mp.mpf(3)), 0, PI_8, 13, lambda z: z),
    "ATAN_F64_SHORT": Fit(odd_tail(mp.atan, -1 / mp.mpf(3)), 0, PI_8, 7, lambda z: z),
    "ASIN_F64": Fit(odd_tail(mp.asin, 1 / mp.mpf(6)), 0, 0.2501, 13, lambda z: z),
    "ASIN_F64_SHORT": Fit(odd_tail(mp.asin, 1 / mp.mpf(6)), 0, 0.2501, 7, lambda z: z),
    "SINH_F64": Fit(odd_tail(mp.sinh, 1 / mp.mpf(6)), 0, 0.126, 6, lambda z: z),
    "TANH_F32": Fit(odd_tail(mp.tanh, -1 / mp.mpf(3)), 0, 1.001, 8, lambda z: z, True),
    "ERF_F32": Fit(erf_tail, 0, 0.65, 6, lambda z: z, True),
    "ERF_F64": Fit(erf_tail, 0, 0.2510, 9, lambda z: z),
    "LOG_ERFC_F32": Fit(lambda x: -mp.log(mp.erfc(x)), 0.79, 4.0, 8, lambda x: mp.erfc(x) / mp.erf(x), True),
    "ERFCX_F64": Fit(shepherd(3.0), shepherd_t(3.0, 0.49), shepherd_t(3.0, 27.4), 23, one, head=2),
    "LGAMMA_F64": Fit(lgamma_tail, -0.5, 0.5, 18, lambda x: x**2),
    "SINC_F64": Fit(sinc, 0, 0.2501, 10, one, head=4),
    "ERFCX_F64_SHORT": Fit(shepherd(2.0), -1, shepherd_t(2.0, 10.3), 13, one),
}

# lgamma next to its zeros z at negative x, e from a pole -n: slope * (x - z) + u**2 * p(u), u = (z - x) / e, |u| <= LGAMMA_NEAR. It is nearly
# -log|x + n| + constant there, so p is nearly that of -log(1 - u), the more so as the zeros approach the poles. After -16 no float lies so near.
LGAMMA_NEAR, LGAMMA_TERMS, LGAMMA_LAST = mp.mpf(1) / 16, 11, 16

# Numbers as pairs: the nearest binary64 (binary32 in *_F32), then the nearest to what is left.
PAIRS: dict[str, mp.mpf] = {
    "LN2": mp.log(2),
    "LN2_F32": mp.log(2),
    "LOG2_E": 1 / mp.log(2),
    "LOG10_E": 1 / mp.log(10),
    "PI": mp.pi,
    "HALF_PI": mp.pi / 2,
    "QUARTER_PI": mp.pi / 4,
    "TWO_OVER_PI": 2 / mp.pi,
    "TWO_OVER_SQRT_PI": 2 / mp.sqrt(mp.pi),
    "TWO_OVER_SQRT_PI_F32": 2 / mp.sqrt(mp.pi),
    "SQRT_HALF": mp.sqrt(mp.mpf(1) / 2),
    "TWO_SQRT_TWO_OVER_PI": 2 * mp.sqrt(2 / mp.pi),
    "DIGAMMA_OF_TWO": mp.digamma(2),
    "LGAMMA_SECOND": LGAMMA_SECOND,
    "TWELFTH": 1 / mp.mpf(12),
    "HALF_LOG_TWO_PI": mp.log(2 * mp.pi) / 2,
    "SELU_SCALE": mp.mpf("1.0507009873554804934193349852946"),
    "SELU_NEGATIVE": mp.mpf("1.0507009873554804934193349852946") * mp.mpf("1.6732632423543772848170429916717"),
}

HEAD = """\"\"\"Coefficients and constants of the elementary functions; written by ``benchmarks/fit_elementary.py``, not by hand.

Pairs hold a number as (nearest float, nearest float to the rest). Behind a polynomial stands its greatest error,
weighted as in the table of that script, before rounding.
\"\"\"

# fmt: off
"""


def pair(c: mp.mpf, f32: bool = False) -> str:
    """The pair for `c` as Python source."""
    high = rounded(c, f32)
    return f"({high!r}, {rounded(c - mp.mpf(high), f32)!r})"


def trailing(name: str, c: mp.mpf, bits: int) -> str:
    """A pair whose first number has `bits` significant bits, so that its products with small integers are exact."""
    shift = bits - 1 - int(mp.floor(mp.log(c, 2)))
    high = mp.nint(c * mp.mpf(2) ** shift) / mp.mpf(2) ** shift
    return f"{name} = ({float(high)!r}, {float(c - high)!r})"


def rows(items: str) -> str:
    """Items as indented lines of moderate length."""
    lines, line = [], ""
    for item in items.split(", "):
        if len(line) + len(item) > 150:
            lines.append(line.rstrip())
            line = ""
        line += item + ", "
    lines.append(line.rstrip())
    return "\n".join("    " + r for r in lines)


def wrapped(line: str) -> str:
    """A long tuple on several lines."""
    head, _, rest = line.partition(" = (")
    body, _, comment = rest.partition(")  # ")
    return f"{head} = (  # {comment}\n{rows(body)}\n)"


def lgamma_zeros() -> list[mp.mpf]:
    """The zeros of lgamma at negative x, from the greatest on to the pole at -LGAMMA_LAST."""
    zeros = [mp.findroot(lambda x: mp.log(abs(mp.rgamma(x))), start) for start in (mp.mpf("-2.457"), mp.mpf("-2.7477"), mp.mpf("-3.1436"))]
    for n in range(4, LGAMMA_LAST + 1):
        for side in (1, -1):
            e = side / mp.factorial(n)
            zeros.append(mp.findroot(lambda x: mp.log(abs(mp.rgamma(x))), (-n + e, -n + e * mp.mpf("1.01"))))
    return zeros


def plain_bend(u: mp.mpf) -> mp.mpf:
    """p of LGAMMA_NEAR where lgamma is a logarithm: (-log(1 - u) - u) / u**2."""
    return mp.mpf(1) / 2 if abs(u) < mp.mpf(2) ** -400 else (-mp.log1p(-u) - u) / u**2


def lgamma_bends(zeros: list[mp.mpf]) -> list[list[mp.mpf]]:
    """The coefficients of p at each zero: the plain ones, corrected by the shortest polynomial that does."""

    def fit(f: Function, terms: int) -> tuple[list[mp.mpf], mp.mpf]:
        return remez(Fit(f, -LGAMMA_NEAR, LGAMMA_NEAR, terms, lambda u: u))

    plain, _ = fit(plain_bend, LGAMMA_TERMS)
    rows = []
    for zero in zeros:
        e = zero - mp.nint(zero)
        series = [mp.polygamma(k - 1, zero) / mp.factorial(k) * (-e) ** k - mp.mpf(1) / k for k in range(2, 50)]
        correction, worst = [], max(abs(mp.polyval(series[::-1], u) * u) for u in (LGAMMA_NEAR, -LGAMMA_NEAR))
        while worst > mp.mpf(2) ** -60:
            correction, worst = fit(lambda u, s=series: mp.polyval(s[::-1], u), len(correction) + 1)
        correction += [mp.mpf(0)] * (LGAMMA_TERMS - len(correction))
        rows.append([c + d for c, d in zip(plain, correction, strict=True)])
    return rows


def column(values: list[float]) -> list[float]:
    """The values without repetitions at the end: the last one holds from there on."""
    end = len(values)
    while end > 1 and values[end - 2] == values[end - 1]:
        end -= 1
    return values[:end]


def lgamma_columns() -> None:
    """Prints what `lgamma` needs next to its zeros: one number for each half unit from -2 downwards, as each holds one zero."""
    zeros = lgamma_zeros()
    assert [int(mp.ceil(2 * z)) for z in zeros] == list(range(-4, -4 - len(zeros), -1))
    bends = lgamma_bends(zeros)
    table = {"LGAMMA_SCALE": [float(1 / (mp.nint(z) - z)) for z in zeros]}
    for name, numbers, parts in ("LGAMMA_ZERO", zeros, 3), ("LGAMMA_SLOPE", [mp.digamma(z) for z in zeros], 2):
        for end in ("", "_LOW", "_LOWEST")[:parts]:
            table[name + end] = [float(c) for c in numbers]
            numbers = [c - mp.mpf(float(c)) for c in numbers]
    for name, values in table.items():
        print(wrapped(f"{name} = ({text(values, False)})  # from -2 downwards, one for each half unit"))
    print("LGAMMA_BENDS = (  # as above, for each power of u; the last number of each holds from there on")
    for k in range(LGAMMA_TERMS):
        values = column([float(row[k]) for row in bends])
        print(rows(f"({text(values, False)}{',' * (len(values) == 1)})"))
    print(")")


def main() -> None:
    """Prints the file."""
    print(HEAD)
    for name, c in PAIRS.items():
        print(f"{name} = {pair(c, name.endswith('F32'))}")
    print(trailing("LN2_SHORT", mp.log(2), 40))
    print(f"ATANH_PAIRS = ({', '.join(pair(2 / mp.mpf(2 * k + 3)) for k in range(3))})")
    high, low = (float(v) for v in pair(mp.pi / 2)[1:-1].split(", "))
    print(f"HALF_PI_THIRD = {float(mp.pi / 2 - mp.mpf(high) - mp.mpf(low))!r}")
    # Stirling's series: Bernoulli numbers B(2k) / (2k (2k - 1)), exact up to rounding.
    series = [mp.bernoulli(2 * k) / (2 * k * (2 * k - 1)) for k in range(1, 12)]
    print(wrapped(f"STIRLING = ({text(series, False)})  # in powers of 1 / x**2, times 1 / x"))
    print(f"LN2_BITS = {hex(int(mp.floor(mp.log(2) * mp.mpf(2) ** 180)))}  # the first 180 bits of the binary fraction of ln 2")
    digits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** 1280))
    words = [hex((digits >> (1280 - 64 * (i + 1))) & (2**64 - 1)) for i in range(20)]
    print(wrapped(f"TWO_OVER_PI_WORDS = ({', '.join(words)})  # the first 20 64-bit words of the binary fraction of 2/pi"))
    for name, fit in FITS.items():
        coefficients, worst = remez(fit)
        if fit.head:
            print(f"{name}_HEAD = ({', '.join(map(pair, coefficients[: fit.head]))})")
        print(wrapped(f"{name} = ({text(coefficients[fit.head :], fit.f32)})  # 2**{float(mp.log(worst, 2)):.1f}"), flush=True)
    lgamma_columns()


if __name__ == "__main__":
    main()
