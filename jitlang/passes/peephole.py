"""Peephole rules: a small pattern of nodes becomes a smaller one.

In: the files ``rules/*.rules`` beside this module, one rule a line: ``name: pattern => replacement if filter, filter``. Out:
programs in which no rule matches any more. To add a rule, add a line to the file of its topic and a file to
``tests/passes/peephole``; the laws stand at the head of each file:

1. The replacement has the type and every bit of the pattern's result, for every input: -0.0, NaN, infinity, the
   smallest int.
2. It raises exactly when the pattern's outermost node raises, the same exception. (Inner nodes that may raise stay.)
3. It is smaller, or nearer to a normal form that other rules expect (a constant stands on the right), so that
   rewriting ends.
4. It keeps identity and sharing where a script can notice them: a new list is not the old one.

A rule is read when a program first has a node of its kind.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable
from importlib import resources

from jitlang.errors import IRError
from jitlang.grammar.rules import ConditionTree, ConstantTree, RuleTree, VariableTree, parse_rule
from jitlang.ir.alias import AliasAnalysis, is_unshared
from jitlang.ir.graph import Graph, Node, Program, Value
from jitlang.ir.pattern import Match, Pattern, build
from jitlang.passes.budget import Budget
from jitlang.types import TensorType, is_subtype

_HEAD = re.compile(r"(?:(\w+)\s*:(?!:))?\s*(\w+::\w+)")


@dataclasses.dataclass(frozen=True)
class Peephole:
    """Apply rules until none matches."""

    name = "peephole"

    def run(self, program: Program, budget: Budget) -> None:
        """Rewrites every function."""
        for graph in program.functions.values():
            _Rewriter(graph, budget).run()


@dataclasses.dataclass(eq=False)
class Rule:
    """One line of a rule file; `where` is ``file:line``."""

    where: str
    text: str

    @functools.cached_property
    def tree(self) -> RuleTree:
        """The rule, read on first use. Raises IRError that names the file and line."""
        try:
            tree = parse_rule(self.text)
        except IRError as error:
            raise IRError(f"{self.where}: {error}") from None
        for condition in tree.conditions:
            if condition.name not in FILTERS:
                raise IRError(f"{self.where}: there is no filter {condition.name!r}")
        return tree

    @functools.cached_property
    def pattern(self) -> Pattern:
        """The pattern of the rule."""
        return Pattern(self.tree.pattern)

    @functools.cached_property
    def needs(self) -> list[tuple[int, str]]:
        """Inputs that only a node of some kind can define: a test that most nodes fail quickly."""
        inputs = enumerate(self.tree.pattern.inputs)
        return [(i, "prim::Constant" if isinstance(t, ConstantTree) else t.kind) for i, t in inputs if not isinstance(t, VariableTree)]

    def may_match(self, node: Node) -> bool:
        """Whether `needs` is met."""
        for index, kind in self.needs:
            if index >= len(node.inputs):
                return False
            source = node.inputs[index].node
            if source is None or source.kind != kind:
                return False
        return True


@functools.cache
def rules() -> dict[str, list[Rule]]:
    """All rules by the kind of their outermost node, in the order of files and lines. Raises IRError for a line that is none."""
    found: dict[str, list[Rule]] = {}
    folder = resources.files("jitlang.passes") / "rules"
    for file in sorted(folder.iterdir(), key=lambda f: f.name):
        if not file.name.endswith(".rules"):
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            text = line.split("#", 1)[0].strip()
            if text:
                head = _HEAD.match(text)
                if head is None:
                    raise IRError(f"{file.name}:{number}: a rule is written name: pattern => replacement")
                found.setdefault(head[2], []).append(Rule(f"{file.name}:{number}", text))
    return found


class _Rewriter:
    def __init__(self, graph: Graph, budget: Budget) -> None:
        self.graph = graph
        self.budget = budget

    @functools.cached_property
    def aliases(self) -> AliasAnalysis:
        """Made when a rule first asks; rules only remove reads, so it stays true."""
        return AliasAnalysis(self.graph)

    def run(self) -> None:
        table = rules()
        work = [n for n in reversed(list(self.graph.walk())) if n.kind in table]
        while work:
            node = work.pop()
            if node.block is None or len(node.outputs) != 1 or not node.output.uses:
                continue
            for rule in table.get(node.kind, ()):
                value = self._apply(rule, node)
                if value is not None:
                    work += [u.node for u in value.uses]
                    if value.node is not None:
                        work.append(value.node)
                    break

    def _apply(self, rule: Rule, node: Node) -> Value | None:
        """The value that stands for the node's result now, if the rule applies."""
        match = rule.pattern.match(node) if rule.may_match(node) else None
        if match is None or not all(self._holds(c, match, node) for c in rule.tree.conditions):
            return None
        replacement, output = rule.tree.replacement, node.output
        if isinstance(replacement, VariableTree) and not _may_stand_for(match.values[replacement.name], output):
            return None
        if not self.budget.take():
            return None
        value = build(replacement, match, node, output.type)
        value.name = value.name or output.name
        output.replace_with(value)
        node.destroy()
        return value

    def _holds(self, condition: ConditionTree, match: Match, node: Node) -> bool:
        values = [_argument(a, match) for a in condition.arguments]
        return FILTERS[condition.name](self, node, *values)


