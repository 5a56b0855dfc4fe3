"""Functions and classes that are decorated where they stand: they call themselves, one another, and functions further down."""

import pytest

import jitlang as jl
from jitlang.errors import ScriptNameError
from tests.language.oracle import tier


@jl.script
def helper(x: int) -> int:
    return x * 2


@jl.script
def factorial(n: int) -> int:
    return 1 if n < 2 else n * factorial(n - 1)


@jl.script
def is_even(n: int) -> bool:
    return True if n == 0 else is_odd(n - 1)


@jl.script
def is_odd(n: int) -> bool:
    return False if n == 0 else is_even(n - 1)


@jl.script
class Box:
    def __init__(self, n: int):
        self.n = n

    def get(self) -> int:
        return helper(self.n) + later(self.n)


@jl.script
def uses_all(n: int):
    g = helper
    return g(n) + factorial(n) + Box(n).get(), is_even(n)


@jl.script
def later(n):
    return n + 100


@pytest.mark.parametrize("name", ["vm", "native"])
def test_decorated(name: str) -> None:
    with tier(name):
        assert uses_all(5) == (10 + 120 + 10 + 105, False)
        assert factorial(10) == 3628800
        assert (is_even(10), is_odd(10)) == (True, False)
        assert [helper(i) for i in range(3)] == [0, 2, 4]
        assert later(1) == 101
        assert later(1.5) == 101.5


def test_nested_scripts() -> None:
    @jl.script
    def down(n: int) -> int:
        return 0 if n == 0 else up(n - 1) + 1

    @jl.script
    def up(n: int) -> int:
        return 0 if n == 0 else down(n - 1) + 2

    assert down(5) == 1 + 2 + 1 + 2 + 1


def test_unknown_names_are_found_at_decoration() -> None:
    with pytest.raises(ScriptNameError, match="name 'nowhere' is not defined"):

        @jl.script
        def f(n: int) -> int:
            return nowhere(n)  # noqa: F821


def test_wrong_arguments_are_type_errors() -> None:
    with pytest.raises(TypeError, match="argument 'x' of helper\\(\\): expected int, got str"):
        helper("a")
    with pytest.raises(TypeError, match="missing a required argument: 'x'|helper\\(\\)"):
        helper()
