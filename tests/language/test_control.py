"""Control flow: what CPython does with if, while, for, break, continue, else, return, assert and raise."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.language.oracle import check


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def nested_breaks(n: int):
    found = []
    for i in range(n):
        for j in range(n):
            if j > i:
                break
            if (i + j) % 3 == 0:
                continue
            found.append(i * 10 + j)
        else:
            found.append(-i)
    return found


def loop_variable_after(n: int):
    for i in range(n):  # noqa: B007
        pass
    return i


def while_else(n: int):
    while n > 0:
        n -= 3
        if n == 1:
            break
    else:
        return "ended", n
    return "broke", n


def maybe_defined(flag: bool):
    if flag:
        x = 3
    return x


def early_return(xs: list[int]):
    for i, x in enumerate(xs):
        if x < 0:
            return i
    return -1


def return_from_while_true(n: int):
    while True:
        n = n * 2 + 1
        if n > 100:
            return n


def reassigned_in_branches(a: int, b: float):
    if a > 2:
        a, b = a + 1, b * 2.0
    elif a == 1:
        b = 0.5
    return a, b


def ranges(a: int, b: int, c: int):
    return [i for i in range(a, b, c)], len(range(a, b, c)), list(range(b, a, -c))


def zero_step(n: int):
    total = 0
    for i in range(0, 3, n):
        total += i
    return total


def changed_while_iterated():
    xs = [1, 2, 3]
    for x in xs:
        if len(xs) < 8:
            xs.append(x * 10)
    return xs


def removed_while_iterated():
    xs = [1, 2, 3, 4, 5, 6]
    for x in xs:
        if x % 2 == 0:
            xs.remove(x)
    return xs


def dict_changed_while_iterated():
    d = {"a": 1, "b": 2}
    for k in d:
        d[k + "x"] = 1
    return d


def enumerate_zip(xs: list[int], s: str):
    out = []
    for i, (x, c) in enumerate(zip(xs, s), 5):
        out.append((i, x, c))
    return out


def reversed_things(xs: list[int]):
    return [x for x in reversed(xs)], list(reversed(range(4))), [c for c in reversed("abc")]


def asserted(n: int):
    assert n > 0, f"{n} is too small"
    return n


def bare_assert(n: int):
    assert n != 3
    return n


def raising(n: int):
    if n == 0:
        raise ValueError("zero")
    if n == 1:
        raise KeyError("one")
    if n == 2:
        raise RuntimeError
    if n == 3:
        raise IndexError(f"index {n}") from None
    return n


class OwnError(ValueError):
    pass


def own_exception(n: int):
    if n > 0:
        raise OwnError(f"own {n}")
    return n


def always_raises(n: int):
    raise NotImplementedError("never")


def calls_raising(n: int):
    if n > 0:
        always_raises(n)
    return 5


def ternaries(a: int, b: int):
    return a if a > b else b, "x" if a else "y", (1 if a else 2) if b else 3


def chains(a: int, b: int, c: int):
    return a < b < c, a < b > c, a == b == c, a != b != c, 0 <= a <= b


def tick(log: list[int], n: int) -> int:
    log.append(n)
    return n


def chain_evaluates_once(a: int):
    log: list[int] = []
    result = tick(log, 3) < tick(log, a) < tick(log, 9)
    return result, log


def short_circuit(a: int):
    log: list[int] = []
    x = tick(log, a) and tick(log, 2) or tick(log, 7)
    y = tick(log, 0) or tick(log, a)
    return x, y, log


def walrus(xs: list[int]):
    out = []
    i = 0
    while (x := xs[i]) != 0:
        out.append(x)
        i += 1
    if (n := len(out)) > 1 and (m := n * 2) > 3:
        return out, n, m
    return out, n, -1


def swap_and_chain(a: int, b: int):
    a, b = b, a
    c = d = a + b
    (e, f), g = (a, c), d
    return a, b, c, d, e, f, g


def starred():
    a, *b = [1, 2, 3]
    *c, d = (4, 5, 6)
    e, *f, g = "hello"
    return a, b, c, d, e, f, g


def wrong_length(xs: list[int]):
    a, b = xs
    return a + b


def number_becomes_float(xs: list[float]):
    total = 0
    for x in xs:
        total += x
    return total


def nested_floats(rows: list[list[float]]):
    total = 0
    for row in rows:
        for x in row:
            total = total + x * 2
    return total


def only_in_loop(xs: list[int]):
    for x in xs:
        last = x * 2
    return last


def unreachable_code(a: int):
    return a
    a += 1  # noqa: B012
    return a


def pass_and_docstring(a: int):
    """Nothing."""
    if a:
        pass
    ...
    return None


def falls_off(a: int):
    if a > 2:
        return a


def deleted(xs: list[int], d: dict[str, int]):
    del xs[0], d["a"]
    del xs[-2:]
    return xs, d


def tuple_loops(t: tuple[int, int, int], u: tuple[int, str, float]):
    total = 0
    for x in t:
        if x == 2:
            continue
        total += x
    text = ""
    for y in u:
        text += str(y) + ";"
    return total, text


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (collatz, (27,)),
    (nested_breaks, (5,)),
    (loop_variable_after, (4,)),
    (loop_variable_after, (0,)),
    (while_else, (7,)),
    (while_else, (9,)),
    (maybe_defined, (True,)),
    (maybe_defined, (False,)),
    (early_return, ([3, 2, -1],)),
    (early_return, ([3],)),
    (return_from_while_true, (3,)),
    (reassigned_in_branches, (3, 1.5)),
    (reassigned_in_branches, (1, 1.5)),
    (reassigned_in_branches, (0, 1.5)),
    (ranges, (2, 17, 3)),
    (ranges, (10, -3, -4)),
    (zero_step, (0,)),
    (zero_step, (2,)),
    (changed_while_iterated, ()),
    (removed_while_iterated, ()),
    (dict_changed_while_iterated, ()),
    (enumerate_zip, ([1, 2, 3], "ab")),
    (reversed_things, ([1, 2, 3],)),
    (asserted, (1,)),
    (asserted, (-1,)),
    (bare_assert, (3,)),
    *[(raising, (n,)) for n in range(5)],
    (own_exception, (1,)),
    (calls_raising, (1,)),
    (calls_raising, (0,)),
    *[(ternaries, (a, b)) for a in (0, 2) for b in (0, 1)],
    (chains, (1, 2, 3)),
    (chains, (2, 2, 2)),
    (chain_evaluates_once, (5,)),
    (chain_evaluates_once, (1,)),
    (short_circuit, (0,)),
    (short_circuit, (4,)),
    (walrus, ([4, 5, 0],)),
    (walrus, ([0],)),
    (swap_and_chain, (1, 2)),
    (starred, ()),
    (wrong_length, ([1, 2],)),
    (wrong_length, ([1, 2, 3],)),
    (wrong_length, ([1],)),
    (number_becomes_float, ([1.5, 2.5],)),
    (nested_floats, ([[1.5], [2.5, 3.0]],)),
    (only_in_loop, ([1, 2],)),
    (only_in_loop, ([],)),
    (unreachable_code, (4,)),
    (pass_and_docstring, (1,)),
    (falls_off, (1,)),
    (falls_off, (3,)),
    (deleted, ([1, 2, 3, 4], {"a": 1, "b": 2})),
    (tuple_loops, ((1, 2, 3), (1, "a", 2.5))),
]


@pytest.mark.parametrize(("function", "args"), CASES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_control(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(function, *args, messages=function is not only_in_loop)
