"""MiniLM as PyTorch users write and freeze it, for comparison. In: arrays. Out: a frozen TorchScript module."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Layer(nn.Module):
    """One encoder layer."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.ModuleList([nn.Linear(384, 384) for _ in range(3)])
        self.output = nn.Linear(384, 384)
        self.attention_norm = nn.LayerNorm(384, eps=1e-12)
        self.widen = nn.Linear(384, 1536)
        self.narrow = nn.Linear(1536, 384)
        self.norm = nn.LayerNorm(384, eps=1e-12)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """(batch, tokens, 384) to the same."""
        b, t = x.size(0), x.size(1)
        parts = [linear(x).view(b, t, 12, 32).transpose(1, 2) for linear in self.qkv]
        scores = torch.matmul(parts[0], parts[1].transpose(-1, -2)) / 32**0.5 + bias
        mixed = torch.matmul(scores.softmax(-1), parts[2]).transpose(1, 2).reshape(b, t, 384)
        x = self.attention_norm(x + self.output(mixed))
        return self.norm(x + self.narrow(F.gelu(self.widen(x))))


class MiniLM(nn.Module):
    """The encoder."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(30522, 384)
        self.positions = nn.Embedding(512, 384)
        self.kinds = nn.Embedding(2, 384)
        self.norm = nn.LayerNorm(384, eps=1e-12)
        self.layers = nn.ModuleList([Layer() for _ in range(6)])

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Token numbers and mask to vectors of length one."""
        x = self.norm(self.words(ids) + self.positions.weight[: ids.size(1)] + self.kinds.weight[0])
        keep = mask.to(torch.float32)
        bias = ((1.0 - keep) * -1e30).unsqueeze(1).unsqueeze(1)
        for layer in self.layers:
            x = layer(x, bias)
        weight = keep.unsqueeze(-1)
        return F.normalize((x * weight).sum(1) / weight.sum(1), dim=1)


def frozen(arrays: dict[str, Any]) -> Any:
    """The model with the weights of the safetensors file, scripted and frozen."""
    model = MiniLM().eval()
    names = {
        "words": "embeddings.word_embeddings",
        "positions": "embeddings.position_embeddings",
        "kinds": "embeddings.token_type_embeddings",
        "norm": "embeddings.LayerNorm",
    }
    for i in range(6):
        ours, theirs = f"layers.{i}", f"encoder.layer.{i}"
        names |= {f"{ours}.qkv.{n}": f"{theirs}.attention.self.{part}" for n, part in enumerate(("query", "key", "value"))}
        names |= {f"{ours}.output": f"{theirs}.attention.output.dense", f"{ours}.attention_norm": f"{theirs}.attention.output.LayerNorm"}
        names |= {f"{ours}.widen": f"{theirs}.intermediate.dense", f"{ours}.narrow": f"{theirs}.output.dense", f"{ours}.norm": f"{theirs}.output.LayerNorm"}
    state = {key: torch.from_numpy(arrays[f"{names[key.rpartition('.')[0]]}.{key.rpartition('.')[2]}"]) for key in model.state_dict()}
    model.load_state_dict(state)
    return torch.jit.freeze(torch.jit.script(model))
