"""The row of `einsum`: a sum of products by letters. Its meaning is written with other operators, pair by pair of operands."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from jitlang.registry import PURE
from jitlang.tensor.callables import operator
from jitlang.tensor.ops.families import row
from jitlang.tensor.ops.samples import A, Sample
from jitlang.types import ListType, TensorType

Labels = tuple[str, ...]


def _labels(term: str, rank: int, width: int) -> Labels:
    """The labels of one operand; those of ``...`` are numbers, counted from the right."""
    before, dots, after = term.partition("...")
    if not dots:
        return tuple(term)
    count = rank - len(before) - len(after) if rank >= 0 else width
    return (*before, *(str(width - count + i) for i in range(count)), *after)


@functools.lru_cache(maxsize=1024)
def _parse(equation: str, ranks: tuple[int, ...]) -> tuple[list[Labels], Labels]:
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise RuntimeError(f"einsum(): {len(terms)} subscripts were given in the equation, but {len(ranks)} operands")
    width = max((r - len(t.replace(".", "")) for t, r in zip(terms, ranks, strict=True) if "..." in t), default=0)
    operands = [_labels(t, r, width) for t, r in zip(terms, ranks, strict=True)]
    for term, rank, labels in zip(terms, ranks, operands, strict=True):
        if len(labels) != rank or any(not (c.isalpha() or c.isdigit()) for c in labels):
            raise RuntimeError(f"einsum(): the subscripts '{term}' do not match a tensor of {rank} dimensions")
    if arrow:
        result = _labels(right, -1, width)
    else:
        every = [c for labels in operands for c in labels]
        result = (*(str(i) for i in range(width)), *sorted(c for c in set(every) if every.count(c) == 1 and not c.isdigit()))
    known = {c for labels in operands for c in labels}
    if len(set(result)) != len(result) or not set(result) <= known:
        raise RuntimeError(f"einsum(): output subscript '{right}' repeats a letter or names one that no operand has")
    return operands, result


def _diagonals(tensor: Any, labels: Labels) -> tuple[Any, Labels]:
    """Repeated labels of one operand taken as its diagonal."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if tensor.shape[first] != tensor.shape[second]:
                raise RuntimeError(f"einsum(): dimensions with the label {label} differ: {tensor.shape[first]} and {tensor.shape[second]}")
            tensor = operator("diagonal")(tensor, 0, first, second)
            labels = (*(c for i, c in enumerate(labels) if i not in (first, second)), label)
    return tensor, labels


def _sum_out(tensor: Any, labels: Labels, keep: set[str]) -> tuple[Any, Labels]:
    """Sums over the labels that nobody needs."""
    dims = [i for i, c in enumerate(labels) if c not in keep]
    if not dims:
        return tensor, labels
    return operator("sum")(tensor, dims), tuple(c for c in labels if c in keep)


def _arranged(tensor: Any, labels: Labels, order: Sequence[str]) -> Any:
    """The dimensions in an order; labels that the tensor lacks have size 1."""
    if labels == tuple(order):
        return tensor
    present = [c for c in order if c in labels]
    tensor = operator("permute")(tensor, [labels.index(c) for c in present])
    for i, c in enumerate(order):
        if c not in labels:
            tensor = operator("unsqueeze")(tensor, i)
    return tensor


def _product(a: Any, p: Labels, b: Any, q: Labels, keep: set[str]) -> tuple[Any, Labels]:
    """Two operands multiplied and summed over what only they share."""
    sizes: dict[str, int] = {}
    for tensor, labels in ((a, p), (b, q)):
        for size, c in zip(tensor.shape, labels, strict=True):
            if sizes.setdefault(c, size) == 1:
                sizes[c] = size
            elif size not in (1, sizes[c]):
                raise RuntimeError(f"einsum(): operands do not broadcast: label {c} has sizes {sizes[c]} and {size}")
    shared = [c for c in p if c in q]
    batch, inner = [c for c in shared if c in keep], [c for c in shared if c not in keep]
    rows, columns = [c for c in p if c not in q], [c for c in q if c not in p]

    def grouped(tensor: Any, labels: Labels, order: list[str], parts: tuple[list[str], list[str], list[str]]) -> Any:
        tensor, wanted = _arranged(tensor, labels, order), [sizes[c] for c in order]
        if tuple(tensor.shape) != tuple(wanted):
            tensor = operator("expand")(tensor, wanted)
        return tensor if all(len(part) == 1 for part in parts) else operator("reshape")(tensor, [_volume(part, sizes) for part in parts])

    left = grouped(a, p, [*batch, *rows, *inner], (batch, rows, inner))
    right = grouped(b, q, [*batch, *inner, *columns], (batch, inner, columns))
    made = operator("bmm")(left, right)
    order = (*batch, *rows, *columns)
    if len(batch) == len(rows) == len(columns) == 1:
        return made, order
    return operator("reshape")(made, [sizes[c] for c in order]), order


