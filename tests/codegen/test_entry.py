"""How script functions are called: keywords, defaults, kinds of parameters, wrong calls; tensors, modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, List, Optional  # noqa: UP035

import pytest

import jitlang
from jitlang.nn.module import Module, Parameter
from jitlang.runtime import function as runtime
from jitlang.runtime.script import script
from jitlang.types import FLOAT, INT, STR
from tests.codegen.exchange import identity_program, strict


@pytest.fixture(autouse=True)
def native(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everything runs in native code."""
    monkeypatch.setenv("JITLANG_TIER", "native")
    yield


@pytest.fixture
def dispatched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The functions whose calls came to the dispatcher."""
    seen: list[Any] = []
    advance, native = runtime._advance, runtime._native

    def noted_advance(function: Any, spec: Any, *more: Any) -> None:
        seen.append(spec)
        advance(function, spec, *more)

    def noted_native(spec: Any, values: list[Any]) -> Any:
        seen.append(spec)
        return native(spec, values)

    monkeypatch.setattr(runtime, "_advance", noted_advance)
    monkeypatch.setattr(runtime, "_native", noted_native)
    return seen


def combine(a: int, b: float = 2.5, c: str = "x", *, d: bool = True, e: Optional[int] = None) -> str:
    return f"{a} {b} {c} {d} {e is None}"


def rest(a: int, *more: int) -> int:
    return a + len(more)


def strictly(a: int, /, b: int) -> int:
    return a * 10 + b


def same_call(function: Callable[..., Any], scripted: Any, *args: Any, **kwargs: Any) -> None:
    """A script answers as its function does, to a wrong call too."""
    try:
        wanted = function(*args, **kwargs)
    except TypeError:
        for _ in range(2):
            with pytest.raises(TypeError):
                scripted(*args, **kwargs)
        return
    for _ in range(2):
        assert scripted(*args, **kwargs) == wanted


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {}),
    ((1, 3.5), {}),
    ((1, 3.5, "y"), {}),
    ((1,), {"b": 1.5}),
    ((), {"a": 2}),
    ((), {"c": "z", "a": 2}),
    ((1,), {"d": False, "b": 0.5, "c": "\xe4"}),
    ((1,), {"e": 3}),
    ((1,), {"e": None}),
    ((1, 2.5, "x", False), {}),
    ((), {}),
    ((1,), {"a": 2}),
    ((1,), {"z": 2}),
    ((1, 2.5, "x"), {"c": "y"}),
]


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_calls_of_every_kind(call: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
    args, kwargs = call
    scripted = script(combine)
    scripted(1)
    scripted(1, e=5)
    same_call(combine, scripted, *args, **kwargs)


def test_other_kinds_of_parameters() -> None:
    scripted = script(rest)
    for args in ((1,), (1, 2), (1, 2, 3), ()):
        same_call(rest, scripted, *args)
    pair = script(strictly)
    same_call(strictly, pair, 1, 2)
    same_call(strictly, pair, 1, b=2)
    same_call(strictly, pair, b=2, a=1)
    same_call(strictly, pair, 1, 2, 3)


def test_keywords_and_defaults_need_no_python_code(dispatched: list[Any]) -> None:
    scripted = script(combine)
    scripted(1)
    dispatched.clear()
    for args, kwargs in CALLS[:7]:
        assert scripted(*args, **kwargs) == combine(*args, **kwargs)
    assert not dispatched


def test_interned_or_not_a_keyword_is_found() -> None:
    scripted = script(combine)
    name = "".join(["c", ""])
    odd = bytes([99]).decode()
    assert scripted(1, **{name: "q"}) == scripted(1, **{odd: "q"}) == combine(1, c="q")


def push(x: int, into: List[int] = []) -> List[int]:  # noqa: B006
    into.append(x)
    return into


def test_a_default_list_is_one_object_as_in_python() -> None:
    scripted = script(push)
    first = scripted(1)
    assert scripted(2) is first
    assert first[-2:] == [1, 2]
    first.clear()


def test_a_static_argument_must_be_the_one_of_the_specialisation() -> None:
    program = identity_program(INT, result=0)
    program.main.attributes["signature"] = (("mode", "any", "fast"), ("a", "any"), ("flag", "keyword", None))
    call = strict(program)
    assert call("fast", 3, flag=None) == 3
    assert call(mode="".join(["fa", "st"]), a=3, flag=None) == 3
    assert call("slow", 3, flag=None) is ...
    assert call("fast", 3, flag=0) is ...
    assert call("fast", 3, None) is ...
    assert call(3) is ...


def test_errors_leave_the_chain_intact() -> None:
    call = strict(identity_program(INT, FLOAT, STR))
    assert call(1, 2.0, "x") == 1
    for args in ((1, 2.0), (1.0, 2.0, "x"), (1, 2, "x"), (1, 2.0, None), (1, 2.0, "x", 4)):
        assert call(*args) is ...
    with pytest.raises(OverflowError):
        call(2**70, 2.0, "x")


# ---- tensors and modules ------------------------------------------------------------------------------------------


def tensor(data: Any) -> Any:
    return jitlang.tensor(data)


def passes(x: jitlang.Tensor, xs: List[jitlang.Tensor], o: Optional[jitlang.Tensor]) -> jitlang.Tensor:
    xs.append(x)
    if o is not None:
        xs[0] = o
    return x


def test_tensors_keep_their_identity() -> None:
    scripted = script(passes)
    x, y, z = tensor([1.0, 2.0]), tensor([3.0]), tensor([[1]])
    xs = [y]
    assert scripted(x, xs, None) is x
    assert xs[0] is y and xs[1].tolist() == [1.0, 2.0]
    assert scripted(x, xs, z) is x
    assert xs[0].tolist() == [[1]] and xs[1].tolist() == [1.0, 2.0] and len(xs) == 3
    with pytest.raises(TypeError):
        scripted([1.0], xs, None)


class Inner(Module):
    """Holds a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(tensor([1.0, 2.0]))

    def forward(self, x: jitlang.Tensor) -> jitlang.Tensor:
        return x * self.weight


class Outer(Module):
    """Holds a submodule, a buffer and plain state."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()
        self.seen: Any
        self.register_buffer("seen", tensor([0.0, 0.0]))
        self.calls = 0
        self.log: List[int] = []

    def forward(self, x: jitlang.Tensor) -> jitlang.Tensor:
        self.calls += 1
        self.log.append(self.calls)
        self.seen = self.seen + x
        return self.inner(x)


def test_modules_keep_state_on_the_instance() -> None:
    module = Outer()
    scripted = script(module)
    log, weight = module.log, module.inner.weight
    x = tensor([10.0, 20.0])
    assert scripted(x).tolist() == [10.0, 40.0]
    assert scripted(x).tolist() == [10.0, 40.0]
    assert module.calls == 2 and module.log is log and log == [1, 2]
    assert module._buffers["seen"].tolist() == [20.0, 40.0] and "seen" not in vars(module)
    assert module.inner.weight is weight
    module.inner.weight = Parameter(tensor([0.0, 1.0]))
    assert scripted(x).tolist() == [0.0, 20.0]
