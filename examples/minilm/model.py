"""The sentence encoder all-MiniLM-L6-v2 as scripted modules: token numbers to a vector of length one.

In: the tensors of the model's ``model.safetensors`` (Apache-2.0). Out: a module whose `forward` encodes a batch of padded sentences and whose `similarity`
compares two sets of vectors.
"""

from __future__ import annotations

from typing import Dict, List

import jitlang as jl
from jitlang import Tensor

HEADS = 12
EPSILON = 1e-12


class Linear(jl.nn.Module):
    """``x @ weight.t() + bias``."""

    def __init__(self, weights: Dict[str, Tensor], name: str) -> None:
        super().__init__()
        self.weight = jl.nn.Parameter(weights[f"{name}.weight"])
        self.bias = jl.nn.Parameter(weights[f"{name}.bias"])

    def forward(self, x: Tensor) -> Tensor:
        """(…, inputs) → (…, outputs)."""
        return jl.linear(x, self.weight, self.bias)


class LayerNorm(jl.nn.Module):
    """Mean 0 and variance 1 over the last dimension, then scaled and shifted."""

    def __init__(self, weights: Dict[str, Tensor], name: str) -> None:
        super().__init__()
        self.weight = jl.nn.Parameter(weights[f"{name}.weight"])
        self.bias = jl.nn.Parameter(weights[f"{name}.bias"])

    def forward(self, x: Tensor) -> Tensor:
        """Shapes stay."""
        return jl.layer_norm(x, [x.size(-1)], self.weight, self.bias, EPSILON)


class Layer(jl.nn.Module):
    """Self-attention and a feed-forward network, each added to its input and normalised."""

    def __init__(self, weights: Dict[str, Tensor], name: str) -> None:
        super().__init__()
        self.query = Linear(weights, f"{name}.attention.self.query")
        self.key = Linear(weights, f"{name}.attention.self.key")
        self.value = Linear(weights, f"{name}.attention.self.value")
        self.output = Linear(weights, f"{name}.attention.output.dense")
        self.attention_norm = LayerNorm(weights, f"{name}.attention.output.LayerNorm")
        self.widen = Linear(weights, f"{name}.intermediate.dense")
        self.narrow = Linear(weights, f"{name}.output.dense")
        self.norm = LayerNorm(weights, f"{name}.output.LayerNorm")

    def heads(self, x: Tensor) -> Tensor:
        """(batch, tokens, width) → (batch, heads, tokens, width / heads)."""
        return x.view([x.size(0), x.size(1), HEADS, x.size(2) // HEADS]).transpose(1, 2)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """(batch, tokens, width); `bias` is added to the scores: very negative where a token is padding."""
        q = self.heads(self.query(x))
        k = self.heads(self.key(x))
        v = self.heads(self.value(x))
        scores = jl.matmul(q, k.transpose(-1, -2)) / float(q.size(-1)) ** 0.5 + bias
        mixed = jl.matmul(scores.softmax(-1), v).transpose(1, 2).contiguous().view([x.size(0), x.size(1), x.size(2)])
        x = self.attention_norm(x + self.output(mixed))
        return self.norm(x + self.narrow(jl.gelu(self.widen(x))))


class MiniLM(jl.nn.Module):
    """Embeddings, six layers, and the mean over the tokens that are no padding."""

    layers: List[Layer]

    def __init__(self, weights: Dict[str, Tensor]) -> None:
        super().__init__()
        self.words = jl.nn.Parameter(weights["embeddings.word_embeddings.weight"])
        self.positions = jl.nn.Parameter(weights["embeddings.position_embeddings.weight"])
        self.kinds = jl.nn.Parameter(weights["embeddings.token_type_embeddings.weight"])
        self.norm = LayerNorm(weights, "embeddings.LayerNorm")
        self.layers = [Layer(weights, f"encoder.layer.{i}") for i in range(6)]

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Token numbers and 1 for tokens, 0 for padding, both (batch, tokens) of int64 → (batch, 384), rows of length one."""
        tokens = ids.size(1)
        if tokens > self.positions.size(0):
            raise ValueError(f"{tokens} tokens; at most {self.positions.size(0)} are encoded")
        x = self.norm(jl.embedding(self.words, ids) + self.positions[:tokens] + self.kinds[0])
        keep = mask.to(jl.float32)
        bias = ((1.0 - keep) * -1e30).unsqueeze(1).unsqueeze(1)
        for layer in self.layers:
            x = layer(x, bias)
        weight = keep.unsqueeze(-1)
        mean = (x * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
        return mean / (mean * mean).sum(1, keepdim=True).sqrt().clamp(min=1e-12)

    @jl.export
    def similarity(self, a: Tensor, b: Tensor) -> Tensor:
        """The cosine of the angle between each row of `a` and each row of `b`."""
        return jl.matmul(a, b.t())
