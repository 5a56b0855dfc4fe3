"""Small tensors, where overhead is everything, and loops over elements."""

from __future__ import annotations

from typing import Any, Callable

from benchmarks.harness import Case, Names, installed


def add(x, y):
    return x + y


def chain(x, y):
    return ((x + y) * x - y) * 0.5 + (x * 2.0 - 1.0).tanh() * y


def levenshtein(a, b) -> int:
    n = a.size(0)
    m = b.size(0)
    row = [i for i in range(m + 1)]
    for i in range(n):
        diagonal = row[0]
        row[0] = i + 1
        for j in range(m):
            above = row[j + 1]
            cost = diagonal
            if int(a[i]) != int(b[j]):
                if above < cost:
                    cost = above
                if row[j] < cost:
                    cost = row[j]
                cost += 1
            diagonal = above
            row[j + 1] = cost
    return row[m]


def _peers(function: Callable[..., Any], arrays: dict[str, Any], *, eager: bool = True, numpy: bool = False) -> dict[str, Names]:
    import jitlang

    own = {name: jitlang.from_numpy(array) for name, array in arrays.items()}
    found: dict[str, Names] = {"jitlang": {"f": jitlang.script(function), **own}}
    if eager:
        found["jitlang eager"] = {"f": function, **own}
    if numpy:
        found["NumPy"] = {"f": function, **arrays}
    torch = installed("torch")
    if torch is not None:
        theirs = {name: torch.from_numpy(array) for name, array in arrays.items()}
        found["TorchScript"] = {"f": torch.jit.script(function), **theirs}
        if eager:
            found["torch eager"] = {"f": function, **theirs}
    return found


def _floats(count: int) -> dict[str, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    return {name: rng.standard_normal(count).astype(np.float32) for name in "xy"}


def _letters() -> dict[str, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    return {"a": rng.integers(0, 4, 60), "b": rng.integers(0, 4, 70)}


def close(a: Any, b: Any) -> bool:
    """Whether two tensors or arrays of any peers hold nearly the same."""
    import numpy as np

    return bool(np.allclose(np.asarray(a), np.asarray(b), rtol=1e-4, atol=1e-5))


CASES = [
    Case("x + y, 16 floats", "f(x, y)", lambda: _peers(add, _floats(16), numpy=True), {"TorchScript": 0.06}, close),
    Case("chain of 8 operations, 64 floats", "f(x, y)", lambda: _peers(chain, _floats(64)), {}, close),
    Case("x + y, 1 million floats", "f(x, y)", lambda: _peers(add, _floats(1_000_000), numpy=True), {}, close),
    Case("Levenshtein 60 × 70, element by element", "f(a, b)", lambda: _peers(levenshtein, _letters(), eager=False), {"TorchScript": 0.02}),
]
