"""Every operator that writes to a tensor counts it in the storage's version: packed copies rely on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitlang as jl
from jitlang.registry import Operator, all_operators
from jitlang.tensor.callables import operator
from jitlang.tensor.handles import storage
from jitlang.tensor.ops.samples import A, D, Sample
from jitlang.types import dtype_named

ROWS = [row for row in all_operators() if row.namespace == "aten" and "(a!) self" in row.text]


def value_of(given: Any) -> Any:
    if isinstance(given, A):
        kind = np.dtype(given.dtype).kind
        random = np.random.default_rng(given.seed)
        made = random.integers(0, 2, given.shape) if kind in "bu" else random.integers(max(0, int(given.low)), max(2, int(given.high)), given.shape)
        return jl.from_numpy(np.asarray(made).astype(given.dtype))
    if isinstance(given, D):
        return dtype_named(given.name)
    return type(given)(value_of(v) for v in given) if isinstance(given, list | tuple) else given


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.qualified)
def test_writing_counts(row: Operator) -> None:
    samples: list[Sample] = list(row.samples() if callable(row.samples) else row.samples)
    for sample in samples:
        if sample.error:
            continue
        target, *others = (value_of(v) for v in sample.args)
        before, version = target.clone(), storage(target).version
        try:
            operator(row.name)(target, *others, **{k: value_of(v) for k, v in sample.kwargs.items()})
        except (RuntimeError, IndexError, TypeError):  # values of another kind than the sample's
            continue
        changed = before.clone().numpy().tobytes() != target.clone().numpy().tobytes()
        assert storage(target).version > version or not changed
