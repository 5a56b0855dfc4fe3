"""Conversions of values between types, element types of empty containers, and types of merges.

In: a value and the type wanted. Out: the nodes that convert, or the compile error. An empty list or dict literal has elements of type Never until
its first use says what they are; then its node is given that type (`settle`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitlang.frontend.annotations import join_containers
from jitlang.frontend.emitter import Left, Target
from jitlang.frontend.loops import Widen
from jitlang.frontend.script.base import ScriptBase
from jitlang.frontend.script.class_types import widen_attribute
from jitlang.ir.graph import Node, Value
from jitlang.types import BOOL, FLOAT, INT, NEVER, NONE, ClassType, DictType, ListType, OptionalType, SetType, TupleType, Type, is_subtype

# Operators whose result has the type of a list argument.
_COPIES = frozenset({"py::slice", "py::list", "py::dict", "py::sorted", "py::sorted_by", "py::reversed", "py::copy", "py::add", "py::mul", "py::or"})


class Unsettled(Exception):
    """An empty display that was read before has got its type: the function is emitted anew with it."""

    def __init__(self, place: Any, type: Type) -> None:
        super().__init__(str(type))
        self.place = place
        self.type = type


class Conversions(ScriptBase):
    """Brings values to types."""

    # ---- conversions ------------------------------------------------------------------------------------------------

    def convert(self, value: Value, type: Type, what: str) -> Value:
        """`value` as `type`; a compile error where that would not be what Python does."""
        given = value.type
        if given == type or (is_subtype(given, type) and given != NEVER):
            return value
        if NEVER in given.walk() and self.settle(value, type):
            return value
        if type == FLOAT and given in (INT, BOOL):
            if value.is_constant and float(value.constant) == value.constant:
                return self.constant(float(value.constant))
            return self.op("py::float", value)
        if type == INT and given == BOOL:
            return self.op("py::int", value)
        if isinstance(type, OptionalType):
            return self.to_optional(value, type, what)
        if isinstance(type, TupleType) and isinstance(given, TupleType) and len(type.elements) == len(given.elements) and type.name in ("", given.name):
            parts = [self.convert(self.part(value, i), e, f"element {i} of {what}") for i, e in enumerate(type.elements)]
            return self.emit("prim::Tuple", parts, (type,)).output
        rebuilt = self.rebuild(value, type, what)
        if rebuilt is not None:
            return rebuilt
        if isinstance(given, OptionalType) and not isinstance(type, OptionalType) and self.convertible(given.element, type):
            self.type_error(f"{what} may be None here, expected {type}", note=f"{given}", hint="test it first: if x is not None: …, or assert x is not None")
        self.type_error(f"{what} is {given}, expected {type}")

    def convertible(self, given: Type, type: Type) -> bool:
        """Whether `convert` knows a way from a plain value of one type to another."""
        return given == type or is_subtype(given, type) or (type == FLOAT and given in (INT, BOOL)) or (type == INT and given == BOOL)

    def to_optional(self, value: Value, type: OptionalType, what: str) -> Value:
        """`value` as an Optional."""
        if value.type == NONE:
            return self.constant(None, type)
        if isinstance(value.type, OptionalType):
            if is_subtype(value.type.element, type.element):
                return self.retype(value, type)
            if not self.convertible(value.type.element, type.element):
                self.type_error(f"{what} is {value.type}, expected {type}")
            none = self.op("py::is_none", value)
            inner = value.type.element
            return self.choose(
                none,
                lambda: self.constant(None, type),
                lambda: self.convert(self.convert(self.emit("prim::Unwrap", (value,), (inner,)).output, type.element, what), type, what),
            )
        return self.emit("prim::Some", (self.convert(value, type.element, what),), (type,)).output

    def rebuild(self, value: Value, type: Type, what: str) -> Value | None:
        """A display ([…] or {…}) that nothing has used yet, made anew with elements of another type; None for anything else."""
        node = value.node
        if node is None or value.uses or node.block is not self.block:
            return None
        if node.kind == "prim::List" and isinstance(type, ListType):
            items = list(node.inputs)
            node.destroy()
            return self.emit("prim::List", [self.convert(i, type.element, f"an element of {what}") for i in items], (type,)).output
        if node.kind == "prim::Dict" and isinstance(type, DictType):
            items = list(node.inputs)
            node.destroy()
            kinds = (type.key, type.value)
            made = [self.convert(i, kinds[at % 2], f"{('a key', 'a value')[at % 2]} of {what}") for at, i in enumerate(items)]
            return self.emit("prim::Dict", made, (type,)).output
        return None

    def settle(self, value: Value, type: Type) -> bool:
        """Gives an empty list or dict (``List[Never]``) its element type, where it was made; whether that was possible."""
        if not settles(value.type, type):
            return False
        if value.type == type:
            return True
        if not (self.widen_parameter(value, type) if value.node is None else self.settle_node(value.node, value, type)):
            return False
        value.type = type
        return True

    def settle_node(self, node: Node, value: Value, type: Type) -> bool:
        """The same for what a node computes: its sources are settled first."""
        if node.kind in ("prim::List", "prim::Dict"):
            if node in self.read_early:
                raise Unsettled((node.range, node.kind), type)
            inner = type.children()
            stored = [*node.inputs, *_stored(value)]
            return all(self.settle(v, inner[at % len(inner)]) or v.type == inner[at % len(inner)] for at, v in enumerate(stored))
        if isinstance(type, OptionalType) and node.kind in ("prim::Some", "prim::Constant"):
            return all(v.type == type.element or self.settle(v, type.element) for v in node.inputs)
        if node.kind in ("py::getitem", "py::setdefault", "py::pop"):
            return self.settle(node.inputs[0], _holding(node.inputs[0].type, type))
        if node.kind in _COPIES:
            return all(v.type == type or NEVER not in v.type.walk() or self.settle(v, type) for v in node.inputs)
        if node.kind == "prim::If":
            at = node.outputs.index(value)
            ends = [b.terminator for b in node.blocks if b.terminator.kind == "prim::yield"]
            return all(self.settle(end.inputs[at], type) for end in ends)
        if node.kind == "prim::GetAttr":
            holder = node.inputs[0].type
            return isinstance(holder, ClassType) and widen_attribute(holder, node.attributes["name"], type)
        return node.kind == "prim::Uninitialized"

    def widen_parameter(self, value: Value, type: Type) -> bool:
        """The same for a block's parameter: of a loop, which is emitted anew, or of the function."""
        if value.block is self.graph.block:
            value.type = type
            return True
        for frame in reversed(self.loops):
            target = frame.on_continue
            if value.block is not None and value.block.owner is target.node and value.name in target.names:
                raise Widen(target, value.name, type)
        return False

    # ---- containers that are read before anything is put into them ----------------------------------------------------

    def note_unknown(self, node: Node) -> None:
        """Behind the taking of an element out of a container that is empty as far as is known, nothing runs.

        Once something is put into the container, the function is emitted anew with the type found (`Unsettled`); a variable that a loop carries
        makes the loop be emitted anew anyway. What comes from outside the function stays open.
        """
        displays = self.displays_of(node.inputs[0])
        if displays is None:
            return
        self.read_early.update(displays)
        self.emit("prim::unreachable")
        raise Left

    def displays_of(self, value: Value) -> list[Node] | None:
        """The displays that a container may be, or be an element of; None where one may come from elsewhere."""
        node = value.node
        if node is None:
            return self.displays_before(value)
        if node.kind in ("prim::List", "prim::Dict"):
            inner = [self.displays_of(v) for v in node.inputs if NEVER in v.type.walk()]
            return None if None in inner else [node, *(d for found in inner if found is not None for d in found)]
        if node.kind in _COPIES or node.kind in ("py::getitem", "py::setdefault", "py::pop", "py::keys", "py::values", "py::items"):
            return self.displays_of(node.inputs[0])
        return None

    def displays_before(self, value: Value) -> list[Node] | None:
        """The same of a variable that an open loop carries: what it is before the loop. If the loop gives it another type, it is emitted anew."""
        for frame in self.loops:
            loop = frame.on_continue.node
            if value.block is not None and value.block.owner is loop and value in value.block.params:
                ahead = 2 if loop.kind == "prim::For" else 0  # start, stop, step; the body has the index
                return self.displays_of(loop.inputs[value.block.params.index(value) + ahead])
        return None

    # ---- merges -----------------------------------------------------------------------------------------------------

    def join(self, a: Type, b: Type) -> Type | None:
        """As `jitlang.types.join`; an empty list or dict takes the other's type."""
        found = super().join(a, b)
        if found is None and NEVER in (*a.walk(), *b.walk()):
            return join_containers(a, b)
        return found

    def merged_type(self, values: Sequence[Value], name: str) -> Type:
        """As in `Emitter`; a literal int is taken as a float where another side has a float."""
        if {v.type for v in values} == {INT, FLOAT} and all(v.type == FLOAT or v.is_constant for v in values):
            self.widen_number(name)
            return FLOAT
        return super().merged_type(values, name)

    def joined(self, types: Sequence[Type], name: str) -> Type:
        """The type of a name at a merge. A number that a loop began with as an int and that becomes a float makes the loop begin with a float."""
        if set(types) == {INT, FLOAT}:
            self.widen_number(name)
        if name.startswith("$"):
            found: Type | None = types[0]
            for other in types[1:]:
                found = None if found is None else self.join(found, other)
            if found is None:
                self.type_error(f"the value is {' on one path and '.join(map(str, types))} on another", hint="give both sides one type")
            return found
        return super().joined(types, name)

    def widen_number(self, name: str) -> None:
        """If an open loop carries `name` as an int, it is emitted anew with a float."""
        for frame in reversed(self.loops):
            target = frame.on_continue
            if name in target.names and target.types[target.names.index(name)] == INT:
                raise Widen(target, name, FLOAT)

    def carried_values(self, target: Target) -> list[Value]:
        """As in `LoopEmitter`; a literal int in front of a loop that makes it a float is taken as a float."""
        for name, type in zip(target.names, target.types, strict=True):
            entry = self.env.get(name)
            if not isinstance(entry, Value):
                continue
            if type == INT and entry.type == FLOAT:
                raise Widen(target, name, FLOAT)
            if type == FLOAT and entry.type == INT:
                if not entry.is_constant:
                    self.widen_number(name)
                    self.type_error(f"'{name}' is int before the loop and becomes float in it", hint=f"write float(…) where '{name}' is first assigned")
                self.env[name] = self.constant(float(entry.constant))
        return super().carried_values(target)


