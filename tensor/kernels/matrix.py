"""Matrix products of tensors: shapes, dtypes and errors around `jitlang.tensor.kernels.packs.multiply_with`.

In: tensors with any strides. Out: row-major results.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import check, fail, i64, kernel, local, maximum, null, ptr, text, u8
from jitlang.tensor.kernels.packs import multiply_with
from jitlang.tensor.kernels.pointwise import dtype_text
from jitlang.tensor.kernels.products import Product
from jitlang.tensor.kernels.tensors import empty, release, retain, shape_text
from jitlang.tensor.kernels.views import contiguous, expand, reshape, squeeze, transpose, unsqueeze, view
from jitlang.tensor.layout import BOOL, MAX_RANK, TensorImpl

Tensor = ptr[TensorImpl]


@kernel
def set_operands(p: ptr[Product], a: Tensor, b: Tensor, target: ptr[u8], bias: ptr[u8]) -> None:
    """Fills in a product of the last two dimensions of two tensors."""
    p.m = a.sizes[a.rank - 2]
    p.k = a.sizes[a.rank - 1]
    p.n = b.sizes[b.rank - 1]
    p.a = a.data
    p.a_row = a.strides[a.rank - 2]
    p.a_k = a.strides[a.rank - 1]
    p.b = b.data
    p.b_k = b.strides[b.rank - 2]
    p.b_column = b.strides[b.rank - 1]
    p.out = target
    p.out_row = p.n
    p.out_step = p.m * p.n
    p.bias = bias
    p.batch_rank = 0


@kernel
def check_dtypes(a: Tensor, b: Tensor) -> None:
    """Refuses operands of different dtypes, and bools."""
    if a.dtype != b.dtype:
        fail("RuntimeError", "expected m1 and m2 to have the same dtype, but got: {} != {}", text(dtype_text(a.dtype)), text(dtype_text(b.dtype)))
    check(a.dtype != BOOL, "RuntimeError", "\"addmm_impl_cpu_\" not implemented for 'Bool'")


@kernel
def product_of(a: Tensor, b: Tensor, target: ptr[u8], bias: ptr[u8]) -> None:
    """target = a @ b for two matrices that fit, plus a row of `bias` where it is not null."""
    p = local(Product, 1)
    set_operands(p, a, b, target, bias)
    multiply_with(a.dtype, p, a.storage, b.storage)


@kernel
def check_inner(a: Tensor, b: Tensor) -> None:
    """Refuses matrices whose inner sizes differ."""
    if a.sizes[1] != b.sizes[0]:
        fail("RuntimeError", "mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})", a.sizes[0], a.sizes[1], b.sizes[0], b.sizes[1])


@kernel(extern=True)
def mm(a: Tensor, b: Tensor) -> Tensor:
    """The product of two matrices."""
    check(a.rank == 2, "RuntimeError", "self must be a matrix")
    check(b.rank == 2, "RuntimeError", "mat2 must be a matrix")
    check_inner(a, b)
    check_dtypes(a, b)
    sizes = local(i64, 2)
    sizes[0], sizes[1] = a.sizes[0], b.sizes[1]
    result = empty(2, sizes, a.dtype)
    product_of(a, b, result.data, null(ptr[u8]))
    return result


@kernel(extern=True)
def batched(a: Tensor, b: Tensor, result: Tensor) -> None:
    """Matrix products over the leading dimensions, which are the same in all three; `result` is row-major."""
    p = local(Product, 1)
    set_operands(p, a, b, result.data, null(ptr[u8]))
    p.batch_rank = result.rank - 2
    for d in range(result.rank - 2):
        p.batch_sizes[d] = result.sizes[d]
        p.a_steps[d] = a.strides[d]
        p.b_steps[d] = b.strides[d]
    multiply_with(a.dtype, p, a.storage, b.storage)


@kernel(extern=True)
def bmm(a: Tensor, b: Tensor) -> Tensor:
    """Products of two batches of matrices."""
    check(a.rank == 3, "RuntimeError", "batch1 must be a 3D tensor")
    check(b.rank == 3, "RuntimeError", "batch2 must be a 3D tensor")
    if a.sizes[0] != b.sizes[0] or a.sizes[2] != b.sizes[1]:
        fail(
            "RuntimeError",
            "Expected size for first two dimensions of batch2 tensor to be: [{}, {}] but got: [{}, {}].",
            a.sizes[0],
            a.sizes[2],
            b.sizes[0],
            b.sizes[1],
        )
    check_dtypes(a, b)
    sizes = local(i64, 3)
    sizes[0], sizes[1], sizes[2] = a.sizes[0], a.sizes[1], b.sizes[2]
    result = empty(3, sizes, a.dtype)
    batched(a, b, result)
    return result


@kernel(extern=True)
def mv(a: Tensor, v: Tensor) -> Tensor:
    """A matrix times a vector."""
    if a.rank != 2 or v.rank != 1:
        fail("RuntimeError", "vector + matrix @ vector expected, got 1, {}, {}", a.rank, v.rank)
    if a.sizes[1] != v.sizes[0]:
        fail("RuntimeError", "size mismatch, got input ({}), mat ({}x{}), vec ({})", a.sizes[0], a.sizes[0], a.sizes[1], v.sizes[0])
    check_dtypes(a, v)
    column = unsqueeze(v, 1)
    size = local(i64, 1)
    size[0] = a.sizes[0]
    result = empty(1, size, a.dtype)
    product_of(a, column, result.data, null(ptr[u8]))
    release(column)
    return result


@kernel(extern=True)
def dot(a: Tensor, b: Tensor) -> Tensor:
    """The inner product of two vectors."""
    if a.rank != 1 or b.rank != 1:
        fail("RuntimeError", "1D tensors expected, but got {}D and {}D tensors", a.rank, b.rank)
    if a.dtype != b.dtype:
        fail("RuntimeError", "dot : expected both vectors to have same dtype, but found {} and {}", text(dtype_text(a.dtype)), text(dtype_text(b.dtype)))
    check(a.dtype != BOOL, "RuntimeError", "\"dot\" not implemented for 'Bool'")
    if a.numel != b.numel:
        fail(
            "RuntimeError",
            "inconsistent tensor size, expected tensor [{}] and src [{}] to have the same number of elements, but got {} and {} elements respectively",
            a.numel,
            b.numel,
            a.numel,
            b.numel,
        )
    line, column = unsqueeze(a, 0), unsqueeze(b, 1)
    result = empty(0, a.sizes, a.dtype)
    product_of(line, column, result.data, null(ptr[u8]))
    release(column)
    release(line)
    return result


@kernel(extern=True)
def matmul(a: Tensor, b: Tensor) -> Tensor:
    """The product in Python's sense: vectors, matrices, and batches that broadcast."""
    check(a.rank > 0 and b.rank > 0, "RuntimeError", "both arguments to matmul need to be at least 1D, but they are {}D and {}D", a.rank, b.rank)
    if a.rank == 1 and b.rank == 1:
        return dot(a, b)
    if a.rank == 2 and b.rank == 2:
        return mm(a, b)
    if a.rank == 2 and b.rank == 1:
        return mv(a, b)
    x, y = a, b
    retain(x)
    retain(y)
    if a.rank == 1:
        x = widened(x, 0)
    if b.rank == 1:
        y = widened(y, 1)
    result = many(x, y)
    if a.rank == 1:
        result = squeezed(result, result.rank - 2)
    if b.rank == 1:
        result = squeezed(result, result.rank - 1)
    return result


