"""Rows of views, shapes and conversions."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import b1, cast, check, get, has, i64, kernel, local, ptr
from jitlang.registry import PURE, VIEW
from jitlang.tensor.kernels import splitting, views
from jitlang.tensor.kernels.creation import Ints, Tensor
from jitlang.tensor.kernels.tensors import alias, drop_ints, new_ints, retain
from jitlang.tensor.kernels.views import wrapped_dim
from jitlang.tensor.layout import CONTIGUOUS
from jitlang.tensor.ops import rules
from jitlang.tensor.ops.families import row
from jitlang.tensor.ops.rules import flattened, list_of_same_dtype, same, same_dtype, with_rank
from jitlang.tensor.ops.samples import A, Sample
from jitlang.types import TensorType

X, M, V, E = A((2, 3, 4)), A((4, 3), layout="t"), A((6,)), A((3, 4), layout="e")
NONE = A(())
_METHOD: Any = {"variants": ("method",)}
_FUNCTION: Any = {"variants": ("function",)}


def view(text: str, doc: str, native: Any, infer: Any, samples: Any, **more: Any) -> None:
    """A row whose result shares the first argument's memory."""
    row(text, doc, native, PURE, VIEW, infer=infer, samples=samples, **more)


@kernel
def ints(items: Ints) -> ptr[i64]:
    """The numbers of a list."""
    return cast(ptr[i64], items.data)


# ---- one dimension ------------------------------------------------------------------------------------------------


@kernel
def select_native(self: Tensor, dim: i64, index: i64) -> Tensor:
    """Element `index` of a dimension."""
    return views.select(self, dim, index)


@kernel
def select_item_native(self: Tensor, dim: i64, index: i64, place: i64) -> Tensor:
    """Element `index` of a dimension that an error calls `place`."""
    check(dim >= 0 and dim < self.rank, "IndexError", "there is no dimension {} to select from", dim)
    return views.select_item(self, dim, index, place)


@kernel
def slice_native(self: Tensor, dim: i64, start: Any, end: Any, step: i64) -> Tensor:
    """``start:end:step`` of a dimension."""
    first, last = 0, (1 << 63) - 1
    if has(start):
        first = get(start)
    if has(end):
        last = get(end)
    return views.slice_dim(self, dim, first, last, step)


@kernel
def narrow_native(self: Tensor, dim: i64, start: i64, length: i64) -> Tensor:
    """`length` elements of a dimension."""
    return views.narrow(self, dim, start, length)


@kernel
def unsqueeze_native(self: Tensor, dim: i64) -> Tensor:
    """A new dimension of size 1."""
    return views.unsqueeze(self, dim)


@kernel
def squeeze_all(self: Tensor) -> Tensor:
    """Without the dimensions of size 1."""
    return views.squeeze(self, -1)


@kernel
def squeeze_dim(self: Tensor, dim: i64) -> Tensor:
    """Without one dimension, if its size is 1."""
    return views.squeeze(self, 1 << wrapped_dim(dim, self.rank))


@kernel
def squeeze_dims(self: Tensor, dim: Ints) -> Tensor:
    """Without those of some dimensions whose size is 1."""
    return views.squeeze(self, views.dim_mask(dim, self.rank))


@kernel
def diagonal_native(self: Tensor, offset: i64, dim1: i64, dim2: i64) -> Tensor:
    """The diagonal of two dimensions."""
    return views.diagonal(self, offset, dim1, dim2)


@kernel
def unfold_native(self: Tensor, dimension: i64, size: i64, step: i64) -> Tensor:
    """Windows of a dimension."""
    return views.unfold(self, dimension, size, step)


