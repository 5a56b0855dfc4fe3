"""Combinators that make rows: what all members of a family share is said here once.

A row's `native` is a small kernel made in a closure; its `qualified` name is unique, because it is the name of the compiled
function in a module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jitlang.frontend.kernel import Instance, Kernel, cast, f64, kernel, local, ptr, u8
from jitlang.registry import POINTWISE, PURE, Operator, register
from jitlang.tensor.kernels import pointwise as drivers
from jitlang.tensor.kernels import pointwise_loops
from jitlang.tensor.kernels.scalars import number
from jitlang.tensor.layout import TensorImpl
from jitlang.tensor.loops import Loop, pointwise
from jitlang.tensor.ops import rules
from jitlang.tensor.ops.samples import A, Sample, pairs, tensors
from jitlang.tensor.promotion import RESULT_BOOL, SAME
from jitlang.types import U8, DType, machine_type

Ops = Kernel | Mapping[str, Kernel]
Tensor = ptr[TensorImpl]


def named(made: Kernel, name: str) -> Kernel:
    """A kernel made in a closure under a name of its own."""
    made.qualified = f"tensor.{name}"
    return made


def row(text: str, doc: str, native: Any, *flags: str, infer: Any = None, samples: Any = None, **more: Any) -> Operator:
    """Registers a row of the ``aten`` namespace; its native kernel is named after it. ValueError where the name is taken."""
    made = Operator(text, "aten", doc, frozenset(flags), native=native, infer=infer, samples=samples, **more)
    if isinstance(native, Kernel) and "<locals>" in native.function.__qualname__:
        named(native, made.qualified)
    return register(made)


def _op(ops: Ops, dtype: DType) -> Kernel | None:
    if isinstance(ops, Kernel):
        return ops if dtype.kind != "b" else None
    return ops.get(dtype.kind)


def loop(name: str, ops: Ops, operands: int, rule: int = SAME) -> Loop:
    """The loops of a pointwise operation; `ops` is one scalar operation (not for bool), or one for each kind of dtype."""
    kernels = {1: pointwise_loops.unary_loop, 2: pointwise_loops.binary_loop, 3: pointwise_loops.ternary_loop}

    def make(dtype: DType) -> Instance | None:
        op = _op(ops, dtype)
        if op is None:
            return None
        machine = machine_type(dtype)
        if operands == 4:
            return pointwise(pointwise_loops.quaternary_loop, op, machine)
        return pointwise(kernels[operands], op, *[machine] * operands, U8 if rule & RESULT_BOOL else machine)

    return Loop(name, make)


def unary(
    name: str,
    ops: Ops,
    doc: str,
    rule: int = SAME,
    *,
    inplace: bool = True,
    dtypes: Iterable[str] = ("float32", "float64"),
    low: float = -4.0,
    high: float = 4.0,
    special: bool = False,
    variants: tuple[str, ...] = ("function", "method"),
    alias: tuple[str, ...] = (),
) -> Any:
    """``name(Tensor self) -> Tensor`` and, if `inplace`, ``name_``; `alias` are further names of both. Returns the loops' table."""
    table = loop(name, ops, 1, rule).table

    def samples() -> list[Sample]:
        return [Sample(t) for t in tensors(tuple(dtypes), low, high, special)]

    def fresh() -> Kernel:
        @kernel
        def native(self: Tensor) -> Tensor:
            return drivers.unary(table, rule, self)

        return native

    def changing() -> Kernel:
        @kernel
        def native(self: Tensor) -> Tensor:
            return drivers.unary_into(table, rule, self)

        return native

    for each in (name, *alias):
        row(f"{each}(Tensor self) -> Tensor", doc, fresh(), PURE, POINTWISE, infer=rules.pointwise(rule), samples=samples, variants=variants)
        if inplace:
            text = f"{each}_(Tensor(a!) self) -> Tensor(a!)"
            row(text, f"{doc[:-1]}, in place.", changing(), infer=rules.same, samples=samples, variants=("function", "method"))
    return table


