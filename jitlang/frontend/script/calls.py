"""Calls: what is called, how arguments reach parameters, functions compiled for their argument types, nested functions inlined.

In: ``ast.Call`` and callees. Out: ``prim::Call`` of another function of the program (compiled on demand, recursion included), or the body of
a nested function or lambda in place, where the names of the enclosing function are at hand.
"""

from __future__ import annotations

import ast
import collections
import dataclasses
import enum
import functools
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from jitlang.errors import CompileError, ScriptSyntaxError, ScriptTypeError
from jitlang.frontend.annotations import annotation_type, parameter_type
from jitlang.frontend.emitter import Left, Result, Static
from jitlang.frontend.script.base import absent
from jitlang.frontend.script.classes import BoundMethod, BoundSuper, OperatorName, TableGet
from jitlang.frontend.script.comprehensions import GeneratorValue
from jitlang.frontend.script.functions import FunctionInfo, Parameter
from jitlang.frontend.script.items import Columns, LazyIterable
from jitlang.frontend.script.nested import Lifted, LiftedInfo, LocalFunction, Nested, returns_function
from jitlang.frontend.script.operators import Choice
from jitlang.frontend.script.statics import Callee, Parts, RangeValue, show_static
from jitlang.frontend.script.tensors import BoundTensorMethod
from jitlang.frontend.script.words import describe
from jitlang.ir.graph import Value
from jitlang.limits import finfo, iinfo
from jitlang.registry import overloads
from jitlang.schema import MISSING
from jitlang.types import BOOL, DEVICE, DTYPE, FLOAT, INT, NEVER, NONE, STR, ClassType, ListType, OptionalType, TensorType, TupleType


@dataclasses.dataclass(eq=False)
class Partial(Callee):
    """``functools.partial(function, …)``."""

    function: Result
    positional: list[Result]
    keywords: dict[str, Result]


class Given(list[Result]):
    """The positional arguments of a call. Taking one that was not given is a mistake of the script, whatever is called."""

    def __init__(self, lacking: Callable[[int], NoReturn]) -> None:
        super().__init__()
        self.lacking = lacking

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int) and not -len(self) <= index < len(self):
            self.lacking(len(self))
        return super().__getitem__(index)


