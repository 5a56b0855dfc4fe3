"""Objects in scripts: construction, attributes, methods, properties, dataclasses, NamedTuples.

In: Python classes and values of class types. Out: ``prim::New``, ``prim::GetAttr``, ``prim::SetAttr`` and calls of compiled methods.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import enum
import inspect
import types
from collections.abc import Sequence
from typing import Any, NoReturn

from jitlang.errors import ScriptAttributeError, ScriptTypeError
from jitlang.frontend.annotations import general, is_named_tuple, is_tensor, named_tuple_fields, named_tuple_type, parameter_type
from jitlang.frontend.emitter import Result, Static
from jitlang.frontend.script.base import absent
from jitlang.frontend.script.class_types import (
    class_type_for,
    is_open,
    is_script_class,
    module_items,
    widen_attribute,
)
from jitlang.frontend.script.functions import FunctionInfo, function_info
from jitlang.frontend.script.operators import Choice
from jitlang.frontend.script.statics import Callee, Parts, RangeValue, show_static
from jitlang.frontend.script.tensors import BoundTensorMethod, Tensors
from jitlang.frontend.script.words import suggestion
from jitlang.ir.graph import Value
from jitlang.registry import overloads
from jitlang.schema import MISSING
from jitlang.types import (
    DEVICE,
    FLOAT,
    INT,
    NEVER,
    STR,
    ClassType,
    DictType,
    DType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
    is_subtype,
)

INSTEAD = {
    "set": "use a list, or a dict: dict.fromkeys(items) has each item once",
    "frozenset": "use a list, or a dict: dict.fromkeys(items) has each item once",
    "Counter": "count in a dict: counts[x] = counts.get(x, 0) + 1",
    "deque": "use a list",
}


@dataclasses.dataclass(frozen=True, eq=False)
class BoundMethod(Callee):
    """``value.name`` of any type but Tensor, not called yet."""

    value: Value
    name: str


@dataclasses.dataclass(frozen=True, eq=False)
class TableGet(Callee):
    """``table.get`` of a dict of functions."""

    table: dict[Any, Any]


@dataclasses.dataclass(frozen=True, eq=False)
class SuperValue:
    """``super()``: the object, seen from behind `owner` in the order of its classes."""

    value: Value
    owner: type


class Classes(Tensors):
    """Objects and what they hold."""

    owner: type | None = None

    # ---- reading attributes -----------------------------------------------------------------------------------------

    def attribute(self, value: Result, name: str) -> Result:
        """``value.name``."""
        if isinstance(value, Static):
            return self.static_attribute(value.value, name)
        type = value.type
        if absent(type):
            value = self.present(value, "AttributeError", f"'NoneType' object has no attribute '{name}'")
            type = value.type
        if isinstance(type, ClassType):
            return self.object_attribute(value, type, name)
        if isinstance(type, TensorType):
            return self.tensor_attribute(value, name)
        if isinstance(type, TupleType) and name in type.fields:
            return self.part(value, type.fields.index(name))
        if type in (INT, FLOAT) and name in ("real", "imag"):
            return value if name == "real" else self.constant(0 if type == INT else 0.0)
        if type == DEVICE and name in ("type", "index"):
            return self.device_attribute(value, name)
        return Static(BoundMethod(value, name))

    def device_attribute(self, value: Value, name: str) -> Value:
        """``device.type`` and ``device.index``."""
        if value.is_constant:
            kind, _, index = str(value.constant).partition(":")
            return self.constant(kind) if name == "type" else self.constant(int(index), INT) if index else self.none()
        return self.op(f"py::device_{name}", value)

    def object_attribute(self, value: Value, type: ClassType, name: str) -> Result:
        """An attribute, property, method or class constant of an object."""
        held = inspect.getattr_static(type.python, name, MISSING) if type.python is not None else MISSING
        if isinstance(held, property):
            if held.fget is None:
                self.fail(ScriptAttributeError, f"the property '{name}' of {type} cannot be read")
            return self.call_function(self.info(held.fget), [value], {}, owner=self.owner_of(type, name))
        if name in type.attributes:
            found = self.emit("prim::GetAttr", (value,), (type.attributes[name],), name=name).output
            if name in type.missing:
                return self.present(found, "AttributeError", f"'{type}' object has no attribute '{name}'")
            return found
        if name in type.values:
            return self.static(type.values[name])
        if isinstance(held, types.FunctionType):
            return Static(BoundMethod(value, name))
        if isinstance(held, staticmethod):
            return Static(held.__func__)
        if isinstance(held, classmethod):
            return Static(types.MethodType(held.__func__, type.python))
        if name == "__class__":
            return Static(type.python)
        if held is not MISSING and not hasattr(held, "__get__"):
            return self.static(held)
        if held is not MISSING and callable(held):
            return Static(BoundMethod(value, name))
        self.no_attribute(type, name)

    def no_attribute(self, type: ClassType, name: str) -> NoReturn:
        """Raises the error for an attribute that a class does not have."""
        known = [*type.attributes, *(n for n in dir(type.python) if not n.startswith("__"))]
        hint = suggestion(name, known) or f"assign it in {type}.__init__"
        self.fail(ScriptAttributeError, f"{type} has no attribute '{name}'", hint=hint)

    def static_attribute(self, held: Any, name: str) -> Result:
        """An attribute of a Python object known at compile time."""
        if isinstance(held, BoundMethod | BoundTensorMethod | RangeValue | Parts):
            if isinstance(held, RangeValue) and name in ("start", "stop", "step"):
                bound: Value = getattr(held, name)
                return bound
            if isinstance(held, RangeValue | Parts):
                return self.attribute(self.materialise(Static(held), "the object"), name)
            self.fail(ScriptAttributeError, f"a method has no attribute '{name}'")
        if is_tensor(held):
            return self.attribute(self.materialise(Static(held), "the tensor"), name)
        if isinstance(held, SuperValue):
            return Static(BoundSuper(held, name))
        if isinstance(held, Choice):
            return self.choose(held.condition, lambda: self.attribute(held.then, name), lambda: self.attribute(held.other, name))
        if isinstance(held, types.ModuleType):
            kind = self.operator_of_module(held, name)
            if kind is not None:
                return Static(OperatorName(kind, getattr(held, name, None)))
        if isinstance(held, dict) and name == "get" and not self.has_value(held):
            return Static(TableGet(held))
        if isinstance(held, list | dict | str | tuple) and not is_named_tuple(type(held)) and not hasattr(type(held), "__members__"):
            return Static(BoundMethod(self.materialise(Static(held), "the object"), name))
        if isinstance(held, type) and is_script_class(held):
            raw = inspect.getattr_static(held, name, MISSING)
            if isinstance(raw, classmethod):
                return Static(types.MethodType(raw.__func__, held))
        found = getattr(held, name, MISSING)
        if found is MISSING:
            what = getattr(held, "__name__", show_static(held))
            self.fail(ScriptAttributeError, f"{what} has no attribute '{name}'", hint=suggestion(name, dir(held)))
        return self.static(found)

    def operator_of_module(self, module: types.ModuleType, name: str) -> str | None:
        """The kind that ``module.name`` stands for, if the module is one of jitlang's namespaces of operators."""
        if not module.__name__.startswith("jitlang"):
            return None
        space = module.__name__.split(".")[-1]
        for kind in (f"aten::{space}_{name}", f"aten::{name}"):
            if overloads(kind) and not isinstance(getattr(module, name, None), type | types.ModuleType | DType):
                return None if isinstance(getattr(module, name, None), types.FunctionType) and space == "functional" else kind
        return None

    def static(self, value: Any) -> Result:
        """A Python object: a constant if it is a plain one, else a Static."""
        if value is None or type(value) in (bool, int, float, str):
            return self.constant(value)
        if isinstance(value, DType):
            return self.materialise(Static(value), "the dtype")
        return Static(value)

    # ---- writing attributes -----------------------------------------------------------------------------------------

    def set_attribute(self, value: Value, name: str, new: Result) -> None:
        """``value.name = new``."""
        if absent(value.type):
            value = self.present(value, "AttributeError", f"'NoneType' object has no attribute '{name}'")
        type = value.type
        if not isinstance(type, ClassType):
            if isinstance(type, TensorType) and name == "data":
                self.op("aten::set_data", value, self.value(new, "the value"))
                return
            self.fail(ScriptAttributeError, f"attributes of {type} cannot be assigned")
        held = inspect.getattr_static(type.python, name, MISSING) if type.python is not None else MISSING
        if isinstance(held, property):
            if held.fset is None:
                self.fail(ScriptAttributeError, f"the property '{name}' of {type} has no setter")
            self.call_function(self.info(held.fset), [value, new], {}, owner=self.owner_of(type, name))
            return
        self.check_frozen(type, name)
        if isinstance(new, Static) and not isinstance(new.value, Parts | RangeValue) and self.is_object(new.value):
            if is_open(type) or type.values.get(name) is new.value:
                type.values = {**type.values, name: new.value}
                return
        item = self.value(new, f"'{name}'")
        if name not in type.attributes and not is_open(type):
            self.no_attribute(type, name)
        declared = type.attributes.get(name)
        if declared is None or not (is_subtype(item.type, declared) or self.converts(item, declared)):
            if not widen_attribute(type, name, item.type):
                self.type_error(f"the attribute '{name}' of {type} is {declared}, the value is {item.type}", hint="an attribute has one type")
        self.emit("prim::SetAttr", (value, self.convert(item, type.attributes[name], f"'{name}'")), (), name=name)

    def check_frozen(self, type: ClassType, name: str) -> None:
        """Raises the error for an assignment to a field of a frozen dataclass."""
        params = getattr(type.python, "__dataclass_params__", None)
        if params is not None and params.frozen and self.function.split(".")[-1] not in ("__init__", "__post_init__"):
            self.fail(ScriptAttributeError, f"cannot assign to field '{name}' of the frozen dataclass {type}")

    def converts(self, value: Value, type: Type) -> bool:
        """Whether `convert` takes `value` to `type` without the attribute being widened."""
        given = value.type
        if isinstance(type, OptionalType):
            return given == self.none_type() or self.converts_type(given.element if isinstance(given, OptionalType) else given, type.element)
        return self.converts_type(given, type) or (value.node is not None and value.node.kind in ("prim::List", "prim::Dict"))

    def none_type(self) -> Type:
        """The type of None."""
        from jitlang.types import NONE

        return NONE

    def converts_type(self, given: Type, type: Type) -> bool:
        """The same, of types alone."""
        if isinstance(given, TupleType) and isinstance(type, TupleType) and len(given.elements) == len(type.elements):
            return all(
                self.converts_type(g, t) or (isinstance(t, OptionalType) and (g == self.none_type() or self.converts_type(g, t.element)))
                for g, t in zip(given.elements, type.elements, strict=True)
            )
        return NEVER in given.walk() or self.convertible(given, type)

    def is_object(self, value: Any) -> bool:
        """Whether a Python object is one that has no run-time value (a function, a class, a module)."""
        return callable(value) or isinstance(value, types.ModuleType | enum.Enum | Callee)

    # ---- methods ----------------------------------------------------------------------------------------------------

    def find_method(self, type: ClassType, name: str) -> Any:
        """The Python function of a method of a script class, or None."""
        if type.python is None:
            return None
        held = inspect.getattr_static(type.python, name, None)
        if isinstance(held, staticmethod | classmethod):
            return held
        if not isinstance(held, types.FunctionType):
            return None
        if name == "__eq__" and held is object.__eq__:
            return None
        return held

    def owner_of(self, type: ClassType, name: str) -> type | None:
        """The class in the order of `type`'s classes that defines `name`."""
        order: tuple[builtins.type, ...] = getattr(type.python, "__mro__", ())
        return next((base for base in order if name in base.__dict__), None)

    def info(self, function: Any) -> FunctionInfo:
        """The information on a Python function."""
        return function_info(function)

    def call_object_method(self, value: Value, type: ClassType, name: str, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """``value.name(…)`` of a script class."""
        if name not in type.attributes and name in type.values:
            return self.call_static(type.values[name], positional, keywords)
        if name in type.attributes:
            return self.call_value(self.object_attribute(value, type, name), positional, keywords)
        held = inspect.getattr_static(type.python, name, None) if type.python is not None else None
        if isinstance(held, staticmethod):
            return self.call_static(held.__func__, positional, keywords)
        if isinstance(held, classmethod):
            return self.call_static(types.MethodType(held.__func__, type.python), positional, keywords)
        if isinstance(held, property):
            return self.call_value(self.object_attribute(value, type, name), positional, keywords)
        if not isinstance(held, types.FunctionType):
            self.no_attribute(type, name)
        if generated(held):
            return self.dataclass_method(value, type, name, positional)
        return self.call_function(self.info(held), [value, *positional], keywords, owner=self.owner_of(type, name))

    def call_super(self, bound: BoundSuper, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """``super().name(…)``."""
        value, type = bound.source.value, bound.source.value.type
        assert isinstance(type, ClassType)
        assert type.python is not None
        mro = type.python.__mro__
        for base in mro[mro.index(bound.source.owner) + 1 :]:
            held = base.__dict__.get(bound.name)
            if isinstance(held, types.FunctionType):
                if generated(held):
                    if bound.name == "__init__":
                        self.dataclass_init(value, type, positional, keywords, base)
                        return self.none()
                    return self.dataclass_method(value, type, bound.name, positional)
                return self.call_function(self.info(held), [value, *positional], keywords, owner=base)
            if isinstance(held, staticmethod):
                return self.call_static(held.__func__, positional, keywords)
        if bound.name == "__init__":
            return self.none()  # object.__init__
        self.fail(ScriptAttributeError, f"no base class of {type} has '{bound.name}'")

    def call_function(self, info: FunctionInfo, positional: list[Result], keywords: dict[str, Result], owner: type | None = None) -> Result:
        """Calls a Python function that is compiled too."""
        raise NotImplementedError

    def call_bound(self, info: FunctionInfo, bound: list[Result], owner: type | None) -> Result:
        """The same, with one argument for each parameter."""
        raise NotImplementedError

    # ---- construction -----------------------------------------------------------------------------------------------

    def construct(self, cls: type, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """``cls(…)``."""
        if is_named_tuple(cls):
            return self.named_tuple(cls, positional, keywords)
        if issubclass(cls, enum.Enum):
            return self.enum_member(cls, positional)
        if not is_script_class(cls):
            self.type_error(f"{cls.__qualname__}(…) is not supported in a script", hint=INSTEAD.get(cls.__name__, ""))
        init = inspect.getattr_static(cls, "__init__", None)
        if "__new__" in cls.__dict__ and isinstance(inspect.getattr_static(cls, "__new__"), staticmethod):
            self.type_error(f"{cls.__qualname__} has a __new__, which a script class cannot have")
        if isinstance(init, types.FunctionType) and not generated(init):
            info = self.info(init)
            bound = self.bind_arguments(info, [self.none(), *positional], keywords)
            kinds = [v.type if isinstance(v, Value) else v for v in bound[1:]]
            type = class_type_for(cls, kinds)
            made = self.new_object(type)
            self.call_bound(info, [made, *bound[1:]], self.owner_of(type, "__init__"))
            return made
        if dataclasses.is_dataclass(cls):
            fields = self.dataclass_values(cls, positional, keywords)
            type = class_type_for(cls, [(n, v.type) for n, v in fields.items()])
            made = self.new_object(type)
            self.dataclass_fields(made, type, fields)
            return made
        if positional or keywords:
            self.type_error(f"{cls.__qualname__}() takes no arguments")
        return self.new_object(class_type_for(cls, []))

    def new_object(self, type: ClassType) -> Value:
        """An object whose attributes are not set yet."""
        self.unit.note_type(type)
        return self.emit("prim::New", (), (type,), cls=type.name).output

    def bind_arguments(self, info: FunctionInfo, positional: Sequence[Result], keywords: dict[str, Result]) -> list[Result]:
        """The argument of each parameter of a Python function, converted to what it declares."""
        raise NotImplementedError

    def named_tuple(self, cls: type[Any], positional: list[Result], keywords: dict[str, Result]) -> Value:
        """``Point(x=1, y=2)``."""
        names: list[str] = list(cls._fields)
        given: dict[str, Result] = dict(zip(names, positional, strict=False))
        if len(positional) > len(names):
            self.type_error(f"{cls.__name__} takes {len(names)} fields, {len(positional)} are given")
        for name, value in keywords.items():
            if name not in names or name in given:
                self.type_error(f"{cls.__name__} {'got two values for' if name in given else 'has no'} field '{name}'")
            given[name] = value
        for name, value in getattr(cls, "_field_defaults", {}).items():
            given.setdefault(name, self.static(value))
        missing = [n for n in names if n not in given]
        if missing:
            self.type_error(f"{cls.__name__} lacks the field '{missing[0]}'")
        parts = []
        for name, declared in zip(names, named_tuple_fields(cls), strict=True):
            value = self.value(given[name], f"'{name}'")
            parts.append(self.fit(value, declared, f"field '{name}' of {cls.__name__}"))
        type = named_tuple_type(cls, tuple(p.type for p in parts))
        self.unit.note_named_tuple(type, cls)
        return self.emit("prim::Tuple", parts, (type,)).output

    def fit(self, value: Value, declared: Type | None, what: str) -> Value:
        """A value where a declared type, or any, is expected."""
        if declared is None:
            return value
        if NEVER in value.type.walk() or value.type == declared:
            return self.convert(value, declared, what)
        try:
            wanted = parameter_type(value.type, declared)
        except ScriptTypeError:
            return self.convert(value, declared, what)
        return self.convert(value, wanted, what)

    def enum_member(self, cls: type[enum.Enum], positional: list[Result]) -> Result:
        """``Color(1)`` of a constant."""
        value = self.value(positional[0], "the value")
        if not value.is_constant:
            self.type_error(f"{cls.__name__}(…) needs a constant in a script")
        try:
            return Static(cls(value.constant))
        except ValueError as error:
            self.type_error(str(error))

    # ---- dataclasses ------------------------------------------------------------------------------------------------

    def dataclass_values(self, cls: type, positional: list[Result], keywords: dict[str, Result]) -> dict[str, Value]:
        """The value of each field, by argument or default."""
        fields = [f for f in dataclasses.fields(cls) if f.init]
        names = [f.name for f in fields if not f.kw_only]
        if len(positional) > len(names):
            self.type_error(f"{cls.__name__} takes {len(names)} arguments, {len(positional)} are given")
        given: dict[str, Result] = dict(zip(names, positional, strict=False))
        for name, value in keywords.items():
            if name in given or name not in [f.name for f in fields]:
                self.type_error(f"{cls.__name__} {'got two values for' if name in given else 'has no field'} '{name}'")
            given[name] = value
        out: dict[str, Value] = {}
        for f in dataclasses.fields(cls):
            if f.name in given:
                out[f.name] = self.value(given[f.name], f"'{f.name}'")
            elif f.default is not dataclasses.MISSING:
                out[f.name] = self.value(self.static(f.default), f"'{f.name}'")
            elif f.default_factory is not dataclasses.MISSING:
                out[f.name] = self.value(self.call_static(f.default_factory, [], {}), f"'{f.name}'")
            elif f.init:
                self.type_error(f"{cls.__name__} lacks the argument '{f.name}'")
        return out

    def dataclass_fields(self, made: Value, type: ClassType, fields: dict[str, Value]) -> None:
        """Sets all fields and runs ``__post_init__``."""
        for name, value in fields.items():
            declared = type.attributes.get(name)
            item = self.fit(value, declared, f"field '{name}' of {type}") if declared is not None else value
            if declared is None:
                widen_attribute(type, name, item.type)
            self.emit("prim::SetAttr", (made, self.convert(item, type.attributes[name], f"'{name}'")), (), name=name)
        if self.find_method(type, "__post_init__") is not None:
            self.call_object_method(made, type, "__post_init__", [], {})

    def dataclass_init(self, made: Value, type: ClassType, positional: list[Result], keywords: dict[str, Result], cls: type) -> None:
        """``super().__init__(…)`` of a dataclass."""
        self.dataclass_fields(made, type, self.dataclass_values(cls, positional, keywords))

    def dataclass_method(self, value: Value, type: ClassType, name: str, positional: list[Result]) -> Result:
        """A method that ``@dataclass`` generates: comparison by the tuple of fields, and repr."""
        assert type.python is not None
        fields = [f for f in dataclasses.fields(type.python) if f.compare]
        if name in ("__eq__", "__lt__", "__le__", "__gt__", "__ge__"):
            other = self.value(positional[0], "the other operand")
            if other.type != type:
                if name == "__eq__":
                    return self.constant(False)
                self.type_error(f"{type} and {other.type} cannot be ordered")
            sides = [self.tuple_of([self.emit("prim::GetAttr", (v,), (type.attributes[f.name],), name=f.name).output for f in fields]) for v in (value, other)]
            operator = {"__eq__": ast.Eq, "__lt__": ast.Lt, "__le__": ast.LtE, "__gt__": ast.Gt, "__ge__": ast.GtE}[name]
            return self.relation(operator, *sides)
        if name in ("__repr__", "__str__"):
            text = self.constant(f"{type.python.__qualname__}(")
            shown = [f for f in dataclasses.fields(type.python) if f.repr]
            for at, f in enumerate(shown):
                item = self.emit("prim::GetAttr", (value,), (type.attributes[f.name],), name=f.name).output
                head = self.constant(f"{', ' if at else ''}{f.name}=")
                text = self.op("py::add", self.op("py::add", text, head), self.text_of(item, "repr"))
            return self.op("py::add", text, self.constant(")"))
        if name == "__hash__":
            return self.op("py::hash", self.tuple_of([self.emit("prim::GetAttr", (value,), (type.attributes[f.name],), name=f.name).output for f in fields]))
        self.type_error(f"{name} of the dataclass {type} is not supported")

    # ---- modules ----------------------------------------------------------------------------------------------------

    def module_parts(self, value: Value) -> list[tuple[str, Value]] | None:
        """The parts of a module list, sequential, module dict or parameter list; None for any other value."""
        type = value.type
        if not isinstance(type, ClassType) or not type.is_module or type.python is None:
            return None
        if not any(c.__name__ in ("ModuleList", "Sequential", "ModuleDict", "ParameterList", "ParameterDict") for c in type.python.__mro__):
            return None
        return [(n, self.emit("prim::GetAttr", (value,), (type.attributes[n],), name=n).output) for n in module_items(type)]

    def generalised(self, type: Type) -> Type:
        """`type` as an element of a container."""
        return general(type, True)

    def is_container(self, type: Type) -> bool:
        """Whether values of a type are lists, dicts or strings."""
        return isinstance(type, ListType | DictType) or type == STR


@dataclasses.dataclass(frozen=True, eq=False)
class BoundSuper(Callee):
    """``super().name``."""

    source: SuperValue
    name: str


@dataclasses.dataclass(frozen=True)
class OperatorName(Callee):
    """A function of jitlang that is an operator: its kind, and the Python object."""

    kind: str
    python: Any = dataclasses.field(default=None, compare=False)


def generated(function: types.FunctionType) -> bool:
    """Whether a method was made by ``@dataclass`` and has no source."""
    return (
        function.__code__.co_filename.startswith("<string>")
        or "_recursive_repr" in function.__qualname__
        or function.__code__.co_filename.endswith("dataclasses.py")
        or (function.__name__ == "__repr__" and hasattr(function, "__wrapped__"))
    )
