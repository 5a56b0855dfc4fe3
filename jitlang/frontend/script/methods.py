"""Methods of Python's own types and of NamedTuples, and ``x.__len__()`` as the operation it stands for.

In: a value, a name and arguments. Out: rows of the registry that are marked as methods; loops where elements compare by the user's ``__eq__``.
"""

from __future__ import annotations

import ast
import functools
import types
from typing import Any

from jitlang.errors import ScriptAttributeError
from jitlang.frontend.annotations import named_tuple_class
from jitlang.frontend.emitter import Result
from jitlang.frontend.script.base import absent
from jitlang.frontend.script.builtins import Builtins
from jitlang.frontend.script.match import substitute
from jitlang.frontend.script.subscripts import void
from jitlang.frontend.script.words import suggestion
from jitlang.ir.graph import Value
from jitlang.registry import all_operators, overloads
from jitlang.types import INT, NEVER, NONE, STR, ClassType, DictType, ListType, OptionalType, TensorType, TupleType, Type


class Methods(Builtins):
    """Methods."""

    # ---- methods ----------------------------------------------------------------------------------------------------

    def call_method(self, value: Value, name: str, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """``value.name(…)``."""
        type = value.type
        if absent(type):
            value = self.present(value, "AttributeError", f"'NoneType' object has no attribute '{name}'")
            type = value.type
        if isinstance(type, ClassType):
            return self.call_object_method(value, type, name, positional, keywords)
        if isinstance(type, TensorType):
            return self.tensor_method(value, name, positional, keywords)
        if type == STR:
            return self.str_method(value, name, positional, keywords)
        if isinstance(type, TupleType):
            return self.tuple_method(value, type, name, positional, keywords)
        if isinstance(type, ListType) and name == "sort":
            return self.sort_in_place(value, keywords)
        if isinstance(type, ListType) and name == "extend":
            positional = [self.items(p) for p in positional]
        if isinstance(type, ListType) and name in ("remove", "index", "count") and self.compares_in_script(type.element):
            return self.search(value, name, self.value(positional[0], "the item"))
        if isinstance(type, DictType):
            changed = self.dict_method(value, type, name, positional, keywords)
            if changed is not None:
                return changed
        if name.startswith("__") and name.endswith("__"):
            return self.dunder(value, name, positional)
        return self.plain_method(value, name, positional, keywords)

    def str_method(self, value: Value, name: str, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """Methods of strings."""
        if name == "format":
            return self.str_format(value, positional, keywords)
        if name == "format_map" and value.is_constant:
            return self.format_map(value, self.value(positional[0], "the mapping"))
        if name == "join" and positional:
            positional = [self.items(p) for p in positional]
            if isinstance(positional[0], Value) and positional[0].type == ListType(NEVER):
                self.settle(positional[0], ListType(STR))
        return self.dunder(value, name, positional) if name.startswith("__") else self.plain_method(value, name, positional, keywords)

    def plain_method(self, value: Value, name: str, positional: list[Result], keywords: dict[str, Result]) -> Value:
        """A method that is a row of the registry."""
        rows = [r for r in overloads(f"py::{name}") if "method" in r.variants]
        found = self.try_op(f"py::{name}", [value, *positional], keywords, rows)
        if found is not None:
            return found
        of_type = [r for r in rows if self.takes_self(r.schema.arguments[0].type, value.type)]
        if not of_type:
            self.fail(ScriptAttributeError, f"{value.type} has no method '{name}'", hint=suggestion(name, self.methods_of(value.type)))
        given = ", ".join(str(self.value(p, "an argument").type) for p in positional)
        shapes = [", ".join(f"{a.name}: {shown_type(a.type, value.type)}" for a in r.schema.arguments[1:]) for r in of_type]
        self.type_error(f"{value.type}.{name}({given}) is not possible", hint="it takes " + " or ".join(f"({s})" for s in shapes))

    def methods_of(self, type: Type) -> list[str]:
        """The names of the methods that a type has by rows of the registry."""
        return sorted({r.name for r in _methods() if self.takes_self(r.schema.arguments[0].type, type)})

    def takes_self(self, formal: Type, given: Type) -> bool:
        """Whether a method's first parameter takes values of a type."""
        if isinstance(formal, ListType | DictType):
            return isinstance(given, formal.__class__)
        return formal == given

    def dunder(self, value: Value, name: str, positional: list[Result]) -> Result:
        """``x.__len__()`` and the like as the operation it stands for."""
        word = name.strip("_")
        if word == "len":
            return self.builtin_len([value], {})
        if word == "contains":
            return self.as_bool(self.contains(value, positional[0]))
        if word == "getitem":
            return self.get_item(value, positional[0])
        if word in ("str", "repr"):
            return self.text(value, word)
        binary = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"}
        if word in binary:
            return self.binary(binary[word], value, positional[0])
        relation = {"eq": ast.Eq, "ne": ast.NotEq, "lt": ast.Lt, "le": ast.LtE, "gt": ast.Gt, "ge": ast.GtE}
        if word in relation:
            return self.relation(relation[word], value, positional[0])
        self.fail(ScriptAttributeError, f"{value.type} has no method '{name}' in a script")

    def sort_in_place(self, value: Value, keywords: dict[str, Result]) -> Result:
        """``list.sort(key=…, reverse=…)``."""
        assert isinstance(value.type, ListType)
        if "key" not in keywords and not any(isinstance(t, ClassType | OptionalType) for t in value.type.walk()):
            if value.type.element == NEVER:
                return self.none()
            reverse = self.as_bool(self.truth(keywords["reverse"])) if "reverse" in keywords else self.constant(False)
            self.op("py::sort", value, reverse=reverse)
            return self.none()
        ordered = self.sort_list(value, keywords)
        bounds = [self.convert(self.none(), OptionalType(INT), "a bound") for _ in range(3)]
        self.op("py::set_slice", value, *bounds, ordered)
        return self.none()

    def search(self, value: Value, name: str, item: Value) -> Result:
        """``remove``, ``index`` and ``count`` by ``==`` of the language."""
        found, count = self.fresh("at"), self.fresh("count")
        self.env[found], self.env[count] = self.constant(-1), self.constant(0)
        size = self.op("py::len", value)

        def body(params: list[Value]) -> None:
            equal = self.as_bool(self.truth(self.relation(ast.Eq, self.op("py::getitem", value, params[0]), item)))

            def hit() -> None:
                self.env[found] = params[0]
                self.env[count] = self.op("py::add", self.entry(count), self.constant(1))
                if name != "count":
                    self.jump("prim::exit", self.loops[-1].on_break)

            self.branch(equal, hit, lambda: None, {found, count}, frozenset())

        self.loop("prim::For", (self.constant(0), size, self.constant(1)), (INT,), [found, count], body)
        at, total = self.entry(found, pop=True), self.entry(count, pop=True)
        if name == "count":
            return total
        missing = self.op("py::lt", at, self.constant(0))
        self.when(missing, lambda: self.not_found(name, item))
        if name == "index":
            return at
        self.op("py::delitem", value, at)
        return self.none()

    def not_found(self, name: str, item: Value) -> None:
        """Raises the error of ``remove`` and ``index``."""
        text = self.constant("list.remove(x): x not in list")
        if name == "index":
            text = self.concatenate([self.text_of(item, "repr"), self.constant(" is not in list")])
        self.raise_error("ValueError", text)

    def dict_method(self, value: Value, type: DictType, name: str, positional: list[Result], keywords: dict[str, Result]) -> Result | None:
        """Methods of dicts that the rows do not take as they stand."""
        if name == "get" and len(positional) == 2:
            default = self.value(positional[1], "the default")
            if default.type == NONE:
                return self.op("py::get", value, positional[0])
            if isinstance(type.value, TensorType) and isinstance(default.type, TensorType):
                return self.op("py::get", value, positional[0], self.retype(default, type.value))
        if name == "pop" and len(positional) == 2 and self.value(positional[1], "the default").type == NONE and type.value != NONE:
            key, kind = self.value(positional[0], "the key"), OptionalType(type.value) if not isinstance(type.value, OptionalType) else type.value
            there = self.op("py::contains", value, key)
            return self.choose(there, lambda: self.convert(self.op("py::pop", value, key), kind, "the item"), lambda: self.constant(None, kind))
        if name == "update" and keywords and not positional:
            self.op("py::update", value, self.builtin_dict([], keywords))
            return self.none()
        if name == "update" and len(positional) == 1 and not (isinstance(positional[0], Value) and isinstance(positional[0].type, DictType)):
            self.op("py::update", value, self.builtin_dict(positional, {}))
            return self.none()
        if name == "fromkeys":
            return self.dict_from_keys(positional)
        if name == "setdefault" and type.value == NEVER:
            self.settle(value, DictType(self.value(positional[0], "the key").type, self.value(positional[1], "the default").type))
        return None

    def dict_from_keys(self, positional: list[Result]) -> Value:
        """``dict.fromkeys(keys, value)``."""
        made = self.dict_of([])
        held = positional[1] if len(positional) > 1 else self.none()
        self.for_each(self.inner(positional[0]), lambda k: void(self.op("py::setitem", made, k, held)), [])
        return made

    def tuple_method(self, value: Value, type: TupleType, name: str, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """``index``, ``count``, and the methods of NamedTuples."""
        if name in ("index", "count") and type.elements:
            return self.call_method(self.list_of(self.parts_of(value)), name, positional, keywords)
        if name == "_replace":
            parts = [
                self.convert(self.value(keywords[f], f), t, f"'{f}'") if f in keywords else p
                for f, t, p in zip(type.fields, type.elements, self.parts_of(value), strict=True)
            ]
            return self.emit("prim::Tuple", parts, (type,)).output
        if name == "_asdict":
            return self.dict_of([(self.constant(f), p) for f, p in zip(type.fields, self.parts_of(value), strict=True)])

        cls = named_tuple_class(type.name)
        method = getattr(cls, name, None)
        if isinstance(method, types.FunctionType):
            return self.call_function(self.info(method), [value, *positional], keywords, owner=cls)
        if name.startswith("__"):
            return self.dunder(value, name, positional)
        self.fail(ScriptAttributeError, f"{type} has no method '{name}'")


def shown_type(formal: Type, owner: Type) -> Type:
    """What a method's parameter takes, for the user: with the types that the object holds."""
    if isinstance(owner, ListType) and owner.element != NEVER:
        return substitute(formal, {"t": owner.element})
    if isinstance(owner, DictType) and owner.key != NEVER:
        return substitute(formal, {"k": owner.key, "v": owner.value})
    return formal


@functools.cache
def _methods() -> list[Any]:
    return [r for r in all_operators() if r.namespace == "py" and "method" in r.variants]
