"""Run-time errors of scripts, in both tiers: CPython's type and message, and a traceback through the user's own lines and columns."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from typing import Any, Optional

import pytest

import jitlang as jl
from jitlang.errors import JitlangError


@pytest.fixture(params=["vm", "native"], autouse=True)
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("JITLANG_TIER", request.param)
    return str(request.param)


def raised(call: Callable[..., Any], *args: Any) -> tuple[BaseException, list[tuple[str, int | None, int | None, int | None]]]:
    """The exception of a call, and the frames behind that of this function: name, line, columns."""
    try:
        call(*args)
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [f for f in frames if f.name != "raised" and f.filename == __file__]
        assert len(own) == len(frames) - 1, f"frames of the library are in the traceback: {frames}"
        return error, [(f.name, f.lineno, f.colno, f.end_colno) for f in own]
    raise AssertionError("nothing was raised")


def index(xs: list[int], i: int) -> int:
    return 1 + xs[i]


def text_index(s: str, i: int) -> str:
    return s[i] + "x"


def key(d: dict[str, int], k: str) -> int:
    total = d["a"]
    return total + d[k]


def store(xs: list[int], i: int) -> list[int]:
    xs[i] = 3
    return xs


def delete(d: dict[str, int], k: str) -> int:
    del d[k]
    return len(d)


def divide(a: int, b: int) -> float:
    return 1.0 + a / b


def floor_divide(a: int, b: int) -> int:
    return a // b


def modulo(a: int, b: int) -> int:
    if b > 5:
        return 0
    return a % b


def float_divide(a: float, b: float) -> float:
    return (a + 1.0) / b


def pop(xs: list[int]) -> int:
    return xs.pop()


def find(xs: list[int], x: int) -> int:
    return xs.index(x)


def remove(xs: list[int], x: int) -> list[int]:
    xs.remove(x)
    return xs


def substring(s: str, part: str) -> int:
    return s.index(part)


def largest(xs: list[int]) -> int:
    return max(xs)


def number(s: str) -> int:
    return int(s)


def real(s: str) -> float:
    return float(s)


def step(xs: list[int], n: int) -> list[int]:
    return xs[::n]


def stepped(n: int) -> int:
    total = 0
    for i in range(0, 3, n):
        total += i
    return total


def unpack(xs: list[int]) -> int:
    a, b = xs
    return a + b


def claimed(n: int) -> int:
    assert n > 3, f"n is {n}"
    return n


def bare(n: int) -> int:
    assert n > 3
    return n


def thrown(n: int) -> int:
    if n < 3:
        raise ValueError(f"n must not be {n}")
    return n


def nothing(n: Optional[int]) -> int:
    return n + 1


def unbound(c: bool) -> int:
    if c:
        value = 1
    return value


def unbound_late(c: bool, n: int) -> int:
    if c:
        value = 1
    for _ in range(n):
        print(value)
    return value


def deleted(c: bool) -> int:
    value = 3
    if c:
        del value
    return value


def character(n: int) -> str:
    return chr(n)


def shift(a: int, n: int) -> int:
    return a << n


def outer(xs: list[int], i: int) -> int:
    def inner(j: int) -> int:
        return index(xs, j) * 2

    return inner(i) + 1


def in_loop(xs: list[int], n: int) -> int:
    total = 0
    for i in range(n):
        total += xs[i]
    return total


def in_comprehension(xs: list[int]) -> list[float]:
    ys = []
    for x in xs:
        ys.append(1.0 / x)
    return ys


def root(x: float) -> float:
    import math

    return math.sqrt(x)


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (index, ([1, 2], 2)),
    (index, ([1, 2], -3)),
    (text_index, ("ab", 2)),
    (key, ({"a": 1}, "b")),
    (store, ([1], 5)),
    (delete, ({"a": 1}, "z")),
    (divide, (1, 0)),
    (floor_divide, (1, 0)),
    (modulo, (1, 0)),
    (float_divide, (1.0, 0.0)),
    (pop, ([],)),
    (find, ([1], 3)),
    (remove, ([1], 3)),
    (substring, ("abc", "x")),
    (largest, ([],)),
    (number, ("3x",)),
    (real, ("3x",)),
    (step, ([1], 0)),
    (stepped, (0,)),
    (unpack, ([1, 2, 3],)),
    (unpack, ([1],)),
    (claimed, (2,)),
    (bare, (2,)),
    (thrown, (2,)),
    (nothing, (None,)),
    (unbound, (False,)),
    (unbound_late, (False, 0)),
    (deleted, (True,)),
    (character, (-1,)),
    (shift, (1, -1)),
    (outer, ([1, 2], 2)),
    (in_loop, ([1, 2], 3)),
    (in_comprehension, ([1, 0],)),
    (root, (-1.0,)),
]


@pytest.mark.parametrize(("function", "args"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_same_as_cpython(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    def fresh() -> Iterator[Any]:
        return (type(a)(a) if isinstance(a, list | dict) else a for a in args)

    wanted, frames = raised(function, *fresh())
    got, seen = raised(jl.script(function), *fresh())
    assert type(got) is type(wanted)
    # pytest adds to the messages of the assertions of test modules
    assert str(got) == ("n is 2" if function is claimed else "" if function is bare else str(wanted))
    assert [f[:2] for f in seen] == [f[:2] for f in frames]
    if function not in (claimed, bare, stepped):  # of a range with step 0 the whole statement is shown
        assert seen == frames
    assert got.__cause__ is None
    assert got.__context__ is None


def add(a: int, b: int) -> int:
    return a + b


def multiply(a: int, b: int) -> int:
    c = a * b
    return c


def negate(a: int) -> int:
    return -a


def count(n: int) -> int:
    total = n
    for _ in range(3):
        total += 1
    return total


def summed(xs: list[int]) -> int:
    return sum(xs)


def powered(a: int, b: int) -> int:
    return a**b


def truncated(x: float) -> int:
    return int(x)


LOW, HIGH = -(2**63), 2**63 - 1


@pytest.mark.parametrize(
    ("function", "args", "line", "columns"),
    [
        (add, (HIGH, 1), 1, (11, 16)),
        (add, (LOW, -1), 1, (11, 16)),
        (multiply, (2**32, 2**31), 1, (8, 13)),
        (negate, (LOW,), 1, (11, 13)),
        (count, (HIGH - 2,), 3, (8, 18)),
        (summed, ([HIGH, 1],), 1, (11, 18)),
        (powered, (10, 19), 1, (11, 15)),
        (truncated, (1e30,), 1, (11, 17)),
        (truncated, (float("inf"),), 1, (11, 17)),
        (lambda a: a << 63, (1,), 0, None),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_overflow(function: Callable[..., Any], args: tuple[Any, ...], line: int, columns: tuple[int, int] | None) -> None:
    error, frames = raised(jl.script(function), *args)
    assert type(error) is OverflowError
    first = function.__code__.co_firstlineno
    assert len(frames) == 1
    assert frames[0][:2] == (function.__name__, first + line)
    assert columns is None or frames[0][2:] == columns


def test_the_edges_of_int_are_fine() -> None:
    assert jl.script(add)(HIGH - 1, 1) == HIGH
    assert jl.script(add)(LOW + 1, -1) == LOW
    assert jl.script(multiply)(-(2**32), 2**31) == LOW
    assert jl.script(powered)(-2, 63) == LOW


def test_an_int_outside_64_bits_is_refused() -> None:
    error, _ = raised_anywhere(jl.script(add), 2**63, 1)
    assert type(error) is OverflowError


def raised_anywhere(call: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[BaseException, str]:
    try:
        call(*args, **kwargs)
    except Exception as error:
        return error, str(error)
    raise AssertionError("nothing was raised")


def defaults(a: int, b: int = 2, *, c: int = 3) -> int:
    return a + b + c


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "defaults() missing a required argument: 'a'"),
        ((1, 2, 3), {}, "defaults() too many positional arguments"),
        ((1,), {"d": 3}, "defaults() got an unexpected keyword argument 'd'"),
        ((1,), {"a": 3}, "defaults() multiple values for argument 'a'"),
    ],
)
def test_arguments_that_do_not_fit(args: tuple[Any, ...], kwargs: dict[str, Any], message: str) -> None:
    error, text = raised_anywhere(jl.script(defaults), *args, **kwargs)
    assert isinstance(error, TypeError)
    assert text == message
    assert jl.script(defaults)(1, c=5) == 8


@pytest.mark.parametrize(
    ("function", "args", "part"),
    [
        (add, ("a", 1), "argument 'a' of add()"),
        (add, (1.5, 1), "argument 'a' of add()"),
        (add, (None, 1), "argument 'a' of add()"),
        (index, ([1.5], 0), "argument 'xs' of index()"),
        (index, ((1,), 0), "argument 'xs' of index()"),
        (index, ([1, "a"], 0), "argument 'xs' of index()"),
        (key, ({1: 1}, "a"), "argument 'd' of key()"),
        (truncated, ("x",), "argument 'x' of truncated()"),
        (add, (object(), 1), "Python object of type object"),
    ],
)
def test_arguments_of_wrong_types(function: Callable[..., Any], args: tuple[Any, ...], part: str) -> None:
    error, text = raised_anywhere(jl.script(function), *args)
    assert isinstance(error, TypeError)
    assert part in text


# ---- tensors ----------------------------------------------------------------------------------------------------------


def plus(x: jl.Tensor, y: jl.Tensor) -> jl.Tensor:
    z = x * 2
    return z + y


def pick(x: jl.Tensor, i: int) -> jl.Tensor:
    return x[i]


def put(x: jl.Tensor, i: int) -> jl.Tensor:
    x[i] = 1.0
    return x


def corner(x: jl.Tensor) -> jl.Tensor:
    return x[0, 0, 0]


def all_of_three(x: jl.Tensor) -> jl.Tensor:
    return x[:, :, :]


def two_ellipses(x: jl.Tensor) -> jl.Tensor:
    return x[..., ...]


def put_in_corner(x: jl.Tensor) -> jl.Tensor:
    x[0, 0, 0] = 1.0
    return x


def product(x: jl.Tensor, y: jl.Tensor) -> jl.Tensor:
    return x @ y


def reshaped(x: jl.Tensor, n: int) -> jl.Tensor:
    return x.reshape(n, -1)


def summed_over(x: jl.Tensor, d: int) -> jl.Tensor:
    return x.sum(d)


def item(x: jl.Tensor) -> float:
    return float(x)


def truth(x: jl.Tensor) -> int:
    if x:
        return 1
    return 2


def grow(x: jl.Tensor, y: jl.Tensor) -> jl.Tensor:
    x += y
    return x


def whole(x: jl.Tensor) -> jl.Tensor:
    x += 0.5
    return x


def joined(x: jl.Tensor, y: jl.Tensor) -> jl.Tensor:
    return jl.cat([x, y], 1)


@pytest.mark.parametrize(
    ("function", "make", "kind"),
    [
        (plus, lambda: (jl.ones(3), jl.ones(4)), RuntimeError),
        (pick, lambda: (jl.ones(3), 3), IndexError),
        (pick, lambda: (jl.ones(3), -4), IndexError),
        (put, lambda: (jl.ones(3), 7), IndexError),
        (put, lambda: (jl.tensor(1.0), 0), IndexError),
        *((function, lambda: (jl.ones(2, 2),), IndexError) for function in (corner, all_of_three, two_ellipses, put_in_corner)),
        *((function, lambda: (jl.tensor(1.0),), IndexError) for function in (corner, all_of_three, two_ellipses, put_in_corner)),
        (product, lambda: (jl.ones(2, 3), jl.ones(2, 3)), RuntimeError),
        (reshaped, lambda: (jl.ones(5), 2), RuntimeError),
        (summed_over, lambda: (jl.ones(5), 1), IndexError),
        (item, lambda: (jl.ones(5),), (RuntimeError, ValueError)),
        (truth, lambda: (jl.ones(5),), RuntimeError),
        (grow, lambda: (jl.ones(3), jl.ones(2, 3)), RuntimeError),
        (whole, lambda: (jl.ones(3, dtype=jl.int64),), RuntimeError),
        (joined, lambda: (jl.ones(2, 3), jl.ones(3, 3)), RuntimeError),
        (pick, lambda: (jl.tensor(1.0), 0), IndexError),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_tensors_same_as_eager(function: Callable[..., Any], make: Callable[[], tuple[Any, ...]], kind: Any) -> None:
    try:
        function(*make())
        raise AssertionError("eager code raises nothing")
    except kind as error:
        wanted = error
    line = next(f for f in traceback.extract_tb(wanted.__traceback__) if f.name == function.__name__)
    got, frames = raised(jl.script(function), *make())
    assert type(got) is type(wanted)
    assert str(got) == str(wanted)
    if function is truth:  # of a condition, the expression: CPython shows the statement
        assert frames == [(line.name, line.lineno, 7, 8)]
    else:
        assert frames == [(line.name, line.lineno, line.colno, line.end_colno)]


def test_tensor_for_a_number_and_back() -> None:
    for function, args in ((add, (jl.ones(2), 1)), (plus, (1, jl.ones(2))), (plus, ([1.0], jl.ones(2)))):
        error, text = raised_anywhere(jl.script(function), *args)
        assert isinstance(error, TypeError), function.__name__
        assert "argument" in text


def columns(x: jl.Tensor) -> jl.Tensor:
    return x[:, 1]


def test_a_rank_that_does_not_fit() -> None:
    """Found when the specialisation for a vector is compiled, with the place, as the error that eager code raises."""
    error, text = raised_anywhere(jl.script(columns), jl.ones(3))
    assert isinstance(error, IndexError | TypeError)
    assert jl.script(columns)(jl.ones(2, 2)).tolist() == [1.0, 1.0]
    assert not isinstance(error, JitlangError) or f":{columns.__code__.co_firstlineno + 1}:" in text
