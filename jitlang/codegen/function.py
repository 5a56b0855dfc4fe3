"""One graph to one LLVM function: control flow, ownership and the way out of errors.

In: a `Graph`. Out: the function's text in a `Module`. What single nodes mean is a table, kind → lowering
(`jitlang.codegen.machine` and the script lowerings); this module knows the structured nodes and terminators.

Ownership of reference-counted values: a graph's parameters are borrowed; every other value of a managed type is owned
by the block that defines it and released after its last use there, or moved on (`take`) where its last use consumes it. Way out of errors: a node that fails branches to a
cleanup chain that releases, newest first, everything owned at that point; chains share their tails.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from jitlang.codegen.records import site_helper
from jitlang.codegen.llvm_types import number_text, quote, register_type
from jitlang.errors import CodegenError
from jitlang.ir.graph import Block, Graph, Node, Value
from jitlang.types import INT, NEVER, NONE, VOID, Machine, Type

if TYPE_CHECKING:
    from jitlang.codegen.module import Module

Lowering = Callable[["FunctionBuilder", Node], None]
LOWERINGS: dict[str, Lowering] = {}


def lowering(*kinds: str) -> Callable[[Lowering], Lowering]:
    """Enters a function into the table of lowerings."""

    def enter(function: Lowering) -> Lowering:
        for kind in kinds:
            LOWERINGS[kind] = function
        return function

    return enter


@dataclasses.dataclass(eq=False)
class BasicBlock:
    """A label, its phis and its instructions."""

    label: str
    phis: list[str] = dataclasses.field(default_factory=list)
    lines: list[str] = dataclasses.field(default_factory=list)
    closed: bool = False


@dataclasses.dataclass(eq=False)
class Scope:
    """A block being lowered: which values it owns now, and where each was last used."""

    block: Block
    owned: dict[Value, None] = dataclasses.field(default_factory=dict)
    last_use: dict[Value, int] = dataclasses.field(default_factory=dict)
    index: int = 0


@dataclasses.dataclass(eq=False)
class Joint:
    """A place that several edges lead to, each bringing values."""

    block: BasicBlock
    depth: int  # how many scopes are open there
    edges: list[tuple[str, list[str]]] = dataclasses.field(default_factory=list)


class Managed:
    """How values of reference-counted types are retained and released; the script lowerings supply a real one."""

    def is_managed(self, type: Type) -> bool:
        """Whether values of `type` hold references."""
        return False

    def retain(self, builder: FunctionBuilder, type: Type, operand: str) -> None:
        """Emits: one more reference."""

    def release(self, builder: FunctionBuilder, type: Type, operand: str) -> None:
        """Emits: one reference less."""


class FunctionBuilder:
    """Lowers one graph.

    Args:
        module: where the function goes.
        graph: what it does.
        symbol: its name.
        raises: whether it takes a context and returns ``{T, i1}``.
        linkage: ``internal`` or empty; `attributes` LLVM function attributes.
        script: whether it is the user's code: loops poll the interrupt word, errors note their site.
    """

    def __init__(
        self, module: Module, graph: Graph, symbol: str, *, raises: bool, linkage: str = "internal", attributes: str = "", script: bool = False, managed: Managed | None = None
    ) -> None:
        self.module = module
        self.graph = graph
        self.symbol = symbol
        self.raises = raises
        self.linkage = linkage
        self.attributes = attributes
        self.script = script
        self.managed = managed or Managed()
        self.blocks: list[BasicBlock] = []
        self.values: dict[Value, str] = {}
        self.scopes: list[Scope] = []
        self.exits: dict[Node, Joint] = {}
        self.nexts: dict[Node, Joint] = {}
        self.entry = BasicBlock("entry")
        self.current = self.entry
        self.blocks.append(self.entry)
        self.overflow_flag: str | None = None  # where the fast body of a loop notes that something is wrong
        self.slow: BasicBlock | None = None  # where that iteration is run again
        self.slow_depth = 0
        self.ranges: dict[str, tuple[int, int]] = {}  # what operands are known to lie in, in the fast body
        self.predicates: list[str] = []  # conditions under which the code being emitted counts (if-conversion)
        self._names = 0
        self._chains: dict[tuple[Value, ...], str] = {}
        self._sites: dict[tuple[int, tuple[Value, ...]], str] = {}

    # ---- instructions ---------------------------------------------------------------------------------------------

    @property
    def result_type(self) -> str:
        """The LLVM type that the function returns."""
        return result_type(self.graph.result, self.raises)

    def name(self, hint: str = "t") -> str:
        """A fresh local name."""
        self._names += 1
        return f"%{hint}{self._names}"

    def op(self, text: str) -> str:
        """Appends ``%n = text``; returns ``%n``."""
        name = self.name()
        self.do(f"{name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Appends an instruction without result. After a terminator it is dropped: nothing reaches it."""
        if not self.current.closed:
            self.current.lines.append(text)

    def stack(self, type: str, count: int = 1, align: int = 16) -> str:
        """Stack memory, allocated once on entry."""
        name = self.name("stack")
        self.entry.lines.insert(0, f"{name} = alloca [{count} x {type}], align {align}")
        return name

    def block(self, hint: str) -> BasicBlock:
        """A fresh basic block, not placed yet."""
        self._names += 1
        return BasicBlock(f"{hint}{self._names}")

    def place(self, block: BasicBlock) -> None:
        """Instructions go to `block` from now on."""
        self.blocks.append(block)
        self.current = block

    def jump(self, target: BasicBlock) -> None:
        """An unconditional branch."""
        self.do(f"br label %{target.label}")
        self.current.closed = True

    def branch(self, cond: str, then: BasicBlock | str, other: BasicBlock | str, likely: bool | None = None) -> None:
        """A conditional branch."""
        labels = [b if isinstance(b, str) else b.label for b in (then, other)]
        weights = "" if likely is None else f", !prof !{0 if likely else 1}"
        if weights:
            self.module.globals.setdefault("!prof", '!0 = !{!"branch_weights", i32 100000, i32 1}\n!1 = !{!"branch_weights", i32 1, i32 100000}')
        self.do(f"br i1 {cond}, label %{labels[0]}, label %{labels[1]}{weights}")
        self.current.closed = True

    def operand(self, value: Value) -> str:
        """The LLVM operand of a value."""
        return self.values[value]

    def typed(self, value: Value) -> str:
        """``type operand``."""
        return f"{register_type(value.type)} {self.values[value]}"

    def inputs(self, node: Node) -> list[str]:
        """The operands of a node."""
        return [self.values[v] for v in node.inputs]

    # ---- ownership ------------------------------------------------------------------------------------------------

    def own(self, value: Value) -> None:
        """The innermost scope owns `value` from here on."""
        if self.managed.is_managed(value.type):
            self.scopes[-1].owned[value] = None

    def take(self, node: Node, index: int) -> str:
        """Input `index` of `node` with a reference of its own: moved if this is its last use, else retained."""
        value = node.inputs[index]
        operand = self.values[value]
        if not self.managed.is_managed(value.type):
            return operand
        scope = self.scopes[-1]
        if value in scope.owned and scope.last_use.get(value) == scope.index and value not in node.inputs[index + 1 :] and node.block is scope.block:
            del scope.owned[value]
        else:
            self.managed.retain(self, value.type, operand)
        return operand

    def release(self, value: Value) -> None:
        """Emits the release of an owned value."""
        self.managed.release(self, value.type, self.values[value])

    def _leave(self, node: Node, depth: int) -> list[str]:
        """The operands of a terminator, each with a reference of its own, after which all scopes from `depth` on are released."""
        leaving = self.scopes[depth:]
        moved: set[Value] = set()
        operands = []
        for value in node.inputs:
            operands.append(self.values[value])
            if self.managed.is_managed(value.type):
                if value not in moved and any(value in s.owned for s in leaving):
                    moved.add(value)
                else:
                    self.managed.retain(self, value.type, self.values[value])
        for scope in reversed(leaving):
            for value in reversed(scope.owned):
                if value not in moved:
                    self.release(value)
        return operands

    # ---- errors ---------------------------------------------------------------------------------------------------

    def raise_flag(self, wrong: str, everywhere: bool = False) -> None:
        """In the fast body of a loop: notes that the iteration must be run again if the i1 `wrong` is true.

        On a path that is only speculated it counts if the path is taken, unless `everywhere`.
        """
        for predicate in () if everywhere else self.predicates:
            wrong = self.op(f"and i1 {wrong}, {predicate}")
        seen = self.op(f"load i1, ptr {self.overflow_flag}")
        self.do(f"store i1 {self.op(f'or i1 {seen}, {wrong}')}, ptr {self.overflow_flag}")

    def leave_fast(self) -> None:
        """At the end of a fast iteration: runs it again with immediate checks if the flag is up."""
        if self.slow is not None and not self.current.closed:
            following = self.block("right")
            wrong = self.op(f"load i1, ptr {self.overflow_flag}")
            # unpredictable: else the selection of instructions makes one jump of each part of the flag
            self.module.globals.setdefault("!none", "!2 = !{}")
            self.do(f"br i1 {wrong}, label %{self.slow.label}, label %{following.label}, !unpredictable !2")
            self.current.closed = True
            self.place(following)

    def failure(self, node: Node) -> str:
        """The label to branch to when `node` has recorded an error: notes the site, releases what is owned, returns."""
        if not self.raises:
            raise CodegenError(f"{node.kind} may fail in {self.symbol}, which is not allowed to")
        if self.slow is not None:
            return self.slow.label
        owned = tuple(v for s in self.scopes for v in s.owned)
        site = self.module.site(node.range) if self.script else 0
        key = (site, owned)
        label = self._sites.get(key)
        if label is None:
            saved = self.current
            block = self.block("fail")
            label = self._sites[key] = block.label
            self.place(block)
            if self.script and node.range is not None:
                self.do(f"call void {site_helper(self.module)}(ptr %ctx, i64 {site})")
            self.do(f"br label %{self._cleanup(owned)}")
            block.closed = True
            self.current = saved
        return label

    def _cleanup(self, owned: tuple[Value, ...]) -> str:
        label = self._chains.get(owned)
        if label is None:
            saved = self.current
            block = self.block("cleanup")
            label = self._chains[owned] = block.label
            self.place(block)
            if owned:
                self.release(owned[-1])
                self.do(f"br label %{self._cleanup(owned[:-1])}")
            else:
                poison = "" if self.result_type == "i1" else f"insertvalue {self.result_type} poison, i1 true, 1"
                self.do(f"ret {self.result_type} {self.op(poison) if poison else 'true'}")
            self.current.closed = True
            self.current = saved
        return label

    def check(self, ok: str, node: Node) -> None:
        """Goes on if `ok`, else to the failure of `node` (the error has been recorded)."""
        following = self.block("ok")
        self.branch(ok, following, self.failure(node), likely=True)
        self.place(following)

    def call(self, node: Node, callee: str, result: Type, arguments: Sequence[str], *, raises: bool) -> str:
        """A call in jitlang's own convention; returns the result's operand ('' where there is none)."""
        kind = result_type(result, raises)
        given = ", ".join([*(["ptr %ctx"] if raises else []), *arguments])
        text = f"call {kind} {callee}({given})"
        if kind == "void":
            self.do(text)
            return ""
        got = self.op(text)
        if not raises:
            return got
        failed = got if kind == "i1" else self.op(f"extractvalue {kind} {got}, 1")
        following = self.block("ok")
        self.branch(failed, self.failure(node), following, likely=False)
        self.place(following)
        return "" if kind == "i1" else self.op(f"extractvalue {kind} {got}, 0")

    # ---- blocks ---------------------------------------------------------------------------------------------------

    def lower(self) -> None:
        """Lowers the graph and adds the function to the module."""
        parameters = ["ptr %ctx"] if self.raises else []
        for index, param in enumerate(self.graph.params):
            self.values[param] = f"%arg{index}"
            parameters.append(f"{register_type(param.type)} %arg{index}")
        self.lower_block(self.graph.block)
        if not self.current.closed:
            self.do("unreachable")
        head = f"define {self.linkage} {self.result_type} @{quote(self.symbol)}({', '.join(parameters)}) nounwind {self.attributes}"
        body = []
        for block in self.blocks:
            body += [f"{block.label}:", *(f"  {line}" for line in (*block.phis, *block.lines))]
            if not block.lines or not block.closed:
                body.append("  unreachable")
        self.module.functions[self.symbol] = "\n".join([f"{head.strip()} {{", *body, "}"])

    def lower_block(self, block: Block, params: Sequence[str] = ()) -> None:
        """Lowers the nodes of a nested block, whose parameters' operands are given."""
        scope = Scope(block)
        known, self.ranges = self.ranges, dict(self.ranges)  # what is tested inside is known inside
        self.scopes.append(scope)
        for param, operand in zip(block.params, params, strict=False):
            self.values[param] = operand
            self.own(param)
        for index, node in enumerate(block.nodes):
            for inner in node.walk():
                for value in inner.inputs:
                    scope.last_use[value] = index
        for value in [v for v in scope.owned if v not in scope.last_use]:
            self.release(value)
            del scope.owned[value]
        for index, node in enumerate(block.nodes):
            if self.current.closed:  # the code behind an If that both blocks leave is dead
                break
            scope.index = index
            self.lower_node(node)
            if node.is_terminator:
                break
            for value in node.outputs:
                if node.kind != "prim::Constant":
                    self.own(value)
            for value in [v for v in scope.owned if scope.last_use.get(v, index) <= index]:
                self.release(value)
                del scope.owned[value]
        self.scopes.pop()
        self.ranges = known

    def lower_node(self, node: Node) -> None:
        """Lowers one node by the table."""
        try:
            lower = LOWERINGS[node.kind]
        except KeyError:
            lower = LOWERINGS.get(node.kind.split("::")[0] + "::*")  # type: ignore[assignment]
            if lower is None:
                raise CodegenError(f"no lowering for {node.kind}") from None
        lower(self, node)

    def joint(self, hint: str) -> Joint:
        """A place for several edges, outside the scopes that are open now."""
        return Joint(self.block(hint), len(self.scopes))

    def edge(self, joint: Joint, operands: list[str]) -> None:
        """A branch to a joint that brings `operands`."""
        if not self.current.closed:
            joint.edges.append((self.current.label, operands))
            self.jump(joint.block)

    def arrive(self, joint: Joint, types: Sequence[Type]) -> list[str]:
        """Goes on at a joint; returns the operands of what its edges brought. Without edges the code behind is dead."""
        self.place(joint.block)
        if not joint.edges:
            self.do("unreachable")
            self.current.closed = True
            return ["poison"] * len(types)
        if len(joint.edges) == 1:
            return joint.edges[0][1]
        return [self.phi(joint.block, t, [(label, ops[i]) for label, ops in joint.edges]) for i, t in enumerate(types)]

    def phi(self, block: BasicBlock, type: Type, edges: Sequence[tuple[str, str]], name: str = "") -> str:
        """A phi at the head of `block`."""
        name = name or self.name("phi")
        block.phis.append(f"{name} = phi {register_type(type)} {', '.join(f'[ {op}, %{label} ]' for label, op in edges)}")
        return name


