"""Schema matching: which overload of an operator takes these arguments, and what is converted for it.

In: the rows of a kind, positional and keyword arguments. Out: a `Match`: the row and, for each of its parameters, the
argument or the default, with the type it is converted to. This is the one place that knows the implicit conversions:

| given | taken as |
|---|---|
| T, None | Optional[T] |
| int, float, bool | Scalar |
| int, bool | float (an int is a float, by PEP 484); bool | int |
| int | int[N]: N times that int |
| tuple of T | List[T] |
| an empty list or dict literal | any list or dict |
| str | device |

Overloads are tried in the order of registration, first without and then with the conversions that change a value's type.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from jitlang.frontend.annotations import general, join_containers
from jitlang.ir.graph import Value
from jitlang.registry import Operator
from jitlang.schema import MISSING, Argument
from jitlang.types import (
    ANY,
    BOOL,
    DEVICE,
    FLOAT,
    INT,
    NEVER,
    NONE,
    SCALAR,
    STR,
    DictType,
    ListType,
    OptionalType,
    SetType,
    TensorType,
    TupleType,
    Type,
    TypeVariable,
    is_subtype,
    optional,
)

Bindings = dict[str, Type]
NUMBERS = (INT, FLOAT, BOOL)


@dataclasses.dataclass
class Match:
    """The chosen row; `values` holds a Value, or a default (any Python value), for each parameter, `types` what it is converted to."""

    row: Operator
    values: list[Any]
    types: list[Type]
    bindings: Bindings


def match(rows: Sequence[Operator], positional: Sequence[Value], keywords: Mapping[str, Value]) -> Match | None:
    """The first row that takes the arguments, or None."""
    for implicit in (False, True):
        for row in rows:
            found = match_row(row, positional, keywords, implicit)
            if found is not None:
                return found
    return None


def match_row(row: Operator, positional: Sequence[Value], keywords: Mapping[str, Value], implicit: bool = True) -> Match | None:
    """How `row` takes the arguments, or None if it does not."""
    bound = bind(row.schema.arguments, positional, keywords)
    if bound is None:
        return None
    bindings: Bindings = {}
    # Containers settle type variables before single elements do: append(List[t], t).
    pairs = sorted(zip(row.schema.arguments, bound, strict=True), key=lambda p: isinstance(p[0].type, TypeVariable))
    for argument, value in pairs:
        if isinstance(value, Value) and not accepts(argument.type, value.type, bindings, implicit, argument.broadcast):
            return None
    types = [substitute(a.type, bindings) for a in row.schema.arguments]
    return Match(row, bound, types, bindings)


def bind(arguments: Sequence[Argument], positional: Sequence[Value], keywords: Mapping[str, Value]) -> list[Any] | None:
    """An argument or default for each parameter; None where the numbers or names do not fit. ``int[]`` as the only list takes varargs."""
    takes = [a for a in arguments if not a.keyword_only]
    positional = list(positional)
    if len(positional) > len(takes):
        return None
    used = dict(keywords)
    bound: list[Any] = []
    for at, argument in enumerate(arguments):
        if at < len(positional):
            if argument.name in used:
                return None
            bound.append(positional[at])
        elif argument.name in used:
            bound.append(used.pop(argument.name))
        elif argument.default is not MISSING:
            bound.append(argument.default)
        else:
            return None
    return None if used else bound


def accepts(formal: Type, given: Type, bindings: Bindings, implicit: bool, broadcast: int = 0) -> bool:
    """Whether an argument of type `given` may be passed for `formal`; binds type variables."""
    if formal == ANY:
        return True
    if isinstance(formal, TypeVariable):
        return _bind_variable(formal.name, given, bindings, implicit)
    if given == NEVER:
        return True
    if isinstance(formal, OptionalType):
        if given == NONE:
            return True
        return accepts(formal.element, given.element if isinstance(given, OptionalType) else given, bindings, implicit, broadcast)
    if formal == SCALAR:
        return given in NUMBERS
    if isinstance(formal, ListType):
        return _accepts_list(formal, given, bindings, implicit, broadcast)
    if isinstance(formal, DictType):
        return isinstance(given, DictType) and _accepts_inside(formal.key, given.key, bindings) and _accepts_inside(formal.value, given.value, bindings)
    if isinstance(formal, SetType):
        return isinstance(given, SetType) and _accepts_inside(formal.element, given.element, bindings)
    if isinstance(formal, TupleType):
        return (
            isinstance(given, TupleType)
            and len(given.elements) == len(formal.elements)
            and all(accepts(f, g, bindings, implicit) for f, g in zip(formal.elements, given.elements, strict=True))
        )
    if is_subtype(given, formal):
        return True
    if not implicit:
        return False
    return (formal == FLOAT and given in (INT, BOOL)) or (formal == INT and given == BOOL) or (formal == DEVICE and given == STR)


def _bind_variable(name: str, given: Type, bindings: Bindings, implicit: bool) -> bool:
    bound = bindings.get(name)
    if bound is None or bound == NEVER:
        bindings[name] = general(given, True)
        return True
    if given == bound or is_subtype(given, bound) or given == NEVER:
        return True
    if isinstance(bound, OptionalType) and (given == NONE or is_subtype(given, bound.element) or (isinstance(given, OptionalType) and given == bound)):
        return True
    wider = join_containers(given, bound)
    # [] as an element: the elements are lists whose type is not known yet, on this side or on that.
    if wider is not None and NEVER in (*given.walk(), *bound.walk()):
        bindings[name] = general(wider, True)
        return True
    return implicit and ((bound == FLOAT and given in (INT, BOOL)) or (bound == INT and given == BOOL) or wider == bound)


def _accepts_list(formal: ListType, given: Type, bindings: Bindings, implicit: bool, broadcast: int) -> bool:
    if isinstance(given, ListType):
        return _accepts_inside(formal.element, given.element, bindings)
    if isinstance(given, TupleType) and not isinstance(formal.element, TypeVariable):
        return all(accepts(formal.element, e, bindings, implicit) for e in given.elements)
    return bool(broadcast) and accepts(formal.element, given, bindings, implicit)


def _accepts_inside(formal: Type, given: Type, bindings: Bindings) -> bool:
    """Elements of containers are invariant, but for tensors and for what is not known yet."""
    if given == NEVER:
        return True
    if isinstance(formal, TypeVariable):
        bound = bindings.get(formal.name)
        if bound is None or NEVER in bound.walk():
            bindings[formal.name] = given
            return True
        return bound == given or NEVER in given.walk() or (isinstance(given, TensorType) and isinstance(bound, TensorType))
    if isinstance(formal, TupleType):
        return (
            isinstance(given, TupleType)
            and len(given.elements) == len(formal.elements)
            and all(_accepts_inside(f, g, bindings) for f, g in zip(formal.elements, given.elements, strict=True))
        )
    if isinstance(formal, OptionalType):
        # A list of tensors where a list of optional tensors is read: the bits agree.
        inner = given.element if isinstance(given, OptionalType) else given
        return given == formal or (isinstance(inner, TensorType) and isinstance(formal.element, TensorType))
    if isinstance(formal, TensorType):
        return isinstance(given, TensorType)
    if isinstance(formal, ListType):
        return isinstance(given, ListType) and _accepts_inside(formal.element, given.element, bindings)
    if formal == SCALAR:
        return given in NUMBERS
    return formal == ANY or formal == given


def substitute(type: Type, bindings: Bindings) -> Type:
    """`type` with its variables replaced; a variable that nothing has bound becomes Never."""
    if isinstance(type, TypeVariable):
        return bindings.get(type.name, NEVER)
    if isinstance(type, ListType):
        return ListType(substitute(type.element, bindings))
    if isinstance(type, SetType):
        return SetType(substitute(type.element, bindings))
    if isinstance(type, DictType):
        return DictType(substitute(type.key, bindings), substitute(type.value, bindings))
    if isinstance(type, OptionalType):
        return optional(substitute(type.element, bindings))
    if isinstance(type, TupleType):
        return TupleType(tuple(substitute(e, bindings) for e in type.elements), type.name, type.fields)
    return type


def constant_of(value: Any) -> Any:
    """The Python value of a constant, or of the items of a list or tuple display (as a tuple); MISSING for what is not known."""
    if not isinstance(value, Value):
        return tuple(value) if isinstance(value, list) else value
    if value.is_constant:
        return value.constant
    if value.node is not None and value.node.kind in ("prim::List", "prim::Tuple"):
        return tuple(constant_of(v) for v in value.node.inputs)
    if value.node is not None and value.node.kind == "prim::Some":
        return constant_of(value.node.inputs[0])
    return MISSING
