"""Single elements of tensors as numbers, without a tensor in between.

| given | result |
|---|---|
| ``%v = aten::select(aten::select(%x, 0, %i), 0, %j, 1)``, ``%n: int = aten::item_int(%v)``, ``%x`` of rank 2 and known dtype | ``%n: int = aten::element_int.r2(%x, %i, %j, "int64", "01")`` |
| the same with ``aten::item_float``, ``aten::item_bool`` | ``element_float``, ``element_bool`` |
| ``aten::item_bool(aten::eq(%v, %w))`` and the other comparisons, both of one dtype | ``py::eq`` of two elements |
| ``aten::fill_(%v, %n)`` whose result is not used | ``aten::set_element.r2_int(%x, %i, %j, %n, "int64", "01")`` |

The selects must have no other use, and nothing between them may raise or write; what reads the element stands where they stood, so an index
out of range is reported as before, in the same order; the digits are what errors call the dimensions (``"00"`` for ``x[i][j]``).
"""

from __future__ import annotations

import dataclasses

from jitlang.ir.alias import may_raise, may_write
from jitlang.ir.graph import Node, Program, Value
from jitlang.passes.budget import Budget
from jitlang.types import BOOL, FLOAT, INT, STR, TensorType, Type

RANKS = 4
_NUMBER: dict[str, Type] = {"aten::item_int": INT, "aten::item_float": FLOAT, "aten::item_bool": BOOL}
_OF_KIND = {"i": INT, "u": INT, "f": FLOAT, "b": BOOL}
_RELATIONS = ("eq", "ne", "lt", "le", "gt", "ge")


@dataclasses.dataclass(frozen=True)
class Elements:
    """Rewrites reads and writes of single elements."""

    name = "elements"

    def run(self, program: Program, budget: Budget) -> None:
        """Looks at each node once."""
        for graph in program.functions.values():
            for node in list(graph.walk()):
                if node.block is None:
                    continue
                if node.kind in _NUMBER:
                    _read(node, budget) or _compare(node, budget)
                elif node.kind == "aten::fill_":
                    _write(node, budget)


@dataclasses.dataclass
class _Chain:
    """A tensor indexed down to one element."""

    base: Value
    indices: list[Value]
    selects: list[Node]
    dtype: str
    kind: Type
    places: str


def _chain(value: Value) -> _Chain | None:
    """How `value`, of rank 0, was selected out of a tensor of known rank and dtype; None if otherwise."""
    indices: list[Value] = []
    selects: list[Node] = []
    places = ""
    while True:
        node = value.node
        if node is None or node.kind != "aten::select" or len(value.uses) != 1:
            return None
        base, dim, index, *named = node.inputs
        place = named[0] if named else dim
        if not dim.is_constant or dim.constant != 0 or not place.is_constant or not isinstance(base.type, TensorType) or base.type.rank is None:
            return None
        indices.insert(0, index)
        places = f"{place.constant}{places}"
        selects.append(node)
        outer = base.node
        if outer is None or outer.kind != "aten::select" or len(base.uses) != 1 or outer.block is not node.block:
            break
        value = base
    if base.type.rank != len(indices):
        return None
    if base.type.dtype is None or len(indices) > RANKS:
        return None
    return _Chain(base, indices, selects, base.type.dtype.name, _OF_KIND[base.type.dtype.kind], places)


def _adjacent(nodes: list[Node], end: Node) -> bool:
    """Whether `nodes` and `end` are in one block with nothing between them that may raise or write."""
    block = end.block
    assert block is not None
    if any(n.block is not block for n in nodes):
        return False
    positions = [block.nodes.index(n) for n in (*nodes, end)]
    last = block.nodes.index(end)
    between = block.nodes[min(positions) : last]
    return all(n in nodes or not (may_raise(n) or may_write(n)) for n in between)


def _readable(chain: _Chain | None, reader: Node) -> bool:
    """Whether the element may be read where its last select stands: nothing between that and `reader` writes."""
    if chain is None or not _adjacent(chain.selects[1:], chain.selects[0]):
        return False
    block = reader.block
    last = chain.selects[0]
    if block is None or last.block is not block:
        return False
    between = block.nodes[block.nodes.index(last) + 1 : block.nodes.index(reader)]
    return not any(n.blocks or may_write(n) for n in between)


def _texts(chain: _Chain, before: Node) -> list[Value]:
    """The dtype, and the numbers of the dimensions."""
    return [Node("prim::Constant", (), (STR,), where=before.range, value=text).insert_before(before).output for text in (chain.dtype, chain.places)]


def _element(chain: _Chain, kind: Type) -> Value:
    """The node that reads the element, in the place of the selects."""
    before = chain.selects[0]
    texts = _texts(chain, before)
    node = Node(f"aten::element_{kind}", [chain.base, *chain.indices, *texts], (kind,), where=before.range, overload=f"r{len(chain.indices)}")
    return node.insert_before(before).output


def _remove(chain: _Chain) -> None:
    for node in chain.selects:
        node.destroy()


def _read(node: Node, budget: Budget) -> bool:
    chain = _chain(node.inputs[0])
    if chain is None or not _readable(chain, node):
        return False
    wanted = _NUMBER[node.kind]
    # int(float element) cuts and may raise; that stays the business of aten::Int
    if (wanted == INT and chain.kind == FLOAT) or not budget.take():
        return False
    made = _element(chain, wanted)
    node.output.replace_with(made)
    node.destroy()
    _remove(chain)
    return True


def _compare(node: Node, budget: Budget) -> bool:
    relation = node.inputs[0].node
    if node.kind != "aten::item_bool" or relation is None or relation.kind.removeprefix("aten::") not in _RELATIONS or len(relation.output.uses) != 1:
        return False
    if node.block is not relation.block or len(relation.inputs) != 2:
        return False
    first, second = (_chain(v) for v in relation.inputs)
    if first is None or second is None or first.dtype != second.dtype or not (_readable(first, node) and _readable(second, node)):
        return False
    if not budget.take():
        return False
    values = [_element(c, first.kind) for c in (first, second)]
    made = Node(relation.kind.replace("aten::", "py::"), values, (BOOL,), where=node.range, overload=str(first.kind)).insert_before(node).output
    node.output.replace_with(made)
    node.destroy()
    relation.destroy()
    _remove(first)
    _remove(second)
    return True


def _write(node: Node, budget: Budget) -> bool:
    target, value = node.inputs[0], node.inputs[1]
    if node.output.uses or value.type not in (INT, FLOAT):
        return False
    chain = _chain(target)
    if chain is None or not _adjacent(chain.selects, node):
        return False
    allowed = {INT: ("int64", "float32", "float64"), FLOAT: ("float32", "float64")}
    if chain.dtype not in allowed[value.type] or not budget.take():
        return False
    texts = _texts(chain, node)
    made = Node("aten::set_element", [chain.base, *chain.indices, value, *texts], (), where=node.range, overload=f"r{len(chain.indices)}_{value.type}")
    made.insert_before(node)
    node.destroy()
    _remove(chain)
    return True
