"""What the verifier checks of each ``prim`` kind: one rule per kind.

In: a node. Out: nothing, or `BrokenInvariant` with the number of the invariant (`jitlang.ir.verifier` lists them).
`PLAIN_RULES` look at the node alone, `CONTEXT_RULES` also at the program around it.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from jitlang.ir.graph import Node, Program, Value
from jitlang.ir.tables import is_tensor_literal
from jitlang.types import (
    B1,
    BOOL,
    DEVICE,
    DTYPE,
    FLOAT,
    INT,
    NEVER,
    PYTHON_CLASSES,
    STR,
    ClassType,
    DictType,
    DType,
    ListType,
    Machine,
    OptionalType,
    Pointer,
    SetType,
    TensorType,
    TupleType,
    Type,
    is_subtype,
)


class BrokenInvariant(Exception):
    """Invariant number `invariant` does not hold."""

    def __init__(self, invariant: int, message: str) -> None:
        super().__init__(message)
        self.invariant = invariant
        self.message = message


MAX_RAISED = 6  # arguments of an exception: an error record of native code has as many places


def fit(invariant: int, what: str, found: Sequence[Value], wanted: Sequence[Value] | Sequence[Type]) -> None:
    """Checks that values can go where others, or values of some types, are expected. Raises BrokenInvariant."""
    types = [w.type if isinstance(w, Value) else w for w in wanted]
    if len(found) != len(types):
        raise BrokenInvariant(invariant, f"{what}: {len(found)} values where {len(types)} are expected")
    for value, kind in zip(found, types, strict=True):
        if not is_subtype(value.type, kind):
            raise BrokenInvariant(invariant, f"{what}: {value.type} where {kind} is expected")


def _shape(node: Node, inputs: int | None, outputs: int) -> None:
    if inputs is not None and len(node.inputs) != inputs:
        raise BrokenInvariant(9, f"{node.kind} has {len(node.inputs)} inputs, not {inputs}")
    if len(node.outputs) != outputs:
        raise BrokenInvariant(9, f"{node.kind} has {len(node.outputs)} outputs, not {outputs}")


def _if(node: Node) -> None:
    if len(node.inputs) != 1 or node.inputs[0].type not in (BOOL, B1):
        raise BrokenInvariant(6, "the condition of an If is one bool")
    if any(b.params for b in node.blocks):
        raise BrokenInvariant(6, "a block of an If has parameters")


def _loop(node: Node) -> None:
    leading = 3 if node.kind == "prim::For" else 0
    params = node.blocks[0].params
    if leading:
        kinds = {i.type for i in node.inputs[:3]} | {p.type for p in params[:1]}
        if len(node.inputs) < 3 or not params or len(kinds) != 1 or not (kinds <= {INT} or all(isinstance(k, Machine) for k in kinds)):
            raise BrokenInvariant(6, "a For has start, stop, step and an index, integers of one type")
        params = params[1:]
    fit(7, f"what enters the {node.kind.partition('::')[2]}", node.inputs[leading:], params)
    if leading:
        fit(7, "what a For carries", params, node.outputs)


def _region(node: Node) -> None:
    if node.inputs or node.blocks[0].params:
        raise BrokenInvariant(6, "a Region has no inputs and its body no parameters")


def _yield(node: Node) -> None:
    owner = node.block.owner if node.block is not None else None
    if not isinstance(owner, Node):
        raise BrokenInvariant(7, "yield ends the block of an If, For, While or Region")
    fit(7, "yield", node.inputs, _repeated(owner) if owner.kind in ("prim::For", "prim::While") else owner.outputs)


def _repeated(loop: Node) -> list[Value]:
    return loop.blocks[0].params[1:] if loop.kind == "prim::For" else loop.blocks[0].params


def _exit(node: Node) -> None:
    assert node.target is not None
    # The outputs of the target are defined after its body, so they are known here.
    fit(7, "exit", node.inputs, node.target.outputs)


def _next(node: Node) -> None:
    assert node.target is not None
    fit(7, "next", node.inputs, _repeated(node.target))


def _raise(node: Node, program: Program | None) -> None:
    if len(node.inputs) > MAX_RAISED:
        raise BrokenInvariant(8, f"raise has {len(node.inputs)} arguments, more than {MAX_RAISED}")
    for value in node.inputs:
        if value.type not in (INT, FLOAT, BOOL, STR):
            raise BrokenInvariant(8, f"raise: an argument is {value.type}")
    name = node.attributes.get("cls")
    if not isinstance(name, str):
        raise BrokenInvariant(8, "raise has no attribute cls")
    if program is not None and not _is_exception(program.classes.get(name) or vars(builtins).get(name)):
        raise BrokenInvariant(11, f"there is no exception class {name!r}")


def _is_exception(found: Any) -> bool:
    found = found.python if isinstance(found, ClassType) else found
    return isinstance(found, type) and issubclass(found, BaseException)


def _nothing(node: Node) -> None:
    _shape(node, 0, 0)


def _uninitialized(node: Node) -> None:
    _shape(node, 0, 1)


def _constant(node: Node) -> None:
    _shape(node, 0, 1)
    if "value" not in node.attributes:
        raise BrokenInvariant(9, "a constant has no value")
    if not is_constant_of(node.attributes["value"], node.output.type):
        raise BrokenInvariant(9, f"{node.attributes['value']!r} is no constant of type {node.output.type}")


def is_constant_of(value: Any, kind: Type) -> bool:
    """Whether a ``prim::Constant`` of that type may hold `value`."""
    if isinstance(kind, OptionalType):
        return value is None or is_constant_of(value, kind.element)
    if isinstance(kind, TupleType):
        return isinstance(value, tuple) and len(value) == len(kind.elements) and all(map(is_constant_of, value, kind.elements))
    if kind == INT:
        return value.__class__ is int and -(2**63) <= value < 2**63
    if isinstance(kind, Machine):
        return isinstance(value, bool | int | float)
    if isinstance(kind, Pointer):
        return value is None or isinstance(value, int | str | bytes)
    if isinstance(kind, ClassType):
        return kind.is_enum
    if kind not in _CONSTANTS:
        return False
    return value.__class__ is _CONSTANTS[kind]


_CONSTANTS: dict[Type, type] = {**PYTHON_CLASSES, DTYPE: DType, DEVICE: str}


def _tuple(node: Node) -> None:
    _shape(node, None, 1)
    kind = node.output.type
    if not isinstance(kind, TupleType):
        raise BrokenInvariant(9, f"a Tuple of type {kind}")
    fit(9, "the elements of the tuple", node.inputs, kind.elements)


def _tuple_index(node: Node) -> None:
    _shape(node, 1, 1)
    kind, index = node.inputs[0].type, node.attributes.get("index")
    if not isinstance(kind, TupleType) or not isinstance(index, int) or not 0 <= index < len(kind.elements):
        raise BrokenInvariant(9, f"element {index} of {kind}")
    _result(node, kind.elements[index])


def _result(node: Node, kind: Type) -> None:
    if not is_subtype(kind, node.output.type):
        raise BrokenInvariant(9, f"the result is {kind}, not {node.output.type}")


def _elements(cls: type[ListType] | type[SetType]) -> Callable[[Node], None]:
    def rule(node: Node) -> None:
        _shape(node, None, 1)
        kind = node.output.type
        if not isinstance(kind, cls):
            raise BrokenInvariant(9, f"{node.kind} of type {kind}")
        fit(9, "the elements", node.inputs, [kind.element] * len(node.inputs))

    return rule


def _dict(node: Node) -> None:
    _shape(node, None, 1)
    kind = node.output.type
    if not isinstance(kind, DictType) or len(node.inputs) % 2:
        raise BrokenInvariant(9, f"a Dict of type {kind} from {len(node.inputs)} values")
    fit(9, "keys and values", node.inputs, [kind.key, kind.value] * (len(node.inputs) // 2))


def _table(node: Node) -> None:
    _shape(node, 0, 1)
    kind, value = node.output.type, node.attributes.get("value")
    if isinstance(kind, ListType):
        sound = isinstance(value, tuple) and all(is_constant_of(v, kind.element) for v in value)
    elif isinstance(kind, DictType):
        pair = TupleType((kind.key, kind.value))
        sound = isinstance(value, tuple) and all(is_constant_of(v, pair) for v in value)
    else:
        sound = isinstance(kind, TensorType) and is_tensor_literal(value, kind)
    if not sound:
        raise BrokenInvariant(9, f"a table that is no {kind}")


def _some(node: Node) -> None:
    _shape(node, 1, 1)
    kind = node.output.type
    if not isinstance(kind, OptionalType):
        raise BrokenInvariant(9, f"Some of type {kind}")
    fit(9, "Some", node.inputs, [kind.element])


def _unwrap(node: Node) -> None:
    _shape(node, 1, 1)
    kind = node.inputs[0].type
    if not isinstance(kind, OptionalType):
        raise BrokenInvariant(9, f"Unwrap of {kind}")
    _result(node, kind.element)


def _cast(node: Node) -> None:
    _shape(node, 1, 1)
    a, b = node.inputs[0].type, node.output.type
    if not (is_subtype(a, b) or is_subtype(b, a)):
        raise BrokenInvariant(9, f"Cast of {a} to {b}")


def _new(node: Node, program: Program | None) -> None:
    _shape(node, 0, 1)
    kind, name = node.output.type, node.attributes.get("cls")
    if not isinstance(kind, ClassType) or kind.name != name:
        raise BrokenInvariant(11, f"New of class {name!r} has type {kind}")
    if program is not None and program.classes.get(name) is not kind:
        raise BrokenInvariant(11, f"the program has no class {name!r}")


def _attribute(node: Node) -> Type:
    kind, name = node.inputs[0].type, node.attributes.get("name")
    if not isinstance(kind, ClassType) or name not in kind.attributes:
        raise BrokenInvariant(11, f"{kind} has no attribute {name!r}")
    return kind.attributes[name]


def _get_attribute(node: Node) -> None:
    _shape(node, 1, 1)
    _result(node, _attribute(node))


def _set_attribute(node: Node) -> None:
    _shape(node, 2, 0)
    fit(11, "the attribute", node.inputs[1:], [_attribute(node)])


def _call(node: Node, program: Program | None) -> None:
    _shape(node, None, 1)
    name = node.attributes.get("callee")
    if not isinstance(name, str):
        raise BrokenInvariant(11, "a call has no attribute callee")
    if program is None:
        return
    callee = program.functions.get(name)
    if callee is None:
        raise BrokenInvariant(11, f"the program has no function {name!r}")
    fit(11, f"the arguments of {name}", node.inputs, callee.params)
    if callee.result != NEVER:
        _result(node, callee.result)


PLAIN_RULES: dict[str, Callable[[Node], None]] = {
    "prim::If": _if,
    "prim::For": _loop,
    "prim::While": _loop,
    "prim::Region": _region,
    "prim::yield": _yield,
    "prim::exit": _exit,
    "prim::next": _next,
    "prim::unreachable": _nothing,
    "prim::Constant": _constant,
    "prim::Uninitialized": _uninitialized,
    "prim::Tuple": _tuple,
    "prim::TupleIndex": _tuple_index,
    "prim::List": _elements(ListType),
    "prim::Set": _elements(SetType),
    "prim::Dict": _dict,
    "prim::Table": _table,
    "prim::Some": _some,
    "prim::Unwrap": _unwrap,
    "prim::Cast": _cast,
    "prim::GetAttr": _get_attribute,
    "prim::SetAttr": _set_attribute,
}
CONTEXT_RULES: dict[str, Callable[[Node, Program | None], None]] = {
    "prim::raise": _raise,
    "prim::New": _new,
    "prim::Call": _call,
}
