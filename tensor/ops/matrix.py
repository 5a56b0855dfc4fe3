"""Rows of matrix products and linear algebra."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import cast, check, f64, get, has, i64, kernel, local, ptr, typeof, u8
from jitlang.registry import PURE
from jitlang.tensor.kernels import linalg
from jitlang.tensor.kernels import matrix as mat
from jitlang.tensor.kernels import pointwise as drivers
from jitlang.tensor.kernels.creation import Tensor
from jitlang.tensor.kernels.scalars import number
from jitlang.tensor.kernels.tensors import release
from jitlang.tensor.layout import TensorImpl
from jitlang.tensor.ops import pointwise as point
from jitlang.tensor.ops.families import row
from jitlang.tensor.ops.samples import A, Sample
from jitlang.tensor.promotion import SAME
from jitlang.types import TensorType

X, Y = A((3, 4)), A((4, 5), seed=1)
B, C = A((2, 3, 4)), A((2, 4, 5), seed=1)
T = A((4, 3), layout="t")
_FUNCTION: Any = {"variants": ("function",)}


def ranked(rank: int) -> Any:
    """The first argument's dtype, of that rank."""

    def infer(types: Any, _: Any) -> Any:
        return [TensorType(types[0].dtype, rank)]

    return infer


def _matmul_rule(types: Any, _: Any) -> Any:
    a, b = types[0].rank, types[1].rank
    if a is None or b is None:
        return [TensorType(types[0].dtype)]
    rank = max(a, b, 2) - (a == 1) - (b == 1)
    return [TensorType(types[0].dtype, rank)]


