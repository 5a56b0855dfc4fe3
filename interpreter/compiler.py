"""IR to bytecode, one function at a time.

In: a Graph and the Program it belongs to. Out: `Bytecode`. Control flow becomes jumps; what a block's end carries to the outputs of
an If or Region or round a loop becomes a parallel move; `jitlang.interpreter.assembler` then gives every value a register, and most
moves vanish. Constants stand in registers behind the others, so every operand of every instruction may be one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from jitlang.errors import IRError
from jitlang.interpreter.assembler import MOVES, Assembler, Label, OpenLoop
from jitlang.interpreter.bytecode import Bytecode, Function
from jitlang.interpreter.meaning import exception_class, operator_callable, python_class, tuple_class
from jitlang.interpreter.opcodes import BY_NAME, specialised
from jitlang.interpreter.osr import plan
from jitlang.ir.graph import Block, Graph, Node, Program, Value
from jitlang.ir.rows import row_of
from jitlang.ir.tables import table_object
from jitlang.types import BOOL, ClassType, TupleType


@dataclasses.dataclass
class _Exit:
    """What a terminator needs to know of an open structured node: where its values go and where control goes."""

    outputs: list[int]
    end: Label
    carried: list[int] = dataclasses.field(default_factory=list)
    again: Label = -1


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


class _Compiler(Assembler):
    def __init__(self, graph: Graph, program: Program) -> None:
        super().__init__(graph)
        self.program = program
        self.exits: dict[Node, _Exit] = {}
        self.deferred: set[Node] = set()  # Ifs that are part of the condition of the next one

    # ---- the function

    def compile(self) -> Bytecode:
        for param in self.graph.params:
            self.define(param)
        self.block(self.graph.block)
        return self.assembled()

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
            self.emit("APPLY_2" if len(sources) == 2 else "APPLY", self.target(node), function, sources)

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

    def table(self, node: Node) -> None:
        held = table_object(node.attributes["value"], node.output.type)
        copies = held.copy if isinstance(held, list | dict) else lambda: held
        self.emit("APPLY", self.target(node), Function("table", copies), ())

    def new(self, node: Node) -> None:
        name, made = node.attributes["cls"], node.output.type
        cls = python_class(self.program.classes.get(name) or made)
        if cls is None:
            raise IRError(f"{self.graph.name}: there is no class {name}")
        self.emit("NEW", self.define(node.output), cls)

    def get_attribute(self, node: Node) -> None:
        source = self.read(node.inputs[0])
        kind, name = node.inputs[0].type, node.attributes["name"]
        if isinstance(kind, ClassType) and name in kind.missing:
            self.emit("APPLY_1", self.define(node.output), _possible(name), source)
        else:
            self.emit("GET_ATTRIBUTE", self.define(node.output), source, name)

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
        if condition.node is not None and condition.node in self.deferred:
            self.short_circuit(condition.node, otherwise)
            return
        register = self.read(condition)
        last = self.items[-1] if self.items else None
        alone = last is not None and last.name != MOVES and self.placed != len(self.items) and len(condition.uses) == 1
        if last is not None and alone and BY_NAME[last.name].branch and last.operands[0] == register:
            self.items.pop()
            self.emit(BY_NAME[last.name].branch, *last.operands[1:], otherwise)
        else:
            self.emit("JUMP_UNLESS", register, otherwise)

    def short_circuit(self, node: Node, otherwise: Label) -> None:
        """The branch on an ``and`` or ``or`` in the form of an If, without its value."""
        literal = _short_circuit(node)
        reached = self.label()
        if literal:  # or: the first operand decides if it is true
            second = self.label()
            self.branch(node.inputs[0], second)
            self.emit("JUMP", reached)
            self.place(second)
        else:
            self.branch(node.inputs[0], otherwise)
        rest = node.blocks[1 if literal else 0]
        for inner in rest.nodes[:-1]:
            self.where = inner.range or self.where
            self.node(inner)
        self.branch(rest.terminator.inputs[0], otherwise)
        self.place(reached)

    def if_(self, node: Node) -> None:
        if _short_circuit(node) is not None and _is_next_condition(node):
            self.deferred.add(node)
            return
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
        self.loops.append(OpenLoop(node, head, way.end, plan(node)))
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
        self.loops.append(OpenLoop(node, head, way.end, plan(node)))
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
        self.emit("RAISE", exception_class(node.attributes["cls"], self.program), self.reads(node.inputs))

    def unreachable(self, _: Node) -> None:
        self.emit("RAISE", SystemError, (self.constant("control reached a place that it cannot reach"),))


def _short_circuit(node: Node) -> bool | None:
    """Whether an If has the form of ``a or b`` (True) or ``a and b`` (False); None if of neither."""
    if len(node.outputs) != 1 or node.output.type != BOOL:
        return None
    for block, literal in ((node.blocks[0], True), (node.blocks[1], False)):
        other = node.blocks[1 if literal else 0]
        end, value = block.terminator, block.terminator.inputs[:1]
        plain = all(n.kind in ("prim::Constant", "prim::yield") for n in block.nodes) and end.kind == other.terminator.kind == "prim::yield"
        if plain and value[0].is_constant and bool(value[0].constant) == literal:
            return literal
    return None


def _is_next_condition(node: Node) -> bool:
    """Whether the node's only output is read once, as the condition of the If that follows it."""
    assert node.block is not None
    following = node.block.nodes[node.block.nodes.index(node) + 1 :][:1]
    uses = node.output.uses
    if len(uses) != 1 or not following:
        return False
    reader = following[0]
    if uses[0].node is not reader:
        return False
    return reader.kind == "prim::If" or (reader.kind == "prim::yield" and _feeds_condition(node.block))


def _feeds_condition(block: Block) -> bool:
    owner = block.owner
    return isinstance(owner, Node) and owner.kind == "prim::If" and _short_circuit(owner) is not None and _is_next_condition(owner)


def _possible(name: str) -> Function:
    """What reads an attribute that may be missing: None where it is."""
    return Function(f"get {name}", lambda target: getattr(target, name, None))


_HANDLERS: dict[str, Callable[[_Compiler, Node], None]] = {
    "prim::Constant": _Compiler.literal,
    "prim::Uninitialized": _Compiler.literal,
    "prim::Some": _Compiler.same,
    "prim::Unwrap": _Compiler.same,
    "prim::Cast": _Compiler.same,
    "prim::Tuple": _Compiler.make_tuple,
    "prim::TupleIndex": _Compiler.index,
    "prim::New": _Compiler.new,
    "prim::Table": _Compiler.table,
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
