"""The VM on programs written as IR text: values by reference, calls, errors, limits, hooks."""

import _thread
import gc
import sys
import threading
import time
import traceback
from typing import Any

import pytest

from jitlang.errors import IRError
from jitlang.interpreter.loop import StepLimitError
from jitlang.interpreter.osr import take_out
from jitlang.interpreter.vm import VM
from jitlang.ir.graph import LOOPS, Graph, Node, Program
from jitlang.ir.reader import parse_program
from jitlang.types import INT, ClassType

COLLATZ = """
entry @collatz
graph @collatz(%n: int) -> int:
  %one: int = 1
  %zero: int = 0
  %two: int = 2
  %three: int = 3
  %steps: int = prim::While(%n, %zero) @L at $0:3:4-18:
    body(%m: int, %s: int):
      %c: bool = py::ne(%m, %one) at $0:3:10-16
      prim::If(%c):
        then():
          yield()
        else():
          exit @L(%s)
      %r: int = py::mod(%m, %two)
      %e: bool = py::eq(%r, %zero)
      %next: int = prim::If(%e):
        then():
          %h: int = py::floordiv(%m, %two)
          yield(%h)
        else():
          %t: int = py::mul(%three, %m) at $0:7:16-21
          %t1: int = py::add(%t, %one) at $0:7:16-25
          yield(%t1)
      %s2: int = py::add(%s, %one)
      yield(%next, %s2)
  return(%steps)
source !0 = "collatz_steps.py" line 1 indent 0:
  "def collatz(n):"
  "    steps = 0"
  "    while n != 1:"
  "        if n % 2 == 0:"
  "            n = n // 2"
  "        else:"
  "            n = 3 * n + 1"
  "        steps += 1"
  "    return steps"
scope $0 = !0 "collatz"
"""

CALLS = """
entry @fib
graph @fib(%n: int) -> int:
  %one: int = 1
  %c: bool = py::le(%n, %one) at $0:2:7-13
  prim::If(%c):
    then():
      return(%n)
    else():
      yield()
  %two: int = 2
  %a: int = py::sub(%n, %one)
  %b: int = py::sub(%n, %two)
  %x: int = prim::Call[callee="fib"](%a) at $0:4:11-21
  %y: int = prim::Call[callee="fib"](%b) at $0:4:24-34
  %z: int = py::add(%x, %y)
  return(%z)
graph @forever(%n: int) -> int:
  %r: int = prim::Call[callee="forever"](%n) at $1:6:11-21
  return(%r)
graph @inner(%xs: List[int], %i: int) -> int:
  %v: int = py::getitem(%xs, %i) at $2:9:11-16
  return(%v)
graph @outer(%xs: List[int]) -> int:
  %i: int = 5
  %v: int = prim::Call[callee="inner"](%xs, %i) at $3:12:11-23
  return(%v)
graph @inlined(%xs: List[int]) -> int:
  %i: int = 5
  %v: int = py::getitem(%xs, %i) at $4:9:11-16
  return(%v)
source !0 = "calls.py" line 1 indent 0:
  "def fib(n):"
scope $0 = !0 "fib"
scope $1 = !0 "forever"
scope $2 = !0 "inner"
scope $3 = !0 "outer"
scope $4 = !0 "inner" called at $5:15:11-23
scope $5 = !0 "inlined"
"""

