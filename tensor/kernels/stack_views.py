"""Views on the stack: built up dimension by dimension, used at once, never counted. In: a tensor. Out: another view of its memory."""

from __future__ import annotations

from jitlang.frontend.kernel import cast, check, i64, kernel, memcpy, null, ptr, sizeof, u8
from jitlang.tensor.layout import HEAD, MAX_RANK, TensorImpl

Tensor = ptr[TensorImpl]
STACK = 1 << 40  # references of a view on the stack: nothing that counts them ever frees it


@kernel
def begin_view(view: Tensor, self: Tensor) -> None:
    """A view without dimensions of the tensor's first element."""
    memcpy(cast(ptr[u8], view), cast(ptr[u8], self), sizeof(TensorImpl))
    view.references = STACK
    view.python = null(ptr[u8])
    view.flags = self.flags & ~HEAD
    view.rank = 0


@kernel
def put_dim(view: Tensor, size: i64, stride: i64) -> None:
    """Adds a dimension to the view."""
    check(view.rank < MAX_RANK, "RuntimeError", "a tensor has at most 8 dimensions, not {}", view.rank + 1)
    view.sizes[view.rank] = size
    view.strides[view.rank] = stride
    view.rank = view.rank + 1


@kernel
def keep_dims(view: Tensor, self: Tensor, first: i64, count: i64) -> None:
    """Adds dimensions of the tensor to the view as they are."""
    for d in range(first, first + count):
        put_dim(view, self.sizes[d], self.strides[d])


@kernel
def put_new_dim(view: Tensor, self: Tensor, before: i64) -> None:
    """Adds a dimension of size 1 in front of dimension `before` of the tensor."""
    stride = 1
    if before < self.rank:
        stride = self.sizes[before] * self.strides[before]
    put_dim(view, 1, stride)
