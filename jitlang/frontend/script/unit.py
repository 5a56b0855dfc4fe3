"""A program in the making: functions compiled on demand, once for each combination of argument types.

In: Python functions and argument types. Out: a `Program`. A recursive function whose result is not declared is emitted until its
result's type stands still: first with recursive calls taken for paths that do not return, then with the type found.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

from jitlang.errors import CompileError, ScriptTypeError
from jitlang.frontend.annotations import general, named_tuple_class, parameter_type, type_of_value
from jitlang.frontend.emitter import Result, Static
from jitlang.frontend.liveness import assigned
from jitlang.frontend.script.class_types import Restart, compares, install_inference
from jitlang.frontend.script.classes import generated
from jitlang.frontend.script.conversions import Unsettled
from jitlang.frontend.script.emitter import ScriptEmitter
from jitlang.frontend.script.functions import FunctionInfo, function_info
from jitlang.frontend.script.nested import nonlocals
from jitlang.ir.graph import Graph, Program, Value, recompute_uses
from jitlang.schema import MISSING
from jitlang.source import SourceRange
from jitlang.types import INT, NEVER, NONE, ClassType, DictType, ListType, OptionalType, SetType, TensorType, TupleType, Type, join

MAX_DEPTH = 60
Given = Type | Static


@dataclasses.dataclass(eq=False)
class Record:
    """One specialisation. `result` is None while it is being emitted and nothing is known."""

    name: str
    info: FunctionInfo
    graph: Graph
    result: Type | None = None
    used: bool = False  # a recursive call has asked for the result before it was known for certain
    done: bool = False


class Unit:
    """The functions of one program."""

    def __init__(self) -> None:
        self.program = Program("")
        self.records: dict[Any, Record] = {}
        self.kept: list[Any] = []
        self.depth = 0

    # ---- what the program refers to ---------------------------------------------------------------------------------

    def keep(self, value: Any) -> None:
        """Keeps a Python object alive as long as the unit, because it is known by its id."""
        self.kept.append(value)

    def note_type(self, type: Type) -> None:
        """Enters the classes in a type into the program's table."""
        for inner in _reachable(type):
            if isinstance(inner, ClassType):
                self.program.classes[inner.name] = inner
            elif isinstance(inner, TupleType) and inner.name:
                cls = named_tuple_class(inner.name)
                if cls is not None:
                    self.program.classes[inner.name] = cls

    def note_named_tuple(self, type: TupleType, cls: type) -> None:
        """Enters a NamedTuple class."""
        self.program.classes[type.name] = cls

    def note_class(self, cls: type) -> None:
        """Enters a NamedTuple class of a constant."""
        from jitlang.frontend.annotations import named_tuple_name

        self.program.classes[named_tuple_name(cls)] = cls

    def exception_name(self, cls: type[BaseException]) -> str:
        """The name of an exception class in ``prim::raise``; the user's own are entered into the table of classes."""
        if cls.__module__ == "builtins":
            return cls.__name__
        name = f"{cls.__module__}.{cls.__qualname__}".replace("<locals>.", "")
        self.program.classes[name] = cls
        return name

    # ---- functions --------------------------------------------------------------------------------------------------

    def instance(self, info: FunctionInfo, given: Sequence[Any], owner: type | None = None) -> Record:
        """The specialisation of a function for these parameter types (a Static for what has no type), compiled if need be."""
        key = (info, owner, tuple(_key(g) for g in given))
        known = self.records.get(key)
        if known is not None:
            known.used = known.used or not known.done
            return known
        if self.depth >= MAX_DEPTH:
            raise ScriptTypeError(
                f"the types of the arguments of {info.name} never stop changing from call to call", info.where, hint="annotate its parameters"
            )
        name = self.name_for(info)
        record = Record(name, info, Graph(name, NONE, info.where), _plain_result(info))
        self.records[key] = record
        self.program.functions[name] = record.graph
        self.kept.extend(g for g in given if not isinstance(g, Type))
        self.depth += 1
        try:
            self.emit_until_stable(record, given, owner)
        except BaseException:
            self.records.pop(key, None)
            self.program.functions.pop(name, None)
            raise
        finally:
            self.depth -= 1
        record.done = True
        return record

    def name_for(self, info: FunctionInfo) -> str:
        """A name that no function of the program has yet."""
        base = info.qualname.replace("<locals>.", "").replace("<lambda>", "lambda_")
        name, count = base, 1
        while name in self.program.functions:
            count += 1
            name = f"{base}_{count}"
        return name

    def emit_until_stable(self, record: Record, given: Sequence[Any], owner: type | None) -> None:
        """Emits a function, again while a recursive call had to assume another result."""
        for _ in range(10):
            assumed, record.used = record.result, False
            before = set(self.records)
            found = self.emit(record, given, owner)
            if found == NEVER and record.used:
                found = NONE  # it never returns; whatever its type, no one sees the value
            if not record.used or found == assumed:
                record.result = found
                record.graph.result = NONE if found == NEVER else found
                return
            wider = found if assumed is None else join(assumed, found)
            if wider is None:
                raise ScriptTypeError(
                    f"the result of the recursive function {record.info.name} has no single type", record.info.where, hint="annotate its result"
                )
            record.result = found if wider == assumed else wider
            for key in set(self.records) - before:  # what was compiled meanwhile may rest on the assumption
                self.program.functions.pop(self.records.pop(key).name, None)
        raise ScriptTypeError(f"the result of the recursive function {record.info.name} has no single type", record.info.where, hint="annotate its result")

    def emit(self, record: Record, given: Sequence[Any], owner: type | None) -> Type:
        """Emits a function body, again while empty displays get their types late; returns its result's type."""
        found: dict[Any, Type] = {}
        for _ in range(50):
            try:
                return self.emit_once(record, given, owner, found)
            except Unsettled as late:
                found[late.place] = late.type
        raise ScriptTypeError(f"the types of the empty lists and dicts in {record.info.name} never stop changing", record.info.where)

    def emit_once(self, record: Record, given: Sequence[Any], owner: type | None, found: dict[Any, Type]) -> Type:
        """Emits a function body, with these types of empty displays."""
        info, graph = record.info, record.graph
        graph.block.params.clear()
        graph.block.nodes.clear()
        emitter = ScriptEmitter(self, graph, info.source, info.name, info.lookup)
        emitter.begin_frame()
        emitter.found_types = found
        emitter.owner = owner if owner is not None else info.class_cell
        emitter.parameters = [p.name for p in info.parameters]
        emitter.declared_result = info.result
        env: dict[str, Result] = {}
        for parameter, kind in zip(info.parameters, given, strict=True):
            if isinstance(kind, Type):
                env[parameter.name] = graph.block.add_param(kind, parameter.name)
                self.note_type(kind)
            else:
                env[parameter.name] = kind if isinstance(kind, Static) else Static(kind)
        env.update(info.names)
        body = info.body
        emitter.locals = frozenset(assigned(body)) - frozenset(nonlocals(body)) | frozenset(env)
        emitter.where = info.where
        emitter.function_body(body, dict(env), None)
        emitter.finish()
        _finish(graph)
        self.note_type(graph.result)
        recompute_uses(graph)
        return graph.result