VALUES = """
entry @fill
class Counter:
  total: int
graph @fill(%xs: List[int], %table: Dict[str, int]) -> List[int]:
  %i: int = 0
  %v: int = 42
  py::setitem(%xs, %i, %v)
  py::append(%xs, %v)
  %k: str = "key"
  py::setitem(%table, %k, %v)
  return(%xs)
graph @bump(%c: Counter, %by: int) -> int:
  %old: int = prim::GetAttr[name="total"](%c)
  %new: int = py::add(%old, %by)
  prim::SetAttr[name="total"](%c, %new)
  return(%new)
graph @make() -> Counter:
  %c: Counter = prim::New[cls="Counter"]()
  %v: int = 5
  prim::SetAttr[name="total"](%c, %v)
  return(%c)
graph @unset() -> int:
  %c: Counter = prim::New[cls="Counter"]()
  %v: int = prim::GetAttr[name="total"](%c)
  return(%v)
graph @pack(%a: int, %b: str) -> Tuple[List[int], Dict[str, int], NamedTuple[Pair](x: int, y: str), Optional[int], Tuple[()]]:
  %l: List[int] = prim::List(%a, %a)
  %d: Dict[str, int] = prim::Dict(%b, %a)
  %p: NamedTuple[Pair](x: int, y: str) = prim::Tuple(%a, %b)
  %o: Optional[int] = prim::Some(%a)
  %e: Tuple[()] = prim::Tuple()
  %t: Tuple[List[int], Dict[str, int], NamedTuple[Pair](x: int, y: str), Optional[int], Tuple[()]] = prim::Tuple(%l, %d, %p, %o, %e)
  return(%t)
graph @second(%t: Tuple[int, str]) -> str:
  %s: str = prim::TupleIndex[index=1](%t)
  return(%s)
graph @default(%o: Optional[int]) -> int:
  %n: bool = py::is_none(%o)
  %r: int = prim::If(%n):
    then():
      %d: int = -1
      yield(%d)
    else():
      %v: int = prim::Unwrap(%o)
      yield(%v)
  return(%r)
"""

NESTED = """
entry @count
graph @count(%n: int) -> int:
  %zero: int = 0
  %one: int = 1
  %total: int = prim::For(%zero, %n, %one, %zero):
    body(%i: int, %t: int):
      %u: int = prim::For(%one, %n, %one, %t):
        body(%j: int, %v: int):
          %w: int = py::add(%v, %one)
          yield(%w)
      yield(%u)
  return(%total)
"""

ENDLESS = """
entry @forever
graph @forever() -> None:
  prim::While():
    body():
      yield()
"""


def vm(text: str, **options: Any) -> VM:
    """A machine for a program in text form."""
    return VM(parse_program(text), **options)


def collatz(n: int) -> int:
    """The same in Python."""
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def lines_of(error: BaseException) -> list[tuple[str, int, str]]:
    """(file, line, function) of each frame of the traceback below this test."""
    frames = traceback.extract_tb(error.__traceback__)
    return [(f.filename, f.lineno or 0, f.name) for f in frames[1:]]


def test_collatz() -> None:
    function = vm(COLLATZ).function()
    assert [function(n) for n in range(1, 200)] == [collatz(n) for n in range(1, 200)]


def test_the_loop_of_collatz_has_no_moves_and_fused_branches() -> None:
    code = vm(COLLATZ).executable("collatz").code
    names = [item.opcode.name for item in code.instructions]
    assert names == (
        ["MOVE", "UNLESS_NE", "JUMP", "JUMP", "MOD", "UNLESS_EQ", "FLOORDIV_INT", "JUMP", "MUL_INT", "ADD_INT", "JUMP"]
        + ["ADD_INT", "LOOP", "RETURN", "RETURN"]
    )
    assert code.registers == 3


def test_calls_and_recursion() -> None:
    machine = vm(CALLS)
    assert machine.function("fib")(15) == 610


def test_endless_recursion_is_a_recursion_error() -> None:
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded") as caught:
        vm(CALLS).function("forever")(1)
    lines = lines_of(caught.value)
    assert set(lines) == {("calls.py", 6, "forever")}
    assert len(lines) == sys.getrecursionlimit() + 1


def test_a_traceback_shows_the_script_and_nothing_of_the_library() -> None:
    with pytest.raises(IndexError, match="list index out of range") as caught:
        vm(CALLS).function("outer")([1, 2])
    assert lines_of(caught.value) == [("calls.py", 12, "outer"), ("calls.py", 9, "inner")]
    with pytest.raises(IndexError) as caught:
        vm(CALLS).function("inlined")([1, 2])
    assert lines_of(caught.value) == [("calls.py", 15, "inlined"), ("calls.py", 9, "inner")]