def result_type(type: Type, raises: bool) -> str:
    """The LLVM result type of a function in jitlang's own convention."""
    plain = "void" if type in (VOID, NONE) and not raises else register_type(type)
    if not raises:
        return plain
    return "i1" if plain == "void" or type in (VOID, NONE, NEVER) else f"{{{plain}, i1}}"


# ---- structured nodes -------------------------------------------------------------------------------------------------


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
    _lower_loop(b, node, initial, [], lambda: [], lambda: [])


@lowering("prim::For")
def _lower_for(b: FunctionBuilder, node: Node) -> None:
    index_type = node.blocks[0].params[0].type
    kind = register_type(index_type)
    start, stop, step = (b.operand(v) for v in node.inputs[:3])
    initial = [b.take(node, i) for i in range(3, len(node.inputs))]
    step_value = node.inputs[2].constant if node.inputs[2].is_constant else None
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
    owned = {}
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
    b.edge(joint, b._leave(node, len(b.scopes) - 1))


@lowering("prim::exit", "prim::next")
def _lower_exit(b: FunctionBuilder, node: Node) -> None:
    assert node.target is not None
    joint = (b.exits if node.kind == "prim::exit" else b.nexts)[node.target]
    if node.kind == "prim::exit" and joint.depth <= b.slow_depth:
        b.leave_fast()
    b.edge(joint, b._leave(node, joint.depth))


