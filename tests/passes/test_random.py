"""Random IR programs: every pass, alone and in pipelines, keeps results, exceptions and what happens to lists.

The generator makes structured control flow with exits to any enclosing node, operators that raise, and lists that may
be the same object. Every loop ends: a While counts down.
"""

from __future__ import annotations

import copy
import os
import random
from collections.abc import Callable
from typing import Any

import pytest

from jitlang.interpreter.vm import VM
from jitlang.ir.equal import program_difference
from jitlang.ir.graph import Block, Graph, Node, Program, Value
from jitlang.ir.printer import print_program
from jitlang.ir.reader import parse_program
from jitlang.ir.verifier import verify_program
from jitlang.passes.manager import PASSES, run_pipeline
from jitlang.types import BOOL, FLOAT, INT, STR, DictType, ListType, Type

INTS = ListType(INT)
TABLE = DictType(INT, INT)
COUNT = int(os.environ.get("RANDOM_PROGRAMS", "60"))
PIPELINES: list[Any] = [*PASSES, 1, 2, "unroll(max_trips=20,max_nodes=3000),exits,carried,cse,licm,dce,exits,fold,peephole"]
OPERATORS: list[tuple[str, tuple[Type, ...], Type]] = [
    *((f"py::{name}", (INT, INT), INT) for name in ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "min", "max")),
    *((f"py::{name}", (FLOAT, FLOAT), FLOAT) for name in ("add", "sub", "mul", "truediv", "min", "max")),
    *((f"py::{name}", (INT, INT), BOOL) for name in ("eq", "ne", "lt", "le", "gt", "ge")),
    *((f"py::{name}", (FLOAT, FLOAT), BOOL) for name in ("eq", "ne", "lt", "le", "gt", "ge")),
    *((f"py::{name}", (BOOL, BOOL), BOOL) for name in ("and", "or", "xor", "eq", "ne")),
    ("py::neg", (INT,), INT),
    ("py::neg", (FLOAT,), FLOAT),
    ("py::abs", (FLOAT,), FLOAT),
    ("py::invert", (INT,), INT),
    ("py::not", (BOOL,), BOOL),
    ("py::float", (INT,), FLOAT),
    ("py::int", (BOOL,), INT),
    ("py::bool", (INT,), BOOL),
    ("py::len", (INTS,), INT),
    ("py::getitem", (INTS, INT), INT),
    ("py::getitem", (INTS, INT), INT),
    ("py::copy", (INTS,), INTS),
    ("py::contains", (INTS, INT), BOOL),
    ("py::contains", (TABLE, INT), BOOL),
    ("py::getitem", (TABLE, INT), INT),
    ("py::get", (TABLE, INT, INT), INT),
    ("py::len", (TABLE,), INT),
]
CONSTANTS: dict[Type, list[Any]] = {INT: [0, 1, -1, 2, 3, 2**63 - 1, -(2**63)], FLOAT: [0.0, -0.0, 1.0, 2.5, float("inf"), float("nan")], BOOL: [True, False]}


