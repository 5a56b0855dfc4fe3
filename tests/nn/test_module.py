"""`Module`: where attributes go, names of parameters, state, and mistakes."""

from __future__ import annotations

from typing import Any

import pytest

from jitlang.nn import Module, Parameter
from jitlang.tensor.tensor import Tensor, tensor


class Layer(Module):
    def __init__(self, value: float) -> None:
        super().__init__()
        self.weight = Parameter(tensor([value]))
        self.scale = 2

    def forward(self, x: Any) -> Any:
        return x * self.weight


class Net(Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = Layer(2.0)
        self.second = Layer(3.0)
        self.register_buffer("seen", tensor([0]))
        self.register_buffer("scratch", tensor([0]), persistent=False)

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x))


def test_attributes_go_where_they_belong() -> None:
    net = Net()
    assert isinstance(net.first.weight, Tensor)
    assert [n for n, _ in net.named_parameters()] == ["first.weight", "second.weight"]
    assert [n for n, _ in net.named_buffers()] == ["seen", "scratch"]
    assert [n for n, _ in net.named_modules()] == ["", "first", "second"]
    assert net.first.__dict__["scale"] == 2 and "weight" not in net.first.__dict__
    assert {"first", "seen", "forward"} <= set(dir(net))


def test_calls_run_forward() -> None:
    assert Net()(tensor([5.0])).tolist() == [30.0]
    with pytest.raises(NotImplementedError, match="Module has no forward"):
        Module()()


def test_assigning_again() -> None:
    net = Net()
    net.seen = tensor([7])
    assert dict(net.named_buffers())["seen"].tolist() == [7]
    net.first.weight = tensor([4.0])
    assert dict(net.named_parameters())["first.weight"].tolist() == [4.0]
    with pytest.raises(TypeError, match="'seen' is a tensor of the module; it cannot become int"):
        net.seen = 3
    net.first = Layer(9.0)
    assert dict(net.named_parameters())["first.weight"].tolist() == [9.0]
    del net.first
    assert [n for n, _ in net.named_parameters()] == ["second.weight"]
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'first'"):
        net.first


def test_shared_tensors_are_named_once_but_kept_in_the_state() -> None:
    net = Net()
    net.second.weight = net.first.weight
    assert [n for n, _ in net.named_parameters()] == ["first.weight"]
    assert set(net.state_dict()) == {"first.weight", "second.weight", "seen"}


def test_loading_a_state() -> None:
    net, other = Net(), Net()
    other.first.weight = tensor([8.0])
    held = net.first.weight
    net.load_state_dict(other.state_dict())
    assert held.tolist() == [8.0]
    with pytest.raises(KeyError, match="missing \\['second.weight'\\], unknown \\['third'\\]"):
        net.load_state_dict({"first.weight": held, "seen": net.seen, "third": held})
    with pytest.raises(RuntimeError, match="first.weight: shape \\[2\\] where \\[1\\]"):
        net.load_state_dict({**other.state_dict(), "first.weight": tensor([1.0, 2.0])})


def test_training_and_apply() -> None:
    net = Net()
    assert net.training and not net.eval().first.training and net.train().second.training
    names: list[str] = []
    net.apply(lambda m: names.append(type(m).__name__))
    assert names == ["Layer", "Layer", "Net"]
    assert repr(net) == "Net(\n  (first): Layer()\n  (second): Layer()\n)"


def test_mistakes() -> None:
    class Early(Module):
        def __init__(self) -> None:
            self.weight = Parameter(tensor([1.0]))

    with pytest.raises(AttributeError, match=r"Early.__init__ must call super\(\).__init__\(\)"):
        Early()
    for wrong in ("a.b", "", "forward"):
        with pytest.raises(KeyError):
            Net().register_buffer(wrong, tensor([1]))
    with pytest.raises(TypeError, match="Parameter expects a Tensor, not int"):
        Parameter(3)
    with pytest.raises(TypeError, match="a Tensor is expected for 'x', not int"):
        Net().register_buffer("x", 3)
