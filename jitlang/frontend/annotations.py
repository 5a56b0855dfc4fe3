"""Python annotations and Python values → types.

In: annotation objects or strings (``typing``, PEP 585 and 604, ``# type:`` comments), or live values. Out: `Type`. None stands for
"whatever is given" (no annotation, Any, a type variable, Callable, a protocol): the function is specialised by the argument.

Layers above the frontend tell it of their classes: the tensor layer calls `declare_type(Tensor, TENSOR, type_of_tensor)`, and
so on. Which attributes a script class has is found by compiling its ``__init__`` (`jitlang.frontend.script.classes`, which installs
itself by `install_classes`).
"""

from __future__ import annotations

import builtins
import collections
import collections.abc
import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Collection, Mapping
from typing import Any, ForwardRef, Literal, TypeVar, Union, get_args, get_origin

from jitlang.errors import ScriptTypeError
from jitlang.frontend.python_kinds import base_type
from jitlang.types import (
    BOOL,
    DEVICE,
    DTYPE,
    FLOAT,
    INT,
    NEVER,
    NONE,
    PYTHON_CLASSES,
    TENSOR,
    ClassType,
    DictType,
    DType,
    ListType,
    OptionalType,
    SetType,
    TensorType,
    TupleType,
    Type,
    is_subtype,
    join,
    optional,
)

_PLAIN: dict[Any, Type] = {**{python: type for type, python in PYTHON_CLASSES.items()}, None: NONE, "None": NONE, DType: DTYPE}
_DECLARED: dict[Any, Type] = {}
_OF_VALUE: list[tuple[type, Callable[[Any], Type]]] = []
_ANYTHING = (
    typing.Any,
    Callable,
    typing.Callable,
    collections.abc.Callable,
    object,
    collections.abc.Iterable,
    collections.abc.Sequence,
    collections.abc.Mapping,
)
_STORED = "<archive>"  # what is called the module of classes that have no Python source
_NAMED_TUPLES: dict[str, type] = {}
_classes: Callable[[type], Type | None] | None = None
_instances: Callable[[Any], Type | None] | None = None


def declare_type(python: Any, type: Type, of_value: Callable[[Any], Type] | None = None) -> None:
    """Tells the frontend that annotation `python` means `type`, and how its instances are typed (default: `type`)."""
    _DECLARED[python] = type
    if isinstance(python, builtins.type):
        _OF_VALUE.append((python, of_value or (lambda _: type)))


def install_classes(of_class: Callable[[type], Type | None], of_instance: Callable[[Any], Type | None]) -> None:
    """Installs what finds the type of a script class, and that of an instance of one."""
    global _classes, _instances
    _classes, _instances = of_class, of_instance


def is_named_tuple(python: Any) -> bool:
    """Whether `python` is a NamedTuple class."""
    return isinstance(python, type) and issubclass(python, tuple) and hasattr(python, "_fields")


def named_tuple_name(python: type) -> str:
    """The name that the type of a NamedTuple class carries; classes of equal names are told apart by their module."""
    if python.__module__ == _STORED:
        return python.__qualname__
    name = python.__qualname__.replace("<locals>.", "")
    if _NAMED_TUPLES.get(name, python).__module__ != python.__module__:
        name = f"{python.__module__}.{name}"
    _NAMED_TUPLES[name] = python  # a redefinition (a notebook cell run again) takes the name over
    return name


def stored_class(declared: ClassType) -> type:
    """The Python class of a script class; one that came from an archive gets a class of its name with no methods."""
    if declared.python is None:
        declared.python = builtins.type(declared.name.rpartition(".")[2], (), {"__module__": _STORED})
    return declared.python


@functools.lru_cache(maxsize=1024)
def stored_tuple(name: str, fields: tuple[str, ...]) -> type[Any]:
    """The class of the NamedTuples of an archive that have this name and these fields."""
    make: Callable[..., Any] = collections.namedtuple  # the checker wants literals
    made: type[Any] = make(name.rpartition(".")[2], fields, module=_STORED)
    made.__qualname__ = name
    return made


