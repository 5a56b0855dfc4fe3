"""Rows of neural networks: softmax, normalisation, convolution, pooling, recurrent cells, losses, attention."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import b1, cast, check, f64, get, has, i64, kernel, local, maximum, minimum, null, ptr, sqrt, text, u8
from jitlang.registry import PURE, RANDOM
from jitlang.tensor.kernels import creation as make
from jitlang.tensor.kernels import matrix as mat
from jitlang.tensor.kernels import neural as net
from jitlang.tensor.kernels import pointwise as drivers
from jitlang.tensor.kernels import random, views
from jitlang.tensor.kernels.creation import Ints, Tensor
from jitlang.tensor.kernels.scalars import number
from jitlang.tensor.kernels.tensors import empty, release, retain, shape_text, tensor_at
from jitlang.tensor.layout import BOOL, FLOAT32, INT64, MAX_RANK, TensorImpl
from jitlang.tensor.ops import choices, rules
from jitlang.tensor.ops import pointwise as point
from jitlang.tensor.ops.families import row
from jitlang.tensor.ops.normalisation import optional
from jitlang.tensor.ops.samples import A, Sample
from jitlang.tensor.promotion import SAME
from jitlang.types import TensorType, dtype_coded

X, M, B = A((3, 5)), A((4, 3), layout="t"), A((2, 3, 8))
_FUNCTION: Any = {"variants": ("function",)}
MEAN, TOTAL = 1, 2
FLOAT32_TYPE, INT64_TYPE = dtype_coded(FLOAT32), dtype_coded(INT64)


def functional(name: str) -> Any:
    """A function whose PyTorch counterpart is in torch.nn.functional."""
    return {"extra": {"oracle": f"nn.functional.{name}"}, "variants": ("function",)}


_T = A((3,), "int64", 0, 4)


# ---- recurrent cells --------------------------------------------------------------------------------------------------


@kernel
def lstm_native(input: Tensor, hx: Ints, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any) -> Any:
    """One step of a long short-term memory: the next hidden state and cell."""
    check(hx.length == 2, "RuntimeError", "lstm_cell expects two hidden states")
    memory = local(Tensor, 1)
    hidden = lstm(input, tensor_at(hx, 0), tensor_at(hx, 1), w_ih, w_hh, optional(b_ih), optional(b_hh), memory)
    return hidden, memory[0]


@kernel(extern=True)
def lstm(input: Tensor, hidden: Tensor, cell: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor, memory: ptr[Tensor]) -> Tensor:
    """`lstm_native`; stores the next cell to `memory`."""
    last = hidden.sizes[hidden.rank - 1] if hidden.rank > 0 else 0
    fits = input.rank >= 1 and hidden.rank == input.rank and cell.rank == hidden.rank and w_ih.rank == 2 and w_hh.rank == 2
    if fits:
        fits = input.sizes[input.rank - 1] == w_ih.sizes[1] and last == w_hh.sizes[1] and w_ih.sizes[0] == 4 * last and w_hh.sizes[0] == 4 * last
        for k in range(input.rank - 1):
            fits = fits and input.sizes[k] == hidden.sizes[k]
        for k in range(hidden.rank):
            fits = fits and cell.sizes[k] == hidden.sizes[k]
    check(
        fits,
        "RuntimeError",
        "lstm_cell: input of size {} does not fit hidden states of size {} and weights of size {}",
        text(shape_text(input)),
        text(shape_text(hidden)),
        text(shape_text(w_ih)),
    )
    check(
        input.dtype == hidden.dtype and input.dtype == cell.dtype and input.dtype == w_ih.dtype and input.dtype == w_hh.dtype,
        "RuntimeError",
        "lstm_cell: all tensors must have one dtype",
    )
    gates = with_bias(input, w_ih, b_ih)
    more = with_bias(hidden, w_hh, b_hh)
    same = drivers.binary_into(point.ADD, SAME, gates, more)
    release(same)
    release(more)
    made = net.lstm_step(gates, cell, memory)
    release(gates)
    return made


@kernel
def with_bias(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """`linear` with an optional bias."""
    if bias != null(Tensor):
        return mat.linear(x, weight, bias, 1)
    return mat.linear(x, weight, weight, 0)


_LSTM = (A((2, 3)), [A((2, 4)), A((2, 4), seed=1)], A((16, 3)), A((16, 4), seed=2))
row(
    "lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)",
    "One step of a long short-term memory.",
    lstm_native,
    PURE,
    infer=lambda types, _: [TensorType(types[0].dtype, types[0].rank)] * 2,
    samples=[Sample(*_LSTM, loose=30), Sample(*_LSTM, A((16,)), A((16,), seed=1), loose=30), Sample(A((2, 5)), *_LSTM[1:], error=True)],
    **_FUNCTION,
)


# ---- attention ----------------------------------------------------------------------------------------------------


@kernel
def attention_native(query: Tensor, key: Tensor, value: Tensor, attn_mask: Any, dropout_p: f64, is_causal: b1, scale: Any) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value."""
    factor = 0.0
    if has(scale):
        factor = get(scale)
    elif query.rank > 0:
        factor = 1.0 / sqrt(f64(query.sizes[query.rank - 1]))
    check(dropout_p == 0.0, "RuntimeError", "scaled_dot_product_attention: dropout is not available")
    return attention(query, key, value, optional(attn_mask), i64(is_causal), factor)


