"""`load`: archives as callables.

In: a file. Out: a script function or a `LoadedModule`, which run without the source. Imports nothing of the frontend that reads Python.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterator, Mapping
from typing import Any

from jitlang.errors import ArchiveError, IRError
from jitlang.frontend.annotations import fits, type_of_value
from jitlang.grammar.types import parse_type
from jitlang.ir.graph import Graph, Program
from jitlang.runtime import install  # noqa: F401  gives tensors their type
from jitlang.runtime.arguments import exact
from jitlang.runtime.function import Callee, Key, make_function
from jitlang.schema import MISSING
from jitlang.serialization.archive import STATE, Archive, read_archive
from jitlang.serialization.guard import script_type
from jitlang.serialization.manifest import ENTRY, EntryPoint, Parameter
from jitlang.serialization.place import Place
from jitlang.serialization.state import decode_state, encode_state
from jitlang.serialization.tree import Decoder
from jitlang.tensor.state import copy_state
from jitlang.tensor.tensor import Tensor
from jitlang.types import FLOAT, ClassType

PROGRAM = "main"


def load(file: Place) -> Any:
    """What an archive holds, ready to be called: a script function, or a `LoadedModule` with the entry points as methods.

    Raises ArchiveError, which names the entry and the reason, for a file that is missing, damaged, hostile or of a newer format.
    """
    return from_archive(read_archive(file))


def from_archive(archive: Archive) -> Any:
    """As `load`, for an archive that has been read. Raises ArchiveError where its state does not fit its programs."""
    root = None
    if archive.state is not None:
        program = archive.programs.get(PROGRAM)
        if program is None:
            raise ArchiveError(f"entry 'code/{PROGRAM}.ir' is missing")
        root = decode_state(archive.state, STATE, archive.tensors, program, archive.declared[PROGRAM])
    names = dict.fromkeys(point.name for point in archive.entry_points)
    if not names:
        raise ArchiveError(f"entry {ENTRY!r}: there are no entry points")
    functions = {name: make_function(_LoadedCallee(name, archive, root)) for name in names}
    if root is None and len(functions) == 1:
        return next(iter(functions.values()))
    return LoadedModule(archive, root, functions)


def entry_points(loaded: Any) -> dict[str, Any]:
    """The callables of what `load` returned, by name."""
    return loaded.entry_points if isinstance(loaded, LoadedModule) else {loaded.callee.name: loaded}


class _Overload:
    """One entry point with its types parsed."""

    def __init__(self, point: EntryPoint, archive: Archive, root: Any) -> None:
        program = archive.programs[point.program]
        graph = program.functions[point.function]
        try:
            self.kinds = [parse_type(p.type, program.classes) for p in point.parameters]
        except IRError as error:
            raise ArchiveError(f"entry {ENTRY!r}: {point.name}: {error}") from None
        if len(graph.params) != len(self.kinds) + point.bound or (point.bound and root is None):
            raise ArchiveError(f"entry {ENTRY!r}: {point.name} does not have the parameters of function {point.function!r}")
        self.point = point
        self.root = [root] if point.bound else []
        self.defaults = {p.name: _value(p) for p in point.parameters if p.default is not MISSING}
        self.program = _reachable(program, graph)
        for param, kind in zip(graph.params[point.bound :], self.kinds, strict=True):
            if not fits(script_type(kind), param.type):
                raise ArchiveError(f"entry {ENTRY!r}: {point.name}: a parameter is {kind}, which function {point.function!r} takes as {param.type}")
        if point.bound and (not isinstance(graph.params[0].type, ClassType) or graph.params[0].type.python is not type(root)):
            raise ArchiveError(f"entry {ENTRY!r}: {point.name} is no method of the root object")

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """The values of the parameters in order; TypeError as Python words it."""
        parameters, name = self.point.parameters, self.point.name
        positional = [p for p in parameters if not p.keyword_only]
        if len(args) > len(positional):
            raise TypeError(f"{name}() takes {len(positional)} positional arguments but {len(args)} were given")
        given = dict(zip((p.name for p in positional), args, strict=False))
        for key, value in kwargs.items():
            if key in given:
                raise TypeError(f"{name}() got multiple values for argument {key!r}")
            if all(p.name != key for p in parameters):
                raise TypeError(f"{name}() got an unexpected keyword argument {key!r}")
            given[key] = value
        missing = [p.name for p in parameters if p.name not in given and p.name not in self.defaults]
        if missing:
            raise TypeError(f"{name}() missing required argument: {missing[0]!r}")
        return [given.get(p.name, self.defaults.get(p.name)) for p in parameters]

    def distance(self, values: list[Any]) -> int:
        """How much has to be converted; TypeError where a value does not fit."""
        total = 0
        for parameter, value, kind in zip(self.point.parameters, values, self.kinds, strict=True):
            found = type_of_value(value)
            if found is None or not fits(found, kind, details=True):
                raise TypeError(f"argument {parameter.name!r} of {self.point.name}(): expected {kind}, got {found or type(value).__name__}")
            total += 0 if found == kind else 2 if kind == FLOAT else 1
        return total

    def exactly(self, values: list[Any]) -> list[Any]:
        """Values that fit as instances of exactly the parameters' types, behind the root object."""
        return [*self.root, *(exact(v, k) for v, k in zip(values, self.kinds, strict=True))]


def _value(parameter: Parameter) -> Any:
    def refuse(*_: Any) -> Any:
        raise ValueError("a default is a number, a text, None, or a tuple of those")

    return Decoder({"root": parameter.default, "cells": []}, ENTRY, refuse, refuse, refuse).decode()