def named_tuple_class(name: str) -> type | None:
    """The NamedTuple class that carries a name."""
    return _NAMED_TUPLES.get(name)


def named_tuple_type(python: type[Any], elements: tuple[Type, ...]) -> TupleType:
    """The type of a NamedTuple of these element types."""
    return TupleType(elements, named_tuple_name(python), tuple(python._fields))


def named_tuple_fields(python: type[Any]) -> list[Type | None]:
    """The declared types of the fields of a NamedTuple class (None: whatever is given)."""
    hints: dict[str, Any] = getattr(python, "__annotations__", {})
    scope = vars(inspect.getmodule(python)) if inspect.getmodule(python) else {}
    return [annotation_type(hints[f], scope) if f in hints else None for f in python._fields]


def annotation_type(annotation: Any, scope: Mapping[str, Any] | None = None) -> Type | None:
    """The type that an annotation means, or None where any type will do.

    Args:
        annotation: an object, or a string that is evaluated in `scope`.
        scope: the names of the function's module and closure.

    Raises ScriptTypeError for what is no type of the language.
    """
    for _ in range(2):  # a text in quotes under ``from __future__ import annotations`` is a text of a text
        if isinstance(annotation, ForwardRef):
            annotation = annotation.__forward_arg__
        if isinstance(annotation, str):
            annotation = _evaluate(annotation, {} if scope is None else scope)
    if annotation is inspect.Parameter.empty:
        return None
    try:
        known = _DECLARED.get(annotation) or _PLAIN.get(annotation)
    except TypeError:
        known = None
    if known is not None:
        return known
    if isinstance(annotation, TypeVar) or any(annotation is a for a in _ANYTHING):
        return None
    origin = get_origin(annotation)
    if origin is not None:
        return _generic(annotation, origin, get_args(annotation), scope)
    return _class(annotation)


def _evaluate(text: str, scope: Mapping[str, Any]) -> Any:
    try:
        return eval(text, {**vars(typing), **vars(builtins)}, scope)  # the user's own annotation, as typing.get_type_hints evaluates it
    except Exception as error:
        raise ScriptTypeError(f"the annotation '{text}' cannot be evaluated: {error}") from None


def _generic(annotation: Any, origin: Any, args: tuple[Any, ...], scope: Mapping[str, Any] | None) -> Type | None:
    if origin in (Union, types.UnionType):
        return _union(args, scope)
    if origin is Literal:
        kinds = {type(a) for a in args}
        return _PLAIN[kinds.pop()] if len(kinds) == 1 and next(iter(kinds)) in _PLAIN else None
    if origin is typing.Annotated or getattr(origin, "__name__", "") in ("Final", "ClassVar") or origin in (typing.Final, typing.ClassVar):
        return annotation_type(args[0], scope)
    if origin is tuple:
        return _tuple(args, scope)
    if any(origin is a for a in _ANYTHING):
        return None
    inner = [annotation_type(a, scope) for a in args]
    found: list[Type] = [t for t in inner if t is not None]
    if origin in (list, dict, set, frozenset) and len(found) != len(inner):
        return None
    if origin is list:
        return ListType(found[0])
    if origin is dict or (isinstance(origin, type) and issubclass(origin, dict)):
        return DictType(*found) if len(found) == 2 else None
    if origin in (set, frozenset):
        return SetType(found[0])
    if getattr(origin, "__module__", "") in ("collections.abc", "typing"):
        return None
    if isinstance(origin, type):  # a user's generic class
        return _class(origin)
    raise ScriptTypeError(f"{annotation} is not a type of the language")


def _union(args: tuple[Any, ...], scope: Mapping[str, Any] | None) -> Type | None:
    rest = [a for a in args if a is not type(None) and a is not None]
    try:
        inner = [annotation_type(a, scope) for a in rest]
    except ScriptTypeError:  # one of them is no type of the language; the argument may still be
        return None
    if any(t is None for t in inner) or len(set(inner)) > 1:
        return None  # specialised by what is given
    if not inner:
        return NONE
    assert inner[0] is not None
    return optional(inner[0]) if len(rest) < len(args) else inner[0]


