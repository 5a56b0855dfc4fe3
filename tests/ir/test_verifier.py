"""Each invariant of the verifier, kept and broken."""

import pytest

from jitlang.errors import IRError
from jitlang.ir.graph import Graph, Node, Program, Use
from jitlang.ir.reader import parse_graph, parse_program
from jitlang.ir.verifier import verify_graph, verify_program
from jitlang.types import BOOL, FLOAT, INT

GOOD = """\
class Point:
  x: int
graph @main(%n: int, %p: Point, %o: Optional[int] = None) -> float:
  %zero: int = 0
  %one: int = 1
  %r: float = prim::Region() @R:
    body():
      %s: float = 0.0
      %sum: float = prim::For(%zero, %n, %one, %s) @F:
        body(%i: int, %a: float):
          %f: float = py::float(%i)
          %b: float = py::add(%a, %f)
          %big: bool = py::gt(%i, %one)
          prim::If(%big):
            then():
              %m: float = prim::Call[callee="half"](%b)
              exit @R(%m)
            else():
              next @F(%b)
          unreachable()
      yield(%sum)
  %none: bool = py::is_none(%o)
  %v: int = prim::If(%none):
    then():
      %x: int = prim::GetAttr[name="x"](%p)
      yield(%x)
    else():
      %u: int = prim::Unwrap(%o)
      prim::SetAttr[name="x"](%p, %u)
      yield(%u)
  %t: Tuple[int, float] = prim::Tuple(%v, %r)
  %e: float = prim::TupleIndex[index=1](%t)
  %l: List[float] = prim::List(%e, %r)
  %d: Dict[int, float] = prim::Dict(%v, %e)
  %q: Point = prim::New[cls="Point"]()
  %w: Optional[Point] = prim::Some(%q)
  return(%e)
graph @half(%x: float) -> float:
  %negative: bool = py::lt(%x, %x)
  %message: str = "no"
  %z: float = prim::While(%x) @W:
    body(%y: float):
      prim::If(%negative):
        then():
          raise[cls="ValueError"](%message)
        else():
          yield()
      exit @W(%y)
  return(%z)
"""


def test_good_program() -> None:
    verify_program(parse_program(GOOD))


def refused(graph: Graph, program: Program | None = None) -> str:
    with pytest.raises(IRError) as caught:
        verify_graph(graph, program)
    return str(caught.value)


