"""`save`: scripts and scripted modules as archives.

In: a script function or module. Out: a file. What is compiled for an entry point: its declared types if it declares all of them and they suffice; else the
types that it has been called with, each of which is stored as an overload.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from jitlang.config import flag
from jitlang.errors import CompileError
from jitlang.frontend.script.class_types import instance_type
from jitlang.frontend.script.functions import FunctionInfo
from jitlang.frontend.script.unit import compile_function
from jitlang.ir.graph import Program
from jitlang.runtime.function import Revisions
from jitlang.runtime.module import ScriptModule
from jitlang.runtime.script import script
from jitlang.schema import MISSING
from jitlang.serialization.archive import Archive, check_extra_name, write_archive
from jitlang.serialization.loading import PROGRAM, archive_of
from jitlang.serialization.manifest import EntryPoint, Parameter
from jitlang.serialization.merging import merge_programs
from jitlang.serialization.naming import StoredTypes
from jitlang.serialization.place import Place
from jitlang.serialization.state import encode_state
from jitlang.serialization.tree import Encoder
from jitlang.types import ClassType, Type
from jitlang.version import VERSION


def save(obj: Any, file: Place, extra: Mapping[str, str | bytes] | None = None) -> None:
    """Saves a script function, a module or what `load` returned as an archive.

    Args:
        obj: a script function, a `ScriptModule`, or a Python function or module, which is scripted first.
        file: a path, or a binary stream. A file appears whole or not at all.
        extra: files of your own to store with it.

    Raises:
        CompileError: an entry point that declares its types cannot be compiled.
        ValueError: an entry point does not declare its types and has not been called yet; a name in `extra` is not allowed.
        TypeError: `obj` is none of these; the state holds a value that has no type in the language.
        OSError: the file cannot be written.
    """
    archive = archive_of(obj)
    if archive is None:
        scripted = script(obj)
        if not isinstance(scripted, ScriptModule) and not hasattr(scripted, "callee"):
            raise TypeError(_unsaved(obj))
        archive = _archive_of(scripted)
    for name, content in (extra or {}).items():
        reason = check_extra_name(name)
        if reason:
            raise ValueError(f"extra file {name!r}: {reason}")
        archive.extra[name] = content.encode() if isinstance(content, str) else bytes(content)
    archive.producer = f"jitlang {VERSION}"
    write_archive(archive, file)


@dataclasses.dataclass
class _Overload:
    """One form of an entry point; `kinds` are the types of its parameters without the object that it is bound to."""

    name: str
    callee: Any
    kinds: tuple[Type, ...]
    program: Program
    bound: bool

    def __post_init__(self) -> None:
        self.revisions = Revisions(self.program)

    @property
    def key(self) -> str:
        """What tells it apart from the others."""
        return f"{self.name}({', '.join(map(str, self.kinds))})"

    def point(self, function: str, stored: StoredTypes) -> EntryPoint:
        """Its row in the manifest."""
        own = self.callee.info.parameters[1 if self.bound else 0 :]
        parameters = tuple(Parameter(p.name, str(stored(kind)), _default(self.name, p), p.keyword_only) for p, kind in zip(own, self.kinds, strict=True))
        return EntryPoint(self.name, PROGRAM, function, parameters, str(stored(self.program.main.result)), self.bound, _first_line(self.callee.function))


def _archive_of(scripted: Any) -> Archive:
    if not isinstance(scripted, ScriptModule):
        return _joined(_overloads(scripted.callee.info.name, scripted, None))[0]
    kind = instance_type(scripted.module)
    assert kind is not None
    overloads: list[_Overload] = []
    while not overloads or not all(o.revisions.hold() for o in overloads):  # one may have widened an attribute that others use
        overloads = [o for name, function in scripted.entry_points.items() for o in _overloads(name, function, kind)]
    archive, stored = _joined(overloads)
    archive.state, archive.tensors = encode_state(scripted.module, stored.class_type(kind))
    return archive


def _unsaved(obj: Any) -> str:
    """Why what `script` gives for an object cannot be saved."""
    if flag("JITLANG_DISABLE"):
        return "JITLANG_DISABLE is set: script() returns Python functions unchanged, and they cannot be saved"
    what = f"the class {obj.__name__}" if isinstance(obj, type) else f"a {type(obj).__name__}"
    return f"save() takes a function or a module, not {what}"


def _joined(overloads: list[_Overload]) -> tuple[Archive, StoredTypes]:
    stored = StoredTypes(o.program for o in overloads)
    merged, names = merge_programs({o.key: stored.program(o.program) for o in overloads})
    return Archive(tuple(o.point(names[o.key], stored) for o in overloads), {PROGRAM: merged}), stored


def _overloads(name: str, function: Any, bound: ClassType | None) -> list[_Overload]:
    """The forms in which one entry point is stored, always in the same order."""
    callee = function.callee
    info: FunctionInfo = callee.info
    skip = 1 if bound is not None else 0
    declared = [p.type for p in info.parameters[skip:]]
    found: dict[tuple[Type, ...], Program] = {}
    failure: CompileError | None = None
    if all(kind is not None for kind in declared):
        kinds = tuple(kind for kind in declared if kind is not None)
        try:
            found[kinds] = compile_function(callee.function, [bound, *kinds] if bound is not None else kinds, owner=callee.owner)
        except CompileError as error:
            failure = error  # what needs a tensor's dtype or rank can be compiled for the calls there were
    if not found:
        for key in list(function.specialisations):
            if all(isinstance(kind, Type) for kind in key) and (bound is None or key[0] is bound):
                found[key[skip:]] = function.specialise(key).program
    if not found:
        if failure is not None:
            raise failure
        raise ValueError(f"{name}() does not declare the types of all its parameters: annotate them, or call it once before it is saved")
    overloads = [_Overload(name, callee, kinds, program, bound is not None) for kinds, program in found.items()]
    return sorted(overloads, key=lambda o: str(o.point("", StoredTypes([o.program]))))


def _default(name: str, parameter: Any) -> Any:
    """A default value as an atom of `tree`; MISSING where there is none."""
    if parameter.default is MISSING:
        return MISSING

    def refuse(value: Any) -> Any:
        raise TypeError(f"the default of parameter {parameter.name!r} of {name}() is a {type(value).__name__}, which cannot be stored")

    document = Encoder(lambda value: None, refuse).encode(parameter.default)
    return refuse(parameter.default) if document["cells"] else document["root"]


def _first_line(function: Any) -> str:
    return ((function.__doc__ or "").strip().splitlines() or [""])[0]
