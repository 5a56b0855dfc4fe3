"""Small programs that a tier once got wrong: found by the random ones, kept here."""

from __future__ import annotations

import pytest

from jitlang.testing.oracle import difference

HEAD = "import math\nfrom typing import Optional\nimport jitlang as jl\n"

FOUND = {
    # What a loop's body found out about a variable (that it has a value) was taken as known behind the loop, which may not have run.
    "unbound behind a loop": (
        "c: bool, n: int",
        "if c:\n    v = 'a'\ni = 0\nwhile i < n:\n    i += 1\n    x = repr(v)\nreturn v",
        "[(False, 0), (True, 0), (True, 2), (False, 1)]",
    ),
    "unbound behind a for with else": (
        "c: bool, n: int",
        "if c:\n    v = 1\nfor i in range(n):\n    if i == 5:\n        break\n    y = v\nelse:\n    y = 3\nreturn v",
        "[(False, 0), (True, 9)]",
    ),
    "unbound behind a comprehension": ("c: bool, n: int", "if c:\n    v = 1\ny = [v for _ in range(n)]\nreturn v", "[(False, 0), (True, 2)]"),
    # A number stored by a mask became a tensor of the default dtype, which index_put_ refuses for any other.
    "number stored by a mask": (
        "x: jl.Tensor",
        "x[x > 0] = 2\nx[x < 0] = -1.5\nreturn x.sum()",
        "[(jl.tensor([1, -2, 3]),), (jl.tensor([1.0, -2.0], dtype=jl.float64),)]",
    ),
    "number stored by a mask, double": ("x: jl.Tensor", "x[x > 0] = 0.1\nreturn x", "[(jl.tensor([1.0, -2.0], dtype=jl.float64),)]"),
    # An empty list within an optional got no element type.
    "empty list or nothing": ("c: bool", "v: Optional[list[int]] = ([] if c else None)\nif v is not None:\n    v.append(3)\nreturn v", "[(True,), (False,)]"),
    # With an exception set, code that was looked up at its first call failed while the exception was passed on.
    "first call behind an error": ("xs: list[int]", "t = jl.tensor(xs)\nreturn t[7], xs.index(3)", "[([1],), ([3] * 9,)]"),
}


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.parametrize("level", ["0", "2"])
def test_found(name: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_OPT_LEVEL", level)
    parameters, body, arguments = FOUND[name]
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    assert difference(f"{HEAD}def main({parameters}):\n{lines}\n\ndef arguments():\n    return {arguments}\n") is None
