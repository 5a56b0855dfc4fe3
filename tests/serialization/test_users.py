"""What users save: modules of every kind of attribute, constants of the file they stand in, several entry points; loaded where there is no source."""

from __future__ import annotations

import collections
import enum
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Tuple  # noqa: UP035

import numpy as np
import pytest

import jitlang as jl
from jitlang import nn
from jitlang.serialization import read_archive

TABLE = [1, 2, 3]
NAMES = {"a": 1.5}
SCALE = jl.tensor([1.0, 2.0])
EPS = np.float32(0.5)
MOST = np.int64(3)


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


class Range(NamedTuple):
    low: float
    high: Optional[float]


class Link:
    def __init__(self, value: float) -> None:
        self.value = value
        self.next: Optional[Link] = None


class Leaf(nn.Module):
    def __init__(self, start: float) -> None:
        super().__init__()
        self.w = nn.Parameter(jl.full([1], start))

    def forward(self, x: jl.Tensor) -> jl.Tensor:
        return x * self.w


class Model(nn.Module):
    """One attribute of every kind."""

    cache: Optional[jl.Tensor]

    def __init__(self) -> None:
        super().__init__()
        self.mode = Mode.SLOW
        self.level = Level.HIGH
        self.maybe: Optional[jl.Tensor] = None
        self.cache = None
        self.table: Dict[str, jl.Tensor] = {"w": jl.ones(2)}
        self.link = Link(2.0)
        self.link.next = Link(3.0)
        self.register_buffer("count", jl.zeros(1))
        self.register_buffer("passing", jl.zeros(1), persistent=False)
        self.named = nn.ModuleDict({"x": Leaf(1.0), "y": Leaf(2.0)})
        self.listed = nn.ModuleList([Leaf(3.0), self.named["x"]])
        self.tied = self.named["x"].w
        self.eps = np.float64(0.25)
        self.config = (1, "s", [1, 2], {"k": 2.5})
        self.shape = jl.zeros(2, 3).shape
        self.ordered = collections.OrderedDict(b=1, a=2)
        self.dtype = jl.float32
        self.limits = Range(-1.0, None)
        self.all_limits = [Range(0.0, 1.0), Range(1.0, None)]

    def forward(self, x: jl.Tensor, k: int = 3, *, flag: bool = False, name: Optional[str] = None) -> jl.Tensor:
        if self.mode == Mode.SLOW:
            x = x * 2
        if self.maybe is not None:
            x = x + self.maybe
        self.count += 1
        self.passing += 2
        for layer in self.listed:
            x = layer(x)
        x = self.named["y"](x)
        x = x * SCALE * float(TABLE[0]) + NAMES["a"] + EPS + float(MOST)
        if flag:
            x = -x
        if name is not None:
            x = x + len(name)
        return x * k + self.table["w"] + self.level

    @jl.export
    def remember(self, x: jl.Tensor) -> None:
        self.maybe = x
        self.cache = x
        self.table["new"] = x
        self.link.value += 1
        self.all_limits.append(Range(float(x.sum()), self.limits.high))

    @jl.export
    def look(self) -> Tuple[float, int, str, List[Range]]:
        n = self.link.next
        value = n.value if n is not None else 0.0
        return self.link.value + value, len(self.table), str(self.dtype), self.all_limits


def use(m: Any) -> list[Any]:
    """What the model does, and what it leaves behind."""
    found = [m(jl.ones(2)).tolist(), m(x=jl.ones(2), k=1, flag=True, name="ab").tolist(), m.forward(jl.ones(2), name="").tolist()]
    m.remember(jl.ones(2))
    found += [m(jl.ones(2), k=2).tolist(), m.look(), m.count.tolist(), m.passing.tolist(), m.maybe.tolist(), m.level, m.eps, m.config, tuple(m.shape)]
    found += [list(m.ordered.items()), m.dtype, m.limits, m.all_limits, m.link.value, m.link.next.value, m.link.next.next, sorted(m.table), m.tied.tolist()]
    return found


def saved(obj: Any) -> bytes:
    stream = io.BytesIO()
    jl.save(obj, stream)
    return stream.getvalue()


def loaded(data: bytes) -> Any:
    return jl.load(io.BytesIO(data))


