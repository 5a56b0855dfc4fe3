"""Tensors in scripts, with eager tensors as the oracle: operators, indexing, shapes, numbers, control flow, modules."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Optional

import pytest

import jitlang as jl
from jitlang import Tensor
from jitlang.errors import ScriptAttributeError, ScriptTypeError
from jitlang.frontend.annotations import type_of_value
from jitlang.frontend.script import compile_method
from jitlang.interpreter.vm import VM
from jitlang.ir.verifier import verify_program
from tests.language.oracle import check, check_error, copied, program_for, same

nn = pytest.importorskip("jitlang.nn")

X = jl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
V = jl.tensor([0.5, -1.0, 2.0])
N = jl.tensor([[1, 2], [3, 4]])
B = jl.tensor([True, False, True])


def arithmetic(x: Tensor, v: Tensor):
    return x + v, x - 1, 2 - x, x * v, x / 2, 1 / x, x // 2, x % 2.5, x**2, -x, +x, abs(v), 2.0 * x - v / 4


def comparison(x: Tensor, v: Tensor):
    return x > 2, x == v, 1 < x, x != 3.0, (x > 1) & (x < 5), (x < 2) | (x > 5), ~(x > 2), v >= 0


def integers(n: Tensor):
    return n & 1, n | 4, n ^ 3, n << 1, n >> 1, ~n, n + 1, n * 1.5, n / 2, n % 2, n // 2


def indexing(x: Tensor):
    return x[0], x[-1, 0], x[:, 1], x[..., None], x[None], x[0, 1:], x[:, ::2], x[1, :-1], x[...], x[-1, ..., 0]


def index_by_tensors(x: Tensor, v: Tensor):
    i = jl.tensor([1, 0, 1])
    return x[i], x[:, jl.tensor([0, 2])], x[x > 2], v[v > 0], x[[1, 0]], x[i, i], x[0][v < 1]


def writing(x: Tensor):
    x[0] = 5
    x[:, 1] = 7.0
    x[1, 0] += 2
    x[x > 6.5] = 0
    x[0, 1:] = jl.tensor([8.0, 9.0])
    y = x[1]
    y += 1
    y *= 2
    return x, y


def shapes(x: Tensor):
    a, b = x.shape
    n, m = x.size()
    return a * b, n + m, x.ndim, x.dim(), len(x), x.size(1), x.size(-1), x.numel(), x.shape, x.shape[:-1] + (1,), x.dtype, x.device.type


def reshaped(x: Tensor):
    return (
        x.view(3, 2),
        x.view(-1),
        x.view((1, 6)),
        x.reshape([6, 1]),
        x.t(),
        x.transpose(0, 1),
        x.permute(1, 0),
        x.unsqueeze(0).shape,
        x.view(x.shape[::-1]).shape,
    )


def created(n: int):
    zeros = jl.zeros(2, n)
    return zeros + jl.ones([n]), jl.full((2,), 3.5), jl.arange(n), jl.arange(1, 7, 2), jl.zeros_like(zeros), jl.ones(n, dtype=jl.int64), jl.eye(n)


def from_data(n: int, x: float):
    rows = [[i * j for j in range(n)] for i in range(2)]
    return (
        jl.tensor([1, 2, n]),
        jl.tensor([[x, 1.0], [2.0, x]]),
        jl.tensor(n),
        jl.tensor(x),
        jl.tensor([True, False]),
        jl.tensor(rows),
        jl.tensor([1, 2], dtype=jl.float64),
    )


def ragged():
    return jl.tensor([[1, 2], [3]])


def numbers(x: Tensor):
    total = 0.0
    for row in x:
        for value in row:
            total += float(value)
    return total, float(x[0, 1]), int(x[1, 1]), bool(x[0, 0] > 0), x[0, 0].item(), x.tolist(), x[0].tolist(), math.sqrt(x[0, 0])


def conversions(x: Tensor):
    return x.to(jl.float64), x.long(), x.double().float().dtype, x.int(), x.bool(), x.to(x), x > 2.5


def branches(x: Tensor):
    if x[0, 0] > 0:
        y = x * 2
    else:
        y = -x
    n = 0
    while float(y[0, 0]) < 100:
        y = y * y + 1
        n += 1
    return y, n, 1 if bool(y[0, 0] > 3) else 2


def rank_changes(x: Tensor, n: int):
    y = x
    for _ in range(n):
        y = y[0] if y.dim() > 1 else y + 1
    return y


def lists_of_tensors(x: Tensor):
    parts = [row * i for i, row in enumerate(x)]
    parts.append(x[0] + 10)
    table = {"a": x, "b": parts[0]}
    table["c"] = table["a"] * 2
    total = jl.zeros(3)
    for part in parts:
        total = total + part
    first, second, *rest = parts
    return parts, table, total, len(rest), sum(parts[1:], parts[0]), [a + b for a, b in zip(x, parts)], first, second


def functions(x: Tensor):
    return jl.sin(x), x.exp(), jl.where(x > 2, x, -x), x.clamp(1.5, 4.0), jl.sqrt(x), x.relu(), jl.abs(-x), x.sigmoid(), jl.tanh(x)


def reduced(x: Tensor):
    return x.sum(), x.sum(dim=1), x.mean(0, keepdim=True), x.sum([0, 1]), (x > 2).any(), (x > 0).all(), x.argmax(), x.argmax(dim=1)


def scale(x: Tensor, factor: float = 2.0, bias: Optional[Tensor] = None) -> Tensor:
    y = x * factor
    if bias is not None:
        y = y + bias
    return y


def optional_tensors(x: Tensor, v: Tensor):
    return scale(x), scale(x, 3), scale(x, bias=v), scale(factor=0.5, x=v)


class State(NamedTuple):
    value: Tensor
    steps: int


def iterate(x: Tensor, limit: float) -> State:
    state = State(x, 0)
    while float(state.value[0, 0]) < limit:
        state = State(state.value * 2, state.steps + 1)
    return state


def named_state(x: Tensor):
    s = iterate(x, 50.0)
    return s.value, s.steps, s


def recursive(x: Tensor, n: int) -> Tensor:
    return x if n == 0 else recursive(x * 2 + n, n - 1)


def by_reference(x: Tensor, xs: list[Tensor]):
    x += 1
    xs[0] *= 3
    xs.append(x)
    return len(xs)


def out_of_range(x: Tensor, i: int):
    return x[i]


def wrong_shapes(x: Tensor):
    return x + jl.zeros(7)


def text(x: Tensor):
    return str(x), f"{x[0]} {x.shape[0]}"


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (arithmetic, (X, V)),
    (comparison, (X, V)),
    (integers, (N,)),
    (indexing, (X,)),
    (index_by_tensors, (X, V)),
    (writing, (X,)),
    (shapes, (X,)),
    (reshaped, (X,)),
    (created, (3,)),
    (from_data, (3, 2.5)),
    (ragged, ()),
    (numbers, (X,)),
    (conversions, (X,)),
    (branches, (X,)),
    (branches, (-X,)),
    (rank_changes, (X, 3)),
    (lists_of_tensors, (X,)),
    (functions, (X,)),
    (reduced, (X,)),
    (optional_tensors, (X, V)),
    (named_state, (X,)),
    (recursive, (X, 3)),
    (by_reference, (X, [V])),
    (out_of_range, (X, 2)),
    (wrong_shapes, (X,)),
    (text, (X,)),
]


@pytest.mark.parametrize(("function", "args"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_tensors(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(function, *args)


def test_what_is_known_of_tensors_reaches_the_result() -> None:
    program = program_for(arithmetic, (X, V))
    assert str(program.main.result).startswith("Tuple[Tensor[float32, 2], Tensor[float32, 2]")
    assert str(program_for(recursive, (X, 1)).main.result) == "Tensor[float32, 2]"


def unknown_method(x: Tensor):
    return x.expp()


def unknown_function(x: Tensor):
    return jl.sinn(x)


def bad_argument(x: Tensor):
    return x.sum(dim="a")


def test_errors() -> None:
    check_error(unknown_method, X, error=ScriptAttributeError, match="a Tensor has no attribute 'expp'", line=1, col=12, hint="did you mean 'exp'?")
    check_error(unknown_function, X, error=ScriptAttributeError, match="jitlang has no attribute 'sinn'", line=1, col=12)
    check_error(bad_argument, X, error=ScriptTypeError, match="sum", line=1, col=12, hint="it takes")


class Layer(nn.Module):
    def __init__(self, n: int, m: int):
        super().__init__()
        self.weight = nn.Parameter(jl.arange(n * m, dtype=jl.float32).view(m, n) / 4)
        self.bias = None if n == 3 else nn.Parameter(jl.ones(m))
        self.register_buffer("seen", jl.zeros(m))
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        y = (x.unsqueeze(-2) * self.weight).sum(-1)
        if self.bias is not None:
            y = y + self.bias
        if self.training:
            self.seen += y.sum(0)
            self.calls += 1
        return y


class Net(nn.Module):
    limit = 10.0

    def __init__(self):
        super().__init__()
        self.first = Layer(3, 2)
        self.second = Layer(2, 2)
        self.act = jl.relu
        self.state: Optional[Tensor] = None
        self.names = ["a", "b"]
        self.log = []

    def helper(self, n: int):
        return [name * n for name in self.names]

    @staticmethod
    def double(x):
        return x * 2

    def forward(self, x: Tensor, n: int = 2) -> tuple[Tensor, list[str], int]:
        x = self.double(self.act(self.second(self.first(x)))).clamp(max=self.limit)
        if self.state is None:
            self.state = x
        else:
            self.state = self.state + x
        self.log.append(float(x[0, 0]))
        return self.state, self.helper(n), len(self.log)


def test_modules() -> None:
    scripted, eager = Net(), Net()
    kind = type_of_value(scripted)
    program = compile_method(kind, "forward", [type_of_value(X)])
    verify_program(program)
    run = VM(program).function()
    for _ in range(3):
        assert same(run(scripted, copied(X), 2), eager(copied(X)))
    assert same(scripted.first.seen, eager.first.seen)
    assert (scripted.log, scripted.first.calls, scripted.second.calls) == (eager.log, 3, 3)
    assert type_of_value(Net().first) is not type_of_value(Net().second), "one has a bias, the other has none"
    assert type_of_value(Net().first) is type_of_value(scripted.first)


def test_lists_of_modules_are_unrolled() -> None:
    container = pytest.importorskip("jitlang.nn")
    if not hasattr(container, "ModuleList"):
        pytest.skip("no containers")

    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = container.ModuleList([Layer(3, 2), Layer(2, 3), Layer(3, 2)])

        def forward(self, x: Tensor):
            for i, layer in enumerate(self.layers):
                x = layer(x)
                if i + 1 < len(self.layers):
                    x = x.relu()
            return x, self.layers[0](X).shape

    stack, eager = Stack(), Stack()
    program = compile_method(type_of_value(stack), "forward", [type_of_value(X)])
    verify_program(program)
    assert same(VM(program).function()(stack, X), eager(X))


def items_of_a_list(xs: list[Tensor]):
    return [x.sum().item() for x in xs], max(xs[0].max().item(), 2.5)


def item_of(x: Tensor):
    return x.item()


def shape_text(x: Tensor):
    sizes = x.shape
    return f"{x.shape} {sizes!r}", str(x.size()), "%s" % (str(x[0].shape),)


def mixed_data(v: float):
    return jl.tensor([[v, 1], [2, 3]]), jl.tensor([[1, 2], [3, v]]), [[[1], [v]], [[2]]][1]


@pytest.mark.parametrize(
    ("function", "args"),
    [(items_of_a_list, ([V, X],)), (item_of, (X,)), (item_of, (V[:1],)), (item_of, (V[:0],)), (item_of, (N[0, 0],)), (shape_text, (X,)), (mixed_data, (0.5,))],
)
def test_numbers_shapes_and_data(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    if function is mixed_data:  # a display of ints and floats holds floats
        assert same(list(map(_as_floats, [check_value(function, *args)])), list(map(_as_floats, [function(*args)])))
        return
    check(function, *args, messages=True)


def check_value(function: Callable[..., Any], *args: Any) -> Any:
    """What the virtual machine gives."""
    return VM(program_for(function, args)).function()(*args)


def _as_floats(value: Any) -> Any:
    return type(value)(map(_as_floats, value)) if isinstance(value, list | tuple) else float(value) if isinstance(value, int) else value


def test_item_of_a_tensor_of_a_list_is_a_float() -> None:
    with pytest.raises(TypeError, match="write int"):
        VM(program_for(items_of_a_list, ([N],))).function()([N])


def numbers_of_items(xs: list[jl.Tensor]):
    return [(int(x.item()), float(x.item()), bool(x.item()), int(x.sum().item())) for x in xs]


def test_the_number_that_an_item_is_taken_for() -> None:
    """Of tensors whose dtype is not known before the call."""
    check(numbers_of_items, [jl.tensor([2]), jl.tensor(2.5), jl.tensor([[True]]), jl.tensor(0, dtype=jl.uint8)])
    check(numbers_of_items, [jl.tensor(1), jl.tensor([1.0, 2.0])], messages=True)
    check(numbers_of_items, [jl.tensor(float("nan"))], messages=True)


def transposed_last(x: jl.Tensor):
    return x.mT, x.mT.T, x.T.mT.shape, (x @ x.mT).mT


def new_of_its_kind(x: jl.Tensor):
    return x.new_tensor([1, 2]), x.new_tensor(3.5), x.new_tensor([1.5], dtype=jl.int64), x.is_leaf, x.is_sparse, x.is_cuda


@pytest.mark.parametrize("function", [transposed_last, new_of_its_kind])
def test_attributes_that_are_tensors(function: Any) -> None:
    check(function, jl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))


def rearranged(x: jl.Tensor):
    y = jl.einsum("ij->ij", x)
    z = jl.einsum("ij->ji", x)
    d = jl.einsum("ii->i", x)
    y += 1
    z += 2
    d += 3
    return x, y, z, d


def test_einsum_of_one_operand_is_a_new_tensor() -> None:
    """Its row says so, and passes rely on it."""
    x = jl.tensor([[1.0, 2.0], [3.0, 4.0]])
    check(rearranged, x)
    rearranged(x)
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
