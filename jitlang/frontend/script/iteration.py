"""``for`` over everything that can be iterated: ranges, lists, strings, tuples, dicts, tensors, enumerate, zip, reversed, module lists.

In: an iterable and a loop body. Out: ``prim::For`` where the number of iterations is known when the loop begins, ``prim::While`` over an
index where a list or dict may change its length meanwhile (Python looks at the length anew each time), unrolled copies where the items have
different types.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from jitlang.errors import ScriptSyntaxError
from jitlang.frontend.emitter import Left, Result, Static
from jitlang.frontend.script.base import absent
from jitlang.frontend.script.classes import BoundMethod, Classes
from jitlang.frontend.script.items import Enumerated, Fixed, Indexed, Items, Keyed, LazyIterable, Ranged, Reversed, Rows, Zipped
from jitlang.frontend.script.statics import Parts, RangeValue
from jitlang.frontend.script.words import describe
from jitlang.ir.graph import Block, Value
from jitlang.registry import find
from jitlang.types import (
    INT,
    STR,
    ClassType,
    DictType,
    ListType,
    SetType,
    TensorType,
    TupleType,
    Type,
)


class Iteration(Classes):
    """Loops."""

    # ---- what is iterated -------------------------------------------------------------------------------------------

    def iterable(self, node: ast.expr) -> Items:
        """The iterable that an expression gives, without making lists of lazy ones."""
        with self.at(node):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("items", "keys", "values") and not node.args:
                base = self.expr(node.func.value)
                if isinstance(base, Static) and isinstance(base.value, dict):
                    if not self.has_value(base.value):
                        return Fixed(self.part_items([(k, self.static(v)) for k, v in base.value.items()], node.func.attr))
                    base = self.materialise(base, "the dict")
                if isinstance(base, Value) and absent(base.type):
                    base = self.present(base, "AttributeError", f"'NoneType' object has no attribute '{node.func.attr}'")
                if isinstance(base, Value) and isinstance(base.type, DictType):
                    return Keyed(base, self.op("py::keys", base), node.func.attr)
                if isinstance(base, Value):
                    parts = self.module_parts(base)
                    if parts is not None:
                        return Fixed(self.part_items(parts, node.func.attr))
                return self.iterate_value(self.call_value(self.attribute(base, node.func.attr), [], {}), describe(node))
            return self.iterate_value(self.expr(node), describe(node))

    def part_items(self, parts: Sequence[tuple[Any, Result]], what: str) -> list[Result]:
        """Items, keys or values of a module dict."""
        if what == "keys":
            return [self.static(n) for n, _ in parts]
        if what == "values":
            return [v for _, v in parts]
        return [Static(Parts([self.static(n), v])) for n, v in parts]

    def iterate_value(self, value: Result, what: str) -> Items:
        """The iterable that a value is."""
        if isinstance(value, Static):
            return self.iterate_static(value.value, what)
        type = value.type
        if absent(type):
            value = self.present(value, "TypeError", "'NoneType' object is not iterable")
            type = value.type
        if isinstance(type, ListType) or type == STR:
            return Indexed(value)
        if isinstance(type, TensorType):
            if type.rank == 0:
                self.type_error("iteration over a tensor of no dimension")
            return Rows(value)
        if isinstance(type, DictType):
            return Keyed(value, self.op("py::keys", value), "keys")
        if isinstance(type, SetType):
            return Indexed(self.op("py::list", value))
        if isinstance(type, TupleType):
            return Fixed(self.parts_of(value))
        if isinstance(type, ClassType):
            parts = self.module_parts(value)
            if parts is not None:
                named = any(c.__name__ in ("ModuleDict", "ParameterDict") for c in type.python.__mro__) if type.python else False
                return Fixed(self.part_items(parts, "keys" if named else "values"))
            if self.find_method(type, "__iter__") is not None:
                made = self.value(self.call_method(value, "__iter__", [], {}), "the iterator")
                if made.type != type:
                    return self.iterate_value(made, what)
        self.type_error(f"{what} is {type}, which cannot be iterated")

    def iterate_static(self, held: Any, what: str) -> Items:
        """The iterable that a Python object known at compile time is."""
        if isinstance(held, LazyIterable):
            return held.iterable
        if isinstance(held, RangeValue):
            return Ranged(held.start, held.stop, held.step)
        if isinstance(held, range):
            return Ranged(self.constant(held.start), self.constant(held.stop), self.constant(held.step))
        if isinstance(held, Parts):
            return Fixed(held.items)
        if isinstance(held, type) and issubclass(held, enum.Enum):
            return Fixed([Static(m) for m in held])
        if isinstance(held, tuple | list) and not self.has_value(held if isinstance(held, list) else list(held)):
            return Fixed([self.static(v) for v in held])
        if isinstance(held, dict) and not self.has_value(held):
            return Fixed([self.static(k) for k in held])
        if isinstance(held, tuple | list | dict | str):
            return self.iterate_value(self.materialise(Static(held), what), what)
        self.type_error(f"{what} cannot be iterated in a script")

    # ---- loops ------------------------------------------------------------------------------------------------------

    def iterate(self, statement: ast.For) -> None:
        """A for statement."""
        iterable = self.iterable(statement.iter)

        def body(item: Result) -> None:
            self.assign_item(statement.target, item)
            self.body(statement.body)

        self.for_each(iterable, body, self.carried_names(statement), statement)

    def assign_item(self, target: ast.expr, item: Result) -> None:
        """Binds the loop's target to an item."""
        with self.at(target):
            self.assign(target, item)

    def for_each(self, iterable: Items, body: Callable[[Result], None], names: Sequence[str], statement: ast.For | None = None) -> None:
        """Runs `body` for each item; `names` are the names that the loop carries."""
        orelse = statement.orelse if statement is not None else []
        if iterable.unrolled is not None:
            self.unroll(iterable, len(iterable.unrolled), body, names, statement)
            return
        if isinstance(iterable, Ranged):
            inputs = (iterable.start, iterable.stop, iterable.step)
            self.loop("prim::For", inputs, (INT,), names, lambda p: self.run_body(body, p[0]), orelse)
            return
        mark = self.mark()
        self.counted(iterable, body, names, orelse)
        if changes_length(mark.block, mark.nodes, iterable.resizable()):
            self.rewind(mark)
            self.indexed(iterable, body, names, orelse)

    def run_body(self, body: Callable[[Result], None], item: Result) -> None:
        """Emits a body; control may leave in it."""
        with suppress(Left):
            body(item)

    def counted(self, iterable: Items, body: Callable[[Result], None], names: Sequence[str], orelse: Sequence[ast.stmt]) -> None:
        """A loop whose number of iterations does not change."""
        length = iterable.length(self)

        def run(params: list[Value]) -> None:
            with suppress(Left):
                body(iterable.item(self, params[0]))

        self.loop("prim::For", (self.constant(0), length, self.constant(1)), (INT,), names, run, orelse)

    def indexed(self, iterable: Items, body: Callable[[Result], None], names: Sequence[str], orelse: Sequence[ast.stmt]) -> None:
        """A loop that looks at the length anew each time."""
        index = self.fresh("index")
        self.env[index] = self.constant(0)

        def run(_: list[Value]) -> None:
            at = self.env[index]
            assert isinstance(at, Value)
            iterable.watch(self)
            inside = self.op("py::lt", at, iterable.length(self))

            def leave() -> None:
                frame = self.loops.pop()
                try:
                    self.body(orelse)
                finally:
                    self.loops.append(frame)
                if not self.block.terminated:
                    self.jump("prim::exit", frame.on_break)

            self.branch(inside, lambda: None, leave, set(), frozenset(self.env))
            with suppress(Left):
                item = iterable.item(self, at)
                self.env[index] = self.op("py::add", at, self.constant(1))
                body(item)

        self.loop("prim::While", (), (), [*names, index], run)
        self.env.pop(index, None)

    def unroll(self, iterable: Items, count: int, body: Callable[[Result], None], names: Sequence[str], statement: ast.For | None) -> None:
        """A loop over items known one by one: over a list of them where they have one type, else a copy of the body for each."""
        leaves = statement is not None and leaves_loop(statement.body)
        if leaves or (count > 1 and self.plain_items(iterable)):
            same = iterable.indexable(self)
            if same is not None:
                self.for_each(same, body, names, statement)
                return
        if leaves:
            self.fail(
                ScriptSyntaxError,
                "break and continue are not possible in a loop over items of different types, which is unrolled",
                hint="use if and else, or return from a function",
            )
        for at in range(count):
            body(iterable.item(self, self.constant(at)))
            if self.block.terminated:
                return
        if statement is not None:
            self.body(statement.orelse)

    def plain_items(self, iterable: Items) -> bool:
        """Whether the items are all plain values (no modules, tensors or objects known at compile time)."""
        if isinstance(iterable, Zipped):
            return all(self.plain_items(p) for p in iterable.parts)
        if isinstance(iterable, Enumerated | Reversed):
            return self.plain_items(iterable.inner)
        if isinstance(iterable, Fixed):
            return all(isinstance(i, Value) and not isinstance(i.type, ClassType | TensorType) for i in iterable.items)
        return True

    # ---- iterables as lists -----------------------------------------------------------------------------------------

    def as_list(self, value: Result) -> Value:
        """The elements of an iterable as a list (the list itself, if it is one)."""
        if isinstance(value, Value):
            if isinstance(value.type, ListType):
                return value
            if isinstance(value.type, DictType):
                return self.op("py::keys", value)
            if value.type == STR:
                return self.op("py::list", value)
            if isinstance(value.type, TupleType):
                return self.list_of(self.parts_of(value))
        elif isinstance(value.value, RangeValue):
            return self.materialise(value, "the range")
        elif isinstance(value.value, list) and self.has_value(value.value):
            return self.materialise(value, "the list")
        return self.collect(self.iterate_value(value, "the value"))

    def collect(self, iterable: Items) -> Value:
        """A new list of the items."""
        if isinstance(iterable, Keyed) and iterable.what != "keys":
            return self.op(f"py::{iterable.what}", iterable.value)
        if iterable.unrolled is not None:
            return self.list_of([self.value(iterable.item(self, self.constant(i)), "an item") for i in range(len(iterable.unrolled))])
        made = self.empty_list()

        def add(item: Result) -> None:
            self.append(made, self.value(item, "an item"))

        self.for_each(iterable, add, [])
        return made

    def empty_list(self) -> Value:
        """A new list whose element type the first append decides."""
        return self.list_of([])

    def append(self, made: Value, item: Value) -> None:
        """``made.append(item)``."""
        self.op("py::append", made, item)

    def in_list(self, holder: Value, value: Value) -> Value | Static:
        """Looks an item up in a list by ``==`` of the language."""
        found = self.fresh("found")
        self.env[found] = self.constant(False)

        def look(item: Result) -> None:
            equal = self.as_bool(self.truth(self.relation(ast.Eq, item, value)))

            def hit() -> None:
                self.env[found] = self.constant(True)
                self.jump("prim::exit", self.loops[-1].on_break)

            self.branch(equal, hit, lambda: None, set(), frozenset(self.env))

        self.counted(Indexed(holder), look, [found], [])
        result = self.env.pop(found)
        assert isinstance(result, Value)
        return result

    def equal_containers(self, x: Value, y: Value) -> Value:
        """Whether two lists or dicts have equal items by ``==`` of the language."""
        same = self.fresh("same")
        self.env[same] = self.op("py::eq", self.op("py::len", x), self.op("py::len", y))
        items = x if isinstance(x.type, ListType) else self.op("py::keys", x)

        def differs() -> None:
            self.env[same] = self.constant(False)
            self.jump("prim::exit", self.loops[-1].on_break)

        def values(at: Value) -> tuple[Value, Value]:
            if isinstance(x.type, ListType):
                return self.op("py::getitem", x, at), self.op("py::getitem", y, at)
            key = self.op("py::getitem", items, at)
            self.branch(self.op("py::contains", y, key), lambda: None, differs, set(), frozenset())
            return self.op("py::getitem", x, key), self.op("py::getitem", y, key)

        def body(params: list[Value]) -> None:
            equal = self.as_bool(self.truth(self.relation(ast.Eq, *values(params[0]))))
            self.branch(equal, lambda: None, differs, set(), frozenset())

        count = self.choose(self.entry(same), lambda: self.op("py::len", items), lambda: self.constant(0))
        self.loop("prim::For", (self.constant(0), count, self.constant(1)), (INT,), [same], body)
        return self.entry(same, pop=True)


