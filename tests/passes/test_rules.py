"""Every peephole rule on samples of its types: the replacement gives the same bits, or raises the same exception."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import pytest

from jitlang.errors import IRError
from jitlang.grammar.rules import CallTree, ConstantTree, ExpressionTree, VariableTree, parse_rule
from jitlang.grammar.types import build_type
from jitlang.interpreter.vm import VM
from jitlang.ir.equal import literal_key
from jitlang.ir.graph import Graph, Node, Program, Value
from jitlang.ir.rows import find_row
from jitlang.ir.verifier import verify_graph
from jitlang.passes.budget import Budget
from jitlang.passes.peephole import FILTERS, Peephole, Rule, rules
from jitlang.registry import overloads
from jitlang.types import BOOL, DTYPE, DTYPES, FLOAT, INT, NONE, STR, OptionalType, Type

RULES = [rule for group in rules().values() for rule in group]
PYTHON_RULES = [r for r in RULES if not r.tree.pattern.kind.startswith("aten::")]

INTS = [0, 1, -1, 2, 7, -8, 63, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), -(2**63) + 1]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan, -math.nan, 2.0**53, 1e16 + 2]
STRINGS = ["", "a", " ab ", "AbC\t", "ΑΣ", "İstanbul", "ß", "ǅ", "\u0345x", "\u1e9e", "aa", "  "]
SAMPLES: dict[Type, list[Any]] = {
    INT: INTS,
    FLOAT: FLOATS,
    BOOL: [True, False],
    STR: STRINGS,
    DTYPE: list(DTYPES[:2]),
    OptionalType(STR): [None, " ", "aA"],
}
LITERALS = {int: INT, float: FLOAT, bool: BOOL, str: STR}


class Builder:
    """The graph of a rule's pattern: variables are parameters, or constants where a filter wants one."""

    def __init__(self, rule: Rule, constants: dict[str, Any]) -> None:
        self.rule = rule
        self.constants = constants
        self.graph = Graph("f", NONE)
        self.variables: dict[str, Value] = {}

    def build(self, types: dict[str, Type]) -> Graph | None:
        """The graph with variables of these types; None where an operator does not take them."""
        for name, kind in types.items():
            if name in self.constants:
                self.variables[name] = self.graph.block.append(Node("prim::Constant", (), [kind], value=self.constants[name])).output
            else:
                self.variables[name] = self.graph.block.add_param(kind, name[1:])
        result = self.expression(self.rule.tree.pattern)
        if result is None:
            return None
        self.graph.result = result.type
        self.graph.block.append(Node("prim::return", [result]))
        return self.graph

    def expression(self, tree: ExpressionTree, wanted: Type | None = None) -> Value | None:
        if isinstance(tree, VariableTree):
            return self.variables[tree.name]
        if isinstance(tree, ConstantTree):
            kind = (wanted or OptionalType(INT)) if tree.value is None else LITERALS[type(tree.value)]
            return self.graph.block.append(Node("prim::Constant", (), [kind], value=tree.value)).output
        assert isinstance(tree, CallTree)
        if tree.kind == "prim::Some":
            inner = self.expression(tree.inputs[0])
            return (
                None
                if inner is None or isinstance(inner.type, OptionalType)
                else self.graph.block.append(Node(tree.kind, [inner], [OptionalType(inner.type)])).output
            )
        return self.operator(tree)

    def operator(self, tree: CallTree) -> Value | None:
        wanted = self.expected_types(tree)
        inputs = [self.expression(t, k) for t, k in zip(tree.inputs, wanted, strict=True)]
        known = [v for v in inputs if v is not None]
        row = find_row(tree.kind, tuple(v.type for v in known)) if len(known) == len(inputs) else None
        if row is None or len(row.schema.returns) != 1:
            return None
        return self.graph.block.append(Node(tree.kind, known, [row.schema.returns[0].type])).output

    def expected_types(self, tree: CallTree) -> list[Type | None]:
        for row in overloads(tree.kind):
            if len(row.schema.arguments) == len(tree.inputs) and any(isinstance(a.type, OptionalType) for a in row.schema.arguments):
                return [a.type for a in row.schema.arguments]
        return [None] * len(tree.inputs)


