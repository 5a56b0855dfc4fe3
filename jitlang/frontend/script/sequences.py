"""Builtin functions over sequences: ``len``, ``range``, ``zip``, ``list``, ``sum``, ``sorted``, ``min``, ``map`` and their kin.

In: calls. Out: ``py::`` operators where a row does it, loops where a key, a generator or objects of the user are involved.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable

from jitlang.errors import ScriptValueError
from jitlang.frontend.annotations import join_containers
from jitlang.frontend.emitter import Left, Maybe, Result, Static
from jitlang.frontend.script.base import absent
from jitlang.frontend.script.comprehensions import GeneratorValue
from jitlang.frontend.script.items import Enumerated, Items, IteratorValue, LazyIterable, Reversed, Zipped
from jitlang.frontend.script.module_tables import may_change
from jitlang.frontend.script.operators import python_name
from jitlang.frontend.script.statics import Parts, RangeValue
from jitlang.frontend.script.strings import Strings
from jitlang.frontend.script.subscripts import void
from jitlang.ir.graph import Value
from jitlang.types import BOOL, FLOAT, INT, NEVER, NONE, STR, ClassType, DictType, ListType, OptionalType, TensorType, TupleType

Arguments = list[Result]
Keywords = dict[str, Result]


class Sequences(Strings):
    """What ``sum(xs)`` and the like mean."""

    def arity(self, name: str, positional: Arguments, keywords: Keywords, least: int, most: int) -> None:
        """A compile error for a wrong number of arguments."""
        raise NotImplementedError

    # ---- containers -------------------------------------------------------------------------------------------------

    def builtin_len(self, positional: Arguments, keywords: Keywords) -> Result:
        """``len(…)``."""
        self.arity("len", positional, keywords, 1, 1)
        value = positional[0]
        if isinstance(value, Static):
            if isinstance(value.value, RangeValue):
                r = value.value
                return self.op("py::range_length", r.start, r.stop, r.step)
            if isinstance(value.value, Parts):
                return self.constant(len(value.value.items))
            if not may_change(value.value):
                return self.constant(len(value.value))
            value = self.materialise(value, "the argument")
        if absent(value.type):
            value = self.present(value, "TypeError", "object of type 'NoneType' has no len()")
        if isinstance(value.type, TupleType):
            return self.constant(len(value.type.elements))
        if isinstance(value.type, TensorType):
            return self.op("aten::size", value, self.constant(0))
        if isinstance(value.type, ClassType):
            parts = self.module_parts(value)
            return self.constant(len(parts)) if parts is not None else self.call_method(value, "__len__", [], {})
        return self.op("py::len", value)

    def builtin_range(self, positional: Arguments, keywords: Keywords) -> Result:
        """``range(…)``."""
        self.arity("range", positional, keywords, 1, 3)
        bounds = []
        for p in positional:
            value = self.value(p, "the bound")
            if isinstance(value.type, TensorType):
                value = self.tensor_number(value, INT)
            if absent(value.type):
                value = self.present(value, "TypeError", "'NoneType' object cannot be interpreted as an integer")
            if value.type == FLOAT:
                self.type_error("range() takes ints, not float", hint="write int(…)")
            bounds.append(self.convert(value, INT, "the bound of range()"))
        start = bounds[0] if len(bounds) > 1 else self.constant(0)
        step = bounds[2] if len(bounds) == 3 else self.constant(1)
        self.check_step(step)
        return Static(RangeValue(start, bounds[1] if len(bounds) > 1 else bounds[0], step))

    def check_step(self, step: Value) -> None:
        """ValueError for a step of zero."""
        if step.is_constant and step.constant != 0:
            return
        zero = self.op("py::eq", step, self.constant(0))
        self.when(zero, lambda: self.raise_error("ValueError", "range() arg 3 must not be zero"))

    def inner(self, value: Result) -> Items:
        """An argument as an iterable."""
        if isinstance(value, Static) and isinstance(value.value, GeneratorValue):
            return self.iterate_value(self.list_comprehension(value.value.node), "the generator")
        return self.iterate_value(value, "the argument")

    def builtin_enumerate(self, positional: Arguments, keywords: Keywords) -> Result:
        """``enumerate(…)``."""
        start = positional[1] if len(positional) > 1 else keywords.get("start")
        first = self.constant(0) if start is None else self.convert(self.value(start, "start"), INT, "start")
        return Static(LazyIterable(Enumerated(self.inner(positional[0]), first)))

    def builtin_zip(self, positional: Arguments, keywords: Keywords) -> Result:
        """``zip(…)``."""
        strict = "strict" in keywords and bool(self.value(keywords["strict"], "strict").constant)
        if not positional:
            return self.list_of([])
        parts = [self.inner(p) for p in positional]
        fixed = [p.unrolled is not None for p in parts]
        if any(fixed) and not all(fixed):
            parts = [p if p.unrolled is None else self.run_time(p) for p in parts]
        return Static(LazyIterable(Zipped(parts, strict)))

    def run_time(self, iterable: Items) -> Items:
        """An iterable of known items as one with an index at run time."""
        found = iterable.indexable(self)
        if found is None:
            self.type_error("zip() of items of different types and of a list of unknown length")
        return found

    def builtin_reversed(self, positional: Arguments, keywords: Keywords) -> Result:
        """``reversed(…)``."""
        self.arity("reversed", positional, keywords, 1, 1)
        inner = self.inner(positional[0])
        return Static(LazyIterable(Reversed(inner, inner.length(self))))

    def builtin_list(self, positional: Arguments, keywords: Keywords) -> Result:
        """``list(…)``."""
        self.arity("list", positional, keywords, 0, 1)
        if not positional:
            return self.empty_list()
        value = positional[0]
        if isinstance(value, Static):
            if isinstance(value.value, GeneratorValue):
                return self.list_comprehension(value.value.node)
            return self.as_list(value) if not isinstance(value.value, list) else self.op("py::list", self.as_list(value))
        if isinstance(value.type, ListType):
            return self.op("py::list", value)
        return self.as_list(value)

    def builtin_tuple(self, positional: Arguments, keywords: Keywords) -> Result:
        """``tuple(…)``."""
        self.arity("tuple", positional, keywords, 0, 1)
        if not positional:
            return self.tuple_of([])
        value = positional[0]
        if isinstance(value, Static) and isinstance(value.value, GeneratorValue):
            return self.tuple_comprehension(value.value.node)
        if isinstance(value, Value) and isinstance(value.type, TupleType):
            return self.retype(value, TupleType(value.type.elements))
        iterable = self.inner(value)
        if iterable.unrolled is None:
            self.type_error("the length of this tuple is not known when the script is compiled", hint="use a list")
        return self.tuple_of([self.value(iterable.item(self, self.constant(i)), "an item") for i in range(len(iterable.unrolled))])

    def builtin_dict(self, positional: Arguments, keywords: Keywords) -> Result:
        """``dict(…)``."""
        if keywords:
            items = [(self.constant(k), self.value(v, f"'{k}'")) for k, v in keywords.items()]
            made = self.dict_of(items)
            if positional:
                made = self.op("py::or", self.builtin_dict(positional, {}), made)
            return made
        if not positional:
            return self.dict_of([])
        value = positional[0]
        if isinstance(value, Value) and isinstance(value.type, DictType):
            return self.op("py::dict", value)
        if isinstance(value, Static) and isinstance(value.value, dict):
            return self.op("py::dict", self.materialise(value, "the dict"))
        pairs = self.list_comprehension(value.value.node) if isinstance(value, Static) and isinstance(value.value, GeneratorValue) else None
        made = self.dict_of([])

        def add(item: Result) -> None:
            key, held = (self.value(p, "an item") for p in self.unpack(item, _PAIR))
            self.op("py::setitem", made, key, held)

        self.for_each(self.iterate_value(pairs, "the pairs") if pairs is not None else self.inner(value), add, [])
        return made

    def items(self, value: Result) -> Value:
        """The argument of sum, min, sorted … as a list."""
        if isinstance(value, Static) and isinstance(value.value, GeneratorValue):
            return self.list_comprehension(value.value.node)
        return self.as_list(value)

    def builtin_sum(self, positional: Arguments, keywords: Keywords) -> Result:
        """``sum(…)``."""
        start = positional[1] if len(positional) > 1 else keywords.get("start")
        source = positional[0]
        if isinstance(source, Value) and isinstance(source.type, TensorType):
            return self.fold_sum(self.iterate_value(source, "the tensor"), self.constant(0) if start is None else self.value(start, "start"))
        if isinstance(source, Value) and isinstance(source.type, TupleType):
            total: Result = self.constant(0) if start is None else start
            for part in self.parts_of(source):
                total = self.binary("+", total, part)
            return total
        items = self.items(source)
        if items.type == ListType(NEVER):
            return self.constant(0) if start is None else start
        assert isinstance(items.type, ListType)
        element = items.type.element
        if element == BOOL:
            made = self.emit("prim::List", (), (ListType(INT),)).output
            self.for_each(self.iterate_value(items, "the items"), lambda i: self.append(made, self.value(i, "an item")), [])
            items, element = made, INT
        first = self.value(start, "start") if start is not None else self.constant(0 if element == INT else 0.0)
        if element in (INT, FLOAT) and first.type in (INT, BOOL, element):
            return self.op("py::sum", items, self.convert(first, element, "start"))
        return self.fold_sum(self.iterate_value(items, "the items"), self.constant(0) if start is None else first)

    def fold_sum(self, iterable: Items, start: Value) -> Result:
        """``start + item + item …`` of items that are no plain numbers; the first sum decides the type."""
        add = functools.partial(self.binary, "+")
        if isinstance(start.type, TensorType) or start.type in (FLOAT, STR) or isinstance(start.type, ListType | TupleType | ClassType):
            return self.fold(iterable, start, add)
        # 0 + first item has the type of an item: the empty sum stays the int 0 in Python, which has no such type.
        return self.fold_from_first(
            iterable,
            lambda first: self.value(self.binary("+", start, first), "the sum"),
            add,
            "ValueError",
            "sum() of no tensors or objects: give a start value",
        )

    def fold(self, iterable: Items, start: Value, combine: Callable[[Result, Result], Result]) -> Value:
        """``combine(combine(start, item), item)`` and so on."""
        total = self.fresh("total")
        self.env[total] = start

        def step(item: Result) -> None:
            self.env[total] = self.value(combine(self.entry(total), item), "the result")

        self.for_each(iterable, step, [total])
        return self.entry(total, pop=True)

    def fold_from_first(self, iterable: Items, begin: Callable[[Value], Value], combine: Callable[[Result, Result], Result], error: str, message: str) -> Value:
        """The same with what `begin` makes of the first item as the start; an error at run time where there is none."""
        items = self.collect(iterable)
        assert isinstance(items.type, ListType)
        self.when(self.as_bool(self.negate(self.truth(items))), lambda: self.raise_error(error, message))
        first = begin(self.op("py::getitem", items, self.constant(0)))
        rest = self.op("py::slice", items, *(self.convert(b, OptionalType(INT), "a bound") for b in (self.constant(1), self.none(), self.none())))
        return self.fold(self.iterate_value(rest, "the items"), first, combine)

    def reduced(self, positional: Arguments, keywords: Keywords) -> Result:
        """``functools.reduce(function, items, start)``."""
        self.arity("reduce", positional, keywords, 2, 3)
        items = self.inner(positional[1])

        def combine(a: Result, b: Result) -> Result:
            return self.call_value(positional[0], [a, b], {})

        if len(positional) == 3:
            return self.fold(items, self.value(positional[2], "the start"), combine)
        return self.fold_from_first(items, lambda first: first, combine, "TypeError", "reduce() of empty iterable with no initial value")

    def builtin_any(self, positional: Arguments, keywords: Keywords) -> Result:
        """``any(…)``."""
        return self.quantified("any", positional, keywords)

    def builtin_all(self, positional: Arguments, keywords: Keywords) -> Result:
        """``all(…)``."""
        return self.quantified("all", positional, keywords)

    def quantified(self, name: str, positional: Arguments, keywords: Keywords) -> Result:
        """any(items), all(items)."""
        self.arity(name, positional, keywords, 1, 1)
        value = positional[0]
        if isinstance(value, Static) and isinstance(value.value, GeneratorValue):
            return self.quantifier(value.value.node, name == "any")
        items = self.as_list(value)
        if items.type == ListType(NEVER):
            return self.constant(name == "all")
        return self.op(f"py::{name}", items)

    def builtin_iter(self, positional: Arguments, keywords: Keywords) -> Result:
        """``iter(…)``."""
        self.arity("iter", positional, keywords, 1, 1)
        return Static(IteratorValue(self.inner(positional[0])))

    def builtin_next(self, positional: Arguments, keywords: Keywords) -> Result:
        """``next(… for …)`` and ``next(iter(…))``: the first item, else the default or StopIteration."""
        self.arity("next", positional, keywords, 1, 2)
        source = positional[0]
        if isinstance(source, Value) and isinstance(source.type, ClassType) and self.find_method(source.type, "__next__") is not None:
            return self.call_method(source, "__next__", [], {})
        found = self.fresh("first")

        def take(item: Result) -> None:
            self.env[found] = self.value(item, "the item")
            self.leave_loop()

        if isinstance(source, Static) and isinstance(source.value, GeneratorValue):
            node = source.value.node
            if len(node.generators) == 1 and not self.unrolls(node):
                self.clauses(node, lambda: take(self.expr(node.elt)), [found])
            else:
                self.for_each(self.inner(source), take, [found])
        elif isinstance(source, Static) and isinstance(source.value, LazyIterable):
            items = source.value.iterable.indexable(self)
            self.for_each(items if items is not None else source.value.iterable, take, [found])
        else:
            self.type_error("next() takes a generator expression or iter(…) in a script", hint="keep an index and count it up")
        entry = self.env.pop(found, None)
        if not isinstance(entry, Maybe):
            self.raise_error("StopIteration")
            raise Left
        if len(positional) == 2:
            return self.choose(entry.flag, lambda: entry.value, lambda: positional[1])
        self.when(self.op("py::not", entry.flag), lambda: self.raise_error("StopIteration"))
        return entry.value

    # ---- order ------------------------------------------------------------------------------------------------------

    def builtin_sorted(self, positional: Arguments, keywords: Keywords) -> Result:
        """``sorted(…)``."""
        self.arity("sorted", positional, {}, 1, 1)
        items = self.items(positional[0])
        return self.sort_list(items, keywords)

    def sort_list(self, items: Value, keywords: Keywords) -> Value:
        """A sorted copy by ``key`` and ``reverse``."""
        reverse = self.as_bool(self.truth(keywords["reverse"])) if "reverse" in keywords else self.constant(False)
        key = keywords.get("key")
        if items.type == ListType(NEVER):
            return self.op("py::list", items)
        if key is None or (isinstance(key, Value) and key.type == NONE):
            keys = items
        else:
            keys = self.empty_list()
            self.for_each(self.iterate_value(items, "the items"), lambda i: self.append(keys, self.value(self.call_value(key, [i], {}), "the key")), [])
        if keys.type == ListType(NEVER):
            return self.op("py::list", items)
        assert isinstance(keys.type, ListType)
        if isinstance(keys.type.element, OptionalType) and not isinstance(keys.type.element.element, ClassType | TupleType):
            few = self.op("py::lt", self.op("py::len", keys), self.constant(2))
            return self.choose(few, lambda: self.op("py::list", items), lambda: self.op("py::sorted_by", items, self.all_present(keys), reverse))
        if any(isinstance(t, ClassType | OptionalType) for t in keys.type.walk()):
            return self.insertion_sort(items, keys, reverse)
        return self.op("py::sorted", items, reverse) if keys is items else self.op("py::sorted_by", items, keys, reverse)

    def all_present(self, keys: Value) -> Value:
        """A list of optionals as one of their values; TypeError where one is None, which cannot be compared."""
        assert isinstance(keys.type, ListType)
        assert isinstance(keys.type.element, OptionalType)
        inner = keys.type.element.element
        message = f"'<' not supported between instances of 'NoneType' and '{python_name(inner)}'"
        made = self.emit("prim::List", (), (ListType(inner),)).output

        def add(item: Result) -> None:
            self.append(made, self.present(self.value(item, "a key"), "TypeError", message))

        self.for_each(self.iterate_value(keys, "the keys"), add, [])
        return made

    def insertion_sort(self, items: Value, keys: Value, reverse: Value) -> Value:
        """A sorted copy by the user's ``__lt__``: each item goes behind those that are not greater, whose place bisection finds.

        As in Python a reversed sort is stable too: the items are taken from the end, and the result is turned round.
        """
        made, ranks = (self.emit("prim::List", (), (v.type,)).output for v in (items, keys))
        size = self.op("py::len", items)
        low, high = self.fresh("low"), self.fresh("high")

        def bisect(rank: Value) -> None:
            self.branch(self.op("py::lt", self.entry(low), self.entry(high)), lambda: None, self.leave_loop, set(), frozenset())
            middle = self.op("py::rshift", self.op("py::add", self.entry(low), self.entry(high)), self.constant(1))
            less = self.as_bool(self.truth(self.relation(ast.Lt, rank, self.op("py::getitem", ranks, middle))))

            def before() -> None:
                self.env[high] = middle

            def behind() -> None:
                self.env[low] = self.op("py::add", middle, self.constant(1))

            self.branch(less, before, behind, {low, high}, frozenset())

        def insert(params: list[Value]) -> None:
            last = self.op("py::sub", self.op("py::sub", size, self.constant(1)), params[0])
            at = self.choose(reverse, lambda: last, lambda: params[0])
            rank = self.op("py::getitem", keys, at)
            self.env[low], self.env[high] = self.constant(0), self.op("py::len", made)
            self.loop("prim::While", (), (), [low, high], lambda _: bisect(rank))
            place = self.entry(low, pop=True)
            self.env.pop(high)
            self.op("py::insert", ranks, place, rank)
            self.op("py::insert", made, place, self.op("py::getitem", items, at))

        self.loop("prim::For", (self.constant(0), size, self.constant(1)), (INT,), [], insert)
        self.when(reverse, lambda: void(self.op("py::reverse", made)))
        return made

    def leave_loop(self) -> None:
        """Leaves the innermost loop."""
        self.jump("prim::exit", self.loops[-1].on_break)

    def builtin_min(self, positional: Arguments, keywords: Keywords) -> Result:
        """``min(…)``."""
        return self.extreme("min", positional, keywords)

    def builtin_max(self, positional: Arguments, keywords: Keywords) -> Result:
        """``max(…)``."""
        return self.extreme("max", positional, keywords)

    def extreme(self, name: str, positional: Arguments, keywords: Keywords) -> Result:
        """min and max: of several arguments or of an iterable, by a key, with a default."""
        key = keywords.get("key")
        if isinstance(key, Value) and key.type == NONE:
            key = None
        if len(positional) == 1:
            source = positional[0]
            if isinstance(source, Value) and isinstance(source.type, TensorType):
                return self.op(f"aten::{name}", source)
            if isinstance(source, Value) and isinstance(source.type, TupleType) and key is None:
                parts = self.parts_of(source)
                if not parts:
                    self.fail(ScriptValueError, f"{name}() of a tuple without elements")
                return self.extreme(name, list(parts), keywords)
            return self.extreme_of_list(name, self.items(source), key, keywords.get("default"))
        values = [self.value(p, "an argument") for p in positional]
        if key is not None:
            return self.extreme_of_list(name, self.list_of(values), key, None)
        if not values:
            self.type_error(f"{name}() takes more arguments, 0 given")
        best = values[0]
        for other in values[1:]:
            best = self.better(name, best, other)
        return best

    def better(self, name: str, a: Value, b: Value) -> Value:
        """The smaller or larger of two, the first of equals."""
        if isinstance(a.type, OptionalType) or isinstance(b.type, OptionalType):
            text = f"'{'<' if name == 'min' else '>'}' not supported between instances of 'NoneType' and 'int'"
            a, b = self.present(a, "TypeError", text), self.present(b, "TypeError", text)
        if a.type in (INT, BOOL) and b.type in (INT, BOOL) and a.type != b.type:
            a, b = self.convert(a, INT, "an argument"), self.convert(b, INT, "an argument")
        if isinstance(a.type, TensorType) or isinstance(b.type, TensorType):
            truth = self.truth(self.relation(ast.Lt if name == "min" else ast.Gt, b, a))
            return self.choose(self.as_bool(truth), lambda: b, lambda: a)
        if a.type in (INT, FLOAT, STR) or b.type == FLOAT:
            return self.op(f"py::{name}", a, b)
        if join_containers(a.type, b.type) is None:
            self.type_error(f"{name}() of {a.type} and {b.type} is not possible")
        truth = self.truth(self.relation(ast.Lt if name == "min" else ast.Gt, b, a))
        if isinstance(truth, Static):
            return b if truth.value else a
        return self.choose(truth, lambda: b, lambda: a)

    def extreme_of_list(self, name: str, items: Value, key: Result | None, default: Result | None) -> Result:
        """min and max of a list."""
        if items.type == ListType(NEVER):
            self.settle(items, ListType(INT if default is None else self.value(default, "default").type))
        assert isinstance(items.type, ListType)
        element = items.type.element
        if default is not None:
            given = self.value(default, "the default")
            return self.choose(
                self.as_bool(self.truth(items)),
                lambda: self.extreme_of_list(name, items, key, None),
                lambda: self.convert(given, element, "the default") if given.type != NONE else given,
            )
        if key is None and element in (INT, FLOAT, STR, BOOL):
            return self.op(f"py::{name}", items)
        message = f"{name}() arg is an empty sequence"
        self.when(self.as_bool(self.negate(self.truth(items))), lambda: self.raise_error("ValueError", message))
        best, mark = self.fresh("best"), self.fresh("mark")
        first = self.op("py::getitem", items, self.constant(0))
        self.env[best] = first
        self.env[mark] = first if key is None else self.value(self.call_value(key, [first], {}), "the key")
        size = self.op("py::len", items)

        def body(params: list[Value]) -> None:
            item = self.op("py::getitem", items, params[0])
            rank = item if key is None else self.value(self.call_value(key, [item], {}), "the key")
            truth = self.truth(self.relation(ast.Lt if name == "min" else ast.Gt, rank, self.entry(mark)))

            def take() -> None:
                self.env[best], self.env[mark] = item, rank

            if isinstance(truth, Static):
                if truth.value:
                    take()
                return
            self.branch(truth, take, lambda: None, {best, mark}, frozenset())

        self.loop("prim::For", (self.constant(1), size, self.constant(1)), (INT,), [best, mark], body)
        self.env.pop(mark)
        return self.entry(best, pop=True)

    # ---- functions of functions -------------------------------------------------------------------------------------

    def builtin_map(self, positional: Arguments, keywords: Keywords) -> Result:
        """``map(…)``."""
        del keywords
        function, sources = positional[0], positional[1:]
        if not sources:
            self.type_error("map() takes a function and what it is called with, 1 given")
        iterable = self.inner(sources[0]) if len(sources) == 1 else self.inner(self.builtin_zip(list(sources), {}))
        made = self.empty_list()

        def add(item: Result) -> None:
            args = list(item.value.items) if len(sources) > 1 and isinstance(item, Static) else [item]
            self.append(made, self.value(self.call_value(function, args, {}), "the result"))

        self.for_each(iterable, add, [])
        return made

    def builtin_filter(self, positional: Arguments, keywords: Keywords) -> Result:
        """``filter(…)``."""
        self.arity("filter", positional, keywords, 2, 2)
        function = positional[0]
        made = self.empty_list()

        def add(item: Result) -> None:
            value = self.value(item, "an item")
            keep = self.truth(value if isinstance(function, Value) and function.type == NONE else self.call_value(function, [value], {}))
            self.when(self.as_bool(keep), lambda: self.append(made, value))

        self.for_each(self.inner(positional[1]), add, [])
        return made


_PAIR: list[ast.expr] = [ast.Name("key", ast.Store()), ast.Name("value", ast.Store())]
