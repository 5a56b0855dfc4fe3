"""``torch.nn.functional`` by its names: every function here is a tensor operator; in a script it is that operator's node.

A name that is no attribute of this module is looked up among the operators: ``F.relu``, ``F.layer_norm``, ``F.conv1d`` …
"""

from __future__ import annotations

from typing import Any

from jitlang.tensor.callables import has_variant, operator


def __getattr__(name: str) -> Any:
    if name.startswith("__") or not has_variant(name, "function"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return operator(name)
