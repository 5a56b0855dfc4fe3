"""What the alias analysis says of memory, effects and exceptions."""

from __future__ import annotations

import pytest

from jitlang.ir.alias import AliasAnalysis, has_effect, is_fresh, is_reference, is_speculatable, leaves, may_not_end, may_raise, may_write
from jitlang.ir.graph import Graph, Node, Value
from jitlang.ir.reader import parse_graph, parse_program
from jitlang.types import FLOAT, INT, STR, ClassType, ListType, OptionalType, TensorType, TupleType


def values(graph: Graph) -> dict[str, Value]:
    found = {p.name: p for p in graph.params}
    for node in graph.walk():
        found.update({o.name: o for o in node.outputs})
        for block in node.blocks:
            found.update({p.name: p for p in block.params})
    return found


def nodes(graph: Graph, kind: str) -> list[Node]:
    return [n for n in graph.walk() if n.kind == kind]


def analysed(text: str) -> tuple[AliasAnalysis, dict[str, Value], Graph]:
    graph = parse_program(text).main
    return AliasAnalysis(graph), values(graph), graph


def test_references() -> None:
    assert is_reference(ListType(INT)) and is_reference(TensorType()) and is_reference(ClassType("P"))
    assert is_reference(OptionalType(ListType(INT))) and is_reference(TupleType((INT, ListType(INT))))
    assert not any(map(is_reference, (INT, FLOAT, STR, TupleType((INT, STR)), OptionalType(FLOAT), ClassType("E", is_enum=True))))


def test_parameters_may_be_one_object() -> None:
    aliases, v, _ = analysed("graph @f(%l: List[int], %m: List[int], %s: List[str], %n: int) -> int:\n  return(%n)\n")
    assert aliases.may_alias(v["l"], v["m"])
    assert not aliases.may_alias(v["l"], v["s"])
    assert not aliases.may_alias(v["l"], v["n"]) and not aliases.may_alias(v["n"], v["n"])


def test_fresh_containers_are_apart_until_stored() -> None:
    aliases, v, _ = analysed(
        "graph @f(%l: List[int], %i: int, %k: List[List[int]]) -> int:\n"
        "  %a: List[int] = prim::List(%i)\n"
        "  %b: List[int] = py::copy(%l)\n"
        "  %c: List[int] = prim::List(%i)\n"
        "  py::append(%k, %c)\n"
        "  %d: List[List[int]] = prim::List(%a)\n"
        "  %e: List[int] = py::getitem(%d, %i)\n"
        "  return(%i)\n"
    )
    assert not aliases.may_alias(v["a"], v["l"]) and not aliases.may_alias(v["b"], v["l"])
    assert aliases.may_alias(v["c"], v["l"]) and aliases.escapes(v["c"])
    assert aliases.may_alias(v["e"], v["a"]) and not aliases.escapes(v["a"])
    assert not aliases.may_alias(v["a"], v["b"])
    assert aliases.may_alias(v["d"], v["a"])  # a write to an element may be seen through the outer list


def test_elements_of_numbers_share_nothing() -> None:
    aliases, v, _ = analysed(
        "graph @f(%l: List[int], %i: int) -> int:\n"
        "  %a: List[int] = prim::List(%i)\n"
        "  py::extend(%a, %l)\n"
        "  %x: int = py::getitem(%l, %i)\n"
        "  py::append(%a, %x)\n"
        "  return(%x)\n"
    )
    assert not aliases.may_alias(v["a"], v["l"])
    assert aliases.is_written(v["a"]) and not aliases.is_written(v["l"])
    assert not aliases.escapes(v["a"]) and not aliases.is_mergeable(v["a"])


def test_control_flow_joins_regions() -> None:
    aliases, v, _ = analysed(
        "graph @f(%l: List[int], %i: int, %c: bool) -> int:\n"
        "  %a: List[int] = prim::List(%i)\n"
        "  %b: List[int] = prim::If(%c):\n"
        "    then():\n"
        "      yield(%a)\n"
        "    else():\n"
        "      yield(%l)\n"
        "  %d: List[int] = prim::List(%i)\n"
        "  %g: List[int] = prim::For(%i, %i, %i, %d):\n"
        "    body(%j: int, %h: List[int]):\n"
        "      %n: List[int] = prim::List(%j)\n"
        "      yield(%n)\n"
        "  %o: List[int] = prim::Region() @R:\n"
        "    body():\n"
        "      %p: List[int] = prim::List(%i)\n"
        "      exit @R(%p)\n"
        "  return(%i)\n"
    )
    assert aliases.may_alias(v["b"], v["a"]) and aliases.may_alias(v["b"], v["l"])
    assert aliases.may_alias(v["g"], v["d"]) and aliases.may_alias(v["h"], v["n"]) and not aliases.may_alias(v["g"], v["a"])
    assert aliases.may_alias(v["o"], v["p"]) and not aliases.may_alias(v["o"], v["g"])


def test_calls_and_returns_escape() -> None:
    aliases, v, _ = analysed(
        "graph @f(%i: int) -> List[int]:\n"
        "  %a: List[int] = prim::List(%i)\n"
        "  %b: List[int] = prim::List(%i)\n"
        '  %u: int = prim::Call[callee="g"](%b)\n'
        "  %c: List[int] = prim::List(%i)\n"
        "  return(%a)\n"
        "graph @g(%l: List[int]) -> int:\n"
        "  %one: int = 1\n"
        "  return(%one)\n"
    )
    assert aliases.escapes(v["a"]) and aliases.escapes(v["b"]) and not aliases.escapes(v["c"])
    assert aliases.is_written(v["b"]) and not aliases.is_written(v["c"])
    assert aliases.is_mergeable(v["c"]) and not aliases.is_mergeable(v["a"])


