"""The same encoder in plain PyTorch functions, as the yardstick of the example's check. In: weights and tokens. Out: vectors."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F


def encode(weights: dict[str, Any], ids: Any, mask: Any) -> Any:
    """Vectors of length one, (batch, 384), for token numbers and mask (batch, tokens)."""

    def norm(x: Any, name: str) -> Any:
        return F.layer_norm(x, (384,), weights[f"{name}.weight"], weights[f"{name}.bias"], 1e-12)

    def linear(x: Any, name: str) -> Any:
        return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def heads(x: Any) -> Any:
        return x.unflatten(-1, (12, 32)).transpose(1, 2)

    x = weights["embeddings.word_embeddings.weight"][ids] + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in (f"encoder.layer.{i}" for i in range(6)):
        q, k, v = (heads(linear(x, f"{layer}.attention.self.{part}")) for part in ("query", "key", "value"))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.bool()[:, None, None, :]).transpose(1, 2).flatten(2)
        x = norm(x + linear(mixed, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm")
        x = norm(x + linear(F.gelu(linear(x, f"{layer}.intermediate.dense")), f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    weight = mask.unsqueeze(-1).to(torch.float32)
    return F.normalize((x * weight).sum(1) / weight.sum(1), dim=1)
