"""What nodes may read, write, raise and share: everything that a pass may assume about memory and exceptions.

In: a `Graph`, and the alias marks and flags of the operators' rows. Out: `effects(node)` (what it reads and writes),
`may_alias(a, b)`, and predicates. All answers are conservative: "may" is said wherever "does not" is not proved.

Lists, dicts, sets, objects and tensors are references to memory that others may see; numbers, strings, tuples of them
are values. Memory is divided into regions: all that is reachable from the parameters, from callers and from unknown
operators is one region, `OUTSIDE`; a fresh list or tensor begins a region of its own; storing a reference into a
container, or taking one out, unites the regions of both. Within a region memory is told apart by kind: the cells of a
``List[int]``, the attribute ``x`` of class ``P``, the elements of tensors. Two accesses clash where region and kind
are the same and one of them writes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from jitlang.ir.graph import LOOPS, Block, Graph, Node, Value
from jitlang.ir.rows import row_or_none
from jitlang.registry import EFFECT, PURE, RANDOM, TOTAL, Operator
from jitlang.schema import Alias
from jitlang.types import (
    ANY,
    BOOL,
    DEVICE,
    DTYPE,
    FLOAT,
    INT,
    NONE,
    STR,
    ClassType,
    DictType,
    ListType,
    OptionalType,
    SetType,
    TensorType,
    TupleType,
    Type,
    TypeVariable,
)

OUTSIDE = 0
WORLD = -1  # the region of output, of the random generator, of time: accesses keep their order
EVERYTHING = "everything"  # the kind of memory that is of every kind
Access = tuple[int, Any]

# Kinds that tell two equal values apart by identity; a value they read is never merged with an equal one.
IDENTITY = frozenset({"py::is"})
SCALARS = (INT, FLOAT, BOOL, NONE, DTYPE, DEVICE)

_NO_EFFECT = frozenset(
    {
        "prim::Constant",
        "prim::Uninitialized",
        "prim::Tuple",
        "prim::TupleIndex",
        "prim::List",
        "prim::Dict",
        "prim::Set",
        "prim::Table",
        "prim::Some",
        "prim::Unwrap",
        "prim::Cast",
        "prim::New",
    }
)
_FORWARDING = frozenset({"prim::Tuple", "prim::TupleIndex", "prim::Some", "prim::Unwrap", "prim::Cast", "prim::List", "prim::Dict", "prim::Set"})
_FRESH = frozenset({"prim::List", "prim::Dict", "prim::Set", "prim::Table", "prim::New"})


@dataclasses.dataclass(frozen=True)
class Effects:
    """What an operation, or all inside it, may read and write."""

    reads: frozenset[Access] = frozenset()
    writes: frozenset[Access] = frozenset()

    def union(self, other: Effects) -> Effects:
        """Both."""
        if not self.reads and not self.writes:
            return other
        return Effects(self.reads | other.reads, self.writes | other.writes)

    def clashes(self, other: Effects) -> bool:
        """Whether the order of the two operations matters."""
        return _overlap(self.writes, other.reads) or _overlap(self.writes, other.writes) or _overlap(self.reads, other.writes)


NOTHING = Effects()


def _overlap(a: frozenset[Access], b: frozenset[Access]) -> bool:
    if not a or not b:
        return False
    if a & b:
        return True
    whole = {region for region, kind in a if kind == EVERYTHING}
    if any(region in whole for region, _ in b):
        return True
    whole = {region for region, kind in b if kind == EVERYTHING}
    return any(region in whole for region, _ in a)


# ---- types --------------------------------------------------------------------------------------------------------------


def is_reference(kind: Type) -> bool:
    """Whether a value of that type is, or holds, a reference to memory that can be written."""
    if isinstance(kind, ClassType):
        return not kind.is_enum
    if isinstance(kind, ListType | DictType | SetType | TensorType):
        return True
    if isinstance(kind, TupleType | OptionalType):
        return any(is_reference(t) for t in kind.children())
    return kind not in (*SCALARS, STR)


def _cells(kind: Type) -> Any:
    """The kind of memory that a reference of that type points to itself."""
    if isinstance(kind, TensorType):
        return "tensor"
    return str(_plain(kind))


def _plain(kind: Type) -> Type:
    """`kind` without what is known of its tensors: a list of float tensors may be a list of tensors elsewhere."""
    if isinstance(kind, TensorType):
        return TensorType()
    if isinstance(kind, ListType):
        return ListType(_plain(kind.element))
    if isinstance(kind, DictType):
        return DictType(_plain(kind.key), _plain(kind.value))
    if isinstance(kind, SetType):
        return SetType(_plain(kind.element))
    if isinstance(kind, OptionalType):
        return OptionalType(_plain(kind.element))
    if isinstance(kind, TupleType):
        return TupleType(tuple(map(_plain, kind.elements)), kind.name, kind.fields)
    return kind


def _reachable(kind: Type, found: set[Any], seen: set[int]) -> None:
    """Adds the kinds of memory reachable from a value of that type."""
    if isinstance(kind, ClassType):
        if id(kind) in seen or kind.is_enum:
            return
        seen.add(id(kind))
        for name, inner in kind.attributes.items():
            found.add((kind.name, name))
            _reachable(inner, found, seen)
    elif isinstance(kind, ListType | DictType | SetType | TensorType):
        found.add(_cells(kind))
    elif is_reference(kind) and not isinstance(kind, TupleType | OptionalType):
        found.add(EVERYTHING)
    for inner in kind.children():
        _reachable(inner, found, seen)


# ---- predicates that need no graph --------------------------------------------------------------------------------------


def may_raise(node: Node) -> bool:
    """Whether executing the node, or anything inside it, may raise."""
    if node.kind in ("prim::raise", "prim::Call"):
        return True
    if node.kind == "prim::For" and not (node.inputs[2].is_constant and node.inputs[2].constant != 0):
        return True
    if node.blocks:
        return any(may_raise(n) for b in node.blocks for n in b.nodes)
    if node.kind.startswith("prim::"):
        return False
    row = row_or_none(node)
    return row is None or not row.has(TOTAL)


def may_write(node: Node) -> bool:
    """Whether the node, or anything inside it, may write memory or have another effect on the world."""
    if node.blocks:
        return any(may_write(n) for b in node.blocks for n in b.nodes)
    if node.kind in _NO_EFFECT or node.kind == "prim::GetAttr" or node.is_terminator:
        return False
    row = row_or_none(node) if node.kind.startswith(("py::", "aten::")) else None
    return row is None or not row.has(PURE) or row.has(RANDOM) or row.has(EFFECT) or row.schema.writes


def leaves(node: Node) -> bool:
    """Whether control may go from inside the node to a place outside it (return, exit, next; not an exception)."""
    for inner in node.walk():
        if inner.kind == "prim::return":
            return True
        if inner.target is not None and inner.target is not node and not node.encloses(inner.target):
            return True
    return False


def may_not_end(node: Node) -> bool:
    """Whether the node may run for ever: an endless loop is never removed. (A call may raise, which says more.)"""
    return any(n.kind == "prim::While" for n in node.walk())


def has_effect(node: Node) -> bool:
    """Whether the node must stay though nothing reads its results: it writes, may raise, leaves or may not end."""
    return node.is_terminator or may_write(node) or may_raise(node) or leaves(node) or may_not_end(node)


def is_speculatable(node: Node) -> bool:
    """Whether the node may be executed where the program would not have executed it.

    Its inputs may then be `Uninitialized`: only numbers, and references that are certainly set, are allowed.
    """
    if node.blocks or node.is_terminator or may_raise(node) or node.kind in ("prim::Unwrap", "prim::GetAttr", "prim::SetAttr"):
        return False
    if node.kind not in _NO_EFFECT:
        row = row_or_none(node)
        if row is None or not row.has(PURE):
            return False
    return all(v.type in SCALARS or is_set(v) for v in node.inputs)


def is_set(value: Value) -> bool:
    """Whether a value certainly holds what its type says, on every path on which it can be named."""
    if value.node is None:
        return value.block is not None and isinstance(value.block.owner, Graph)
    kind = value.node.kind
    if kind in ("prim::Tuple", "prim::Some", "prim::Cast", "prim::TupleIndex"):
        return all(is_set(v) for v in value.node.inputs)
    return kind in ("prim::Constant", "prim::List", "prim::Dict", "prim::Set", "prim::Table", "prim::New", "prim::Call") or kind.startswith(("py::", "aten::"))


# ---- the analysis of a graph --------------------------------------------------------------------------------------------


class AliasAnalysis:
    """Regions and effects of one graph, as it was when this was made.

    Values made later count as `OUTSIDE`; nodes may be removed, and values replaced by equal ones, without a new analysis.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._parents: list[int] = [OUTSIDE]
        self._region_of: dict[Value, int] = {}
        self._returned: set[int] = set()
        self._cache: dict[Node, Effects] = {}
        for param in graph.params:
            if is_reference(param.type):
                self._region_of[param] = OUTSIDE
        self._block(graph.block)
        returned = [v for n in graph.walk() if n.kind == "prim::return" for v in n.inputs if is_reference(v.type)]
        self._returned = {self.region(v) for v in returned}
        self._written: frozenset[Access] = frozenset().union(*(self.effects(n).writes for n in graph.block.nodes))

    # -- questions

    def region(self, value: Value) -> int:
        """The region that a reference points into."""
        return self._find(self._region_of.get(value, OUTSIDE))

    def may_alias(self, a: Value, b: Value) -> bool:
        """Whether a write through one may be seen through the other."""
        if not is_reference(a.type) or not is_reference(b.type):
            return False
        if a is b:
            return True
        return self.region(a) == self.region(b) and _overlap(self._whole(a), self._whole(b))

    def escapes(self, value: Value) -> bool:
        """Whether someone outside the function may hold a reference to the value's region, now or later."""
        region = self.region(value)
        return is_reference(value.type) and (region == self._find(OUTSIDE) or region in self._returned)

    def is_written(self, value: Value) -> bool:
        """Whether anything in the function may write to memory reachable from `value`."""
        return is_reference(value.type) and _overlap(self._written, self._whole(value))

    def is_mergeable(self, value: Value) -> bool:
        """Whether nobody can tell `value` from another object of the same contents: no identity test, no write, no escape."""
        if tested_for_identity(value):
            return False
        return not is_reference(value.type) or not (self.escapes(value) or self.is_written(value))

    def effects(self, node: Node) -> Effects:
        """What the node, and everything inside it, may read and write."""
        found = self._cache.get(node)
        if found is None:
            found = NOTHING
            for block in node.blocks:
                for inner in block.nodes:
                    found = found.union(self.effects(inner))
            self._cache[node] = found = found.union(self._own_effects(node))
        return found

    def cells(self, value: Value) -> frozenset[Access]:
        """What a list, dict or set holds itself, without what its elements refer to."""
        return frozenset({(self.region(value), _cells(value.type))})

    def writes(self, node: Node) -> bool:
        """Whether the node, or anything inside it, may write memory or have another effect."""
        return bool(self.effects(node).writes)

    # -- regions

    def _find(self, region: int) -> int:
        while self._parents[region] != region:
            self._parents[region] = self._parents[self._parents[region]]
            region = self._parents[region]
        return region

    def _fresh(self) -> int:
        self._parents.append(len(self._parents))
        return len(self._parents) - 1

    def _region(self, value: Value) -> int:
        if value not in self._region_of:
            self._region_of[value] = self._fresh()
        return self._region_of[value]

    def _unite(self, values: Iterable[Value], outside: bool = False) -> None:
        regions = [self._find(self._region(v)) for v in values if is_reference(v.type)]
        if outside:
            regions.append(self._find(OUTSIDE))
        # The smallest number stays, so that OUTSIDE remains itself.
        for region in regions:
            self._parents[region] = min(regions)

    def _block(self, block: Block) -> None:
        for node in block.nodes:
            self._node(node)
            for inner in node.blocks:
                self._block(inner)

    def _node(self, node: Node) -> None:
        references = [v for v in (*node.inputs, *node.outputs) if is_reference(v.type)]
        if node.kind in LOOPS:
            params = node.blocks[0].params[1:] if node.kind == "prim::For" else node.blocks[0].params
            for pair in zip(node.inputs[len(node.inputs) - len(params) :], params, strict=True):
                self._unite(pair)
            if node.kind == "prim::For":
                for pair in zip(params, node.outputs, strict=True):
                    self._unite(pair)
        elif node.target is not None or node.kind == "prim::yield":
            self._carry(node)
        elif node.kind in _FORWARDING or node.kind in ("prim::GetAttr", "prim::SetAttr"):
            self._unite(references)
        elif node.kind.startswith(("py::", "aten::")):
            row = row_or_none(node)
            if row is None:
                self._unite(references, outside=True)
            else:
                self._operator(node, row)
        elif not node.kind.startswith("prim::") or node.kind == "prim::Call":
            self._unite(references, outside=True)

    def _carry(self, node: Node) -> None:
        owner = node.target if node.target is not None else node.block.owner if node.block is not None else None
        if not isinstance(owner, Node):
            return
        again = node.kind == "prim::next" or (node.kind == "prim::yield" and owner.kind in LOOPS)
        targets = (owner.blocks[0].params[1:] if owner.kind == "prim::For" else owner.blocks[0].params) if again else owner.outputs
        for pair in zip(node.inputs, targets, strict=True):
            self._unite(pair)

    def _operator(self, node: Node, row: Operator) -> None:
        arguments = row.schema.arguments
        groups: dict[str, list[Value]] = {}
        for argument, value in zip(arguments, node.inputs, strict=True):
            for key in _links(argument.type, argument.alias, value.type):
                groups.setdefault(key, []).append(value)
        for result, value in zip(row.schema.returns, node.outputs, strict=True):
            for key in _links(result.type, result.alias, value.type):
                groups.setdefault(key, []).append(value)
        # What is marked (*) comes out of, or goes into, the containers among the arguments.
        held = groups.pop("*", [])
        if held:
            held += [v for a, v in zip(arguments, node.inputs, strict=True) if _is_container(a.type)]
            groups["*"] = held
        for values in groups.values():
            self._unite(values)
        for value in node.outputs:
            if is_reference(value.type):
                self._region(value)

    # -- effects

    def _whole(self, value: Value) -> frozenset[Access]:
        found: set[Any] = set()
        _reachable(value.type, found, set())
        region = self.region(value)
        return frozenset((region, kind) for kind in found)

    def _own_effects(self, node: Node) -> Effects:
        if node.kind in _NO_EFFECT or node.blocks or node.is_terminator:
            return NOTHING
        if node.kind in ("prim::GetAttr", "prim::SetAttr"):
            at = frozenset({(self.region(node.inputs[0]), (str(node.inputs[0].type), node.attributes["name"]))})
            return Effects(reads=at) if node.kind == "prim::GetAttr" else Effects(writes=at)
        row = row_or_none(node) if node.kind.startswith(("py::", "aten::")) else None
        if row is None:
            every = frozenset({(self._find(OUTSIDE), EVERYTHING), (WORLD, EVERYTHING)})
            return Effects(every, every)
        return self._row_effects(node, row)

    def _row_effects(self, node: Node, row: Operator) -> Effects:
        reads: set[Access] = set()
        writes: set[Access] = set()
        # A row that hands out what a container holds looks at the container only, not at what its elements refer to.
        shallow = any(r.alias is not None and r.alias.name == "*" for r in row.schema.returns)
        for argument, value in zip(row.schema.arguments, node.inputs, strict=True):
            if not is_reference(value.type):
                continue
            if argument.alias is not None and argument.alias.write:
                writes |= self._written_cells(value, row)
            reads |= self.cells(value) if shallow and _is_container(value.type) else self._whole(value)
        if row.has(RANDOM) or row.has(EFFECT):
            reads.add((WORLD, EVERYTHING))
            writes.add((WORLD, EVERYTHING))
        elif not row.has(PURE) and not writes:
            writes.add((WORLD, EVERYTHING))
        return Effects(frozenset(reads), frozenset(writes))

    def _written_cells(self, value: Value, row: Operator) -> frozenset[Access]:
        """The cells of the argument itself; a tensor operator that takes a list writes to the tensors in it."""
        if row.namespace == "aten" or not isinstance(value.type, ListType | DictType | SetType):
            return self._whole(value)
        return frozenset({(self.region(value), _cells(value.type))})


