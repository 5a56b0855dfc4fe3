"""A tensor is one Python object, whichever way it goes through a script: what comes back of what was passed is the object itself."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Dict, List, NamedTuple, Optional, Tuple  # noqa: UP035

import pytest

import jitlang as jl
from jitlang import nn
from jitlang.codegen.library import memory


class Held(NamedTuple):
    """For tests."""

    tensor: jl.Tensor
    number: int


class Box:
    """For tests."""

    def __init__(self, tensor: jl.Tensor) -> None:
        self.tensor = tensor
        self.more: List[jl.Tensor] = [tensor]


def alone(a: jl.Tensor, b: jl.Tensor) -> jl.Tensor:
    return b


def in_tuple(a: jl.Tensor, b: jl.Tensor) -> Tuple[jl.Tensor, jl.Tensor, jl.Tensor]:
    return b, a, b


def in_list(a: jl.Tensor, b: jl.Tensor) -> List[jl.Tensor]:
    return [a, b, a + b, a]


def in_dict(a: jl.Tensor, b: jl.Tensor) -> Dict[str, jl.Tensor]:
    return {"a": a, "b": b, "c": a}


def in_nested(a: jl.Tensor, b: jl.Tensor) -> List[Tuple[jl.Tensor, List[jl.Tensor]]]:
    return [(a, [b, a]), (b, [])]


def in_named_tuple(a: jl.Tensor, b: jl.Tensor) -> Held:
    return Held(b, 1)


def in_optional(a: jl.Tensor, b: jl.Tensor) -> Tuple[Optional[jl.Tensor], Optional[jl.Tensor]]:
    found: Optional[jl.Tensor] = None
    if a.numel() > 0:
        found = b
    return found, None


def in_object(a: jl.Tensor, b: jl.Tensor) -> Box:
    made = Box(a)
    made.more.append(b)
    return made


def new_twice(a: jl.Tensor, b: jl.Tensor) -> Tuple[jl.Tensor, List[jl.Tensor], jl.Tensor]:
    c = a + b
    return c, [c, a], a + b


def in_place(a: jl.Tensor, b: jl.Tensor) -> Tuple[jl.Tensor, jl.Tensor]:
    a += 1.0
    return a.mul_(2.0), a.contiguous()


def views_are_new(a: jl.Tensor, b: jl.Tensor) -> Tuple[jl.Tensor, jl.Tensor, jl.Tensor]:
    return a.t(), a[0], a.reshape(-1)


def from_list(xs: List[jl.Tensor]) -> Tuple[jl.Tensor, List[jl.Tensor]]:
    xs.append(xs[0])
    xs.insert(0, xs[1])
    return xs[0], xs


def from_dict(d: Dict[str, jl.Tensor]) -> jl.Tensor:
    d["again"] = d["x"]
    d["new"] = d["x"] * 2.0
    d["x"] = d["y"]
    return d["again"]


def from_tuple(pair: Tuple[jl.Tensor, Tuple[jl.Tensor, int]]) -> Tuple[jl.Tensor, jl.Tensor]:
    return pair[1][0], pair[0]


def from_object(box: Box) -> Tuple[jl.Tensor, jl.Tensor]:
    old = box.tensor
    box.tensor = box.more[0]
    box.more[0] = old
    box.more.append(box.tensor)
    return old, box.tensor


TIERS = ("vm", "native")
PAIRS: list[Callable[..., Any]] = [
    alone,
    in_tuple,
    in_list,
    in_dict,
    in_nested,
    in_named_tuple,
    in_optional,
    in_object,
    new_twice,
    in_place,
    views_are_new,
]


def tensors() -> Iterator[jl.Tensor]:
    for n in range(8):
        yield jl.full([2, 2], float(n))


def pattern(value: Any, known: list[Any]) -> Any:
    """A value with each tensor as its number: the same number for the same object."""
    if isinstance(value, jl.Tensor):
        if not any(value is k for k in known):
            known.append(value)
        return next(n for n, k in enumerate(known) if k is value)
    if isinstance(value, dict):
        return [(k, pattern(v, known)) for k, v in value.items()]
    if isinstance(value, list | tuple):
        return type(value).__name__, [pattern(v, known) for v in value]
    return pattern(vars(value), known) if isinstance(value, Box) else value


def outcome(function: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> Any:
    given, known = make(), []  # type: tuple[tuple[Any, ...], list[Any]]
    before = pattern(given, known)
    result = pattern(function(*given), known)
    return before, result, pattern(given, known), [k.tolist() for k in known]


def check(function: Callable[..., Any], make: Callable[[], tuple[Any, ...]], tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)
    wanted = outcome(function, make)
    scripted = jl.script(function)
    assert outcome(scripted, make) == wanted
    assert outcome(scripted, make) == wanted
    gc.collect()
    memory.counted(True)
    assert outcome(scripted, make) == wanted
    assert memory.counted(False) == 0


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("function", PAIRS, ids=lambda f: f.__name__)
def test_tensors_that_are_passed(function: Callable[..., Any], tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def make() -> tuple[Any, ...]:
        a, b, *_ = tensors()
        return a, b

    check(function, make, tier, monkeypatch)


@pytest.mark.parametrize("tier", TIERS)
def test_the_same_tensor_twice(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def make() -> tuple[Any, ...]:
        a, *_ = tensors()
        return a, a

    for function in PAIRS:
        check(function, make, tier, monkeypatch)


@pytest.mark.parametrize("tier", TIERS)
def test_tensors_in_what_is_passed(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, *_ = tensors()

    def box() -> tuple[Any, ...]:
        made = Box(a)
        made.more.append(b)
        made.more[0] = b
        return (made,)

    check(from_list, lambda: ([a, b],), tier, monkeypatch)
    check(from_dict, lambda: ({"x": a, "y": b},), tier, monkeypatch)
    check(from_tuple, lambda: ((a, (b, 1)),), tier, monkeypatch)
    check(from_object, box, tier, monkeypatch)


class Layer(nn.Module):
    """For tests."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(jl.ones(2))
        self.register_buffer("seen", jl.zeros(2))
        self.last = jl.zeros(2)
        self.seen: jl.Tensor

    def forward(self, x: jl.Tensor) -> Tuple[jl.Tensor, jl.Tensor, jl.Tensor]:
        old = self.seen
        self.last = x
        self.seen = self.weight
        return self.weight, old, self.last


@pytest.mark.parametrize("tier", TIERS)
def test_tensors_of_a_module(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)
    layer = Layer()
    scripted = jl.script(layer)
    old, x = layer.seen, jl.ones(2)
    found = scripted(x)
    assert found[0] is layer.weight
    assert found[1] is old
    assert found[2] is x
    assert layer.last is x
    assert layer.seen is layer.weight


def test_a_tensor_that_python_has_forgotten_gets_a_new_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", "native")

    @jl.script
    def last(xs: List[jl.Tensor]) -> Tuple[jl.Tensor, jl.Tensor]:
        return xs[-1], xs[-1]

    for _ in range(3):
        xs = [jl.ones(3), jl.zeros(3)]
        gone = weakref.ref(xs[1])
        first, second = last(xs)
        assert first is second is xs[1] is gone()
        del first, second, xs[1]
        assert gone() is None
