"""Python's builtin functions and ``math`` in scripts.

In: calls of ``len``, ``range``, ``sum``, ``sorted``, ``isinstance`` … Out: ``py::`` operators; what depends on types alone is decided here. Each
builtin is a method `builtin_NAME(node, positional, keywords)`; to add one, add a method.
"""

from __future__ import annotations

import ast
import builtins as python
import dataclasses
import math
import types
import typing
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from jitlang.errors import CompileError, ScriptAttributeError
from jitlang.frontend.annotations import annotation_type, is_named_tuple, join_containers
from jitlang.frontend.emitter import Result, Static
from jitlang.frontend.script.base import Parts, RangeValue, absent, describe
from jitlang.frontend.script.class_types import is_module_class
from jitlang.frontend.script.classes import BoundMethod, SuperValue
from jitlang.frontend.script.comprehensions import GeneratorValue
from jitlang.frontend.script.iteration import Enumerated, Iterable_, LazyIterable, Reversed, Zipped
from jitlang.frontend.script.operators import Condition, Fact
from jitlang.frontend.script.strings import Strings
from jitlang.frontend.script.tensors import BoundTensorMethod
from jitlang.ir.graph import Value
from jitlang.registry import overloads
from jitlang.types import (
    BOOL,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    ClassType,
    DictType,
    ListType,
    OptionalType,
    SetType,
    TensorType,
    TupleType,
    Type,
    is_subtype,
)

Arguments = list[Result]
Keywords = dict[str, Result]
_MATH = {getattr(math, n): n for n in dir(math) if callable(getattr(math, n)) and not n.startswith("_")}


