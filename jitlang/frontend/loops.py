"""Loops as structured SSA: the part of the emitter that scripts and kernels share.

In: ``while`` statements, and what a dialect's ``for`` gives to `LoopEmitter.loop`. Out: ``prim::For`` and ``prim::While`` nodes.

A loop carries the live names that it assigns. When a loop turns out to change the type of a carried name, or does not define it on some
path, the loop is emitted anew with the joined type or a defined-flag.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from jitlang.errors import ScriptSyntaxError, ScriptTypeError
from jitlang.frontend.emitter import Emitter, Environment, Left, LoopFrame, Maybe, Static, Target
from jitlang.frontend.liveness import assigned
from jitlang.ir.graph import Node, Value
from jitlang.types import BOOL, NEVER, Type, is_subtype


class Widen(Exception):
    """A carried name needs a wider type (or a defined-flag): the loop that owns `target` is emitted anew."""

    def __init__(self, target: Target, name: str, type: Type | None) -> None:
        super().__init__(name)
        self.target = target
        self.name = name
        self.type = type


class LoopEmitter(Emitter):
    """An `Emitter` that knows ``while``, ``break`` and ``continue``, and the loops that a dialect's ``for`` becomes."""

    def carried_names(self, s: ast.While | ast.For, extra: Iterable[str] = ()) -> list[str]:
        """The names that a loop carries: those it assigns that are live at its head or behind it."""
        live = self.liveness.head.get(s, frozenset()) | self.liveness.after.get(s, frozenset())
        names = [n for n in assigned([s]) if n in live]
        return [*names, *(n for n in extra if n not in names)]

    def while_statement(self, s: ast.While) -> None:
        """``while test: body else: orelse``."""

        def body(_: list[Value]) -> None:
            self.guard(s.test, s.orelse)
            if not self.block.terminated:
                self.body(s.body)

        self.loop("prim::While", (), (), self.carried_names(s), body)

    def guard(self, test: ast.expr, orelse: Sequence[ast.stmt]) -> None:
        """At the head of a loop body: leaves the innermost loop, by way of `orelse`, if `test` is false."""
        with self.at(test):
            cond, when_true, when_false = self.condition(test)

            def leave() -> None:
                when_false()
                frame = self.loops.pop()  # break and continue in the else clause belong to the loop outside
                try:
                    self.body(orelse)
                finally:
                    self.loops.append(frame)
                if not self.block.terminated:
                    self.jump("prim::exit", frame.on_break)

            if isinstance(cond, Static):
                if not cond.value:
                    leave()
                else:
                    when_true()
                return
            self.branch(cond, when_true, leave, set(), frozenset(self.env))

    def leave(self, s: ast.Break | ast.Continue) -> None:
        """``break`` or ``continue``."""
        if not self.loops:
            self.fail(ScriptSyntaxError, f"'{type(s).__name__.lower()}' outside loop")
        frame = self.loops[-1]
        if isinstance(s, ast.Break):
            self.jump("prim::exit", frame.on_break)
        else:
            self.jump("prim::next", frame.on_continue)

    def jump(self, kind: str, target: Target) -> None:
        """Ends the block with a terminator that carries the target's names as they are now."""
        values = self.carried_values(target)
        target.reached = target.reached or kind == "prim::exit"
        if kind == "prim::yield":
            self.emit(kind, values)
        else:
            self.emit_at(kind, values, target.node)

    def carried_values(self, target: Target) -> list[Value]:
        """The current values of the target's names, converted to its types."""
        values: list[Value] = []
        for name, type, maybe in zip(target.names, target.types, target.maybe, strict=True):
            entry = self.env.get(name)
            if not maybe and (entry is None or isinstance(entry, Maybe)):
                raise Widen(target, name, None)
            if entry is None:
                value, flag = self.emit("prim::Uninitialized", (), (type,)).output, self.truth_constant(False)
            elif isinstance(entry, Maybe):
                value, flag = entry.value, entry.flag
            else:
                value, flag = self.value(entry, f"'{name}'"), None
            if type == NEVER or not is_subtype(value.type, type):
                wider = value.type if type == NEVER else self.join(type, value.type)
                if wider is None:
                    self.fail(
                        ScriptTypeError,
                        f"'{name}' is {type} before the loop and becomes {value.type} in it",
                        hint=f"give '{name}' one type, or use two names",
                    )
                if wider != type:
                    raise Widen(target, name, wider)
                value = self.convert(value, type, f"'{name}'")
            values.append(value)
            if maybe:
                values.append(flag if flag is not None else self.truth_constant(True))
        return values

    def loop(
        self,
        kind: str,
        leading: Sequence[Value],
        leading_types: Sequence[Type],
        names: Sequence[str],
        body: Callable[[list[Value]], None],
        orelse: Sequence[ast.stmt] = (),
    ) -> None:
        """Emits a loop node.

        Args:
            kind: ``prim::For`` or ``prim::While``.
            leading: inputs in front of the carried values (start, stop, step of a For).
            leading_types: the types of the body's parameters in front of the carried ones (the index of a For).
            names: the carried names; those not defined before the loop get a defined-flag.
            body: emits the body, given the leading parameters; may leave the loop by `jump`. Runs again with wider types where needed.
            orelse: statements of a for's else clause: run when the loop ends without break.
        """
        before = self.env
        # A name that is not defined before the loop starts with no type: the first emission finds it.
        types: dict[str, Type] = {}
        maybe: dict[str, bool] = {}
        for name in names:
            entry = before.get(name)
            if isinstance(entry, Static):
                before[name] = entry = self.materialise(entry, f"'{name}'")
            maybe[name] = entry is None or isinstance(entry, Maybe)
            types[name] = NEVER if entry is None else entry.value.type if isinstance(entry, Maybe) else entry.type
            if maybe[name] and not self.tracks_undefined:
                del types[name], maybe[name]
        names = [n for n in names if n in types]
        start, depth, block, returns = len(self.block.nodes), len(self.loops), self.block, len(self.returns)
        while True:
            self.env = dict(before)
            own: list[Target] = []
            try:
                self._loop_once(kind, leading, leading_types, before, names, types, maybe, body, orelse, own)
            except Widen as widen:
                if widen.target not in own:
                    raise
                self.block = block
                del block.nodes[start:], self.loops[depth:], self.returns[returns:]
                if widen.type is None:
                    maybe[widen.name] = True
                else:
                    types[widen.name] = widen.type
                continue
            return

    def _loop_once(
        self,
        kind: str,
        leading: Sequence[Value],
        leading_types: Sequence[Type],
        before: Environment,
        names: Sequence[str],
        types: dict[str, Type],
        maybe: dict[str, bool],
        body: Callable[[list[Value]], None],
        orelse: Sequence[ast.stmt],
        own: list[Target],
    ) -> None:
        block = self.block
        region = Node("prim::Region", where=self.where) if orelse else None
        node = Node(kind, leading, where=self.where)
        flags = [maybe[n] for n in names]
        target = Target(node, list(names), [types[n] for n in names], flags)
        own.append(target)
        on_break = Target(region, target.names, target.types, flags) if region is not None else target
        own.append(on_break)
        if region is not None:
            self.block = region.add_block()
        for value in self.carried_values(target):
            node.add_input(value)
        inner = node.add_block()
        params = [inner.add_param(t) for t in leading_types]
        self._bind_carried(target, inner.add_param)
        self.loops.append(LoopFrame(on_break, target))
        here, self.block = self.block, inner
        with suppress(Left):
            body(params)
        if not inner.terminated:
            self.jump("prim::yield", target)
        self.loops.pop()
        self.block = here
        self.block.append(node)
        self.env = dict(before)  # what the body has found out about other names holds only if it has run
        self._bind_carried(target, node.add_output)
        if kind == "prim::While" and not on_break.reached:
            self.emit("prim::unreachable")  # `while True` without a break is left by return and raise only
            return
        if region is not None:
            self.body(orelse)
            if not self.block.terminated:
                self.jump("prim::yield", on_break)
            self.block = block
            block.append(region)
            self._bind_carried(on_break, region.add_output)

    def _bind_carried(self, target: Target, make: Callable[[Type, str], Value]) -> None:
        for name, type, maybe in zip(target.names, target.types, target.maybe, strict=True):
            value = make(type, name)
            self.env[name] = Maybe(value, make(BOOL, f"{name}_defined")) if maybe else value