_fewer = with_rank(lambda n: n - 1)
_more = with_rank(lambda n: n + 1)
view(
    "select.int(Tensor(a) self, int dim, int index) -> Tensor(a)",
    "One element of a dimension, which goes away.",
    select_native,
    _fewer,
    [Sample(X, 1, 2), Sample(M, -1, -1), Sample(X, 0, 2, error=True), Sample(NONE, 0, 0, error=True), Sample(X, 3, 0, error=True)],
)
view(
    "select.item(Tensor(a) self, int dim, int index, int place) -> Tensor(a)",
    "One element of a dimension in front of which a subscript has taken others away: errors number it as the user does.",
    select_item_native,
    _fewer,
    [Sample(X, 1, 2, 2), Sample(M, 0, -1, 1), Sample(X, 0, 2, 1, error=True), Sample(X, 3, 0, 4, error=True)],
    variants=(),
    extra={"oracle": lambda x, dim, index, place: x.select(dim, index)},
)
view(
    "slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor(a)",
    "A range of a dimension.",
    slice_native,
    same,
    [Sample(X, 1, 0, 2), Sample(X, 2, -3, -1), Sample(X, 2, 0, 10, 2), Sample(V, 0, 4, 2), Sample(V, 0, 5, None, 3), Sample(V, 0, None, None, 0, error=True)],
    extra={"oracle": "ops.aten.slice.Tensor"},
)
view(
    "narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)",
    "Some elements of a dimension.",
    narrow_native,
    same,
    [Sample(X, 2, 1, 2), Sample(X, -1, -3, 2), Sample(X, 2, 3, 2, error=True), Sample(X, 0, 0, 0), Sample(X, 0, 5, 1, error=True)],
)
view(
    "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
    "A new dimension of size 1.",
    unsqueeze_native,
    _more,
    [Sample(X, 1), Sample(M, -1), Sample(NONE, 0), Sample(X, 4, error=True), Sample(E, 0)],
)
view(
    "squeeze(Tensor(a) self) -> Tensor(a)",
    "Without the dimensions of size 1.",
    squeeze_all,
    same_dtype,
    [Sample(A((1, 3, 1))), Sample(X), Sample(A((1, 1))), Sample(NONE)],
)
view(
    "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
    "Without one dimension, if its size is 1.",
    squeeze_dim,
    same_dtype,
    [Sample(A((1, 3, 1)), 0), Sample(X, 1), Sample(NONE, 0), Sample(X, 3, error=True)],
)
view(
    "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
    "Without those of some dimensions whose size is 1.",
    squeeze_dims,
    same_dtype,
    [Sample(A((1, 3, 1)), (0, 2)), Sample(A((1, 3, 1)), (0, 1)), Sample(A((1, 3)), (0, 0), error=True)],
)
view(
    "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
    "The diagonal of two dimensions.",
    diagonal_native,
    _fewer,
    [Sample(X), Sample(X, 1), Sample(X, -1, 1, 2), Sample(M, 5), Sample(V, error=True), Sample(X, 0, 1, 1, error=True)],
)
view(
    "unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
    "Windows of a dimension.",
    unfold_native,
    _more,
    [Sample(V, 0, 3, 1), Sample(X, 2, 2, 2), Sample(V, 0, 7, 1, error=True), Sample(V, 0, 2, 0, error=True)],
    **_METHOD,
)


# ---- several dimensions ---------------------------------------------------------------------------------------------


@kernel
def transpose_native(self: Tensor, dim0: i64, dim1: i64) -> Tensor:
    """Two dimensions swapped."""
    return views.transpose(self, dim0, dim1)


@kernel
def t_native(self: Tensor) -> Tensor:
    """A matrix transposed."""
    check(self.rank <= 2, "RuntimeError", "t() expects a tensor with <= 2 dimensions, but self is {}D", self.rank)
    if self.rank < 2:
        return alias(self)
    return views.transpose(self, 0, 1)


@kernel
def reverse_native(self: Tensor) -> Tensor:
    """All dimensions in reverse order."""
    return views.reverse_dims(self)


