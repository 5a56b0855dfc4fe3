"""Names of classes in archives: what else a process has compiled does not show in the file."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import jitlang as jl
from jitlang.serialization import read_archive

MODEL = """
from typing import Dict, List, NamedTuple, Tuple
import jitlang as jl
from jitlang import nn

class Point:
    def __init__(self, x: float, y: float) -> None:
        self.x = x
        self.y = y

    def norm(self) -> float:
        return (self.x ** 2 + self.y ** 2) ** 0.5

class Box(NamedTuple):
    a: int
    b: float

class Bad(ValueError):
    pass

class Counter:
    def __init__(self, start):
        self.n = start

    def bump(self, by):
        self.n = self.n + by
        return self.n

class Linear(nn.Module):
    def __init__(self, i, o, bias=True):
        super().__init__()
        self.weight = nn.Parameter(jl.ones(o, i))
        self.bias = nn.Parameter(jl.zeros(o)) if bias else None
        self.name = "lin"

    def forward(self, x):
        y = x.matmul(self.weight.t())
        if self.bias is not None:
            y = y + self.bias
        return y

def helper(v: float) -> float:
    if v < 0:
        raise Bad("negative")
    return v * 2

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Linear(3, 4)
        self.b = Linear(4, 2, False)
        self.layers = nn.ModuleList([Linear(2, 2), Linear(2, 2, False)])
        self.p = Point(1.0, 2.0)
        self.box = Box(1, 2.5)
        self.boxes = {"one": [Box(3, 4.5)]}

    def forward(self, x: jl.Tensor) -> jl.Tensor:
        x = self.b(self.a(x))
        for layer in self.layers:
            x = layer(x)
        return x * helper(self.p.norm())

    @jl.export
    def where(self, k: int = 2) -> Box:
        c, d = Counter(k), Counter(1.5)
        return Box(c.bump(1) + self.box.a, d.bump(0.5))

    @jl.export
    def points(self) -> List[Tuple[Point, Box]]:
        return [(Point(3.0, 4.0), self.boxes["one"][0])]
"""
OTHER = """
from typing import NamedTuple
import jitlang as jl
from jitlang import nn

class Point:
    def __init__(self, q: int) -> None:
        self.q = q

class Box(NamedTuple):
    z: str

class Counter:
    def __init__(self, s):
        self.s = s

class Bad(KeyError):
    pass

class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3

    def forward(self, x: int) -> int:
        return x + self.k

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = Linear()

    def forward(self, x: int) -> int:
        c = Counter("a")
        p = Point(x)
        if x < 0:
            raise Bad("no")
        return self.l(p.q) + len(c.s)

def use(b):
    return b.z

def run():
    assert jl.script(Net())(3) == 7
    assert jl.script(use)(Box("x")) == "x"
"""
HISTORIES = {
    "nothing": "",
    "classes of the same names": "import other; other.run()",
    "other forms of the same classes": """
def f():
    return model.Counter("s").n
def g(v):
    return model.helper(v)
jl.script(f)(); jl.script(g)(1.0)
for k in range(3):
    layer = model.Linear(2, 3, bool(k % 2)); layer.extra = k if k else "s"
    jl.script(layer)(jl.ones(1, 2))
""",
    "calls before it is saved": "n = jl.script(model.Net()); n(jl.ones(1, 3)); n.where(); n.points()",
}
SAVE = """
import io, hashlib, jitlang as jl, model
BEFORE
stream = io.BytesIO()
jl.save(jl.script(model.Net()), stream)
loaded = jl.load(io.BytesIO(stream.getvalue()))
assert loaded.where(5) == (7, 2.0) and type(loaded.where()) is type(loaded.box), loaded.where(5)
assert loaded(jl.ones(1, 3)).shape == (1, 2) and loaded.points()[0][1] == (3, 4.5)
again = io.BytesIO()
jl.save(loaded, again)
assert again.getvalue() == stream.getvalue()
print(hashlib.sha256(stream.getvalue()).hexdigest())
"""


def test_the_history_of_the_process_does_not_show(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "other.py").write_text(OTHER)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{Path(jl.__file__).parents[1]}"}
    found = {}
    for name, before in HISTORIES.items():
        (tmp_path / "run.py").write_text(SAVE.replace("BEFORE", before))
        done = subprocess.run([sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        found[name] = done.stdout
    assert len(set(found.values())) == 1, found


def module(name: str, text: str, folder: Path) -> Any:
    """A module from a file."""
    path = folder / f"{name}.py"
    path.write_text(text)
    made = types.ModuleType(name)
    sys.modules[name] = made
    exec(compile(text, str(path), "exec"), vars(made))
    return made


CLASSES = """
from typing import NamedTuple
class Shape:
    def __init__(self, v: {kind}) -> None:
        self.v = v
class Pair(NamedTuple):
    {field}: {kind}
"""


def test_two_classes_of_one_name_in_one_program(tmp_path: Path) -> None:
    one = module("naming_one", CLASSES.format(kind="int", field="a"), tmp_path)
    two = module("naming_two", CLASSES.format(kind="str", field="b"), tmp_path)

    def both(n: int) -> Any:
        first, second = one.Shape(n), two.Shape("x" * n)
        return first.v, second.v, one.Pair(n), two.Pair(second.v)

    f = jl.script(both)
    wanted = (3, "xxx", one.Pair(3), two.Pair("xxx"))
    assert f(3) == wanted
    assert [type(v) for v in f(3)] == [type(v) for v in wanted]
    stream = io.BytesIO()
    jl.save(f, stream)
    archive = read_archive(io.BytesIO(stream.getvalue()))
    assert set(archive.programs["main"].classes) == {"Shape", "Shape_1"}
    (point,) = archive.entry_points
    assert point.result == "Tuple[int, str, NamedTuple[Pair](a: int), NamedTuple[Pair_1](b: str)]"
    loaded = jl.load(io.BytesIO(stream.getvalue()))
    assert loaded(3) == wanted and [v._fields for v in loaded(3)[2:]] == [("a",), ("b",)]
    again = io.BytesIO()
    jl.save(loaded, again)
    assert again.getvalue() == stream.getvalue()
