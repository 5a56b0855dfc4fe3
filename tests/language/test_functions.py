"""Functions: arguments, defaults, recursion, nested functions, lambdas, closures over the module, specialisation."""

import functools
from collections.abc import Callable
from enum import Enum, IntEnum
from typing import Any, NamedTuple, Optional, TypeVar

import pytest

from jitlang.frontend.script import compile_function
from jitlang.types import FLOAT, INT, STR, OptionalType
from tests.language.oracle import check, program_for

K = 7
NAME = "const"
TABLE = [3, 1, 2]
PAIRS = ((1, "a"), (2, "b"))
LOOKUP = {"a": 1, "b": 2}
LIMITS = [(0, 1, 2), (3, 4, 5)]
T = TypeVar("T")


def add(a, b=2, *, c=3):
    return a + b * c


def keywords(n: int):
    return add(n), add(n, 5), add(b=1, a=n), add(n, c=1), add(*(1, 2), c=n), add(1.5, n)


def positional_only(a, b, /, c):
    return a - b * c


def variadic(first: int, *rest):
    total = first
    for r in rest:
        total += len(str(r))
    return total, len(rest), rest


def calls(n: int):
    return positional_only(1, n, c=2), variadic(n), variadic(n, 1, "ab", 2.5)


def closure_constants(n: int):
    return K + n, NAME, TABLE[n], PAIRS[0], LOOKUP["b"], [t for t in TABLE], LOOKUP.get("zz"), len(LIMITS), sum(sum(t) for t in LIMITS)


def loops_over_constants():
    out = []
    for a, b, c in LIMITS:
        out.append(a * b + c)
    for k, v in LOOKUP.items():
        out.append(len(k) + v)
    for i, (n, s) in enumerate(PAIRS):
        out.append(i + n + len(s))
    return out


def factorial(n: int):
    return 1 if n < 2 else n * factorial(n - 1)


def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def is_even(n: int):
    if n == 0:
        return True
    return is_odd(n - 1)


def is_odd(n: int):
    if n == 0:
        return False
    return is_even(n - 1)


def ackermann(m: int, n: int) -> int:
    if m == 0:
        return n + 1
    return ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))


def hanoi(n: int, a: str, b: str, c: str) -> list[tuple[str, str]]:
    if n == 0:
        return []
    return [*hanoi(n - 1, a, c, b), (a, c), *hanoi(n - 1, b, a, c)]


def depth(tree: list[int], at: int) -> int:
    if at >= len(tree):
        return 0
    return 1 + max(depth(tree, 2 * at + 1), depth(tree, 2 * at + 2))


def endless(n: int) -> int:
    return endless(n + 1) + 1


def nested(n: int):
    k = 10

    def inner(x, scale=2):
        if x > 5:
            return x * scale + k
        return x - n

    k = 20
    double = lambda x: inner(x) * 2  # noqa: E731
    return inner(3), inner(9), inner(9, scale=n), double(4), [double(i) for i in range(8)]


def loop_in_nested(n: int):
    def find(xs: list[int], wanted: int):
        for i, x in enumerate(xs):
            if x == wanted:
                return i
        return -1

    xs = [5, 3, n]
    return find(xs, 3), find(xs, 8), find(xs, n)


def apply(f, x):
    return f(x)


def twice(f):
    return lambda x: f(f(x))


def make_adder(n: int):
    def adder(x: int) -> int:
        return x + n

    return adder


def higher_order(n: int):
    add3 = make_adder(3)
    return apply(lambda x: x + n, 5), apply(str, n), twice(add3)(n), apply(factorial, 5), [f(n) for f in (abs, factorial, lambda v: -v)]


def function_choice(n: int):
    g = factorial
    h = add
    return g(4) + h(n)


def call_by_operator(xs: list[int]):
    pick = max if len(TABLE) > 2 else min
    return pick(xs), functools.partial(add, 10)(2), functools.partial(add, c=1)(1)


def takes_optional(x: Optional[int] = None, y: int | None = 3):
    if x is None:
        return y
    return x * 2 if y is None else x + y


def optional_calls():
    return takes_optional(), takes_optional(4), takes_optional(4, None), takes_optional(y=None)


def identity(x: T) -> T:
    return x


def generic_calls():
    return identity(1), identity("a"), identity([1.5]), identity((1, 2))


def float_parameter(x: float):
    return x / 2


def int_for_float(n: int):
    return float_parameter(n)


def mutates(xs: list[int], d: dict[str, int]):
    xs.append(len(d))
    d["new"] = sum(xs)
    xs = [0]
    xs.append(1)
    return xs


def mutated(xs: list[int], d: dict[str, int]):
    ys = mutates(xs, d)
    return xs, d, ys


def comment_types(a, b):
    # type: (int, float) -> float
    return a * b


def returns_none(n: int):
    if n > 2:
        return
    n += 1


def uses_none(n: int):
    return returns_none(n), returns_none(n) is None


def shadows(n: int):
    len = 3
    max = [n, len]
    return len + max[0]


