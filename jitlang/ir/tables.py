"""Tables: lists, dicts and tensors of constants, which stand outside the functions that use them.

In: Python objects. Out: the literal that a ``prim::Table`` node holds (tuples, which the text form writes), and the object again. Each evaluation of the node is a new list
or dict; a tensor is one and the same, and whoever made the node copies it.

| type | literal |
|---|---|
| ``List[t]`` | ``(element, …)`` |
| ``Dict[k, v]`` | ``((key, value), …)`` |
| ``Tensor`` | ``(dtype, (size, …), (element, …))`` |

Elements are constants (`jitlang.ir.kind_rules.is_constant_of`), so nothing in a table can be changed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any

from jitlang.errors import IRError
from jitlang.ir.graph import Node, Program
from jitlang.ir.printer import write_literal
from jitlang.types import DictType, DType, ListType, TensorType, Type

KIND = "prim::Table"
# (elements, sizes, dtype) → tensor; the tensor runtime puts its own here.
make_tensor: list[Callable[[tuple[Any, ...], tuple[int, ...], DType], Any]] = []


def table_object(value: Any, kind: Type) -> Any:
    """The list, dict or tensor that a literal stands for; IRError where there are no tensors."""
    if isinstance(kind, ListType):
        return list(value)
    if isinstance(kind, DictType):
        return dict(value)
    if not make_tensor:
        raise IRError("tensors need jitlang.tensor, which is not loaded")
    dtype, sizes, elements = value
    return make_tensor[0](elements, sizes, dtype)


def is_tensor_literal(value: Any, kind: TensorType) -> bool:
    """Whether a literal is one of a tensor of that type."""
    if not (isinstance(value, tuple) and len(value) == 3 and isinstance(value[0], DType) and isinstance(value[1], tuple) and isinstance(value[2], tuple)):
        return False
    dtype, sizes, elements = value
    number = {"b": bool, "f": float}.get(dtype.kind, int)
    sound = all(type(n) is int and n >= 0 for n in sizes) and math.prod(sizes) == len(elements) and all(type(e) is number for e in elements)
    return sound and kind.dtype in (None, dtype) and kind.rank in (None, len(sizes))


def table_name(node: Node) -> str:
    """What tells the object of a table from those of others, in every process."""
    form = type(node.output.type).__name__
    return hashlib.sha256(f"{form} {write_literal(node.attributes['value'])}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def tables_of(program: Program) -> dict[str, Any]:
    """The objects of a program's tables by name."""
    nodes = [node for graph in program.functions.values() for node in graph.walk() if node.kind == KIND]
    return {table_name(node): table_object(node.attributes["value"], node.output.type) for node in nodes}