TEXTS = {
    "terminator missing": (1, "  %x: int = 1\n"),
    "terminator in the middle": (1, "  %x: int = 1\n  return(%x)\n  return(%x)\n"),
    "condition": (6, "  prim::If(%a):\n    then():\n      yield()\n    else():\n      yield()\n  return(%a)\n"),
    "one block": (6, "  prim::If(%c):\n    then():\n      yield()\n  return(%a)\n"),
    "block params": (6, "  prim::If(%c):\n    then(%x: int):\n      yield()\n    else():\n      yield()\n  return(%a)\n"),
    "region inputs": (6, "  prim::Region(%a):\n    body():\n      yield()\n  return(%a)\n"),
    "blocks": (6, "  %x: int = py::neg(%a):\n    body():\n      yield()\n  return(%a)\n"),
    "for bounds": (6, "  prim::For(%a, %a):\n    body(%i: int):\n      yield()\n  return(%a)\n"),
    "for index": (6, "  prim::For(%a, %a, %a):\n    body(%i: float):\n      yield()\n  return(%a)\n"),
    "yield type": (7, "  %x: int = prim::If(%c):\n    then():\n      yield(%f)\n    else():\n      yield(%a)\n  return(%a)\n"),
    "yield count": (7, "  %x: int = prim::If(%c):\n    then():\n      yield()\n    else():\n      yield(%a)\n  return(%a)\n"),
    "carried": (7, "  %x: float = prim::While(%a) @L:\n    body(%y: float):\n      exit @L(%y)\n  return(%a)\n"),
    "exit type": (7, "  %x: float = prim::While(%f) @L:\n    body(%y: float):\n      exit @L(%a)\n  return(%a)\n"),
    "next type": (7, "  %x: float = prim::While(%f) @L:\n    body(%y: float):\n      next @L(%a)\n  return(%a)\n"),
    "for outputs": (7, "  %x: int = prim::For(%a, %a, %a, %f):\n    body(%i: int, %y: float):\n      yield(%y)\n  return(%a)\n"),
    "yield of a function": (7, "  yield(%a)\n"),
    "return type": (8, "  return(%f)\n"),
    "return count": (8, "  return()\n"),
    "raise type": (8, '  %t: Tuple[int] = prim::Tuple(%a)\n  raise[cls="ValueError"](%t)\n'),
    "raise many": (8, '  raise[cls="ValueError"](%a, %a, %a, %a, %a, %a, %a)\n'),
    "raise class": (8, "  raise(%s)\n"),
    "unknown prim": (9, "  prim::Foo()\n  return(%a)\n"),
    "constant": (9, "  %x: int = 1.0\n  return(%a)\n"),
    "constant bool": (9, "  %x: int = True\n  return(%a)\n"),
    "constant too large": (9, "  %x: int = 9223372036854775808\n  return(%a)\n"),
    "constant tuple": (9, "  %x: Tuple[int, str] = (1, 2)\n  return(%a)\n"),
    "constant list": (9, "  %x: List[int] = ()\n  return(%a)\n"),
    "tuple": (9, "  %x: Tuple[int, str] = prim::Tuple(%a, %a)\n  return(%a)\n"),
    "tuple index": (9, "  %x: Tuple[int] = prim::Tuple(%a)\n  %y: int = prim::TupleIndex[index=1](%x)\n  return(%a)\n"),
    "tuple index type": (9, "  %x: Tuple[int] = prim::Tuple(%a)\n  %y: str = prim::TupleIndex[index=0](%x)\n  return(%a)\n"),
    "list": (9, "  %x: List[str] = prim::List(%a)\n  return(%a)\n"),
    "list type": (9, "  %x: int = prim::List(%a)\n  return(%a)\n"),
    "dict": (9, "  %x: Dict[int, int] = prim::Dict(%a)\n  return(%a)\n"),
    "some": (9, "  %x: Optional[str] = prim::Some(%a)\n  return(%a)\n"),
    "unwrap": (9, "  %x: int = prim::Unwrap(%a)\n  return(%a)\n"),
    "cast": (9, "  %x: str = prim::Cast(%a)\n  return(%a)\n"),
    "outputs": (9, "  prim::Some(%a)\n  return(%a)\n"),
    "operator": (10, "  %x: int = py::nosuch(%a)\n  return(%a)\n"),
    "operator inputs": (10, "  %x: int = py::add(%a, %f)\n  return(%a)\n"),
    "operator result": (10, "  %x: float = py::add(%a, %a)\n  return(%a)\n"),
    "operator results": (10, "  py::add(%a, %a)\n  return(%a)\n"),
    "attribute": (11, '  %x: int = prim::GetAttr[name="x"](%a)\n  return(%a)\n'),
    "call": (11, "  %x: int = prim::Call(%a)\n  return(%a)\n"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_broken_text(name: str) -> None:
    invariant, body = TEXTS[name]
    message = refused(parse_graph(f"graph @f(%a: int, %f: float, %c: bool, %s: str) -> int:\n{body}"))
    assert message.startswith(f"invariant {invariant}: "), message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('graph @f(%a: int) -> int:\n  %x: int = prim::Call[callee="g"](%a)\n  return(%x)\n', "the program has no function 'g'"),
        ('graph @f(%a: int) -> int:\n  %x: int = prim::Call[callee="f"]()\n  return(%x)\n', "the arguments of f: 0 values where 1"),
        ('graph @f(%a: int) -> int:\n  %x: str = prim::Call[callee="f"](%a)\n  return(%a)\n', "the result is int, not str"),
        ('class P:\n  x: int\ngraph @f(%p: P, %s: str) -> str:\n  prim::SetAttr[name="x"](%p, %s)\n  return(%s)\n', "the attribute: str where int"),
        ('graph @f(%s: str) -> int:\n  raise[cls="app.E"](%s)\n', "there is no exception class 'app.E'"),
        ('graph @f(%s: str) -> int:\n  raise[cls="int"](%s)\n', "there is no exception class 'int'"),
        ('class P\ngraph @f(%a: int) -> int:\n  %p: P = prim::New[cls="Q"]()\n  return(%a)\n', "New of class 'Q' has type P"),
    ],
)
def test_broken_program(text: str, message: str) -> None:
    with pytest.raises(IRError, match=message):
        verify_program(parse_program(text))