def test_attributes_are_memory_of_their_own() -> None:
    aliases, v, graph = analysed(
        "class P:\n"
        "  x: int\n"
        "  l: List[int]\n"
        "graph @f(%p: P, %q: P, %i: int) -> int:\n"
        '  %n: P = prim::New[cls="P"]()\n'
        '  prim::SetAttr[name="x"](%n, %i)\n'
        '  prim::SetAttr[name="x"](%p, %i)\n'
        '  %a: int = prim::GetAttr[name="x"](%q)\n'
        '  %b: List[int] = prim::GetAttr[name="l"](%q)\n'
        "  %k: int = py::len(%b)\n"
        "  return(%a)\n"
    )
    fresh, write = nodes(graph, "prim::SetAttr")
    read, read_list = nodes(graph, "prim::GetAttr")
    (length,) = nodes(graph, "py::len")
    assert aliases.effects(write).clashes(aliases.effects(read))
    assert not aliases.effects(fresh).clashes(aliases.effects(read))
    assert not aliases.effects(write).clashes(aliases.effects(read_list))
    assert not aliases.effects(write).clashes(aliases.effects(length))
    assert aliases.may_alias(v["p"], v["q"]) and not aliases.may_alias(v["n"], v["p"])


def test_effects_of_operators() -> None:
    aliases, _, graph = analysed(
        "graph @f(%l: List[int], %m: List[int], %d: Dict[str, int], %s: str, %i: int) -> int:\n"
        "  py::append(%l, %i)\n"
        "  %a: int = py::getitem(%m, %i)\n"
        "  %b: int = py::getitem(%d, %s)\n"
        "  py::print(%s)\n"
        '  %u: int = prim::Call[callee="f"](%l, %m, %d, %s, %i)\n'
        "  return(%i)\n"
    )
    append, item, key, show, call, _ = graph.block.nodes
    effects = {n: aliases.effects(n) for n in graph.block.nodes}
    assert effects[append].clashes(effects[item]) and not effects[append].clashes(effects[key])
    assert not effects[item].clashes(effects[key]) and not effects[show].clashes(effects[append])
    assert all(effects[call].clashes(effects[n]) for n in (append, item, key, show, call))
    assert effects[show].clashes(effects[show])
    assert aliases.writes(show) and aliases.writes(append) and not aliases.writes(item)


@pytest.mark.parametrize(
    ("line", "raises", "writes", "stays", "speculates"),
    [
        ("%r: int = py::and(%i, %i)", False, False, False, True),
        ("%r: int = py::add(%i, %i)", True, False, True, False),
        ("%r: float = py::add(%x, %x)", False, False, False, True),
        ("%r: int = py::len(%l)", False, False, False, True),
        ("%r: int = py::len(%maybe)", False, False, False, False),
        ("%r: int = py::getitem(%l, %i)", True, False, True, False),
        ("py::append(%l, %i)", True, True, True, False),
        ("py::print(%s)", True, True, True, False),
        ("%r: List[int] = prim::List(%i)", False, False, False, True),
        ("%r: int = prim::Unwrap(%o)", False, False, False, False),
        ("%r: Tuple[int, str] = prim::Tuple(%i, %s)", False, False, False, True),
        ('%r: int = prim::Call[callee="g"](%i)', True, True, True, False),
    ],
)
def test_predicates(line: str, raises: bool, writes: bool, stays: bool, speculates: bool) -> None:
    graph = parse_graph(
        "graph @f(%i: int, %x: float, %l: List[int], %s: str, %o: Optional[int], %c: bool) -> int:\n"
        "  %maybe: List[int] = prim::If(%c):\n"
        "    then():\n"
        "      yield(%l)\n"
        "    else():\n"
        "      %unset: List[int] = prim::Uninitialized()\n"
        "      yield(%unset)\n"
        f"  {line}\n"
        "  return(%i)\n"
    )
    node = graph.block.nodes[1]
    assert (may_raise(node), may_write(node), has_effect(node), is_speculatable(node)) == (raises, writes, stays, speculates)


def test_leaving_and_not_ending() -> None:
    graph = parse_graph(
        "graph @f(%n: int, %k: int) -> int:\n"
        "  %one: int = 1\n"
        "  prim::While() @L:\n"
        "    body():\n"
        "      prim::For(%n, %n, %one) @M:\n"
        "        body(%i: int):\n"
        "          exit @M()\n"
        "      prim::For(%n, %n, %n):\n"
        "        body(%j: int):\n"
        "          exit @L()\n"
        "      yield()\n"
        "  return(%n)\n"
    )
    (loop,) = nodes(graph, "prim::While")
    first, second = nodes(graph, "prim::For")
    assert may_not_end(loop) and not may_not_end(first) and not leaves(loop)
    assert not leaves(first) and leaves(second)
    assert not may_raise(first) and may_raise(second)  # a step that is not known may be zero


def test_fresh() -> None:
    graph = parse_graph(
        "graph @f(%l: List[List[int]], %i: int) -> int:\n"
        "  %a: List[int] = py::getitem(%l, %i)\n"
        "  %b: List[List[int]] = py::copy(%l)\n"
        "  %c: int = py::len(%l)\n"
        "  %d: List[int] = prim::List(%i)\n"
        "  return(%i)\n"
    )
    assert [is_fresh(n) for n in graph.block.nodes[:4]] == [False, True, False, True]