@kernel
def widened(t: Tensor, d: i64) -> Tensor:
    """With a new dimension; takes over the reference."""
    made = unsqueeze(t, d)
    release(t)
    return made


@kernel
def squeezed(t: Tensor, d: i64) -> Tensor:
    """Without a dimension of size 1; takes over the reference."""
    made = squeeze(t, 1 << d)
    release(t)
    return made


@kernel
def fit_together(x: Tensor, y: Tensor) -> Any:
    """Whether the batch dimensions of two tensors broadcast."""
    fits = True
    common = (x.rank if x.rank < y.rank else y.rank) - 2
    for k in range(common):
        p, q = x.sizes[x.rank - 3 - k], y.sizes[y.rank - 3 - k]
        if p != q and p != 1 and q != 1:
            fits = False
    return fits


@kernel(extern=True)
def many(x: Tensor, y: Tensor) -> Tensor:
    """The product of at least one batch of matrices; takes over both references."""
    inner, other = x.sizes[x.rank - 1], y.sizes[y.rank - 2]
    fine = inner == other and x.dtype == y.dtype and x.dtype != BOOL and fit_together(x, y)
    if not fine:
        refuse(x, y)
    rank = maximum(x.rank, y.rank)
    sizes = local(i64, MAX_RANK)
    if y.rank == 2:
        # One matrix for the whole batch: one product with all rows.
        for k in range(rank - 1):
            sizes[k] = x.sizes[k]
        sizes[rank - 1] = y.sizes[1]
        flat = local(i64, 2)
        flat[0], flat[1] = x.numel // maximum(inner, 1), inner
        if inner == 0:
            flat[0] = 1
            for k in range(rank - 1):
                flat[0] = flat[0] * x.sizes[k]
        rows = reshape(x, 2, flat)
        result = empty(rank, sizes, x.dtype)
        product_of(rows, y, result.data, null(ptr[u8]))
        release(rows)
        release(x)
        release(y)
        return result
    for k in range(rank - 2):
        p = x.sizes[k - (rank - x.rank)] if k >= rank - x.rank else 1
        q = y.sizes[k - (rank - y.rank)] if k >= rank - y.rank else 1
        sizes[k] = q if p == 1 else p
    sizes[rank - 2], sizes[rank - 1] = x.sizes[x.rank - 2], inner
    wide_x = expand(x, rank, sizes)
    sizes[rank - 2], sizes[rank - 1] = inner, y.sizes[y.rank - 1]
    wide_y = expand(y, rank, sizes)
    sizes[rank - 2] = x.sizes[x.rank - 2]
    result = empty(rank, sizes, x.dtype)
    batched(wide_x, wide_y, result)
    release(wide_y)
    release(wide_x)
    release(x)
    release(y)
    return result