def _reachable(program: Program, main: Graph) -> Program:
    """The program of one entry point: only what it may call is compiled with it."""
    found = {main.name: main}
    work = [main]
    for graph in work:
        for node in graph.walk():
            callee = node.attributes.get("callee") if node.kind == "prim::Call" else None
            if callee is not None and callee not in found:
                found[callee] = program.functions[callee]
                work.append(found[callee])
    return Program(main.name, {name: found[name] for name in program.functions if name in found}, program.classes)


class _LoadedCallee(Callee):
    """An entry point of an archive, with its overloads."""

    def __init__(self, name: str, archive: Archive, root: Any) -> None:
        self.name = name
        self.held = archive
        self.overloads = [_Overload(point, archive, root) for point in archive.entry_points if point.name == name]
        self.signatures = tuple(str(o.point) for o in self.overloads)

    def prepare(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Key, list[Any]]:
        failures, fitting = [], []
        for overload in self.overloads:
            try:
                values = overload.bind(args, kwargs)
                fitting.append((overload.distance(values), overload, values))
            except TypeError as error:
                failures.append(error)
        if fitting:
            _, overload, values = min(fitting, key=lambda found: found[0])
            return (overload.point.function,), overload.exactly(values)
        if len(failures) == 1:
            raise failures[0]
        raise TypeError(f"no overload of {self.name}() fits these arguments: {'; '.join(self.signatures)}")

    def program(self, key: Key) -> Program:
        return next(o.program for o in self.overloads if (o.point.function,) == key)

    def archive(self) -> Archive:
        """The contents again, to be saved."""
        return _copied(self.held)


class LoadedModule:
    """A module from an archive: its entry points are methods, ``forward`` is what a call runs; other attributes are those of its state."""

    def __init__(self, archive: Archive, root: Any, functions: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_archive", archive)
        object.__setattr__(self, "_root", root)
        object.__setattr__(self, "_functions", dict(functions))
        for name, function in functions.items():  # they come before methods of this class
            object.__setattr__(self, name, function)

    @property
    def entry_points(self) -> dict[str, Any]:
        """The script functions of the entry points by name."""
        found: dict[str, Any] = self._functions
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if "forward" not in self._functions:
            raise TypeError(f"this module has no forward; its entry points are {', '.join(self._functions)}")
        return self._functions["forward"](*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._root, name)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self._kind()
        kind = self._archive.declared[PROGRAM][own.name].get(name) if own is not None else None
        if kind is None:
            raise AttributeError(f"the module has no attribute {name!r}")
        found = type_of_value(value)
        if found is None or not fits(found, kind, details=True):
            raise TypeError(f"the attribute {name!r} is {kind}, the value is {found or type(value).__name__}")
        setattr(self._root, name, value)

    def __dir__(self) -> Iterator[str]:
        yield from sorted({*object.__dir__(self), *vars(self._root or types.SimpleNamespace()), *self._functions})

    def __repr__(self) -> str:
        return f"LoadedModule({'; '.join(str(p) for p in self._archive.entry_points)})"

    def _objects(self) -> Iterator[tuple[str, Any]]:
        """The root object and those that are attributes of it or of one below, each once, with what stands before the names of their attributes."""
        seen: set[int] = set()

        def walk(held: Any, prefix: str) -> Iterator[tuple[str, Any]]:
            if id(held) in seen:
                return
            seen.add(id(held))
            yield prefix, held
            for name, value in vars(held).items():
                if hasattr(value, "__dict__") and isinstance(type_of_value(value), ClassType):
                    yield from walk(value, f"{prefix}{name}.")

        if self._root is not None:
            yield from walk(self._root, "")

    def state_dict(self) -> dict[str, Any]:
        """The tensors that the module and the objects below it have as attributes, by dotted name; the tensors themselves, not copies."""
        return {f"{prefix}{name}": value for prefix, held in self._objects() for name, value in vars(held).items() if isinstance(value, Tensor)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Copies tensors into those of the same names. Raises KeyError for missing and unknown names, RuntimeError for other shapes; nothing is copied then."""
        copy_state(type(self._root).__name__, self.state_dict(), state)

    def train(self, mode: bool = True) -> LoadedModule:
        """Sets ``training`` wherever the module and the objects below it have it; returns this module."""
        for _, held in self._objects():
            if "training" in vars(held):
                held.training = mode
        return self

    def eval(self) -> LoadedModule:
        """``train(False)``."""
        return self.train(False)

    def _kind(self) -> ClassType | None:
        """The type of the root object."""
        program = self._archive.programs.get(PROGRAM)
        kinds = () if program is None else program.classes.values()
        return next((k for k in kinds if isinstance(k, ClassType) and k.python is type(self._root)), None)

    def archive(self) -> Archive:
        """The contents again, with the state as it is now, to be saved."""
        copy = _copied(self._archive)
        own = self._kind()
        if own is not None:
            copy.state, copy.tensors = encode_state(self._root, own)
        return copy


def _copied(archive: Archive) -> Archive:
    return dataclasses.replace(archive, tensors=dict(archive.tensors), extra=dict(archive.extra))


def archive_of(loaded: Any) -> Archive | None:
    """The contents of what `load` returned, with the state as it is now; None for anything else."""
    if isinstance(loaded, LoadedModule):
        return loaded.archive()
    callee = getattr(loaded, "callee", None)
    return callee.archive() if isinstance(callee, _LoadedCallee) else None
