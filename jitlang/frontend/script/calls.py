"""Calls: what is called, how arguments reach parameters, functions compiled for their argument types, nested functions inlined.

In: ``ast.Call`` and callees. Out: ``prim::Call`` of another function of the program (compiled on demand, recursion included), or the body of
a nested function or lambda in place, where the names of the enclosing function are at hand.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import itertools
import types
from collections.abc import Callable, Sequence
from typing import Any

from jitlang.errors import CompileError, ScriptAttributeError, ScriptSyntaxError, ScriptTypeError
from jitlang.frontend.annotations import annotation_type, parameter_type
from jitlang.frontend.emitter import Environment, Left, Result, ReturnFrame, Static, WidenResult
from jitlang.frontend.liveness import Liveness, assigned, reads
from jitlang.frontend.script.base import Callee, Parts, RangeValue, absent, describe, show_static
from jitlang.frontend.script.builtins import Builtins
from jitlang.frontend.script.classes import BoundMethod, BoundSuper, OperatorName
from jitlang.frontend.script.comprehensions import GeneratorValue
from jitlang.frontend.script.functions import FunctionInfo, Parameter
from jitlang.frontend.script.iteration import LazyIterable
from jitlang.frontend.script.narrowing import PREFIX
from jitlang.frontend.script.tensors import BoundTensorMethod
from jitlang.ir.graph import Node, Value
from jitlang.registry import overloads
from jitlang.schema import MISSING
from jitlang.source import Source
from jitlang.types import (
    DEVICE,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    ClassType,
    DictType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
)


@dataclasses.dataclass(eq=False)
class LocalFunction(Callee):
    """A nested function or lambda: its syntax, the frame it was defined in, and the names there at that time."""

    node: ast.FunctionDef | ast.Lambda
    parameters: list[Parameter]
    frame: int
    env: Environment
    source: Source
    lookup: Callable[[str], Any]
    name: str

    @property
    def body(self) -> list[ast.stmt]:
        """The statements."""
        if isinstance(self.node, ast.Lambda):
            return [ast.copy_location(ast.Return(self.node.body), self.node.body)]
        return self.node.body


@dataclasses.dataclass(eq=False)
class Partial(Callee):
    """``functools.partial(function, …)``."""

    function: Result
    positional: list[Result]
    keywords: dict[str, Result]


class Calls(Builtins):
    """Calls."""

    frames = itertools.count(1)

    def begin_frame(self) -> None:
        """Notes the function that is being emitted."""
        self.frame = next(self.frames)
        self.suspended: list[tuple[int, Environment]] = []
        self.active: list[Any] = []

    # ---- the expression ---------------------------------------------------------------------------------------------

    def call_expression(self, node: ast.Call) -> Result:
        """``function(arguments)``."""
        special = self.special_call(node)
        if special is not None:
            return special
        callee = self.expr(node.func)
        if isinstance(node.func, ast.Attribute) and isinstance(callee, Static) and isinstance(callee.value, BoundMethod):
            pass
        positional, keywords = self.arguments(node)
        return self.call_value(callee, positional, keywords)

    def special_call(self, node: ast.Call) -> Result | None:
        """Calls whose arguments are no plain expressions: ``isinstance`` (types), ``annotate`` and ``cast`` (annotations)."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("annotate", "isinstance", "cast") and len(node.args) == 2 and isinstance(node.func, ast.Attribute):
            callee = self.expr(node.func)
            held = callee.value if isinstance(callee, Static) else None
            held = held.python if isinstance(held, OperatorName) else held
            if not getattr(held, "__module__", "").startswith(("jitlang", "typing")):
                return None
            if name == "isinstance":
                return self.as_bool(self.instance_truth(self.expr(node.args[0]), Static(self.evaluate(node.args[1])))[0])
            wanted = annotation_type(self.evaluate(node.args[0]))
            value = self.run(node.args[1])
            return value if wanted is None or name == "cast" else self.fit(value, wanted, "the value") if not isinstance(wanted, OptionalType) else self.convert(value, wanted, "the value")
        return None

    def evaluate(self, node: ast.expr) -> Any:
        """A type expression, evaluated as Python does."""
        names = {n.id: self.lookup(n.id) for n in ast.walk(node) if isinstance(n, ast.Name)}
        code = compile(ast.Expression(node), self.source.filename, "eval")
        try:
            return eval(code, {k: v for k, v in names.items() if v is not MISSING})  # a type of the user's own module
        except Exception as error:
            self.type_error(f"{describe(node)} is not a type: {error}")

    def arguments(self, node: ast.Call) -> tuple[list[Result], dict[str, Result]]:
        """The arguments of a call, evaluated from left to right."""
        positional: list[Result] = []
        keywords: dict[str, Result] = {}
        for arg in node.args:
            with self.at(arg):
                if isinstance(arg, ast.Starred):
                    positional.extend(self.spread(self.expr(arg.value), describe(arg.value)))
                else:
                    positional.append(self.expr(arg))
        for keyword in node.keywords:
            with self.at(keyword.value):
                if keyword.arg is None:
                    keywords.update(self.spread_dict(self.expr(keyword.value)))
                else:
                    if keyword.arg in keywords:
                        self.fail(ScriptSyntaxError, f"keyword argument repeated: {keyword.arg}")
                    keywords[keyword.arg] = self.expr(keyword.value)
        return positional, keywords

    def spread(self, value: Result, what: str) -> list[Result]:
        """``*value`` in a call or display: a tuple, or anything whose length is known."""
        if isinstance(value, Value) and isinstance(value.type, TupleType):
            return list(self.parts_of(value))
        if isinstance(value, Value) and value.node is not None and value.node.kind == "prim::List" and not value.uses:  # a display
            return list(value.node.inputs)
        iterable = self.inner(value)
        if iterable.unrolled is None:
            self.type_error(f"*{what.strip(chr(39))} needs a tuple in a script: the number of arguments must be known", hint="pass the list itself")
        return [iterable.item(self, self.constant(i)) for i in range(len(iterable.unrolled))]

    def spread_dict(self, value: Result) -> dict[str, Result]:
        """``**value``: a dict display or a dict of the module."""
        if isinstance(value, Static) and isinstance(value.value, dict):
            return {k: self.static(v) for k, v in value.value.items()}
        if isinstance(value, Value) and value.node is not None and value.node.kind == "prim::Dict":
            keys, values = value.node.inputs[::2], value.node.inputs[1::2]
            if all(k.is_constant and k.type == STR for k in keys):
                return {k.constant: v for k, v in zip(keys, values, strict=True)}
        self.type_error("**arguments need a dict display with literal keys in a script", hint="write the keyword arguments out")

    # ---- dispatch ---------------------------------------------------------------------------------------------------

    def call_value(self, value: Result, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """Calls whatever `value` is."""
        if isinstance(value, Static):
            return self.call_static(value.value, positional, keywords)
        if absent(value.type):
            value = self.present(value, "TypeError", "'NoneType' object is not callable")
        if isinstance(value.type, ClassType):
            if value.type.is_module:
                return self.call_method(value, "forward", positional, keywords)
            if self.find_method(value.type, "__call__") is None:
                self.type_error(f"'{value.type}' object is not callable")
            return self.call_method(value, "__call__", positional, keywords)
        self.type_error(f"a value of type {value.type} cannot be called")

    def call_static(self, function: Any, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """Calls a Python object known at compile time."""
        if isinstance(function, BoundMethod):
            return self.call_method(function.value, function.name, positional, keywords)
        if isinstance(function, BoundTensorMethod):
            return self.tensor_method(function.value, function.name, positional, keywords)
        if isinstance(function, BoundSuper):
            return self.call_super(function, positional, keywords)
        if isinstance(function, LocalFunction):
            return self.inline(function, positional, keywords)
        if isinstance(function, OperatorName):
            return self.call_operator(function, positional, keywords)
        if isinstance(function, Partial):
            return self.call_value(function.function, [*function.positional, *positional], {**function.keywords, **keywords})
        if isinstance(function, functools.partial):
            fixed = [self.static(a) for a in function.args]
            return self.call_static(function.func, [*fixed, *positional], {**{k: self.static(v) for k, v in function.keywords.items()}, **keywords})
        if isinstance(function, type):
            return self.call_class(function, positional, keywords)
        emit = self.builtin_of(function)
        if emit is not None:
            return emit(positional, keywords)
        if getattr(function, "__self__", None) is dict and function.__name__ == "fromkeys":
            return self.call_method(self.dict_of([]), "fromkeys", positional, keywords)
        if isinstance(function, types.MethodType):
            return self.call_bound_method(function, positional, keywords)
        plain = unwrap(function)
        if isinstance(plain, types.FunctionType):
            intrinsic = self.intrinsic(plain, positional, keywords)
            return self.call_function(self.info(plain), positional, keywords) if intrinsic is None else intrinsic
        kind = operator_kind(function)
        if kind is not None:
            return self.call_operator(OperatorName(kind, function), positional, keywords)
        self.type_error(f"{show_static(function)} cannot be called in a script")

    def call_bound_method(self, method: types.MethodType, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """A classmethod, or a method of an object of the module."""
        owner = method.__self__
        function = method.__func__
        if not isinstance(function, types.FunctionType):
            self.type_error(f"{show_static(method)} cannot be called in a script")
        if isinstance(owner, type):
            return self.call_function(self.info(function), [Static(owner), *positional], keywords, owner=owner)
        self.type_error(f"{show_static(method)} belongs to an object outside the script", hint="pass the object as an argument")

    def call_class(self, cls: type, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """``cls(…)``: a builtin type or a class of the user."""
        emit = self.builtin_of(cls)
        if emit is not None:
            return emit(positional, keywords)
        declared = annotation_type(cls) if cls.__module__.startswith("jitlang") else None
        if declared == DEVICE:
            value = self.value(positional[0], "the device")
            return self.constant(value.constant, DEVICE) if value.is_constant else self.op("aten::device_of", value)
        if isinstance(declared, TensorType):
            return self.make_tensor("tensor", positional, keywords)
        if cls is functools.partial:
            return Static(Partial(positional[0], positional[1:], keywords))
        if cls.__name__ == "OrderedDict" and cls.__module__ == "collections":
            return self.builtin_dict(positional, keywords)
        return self.construct(cls, positional, keywords)

    def intrinsic(self, function: types.FunctionType, positional: list[Result], keywords: dict[str, Result]) -> Result | None:
        """Functions of jitlang that the compiler itself gives their meaning; None for any other."""
        if not function.__module__.startswith("jitlang"):
            return None
        if function.__name__ == "is_scripting":
            return self.constant(True)
        if function.__name__ in ("is_tracing", "is_compiling"):
            return self.constant(False)
        if function.__name__ == "is_tensor":
            value = positional[0]
            return self.constant(isinstance(value, Value) and isinstance(value.type, TensorType))
        if function.__name__ in ("tensor", "as_tensor"):
            return self.make_tensor(function.__name__, positional, keywords)
        kind = operator_kind(function)
        return None if kind is None else self.call_operator(OperatorName(kind, function), positional, keywords)

    def make_tensor(self, name: str, positional: list[Result], keywords: dict[str, Result]) -> Value:
        """``tensor(data, dtype=…)`` and ``as_tensor``."""
        data = self.value(positional[0], "the data")
        unknown = keywords.keys() - {"dtype", "device", "requires_grad", "pin_memory"}
        if unknown:
            self.type_error(f"{name}() takes no '{sorted(unknown)[0]}'")
        given = keywords.get("dtype", positional[1] if len(positional) > 1 else None)
        dtype = self.value(given, "'dtype'") if given is not None else None
        if dtype is not None and dtype.type == NONE:
            dtype = None
        if name == "as_tensor" and isinstance(data.type, TensorType) and dtype is None:
            return data
        return self.tensor_of(data, dtype)

    def call_operator(self, operator: OperatorName, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """An operator of the registry by name."""
        return self.tensor_call(operator.kind, positional, keywords)

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
        if type == STR and name == "format":
            return self.str_format(value, positional, keywords)
        if type == STR and name == "join":
            positional = [self.items(p) for p in positional]
            if isinstance(positional[0], Value) and positional[0].type == ListType(NEVER):
                self.settle(positional[0], ListType(STR))
        if isinstance(type, TupleType):
            return self.tuple_method(value, type, name, positional, keywords)
        if isinstance(type, ListType) and name == "sort":
            return self.sort_in_place(value, keywords)
        if isinstance(type, ListType) and name == "extend":
            positional = [self.items(p) for p in positional]
        if isinstance(type, ListType) and name in ("remove", "index", "count") and isinstance(type.element, ClassType | TupleType | OptionalType):
            return self.search(value, name, self.value(positional[0], "the item"))
        if isinstance(type, DictType):
            changed = self.dict_method(value, type, name, positional, keywords)
            if changed is not None:
                return changed
        if name.startswith("__") and name.endswith("__"):
            return self.dunder(value, name, positional)
        return self.plain_method(value, name, positional, keywords)

    def plain_method(self, value: Value, name: str, positional: list[Result], keywords: dict[str, Result]) -> Value:
        """A method that is a row of the registry."""
        rows = [r for r in overloads(f"py::{name}") if "method" in r.variants]
        found = self.try_op(f"py::{name}", [value, *positional], keywords, rows)
        if found is not None:
            return found
        of_type = [r for r in rows if self.takes_self(r.schema.arguments[0].type, value.type)]
        if not of_type:
            import difflib

            known = sorted({r.name for r in _methods() if self.takes_self(r.schema.arguments[0].type, value.type)})
            near = difflib.get_close_matches(name, known, 1)
            self.fail(ScriptAttributeError, f"{value.type} has no method '{name}'", hint=f"did you mean '{near[0]}'?" if near else "")
        given = ", ".join(str(self.value(p, "an argument").type) for p in positional)
        shapes = [", ".join(f"{a.name}: {a.type}" for a in r.schema.arguments[1:]) for r in of_type]
        self.type_error(f"{value.type}.{name}({given}) is not possible", hint="it takes " + " or ".join(f"({s})" for s in shapes))

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
        if "key" not in keywords:
            assert isinstance(value.type, ListType)
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
        message = "list.remove(x): x not in list" if name == "remove" else "the item is not in list"
        self.when(missing, lambda: self.raise_error("ValueError", message))
        if name == "index":
            return at
        self.op("py::delitem", value, at)
        return self.none()

    def dict_method(self, value: Value, type: DictType, name: str, positional: list[Result], keywords: dict[str, Result]) -> Result | None:
        """Methods of dicts that the rows do not take as they stand."""
        if name == "get" and len(positional) == 2:
            default = self.value(positional[1], "the default")
            if default.type == NONE:
                return self.op("py::get", value, positional[0])
            if isinstance(type.value, TensorType) and isinstance(default.type, TensorType):
                return self.op("py::get", value, positional[0], self.retype(default, type.value))
        if name == "update" and keywords and not positional:
            self.op("py::update", value, self.builtin_dict([], keywords))
            return self.none()
        if name == "update" and len(positional) == 1 and not (isinstance(positional[0], Value) and isinstance(positional[0].type, DictType)):
            self.op("py::update", value, self.builtin_dict(positional, {}))
            return self.none()
        if name == "fromkeys":
            made = self.dict_of([])
            held = positional[1] if len(positional) > 1 else self.none()
            self.for_each(self.inner(positional[0]), lambda k: void(self.op("py::setitem", made, k, held)), [])
            return made
        if name == "setdefault" and type.value == NEVER:
            self.settle(value, DictType(self.value(positional[0], "the key").type, self.value(positional[1], "the default").type))
        return None

    def tuple_method(self, value: Value, type: TupleType, name: str, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """``index``, ``count``, and the methods of NamedTuples."""
        if name in ("index", "count") and type.elements:
            return self.call_method(self.list_of(self.parts_of(value)), name, positional, keywords)
        if name == "_replace":
            parts = [self.convert(self.value(keywords[f], f), t, f"'{f}'") if f in keywords else p for f, t, p in zip(type.fields, type.elements, self.parts_of(value), strict=True)]
            return self.emit("prim::Tuple", parts, (type,)).output
        if name == "_asdict":
            return self.dict_of([(self.constant(f), p) for f, p in zip(type.fields, self.parts_of(value), strict=True)])
        from jitlang.frontend.annotations import named_tuple_class

        cls = named_tuple_class(type.name)
        method = getattr(cls, name, None)
        if isinstance(method, types.FunctionType):
            return self.call_function(self.info(method), [value, *positional], keywords, owner=cls)
        if name.startswith("__"):
            return self.dunder(value, name, positional)
        self.fail(ScriptAttributeError, f"{type} has no method '{name}'")

    # ---- Python functions -------------------------------------------------------------------------------------------

    def bind_arguments(self, info: FunctionInfo, positional: Sequence[Result], keywords: dict[str, Result]) -> list[Result]:
        """The argument of each parameter, converted to what it declares."""
        bound = self.bind_to(info.parameters, info.name, positional, keywords)
        return [self.declared(value, p, info.name) for value, p in zip(bound, info.parameters, strict=True)]

    def bind_to(self, parameters: Sequence[Parameter], name: str, positional: Sequence[Result], keywords: dict[str, Result]) -> list[Result]:
        """The argument or default of each parameter, as Python binds them."""
        given = list(positional)
        named = dict(keywords)
        out: list[Result] = []
        for p in parameters:
            if p.variadic:
                out.append(Static(Parts(given)))
                given = []
            elif given and not p.keyword_only:
                if p.name in named and not p.positional_only:
                    self.type_error(f"{name}() got multiple values for argument '{p.name}'")
                out.append(given.pop(0))
            elif p.name in named and not p.positional_only:
                out.append(named.pop(p.name))
            elif p.default is not MISSING:
                out.append(p.default if isinstance(p.default, Value | Static) else self.static(p.default))
            else:
                kind = "keyword-only argument" if p.keyword_only else "argument"
                self.type_error(f"{name}() lacks the {kind} '{p.name}'", hint=_shape(name, parameters))
        if given:
            takes = sum(not p.keyword_only for p in parameters)
            self.type_error(f"{name}() takes {takes} argument{'' if takes == 1 else 's'}, {len(positional)} are given", hint=_shape(name, parameters))
        if named:
            self.type_error(f"{name}() has no argument '{next(iter(named))}'", hint=_shape(name, parameters))
        return out

    def declared(self, value: Result, parameter: Parameter, name: str) -> Result:
        """An argument as its parameter takes it; functions and classes stay Static."""
        if isinstance(value, Static) and not isinstance(value.value, Parts | RangeValue):
            if self.is_object(value.value):
                return value
            if isinstance(value.value, GeneratorValue):
                return self.list_comprehension(value.value.node)
        if isinstance(value, Static) and isinstance(value.value, LazyIterable | RangeValue):
            value = self.as_list(value)
        held = self.value(value, f"argument '{parameter.name}' of {name}")
        if parameter.type is None:
            return held
        what = f"argument '{parameter.name}' of {name}()"
        if NEVER in held.type.walk():
            return self.convert(held, parameter.type, what)
        try:
            wanted = parameter_type(held.type, parameter.type)
        except ScriptTypeError:
            return self.convert(held, parameter.type, what)
        return self.convert(held, wanted, what)

    def call_function(self, info: FunctionInfo, positional: list[Result], keywords: dict[str, Result], owner: type | None = None) -> Result:
        """Calls a Python function that is compiled too."""
        bound = self.bind_arguments(info, positional, keywords)
        return self.call_bound(info, bound, owner)

    def call_bound(self, info: FunctionInfo, bound: list[Result], owner: type | None) -> Result:
        """The same, with one argument for each parameter."""
        bound = [self.value(b, "the arguments") if isinstance(b, Static) and isinstance(b.value, Parts) and all(isinstance(i, Value) for i in b.value.items) else b for b in bound]
        if returns_function(info):
            return self.inline_info(info, bound)
        if any(isinstance(b, Static) and isinstance(b.value, LocalFunction | BoundMethod | BoundTensorMethod | Parts | Partial) for b in bound):
            return self.inline_info(info, bound)
        try:
            record = self.unit.instance(info, [b.type if isinstance(b, Value) else b for b in bound], owner)
        except CompileError as error:
            if self.where is not None:
                error.called_from(self.where)
            raise
        if record.result is None:  # a recursive call before any return: this path is looked at again when the type is known
            self.emit("prim::unreachable")
            raise Left
        values = [b for b in bound if isinstance(b, Value)]
        inputs = [self.convert(v, p.type, "the argument") for v, p in zip(values, record.graph.params, strict=True)]
        result = self.emit("prim::Call", inputs, (NONE if record.result == NEVER else record.result,), callee=record.name).output
        if record.result == NEVER:
            self.emit("prim::unreachable")
            raise Left
        return result

    # ---- nested functions -------------------------------------------------------------------------------------------

    def local_function(self, node: ast.FunctionDef | ast.Lambda) -> LocalFunction:
        """A nested function as a compile-time object."""
        a = node.args
        if a.kwarg is not None:
            self.fail(ScriptSyntaxError, "**kwargs is not supported in a script", hint="name the keyword parameters")
        parameters: list[Parameter] = []
        ordered = [*a.posonlyargs, *a.args]
        defaults: list[Any] = [MISSING] * (len(ordered) - len(a.defaults)) + [self.expr(d) for d in a.defaults]
        for at, (arg, default) in enumerate(zip(ordered, defaults, strict=True)):
            parameters.append(Parameter(arg.arg, self.local_type(arg.annotation), default, positional_only=at < len(a.posonlyargs)))
        if a.vararg is not None:
            parameters.append(Parameter(a.vararg.arg, None, variadic=True))
        for arg, kw in zip(a.kwonlyargs, a.kw_defaults, strict=True):
            parameters.append(Parameter(arg.arg, self.local_type(arg.annotation), MISSING if kw is None else self.expr(kw), keyword_only=True))
        name = getattr(node, "name", "<lambda>")
        return LocalFunction(node, parameters, self.frame, dict(self.env), self.source, self.lookup, name)

    def local_type(self, annotation: ast.expr | None) -> Type | None:
        """The type that an annotation inside a function means."""
        if annotation is None:
            return None
        with self.at(annotation):
            held = self.evaluate(annotation)
            try:
                return annotation_type(held, _Scope(self.lookup))
            except CompileError as error:
                error.where = error.where or self.where
                raise

    def inline(self, function: LocalFunction, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """The body of a nested function in place of the call."""
        bound = self.bind_to(function.parameters, function.name, positional, keywords)
        args = [self.declared(v, p, function.name) for v, p in zip(bound, function.parameters, strict=True)]
        if function.frame == self.frame:
            around = self.env
        else:
            around = next((env for frame, env in self.suspended if frame == function.frame), function.env)
        names = dict(zip([p.name for p in function.parameters], args, strict=True))
        return self.in_place(function, function.body, names, around, function.source, function.lookup, function.name, function.frame)

    def inline_info(self, info: FunctionInfo, bound: list[Result]) -> Result:
        """A function that is given nested functions or methods as arguments: its body in place of the call."""
        names = dict(zip([p.name for p in info.parameters], bound, strict=True))
        return self.in_place(info, info.body, names, {}, info.source, info.lookup, info.name, next(self.frames))

    def in_place(
        self,
        key: object,
        body: list[ast.stmt],
        names: dict[str, Result],
        around: Environment,
        source: Source,
        lookup: Callable[[str], Any],
        name: str,
        frame: int,
    ) -> Result:
        """Emits a body here, with these parameters and, around them, the names of the enclosing function."""
        if sum(k is key for k in self.active) > 2:
            self.fail(
                ScriptSyntaxError,
                f"the nested function '{name}' calls itself" if isinstance(key, LocalFunction) else f"'{name}' calls itself with a nested function as argument",
                hint="define it at module level, where recursion is possible",
            )
        saved = (self.env, self.source, self.function, self.lookup, self.liveness, self.frame, self.loops, self.locals)
        self.suspended.append((self.frame, self.env))
        self.active.append(key)
        own = set(assigned(body)) - set(nonlocals(body))
        self.env = {k: v for k, v in around.items() if k not in own and not k.startswith(PREFIX)}
        self.env.update(names)
        self.source, self.lookup, self.function = source, lookup, name
        self.liveness = self.analyse(body)
        self.frame = next(self.frames) if isinstance(key, LocalFunction) else frame
        self.loops = []
        self.locals = frozenset(own) | frozenset(names)
        depth = len(self.returns)
        try:
            return self.emit_body(body)
        except CompileError as error:
            if saved[2] != name and self.where is not None and error.where is not self.where:
                error.called_from(self.where)
            raise
        finally:
            del self.returns[depth:]
            self.env, self.source, self.function, self.lookup, self.liveness, self.frame, self.loops, self.locals = saved
            self.suspended.pop()
            self.active.pop()

    locals: frozenset[str] = frozenset()

    def analyse(self, statements: Sequence[ast.stmt]) -> Liveness:
        """Names that nested functions read are live throughout."""
        return keep_captured(super().analyse(statements), statements)

    def emit_body(self, body: list[ast.stmt]) -> Result:
        """Emits a function body whose ``return`` gives the value of this call."""
        *head, last = body if body else [ast.Pass()]
        if isinstance(last, ast.Return) and not any(isinstance(n, ast.Return) for s in head for n in walk_function(s)):
            self.body(head)
            if self.block.terminated:
                raise Left
            return self.none() if last.value is None else self.expr(last.value)
        frame = ReturnFrame(None)
        env, block = dict(self.env), self.block
        while True:
            region = Node("prim::Region", where=self.where)
            frame.region = region
            self.env, self.block = dict(env), region.add_block()
            self.returns.append(frame)
            try:
                self.body(body)
                if not self.block.terminated:
                    self.return_value(None)
            except WidenResult as widen:
                if widen.frame is not frame:
                    raise
                frame.type = widen.type
                continue
            finally:
                self.returns.pop()
                self.block = block
            break
        block.append(region)
        if frame.type is None:
            self.emit("prim::unreachable")
            raise Left
        return region.add_output(frame.type)


class _Scope(dict[str, Any]):
    """Names looked up when they are asked for."""

    def __init__(self, lookup: Callable[[str], Any]) -> None:
        super().__init__()
        self._lookup = lookup

    def __missing__(self, name: str) -> Any:
        found = self._lookup(name)
        if found is MISSING:
            raise KeyError(name)
        return found


def walk_function(statement: ast.AST) -> Any:
    """The nodes of a statement, without those of nested functions."""
    yield statement
    if isinstance(statement, ast.FunctionDef | ast.Lambda | ast.ClassDef):
        return
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            yield from walk_function(child)


def returns_function(info: FunctionInfo) -> bool:
    """Whether a function returns one that is nested in it."""
    if isinstance(info.node, ast.Lambda):
        return isinstance(info.node.body, ast.Lambda)
    names = {s.name for s in info.node.body if isinstance(s, ast.FunctionDef)}
    returned = [n.value for s in info.node.body for n in walk_function(s) if isinstance(n, ast.Return)]
    return any(isinstance(r, ast.Lambda) or (isinstance(r, ast.Name) and r.id in names) for r in returned)


def nonlocals(body: Sequence[ast.stmt]) -> list[str]:
    """The names declared nonlocal in a body."""
    return [n for s in body for node in walk_function(s) if isinstance(node, ast.Nonlocal) for n in node.names]


def keep_captured(liveness: Liveness, body: Sequence[ast.stmt]) -> Liveness:
    """Names that nested functions read live as long as the function, because a nested function may be called at any time."""
    captured: frozenset[str] = frozenset()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.FunctionDef):
                captured |= frozenset().union(*(reads(s) for s in node.body))
            elif isinstance(node, ast.Lambda):
                captured |= reads(node.body)
    if captured:
        for table in (liveness.after, liveness.head):
            for key in table:
                table[key] |= captured
    return liveness


def unwrap(function: Any) -> Any:
    """The Python function behind a script function, or `function` itself."""
    for _ in range(8):
        if isinstance(function, types.FunctionType):
            return function
        if not type(function).__module__.startswith("jitlang"):
            return function
        inner = getattr(function, "__wrapped__", None)
        if inner is None:
            return function
        function = inner
    return function


_KINDS: dict[Any, str] = {}


def declare_operator(function: Any, kind: str) -> None:
    """Tells the frontend that calling the Python object `function` is the operator `kind`."""
    _KINDS[function] = kind


def operator_kind(function: Any) -> str | None:
    """The operator that a function of jitlang is, by declaration, by its attribute ``kind`` or by its name; None for any other function."""
    try:
        if function in _KINDS:
            return _KINDS[function]
    except TypeError:
        return None
    kind = getattr(function, "kind", None)
    if isinstance(kind, str) and overloads(kind):
        return kind
    if isinstance(function, types.FunctionType) and not function.__module__.endswith(".callables"):
        return None
    name = getattr(function, "__name__", "")
    module = getattr(function, "__module__", "") or type(function).__module__
    return f"aten::{name}" if module.startswith("jitlang") and overloads(f"aten::{name}") else None


@functools.cache
def _methods() -> list[Any]:
    from jitlang.registry import all_operators

    return [r for r in all_operators() if r.namespace == "py" and "method" in r.variants]


def _shape(name: str, parameters: Sequence[Parameter]) -> str:
    shown = [f"{p.name}: {p.type}" if p.type is not None else p.name for p in parameters if p.name != "self"]
    return f"it is {name}({', '.join(shown)})"


def void(_: object) -> None:
    """Nothing."""


__all__ = ["FLOAT", "Calls", "LocalFunction"]
