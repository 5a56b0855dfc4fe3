"""Devices. Only the CPU so far; a CUDA device will be one more `Device`."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Device:
    """Where the elements of a tensor are; equal to its own name as a string is."""

    type: str
    index: int | None = None

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"


CPU = Device("cpu")


def device(name: str | Device) -> Device:
    """The device of that name.

    Raises:
        RuntimeError: there is no such device.
    """
    if isinstance(name, Device):
        return name
    if name not in ("cpu", "cpu:0"):
        raise RuntimeError(f"there is no device '{name}', expected 'cpu'")
    return CPU
