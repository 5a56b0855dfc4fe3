"""Python's builtin functions and ``math`` in scripts.

In: calls of ``len``, ``range``, ``sum``, ``sorted``, ``isinstance`` … Out: ``py::`` operators; what depends on types alone is decided here. Each
builtin is a method `builtin_NAME(node, positional, keywords)`; to add one, add a method.
"""

from __future__ import annotations

import ast
import builtins as python
import copy
import dataclasses
import functools
import math
import types
import typing
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from jitlang.errors import CompileError, ScriptAttributeError
from jitlang.frontend.annotations import annotation_type, is_named_tuple
from jitlang.frontend.emitter import Result, Static
from jitlang.frontend.script.base import absent
from jitlang.frontend.script.class_types import is_module_class
from jitlang.frontend.script.classes import BoundMethod, SuperValue
from jitlang.frontend.script.conditions import Condition, Fact
from jitlang.frontend.script.copies import Copies
from jitlang.frontend.script.statics import Parts, RangeValue
from jitlang.frontend.script.tensors import BoundTensorMethod
from jitlang.frontend.script.words import describe
from jitlang.ir.graph import Value
from jitlang.operators.rows import message_of
from jitlang.registry import overloads
from jitlang.types import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    PYTHON_CLASSES,
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


class Builtins(Copies):
    """What ``len(x)`` and the like mean."""

    def builtin_of(self, function: Any) -> Callable[[Arguments, Keywords], Result] | None:
        """What emits a call of a builtin function, or None if `function` is none that scripts know."""
        try:
            if function in _MATH:
                return lambda p, k: self.math_call(_MATH[function], p, k)
        except TypeError:
            return None
        if function is functools.reduce:
            return self.reduced
        if function in (copy.copy, copy.deepcopy):
            made = self.shallow_copy if function is copy.copy else self.deep_copy
            return lambda p, _: made(self.value(p[0], "the argument"))
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
        """``int(…)``."""
        if not positional:
            return self.constant(0)
        if len(positional) == 2 or "base" in keywords:
            return self.op("py::int", positional[0], positional[1] if len(positional) == 2 else keywords["base"])
        return self.number("int", INT, self.one("int", positional, keywords))

    def builtin_float(self, positional: Arguments, keywords: Keywords) -> Result:
        """``float(…)``."""
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
        """``bool(…)``."""
        if not positional:
            return self.constant(False)
        if len(positional) != 1 or keywords:
            self.type_error(f"bool() takes one argument, {len(positional)} are given")
        return self.as_bool(self.truth(positional[0]))

    def builtin_str(self, positional: Arguments, keywords: Keywords) -> Result:
        """``str(…)``."""
        self.arity("str", positional, keywords, 0, 1)
        return self.text(positional[0], "str") if positional else self.constant("")

    def builtin_repr(self, positional: Arguments, keywords: Keywords) -> Result:
        """``repr(…)``."""
        self.arity("repr", positional, keywords, 1, 1)
        return self.text(positional[0], "repr")

    def builtin_ascii(self, positional: Arguments, keywords: Keywords) -> Result:
        """``ascii(…)``."""
        return self.op("py::ascii", self.one("ascii", positional, keywords))

    def builtin_format(self, positional: Arguments, keywords: Keywords) -> Result:
        """``format(…)``."""
        self.arity("format", positional, keywords, 1, 2)
        return self.format_value(positional[0], "", self.value(positional[1], "the format") if len(positional) == 2 else None)

    def builtin_print(self, positional: Arguments, keywords: Keywords) -> Result:
        """``print(…)``."""
        return self.print_values(positional, keywords)

    def builtin_ord(self, positional: Arguments, keywords: Keywords) -> Result:
        """``ord(…)``."""
        return self.op("py::ord", self.one("ord", positional, keywords))

    def builtin_chr(self, positional: Arguments, keywords: Keywords) -> Result:
        """``chr(…)``."""
        return self.op("py::chr", self.one("chr", positional, keywords))

    def builtin_bin(self, positional: Arguments, keywords: Keywords) -> Result:
        """``bin(…)``."""
        return self.op("py::bin", self.one("bin", positional, keywords))

    def builtin_oct(self, positional: Arguments, keywords: Keywords) -> Result:
        """``oct(…)``."""
        return self.op("py::oct", self.one("oct", positional, keywords))

    def builtin_hex(self, positional: Arguments, keywords: Keywords) -> Result:
        """``hex(…)``."""
        return self.op("py::hex", self.convert(self.one("hex", positional, keywords), INT, "the argument"))

    def builtin_hash(self, positional: Arguments, keywords: Keywords) -> Result:
        """``hash(…)``."""
        value = self.one("hash", positional, keywords)
        if isinstance(value.type, ClassType) and self.find_method(value.type, "__hash__") is not None:
            return self.call_method(value, "__hash__", [], {})
        return self.op("py::hash", value)

    # ---- numbers ----------------------------------------------------------------------------------------------------

    def builtin_abs(self, positional: Arguments, keywords: Keywords) -> Result:
        """``abs(…)``."""
        value = self.one("abs", positional, keywords)
        if isinstance(value.type, TensorType):
            return self.op("aten::abs", value)
        if isinstance(value.type, ClassType):
            return self.call_method(value, "__abs__", [], {})
        return self.op("py::abs", self.convert(value, INT, "the argument") if value.type == BOOL else value)

    def builtin_round(self, positional: Arguments, keywords: Keywords) -> Result:
        """``round(…)``."""
        given = [*positional, *keywords.values()]
        self.arity("round", given, {}, 1, 2)
        values = [self.value(p, "the argument") for p in given]
        if isinstance(values[0].type, TensorType):
            return self.op("aten::round", *values)
        if isinstance(values[0].type, ClassType):
            return self.call_method(values[0], "__round__", list(values[1:]), {})
        if len(values) == 2 and values[1].type == NONE:
            values = values[:1]
        return self.op("py::round", *values)

    def builtin_pow(self, positional: Arguments, keywords: Keywords) -> Result:
        """``pow(…)``."""
        if len(positional) == 3:
            return self.op("py::pow", *positional)
        self.arity("pow", positional, keywords, 2, 2)
        return self.binary("**", *positional)

    def builtin_divmod(self, positional: Arguments, keywords: Keywords) -> Result:
        """``divmod(…)``."""
        self.arity("divmod", positional, keywords, 2, 2)
        a, b = (self.value(p, "the argument") for p in positional)
        if FLOAT in (a.type, b.type) and b.type in (INT, FLOAT, BOOL):
            b = self.convert(b, FLOAT, "the divisor")
            self.when(self.op("py::eq", b, self.constant(0.0)), lambda: self.raise_error("ZeroDivisionError", _FLOAT_DIVMOD))
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

    # ---- types and attributes ---------------------------------------------------------------------------------------

    def builtin_super(self, positional: Arguments, keywords: Keywords) -> Result:
        """``super(…)``."""
        del keywords
        if positional:
            cls = positional[0]
            if len(positional) != 2 or not isinstance(cls, Static) or not isinstance(cls.value, type):
                self.type_error("super() takes a class and an object, or nothing", hint="write super()")
            return Static(SuperValue(self.value(positional[1], "the object"), cls.value))
        value = self.env.get(self.first_parameter())
        if not isinstance(value, Value) or self.owner is None:
            self.type_error("super() is possible in a method only")
        return Static(SuperValue(value, self.owner))

    def first_parameter(self) -> str:
        """The name of ``self``."""
        return next(iter(self.parameters), "self")

    parameters: Sequence[str] = ()

    def builtin_slice(self, positional: Arguments, keywords: Keywords) -> Result:
        """``slice(…)``."""
        from jitlang.frontend.script.subscripts import SliceValue

        self.arity("slice", positional, keywords, 1, 3)
        values = [self.value(p, "the bound") for p in positional]
        if len(values) == 1:
            values = [self.none(), values[0]]
        return Static(SliceValue(values[0], values[1], values[2] if len(values) == 3 else self.none()))

    def builtin_callable(self, positional: Arguments, keywords: Keywords) -> Result:
        """``callable(…)``."""
        self.arity("callable", positional, keywords, 1, 1)
        value = positional[0]
        if isinstance(value, Static):
            return self.constant(callable(value.value) or isinstance(value.value, BoundMethod | BoundTensorMethod))
        return self.constant(isinstance(value.type, ClassType) and self.find_method(value.type, "__call__") is not None)

    def builtin_hasattr(self, positional: Arguments, keywords: Keywords) -> Result:
        """``hasattr(…)``."""
        self.arity("hasattr", positional, keywords, 2, 2)
        return self.constant(self.find_attribute(positional[0], self.literal(positional[1])) is not None)

    def builtin_getattr(self, positional: Arguments, keywords: Keywords) -> Result:
        """``getattr(…)``."""
        self.arity("getattr", positional, keywords, 2, 3)
        name = self.literal(positional[1])
        if len(positional) == 3:
            found = self.find_attribute(positional[0], name)
            return positional[2] if found is None else found
        return self.attribute(positional[0], name)

    def find_attribute(self, value: Result, name: str) -> Result | None:
        """``value.name``, or None if there is none."""
        if isinstance(value, Value) and not isinstance(value.type, ClassType | TensorType):
            return Static(None) if hasattr(python_class(value.type), name) else None
        mark = self.mark()
        try:
            return self.attribute(value, name)
        except CompileError:
            self.rewind(mark)
            return None

    def builtin_setattr(self, positional: Arguments, keywords: Keywords) -> Result:
        """``setattr(…)``."""
        self.arity("setattr", positional, keywords, 3, 3)
        self.set_attribute(self.value(positional[0], "the object"), self.literal(positional[1]), positional[2])
        return self.none()

    def builtin_vars(self, positional: Arguments, keywords: Keywords) -> Result:
        """``vars(…)``."""
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
        """``type(…)``."""
        value = self.one("type", positional, keywords)
        found = python_class(value.type)
        if found is None:
            self.type_error(f"type() of {value.type} is not known when the script is compiled")
        return Static(found)

    def builtin_isinstance(self, positional: Arguments, keywords: Keywords) -> Result:
        """``isinstance(…)``."""
        self.arity("isinstance", positional, keywords, 2, 2)
        return self.as_bool(self.instance_truth(positional[0], positional[1])[0])

    def builtin_issubclass(self, positional: Arguments, keywords: Keywords) -> Result:
        """``issubclass(…)``."""
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


_FLOAT_DIVMOD = message_of(divmod, 1.0, 0.0)


def python_class(type_: Type) -> Any:
    """The Python class of values of a type, or None."""
    if type_ in PYTHON_CLASSES:
        return PYTHON_CLASSES[type_]
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
