"""Attributes whose types change while programs exist: what was compiled before is compiled anew."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

import jitlang as jl
from jitlang import nn

TIERS = ("vm", "native", "auto")


class Memory(nn.Module):
    """A module that begins with None and gets a value later."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = None

    def forward(self, x: int) -> int:
        if self.kept is not None:
            return x + self.kept
        return x

    @jl.export
    def keep(self, x: int) -> None:
        self.kept = x  # type: ignore[assignment]

    @jl.export
    def forget(self) -> None:
        self.kept = None


class Cell:
    """The same as an object."""

    def __init__(self, n: int) -> None:
        self.value = None
        self.n = n


class Tally:
    """Whose attribute has the type of what it begins with."""

    def __init__(self, start):
        self.n = start

    def add(self, by):
        self.n = self.n + by
        return self.n


def use_memory(m: Any) -> list[Any]:
    found = [m(3)]
    m.keep(10)
    found += [m(3), m.kept]
    m.forget()
    found += [m(4), m.kept]
    m.kept = 5
    return [*found, m(3)]


@pytest.mark.parametrize("tier", TIERS)
def test_a_module_whose_attribute_gets_a_wider_type(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)
    wanted = use_memory(Memory())
    assert use_memory(jl.script(Memory())) == wanted
    for before in (0, 1):  # saved before the attribute was widened in this process, and after
        scripted = jl.script(Memory())
        if before:
            use_memory(scripted)
            scripted.forget()
        stream = io.BytesIO()
        jl.save(scripted, stream)
        stream.seek(0)
        assert use_memory(jl.load(stream)) == wanted


@pytest.mark.parametrize("tier", TIERS)
def test_an_object_whose_attribute_gets_a_wider_type(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)

    def read(c: Cell) -> int:
        v = c.value
        if v is not None:
            return v
        return -1

    def write(c: Cell, v: int) -> int:
        c.value = v  # type: ignore[assignment]
        return v

    def run(wrap: Callable[[Any], Any]) -> list[Any]:
        cell, reader, writer = Cell(1), wrap(read), wrap(write)
        found = [reader(cell), writer(cell, 5), reader(cell), reader(cell), cell.value]
        cell.value = None
        return [*found, reader(cell), reader(Cell(2))]

    assert run(jl.script) == run(lambda f: f)


@pytest.mark.parametrize("tier", TIERS)
def test_a_class_without_annotations_has_a_form_for_each_type(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)

    def both(n: int) -> Any:
        whole, real, text = Tally(n), Tally(0.5), Tally("a")
        return whole.add(1), real.add(0.25), text.add("b"), whole.n, real.n, text.n

    assert jl.script(both)(2) == both(2)


# ---- attributes that an object may lack ----------------------------------------------------------------------------


class Partial:
    """Which attributes it has depends on how it was made."""

    def __init__(self, n: int) -> None:
        if n > 0:
            self.x = n
        if n > 1:
            self.text = "a" * n
        if n > 2:
            self.items = [n]
            self.tensor = jl.ones(n)
        self.n = n


class Holder(nn.Module):
    """A module with such an object."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.part = Partial(n)

    def forward(self, n: int) -> int:
        return self.part.x + n

    @jl.export
    def change(self, n: int) -> Partial:
        self.part.text = "b"
        self.part.items = [n]
        return self.part

    @jl.export
    def renew(self, n: int) -> int:
        self.part = Partial(n)
        return self.part.n


def make(n: int) -> Partial:
    return Partial(n)


def read_x(p: Partial) -> int:
    return p.x


def read_items(p: Partial) -> int:
    return len(p.items)


def read_tensor(p: Partial) -> float:
    return float(p.tensor.sum())


def fill_in(p: Partial) -> int:
    p.text = "new"
    return p.n


def shown(value: Any) -> Any:
    if isinstance(value, jl.Tensor):
        return value.tolist()
    return {k: shown(v) for k, v in sorted(vars(value).items())} if hasattr(value, "__dict__") else value


def attempt(call: Callable[[], Any]) -> Any:
    try:
        return shown(call())
    except AttributeError as error:
        return f"AttributeError {error}"


def through_a_file(obj: Any) -> Any:
    stream = io.BytesIO()
    jl.save(obj, stream)
    stream.seek(0)
    return jl.load(stream)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("n", range(4))
def test_objects_that_lack_attributes(n: int, tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)
    assert attempt(lambda: jl.script(make)(n)) == attempt(lambda: through_a_file(jl.script(make))(n)) == shown(Partial(n))
    for function in (read_x, read_items, read_tensor, fill_in):
        scripted = jl.script(function)
        for _ in range(3):
            wanted, given = Partial(n), Partial(n)
            assert attempt(lambda: scripted(given)) == attempt(lambda: function(wanted))  # noqa: B023
            assert shown(given) == shown(wanted)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("n", range(4))
def test_modules_with_objects_that_lack_attributes(n: int, tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)

    def run(m: Any) -> list[Any]:
        found = [attempt(lambda: m(5)), attempt(lambda: m.part), attempt(lambda: m.change(7)), attempt(lambda: m.part), attempt(lambda: m(6))]
        return [*found, m.renew(0), attempt(lambda: m.part), attempt(lambda: m(7)), m.renew(2), attempt(lambda: m.part), attempt(lambda: m(8))]

    wanted = run(Holder(n))
    assert run(jl.script(Holder(n))) == wanted
    loaded = through_a_file(jl.script(Holder(n)))
    assert shown(loaded.part) == shown(Partial(n))
    assert run(loaded) == wanted
    assert shown(through_a_file(loaded).part) == shown(Partial(2))


@pytest.mark.parametrize("tier", TIERS)
def test_an_object_that_is_not_as_its_class_makes_them(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)
    scripted = jl.script(read_x)
    assert scripted(Partial(3)) == 3
    odd, bare = Partial(3), Partial(3)
    odd.n = "three"  # type: ignore[assignment]
    del bare.n
    with pytest.raises(TypeError, match=r"argument 'p' of read_x\(\): the attribute 'n' of this Partial is str, that of others is int"):
        scripted(odd)
    with pytest.raises(TypeError, match=r"argument 'p' of read_x\(\): this Partial has no attribute 'n'"):
        scripted(bare)
