"""`save` and `load`: the same answers from a file, in a process without the source, and files that do not fit themselves."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import pytest

import jitlang as jl
from jitlang.errors import ArchiveError
from jitlang.nn import Module, Parameter
from jitlang.serialization import Archive, read_archive, write_archive
from jitlang.serialization.loading import LoadedModule, from_archive

SCALE = 3


def scaled(x: float, by: int = 2, *, name: str = "ü", note: Optional[str] = None) -> Tuple[float, str]:
    """Scales x.

    More text.
    """
    return x * by * SCALE, name if note is None else name + note


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def total(values):
    result = values[0]
    for i in range(1, len(values)):
        result = result + values[i]
    return result


def failing(items: List[int], at: int) -> int:
    return items[at] + 1


class Layer(Module):
    def __init__(self, value: float, power: int) -> None:
        super().__init__()
        self.weight = Parameter(jl.tensor([value, value]))
        self.power = power

    def forward(self, x: jl.Tensor) -> jl.Tensor:
        for _ in range(self.power):
            x = x * self.weight
        return x


class Counter(Module):
    layers: List[Layer]
    log: List[str]
    seen: Dict[str, int]
    limit: Optional[int]

    def __init__(self) -> None:
        super().__init__()
        self.layers = [Layer(2.0, 1), Layer(3.0, 2)]
        self.first = self.layers[0]
        self.register_buffer("last", jl.tensor([0.0, 0.0]))
        self.calls = 0
        self.log = []
        self.seen = {"a": 1}
        self.shared = self.seen
        self.limit = None

    def forward(self, x: jl.Tensor) -> jl.Tensor:
        self.calls += 1
        for layer in self.layers:
            x = layer.forward(x)
        self.last = x
        return x

    @jl.export
    def count(self, name: str = "b") -> int:
        """How often forward was called."""
        self.log.append(name)
        self.seen[name] = self.calls
        return self.calls + len(self.shared)


@pytest.fixture(params=["vm", "auto"], autouse=True)
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name: str = request.param
    monkeypatch.setenv("JITLANG_TIER", name)
    return name


def saved(obj: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    jl.save(obj, stream, **options)
    return stream.getvalue()


def through(obj: Any) -> Any:
    return jl.load(io.BytesIO(saved(obj)))


# ---- functions ----------------------------------------------------------------------------------------------------


def test_a_function_with_its_defaults() -> None:
    f = through(scaled)
    cases: List[Tuple[Any, Any]] = [((2.0,), {}), ((2.0, 5), {}), ((2.0,), {"by": 4, "name": "x"}), ((), {"x": 1.5, "note": "!"}), ((2,), {})]
    for args, kwargs in cases:
        assert f(*args, **kwargs) == scaled(*args, **kwargs)
    (point,) = read_archive(io.BytesIO(saved(scaled))).entry_points
    assert str(point) == "scaled(x: float, by: int = 2, *, name: str = 'ü', note: Optional[str] = None) -> Tuple[float, str]" and point.doc == "Scales x."


def test_recursion_and_helpers_come_along() -> None:
    assert through(fib)(15) == 610


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, r"scaled\(\) missing required argument: 'x'"),
        ((1.0, 2, 3), {}, r"scaled\(\) takes 2 positional arguments but 3 were given"),
        ((1.0,), {"x": 2.0}, "multiple values for argument 'x'"),
        ((1.0,), {"z": 2.0}, "unexpected keyword argument 'z'"),
        (("a",), {}, "argument 'x' of scaled.*: expected float, got str"),
        ((1.0,), {"note": 3}, "argument 'note' of scaled.*: expected Optional.str., got int"),
    ],
)
def test_arguments_that_do_not_fit(args: Any, kwargs: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        through(scaled)(*args, **kwargs)


def test_a_function_without_annotations_is_stored_for_its_calls() -> None:
    f = jl.script(total)
    with pytest.raises(ValueError, match=r"total\(\) does not declare the types of all its parameters: annotate them, or call it once"):
        saved(f)
    assert f([1, 2, 3]) == 6 and f([0.5, 0.25]) == 0.75
    g = through(f)
    assert g([4, 5]) == 9 and g([0.5]) == 0.5
    with pytest.raises(TypeError, match=r"no overload of total\(\) fits these arguments: total\(values: List\[float\]\) -> float; total"):
        g(["a"])


def test_errors_show_the_line_of_the_source(tmp_path: Path) -> None:
    path = tmp_path / "failing.jlm"
    jl.save(failing, path)
    f = jl.load(path)
    with pytest.raises(IndexError) as caught:
        f([1], 5)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.name, last.line) == ("failing.jlm/test_models.py", "failing", "return items[at] + 1")


def test_lists_stay_the_callers() -> None:
    def push(items: List[int]) -> None:
        items.append(len(items))

    items = [5]
    through(push)(items)
    assert items == [5, 1]


# ---- modules ------------------------------------------------------------------------------------------------------


def test_a_module_with_state() -> None:
    module = Counter()
    scripted = jl.script(module)
    x = jl.tensor([1.0, 2.0])
    assert scripted(x).tolist() == [18.0, 36.0]
    loaded = through(scripted)
    assert isinstance(loaded, LoadedModule)
    assert loaded(x).tolist() == [18.0, 36.0] and loaded.forward(x).tolist() == [18.0, 36.0]
    assert loaded.calls == 3 and scripted.calls == 1
    assert loaded.count() == 3 + 2 and loaded.count(name="c") == 3 + 3
    assert loaded.log == ["b", "c"] and module.log == []
    assert loaded.shared is loaded.seen and loaded.seen == {"a": 1, "b": 3, "c": 3}
    assert loaded.first is loaded.layers[0] and loaded.last.tolist() == [18.0, 36.0]
    assert {"forward", "count", "calls"} <= set(dir(loaded)) and "count(name: str = 'b') -> int" in repr(loaded)


def test_the_same_model_is_the_same_file() -> None:
    data = saved(Counter())
    assert data == saved(Counter()) == saved(jl.load(io.BytesIO(data)))
    later = jl.load(io.BytesIO(data))
    later.count()
    assert saved(later) != data and jl.load(io.BytesIO(saved(later))).log == ["b"]


def test_names_of_tensors() -> None:
    assert set(read_archive(io.BytesIO(saved(Counter()))).tensors) == {"first.weight", "layers.1.weight", "last"}  # the shortest path gives the name


def test_setting_attributes_of_a_loaded_module() -> None:
    loaded = through(Counter())
    loaded.calls = 10
    loaded.limit = 3
    assert loaded.count() == 12
    with pytest.raises(TypeError, match="the attribute 'calls' is int, the value is str"):
        loaded.calls = "x"
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        loaded.other = 1
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        loaded.other


def test_tensors_that_share_elements_share_them_again() -> None:
    class Tied(Module):
        def __init__(self) -> None:
            super().__init__()
            base = jl.tensor([[1.0, 2.0], [3.0, 4.0]])
            self.whole = Parameter(base)
            self.row = base[1]
            self.same = base

        def forward(self, x: float) -> float:
            self.row.add_(x)
            return float(self.whole.sum()) + float(self.same.sum())

    module = Tied()
    loaded = through(module)
    assert loaded(1.0) == 24.0 and loaded.whole.tolist() == [[1.0, 2.0], [4.0, 5.0]]
    assert set(read_archive(io.BytesIO(saved(module))).tensors) == {"whole"}


def test_extra_files(tmp_path: Path) -> None:
    data = saved(scaled, extra={"labels.txt": "a\nb", "raw": b"\0\1"})
    assert read_archive(io.BytesIO(data)).extra == {"labels.txt": b"a\nb", "raw": b"\0\1"}
    with pytest.raises(ValueError, match=r"extra file '\.\./x'"):
        saved(scaled, extra={"../x": b""})


def test_values_that_cannot_be_stored() -> None:
    def f(x: int, y: List[int] = [1]) -> int:
        return x

    with pytest.raises(TypeError, match="the default of parameter 'y'"):
        saved(f)


def test_a_process_without_the_source(tmp_path: Path) -> None:
    path = tmp_path / "counter.jlm"
    jl.save(Counter(), path)
    (tmp_path / "x.json").write_text("[1.0, 2.0]")
    command = [sys.executable, "-m", "jitlang", "run", str(path), "--input", "x=x.json", "--output", "-"]
    environment = os.environ | {"PYTHONPATH": str(Path(jl.__file__).parents[1])}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout) == (0, "[18.0, 36.0]\n")


# ---- files that do not fit themselves -----------------------------------------------------------------------------


def changed(change: Any) -> Archive:
    archive = read_archive(io.BytesIO(saved(Counter())))
    change(archive)
    stream = io.BytesIO()
    write_archive(archive, stream)
    return read_archive(io.BytesIO(stream.getvalue()))


def set_atom(archive: Archive, name: str, atom: Any) -> None:
    archive.state["cells"][archive.state["root"]["cell"]]["attributes"][name] = atom


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda a: set_atom(a, "calls", "three"), "attribute 'calls' of .*Counter is no int"),
        (lambda a: set_atom(a, "last", 3), "attribute 'last' of .*Counter is no Tensor"),
        (lambda a: set_atom(a, "last", {"leaf": {"tensor": "nowhere"}}), "'nowhere' is missing"),
        (lambda a: set_atom(a, "last", {"leaf": {"tensor": "last", "shape": [9], "strides": [1], "offset": 0}}), "reaches past its end"),
        (lambda a: set_atom(a, "last", {"leaf": {"tensor": "last", "shape": [-1], "strides": [1], "offset": 0}}), "impossible shape"),
        (lambda a: set_atom(a, "layers", {"tuple": []}), "attribute 'layers' of .*Counter is no List"),
        (lambda a: set_atom(a, "first", None), "attribute 'first' of .*Counter is no .*Layer"),
        (lambda a: set_atom(a, "more", 1), "Counter has no attribute 'more'"),
        (lambda a: setattr(a, "state", None), "does not have the parameters of function"),
        (lambda a: setattr(a, "state", {"root": 3, "cells": []}), "no method of the root object"),
        (lambda a: setattr(a, "entry_points", ()), "no entry points"),
    ],
)
def test_state_and_entry_points_are_checked(change: Any, reason: str) -> None:
    with pytest.raises(ArchiveError, match=reason):
        from_archive(changed(change))


# ---- a loaded module's tensors ------------------------------------------------------------------------------------


class Dropping(Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Layer(2.0, 1)
        self.register_buffer("offset", jl.tensor([1.0, 1.0]))

    def forward(self, x: jl.Tensor) -> jl.Tensor:
        x = self.inner(x) + self.offset
        return x * 0.0 if self.training else x

    @jl.export
    def eval_count(self, x: jl.Tensor) -> int:
        return int(self.offset.sum().item()) + int(x.numel())


class Trainer(Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps = 0

    @jl.export
    def train(self, by: int) -> int:  # comes before the method of that name
        self.steps += by
        return self.steps

    def forward(self, x: jl.Tensor) -> jl.Tensor:
        return x


def test_state_of_a_loaded_module() -> None:
    loaded, x = through(Dropping()), jl.tensor([1.0, 2.0])
    state = loaded.state_dict()
    assert {name: t.tolist() for name, t in state.items()} == {"inner.weight": [2.0, 2.0], "offset": [1.0, 1.0]}
    assert loaded(x).tolist() == [0.0, 0.0] and loaded.eval() is loaded and loaded(x).tolist() == [3.0, 5.0]
    loaded.load_state_dict({"inner.weight": jl.tensor([3.0, 4.0]), "offset": state["offset"]})
    assert loaded(x).tolist() == [4.0, 9.0] and through(loaded)(x).tolist() == [4.0, 9.0]
    assert loaded.train()(x).tolist() == [0.0, 0.0]
    assert loaded.eval_count(x) == 4
    with pytest.raises(KeyError, match="state of Dropping: missing \\['offset'\\], unknown \\['other'\\]"):
        loaded.load_state_dict({"inner.weight": state["inner.weight"], "other": x})
    with pytest.raises(RuntimeError, match="offset: shape \\[3\\] where \\[2\\] is expected"):
        loaded.load_state_dict({"inner.weight": x, "offset": jl.zeros(3)})
    assert loaded.state_dict()["inner.weight"].tolist() == [3.0, 4.0]


def test_entry_points_come_before_methods() -> None:
    loaded = through(Trainer())
    assert (loaded.train(3), loaded.train(4), loaded.state_dict()) == (3, 7, {})


def test_a_function_has_no_state() -> None:
    assert not hasattr(through(fib), "state_dict")
