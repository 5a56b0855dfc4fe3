"""Rows of views, shapes and conversions."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import b1, cast, check, f64, get, has, i64, kernel, local, ptr
from jitlang.registry import PURE, VIEW
from jitlang.tensor.kernels import creation as make
from jitlang.tensor.kernels import views
from jitlang.tensor.kernels.creation import Ints, Tensor
from jitlang.tensor.kernels.iteration import same_shape
from jitlang.tensor.kernels.pointwise import assign
from jitlang.tensor.kernels.scalars import load_float, load_int
from jitlang.tensor.kernels.tensors import alias, drop_ints, new_ints, release, retain
from jitlang.tensor.kernels.views import wrapped_dim
from jitlang.tensor.layout import BOOL, CONTIGUOUS, FLOAT32, FLOAT64, INT32, INT64, UINT8
from jitlang.tensor.ops import rules
from jitlang.tensor.ops.families import row
from jitlang.tensor.ops.rules import list_of_same_dtype, same, same_dtype, with_rank
from jitlang.tensor.ops.samples import ALL, A, D, Sample
from jitlang.tensor.promotion import is_float, item_bytes
from jitlang.types import TensorType, dtype_coded

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
    same_dtype,
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
    return views.unbind(self, dim)


@kernel
def split_native(self: Tensor, split_size: i64, dim: i64) -> Ints:
    """Parts of one size."""
    return views.split(self, split_size, dim)


@kernel
def split_sizes_native(self: Tensor, split_size: Ints, dim: i64) -> Ints:
    """Parts of given sizes."""
    return views.split_sizes(self, split_size, dim)


@kernel
def chunk_native(self: Tensor, chunks: i64, dim: i64) -> Ints:
    """A number of parts."""
    return views.chunk(self, chunks, dim)


@kernel
def tensor_split_native(self: Tensor, sections: i64, dim: i64) -> Ints:
    """A number of parts of nearly one size."""
    return views.tensor_split(self, sections, dim)


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


# ---- the same elements ----------------------------------------------------------------------------------------------


@kernel
def alias_native(self: Tensor) -> Tensor:
    """A second view of the same elements."""
    return alias(self)


@kernel
def contiguous_native(self: Tensor) -> Tensor:
    """Row by row without gaps, copying if need be."""
    return views.contiguous(self)


@kernel
def clone_native(self: Tensor) -> Tensor:
    """A copy."""
    t = make.like(self, self.dtype)
    copied = assign(t, self)
    release(copied)
    return t


@kernel
def itself(self: Tensor) -> Tensor:
    """The tensor itself."""
    retain(self)
    return self


@kernel
def copy_native(self: Tensor, src: Tensor, non_blocking: b1) -> Tensor:
    """Copies the elements of another tensor, broadcast and converted."""
    return assign(self, src)


view(
    "alias(Tensor(a) self) -> Tensor(a)",
    "A second view of the same elements.",
    alias_native,
    same,
    [Sample(X)],
    **_METHOD,
    extra={"oracle": lambda t: t.view_as(t)},
)
view("detach(Tensor(a) self) -> Tensor(a)", "The same elements outside of any record of gradients.", alias_native, same, [Sample(X)])
view("positive(Tensor(a) self) -> Tensor(a)", "The tensor itself.", itself, same, [Sample(A((2, 3), d)) for d in ALL if d != "bool"])
view(
    "contiguous(Tensor(a) self) -> Tensor(a)",
    "Row by row without gaps, copying if need be.",
    contiguous_native,
    same,
    [Sample(X), Sample(M), Sample(E)],
    **_METHOD,
)
row(
    "clone(Tensor self) -> Tensor",
    "A copy.",
    clone_native,
    PURE,
    infer=same,
    samples=[Sample(A((2, 3), d)) for d in ALL] + [Sample(M), Sample(E), Sample(A((5,), layout="s"))],
)
_COPIES = [Sample(A((3, 4)), A((4,), d, 0, seed=1)) for d in ALL] + [
    Sample(A((4, 3), "int64", layout="t"), A((4, 3))),
    Sample(V, A((5,)), error=True),
    Sample(A((4,)), A((3, 4)), error=True),
]
row(
    "copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
    "Copies the elements of another tensor.",
    copy_native,
    infer=same,
    samples=_COPIES,
    **_METHOD,
)


# ---- dtypes -------------------------------------------------------------------------------------------------------


@kernel
def to_dtype(self: Tensor, dtype: i64, non_blocking: b1, copy: b1) -> Tensor:
    """In a dtype."""
    return in_dtype(self, dtype, copy)


@kernel
def in_dtype(self: Tensor, dtype: i64, copy: Any) -> Tensor:
    """In a dtype, copying if need be."""
    if self.dtype == dtype and not copy:
        retain(self)
        return self
    t = make.like(self, dtype)
    written = assign(t, self)
    release(written)
    return t


@kernel
def to_device(self: Tensor, device: Any, dtype: Any, non_blocking: b1, copy: b1) -> Tensor:
    """On a device, perhaps in another dtype."""
    code = self.dtype
    if has(dtype):
        code = get(dtype)
    return in_dtype(self, code, copy)


@kernel
def to_other(self: Tensor, other: Tensor, non_blocking: b1, copy: b1) -> Tensor:
    """In the dtype of another."""
    return in_dtype(self, other.dtype, copy)


@kernel
def type_as_native(self: Tensor, other: Tensor) -> Tensor:
    """In the dtype of another."""
    return in_dtype(self, other.dtype, False)


_CONVERSIONS = [Sample(A((2, 3), d, 0), D(e)) for d in ALL for e in ALL] + [Sample(M, D("float64")), Sample(E, D("int64")), Sample(X, D("float32"))]
row(
    "to.dtype(Tensor(a) self, dtype dtype, bool non_blocking=False, bool copy=False) -> Tensor(a)",
    "In a dtype.",
    to_dtype,
    PURE,
    infer=rules.converted(1),
    samples=_CONVERSIONS,
    **_METHOD,
)
row(
    "to.device(Tensor(a) self, device device, dtype? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(a)",
    "On a device.",
    to_device,
    PURE,
    infer=rules.converted(2),
    samples=[Sample(X, "cpu"), Sample(X, "cpu", D("float64")), Sample(X, "cpu", copy=True)],
    **_METHOD,
)
row(
    "to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False) -> Tensor(a)",
    "In the dtype of another.",
    to_other,
    PURE,
    infer=lambda types, _: [TensorType(types[1].dtype, types[0].rank)],
    samples=[Sample(X, A((1,), "int64"))],
    **_METHOD,
)
row(
    "type_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    "In the dtype of another.",
    type_as_native,
    PURE,
    infer=lambda types, _: [TensorType(types[1].dtype, types[0].rank)],
    samples=[Sample(X, A((1,), "int64"))],
    **_METHOD,
)


def _conversion(name: str, code: int) -> None:
    @kernel
    def native(self: Tensor) -> Tensor:
        return in_dtype(self, code, False)

    dtype = dtype_coded(code)
    row(
        f"{name}(Tensor(a) self) -> Tensor(a)",
        f"As {dtype.name}.",
        native,
        PURE,
        infer=rules.in_dtype(dtype),
        samples=[Sample(A((2, 3), d, 0)) for d in ALL],
        **_METHOD,
    )


for _name, _code in (("float", FLOAT32), ("double", FLOAT64), ("long", INT64), ("int", INT32), ("bool", BOOL), ("byte", UINT8)):
    _conversion(_name, _code)


row("cpu(Tensor(a) self) -> Tensor(a)", "On the CPU.", itself, PURE, infer=same, samples=[Sample(X)], **_METHOD)


# ---- questions ------------------------------------------------------------------------------------------------------


@kernel
def size_list(self: Tensor) -> Ints:
    """The sizes."""
    made = new_ints(self.rank)
    for d in range(self.rank):
        ints(made)[d] = self.sizes[d]
    return made


@kernel
def size_of_dim(self: Tensor, dim: i64) -> i64:
    """One size."""
    check(self.rank > 0, "IndexError", "Dimension specified as {} but tensor has no dimensions", dim)
    return self.sizes[wrapped_dim(dim, self.rank)]


@kernel
def stride_list(self: Tensor) -> Ints:
    """The strides."""
    made = new_ints(self.rank)
    for d in range(self.rank):
        ints(made)[d] = self.strides[d]
    return made


@kernel
def stride_of_dim(self: Tensor, dim: i64) -> i64:
    """One stride."""
    check(self.rank > 0, "IndexError", "Dimension specified as {} but tensor has no dimensions", dim)
    return self.strides[wrapped_dim(dim, self.rank)]


@kernel
def numel_native(self: Tensor) -> i64:
    """The number of elements."""
    return self.numel


@kernel
def dim_native(self: Tensor) -> i64:
    """The number of dimensions."""
    return self.rank


@kernel
def len_native(self: Tensor) -> i64:
    """The size of the first dimension."""
    check(self.rank > 0, "TypeError", "len() of a 0-d tensor")
    return self.sizes[0]


@kernel
def is_contiguous_native(self: Tensor) -> b1:
    """Whether elements stand row by row without gaps."""
    return self.flags & CONTIGUOUS != 0


@kernel
def is_floating_point_native(self: Tensor) -> b1:
    """Whether elements are floating-point numbers."""
    return is_float(self.dtype) == 1


@kernel
def is_complex_native(self: Tensor) -> b1:
    """Whether elements are complex numbers."""
    return False


@kernel
def is_signed_native(self: Tensor) -> b1:
    """Whether elements may be negative."""
    return self.dtype != BOOL and self.dtype != UINT8


@kernel
def element_size_native(self: Tensor) -> i64:
    """Bytes of one element."""
    return item_bytes(self.dtype)


@kernel
def storage_offset_native(self: Tensor) -> i64:
    """The place of the first element in the memory."""
    return views.start_of(self)


@kernel
def dtype_native(self: Tensor) -> i64:
    """The dtype."""
    return self.dtype


@kernel
def same_size_native(self: Tensor, other: Tensor) -> b1:
    """Whether shapes are equal."""
    return same_shape(self, other)


@kernel
def one_element(self: Tensor) -> None:
    """Refuses tensors that are no single number."""
    check(self.numel == 1, "ValueError", "only one element tensors can be converted to Python scalars")


@kernel
def item_float(self: Tensor) -> f64:
    """The only element as a float."""
    one_element(self)
    return load_float(self.data, self.dtype)


@kernel
def item_int(self: Tensor) -> i64:
    """The only element as an int, cut if it is a float."""
    one_element(self)
    if is_float(self.dtype) == 1:
        return to_int(load_float(self.data, self.dtype))
    return load_int(self.data, self.dtype)


@kernel
def item_bool(self: Tensor) -> b1:
    """Whether the only element is not zero."""
    if self.numel != 1:
        check(self.numel != 0, "RuntimeError", "Boolean value of Tensor with no values is ambiguous")
        check(self.numel == 1, "RuntimeError", "Boolean value of Tensor with more than one value is ambiguous")
    if is_float(self.dtype) == 1:
        return load_float(self.data, self.dtype) != 0.0
    return load_int(self.data, self.dtype) != 0


@kernel
def to_int(x: f64) -> i64:
    """A float cut to an int, with Python's errors."""
    check(x == x, "ValueError", "cannot convert float NaN to integer")
    check(x - x == 0.0, "OverflowError", "cannot convert float infinity to integer")
    check(x >= -9223372036854775808.0 and x < 9223372036854775808.0, "OverflowError", "the value does not fit in 64 bits")
    return i64(x)


