"""Compile errors: class, message, place and hint, for each kind of mistake."""

from collections.abc import Callable
from typing import Any, Optional

import pytest

from jitlang.errors import CompileError, ScriptAttributeError, ScriptNameError, ScriptSyntaxError, ScriptTypeError, ScriptValueError
from jitlang.frontend.script import signature_of
from tests.language.oracle import check, check_error, program_for


def add_str(a: int, b: str):
    return a + b


def unknown_name(a: int):
    return a + cuont  # noqa: F821


def near_name(count: int):
    return cuont + count  # noqa: F821


def before_assignment(a: int):
    b = a + c  # noqa: F821
    c = 2
    return b + c


def no_attribute(a: str):
    return a.uper()


def no_method_of_list(a: list[int]):
    a.push(3)
    return a


def helper(x: int, y: int = 2):
    return x + y


def too_many(a: int):
    return helper(a, 1, 2)


def too_few():
    return helper()


def wrong_keyword(a: int):
    return helper(a, z=3)


def wrong_type(a: str):
    return helper(a)


def twice(a: int):
    return helper(a, x=3)


def mixed_list(a: int):
    return [a, "x"]


def types_differ(a: bool):
    if a:
        x = 1
    else:
        x = "s"
    return x


def loop_changes_type(n: int):
    x = "a"
    for _ in range(n):
        x = 3
    return x


def returns_differ(a: bool):
    if a:
        return 1
    return "s"


def wrong_result(a: int) -> str:
    return a + 1


def optional_argument(a: Optional[int]):
    return helper(a)


def string_key(d: dict[str, int]):
    return d[1]


def append_str(xs: list[int]):
    xs.append("a")
    return xs


def tuple_index(t: tuple[int, str]):
    return t[2]


def tuple_dynamic(t: tuple[int, str], i: int):
    return t[i]


def unpack_wrong(t: tuple[int, int]):
    a, b, c = t
    return a


def not_iterable(a: int):
    for x in a:
        return x
    return 0


def not_callable(a: int):
    return a(3)


def with_try(a: int):
    try:
        return a
    except ValueError:
        return 0


def with_yield(a: int):
    yield a


def with_global(a: int):
    global helper
    return a


def with_kwargs(**k: int):
    return 1


def with_set():
    return {1, 2}


def big_literal():
    return 9223372036854775808


def immutable(s: str):
    s[0] = "x"
    return s


def compares(a: int, b: str):
    return a < b


def bad_unary(s: str):
    return -s


def raises_int():
    raise 3


def format_missing(a: int):
    return "{1}".format(a)  # noqa: F523, F524


class Thing:
    def __init__(self, x: int):
        self.x = x

    def get(self):
        return self.x


def unknown_attribute():
    return Thing(1).y


def sets_new_attribute():
    t = Thing(1)
    t.z = 3
    return t


def wrong_attribute_type():
    t = Thing(1)
    t.x = "a"
    return t


def constructor_arguments():
    return Thing()


def inner_error(a: int):
    return a + "x"


def outer(a: int):
    b = a * 2
    return inner_error(b)


def mixed_recursion(n: int):
    if n == 0:
        return "end"
    return mixed_recursion(n - 1) + 1


