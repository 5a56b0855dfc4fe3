"""Rows of extremes and their places."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import b1, check, get, has, i64, kernel, ptr
from jitlang.registry import PURE
from jitlang.tensor.kernels import pointwise as drivers
from jitlang.tensor.kernels import reduction as r
from jitlang.tensor.kernels.creation import Ints, Tensor
from jitlang.tensor.kernels.reduction import all_dims
from jitlang.tensor.kernels.tensors import empty, release
from jitlang.tensor.layout import BOOL, INT64, LoopTable
from jitlang.tensor.ops import pointwise as point
from jitlang.tensor.ops import rules
from jitlang.tensor.ops.families import row
from jitlang.tensor.ops.reductions import MAX, MIN, PLACES, M, X, along, int_type, mask_of, pair_rule, rule, same_type, single, whole
from jitlang.tensor.ops.samples import ALL, A, Sample
from jitlang.tensor.promotion import SAME

INFINITY = float("inf")


# ---- extremes -----------------------------------------------------------------------------------------------------


@kernel(extern=True)
def extreme_places(table: ptr[LoopTable], self: Tensor, mask: i64, keepdim: i64) -> Tensor:
    """The places of the extremes along dimensions, each counted in row-major order of these."""
    best = r.reduce(table, self, mask, keepdim, self.dtype)
    result = empty(best.rank, best.sizes, INT64)
    r.places(PLACES, self, mask, best, result)
    release(best)
    return result


def _extreme(name: str, loop: Any, doc: str) -> None:
    @kernel
    def everything(self: Tensor) -> Tensor:
        check(
            self.numel > 0,
            "RuntimeError",
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.",
        )
        return r.reduce(loop, self, all_dims(self), 0, self.dtype)

    @kernel
    def dims(self: Tensor, dim: Ints, keepdim: b1) -> Tensor:
        mask = mask_of(self, dim)
        r.refuse_empty(self, mask, f"a{name}")
        return r.reduce(loop, self, mask, i64(keepdim), self.dtype)

    @kernel
    def with_places(self: Tensor, dim: i64, keepdim: b1) -> Any:
        mask = single(self, dim)
        r.refuse_empty(self, mask, name)
        best = r.reduce(loop, self, mask, i64(keepdim), self.dtype)
        where = empty(best.rank, best.sizes, INT64)
        r.places(PLACES, self, mask, best, where)
        return best, where

    @kernel
    def place(self: Tensor, dim: Any, keepdim: b1) -> Tensor:
        check(self.dtype != BOOL, "RuntimeError", f"arg{name}(): does not support bool input")
        if has(dim):
            mask = single(self, get(dim))
            r.refuse_empty(self, mask, f"arg{name}")
            return extreme_places(loop, self, mask, i64(keepdim))
        check(self.numel > 0, "IndexError", f"arg{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        return extreme_places(loop, self, all_dims(self), i64(keepdim))

    special = [Sample(A((3, 4), special=True)), Sample(A((5, 20), "float64", special=True))]
    row(
        f"{name}(Tensor self) -> Tensor",
        f"{doc} of all.",
        everything,
        PURE,
        infer=rule(same_type, None, None),
        samples=[*whole(ALL)[:4], *special, Sample(A((0,)), error=True), Sample(M), Sample(A((3000,))), Sample(A((3,), "bool"))],
    )
    dim_samples = [
        Sample(X, 1),
        Sample(X, -1, True),
        Sample(M, 0),
        Sample(A((3, 40), "int64"), 1),
        Sample(A((40, 3), "int32"), 0),
        Sample(A((4, 5), special=True), 1),
        Sample(A(()), 0),
        Sample(A((3, 0)), 1, error=True),
        Sample(A((0, 3)), 1),
        Sample(A((3, 4), "bool"), 1),
    ]
    row(
        f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        f"{doc} along a dimension, and its place.",
        with_places,
        PURE,
        infer=lambda types, constants: pair_rule(types, constants, 1, 2),
        samples=dim_samples,
    )
    row(
        f"a{name}(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
        f"{doc} along dimensions.",
        dims,
        PURE,
        infer=rule(same_type, 1, 2),
        samples=[*along(), Sample(X), Sample(A((3, 0)), 1, error=True), Sample(A((5000, 4), "float64"), 0)],
    )
    arg = [
        Sample(X),
        Sample(X, 1),
        Sample(X, -1, True),
        Sample(M, 0),
        Sample(M),
        Sample(A((4, 5), special=True), 1),
        Sample(A((3, 4), "int64"), 0),
        Sample(A((0,)), error=True),
        Sample(A(())),
        Sample(A((3, 5000)), 1),
    ]
    row(
        f"arg{name}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
        f"The place of the {doc.lower().removeprefix('the ')}.",
        place,
        PURE,
        infer=rule(int_type, 1, 2),
        samples=arg,
    )


_extreme("max", MAX, "The largest element")
_extreme("min", MIN, "The smallest element")


def _extreme_of_two(name: str, loop: Any, doc: str) -> None:
    @kernel
    def native(self: Tensor, other: Tensor) -> Tensor:
        return drivers.binary(loop, SAME, self, other)

    row(
        f"{name}.other(Tensor self, Tensor other) -> Tensor",
        doc,
        native,
        PURE,
        infer=rules.pointwise(),
        samples=[Sample(A((3, 4)), A((4,), seed=1)), Sample(A((2,), "int64"), A((2,)))],
    )


_extreme_of_two("max", point.MAXIMUM, "The larger of both.")
_extreme_of_two("min", point.MINIMUM, "The smaller of both.")


@kernel
def aminmax_native(self: Tensor, dim: Any, keepdim: b1) -> Any:
    """The smallest and the largest element."""
    mask = all_dims(self)
    if has(dim):
        mask = single(self, get(dim))
    r.refuse_empty(self, mask, "aminmax")
    low = r.reduce(MIN, self, mask, i64(keepdim), self.dtype)
    return low, r.reduce(MAX, self, mask, i64(keepdim), self.dtype)


def _twice(types: Any, constants: Any) -> Any:
    return rule(same_type, 1, 2)(types, constants) * 2


row(
    "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    "The smallest and the largest element.",
    aminmax_native,
    PURE,
    infer=_twice,
    samples=[Sample(X), Sample(X, dim=1)],
)
