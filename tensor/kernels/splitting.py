"""Lists of views: a tensor cut along one of its dimensions."""

from __future__ import annotations

from jitlang.codegen.library.layout import List
from jitlang.frontend.kernel import cast, check, fail, i64, kernel, maximum, minimum, ptr, text
from jitlang.tensor.kernels.tensors import int_at, list_text, new_list, put_tensor
from jitlang.tensor.kernels.views import select, slice_dim, wrapped_dim
from jitlang.tensor.layout import TensorImpl

Tensor = ptr[TensorImpl]
Ints = ptr[List]


@kernel(extern=True)
def unbind(self: Tensor, dim: i64) -> Ints:
    """The elements of a dimension."""
    check(self.rank > 0, "IndexError", "Dimension specified as {} but tensor has no dimensions", dim)
    d = wrapped_dim(dim, self.rank)
    count = self.sizes[d]
    made = new_list(count)
    for i in range(count):
        put_tensor(made, i, select(self, d, i))
    return made


@kernel(extern=True)
def split(self: Tensor, size: i64, dim: i64) -> Ints:
    """Parts of `size` elements of a dimension; the last one may be smaller."""
    check(self.rank > 0, "RuntimeError", "split expects at least a 1-dimensional tensor")
    check(size >= 0, "RuntimeError", "split expects split_size be non-negative, but got split_size={}", size)
    d = wrapped_dim(dim, self.rank)
    length = self.sizes[d]
    check(size > 0 or length == 0, "RuntimeError", "split_size can only be 0 if dimension size is 0, but got dimension size of {}", length)
    step = maximum(size, 1)
    count = maximum(length // step + (1 if length % step != 0 else 0), 1)
    made = new_list(count)
    for i in range(count):
        put_tensor(made, i, slice_dim(self, d, i * step, minimum(length, i * step + step) if step < 1 << 60 else length, 1))
    return made


@kernel(extern=True)
def split_sizes(self: Tensor, sizes: Ints, dim: i64) -> Ints:
    """Parts of the given sizes of a dimension."""
    check(self.rank > 0, "RuntimeError", "split expects at least a 1-dimensional tensor")
    d = wrapped_dim(dim, self.rank)
    total = 0
    for i in range(sizes.length):
        check(
            int_at(sizes, i) >= 0,
            "RuntimeError",
            "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={}",
            text(list_text(sizes.length, cast(ptr[i64], sizes.data))),
        )
        total = minimum(total + int_at(sizes, i), 1 << 60)
    if total != self.sizes[d]:
        fail(
            "RuntimeError",
            "split_with_sizes expects split_sizes to sum exactly to {} (input tensor's size at dimension {}), but got split_sizes={}",
            self.sizes[d],
            d,
            text(list_text(sizes.length, cast(ptr[i64], sizes.data))),
        )
    made = new_list(sizes.length)
    start = 0
    for i in range(sizes.length):
        stop = start + int_at(sizes, i)
        put_tensor(made, i, slice_dim(self, d, start, stop, 1))
        start = stop
    return made


@kernel(extern=True)
def chunk(self: Tensor, chunks: i64, dim: i64) -> Ints:
    """At most `chunks` parts of a dimension, of one size but for the last."""
    check(self.rank > 0, "RuntimeError", "chunk expects at least a 1-dimensional tensor")
    check(chunks > 0, "RuntimeError", "chunk expects `chunks` to be greater than 0, got: {}", chunks)
    d = wrapped_dim(dim, self.rank)
    length = self.sizes[d]
    size = length // chunks + (1 if length % chunks != 0 else 0)
    if size == 0:
        made = new_list(minimum(chunks, 1 << 30))
        for i in range(made.length):
            put_tensor(made, i, slice_dim(self, d, 0, 0, 1))
        return made
    return split(self, size, d)


@kernel(extern=True)
def tensor_split(self: Tensor, sections: i64, dim: i64) -> Ints:
    """`sections` parts of a dimension whose sizes differ by at most one."""
    check(self.rank > 0, "RuntimeError", "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    check(sections > 0, "RuntimeError", "number of sections must be larger than 0, got {}", sections)
    d = wrapped_dim(dim, self.rank)
    length = self.sizes[d]
    made = new_list(sections)
    start = 0
    for i in range(sections):
        stop = start + length // sections + (1 if i < length % sections else 0)
        put_tensor(made, i, slice_dim(self, d, start, stop, 1))
        start = stop
    return made