_RESIZING = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "iadd", "imul", "set_slice", "del_slice", "delitem"})
_RESIZING_DICT = frozenset({"setitem", "delitem", "pop", "popitem", "clear", "update", "setdefault"})


def changes_length(block: Block, start: int, watched: Sequence[Value]) -> bool:
    """Whether the nodes emitted from `start` on may change the length of one of these lists and dicts."""
    kinds = {v.type for v in watched}
    if not kinds:
        return False
    for top in block.nodes[start:]:
        for node in top.walk():
            space, _, name = node.kind.partition("::")
            if space == "py" and name in _RESIZING | _RESIZING_DICT:
                target = node.inputs[0]
                resizing = _RESIZING_DICT if isinstance(target.type, DictType) else _RESIZING
                if name in resizing and target.type in kinds and not all(_distinct(target, w) for w in watched):
                    return True
            elif node.kind == "prim::Call" and any(_holds(v.type, kinds, set()) for v in node.inputs):
                return True
    return False


def _distinct(a: Value, b: Value) -> bool:
    """Whether two values are certainly different lists: one of them was made here and is not the other."""
    if a is b:
        return False
    return _fresh(a) or _fresh(b)


def _fresh(value: Value) -> bool:
    node = value.node
    if node is None:
        return False
    if node.kind in ("prim::List", "prim::Dict"):
        return True
    if not node.kind.startswith("py::"):
        return False
    overload = node.attributes.get("overload")
    row = find(f"{node.kind}.{overload}" if overload else node.kind)
    return all(r.alias is None for r in row.schema.returns)


def _holds(type: Type, kinds: set[Type], seen: set[Type]) -> bool:
    """Whether a value of `type` may lead to a list of one of these types."""
    if type in seen:
        return False
    seen.add(type)
    if type in kinds:
        return True
    inner = type.attributes.values() if isinstance(type, ClassType) else type.children()
    return any(_holds(t, kinds, seen) for t in inner)


def leaves_loop(statements: Sequence[ast.stmt]) -> bool:
    """Whether a loop's body has a break or continue of that loop."""
    for s in statements:
        if isinstance(s, ast.Break | ast.Continue):
            return True
        if isinstance(s, ast.For | ast.While):
            if leaves_loop(s.orelse):
                return True
            continue
        if isinstance(s, ast.FunctionDef | ast.ClassDef):
            continue
        for field in ("body", "orelse", "finalbody"):
            if leaves_loop(getattr(s, field, [])):
                return True
    return False


__all__ = ["BoundMethod", "Iteration", "LazyIterable"]