def test_an_overflow_shows_its_line_with_carets() -> None:
    with pytest.raises(OverflowError, match="does not fit in 64 bits") as caught:
        vm(COLLATZ).function()(2**62 + 1)
    shown = "".join(traceback.format_exception(caught.value))
    assert '  File "collatz_steps.py", line 7, in collatz\n    n = 3 * n + 1\n        ~~^~~\n' in shown


def test_callee_as_native_code() -> None:
    machine = vm(CALLS)
    function = machine.function("fib")
    calls: list[int] = []

    def native(n: int) -> int:
        calls.append(n)
        return 100

    machine.executable("fib").native = native
    assert function(7) == 200
    assert calls == [6, 5]


def test_a_hot_function_is_offered() -> None:
    asked: list[str] = []

    def offer(graph: Graph) -> Any:
        asked.append(graph.name)
        return (lambda n: 1000) if len(asked) == 3 else None

    function = vm(CALLS, on_hot_function=offer, hot=10).function("fib")
    assert function(10) > 1000
    assert asked == ["fib"] * 3
    assert function(4) == 2000


def test_values_are_passed_by_reference() -> None:
    machine = vm(VALUES)
    xs, table = [1, 2], {"a": 1}
    assert machine.function("fill")(xs, table) is xs
    assert xs == [42, 2, 42]
    assert table == {"a": 1, "key": 42}


def test_objects() -> None:
    class Counter:
        def __init__(self) -> None:
            self.total = 3

    machine = vm(VALUES)
    counter = Counter()
    assert machine.function("bump")(counter, 4) == 7
    assert counter.total == 7
    made = machine.function("make")()
    assert (type(made).__name__, made.total) == ("Counter", 5)
    assert type(made) is type(machine.function("make")())
    with pytest.raises(AttributeError):
        machine.function("unset")()


def test_objects_have_the_users_class() -> None:
    class Counter:
        total: int

    program = parse_program(VALUES)
    declared = program.classes["Counter"]
    assert isinstance(declared, ClassType)
    declared.python = Counter
    assert isinstance(VM(program).function("make")(), Counter)


def test_containers_tuples_and_optionals() -> None:
    machine = vm(VALUES)
    items, table, pair, some, empty = machine.function("pack")(3, "k")
    assert (items, table, pair, some, empty) == ([3, 3], {"k": 3}, (3, "k"), 3, ())
    assert (pair.x, pair.y, type(pair).__name__) == (3, "k", "Pair")
    assert machine.function("pack")(3, "k")[0] is not items
    assert machine.function("second")((1, "b")) == "b"
    assert [machine.function("default")(o) for o in (None, 0, 5)] == [-1, 0, 5]


def test_step_limit() -> None:
    with pytest.raises(StepLimitError) as caught:
        vm(ENDLESS, step_limit=1000).function()()
    assert caught.value.__traceback__ is not None
    assert vm(COLLATZ, step_limit=1000).function()(6) == 8
    with pytest.raises(StepLimitError):
        vm(COLLATZ, step_limit=40).function()(6)


def test_trace() -> None:
    seen: list[tuple[str, int, list[Any]]] = []
    machine = vm(COLLATZ, trace=lambda function, at, registers: seen.append((function.code.name, at, list(registers[:1]))))
    assert machine.function()(4) == 2
    assert seen[0] == ("collatz", 0, [4])
    assert [at for _, at, _ in seen].count(4) == 2


