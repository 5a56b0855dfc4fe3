"""``torch.nn.functional`` by its names: every function here is a tensor operator; in a script it is that operator's node.

A name that is no attribute of this module is looked up among the operators: ``F.relu``, ``F.layer_norm``, ``F.conv1d`` …
"""

from __future__ import annotations

from typing import Any, Optional

from jitlang.tensor.callables import has_variant, operator
from jitlang.tensor.handles import Tensor

table_rows = operator("embedding")
dropout_rows = operator("dropout")


def __getattr__(name: str) -> Any:
    if name.startswith("__") or not has_variant(name, "function"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return operator(name)


def embedding(input: Tensor, weight: Tensor, padding_idx: Optional[int] = None) -> Tensor:  # noqa: UP045  the frontend reads it
    """The rows of `weight` that `input` names: ``torch.nn.functional.embedding``, whose order of arguments is not that of ``torch.embedding``.

    `padding_idx` says which row gets no gradient; the result does not depend on it.
    """
    return table_rows(weight, input)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements set to 0 with probability `p`, the others scaled by 1 / (1 - p); see ``torch.nn.functional.dropout``.

    Raises:
        RuntimeError: `p` is not between 0 and 1.
    """
    made = dropout_rows(input, p, training)
    return input.copy_(made) if inplace else made