def _binary_kernels(table: Any, rule: int, check: Any, reverse: bool) -> dict[str, Kernel]:
    @kernel
    def tensor(self: Tensor, other: Tensor) -> Tensor:
        check(self, other)
        if reverse:
            return drivers.binary(table, rule, other, self)
        return drivers.binary(table, rule, self, other)

    @kernel
    def scalar(self: Tensor, other: Any) -> Tensor:
        slot, room = local(TensorImpl, 1), local(f64, 1)
        value = number(slot, cast(ptr[u8], room), other)
        check(self, value)
        if reverse:
            return drivers.binary(table, rule, value, self)
        return drivers.binary(table, rule, self, value)

    @kernel
    def tensor_into(self: Tensor, other: Tensor) -> Tensor:
        check(self, other)
        return drivers.binary_into(table, rule, self, other)

    @kernel
    def scalar_into(self: Tensor, other: Any) -> Tensor:
        slot, room = local(TensorImpl, 1), local(f64, 1)
        value = number(slot, cast(ptr[u8], room), other)
        check(self, value)
        return drivers.binary_into(table, rule, self, value)

    @kernel
    def scalar_tensor(self: Any, other: Tensor) -> Tensor:
        slot, room = local(TensorImpl, 1), local(f64, 1)
        value = number(slot, cast(ptr[u8], room), self)
        check(value, other)
        return drivers.binary(table, rule, value, other)

    return {"Scalar_Tensor": scalar_tensor, "Tensor": tensor, "Scalar": scalar, "Tensor_": tensor_into, "Scalar_": scalar_into}


@kernel
def unchecked(self: Tensor, other: Tensor) -> None:
    """No condition on the operands."""


def binary(
    name: str,
    ops: Ops,
    doc: str,
    rule: int = SAME,
    *,
    forms: tuple[str, ...] = ("Tensor", "Scalar"),
    inplace: bool = True,
    check: Kernel = unchecked,
    dtypes: tuple[str, ...] = ("float32", "float64", "int64", "int32", "uint8"),
    low: float = -4.0,
    high: float = 4.0,
    low2: float | None = None,
    scalars: tuple[Any, ...] = (2, 2.5, -3),
    flags: tuple[str, ...] = (),
    alias: tuple[str, ...] = (),
    plain: bool = False,
    reverse: bool = False,
    operator: Callable[[Any, Any], Any] | None = None,
) -> Any:
    """``name.Tensor(Tensor self, Tensor other)``, ``name.Scalar``, and both in place. Returns the loops' table.

    Args:
        check: a kernel that refuses operands.
        plain: whether the form of two tensors has no overload name.
        reverse: whether the loop is given the operands the other way round.
        operator: Python's operator of that meaning; there is then also a form ``name.Scalar_Tensor`` for a number on the left.
    """
    table = loop(name, ops, 2, rule).table

    def both() -> list[Sample]:
        return [Sample(a, b) for a, b in pairs(dtypes, low, high, low2)]

    def single() -> list[Sample]:
        return [Sample(A((3, 4), d, max(low, 0) if d == "uint8" else low, high), s) for d in dtypes for s in scalars]

    def swapped() -> list[Sample]:
        return [Sample(s.args[1], s.args[0]) for s in single()]

    for each in (name, *alias):
        made = _binary_kernels(table, rule, check, reverse)
        for form in forms:
            kind = "Tensor" if form == "Tensor" else "Scalar"
            overload = "" if plain and form == "Tensor" else f".{form}"
            samples = both if form == "Tensor" else single
            text = f"{each}{overload}(Tensor self, {kind} other) -> Tensor"
            row(text, doc, made[form], PURE, POINTWISE, *flags, infer=rules.pointwise(rule), samples=samples)
            if inplace and not each.startswith("__"):
                text = f"{each}_{overload}(Tensor(a!) self, {kind} other) -> Tensor(a!)"
                row(text, f"{doc[:-1]}, in place.", made[f"{form}_"], infer=rules.same, samples=samples)
        if operator is not None:
            text = f"{each}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"
            extra = {"oracle": operator}
            row(text, doc, made["Scalar_Tensor"], PURE, POINTWISE, infer=rules.pointwise(rule), samples=swapped, variants=("function",), extra=extra)
    return table