class Generator:
    """One random program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.size = 0
        self.functions: dict[str, Graph] = {}

    def program(self) -> Program:
        """Two helpers and an entry that may call them."""
        for name, count in (("g", 8), ("h", 10), ("f", 45)):
            self.functions[name] = self.function(name, count)
        return Program("f", dict(reversed(self.functions.items())))

    def function(self, name: str, size: int) -> Graph:
        graph = Graph(name, INT)
        params = [graph.block.add_param(t, n) for t, n in ((INT, "a"), (FLOAT, "x"), (BOOL, "p"), (INTS, "l"), (INTS, "m"), (TABLE, "d"), (TABLE, "e"))]
        self.size = size
        self.statements(graph.block, params, [])
        if not graph.block.terminated:
            graph.block.append(Node("prim::return", [self.value(graph.block, params, INT)]))
        return graph

    def emit(self, block: Block, kind: str, inputs: list[Value], types: list[Type], **attributes: Any) -> Node:
        return block.append(Node(kind, inputs, types, **attributes))

    def value(self, block: Block, scope: list[Value], kind: Type) -> Value:
        """A value of that type that can be read at the end of `block`."""
        known = [v for v in scope if v.type == kind]
        if kind == INTS and (not known or self.random.random() < 0.2):
            return self.emit(block, "prim::List", [self.value(block, scope, INT)], [INTS]).output
        if kind not in (INTS, TABLE) and (not known or self.random.random() < 0.2):
            return self.emit(block, "prim::Constant", [], [kind], value=self.random.choice(CONSTANTS[kind])).output
        return self.random.choice(known[-8:] if self.random.random() < 0.7 else known)

    def statements(self, block: Block, scope: list[Value], targets: list[Node]) -> None:
        """Appends statements; `scope` belongs to this block, `targets` are the structured nodes around it."""
        for _ in range(self.random.randint(1, 6)):
            if self.size <= 0 or block.terminated:
                return
            self.size -= 1
            chosen: Callable[[Block, list[Value], list[Node]], None] = self.random.choices(
                [self.operator, self.write, self.branch, self.loop, self.region, self.jump, self.call], [12, 2, 3, 2, 1, 1 if targets else 0, 1]
            )[0]
            chosen(block, scope, targets)

    def operator(self, block: Block, scope: list[Value], targets: list[Node]) -> None:
        kind, types, result = self.random.choice(OPERATORS)
        inputs = [self.value(block, scope, t) for t in types]
        scope.append(self.emit(block, kind, inputs, [result]).output)

    def write(self, block: Block, scope: list[Value], targets: list[Node]) -> None:
        kind = self.random.choice(["py::append", "py::setitem", "py::pop", "table", "table"])
        if kind == "table":
            self.write_table(block, scope)
            return
        items = self.value(block, scope, INTS)
        if kind == "py::append":
            self.emit(block, kind, [items, self.value(block, scope, INT)], [])
        elif kind == "py::setitem":
            self.emit(block, kind, [items, self.value(block, scope, INT), self.value(block, scope, INT)], [])
        else:
            scope.append(self.emit(block, kind, [items, self.value(block, scope, INT)], [INT]).output)

    def write_table(self, block: Block, scope: list[Value]) -> None:
        """One to three accesses of one key."""
        items, key = self.value(block, scope, TABLE), self.value(block, scope, INT)
        for kind in self.random.choices(["py::contains", "py::getitem", "py::get", "py::setitem", "py::delitem"], [2, 2, 2, 3, 1], k=self.random.randint(1, 3)):
            if kind == "py::delitem" or kind == "py::getitem" and self.random.random() < 0.5:
                there = self.emit(block, "py::contains", [items, key], [BOOL]).output
                test = block.append(Node("prim::If", [there], []))
                self.emit(test.add_block(), kind, [items, key], [INT] if kind == "py::getitem" else [])
                test.add_block()
                for inner in test.blocks:
                    inner.append(Node("prim::yield"))
                continue
            types: list[Type] = [] if kind == "py::setitem" else [BOOL if kind == "py::contains" else INT]
            rest = [self.value(block, scope, INT)] if kind in ("py::get", "py::setitem") else []
            scope += self.emit(block, kind, [items, key, *rest], types).outputs

    def call(self, block: Block, scope: list[Value], targets: list[Node]) -> None:
        if self.functions:
            name = self.random.choice(list(self.functions))
            inputs = [self.value(block, scope, t) for t in (INT, FLOAT, BOOL, INTS, INTS, TABLE, TABLE)]
            scope.append(self.emit(block, "prim::Call", inputs, [INT], callee=name).output)

    def types(self) -> list[Type]:
        return [self.random.choice([INT, FLOAT, BOOL, INTS, INT]) for _ in range(self.random.randint(0, 3))]

    def values(self, block: Block, scope: list[Value], types: list[Type]) -> list[Value]:
        return [self.value(block, scope, t) for t in types]

    def jump(self, block: Block, scope: list[Value], targets: list[Node]) -> None:
        """Leaves the block, half of the time inside a branch."""
        if self.random.random() < 0.7:
            self.branch(block, scope, targets, jumps=True)
            return
        choice = self.random.random()
        if choice < 0.2 or not targets:
            block.append(Node("prim::return", [self.value(block, scope, INT)]))
        elif choice < 0.3:
            message = self.emit(block, "prim::Constant", [], [STR], value="stop").output
            block.append(Node("prim::raise", [message], cls="ValueError"))
        else:
            target = self.random.choice(targets)
            if target.kind != "prim::Region" and self.random.random() < 0.5 and target.kind != "prim::While":
                types = [p.type for p in target.blocks[0].params[1:]]
                block.append(Node("prim::next", self.values(block, scope, types), target=target))
            else:
                block.append(Node("prim::exit", self.values(block, scope, [o.type for o in target.outputs]), target=target))

    def branch(self, block: Block, scope: list[Value], targets: list[Node], jumps: bool = False) -> None:
        node = Node("prim::If", [self.value(block, scope, BOOL)], self.types())
        block.append(node)
        for number in range(2):
            inner, seen = node.add_block(), list(scope)
            if jumps and number == 0:
                self.jump(inner, seen, targets)
            else:
                self.statements(inner, seen, targets)
            if not inner.terminated:
                inner.append(Node("prim::yield", self.values(inner, seen, [o.type for o in node.outputs])))
        if all(b.terminator.kind != "prim::yield" for b in node.blocks):
            block.append(Node("prim::unreachable"))
        scope += node.outputs

    def region(self, block: Block, scope: list[Value], targets: list[Node]) -> None:
        node = block.append(Node("prim::Region", (), self.types()))
        inner, seen = node.add_block(), list(scope)
        self.statements(inner, seen, [*targets, node])
        if not inner.terminated:
            inner.append(Node("prim::yield", self.values(inner, seen, [o.type for o in node.outputs])))
        scope += node.outputs

    def loop(self, block: Block, scope: list[Value], targets: list[Node]) -> None:
        if self.random.random() < 0.3:
            self.while_loop(block, scope, targets)
            return
        types = self.types()
        bounds = [self.emit(block, "prim::Constant", [], [INT], value=v).output for v in (0, self.random.randint(0, 4), self.random.choice([1, 2]))]
        if self.random.random() < 0.3:
            bounds[1] = self.emit(block, "py::and", [self.value(block, scope, INT), bounds[1]], [INT]).output
        node = Node("prim::For", [*bounds, *self.values(block, scope, types)], types)
        inner = node.add_block()
        seen = [*scope, *(inner.add_param(t) for t in [INT, *types])]
        block.append(node)
        self.statements(inner, seen, [*targets, node])
        if not inner.terminated:
            inner.append(Node("prim::yield", self.values(inner, seen, types)))
        scope += node.outputs

    def while_loop(self, block: Block, scope: list[Value], targets: list[Node]) -> None:
        """A While that counts down from 3; nothing but its end repeats it."""
        types = self.types()
        zero, one, start = (self.emit(block, "prim::Constant", [], [INT], value=v).output for v in (0, 1, 3))
        node = Node("prim::While", [start, *self.values(block, scope, types)], self.types())
        inner = node.add_block()
        counter, *params = (inner.add_param(t) for t in [INT, *types])
        seen = [*scope, *params]
        block.append(node)
        done = self.emit(inner, "py::le", [counter, zero], [BOOL]).output
        test = self.emit(inner, "prim::If", [done], [])
        test.add_block()
        test.add_block().append(Node("prim::yield"))
        test.blocks[0].append(Node("prim::exit", self.values(test.blocks[0], seen, [o.type for o in node.outputs]), target=node))
        self.statements(inner, seen, [*targets, node])
        if not inner.terminated:
            fewer = self.emit(inner, "py::sub", [counter, one], [INT]).output
            inner.append(Node("prim::yield", [fewer, *self.values(inner, seen, types)]))
        scope += node.outputs


def outcome(program: Program, arguments: tuple[Any, ...]) -> str:
    arguments = copy.deepcopy(arguments)
    try:
        result = repr(VM(program).function("f")(*arguments))
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
    return f"{result} {arguments!r}"


def arguments_of(seed: int) -> list[tuple[Any, ...]]:
    choose = random.Random(seed)
    shared = [choose.randint(-2, 4) for _ in range(choose.randint(0, 4))]

    def pick(kind: Type) -> Any:
        return choose.choice(CONSTANTS[kind])

    table = {choose.randint(-1, 3): choose.randint(-2, 4) for _ in range(4)}
    return [
        (pick(INT), pick(FLOAT), pick(BOOL), shared, shared, table, table),
        (pick(INT), pick(FLOAT), pick(BOOL), [1, 2, 3], [0], {0: 1, 1: 0}, {1: 2, -1: 3}),
    ]


@pytest.mark.parametrize("seed", range(COUNT))
def test_passes_change_nothing(seed: int) -> None:
    text = print_program(Generator(seed).program())
    program = parse_program(text)
    verify_program(program)
    assert program_difference(program, parse_program(print_program(program))) is None
    calls = arguments_of(seed)
    expected = [outcome(program, call) for call in calls]
    for pipeline in PIPELINES:
        changed = parse_program(text)
        run_pipeline(changed, pipeline)
        verify_program(changed)
        assert [outcome(changed, call) for call in calls] == expected, f"seed {seed}, after {pipeline}:\n{text}"
