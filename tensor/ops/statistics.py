"""Rows of variance, standard deviation and norms."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import b1, cast, check, f64, get, has, i64, kernel, local, ptr, text, u8
from jitlang.registry import PURE
from jitlang.tensor.kernels import pointwise as drivers
from jitlang.tensor.kernels import reduction as r
from jitlang.tensor.kernels.creation import Ints, Tensor
from jitlang.tensor.kernels.reduction import all_dims
from jitlang.tensor.kernels.scalars import number
from jitlang.tensor.kernels.tensors import release
from jitlang.tensor.layout import INT64, TensorImpl
from jitlang.tensor.ops import elementary
from jitlang.tensor.ops import pointwise as point
from jitlang.tensor.ops.families import row
from jitlang.tensor.ops.reductions import COUNT, LARGEST, MAGNITUDES, SMALLEST, SQUARES, SUM, M, X, divide_by, in_dtype, mask_of, mean_in, rule, same_type
from jitlang.tensor.ops.samples import A, Sample
from jitlang.tensor.promotion import SAME, is_float

INFINITY = float("inf")


# ---- variance and norm ----------------------------------------------------------------------------------------------


@kernel(extern=True)
def variance(self: Tensor, mask: i64, keepdim: i64, correction: f64) -> Tensor:
    """The mean squared distance from the mean, in two passes."""
    check(is_float(self.dtype) == 1, "RuntimeError", "std and var only support floating point and complex dtypes")
    middle = mean_in(self, mask, 1, self.dtype)
    distance = drivers.binary(point.SUB, SAME, self, middle)
    release(middle)
    result = r.reduce(SQUARES, distance, mask, keepdim, self.dtype)
    release(distance)
    left = f64(r.count_of(self, mask)) - correction
    divide_by(result, left if left > 0.0 else 0.0)
    return result


@kernel
def root(t: Tensor) -> Tensor:
    """The square root of a new tensor, in place."""
    same = drivers.unary_into(elementary.SQRT, SAME, t)
    release(same)
    return t


@kernel
def correction_of(value: Any) -> f64:
    """An optional correction as a float; 1 by default."""
    if has(value):
        return f64(get(value))
    return 1.0


def _spread(name: str, rooted: bool, doc: str) -> None:
    @kernel
    def everything(self: Tensor, unbiased: b1) -> Tensor:
        made = variance(self, all_dims(self), 0, 1.0 if unbiased else 0.0)
        return root(made) if rooted else made

    @kernel
    def dims(self: Tensor, dim: Any, unbiased: b1, keepdim: b1) -> Tensor:
        made = variance(self, mask_of(self, dim), i64(keepdim), 1.0 if unbiased else 0.0)
        return root(made) if rooted else made

    @kernel
    def corrected(self: Tensor, dim: Any, correction: Any, keepdim: b1) -> Tensor:
        made = variance(self, mask_of(self, dim), i64(keepdim), correction_of(correction))
        return root(made) if rooted else made

    @kernel
    def with_mean(self: Tensor, dim: Any, correction: Any, keepdim: b1) -> Any:
        made = variance(self, mask_of(self, dim), i64(keepdim), correction_of(correction))
        if rooted:
            root(made)
        return made, mean_in(self, mask_of(self, dim), i64(keepdim), self.dtype)

    def twice(types: Any, constants: Any) -> Any:
        return rule(same_type, 1, 3)(types, constants) * 2

    row(
        f"{name}(Tensor self, bool unbiased=True) -> Tensor",
        f"{doc} of all elements.",
        everything,
        PURE,
        infer=rule(same_type, None, None),
        samples=[Sample(X, loose=30), Sample(M, False, loose=30), Sample(A((1,))), Sample(A((3,), "int64"), error=True)],
    )
    row(
        f"{name}.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
        f"{doc} along dimensions.",
        dims,
        PURE,
        infer=rule(same_type, 1, 3),
        samples=[Sample(X, 1, loose=30), Sample(X, (0, 2), False, True, loose=30), Sample(A((300, 5)), 0, loose=30)],
    )
    row(
        f"{name}.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
        f"{doc} along dimensions.",
        corrected,
        PURE,
        infer=rule(same_type, 1, 3),
        samples=[Sample(X, 1, correction=0, loose=30), Sample(X, correction=2, loose=30), Sample(X, -1, correction=1, keepdim=True, loose=30)],
    )
    row(
        f"{name}_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
        f"{doc} and the mean.",
        with_mean,
        PURE,
        infer=twice,
        samples=[Sample(X, 1, correction=0, loose=30)],
    )


_spread("var", False, "The variance")
_spread("std", True, "The standard deviation")


@kernel(extern=True)
def norm_in(self: Tensor, p: f64, mask: i64, keepdim: i64, dtype: i64) -> Tensor:
    """The p-norm along dimensions."""
    check(
        is_float(dtype) == 1,
        "RuntimeError",
        "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}",
        text(drivers.dtype_text(dtype)),
    )
    x = in_dtype(self, dtype)
    if p == 2.0:
        made = root(r.reduce(SQUARES, x, mask, keepdim, dtype))
    elif p == 1.0:
        made = r.reduce(MAGNITUDES, x, mask, keepdim, dtype)
    elif p == INFINITY:
        made = r.reduce(LARGEST, x, mask, keepdim, dtype)
    elif p == -INFINITY:
        made = r.reduce(SMALLEST, x, mask, keepdim, dtype)
    elif p == 0.0:
        count = r.reduce(COUNT, x, mask, keepdim, INT64)
        made = in_dtype(count, dtype)
        release(count)
    else:
        made = general_norm(x, p, mask, keepdim)
    release(x)
    return made


@kernel
def general_norm(x: Tensor, p: f64, mask: i64, keepdim: i64) -> Tensor:
    """(Σ |x| ** p) ** (1 / p)."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    positive = drivers.unary(point.ABS, SAME, x)
    powers = drivers.binary(elementary.POW, SAME, positive, number(slot, cast(ptr[u8], room), p))
    release(positive)
    total = r.reduce(SUM, powers, mask, keepdim, x.dtype)
    release(powers)
    made = drivers.binary(elementary.POW, SAME, total, number(slot, cast(ptr[u8], room), 1.0 / p))
    release(total)
    return made