def _tuple(args: tuple[Any, ...], scope: Mapping[str, Any] | None) -> Type | None:
    if args == ((),):
        return TupleType(())
    if Ellipsis in args:
        return None  # specialised by the tuple that is given
    inner = [annotation_type(a, scope) for a in args]
    return None if any(t is None for t in inner) else TupleType(tuple(t for t in inner if t is not None))


def _class(annotation: Any) -> Type | None:
    if is_named_tuple(annotation):
        fields = named_tuple_fields(annotation)
        return None if any(f is None for f in fields) else named_tuple_type(annotation, tuple(f for f in fields if f is not None))
    if annotation in (list, dict, tuple, set, frozenset) or getattr(annotation, "__module__", "") in ("typing", "collections.abc"):
        return None
    if getattr(annotation, "__module__", "").startswith("jitlang") and getattr(annotation, "__name__", "") == "device":
        return DEVICE
    supertype = getattr(annotation, "__supertype__", None)  # NewType
    if supertype is not None:
        return annotation_type(supertype)
    if isinstance(annotation, type):
        return _classes(annotation) if _classes is not None else None
    raise ScriptTypeError(f"{annotation!r} is not a type of the language")


_COMMENT = re.compile(r"#\s*type:\s*(?!ignore)(.+?)\s*(?:#.*)?$")


def type_comments(lines: list[str]) -> tuple[list[str], str] | None:
    """The parameter annotations and the result's of a ``# type: (A, B) -> C`` comment among a function's first lines, or None."""
    single: list[str] = []
    for line in lines:
        found = _COMMENT.search(line)
        if not found:
            continue
        text = found.group(1)
        if text.startswith("("):
            inside, _, result = text.rpartition("->")
            if not result:
                continue
            inside = inside.strip()[1:-1]
            given = _split(inside)
            return (single if given == ["..."] else given), result.strip()
        single.append(text)
    return None


def _split(text: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for c in text:
        depth += (c in "[(") - (c in "])")
        if c == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    return [p for p in [*parts, current.strip()] if p]


# ---- values -------------------------------------------------------------------------------------------------------


def is_tensor(value: Any) -> bool:
    """Whether a Python object is a tensor."""
    return any(isinstance(value, python) for python, _ in _OF_VALUE if _DECLARED.get(python) == TENSOR)


def general(type: Type, inside: bool = False) -> Type:
    """`type` with what is known of tensors inside containers forgotten: a list of tensors may hold tensors of any shape."""
    if isinstance(type, TensorType):
        return TENSOR if inside else type
    if isinstance(type, ListType):
        return ListType(general(type.element, True))
    if isinstance(type, SetType):
        return SetType(general(type.element, True))
    if isinstance(type, DictType):
        return DictType(general(type.key, True), general(type.value, True))
    if isinstance(type, OptionalType):
        return OptionalType(general(type.element, inside))
    if isinstance(type, TupleType):
        return TupleType(tuple(general(e, inside) for e in type.elements), type.name, type.fields)
    return type


def type_of_value(value: Any) -> Type | None:
    """The type that a function is specialised by when it is called with `value`; None for what has no type (functions, say).

    Raises ScriptTypeError where elements of a list or dict have no common type.
    """
    plain = _PLAIN.get(type(value))
    if plain is not None:
        return plain
    for python, of_value in _OF_VALUE:
        if isinstance(value, python):
            return of_value(value)
    if isinstance(value, DType):
        return DTYPE
    base = base_type(type(value))
    if base is None:
        return _instances(value) if _instances is not None else None
    if base is tuple:
        parts = [type_of_value(v) for v in value]
        if any(p is None for p in parts):
            return None
        elements = tuple(p for p in parts if p is not None)
        return named_tuple_type(type(value), elements) if is_named_tuple(type(value)) else TupleType(elements)
    if base is dict:
        key, item = _common(value.keys()), _common(value.values())
        return None if key is None or item is None else DictType(key, item)
    if base in (list, set, frozenset):
        element = _common(value)
        return None if element is None else ListType(element) if base is list else SetType(element)
    return _PLAIN[base]


def _common(values: Collection[Any]) -> Type | None:
    """The type of all elements; Never where there are none."""
    kinds = set(map(builtins.type, values))
    if len(kinds) == 1:
        only = _PLAIN.get(kinds.pop())
        if only is not None:
            return only
    common: Type = NEVER
    for value in values:
        found = type_of_value(value)
        if found is None:
            return None
        found = general(found, True)
        if common in (NEVER, found):
            common = found
            continue
        wider = join_containers(common, found)
        if wider is None:
            raise ScriptTypeError(f"elements of one container are {common} and {found}; a script's list or dict holds values of one type")
        common = wider
    return common


def join_containers(a: Type, b: Type) -> Type | None:
    """`jitlang.types.join`, where an empty list or dict takes the other's element type, and int joins float to float."""
    if a == b:
        return a
    if {a, b} == {INT, FLOAT}:
        return FLOAT
    if NEVER in (a, b):
        return b if a == NEVER else a
    if isinstance(a, ListType) and isinstance(b, ListType) and NEVER in (*a.walk(), *b.walk()):
        inner = join_containers(a.element, b.element)
        return None if inner is None else ListType(inner)
    if isinstance(a, DictType) and isinstance(b, DictType) and NEVER in (*a.walk(), *b.walk()):
        key, value = join_containers(a.key, b.key), join_containers(a.value, b.value)
        return None if key is None or value is None else DictType(key, value)
    if isinstance(a, OptionalType) or isinstance(b, OptionalType):
        inner = join_containers(*(t.element if isinstance(t, OptionalType) else t for t in (a, b)))
        return None if inner is None else optional(inner)
    if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a.elements) == len(b.elements) and a.name == b.name:
        parts = [join_containers(x, y) for x, y in zip(a.elements, b.elements, strict=True)]
        return None if None in parts else TupleType(tuple(p for p in parts if p is not None), a.name, a.fields)
    return join(a, b)