def ask(text: str, doc: str, native: Any, samples: Any, **more: Any) -> None:
    """A row that returns no tensor."""
    row(text, doc, native, PURE, samples=samples, **more)


ask("size(Tensor self) -> int[]", "The sizes.", size_list, [Sample(X), Sample(NONE)], **_METHOD)
ask(
    "size.int(Tensor self, int dim) -> int",
    "One size.",
    size_of_dim,
    [Sample(X, 1), Sample(X, -1), Sample(X, 3, error=True), Sample(NONE, 0, error=True)],
    **_METHOD,
)
ask("stride(Tensor self) -> int[]", "The strides.", stride_list, [Sample(X), Sample(M)], **_METHOD)
ask("stride.int(Tensor self, int dim) -> int", "One stride.", stride_of_dim, [Sample(X, 1), Sample(X, 3, error=True)], **_METHOD)
ask("numel(Tensor self) -> int", "The number of elements.", numel_native, [Sample(X), Sample(NONE), Sample(A((0, 3)))])
ask("dim(Tensor self) -> int", "The number of dimensions.", dim_native, [Sample(X), Sample(NONE)], **_METHOD)
ask("ndimension(Tensor self) -> int", "The number of dimensions.", dim_native, [Sample(X)], **_METHOD)
ask("len(Tensor self) -> int", "The size of the first dimension.", len_native, [Sample(X), Sample(NONE, error=True)], variants=(), extra={"oracle": len})
ask(
    "is_contiguous(Tensor self) -> bool",
    "Whether elements stand row by row without gaps.",
    is_contiguous_native,
    [Sample(X), Sample(M), Sample(A((0, 3)))],
    **_METHOD,
)
ask("is_floating_point(Tensor self) -> bool", "Whether elements are floating-point numbers.", is_floating_point_native, [Sample(A((2,), d)) for d in ALL])
ask("is_complex(Tensor self) -> bool", "Whether elements are complex numbers.", is_complex_native, [Sample(X)])
ask("is_signed(Tensor self) -> bool", "Whether elements may be negative.", is_signed_native, [Sample(A((2,), d)) for d in ALL])
ask("element_size(Tensor self) -> int", "Bytes of one element.", element_size_native, [Sample(A((2,), d)) for d in ALL], **_METHOD)
ask("storage_offset(Tensor self) -> int", "The place of the first element in the memory.", storage_offset_native, [Sample(X)], **_METHOD)
ask("dtype(Tensor self) -> dtype", "The dtype.", dtype_native, [Sample(A((2,), d)) for d in ALL], variants=(), extra={"oracle": lambda t: t.dtype})
ask("is_same_size(Tensor self, Tensor other) -> bool", "Whether shapes are equal.", same_size_native, [Sample(X, X), Sample(X, V)])
_ONE = [Sample(A((), d, 1)) for d in ALL] + [Sample(A((1, 1))), Sample(V, error=True)]
ask("item_float(Tensor self) -> float", "The only element as a float.", item_float, _ONE, variants=(), extra={"oracle": float})
ask("item_int(Tensor self) -> int", "The only element as an int.", item_int, _ONE, variants=(), extra={"oracle": int})
ask(
    "item_bool(Tensor self) -> bool",
    "Whether the only element is not zero.",
    item_bool,
    [*_ONE, Sample(A((0,)), error=True)],
    variants=(),
    extra={"oracle": bool},
)
