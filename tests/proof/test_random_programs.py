"""Law 1, by random programs: CPython, the VM and native code agree on value, type, exception and what the caller's arguments become.

By default some 80 programs; `.ci/run` checks 2,000 with ``python -m jitlang.testing.fuzz --seed 1 --count 2000``, and without ``--count`` it never ends.
"""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

import jitlang.registry
from jitlang.testing.checked import checked, checked_module, power, shifted, total
from jitlang.testing.fuzz import fuzz, source
from jitlang.testing.oracle import difference
from jitlang.testing.shrink import shrunk
from jitlang.testing.statements import program

HEAD = "import math\nfrom typing import Optional\nimport jitlang as jl\n"


def test_programs_of_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(jitlang.registry.__file__).parents[1]))
    found = fuzz(1, 50, jobs=2, attempts=60)
    assert not found, "\n".join(f.text for f in found)


def test_programs_of_hypothesis(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same generator, driven by hypothesis, which makes what fails small by its own means."""
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st

    monkeypatch.setenv("JITLANG_OPT_LEVEL", "0")

    @settings(max_examples=30, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(st.randoms(use_true_random=False).map(program))
    def check(text: str) -> None:
        assert difference(text) is None

    check()


def test_a_seed_is_one_program() -> None:
    assert source(7) == source(7) == program(random.Random(7))
    assert len({source(s) for s in range(20)}) == 20
    for seed in range(50):
        compile(source(seed), "generated", "exec")


def test_programs_hold_the_whole_language() -> None:
    text = "\n".join(source(s) for s in range(300))
    for word in (
        "while ",
        "for ",
        "break",
        "continue",
        "else:",
        "elif ",
        "assert ",
        "raise ",
        "is not None",
        " if ",
        "enumerate(",
        "zip(",
        "jl.stack",
        "del ",
        "f'",
        "helper1(",
        "class K1",
        "self.a0",
        ".m0(",
        "= K0(",
    ):
        assert word in text, word


def program_of(body: str, parameters: str = "n: int", arguments: str = "[(3,), (-4,)]") -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"{HEAD}def main({parameters}):\n{lines}\n\ndef arguments():\n    return {arguments}\n"


def test_a_wrong_tier_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault put into the VM's meaning of an operator shows as a difference, and the program that shows it becomes small."""
    text = program_of("m = n + 1\nxs = [n, m]\nfor i in range(3):\n    xs.append(i * m)\nreturn xs, math.gcd(n, 6)")
    assert difference(text) is None
    row = jitlang.registry.overloads("py::math_gcd")[0]
    right = row.python
    object.__setattr__(row, "python", lambda a, b: math.gcd(a, b) if a > 0 else 0)
    try:
        found = difference(text, ("vm",))
        assert found is not None
        assert (found.kind, found.tier, found.call) == ("value", "vm", 1)
        small = shrunk(text, lambda t: difference(t, ("vm",)) is not None if "gcd" in t else False)
        assert "append" not in small
        assert "gcd" in small
    finally:
        object.__setattr__(row, "python", right)


def test_what_the_oracle_sees() -> None:
    cases = {
        "raises": program_of("xs.append(1)\nreturn xs[7]", "xs: list[int]", "[([],)]"),
        "aliases": program_of("ys.append(1)\nreturn [xs, ys, xs]", "xs: list[int], ys: list[int]", "[(a := [], a)]"),
        "tensors": program_of("y = x[0]\ny += 1\nreturn y, x.t()", "x: jl.Tensor", "[(jl.zeros(2, 3),)]"),
    }
    for name, text in cases.items():
        assert difference(text) is None, name


def test_cpython_with_checked_integers() -> None:
    names = checked_module("def f(a, xs):\n    xs[0] += a\n    return -a, a << 3, a ** 2\n", "text")
    assert names["f"](2, [1]) == (-2, 16, 4)
    xs = [2**63 - 1]
    with pytest.raises(OverflowError):
        names["f"](1, xs)
    assert xs == [2**63 - 1]
    for call in (lambda: checked(2**63), lambda: power(2, 63), lambda: shifted(1, 200), lambda: total([2**62, 2**62, 5]), lambda: checked((1, -(2**63) - 1))):
        with pytest.raises(OverflowError):
            call()
    with pytest.raises(ValueError, match="complex"):
        power(-1.0, 0.5)
    assert total([2**63 - 1, 1, -5]) == 2**63 - 5
    assert total([0.1, 0.2]) == sum([0.1, 0.2])