# Operators that store a value in their first argument: the numbers of the inputs that become keys and values, or elements.
_STORES = {"py::append": (1,), "py::insert": (2,), "py::setitem": (1, 2), "py::setdefault": (1, 2)}


def _stored(container: Value) -> list[Value]:
    """The values that operators put into a list or dict whose element type was not known then: keys and values by turns, or elements."""
    stores = [u.node for u in container.uses if u.index == 0 and u.node.kind in _STORES]
    whole = isinstance(container.type, DictType)
    return [n.inputs[at] for n in stores for at in (_STORES[n.kind] if whole else _STORES[n.kind][-1:])]


def settles(given: Type, type: Type) -> bool:
    """Whether `given` becomes `type` when its Never parts are filled in."""
    if given in (NEVER, type):
        return True
    if isinstance(given, ListType | SetType) and isinstance(type, given.__class__):
        return settles(given.element, type.element)
    if isinstance(given, DictType) and isinstance(type, DictType):
        return settles(given.key, type.key) and settles(given.value, type.value)
    if isinstance(given, OptionalType) and isinstance(type, OptionalType):
        return settles(given.element, type.element)
    return False


def _holding(container: Type, element: Type) -> Type:
    """The type of a list or dict whose elements have a type."""
    return ListType(element) if isinstance(container, ListType) else DictType(container.key, element) if isinstance(container, DictType) else container
