"""Rows that sort, search, and compare whole tensors."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import b1, cast, check, f64, has, i64, kernel, local, maximum, memset, minimum, ptr, text, u8
from jitlang.registry import PURE
from jitlang.tensor.kernels import gathering as along
from jitlang.tensor.kernels import indexing as by
from jitlang.tensor.kernels import pointwise as drivers
from jitlang.tensor.kernels import reduction as r
from jitlang.tensor.kernels import sorting, views
from jitlang.tensor.kernels.creation import Tensor, zeros
from jitlang.tensor.kernels.iteration import same_shape
from jitlang.tensor.kernels.reduction import all_dims
from jitlang.tensor.kernels.scalars import load_float, number, store_float
from jitlang.tensor.kernels.tensors import empty, release, retain
from jitlang.tensor.kernels.views import wrapped_dim
from jitlang.tensor.layout import BOOL, INT64, TensorImpl
from jitlang.tensor.ops import pointwise as point
from jitlang.tensor.ops import reductions, rules
from jitlang.tensor.ops.families import row
from jitlang.tensor.ops.samples import ALL, A, Sample
from jitlang.tensor.promotion import RESULT_BOOL, SAME, is_float, item_bytes, promote
from jitlang.types import TensorType, dtype_coded

X, M, V = A((3, 5)), A((4, 3), layout="t"), A((20,))
INT64_TYPE = dtype_coded(INT64)
NAN = float("nan")


def _pair(types: Any, _: Any) -> Any:
    first = types[0]
    return [TensorType(first.dtype, first.rank), TensorType(INT64_TYPE, first.rank)]


def _places(types: Any, _: Any) -> Any:
    return [TensorType(INT64_TYPE, types[0].rank)]


# ---- sorting ------------------------------------------------------------------------------------------------------


@kernel
def sort_native(self: Tensor, dim: i64, descending: b1) -> Any:
    """Sorted along a dimension, and where each element stood."""
    places = local(Tensor, 1)
    values = sorting.sorted_along(self, wrapped_dim(dim, self.rank), i64(descending), places)
    return values, places[0]


@kernel
def sort_stable(self: Tensor, stable: Any, dim: i64, descending: b1) -> Any:
    """Sorted along a dimension, and where each element stood."""
    places = local(Tensor, 1)
    values = sorting.sorted_along(self, wrapped_dim(dim, self.rank), i64(descending), places)
    return values, places[0]


@kernel
def argsort_native(self: Tensor, dim: i64, descending: b1) -> Tensor:
    """The places of the elements in sorted order."""
    places = local(Tensor, 1)
    values = sorting.sorted_along(self, wrapped_dim(dim, self.rank), i64(descending), places)
    release(values)
    return places[0]


@kernel
def argsort_stable(self: Tensor, stable: b1, dim: i64, descending: b1) -> Tensor:
    """The places of the elements in sorted order."""
    places = local(Tensor, 1)
    values = sorting.sorted_along(self, wrapped_dim(dim, self.rank), i64(descending), places)
    release(values)
    return places[0]


@kernel(extern=True)
def first_of(t: Tensor, dim: i64, start: i64, k: i64) -> Tensor:
    """k elements of a dimension from `start` on, row-major; takes over the reference."""
    part = views.narrow(t, dim, start, k)
    dense = views.contiguous_copy(part)
    release(part)
    release(t)
    return dense


@kernel
def topk_native(self: Tensor, k: i64, dim: i64, largest: b1, sorted: b1) -> Any:
    """The k largest (or smallest) elements along a dimension, in order, and their places."""
    d = wrapped_dim(dim, self.rank)
    check(k >= 0 and k <= (self.sizes[d] if self.rank > 0 else 1), "RuntimeError", "selected index k out of range")
    places = local(Tensor, 1)
    if self.rank > 0:
        if k > 0 and k <= 128 and k * 8 <= self.sizes[d]:  # more are cheaper to sort
            few = sorting.first_along(self, d, k, i64(largest), places)
            return few, places[0]
    values = sorting.sorted_along(self, d, i64(largest), places)
    if self.rank == 0:
        return values, places[0]
    return first_of(values, d, 0, k), first_of(places[0], d, 0, k)


@kernel
def kth_native(self: Tensor, k: i64, dim: i64, keepdim: b1) -> Any:
    """The k-th smallest element along a dimension, and its place."""
    d = wrapped_dim(dim, self.rank)
    check(k >= 1 and k <= (self.sizes[d] if self.rank > 0 else 1), "RuntimeError", "kthvalue(): selected number k out of range for dimension {}", d)
    return kth(self, k - 1, d, i64(keepdim))


@kernel
def kth(self: Tensor, at: i64, d: i64, keepdim: i64) -> Any:
    """The element that sorting puts at a place, and where it stood."""
    places = local(Tensor, 1)
    values = sorting.sorted_along(self, d, 0, places)
    if self.rank == 0:
        return values, places[0]
    best, where = first_of(values, d, at, 1), first_of(places[0], d, at, 1)
    if keepdim != 0:
        return best, where
    return without(best, d), without(where, d)


@kernel
def without(t: Tensor, d: i64) -> Tensor:
    """Without a dimension of size 1; takes over the reference."""
    made = views.squeeze(t, 1 << d)
    release(t)
    return made


@kernel
def median_dim(self: Tensor, dim: i64, keepdim: b1) -> Any:
    """The lower median along a dimension, and its place; the first NaN where there is one."""
    check(self.dtype != BOOL, "RuntimeError", "\"median\" not implemented for 'bool'")
    d = wrapped_dim(dim, self.rank)
    n = self.sizes[d] if self.rank > 0 else 1
    check(n > 0, "IndexError", "median(): Expected reduction dim {} to have non-zero size.", d)
    middle, place = kth(self, (n - 1) // 2, d, i64(keepdim))
    if is_float(self.dtype) == 1:
        first_nan(self, d, i64(keepdim), middle, place)
    return middle, place


@kernel(extern=True)
def first_nan(self: Tensor, d: i64, keepdim: i64, middle: Tensor, place: Tensor) -> None:
    """Puts the first NaN along a dimension, where there is one, in the place of the median."""
    mask = 1 << d if self.rank > 0 else 0
    top = r.reduce(reductions.MAX, self, mask, keepdim, self.dtype)
    where = empty(top.rank, top.sizes, INT64)
    r.places(reductions.PLACES, self, mask, top, where)
    item = item_bytes(top.dtype)
    for i in range(top.numel):
        x = load_float(top.data + i * item, top.dtype)
        if x != x:
            store_float(middle.data + i * item, top.dtype, x)
            cast(ptr[i64], place.data)[i] = cast(ptr[i64], where.data)[i]
    release(where)
    release(top)


@kernel
def median_all(self: Tensor) -> Tensor:
    """The lower median of all elements; NaN where any is, or where there are none."""
    size = local(i64, 1)
    size[0] = self.numel
    if self.numel == 0:
        check(is_float(self.dtype) == 1, "IndexError", "median(): no median of no elements")
        none = empty(0, size, self.dtype)
        store_float(none.data, self.dtype, NAN)
        return none
    flat = views.reshape(self, 1, size)
    values, places = median_dim(flat, 0, False)
    release(places)
    release(flat)
    return values


@kernel
def unique_native(self: Tensor, sorted: b1, return_inverse: b1, return_counts: b1) -> Tensor:
    """The distinct elements, sorted."""
    check(not return_inverse and not return_counts, "RuntimeError", "unique: return_inverse and return_counts are not available")
    return unique(self)


@kernel(extern=True)
def unique(self: Tensor) -> Tensor:
    """The distinct elements of a tensor, sorted."""
    size = local(i64, 1)
    size[0] = self.numel
    flat = views.reshape(self, 1, size)
    places = local(Tensor, 1)
    values = sorting.sorted_along(flat, 0, 0, places)
    release(places[0])
    release(flat)
    mask = sorting.changes(values)
    made = by.masked_select(values, mask)
    release(mask)
    release(values)
    return made


_SORTS = [
    Sample(V),
    Sample(X, 1),
    Sample(X, 0),
    Sample(M, -1, True),
    Sample(A((4, 5), special=True), 1),
    Sample(A((4, 5), special=True), 1, True),
    Sample(A(())),
    Sample(A((0, 3))),
    Sample(X, 2, error=True),
    Sample(A((100,), high=1e6)),
]
row(
    "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    "Sorted along a dimension, and where each element stood.",
    sort_native,
    PURE,
    infer=_pair,
    samples=_SORTS,
)
row(
    "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    "Sorted along a dimension, and where each element stood; equal ones in order.",
    sort_stable,
    PURE,
    infer=_pair,
    samples=[Sample(A((3, 40), d, 0, 5), stable=True) for d in ALL] + [Sample(A((70,), "int64"), stable=True, descending=True)],
)
row(
    "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
    "The places of the elements in sorted order.",
    argsort_native,
    PURE,
    infer=_places,
    samples=[Sample(V), Sample(X, 0, True)],
)
row(
    "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
    "The places of the elements in sorted order; equal ones in order.",
    argsort_stable,
    PURE,
    infer=_places,
    samples=[Sample(A((70,), "int64", 0, 5), stable=True)],
)
row(
    "topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
    "The k largest (or smallest) elements along a dimension.",
    topk_native,
    PURE,
    infer=_pair,
    samples=[
        Sample(V, 3),
        Sample(X, 2, 0),
        Sample(X, 2, 1, False),
        Sample(V, 21, error=True),
        Sample(A(()), 1),
        Sample(M, 2),
        Sample(A((3, 70)), 5),
        Sample(A((70, 3)), 8, 0, False),
    ],
)
row(
    "kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    "The k-th smallest element along a dimension.",
    kth_native,
    PURE,
    infer=lambda types, constants: reductions.pair_rule(types, constants, 2, 3),
    samples=[Sample(V, 3), Sample(X, 2, 0, True), Sample(V, 0, error=True)],
)
row(
    "median(Tensor self) -> Tensor",
    "The lower median of all elements.",
    median_all,
    PURE,
    infer=lambda types, _: [TensorType(types[0].dtype, 0)],
    samples=[Sample(V), Sample(X), Sample(A((4,), "int64")), Sample(A((3, 4), special=True)), Sample(A((0,)))],
)
row(
    "median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    "The lower median along a dimension.",
    median_dim,
    PURE,
    infer=lambda types, constants: reductions.pair_rule(types, constants, 1, 2),
    samples=[Sample(X, 1), Sample(X, 0, True), Sample(A((3, 4), special=True), 0), Sample(A((4, 9), special=True), 1, True), Sample(A((0, 2)), 0, error=True)],
)
row(
    "unique(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> Tensor",
    "The distinct elements, sorted.",
    unique_native,
    PURE,
    infer=lambda types, _: [TensorType(types[0].dtype, 1)],
    samples=[Sample(A((30,), "int64", 0, 5)), Sample(X), Sample(A((0,))), Sample(A((9,), "bool"))],
)


# ---- searching ----------------------------------------------------------------------------------------------------


@kernel
def searchsorted_native(sorted_sequence: Tensor, self: Tensor, out_int32: b1, right: b1) -> Tensor:
    """Where numbers belong in sorted lines."""
    check(not out_int32, "RuntimeError", "searchsorted: out_int32 is not available")
    return searched(sorted_sequence, self, right)


@kernel(extern=True)
def searched(line: Tensor, x: Tensor, right: b1) -> Tensor:
    """Where numbers belong in sorted lines, compared in the common dtype."""
    dtype = promote(line.dtype, x.dtype)
    a, b = reductions.in_dtype(line, dtype), reductions.in_dtype(x, dtype)
    fits = a.rank == 1 or a.rank == b.rank
    if fits:
        made = sorting.searched(a, b, i64(right))
        release(a)
        release(b)
        return made
    release(a)
    release(b)
    return sorting.searched(line, x, i64(right))


@kernel
def bucketize_native(self: Tensor, boundaries: Tensor, out_int32: b1, right: b1) -> Tensor:
    """Which bucket numbers fall into."""
    check(not out_int32, "RuntimeError", "bucketize: out_int32 is not available")
    check(boundaries.rank == 1, "RuntimeError", "boundaries tensor must be 1 dimension, but got dim({})", boundaries.rank)
    return searched(boundaries, self, right)


_LINE = A((1,), low=1, high=1)
row(
    "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False) -> Tensor",
    "Where numbers belong in sorted lines.",
    searchsorted_native,
    PURE,
    infer=lambda types, _: [TensorType(INT64_TYPE, types[1].rank)],
    samples=[Sample(_LINE, A((3, 4))), Sample(_LINE, A((3,)), right=True), Sample(_LINE, A((3,), "float64"))],
    variants=("function",),
)
row(
    "bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    "Which bucket numbers fall into.",
    bucketize_native,
    PURE,
    infer=_places,
    samples=[Sample(A((3, 4)), _LINE)],
    variants=("function",),
)


# ---- whole tensors --------------------------------------------------------------------------------------------------


@kernel
def truth(t: Tensor) -> b1:
    """Whether all elements of a tensor of bools hold; takes over the reference."""
    made = r.reduce(reductions.ALL_OF, t, all_dims(t), 0, BOOL)
    release(t)
    result = made.data[0] != 0
    release(made)
    return result


@kernel
def equal_native(self: Tensor, other: Tensor) -> b1:
    """Whether shapes and all elements are equal."""
    check(
        self.dtype == other.dtype,
        "RuntimeError",
        "Expected object of data type {} but got data type {} for argument #2 'other' in call to equal",
        text(drivers.dtype_text(self.dtype)),
        text(drivers.dtype_text(other.dtype)),
    )
    if not same_shape(self, other):
        return False
    return truth(drivers.binary(point.EQ, RESULT_BOOL, self, other))


@kernel(extern=True)
def close(self: Tensor, other: Tensor, rtol: f64, atol: f64, equal_nan: i64) -> Tensor:
    """Element by element |self - other| <= atol + rtol * |other|, or equal."""
    check(self.dtype == other.dtype, "RuntimeError", "{} did not match {}", text(drivers.dtype_text(self.dtype)), text(drivers.dtype_text(other.dtype)))
    check(rtol >= 0.0, "RuntimeError", "rtol must be greater than or equal to zero, but got {}", rtol)
    check(atol >= 0.0, "RuntimeError", "atol must be greater than or equal to zero, but got {}", atol)
    result = drivers.binary(point.EQ, RESULT_BOOL, self, other)
    if equal_nan != 0:
        a, b = drivers.unary(point.TABLES["isnan"], RESULT_BOOL, self), drivers.unary(point.TABLES["isnan"], RESULT_BOOL, other)
        both = drivers.binary(point.BITS["and"], SAME, a, b)
        release(a)
        release(b)
        result = either(result, both)
    slots, room = local(TensorImpl, 2), local(f64, 2)
    gap = drivers.binary(point.SUB, SAME, self, other)
    distance = drivers.unary(point.ABS, SAME, gap)
    release(gap)
    size = drivers.unary(point.ABS, SAME, other)
    part = drivers.binary(point.MUL, SAME, size, number(slots, cast(ptr[u8], room), rtol))
    release(size)
    limit = drivers.binary(point.ADD, SAME, part, number(slots + 1, cast(ptr[u8], room + 1), atol))
    release(part)
    near = drivers.binary(point.TABLES["le"], RESULT_BOOL, distance, limit)
    finite = drivers.unary(point.ISFINITE, RESULT_BOOL, distance)
    both = drivers.binary(point.BITS["and"], SAME, near, finite)
    release(finite)
    release(near)
    release(limit)
    release(distance)
    return either(result, both)


@kernel
def either(a: Tensor, b: Tensor) -> Tensor:
    """Whether one of both holds; takes over both references."""
    made = drivers.binary(point.BITS["or"], SAME, a, b)
    release(a)
    release(b)
    return made


@kernel
def isclose_native(self: Tensor, other: Tensor, rtol: f64, atol: f64, equal_nan: b1) -> Tensor:
    """Whether elements are close."""
    return close(self, other, rtol, atol, i64(equal_nan))


@kernel
def allclose_native(self: Tensor, other: Tensor, rtol: f64, atol: f64, equal_nan: b1) -> b1:
    """Whether all elements are close."""
    return truth(close(self, other, rtol, atol, i64(equal_nan)))


_CLOSE = [
    Sample(X, X),
    Sample(X, A((3, 5), seed=1)),
    Sample(A((4, 3), special=True), A((4, 3), special=True)),
    Sample(A((4, 3), special=True), A((4, 3), special=True), equal_nan=True),
    Sample(X, A((5,)), 0.5, 1.0),
    Sample(A((3,), "int64"), A((3,), "int64")),
    Sample(X, A((3, 5), "float64"), error=True),
    Sample(X, X, -1.0, error=True),
]
row(
    "equal(Tensor self, Tensor other) -> bool",
    "Whether shapes and all elements are equal.",
    equal_native,
    PURE,
    samples=[Sample(X, X), Sample(X, A((3, 5), seed=1)), Sample(X, V), Sample(A((0,)), A((0,))), Sample(M, M)],
)
row(
    "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
    "Whether elements are close.",
    isclose_native,
    PURE,
    infer=rules.pointwise(RESULT_BOOL, 2),
    samples=_CLOSE,
)
row(
    "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool",
    "Whether all elements are close.",
    allclose_native,
    PURE,
    samples=_CLOSE,
)


@kernel
def isin_native(elements: Tensor, test_elements: Tensor) -> Tensor:
    """Which elements occur in another tensor."""
    line = unique(test_elements)
    x = elements
    retain(x)
    if line.dtype != x.dtype:
        release(x)
        x = drivers.cast_tensor(elements, line.dtype)
    if line.numel == 0:
        release(line)
        release(x)
        return make_false(elements)
    where = sorting.searched(line, x, 0)
    last, room = local(TensorImpl, 1), local(f64, 1)
    inside = drivers.binary(point.MINIMUM, SAME, where, number(last, cast(ptr[u8], room), line.numel - 1))
    release(where)
    found = along.take(line, inside)
    release(inside)
    release(line)
    result = drivers.binary(point.EQ, RESULT_BOOL, found, x)
    release(found)
    release(x)
    return result


@kernel
def make_false(like: Tensor) -> Tensor:
    """A tensor of that shape without any that holds."""
    t = empty(like.rank, like.sizes, BOOL)
    memset(t.data, 0, t.numel)
    return t


row(
    "isin.Tensor_Tensor(Tensor elements, Tensor test_elements) -> Tensor",
    "Which elements occur in another tensor.",
    isin_native,
    PURE,
    infer=rules.in_dtype(dtype_coded(BOOL)),
    samples=[Sample(A((3, 4), "int64"), A((3,), "int64")), Sample(X, X), Sample(A((3,), "int64"), A((0,), "int64"))],
    variants=("function",),
)


@kernel(extern=True)
def bincount(self: Tensor, least: i64) -> Tensor:
    """How often each number occurs."""
    check(self.rank == 1 and is_float(self.dtype) == 0 and self.dtype != BOOL, "RuntimeError", "bincount only supports 1-d non-negative integral inputs.")
    check(least >= 0, "RuntimeError", "minlength should be >= 0")
    wide = drivers.cast_tensor(self, INT64)
    items = cast(ptr[i64], wide.data)
    high, low = least - 1, 0
    for i in range(wide.numel):
        high, low = maximum(high, items[i]), minimum(low, items[i])
    if low < 0:
        release(wide)
        check(low >= 0, "RuntimeError", "bincount only supports 1-d non-negative integral inputs.")
    size = local(i64, 1)
    size[0] = high + 1
    result = zeros(1, size, INT64)
    counts = cast(ptr[i64], result.data)
    for i in range(wide.numel):
        counts[items[i]] = counts[items[i]] + 1
    release(wide)
    return result


@kernel
def bincount_native(self: Tensor, weights: Any, minlength: i64) -> Tensor:
    """How often each number occurs."""
    check(not has(weights), "RuntimeError", "bincount: weights are not available")
    return bincount(self, minlength)


row(
    "bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor",
    "How often each number occurs.",
    bincount_native,
    PURE,
    infer=lambda _t, _c: [TensorType(INT64_TYPE, 1)],
    samples=[
        Sample(A((20,), "int64", 0, 5)),
        Sample(A((3,), "int64", 0, 2), minlength=6),
        Sample(A((0,), "int64")),
        Sample(A((3,), "int64", -3, -1), error=True),
        Sample(X, error=True),
    ],
)
