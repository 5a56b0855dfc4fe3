"""What scripts raise: the class, the arguments as Python keeps them, and functions that only return or raise."""

from collections.abc import Callable
from typing import Any

import pytest

import jitlang
from jitlang.interpreter.vm import VM
from tests.language.oracle import check, program_for, tier


class Coded(Exception):
    def __init__(self, code: int, what: str = "failed"):
        super().__init__(f"{what}: {code}")
        self.code = code


class Plain(ValueError):
    pass


def raises(n: int, s: str):
    if n == 0:
        raise KeyError(n + 5)
    if n == 1:
        raise ValueError
    if n == 2:
        raise ValueError("a", n, s, 2.5, True)
    if n == 3:
        raise Coded(n)
    if n == 4:
        raise Coded(n, s)
    if n == 5:
        raise Coded(what=s, code=n)
    if n == 6:
        raise Plain(s, n)
    if n == 7:
        raise KeyError(s)
    if n == 8:
        assert n < 3, n
    if n == 9:
        raise ValueError("")
    if n == 10:
        raise Plain(n > 3)
    if n == 11:
        raise RuntimeError(s + "{0}")
    return n


@pytest.mark.parametrize("n", range(13))
def test_arguments_of_exceptions(n: int) -> None:
    check(raises, n, "text")
    wanted = _raised(raises, n, "text")
    assert _raised(VM(program_for(raises, (n, "text"))).function(), n, "text") == wanted
    with tier("native"):
        assert _raised(jitlang.script(raises), n, "text") == wanted


def _raised(function: Callable[..., Any], *args: Any) -> Any:
    try:
        function(*args)
    except AssertionError:
        return None  # pytest rewrites the assertions of a test module
    except Exception as error:
        return type(error), error.args, str(error), getattr(error, "code", None)
    return None


def many(n: int, s: str):
    raise ValueError(n, s, n, s, n, s, n)


def containers(n: int, s: str):
    raise Plain([n], s)


@pytest.mark.parametrize("function", [many, containers])
def test_what_has_no_place_in_an_exception_is_text(function: Callable[..., Any]) -> None:
    check(function, 1, "a", messages=True)


def power(a: float, b: float):
    return a**b


def power_of_int(a: float, n: int):
    return a**n


@pytest.mark.parametrize(("function", "args"), [(power, (1e200, 2.0)), (power, (-1e200, 3.0)), (power, (0.0, -1.0)), (power_of_int, (1e200, 2))])
def test_messages_of_powers(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(function, *args, messages=True)


def search(xs: list[tuple[int, str]], x: tuple[int, str]):
    return xs.index(x)


def element(t: tuple[int, int, int], i: int):
    return t[i]


@pytest.mark.parametrize(
    ("function", "args"), [(search, ([(1, "a")], (1, "b"))), (search, ([(1, "a")], (1, "a"))), *((element, ((1, 2, 3), i)) for i in (-4, -3, 2, 3))]
)
def test_messages_of_look_ups(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(function, *args, messages=True)


def first_above(n: int) -> int:
    return _endless(n) + _raising(n)


def _endless(n: int):
    i = 0
    while True:
        i += 1
        if i > n:
            return i


def _raising(n: int):
    while True:
        if n > 3:
            raise ValueError(n)
        n += 1
        while True:
            if n % 3 == 0:
                return n
            if n % 5 == 0:
                break
            n += 1


class Reader:
    def __init__(self, text: str):
        self.text = text
        self.at = 0

    def product(self) -> float:
        value = self.factor()
        while True:
            mark = self.text[self.at]
            if mark == "*":
                self.at += 1
                value *= self.factor()
            else:
                return value

    def factor(self) -> float:
        if self.text[self.at] == "(":
            self.at += 1
            return self.product()
        self.at += 1
        return 2.0


def parsed(text: str) -> float:
    return Reader(text).product() + 1


@pytest.mark.parametrize(("function", "args"), [(first_above, (1,)), (first_above, (5,)), (parsed, ("2*(2*2.",)), (parsed, ("2*",))])
def test_an_endless_loop_is_left_by_return_and_raise_only(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(function, *args, messages=True)