@pytest.mark.parametrize("tier", ["vm", "native"])
def test_a_model_with_everything(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)
    wanted = use(Model())
    scripted = jl.script(Model())
    data = saved(scripted)
    assert use(scripted) == wanted
    first = loaded(data)
    assert saved(first) == data == saved(jl.script(Model()))
    assert use(first) == wanted
    later = saved(first)
    again = loaded(later)
    assert saved(again) == later != data
    assert again.look() == first.look()
    assert type(again.limits) is type(again.all_limits[0]) is type(again.look()[3][0])
    assert again.limits._fields == ("low", "high")


def test_tensors_are_stored_once() -> None:
    module = Model()
    archive = read_archive(io.BytesIO(saved(module)))
    assert set(archive.tensors) == {"tied", "named.y.w", "listed.0.w", "count", "passing", "table.w"}
    made = loaded(saved(module))
    assert made.tied is made.named.x.w is getattr(made.listed, "1").w


def test_a_process_without_the_source(tmp_path: Path) -> None:
    path = tmp_path / "model.jlm"
    path.write_bytes(saved(Model()))
    program = (
        "import jitlang as jl\nm = jl.load('model.jlm')\nm.remember(jl.ones(2))\nprint(m(jl.ones(2), name='ab', k=1).tolist(), m.look(), m.limits, m.level)\n"
        "jl.save(m, 'again.jlm')\nprint(jl.load('again.jlm').look())"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(jl.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    module = Model()
    module.remember(jl.ones(2))
    first = f"{module(jl.ones(2), name='ab', k=1).tolist()} {module.look()} {module.limits} {int(module.level)}"
    assert (done.stderr, done.stdout) == ("", f"{first}\n{module.look()}\n")


# ---- one overload for each form ------------------------------------------------------------------------------------


def by_rank(x):
    if x.dim() == 2:
        return x.sum()
    return x.sum() * 100.0


def by_dtype(x):
    return 1 if x.dtype == jl.float32 else 2


def double(v):
    return v + v


def test_a_form_is_only_for_what_it_was_compiled_for() -> None:
    rank, dtype = jl.script(by_rank), jl.script(by_dtype)
    rank(jl.ones(2, 2))
    dtype(jl.ones(1))
    one = loaded(saved(rank))
    assert float(one(jl.ones(2, 2))) == 4.0
    with pytest.raises(TypeError, match=r"argument 'x' of by_rank\(\): expected Tensor\[float32, 2, cpu\], got Tensor\[float32, 1, cpu\]"):
        one(jl.ones(4))
    with pytest.raises(TypeError, match="got Tensor.int64, 1, cpu"):
        loaded(saved(dtype))(jl.ones(1, dtype=jl.int64))
    rank(jl.ones(4))
    dtype(jl.ones(1, dtype=jl.int64))
    assert [float(loaded(saved(rank))(x)) for x in (jl.ones(2, 2), jl.ones(4))] == [4.0, 400.0]
    assert [loaded(saved(dtype))(jl.ones(1, dtype=d)) for d in (jl.float32, jl.int64)] == [1, 2]


def test_the_closest_form_is_taken_whatever_the_order_of_the_calls() -> None:
    files = []
    for order in ((1, 0.5, "a"), ("a", 0.5, 1)):
        f = jl.script(double)
        for value in order:
            f(value)
        files.append(saved(f))
        assert [loaded(files[-1])(v) for v in (3, 2.5, "x", True)] == [6, 5.0, "xx", 2]
        assert [type(loaded(files[-1])(v)) for v in (3, 2.5, True)] == [int, float, int]
    assert files[0] == files[1]


def test_a_parameter_keeps_its_dtype_and_rank() -> None:
    made = loaded(saved(Leaf(2.0)))
    made.w = jl.full([1], 5.0)
    assert made(jl.ones(2)).tolist() == [5.0, 5.0]
    for wrong in (jl.ones(2, 2), jl.ones(1, dtype=jl.int64)):
        with pytest.raises(TypeError, match="the attribute 'w' is Tensor"):
            made.w = wrong


def test_what_cannot_be_stored() -> None:
    class Odd(nn.Module):
        def __init__(self, value: Any) -> None:
            super().__init__()
            self.value = value

        def forward(self) -> int:
            return 1

    assert loaded(saved(Odd(Mode.FAST)))() == 1  # known at compile time only
    assert loaded(saved(Odd(len)))() == 1
    with pytest.raises((TypeError, ValueError), match="64 bits"):
        saved(Odd(2**70))
