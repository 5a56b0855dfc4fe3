"""Patterns of nodes and what is built for a match."""

import pytest

from jitlang.errors import IRError
from jitlang.grammar.rules import parse_rule
from jitlang.ir.graph import Graph, Node
from jitlang.ir.pattern import Match, Pattern, build
from jitlang.ir.printer import print_graph
from jitlang.ir.reader import parse_graph
from jitlang.types import INT


def graph_of(body: str) -> Graph:
    return parse_graph(f"graph @f(%a: int, %b: int, %x: float, %l: List[int], %s: Optional[str]) -> int:\n{body}  return(%a)\n")


def match(pattern: str, body: str) -> Match | None:
    graph = graph_of(body)
    return Pattern(parse_rule(f"{pattern} => 0").pattern).match(graph.block.nodes[-2])


@pytest.mark.parametrize(
    ("pattern", "body", "names"),
    [
        ("py::add($x, $y)", "  %r: int = py::add(%a, %b)\n", {"$x": "a", "$y": "b"}),
        ("py::add($x, $x)", "  %r: int = py::add(%a, %b)\n", None),
        ("py::add($x, $x)", "  %r: int = py::add(%b, %b)\n", {"$x": "b"}),
        ("py::sub($x, $y)", "  %r: int = py::add(%a, %b)\n", None),
        ("py::add($x: float, $y)", "  %r: int = py::add(%a, %b)\n", None),
        ("py::add($x: int, 1)", "  %k: int = 1\n  %r: int = py::add(%a, %k)\n", {"$x": "a"}),
        ("py::add($x: int, 1)", "  %k: int = 2\n  %r: int = py::add(%a, %k)\n", None),
        ("py::add($x, 0.0)", "  %k: float = -0.0\n  %r: float = py::add(%x, %k)\n", None),
        ("py::add($x, -0.0)", "  %k: float = -0.0\n  %r: float = py::add(%x, %k)\n", {"$x": "x"}),
        ("py::neg(py::neg($x))", "  %n: int = py::neg(%a)\n  %r: int = py::neg(%n)\n", {"$x": "a"}),
        ("py::neg(py::neg($x))", "  %r: int = py::neg(%a)\n", None),
        ("py::len($x: List[t])", "  %r: int = py::len(%l)\n", {"$x": "l"}),
        ("py::len($x: str)", "  %r: int = py::len(%l)\n", None),
        ("py::neg($x): float", "  %r: int = py::neg(%a)\n", None),
        ("prim::TupleIndex[index=1]($t)", "  %t: Tuple[int, int] = prim::Tuple(%a, %b)\n  %r: int = prim::TupleIndex[index=1](%t)\n", {"$t": "t"}),
        ("prim::TupleIndex[index=0]($t)", "  %t: Tuple[int, int] = prim::Tuple(%a, %b)\n  %r: int = prim::TupleIndex[index=1](%t)\n", None),
        ("prim::TupleIndex[other=0]($t)", "  %t: Tuple[int] = prim::Tuple(%a)\n  %r: int = prim::TupleIndex[index=0](%t)\n", None),
        ("py::is_none(None)", "  %n: Optional[str] = None\n  %r: bool = py::is_none(%n)\n", {}),
        ("py::is_none(None)", "  %r: bool = py::is_none(%s)\n", None),
    ],
)
def test_match(pattern: str, body: str, names: dict[str, str] | None) -> None:
    found = match(pattern, body)
    assert (None if found is None else {k: v.name for k, v in found.values.items()}) == names


def test_equal_constants_are_one_value() -> None:
    body = "  %k: int = 7\n  %m: int = 7\n  %n: int = py::xor(%a, %k)\n  %r: int = py::xor(%n, %m)\n"
    assert match("py::xor(py::xor($x, $y), $y)", body) is not None


def test_build() -> None:
    graph = graph_of("  %r: int = py::add(%a, %b)\n")
    node = graph.block.nodes[0]
    rule = parse_rule("py::add($x, $y) => py::sub(py::mul($x, 2): int, $y)")
    found = Pattern(rule.pattern).match(node)
    assert found is not None
    made = build(rule.replacement, found, node, INT)
    graph.block.terminator.set_input(0, made)
    node.destroy()
    assert print_graph(graph).splitlines()[1:] == [
        "  %1: int = 2",
        "  %2: int = py::mul(%a, %1)",
        "  %3: int = py::sub(%2, %b)",
        "  return(%3)",
    ]


def test_attributes_are_carried() -> None:
    graph = parse_graph("graph @f(%t: Tuple[int, int]) -> int:\n  %r: int = prim::TupleIndex[index=1](%t)\n  return(%r)\n")
    rule = parse_rule("prim::TupleIndex[index=$i]($t) => py::thing[at=$i, k=3]($t)")
    found = Pattern(rule.pattern).match(graph.block.nodes[0])
    assert found is not None and found.attributes == {"$i": 1}
    made = build(rule.replacement, found, graph.block.nodes[0], INT).node
    assert isinstance(made, Node) and made.attributes == {"at": 1, "k": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("py::add($x, $y) => py::neg(py::neg($x))", "does not say the type of the inner py::neg"),
        ("py::add($x, $y) => $z", r"reads \$z, which the pattern does not bind"),
    ],
)
def test_bad_replacements(text: str, message: str) -> None:
    graph = graph_of("  %r: int = py::add(%a, %b)\n")
    rule = parse_rule(text)
    found = Pattern(rule.pattern).match(graph.block.nodes[0])
    assert found is not None
    with pytest.raises(IRError, match=message):
        build(rule.replacement, found, graph.block.nodes[0], INT)
