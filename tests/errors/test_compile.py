"""Mistakes found at compile time, through the public door: class, place and text of the error, in both tiers alike.

The expected message stands on the bad line, behind ``# error:``, and the caret under the column that the line begins its mistake at.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import jitlang as jl


def unsupported(n: int) -> int:
    try:  # error: try is not supported
        return n
    finally:
        print(n)


def unsupported_expression(n: int) -> int:
    return (yield n)  # error: yield is not supported


def mismatch(n: int, s: str) -> int:
    return n + s  # error: unsupported operand types for +: 'int' and 'str'


def unknown(n: int) -> int:
    return n + undefined_name  # noqa: F821  error: name 'undefined_name' is not defined


def before(n: int) -> int:
    m = n + later  # noqa: F821  error: local variable 'later' is used before it is assigned
    later = m
    return later


def two_types(c: bool) -> int:
    if c:  # error: 'x' is int on one path and str on another
        x = 1
    else:
        x = "a"
    return len(str(x))


def helper(a: int, b: int) -> int:
    return a + b


def argument_count(n: int) -> int:
    return helper(n)  # error: helper() lacks the argument 'b'


def argument_name(n: int) -> int:
    return helper(n, 1, c=3)  # error: helper() has no argument 'c'


def argument_type(s: str) -> int:
    return helper(s, 1)  # error: argument 'a' of helper() is str, expected int


def method(s: str) -> str:
    return s.uper()  # error: str has no method 'uper'


def attribute(s: str) -> int:
    return s.lenght  # error: str has no attribute 'lenght'


def result(n: int) -> str:
    return n * 2  # error: the returned value is int, expected str


def wide(n: int) -> int:
    return n + 9223372036854775808  # error: does not fit in 64 bits


def key(d: dict[str, int]) -> int:
    return d[3]  # error: the key is int, the dict has keys of type str


def iterate(n: int) -> int:
    for i in n:  # error: 'n' is int, which cannot be iterated
        n += i
    return n


def callee(n: int) -> int:
    return n(3)  # error: a value of type int cannot be called


def tensor_method(x: jl.Tensor) -> jl.Tensor:
    return x.no_such_method()  # error: Tensor has no attribute 'no_such_method'


def tensor_function(x: jl.Tensor) -> jl.Tensor:
    return jl.no_such_function(x)  # error: no_such_function


MISTAKES: list[tuple[Callable[..., Any], tuple[Any, ...], str, type[Exception]]] = [
    (unsupported, (1,), "try:", SyntaxError),
    (unsupported_expression, (1,), "yield", SyntaxError),
    (mismatch, (1, "a"), "n + s", TypeError),
    (unknown, (1,), "undefined_name", NameError),
    (before, (1,), "later", NameError),
    (two_types, (True,), "if c", TypeError),
    (argument_count, (1,), "helper(n)", TypeError),
    (argument_name, (1,), "helper(n", TypeError),
    (argument_type, ("a",), "helper(s", TypeError),
    (method, ("a",), "s.uper", AttributeError),
    (attribute, ("a",), "return", AttributeError),
    (result, (1,), "return", TypeError),
    (wide, (1,), "9223372036854775808", TypeError),
    (key, ({"a": 1},), "d[3]", TypeError),
    (iterate, (1,), "n:", TypeError),
    (callee, (1,), "n(3)", TypeError),
    (tensor_method, (jl.ones(2),), "x.no_such_method", AttributeError),
    (tensor_function, (jl.ones(2),), "jl.no_such_function", AttributeError),
]


@pytest.mark.parametrize("tier", ["vm", "native"])
@pytest.mark.parametrize(("function", "args", "at", "kind"), MISTAKES, ids=[m[0].__name__ for m in MISTAKES])
def test_place_and_message(
    function: Callable[..., Any], args: tuple[Any, ...], at: str, kind: type[Exception], tier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)
    lines, first = inspect.getsourcelines(function)
    offset = next(i for i, text in enumerate(lines) if "error: " in text)
    message = lines[offset].split("error: ")[1].strip()
    with pytest.raises(jl.CompileError) as found:
        jl.script(function)(*args)
    error = found.value
    assert isinstance(error, kind)
    assert message in error.message
    assert error.where is not None
    assert (error.where.line, error.where.col) == (first + offset, lines[offset].index(at))
    text = str(error)
    assert re.search(rf"test_compile\.py:{first + offset}:{lines[offset].index(at) + 1} in {function.__name__}", text)
    shown = text.splitlines()
    line = next(i for i, t in enumerate(shown) if t.endswith(lines[offset].rstrip()))
    assert shown[line + 1].index("^") == shown[line].index("|") + 2 + lines[offset].index(at)


def test_the_way_to_an_error_in_a_function_that_is_called() -> None:
    def outer(n: int) -> int:
        return mismatch(n, "a")

    with pytest.raises(jl.CompileError) as found:
        jl.script(outer)(1)
    text = str(found.value)
    assert text.index(f"test_compile.py:{mismatch.__code__.co_firstlineno + 1}:12 in mismatch") < text.index("called from")
    assert f"test_compile.py:{outer.__code__.co_firstlineno + 1}:16 in outer" in text


def test_a_function_without_source() -> None:
    names: dict[str, Any] = {}
    exec("def f(n: int) -> int:\n    return n\n", names)
    with pytest.raises(jl.CompileError, match="the source of f is not available"):
        jl.script(names["f"])


def test_what_cannot_be_scripted() -> None:
    for thing in (3, "text", len):
        with pytest.raises(TypeError, match=r"script\(\) takes a Python function"):
            jl.script(thing)


def test_a_failed_compilation_can_be_tried_again() -> None:
    def f(a, b):
        return a + b

    h = jl.script(f)
    for _ in range(3):
        with pytest.raises(TypeError):
            h(1, "a")
        assert h(1, 2) == 3
        assert h("x", "y") == "xy"
