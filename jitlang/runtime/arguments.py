"""Arguments on their way into a script. In: Python values and the types that they stand for. Out: values of exactly those types."""

from __future__ import annotations

import operator
import sys
from collections.abc import Collection
from typing import Any

from jitlang.codegen.library import marshal_python
from jitlang.codegen.library.numbers import OVERFLOW
from jitlang.errors import ScriptTypeError
from jitlang.frontend.annotations import fits, is_named_tuple
from jitlang.frontend.python_kinds import plain
from jitlang.types import INT, PYTHON_CLASSES, ClassType, DictType, ListType, OptionalType, SetType, TupleType, Type

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_numpy_known: list[bool] = []


def exact(value: Any, kind: Type) -> Any:
    """`value` as an instance of exactly the Python type that stands for `kind`, where that has no identity: an int for a float parameter becomes a float.

    OverflowError for an int that does not fit in 64 bits.
    """
    python = PYTHON_CLASSES.get(kind)
    if python is not None:
        made: Any = value if type(value) is python else plain(value, python)
        if python is int and not _LEAST <= made <= _MOST:
            raise OverflowError(OVERFLOW)
        return made
    if isinstance(kind, OptionalType):
        return None if value is None else exact(value, kind.element)
    if isinstance(kind, TupleType):
        parts = tuple(map(exact, value, kind.elements))
        known = type(value) is tuple or bool(kind.name)
        return value if known and all(map(operator.is_, parts, value)) else type(value)._make(parts) if kind.name else parts
    return value


def is_exact(value: Any, kind: Type) -> bool:
    """Whether a value, and all that can be reached from it, is of exactly the Python types that stand for `kind` and its parts.

    Only then does the VM, which works on the objects themselves, do what native code does, which converts them.
    """
    return _is_exact(value, kind, set())


def _is_exact(value: Any, kind: Type, seen: set[int]) -> bool:
    if kind == INT:
        return type(value) is int and _LEAST <= value <= _MOST
    if kind in PYTHON_CLASSES:
        return type(value) is PYTHON_CLASSES[kind]
    if isinstance(kind, OptionalType):
        return value is None or _is_exact(value, kind.element, seen)
    if isinstance(kind, TupleType):
        known = is_named_tuple(type(value)) if kind.name else type(value) is tuple
        return known and all(_is_exact(v, k, seen) for v, k in zip(value, kind.elements, strict=False))
    if isinstance(kind, ListType | SetType):
        return type(value) is (list if isinstance(kind, ListType) else set) and _are_exact(value, kind.element, seen)
    if isinstance(kind, DictType):
        return type(value) is dict and _are_exact(value.keys(), kind.key, seen) and _are_exact(value.values(), kind.value, seen)
    if isinstance(kind, ClassType) and not kind.is_enum and id(value) not in seen:
        seen.add(id(value))
        return all(_is_exact(getattr(value, n), k, seen) for n, k in kind.attributes.items() if hasattr(value, n))
    return True


def _are_exact(values: Collection[Any], kind: Type, seen: set[int]) -> bool:
    python = PYTHON_CLASSES.get(kind)
    if python is not None:
        return set(map(type, values)) <= {python} and (python is not int or not values or (min(values) >= _LEAST and max(values) <= _MOST))
    return all(_is_exact(v, kind, seen) for v in values)


def know_numpy() -> None:
    """Tells native code of NumPy's numbers, once NumPy has been imported."""
    numpy = sys.modules.get("numpy")
    if not _numpy_known and numpy is not None and hasattr(numpy, "bool_"):
        marshal_python.know_numpy({"int": numpy.integer, "float": numpy.floating, "bool": numpy.bool_})
        _numpy_known.append(True)


def check_argument(value: Any) -> None:
    """ScriptTypeError for an array or number of another library, which is no value of the language, and no constant of a program either."""
    if isinstance(value, type) or not (hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__")):
        return
    kind, numpy = type(value), sys.modules.get("numpy")
    way = "jitlang.from_dlpack"
    if numpy is not None and isinstance(value, numpy.ndarray | numpy.generic):
        way = "jitlang.from_numpy" if isinstance(value, numpy.ndarray) else "float" if isinstance(value, numpy.floating) else ""
    raise ScriptTypeError(f"a {kind.__module__}.{kind.__qualname__} is no value of a script", hint=way and f"pass {way}(…) of it")


def check_object(given: Type, declared: Type | None) -> None:
    """ScriptTypeError for an object of the declared class that does not have the attributes that the class gives its objects."""
    if not (isinstance(given, ClassType) and isinstance(declared, ClassType)) or given is declared or given.python is not declared.python:
        return
    for name, kind in declared.attributes.items():
        found = given.attributes.get(name)
        if found is None and name not in declared.missing:
            raise ScriptTypeError(f"this {declared} has no attribute '{name}'", hint=f"set it in {declared}.__init__")
        if found is not None and not fits(found, kind):
            raise ScriptTypeError(f"the attribute '{name}' of this {declared} is {found}, that of others is {kind}", hint="an attribute has one type")