class Color(Enum):
    RED = "r"
    BLUE = "b"


class Level(IntEnum):
    LOW = 1
    HIGH = 5


def enums(n: int):
    c = Color.RED
    names = ""
    for member in Color:
        names += member.name + member.value
    return c.value, c == Color.RED, c is Color.BLUE, Level.HIGH + n, Level.LOW < n, Color("b").name, Color["RED"].value, names


class Point(NamedTuple):
    x: int
    y: float = 0.5

    def norm(self):
        return abs(self.x) + self.y


def named_tuples(n: int):
    p = Point(n)
    q = Point(y=2.0, x=1)
    a, b = q
    r = p._replace(x=9)
    return p, q.x, q[1], a + b, r, p == q, p < q, len(p), p.norm(), str(q), f"{p}", q._asdict()["y"]


def star_arguments(t: tuple[int, int]):
    return add(*t), max(*t), [*t, 3], (*t, *t), positional_only(*t, 4), "{}-{}".format(*t)


def refined(x: Optional[int], y: Optional[str]):
    out = []
    if x is not None and x > 2:
        out.append(x + 1)
    if x is None or x < 0:
        out.append(-1)
    else:
        out.append(x * 2)
    if not x:
        out.append(0)
    n = x or 100
    m = x if x is not None else 5
    if isinstance(x, int) and y is not None:
        out.append(x + len(y))
    if y is None:
        return out, n, m, ""
    return out, n, m, y.upper() + y


def optional_errors(x: Optional[int], s: Optional[str]):
    return x + 1, s


def optional_attribute(s: Optional[str]):
    return s.upper()


def optional_loop(xs: list[Optional[int]]):
    total = 0
    first: Optional[int] = None
    for x in xs:
        if x is None:
            continue
        if first is None:
            first = x
        total += x
    known = [x for x in xs if x is not None]
    return total, first, known, xs == [1, None], None in xs, [x if x is not None else -1 for x in xs], xs[0] == 1


def instance_checks(a: int, b: str, c: list[int]):
    return (
        isinstance(a, int),
        isinstance(a, (str, float)),
        isinstance(b, str),
        isinstance(c, list),
        isinstance(True, int),
        isinstance(a, bool),
        type(a) is int,
        callable(add),
    )


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (keywords, (4,)),
    (calls, (3,)),
    (closure_constants, (1,)),
    (loops_over_constants, ()),
    (factorial, (10,)),
    (fib, (12,)),
    (is_even, (10,)),
    (is_even, (7,)),
    (ackermann, (2, 3)),
    (hanoi, (3, "a", "b", "c")),
    (depth, ([1, 2, 3, 4, 5], 0)),
    (endless, (0,)),
    (nested, (3,)),
    (loop_in_nested, (7,)),
    (higher_order, (2,)),
    (function_choice, (2,)),
    (call_by_operator, ([3, 9, 4],)),
    (optional_calls, ()),
    (generic_calls, ()),
    (int_for_float, (3,)),
    (mutated, ([1, 2], {"a": 1})),
    (comment_types, (2, 1.5)),
    (uses_none, (1,)),
    (uses_none, (3,)),
    (shadows, (2,)),
    (enums, (3,)),
    (named_tuples, (3,)),
    (star_arguments, ((1, 2),)),
    *[(refined, (x, y)) for x in (None, 0, 5, -1) for y in (None, "ab")],
    (optional_errors, (None, "a")),
    (optional_errors, (3, None)),
    (optional_attribute, (None,)),
    (optional_attribute, ("x",)),
    (optional_loop, ([1, None, 3],)),
    (instance_checks, (1, "a", [1])),
]


@pytest.mark.parametrize(("function", "args"), CASES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_functions(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(function, *args)


def test_closures_over_an_enclosing_python_function() -> None:
    def make(k: int) -> Callable[[int], int]:
        def inner(x):
            return x * k + 1

        return inner

    check(make(4), 3)
    check(make(5), 3)
    check(lambda x: x + K, 1.5)


def test_a_function_is_specialised_by_its_argument_types() -> None:
    program = program_for(generic_calls, ())
    assert len([n for n in program.functions if n.startswith("identity")]) == 4
    assert compile_function(identity, [INT]).main.result == INT
    assert compile_function(identity, [FLOAT]).main.result == FLOAT


def test_defaults_and_optionals_in_the_signature() -> None:
    program = compile_function(takes_optional, [OptionalType(INT)])
    assert program.main.defaults == {"x": None, "y": 3}
    assert [str(p.type) for p in program.main.params] == ["Optional[int]", "int"]


def test_the_program_names_what_it_calls() -> None:
    program = compile_function(keywords, [INT])
    callees = {n.attributes["callee"] for n in program.main.walk() if n.kind == "prim::Call"}
    assert callees <= set(program.functions)
    assert compile_function(identity, [STR]).entry == "identity"


def test_every_node_has_a_place() -> None:
    for function, args in CASES:
        for graph in program_for(function, args).functions.values():
            for node in graph.walk():
                assert node.range is not None, (function.__name__, node)