def _key(given: Any) -> Any:
    if isinstance(given, Type):
        return given
    held = given.value if isinstance(given, Static) else given
    try:
        hash(held)
    except TypeError:
        return ("id", id(held))
    return (type(held), held)


def _plain_result(info: FunctionInfo) -> Type | None:
    """The declared result, where a call may rely on it before the body is known."""
    declared = info.result
    if declared is None or any(isinstance(t, TensorType | OptionalType) for t in declared.walk()):
        return None
    return declared


def _reachable(type: Type) -> list[Type]:
    """A type and all types in it, attributes of classes too."""
    seen: dict[Type, None] = {}
    todo = [type]
    while todo:
        for inner in todo.pop().walk():
            if inner in seen:
                continue
            seen[inner] = None
            if isinstance(inner, ClassType):
                todo.extend(inner.attributes.values())
    return list(seen)


def _prune(program: Program) -> None:
    """Removes functions that an abandoned attempt to emit a caller has left behind."""
    live: set[str] = set()
    todo = [program.entry]
    while todo:
        name = todo.pop()
        if name in live:
            continue
        live.add(name)
        todo.extend(n.attributes["callee"] for n in program.functions[name].walk() if n.kind == "prim::Call")
    for name in set(program.functions) - live:
        del program.functions[name]


def _finish(graph: Graph) -> None:
    """Empty lists and dicts whose element type nothing has decided stay empty: any type will do."""
    for node in graph.walk():
        if node.kind == "prim::Tuple" and NEVER in node.output.type.walk():  # what it is made of may have got its type since
            assert isinstance(node.output.type, TupleType)
            node.output.type = TupleType(tuple(v.type for v in node.inputs), node.output.type.name, node.output.type.fields)
    graph.result = _decided(graph.result) if graph.result != NEVER else NEVER
    blocks = [graph.block]
    while blocks:
        block = blocks.pop()
        values: list[Value] = list(block.params)
        for node in block.nodes:
            values.extend(node.outputs)
            blocks.extend(node.blocks)
        for value in values:
            if NEVER in value.type.walk():
                value.type = _decided(value.type)


def _decided(type: Type) -> Type:
    if type == NEVER:
        return INT
    if isinstance(type, ListType):
        return ListType(_decided(type.element))
    if isinstance(type, SetType):
        return SetType(_decided(type.element))
    if isinstance(type, DictType):
        return DictType(_decided(type.key), _decided(type.value))
    if isinstance(type, OptionalType):
        return OptionalType(_decided(type.element))
    if isinstance(type, TupleType):
        return TupleType(tuple(map(_decided, type.elements)), type.name, type.fields)
    return type


# ---- entry points -------------------------------------------------------------------------------------------------