ERRORS: list[tuple[Callable[..., Any], tuple[Any, ...], type[CompileError], str, int, int, str]] = [
    (add_str, (1, "a"), ScriptTypeError, r"unsupported operand types for \+: 'int' and 'str'", 1, 12, "write str(…)"),
    (unknown_name, (1,), ScriptNameError, "name 'cuont' is not defined", 1, 16, ""),
    (near_name, (1,), ScriptNameError, "name 'cuont' is not defined", 1, 12, "did you mean 'count'?"),
    (before_assignment, (1,), ScriptNameError, "local variable 'c' is used before it is assigned", 1, 13, "'c' is local"),
    (no_attribute, ("a",), ScriptAttributeError, "str has no method 'uper'", 1, 12, "did you mean 'upper'?"),
    (no_method_of_list, ([1],), ScriptAttributeError, r"List\[int\] has no method 'push'", 1, 5, ""),
    (too_many, (1,), ScriptTypeError, r"helper\(\) takes 2 arguments, 3 are given", 1, 12, "it is helper(x: int, y: int)"),
    (too_few, (), ScriptTypeError, r"helper\(\) lacks the argument 'x'", 1, 12, "it is helper"),
    (wrong_keyword, (1,), ScriptTypeError, r"helper\(\) has no argument 'z'", 1, 12, "it is helper"),
    (wrong_type, ("a",), ScriptTypeError, r"argument 'x' of helper\(\) is str, expected int", 1, 12, ""),
    (twice, (1,), ScriptTypeError, r"helper\(\) got multiple values for argument 'x'", 1, 12, ""),
    (mixed_list, (1,), ScriptTypeError, "elements of the list are int and str", 1, 12, "use a tuple"),
    (types_differ, (True,), ScriptTypeError, "'x' is int on one path and str on another", 1, 5, "give 'x' one type"),
    (loop_changes_type, (1,), ScriptTypeError, "'x' is str before the loop and becomes int in it", 2, 5, "give 'x' one type"),
    (returns_differ, (True,), ScriptTypeError, "returns int on one path and str on another", 3, 5, "annotate"),
    (wrong_result, (1,), ScriptTypeError, "the returned value is int, expected str", 1, 5, ""),
    (string_key, ({"a": 1},), ScriptTypeError, "the key is int, the dict has keys of type str", 1, 12, ""),
    (append_str, ([1],), ScriptTypeError, r"List\[int\].append\(str\) is not possible", 1, 5, "it takes (item: int)"),
    (tuple_index, ((1, "a"),), ScriptTypeError, "tuple index 2 is out of range", 1, 12, ""),
    (tuple_dynamic, ((1, "a"), 0), ScriptTypeError, "must be a constant", 1, 12, "use a list"),
    (unpack_wrong, ((1, 2),), ScriptTypeError, "not enough values to unpack: 2 into 3 targets", 1, 5, ""),
    (not_iterable, (1,), ScriptTypeError, "'a' is int, which cannot be iterated", 1, 14, ""),
    (not_callable, (1,), ScriptTypeError, "a value of type int cannot be called", 1, 12, ""),
    (with_try, (1,), ScriptSyntaxError, "try is not supported", 1, 5, "catch outside"),
    (with_yield, (1,), ScriptSyntaxError, "yield is not supported", 1, 5, "build a list"),
    (with_global, (1,), ScriptSyntaxError, "global is not supported", 1, 5, "return the value"),
    (with_kwargs, (), ScriptSyntaxError, r"\*\*kwargs is not supported", 0, 1, "name the keyword parameters"),
    (with_set, (), ScriptSyntaxError, "a set is not supported", 1, 12, "use a list, or a dict"),
    (big_literal, (), ScriptTypeError, "does not fit in 64 bits", 1, 12, "write it as a float"),
    (immutable, ("abc",), ScriptTypeError, "'str' object does not support item assignment", 1, 5, "make a new value"),
    (compares, (1, "a"), ScriptTypeError, "'<' is not supported between 'int' and 'str'", 1, 12, ""),
    (bad_unary, ("a",), ScriptTypeError, "bad operand type for unary -: 'str'", 1, 12, ""),
    (raises_int, (), ScriptTypeError, "'3' is no exception class", 1, 5, "raise ValueError"),
    (format_missing, (1,), ScriptValueError, r"the text has a field 1, but format\(\) gets 1 arguments", 1, 12, ""),
    (unknown_attribute, (), ScriptAttributeError, "Thing has no attribute 'y'", 1, 12, "Thing.__init__"),
    (sets_new_attribute, (), ScriptAttributeError, "Thing has no attribute 'z'", 2, 5, "Thing.__init__"),
    (wrong_attribute_type, (), ScriptTypeError, "the attribute 'x' of Thing is int, the value is str", 2, 5, "an attribute has one type"),
    (constructor_arguments, (), ScriptTypeError, r"__init__\(\) lacks the argument 'x'", 1, 12, ""),
    (mixed_recursion, (2,), ScriptTypeError, r"unsupported operand types for \+", 3, 12, "write str"),
]


