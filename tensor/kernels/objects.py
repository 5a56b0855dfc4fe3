"""Tensors and the Python objects that belong to them: the object of a tensor, and what keeps foreign memory alive.

Foreign memory's storage holds a reference, and gives it up natively: no Python code of ours runs then, as a tensor may go while an exception is on its way.
"""

from __future__ import annotations

from jitlang.codegen.library.python_api import O, decref, give_gil, is_subtype, take_gil
from jitlang.frontend.kernel import call_pointer, cast, kernel, null, ptr, shared, struct
from jitlang.tensor.layout import TensorImpl

Tensor = ptr[TensorImpl]
AT = object.__basicsize__  # where a Python tensor holds its native one (`jitlang.native.pytypes.handle_type`)


@struct
class Faces:
    """Python objects that native code of the tensor runtime needs; filled by `jitlang.tensor.attributes`.

    `tensor` is the type of tensors and `wrap` the function that makes one, `size` the type of shapes, `cpu` the device.
    """

    tensor: O
    wrap: O
    size: O
    cpu: O
    slice: O
    ellipsis: O


FACES = shared("jl.tensor.faces", Faces)


@kernel(extern=True)
def drop_object(owner: O) -> None:
    """Gives up a reference to a Python object, from any thread."""
    state = take_gil()
    decref(owner)
    give_gil(state)


@kernel(inline="always")
def impl_of(self: O) -> Tensor:
    """The tensor that a Python tensor holds."""
    return cast(ptr[Tensor], self + AT)[0]


@kernel
def tensor_of(object: O) -> Tensor:
    """The tensor that a Python object holds; null where it is none."""
    kind = cast(ptr[O], object)[1]
    if kind != FACES.tensor:
        if is_subtype(kind, FACES.tensor) == 0:
            return null(Tensor)
    return impl_of(object)


@kernel
def wrapped(t: Tensor) -> O:
    """The Python object of a tensor, whose reference it takes over."""
    return call_pointer(O, FACES.wrap, t)
