"""`save` and `load`: script functions and modules to archives, and archives to models that need no source.

In: a script function or a `ScriptModule`. Out: a ``.jlm`` file. Back: a `LoadedModel`, whose attributes are the entry points and the
root object's state. Nothing of the file's Python source is run; classes of the file become plain classes of that name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jitlang.errors import ArchiveError, CompileError
from jitlang.frontend.annotations import fits, parameter_type, type_of_value
from jitlang.ir.graph import Graph, Program
from jitlang.runtime.function import Callee, Key, function_type, make_function
from jitlang.runtime.module import ScriptModule
from jitlang.runtime.script import FunctionCallee, exact
from jitlang.schema import MISSING
from jitlang.serialization.archive import Archive, Place, read_archive, write_archive
from jitlang.serialization.manifest import EntryPoint, Parameter
from jitlang.serialization.merging import merge_programs
from jitlang.serialization.tree import Decoder, Encoder
from jitlang.serialization.weights import StoredTensor
from jitlang.tensor.handles import Tensor
from jitlang.types import TENSOR, ClassType, DType, Type, dtype_named
from jitlang.version import VERSION

PROGRAM = "model"


# ---- saving ---------------------------------------------------------------------------------------------------------


def save(obj: Any, place: Place, extra_files: Mapping[str, bytes | str] | None = None) -> None:
    """Writes a script function or a scripted module to a file or a binary stream.

    Parameters with annotations are saved with the annotated types (a tensor of any dtype and shape); a parameter without annotation is a
    tensor in a module's method, as in TorchScript. Where the types do not suffice to compile, the types of earlier calls are saved.

    Raises:
        TypeError: `obj` is neither, or an attribute has no form in an archive.
        CompileError: an entry point does not compile.
        ValueError: the types of a function's arguments are not known.
    """
    if isinstance(obj, ScriptModule):
        root, functions = obj.module, obj.entry_points
    elif isinstance(obj, function_type().type) and isinstance(obj.callee, FunctionCallee):
        root, functions = None, {obj.callee.info.name: obj}
    else:
        raise TypeError(f"save() takes a script function or a scripted module, not {type(obj).__name__}")
    programs: dict[str, Program] = {}
    rows: list[tuple[str, str, FunctionCallee]] = []
    for name, function in functions.items():
        for number, program in enumerate(_programs(function, root)):
            label = f"{name}${number}" if number else name
            programs[label] = program
            rows.append((label, name, function.callee))
    merged, entries = merge_programs(programs)
    tensors: dict[str, StoredTensor] = {}
    archive = Archive(
        entry_points=tuple(_entry_point(name, entries[label], programs[label].main, callee, root is not None) for label, name, callee in rows),
        programs={PROGRAM: merged},
        tensors=tensors,
        state=_state(root, tensors) if root is not None else None,
        extra={k: v.encode() if isinstance(v, str) else v for k, v in (extra_files or {}).items()},
        producer=f"jitlang {VERSION}",
    )
    write_archive(archive, place)


def _programs(function: Any, root: Any) -> list[Program]:
    callee: FunctionCallee = function.callee
    parameters = callee.info.parameters[1:] if root is not None else callee.info.parameters
    declared: list[Type | None] = [p.type or (TENSOR if root is not None else None) for p in parameters]
    head = [type_of_value(root)] if root is not None else []
    failure: CompileError | None = None
    if None not in declared:
        try:
            return [callee.program((*head, *declared))]
        except CompileError as error:
            failure = error
    known = [callee.program(s.key) for s in list(function.specialisations.values())]
    if known:
        return known
    if failure is not None:
        raise failure
    raise ValueError(f"the argument types of {callee.name} are not known: annotate its parameters, or call it once before it is saved")


def _entry_point(name: str, function: str, graph: Graph, callee: FunctionCallee, bound: bool) -> EntryPoint:
    known = {p.name: p for p in callee.info.parameters}
    parameters = tuple(
        Parameter(p.name, str(p.type), _default(known[p.name].default), known[p.name].keyword_only) for p in graph.params[int(bound) :] if p.name in known
    )
    doc = (callee.function.__doc__ or "").strip().splitlines()
    return EntryPoint(name, PROGRAM, function, parameters, str(graph.result), bound, doc[0] if doc else "")


def _default(value: Any) -> Any:
    if value is MISSING:
        return MISSING
    return Encoder(lambda _: None, _no_object).encode(value)["root"]


def _no_object(value: Any) -> Any:
    raise TypeError(f"a default of type {type(value).__name__} has no form in an archive")


def _state(root: Any, tensors: dict[str, StoredTensor]) -> Any:
    names: dict[int, str] = {}
    alive: list[Any] = []

    def leaf(value: Any) -> Any:
        if isinstance(value, DType):
            return {"dtype": value.name}
        if not isinstance(value, Tensor):
            return None
        if id(value) not in names:
            names[id(value)] = f"t{len(names)}"
            alive.append(value)
            tensors[names[id(value)]] = _stored(value)
        return {"tensor": names[id(value)]}

    def attributes(value: Any) -> tuple[str, Mapping[str, Any]]:
        kind = type_of_value(value)
        if not isinstance(kind, ClassType):
            raise TypeError(f"a {type(value).__name__} has no form in an archive")
        return kind.name, {name: _attribute(value, name) for name in kind.attributes}

    return Encoder(leaf, attributes).encode(root)


def _attribute(value: Any, name: str) -> Any:
    found = getattr(value, name)
    return tuple(found) if isinstance(found, tuple) else found


def _stored(tensor: Any) -> StoredTensor:
    array = tensor.contiguous().numpy()
    return StoredTensor(tensor.dtype.name, tuple(tensor.shape), array.tobytes())


# ---- loading --------------------------------------------------------------------------------------------------------


class LoadedModel:
    """A model from an archive: entry points as methods, state as attributes. Calling it calls ``forward``, or its only entry point."""

    def __init__(self, root: Any, functions: Mapping[str, Any], archive: Archive) -> None:
        object.__setattr__(self, "_root", root)
        object.__setattr__(self, "_functions", dict(functions))
        object.__setattr__(self, "extra_files", dict(archive.extra))

    @property
    def entry_points(self) -> list[str]:
        """The names of the entry points."""
        return list(self._functions)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        functions = self._functions
        if len(functions) != 1 and "forward" not in functions:
            raise TypeError(f"the model has several entry points; call one of {', '.join(functions)}")
        return (functions["forward"] if "forward" in functions else next(iter(functions.values())))(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        functions = self._functions
        if name in functions:
            return functions[name]
        if self._root is None:
            raise AttributeError(f"the model has no entry point {name!r}; it has {', '.join(functions)}")
        return getattr(self._root, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._root, name, value)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._functions, *vars(self._root or object())})

    def __repr__(self) -> str:
        return f"LoadedModel({', '.join(self._functions)})"


class LoadedCallee(Callee):
    """An entry point of an archive: one program for each combination of argument types."""

    def __init__(self, points: Sequence[EntryPoint], program: Program, root: Any) -> None:
        self.points = points
        self.name = points[0].name
        self.code = program
        self.root = root

    def prepare(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Key, list[Any]]:
        problem = ""
        for number, point in enumerate(self.points):
            graph = self.code.functions[point.function]
            kinds = [p.type for p in graph.params[int(point.bound) :]]
            try:
                values = _bind(point, args, kwargs)
            except TypeError as error:
                problem = problem or str(error)
                continue
            wrong = next((i for i, (v, t) in enumerate(zip(values, kinds, strict=True)) if not _takes(v, t)), None)
            if wrong is None:
                given = [exact(v, t) for v, t in zip(values, kinds, strict=True)]
                return number, [self.root, *given] if point.bound else given
            expected = point.parameters[wrong]
            problem = problem or f"{self.name}(): argument '{expected.name}' must be {expected.type}, not {type(values[wrong]).__name__}"
        raise TypeError(problem)

    def program(self, key: Key) -> Program:
        assert isinstance(key, int)
        return Program(self.points[key].function, self.code.functions, self.code.classes)


def _takes(value: Any, kind: Type) -> bool:
    try:
        given = type_of_value(value)
    except CompileError:
        return False
    if isinstance(kind, ClassType):
        return type(value) is kind.python
    if given is None or not fits(given, kind):
        return False
    return parameter_type(given, kind) is not None


def _bind(point: EntryPoint, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
    positional = [p for p in point.parameters if not p.keyword_only]
    if len(args) > len(positional):
        raise TypeError(f"{point.name}() takes {len(positional)} positional arguments but {len(args)} were given")
    left = dict(kwargs)
    values = []
    for index, p in enumerate(point.parameters):
        if not p.keyword_only and index < len(args):
            if p.name in left:
                raise TypeError(f"{point.name}() got multiple values for argument '{p.name}'")
            values.append(args[index])
        elif p.name in left:
            values.append(left.pop(p.name))
        elif p.default is not MISSING:
            values.append(_decoded_default(p.default))
        else:
            raise TypeError(f"{point.name}() missing the argument '{p.name}'")
    if left:
        raise TypeError(f"{point.name}() got an unexpected keyword argument '{next(iter(left))}'")
    return values


def _decoded_default(atom: Any) -> Any:
    return Decoder({"root": atom, "cells": []}, "manifest.json", _refuse, _refuse, lambda _, __: None).decode()


def _refuse(_: Any) -> Any:
    raise ValueError("a default is a plain value")


def load(place: Place) -> LoadedModel:
    """The model in an archive: a path or a binary stream.

    Weights are views into the file's mapping; what the model changes is changed in memory only.

    Raises:
        ArchiveError: the file is missing, damaged, of a newer format or hostile; nothing of it has been run.
    """
    archive = read_archive(place)
    program = archive.programs.get(PROGRAM)
    if program is None:
        raise ArchiveError(f"entry 'code/{PROGRAM}.ir' is missing")
    for kind in program.classes.values():
        if isinstance(kind, ClassType) and kind.python is None:
            kind.python = type(kind.name.rpartition(".")[2], (), {"__module__": "jitlang.loaded"})
    root = _root(archive, program) if archive.state is not None else None
    points: dict[str, list[EntryPoint]] = {}
    for point in archive.entry_points:
        graph = program.functions.get(point.function)
        if graph is None or len(graph.params) != len(point.parameters) + int(point.bound):
            raise ArchiveError(f"entry 'manifest.json': the entry point {point.name!r} does not fit its function")
        if point.bound and (root is None or graph.params[0].type.python is not type(root)):  # type: ignore[attr-defined]
            raise ArchiveError(f"entry 'manifest.json': the entry point {point.name!r} does not fit the root object")
        points.setdefault(point.name, []).append(point)
    functions = {name: make_function(LoadedCallee(rows, program, root)) for name, rows in points.items()}
    return LoadedModel(root, functions, archive)


def _root(archive: Archive, program: Program) -> Any:
    tensors = {name: _tensor(stored) for name, stored in archive.tensors.items()}

    def leaf(value: Any) -> Any:
        ((kind, name),) = value.items()
        return dtype_named(name) if kind == "dtype" else tensors[name]

    def new(name: str) -> Any:
        kind = program.classes[name]
        assert isinstance(kind, ClassType)
        assert kind.python is not None
        return object.__new__(kind.python)

    def fill(value: Any, attributes: dict[str, Any]) -> None:
        kind = next(k for k in program.classes.values() if isinstance(k, ClassType) and k.python is type(value))
        if list(attributes) != list(kind.attributes):
            raise ValueError(f"an object of {kind.name} has the attributes {', '.join(attributes)}")
        for name, held in attributes.items():
            setattr(value, name, held)

    root = Decoder(archive.state, "state.json", leaf, new, fill).decode()
    return root


def _tensor(stored: StoredTensor) -> Any:
    import numpy as np

    from jitlang.tensor.exchange import from_numpy

    array = np.frombuffer(stored.data, dtype=np.dtype(stored.dtype)).reshape(stored.shape)
    return from_numpy(array)


