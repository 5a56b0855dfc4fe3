"""Every peephole rule for tensors: run before and after on samples, the tensors are equal in bits, dtype, shape and strides.

Each sample fixes the types that the rule's filters ask for; the result is copied, so that only a pure operator reads it.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import jitlang as jl
from jitlang.grammar.rules import CallTree, ConstantTree, ExpressionTree, VariableTree
from jitlang.interpreter.vm import VM
from jitlang.ir.graph import Graph, Node, Program, Value
from jitlang.ir.rows import find_row
from jitlang.ir.verifier import verify_graph
from jitlang.passes.budget import Budget
from jitlang.passes.dce import DeadCode
from jitlang.passes.peephole import Peephole, Rule, rules
from jitlang.registry import overloads
from jitlang.types import BOOL, DTYPE, DTYPES, FLOAT, INT, NONE, ListType, TensorType, Type

RULES = [rule for group in rules().values() for rule in group if rule.tree.pattern.kind.startswith("aten::")]
LITERALS = {int: INT, float: FLOAT, bool: BOOL}
BY_NAME = {d.name: d for d in DTYPES}


def tensors() -> list[Any]:
    """Small tensors of several dtypes, ranks and layouts, with the values that rules get wrong."""
    numbers = jl.tensor([[-0.0, 1.5, float("nan")], [float("-inf"), -2.5, 3.0]])
    whole = jl.tensor([[0, -1, 7], [2, -(2**31), 5]], dtype=jl.int32)
    return [
        numbers,
        numbers.t(),
        numbers.to(jl.float64),
        whole,
        whole.to(jl.int64),
        numbers[0],
        numbers[0].expand([2, 3]),
        jl.tensor([[True, False]]),
        jl.tensor(2.5),
        jl.tensor([[[1.0, 2.0]], [[3.0, 4.0]]]),
        jl.zeros([0, 3]),
        whole.to(jl.uint8),
    ]


TENSORS = tensors()


class Builder:
    """The graph of a rule's pattern; tensors are parameters, everything else is a constant."""

    def __init__(self, rule: Rule, choice: dict[Type, Any]) -> None:
        self.rule = rule
        self.choice = choice
        self.graph = Graph("f", NONE)
        self.values: dict[str, Value] = {}
        self.used: set[Type] = set()

    def build(self) -> Graph | None:
        result = self.expression(self.rule.tree.pattern, None)
        if result is None:
            return None
        if isinstance(result.type, TensorType):
            result = self.graph.block.append(Node("aten::clone", [result], [result.type])).output
        self.graph.result = result.type
        self.graph.block.append(Node("prim::return", [result]))
        return self.graph

    def expression(self, tree: ExpressionTree, wanted: Type | None) -> Value | None:
        if isinstance(tree, CallTree):
            return self.operator(tree)
        if isinstance(tree, ConstantTree):
            return self.constant(LITERALS[type(tree.value)], tree.value)
        assert isinstance(tree, VariableTree)
        if tree.name not in self.values:
            self.values[tree.name] = self.variable(wanted or TensorType())
        return self.values[tree.name]

    def constant(self, kind: Type, value: Any) -> Value:
        return self.graph.block.append(Node("prim::Constant", (), [kind], value=value)).output

    def variable(self, kind: Type) -> Value:
        self.used.add(kind)
        if isinstance(kind, TensorType):
            return self.graph.block.add_param(self.choice[TensorType()], f"x{len(self.graph.params)}")
        if isinstance(kind, ListType):
            numbers = [self.constant(INT, n) for n in self.choice[kind]]
            return self.graph.block.append(Node("prim::List", numbers, [kind])).output
        return self.constant(kind, self.choice[kind])

    def operator(self, tree: CallTree) -> Value | None:
        for row in overloads(tree.kind):
            arguments = row.schema.arguments
            if len(arguments) != len(tree.inputs):
                continue
            before, known = len(self.graph.block.nodes), dict(self.values)
            inputs = [self.expression(t, a.type) for t, a in zip(tree.inputs, arguments, strict=True)]
            found = [v for v in inputs if v is not None]
            types = tuple(v.type for v in found)
            if len(found) == len(inputs) and find_row(tree.kind, types) is row:
                infer = row.infer
                result = infer(list(types), [v.constant if v.is_constant else None for v in found])[0] if infer else row.schema.returns[0].type
                value = self.graph.block.append(Node(tree.kind, found, [result])).output
                if tree.result:
                    self.values[tree.result] = value
                return value
            del self.graph.block.nodes[before:]
            self.values = known
        return None


def run(graph: Graph, arguments: tuple[Any, ...]) -> Any:
    try:
        result = VM(Program("f", {"f": graph})).function("f")(*arguments)
    except Exception as error:
        return type(error).__name__, str(error)
    if isinstance(result, jl.Tensor):
        return repr(result.tolist()), str(result.dtype), list(result.shape), result.stride()
    return repr(result)


CHOICES: dict[Type, list[Any]] = {
    INT: [0, 1, -1, 5],
    BOOL: [False],
    ListType(INT): [[6], [3, 2], [2, 1, 3], [-1], [4, 4]],
    DTYPE: [BY_NAME["float32"], BY_NAME["int64"]],
}


def choices(rule: Rule, kind: TensorType) -> list[dict[Type, Any]]:
    """Every combination of the values that the rule's variables may have; types that it has no variable of count once."""
    first: dict[Type, Any] = {**{k: v[0] for k, v in CHOICES.items()}, TensorType(): kind}
    builder = Builder(rule, first)
    builder.build()
    used = [v if k in builder.used else v[:1] for k, v in CHOICES.items()]
    return [{**dict(zip(CHOICES, values, strict=True)), TensorType(): kind} for values in itertools.product(*used)]


@pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{r.where}-{r.tree.name}")
def test_rule_changes_no_bit(rule: Rule) -> None:
    applied = 0
    for x in TENSORS:
        for choice in choices(rule, TensorType(BY_NAME[str(x.dtype).partition(".")[2]], x.dim())):
            before, after = (Builder(rule, choice).build() for _ in range(2))
            if before is None or after is None:
                continue
            verify_graph(before)
            budget = Budget(1)
            Peephole().run(Program("f", {"f": after}), budget)
            if not budget.used:
                continue
            DeadCode().run(Program("f", {"f": after}), Budget())
            verify_graph(after)
            applied += 1
            arguments = (x,) * len(before.params)
            assert run(before, arguments) == run(after, arguments), (x, choice)
    assert applied > 0
