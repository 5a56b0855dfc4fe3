"""The native type behind `jitlang.Tensor`: Python objects that hold one reference to a `TensorImpl`.

`TensorMethods` gives it its Python methods; see `jitlang.tensor.tensor`.
"""

from __future__ import annotations

import ctypes
from typing import Any

from jitlang.codegen.kernels import address_of, prepare
from jitlang.frontend.kernel import offset_of
from jitlang.native.layouts import ctypes_type
from jitlang.native.pytypes import HandleType, handle_type
from jitlang.tensor import attributes, slots
from jitlang.tensor.callables import on_change, operator
from jitlang.tensor.kernels.tensors import release_tensor, retain_tensor
from jitlang.tensor.layout import Storage, TensorImpl
from jitlang.tensor.methods import Size, TensorMethods
from jitlang.types import Pointer

HANDLE: HandleType = handle_type(
    TensorMethods,
    prepare(release_tensor.instance(Pointer(TensorImpl))),
    name="jitlang.Tensor",
    back=offset_of(TensorImpl, "python"),
    slots={**slots.addresses("jl.handle.jitlang.Tensor.type"), **attributes.addresses()},
)
slots.fill(operator, TensorMethods)
attributes.fill(HANDLE, TensorMethods, Size)
on_change(lambda names: slots.fill(operator, TensorMethods, names))
Tensor: Any = HANDLE.type
Tensor.__hash__ = object.__hash__  # a type that compares would have none: a tensor is a key by its identity
Impl: Any = ctypes_type(TensorImpl)

_wrap = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(HANDLE.wrap)
retain = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(address_of(retain_tensor.instance(Pointer(TensorImpl))))


def take(pointer: int) -> Any:
    """A new `Tensor` that takes over one reference to the impl at `pointer`."""
    return _wrap(pointer)


def pointer_of(tensor: Any) -> int:
    """The address of a tensor's impl, borrowed."""
    return HANDLE.pointer(tensor)


def impl(tensor: Any) -> Any:
    """The impl as a ctypes structure."""
    return Impl.from_address(HANDLE.pointer(tensor))


def storage(tensor: Any) -> Any:
    """The storage as a ctypes structure."""
    return ctypes_type(Storage).from_address(impl(tensor).storage)