@pytest.mark.parametrize(("function", "args", "error", "match", "line", "col", "hint"), ERRORS, ids=lambda v: getattr(v, "__name__", ""))
def test_errors(function: Callable[..., Any], args: tuple[Any, ...], error: type[CompileError], match: str, line: int, col: int, hint: str) -> None:
    check_error(function, *args, error=error, match=match, line=line, col=col, hint=hint)


def test_the_error_shows_the_way_from_the_caller() -> None:
    with pytest.raises(ScriptTypeError) as found:
        program_for(outer, (1,))
    text = str(found.value)
    assert "in inner_error" in text
    assert 'return a + "x"' in text
    assert "called from" in text
    assert "return inner_error(b)" in text
    assert [f.function for f in found.value.frames] == ["outer"]


def test_errors_are_python_errors_too() -> None:
    with pytest.raises(TypeError):
        program_for(add_str, (1, "a"))
    with pytest.raises(NameError):
        program_for(unknown_name, (1,))
    with pytest.raises(AttributeError):
        program_for(no_attribute, ("a",))
    with pytest.raises(SyntaxError):
        program_for(with_try, (1,))


def test_the_text_of_an_error_has_three_parts() -> None:
    with pytest.raises(ScriptTypeError) as found:
        program_for(add_str, (1, "a"))
    what, where, line, caret, hint = str(found.value).splitlines()
    assert what == "unsupported operand types for +: 'int' and 'str'"
    assert where.strip().startswith(__file__)
    assert where.endswith("in add_str")
    assert line.endswith("|     return a + b")
    assert caret.endswith("|            ^^^^^  int + str")
    assert hint == "  write str(…) around the operand that is no str"


def with_match(n: int):
    match n:
        case 1:
            return 1
    return 0


def with_file(path: str):
    with open(path) as file:  # noqa: PTH123
        return file


def with_class(n: int):
    class Inner:
        pass

    return n


class Counted:
    count = 0

    def __init__(self):
        Counted.count += 1


def class_attribute(n: int):
    Counted.count = n


def counted(n: int):
    return Counted()


def makes_a_set(xs: list[int]):
    return len(set(xs))


def wrong_keyword(n: int):
    return _pair(n, c=n)


def _pair(a: int, b: int) -> int:
    return a + b


async def coroutine(n: int):
    return n


@pytest.mark.parametrize(
    ("function", "args", "error", "match", "line", "col", "hint"),
    [
        (with_match, (1,), ScriptSyntaxError, "match is not supported", 1, 5, "use if and elif"),
        (with_file, ("a",), ScriptSyntaxError, "with is not supported", 1, 10, "write the calls out"),
        (with_class, (1,), ScriptSyntaxError, "a class in a function is not supported", 1, 5, "at module level"),
        (class_attribute, (1,), ScriptTypeError, "'Counted.count' cannot be assigned", 1, 5, "keep it in an object"),
        (makes_a_set, ([1],), ScriptTypeError, "set\\(…\\) is not supported", 1, 16, "dict.fromkeys"),
        (wrong_keyword, (1,), ScriptTypeError, "_pair\\(\\) has no argument 'c'", 1, 12, "it is _pair"),
    ],
)
def test_what_to_write_instead(
    function: Callable[..., Any], args: tuple[Any, ...], error: type[CompileError], match: str, line: int, col: int, hint: str
) -> None:
    check_error(function, *args, error=error, match=match, line=line, col=col, hint=hint)


def test_an_async_function_is_refused() -> None:
    with pytest.raises(ScriptSyntaxError, match="async function"):
        signature_of(coroutine)


def looks_into_a_set(c: str, n: int):
    return c in {"a", "b"}, n in {1, 2}, n not in {n, 3}


def test_a_set_that_is_only_looked_into() -> None:
    check(looks_into_a_set, "a", 3)
    check(looks_into_a_set, "z", 1)
