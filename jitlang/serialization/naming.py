"""The names that classes have in an archive.

In: programs as the frontend makes them, where a class may carry a number or a module's name that depends on what else the process has compiled. Out: copies whose
classes are called as in the user's source; where two share a name, the second one that is met is ``Name_1``, and so on. So the same model gives the same bytes in every process.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jitlang.ir.graph import Graph, Program, Value, clone_program
from jitlang.ir.printer import exceptions_of
from jitlang.types import ClassType, TupleType, Type, rebuilt


def _values(graph: Graph) -> Iterator[Value]:
    """All values of a function: parameters, those of blocks too, and outputs, in program order."""
    yield from graph.params
    for node in graph.walk():
        yield from node.outputs
        for block in node.blocks:
            yield from block.params


class StoredTypes:
    """Types under the names that they have in the archive; calling it translates one.

    Args:
        programs: all that is stored together; names are given in the order in which classes are met in them.
    """

    def __init__(self, programs: Iterable[Program]) -> None:
        self._taken: set[str] = set()
        self._classes: dict[ClassType, ClassType] = {}
        self._tuples: dict[str, str] = {}
        for program in programs:
            for graph in program.functions.values():
                for kind in (graph.result, *(value.type for value in _values(graph))):
                    self._note(kind, program.classes)
        for old, new in self._classes.items():
            new.attributes.update({name: self(kind) for name, kind in old.attributes.items()})

    def __call__(self, kind: Type) -> Type:
        return rebuilt(kind, self._stored)

    def class_type(self, kind: ClassType) -> ClassType:
        """A class under its name."""
        return self._classes.get(kind, kind)

    def program(self, program: Program) -> Program:
        """A copy of a program with these types."""
        made = clone_program(program)
        for graph in made.functions.values():
            graph.result = self(graph.result)
            for value in _values(graph):
                value.type = self(value.type)
            for node in graph.walk():
                node.attributes.update({n: self(v) for n, v in node.attributes.items() if isinstance(v, Type)})
                if node.kind == "prim::New":
                    node.attributes["cls"] = str(node.output.type)
        made.classes = {**exceptions_of(program), **{kind.name: kind for kind in self._classes.values()}}
        return made

    def _stored(self, kind: Type) -> Type:
        if isinstance(kind, ClassType):
            return self.class_type(kind)
        if isinstance(kind, TupleType) and kind.name:
            return dataclasses.replace(kind, name=self._tuples.get(kind.name, kind.name))
        return kind

    def _note(self, kind: Type, classes: Mapping[str, Any]) -> None:
        """Names a class, or a NamedTuple class, that is met for the first time, and those inside it."""
        todo = [kind]
        for outer in todo:
            for inner in outer.walk():
                if isinstance(inner, ClassType) and inner not in self._classes:
                    name = self._name(inner.name, inner.python)
                    self._classes[inner] = ClassType(name, {}, inner.python, inner.is_module, inner.is_enum, inner.values, inner.missing)
                    todo += inner.attributes.values()
                elif isinstance(inner, TupleType) and inner.name and inner.name not in self._tuples:
                    self._tuples[inner.name] = self._name(inner.name, classes.get(inner.name))

    def _name(self, given: str, python: Any) -> str:
        base = python.__qualname__.replace("<locals>.", "") if isinstance(python, type) else given
        base = re.sub(r"[^\w.]", "_", base)
        name, number = base, 0
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name
