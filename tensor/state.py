"""The state of models as named tensors. In: tensors by name, and others to take over. Out: the same tensors with the others' elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def copy_state(what: str, own: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Copies tensors into those of the same names. Raises KeyError for missing and unknown names, RuntimeError for other shapes; nothing is copied then."""
    missing, unknown = own.keys() - state.keys(), state.keys() - own.keys()
    if missing or unknown:
        raise KeyError(f"state of {what}: missing {sorted(missing)}, unknown {sorted(unknown)}")
    for name, tensor in own.items():
        if list(tensor.shape) != list(state[name].shape):
            raise RuntimeError(f"{name}: shape {list(state[name].shape)} where {list(tensor.shape)} is expected")
    for name, tensor in own.items():
        tensor.copy_(state[name])