def _volume(labels: Sequence[str], sizes: dict[str, int]) -> int:
    volume = 1
    for c in labels:
        volume *= sizes[c]
    return volume


def einsum(equation: str, tensors: Sequence[Any]) -> Any:
    """A sum of products by letters.

    Raises:
        RuntimeError: the equation does not fit the operands.
    """
    if not tensors:
        raise RuntimeError("einsum(): must provide at least one operand")
    operands, result = _parse(equation, tuple(t.ndim for t in tensors))
    parts = [_diagonals(t, labels) for t, labels in zip(tensors, operands, strict=True)]
    made, labels = parts[0]
    for at, (other, more) in enumerate(parts[1:], 2):
        keep = {*result, *(c for _, later in parts[at:] for c in later)}
        made, labels = _sum_out(made, labels, keep | set(more))
        other, more = _sum_out(other, more, keep | set(labels))
        made, labels = _product(made, labels, other, more, keep)
    made, labels = _sum_out(made, labels, set(result))
    if len(tensors) == 1 and set(operands[0]) == set(result):  # nothing was summed: the row's result is a new tensor all the same
        made = operator("clone")(made)
    return _arranged(made, labels, result)


def _rule(types: Sequence[Any], constants: Sequence[Any]) -> list[Any]:
    """The dtype and, where the equation and all ranks are known, the rank."""
    element = types[1].element if isinstance(types[1], ListType) else None
    if not isinstance(element, TensorType):
        return [TensorType()]
    left, arrow, right = str(constants[0]).partition("->")
    known = isinstance(constants[0], str) and arrow and "..." not in right and left != ""
    return [TensorType(element.dtype, len(right.replace(" ", "")) if known else None)]


_SAMPLES = [
    Sample("ij,jk->ik", [A((3, 4)), A((4, 5), seed=1)], loose=9),
    Sample("ij,jk", [A((3, 4)), A((4, 5), seed=1)], loose=9),
    Sample("bij,bjk->bik", [A((2, 3, 4)), A((2, 4, 5), seed=1)], loose=9),
    Sample("ii->i", [A((3, 3))]),
    Sample("ij->ji", [A((3, 4))]),
    Sample("ij->", [A((3, 4))], loose=9),
    Sample("i,j->ij", [A((3,)), A((4,), seed=1)], loose=9),
    Sample("...ij,...jk->...ik", [A((2, 3, 4)), A((4, 5), seed=1)], loose=9),
    Sample("bhqd,bhkd->bhqk", [A((2, 2, 3, 4)), A((2, 2, 5, 4), seed=1)], loose=9),
    Sample("ij,jk,kl->il", [A((2, 3)), A((3, 4), seed=1), A((4, 5), seed=2)], loose=30),
    Sample("i,i->", [A((5,)), A((5,), seed=1)], loose=9),
    Sample("ij,jk->ik", [A((3, 4)), A((5, 5))], error=True),
    Sample("ij", [A((3,))], error=True),
    Sample("ij->ijk", [A((3, 4))], error=True),
]


row(
    "einsum(str equation, Tensor[] tensors) -> Tensor",
    "A sum of products by letters.",
    None,
    PURE,
    infer=_rule,
    python=einsum,
    samples=_SAMPLES,
    variants=("function",),
    extra={"strides": False, "shares": False},
)