@lowering("prim::return")
def _lower_return(b: FunctionBuilder, node: Node) -> None:
    b.leave_fast()
    (operand,) = b._leave(node, 0)
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


@lowering("prim::Uninitialized")
def _lower_uninitialized(b: FunctionBuilder, node: Node) -> None:
    # zeroinitializer, not poison: it may be released like any other value (null is never counted)
    b.values[node.output] = zero(node.output.type)


@lowering("prim::Constant")
def _lower_constant(b: FunctionBuilder, node: Node) -> None:
    b.values[node.output] = constant_operand(b, node.attributes["value"], node.output.type)


CONSTANTS: list[Callable[[FunctionBuilder, object, Type], str | None]] = []


def constant_operand(b: FunctionBuilder, value: object, type: Type) -> str:
    """The operand of a constant; script types with a structure of their own are found in `CONSTANTS`."""
    for maker in CONSTANTS:
        made = maker(b, value, type)
        if made is not None:
            return made
    if value is None:
        return zero(type)
    return number_text(value, type)


def zero(type: Type) -> str:
    """The operand whose bits are all zero."""
    text = register_type(type)
    return "zeroinitializer" if text.startswith("{") else number_text(0, type)


@lowering("prim::Tuple")
def _lower_tuple(b: FunctionBuilder, node: Node) -> None:
    kind = register_type(node.output.type)
    made = "poison" if node.inputs else "0"
    for index, value in enumerate(node.inputs):
        operand = b.take(node, index)
        made = b.op(f"insertvalue {kind} {made}, {register_type(value.type)} {operand}, {index}")
    b.values[node.output] = made


