"""Sample inputs of operators, for tests: plain descriptions that a test turns into tensors of jitlang and of PyTorch.

`A` describes a tensor; its elements are a fixed function of the description. A `Sample` is one call.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any


@dataclasses.dataclass(frozen=True)
class A:
    """A tensor.

    Args:
        shape: its sizes.
        dtype: its dtype's name.
        low, high: the range of its elements.
        layout: "" dense, "t" transposed, "s" every second element of a larger one, "e" expanded along the first dimension.
        seed: which of the tensors of this description.
        special: whether NaN, infinities and signed zeros are among the elements of a floating-point tensor.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"
    low: float = -4.0
    high: float = 4.0
    layout: str = ""
    seed: int = 0
    special: bool = False


@dataclasses.dataclass(frozen=True)
class D:
    """A dtype argument, by name."""

    name: str


class Sample:
    """One call: arguments and keywords.

    `error` is the exception that it raises; `loose` multiplies the tolerance; `undefined` says that values are not defined
    (an uninitialised tensor), so that only dtype and shape are compared.
    """

    def __init__(self, *args: Any, error: bool = False, loose: float = 1.0, undefined: bool = False, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs
        self.error = error
        self.loose = loose
        self.undefined = undefined
        self.strides = True  # whether the result's strides are compared

    def __repr__(self) -> str:
        return f"Sample({', '.join([*map(repr, self.args), *(f'{k}={v!r}' for k, v in self.kwargs.items())])})"


FLOATS = ("float32", "float64")
INTS = ("int64", "int32", "uint8")
ALL = (*FLOATS, *INTS, "bool")


def tensors(dtypes: Sequence[str], low: float = -4.0, high: float = 4.0, special: bool = False) -> list[A]:
    """One tensor of each layout and of each dtype."""
    first = dtypes[0]
    made = [A((3, 4), d, low if d != "uint8" else max(low, 0), high, special=special) for d in dtypes]
    made += [A((), first, low, high), A((0, 3), first, low, high), A((4, 3), first, low, high, "t"), A((5,), first, low, high, "s")]
    made += [A((3, 2), first, low, high, "e"), A((2, 3, 70), first, low, high), A((1, 5, 1), first, low, high)]
    return made


def pairs(dtypes: Sequence[str], low: float = -4.0, high: float = 4.0, low2: float | None = None) -> Iterable[tuple[A, A]]:
    """Pairs of dtypes, and of shapes and layouts that broadcast."""
    first = dtypes[0]
    other = low if low2 is None else low2

    def a(shape: tuple[int, ...], dtype: str = first, layout: str = "") -> A:
        return A(shape, dtype, max(low, 0) if dtype == "uint8" else low, high, layout)

    def b(shape: tuple[int, ...], dtype: str = first, layout: str = "") -> A:
        return A(shape, dtype, max(other, 0) if dtype == "uint8" else other, high, layout, seed=1)

    for x in dtypes:
        for y in dtypes:
            yield a((3, 4), x), b((3, 4), y)
            yield a((3, 4), x), b((), y)
    yield from (
        (a(()), b(())),
        (a((2, 3)), b((3,))),
        (a((4, 1)), b((1, 3))),
        (a((4, 3), layout="t"), b((4, 3))),
        (a((4, 3), layout="t"), b((4, 3), layout="t")),
        (a((5,), layout="s"), b((5,))),
        (a((3, 2), layout="e"), b((3, 2))),
        (a((0, 3)), b((3,))),
        (a((2, 1, 300)), b((3, 1))),
        (a((2, 300)), b((2, 300), layout="t")),
        (a(()), b((2, 3))),
    )
