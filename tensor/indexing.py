"""``x[...]`` and ``x[...] = v`` of eager code, as the view and index operators that scripts use too.

In: a Python index. Out: the same sequence of `select`, `slice`, `unsqueeze`, `index` and `index_put_` as a script emits.
"""

from __future__ import annotations

from typing import Any

from jitlang.tensor.callables import operator
from jitlang.tensor.handles import Tensor

_FULL = slice(None)


def _consumes(part: Any) -> int:
    """How many dimensions an entry of an index takes."""
    if part is None or isinstance(part, bool):
        return 0
    if isinstance(part, Tensor) and part.dtype.name in ("bool", "uint8"):
        return int(part.ndim)
    return 1


def _parts(tensor: Any, index: Any) -> list[Any]:
    """The entries of an index, with the ellipsis filled in."""
    parts = list(index) if isinstance(index, tuple) else [index]
    parts = [_as_tensor(p) if isinstance(p, list | tuple) or hasattr(p, "__array_interface__") else p for p in parts]
    dots = [i for i, p in enumerate(parts) if p is Ellipsis]
    used = sum(_consumes(p) for p in parts if p is not Ellipsis)
    if used > tensor.ndim:
        raise IndexError(f"too many indices for tensor of dimension {tensor.ndim}")
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if dots:
        at = dots[0]
        parts[at : at + 1] = [_FULL] * (tensor.ndim - used)
    return parts


def _as_tensor(value: Any) -> Any:
    from jitlang.tensor.conversion import tensor

    return tensor(value)


def _is_whole_number(part: Any) -> bool:
    if isinstance(part, Tensor):
        # A single integer selects, as a Python int does; of a view, not of a copy.
        return part.ndim == 0 and part.dtype.kind in "iu" and part.dtype.name != "uint8"
    return not isinstance(part, bool) and hasattr(part, "__index__")


def _slice(tensor: Any, dim: int, part: slice) -> Any:
    if part == _FULL:
        return tensor
    step = 1 if part.step is None else part.step.__index__()
    if step <= 0:
        raise ValueError("step must be greater than zero")
    start, stop = (None if v is None else v.__index__() for v in (part.start, part.stop))
    return operator("slice")(tensor, dim, start, stop, step)


def _views(tensor: Any, index: Any) -> tuple[Any, list[Any]]:
    """Applies everything but index tensors; returns the view and, for each of its dimensions, an index tensor or None."""
    dim = 0
    indices: list[Any] = []
    for part in _parts(tensor, index):
        if part is None:
            tensor = operator("unsqueeze")(tensor, dim)
        elif isinstance(part, bool):
            tensor = operator("unsqueeze")(tensor, dim)
            indices += [None] * (dim - len(indices)) + [_as_tensor([part])]
        elif isinstance(part, slice):
            tensor = _slice(tensor, dim, part)
        elif _is_whole_number(part):
            tensor = operator("select")(tensor, dim, part.__index__())
            continue
        elif isinstance(part, Tensor):
            indices += [None] * (dim - len(indices)) + [part]
            dim += _consumes(part) - 1
        else:
            raise TypeError(f"a tensor cannot be indexed by {type(part).__name__}; use int, slice, None, ..., bool or a tensor of ints or bools")
        dim += 1
    return tensor, indices


def get_item(tensor: Any, index: Any) -> Any:
    """``tensor[index]``.

    Raises:
        IndexError: an index is out of range, or there are too many.
        TypeError: an index is of a type that does not index.
    """
    view, indices = _views(tensor, index)
    if indices:
        return operator("index")(view, indices)
    return operator("alias")(view) if view is tensor else view


def set_item(tensor: Any, index: Any, value: Any) -> None:
    """``tensor[index] = value``; errors as `get_item`, and RuntimeError where the value's shape does not fit."""
    view, indices = _views(tensor, index)
    if not isinstance(value, Tensor):
        from jitlang.tensor.conversion import tensor as make

        value = make(value, dtype=tensor.dtype if not isinstance(value, list | tuple) else None)
    if indices:
        operator("index_put_")(view, indices, value)
        return
    while value.ndim > view.ndim and value.shape[0] == 1:
        value = operator("squeeze")(value, 0)
    operator("copy_")(view, value)