class Calls(Nested):
    """Calls."""

    # ---- the expression ---------------------------------------------------------------------------------------------

    def call_expression(self, node: ast.Call) -> Result:
        """``function(arguments)``."""
        special = self.special_call(node)
        if special is not None:
            return special
        callee = self.expr(node.func)
        positional, keywords = self.arguments(node)
        return self.call_value(callee, positional, keywords)

    def special_call(self, node: ast.Call) -> Result | None:
        """Calls whose arguments are no plain expressions: ``isinstance`` (types), ``annotate`` and ``cast`` (annotations)."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "zip" and len(node.args) == 1 and isinstance(node.args[0], ast.Starred) and isinstance(node.func, ast.Name):
            return self.columns(node.func, node.args[0].value)
        if name in ("max", "min", "print") and isinstance(node.func, ast.Name) and any(isinstance(a, ast.Starred) for a in node.args):
            return self.starred_call(node, node.func)
        if name in ("int", "float", "bool") and isinstance(node.func, ast.Name) and len(node.args) == 1 and not node.keywords:
            return self.number_of_item(node.func, node.args[0])
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
            return (
                value
                if wanted is None or name == "cast"
                else self.fit(value, wanted, "the value")
                if not isinstance(wanted, OptionalType)
                else self.convert(value, wanted, "the value")
            )
        return None

    def number_of_item(self, name: ast.Name, node: ast.expr) -> Result | None:
        """``int(tensor.item())`` and its like, which say what the item is taken for; None where it is an ordinary call."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not node.args and not node.keywords):
            return None
        callee = self.expr(name)
        if not isinstance(callee, Static) or callee.value not in (int, float, bool):
            return None
        with self.at(node):
            base = self.expr(node.func.value)
            if isinstance(base, Value) and isinstance(base.type, TensorType) and base.type.dtype is None:
                self.check_single(base)
                number: Result = base
            else:
                number = self.call_value(self.attribute(base, "item"), [], {})
        return self.call_value(callee, [number], {})

    def starred_call(self, node: ast.Call, name: ast.Name) -> Result | None:
        """``max(a, *xs)``, ``print(*xs)`` with lists, whose length is not known; None where it is an ordinary call."""
        callee = self.expr(name)
        if not isinstance(callee, Static) or callee.value not in (max, min, print):
            return None
        keywords = {k.arg: self.expr(k.value) for k in node.keywords if k.arg is not None}
        if callee.value is not print:
            return self.extreme_of_arguments(name.id, self.starred_list(node.args), keywords)
        texts = self.empty_list()
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                self.for_each(self.inner(self.expr(arg.value)), lambda i: self.append(texts, self.text(i, "str")), [])
            else:
                self.append(texts, self.text(self.expr(arg), "str"))
        return self.print_values([self.op("py::join", self.optional_text(keywords.get("sep"), " "), texts)], keywords)

    def extreme_of_arguments(self, name: str, items: Value, keywords: dict[str, Result]) -> Result:
        """``max(a, *xs)``: of at least two numbers, as a single argument would be an iterable."""
        assert isinstance(items.type, ListType)
        if items.type.element not in (INT, FLOAT, BOOL):
            self.type_error(f"{name}(*…) is of numbers in a script", hint=f"{name}([…]) of one list")
        size = self.op("py::len", items)
        none, one = (self.op("py::eq", size, self.constant(n)) for n in (0, 1))
        self.when(none, lambda: self.raise_error("TypeError", f"{name} expected at least 1 argument, got 0"))
        self.when(one, lambda: self.raise_error("TypeError", f"'{items.type.children()[0]}' object is not iterable"))
        return self.extreme(name, [items], keywords)

    def starred_list(self, items: list[ast.expr]) -> Value:
        """``[*a, b]``."""
        made = self.empty_list()
        for e in items:
            if isinstance(e, ast.Starred):
                self.op("py::extend", made, self.items(self.expr(e.value)))
            else:
                self.append(made, self.run(e))
        return made

    def columns(self, function: ast.Name, node: ast.expr) -> Result | None:
        """``zip(*rows)`` of a list of lists; None where it is an ordinary call."""
        callee = self.expr(function)
        if not isinstance(callee, Static) or callee.value is not zip:
            return None
        mark = self.mark()
        rows = self.expr(node)
        if isinstance(rows, Value) and isinstance(rows.type, ListType) and isinstance(rows.type.element, ListType) and not self.is_display(rows):
            return Static(LazyIterable(Columns(rows)))
        self.rewind(mark)
        return None

    def is_display(self, value: Value) -> bool:
        """Whether a list is a display that nothing else has seen."""
        return value.node is not None and value.node.kind == "prim::List" and not value.uses

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
        name = ast.unparse(node.func)
        positional: list[Result] = Given(lambda count: self.type_error(f"{name}() takes more arguments, {count} given"))
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
        if isinstance(value, Value) and value.node is not None and value.node.kind == "prim::Dict" and not value.uses:
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
        if isinstance(function, Callee):
            return self.call_callee(function, positional, keywords)
        if isinstance(function, functools.partial):
            fixed = [self.static(a) for a in function.args]
            return self.call_static(function.func, [*fixed, *positional], {**{k: self.static(v) for k, v in function.keywords.items()}, **keywords})
        if isinstance(function, type):
            return self.call_class(function, positional, keywords)
        emit = self.builtin_of(function)
        if emit is not None:
            return emit(positional, keywords)
        if getattr(function, "__self__", None) is dict and function.__name__ == "fromkeys":
            return self.dict_from_keys(positional)
        if function is str.maketrans:
            return self.translation_table(positional)
        if isinstance(function, types.MethodDescriptorType) and positional:  # str.lower
            return self.call_method(self.value(positional[0], "the object"), function.__name__, positional[1:], keywords)
        if isinstance(function, types.MethodType):
            return self.call_bound_method(function, positional, keywords)
        plain = unwrap(function)
        if isinstance(plain, types.FunctionType):
            intrinsic = self.intrinsic(plain, positional, keywords)
            return self.call_python(plain, positional, keywords) if intrinsic is None else intrinsic
        kind = operator_kind(function)
        if kind is not None:
            return self.call_operator(OperatorName(kind, function), positional, keywords)
        self.type_error(f"{show_static(function)} cannot be called in a script", hint="call it outside, and pass what it gives as an argument")

    def call_python(self, function: types.FunctionType, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """A function of the user; or one of Python's library, if its source happens to be in the language."""
        if (function.__module__ or "").partition(".")[0] not in sys.stdlib_module_names:
            return self.call_function(self.info(function), positional, keywords)
        try:
            return self.call_function(self.info(function), positional, keywords)
        except CompileError as error:
            name = f"{function.__module__}.{function.__qualname__}"
            raise ScriptTypeError(f"{name}() is not possible in a script", self.where, note=error.message) from None

    def call_callee(self, function: Callee, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """Calls a compile-time callable that is no Python function."""
        if isinstance(function, BoundMethod):
            return self.call_method(function.value, function.name, positional, keywords)
        if isinstance(function, BoundTensorMethod):
            return self.tensor_method(function.value, function.name, positional, keywords)
        if isinstance(function, BoundSuper):
            return self.call_super(function, positional, keywords)
        if isinstance(function, LocalFunction):
            return self.inline(function, positional, keywords)
        if isinstance(function, Lifted):
            return self.call_lifted(function.info, positional, keywords)
        if isinstance(function, OperatorName):
            return self.call_operator(function, positional, keywords)
        if isinstance(function, Choice):
            return self.choose(
                function.condition,
                lambda: self.call_value(function.then, list(positional), dict(keywords)),
                lambda: self.call_value(function.other, list(positional), dict(keywords)),
            )
        if isinstance(function, TableGet):
            return self.get_of_table(function.table, positional)
        if isinstance(function, Partial):
            return self.call_value(function.function, [*function.positional, *positional], {**function.keywords, **keywords})
        self.type_error(f"{show_static(function)} cannot be called in a script")

    def get_of_table(self, table: dict[Any, Any], positional: list[Result]) -> Result:
        """``table.get(key, default)`` of a dict of functions."""
        entries = self.table_entries(table)
        if entries is None or len(positional) != 2:
            self.type_error("get() of a dict of functions takes a key and a default in a script", hint="test: if key in table")
        return self.table_get(entries, self.value(positional[0], "the key"), positional[1])

    def call_bound_method(self, method: types.MethodType, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """A classmethod, or a method of an object of the module."""
        owner = method.__self__
        function = method.__func__
        if not isinstance(function, types.FunctionType):
            self.type_error(f"{show_static(method)} cannot be called in a script")
        if isinstance(owner, type | enum.Enum):
            return self.call_function(self.info(function), [Static(owner), *positional], keywords, owner=owner if isinstance(owner, type) else type(owner))
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
        if cls in (finfo, iinfo):
            dtype = [self.operand(p, "the dtype") for p in (*positional, *keywords.values())]
            if not all(d.type == DTYPE and d.is_constant for d in dtype):
                self.type_error(f"{cls.__name__}() needs a dtype that is known when the script is compiled")
            try:
                return Static(cls(*(d.constant for d in dtype)))
            except TypeError as error:
                self.type_error(str(error))
        if cls is functools.partial:
            return Static(Partial(positional[0], positional[1:], keywords))
        if cls is collections.defaultdict:
            made = self.value(self.builtin_dict(positional[1:], keywords), "the dict")
            if positional and not (isinstance(positional[0], Value) and positional[0].type == NONE):
                self.factories[made] = positional[0]
            return made
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
        dtype = self.operand(given, "'dtype'") if given is not None else None
        if dtype is not None and dtype.type == NONE:
            dtype = None
        if name == "as_tensor" and isinstance(data.type, TensorType) and dtype is None:
            return data
        return self.tensor_of(data, dtype)

    def call_operator(self, operator: OperatorName, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """An operator of the registry by name."""
        return self.tensor_call(operator.kind, positional, keywords)

    # ---- Python functions -------------------------------------------------------------------------------------------

    def bind_arguments(self, info: FunctionInfo, positional: Sequence[Result], keywords: dict[str, Result]) -> list[Result]:
        """The argument of each parameter, converted to what it declares."""
        bound = self.bind_to(info.parameters, info.name, positional, keywords)
        return [self.declared(value, p, info.name) for value, p in zip(bound, info.parameters, strict=True)]

    def bind_to(self, parameters: Sequence[Parameter], name: str, positional: Sequence[Result], keywords: dict[str, Result]) -> list[Result]:
        """The argument or default of each parameter, as Python binds them."""
        given = list(positional)
        named = dict(keywords)
        unknown = named.keys() - {p.name for p in parameters if not p.positional_only and not p.variadic}
        if unknown:
            self.type_error(f"{name}() has no argument '{min(unknown)}'", hint=_shape(name, parameters))
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
        return out

    def declared(self, value: Result, parameter: Parameter, name: str) -> Result:
        """An argument as its parameter takes it; functions and classes stay Static."""
        if isinstance(value, Static) and not isinstance(value.value, Parts | RangeValue):
            if self.is_object(value.value):
                return value
            if isinstance(value.value, GeneratorValue):
                return self.list_comprehension(value.value.node)
        if isinstance(value, Static) and isinstance(value.value, Parts) and any(isinstance(i, Static) and self.is_object(i.value) for i in value.value.items):
            return value
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
        bound = [
            self.value(b, "the arguments") if isinstance(b, Static) and isinstance(b.value, Parts) and all(isinstance(i, Value) for i in b.value.items) else b
            for b in bound
        ]
        if not isinstance(info, LiftedInfo) and returns_function(info):
            return self.inline_info(info, bound)
        if any(isinstance(b, Static) and isinstance(b.value, LocalFunction | BoundMethod | BoundTensorMethod | Parts | Partial | Choice) for b in bound):
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


def _shape(name: str, parameters: Sequence[Parameter]) -> str:
    shown = [f"{p.name}: {p.type}" if p.type is not None else p.name for p in parameters if p.name != "self"]
    return f"it is {name}({', '.join(shown)})"


__all__ = ["FLOAT", "Calls", "LocalFunction"]
