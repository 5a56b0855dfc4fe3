"""The virtual machine: programs as Python callables.

In: a Program. Out: for each function a callable that executes its bytecode, ``VM(program).function(name)(*arguments)``. Values are
plain Python values; lists, dicts and objects are passed by reference. Errors are ordinary Python exceptions whose traceback
shows the user's own lines.

A loop that has run its back-edge `hot` times is offered to `on_hot_loop`; if that gives a callable, the callable runs the rest of
the loop (see `jitlang.interpreter.osr` for what it takes and returns) and the VM goes on behind it.
"""

from __future__ import annotations

import functools
import operator
import threading
from collections.abc import Callable, Sequence
from typing import Any

from jitlang.errors import IRError
from jitlang.interpreter.bytecode import Bytecode, Function, Instruction, Loop
from jitlang.interpreter.compiler import compile_graph
from jitlang.interpreter.loop import NUMBERS, dispatch_loop
from jitlang.ir.graph import Graph, Node, Program
from jitlang.source import SourceRange

OnHotLoop = Callable[[Graph, Node, Sequence[Any]], Callable[..., Any] | None]
OnHotFunction = Callable[[Graph], Callable[..., Any] | None]
Trace = Callable[["Executable", int, list[Any]], None]
Linked = list[Any]


def _fetch(registers: Sequence[int]) -> Callable[[list[Any]], tuple[Any, ...]]:
    """The function that takes these registers out of R as a tuple."""
    if len(registers) > 1:
        return operator.itemgetter(*registers)
    if not registers:
        return lambda R: ()
    (only,) = registers
    return lambda R: (R[only],)


class HotLoop:
    """A loop's counter, and its native code once there is some.

    Entering native code copies lists and dicts, so the outermost loop is the one to take out: when an inner loop is hot, the loops
    around it are offered at their next back-edge, and an inner loop is not entered again before it has done some work in the VM.
    """

    __slots__ = ("again", "around", "count", "executable", "head", "landings", "loop", "native", "offer")

    def __init__(self, executable: Executable, loop: Loop, hot: int, offer: OnHotLoop) -> None:
        self.executable = executable
        self.loop = loop
        self.offer = offer
        self.count = hot
        self.again = hot
        self.head: Linked = []
        self.around: list[HotLoop] = []
        self.landings: list[tuple[Linked, list[tuple[int, int]]]] = []
        self.native: Callable[..., Any] | None = None

    def enter(self, registers: list[Any]) -> Linked:
        """Called when the counter has run out, at the head of an iteration. Returns the instruction to go on with."""
        for outer in self.around:
            outer.count = min(outer.count, 0)
        values = [registers[r] for r in self.loop.inputs]
        if self.native is None:
            self.native = self.offer(self.executable.code.graph, self.loop.node, values)
        if self.native is None:
            self.count = self.again
            return self.head
        self.count = self.again // 8 if self.around else 0
        result: tuple[Any, ...] = self.native(*values)
        landing: Linked = self.landings[result[0]][0]
        for register, slot in self.landings[result[0]][1]:
            registers[register] = result[slot]
        return landing


class Executable:
    """A function, linked: what the dispatch loop runs.

    Args:
        code: its bytecode.
        vm: the machine it belongs to.

    `native`, when set, is called instead wherever the program calls this function.
    """

    __slots__ = ("again", "code", "count", "entry", "native", "on_hot_function", "parameters", "rest", "step_limit", "trace")

    def __init__(self, code: Bytecode, vm: VM) -> None:
        self.code = code
        self.native: Callable[..., Any] | None = None
        self.on_hot_function = vm.on_hot_function
        self.count = self.again = vm.hot
        self.parameters = code.parameters
        self.rest: list[Any] = [None] * (code.registers - code.parameters) + code.constants
        self.entry: Linked = []
        self.step_limit = vm.step_limit or 0
        self.trace = vm.trace

    def place(self, at: int) -> SourceRange | None:
        """The source range of instruction `at`, or of the nearest one before it that has one."""
        for index in range(at, -1, -1):
            if self.code.places[index] is not None:
                return self.code.places[index]
        return self.code.graph.range

    def enters_native(self, at: int) -> bool:
        """Whether instruction `at` may run a piece of this very function as native code."""
        return "l" in self.code.instructions[at].opcode.kinds

    def offer(self) -> None:
        """Called when the counter of calls has run out: asks for native code."""
        self.count = self.again
        if self.native is None and self.on_hot_function is not None:
            self.native = self.on_hot_function(self.code.graph)


