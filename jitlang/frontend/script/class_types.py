"""Which attributes a script class, a module or an instance has.

In: a Python class or instance. Out: its `ClassType`. The attributes of a class are those that its ``__init__`` sets (found by compiling it),
those that its body annotates, and the fields of a dataclass; a method that stores a wider type widens the attribute. The attributes
of a module come from the instance: parameters, buffers, submodules, and plain values.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jitlang.errors import CompileError, ScriptTypeError
from jitlang.frontend.annotations import (
    annotation_type,
    fits,
    general,
    install_classes,
    is_named_tuple,
    join_containers,
    type_of_value,
)
from jitlang.frontend.script.definite import certain_attributes
from jitlang.schema import MISSING
from jitlang.types import NONE, ClassType, OptionalType, TensorType, Type, is_subtype, optional

_TYPES: weakref.WeakKeyDictionary[type, list[ClassType]] = weakref.WeakKeyDictionary()
_DECLARED: weakref.WeakKeyDictionary[type, ClassType] = weakref.WeakKeyDictionary()
_OPEN: set[ClassType] = set()
_NAMES: dict[str, weakref.ref[type]] = {}
# (class, argument types) → ClassType, installed by `jitlang.frontend.script.unit`: compiles __init__ to find the attributes.
_infer: list[Callable[[ClassType, Sequence[Any] | None], None]] = []

_INTERNAL = frozenset(
    {"_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "_backward_pre_hooks", "_backward_hooks", "_is_full_backward_hook"}
)


class Restart(Exception):
    """An attribute got a wider type than code emitted before assumed: the whole program is emitted anew."""


def install_inference(infer: Callable[[ClassType, Sequence[Any] | None], None]) -> None:
    """Installs what compiles ``__init__`` of an open class type to find its attributes."""
    _infer[:] = [infer]


def is_open(type: ClassType) -> bool:
    """Whether the attributes of a class are still being found."""
    return type in _OPEN


def compares(type: Type) -> bool:
    """Whether values of `type` are, or hold, objects whose class says itself when they are equal."""
    return any(isinstance(t, ClassType) and isinstance(inspect.getattr_static(t.python, "__eq__", None), types.FunctionType) for t in type.walk())


def is_module(value: Any) -> bool:
    """Whether a Python object is a module: it keeps parameters, buffers and submodules as PyTorch's do."""
    held = getattr(value, "__dict__", {})
    return all(isinstance(held.get(n), dict) for n in ("_parameters", "_buffers", "_modules"))


def is_module_class(cls: type) -> bool:
    """Whether instances of a class are modules."""
    return any(c.__name__ == "Module" and hasattr(c, "named_parameters") for c in cls.__mro__)


def is_script_class(cls: Any) -> bool:
    """Whether a class can be a script class: the user's own, with Python source."""
    if not isinstance(cls, type) or issubclass(cls, BaseException | enum.Enum) or is_named_tuple(cls) or is_module_class(cls):
        return False
    if cls.__module__ in ("builtins", "typing", "collections", "collections.abc", "functools", "itertools") or cls.__module__.startswith("jitlang.frontend."):
        return False
    return "__dict__" in dir(cls) or hasattr(cls, "__slots__")


def type_name(cls: type) -> str:
    """The name of a class in a program: its qualified name, with its module's in front where two classes share one."""
    name = cls.__qualname__.replace("<locals>.", "")
    held = _NAMES.get(name)
    other = held() if held is not None else None
    if other is None or other is cls or other.__module__ == cls.__module__:
        _NAMES[name] = weakref.ref(cls)
        return name
    return f"{cls.__module__}.{name}"