class Builtins(Strings):
    """What ``len(x)`` and the like mean."""

    def builtin_of(self, function: Any) -> Callable[[Arguments, Keywords], Result] | None:
        """What emits a call of a builtin function, or None if `function` is none that scripts know."""
        try:
            if function in _MATH:
                return lambda p, k: self.math_call(_MATH[function], p, k)
        except TypeError:
            return None
        if function is warnings.warn:
            return lambda p, _: self.op("py::warn", self.text(p[0], "str"))
        if function is dataclasses.replace:
            return self.replaced
        if function is typing.cast:
            return lambda p, _: p[1]
        name = getattr(function, "__name__", "")
        if getattr(python, name, None) is function:
            return getattr(self, f"builtin_{name}", None)
        return None

    def one(self, name: str, positional: Arguments, keywords: Keywords) -> Value:
        """The only argument."""
        if len(positional) != 1 or keywords:
            self.type_error(f"{name}() takes one argument, {len(positional) + len(keywords)} are given")
        return self.value(positional[0], "the argument")

    def arity(self, name: str, positional: Arguments, keywords: Keywords, least: int, most: int) -> None:
        """A compile error for a wrong number of arguments."""
        if keywords:
            self.type_error(f"{name}() takes no keyword argument '{next(iter(keywords))}'")
        if not least <= len(positional) <= most:
            takes = str(least) if least == most else f"{least} to {most}"
            self.type_error(f"{name}() takes {takes} argument{'' if takes == '1' else 's'}, {len(positional)} are given")

    # ---- conversions ------------------------------------------------------------------------------------------------

    def builtin_int(self, positional: Arguments, keywords: Keywords) -> Result:
        if not positional:
            return self.constant(0)
        if len(positional) == 2 or "base" in keywords:
            return self.op("py::int", positional[0], positional[1] if len(positional) == 2 else keywords["base"])
        return self.number("int", INT, self.one("int", positional, keywords))

    def builtin_float(self, positional: Arguments, keywords: Keywords) -> Result:
        if not positional:
            return self.constant(0.0)
        return self.number("float", FLOAT, self.one("float", positional, keywords))

    def number(self, name: str, kind: Type, value: Value) -> Value:
        """int(value) or float(value)."""
        if absent(value.type):
            value = self.present(value, "TypeError", f"{name}() argument must be a string or a real number, not 'NoneType'")
        if value.type == kind:
            return value
        if isinstance(value.type, TensorType):
            return self.tensor_number(value, kind)
        if isinstance(value.type, ClassType) and self.find_method(value.type, f"__{name}__") is not None:
            return self.value(self.call_method(value, f"__{name}__", [], {}), "the number")
        return self.op(f"py::{name}", value)

    def builtin_bool(self, positional: Arguments, keywords: Keywords) -> Result:
        if not positional:
            return self.constant(False)
        if len(positional) != 1 or keywords:
            self.type_error(f"bool() takes one argument, {len(positional)} are given")
        return self.as_bool(self.truth(positional[0]))

    def builtin_str(self, positional: Arguments, keywords: Keywords) -> Result:
        self.arity("str", positional, keywords, 0, 1)
        return self.text(positional[0], "str") if positional else self.constant("")

    def builtin_repr(self, positional: Arguments, keywords: Keywords) -> Result:
        self.arity("repr", positional, keywords, 1, 1)
        return self.text(positional[0], "repr")

    def builtin_ascii(self, positional: Arguments, keywords: Keywords) -> Result:
        return self.op("py::ascii", self.one("ascii", positional, keywords))

    def builtin_format(self, positional: Arguments, keywords: Keywords) -> Result:
        self.arity("format", positional, keywords, 1, 2)
        return self.format_value(positional[0], "", self.value(positional[1], "the format") if len(positional) == 2 else None)

    def builtin_print(self, positional: Arguments, keywords: Keywords) -> Result:
        return self.print_values(positional, keywords)

    def builtin_ord(self, positional: Arguments, keywords: Keywords) -> Result:
        return self.op("py::ord", self.one("ord", positional, keywords))

    def builtin_chr(self, positional: Arguments, keywords: Keywords) -> Result:
        return self.op("py::chr", self.one("chr", positional, keywords))

    def builtin_bin(self, positional: Arguments, keywords: Keywords) -> Result:
        return self.op("py::bin", self.one("bin", positional, keywords))

    def builtin_oct(self, positional: Arguments, keywords: Keywords) -> Result:
        return self.op("py::oct", self.one("oct", positional, keywords))

    def builtin_hex(self, positional: Arguments, keywords: Keywords) -> Result:
        return self.op("py::hex", self.convert(self.one("hex", positional, keywords), INT, "the argument"))

    def builtin_hash(self, positional: Arguments, keywords: Keywords) -> Result:
        value = self.one("hash", positional, keywords)
        if isinstance(value.type, ClassType) and self.find_method(value.type, "__hash__") is not None:
            return self.call_method(value, "__hash__", [], {})
        return self.op("py::hash", value)

    # ---- numbers ----------------------------------------------------------------------------------------------------

    def builtin_abs(self, positional: Arguments, keywords: Keywords) -> Result:
        value = self.one("abs", positional, keywords)
        if isinstance(value.type, TensorType):
            return self.op("aten::abs", value)
        if isinstance(value.type, ClassType):
            return self.call_method(value, "__abs__", [], {})
        return self.op("py::abs", self.convert(value, INT, "the argument") if value.type == BOOL else value)

    def builtin_round(self, positional: Arguments, keywords: Keywords) -> Result:
        values = [self.value(p, "the argument") for p in [*positional, *keywords.values()]]
        if isinstance(values[0].type, TensorType):
            return self.op("aten::round", *values)
        if isinstance(values[0].type, ClassType):
            return self.call_method(values[0], "__round__", list(values[1:]), {})
        if len(values) == 2 and values[1].type == NONE:
            values = values[:1]
        return self.op("py::round", *values)

    def builtin_pow(self, positional: Arguments, keywords: Keywords) -> Result:
        if len(positional) == 3:
            return self.op("py::pow", *positional)
        self.arity("pow", positional, keywords, 2, 2)
        return self.binary("**", *positional)

    def builtin_divmod(self, positional: Arguments, keywords: Keywords) -> Result:
        self.arity("divmod", positional, keywords, 2, 2)
        a, b = (self.value(p, "the argument") for p in positional)
        return self.tuple_of([self.value(self.binary(s, a, b), "the result") for s in ("//", "%")])

    def math_call(self, name: str, positional: Arguments, keywords: Keywords) -> Result:
        """``math.name(…)``."""
        values = [self.value(p, "the argument") for p in positional]
        values = [self.number("float", FLOAT, v) if isinstance(v.type, TensorType | ClassType) else v for v in values]
        if name in ("gcd", "lcm") and len(values) != 2:
            result = self.constant(0 if name == "gcd" else 1)
            for v in values:
                result = self.op(f"py::math_{name}", result, v)
            return result
        if name == "hypot" and len(values) != 2:
            return self.op("py::math_hypot", self.list_of([self.convert(v, FLOAT, "the argument") for v in values]))
        if name == "dist":
            values = [self.float_list(v) for v in values]
        if name in ("perm",) and len(values) == 1:
            return self.op("py::math_factorial", *values)
        if name in ("prod", "fsum", "sumprod") and values:
            values[0] = self.as_list(values[0])
        if not overloads(f"py::math_{name}"):
            self.fail(ScriptAttributeError, f"math.{name} is not supported in a script")
        return self.op(f"py::math_{name}", *values, **keywords)

    def float_list(self, value: Value) -> Value:
        """A tuple or list of numbers as a list of floats."""
        items = self.as_list(value)
        if items.type == ListType(FLOAT):
            return items
        made = self.emit("prim::List", (), (ListType(FLOAT),)).output
        self.for_each(self.iterate_value(items, "the point"), lambda i: self.append(made, self.value(i, "a coordinate")), [])
        return made

    # ---- containers -------------------------------------------------------------------------------------------------

    def builtin_len(self, positional: Arguments, keywords: Keywords) -> Result:
        self.arity("len", positional, keywords, 1, 1)
        value = positional[0]
        if isinstance(value, Static):
            if isinstance(value.value, RangeValue):
                r = value.value
                return self.op("py::range_length", r.start, r.stop, r.step)
            if isinstance(value.value, Parts):
                return self.constant(len(value.value.items))
            return self.constant(len(value.value))
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
        return Static(RangeValue(start, bounds[1] if len(bounds) > 1 else bounds[0], bounds[2] if len(bounds) == 3 else self.constant(1)))

    def inner(self, value: Result) -> Iterable_:
        """An argument as an iterable."""
        if isinstance(value, Static) and isinstance(value.value, GeneratorValue):
            return self.iterate_value(self.list_comprehension(value.value.node), "the generator")
        return self.iterate_value(value, "the argument")

    def builtin_enumerate(self, positional: Arguments, keywords: Keywords) -> Result:
        start = positional[1] if len(positional) > 1 else keywords.get("start")
        first = self.constant(0) if start is None else self.convert(self.value(start, "start"), INT, "start")
        return Static(LazyIterable(Enumerated(self.inner(positional[0]), first)))

    def builtin_zip(self, positional: Arguments, keywords: Keywords) -> Result:
        strict = "strict" in keywords and bool(self.value(keywords["strict"], "strict").constant)
        if not positional:
            return self.list_of([])
        parts = [self.inner(p) for p in positional]
        fixed = [p.unrolled is not None for p in parts]
        if any(fixed) and not all(fixed):
            parts = [p if p.unrolled is None else self.run_time(p) for p in parts]
        return Static(LazyIterable(Zipped(parts, strict)))

    def run_time(self, iterable: Iterable_) -> Iterable_:
        """An iterable of known items as one with an index at run time."""
        found = iterable.indexable(self)
        if found is None:
            self.type_error("zip() of items of different types and of a list of unknown length")
        return found

    def builtin_reversed(self, positional: Arguments, keywords: Keywords) -> Result:
        self.arity("reversed", positional, keywords, 1, 1)
        inner = self.inner(positional[0])
        return Static(LazyIterable(Reversed(inner, inner.length(self))))

    def builtin_list(self, positional: Arguments, keywords: Keywords) -> Result:
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

    def fold_sum(self, iterable: Iterable_, start: Value) -> Result:
        """``start + item + item …`` of items that are no plain numbers; the first sum decides the type."""
        total = self.fresh("total")
        begun = isinstance(start.type, TensorType) or start.type in (FLOAT, STR) or isinstance(start.type, ListType | TupleType | ClassType)
        if begun:
            self.env[total] = start
            self.for_each(iterable, lambda i: self.env.__setitem__(total, self.value(self.binary("+", self.entry(total), i), "the sum")), [total])
            return self.entry(total, pop=True)
        # 0 + first item has the type of an item: the empty sum stays the int 0 in Python, which has no such type.
        items = self.collect(iterable)
        assert isinstance(items.type, ListType)
        self.when(self.as_bool(self.negate(self.truth(items))), lambda: self.raise_error("ValueError", "sum() of no tensors or objects: give a start value"))
        self.env[total] = self.value(self.binary("+", start, self.op("py::getitem", items, self.constant(0))), "the sum")
        rest = self.op("py::slice", items, *(self.convert(b, OptionalType(INT), "a bound") for b in (self.constant(1), self.none(), self.none())))
        self.for_each(
            self.iterate_value(rest, "the items"), lambda i: self.env.__setitem__(total, self.value(self.binary("+", self.entry(total), i), "the sum")), [total]
        )
        return self.entry(total, pop=True)

    def entry(self, name: str, pop: bool = False) -> Value:
        """A temporary."""
        value = self.env.pop(name) if pop else self.env[name]
        assert isinstance(value, Value)
        return value

    def builtin_any(self, positional: Arguments, keywords: Keywords) -> Result:
        return self.quantified("any", positional, keywords)

    def builtin_all(self, positional: Arguments, keywords: Keywords) -> Result:
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

    # ---- order ------------------------------------------------------------------------------------------------------

    def builtin_sorted(self, positional: Arguments, keywords: Keywords) -> Result:
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
            assert isinstance(items.type, ListType)
            if isinstance(items.type.element, ClassType):
                self.type_error("objects of script classes are sorted by a key in a script", hint="sorted(…, key=lambda x: …)")
            return self.op("py::sorted", items, reverse)
        keys = self.empty_list()
        self.for_each(self.iterate_value(items, "the items"), lambda i: self.append(keys, self.value(self.call_value(key, [i], {}), "the key")), [])
        if keys.type == ListType(NEVER):
            return self.op("py::list", items)
        return self.op("py::sorted_by", items, keys, reverse)

    def builtin_min(self, positional: Arguments, keywords: Keywords) -> Result:
        return self.extreme("min", positional, keywords)

    def builtin_max(self, positional: Arguments, keywords: Keywords) -> Result:
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
                return self.extreme(name, list(self.parts_of(source)), keywords)
            return self.extreme_of_list(name, self.items(source), key, keywords.get("default"))
        values = [self.value(p, "an argument") for p in positional]
        if key is not None:
            return self.extreme_of_list(name, self.list_of(values), key, None)
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
                self.as_bool(self.truth(items)), lambda: self.extreme_of_list(name, items, key, None), lambda: self.convert(given, element, "the default") if given.type != NONE else given
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
        del keywords
        function, sources = positional[0], positional[1:]
        iterable = self.inner(sources[0]) if len(sources) == 1 else self.inner(self.builtin_zip(list(sources), {}))
        made = self.empty_list()

        def add(item: Result) -> None:
            args = [item] if len(sources) == 1 else list(item.value.items)  # type: ignore[union-attr]
            self.append(made, self.value(self.call_value(function, args, {}), "the result"))

        self.for_each(iterable, add, [])
        return made

    def builtin_filter(self, positional: Arguments, keywords: Keywords) -> Result:
        self.arity("filter", positional, keywords, 2, 2)
        function = positional[0]
        made = self.empty_list()

        def add(item: Result) -> None:
            value = self.value(item, "an item")
            keep = self.truth(value if isinstance(function, Value) and function.type == NONE else self.call_value(function, [value], {}))
            self.when(self.as_bool(keep), lambda: self.append(made, value))

        self.for_each(self.inner(positional[1]), add, [])
        return made

    # ---- types and attributes ---------------------------------------------------------------------------------------

    def builtin_super(self, positional: Arguments, keywords: Keywords) -> Result:
        del keywords
        if positional:
            return Static(SuperValue(self.value(positional[1], "the object"), positional[0].value))  # type: ignore[union-attr]
        value = self.env.get(self.first_parameter())
        if not isinstance(value, Value) or self.owner is None:
            self.type_error("super() is possible in a method only")
        return Static(SuperValue(value, self.owner))

    def first_parameter(self) -> str:
        """The name of ``self``."""
        return next(iter(self.parameters), "self")

    parameters: Sequence[str] = ()

    def builtin_slice(self, positional: Arguments, keywords: Keywords) -> Result:
        from jitlang.frontend.script.subscripts import SliceValue

        self.arity("slice", positional, keywords, 1, 3)
        values = [self.value(p, "the bound") for p in positional]
        if len(values) == 1:
            values = [self.none(), values[0]]
        return Static(SliceValue(values[0], values[1], values[2] if len(values) == 3 else self.none()))

    def builtin_callable(self, positional: Arguments, keywords: Keywords) -> Result:
        self.arity("callable", positional, keywords, 1, 1)
        value = positional[0]
        if isinstance(value, Static):
            return self.constant(callable(value.value) or isinstance(value.value, BoundMethod | BoundTensorMethod))
        return self.constant(isinstance(value.type, ClassType) and self.find_method(value.type, "__call__") is not None)

    def builtin_hasattr(self, positional: Arguments, keywords: Keywords) -> Result:
        self.arity("hasattr", positional, keywords, 2, 2)
        return self.constant(self.find_attribute(positional[0], self.literal(positional[1])) is not None)

    def builtin_getattr(self, positional: Arguments, keywords: Keywords) -> Result:
        self.arity("getattr", positional, keywords, 2, 3)
        name = self.literal(positional[1])
        if len(positional) == 3:
            found = self.find_attribute(positional[0], name)
            return positional[2] if found is None else found
        return self.attribute(positional[0], name)

    def find_attribute(self, value: Result, name: str) -> Result | None:
        """``value.name``, or None if there is none."""
        nodes = len(self.block.nodes)
        if isinstance(value, Value) and not isinstance(value.type, ClassType | TensorType):
            return Static(None) if hasattr({INT: int, FLOAT: float, STR: str, BOOL: bool}.get(value.type, list), name) else None
        try:
            return self.attribute(value, name)
        except CompileError:
            del self.block.nodes[nodes:]
            return None

    def builtin_setattr(self, positional: Arguments, keywords: Keywords) -> Result:
        self.arity("setattr", positional, keywords, 3, 3)
        self.set_attribute(self.value(positional[0], "the object"), self.literal(positional[1]), positional[2])
        return self.none()

    def builtin_vars(self, positional: Arguments, keywords: Keywords) -> Result:
        value = self.one("vars", positional, keywords)
        if not isinstance(value.type, ClassType):
            self.type_error(f"vars() of {value.type} is not supported")
        return Static({n: self.emit("prim::GetAttr", (value,), (t,), name=n).output for n, t in value.type.attributes.items()})

    def replaced(self, positional: Arguments, keywords: Keywords) -> Result:
        """``dataclasses.replace(value, …)``."""
        value = self.value(positional[0], "the object")
        if not isinstance(value.type, ClassType) or value.type.python is None:
            self.type_error(f"replace() of {value.type} is not possible")
        fields: Keywords = {}
        for f in dataclasses.fields(value.type.python):
            if f.init:
                fields[f.name] = keywords[f.name] if f.name in keywords else self.attribute(value, f.name)
        return self.construct(value.type.python, [], {**fields, **keywords})

    def literal(self, value: Result) -> str:
        """A str known at compile time."""
        held = self.value(value, "the name")
        if not held.is_constant or held.type != STR:
            self.type_error("the name of an attribute must be a literal in a script")
        return str(held.constant)

    def builtin_type(self, positional: Arguments, keywords: Keywords) -> Result:
        value = self.one("type", positional, keywords)
        found = python_class(value.type)
        if found is None:
            self.type_error(f"type() of {value.type} is not known when the script is compiled")
        return Static(found)

    def builtin_isinstance(self, positional: Arguments, keywords: Keywords) -> Result:
        self.arity("isinstance", positional, keywords, 2, 2)
        return self.as_bool(self.instance_truth(positional[0], positional[1])[0])

    def builtin_issubclass(self, positional: Arguments, keywords: Keywords) -> Result:
        self.arity("issubclass", positional, keywords, 2, 2)
        return self.constant(issubclass(*(p.value for p in positional if isinstance(p, Static))))

    def test_instance(self, node: ast.Call) -> Condition:
        """``isinstance(x, T)``; of an Optional it tests for None, or says no."""
        if self.env.get("isinstance") is not None or len(node.args) != 2:
            return Condition(self.truth(self.expr(node)))
        value = self.expr(node.args[0])
        truth, narrowed = self.instance_truth(value, self.expr(node.args[1]))
        facts: list[Fact] = []
        absent: list[Fact] = []
        name = node.args[0].id if isinstance(node.args[0], ast.Name) else ""
        if name and narrowed and isinstance(value, Value) and isinstance(value.type, OptionalType):
            facts.append(Fact(name, value, value.type.element))
            absent.append(Fact(name, value, NONE))
        return Condition(truth, facts, absent)

    def instance_truth(self, value: Result, classes: Result) -> tuple[Value | Static, bool]:
        """Whether a value is an instance, and whether "yes" means that an Optional is not None."""
        wanted = self.class_list(classes)
        if isinstance(value, Static) and not isinstance(value.value, Parts | RangeValue):
            return Static(isinstance(value.value, tuple(c for c in wanted if isinstance(c, type)))), False
        held = self.value(value, "the value")
        if not isinstance(held.type, OptionalType):
            return Static(any(instance_of(held.type, c) for c in wanted)), False
        inner = any(instance_of(held.type.element, c) for c in wanted)
        none = any(instance_of(NONE, c) for c in wanted)
        if inner and none:
            return Static(True), False
        if not inner and not none:
            return Static(False), False
        truth = self.op("py::is_none", held)
        return (self.negate(truth), True) if inner else (truth, False)

    def class_list(self, classes: Result) -> list[Any]:
        """The classes that isinstance is given."""
        if isinstance(classes, Static):
            held = classes.value
            if isinstance(held, Parts):
                return [c for p in held.items for c in self.class_list(p)]
            if isinstance(held, tuple) and not is_named_tuple(type(held)):
                return [c for p in held for c in self.class_list(Static(p))]
            if isinstance(held, types.UnionType):
                return list(typing.get_args(held))
            return [held]
        if classes.type == NONE:
            return [type(None)]
        self.type_error("isinstance() needs classes known when the script is compiled")

    def iterable_name(self, node: ast.expr) -> str:
        """For messages."""
        return describe(node)


