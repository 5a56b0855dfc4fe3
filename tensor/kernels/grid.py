"""The loops of operators as a grid of threads runs them: thread `first` takes elements first, first + step, first + 2 · step, …

In: the same scalar operations, and the same tree of a reduction, as the loops of a CPU core have. So the answers are the same to the last bit,
whatever the size of the grid. Operands of pointwise loops are dense.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import cast, i64, kernel, ptr, u8
from jitlang.tensor.kernels.reduction import row


@kernel
def grid_unary(op: Any, T: Any, R: Any, first: i64, step: i64, n: i64, out: ptr[u8], a: ptr[u8]) -> None:
    """out[i] = op(a[i])."""
    i = first
    while i < n:
        cast(ptr[R], out)[i] = op(cast(ptr[T], a)[i])
        i += step


@kernel
def grid_binary(op: Any, A: Any, B: Any, R: Any, first: i64, step: i64, n: i64, out: ptr[u8], a: ptr[u8], b: ptr[u8]) -> None:
    """out[i] = op(a[i], b[i])."""
    i = first
    while i < n:
        cast(ptr[R], out)[i] = op(cast(ptr[A], a)[i], cast(ptr[B], b)[i])
        i += step


@kernel
def grid_ternary(op: Any, A: Any, B: Any, C: Any, R: Any, first: i64, step: i64, n: i64, out: ptr[u8], a: ptr[u8], b: ptr[u8], c: ptr[u8]) -> None:
    """out[i] = op(a[i], b[i], c[i])."""
    i = first
    while i < n:
        cast(ptr[R], out)[i] = op(cast(ptr[A], a)[i], cast(ptr[B], b)[i], cast(ptr[C], c)[i])
        i += step


@kernel
def grid_quaternary(op: Any, T: Any, first: i64, step: i64, n: i64, out: ptr[u8], a: ptr[u8], b: ptr[u8], c: ptr[u8], d: ptr[u8]) -> None:
    """out[i] = op(a[i], b[i], c[i], d[i]), all of one type."""
    i = first
    while i < n:
        cast(ptr[T], out)[i] = op(cast(ptr[T], a)[i], cast(ptr[T], b)[i], cast(ptr[T], c)[i], cast(ptr[T], d)[i])
        i += step


@kernel
def grid_reduce(
    op: Any, prepare: Any, initial: Any, T: Any, S: Any, first: i64, step: i64, m: i64, n: i64, x: ptr[u8], stride: i64, gap: i64, out: ptr[u8], out_gap: i64
) -> None:
    """m results, each of n elements that are `stride` bytes apart, in the order in which a CPU core combines them; a thread makes whole results."""
    i = first
    while i < m:
        cast(ptr[S], out + i * out_gap)[0] = row(op, prepare, initial, T, S, n, x + i * gap, stride)
        i += step
