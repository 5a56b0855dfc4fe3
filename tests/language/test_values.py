"""Numbers, strings, lists, dicts and tuples: operators, methods and builtin functions."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.language.oracle import check

INTS = [(7, 2), (-7, 2), (7, -2), (0, 5), (5, 0), (2**62, 2), (-(2**63), -1), (3, 63), (1, 62), (-1, 3)]
FLOATS = [(7.5, 2.0), (-7.5, 2.0), (1.0, 0.0), (0.0, -1.0), (1e308, 10.0), (2.0, 0.5), (math.inf, 1.0), (-8.0, 1 / 3)]


def int_add(a: int, b: int):
    return a + b, a - b


def int_mul(a: int, b: int):
    return a * b


def int_div(a: int, b: int):
    return a / b, a // b, a % b


def int_divmod(a: int, b: int):
    return divmod(a, b)


def int_shift(a: int, b: int):
    return a >> b, a << b


def int_bits(a: int, b: int):
    return a & b, a | b, a ^ b, ~a, -a, +a, abs(a)


def int_pow(a: int, b: int):
    return a**b


def int_compare(a: int, b: int):
    return a < b, a <= b, a == b, a != b, a > b, a >= b, min(a, b), max(a, b)


@pytest.mark.parametrize("function", [int_add, int_mul, int_div, int_divmod, int_bits, int_compare])
@pytest.mark.parametrize(("a", "b"), INTS)
def test_ints(function: Callable[..., Any], a: int, b: int) -> None:
    wanted = None
    try:
        wanted = function(a, b)
    except ZeroDivisionError:
        pass
    flat = wanted if isinstance(wanted, tuple) else (wanted,)
    if any(isinstance(v, int) and not -(2**63) <= v < 2**63 for v in flat):
        with pytest.raises(AssertionError, match="OverflowError"):  # the one deviation: an int has 64 bits
            check(function, a, b)
    else:
        check(function, a, b, messages=True)


@pytest.mark.parametrize(("a", "b"), [(3, 5), (-3, 5), (1, 0), (5, -1), (0, 62), (-1, 63)])
def test_shifts(a: int, b: int) -> None:
    check(int_shift, a, b, messages=True)


@pytest.mark.parametrize(("a", "b"), [(3, 5), (-3, 3), (0, 0), (2, 62), (-2, 63), (1, 10**6), (-1, 10**6 + 1)])
def test_powers(a: int, b: int) -> None:
    check(int_pow, a, b)


def float_arithmetic(a: float, b: float):
    return a + b, a - b, a * b


def float_div(a: float, b: float):
    return a / b


def float_floor(a: float, b: float):
    return a // b, a % b, divmod(a, b)


def float_pow(a: float, b: float):
    return a**b


def float_compare(a: float, b: float):
    return a < b, a <= b, a == b, a != b, a > b, a >= b, min(a, b), max(a, b), abs(a), -a


def float_text(a: float, b: float):
    return str(a), repr(b), f"{a} {b!r} {a:.3f} {b:>10.2e} {a:g}"


def float_int(a: float, b: float):
    return int(a), round(a), round(b, 1), math.floor(b), math.ceil(a), math.trunc(b), bool(a)


@pytest.mark.parametrize("function", [float_arithmetic, float_div, float_floor, float_compare, float_text, float_int])
@pytest.mark.parametrize(("a", "b"), [*FLOATS, (math.nan, 1.0), (1.5, math.nan), (-0.0, 0.0), (2.5, -2.5)])
def test_floats(function: Callable[..., Any], a: float, b: float) -> None:
    if function is float_int and a == 1e308:
        a = 1e18  # int(1e308) does not fit in 64 bits
    check(function, a, b, messages=True)


@pytest.mark.parametrize(("a", "b"), FLOATS[:-1])
def test_float_powers(a: float, b: float) -> None:
    check(float_pow, a, b)


def mixed(a: int, b: float, c: bool):
    return a + b, a * b, b - a, a / b, b // a, a % b, c + a, c + c, c * b, -c, a == b, a < b, b >= a, c == 1, c < b


def exact_comparison(a: int, b: float):
    return a == b, a < b, a > b, b == a, b != a


def bools(a: bool, b: bool):
    return a & b, a | b, a ^ b, a and b, a or b, not a, a == b, a < b, a is b, int(a), float(b), str(a), sum([a, b])


def conversions(s: str, x: float, n: int):
    return int(s), float(s), str(n), int(x), float(n), bool(n), bool(s), int("0x1f", 16), int("101", 2), ord(s[0]), chr(n + 65)


def bad_int(s: str):
    return int(s)


def bases(n: int):
    return bin(n), hex(n), oct(n), f"{n:b} {n:x} {n:#o} {n:08.3f} {n:,} {n:+d}", n.bit_length()


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (mixed, (3, 2.5, True)),
    (mixed, (-3, 0.5, False)),
    (exact_comparison, (2**53 + 1, float(2**53))),
    (exact_comparison, (3, 3.0)),
    *[(bools, (a, b)) for a in (True, False) for b in (True, False)],
    (conversions, ("12", 2.9, 3)),
    (bad_int, ("x1",)),
    (bases, (1234567,)),
    (bases, (-10,)),
]


@pytest.mark.parametrize(("function", "args"), CASES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_mixed(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(function, *args, messages=True)


def string_operators(s: str, t: str, n: int):
    return s + t, s * n, n * t, s < t, s == t, t in s, t not in s, len(s), s or t, not s, s[1:], s[::-1], s[-2:], s[:n]


def string_index(s: str, n: int):
    return s[n]


def string_case(s: str):
    return s.upper(), s.lower(), s.title(), s.capitalize(), s.swapcase(), s.casefold()


def string_tests(s: str):
    return s.isalpha(), s.isdigit(), s.isalnum(), s.isspace(), s.isupper(), s.islower(), s.istitle(), s.isidentifier(), s.isascii(), s.isdecimal()


def string_search(s: str, t: str):
    return s.find(t), s.rfind(t), s.count(t), s.startswith(t), s.endswith(t), s.find(t, 2), s.count(t, 1, 4), s.startswith((t, "x"))


def string_missing(s: str, t: str):
    return s.index(t)


def string_split(s: str):
    return s.split(), s.split(" "), s.split("l", 1), s.rsplit("l", 1), s.splitlines(), s.partition("l"), s.rpartition("l"), "-".join(s.split())


def string_pad(s: str):
    return s.center(11, "*"), s.ljust(9), s.rjust(9, "."), s.zfill(8), s.strip("h"), s.lstrip(), s.rstrip("lo"), s.expandtabs(4)


def string_replace(s: str):
    return s.replace("l", "L"), s.replace("l", "", 1), s.removeprefix("he"), s.removesuffix("lo"), s.translate({108: "?"})


def string_loop(s: str):
    out = ""
    for i, c in enumerate(s):
        out = c + out + str(i)
    return out, [c for c in s if c > "h"], sorted(s), list(s), "".join(reversed(s)), max(s), min(s)


def string_format(a: int, b: float, s: str):
    return (
        "{} {} {}".format(a, b, s),
        "{0}-{1}-{0}".format(a, s),
        "{x:>6}|{y:<8.3f}|{z!r:^7}".format(x=a, y=b, z=s),
        "%s %d %5.2f %r" % (s, a, b, s),
        f"{a=} {b=:.1f} {s!r} {{}} {a + 1:03d} {s:>{a}}",
        f"{s}{a}{b}",
        "%d%%" % a,
    )


STRINGS = ["hello", "Hello World\n", "  a b  ", "12", "", "héllo wörld ß", "a\tb"]


@pytest.mark.parametrize("function", [string_case, string_tests, string_split, string_pad, string_replace])
@pytest.mark.parametrize("text", STRINGS)
def test_strings(function: Callable[..., Any], text: str) -> None:
    check(function, text)


STRING_CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (string_operators, ("hello", "l", 2)),
    (string_operators, ("", "b", -1)),
    (string_index, ("hello", -1)),
    (string_index, ("hello", 5)),
    (string_search, ("hello", "l")),
    (string_search, ("hello", "zz")),
    (string_missing, ("hello", "zz")),
    (string_loop, ("hello",)),
    (string_format, (7, 2.5, "x")),
    (string_format, (12, -0.125, "äb")),
]


@pytest.mark.parametrize(("function", "args"), STRING_CASES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_string_functions(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(function, *args, messages=True)


def list_methods(xs: list[int]):
    ys = xs.copy()
    ys.append(4)
    ys.extend([5, 6])
    ys.insert(0, 9)
    ys.insert(-1, 8)
    a = ys.pop()
    b = ys.pop(0)
    ys.remove(2)
    ys.reverse()
    c = ys.index(3)
    ys += [1, 1]
    ys *= 2
    return ys, a, b, c, ys.count(1), len(ys), ys == xs, ys != xs, xs < ys


def list_slices(xs: list[int]):
    ys = xs[1:]
    ys[0] = 7
    xs[1:2] = [8, 9, 10]
    xs[::2] = [0] * len(xs[::2])
    del xs[0]
    return ys, xs, xs[::-1], xs[-3:-1], xs[5:1], xs[:0]


def list_errors(xs: list[int], n: int):
    if n == 0:
        return xs[99]
    if n == 1:
        xs[-99] = 1
    if n == 2:
        xs.remove(1234)
    if n == 3:
        return xs.index(1234)
    if n == 4:
        xs.clear()
        return xs.pop()
    if n == 5:
        del xs[50]
    if n == 6:
        return min(xs[:0])
    if n == 7:
        xs[::2] = [1]
    return 0


def list_builtins(xs: list[int]):
    return sum(xs), min(xs), max(xs), sorted(xs), sorted(xs, reverse=True), sorted(xs, key=lambda x: -x % 3), any(xs), all(xs), list(xs), 2 in xs, 9 not in xs


def list_of_lists(n: int):
    grid = [[0] * n for _ in range(n)]
    for i in range(n):
        grid[i][i] = i + 1
        grid[i][0] += 5
    flat = [x for row in grid for x in row if x]
    return grid, flat, [list(r) for r in zip(*[(1, 2), (3, 4)])], sum(flat, 10)


def sort_in_place(words: list[str]):
    words.sort()
    a = words.copy()
    words.sort(key=len, reverse=True)
    b = words[:]
    words.sort(key=lambda w: (len(w), w))
    return a, b, words


def min_max_key(xs: list[int]):
    return min(xs, key=lambda x: x % 3), max(xs, key=lambda x: (x % 3, -x)), max(xs, default=0), min([], default=7), max(3, 1, 2), min("b", "a")


def maps_and_filters(xs: list[int]):
    return list(map(str, xs)), list(filter(lambda x: x > 1, xs)), list(map(lambda a, b: a * b, xs, xs[::-1])), [*xs, 0, *xs]


def aliases():
    a = [1, 2]
    b = a
    b.append(3)
    c = [a, b]
    c[0][0] = 9
    d = a[:]
    d.append(0)
    return a, b, c, d, a is b, a is d, a == d


def dict_methods(d: dict[str, int]):
    e = d.copy()
    e["z"] = 26
    e.update({"q": 1, "a": 0})
    a = e.pop("a")
    b = e.pop("nope", -1)
    c = e.get("b")
    f = e.get("nope")
    g = e.get("nope", 5)
    h = e.setdefault("s", 3)
    del e["q"]
    k = e.popitem()
    return e, a, b, c, f, g, h, k, len(e), list(e), list(e.keys()), list(e.values()), list(e.items()), d | {"n": 1}, "a" in d, d == e


def dict_missing(d: dict[str, int]):
    return d["nope"]


def dict_loops(d: dict[str, int]):
    total = 0
    names = ""
    for k in d:
        names += k
    for k, v in d.items():
        total += v * len(k)
    for v in d.values():
        total += v
    return total, names, {v: k for k, v in d.items()}, {k: v for k, v in d.items() if v > 1}, sorted(d), max(d, key=lambda k: d[k]), sum(d.values())


def dict_keys():
    a = {1: "x", 2: "y"}
    b = {(1, 2): 3.5}
    c = {1.5: True}
    d = dict([("k", 1)])
    e = dict(x=1, y=2)
    b[(0, 0)] = 1.0
    b[3, 4] = 2.0
    return a[2], b[(1, 2)], b, c, d, e, {True: 1}, dict.fromkeys(["a", "b"], 0), {**e, "z": 3}


def count_words(text: str):
    counts: dict[str, int] = {}
    for word in text.lower().split():
        counts[word] = counts.get(word, 0) + 1
    groups: dict[int, list[str]] = {}
    for word in counts:
        groups.setdefault(len(word), []).append(word)
    return counts, groups


def inferred_empty():
    xs = []
    d = {}
    ys = [[]]
    for i in range(3):
        xs.append(i * 0.5)
        d[str(i)] = i
        ys[0].append(i)
    zs = []
    if len(xs) > 2:
        zs = xs
    return xs, d, ys, zs


def tuples(t: tuple[int, str, float]):
    a, b, c = t
    u = t + (1,)
    return t[0], t[-1], u, t[1:], len(t), (a, b) == t[:2], t == t, (1, 2) < (1, 3), (2,) > (1, 5), (1,) * 3, a in (1, 2, 3), b in ("x", "y"), t[::2]


def tuple_compare(a: int, b: int):
    return (
        (a, b) < (b, a),
        (a, 1.5) <= (a, 1.5),
        (a, (b, "x")) == (a, (b, "x")),
        max((a, b), (b, a)),
        sorted([(b, "x"), (a, "y")]),
        hash((1, 2)) == hash((1, 2)),
    )


def texts(xs: list[float], d: dict[str, bool]):
    return str(xs), str(d), repr((1, "a")), str([None, "x"]), f"{xs}", str(()), str((1,)), str({1: [2]})


def printing(a: int, xs: list[str]):
    print(a, xs, 1.5, "x", None, True, (a, "t"))
    print("no newline", end="")
    print(1, 2, sep="-")
    print()


CONTAINERS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (list_methods, ([1, 2, 3],)),
    (list_slices, ([1, 2, 3, 4, 5],)),
    *[(list_errors, ([1, 2, 3],) + (n,)) for n in range(9)],
    (list_builtins, ([3, 1, 2],)),
    (list_builtins, ([0, 5, 5],)),
    (list_of_lists, (3,)),
    (sort_in_place, (["pear", "fig", "apple", "kiwi"],)),
    (min_max_key, ([4, 2, 8, 5],)),
    (maps_and_filters, ([1, 2, 3],)),
    (aliases, ()),
    (dict_methods, ({"a": 1, "b": 2},)),
    (dict_missing, ({"a": 1},)),
    (dict_loops, ({"a": 1, "bb": 2},)),
    (dict_keys, ()),
    (count_words, ("the cat and the dog",)),
    (inferred_empty, ()),
    (tuples, ((1, "x", 2.5),)),
    (tuple_compare, (1, 2)),
    (tuple_compare, (2, 2)),
    (texts, ([1.0, 0.1, 1e100, -0.0], {"a": True})),
    (printing, (3, ["a", "b"])),
]


@pytest.mark.parametrize(("function", "args"), CONTAINERS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_containers(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(function, *args, messages=True)


def math_unary(x: float):
    return math.sin(x), math.cos(x), math.tan(x), math.exp(x), math.fabs(x), math.atan(x), math.erf(x), math.degrees(x), math.isnan(x), math.isfinite(x)


def math_roots(x: float):
    return math.sqrt(x), math.log(x), math.log2(x), math.log10(x), math.log(x, 3), math.gamma(x), math.lgamma(x), math.log1p(x)


def math_ints(a: int, b: int):
    return math.gcd(a, b), math.lcm(a, b), math.factorial(b), math.comb(a, b), math.perm(a, b), math.isqrt(a), math.prod([a, b]), math.floor(a)


def math_more(x: float, y: float):
    return (
        math.atan2(x, y), math.hypot(x, y), math.fmod(x, y), math.copysign(x, y), math.pow(x, y), math.frexp(x), math.modf(x), math.ldexp(x, 3),
        math.isclose(x, y), math.fsum([x, y, x]), math.dist((x, y), (0.0, 1.0)), math.remainder(x, y), math.pi, math.e, math.inf, math.tau, math.hypot(x, y, 1.0),
    )  # fmt: skip


@pytest.mark.parametrize("x", [0.5, -1.25, 30.0, math.inf, math.nan, 710.0, 0.0])
def test_math_unary(x: float) -> None:
    check(math_unary, x, messages=True)


@pytest.mark.parametrize("x", [0.5, 2.0, 0.0, -1.0, 171.0, 200.0])
def test_math_roots(x: float) -> None:
    check(math_roots, x, messages=True)


@pytest.mark.parametrize(("a", "b"), [(12, 8), (7, 3), (-4, 2), (3, -1)])
def test_math_ints(a: int, b: int) -> None:
    check(math_ints, a, b)


@pytest.mark.parametrize(("x", "y"), [(1.5, 2.0), (-3.25, 2.5), (0.0, 1.0), (2.0, 0.0)])
def test_math_more(x: float, y: float) -> None:
    check(math_more, x, y)