@kernel
def matrix_transpose(self: Tensor) -> Tensor:
    """The last two dimensions swapped."""
    check(self.rank >= 2, "RuntimeError", "tensor.mT is only supported on matrices or batches of matrices. Got {}-D tensor.", self.rank)
    return views.transpose(self, -2, -1)


@kernel
def permute_native(self: Tensor, dims: Ints) -> Tensor:
    """The dimensions in another order."""
    return views.permute(self, dims)


@kernel
def movedim_native(self: Tensor, source: i64, destination: i64) -> Tensor:
    """One dimension moved to another place."""
    a, b = wrapped_dim(source, self.rank), wrapped_dim(destination, self.rank)
    order = new_ints(self.rank)
    numbers = ints(order)
    at = 0
    for k in range(self.rank):
        if k == b:
            numbers[k] = a
        else:
            if at == a:
                at += 1
            numbers[k] = at
            at += 1
    result = views.permute(self, order)
    drop_ints(order)
    return result


@kernel
def expand_native(self: Tensor, size: Ints, implicit: b1) -> Tensor:
    """Dimensions of size 1 repeated without copying."""
    return views.expand(self, size.length, ints(size))


@kernel
def broadcast_to_native(self: Tensor, size: Ints) -> Tensor:
    """Dimensions of size 1 repeated without copying."""
    return views.expand(self, size.length, ints(size))


@kernel
def expand_as_native(self: Tensor, other: Tensor) -> Tensor:
    """Expanded to the shape of another."""
    return views.expand(self, other.rank, other.sizes)


@kernel
def view_native(self: Tensor, size: Ints) -> Tensor:
    """Other sizes without copying."""
    return views.view(self, size.length, ints(size))


@kernel
def view_as_native(self: Tensor, other: Tensor) -> Tensor:
    """The shape of another, without copying."""
    return views.view(self, other.rank, other.sizes)


@kernel
def reshape_native(self: Tensor, shape: Ints) -> Tensor:
    """Other sizes, copying if need be."""
    return views.reshape(self, shape.length, ints(shape))


@kernel
def reshape_as_native(self: Tensor, other: Tensor) -> Tensor:
    """The shape of another, copying if need be."""
    return views.reshape(self, other.rank, other.sizes)


@kernel
def flatten_native(self: Tensor, start_dim: i64, end_dim: i64) -> Tensor:
    """Some dimensions as one."""
    return views.flatten(self, start_dim, end_dim)


@kernel
def ravel_native(self: Tensor) -> Tensor:
    """All elements in one dimension."""
    size = local(i64, 1)
    size[0] = -1
    if self.rank == 1 and self.flags & CONTIGUOUS != 0:
        retain(self)
        return self
    size[0] = self.numel
    return views.reshape(self, 1, size)


@kernel
def unflatten_native(self: Tensor, dim: i64, sizes: Ints) -> Tensor:
    """One dimension as several."""
    return views.unflatten(self, dim, sizes)


@kernel
def as_strided_native(self: Tensor, size: Ints, stride: Ints, storage_offset: Any) -> Tensor:
    """Any sizes and strides over the same memory."""
    check(size.length == stride.length, "RuntimeError", "mismatch in length of strides and shape")
    offset = views.start_of(self)
    if has(storage_offset):
        offset = get(storage_offset)
    return views.as_strided(self, size.length, ints(size), ints(stride), offset)


def _listed(at: int) -> Any:
    def infer(types: Any, constants: Any) -> Any:
        first = types[0]
        return [TensorType(first.dtype if isinstance(first, TensorType) else None, rules.length_of(at)(types, constants))]

    return infer


def _as_other(types: Any, _: Any) -> Any:
    return [TensorType(types[0].dtype, types[1].rank)]


