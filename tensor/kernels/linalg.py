"""Systems of linear equations by elimination with row exchange."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import cast, check, f32, f64, fabs, fail, i64, kernel, ptr, text, u8
from jitlang.tensor.kernels.pointwise import cast_tensor, dtype_text
from jitlang.tensor.kernels.tensors import empty, release
from jitlang.tensor.kernels.views import contiguous
from jitlang.tensor.layout import FLOAT32, TensorImpl
from jitlang.tensor.promotion import is_float, item_bytes

Tensor = ptr[TensorImpl]


@kernel
def check_square(t: Tensor) -> None:
    """Refuses what is no floating-point square matrix (or batch of them)."""
    check(t.rank >= 2, "RuntimeError", "linalg: The input tensor A must have at least 2 dimensions.")
    if t.sizes[t.rank - 1] != t.sizes[t.rank - 2]:
        fail("RuntimeError", "linalg: A must be batches of square matrices, but they are {} by {} matrices", t.sizes[t.rank - 2], t.sizes[t.rank - 1])
    check(is_float(t.dtype) == 1, "RuntimeError", "linalg: Expected a floating point or complex tensor as input. Got {}", text(dtype_text(t.dtype)))


@kernel
def eliminate(T: Any, a: ptr[u8], n: i64, b: ptr[u8], columns: i64) -> Any:
    """Solves a @ x = b in place (x takes the place of b); returns the determinant, 0 where there is no solution."""
    p, q = cast(ptr[T], a), cast(ptr[T], b)
    determinant = T(1)
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if fabs(p[i * n + k]) > fabs(p[best * n + k]):
                best = i
        pivot = p[best * n + k]
        if best != k:
            determinant = -determinant
            exchange(p, k * n, best * n, n)
            exchange(q, k * columns, best * columns, columns)
        determinant = determinant * pivot
        if pivot != T(0):
            for i in range(k + 1, n):
                factor = p[i * n + k] / pivot
                for j in range(k + 1, n):
                    p[i * n + j] = p[i * n + j] - factor * p[k * n + j]
                for j in range(columns):
                    q[i * columns + j] = q[i * columns + j] - factor * q[k * columns + j]
    if determinant != T(0):
        for back in range(n):
            k = n - 1 - back
            for j in range(columns):
                total = q[k * columns + j]
                for i in range(k + 1, n):
                    total = total - p[k * n + i] * q[i * columns + j]
                q[k * columns + j] = total / p[k * n + k]
    return determinant


@kernel
def exchange(p: Any, a: i64, b: i64, n: i64) -> None:
    """Two rows change places."""
    for j in range(n):
        kept = p[a + j]
        p[a + j] = p[b + j]
        p[b + j] = kept


@kernel(extern=True)
def eliminate_one(dtype: i64, a: ptr[u8], n: i64, b: ptr[u8], columns: i64) -> f64:
    """`eliminate` in a dtype."""
    if dtype == FLOAT32:
        return f64(eliminate(f32, a, n, b, columns))
    return eliminate(f64, a, n, b, columns)


@kernel(extern=True)
def inverse(self: Tensor) -> Tensor:
    """The inverse of each matrix."""
    n = self.sizes[self.rank - 1]
    work = working_copy(self)
    result = empty(self.rank, self.sizes, self.dtype)
    item = item_bytes(self.dtype)
    total = self.numel // (n * n) if n > 0 else 0
    for m in range(total):
        target = result.data + m * n * n * item
        identity(target, n, self.dtype)
        if eliminate_one(self.dtype, work.data + m * n * n * item, n, target, n) == 0.0:
            release(work)
            release(result)
            fail(
                "LinAlgError",
                "linalg.inv: The diagonal element of the input matrix is zero, the inversion could not be completed because the input matrix is singular.",
            )
    release(work)
    return result


@kernel
def identity(target: ptr[u8], n: i64, dtype: i64) -> None:
    """Writes a unit matrix."""
    for i in range(n * n):
        value = 1.0 if i % (n + 1) == 0 else 0.0
        if dtype == FLOAT32:
            cast(ptr[f32], target)[i] = f32(value)
        else:
            cast(ptr[f64], target)[i] = value


@kernel
def working_copy(self: Tensor) -> Tensor:
    """A row-major copy that may be overwritten."""
    copy = cast_tensor(self, self.dtype)
    dense = contiguous(copy)
    release(copy)
    return dense


@kernel(extern=True)
def determinant(self: Tensor) -> Tensor:
    """The determinant of each matrix."""
    n = self.sizes[self.rank - 1]
    work = working_copy(self)
    result = empty(self.rank - 2, self.sizes, self.dtype)
    item = item_bytes(self.dtype)
    for m in range(result.numel):
        value = eliminate_one(self.dtype, work.data + m * n * n * item, n, work.data, 0)
        if self.dtype == FLOAT32:
            cast(ptr[f32], result.data)[m] = f32(value)
        else:
            cast(ptr[f64], result.data)[m] = value
    release(work)
    return result


@kernel(extern=True)
def solve(a: Tensor, b: Tensor) -> Tensor:
    """x with a @ x = b, for one matrix and a vector or a matrix."""
    n = a.sizes[a.rank - 1]
    check(
        a.rank == 2 and (b.rank == 1 or b.rank == 2),
        "RuntimeError",
        "linalg.solve: expected one matrix and a vector or a matrix, got {}-D and {}-D",
        a.rank,
        b.rank,
    )
    check(b.sizes[0] == n, "RuntimeError", "linalg.solve: Incompatible shapes of A and B for the equation AX = B")
    check(a.dtype == b.dtype, "RuntimeError", "linalg.solve: Expected A and B to have the same dtype")
    work = working_copy(a)
    result = working_copy(b)
    columns = b.sizes[1] if b.rank == 2 else 1
    if eliminate_one(a.dtype, work.data, n, result.data, columns) == 0.0 and n > 0:
        release(work)
        release(result)
        fail("LinAlgError", "torch.linalg.solve: The solver failed because the input matrix is singular.")
    release(work)
    return result