@pytest.mark.parametrize("counting", [False, True])
def test_an_interrupt_stops_an_endless_loop(counting: bool) -> None:
    options: dict[str, Any] = {"on_hot_loop": lambda *_: None} if counting else {}
    function = vm(ENDLESS, **options).function()
    asked: list[float] = []

    def interrupt() -> None:
        asked.append(time.monotonic())
        _thread.interrupt_main()

    timer = threading.Timer(0.1, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        function()
    assert time.monotonic() - asked[0] < 0.1
    timer.join()


def test_ten_thousand_errors_leak_nothing() -> None:
    function = vm(CALLS).function("outer")

    def fail(times: int) -> None:
        for _ in range(times):
            with pytest.raises(IndexError):
                function([1])

    fail(100)
    gc.collect()
    before = len(gc.get_objects())
    fail(10_000)
    gc.collect()
    assert len(gc.get_objects()) - before < 100


@pytest.mark.parametrize("hot", [0, 1, 5, 50, 1000])
def test_a_hot_loop_is_taken_out(hot: int) -> None:
    asked: list[list[Any]] = []

    def offer(graph: Graph, loop: Node, values: Any) -> Any:
        asked.append(list(values))
        program = parse_program(COLLATZ)
        loop = next(node for node in program.main.walk() if node.kind in LOOPS)
        program.functions["rest"] = take_out(program.main, loop)
        return VM(program).function("rest")

    function = vm(COLLATZ, on_hot_loop=offer, hot=hot).function()
    assert [function(n) for n in (27, 97)] == [111, 118]
    assert len(asked) == (1 if hot < 110 else 0)


def test_the_outermost_loop_is_taken_out() -> None:
    program = parse_program(NESTED)
    outer, inner = [node for node in program.main.walk() if node.kind in LOOPS]
    asked: list[Node] = []

    def offer(graph: Graph, loop: Node, values: Any) -> Any:
        asked.append(loop)
        rest = take_out(graph, loop)
        return VM(Program(rest.name, {rest.name: rest})).function()

    assert VM(program, on_hot_loop=offer, hot=64).function()(50) == 50 * 49
    assert asked == [inner, outer]


def test_a_loop_that_cannot_be_taken_out_yet_is_offered_again() -> None:
    asked: list[Any] = []
    function = vm(COLLATZ, on_hot_loop=lambda *args: asked.append(args), hot=20).function()
    assert function(27) == 111
    assert len(asked) == 5
    with pytest.raises(OverflowError) as caught:
        function(2**62 + 1)
    assert lines_of(caught.value) == [("collatz_steps.py", 7, "collatz")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph @f() -> int:\n  %a: int = py::nothing()\n  return(%a)", "there is no operator py::nothing"),
        ('graph @f() -> int:\n  %a: int = prim::Call[callee="g"]()\n  return(%a)', "there is no function g"),
        ('graph @f() -> int:\n  %m: str = "x"\n  raise[cls="Nothing"](%m)', "there is no exception class Nothing"),
        ("graph @f(%x: int) -> int:\n  %a: int = prim::Strange(%x)\n  return(%a)", "does not know prim::Strange"),
    ],
)
def test_ir_without_meaning_is_refused(text: str, message: str) -> None:
    with pytest.raises(IRError, match=message):
        vm(text).function("f")


def test_a_wrong_number_of_arguments() -> None:
    with pytest.raises(TypeError, match=r"collatz\(\) takes 1 positional arguments but 2 were given"):
        vm(COLLATZ).function()(1, 2)


def test_eight_threads_make_and_call_one_function() -> None:
    machine = vm(CALLS)
    results: list[int] = []
    start = threading.Barrier(8)

    def work() -> None:
        start.wait()
        results.append(machine.function("fib")(12))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [144] * 8


def test_raise() -> None:
    function = vm('graph @f(%m: str) -> int:\n  raise[cls="KeyError"](%m)').function("f")
    with pytest.raises(KeyError, match="lost"):
        function("lost")


def test_the_types_of_live_values() -> None:
    found: list[Any] = []

    def offer(graph: Graph, loop: Node, values: Any) -> None:
        found.append([type(v) for v in values])
        assert graph.params[0].type == INT

    vm(COLLATZ, on_hot_loop=offer, hot=0).function()(3)
    assert found[0] == [int, int]