def _argument(argument: str | ConstantTree, match: Match) -> object:
    return argument.value if isinstance(argument, ConstantTree) else match.values[argument]


def _may_stand_for(value: Value, output: Value) -> bool:
    if value.type == output.type:
        return True
    return isinstance(output.type, TensorType) and is_subtype(value.type, output.type)


# ---- filters ------------------------------------------------------------------------------------------------------------


def _constant(r: _Rewriter, node: Node, value: Value) -> bool:
    """``constant($c)``: a constant."""
    return value.is_constant


def _variable(r: _Rewriter, node: Node, value: Value) -> bool:
    """``variable($x)``: no constant."""
    return not value.is_constant


def _ordered(r: _Rewriter, node: Node, value: Value) -> bool:
    """``ordered($c)``: a constant, and not NaN."""
    return value.is_constant and bool(value.constant == value.constant)


def _local(r: _Rewriter, node: Node) -> bool:
    """``local``: only pure operators, whose results share nothing with it, read the result."""
    return is_unshared(node.output)


def _unwritten(r: _Rewriter, node: Node, value: Value) -> bool:
    """``unwritten($x)``: nothing in the function writes to memory that is reachable from $x."""
    return not r.aliases.is_written(value)


def _same_dtype(r: _Rewriter, node: Node, value: Value) -> bool:
    """``same_dtype($x)``: a tensor whose dtype is known and is the result's."""
    a, b = value.type, node.output.type
    return isinstance(a, TensorType) and isinstance(b, TensorType) and a.dtype is not None and a.dtype == b.dtype


def _floating(r: _Rewriter, node: Node, value: Value) -> bool:
    """``floating($x)``: a tensor of floating-point numbers."""
    return isinstance(value.type, TensorType) and value.type.dtype is not None and value.type.dtype.is_floating_point


def _integral(r: _Rewriter, node: Node, value: Value) -> bool:
    """``integral($x)``: a tensor of integers."""
    return isinstance(value.type, TensorType) and value.type.dtype is not None and value.type.dtype.kind in "iu"


def _rank(r: _Rewriter, node: Node, value: Value, rank: int) -> bool:
    """``rank($x, 2)``: a tensor that is known to have so many dimensions."""
    return isinstance(value.type, TensorType) and value.type.rank == rank


FILTERS: dict[str, Callable[..., bool]] = {
    "constant": _constant,
    "variable": _variable,
    "ordered": _ordered,
    "local": _local,
    "unwritten": _unwritten,
    "same_dtype": _same_dtype,
    "floating": _floating,
    "integral": _integral,
    "rank": _rank,
}