def declared_attributes(cls: type) -> dict[str, Type]:
    """The attributes that class bodies annotate, of base classes first."""
    found: dict[str, Type] = {}
    for base in reversed(cls.__mro__):
        hints = inspect.get_annotations(base)
        module = inspect.getmodule(base)
        scope = {**(vars(module) if module else {}), base.__name__: base}
        for name, hint in hints.items():
            if isinstance(hint, str) and hint.replace(" ", "").startswith(("ClassVar", "typing.ClassVar", "Final", "KW_ONLY")):
                continue
            if str(hint).startswith(("typing.ClassVar", "typing.Final")):
                continue
            kind = annotation_type(hint, scope)
            if kind is not None:
                found[name] = general(kind, True)
    return found


def class_type(cls: type) -> ClassType | None:
    """The type that a class has as an annotation; None where it depends on the arguments of ``__init__``, or on the instance.

    Raises ScriptTypeError for what can be no script class.
    """
    if issubclass(cls, enum.Enum) or is_module_class(cls) or getattr(cls, "_is_protocol", False):
        return None
    if not is_script_class(cls):
        raise ScriptTypeError(f"{cls.__qualname__} is not a type of the language")
    known = _DECLARED.get(cls)
    if known is not None:
        return known
    # Known from here on: the class's own annotations may name it.
    type = _DECLARED[cls] = ClassType(type_name(cls), {}, cls)
    try:
        type.attributes.update(declared_attributes(cls))
        if not _annotated(cls):
            del _DECLARED[cls]
            made = _TYPES.get(cls)
            return made[-1] if made else None
        _fill(type, None)
    except Restart:
        raise
    except BaseException:
        _DECLARED.pop(cls, None)
        raise
    return type


def class_type_for(cls: type, arguments: Sequence[Any]) -> ClassType:
    """The type of ``cls(...)`` whose ``__init__`` is called with arguments of these types."""
    declared = class_type(cls) if _annotated(cls) else None
    if declared is not None:
        return declared
    type = _new(cls)
    _fill(type, arguments)
    for other in _TYPES.setdefault(cls, []):
        if other.attributes == type.attributes:
            return other
    if _TYPES[cls]:
        type.name = f"{type.name}_{len(_TYPES[cls])}"
    _TYPES[cls].append(type)
    return type


def _new(cls: type) -> ClassType:
    return ClassType(type_name(cls), declared_attributes(cls), cls)


def _fill(type: ClassType, arguments: Sequence[Any] | None) -> None:
    _OPEN.add(type)
    try:
        for _ in range(8):  # each round may widen attributes
            before = dict(type.attributes)
            try:
                _infer[0](type, arguments)
            except Restart:
                continue
            if before == type.attributes:
                break
    finally:
        _OPEN.discard(type)
    if type.python is not None:
        certain = certain_attributes(type.python)
        missing = [n for n, t in type.attributes.items() if n not in certain and t != NONE and not isinstance(t, OptionalType)]
        for name in missing:
            type.attributes[name] = optional(type.attributes[name])
        type.missing.update(missing)


def _annotated(cls: type) -> bool:
    init = inspect.getattr_static(cls, "__init__", None)
    if dataclasses.is_dataclass(cls):
        return all(f.name in declared_attributes(cls) for f in dataclasses.fields(cls))
    if not inspect.isfunction(init):
        return True
    from jitlang.frontend.script.functions import function_info

    return all(p.type is not None or _has_type(p.default) for p in function_info(init).parameters[1:])


def _has_type(default: Any) -> bool:
    try:
        found = type_of_value(default)
    except (CompileError, TypeError):
        return False
    return default is not MISSING and found is not None and found != NONE


def widen_attribute(type: ClassType, name: str, given: Type) -> bool:
    """Makes an attribute of a type that also holds `given`; False where there is none. Raises Restart if code may have been emitted already."""
    held = type.attributes.get(name)
    if held is None:
        if not is_open(type):
            return False
        type.attributes[name] = general(given, True)
        return True
    wider = join_containers(held, general(given, True))
    if wider is None:
        return False
    if wider != held:
        type.attributes[name] = wider
        type.revision += 1
        raise Restart
    return True


# ---- instances ----------------------------------------------------------------------------------------------------


