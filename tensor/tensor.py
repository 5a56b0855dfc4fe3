"""The Python face of the tensor runtime: `Tensor`, functions that make tensors, and every operator as a function.

An attribute that is not defined here is looked up among the operator rows: ``tensor.sin`` is the callable of the rows
``aten::sin``, made when it is first asked for.
"""

from __future__ import annotations

from typing import Any

import jitlang.tensor.ops  # noqa: F401  registers the rows
from jitlang.tensor.callables import has_variant, operator
from jitlang.tensor.conversion import tensor
from jitlang.tensor.devices import Device, device
from jitlang.tensor.exchange import from_dlpack, from_numpy
from jitlang.tensor.handles import Tensor
from jitlang.tensor.methods import Size
from jitlang.tensor.printing import set_printoptions

__all__ = ["Device", "Size", "Tensor", "device", "from_dlpack", "from_numpy", "is_tensor", "set_printoptions", "tensor"]


def is_tensor(value: object) -> bool:
    """Whether a value is a tensor."""
    return isinstance(value, Tensor)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """`data` as a tensor; shares memory with a tensor or an array that has the dtype already."""
    if isinstance(data, Tensor):
        return data if dtype is None else operator("to")(data, dtype)
    if hasattr(data, "__array_interface__") and hasattr(data, "flags"):
        made = from_numpy(data)
        return made if dtype is None else operator("to")(made, dtype)
    return tensor(data, dtype=dtype, device=device)


def __getattr__(name: str) -> Any:
    if name.startswith("__") or not has_variant(name, "function"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return operator(name)