class VM:
    """Executes the functions of a program.

    Args:
        program: what to run; it must not be changed any more.
        on_hot_loop: (graph, loop node, live-in values) → a callable that runs the rest of the loop, or None. Called again every
            `hot` back-edges until it gives one.
        on_hot_function: graph → a callable that replaces the function wherever the program calls it, or None. Called again every `hot`
            calls until it gives one.
        hot: how many back-edges make a loop hot, and how many calls a function.
        step_limit: how many instructions one call may execute; StepLimitError after that.
        trace: called as (executable, index of the instruction, registers) before each instruction.
    """

    def __init__(
        self,
        program: Program,
        *,
        on_hot_loop: OnHotLoop | None = None,
        on_hot_function: OnHotFunction | None = None,
        hot: int = 1000,
        step_limit: int | None = None,
        trace: Trace | None = None,
    ) -> None:
        self.program = program
        self.on_hot_loop = on_hot_loop
        self.on_hot_function = on_hot_function
        self.hot = hot
        self.step_limit = step_limit
        self.trace = trace
        self.executables: dict[str, Executable] = {}
        self._lock = threading.RLock()

    def function(self, name: str | None = None) -> Callable[..., Any]:
        """The callable of a function (None: the program's entry); arguments are positional, their types are not checked.

        IRError if there is no such function, or if the IR of it or of a callee has no meaning.
        """
        run = dispatch_loop(self.step_limit is not None, self.trace is not None)
        # A partial is no Python frame: the caller's frame and the script's own are neighbours in a traceback.
        return functools.partial(run, self.executable(name or self.program.entry))

    def executable(self, name: str) -> Executable:
        """The linked function of that name; compiles it and its callees when it is first asked for."""
        with self._lock:  # another thread must not see a function before it is linked
            return self.executables.get(name) or self._make(name)

    def _make(self, name: str) -> Executable:
        graph = self.program.functions.get(name)
        if graph is None:
            raise IRError(f"there is no function {name}")
        made = Executable(compile_graph(graph, self.program), self)
        self.executables[name] = made
        try:
            self._link(made)
        except BaseException:
            del self.executables[name]
            raise
        return made

    def _link(self, executable: Executable) -> None:
        """Turns instructions into the chain of lists that the dispatch loop follows."""
        code = executable.code
        loops: list[Any] = []
        removed = {"JUMP"} if self.on_hot_loop is not None else {"JUMP", "LOOP"}
        nodes: list[Linked] = [[0, None, None, None, index, None] for index in range(len(code.instructions))]

        def target(index: int) -> Linked:
            first = index
            while (item := code.instructions[index]).opcode.name in removed:
                index = code.loops[item.operands[2]].head if item.opcode.counting else item.operands[0]
                if index == first:
                    break  # an endless loop with nothing in it stays
            return nodes[index]

        for loop in code.loops:
            if self.on_hot_loop is None:
                loops.append(target(loop.head))
                continue
            hot = HotLoop(executable, loop, self.hot, self.on_hot_loop)
            hot.head = target(loop.head)
            hot.landings = [(target(landing.at), landing.writes) for landing in loop.landings]
            hot.around = [other for other in loops if other.loop.node.encloses(loop.node)]
            loops.append(hot)
        for index, item in enumerate(code.instructions):
            node = nodes[index]
            node[0] = NUMBERS[self._form(item)]
            for position, (kind, operand) in enumerate(item.pairs, start=1):
                node[position] = self._operand(kind, operand, target, loops)
            if index + 1 < len(nodes):
                node[5] = target(index + 1)
        executable.entry = target(0)

    def _form(self, item: Instruction) -> str:
        hook = self.on_hot_function if item.opcode.name == "CALL" else self.on_hot_loop
        return item.opcode.counting if item.opcode.counting and hook is not None else item.opcode.name

    def _operand(self, kind: str, operand: Any, target: Callable[[int], Linked], loops: list[Any]) -> Any:
        if kind == "j":
            return target(operand)
        if kind == "l":
            return loops[operand]
        if kind == "S":
            return _fetch(operand)
        if kind == "g":
            return self.executable(operand)
        return operand.call if isinstance(operand, Function) else operand
