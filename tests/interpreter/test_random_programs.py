"""Random structured programs: the VM against a direct evaluation of the IR, and loops taken out at every iteration."""

import operator
import random
from collections.abc import Callable
from typing import Any

import pytest

from jitlang.interpreter.osr import plan, take_out
from jitlang.interpreter.vm import VM
from jitlang.ir.graph import LOOPS, Block, Graph, Node, Program, Value
from jitlang.ir.verifier import verify_graph
from jitlang.types import BOOL, INT, STR, ListType, Type

OPERATORS: dict[str, Callable[..., Any]] = {
    "py::add": operator.add,
    "py::sub": operator.sub,
    "py::mul": operator.mul,
    "py::mod": operator.mod,
    "py::lt": operator.lt,
    "py::ge": operator.ge,
    "py::eq": operator.eq,
    "py::not": operator.not_,
    "py::append": list.append,
}


class Left(Exception):
    """Control leaves towards `target` (None: the function); `again` for a next."""

    def __init__(self, target: Node | None, again: bool, values: list[Any]) -> None:
        self.target, self.again, self.values = target, again, values


class Evaluator:
    """Evaluates a graph by walking its nodes."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def __call__(self, *arguments: Any) -> Any:
        self.env: dict[Value, Any] = dict(zip(self.graph.params, arguments, strict=True))
        try:
            self.block(self.graph.block)
        except Left as left:
            return left.values[0]
        raise AssertionError("the function has not returned")

    def read(self, values: list[Value]) -> list[Any]:
        return [self.env[v] for v in values]

    def block(self, block: Block) -> list[Any]:
        for node in block.nodes:
            values = self.read(node.inputs)
            match node.kind:
                case "prim::yield":
                    return values
                case "prim::exit" | "prim::next":
                    raise Left(node.target, node.kind == "prim::next", values)
                case "prim::return":
                    raise Left(None, False, values)
                case "prim::raise":
                    raise ValueError(values[0])
                case _:
                    self.env.update(zip(node.outputs, self.node(node, values), strict=True))
        raise AssertionError("a block has no terminator")

    def node(self, node: Node, values: list[Any]) -> list[Any]:
        match node.kind:
            case "prim::Constant":
                return [node.attributes["value"]]
            case "prim::Uninitialized":
                return [None]
            case "prim::Tuple":
                return [tuple(values)]
            case "prim::If":
                return self.block(node.blocks[0 if values[0] else 1])
            case "prim::Region" | "prim::While" | "prim::For":
                return self.structured(node, values)
        result = OPERATORS[node.kind](*values)
        return [result] if node.outputs else []

    def structured(self, node: Node, values: list[Any]) -> list[Any]:
        body = node.blocks[0]
        try:
            if node.kind == "prim::Region":
                return self.block(body)
            if node.kind == "prim::While":
                while True:
                    values = self.iterate(node, values)
            carried = values[3:]
            for i in range(*values[:3]):
                carried = self.iterate(node, [i, *carried])
            return carried
        except Left as left:
            if left.target is node and not left.again:
                return left.values
            raise

    def iterate(self, node: Node, values: list[Any]) -> list[Any]:
        self.env.update(zip(node.blocks[0].params, values, strict=True))
        try:
            return self.block(node.blocks[0])
        except Left as left:
            if left.target is node and left.again:
                return left.values
            raise


class Generator:
    """Makes a random function of (int, int, log) that ends: every loop is bounded."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.graph = Graph("main", INT)
        self.scope = [self.graph.block.add_param(INT, "a"), self.graph.block.add_param(INT, "b")]
        self.log = self.graph.block.add_param(ListType(INT), "log")
        self.targets: list[tuple[Node, list[Value]]] = []  # an open node, and what a `next` to it must carry first
        self.fuel = 60
        self.statements(self.graph.block, 0)
        self.add(self.graph.block, "prim::return", [self.pick()])

    def add(self, block: Block, kind: str, inputs: list[Value] | tuple[Value, ...] = (), *types: Type, **more: Any) -> Node:
        return block.append(Node(kind, inputs, types, **more))

    def constant(self, block: Block, value: Any) -> Value:
        return self.add(block, "prim::Constant", (), STR if isinstance(value, str) else INT, value=value).output

    def pick(self) -> Value:
        return self.random.choice(self.scope[-6:] if self.random.random() < 0.7 else self.scope)

    def some(self, count: int) -> list[Value]:
        return [self.pick() for _ in range(count)]

    def condition(self, block: Block) -> Value:
        kind = self.random.choice(["py::lt", "py::ge", "py::eq"])
        value = self.add(block, kind, self.some(2), BOOL).output
        return self.add(block, "py::not", [value], BOOL).output if self.random.random() < 0.2 else value

    def small(self, block: Block, value: Value, modulus: int) -> Value:
        return self.add(block, "py::mod", [value, self.constant(block, modulus)], INT).output

    def statements(self, block: Block, depth: int) -> None:
        for _ in range(self.random.randint(1, 4)):
            self.fuel -= 1
            choice = self.random.random()
            if choice < 0.35:
                kind = self.random.choice(["py::add", "py::sub", "py::mul"])
                value = self.add(block, kind, self.some(2), INT).output
                self.scope.append(self.small(block, value, 1009))
            elif choice < 0.5:
                self.add(block, "py::append", [self.log, self.pick()])
            elif choice < 0.6:
                self.scope.append(self.constant(block, self.random.randint(-3, 9)))
            elif depth < 4 and self.fuel > 0:
                self.structured(block, depth)

    def structured(self, block: Block, depth: int) -> None:
        kind = self.random.choice(["prim::If", "prim::If", "prim::For", "prim::While", "prim::Region"])
        count = self.random.randint(0, 3)
        if kind == "prim::If":
            node = self.add(block, kind, [self.condition(block)], *[INT] * count)
            for _ in range(2):
                self.body(node, node.add_block(), count, depth, [])
        elif kind == "prim::Region":
            node = self.add(block, kind, [], *[INT] * count)
            self.body(node, node.add_block(), count, depth, [])
        elif kind == "prim::For":
            step = self.constant(block, self.random.choice([1, 1, 1, 2, -1])) if self.random.random() < 0.9 else self.small(block, self.pick(), 3)
            bounds = [self.small(block, self.pick(), 3), self.small(block, self.pick(), 7), step]
            node = self.add(block, kind, bounds + self.some(count), *[INT] * count)
            self.loop(node, count, depth, [INT, *[INT] * count])
        else:
            node = self.add(block, kind, [self.constant(block, 0), *self.some(count)], *[INT] * count)
            self.loop(node, count, depth, [INT, *[INT] * count])
        self.scope.extend(node.outputs)

    def loop(self, node: Node, count: int, depth: int, types: list[Type]) -> None:
        body = node.add_block()
        params = [body.add_param(t) for t in types]
        keep = len(self.scope)
        self.scope.extend(params)
        first: list[Value] = []
        if node.kind == "prim::While":
            bound = self.constant(body, self.random.randint(0, 5))
            done = self.add(body, "py::ge", [params[0], bound], BOOL).output
            test = self.add(body, "prim::If", [done])
            self.add(test.add_block(), "prim::exit", self.some(count), target=node)
            self.add(test.add_block(), "prim::yield")
            first = [self.add(body, "py::add", [params[0], self.constant(body, 1)], INT).output]
        self.targets.append((node, first))
        self.body(node, body, count, depth, first)
        self.targets.pop()
        del self.scope[keep:]

    def body(self, node: Node, block: Block, count: int, depth: int, first: list[Value]) -> None:
        keep = len(self.scope)
        region = node.kind == "prim::Region"
        if region:
            self.targets.append((node, []))
        self.statements(block, depth + 1)
        if self.random.random() < (0.35 if node.kind == "prim::If" else 0.05):
            self.leave(block)
        else:
            self.add(block, "prim::yield", first + self.some(count))
        if region:
            self.targets.pop()
        del self.scope[keep:]

    def leave(self, block: Block) -> None:
        choice = self.random.random()
        if choice < 0.1:
            self.add(block, "prim::raise", [self.constant(block, "stop")], cls="ValueError")
        elif choice < 0.3 or not self.targets:
            self.add(block, "prim::return", [self.pick()])
        else:
            target, first = self.random.choice(self.targets)
            again = target.kind != "prim::Region" and self.random.random() < 0.5
            values = first + self.some(len(target.outputs)) if again else self.some(len(target.outputs))
            self.add(block, "prim::next" if again else "prim::exit", values, target=target)


