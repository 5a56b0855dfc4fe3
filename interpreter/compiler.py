"""IR to bytecode, one function at a time.

In: a Graph and the Program it belongs to. Out: `Bytecode`. Control flow becomes jumps; what a block's end carries to the outputs of
an If or Region or round a loop becomes a parallel move; `jitlang.interpreter.allocation` then gives every value a register and makes
most moves vanish. Constants stand in registers behind the others, so every operand of every instruction may be one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from jitlang.errors import IRError
from jitlang.interpreter.allocation import Allocation, Step, allocate, sequence_moves
from jitlang.interpreter.bytecode import Bytecode, Function, Instruction, Landing, Loop, instruction, verify
from jitlang.interpreter.meaning import exception_class, object_class, operator_callable, python_class, tuple_class
from jitlang.interpreter.opcodes import BY_NAME, specialised
from jitlang.interpreter.osr import RETURNED, Plan, plan
from jitlang.ir.graph import Block, Graph, Node, Program, Value
from jitlang.ir.rows import row_of
from jitlang.source import SourceRange
from jitlang.types import ClassType, TupleType

Label = int
MOVES = "MOVES"  # the parallel move; exists only in here


@dataclasses.dataclass
class _Item:
    """An instruction before allocation: registers are virtual, jump targets are labels; registers below 0 are constants."""

    name: str
    operands: tuple[Any, ...]
    where: SourceRange | None
    depth: int

    def registers(self, kinds: str) -> list[int]:
        """The virtual registers among the operands of these kinds."""
        if self.name == MOVES:
            return [r for r in self.operands[0 if kinds == "duD" else 1] if r >= 0]
        found: list[int] = []
        for kind, operand in zip(BY_NAME[self.name].kinds, self.operands, strict=True):
            if kind in kinds:
                found.extend(operand if kind in "DS" else (operand,))
        return [r for r in found if r >= 0]


@dataclasses.dataclass
class _Exit:
    """What a terminator needs to know of an open structured node: where its values go and where control goes."""

    outputs: list[int]
    end: Label
    carried: list[int] = dataclasses.field(default_factory=list)
    again: Label = -1


@dataclasses.dataclass
class _Open:
    """A loop being compiled."""

    node: Node
    head: Label
    end: Label
    plan: Plan


def list_of(values: tuple[Any, ...]) -> list[Any]:
    """A list of these elements."""
    return list(values)


def dict_of(values: tuple[Any, ...]) -> dict[Any, Any]:
    """A dict of key, value, key, value …"""
    return dict(zip(values[::2], values[1::2], strict=True))


def set_of(values: tuple[Any, ...]) -> set[Any]:
    """A set of these elements."""
    return set(values)


_MAKERS: dict[str, Function] = {
    "prim::List": Function("list", list_of),
    "prim::Dict": Function("dict", dict_of),
    "prim::Set": Function("set", set_of),
}


def compile_graph(graph: Graph, program: Program) -> Bytecode:
    """The bytecode of one function; IRError for IR that has no meaning (an unknown operator, class or function)."""
    return _Compiler(graph, program).compile()


class _Compiler:
    def __init__(self, graph: Graph, program: Program) -> None:
        self.graph = graph
        self.program = program
        self.items: list[_Item] = []
        self.labels: list[int] = []  # the position of each label
        self.count = 0
        self.register: dict[Value, int] = {}
        self.constants: list[Any] = []
        self.constant_of: dict[tuple[type, str], int] = {}
        self.exits: dict[Node, _Exit] = {}
        self.loops: list[_Open] = []
        self.terminators: dict[Node, int] = {}
        self.epilogue: tuple[int, int] = (-1, -1)
        self.placed = -1  # where the last label was placed
        self.depth = 0
        self.where: SourceRange | None = graph.range

    # ---- registers, labels, instructions

    def fresh(self) -> int:
        self.count += 1
        return self.count - 1

    def define(self, value: Value) -> int:
        self.register[value] = self.fresh()
        return self.register[value]

    def read(self, value: Value) -> int:
        try:
            return self.register[value]
        except KeyError:
            raise IRError(f"{self.graph.name}: %{value.name} is used where it is not defined") from None

    def reads(self, values: Sequence[Value]) -> tuple[int, ...]:
        return tuple(map(self.read, values))

    def constant(self, value: Any) -> int:
        """The (negative) register of a constant; equal scalars share one."""
        key = (type(value), repr(value))
        if isinstance(value, int | float | str | bool | None) and key in self.constant_of:
            return self.constant_of[key]
        self.constants.append(value)
        self.constant_of[key] = -len(self.constants)
        return -len(self.constants)

    def label(self) -> Label:
        self.labels.append(-1)
        return len(self.labels) - 1

    def place(self, label: Label) -> None:
        self.labels[label] = len(self.items)
        self.placed = len(self.items)

    def emit(self, name: str, *operands: Any) -> None:
        self.items.append(_Item(name, operands, self.where, self.depth))

    def move(self, targets: Sequence[int], sources: Sequence[int]) -> None:
        if targets:
            self.emit(MOVES, tuple(targets), tuple(sources))

    # ---- the function

    def compile(self) -> Bytecode:
        for param in self.graph.params:
            self.define(param)
        self.block(self.graph.block)
        if self.loops:
            # Where a loop that ran as native code and returned from the function goes on; nothing else leads here.
            self.epilogue = (len(self.items), self.fresh())
            self.emit("RETURN", self.epilogue[1])
        code = self.assemble(allocate(self.steps(), self.count, len(self.graph.params)))
        verify(code)
        return code

    def block(self, block: Block) -> None:
        for node in block.nodes:
            self.where = node.range or self.where
            self.node(node)
        # A While without exit may end a block, too.
        if not block.terminated and not (block.nodes and block.nodes[-1].kind == "prim::While"):
            raise IRError(f"{self.graph.name}: a block has no terminator")

    def node(self, node: Node) -> None:
        handler = _HANDLERS.get(node.kind)
        if handler is not None:
            handler(self, node)
        elif node.kind in _MAKERS:
            self.emit("MAKE", self.define(node.output), _MAKERS[node.kind], self.reads(node.inputs))
        elif node.kind.startswith("prim::"):
            raise IRError(f"{self.graph.name}: the interpreter does not know {node.kind}")
        else:
            self.operator(node)

    # ---- operators

    def operator(self, node: Node) -> None:
        row = row_of(node)
        full_name = f"{row.namespace}::{row.qualified}"
        sources = self.reads(node.inputs)
        special = specialised(full_name)
        if special is not None and special.kinds[len(special.kinds) - len(sources) :] == ("s",) * len(sources):
            target = [self.target(node)] if special.kinds[0] == "d" else []
            self.emit(special.name, *target, *sources)
            return
        function = Function(full_name, operator_callable(row))
        if len(node.outputs) > 1:
            self.emit("APPLY_MANY", tuple(map(self.define, node.outputs)), function, sources)
        elif len(sources) == 1:
            self.emit("APPLY_1", self.target(node), function, sources[0])
        else:
            self.emit("APPLY", self.target(node), function, sources)

    def target(self, node: Node) -> int:
        return self.define(node.output) if node.outputs else self.fresh()

    # ---- values

    def literal(self, node: Node) -> None:
        self.register[node.output] = self.constant(node.attributes.get("value"))

    def same(self, node: Node) -> None:
        """prim::Some, prim::Unwrap, prim::Cast: another type, the same Python value."""
        source = self.read(node.inputs[0])
        self.move([self.define(node.output)], [source])

    def make_tuple(self, node: Node) -> None:
        sources = self.reads(node.inputs)
        made = node.output.type
        target = self.define(node.output)
        if isinstance(made, TupleType) and made.name:
            self.emit("APPLY", target, Function(made.name, tuple_class(made, self.program)), sources)
        else:
            self.emit("TUPLE", target, sources)

    def index(self, node: Node) -> None:
        source = self.read(node.inputs[0])
        self.emit("INDEX", self.define(node.output), source, node.attributes["index"])

    def new(self, node: Node) -> None:
        name, made = node.attributes["cls"], node.output.type
        cls = python_class(self.program.classes.get(name)) or (object_class(made) if isinstance(made, ClassType) else None)
        if cls is None:
            raise IRError(f"{self.graph.name}: there is no class {name}")
        self.emit("NEW", self.define(node.output), cls)

    def get_attribute(self, node: Node) -> None:
        source = self.read(node.inputs[0])
        self.emit("GET_ATTRIBUTE", self.define(node.output), source, node.attributes["name"])

    def set_attribute(self, node: Node) -> None:
        self.emit("SET_ATTRIBUTE", self.read(node.inputs[0]), node.attributes["name"], self.read(node.inputs[1]))

    def call(self, node: Node) -> None:
        callee = node.attributes["callee"]
        if callee not in self.program.functions:
            raise IRError(f"{self.graph.name}: there is no function {callee}")
        if len(node.inputs) != len(self.program.functions[callee].params):
            raise IRError(f"{self.graph.name}: {callee} is called with {len(node.inputs)} arguments")
        sources = self.reads(node.inputs)
        self.emit("CALL", self.target(node), callee, sources)

    # ---- structured nodes

    def branch(self, condition: Value, otherwise: Label) -> None:
        """Goes on if `condition` holds, else to `otherwise`; a comparison just emitted becomes one with the branch."""
        register = self.read(condition)
        last = self.items[-1] if self.items else None
        alone = last is not None and last.name != MOVES and self.placed != len(self.items) and len(condition.uses) == 1
        if last is not None and alone and BY_NAME[last.name].branch and last.operands[0] == register:
            self.items.pop()
            self.emit(BY_NAME[last.name].branch, *last.operands[1:], otherwise)
        else:
            self.emit("JUMP_UNLESS", register, otherwise)

    def if_(self, node: Node) -> None:
        otherwise = self.label()
        self.branch(node.inputs[0], otherwise)
        way = self.open(node)
        self.block(node.blocks[0])
        self.place(otherwise)
        self.block(node.blocks[1])
        self.close(node, way)

    def region(self, node: Node) -> None:
        way = self.open(node)
        self.block(node.blocks[0])
        self.close(node, way)

    def open(self, node: Node) -> _Exit:
        self.exits[node] = _Exit([self.define(out) for out in node.outputs], self.label())
        return self.exits[node]

    def close(self, node: Node, way: _Exit) -> None:
        self.place(way.end)
        self.where = node.range or self.where

    def for_(self, node: Node) -> None:
        start, stop, step, *initial = node.inputs
        body = node.blocks[0]
        way = self.open(node)
        index, *carried = [self.define(param) for param in body.params]
        way.carried, way.again = carried, self.label()
        empty, head = self.label(), self.label()
        self.move(carried, self.reads(initial))
        self.emit("FOR_PREPARE", index, self.reads([start, stop, step]), empty)
        self.loops.append(_Open(node, head, way.end, plan(node)))
        number = len(self.loops) - 1
        self.depth += 1
        self.place(head)
        self.block(body)
        self.where = node.range
        self.place(way.again)
        if step.is_constant and step.constant == 1:
            self.emit("FOR_NEXT", index, self.read(stop), number)
        else:
            self.emit("FOR_STEP", index, self.reads([stop, step]), number)
        self.depth -= 1
        self.place(empty)
        self.move(way.outputs, carried)
        self.place(way.end)

    def while_(self, node: Node) -> None:
        body = node.blocks[0]
        way = self.open(node)
        way.carried, way.again = [self.define(param) for param in body.params], self.label()
        self.move(way.carried, self.reads(node.inputs))
        head = self.label()
        self.loops.append(_Open(node, head, way.end, plan(node)))
        number = len(self.loops) - 1
        self.depth += 1
        self.place(head)
        self.block(body)
        self.where = node.range
        self.place(way.again)
        self.emit("LOOP", None, None, number)
        self.depth -= 1
        self.place(way.end)

    # ---- terminators

    def yield_(self, node: Node) -> None:
        assert node.block is not None
        assert isinstance(node.block.owner, Node)
        owner = node.block.owner
        way = self.exits[owner]
        loop = owner.kind in ("prim::For", "prim::While")
        self.move(way.carried if loop else way.outputs, self.reads(node.inputs))
        if not loop:  # the back-edge of a loop comes next anyway
            self.emit("JUMP", way.end)

    def exit_(self, node: Node) -> None:
        self.leave(node, self.exits[self.aim(node)].outputs, self.exits[self.aim(node)].end)

    def next_(self, node: Node) -> None:
        self.leave(node, self.exits[self.aim(node)].carried, self.exits[self.aim(node)].again)

    def aim(self, node: Node) -> Node:
        if node.target is None or node.target not in self.exits:
            raise IRError(f"{self.graph.name}: {node.kind} does not lead to a node around it")
        return node.target

    def leave(self, node: Node, targets: Sequence[int], label: Label) -> None:
        self.terminators[node] = len(self.items)
        self.move(targets, self.reads(node.inputs))
        self.emit("JUMP", label)

    def return_(self, node: Node) -> None:
        self.emit("RETURN", self.read(node.inputs[0]) if node.inputs else self.constant(None))

    def raise_(self, node: Node) -> None:
        self.emit("RAISE", exception_class(node.attributes["cls"], self.program), self.read(node.inputs[0]))

    def unreachable(self, _: Node) -> None:
        self.emit("RAISE", SystemError, self.constant("control reached a place that it cannot reach"))

    # ---- allocation and assembly

    def steps(self) -> list[Step]:
        return [self.step(index, item) for index, item in enumerate(self.items)]

    def step(self, index: int, item: _Item) -> Step:
        if item.name == MOVES:
            copies = [(d, s) for d, s in zip(*item.operands, strict=True) if s >= 0]
            return Step(item.registers("duD"), item.registers("usS"), (index + 1,), True, copies, item.depth)
        row = BY_NAME[item.name]
        reads = item.registers("usS")
        successors = [] if row.ends else [index + 1]
        for kind, operand in zip(row.kinds, item.operands, strict=True):
            if kind == "j":
                successors.append(self.labels[operand])
            elif kind == "l":
                # The loop may be taken out here: what it needs must be in its registers.
                successors.append(self.labels[self.loops[operand].head])
                reads += [r for r in map(self.read, self.loops[operand].plan.inputs) if r >= 0]
        return Step(item.registers("duD"), reads, successors, depth=item.depth)

    def assemble(self, allocation: Allocation) -> Bytecode:
        registers = max([len(self.graph.params), *(r + 1 for r in allocation.real)])

        def fixed(register: int) -> int:
            return allocation.real[register] if register >= 0 else registers - register - 1

        starts: list[int] = []
        out: list[tuple[str, tuple[Any, ...]]] = []
        places: list[SourceRange | None] = []
        for item, alive in zip(self.items, allocation.after, strict=True):
            starts.append(len(out))
            if item.name == MOVES:
                wanted = [(fixed(d), fixed(s)) for d, s in zip(*item.operands, strict=True) if alive >> d & 1]
                out.extend((name, (d, s)) for name, d, s in sequence_moves(wanted))
            else:
                out.append((item.name, item.operands))
            places.extend([item.where] * (len(out) - len(places)))
        positions = [starts[position] if 0 <= position < len(starts) else -1 for position in self.labels]
        instructions = [_finished(name, operands, fixed, positions) for name, operands in out]
        code = Bytecode(self.graph, len(self.graph.params), registers, self.constants, instructions, places, [])
        code.loops = [self.loop(entry, allocation, fixed, starts) for entry in self.loops]
        code.registers_of = {value: fixed(register) for value, register in self.register.items()}
        return code

    def loop(self, entry: _Open, allocation: Allocation, fixed: Callable[[int], int], starts: list[int]) -> Loop:
        landings: list[Landing] = []
        for code, resume in enumerate(entry.plan.resumes):
            if code == RETURNED:
                at, register = self.epilogue
                landings.append(Landing(starts[at], [(fixed(register), slot) for slot in resume.slots]))
                continue
            at = self.labels[entry.end] if resume.terminator is None else self.terminators[resume.terminator]
            alive = allocation.before[at]
            found = [(self.register[value], slot) for value, slot in zip(resume.values, resume.slots, strict=True)]
            # A value that nothing reads there has no register of its own, and a constant is where it always is.
            landings.append(Landing(starts[at], [(fixed(r), slot) for r, slot in found if r >= 0 and alive >> r & 1]))
        inputs = [fixed(self.register[value]) for value in entry.plan.inputs]
        return Loop(entry.node, starts[self.labels[entry.head]], inputs, landings)


def _finished(name: str, operands: tuple[Any, ...], fixed: Callable[[int], int], positions: list[int]) -> Instruction:
    if name in ("MOVE", "SWAP"):
        return instruction(name, *operands)
    final: list[Any] = []
    for kind, operand in zip(BY_NAME[name].kinds, operands, strict=True):
        if kind in "dsu":
            final.append(fixed(operand))
        elif kind in "DS":
            final.append(tuple(map(fixed, operand)))
        else:
            final.append(positions[operand] if kind == "j" else operand)
    return instruction(name, *final)


_HANDLERS: dict[str, Callable[[_Compiler, Node], None]] = {
    "prim::Constant": _Compiler.literal,
    "prim::Uninitialized": _Compiler.literal,
    "prim::Some": _Compiler.same,
    "prim::Unwrap": _Compiler.same,
    "prim::Cast": _Compiler.same,
    "prim::Tuple": _Compiler.make_tuple,
    "prim::TupleIndex": _Compiler.index,
    "prim::New": _Compiler.new,
    "prim::GetAttr": _Compiler.get_attribute,
    "prim::SetAttr": _Compiler.set_attribute,
    "prim::Call": _Compiler.call,
    "prim::If": _Compiler.if_,
    "prim::For": _Compiler.for_,
    "prim::While": _Compiler.while_,
    "prim::Region": _Compiler.region,
    "prim::yield": _Compiler.yield_,
    "prim::exit": _Compiler.exit_,
    "prim::next": _Compiler.next_,
    "prim::return": _Compiler.return_,
    "prim::raise": _Compiler.raise_,
    "prim::unreachable": _Compiler.unreachable,
}
