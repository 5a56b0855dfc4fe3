"""Python statements to structured SSA: the part that scripts and kernels share.

In: ``ast`` statements and an environment (local name → what it stands for). Out: nodes in a `Graph`. A dialect
(`jitlang.frontend.script`, `jitlang.frontend.kernel`) gives expressions their meaning; it subclasses `LoopEmitter`, which is
`Emitter` with loops.

A local name stands for a `Value`, for a `Static` (a Python object known at compile time: a function, a type, a
module), or for a `Maybe` (a value that some path has not defined; reading it checks a flag at run time). At merges of
control flow the live names whose values differ become block outputs.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from jitlang.errors import CompileError, ScriptNameError, ScriptSyntaxError, ScriptTypeError
from jitlang.frontend.liveness import Liveness, assigned
from jitlang.ir.graph import Block, Graph, Node, Value, recompute_uses
from jitlang.source import Source, SourceRange
from jitlang.types import BOOL, NEVER, NONE, STR, OptionalType, Type, is_subtype, join


@dataclasses.dataclass(frozen=True)
class Static:
    """A Python object known at compile time."""

    value: Any


@dataclasses.dataclass(frozen=True, eq=False)
class Maybe:
    """A value that is defined only if `flag` (a bool Value) is true."""

    value: Value
    flag: Value


Entry = Value | Static | Maybe
Result = Value | Static
Environment = dict[str, Entry]


@dataclasses.dataclass(frozen=True)
class Mark:
    """A place in the program that is being emitted."""

    block: Block
    nodes: int
    env: Environment


@dataclasses.dataclass(eq=False)
class Target:
    """Where a ``break``, ``continue`` or ``return`` goes: a node, and the names and types it carries."""

    node: Node
    names: list[str]
    types: list[Type]
    maybe: list[bool]
    reached: bool = False


@dataclasses.dataclass(eq=False)
class LoopFrame:
    """An open loop."""

    on_break: Target
    on_continue: Target


@dataclasses.dataclass(eq=False)
class ReturnFrame:
    """An open function body; `region` is the Region that an inlined body is emitted into (None: the graph itself)."""

    region: Node | None = None
    type: Type | None = None
    declared: bool = False


class WidenResult(Exception):
    """A function body returns values of a wider type than its first return said: it is emitted anew."""

    def __init__(self, frame: ReturnFrame, type: Type) -> None:
        super().__init__(str(type))
        self.frame = frame
        self.type = type


class Left(Exception):
    """Control has left the block in the middle of an expression; the rest of the statement is not emitted."""


class Emitter:
    """Emits the statements of one function.

    Args:
        graph: where nodes go.
        source: the text that the statements' positions index into.
        function: the function's name for messages and tracebacks.
    """

    tracks_undefined = True

    def __init__(self, graph: Graph, source: Source, function: str) -> None:
        self.graph = graph
        self.block: Block = graph.block
        self.source = source
        self.function = function
        self.env: Environment = {}
        self.loops: list[LoopFrame] = []
        self.returns: list[ReturnFrame] = [ReturnFrame()]
        self.where: SourceRange | None = None
        self.liveness = Liveness([])

    # ---- hooks that a dialect fills in --------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> Result:
        """Emits an expression."""
        raise NotImplementedError

    def condition(self, node: ast.expr) -> tuple[Result, Callable[[], None], Callable[[], None]]:
        """Emits an expression as a truth value: (a BOOL value or a static bool, what to do where it is true, … false).

        The two callables are run at the head of the code reached when the condition holds or not; they may refine `env`.
        """
        raise NotImplementedError

    def materialise(self, entry: Static, what: str) -> Value:
        """A static object as a run-time value; an error where there is none. `what` names it in the message."""
        raise NotImplementedError

    def convert(self, value: Value, type: Type, what: str) -> Value:
        """`value` as a value of `type`, emitting the conversion; an error where Python would have none."""
        if is_subtype(value.type, type):
            return value
        self.fail(ScriptTypeError, f"{what} is {value.type}, expected {type}")

    def store(self, target: ast.expr, value: Result) -> None:
        """Assigns to an attribute, a subscript or a starred target."""
        self.unsupported(target)

    def unpack(self, value: Result, targets: Sequence[ast.expr]) -> list[Result]:
        """The parts of `value` for these assignment targets."""
        raise NotImplementedError

    def augmented(self, statement: ast.AugAssign) -> None:
        """``target op= value``."""
        raise NotImplementedError

    def while_statement(self, s: ast.While) -> None:
        """``while test: body else: orelse``."""
        raise NotImplementedError

    def iterate(self, statement: ast.For) -> None:
        """A for statement."""
        raise NotImplementedError

    def leave(self, s: ast.Break | ast.Continue) -> None:
        """``break`` or ``continue``."""
        raise NotImplementedError

    def other_statement(self, statement: ast.stmt) -> None:
        """Any statement that this class does not know."""
        self.unsupported(statement)

    def truth_constant(self, value: bool) -> Value:
        """A constant of the dialect's truth type."""
        return self.emit("prim::Constant", (), (BOOL,), value=value).output

    # ---- nodes and places -----------------------------------------------------------------------------------------

    def emit(self, kind: str, inputs: Iterable[Value] = (), types: Iterable[Type] = (), **attributes: Any) -> Node:
        """Appends a node to the current block, at the current place."""
        return self.block.append(Node(kind, inputs, types, where=self.where, **attributes))

    def emit_at(self, kind: str, inputs: Iterable[Value], target: Node) -> Node:
        """Appends an exit or next to `target`."""
        return self.block.append(Node(kind, inputs, where=self.where, target=target))

    def range_of(self, node: ast.AST) -> SourceRange:
        """The place of an ``ast`` node in the user's file."""
        line = getattr(node, "lineno", 1)
        end = getattr(node, "end_lineno", None) or line
        offset = self.source.first_line - 1
        indent = self.source.indent
        col = getattr(node, "col_offset", 0)
        return SourceRange(self.source, line + offset, col + indent, end + offset, (getattr(node, "end_col_offset", None) or col + 1) + indent, self.function)

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Within the block, new nodes and errors stand at the place of `node`."""
        saved, self.where = self.where, self.range_of(node)
        try:
            yield
        finally:
            self.where = saved

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Within the block, nodes are appended to `block`."""
        saved, self.block = self.block, block
        try:
            yield
        finally:
            self.block = saved

    def fail(self, kind: type[CompileError], message: str, *, note: str = "", hint: str = "") -> NoReturn:
        """Raises a compile error at the current place."""
        raise kind(message, self.where, note=note, hint=hint)

    def unsupported(self, node: ast.AST, hint: str = "", what: str = "") -> NoReturn:
        """Raises the error for Python that is not part of the language; `what` is the construct in the user's words."""
        self.where = self.range_of(node)
        self.fail(ScriptSyntaxError, f"{what or type(node).__name__} is not supported in a script", hint=hint)

    # ---- names ----------------------------------------------------------------------------------------------------

    def read(self, name: str) -> Result | None:
        """What a local name stands for, with the run-time check if some path has not defined it; None if there is none."""
        entry = self.env.get(name)
        if isinstance(entry, Maybe):
            if entry.value.type == NEVER:  # no path that has been emitted so far defines it
                self.raise_undefined(name)
                raise Left
            self.check_defined(name, entry)
            self.env[name] = entry.value
            return entry.value
        return entry

    def check_defined(self, name: str, entry: Maybe) -> None:
        """Raises UnboundLocalError at run time if `entry` is not defined."""
        node = self.emit("prim::If", (entry.flag,))
        with self.inside(node.add_block()):
            self.emit("prim::yield")
        with self.inside(node.add_block()):
            self.raise_undefined(name)

    def raise_undefined(self, name: str) -> None:
        """Ends the block with Python's error for a local variable that no path here has defined."""
        text = f"cannot access local variable '{name}' where it is not associated with a value"
        message = self.emit("prim::Constant", (), (STR,), value=text).output
        self.emit("prim::raise", (message,), cls="UnboundLocalError")

    def mark(self) -> Mark:
        """The place in the program that has been reached, for `rewind`."""
        return Mark(self.block, len(self.block.nodes), dict(self.env))

    def rewind(self, mark: Mark) -> None:
        """Drops what was emitted on trial since `mark`, and what that has found out about names."""
        self.block, self.env = mark.block, dict(mark.env)
        del self.block.nodes[mark.nodes :]

    def value(self, entry: Result, what: str) -> Value:
        """`entry` as a run-time value."""
        return self.materialise(entry, what) if isinstance(entry, Static) else entry

    # ---- statements -----------------------------------------------------------------------------------------------

    def body(self, statements: Sequence[ast.stmt]) -> None:
        """Emits statements in order; stops where control has left."""
        for statement in statements:
            if self.block.terminated:
                return
            with self.at(statement):
                try:
                    self.statement(statement)
                except Left:
                    return

    def statement(self, s: ast.stmt) -> None:
        """Emits one statement."""
        if isinstance(s, ast.Assign):
            value = self.expression(s.value)
            for target in s.targets:
                self.assign(target, value)
        elif isinstance(s, ast.AugAssign):
            self.augmented(s)
        elif isinstance(s, ast.If):
            self.if_statement(s)
        elif isinstance(s, ast.While):
            self.while_statement(s)
        elif isinstance(s, ast.For):
            self.iterate(s)
        elif isinstance(s, ast.Return):
            self.return_value(self.expression(s.value) if s.value is not None else None)
        elif isinstance(s, ast.Break | ast.Continue):
            self.leave(s)
        elif isinstance(s, ast.Expr):
            if not isinstance(s.value, ast.Constant):  # a docstring, or `...`
                self.expression(s.value)
        elif isinstance(s, ast.Pass):
            pass
        else:
            self.other_statement(s)

    def assign(self, target: ast.expr, value: Result) -> None:
        """Assigns to any target."""
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            with self.at(target):
                for part, inner in zip(target.elts, self.unpack(value, target.elts), strict=True):
                    self.assign(part.value if isinstance(part, ast.Starred) else part, inner)
        else:
            with self.at(target):
                self.store(target, value)

    def bind(self, name: str, value: Result) -> None:
        """Makes a local name stand for `value`."""
        if isinstance(value, Value) and not value.name and value.node is not None:
            value.name = name
        self.env[name] = value

    # ---- merges ---------------------------------------------------------------------------------------------------

    def if_statement(self, s: ast.If) -> None:
        """``if test: body else: orelse``."""
        cond, when_true, when_false = self.condition(s.test)
        if isinstance(cond, Static):
            (when_true if cond.value else when_false)()
            self.body(s.body if cond.value else s.orelse)
            return
        names = set(assigned([*s.body, *s.orelse]))

        def then() -> None:
            when_true()
            self.body(s.body)

        def other() -> None:
            when_false()
            self.body(s.orelse)

        self.branch(cond, then, other, names, self.liveness.after.get(s, frozenset()))

    def branch(self, cond: Value, then: Callable[[], None], other: Callable[[], None], names: set[str], live: frozenset[str]) -> None:
        """Emits an If whose blocks are what the two callables emit; merges the live ones of `names`.

        Names that neither side assigns keep what they stand for, unless one side has left: then the other's view (its refinements) holds.
        """
        node = Node("prim::If", (cond,), where=self.where)
        before = self.env
        sides: list[tuple[Block, Environment | None]] = []
        for emit in (then, other):
            block = node.add_block()
            self.env = dict(before)
            with self.inside(block), suppress(Left):
                emit()
            sides.append((block, None if block.terminated else self.env))
        self.env = before
        self.block.append(node)
        alive = [(block, env) for block, env in sides if env is not None]
        if not alive:
            self.emit("prim::unreachable")
            return
        if len(alive) == 1:
            changed = [n for n, e in alive[0][1].items() if before.get(n) is not e and (n in live or n.startswith("$"))]
        else:
            changed = [n for n in dict.fromkeys(k for _, env in alive for k in env) if n in names and (n in live or n.startswith("$"))]
            for name in names - set(changed):
                before.pop(name, None)
        outputs: list[list[Value]] = [[] for _ in alive]
        results: list[tuple[str, Any]] = []
        for name in changed:
            if len(alive) != 2 or not self.merge_objects(name, [env for _, env in alive], node, outputs, results):
                self._merge_name(name, alive, node, outputs, results)
        for (block, _), values in zip(alive, outputs, strict=True):
            with self.inside(block):
                self.emit("prim::yield", values)
        for name, entry in results:
            if entry is None:
                self.env.pop(name, None)
            else:
                self.env[name] = entry

    def _merge_name(self, name: str, alive: list[tuple[Block, Environment]], node: Node, outputs: list[list[Value]], results: list[tuple[str, Any]]) -> None:
        entries = [env.get(name) for _, env in alive]
        first = entries[0]
        if all(e is first or (isinstance(e, Static) and isinstance(first, Static) and _same(e.value, first.value)) for e in entries):
            if not isinstance(first, Value) or not any(_defined_in(first, block) for block, _ in alive):
                results.append((name, first))
                return
        if not self.tracks_undefined and any(e is None for e in entries):
            results.append((name, None))
            return
        values: list[Value | None] = []
        flags: list[Value | bool] = []
        for (block, _), entry in zip(alive, entries, strict=True):
            with self.inside(block):
                values.append(entry.value if isinstance(entry, Maybe) else None if entry is None else self.value(entry, f"'{name}'"))
            flags.append(entry.flag if isinstance(entry, Maybe) else entry is not None)
        merged = self.merged_type([v for v in values if v is not None], name)
        for at, ((block, _), value) in enumerate(zip(alive, values, strict=True)):
            with self.inside(block):
                outputs[at].append(self.emit("prim::Uninitialized", (), (merged,)).output if value is None else self.convert(value, merged, f"'{name}'"))
        out = node.add_output(merged, name)
        if all(f is True for f in flags):
            results.append((name, out))
            return
        for at, ((block, _), flag) in enumerate(zip(alive, flags, strict=True)):
            with self.inside(block):
                outputs[at].append(self.truth_constant(flag) if isinstance(flag, bool) else flag)
        results.append((name, Maybe(out, node.add_output(BOOL, f"{name}_defined"))))

    def merge_objects(self, name: str, sides: Sequence[Environment], node: Node, outputs: list[list[Value]], results: list[tuple[str, Any]]) -> bool:
        """Merges a name that stands for different Python objects on the two sides, where the dialect can; whether it could."""
        del name, sides, node, outputs, results
        return False

    def merged_type(self, values: Sequence[Value], name: str) -> Type:
        """The type of a name that has these values at a merge."""
        return self.joined([v.type for v in values], name)

    def join(self, a: Type, b: Type) -> Type | None:
        """The type of a merge of values of two types, or None; a dialect may know more joins."""
        return join(a, b)

    def joined(self, types: Sequence[Type], name: str) -> Type:
        """The type of a name at a merge; an error if there is none."""
        merged = types[0]
        for other in types[1:]:
            wider = self.join(merged, other)
            if wider is None:
                self.fail(
                    ScriptTypeError,
                    f"'{name}' is {merged} on one path and {other} on another",
                    hint=f"give '{name}' one type, or use two names",
                )
            merged = wider
        return merged

    # ---- functions ------------------------------------------------------------------------------------------------

    def return_value(self, value: Result | None) -> None:
        """``return value``."""
        frame = self.returns[-1]
        result = self.emit("prim::Constant", (), (NONE,), value=None).output if value is None else self.value(value, "the returned value")
        if frame.type is None:
            frame.type = result.type
        elif not is_subtype(result.type, frame.type):
            if not frame.declared:
                wider = self.join(frame.type, result.type)
                if wider is None:
                    self.fail(
                        ScriptTypeError,
                        f"the function returns {frame.type} on one path and {result.type} on another",
                        hint="return one type, or annotate the function's result",
                    )
                if wider != frame.type:
                    raise WidenResult(frame, wider)
            result = self.convert(result, frame.type, "the returned value")
        if frame.region is not None:
            self.emit_at("prim::exit", (result,), frame.region)
        else:
            self.emit("prim::return", (result,))

    def analyse(self, statements: Sequence[ast.stmt]) -> Liveness:
        """Which names are live where, in a function body; a dialect may know of more uses."""
        return Liveness(statements)

    def function_body(self, statements: Sequence[ast.stmt], env: Environment, result: Type | None) -> None:
        """Emits a whole function body into `graph`, whose parameters are in `env` already.

        Args:
            result: the declared result type, or None to infer it.
        """
        self.liveness = self.analyse(statements)
        frame = self.returns[-1]
        frame.type, frame.declared = result, result is not None
        while True:
            self.env = dict(env)
            self.graph.block.nodes.clear()
            self.block = self.graph.block
            self.loops.clear()
            try:
                self.body(statements)
                if not self.block.terminated:
                    self.return_value(None)
            except WidenResult as widen:
                if widen.frame is not frame:
                    raise
                frame.type = widen.type
                continue
            break
        self.graph.result = frame.type if frame.type is not None else NEVER
        recompute_uses(self.graph)

    def undefined(self, name: str) -> NoReturn:
        """Raises the error for a name that stands for nothing."""
        self.fail(ScriptNameError, f"name '{name}' is not defined")


def optional_conversion(emitter: Emitter, value: Value, type: OptionalType) -> Value | None:
    """`value` (None, or a value of the element type) as an Optional; None if it is neither."""
    if value.type == NONE:
        return emitter.emit("prim::Constant", (), (type,), value=None).output
    if is_subtype(value.type, type.element):
        return emitter.emit("prim::Some", (value,), (type,)).output
    return None


def _defined_in(value: Value, block: Block) -> bool:
    owner = value.block if value.node is None else value.node.block
    return owner is block


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and isinstance(a, int | float | str | bool | tuple) and bool(a == b))