_vector = with_rank(lambda _: 1)
view(
    "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
    "Two dimensions swapped.",
    transpose_native,
    same,
    [Sample(X, 0, 2), Sample(X, -1, 1), Sample(NONE, 0, -1), Sample(X, 0, 3, error=True)],
)
view("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", "Two dimensions swapped.", transpose_native, same, [Sample(X, 0, 2)])
view("t(Tensor(a) self) -> Tensor(a)", "A matrix transposed.", t_native, same, [Sample(M), Sample(A((2, 3))), Sample(V), Sample(X, error=True)])
view(
    "numpy_T(Tensor(a) self) -> Tensor(a)",
    "All dimensions in reverse order.",
    reverse_native,
    same,
    [Sample(A((2, 3)))],
    **_METHOD,
    extra={"oracle": lambda t: t.T},
)
view("mT(Tensor(a) self) -> Tensor(a)", "The last two dimensions swapped.", matrix_transpose, same, [Sample(X)], **_METHOD, extra={"oracle": lambda t: t.mT})
view(
    "permute(Tensor(a) self, int[] dims) -> Tensor(a)",
    "The dimensions in another order.",
    permute_native,
    same,
    [
        Sample(X, [2, 0, 1]),
        Sample(X, [-1, 0, 1]),
        Sample(X, [0, 0, 1], error=True),
        Sample(X, [0, 1], error=True),
        Sample(X, [0, 1, 5], error=True),
        Sample(NONE, []),
    ],
)
view(
    "movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
    "One dimension moved to another place.",
    movedim_native,
    same,
    [Sample(X, 0, 2), Sample(X, 2, 0), Sample(X, -1, 1), Sample(X, 1, 1)],
)
view(
    "expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)",
    "Dimensions of size 1 repeated without copying.",
    expand_native,
    _listed(1),
    [
        Sample(A((3, 1)), [3, 4]),
        Sample(A((3, 1)), [2, -1, 4]),
        Sample(NONE, [2, 3]),
        Sample(V, [2, 5], error=True),
        Sample(X, [3], error=True),
        Sample(A((3, 1)), [-1, 4]),
    ],
    **_METHOD,
)
view(
    "broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)",
    "Dimensions of size 1 repeated without copying.",
    broadcast_to_native,
    _listed(1),
    [Sample(A((3, 1)), [2, 3, 4])],
)
view(
    "expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    "Expanded to the shape of another.",
    expand_as_native,
    _as_other,
    [Sample(A((3, 1)), A((2, 3, 4)))],
    **_METHOD,
)
view(
    "view(Tensor(a) self, int[] size) -> Tensor(a)",
    "Other sizes without copying.",
    view_native,
    _listed(1),
    [
        Sample(X, [6, 4]),
        Sample(X, [-1]),
        Sample(X, [2, -1, 2]),
        Sample(A((4, 3), layout="t"), [12], error=True),
        Sample(X, [5, -1], error=True),
        Sample(X, [7], error=True),
        Sample(A((0, 3)), [3, 0]),
        Sample(A((0, 3)), [-1, 0], error=True),
        Sample(X, [-1, -1], error=True),
        Sample(NONE, [1, 1]),
        Sample(A((1,)), []),
        Sample(A((2, 3, 4), layout="e"), [2, 12]),
    ],
    **_METHOD,
)
view(
    "view_as(Tensor(a) self, Tensor other) -> Tensor(a)", "The shape of another, without copying.", view_as_native, _as_other, [Sample(V, A((2, 3)))], **_METHOD
)
view(
    "reshape(Tensor(a) self, int[] shape) -> Tensor(a)",
    "Other sizes, copying if need be.",
    reshape_native,
    _listed(1),
    [Sample(X, [6, 4]), Sample(M, [12]), Sample(M, [3, 2, 2]), Sample(M, [-1, 2]), Sample(X, [7], error=True), Sample(NONE, [1])],
)
view(
    "reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    "The shape of another, copying if need be.",
    reshape_as_native,
    _as_other,
    [Sample(M, A((3, 4)))],
    **_METHOD,
)
view(
    "flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
    "Some dimensions as one.",
    flatten_native,
    flattened,
    [Sample(X), Sample(X, 1), Sample(X, 0, 1), Sample(M), Sample(NONE), Sample(X, 2, 1, error=True), Sample(V)],
)
view("ravel(Tensor(a) self) -> Tensor(a)", "All elements in one dimension.", ravel_native, _vector, [Sample(X), Sample(M), Sample(NONE), Sample(V)])
view(
    "unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a)",
    "One dimension as several.",
    unflatten_native,
    same_dtype,
    [Sample(A((2, 6)), 1, [2, 3]), Sample(A((2, 6)), -1, [-1, 2]), Sample(A((2, 6)), 1, [4, 2], error=True)],
)
view(
    "as_strided(Tensor(a) self, int[] size, int[] stride, int? storage_offset=None) -> Tensor(a)",
    "Any sizes and strides over the same memory.",
    as_strided_native,
    _listed(1),
    [Sample(X, [2, 2], [1, 2]), Sample(X, [3, 4], [4, 1], 12), Sample(X, [3], [10], 5, error=True), Sample(X, [2], [-1], error=True)],
)


