"""Type text → type tree → `Type`.

In: text such as ``Dict[str, List[Tensor[float32, 2]]]`` or ``Tensor?[]``. Out: `parse_type` gives a `Type`; `TypeTree`
is the plain tree that the other grammars hold where a type stands, and `build_type` makes the type of it once the
classes are known.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from jitlang.errors import IRError
from jitlang.grammar.loader import Parser
from jitlang.types import (
    ANY,
    BOOL,
    DEVICE,
    DTYPE,
    DTYPES,
    FLOAT,
    INT,
    MACHINE_TYPES,
    NEVER,
    NONE,
    SCALAR,
    SLICE,
    STR,
    VOID,
    ArrayType,
    DictType,
    ListType,
    Pointer,
    SetType,
    TensorType,
    TupleType,
    Type,
    TypeVariable,
    optional,
)

SIMPLE: dict[str, Type] = {
    **{str(t): t for t in (INT, FLOAT, BOOL, STR, NONE, DTYPE, DEVICE, SCALAR, SLICE, NEVER, ANY, VOID)},
    **MACHINE_TYPES,
    "Tensor": TensorType(),
    "ScalarType": DTYPE,
    "Device": DEVICE,
}
_DTYPES = {d.name: d for d in DTYPES}
_VARIABLE = re.compile(r"[a-z]\d?")


class TypeTree(NamedTuple):
    """A type as written: its name (``[]`` and ``?`` for the postfix forms), what stands in its brackets (trees; None
    for ``*``; ints), and the field names of a NamedTuple."""

    name: str
    items: tuple[Any, ...] = ()
    fields: tuple[str, ...] = ()


class TypeBuilder:
    """One method per rule of ``types.lark``."""

    def type_only(self, children: list[Any]) -> TypeTree:
        tree: TypeTree = children[0]
        return tree

    def plain(self, children: list[Any]) -> TypeTree:
        return TypeTree(children[0])

    def generic(self, children: list[Any]) -> TypeTree:
        return TypeTree(children[0], () if children[1] == () else tuple(children[1:]))

    def no_items(self, children: list[Any]) -> tuple[()]:
        return ()

    def any_item(self, children: list[Any]) -> None:
        return None

    def length(self, children: list[Any]) -> int:
        return int(children[0])

    def field(self, children: list[Any]) -> tuple[str, TypeTree]:
        return str(children[0]), children[1]

    def named_tuple(self, children: list[Any]) -> TypeTree:
        head, *fields = (c for c in children if c is not None)
        return TypeTree("NamedTuple", (head, *(t for _, t in fields)), tuple(f for f, _ in fields))

    def list_of_name(self, children: list[Any]) -> TypeTree:
        return TypeTree("[]", (TypeTree(children[0]), children[1] and int(children[1])))

    def list_of(self, children: list[Any]) -> TypeTree:
        return TypeTree("[]", (children[0], children[1] and int(children[1])))

    def optional_of(self, children: list[Any]) -> TypeTree:
        return TypeTree("?", (children[0],))


@functools.cache
def _parser() -> Parser:
    return Parser(("types",), "type_only", TypeBuilder(), "a type")


def parse_type(text: str, classes: Mapping[str, Type] | None = None) -> Type:
    """The type that `text` names; single lower-case letters are type variables.

    Args:
        classes: script classes and structs by name.

    Raises IRError for text that is no type, or an unknown name.
    """
    known = SIMPLE.get(text)
    return known if known is not None else build_type(_parser().parse(text), classes or {}, variables=True)


def build_type(tree: TypeTree, classes: Mapping[str, Type], *, variables: bool = False) -> Type:
    """The type of a tree; with `variables`, single lower-case letters are type variables. Raises IRError."""
    name = tree.name
    if not tree.items and not tree.fields and name != "NamedTuple":
        return TupleType(()) if name == "Tuple" else _named(name, classes, variables)
    if name == "Tensor":
        return _tensor(tree)
    if name == "NamedTuple":
        return _named_tuple(tree, classes, variables)
    if name == "[]":
        return ListType(build_type(tree.items[0], classes, variables=variables))
    if name == "array":
        return _array(tree, classes)
    make, count = _GENERIC.get(name, (None, 0))
    if make is None:
        raise IRError(f"unknown generic type {name}[…]")
    if not all(isinstance(i, TypeTree) for i in tree.items) or (count and len(tree.items) != count):
        raise IRError(f"{name}[…] takes {count or 'only'} type{'s' if count != 1 else ''}")
    made: Type = make(*(build_type(i, classes, variables=variables) for i in tree.items))
    return made


_GENERIC: dict[str, tuple[Any, int]] = {
    "List": (ListType, 1),
    "Dict": (DictType, 2),
    "Set": (SetType, 1),
    "Optional": (optional, 1),
    "?": (optional, 1),
    "ptr": (Pointer, 1),
    "Tuple": (lambda *elements: TupleType(elements), 0),
}


def _named(name: str, classes: Mapping[str, Type], variables: bool) -> Type:
    found = SIMPLE.get(name) or classes.get(name)
    if found is not None:
        return found
    if variables and _VARIABLE.fullmatch(name):
        return TypeVariable(str(name))
    raise IRError(f"unknown type {name}")


def _tensor(tree: TypeTree) -> Type:
    names = [i.name if isinstance(i, TypeTree) else i for i in tree.items]
    dtype, rank, device = (names + [None, None])[:3] if len(names) <= 3 else (None, "too many", None)
    if isinstance(dtype, str) and dtype not in _DTYPES:
        raise IRError(f"unknown dtype {dtype}")
    if isinstance(dtype, int) or isinstance(rank, str) or isinstance(device, int):
        raise IRError("a tensor type is written Tensor[dtype or *, rank or *, device]")
    return TensorType(None if dtype is None else _DTYPES[dtype], rank, None if device is None else str(device))


def _named_tuple(tree: TypeTree, classes: Mapping[str, Type], variables: bool) -> Type:
    head = tree.items[0] if tree.items else None
    if not isinstance(head, TypeTree) or head.name != "NamedTuple" or len(head.items) != 1 or not isinstance(head.items[0], TypeTree):
        raise IRError("a named tuple is written NamedTuple[name](field: type, …)")
    elements = tuple(build_type(t, classes, variables=variables) for t in tree.items[1:])
    return TupleType(elements, str(head.items[0].name), tree.fields)


def _array(tree: TypeTree, classes: Mapping[str, Type]) -> Type:
    if len(tree.items) != 2 or not isinstance(tree.items[0], TypeTree) or not isinstance(tree.items[1], int):
        raise IRError("an array type is written array[type, length]")
    return ArrayType(build_type(tree.items[0], classes), tree.items[1])