def instance_type(value: Any) -> ClassType | None:
    """The type of an instance of a script class or of a module; None for any other object."""
    if is_module(value):
        return module_type(value)
    cls = type(value)
    if not is_script_class(cls) or inspect.isroutine(value) or inspect.ismodule(value) or isinstance(value, type):
        return None
    if not hasattr(value, "__dict__") and not hasattr(cls, "__slots__"):
        return None
    declared = class_type(cls)
    held = dict(_attributes_of(value))
    if declared is not None and _conforms(held, declared):
        return declared
    made = _new(cls)
    for name, item in held.items():
        found = type_of_value(item)
        if found is not None:
            made.attributes.setdefault(name, general(found, True))
    for known in _TYPES.get(cls, []):
        if made.attributes.keys() <= known.attributes.keys() and _conforms(held, known):
            return known
    if _TYPES.get(cls):
        made.name = f"{made.name}_{len(_TYPES[cls])}"
    _TYPES.setdefault(cls, []).append(made)
    return made


def _attributes_of(value: Any) -> Iterator[tuple[str, Any]]:
    yield from getattr(value, "__dict__", {}).items()
    for base in type(value).__mro__:
        for name in base.__dict__.get("__slots__", ()):
            if name != "__dict__" and hasattr(value, name):
                yield name, getattr(value, name)


def _conforms(held: dict[str, Any], type: ClassType) -> bool:
    for name, kind in type.attributes.items():
        if name not in held:
            if name in type.missing:
                continue
            return False
        inner = kind.element if isinstance(kind, OptionalType) else kind
        if isinstance(inner, ClassType) and not inner.is_module and _DECLARED.get(held[name].__class__) is inner:
            continue  # what it holds in turn is looked at when it is converted: chains may be long, and rings have no end
        given = type_of_value(held[name])
        if given is None or not fits(given, kind):
            return False
    return True


def module_type(module: Any) -> ClassType:
    """The type of a module: one for all instances with the same attributes."""
    cls = type(module)
    attributes, values = _module_attributes(module)
    for known in _TYPES.setdefault(cls, []):
        if known.is_module and _module_fits(attributes, values, known):
            return known
    name = type_name(cls)
    count = len(_TYPES[cls])
    made = ClassType(f"{name}_{count}" if count else name, attributes, cls, is_module=True, values=values)
    _TYPES[cls].append(made)
    return made


def _module_fits(attributes: dict[str, Type], values: dict[str, Any], known: ClassType) -> bool:
    if attributes.keys() != known.attributes.keys() or dict(known.values) != values:
        return False
    for name, kind in attributes.items():
        declared = known.attributes[name]
        if kind == declared or is_subtype(kind, declared):
            continue
        if isinstance(declared, TensorType | ClassType) or not fits(kind, declared):
            return False
    return True


def _module_attributes(module: Any) -> tuple[dict[str, Type], dict[str, Any]]:
    """The attributes of a module that have a type, and the Python objects among them that have none (functions, classes)."""
    declared = declared_attributes(type(module))
    attributes: dict[str, Type] = {}
    values: dict[str, Any] = {}
    groups = (module._parameters, module._buffers, module._modules)
    plain = {k: v for k, v in module.__dict__.items() if k not in _INTERNAL and not (k.startswith("_") and "hook" in k)}
    for group in (*groups, plain):
        for name, value in group.items():
            kind = declared.get(name)
            if kind is None:
                try:
                    kind = type_of_value(value)
                except ScriptTypeError:
                    kind = None
                if kind is not None and group is not module._parameters:
                    kind = general(kind, True) if not isinstance(kind, OptionalType) else kind
            if kind is None:
                values[name] = value
            else:
                attributes[name] = kind
    return attributes, values


def module_items(module_type_: ClassType) -> list[str]:
    """The names of the parts of a module list, sequential or dict, in order."""
    return [n for n, t in module_type_.attributes.items() if isinstance(t, ClassType | TensorType) and n not in ("training",)]


install_classes(class_type, instance_type)