def fits(given: Type, declared: Type, *, details: bool = False) -> bool:
    """Whether an argument of type `given`, coming from Python, may be passed for a parameter declared so.

    `details`: what the declaration says of dtypes and ranks must hold too, for there will be no other specialisation.
    """
    if given in (declared, NEVER):
        return True
    if isinstance(declared, TensorType) and isinstance(given, TensorType):
        return not details or is_subtype(given, declared)
    if declared == FLOAT:
        return given in (INT, BOOL)
    if declared == INT:
        return given == BOOL
    if isinstance(declared, OptionalType):
        return given == NONE or fits(given.element if isinstance(given, OptionalType) else given, declared.element, details=details)
    if isinstance(declared, ListType) and isinstance(given, ListType):
        return fits(given.element, declared.element, details=details)
    if isinstance(declared, SetType) and isinstance(given, SetType):
        return fits(given.element, declared.element, details=details)
    if isinstance(declared, DictType) and isinstance(given, DictType):
        return fits(given.key, declared.key, details=details) and fits(given.value, declared.value, details=details)
    if isinstance(declared, TupleType) and isinstance(given, TupleType):
        same = declared.name in ("", given.name) and len(declared.elements) == len(given.elements)
        return same and all(fits(g, d, details=details) for g, d in zip(given.elements, declared.elements, strict=True))
    return False


def parameter_type(given: Type, declared: Type | None) -> Type:
    """The type that a parameter takes in the specialisation for an argument of type `given`.

    What is known of the argument beyond the declaration (dtype and rank of a tensor, that an optional is None or not) is kept.
    Raises ScriptTypeError where the argument does not fit.
    """
    if declared is None:
        return given
    if not fits(given, declared):
        raise ScriptTypeError(f"expected {declared}, got {given}")
    if isinstance(declared, OptionalType):
        if isinstance(given, OptionalType):
            return optional(parameter_type(given.element, declared.element))
        return given if given == NONE else parameter_type(given, declared.element)
    if isinstance(declared, TensorType):
        return given if isinstance(given, TensorType) else declared
    if isinstance(declared, TupleType) and isinstance(given, TupleType):
        return TupleType(tuple(map(parameter_type, given.elements, declared.elements)), given.name, given.fields)
    return declared
