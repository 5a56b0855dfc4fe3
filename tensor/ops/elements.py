"""Rows for single elements: what the pass `jitlang.passes.elements` makes of ``int(x[i, j])`` and ``x[i, j] = number``.

A row is named ``element_KIND.rN``: the kind of number, and the number of indices, which is the tensor's rank. The dtype is a static argument, so
that the code is a bounds check and a load. Errors are those of indexing; `places`, static too, are the digits by which they number the dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from jitlang.frontend.kernel import b1, cast, f64, i64, kernel, ptr
from jitlang.registry import PURE, Operator, register
from jitlang.tensor.kernels.pointwise import writing
from jitlang.tensor.kernels.views import position
from jitlang.tensor.layout import TensorImpl
from jitlang.tensor.ops.samples import ALL, FLOATS, A, Sample
from jitlang.types import dtype_named, machine_type

Tensor = ptr[TensorImpl]
RANKS = 4


def place(places: str, d: int) -> int:
    """What errors call dimension `d`."""
    return int(places[d])


@kernel(inline="always")
def step_along(self: Tensor, d, index: i64, places) -> i64:
    """How many elements on index `index` of dimension `d` stands."""
    return position(index, self.sizes[d], place(places, d)) * self.strides[d]


@kernel(inline="always")
def load_number(self: Tensor, at: i64, dtype, kind):
    """Element `at`, counted from the first, as a number of that kind."""
    T = machine_type(dtype_named(dtype))
    value = cast(ptr[T], self.data)[at]
    if kind == "float":
        return f64(value)
    if kind == "bool":
        return b1(value)
    return i64(value)


@kernel(inline="always")
def store_number(self: Tensor, at: i64, value, dtype) -> None:
    """Writes element `at`."""
    T = machine_type(dtype_named(dtype))
    writing(self)
    cast(ptr[T], self.data)[at] = T(value)


def _reader(kind: str, rank: int) -> Any:
    if rank == 1:

        @kernel
        def read(self: Tensor, i: i64, dtype, places):
            return load_number(self, step_along(self, 0, i, places), dtype, kind)

    elif rank == 2:

        @kernel
        def read(self: Tensor, i: i64, j: i64, dtype, places):
            return load_number(self, step_along(self, 0, i, places) + step_along(self, 1, j, places), dtype, kind)

    elif rank == 3:

        @kernel
        def read(self: Tensor, i: i64, j: i64, k: i64, dtype, places):
            return load_number(self, step_along(self, 0, i, places) + step_along(self, 1, j, places) + step_along(self, 2, k, places), dtype, kind)

    else:

        @kernel
        def read(self: Tensor, i: i64, j: i64, k: i64, m: i64, dtype, places):
            return load_number(
                self,
                step_along(self, 0, i, places) + step_along(self, 1, j, places) + step_along(self, 2, k, places) + step_along(self, 3, m, places),
                dtype,
                kind,
            )

    return read


def _writer(rank: int) -> Any:
    if rank == 1:

        @kernel
        def write(self: Tensor, i: i64, value, dtype, places) -> None:
            store_number(self, step_along(self, 0, i, places), value, dtype)

    elif rank == 2:

        @kernel
        def write(self: Tensor, i: i64, j: i64, value, dtype, places) -> None:
            store_number(self, step_along(self, 0, i, places) + step_along(self, 1, j, places), value, dtype)

    elif rank == 3:

        @kernel
        def write(self: Tensor, i: i64, j: i64, k: i64, value, dtype, places) -> None:
            store_number(self, step_along(self, 0, i, places) + step_along(self, 1, j, places) + step_along(self, 2, k, places), value, dtype)

    else:

        @kernel
        def write(self: Tensor, i: i64, j: i64, k: i64, m: i64, value, dtype, places) -> None:
            store_number(
                self,
                step_along(self, 0, i, places) + step_along(self, 1, j, places) + step_along(self, 2, k, places) + step_along(self, 3, m, places),
                value,
                dtype,
            )

    return write


# ---- rows ---------------------------------------------------------------------------------------------------------


def _read(kind: Callable[[Any], Any]) -> Any:
    """What PyTorch's user writes for a row that reads."""
    return lambda x, *indices: kind(x[indices[:-2]])


def _write(x: Any, *arguments: Any) -> None:
    """What PyTorch's user writes for a row that writes."""
    *indices, value, _, _ = arguments
    x[tuple(indices)] = value


def _tensor(rank: int, dtype: str, layout: str = "") -> A:
    return A((3, 2, 4, 2)[:rank], dtype, 0 if dtype == "uint8" else -4, layout=layout)


_OWN = "0123"


def _samples(rank: int, dtypes: Sequence[str], *value: float) -> list[Sample]:
    """Places counted from both ends, in all layouts; each index out of range once, to both sides."""
    places = ([0] * rank, [-1] * rank, [1] * rank)
    made = [Sample(_tensor(rank, d), *at, *value, d, _OWN[:rank]) for d in dtypes for at in places]
    first = dtypes[0]
    made += [Sample(_tensor(rank, first, layout), *([1] * rank), *value, first, _OWN[:rank]) for layout in ("t", "s")]
    for wrong in range(rank):
        for far in (9, -9):
            made.append(Sample(_tensor(rank, first), *(far if d == wrong else 0 for d in range(rank)), *value, first, _OWN[:rank], error=True))
    return made


def _row(text: str, doc: str, native: Any, oracle: Any, samples: Any, *flags: str) -> None:
    made = Operator(text, "aten", doc, frozenset(flags), native=native, samples=samples, variants=(), extra={"oracle": oracle})
    native.qualified = f"tensor.{made.qualified}"
    register(made)


_KINDS: dict[str, tuple[Callable[[Any], Any], Sequence[str]]] = {
    "int": (int, [d for d in ALL if d not in FLOATS]),
    "float": (float, ALL),
    "bool": (bool, ALL),
}
_WRITABLE = {"int": ("int64", *FLOATS), "float": FLOATS}
for _rank in range(1, RANKS + 1):
    _indices = ", ".join(f"int i{n}" for n in range(_rank))
    for _kind, (_number, _dtypes) in _KINDS.items():
        _text = f"element_{_kind}.r{_rank}(Tensor self, {_indices}, str dtype, str places) -> {_kind}"
        _row(_text, "One element.", _reader(_kind, _rank), _read(_number), partial(_samples, _rank, _dtypes), PURE)
    for _kind, _dtypes in _WRITABLE.items():
        _text = f"set_element.r{_rank}_{_kind}(Tensor(a!) self, {_indices}, {_kind} value, str dtype, str places) -> ()"
        _row(_text, "Writes one element.", _writer(_rank), _write, partial(_samples, _rank, _dtypes, 7 if _kind == "int" else 2.5))