def restarting(build: Callable[[Unit], Record]) -> tuple[Unit, Record]:
    """Builds in a fresh unit, again while attributes of classes get wider types."""
    for _ in range(50):
        unit = Unit()
        try:
            return unit, build(unit)
        except Restart:
            continue
    raise ScriptTypeError("the types of the attributes of a class never stop changing")


def given_types(info: FunctionInfo, arg_types: Sequence[Any]) -> list[Any]:
    """One type (or Static) for each parameter, from those of the arguments and from defaults."""
    out: list[Any] = []
    given = list(arg_types)
    for p in info.parameters:
        if p.variadic:
            out.append(TupleType(tuple(t for t in given if isinstance(t, Type))))
            given = []
        elif given:
            kind = given.pop(0)
            out.append(_checked(kind, p.type, p.name, info) if isinstance(kind, Type) else kind)
        elif p.default is not MISSING:
            kind = type_of_value(p.default)
            out.append(Static(p.default) if kind is None else parameter_type(kind, p.type))
        else:
            raise ScriptTypeError(f"{info.name}() lacks the argument '{p.name}'", info.where)
    if given:
        raise ScriptTypeError(f"{info.name}() takes {len(info.parameters)} arguments, {len(arg_types)} are given", info.where)
    return out


def _checked(kind: Type, declared: Type | None, name: str, info: FunctionInfo) -> Type:
    try:
        return parameter_type(kind, declared)
    except CompileError as error:
        raise ScriptTypeError(f"argument '{name}' of {info.name}(): {error.message}", info.where) from None


def compile_function(function: Any, arg_types: Sequence[Any], *, owner: type | None = None) -> Program:
    """The program that runs `function` for arguments of these types.

    Args:
        function: a Python function.
        arg_types: a `Type` for each argument, in the order of the parameters; a `Static` for what is no run-time value. Missing ones at
            the end take the type of the default.
        owner: the class whose method it is, for ``super()``.

    Raises a `CompileError` that shows the place in the user's file.
    """
    info = function_info(function)
    given = given_types(info, arg_types)
    unit, record = restarting(lambda unit: unit.instance(info, given, owner))
    program = unit.program
    program.entry = record.name
    _prune(program)
    for p in info.parameters:
        if p.default is not MISSING:
            record.graph.defaults[p.name] = p.default
    for graph in program.functions.values():
        for node in graph.walk():
            for value in node.outputs:
                unit.note_type(value.type)
                check_keys(value.type, node.range)
    return program


def check_keys(type: Type, where: SourceRange | None) -> None:
    """A compile error for a dict whose keys are objects with an ``__eq__`` of their own: native dicts tell objects apart by identity."""
    for inner in type.walk():
        if isinstance(inner, DictType) and compares(inner.key):
            message = f"{inner.key} has an __eq__ of its own, and is no key of a dict in a script"
            raise ScriptTypeError(message, where, hint="use a tuple of its attributes as the key")


def compile_method(type: ClassType, name: str, arg_types: Sequence[Any]) -> Program:
    """The program that runs method `name` of objects of a class; its first parameter is the object."""
    if type.python is None:
        raise ScriptTypeError(f"{type} has no Python class")
    held = inspect.getattr_static(type.python, name, None)
    function = held.__func__ if isinstance(held, staticmethod) else held.fget if isinstance(held, property) else held
    if not isinstance(function, types.FunctionType):
        raise ScriptTypeError(f"{type} has no method '{name}'")
    owner = next((c for c in type.python.__mro__ if name in c.__dict__), None)
    given = list(arg_types) if isinstance(held, staticmethod) else [type, *arg_types]
    return compile_function(function, given, owner=owner)


def signature_of(function: Any) -> FunctionInfo:
    """What a function says of its parameters (types, defaults) and result."""
    return function_info(function)


def _infer(type: ClassType, arguments: Sequence[Any] | None) -> None:
    """Finds the attributes of an open class by compiling its ``__init__``, for annotated parameters or for given arguments."""
    import dataclasses as dc

    cls = type.python
    assert cls is not None
    init = inspect.getattr_static(cls, "__init__", None)
    if isinstance(init, types.FunctionType) and not generated(init):
        info = function_info(init)
        if arguments is None:
            given = [_parameter(p.type, p.default) for p in info.parameters[1:]]
        else:
            given = list(arguments)
        owner = next((c for c in cls.__mro__ if "__init__" in c.__dict__), None)
        Unit().instance(info, [type, *given], owner)
        return
    if dc.is_dataclass(cls):
        for name, kind in arguments or []:
            type.attributes.setdefault(name, general(kind, True))
        post = inspect.getattr_static(cls, "__post_init__", None)
        for f in dc.fields(cls):  # the order of the fields, whatever the order of discovery
            if f.name in type.attributes:
                type.attributes[f.name] = type.attributes.pop(f.name)
        if isinstance(post, types.FunctionType):
            Unit().instance(function_info(post), [type], next(c for c in cls.__mro__ if "__post_init__" in c.__dict__))


def _parameter(declared: Type | None, default: Any) -> Any:
    if declared is not None:
        return declared
    kind = type_of_value(default)
    return Static(default) if kind is None else kind


install_inference(_infer)
