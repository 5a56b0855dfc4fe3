"""A loop taken out of its function, so that native code can go on with it in the middle of its run.

In: a Graph and one of its loops. Out: a new Graph that runs the loop from its present state to its end: its parameters are the
values that the loop reads from outside, the carried values and, for a For, the index. It returns a tuple: first a code that
tells how the loop was left, then slots that hold what must be handed back. Code 0: normally, hand back the loop's outputs;
1: the function returned; from 2 on: by one of the ``exit`` or ``next`` to something around the loop, hand back what it carries.
"""

from __future__ import annotations

import dataclasses

from jitlang.ir.graph import LOOPS, Block, Graph, Node, Value, clone_block
from jitlang.types import INT, TupleType, Type

OUTPUTS, RETURNED = 0, 1


@dataclasses.dataclass
class Resume:
    """How control goes on after the loop was left with a certain code.

    `terminator` is None for the loop's own end, otherwise the ``prim::return``, ``exit`` or ``next`` that left it. The result's
    element `slots[i]` is the value of ``values[i]`` of the original graph.
    """

    terminator: Node | None
    values: list[Value]
    slots: list[int]


@dataclasses.dataclass
class Plan:
    """What goes in and out of a loop that is taken out.

    Args:
        inputs: the values that the new function's parameters stand for.
        resumes: the ways to go on, by code.
        leaves: the terminators that leave the loop other than by its end, and the code of each.
        types: the types of the result's elements.
    """

    inputs: list[Value]
    resumes: list[Resume]
    leaves: dict[Node, int]
    types: tuple[Type, ...]


def free_values(loop: Node) -> list[Value]:
    """The values that are used inside the loop, or are a For's stop and step, and defined outside; constants are left out."""
    inside = _defined(loop)
    bounds = loop.inputs[1:3] if loop.kind == "prim::For" else []
    used = [*bounds, *(value for node in loop.walk() if node is not loop for value in node.inputs)]
    return list(dict.fromkeys(v for v in used if v not in inside and not _is_literal(v)))


def _defined(loop: Node) -> set[Value]:
    """The values defined in the loop, its outputs too."""
    found: set[Value] = set()
    for node in loop.walk():
        found.update(node.outputs)
        for block in node.blocks:
            found.update(block.params)
    return found


def _is_literal(value: Value) -> bool:
    return value.node is not None and value.node.kind in ("prim::Constant", "prim::Uninitialized")


def _leaves(loop: Node) -> list[Node]:
    """The terminators inside the loop that lead out of it: returns first, then exits and nexts to something around it."""
    inner = [node for node in loop.walk() if node is not loop]
    returns = [node for node in inner if node.kind == "prim::return"]
    return returns + [n for n in inner if n.target is not None and n.target is not loop and not loop.encloses(n.target)]


class _Slots:
    """Shares the elements of the result between the ways out: values of one type use one slot."""

    def __init__(self) -> None:
        self.types: list[Type] = []

    def place(self, values: list[Value]) -> list[int]:
        taken: list[int] = []
        for value in values:
            free = [i for i, t in enumerate(self.types) if t == value.type and i + 1 not in taken]
            if not free:
                self.types.append(value.type)
            taken.append((free[0] if free else len(self.types) - 1) + 1)
        return taken


def carried_in(loop: Node) -> list[Value]:
    """The parameters of the body that hold carried values which are read: by the body, or as the outputs of a For."""
    if loop.kind == "prim::While":
        return [p for p in loop.blocks[0].params if p.uses]
    return [p for p, out in zip(loop.blocks[0].params[1:], loop.outputs, strict=True) if p.uses or out.uses]


def plan(loop: Node) -> Plan:
    """What taking `loop` out will need and give; ValueError if it is no loop."""
    if loop.kind not in LOOPS:
        raise ValueError(f"{loop.kind} is no loop")
    slots = _Slots()
    defined = _defined(loop)

    def resume(terminator: Node | None, values: list[Value]) -> Resume:
        read = [v for v in dict.fromkeys(values) if v.uses and not _is_literal(v)]
        return Resume(terminator, read, slots.place(read))

    resumes = [resume(None, loop.outputs), Resume(None, [], [])]
    codes: dict[Node, int] = {}
    for leaf in _leaves(loop):
        if leaf.kind == "prim::return":
            codes[leaf] = RETURNED
            if resumes[RETURNED].terminator is None:
                resumes[RETURNED] = Resume(leaf, leaf.inputs, slots.place(leaf.inputs))
            continue
        codes[leaf] = len(resumes)
        resumes.append(resume(leaf, [v for v in leaf.inputs if v in defined]))
    params = loop.blocks[0].params
    inputs = [*free_values(loop), *carried_in(loop), *(params[:1] if loop.kind == "prim::For" else [])]
    return Plan(inputs, resumes, codes, (INT, *slots.types))