@kernel
def exponent_of(p: Any) -> f64:
    """An optional exponent as a float; 2 by default."""
    if has(p):
        return f64(get(p))
    return 2.0


@kernel
def norm_all(self: Tensor, p: Any) -> Tensor:
    """The norm of all elements."""
    return norm_in(self, exponent_of(p), all_dims(self), 0, self.dtype)


@kernel
def norm_dims(self: Tensor, p: Any, dim: Ints, keepdim: b1) -> Tensor:
    """Norms along dimensions."""
    return norm_in(self, exponent_of(p), mask_of(self, dim), i64(keepdim), self.dtype)


@kernel
def norm_2(self: Tensor, dim: Ints, keepdim: b1) -> Tensor:
    """2-norms along dimensions."""
    return norm_in(self, 2.0, mask_of(self, dim), i64(keepdim), self.dtype)


@kernel
def norm_named(self: Tensor, p: Any, dim: Any, keepdim: b1) -> Tensor:
    """The norm of that name."""
    check(p == "fro", "RuntimeError", f"norm: '{p}' is not available, only 'fro' and numbers are")
    return norm_in(self, 2.0, mask_of(self, dim), i64(keepdim), self.dtype)


@kernel
def vector_norm(self: Tensor, ord: Any, dim: Any, keepdim: b1, dtype: Any) -> Tensor:
    """Norms along dimensions."""
    code = self.dtype
    if has(dtype):
        code = get(dtype)
    return norm_in(self, f64(ord), mask_of(self, dim), i64(keepdim), code)


_NORMS = [Sample(X, p, loose=30) for p in (2, 1, 0, 3, INFINITY, -INFINITY, 0.5)]
row(
    "norm.Scalar(Tensor self, Scalar? p=2) -> Tensor",
    "The p-norm of all elements.",
    norm_all,
    PURE,
    infer=rule(same_type, None, None),
    samples=[*_NORMS, Sample(M, loose=30)],
)
row(
    "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
    "p-norms along dimensions.",
    norm_dims,
    PURE,
    infer=rule(same_type, 2, 3),
    samples=[Sample(X, 2, 1, loose=30), Sample(X, 1, [0, 1], True, loose=30)],
)
row(
    "norm.dim(Tensor self, *, int[1] dim, bool keepdim=False) -> Tensor",
    "2-norms along dimensions.",
    norm_2,
    PURE,
    infer=rule(same_type, 1, 2),
    samples=[Sample(X, dim=1, loose=30), Sample(X, dim=[0, 1], keepdim=True, loose=30)],
)
row(
    "norm.name(Tensor self, str p, int[1]? dim=None, bool keepdim=False) -> Tensor",
    "Frobenius norms along dimensions.",
    norm_named,
    PURE,
    infer=rule(same_type, 2, 3),
    samples=[Sample(X, "fro", loose=30), Sample(X, "fro", [0, 1], True, loose=30), Sample(X, "fro", dim=1, loose=30)],
)
row(
    "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
    "p-norms along dimensions.",
    vector_norm,
    PURE,
    infer=rule(same_type, 2, 3, 4),
    samples=[Sample(X, 2, 1, loose=30), Sample(X, 3.0, loose=30)],
    variants=("function",),
)
