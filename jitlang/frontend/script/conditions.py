"""and, or, not and the ternary, and what a condition says of the names in it.

In: ``ast`` expressions. Out: Ifs whose sides see optionals narrowed: ``x is not None and x.y > 0``.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import enum
import types
from collections.abc import Callable, Sequence
from typing import Any

from jitlang.frontend.emitter import Environment, Left, Result, Static
from jitlang.frontend.liveness import walrus_names
from jitlang.frontend.script.narrowing import PREFIX
from jitlang.frontend.script.operators import Choice, Operators
from jitlang.ir.graph import Node, Value
from jitlang.types import BOOL, NONE, OptionalType, Type


@dataclasses.dataclass(frozen=True)
class Fact:
    """While a condition holds, the name `name`, standing for `value`, has the type `type`."""

    name: str
    value: Value
    type: Type


@dataclasses.dataclass
class Condition:
    """A truth and what it says of names."""

    truth: Value | Static
    when_true: list[Fact] = dataclasses.field(default_factory=list)
    when_false: list[Fact] = dataclasses.field(default_factory=list)


def is_choosable(value: Any) -> bool:
    """Whether a Python object is one that any place of a function may refer to: a function, a class, a member of an Enum, or a choice of such."""
    if isinstance(value, Choice):
        return all(isinstance(side, Static) and is_choosable(side.value) for side in (value.then, value.other))
    return isinstance(value, types.FunctionType | types.BuiltinFunctionType | type | enum.Enum) and not isinstance(value, int | str)


def _same(a: Any, b: Any) -> bool:
    return bool(a.value is b.value)


class Conditions(Operators):
    """Truth with consequences."""

    # ---- and, or, the ternary ---------------------------------------------------------------------------------------

    def bool_expression(self, node: ast.BoolOp) -> Result:
        """``a and b``, ``a or b``: Python's values."""
        return self.bool_values(isinstance(node.op, ast.And), list(node.values))

    def bool_values(self, conjunction: bool, nodes: list[ast.expr]) -> Result:
        """The value of the operands from the first of `nodes` on."""
        if len(nodes) == 1:
            return self.expr(nodes[0])
        if all(self.is_boolean(n) for n in nodes[:-1]):
            cond = self.test(nodes[0])
            first: Result | None = None
        else:
            first = self.expr(nodes[0])
            cond = Condition(self.truth(first))
        if isinstance(cond.truth, Static):
            if bool(cond.truth.value) is conjunction:
                self.assume(cond.when_true if conjunction else cond.when_false)
                return self.bool_values(conjunction, nodes[1:])
            return first if first is not None else self.constant(bool(cond.truth.value))

        def short() -> Result:
            if first is None:
                return self.constant(not conjunction)
            if not conjunction and isinstance(first, Value) and isinstance(first.type, OptionalType):
                return self.emit("prim::Unwrap", (first,), (first.type.element,)).output  # it is true, hence not None
            return first

        def long() -> Result:
            self.assume(cond.when_true if conjunction else cond.when_false)
            return self.bool_values(conjunction, nodes[1:])

        names = walrus_names(*nodes[1:])
        return self.choose(cond.truth, long if conjunction else short, short if conjunction else long, names)

    def is_boolean(self, node: ast.expr) -> bool:
        """Whether an expression is a bool whatever its operands (so that its value is that of its test)."""
        if isinstance(node, ast.Compare):
            return all(isinstance(o, ast.Is | ast.IsNot | ast.In | ast.NotIn) for o in node.ops)
        return (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)) or (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        )

    def ternary(self, node: ast.IfExp, finish: Callable[[Result], Result] | None = None) -> Result:
        """``a if test else b``; `finish` makes of each side what both have in common."""

        def side(node: ast.expr) -> Result:
            if finish is None:
                return self.expr(node)
            return self.ternary(node, finish) if isinstance(node, ast.IfExp) else finish(self.expr(node))

        cond = self.test(node.test)
        if isinstance(cond.truth, Static):
            self.assume(cond.when_true if cond.truth.value else cond.when_false)
            return side(node.body if cond.truth.value else node.orelse)

        def then() -> Result:
            self.assume(cond.when_true)
            return side(node.body)

        def other() -> Result:
            self.assume(cond.when_false)
            return side(node.orelse)

        if finish is None and isinstance(node.body, ast.Name | ast.Lambda | ast.Attribute) and isinstance(node.orelse, ast.Name | ast.Lambda | ast.Attribute):
            mark = self.mark()
            with contextlib.suppress(Left):  # a name that no path has defined: the other side may still be taken
                sides = self.expr(node.body), self.expr(node.orelse)
                if all(isinstance(s, Static) and self.is_object(s.value) for s in sides):
                    return Static(Choice(cond.truth, *sides))
            self.rewind(mark)
        return self.choose(cond.truth, then, other, walrus_names(node.body, node.orelse))

    def merge_objects(self, name: str, sides: Sequence[Environment], node: Node, outputs: list[list[Value]], results: list[tuple[str, Any]]) -> bool:
        """Two functions, classes or members of an Enum become a `Choice` by the If's condition."""
        found = [env.get(name) for env in sides]
        if not all(isinstance(e, Static) and is_choosable(e.value) for e in found) or _same(*found):
            return False

        def lifted(entry: Result, side: int) -> Result:
            """What a side stands for, with the conditions of choices in it carried out of the If."""
            if not isinstance(entry, Static) or not isinstance(entry.value, Choice):
                return entry
            choice = entry.value
            outputs[side].append(choice.condition)
            with self.inside(node.blocks[1 - side]):
                outputs[1 - side].append(self.constant(False))
            return Static(Choice(node.add_output(BOOL), lifted(choice.then, side), lifted(choice.other, side)))

        results.append((name, Static(Choice(node.inputs[0], *(lifted(e, at) for at, e in enumerate(found) if isinstance(e, Static))))))
        return True

    # ---- conditions -------------------------------------------------------------------------------------------------

    def condition(self, node: ast.expr) -> tuple[Result, Callable[[], None], Callable[[], None]]:
        """An expression as a truth value, and what to do where it holds or not."""
        cond = self.test(node)
        return cond.truth, lambda: self.assume(cond.when_true), lambda: self.assume(cond.when_false)

    def assume(self, facts: Sequence[Fact]) -> None:
        """Narrows the names that facts speak of."""
        for fact in facts:
            if fact.name.startswith(PREFIX):
                if self.is_current(fact.value) and fact.type != NONE:
                    self.note_path(fact.name, self.emit("prim::Unwrap", (fact.value,), (fact.type,)).output)
                continue
            if self.env.get(fact.name) is not fact.value:
                continue
            if fact.type == NONE:
                self.env[fact.name] = self.none()
            elif isinstance(fact.value.type, OptionalType):
                self.env[fact.name] = self.emit("prim::Unwrap", (fact.value,), (fact.type,)).output

    def test(self, node: ast.expr) -> Condition:
        """An expression as a condition."""
        with self.at(node):
            if isinstance(node, ast.BoolOp):
                return self.test_bool(isinstance(node.op, ast.And), list(node.values))
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
                inner = self.test(node.operand)
                return Condition(self.negate(inner.truth), inner.when_false, inner.when_true)
            if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot):
                return self.test_none(node)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                return self.test_instance(node)
            value = self.expr(node)
            name = self.name_of(node)
            facts = []
            if name and isinstance(value, Value) and isinstance(value.type, OptionalType):
                facts.append(Fact(name, value, value.type.element))
            return Condition(self.truth(value), facts)

    def name_of(self, node: ast.expr) -> str:
        """The name, or the key of the attribute path, that an expression reads; '' for any other expression."""
        if isinstance(node, ast.NamedExpr):
            node = node.target
        return node.id if isinstance(node, ast.Name) else self.path_of(node)

    def test_bool(self, conjunction: bool, nodes: list[ast.expr]) -> Condition:
        """``a and b`` or ``a or b`` as a condition: facts of all operands hold together on one side."""
        first = self.test(nodes[0])
        if len(nodes) == 1:
            return first
        if isinstance(first.truth, Static):
            if bool(first.truth.value) is not conjunction:
                return first
            self.assume(first.when_true if conjunction else first.when_false)
            return self.test_bool(conjunction, nodes[1:])
        rest: list[Condition] = []

        def long() -> Result:
            self.assume(first.when_true if conjunction else first.when_false)
            rest.append(self.test_bool(conjunction, nodes[1:]))
            return self.as_bool(rest[0].truth)

        def short() -> Result:
            return self.constant(not conjunction)

        truth = self.choose(first.truth, long if conjunction else short, short if conjunction else long, walrus_names(*nodes[1:]))
        if conjunction:
            return Condition(truth, [*first.when_true, *(rest[0].when_true if rest else [])])
        return Condition(truth, [], [*first.when_false, *(rest[0].when_false if rest else [])])

    def test_none(self, node: ast.Compare) -> Condition:
        """``x is None`` and ``x is not None``."""
        value, other = self.expr(node.left), self.expr(node.comparators[0])
        truth = self.identical(value, other)
        name = self.name_of(node.left)
        present: list[Fact] = []
        absent: list[Fact] = []
        other_none = (isinstance(other, Value) and other.type == NONE) or (isinstance(other, Static) and other.value is None)
        if name and other_none and isinstance(value, Value) and isinstance(value.type, OptionalType):
            present.append(Fact(name, value, value.type.element))
            absent.append(Fact(name, value, NONE))
        if isinstance(node.ops[0], ast.IsNot):
            return Condition(self.negate(truth), present, absent)
        return Condition(truth, absent, present)

    def test_instance(self, node: ast.Call) -> Condition:
        """``isinstance(x, T)``."""
        raise NotImplementedError
