"""Lowerings of the structured nodes and terminators: control flow as basic blocks and phis.

A script's loop whose iterations have no side effect gets a fast body, in which checks only raise a flag, and an exact one; see `_lower_loop`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitlang.codegen.function import FunctionBuilder, Scope, lowering
from jitlang.codegen.llvm_types import register_type
from jitlang.ir.graph import Node, Value
from jitlang.types import INT, Machine, Type

SPECULATABLE: list[Callable[[Node], bool]] = []  # what the script lowerings say of a py:: node: cheap, and only flags what is wrong
_SPECULATED_NODES = 12


def _is_speculatable(node: Node) -> bool:
    """Whether both sides of an If may be computed, to be selected from: few cheap nodes that have no effect."""
    inside = [n for block in node.blocks for n in block.walk()]
    return len(inside) <= _SPECULATED_NODES and all(
        n.kind in ("prim::yield", "prim::Constant", "prim::If", "prim::Uninitialized") or any(test(n) for test in SPECULATABLE) for n in inside
    )


def _select_if(b: FunctionBuilder, node: Node) -> None:
    """An If as selections."""
    cond = b.operand(node.inputs[0])
    sides = []
    for block, predicate in zip(node.blocks, (cond, b.op(f"xor i1 {cond}, true")), strict=True):
        b.predicates.append(predicate)
        for inner in block.nodes[:-1]:
            b.lower_node(inner)
        b.predicates.pop()
        sides.append([b.typed(v) for v in block.terminator.inputs])
    for out, then, other in zip(node.outputs, *sides, strict=True):
        b.values[out] = b.op(f"select i1 {cond}, {then}, {other}")


@lowering("prim::If")
def _lower_if(b: FunctionBuilder, node: Node) -> None:
    if b.slow is not None and _is_speculatable(node):
        _select_if(b, node)
        return
    then, other = b.block("then"), b.block("else")
    joint = b.joint("merge")
    b.exits[node] = joint
    b.branch(b.operand(node.inputs[0]), then, other)
    for block, inner in zip((then, other), node.blocks, strict=True):
        b.place(block)
        b.lower_block(inner)
    for out, operand in zip(node.outputs, b.arrive(joint, [o.type for o in node.outputs]), strict=True):
        b.values[out] = operand


@lowering("prim::Region")
def _lower_region(b: FunctionBuilder, node: Node) -> None:
    joint = b.joint("region")
    b.exits[node] = joint
    b.lower_block(node.blocks[0])
    for out, operand in zip(node.outputs, b.arrive(joint, [o.type for o in node.outputs]), strict=True):
        b.values[out] = operand


@lowering("prim::While")
def _lower_while(b: FunctionBuilder, node: Node) -> None:
    initial = [b.take(node, i) for i in range(len(node.inputs))]
    _lower_loop(b, node, initial, [], list, list)


@lowering("prim::For")
def _lower_for(b: FunctionBuilder, node: Node) -> None:
    index_type = node.blocks[0].params[0].type
    kind = register_type(index_type)
    start, stop, step = (b.operand(v) for v in node.inputs[:3])
    initial = [b.take(node, i) for i in range(3, len(node.inputs))]
    step_value: Any = node.inputs[2].constant if node.inputs[2].is_constant else None
    counted = step_value is None or (index_type == INT and abs(step_value) != 1)
    index, left = b.name("i"), b.name("left")
    hidden = [(index, kind, start), *([(left, "i64", _trip_count(b, start, stop, step))] if counted else [])]

    def more() -> list[str]:
        if counted:
            test = f"icmp ne i64 {left}, 0"
        else:
            sign = "u" if isinstance(index_type, Machine) and index_type.kind == "u" else "s"
            test = f"icmp {sign}{'lt' if step_value > 0 else 'gt'} {kind} {index}, {stop}"
        return [test]

    def advance() -> list[str]:
        following = b.op(f"add {'' if counted else 'nsw '}{kind} {index}, {step}")
        return [following, *([b.op(f"sub i64 {left}, 1")] if counted else [])]

    _lower_loop(b, node, initial, hidden, more, advance)


def _lower_loop(
    b: FunctionBuilder, node: Node, initial: list[str], hidden: list[tuple[str, str, str]], more: Callable[[], list[str]], advance: Callable[[], list[str]]
) -> None:
    """Lowers a loop.

    Args:
        initial: the operands of the carried values.
        hidden: the loop's own counters: (name, LLVM type, initial operand); the first is the body's index.
        more: the test at the head (none: endless).
        advance: emits, at the back-edge, the next operands of `hidden`.

    A script's loop whose iterations have no side effect gets its body twice: a fast one with deferred checks, and one
    with immediate checks that an iteration is run again in when the fast one has found something wrong.
    """
    body = node.blocks[0]
    types = [p.type for p in body.params[len(body.params) - len(initial) :]]
    head, after = b.block("loop"), b.joint("endloop")
    b.exits[node] = after
    edges = [(b.current.label, [h[2] for h in hidden], initial)]
    b.jump(head)
    b.place(head)
    params = [b.name("loop") for _ in types]
    tests = more()
    if tests:
        inside = b.block("body")
        cond = b.op(tests[0])
        after.edges.append((b.current.label, list(params)))
        b.branch(cond, inside, after.block)
        b.place(inside)
    leading = [h[0] for h in hidden[:1]]
    deferred = b.script and b.slow is None and is_deferrable(b, node)
    for fast in [True, False] if deferred else [False]:
        latch = b.nexts[node] = b.joint("next")
        if fast:
            slow = b.slow = b.block("slow")
            b.overflow_flag = b.stack("i1", 1, 1)
            b.slow_depth = len(b.scopes)
            b.do(f"store i1 false, ptr {b.overflow_flag}")
            b.ranges = _counter_ranges(node, params, len(body.params) - len(types))
        elif b.script and b.slow is None:
            poll(b, node, params, types)
        b.lower_block(body, [*leading, *params])
        repeated = b.arrive(latch, types)
        if latch.edges:
            if fast:
                seen = b.op("load atomic i64, ptr %ctx monotonic, align 8")  # Context.interrupt is its first field
                b.raise_flag(b.op(f"icmp ne i64 {seen}, 0"))
                b.leave_fast()
            following = advance()
            edges.append((b.current.label, following, repeated))
            b.jump(head)
        if fast:
            b.slow = b.overflow_flag = None
            b.ranges = {}
            b.place(slow)
    for position, (name, text, _) in enumerate(hidden):
        head.phis.append(f"{name} = phi {text} {', '.join(f'[ {h[position]}, %{label} ]' for label, h, _ in edges)}")
    for position, (name, type) in enumerate(zip(params, types, strict=True)):
        b.phi(head, type, [(label, c[position]) for label, _, c in edges], name)
    for out, operand in zip(node.outputs, b.arrive(after, [o.type for o in node.outputs]), strict=True):
        b.values[out] = operand


_FAR = 2**62


def _counter_ranges(node: Node, params: Sequence[str], leading: int) -> dict[str, tuple[int, int]]:
    """The carried values that only count: by a small constant an iteration, from a constant.

    They stay below 2**62 for 2**58 iterations, which is years; so a step needs no test.
    """
    body = node.blocks[0]
    ends = [n for n in body.walk() if n.kind == "prim::next" and n.target is node]
    if body.terminator.kind == "prim::yield":
        ends.append(body.terminator)
    found: dict[str, tuple[int, int]] = {}
    for index, name in enumerate(params):
        param, first = body.params[leading + index], node.inputs[len(node.inputs) - len(params) + index]
        small = first.is_constant and isinstance(first.constant, int) and abs(first.constant) < 2**61
        if param.type == INT and small and all(_counts(param, end.inputs[index]) for end in ends):
            found[name] = (-_FAR, _FAR)
    return found


def _counts(param: Value, following: Value) -> bool:
    node = following.node
    if following is param:
        return True
    if node is None or node.kind not in ("py::add", "py::sub") or node.inputs[0] is not param:
        return False
    step = node.inputs[1]
    return step.is_constant and isinstance(step.constant, int) and abs(step.constant) <= 16


DEFERRABLE: list[Callable[[Node], bool]] = []  # what the script lowerings say of a py:: node: no side effect, and native


def is_deferrable(b: FunctionBuilder, node: Node) -> bool:
    """Whether an iteration of this loop may be run twice: no loop inside, nothing written, nothing of a managed type made."""
    simple = {"prim::Constant", "prim::If", "prim::Region", "prim::Tuple", "prim::TupleIndex", "prim::Uninitialized", "prim::Some", "prim::Unwrap"}
    for inner in node.walk():
        values = [*inner.outputs, *(p for block in inner.blocks for p in block.params)]
        if inner.kind != "prim::Constant" and any(b.managed.is_managed(v.type) for v in values):
            return False
        if inner is node or inner.is_terminator or inner.kind in simple:
            continue
        if not any(test(inner) for test in DEFERRABLE):
            return False
    return True


def _trip_count(b: FunctionBuilder, start: str, stop: str, step: str) -> str:
    """How often range(start, stop, step) yields, as an unsigned i64; step is not 0 and 64-bit wrap does no harm."""
    up = b.op(f"icmp sgt i64 {step}, 0")
    runs_up = b.op(f"icmp slt i64 {start}, {stop}")
    runs_down = b.op(f"icmp sgt i64 {start}, {stop}")
    runs = b.op(f"select i1 {up}, i1 {runs_up}, i1 {runs_down}")
    ahead, behind = b.op(f"sub i64 {stop}, {start}"), b.op(f"sub i64 {start}, {stop}")
    distance = b.op(f"select i1 {up}, i64 {ahead}, i64 {behind}")
    negative = b.op(f"sub i64 0, {step}")
    size = b.op(f"select i1 {up}, i64 {step}, i64 {negative}")
    safe = b.op(f"call i64 @llvm.umax.i64(i64 {size}, i64 1)")
    b.module.declare("llvm.umax.i64", "i64 (i64, i64)")
    steps = b.op(f"udiv i64 {b.op(f'sub i64 {distance}, 1')}, {safe}")
    return b.op(f"select i1 {runs}, i64 {b.op(f'add i64 {steps}, 1')}, i64 0")


def poll(b: FunctionBuilder, node: Node, params: Sequence[str], types: Sequence[Type]) -> None:
    """At a back-edge: looks at the interrupt word; if it is set, asks the host whether to go on."""
    seen = b.op("load atomic i64, ptr %ctx monotonic, align 8")  # Context.interrupt is its first field
    quiet = b.op(f"icmp eq i64 {seen}, 0")
    slow, following = b.block("interrupt"), b.block("go")
    b.branch(quiet, following, slow, likely=True)
    b.place(slow)
    owned: dict[Value, None] = {}
    for param, type, name in zip(node.blocks[0].params[-len(params) :] if params else [], types, params, strict=True):
        b.values[param] = name
        if b.managed.is_managed(type):
            owned[param] = None
    scope = Scope(node.blocks[0], owned)
    b.scopes.append(scope)
    stop = b.op(f"call i64 {b.module.declare('jl.host.interrupted', 'i64 (ptr)')}(ptr %ctx)")
    b.branch(b.op(f"icmp eq i64 {stop}, 0"), following, b.failure(node), likely=True)
    b.scopes.pop()
    b.place(following)


# ---- terminators ------------------------------------------------------------------------------------------------------


@lowering("prim::yield")
def _lower_yield(b: FunctionBuilder, node: Node) -> None:
    owner = b.scopes[-1].block.owner
    assert isinstance(owner, Node)
    joint = b.nexts[owner] if owner in b.nexts else b.exits[owner]
    b.edge(joint, b.leave(node, len(b.scopes) - 1))


@lowering("prim::exit", "prim::next")
def _lower_exit(b: FunctionBuilder, node: Node) -> None:
    assert node.target is not None
    joint = (b.exits if node.kind == "prim::exit" else b.nexts)[node.target]
    if node.kind == "prim::exit" and joint.depth <= b.slow_depth:
        b.leave_fast()
    b.edge(joint, b.leave(node, joint.depth))


@lowering("prim::return")
def _lower_return(b: FunctionBuilder, node: Node) -> None:
    b.leave_fast()
    (operand,) = b.leave(node, 0)
    kind = b.result_type
    if kind == "void":
        b.do("ret void")
    elif kind == "i1" and b.raises:
        b.do("ret i1 false")
    elif not b.raises:
        b.do(f"ret {kind} {operand}")
    else:
        half = b.op(f"insertvalue {kind} poison, {register_type(b.graph.result)} {operand}, 0")
        b.do(f"ret {kind} {b.op(f'insertvalue {kind} {half}, i1 false, 1')}")
    b.current.closed = True


@lowering("prim::unreachable")
def _lower_unreachable(b: FunctionBuilder, node: Node) -> None:
    b.do("unreachable")
    b.current.closed = True