# ---- lists of views -------------------------------------------------------------------------------------------------


@kernel
def unbind_native(self: Tensor, dim: i64) -> Ints:
    """The elements of a dimension."""
    return splitting.unbind(self, dim)


@kernel
def split_native(self: Tensor, split_size: i64, dim: i64) -> Ints:
    """Parts of one size."""
    return splitting.split(self, split_size, dim)


@kernel
def split_sizes_native(self: Tensor, split_size: Ints, dim: i64) -> Ints:
    """Parts of given sizes."""
    return splitting.split_sizes(self, split_size, dim)


@kernel
def chunk_native(self: Tensor, chunks: i64, dim: i64) -> Ints:
    """A number of parts."""
    return splitting.chunk(self, chunks, dim)


@kernel
def tensor_split_native(self: Tensor, sections: i64, dim: i64) -> Ints:
    """A number of parts of nearly one size."""
    return splitting.tensor_split(self, sections, dim)


view(
    "unbind.int(Tensor(a) self, int dim=0) -> Tensor(a)[]",
    "The elements of a dimension.",
    unbind_native,
    list_of_same_dtype,
    [Sample(X), Sample(X, -1), Sample(V), Sample(NONE, error=True)],
)
view(
    "split.Tensor(Tensor(a) self, int split_size, int dim=0) -> Tensor(a)[]",
    "Parts of one size.",
    split_native,
    list_of_same_dtype,
    [Sample(V, 4), Sample(X, 2, 2), Sample(V, 10), Sample(V, 0, error=True), Sample(V, -1, error=True)],
)
view(
    "split.sizes(Tensor(a) self, int[] split_size, int dim=0) -> Tensor(a)[]",
    "Parts of given sizes.",
    split_sizes_native,
    list_of_same_dtype,
    [Sample(V, [1, 2, 3]), Sample(X, [1, 3], 2), Sample(V, [1, 2], error=True), Sample(V, [8, -2], error=True)],
)
view(
    "split_with_sizes(Tensor(a) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
    "Parts of given sizes.",
    split_sizes_native,
    list_of_same_dtype,
    [Sample(V, [1, 2, 3])],
)
view(
    "chunk(Tensor(a) self, int chunks, int dim=0) -> Tensor(a)[]",
    "A number of parts.",
    chunk_native,
    list_of_same_dtype,
    [Sample(V, 4), Sample(X, 2, -1), Sample(A((0, 2)), 3), Sample(V, 0, error=True)],
)
view(
    "tensor_split.sections(Tensor(a) self, int sections, int dim=0) -> Tensor(a)[]",
    "A number of parts of nearly one size.",
    tensor_split_native,
    list_of_same_dtype,
    [Sample(V, 4), Sample(X, 3, 2), Sample(V, 0, error=True)],
)