def _is_container(kind: Type) -> bool:
    return isinstance(kind, ListType | DictType | SetType)


def _links(declared: Type, alias: Alias | None, actual: Type) -> set[str]:
    """The groups of one operator's values that this one shares memory with: alias sets, type variables bound to references."""
    if not is_reference(actual):
        return set()
    found = set() if alias is None else {alias.name if alias.name == "*" else f"({alias.name})"}
    found |= {t.name for t in declared.walk() if isinstance(t, TypeVariable)} if _holds_references(declared, actual) else set()
    return found | ({"*"} if declared == ANY and not isinstance(actual, TensorType) else set())


def _holds_references(declared: Type, actual: Type) -> bool:
    """Whether a type variable of `declared` stands for a type of references in `actual`."""
    if isinstance(declared, TypeVariable):
        return is_reference(actual)
    inner, found = declared.children(), actual.children()
    return len(inner) == len(found) and any(_holds_references(d, a) for d, a in zip(inner, found, strict=True))


def is_fresh(node: Node) -> bool:
    """Whether each execution of the node makes a new object (a container, a tensor, an object), not one that was there."""
    if node.kind in _FRESH or node.kind == "prim::Call":
        return True
    row = row_or_none(node)
    if row is None:
        return not node.kind.startswith("prim::")
    return any(is_reference(o.type) and not (r.alias is not None and r.alias.name == "*") for r, o in zip(row.schema.returns, node.outputs, strict=True))


def tested_for_identity(value: Value) -> bool:
    """Whether something asks if `value` is the very same object as another."""
    return any(u.node.kind in IDENTITY for u in value.uses)


def is_unshared(value: Value) -> bool:
    """Whether `value` is read only by pure operators whose results share nothing with it.

    Such a view of a tensor may be merged with an equal one, though the storage that both look at is shared.
    """
    for use in value.uses:
        row = row_or_none(use.node) if use.node.kind.startswith(("py::", "aten::")) else None
        if row is None or not row.has(PURE) or use.node.kind in IDENTITY or row.schema.arguments[use.index].alias is not None:
            return False
    return True
