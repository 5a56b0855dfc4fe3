"""Comprehensions and generator expressions.

In: their ``ast``. Out: loops that append to a list or set the items of a dict. A generator expression is consumed where it stands
(``sum``, ``any``, ``all``, ``join``, ``min``, ``max``, ``sorted``, ``list``, ``tuple``, ``dict``); ``any`` and ``all`` stop where Python stops.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import suppress

from jitlang.frontend.emitter import Left, Result, Static
from jitlang.frontend.liveness import stores, walrus_names
from jitlang.frontend.script.items import Fixed
from jitlang.frontend.script.iteration import Iteration
from jitlang.ir.graph import Value
from jitlang.types import BOOL, ListType

Comprehension = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp


class GeneratorValue:
    """A generator expression that has not run yet."""

    def __init__(self, node: ast.GeneratorExp) -> None:
        self.node = node


class Comprehensions(Iteration):
    """``[… for …]`` and its kin."""

    def clauses(self, node: Comprehension, emit: Callable[[], None], extra: Sequence[str] = ()) -> None:
        """Runs `emit` for each combination of the for clauses that passes the ifs; `extra` are names that it changes."""
        targets = [n for g in node.generators for n in stores(g.target)]
        walrus = [n for n in walrus_names(node) if n not in targets]
        with self.scoped(targets):
            self.clause(node, 0, emit, [*walrus, *extra])

    def clause(self, node: Comprehension, at: int, emit: Callable[[], None], names: Sequence[str]) -> None:
        """The clauses from number `at` on."""
        if at == len(node.generators):
            emit()
            return
        generator = node.generators[at]
        if generator.is_async:
            self.unsupported(node)
        iterable = self.iterable(generator.iter)

        def body(item: Result) -> None:
            self.assign_item(generator.target, item)
            self.filter(node, at, list(generator.ifs), emit, names)

        self.for_each(iterable, body, names)

    def filter(self, node: Comprehension, at: int, tests: list[ast.expr], emit: Callable[[], None], names: Sequence[str]) -> None:
        """The ifs of a clause, then the clauses behind it."""
        if not tests:
            self.clause(node, at + 1, emit, names)
            return
        cond = self.test(tests[0])

        def inner() -> None:
            self.assume(cond.when_true)
            self.filter(node, at, tests[1:], emit, names)

        if isinstance(cond.truth, Static):
            if cond.truth.value:
                inner()
            return

        def run() -> None:
            with suppress(Left):
                inner()

        self.branch(cond.truth, run, lambda: None, set(names), frozenset(names))

    def list_comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Value:
        """A list of the elements."""
        made = self.empty_list()

        def add() -> None:
            self.append(made, self.run(node.elt))

        self.clauses(node, add)
        return made

    def tuple_comprehension(self, node: ast.GeneratorExp) -> Result:
        """``tuple(… for …)``: possible where the number of items is known."""
        if len(node.generators) == 1 and not node.generators[0].ifs:
            iterable = self.iterable(node.generators[0].iter)
            if iterable.unrolled is not None:
                parts = []
                with self.scoped(stores(node.generators[0].target)):
                    for at in range(len(iterable.unrolled)):
                        self.assign_item(node.generators[0].target, iterable.item(self, self.constant(at)))
                        parts.append(self.expr(node.elt))
                return self.tuple_of([self.value(p, "an item") for p in parts])
        self.type_error("the length of this tuple is not known when the script is compiled", hint="use a list")

    def dict_comprehension(self, node: ast.DictComp) -> Value:
        """A dict of the items; the last of equal keys counts."""
        made = self.dict_of([])

        def add() -> None:
            key = self.run(node.key)
            self.op("py::setitem", made, key, self.run(node.value))

        self.clauses(node, add)
        return made

    def quantifier(self, node: ast.GeneratorExp, wanted: bool) -> Value:
        """``any`` (wanted is True) and ``all`` (False) of a generator expression."""
        if len(node.generators) > 1 or self.unrolls(node):
            return self.op("py::any" if wanted else "py::all", self.truths(node))
        found = self.fresh("found")
        self.env[found] = self.constant(not wanted)

        def look() -> None:
            truth = self.truth(self.expr(node.elt))
            hit = truth if wanted else self.negate(truth)

            def stop() -> None:
                self.env[found] = self.constant(wanted)
                self.jump("prim::exit", self.loops[-1].on_break)

            if isinstance(hit, Static):
                if hit.value:
                    stop()
                return
            self.branch(hit, stop, lambda: None, set(), frozenset(self.env))

        self.clauses(node, look, [found])
        value = self.env.pop(found)
        assert isinstance(value, Value)
        return value

    def unrolls(self, node: ast.GeneratorExp) -> bool:
        """Whether the loop has no loop node to leave: its items have different types."""
        mark = self.mark()
        iterable = self.iterable(node.generators[0].iter)
        unrolled = isinstance(iterable, Fixed) or iterable.unrolled is not None
        self.rewind(mark)
        return unrolled

    def truths(self, node: ast.GeneratorExp) -> Value:
        """The truth of each item."""
        made = self.list_of([])

        def add() -> None:
            self.append(made, self.as_bool(self.truth(self.expr(node.elt))))

        self.clauses(node, add)
        if "Never" in str(made.type):
            return self.convert(made, ListType(BOOL), "the items")
        return made