def take_out(graph: Graph, loop: Node) -> Graph:
    """The function that runs `loop` of `graph` from the head of an iteration on.

    Given the state at the head of an iteration. Execute the result on the values of `plan(loop).inputs`. Result: a tuple (code, slots…)
    as the module's docstring says. The original graph is not changed. ValueError if `loop` is no loop.
    """
    return _Builder(graph, loop, plan(loop)).build()


class _Builder:
    def __init__(self, graph: Graph, loop: Node, way: Plan) -> None:
        self.loop = loop
        self.plan = way
        number = [node for node in graph.walk() if node.kind in LOOPS].index(loop)
        self.out = Graph(f"{graph.name}.loop{number}", TupleType(way.types), loop.range or graph.range)
        self.mapping: dict[Value, Value] = {}
        self.copies: dict[Node, Node] = {}

    def build(self) -> Graph:
        self.parameters()
        self.copy_loop()
        self.finish(self.out.block, OUTPUTS, self.loop)
        for leaf, code in self.plan.leaves.items():
            copy = self.copies[leaf]
            block, inputs = copy.block, list(copy.inputs)
            assert block is not None
            copy.destroy()
            self.finish(block, code, leaf, inputs)
        return self.out

    def parameters(self) -> None:
        """Gives the new function its parameters; literals from outside are copied."""
        for value in self.plan.inputs:
            self.mapping[value] = self.out.block.add_param(value.type, value.name)
        defined = _defined(self.loop)
        outside = [*self.loop.inputs[1:3], *(v for node in self.loop.walk() for v in node.inputs)]
        for value in dict.fromkeys(v for v in outside if v not in defined and _is_literal(v)):
            assert value.node is not None
            copy = Node(value.node.kind, where=value.node.range)
            copy.attributes = dict(value.node.attributes)
            self.mapping[value] = copy.add_output(value.type, value.name)
            self.out.block.append(copy)

    def copy_loop(self) -> None:
        loop = self.loop
        old_body = loop.blocks[0]
        counted = loop.kind == "prim::For"
        start = [self.mapping.get(v) or self.unread(v) for v in old_body.params[1 if counted else 0 :]]
        bounds = [self.mapping[old_body.params[0]], *(self.mapping[v] for v in loop.inputs[1:3])] if counted else []
        new = Node(loop.kind, [*bounds, *start], where=loop.range)
        new.attributes = dict(loop.attributes)
        body = new.add_block()
        for param in old_body.params:
            self.mapping[param] = body.add_param(param.type, param.name)

        def note(old: Node, copy: Node) -> None:
            self.copies[old] = copy
            if old.target is loop:
                copy.target = new

        clone_block(old_body, body, self.mapping, note)
        for out in loop.outputs:
            self.mapping[out] = new.add_output(out.type, out.name)
        self.out.block.append(new)

    def unread(self, value: Value) -> Value:
        return self.out.block.append(Node("prim::Uninitialized", types=[value.type], where=self.loop.range)).output

    def finish(self, block: Block, code: int, origin: Node, returned: list[Value] | None = None) -> None:
        """Ends `block` by returning the tuple of `code` and what goes with it."""
        resume = self.plan.resumes[code]
        values = returned if code == RETURNED and returned is not None else [self.mapping[v] for v in resume.values]
        carried = dict(zip(resume.slots, values, strict=True))
        where = origin.range
        elements = [block.append(Node("prim::Constant", types=[INT], where=where, value=code)).output]
        for slot, kind in enumerate(self.plan.types[1:], start=1):
            element = carried.get(slot) or block.append(Node("prim::Uninitialized", types=[kind], where=where)).output
            elements.append(element)
        result = block.append(Node("prim::Tuple", elements, [self.out.result], where=where))
        block.append(Node("prim::return", result.outputs, where=where))
