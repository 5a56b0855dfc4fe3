"""Rows of losses."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import b1, cast, check, f64, has, i64, kernel, local, ptr, text, u8
from jitlang.registry import PURE
from jitlang.tensor.kernels import gathering as along
from jitlang.tensor.kernels import matrix as mat
from jitlang.tensor.kernels import neural as net
from jitlang.tensor.kernels import pointwise as drivers
from jitlang.tensor.kernels import reduction as r
from jitlang.tensor.kernels import views
from jitlang.tensor.kernels.creation import Tensor
from jitlang.tensor.kernels.reduction import all_dims
from jitlang.tensor.kernels.scalars import number
from jitlang.tensor.kernels.tensors import release, shape_text
from jitlang.tensor.layout import FLOAT32, INT64, TensorImpl
from jitlang.tensor.ops import choices, elementary, reductions
from jitlang.tensor.ops import pointwise as point
from jitlang.tensor.ops.families import row
from jitlang.tensor.ops.samples import A, Sample
from jitlang.tensor.promotion import RESULT_BOOL, SAME
from jitlang.types import TensorType, dtype_coded

X, M, B = A((3, 5)), A((4, 3), layout="t"), A((2, 3, 8))
_FUNCTION: Any = {"variants": ("function",)}
MEAN, TOTAL = 1, 2
FLOAT32_TYPE, INT64_TYPE = dtype_coded(FLOAT32), dtype_coded(INT64)


def functional(name: str) -> Any:
    """A function whose PyTorch counterpart is in torch.nn.functional."""
    return {"extra": {"oracle": f"nn.functional.{name}"}, "variants": ("function",)}


# ---- losses -------------------------------------------------------------------------------------------------------


@kernel
def reduced_loss(t: Tensor, reduction: i64) -> Tensor:
    """A loss as it is, its mean, or its sum; takes over the reference."""
    if reduction == MEAN:
        made = reductions.mean_in(t, all_dims(t), 0, t.dtype)
        release(t)
        return made
    if reduction == TOTAL:
        made = r.reduce(reductions.SUM, t, all_dims(t), 0, t.dtype)
        release(t)
        return made
    return t


@kernel
def mse_native(self: Tensor, target: Tensor, reduction: i64) -> Tensor:
    """Squared differences."""
    gap = drivers.binary(point.SUB, SAME, self, target)
    squares = drivers.binary(point.MUL, SAME, gap, gap)
    release(gap)
    return reduced_loss(squares, reduction)


@kernel
def l1_native(self: Tensor, target: Tensor, reduction: i64) -> Tensor:
    """Absolute differences."""
    gap = drivers.binary(point.SUB, SAME, self, target)
    sizes = drivers.unary(point.ABS, SAME, gap)
    release(gap)
    return reduced_loss(sizes, reduction)


@kernel
def bce_logits_native(self: Tensor, target: Tensor, weight: Any, pos_weight: Any, reduction: i64) -> Tensor:
    """Binary cross entropy of sigmoid(self)."""
    check(not has(weight) and not has(pos_weight), "RuntimeError", "binary_cross_entropy_with_logits: weights are not available")
    slot, room = local(TensorImpl, 1), local(f64, 1)
    # (1 - target) * self - log_sigmoid(self)
    one = number(slot, cast(ptr[u8], room), 1.0)
    rest = drivers.binary(point.SUB, SAME, one, target)
    part = drivers.binary(point.MUL, SAME, rest, self)
    release(rest)
    logarithm = drivers.unary(elementary.LOG_SIGMOID, SAME, self)
    made = drivers.binary(point.SUB, SAME, part, logarithm)
    release(logarithm)
    release(part)
    return reduced_loss(made, reduction)


@kernel(extern=True)
def nll(self: Tensor, target: Tensor, ignore: i64, reduction: i64) -> Tensor:
    """The negative of the element that each target names, along dimension 1 (or 0 of a vector)."""
    check(target.dtype == INT64, "RuntimeError", "expected scalar type Long for the target")
    d = 1 if self.rank > 1 else 0
    check(self.rank > 0 and target.rank == self.rank - 1, "RuntimeError", "nll_loss: expected a target of {} dimensions, got {}", self.rank - 1, target.rank)
    for k in range(target.rank):
        check(
            target.sizes[k] == self.sizes[k if k < d else k + 1],
            "RuntimeError",
            "size mismatch (got input: {}, target: {})",
            text(shape_text(self)),
            text(shape_text(target)),
        )
    net.check_targets(target, self.sizes[d], ignore)
    slots, room = local(TensorImpl, 2), local(f64, 2)
    zero, skipped = number(slots, cast(ptr[u8], room), 0.0), number(slots + 1, cast(ptr[u8], room + 1), ignore)
    kept = drivers.binary(point.NE, RESULT_BOOL, target, skipped)
    operands = local(Tensor, 3)
    operands[0], operands[1], operands[2] = kept, target, zero
    places = drivers.several(choices.WHERE, INT64, INT64, 1, 3, operands)
    line = views.unsqueeze(places, d)
    release(places)
    picked = along.gather_dim(self, d, line)
    release(line)
    flat = mat.squeezed(picked, d)
    negative = drivers.unary(point.NEG, SAME, flat)
    release(flat)
    operands[0], operands[1], operands[2] = kept, negative, zero
    losses = drivers.several(choices.WHERE, self.dtype, self.dtype, 1, 3, operands)
    release(negative)
    if reduction == MEAN:
        count = r.reduce(reductions.COUNT, kept, all_dims(kept), 0, INT64)
        total = r.reduce(reductions.SUM, losses, all_dims(losses), 0, self.dtype)
        release(losses)
        losses = drivers.binary(point.DIV, SAME, total, count)
        release(total)
        release(count)
    elif reduction == TOTAL:
        total = r.reduce(reductions.SUM, losses, all_dims(losses), 0, self.dtype)
        release(losses)
        losses = total
    release(kept)
    return losses


@kernel
def nll_native(self: Tensor, target: Tensor, weight: Any, reduction: i64, ignore_index: i64) -> Tensor:
    """The negative of the element that each target names."""
    check(not has(weight), "RuntimeError", "nll_loss: weights are not available")
    return nll(self, target, ignore_index, reduction)


@kernel
def cross_entropy_native(self: Tensor, target: Tensor, weight: Any, reduction: i64, ignore_index: i64, label_smoothing: f64) -> Tensor:
    """The negative log-probability of the class that each target names."""
    check(not has(weight) and label_smoothing == 0.0, "RuntimeError", "cross_entropy: weights and label smoothing are not available")
    check(target.dtype == INT64, "RuntimeError", "cross_entropy: expected class numbers (int64) as target")
    logarithms = net.rowwise(net.LOG_SOFTMAX.table, self, 1 if self.rank > 1 else 0)
    if not targets_fit(self, target, ignore_index):
        release(logarithms)
        return nll(self, target, ignore_index, reduction)
    made = nll(logarithms, target, ignore_index, reduction)
    release(logarithms)
    return made


@kernel(extern=True)
def targets_fit(self: Tensor, target: Tensor, ignore: i64) -> b1:
    """Whether `nll` will raise nothing."""
    d = 1 if self.rank > 1 else 0
    fits = target.rank == self.rank - 1
    if fits:
        for k in range(target.rank):
            fits = fits and target.sizes[k] == self.sizes[k if k < d else k + 1]
        dense = views.contiguous(target)
        items = cast(ptr[i64], dense.data)
        for i in range(dense.numel):
            fits = fits and (items[i] == ignore or (items[i] >= 0 and items[i] < self.sizes[d]))
        release(dense)
    return fits


def _loss_rule(reduction_at: int) -> Any:
    def infer(types: Any, constants: Any) -> Any:
        reduction = constants[reduction_at]
        return [TensorType(types[0].dtype, 0 if reduction in (MEAN, TOTAL) else None)]

    return infer


def _loss(name: str) -> Any:
    names = {0: "none", 1: "mean", 2: "sum"}

    def oracle(input: Any, target: Any, *rest: Any, reduction: int = 1, **more: Any) -> Any:
        import torch

        return getattr(torch.nn.functional, name)(input, target, reduction=names[rest[-1] if rest else reduction], **more)

    return {"extra": {"oracle": oracle}, "variants": ("function",)}


_T, _C = A((3,), "int64", 0, 4), A((3, 5), seed=1)
_LOSSES = [Sample(X, _C, k, loose=9) for k in (0, 1, 2)]
row(
    "mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    "Squared differences.",
    mse_native,
    PURE,
    infer=_loss_rule(2),
    samples=_LOSSES,
    **_loss("mse_loss"),
)
row(
    "l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    "Absolute differences.",
    l1_native,
    PURE,
    infer=_loss_rule(2),
    samples=_LOSSES,
    **_loss("l1_loss"),
)
row(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor",
    "Binary cross entropy of sigmoid(self).",
    bce_logits_native,
    PURE,
    infer=_loss_rule(4),
    samples=[Sample(X, A((3, 5), low=0, high=1), reduction=k, loose=9) for k in (0, 1, 2)],
    **_loss("binary_cross_entropy_with_logits"),
)
row(
    "nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) -> Tensor",
    "The negative of the element that each target names.",
    nll_native,
    PURE,
    infer=_loss_rule(3),
    samples=[Sample(X, _T, reduction=k, loose=9) for k in (0, 1, 2)]
    + [
        Sample(X, A((3,), "int64", 5, 9), error=True),
        Sample(A((2, 5, 3)), A((2, 3), "int64", 0, 4), loose=9),
        Sample(X, A((3,), "int64", 0, 2), ignore_index=1, loose=9),
    ],
    **_loss("nll_loss"),
)
row(
    "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, float label_smoothing=0.0) -> Tensor",
    "The negative log-probability of the class that each target names.",
    cross_entropy_native,
    PURE,
    infer=_loss_rule(3),
    samples=[Sample(X, _T, reduction=k, loose=9) for k in (0, 1, 2)]
    + [Sample(X, A((3,), "int64", 5, 9), error=True), Sample(A((5,)), A((), "int64", 0, 4), loose=9)],
    **_loss("cross_entropy"),
)