def outcome(function: Callable[..., Any], *arguments: int) -> tuple[Any, ...]:
    """What a call gives, and what it has written to the log."""
    log: list[int] = []
    try:
        return "value", function(*arguments, log), log
    except ValueError as error:
        return "raises", str(error), log


ARGUMENTS = [(0, 0), (3, 5), (-7, 2), (1000, 6)]


@pytest.mark.parametrize("first", range(0, 120, 30))
def test_the_vm_agrees_with_direct_evaluation(first: int) -> None:
    for seed in range(first, first + 30):
        graph = Generator(seed).graph
        verify_graph(graph)
        function = VM(Program("main", {"main": graph})).function()
        for arguments in ARGUMENTS:
            assert outcome(function, *arguments) == outcome(Evaluator(graph), *arguments), (seed, arguments)


def taken_out_at(graph: Graph, loop: Node, iteration: int, made: Callable[[Graph], Callable[..., Any]]) -> Callable[..., Any]:
    """The function run by the VM, with `loop` taken out after `iteration` more back-edges."""

    def offer(found: Graph, node: Node, values: Any) -> Callable[..., Any] | None:
        assert found is graph
        inputs = plan(node).inputs
        assert [isinstance(value, list) for value in values] == [value.type != INT for value in inputs]
        assert None not in values
        return made(take_out(graph, loop)) if node is loop else None

    return VM(Program("main", {"main": graph}), on_hot_loop=offer, hot=iteration).function()


@pytest.mark.parametrize("first", range(0, 32, 8))
def test_taking_a_loop_out_at_any_iteration_changes_nothing(first: int) -> None:
    for seed in range(first, first + 8):
        graph = Generator(seed).graph
        for loop in [node for node in graph.walk() if node.kind in LOOPS]:
            rest = take_out(graph, loop)
            verify_graph(rest)
            inner = VM(Program(rest.name, {rest.name: rest})).function()
            for arguments in ARGUMENTS:
                expected = outcome(Evaluator(graph), *arguments)
                for iteration in range(4):
                    by_vm = taken_out_at(graph, loop, iteration, lambda _, inner=inner: inner)  # type: ignore[misc]
                    by_evaluator = taken_out_at(graph, loop, iteration, Evaluator)
                    assert outcome(by_vm, *arguments) == expected, (seed, arguments, iteration)
                    assert outcome(by_evaluator, *arguments) == expected, (seed, arguments, iteration)