_PAIR: list[ast.expr] = [ast.Name("key", ast.Store()), ast.Name("value", ast.Store())]


def python_class(type_: Type) -> Any:
    """The Python class of values of a type, or None."""
    plain = {INT: int, FLOAT: float, BOOL: bool, STR: str, NONE: type(None)}
    if type_ in plain:
        return plain[type_]
    if isinstance(type_, ListType):
        return list
    if isinstance(type_, DictType):
        return dict
    if isinstance(type_, SetType):
        return set
    if isinstance(type_, TupleType):
        from jitlang.frontend.annotations import named_tuple_class

        return named_tuple_class(type_.name) if type_.name else tuple
    if isinstance(type_, ClassType):
        return type_.python
    return None


def instance_of(type_: Type, cls: Any) -> bool:
    """Whether values of a type are instances of a class, or of a type annotation such as List[int]."""
    if cls is object or cls is typing.Any:
        return True
    if typing.get_origin(cls) is not None:
        wanted = annotation_type(cls)
        return wanted is not None and (is_subtype(type_, wanted) or (isinstance(wanted, OptionalType) and (type_ == NONE or is_subtype(type_, wanted.element))))
    mine = python_class(type_)
    if mine is not None and isinstance(cls, type):
        return issubclass(mine, cls)
    if isinstance(type_, TensorType):
        if isinstance(cls, type) and is_module_class(cls):
            return False
        return isinstance(cls, type) and annotation_of(cls) == TensorType()
    return isinstance(cls, type) and annotation_of(cls) == type_


def annotation_of(cls: Any) -> Type | None:
    """The type that a class means as an annotation, None where it means none."""
    try:
        return annotation_type(cls)
    except CompileError:
        return None
