"""``jitlang.nn.functional`` by PyTorch's names and orders of arguments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jitlang as jl
import jitlang.nn.functional as F  # noqa: N812  as everybody writes it
from jitlang import Tensor

IDS = np.array([[0, 2], [1, 1]])
TABLE = np.arange(12, dtype=np.float32).reshape(3, 4) / 7


def looked_up(ids: Tensor, table: Tensor) -> Tensor:
    return F.embedding(ids, table) + F.relu(F.embedding(ids, table, padding_idx=0)) + jl.embedding(table, ids)


@pytest.mark.parametrize("tier", ["vm", "native"])
def test_embedding_takes_the_indices_first(tier: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)
    arguments = jl.from_numpy(IDS), jl.from_numpy(TABLE)
    assert looked_up(*arguments).tolist() == (3 * jl.from_numpy(TABLE[IDS])).tolist()
    scripted = jl.script(looked_up)
    assert scripted(*arguments).tolist() == looked_up(*arguments).tolist()
    jl.save(scripted, tmp_path / "f.jlm")
    assert jl.load(tmp_path / "f.jlm")(*arguments).tolist() == looked_up(*arguments).tolist()
    with pytest.raises(RuntimeError, match="indices"):
        F.embedding(*arguments[::-1])


def test_against_torch() -> None:
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).normal(size=(2, 6, 8)).astype(np.float32)
    w = np.random.default_rng(1).normal(size=(8, 8)).astype(np.float32)
    calls = {
        "embedding": (IDS, TABLE),
        "linear": (x, w, w[0]),
        "layer_norm": (x, (8,), w[0], w[1]),
        "softmax": (x, -1),
        "log_softmax": (x, 1),
        "gelu": (x,),
        "pad": (x, (2, 3), "reflect"),
        "conv1d": (x, np.random.default_rng(2).normal(size=(3, 6, 2)).astype(np.float32)),
    }
    for name, given in calls.items():
        ours = getattr(F, name)(*[jl.from_numpy(a) if isinstance(a, np.ndarray) else a for a in given])
        theirs = getattr(torch.nn.functional, name)(*[torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in given])
        assert np.allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6), name