def test_links() -> None:
    graph = parse_graph("graph @f(%a: int) -> int:\n  %x: int = py::neg(%a)\n  %y: int = py::neg(%x)\n  return(%y)\n")
    first, second, _ = graph.block.nodes
    graph.block.nodes[:2] = [second, first]
    assert "invariant 4: input 0 is read where it is not defined" in refused(graph)
    graph.block.nodes[:2] = [first, second]
    verify_graph(graph)
    first.output.uses.append(Use(first, 0))
    assert "invariant 3" in refused(graph)
    first.output.uses.pop()
    first.output.node = second
    assert "invariant 2" in refused(graph)
    first.output.node = first
    graph.block.nodes.insert(1, first)
    assert "invariant 2" in refused(graph)


def test_block_scopes() -> None:
    graph = parse_graph(
        "graph @f(%c: bool, %a: int) -> int:\n  prim::If(%c):\n    then():\n      %x: int = 1\n      yield()\n    else():\n      yield()\n  return(%a)\n"
    )
    inner = graph.block.nodes[0].blocks[0].nodes[0].output
    graph.block.terminator.set_input(0, inner)
    assert "invariant 4" in refused(graph)


def test_targets() -> None:
    graph = parse_graph(
        "graph @f(%a: int) -> int:\n  prim::While() @L:\n    body():\n      exit @L()\n  prim::Region() @R:\n    body():\n      yield()\n  return(%a)\n"
    )
    loop, region, _ = graph.block.nodes
    leave = loop.blocks[0].terminator
    leave.target = region
    assert "invariant 5: prim::exit needs an enclosing For or While or Region as target" in refused(graph)
    leave.target = None
    assert "invariant 5" in refused(graph)
    leave.target = loop
    verify_graph(graph)
    region.target = loop
    assert "invariant 5: prim::Region has a target" in refused(graph)


def test_names() -> None:
    graph = Graph("f", INT)
    graph.block.add_param(INT, "a")
    graph.block.append(Node("prim::return", graph.params))
    program = Program("g", {"f": graph})
    with pytest.raises(IRError, match="the entry 'g' is not defined"):
        verify_program(program)
    with pytest.raises(IRError, match="is filed as 'h'"):
        verify_program(Program("h", {"h": graph}))
    graph.defaults["b"] = 1
    assert "invariant 12: the default of 'b'" in refused(graph)
    del graph.defaults["b"]
    graph.block.add_param(FLOAT, "a")
    assert "invariant 12: two parameters" in refused(graph)


def test_the_error_shows_ten_lines() -> None:
    body = "".join(f"  %x{i}: int = {i}\n" for i in range(20))
    graph = parse_graph(f"graph @f(%a: int) -> int:\n{body}  %b: float = py::neg(%a)\n  return(%a)\n")
    lines = refused(graph).splitlines()
    assert lines[0] == "invariant 10: the result of py::neg.int is int, not float"
    assert lines[1] == "  graph @f(%a: int) -> int:"
    assert ">   %b: float = py::neg(%a)" in lines and len(lines) == 13


def test_refined_tensors_are_allowed() -> None:
    graph = parse_graph("graph @f(%x: Tensor[float32, 2]) -> Tensor:\n  %y: Tensor = prim::Cast(%x)\n  %l: List[Tensor] = prim::List(%x, %y)\n  return(%x)\n")
    verify_graph(graph)
    assert graph.params[0].type != BOOL


def test_a_kernel_without_result_returns_none() -> None:
    verify_graph(parse_graph("graph @k(%p: ptr[f64], %i: i64) -> void:\n  %x: f64 = 1.0\n  ll::store(%p, %i, %x)\n  %n: None = None\n  return(%n)\n"))
