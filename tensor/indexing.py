"""What eager code may index with, as what the native subscript knows: int, bool, None, slice, Ellipsis, tensors.

In: a Python index with entries of other kinds (lists, arrays, NumPy's numbers), or a value to assign. Out: the same in those kinds.
"""

from __future__ import annotations

from typing import Any

from jitlang.tensor.handles import Tensor

_KNOWN = (int, bool, slice, type(None), type(Ellipsis))


def prepared(index: Any) -> tuple[Any, ...]:
    """The entries of an index.

    Raises:
        TypeError: one is of a kind that does not index.
    """
    return tuple(map(_entry, index if isinstance(index, tuple) else (index,)))


def _entry(part: Any) -> Any:
    if type(part) in _KNOWN or isinstance(part, Tensor):
        return part
    if isinstance(part, list | tuple | range) or hasattr(part, "__array_interface__"):
        return _tensor(part)
    if hasattr(part, "__index__"):
        return int(part.__index__())
    raise TypeError(f"a tensor cannot be indexed by {type(part).__name__}; use int, slice, None, ..., bool or a tensor of ints or bools")


def _tensor(part: Any) -> Any:
    from jitlang.tensor.conversion import tensor

    made = tensor(list(part) if isinstance(part, range) else part)
    return made.long() if made.numel() == 0 and isinstance(part, list | tuple) else made


def prepared_value(target: Any, value: Any) -> Any:
    """What is assigned to elements of `target`, as a tensor."""
    from jitlang.tensor.conversion import tensor

    if isinstance(value, Tensor):
        return value
    return tensor(value, dtype=None if isinstance(value, list | tuple) else target.dtype)
