"""One graph to one LLVM function: control flow, ownership and the way out of errors.

In: a `Graph`. Out: the function's text in a `Module`. What single nodes mean is a table, kind → lowering
(`jitlang.codegen.structured`, `literals`, `machine` and those of scripts).

Ownership of reference-counted values: a graph's parameters are borrowed; every other value of a managed type is owned
by the block that defines it and released after its last use there, or moved on (`take`) where its last use consumes it. Way out of errors: a node that fails branches to a
cleanup chain that releases, newest first, everything owned at that point; chains share their tails.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from jitlang.codegen.llvm_types import quote, register_type
from jitlang.codegen.records import site_helper
from jitlang.errors import CodegenError
from jitlang.ir.graph import Block, Graph, Node, Value
from jitlang.types import NEVER, NONE, VOID, Type

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
        self,
        module: Module,
        graph: Graph,
        symbol: str,
        *,
        raises: bool,
        linkage: str = "internal",
        attributes: str = "",
        script: bool = False,
        managed: Managed | None = None,
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

    def leave(self, node: Node, depth: int) -> list[str]:
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
        lower = LOWERINGS.get(node.kind) or LOWERINGS.get(node.kind.split("::")[0] + "::*")
        if lower is None:
            raise CodegenError(f"no lowering for {node.kind}")
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
