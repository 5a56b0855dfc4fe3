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

``drop($y)`` says that the inner call ``$y = …`` cannot raise under the rule's filters: its node goes when nothing reads it.

A rule is read when a program first has a node of its kind.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable
from importlib import resources

from jitlang.errors import IRError
from jitlang.grammar.rules import CallTree, ComputedTree, ConditionTree, ConstantTree, RuleTree, VariableTree, parse_rule
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
            if condition.name not in FILTERS and condition.name != "drop":
                raise IRError(f"{self.where}: there is no filter {condition.name!r}")
        if isinstance(tree.replacement, ComputedTree) and tree.replacement.name not in COMPUTED:
            raise IRError(f"{self.where}: there is no function {tree.replacement.name!r}")
        return tree

    @functools.cached_property
    def pattern(self) -> Pattern:
        """The pattern of the rule."""
        return Pattern(self.tree.pattern)

    @functools.cached_property
    def needs(self) -> list[tuple[int, str]]:
        """Inputs that only a node of some kind can define: a test that most nodes fail quickly."""
        inputs = enumerate(self.tree.pattern.inputs)
        return [(i, t.kind if isinstance(t, CallTree) else "prim::Constant") for i, t in inputs if not isinstance(t, VariableTree)]

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
        value = build(replacement, match, node, output.type, _compute)
        value.name = value.name or output.name
        output.replace_with(value)
        node.destroy()
        for condition in rule.tree.conditions:
            if condition.name == "drop":
                _drop(match.values[str(condition.arguments[0])])
        return value

    def _holds(self, condition: ConditionTree, match: Match, node: Node) -> bool:
        if condition.name == "drop":
            return True
        values = [_argument(a, match) for a in condition.arguments]
        return FILTERS[condition.name](self, node, *values)


def _argument(argument: str | ConstantTree, match: Match) -> object:
    return argument.value if isinstance(argument, ConstantTree) else match.values[argument]


def _compute(tree: ComputedTree, match: Match) -> object:
    return COMPUTED[tree.name](*(_argument(a, match) for a in tree.arguments))


def _drop(value: Value) -> None:
    """Removes the node of an inner call that, as the rule knows, does not raise, if nothing reads it any more."""
    if value.node is not None and not value.uses:
        value.node.destroy()


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


def _computed(r: _Rewriter, node: Node) -> bool:
    """``computed``: the result goes into other tensors only; nothing asks for its strides."""
    return all(isinstance(o.type, TensorType) for u in node.output.uses for o in u.node.outputs)


def _tensor(value: Value) -> TensorType:
    """The type of a tensor; of anything else, the one that says nothing."""
    return value.type if isinstance(value.type, TensorType) else TensorType()


def _same_dtype(r: _Rewriter, node: Node, value: Value) -> bool:
    """``same_dtype($x)``: a tensor whose dtype is known and is the result's."""
    dtype = _tensor(value).dtype
    return dtype is not None and dtype == _tensor(node.output).dtype


def _has_dtype(r: _Rewriter, node: Node, value: Value, name: str) -> bool:
    """``has_dtype($x, "float32")``: a tensor that is known to have that dtype."""
    dtype = _tensor(value).dtype
    return dtype is not None and dtype.name == name


def _dtype_is(r: _Rewriter, node: Node, value: Value, dtype: Value) -> bool:
    """``dtype_is($x, $d)``: the dtype of $x is known and is the constant $d."""
    return dtype.is_constant and _tensor(value).dtype is not None and _tensor(value).dtype == dtype.constant


def _typed(r: _Rewriter, node: Node, value: Value) -> bool:
    """``typed($x)``: a tensor whose dtype is known."""
    return _tensor(value).dtype is not None


def _floating(r: _Rewriter, node: Node, value: Value) -> bool:
    """``floating($x)``: a tensor of floating-point numbers."""
    dtype = _tensor(value).dtype
    return dtype is not None and dtype.is_floating_point


def _integral(r: _Rewriter, node: Node, value: Value) -> bool:
    """``integral($x)``: a tensor of integers."""
    dtype = _tensor(value).dtype
    return dtype is not None and dtype.kind in "iu"


def _signed(r: _Rewriter, node: Node, value: Value) -> bool:
    """``signed($x)``: a tensor of signed integers."""
    dtype = _tensor(value).dtype
    return dtype is not None and dtype.kind == "i"


def _whole(r: _Rewriter, node: Node, value: Value) -> bool:
    """``whole($x)``: a tensor of integers or bools."""
    dtype = _tensor(value).dtype
    return dtype is not None and dtype.kind in "iub"


def _rank(r: _Rewriter, node: Node, value: Value, rank: int) -> bool:
    """``rank($x, 2)``: a tensor that is known to have so many dimensions."""
    return _tensor(value).rank == rank


def _ranked(r: _Rewriter, node: Node, value: Value) -> bool:
    """``ranked($x)``: a tensor whose number of dimensions is known."""
    return _tensor(value).rank is not None


def _in_range(r: _Rewriter, node: Node, dim: Value, value: Value, more: int) -> bool:
    """``in_range($d, $x, 0)``: $d is a constant that names a dimension of $x with so many more dimensions."""
    rank = _tensor(value).rank
    return rank is not None and dim.is_constant and -(rank + more) <= dim.constant < rank + more


FILTERS: dict[str, Callable[..., bool]] = {
    "constant": _constant,
    "variable": _variable,
    "ordered": _ordered,
    "local": _local,
    "unwritten": _unwritten,
    "computed": _computed,
    "same_dtype": _same_dtype,
    "has_dtype": _has_dtype,
    "dtype_is": _dtype_is,
    "typed": _typed,
    "floating": _floating,
    "integral": _integral,
    "signed": _signed,
    "whole": _whole,
    "rank": _rank,
    "ranked": _ranked,
    "in_range": _in_range,
}
COMPUTED: dict[str, Callable[..., object]] = {
    "rank_of": lambda value: value.type.rank,
    "dtype_of": lambda value: value.type.dtype,
}