@kernel(extern=True)
def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, causal: i64, scale: f64) -> Tensor:
    """`attention_native`."""
    check(
        query.rank >= 2 and key.rank >= 2 and value.rank >= 2,
        "RuntimeError",
        "scaled_dot_product_attention: expected at least 2 dimensions, but they are {}D, {}D and {}D",
        query.rank,
        key.rank,
        value.rank,
    )
    check(mask == null(Tensor) or causal == 0, "RuntimeError", "scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    slot, room = local(TensorImpl, 1), local(f64, 1)
    turned = views.transpose(key, -2, -1)
    scores = mat.matmul(query, turned)
    release(turned)
    same = drivers.binary_into(point.MUL, SAME, scores, number(slot, cast(ptr[u8], room), scale))
    release(same)
    if causal != 0:
        sizes = local(i64, 2)
        sizes[0], sizes[1] = scores.sizes[scores.rank - 2], scores.sizes[scores.rank - 1]
        ones = make.filled(empty(2, sizes, BOOL), True)
        make.zero_triangle(ones, 0, 0)
        scores = masked_scores(scores, ones)
        release(ones)
    elif mask != null(Tensor):
        if mask.dtype == BOOL:
            scores = masked_scores(scores, mask)
        else:
            sum_ = drivers.binary(point.ADD, SAME, scores, mask)
            release(scores)
            scores = sum_
    weights = net.rowwise(net.SOFTMAX.table, scores, -1)
    release(scores)
    result = mat.matmul(weights, value)
    release(weights)
    return result


@kernel
def masked_scores(scores: Tensor, mask: Tensor) -> Tensor:
    """Scores with -inf where the mask does not hold; takes over the reference."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    operands = local(Tensor, 3)
    operands[0] = mask
    operands[1] = scores
    operands[2] = number(slot, cast(ptr[u8], room), -float("inf"))
    made = drivers.several(choices.WHERE, scores.dtype, scores.dtype, 1, 3, operands)
    release(scores)
    return made


_Q, _K, _V = A((2, 3, 5, 8)), A((2, 3, 6, 8), seed=1), A((2, 3, 6, 8), seed=2)
row(
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None) -> Tensor",
    "softmax(query @ key.T * scale + mask) @ value.",
    attention_native,
    PURE,
    infer=rules.same,
    samples=[
        Sample(_Q, _K, _V, loose=30),
        Sample(_Q, _K, _V, A((5, 6)), loose=30),
        Sample(_Q, _K, _V, scale=0.5, loose=30),
        Sample(_Q, _Q, _Q, None, 0.0, True, loose=30),
    ],
    variants=("function",),
    extra={"oracle": "nn.functional.scaled_dot_product_attention", "strides": False},
)


# ---- dropout and classes ----------------------------------------------------------------------------------------------


@kernel
def dropout_native(input: Tensor, p: f64, train: b1) -> Tensor:
    """Elements set to 0 with a probability, the others scaled up."""
    check(p >= 0.0 and p <= 1.0, "RuntimeError", "dropout probability has to be between 0 and 1, but got {}", p)
    if not train or p == 0.0:
        retain(input)
        return input
    return dropped(input, p)


@kernel(extern=True)
def dropped(input: Tensor, p: f64) -> Tensor:
    """`dropout_native` while training."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    mask = empty(input.rank, input.sizes, input.dtype)
    random.fill_bernoulli(mask, 1.0 - p)
    scale = 1.0 / (1.0 - p) if p < 1.0 else 0.0
    same = drivers.binary_into(point.MUL, SAME, mask, number(slot, cast(ptr[u8], room), scale))
    release(same)
    result = drivers.binary(point.MUL, SAME, input, mask)
    release(mask)
    return result


@kernel
def one_hot_native(self: Tensor, num_classes: i64) -> Tensor:
    """A 1 at the place that each class number names."""
    check(self.dtype == INT64, "RuntimeError", "one_hot is only applicable to index tensor of type LongTensor.")
    return one_hot(self, num_classes)


@kernel(extern=True)
def one_hot(self: Tensor, num_classes: i64) -> Tensor:
    """`one_hot_native`."""
    check(self.rank < MAX_RANK, "RuntimeError", "a tensor has at most 8 dimensions, not {}", self.rank + 1)
    check(self.numel > 0 or num_classes > 0, "RuntimeError", "Can not infer total number of classes from empty tensor.")
    dense = views.contiguous(self)
    items = cast(ptr[i64], dense.data)
    low, high = 0, -1
    for i in range(dense.numel):
        low, high = minimum(low, items[i]), maximum(high, items[i])
    if low < 0 or (num_classes >= 0 and high >= num_classes):
        release(dense)
        check(low >= 0, "RuntimeError", "Class values must be non-negative.")
        check(False, "RuntimeError", "Class values must be smaller than num_classes.")
    count = num_classes if num_classes >= 0 else high + 1
    sizes = local(i64, MAX_RANK)
    for k in range(self.rank):
        sizes[k] = self.sizes[k]
    sizes[self.rank] = count
    result = make.zeros(self.rank + 1, sizes, INT64)
    for i in range(dense.numel):
        cast(ptr[i64], result.data)[i * count + items[i]] = 1
    release(dense)
    return result


row(
    "dropout(Tensor input, float p, bool train) -> Tensor",
    "Elements set to 0 with a probability, the others scaled up.",
    dropout_native,
    RANDOM,
    infer=rules.same,
    samples=[Sample(X, 0.5, False), Sample(X, 0.0, True), Sample(X, 1.0, True), Sample(X, 1.5, True, error=True)],
    **_FUNCTION,
)
row(
    "one_hot(Tensor self, int num_classes=-1) -> Tensor",
    "A 1 at the place that each class number names.",
    one_hot_native,
    PURE,
    infer=lambda types, _: [TensorType(INT64_TYPE, None if types[0].rank is None else types[0].rank + 1)],
    samples=[Sample(_T), Sample(_T, 9), Sample(_T, 1, error=True), Sample(A((2,), "int64", -3, -1), error=True), Sample(X, error=True)],
    **functional("one_hot"),
)
