"""Python functions through the front end and the VM, against CPython; the same with every hot loop taken out."""

import copy
import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from jitlang.frontend.annotations import type_of_value
from jitlang.frontend.script import compile_function
from jitlang.interpreter.osr import take_out
from jitlang.interpreter.vm import VM
from jitlang.ir.graph import Graph, Node, Program
from jitlang.types import FLOAT


def collatz(n: int) -> int:
    """While with an if inside."""
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def sieve(n: int) -> list[int]:
    """Lists, nested loops, steps."""
    flags = [True] * (n + 1)
    primes: list[int] = []
    for i in range(2, n + 1):
        if flags[i]:
            primes.append(i)
            for j in range(i * i, n + 1, i):
                flags[j] = False
    return primes


def first_pair(xs: list[int], wanted: int) -> tuple[int, int] | None:
    """Return out of two loops."""
    for i in range(len(xs)):
        for j in range(i + 1, len(xs)):
            if xs[i] + xs[j] == wanted:
                return i, j
    return None


def breaks(rows: list[list[int]], limit: int) -> tuple[int, int, int]:
    """Break and continue at two depths, else on loops."""
    total = skipped = whole = 0
    for row in rows:
        if len(row) == 0:
            continue
        for value in row:
            if value < 0:
                skipped += 1
                continue
            if value > limit:
                break
            total += value
        else:
            whole += 1
    return total, skipped, whole


def mandelbrot(width: int, height: int) -> float:
    """Floats and conditions with `and`."""
    total = 0.0
    for y in range(height):
        for x in range(width):
            cr, ci = 3.0 * x / width - 2.0, 2.0 * y / height - 1.0
            zr = zi = 0.0
            k = 0
            while k < 30 and zr * zr + zi * zi < 4.0:
                zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
                k += 1
            total += k + math.sqrt(abs(zr))
    return total


def words(text: str) -> dict[str, int]:
    """Dicts and strings."""
    counts: dict[str, int] = {}
    for word in text.lower().split():
        counts[word] = counts.get(word, 0) + 1
    return {k: v for k, v in counts.items() if v > 1 or len(k) == 3}


def distance(a: str, b: str) -> int:
    """Levenshtein: lists that are swapped."""
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a):
        current = [i + 1]
        for j, y in enumerate(b):
            current.append(min(previous[j + 1] + 1, current[j] + 1, previous[j] + (x != y)))
        previous = current
    return previous[-1]


def fib(n: int) -> int:
    """Recursion."""
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def is_even(n: int) -> bool:
    """Recursion through another function."""
    return True if n == 0 else is_odd(n - 1)


def is_odd(n: int) -> bool:
    """The other one."""
    return False if n == 0 else is_even(n - 1)


class Span(NamedTuple):
    """A named tuple."""

    low: int
    high: int


def spans(xs: list[int]) -> list[Span]:
    """Named tuples in a list."""
    out: list[Span] = []
    start = 0
    for i in range(1, len(xs) + 1):
        if i == len(xs) or xs[i] != xs[i - 1] + 1:
            out.append(Span(xs[start], high=xs[i - 1]))
            start = i
    return out


@dataclasses.dataclass
class Account:
    """An object with state."""

    balance: int = 0

    def deposit(self, amount: int) -> int:
        """Adds; refuses what is not positive."""
        if amount <= 0:
            raise ValueError(f"cannot deposit {amount}")
        self.balance += amount
        return self.balance


def deposits(account: Account, amounts: list[int]) -> int:
    """Methods, objects by reference, an error in the middle."""
    best = 0
    for amount in amounts:
        best = max(best, account.deposit(amount))
    return best


def checked(xs: list[int]) -> int:
    """Side effects before an error."""
    total = 1
    for i in range(len(xs) + 1):
        total = total * xs[i]
        xs[i] = -1
    return total


def undecided(n: int) -> int:
    """A variable that one path leaves undefined."""
    if n > 0:
        y = n
    return y + 1