@kernel(inline="never")
def refuse(x: Tensor, y: Tensor) -> None:
    """Raises what `many` cannot multiply; frees both."""
    same, numeric, fits = x.dtype == y.dtype, x.dtype != BOOL, fit_together(x, y)
    a, b = shape_text(x), shape_text(y)
    m, k, q, n = x.sizes[x.rank - 2], x.sizes[x.rank - 1], y.sizes[y.rank - 2], y.sizes[y.rank - 1]
    release(x)
    release(y)
    check(same, "RuntimeError", "expected m1 and m2 to have the same dtype, but got operands of shapes {} and {} with different dtypes", text(a), text(b))
    check(numeric, "RuntimeError", "\"bmm\" not implemented for 'Bool'")
    check(fits, "RuntimeError", "The batch dimensions of {} and {} do not broadcast in matmul", text(a), text(b))
    fail("RuntimeError", "mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})", m, k, q, n)


@kernel(extern=True)
def linear(x: Tensor, weight: Tensor, bias: Tensor, has_bias: i64) -> Tensor:
    """x @ weight.T + bias."""
    check(weight.rank == 2 or weight.rank == 1, "RuntimeError", "linear: weight must be a vector or a matrix, not {}-D", weight.rank)
    check(x.rank > 0, "RuntimeError", "both arguments to linear need to be at least 1D, but they are 0D and {}D", weight.rank)
    check_dtypes(x, weight)
    inner = x.sizes[x.rank - 1]
    features = weight.sizes[0] if weight.rank == 2 else 1
    if inner != weight.sizes[weight.rank - 1]:
        fail(
            "RuntimeError",
            "mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})",
            x.numel // maximum(inner, 1),
            inner,
            weight.sizes[weight.rank - 1],
            features,
        )
    if has_bias != 0:
        check(bias.dtype == x.dtype, "RuntimeError", "linear: the bias must have the input's dtype")
        check(
            bias.rank <= 1 and (bias.numel == features or bias.numel == 1),
            "RuntimeError",
            "The expanded size of the tensor ({}) must match the existing size ({}) at non-singleton dimension 1.",
            features,
            bias.numel,
        )
    sizes = local(i64, MAX_RANK)
    for k in range(x.rank):
        sizes[k] = x.sizes[k]
    rank = x.rank if weight.rank == 2 else x.rank - 1
    if weight.rank == 2:
        sizes[rank - 1] = features
    result = empty(rank, sizes, x.dtype)
    flat = local(i64, 2)
    flat[0], flat[1] = result.numel // maximum(features, 1), inner
    rows = reshape(x, 2, flat)
    flat[0] = features
    matrix = view(weight, 2, flat) if weight.rank == 1 else transpose(weight, 0, 1)
    if weight.rank == 1:
        line = transpose(matrix, 0, 1)
        release(matrix)
        matrix = line
    if has_bias != 0:
        flat[0] = features
        row = expand(bias, 1, flat)
        dense = contiguous(row)
        product_of(rows, matrix, result.data, dense.data)
        release(dense)
        release(row)
    else:
        product_of(rows, matrix, result.data, null(ptr[u8]))
    release(matrix)
    release(rows)
    return result
