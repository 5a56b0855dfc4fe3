"""Rows of indexing by tensors."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import b1, cast, check, f64, i64, kernel, local, ptr, text, u8
from jitlang.registry import PURE
from jitlang.tensor.kernels import gathering as along
from jitlang.tensor.kernels import indexing as by
from jitlang.tensor.kernels import pointwise as drivers
from jitlang.tensor.kernels import views
from jitlang.tensor.kernels.creation import Ints, Tensor, check_fits
from jitlang.tensor.kernels.iteration import broadcast_into
from jitlang.tensor.kernels.scalars import number
from jitlang.tensor.kernels.tensors import new_list, put_tensor, release
from jitlang.tensor.layout import BOOL, INT32, INT64, MAX_RANK, Iteration, TensorImpl
from jitlang.tensor.ops import rules
from jitlang.tensor.ops.families import row
from jitlang.tensor.ops.samples import ALL, A, Sample
from jitlang.types import ListType, TensorType, dtype_coded

X, M = A((3, 4)), A((4, 3), layout="t")
INDEX = A((5,), "int64", 0, 2)
_METHOD: Any = {"variants": ("method",)}
_FUNCTION: Any = {"variants": ("function",)}


@kernel
def index_native(self: Tensor, indices: Ints) -> Tensor:
    """The elements that index tensors name."""
    return by.index(self, indices)


@kernel
def index_put_into(self: Tensor, indices: Ints, values: Tensor, accumulate: b1) -> Tensor:
    """Stores elements where index tensors say."""
    return by.index_put(self, indices, values, i64(accumulate))


@kernel
def index_put_native(self: Tensor, indices: Ints, values: Tensor, accumulate: b1) -> Tensor:
    """A copy with elements stored where index tensors say."""
    copy = drivers.cast_tensor(self, self.dtype)
    same = by.index_put(copy, indices, values, i64(accumulate))
    release(same)
    return copy


def _index_rule(types: Any, constants: Any) -> Any:
    first = types[0]
    return [TensorType(first.dtype if isinstance(first, TensorType) else None)]


_IX = [
    Sample(X, [A((2,), "int64", 0, 2)]),
    Sample(X, [None, A((5,), "int64", -4, 3)]),
    Sample(X, [A((2,), "int64", 0, 2), A((2,), "int64", 0, 3, seed=1)]),
    Sample(X, [A((2, 1), "int64", 0, 2), A((3,), "int64", 0, 3)]),
    Sample(X, [A((3, 4), "bool")]),
    Sample(X, [A((3,), "bool")]),
    Sample(X, [None, A((4,), "bool")]),
    Sample(A((2, 3, 4)), [A((2,), "int64", 0, 1), None, A((2,), "int64", 0, 3)]),
    Sample(A((2, 3, 4)), [None, A((2, 2), "int64", 0, 2)]),
    Sample(A((2, 3, 4)), [A((2, 3), "bool")]),
    Sample(M, [A((2,), "int64", 0, 3)]),
    Sample(X, [A((0,), "int64")]),
    Sample(X, [A((), "bool")]),
    Sample(X, [None, A((), "bool"), A((2,), "int64", 0, 3)]),
    Sample(X, [A((2,), "int64", 0, 2), A((), "uint8")]),
    Sample(X, [A((2,), "int64", 3, 5)], error=True),
    Sample(X, [A((2,), "float32")], error=True),
    Sample(X, [A((2,), "bool")], error=True),
    Sample(X, [A((2,), "int64", 0, 2), A((3,), "int64", 0, 2)], error=True),
]


def _indexed(self: Any, indices: Any) -> Any:
    return self[tuple(slice(None) if i is None else i for i in indices)]


row(
    "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    "The elements that index tensors name.",
    index_native,
    PURE,
    infer=_index_rule,
    samples=_IX + [Sample(A((3, 4), d), [A((2,), "int64", 0, 2)]) for d in ALL],
    variants=(),
    extra={"oracle": _indexed},
)
_PUT = [
    Sample(X, [A((2,), "int64", 0, 2)], A((4,), seed=2)),
    Sample(X, [A((3, 4), "bool")], A(())),
    Sample(X, [None, A((2,), "int64", 0, 3)], A((3, 2), seed=3)),
    Sample(M, [A((2,), "int64", 0, 3), A((2,), "int64", 0, 2)], A((2,))),
    Sample(X, [A((6,), "int64", 0, 2)], A((6, 4), seed=2), accumulate=True, loose=9),
    Sample(A((3,), "int64"), [A((6,), "int64", 0, 2)], A((6,), "int64"), True),
    Sample(X, [A((2,), "int64", 0, 2)], A((3,)), error=True),
    Sample(X, [A((2,), "int64", 0, 2)], A((4,), "float64"), error=True),
    Sample(X, [A((2,), "int64", 5, 9)], A((4,)), error=True),
]
# Several values for one place: which one stays is not said, so the samples without accumulation name each place once.
_PUT[0] = Sample(X, [A((3,), "bool")], A((4,), seed=2))
_PUT[2] = Sample(X, [None, A((4,), "bool")], A((3, 1), seed=3))
_PUT[3] = Sample(M, [A((1,), "int64", 0, 3), A((1,), "int64", 0, 2)], A((1,)))
row(
    "index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)",
    "Stores elements where index tensors say.",
    index_put_into,
    infer=rules.same,
    samples=_PUT,
    **_METHOD,
    extra={"oracle": "ops.aten.index_put_"},
)
row(
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    "A copy with elements stored where index tensors say.",
    index_put_native,
    PURE,
    infer=rules.same,
    samples=[s for s in _PUT if s.args[0] is not M],
    extra={"oracle": "ops.aten.index_put"},
)


# ---- masks --------------------------------------------------------------------------------------------------------


@kernel
def nonzero_native(self: Tensor) -> Tensor:
    """The places of elements that are not zero."""
    return by.nonzero(self)


@kernel
def nonzero_columns(self: Tensor) -> Ints:
    """The places of elements that are not zero, one tensor a dimension."""
    places = by.nonzero(self)
    made = new_list(self.rank)
    for d in range(self.rank):
        put_tensor(made, d, by.column(places, d))
    release(places)
    return made


@kernel
def masked_select_native(self: Tensor, mask: Tensor) -> Tensor:
    """The elements where a mask holds."""
    check(mask.dtype == BOOL, "RuntimeError", "masked_select: expected BoolTensor for mask")
    it = local(Iteration, 1)
    it.rank = 0
    broadcast_into(it, self)
    broadcast_into(it, mask)
    wide = views.expand(self, it.rank, it.sizes)
    flags = views.expand(mask, it.rank, it.sizes)
    result = by.masked_select(wide, flags)
    release(flags)
    release(wide)
    return result


def _places(_: Any, __: Any) -> Any:
    return [TensorType(dtype_coded(INT64), 2)]


row(
    "nonzero(Tensor self) -> Tensor",
    "The places of elements that are not zero.",
    nonzero_native,
    PURE,
    infer=_places,
    samples=[Sample(A((3, 4), d, 0)) for d in ALL] + [Sample(M), Sample(A(())), Sample(A((0, 3)))],
)
row("argwhere(Tensor self) -> Tensor", "The places of elements that are not zero.", nonzero_native, PURE, infer=_places, samples=[Sample(A((3, 4), "bool"))])
row(
    "nonzero_numpy(Tensor self) -> Tensor[]",
    "The places of elements that are not zero, one tensor a dimension.",
    nonzero_columns,
    PURE,
    infer=lambda _t, _c: [ListType(TensorType())],
    samples=[Sample(A((3, 4), "bool"))],
    variants=(),
    extra={"oracle": lambda t: t.nonzero(as_tuple=True)},
)
row(
    "where(Tensor condition) -> Tensor[]",
    "The places where a condition holds, one tensor a dimension.",
    nonzero_columns,
    PURE,
    infer=lambda _t, _c: [ListType(TensorType())],
    samples=[Sample(A((3, 4), "bool"))],
    **_FUNCTION,
)
row(
    "masked_select(Tensor self, Tensor mask) -> Tensor",
    "The elements where a mask holds.",
    masked_select_native,
    PURE,
    infer=lambda types, _: [TensorType(types[0].dtype, 1)],
    samples=[
        Sample(X, A((3, 4), "bool")),
        Sample(X, A((4,), "bool")),
        Sample(A((4,)), A((3, 1), "bool")),
        Sample(M, A((4, 3), "bool")),
        Sample(X, X, error=True),
        Sample(X, A((5,), "bool"), error=True),
    ],
)


# ---- along one dimension --------------------------------------------------------------------------------------------


@kernel
def index_select_native(self: Tensor, dim: i64, index: Tensor) -> Tensor:
    """Elements of a dimension."""
    return along.index_select(self, dim, index)


@kernel
def gather_native(self: Tensor, dim: i64, index: Tensor) -> Tensor:
    """Elements named along a dimension."""
    return along.gather_dim(self, dim, index)


@kernel
def take_native(self: Tensor, index: Tensor) -> Tensor:
    """Elements of the flattened tensor."""
    return along.take(self, index)


@kernel
def embedding_native(weight: Tensor, indices: Tensor, padding_idx: i64, scale_grad_by_freq: b1, sparse: b1) -> Tensor:
    """The rows of a table that indices name."""
    check(weight.rank == 2, "RuntimeError", "'weight' must be 2-D")
    check(
        indices.dtype == INT64 or indices.dtype == INT32,
        "RuntimeError",
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got {} instead",
        text(drivers.dtype_text(indices.dtype)),
    )
    sizes = local(i64, MAX_RANK)
    check(indices.rank < MAX_RANK, "RuntimeError", "a tensor has at most 8 dimensions, not {}", indices.rank + 1)
    for d in range(indices.rank):
        sizes[d] = indices.sizes[d]
    sizes[indices.rank] = weight.sizes[1]
    one = local(i64, 1)
    one[0] = indices.numel
    flat = views.reshape(indices, 1, one)
    rows = along.index_select_checked(weight, flat)
    release(flat)
    result = views.view(rows, indices.rank + 1, sizes)
    release(rows)
    return result


row(
    "index_select(Tensor self, int dim, Tensor index) -> Tensor",
    "Elements of a dimension.",
    index_select_native,
    PURE,
    infer=rules.same,
    samples=[
        Sample(X, 0, INDEX),
        Sample(X, 1, A((2,), "int32", 0, 3)),
        Sample(M, -1, INDEX),
        Sample(X, 0, A((2,), "int64", 3, 5), error=True),
        Sample(X, 0, A((2, 2), "int64", 0, 2), error=True),
        Sample(X, 0, A((2,)), error=True),
        Sample(A((2, 3, 4), "bool"), 1, INDEX),
    ],
)
row(
    "gather(Tensor self, int dim, Tensor index) -> Tensor",
    "Elements named along a dimension.",
    gather_native,
    PURE,
    infer=rules.same,
    samples=[
        Sample(X, 0, A((2, 4), "int64", 0, 2)),
        Sample(X, 1, A((3, 6), "int64", 0, 3)),
        Sample(M, -1, A((4, 2), "int64", 0, 2)),
        Sample(X, 1, A((3, 2), "int64", 4, 6), error=True),
        Sample(X, 1, A((5, 2), "int64", 0, 3), error=True),
        Sample(X, 1, A((3,), "int64", 0, 3), error=True),
        Sample(X, 1, A((3, 2)), error=True),
    ],
)
row(
    "take_along_dim(Tensor self, Tensor indices, int dim) -> Tensor",
    "Elements named along a dimension.",
    along.take_along,
    PURE,
    infer=rules.same,
    samples=[Sample(X, A((3, 2), "int64", 0, 3), 1)],
)
row(
    "take(Tensor self, Tensor index) -> Tensor",
    "Elements of the flattened tensor.",
    take_native,
    PURE,
    infer=lambda types, _: [TensorType(types[0].dtype, types[1].rank)],
    samples=[Sample(X, A((2, 2), "int64", -12, 11)), Sample(M, A((3,), "int64", 0, 11)), Sample(X, A((2,), "int64", 12, 15), error=True)],
)
row(
    "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    "The rows of a table that indices name.",
    embedding_native,
    PURE,
    infer=lambda types, _: [TensorType(types[0].dtype, None if types[1].rank is None else types[1].rank + 1)],
    samples=[
        Sample(X, A((2, 5), "int64", 0, 2)),
        Sample(X, A((), "int64", 0, 2)),
        Sample(X, A((4,), "int32", 0, 2)),
        Sample(X, A((2,), "int64", 3, 4), error=True),
    ],
    variants=("function",),
    extra={"oracle": "embedding"},
)


# ---- writing along one dimension --------------------------------------------------------------------------------------


def _scatter(name: str, how: int, doc: str, numbers: bool) -> None:
    @kernel
    def into(self: Tensor, dim: i64, index: Tensor, src: Tensor) -> Tensor:
        check(src.dtype == self.dtype, "RuntimeError", "scatter(): Expected self.dtype to be equal to src.dtype")
        return along.scatter_into(self, dim, index, src, how)

    @kernel
    def fresh(self: Tensor, dim: i64, index: Tensor, src: Tensor) -> Tensor:
        check(src.dtype == self.dtype, "RuntimeError", "scatter(): Expected self.dtype to be equal to src.dtype")
        return along.scattered(self, dim, index, src, how)

    @kernel
    def value_into(self: Tensor, dim: i64, index: Tensor, value: Any) -> Tensor:
        slot, room = local(TensorImpl, 1), local(f64, 1)
        return along.scatter_into(self, dim, index, number(slot, cast(ptr[u8], room), value), how)

    @kernel
    def value_fresh(self: Tensor, dim: i64, index: Tensor, value: Any) -> Tensor:
        slot, room = local(TensorImpl, 1), local(f64, 1)
        return along.scattered(self, dim, index, number(slot, cast(ptr[u8], room), value), how)

    one = A((1, 4), "int64", 0, 2)
    samples = [
        Sample(X, 0, one, A((2, 4), seed=1)),
        Sample(X, 0, A((2, 4), "int64", 3, 5), A((2, 4)), error=True),
        Sample(X, 0, one, A((2, 4), "int64"), error=True),
        Sample(X, 1, A((3, 1), "int64", 0, 3), A((3, 2), seed=3)),
    ]
    if how == along.ADD:
        samples.append(Sample(X, 0, A((5, 4), "int64", 0, 2), A((5, 4), seed=1), loose=9))
    overload = ".src" if numbers else ""
    row(
        f"{name}_{overload}(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)",
        f"{doc[:-1]}, in place.",
        into,
        infer=rules.same,
        samples=samples,
        **_METHOD,
    )
    row(f"{name}{overload}(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", doc, fresh, PURE, infer=rules.same, samples=samples)
    if numbers:
        values = [Sample(X, 0, one, 2.5), Sample(A((3, 4), "int64"), 1, A((3, 2), "int64", 0, 3), 7)]
        row(
            f"{name}_.value(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)",
            f"{doc[:-1]}, in place.",
            value_into,
            infer=rules.same,
            samples=values,
            **_METHOD,
        )
        row(f"{name}.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", doc, value_fresh, PURE, infer=rules.same, samples=values)


_scatter("scatter", along.REPLACE, "Elements stored where an index says, along a dimension.", True)
_scatter("scatter_add", along.ADD, "Elements added where an index says, along a dimension.", False)


@kernel
def index_add_into(self: Tensor, dim: i64, index: Tensor, source: Tensor) -> Tensor:
    """Adds elements of a dimension to those an index names."""
    return along.index_add_into(self, dim, index, source, along.ADD)


@kernel
def index_copy_into(self: Tensor, dim: i64, index: Tensor, source: Tensor) -> Tensor:
    """Copies elements of a dimension to those an index names."""
    return along.index_add_into(self, dim, index, source, along.REPLACE)


@kernel
def index_fill_into(self: Tensor, dim: i64, index: Tensor, value: Any) -> Tensor:
    """Stores a number in the elements of a dimension that an index names."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    x = number(slot, cast(ptr[u8], room), value)
    check_fits(self.dtype, x)
    return along.index_fill(self, dim, index, x)


row(
    "index_add_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)",
    "Adds elements of a dimension to those an index names.",
    index_add_into,
    infer=rules.same,
    samples=[
        Sample(X, 0, INDEX, A((5, 4), seed=1), loose=9),
        Sample(X, 1, A((2,), "int64", 0, 3), A((3, 2), seed=1), loose=9),
        Sample(X, 0, INDEX, A((4, 4)), error=True),
    ],
    **_METHOD,
)
row(
    "index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)",
    "Copies elements of a dimension to those an index names.",
    index_copy_into,
    infer=rules.same,
    samples=[Sample(X, 0, A((1,), "int64", 0, 2), A((1, 4), seed=1))],
    **_METHOD,
)
row(
    "index_fill_.int_Scalar(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)",
    "Stores a number in the elements of a dimension that an index names.",
    index_fill_into,
    infer=rules.same,
    samples=[Sample(X, 0, INDEX, 7.5), Sample(X, 1, A((2,), "int64", 0, 3), 1)],
    **_METHOD,
)
