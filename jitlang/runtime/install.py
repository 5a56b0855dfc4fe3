"""Connects the layers below: tensors get their type, their reference counts and their way between Python and native code."""

from __future__ import annotations

from typing import Any

from jitlang.types import DEVICE, DTYPE, TENSOR, DType, Pointer, TensorType, Type, dtype_coded


def install() -> None:
    """Tells the frontend and the code generator of tensors; called when this layer is imported."""
    from jitlang.codegen.kernels import address_of
    from jitlang.codegen.library.marshal_python import set_device
    from jitlang.codegen.script import managed, marshal
    from jitlang.frontend import annotations
    from jitlang.frontend.kernel import offset_of
    from jitlang.ir import tables
    from jitlang.tensor.conversion import tensor
    from jitlang.tensor.devices import CPU, Device
    from jitlang.tensor.handles import HANDLE, Tensor
    from jitlang.tensor.kernels.tensors import release_tensor, retain_tensor
    from jitlang.tensor.layout import TensorImpl

    managed.TENSOR.update(retain=retain_tensor, release=release_tensor)
    retain, release = (address_of(k.instance(Pointer(TensorImpl))) for k in (retain_tensor, release_tensor))
    marshal.install_tensors(HANDLE, retain=retain, release=release, dtype=offset_of(TensorImpl, "dtype"), rank=offset_of(TensorImpl, "rank"))
    set_device(0, CPU)
    tables.make_tensor[:] = [lambda elements, sizes, dtype: tensor(list(elements), dtype=dtype).reshape(list(sizes))]
    annotations.declare_type(Tensor, TENSOR, type_of_tensor)
    annotations.declare_type(DType, DTYPE)
    annotations.declare_type(Device, DEVICE, lambda _: DEVICE)


def type_of_tensor(tensor: Any) -> Type:
    """The type that a function is specialised by for this tensor: its dtype, rank and device."""
    from jitlang.tensor.handles import impl

    held = impl(tensor)
    return TensorType(dtype_coded(held.dtype), held.rank, "cpu")


install()
