"""Rows that copy, make dense, and convert to another dtype or device."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import b1, cast, check, get, has, i64, kernel, ptr
from jitlang.registry import PURE, VIEW
from jitlang.tensor.kernels import creation as make
from jitlang.tensor.kernels import views
from jitlang.tensor.kernels.creation import Ints, Tensor
from jitlang.tensor.kernels.pointwise import assign
from jitlang.tensor.kernels.tensors import alias, release, retain
from jitlang.tensor.layout import BOOL, FLOAT32, FLOAT64, INT32, INT64, UINT8
from jitlang.tensor.ops import rules
from jitlang.tensor.ops.families import row
from jitlang.tensor.ops.rules import same
from jitlang.tensor.ops.samples import ALL, A, D, Sample
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
def positive(self: Tensor) -> Tensor:
    """The tensor itself, which is of numbers."""
    check(self.dtype != BOOL, "RuntimeError", "The `+` operator, on a bool tensor is not supported.")
    return itself(self)


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
view("positive(Tensor(a) self) -> Tensor(a)", "The tensor itself.", positive, same, [Sample(A((2, 3), d), error=d == "bool") for d in ALL])
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
    make.check_device(device)
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