def rotate(a: int, b: int, c: int, n: int) -> tuple[int, int, int]:
    """Cycles of moves round a loop."""
    while n > 0:
        a, b, c = b, c, a + 1
        n -= 1
    return a, b, c


CALLS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((collatz, (n,)) for n in (1, 2, 27)),
    (sieve, (60,)),
    (sieve, (1,)),
    (first_pair, ([1, 5, 9, 4], 13)),
    (first_pair, ([1, 5], 99)),
    (breaks, ([[1, 2], [], [-1, 9, 4], [3, -2]], 5)),
    (mandelbrot, (7, 5)),
    (words, ("The cat and the dog and a cat the end",)),
    (distance, ("kitten", "sitting")),
    (distance, ("", "abc")),
    (fib, (12,)),
    (is_even, (9,)),
    (spans, ([1, 2, 3, 7, 8, 10],)),
    (deposits, (Account(5), [1, 2, 3])),
    (deposits, (Account(5), [1, 0, 3])),
    (checked, ([2, 3, 4],)),
    (undecided, (3,)),
    (undecided, (0,)),
    *((rotate, (1, 2, 3, n)) for n in range(5)),
]
OVERFLOWS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [(collatz, (2**62 + 1,)), (checked, ([2**40, 2**40],))]


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a call gives or raises, and what it has made of its arguments."""
    given = copy.deepcopy(arguments)
    try:
        result = function(*given)
    except Exception as error:
        return "raises", type(error), given
    return "value", type(result), result, given


def machine(function: Callable[..., Any], arguments: tuple[Any, ...], **options: Any) -> VM:
    """The VM for a function and arguments like these."""
    return VM(compile_function(function, [type_of_value(a) for a in arguments]), **options)


@pytest.mark.parametrize(("function", "arguments"), CALLS, ids=[f.__name__ for f, _ in CALLS])
def test_as_in_python(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    assert outcome(machine(function, arguments).function(), arguments) == outcome(function, arguments)


@pytest.mark.parametrize(("function", "arguments"), OVERFLOWS)
def test_integers_that_do_not_fit(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    assert outcome(machine(function, arguments).function(), arguments)[:2] == ("raises", OverflowError)


@pytest.mark.parametrize("hot", [0, 1, 3])
@pytest.mark.parametrize(("function", "arguments"), CALLS + OVERFLOWS)
def test_with_every_loop_taken_out(function: Callable[..., Any], arguments: tuple[Any, ...], hot: int) -> None:
    made: VM

    def offer(graph: Graph, loop: Node, values: Any) -> Callable[..., Any]:
        assert len(values) == len(take_out(graph, loop).params)
        rest = take_out(graph, loop)
        return VM(Program(rest.name, made.program.functions | {rest.name: rest}, made.program.classes)).function()

    made = machine(function, arguments, on_hot_loop=offer, hot=hot)
    plain = outcome(machine(function, arguments).function(), arguments)
    assert outcome(made.function(), arguments) == plain


def test_an_int_is_passed_to_a_float_parameter_as_a_float() -> None:
    program = compile_function(mandelbrot, [type_of_value(3), type_of_value(2)])
    assert program.main.result == FLOAT
    assert VM(program).function()(3, 2) == mandelbrot(3, 2)


def test_a_traceback_through_scripts_names_these_lines() -> None:
    with pytest.raises(ValueError, match="cannot deposit -4") as caught:
        machine(deposits, (Account(), [1])).function()(Account(), [3, -4])
    entries = []
    trace = caught.value.__traceback__
    while trace is not None:
        entries.append((trace.tb_frame.f_code.co_filename, trace.tb_frame.f_code.co_name, trace.tb_lineno))
        trace = trace.tb_next
    first = deposits.__code__.co_firstlineno
    inner = Account.deposit.__code__.co_firstlineno
    assert entries[1:] == [(__file__, "deposits", first + 4), (__file__, "deposit", inner + 3)]
