"""What a program from a stranger must not say, though it is well formed.

In: a verified program from a file. Out: the same program, made safe to run, or `IRError`.

The frontend proves some things that the IR does not show again: that an Optional which is unwrapped is not None, that a value is never read before it is set, that a tensor has the
dtype that its type says. Native code relies on it, so for a program from a file it must hold whoever wrote the file:

1. Only ``prim``, ``py`` and ``aten`` nodes, and only script types: no machine operations, pointers or structs. What is said to be unreachable stands behind a node that
   control does not get past.
2. Types of tensors say nothing of dtype, rank and device: what they said is erased, and found out again when the program is run.
3. A Cast changes no type but by what erasure took away, or T to Optional[T] inside a list.
4. No value has type Never but the result of a call that does not return.
5. Before each Unwrap of what may be None there is a test, which raises.
6. A value that is not initialised is an empty one: 0, "", an empty list, a tensor of no elements, an object with such attributes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from jitlang.errors import IRError
from jitlang.ir.graph import Block, Node, Program, Value
from jitlang.passes.blocks import completes
from jitlang.registry import overloads
from jitlang.types import (
    BOOL,
    DEVICE,
    DTYPE,
    INT,
    NEVER,
    PYTHON_CLASSES,
    STR,
    TENSOR,
    ArrayType,
    ClassType,
    DictType,
    ListType,
    Machine,
    OptionalType,
    Pointer,
    SetType,
    StructType,
    TensorType,
    TupleType,
    Type,
    dtype_named,
    is_subtype,
    rebuilt,
)

_NAMESPACES = ("prim", "py", "aten")
_MACHINE = (Machine, Pointer, StructType, ArrayType)
_PLAIN = {**{kind: python() for kind, python in PYTHON_CLASSES.items()}, DEVICE: "cpu"}
# What may stand between a New and the setting of its attributes: reads no attribute, leaves no block.
_HARMLESS = frozenset({"prim::Constant", "prim::List", "prim::Dict", "prim::Set", "prim::Tuple", "prim::Some", "prim::New", "prim::SetAttr", "aten::zeros"})
UNWRAPPED = "an optional value that a file promised to be there is None"


def harden(program: Program) -> None:
    """Makes `program` safe to run, in place. Raises IRError for what cannot be.

    What a program was compiled for must then be checked where values come in: the arguments of entry points, and the objects of the archive.
    """
    for kind in program.classes.values():
        if isinstance(kind, ClassType):
            kind.attributes.update({name: script_type(inner) for name, inner in kind.attributes.items()})
        elif not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise IRError(f"the struct {kind} has no place in a file")
    for graph in program.functions.values():
        graph.result = script_type(graph.result)
        _erase(graph.block)
    for graph in program.functions.values():
        for node in list(graph.walk()):
            _check(node, program)
            _TREATED.get(node.kind, _leave)(node)


def script_type(kind: Type) -> Type:
    """`kind` without what it says of tensors; IRError for a machine type."""
    return rebuilt(kind, _plain_type)


def _plain_type(kind: Type) -> Type:
    if isinstance(kind, _MACHINE):
        raise IRError(f"the machine type {kind} has no place in a file")
    return TENSOR if isinstance(kind, TensorType) else kind


def _erase(block: Block) -> None:
    for value in block.params:
        value.type = script_type(value.type)
        if value.type == NEVER:
            raise IRError(f"the parameter {value.name} has type Never")
    for node in block.nodes:
        for output in node.outputs:
            output.type = script_type(output.type)
        for inner in node.blocks:
            _erase(inner)


def _check(node: Node, program: Program) -> None:
    if node.kind.partition("::")[0] not in _NAMESPACES:
        raise IRError(f"{node.kind} has no place in a file")
    if node.kind == "prim::unreachable" and not _is_unreachable(node, program):
        raise IRError("control may get to a place that is said to be unreachable")
    never = [o for o in node.outputs if o.type == NEVER]
    if never and not (node.kind == "prim::Call" and program.functions[node.attributes["callee"]].result == NEVER):
        raise IRError(f"the result of {node.kind} has type Never")
    if node.kind == "prim::Cast" and not _may_cast(node.inputs[0].type, node.output.type):
        raise IRError(f"a cast of {node.inputs[0].type} to {node.output.type}")
    if node.kind == "prim::Constant" and isinstance(node.output.type, ClassType):
        value = node.attributes["value"]
        if not isinstance(value, str) or value not in node.output.type.values:
            raise IRError(f"{value!r} is no member of {node.output.type}")


def _is_unreachable(node: Node, program: Program) -> bool:
    """Whether control does not get past the node in front of this one."""
    assert node.block is not None
    at = node.block.nodes.index(node)
    if at == 0:
        return False
    before = node.block.nodes[at - 1]
    if before.kind == "prim::Call":
        return all(n.kind != "prim::return" for n in program.functions[before.attributes["callee"]].walk())
    return bool(before.blocks) and not completes(before)


def _may_cast(a: Type, b: Type) -> bool:
    if isinstance(a, ListType) and isinstance(b, ListType) and isinstance(b.element, OptionalType):
        return is_subtype(a.element, b.element.element)
    return is_subtype(a, b)


# ---- what is put into the program -----------------------------------------------------------------------------------


def _leave(node: Node) -> None:
    """Nothing to do."""


def _guard_unwrap(node: Node) -> None:
    """Given ``%v = Unwrap(%o)``. Result: ``%n = is_none(%o); If(%n): raise``, then the Unwrap; nothing where that stands there already."""
    (optional,) = node.inputs
    if _is_guarded(node, optional):
        return
    test = Node("py::is_none", [optional], [BOOL], where=node.range).insert_before(node)
    branch = Node("prim::If", [test.output], where=node.range).insert_before(node)
    message = branch.add_block().append(Node("prim::Constant", types=[STR], where=node.range, value=UNWRAPPED))
    branch.blocks[0].append(Node("prim::raise", [message.output], where=node.range, cls="RuntimeError"))
    branch.add_block().append(Node("prim::yield", where=node.range))


def _is_guarded(node: Node, optional: Value) -> bool:
    assert node.block is not None
    at = node.block.nodes.index(node)
    if at < 2:
        return False
    branch, test = node.block.nodes[at - 1], node.block.nodes[at - 2]
    same = branch.kind == "prim::If" and test.kind == "py::is_none" and test.inputs == [optional] and branch.inputs == [test.output]
    return same and branch.blocks[0].terminator.kind == "prim::raise"


def _initialise(node: Node) -> None:
    """Given ``%v = Uninitialized()``. Result: ``%v`` is an empty value of its type."""
    node.output.replace_with(_Empty(node).of(node.output.type))
    node.destroy()


def _fill(node: Node) -> None:
    """Given ``%o = New()``. Result: unless all attributes of ``%o`` that it must have are set at once, each is set to an empty value of its type first."""
    assert node.block is not None
    kind = node.output.type
    assert isinstance(kind, ClassType)
    behind = node.block.nodes[node.block.nodes.index(node) + 1 :]
    unset = kind.attributes.keys() - kind.missing
    for other in itertools.takewhile(lambda n: n.kind in _HARMLESS, behind):
        if other.kind == "prim::SetAttr" and other.inputs[0] is node.output:
            unset.discard(other.attributes["name"])
    if unset:
        _Empty(behind[0], (kind,)).attributes(node.output, kind)


class _Empty:
    """Makes nodes in front of `place` that make empty values; `making` are the classes that are being made, so that none is made for ever."""

    def __init__(self, place: Node, making: tuple[ClassType, ...] = ()) -> None:
        self.place = place
        self.making = making

    def node(self, kind: str, inputs: list[Value], result: Type, **attributes: Any) -> Value:
        return Node(kind, inputs, [result], where=self.place.range, **attributes).insert_before(self.place).output

    def of(self, kind: Type) -> Value:
        """An empty value of a type; IRError for a type that has none."""
        if kind in _PLAIN:
            return self.node("prim::Constant", [], kind, value=_PLAIN[kind])
        if kind == DTYPE:
            return self.node("prim::Constant", [], kind, value=dtype_named("float32"))
        if isinstance(kind, OptionalType):
            return self.node("prim::Constant", [], kind, value=None)
        if isinstance(kind, ListType | DictType | SetType):
            return self.node(f"prim::{type(kind).__name__.removesuffix('Type')}", [], kind)
        if isinstance(kind, TupleType):
            return self.node("prim::Tuple", [self.of(element) for element in kind.elements], kind)
        if isinstance(kind, TensorType):
            return self.tensor()
        if isinstance(kind, ClassType) and kind.is_enum and kind.values:
            return self.node("prim::Constant", [], kind, value=next(iter(kind.values)))
        if isinstance(kind, ClassType) and not kind.is_enum and kind not in self.making:
            made = self.node("prim::New", [], kind, cls=kind.name)
            _Empty(self.place, (*self.making, kind)).attributes(made, kind)
            return made
        raise IRError(f"there is no empty value of type {kind}")

    def attributes(self, target: Value, kind: ClassType) -> None:
        """Sets the attributes of an object that can be set; one that can only hold an object of a class that is being made stays as it is."""
        for name, inner in kind.attributes.items():
            if name in kind.missing:
                continue  # None, as it is
            if isinstance(inner, ClassType) and inner in self.making:
                raise IRError(f"the attribute {name} of {kind} can never be set")
            node = Node("prim::SetAttr", [target, self.of(inner)], where=self.place.range, name=name)
            node.insert_before(self.place)

    def tensor(self) -> Value:
        """``zeros([0])``, with the defaults of its schema."""
        for row in overloads("aten::zeros"):
            first, *rest = row.schema.arguments
            if first.type == ListType(INT):
                zero = self.of(INT)
                size = self.node("prim::List", [zero], ListType(INT))
                return self.node("aten::zeros", [size, *(self.of(a.type) for a in rest)], TENSOR, overload=row.qualified)
        raise IRError("there is no operator that makes an empty tensor")


_TREATED: dict[str, Callable[[Node], None]] = {
    "prim::Unwrap": _guard_unwrap,
    "prim::Uninitialized": _initialise,
    "prim::New": _fill,
}
