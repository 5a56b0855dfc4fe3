"""What numbers a dtype can hold: `finfo` and `iinfo`, by PyTorch's names. In: a dtype. Out: its limits as Python numbers."""

from __future__ import annotations

import sys

from jitlang.types import CLASS_DTYPES, DType, dtype_named


def _dtype(given: DType | type, kinds: str, name: str) -> DType:
    dtype = CLASS_DTYPES.get(given) if isinstance(given, type) else given
    if dtype is None or dtype.kind not in kinds:
        raise TypeError(f"{name}() requires {'a floating point' if kinds == 'f' else 'an integer'} dtype, not {given}")
    return dtype


class finfo:  # noqa: N801  PyTorch's name
    """Limits of a floating point dtype (float32 unless said otherwise); see ``torch.finfo``.

    Raises:
        TypeError: it is no floating point dtype.
    """

    def __init__(self, dtype: DType | type | None = None) -> None:
        found = _dtype(dtype_named("float32") if dtype is None else dtype, "f", "finfo")
        # IEEE 754 binary32 and binary64: digits of the significand, the greatest exponent.
        digits, top = (24, 128) if found.itemsize == 4 else (sys.float_info.mant_dig, sys.float_info.max_exp)
        self.dtype: str = found.name
        self.bits: int = 8 * found.itemsize
        self.eps: float = 2.0 ** (1 - digits)
        self.max: float = (2.0 - self.eps) * 2.0 ** (top - 1)
        self.min: float = -self.max
        self.tiny: float = 2.0 ** (2 - top)
        self.smallest_normal: float = self.tiny
        self.resolution: float = 1e-06 if found.itemsize == 4 else 1e-15

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{n}={getattr(self, n):g}' for n in names)}, dtype={self.dtype})"


class iinfo:  # noqa: N801  PyTorch's name
    """Limits of an integer dtype; see ``torch.iinfo``.

    Raises:
        TypeError: it is no integer dtype.
    """

    def __init__(self, dtype: DType | type) -> None:
        found = _dtype(dtype, "iu", "iinfo")
        self.dtype: str = found.name
        self.bits: int = 8 * found.itemsize
        self.min: int = 0 if found.kind == "u" else -(2 ** (self.bits - 1))
        self.max: int = self.min + 2**self.bits - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