@lowering("prim::TupleIndex")
def _lower_tuple_index(b: FunctionBuilder, node: Node) -> None:
    (source,) = node.inputs
    made = b.op(f"extractvalue {b.typed(source)}, {node.attributes['index']}")
    b.values[node.output] = made
    b.managed.retain(b, node.output.type, made)


@lowering("prim::Some")
def _lower_some(b: FunctionBuilder, node: Node) -> None:
    kind = register_type(node.output.type)
    operand = b.take(node, 0)
    if kind == "ptr":
        b.values[node.output] = operand
        return
    half = b.op(f"insertvalue {kind} poison, i1 true, 0")
    b.values[node.output] = b.op(f"insertvalue {kind} {half}, {register_type(node.inputs[0].type)} {operand}, 1")


@lowering("prim::Unwrap", "ll::get")
def _lower_unwrap(b: FunctionBuilder, node: Node) -> None:
    (source,) = node.inputs
    made = b.operand(source) if register_type(source.type) == "ptr" else b.op(f"extractvalue {b.typed(source)}, 1")
    b.values[node.output] = made
    b.managed.retain(b, node.output.type, made)


@lowering("ll::has")
def _lower_has(b: FunctionBuilder, node: Node) -> None:
    (source,) = node.inputs
    if register_type(source.type) == "ptr":
        b.values[node.output] = b.op(f"icmp ne ptr {b.operand(source)}, null")
    else:
        b.values[node.output] = b.op(f"extractvalue {b.typed(source)}, 0")


@lowering("prim::Cast")
def _lower_cast(b: FunctionBuilder, node: Node) -> None:
    b.values[node.output] = b.take(node, 0)