@kernel
def mm_native(self: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices."""
    return mat.mm(self, mat2)


@kernel
def bmm_native(self: Tensor, mat2: Tensor) -> Tensor:
    """Products of two batches of matrices."""
    return mat.bmm(self, mat2)


@kernel
def mv_native(self: Tensor, vec: Tensor) -> Tensor:
    """A matrix times a vector."""
    return mat.mv(self, vec)


@kernel
def dot_native(self: Tensor, tensor: Tensor) -> Tensor:
    """The inner product of two vectors."""
    return mat.dot(self, tensor)


@kernel
def matmul_native(self: Tensor, other: Tensor) -> Tensor:
    """The product of vectors, matrices and batches."""
    return mat.matmul(self, other)


@kernel
def linear_native(input: Tensor, weight: Tensor, bias: Any) -> Tensor:
    """input @ weight.T + bias."""
    if has(bias):
        return mat.linear(input, weight, get(bias), 1)
    return mat.linear(input, weight, weight, 0)


@kernel
def scaled_by(t: Tensor, factor: Any) -> Tensor:
    """t * factor in the dtype of `t`; takes over the reference."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    same = drivers.binary_into(point.MUL, SAME, t, number(slot, cast(ptr[u8], room), factor))
    release(same)
    return t


@kernel
def combined(self: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    """beta * self + alpha * product; takes over `product`."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    if alpha != typeof(alpha)(1):
        product = scaled_by(product, alpha)
    if beta == typeof(beta)(0):
        return product
    if beta == typeof(beta)(1):
        same = drivers.binary_into(point.ADD, SAME, product, self)
        release(same)
        return product
    part = drivers.binary(point.MUL, SAME, self, number(slot, cast(ptr[u8], room), beta))
    same = drivers.binary_into(point.ADD, SAME, product, part)
    release(same)
    release(part)
    return product


@kernel
def check_addend(self: Tensor, rows: i64, columns: i64, first: Tensor) -> None:
    """Refuses an addend that does not broadcast to the product."""
    check(self.dtype == first.dtype, "RuntimeError", "self and mat2 must have the same dtype")
    fits = self.rank <= 2
    if fits and self.rank > 0:
        last = self.sizes[self.rank - 1]
        fits = last == columns or last == 1
    if fits and self.rank == 2:
        fits = self.sizes[0] == rows or self.sizes[0] == 1
    check(fits, "RuntimeError", "The expanded size of the tensor ({}, {}) must match the existing size of the addend", rows, columns)


@kernel
def addmm_native(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any, alpha: Any) -> Tensor:
    """beta * self + alpha * (mat1 @ mat2)."""
    check(mat1.rank == 2 and mat2.rank == 2, "RuntimeError", "mat1 must be a matrix, got {}-D tensor", mat1.rank)
    check_addend(self, mat1.sizes[0], mat2.sizes[1], mat1)
    return combined(self, mat.mm(mat1, mat2), beta, alpha)


@kernel
def baddbmm_native(self: Tensor, batch1: Tensor, batch2: Tensor, beta: Any, alpha: Any) -> Tensor:
    """beta * self + alpha * (batch1 @ batch2)."""
    check(self.dtype == batch1.dtype, "RuntimeError", "Input dtypes must be the same")
    return combined(self, mat.bmm(batch1, batch2), beta, alpha)


_PRODUCTS = [
    Sample(X, Y, loose=9),
    Sample(T, A((3, 2)), loose=9),
    Sample(X, A((4, 5), layout="t"), loose=9),
    Sample(A((3, 4), "float64"), A((4, 5), "float64"), loose=9),
    Sample(A((3, 4), "int64"), A((4, 5), "int64")),
    Sample(A((3, 4), "int32"), A((4, 5), "int32", layout="t")),
    Sample(X, X, error=True),
    Sample(X, A((4, 2), "float64"), error=True),
    Sample(A((3, 0)), A((0, 2))),
    Sample(A((0, 3)), A((3, 2))),
    Sample(A((1, 4)), A((4, 1)), loose=9),
    Sample(A((3, 4), layout="e"), Y, loose=9),
    Sample(A((3, 4), layout="s"), Y, loose=9),
    Sample(A((70, 300)), A((300, 65)), loose=30),
]
row("mm(Tensor self, Tensor mat2) -> Tensor", "The product of two matrices.", mm_native, PURE, infer=ranked(2), samples=[*_PRODUCTS, Sample(B, Y, error=True)])
row(
    "bmm(Tensor self, Tensor mat2) -> Tensor",
    "Products of two batches of matrices.",
    bmm_native,
    PURE,
    infer=ranked(3),
    samples=[
        Sample(B, C, loose=9),
        Sample(A((2, 3, 4), "int64"), A((2, 4, 5), "int64")),
        Sample(B, B, error=True),
        Sample(X, Y, error=True),
        Sample(A((0, 3, 4)), A((0, 4, 2))),
    ],
)
row(
    "mv(Tensor self, Tensor vec) -> Tensor",
    "A matrix times a vector.",
    mv_native,
    PURE,
    infer=ranked(1),
    samples=[Sample(X, A((4,)), loose=9), Sample(T, A((3,)), loose=9), Sample(X, A((3,)), error=True), Sample(X, A((4,), layout="s"), loose=9)],
)
row(
    "dot(Tensor self, Tensor tensor) -> Tensor",
    "The inner product of two vectors.",
    dot_native,
    PURE,
    infer=ranked(0),
    samples=[
        Sample(A((5,)), A((5,), seed=1), loose=9),
        Sample(A((5,), "int64"), A((5,), "int64")),
        Sample(A((5,)), A((4,)), error=True),
        Sample(X, A((4,)), error=True),
        Sample(A((0,)), A((0,))),
    ],
)
row(
    "inner(Tensor self, Tensor other) -> Tensor",
    "The inner product of two vectors.",
    dot_native,
    PURE,
    infer=ranked(0),
    samples=[Sample(A((5,)), A((5,), seed=1), loose=9)],
)
_MATMULS = [
    *_PRODUCTS,
    Sample(A((4,)), A((4,)), loose=9),
    Sample(X, A((4,)), loose=9),
    Sample(A((3,)), X, loose=9),
    Sample(B, Y, loose=9),
    Sample(B, C, loose=9),
    Sample(A((5, 1, 3, 4)), C, loose=9),
    Sample(B, A((4,)), loose=9),
    Sample(A((4,)), C, loose=9),
    Sample(X, C, loose=9),
    Sample(A(()), X, error=True),
    Sample(B, B, error=True),
    Sample(B, A((3, 4, 2)), error=True),
    Sample(A((2, 3, 0)), A((0, 2))),
]
row("matmul(Tensor self, Tensor other) -> Tensor", "The product of vectors, matrices and batches.", matmul_native, PURE, infer=_matmul_rule, samples=_MATMULS)
row(
    "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    "input @ weight.T + bias.",
    linear_native,
    PURE,
    infer=lambda types, _: [TensorType(types[0].dtype, types[0].rank if types[1].rank == 2 else None)],
    samples=[
        Sample(X, A((5, 4), seed=1), loose=9),
        Sample(X, A((5, 4), seed=1), A((5,), seed=2), loose=9),
        Sample(B, A((5, 4), seed=1), A((5,), seed=2), loose=9),
        Sample(A((4,)), A((5, 4)), A((5,)), loose=9),
        Sample(X, A((5, 3)), error=True),
        Sample(T, A((5, 3), seed=1), A((5,)), loose=9),
        Sample(X, A((5, 4)), A((3,)), error=True),
        Sample(A((3, 4), "float64"), A((2, 4), "float64"), A((2,), "float64"), loose=9),
        Sample(X, A((4,), seed=1), loose=9),
    ],
    **_FUNCTION,
)
row(
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    "beta * self + alpha * (mat1 @ mat2).",
    addmm_native,
    PURE,
    infer=lambda types, _: [TensorType(types[1].dtype, 2)],
    samples=[
        Sample(A((3, 5)), X, Y, loose=9),
        Sample(A((5,)), X, Y, loose=9),
        Sample(A((3, 5)), X, Y, beta=0.5, alpha=2, loose=9),
        Sample(A((4,)), X, Y, error=True),
        Sample(A((3, 5)), X, Y, beta=0, loose=9),
    ],
)
row(
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    "beta * self + alpha * (batch1 @ batch2).",
    baddbmm_native,
    PURE,
    infer=lambda types, _: [TensorType(types[1].dtype, 3)],
    samples=[Sample(A((2, 3, 5)), B, C, loose=9), Sample(A((5,)), B, C, beta=2, alpha=0.5, loose=9)],
)


# ---- systems of equations -------------------------------------------------------------------------------------------


@kernel
def inverse_native(self: Tensor) -> Tensor:
    """The inverse of a square matrix, or of each of a batch."""
    linalg.check_square(self)
    return linalg.inverse(self)


@kernel
def det_native(self: Tensor) -> Tensor:
    """The determinant of a square matrix, or of each of a batch."""
    linalg.check_square(self)
    return linalg.determinant(self)


@kernel
def solve_native(A: Tensor, B: Tensor) -> Tensor:
    """X with A @ X = B."""
    linalg.check_square(A)
    return linalg.solve(A, B)


_SQUARES = [
    Sample(A((3, 3)), loose=3000),
    Sample(A((3, 3), "float64"), loose=3000),
    Sample(A((2, 4, 4), "float64"), loose=3000),
    Sample(X, error=True),
    Sample(A((3,)), error=True),
]
for _name in ("inverse", "linalg_inv"):
    row(
        f"{_name}(Tensor self) -> Tensor",
        "The inverse of a square matrix.",
        inverse_native,
        PURE,
        infer=lambda types, _: [TensorType(types[0].dtype, types[0].rank)],
        samples=[*_SQUARES, Sample(A((2, 2), low=0, high=0), error=True)],
        variants=("function", "method") if _name == "inverse" else ("function",),
        extra={"oracle": "linalg.inv", "strides": False},
    )
for _name in ("det", "linalg_det"):
    row(
        f"{_name}(Tensor self) -> Tensor",
        "The determinant of a square matrix.",
        det_native,
        PURE,
        infer=lambda types, _: [TensorType(types[0].dtype, None if types[0].rank is None else types[0].rank - 2)],
        samples=_SQUARES,
        variants=("function", "method") if _name == "det" else ("function",),
        extra={"oracle": "linalg.det"},
    )
row(
    "linalg_solve(Tensor A, Tensor B) -> Tensor",
    "X with A @ X = B.",
    solve_native,
    PURE,
    infer=lambda types, _: [TensorType(types[1].dtype, types[1].rank)],
    samples=[Sample(A((3, 3), "float64"), A((3, 2), "float64"), loose=3000), Sample(A((3, 3), "float64"), A((3,), "float64"), loose=3000)],
    variants=("function",),
    extra={"oracle": "linalg.solve", "strides": False},
)
