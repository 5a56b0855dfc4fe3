"""Rows that ask a tensor for its sizes, its dtype, or its only element."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import b1, cast, check, f64, i64, kernel, ptr
from jitlang.registry import PURE, VIEW
from jitlang.tensor.kernels import views
from jitlang.tensor.kernels.creation import Ints, Tensor
from jitlang.tensor.kernels.iteration import same_shape
from jitlang.tensor.kernels.scalars import load_float, load_int
from jitlang.tensor.kernels.tensors import new_ints
from jitlang.tensor.kernels.views import wrapped_dim
from jitlang.tensor.layout import BOOL, CONTIGUOUS, UINT8
from jitlang.tensor.ops.families import row
from jitlang.tensor.ops.samples import ALL, A, Sample
from jitlang.tensor.promotion import is_float, item_bytes

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
ask("nelement(Tensor self) -> int", "The number of elements.", numel_native, [Sample(X)], **_METHOD)
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