def variables_of(tree: ExpressionTree, found: dict[str, Type | None]) -> dict[str, Type | None]:
    if isinstance(tree, VariableTree):
        kind = build_type(tree.type, {}, variables=True) if tree.type is not None else None
        found[tree.name] = found.get(tree.name) or kind
    elif isinstance(tree, CallTree):
        if tree.result:
            found[tree.result] = None
        for inner in tree.inputs:
            variables_of(inner, found)
    return found


def typings(rule: Rule) -> list[dict[str, Type]]:
    """The types that the variables of a rule may have, one operator's signature at a time."""
    names = variables_of(rule.tree.pattern, {})
    choices = [[kind] if kind is not None else [INT, FLOAT, BOOL, STR, OptionalType(STR)] for kind in names.values()]
    return [dict(zip(names, combination, strict=True)) for combination in itertools.product(*choices)]


def run(graph: Graph, arguments: tuple[Any, ...]) -> Any:
    try:
        return literal_key(VM(Program("f", {"f": graph})).function("f")(*arguments))
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("rule", PYTHON_RULES, ids=lambda r: f"{r.where}-{r.tree.name}")
def test_rule_changes_no_bit(rule: Rule) -> None:
    wanted = {c.arguments[0] for c in rule.tree.conditions if c.name in ("constant", "ordered")}
    tried = 0
    for types in typings(rule):
        constants = [{}] if not wanted else [{n: v for n in wanted} for v in SAMPLES[types[next(iter(wanted))]] if v == v]  # type: ignore[index]
        for constant in constants:
            before, after = (Builder(rule, constant).build(types) for _ in range(2))  # type: ignore[arg-type]
            if before is None or after is None:
                continue
            verify_graph(before)
            Peephole().run(Program("f", {"f": after}), Budget(1))
            verify_graph(after)
            # Another rule may come first; what counts is that the first rewrite is right.
            samples = [SAMPLES[p.type] for p in before.params]
            for arguments in itertools.islice(itertools.product(*samples), 200):
                assert run(before, arguments) == run(after, arguments), (types, arguments)
                tried += 1
    assert tried > 0


@pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{r.where}-{r.tree.name}")
def test_rule_is_well_formed(rule: Rule) -> None:
    assert rule.tree.name, "a rule has a name"
    bound = variables_of(rule.tree.pattern, {})
    assert set(variables_of(rule.tree.replacement, {})) <= set(bound)
    assert all(c.name in FILTERS or c.name == "drop" for c in rule.tree.conditions)
    assert all(a in bound for c in rule.tree.conditions for a in c.arguments if isinstance(a, str))


def test_there_are_many_rules_with_names_of_their_own() -> None:
    assert len(RULES) >= 40
    names = [(r.where.partition(":")[0], r.tree.name) for r in RULES]
    assert len(set(names)) == len(names)


def test_case_mappings_are_idempotent() -> None:
    for code in range(0x110000):
        c = chr(code)
        assert c.lower().lower() == c.lower() and c.upper().upper() == c.upper() and c.casefold().casefold() == c.casefold()


def test_case_mappings_are_idempotent_in_words() -> None:
    choose = random.Random(0)
    special = "aΣσςİıßǅŉΰ\u0345\u0307. 'K"
    for _ in range(3000):
        word = "".join(choose.choices(special, k=choose.randint(1, 6)))
        assert word.lower().lower() == word.lower() and word.upper().upper() == word.upper() and word.casefold().casefold() == word.casefold(), word


@pytest.mark.parametrize(
    ("text", "message"),
    [("r: py::add($x, 0) =>", "unexpected end of text"), ("r: $x => $x", "unexpected"), ("r: py::add($x, 0) => $x if", "unexpected end of text")],
)
def test_bad_rules(text: str, message: str) -> None:
    with pytest.raises(IRError, match=message):
        parse_rule(text)


def test_unknown_filter() -> None:
    with pytest.raises(IRError, match=r"x\.rules:3: there is no filter 'nosuch'"):
        _ = Rule("x.rules:3", "r: py::add($x: int, 0) => $x if nosuch").tree
