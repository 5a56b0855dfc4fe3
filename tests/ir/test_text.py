"""The text form of the IR: what is printed reads back as an equal program; what is wrong is refused with its line."""

import math
import struct
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jitlang.errors import IRError
from jitlang.ir.equal import graph_difference, literal_key, program_difference
from jitlang.ir.graph import Graph, Node, Program
from jitlang.ir.printer import print_graph, print_program, write_literal
from jitlang.ir.reader import parse_graph, parse_program
from jitlang.source import Source, SourceRange
from jitlang.types import DTYPES, FLOAT, I64, INT, NONE, STR, ClassType, ListType, Pointer, StructType, TensorType, TupleType

EVERYTHING = """\
entry @f
exception app.Wrong(ValueError)
exception app.VeryWrong(app.Wrong)
class Point:
  x: int
  y: List[Point]
  z?: Optional[str]
class Net module:
  weight: Tensor[float32, 2]
class Color enum:
  RED = 1
  GREEN = "g"
class Empty
struct Pair:
  next: ptr[Pair]
  bytes: array[u8, 16]
graph @f(%a: int, %b: float = 1.0, %o: Optional[int] = None, %s: str = "x") -> float with [kernel=True, t=(1, type(List[Point]))] at $0:1:0-9:20:
  %1: float = py::float(%a) at $0:2:8-16
  %k: int = 3
  %p: ptr[Pair] = ll::null[T=type(ptr[Pair]), d=dtype.float32, big=170141183460469231731687303715884105727]()
  %x: float, %i: int = prim::While(%1, %k) @L1:
    body(%x0: float, %i0: int):
      %c: bool = py::lt(%i0, %a) at $1:3:4-9
      prim::If(%c):
        then():
          next @L1(%x0, %i0)
        else():
          exit @L1(%x0, %i0)
  %r: NamedTuple[P](u: int, v: Tuple[()]) = prim::Call[callee="<lambda>"](%i)
  return(%x) at $0:9:0-9
graph @f.<locals>.<lambda>() -> None:
  %1: str = "line\\nquote\\"tab\\tback\\\\slash"
  raise[cls="app.VeryWrong"](%1)
graph @"not a word"() -> int:
  %1: int = -1
  return(%1)
source !0 = "report.py" line 1 indent 4:
  "def main(a, b=1.0):"
  "    return a"
  ""
scope $0 = !0 "f"
scope $1 = !0 "helper" called at $0:3:4-14
"""


def test_everything_round_trips() -> None:
    program = parse_program(EVERYTHING)
    text = print_program(program)
    assert text == EVERYTHING
    assert program_difference(program, parse_program(text)) is None


def test_ranges_and_inlined_callers_survive() -> None:
    graph = parse_program(EVERYTHING).main
    node = next(n for n in graph.walk() if n.kind == "py::lt")
    assert node.range is not None and node.range.caller is not None
    assert (node.range.function, node.range.line, node.range.col, node.range.end_col) == ("helper", 3, 4, 9)
    assert (node.range.caller.function, node.range.caller.line) == ("f", 3)
    assert node.range.source.text == "def main(a, b=1.0):\n    return a\n"
    assert node.range.source.indent == 4


def test_texts_may_come_from_outside() -> None:
    program = parse_program(EVERYTHING)
    text = print_program(program, texts=False)
    again = parse_program(text, texts={"report.py": "def main(a, b=1.0):\n    return a\n"})
    assert program_difference(program, again) is None
    assert program_difference(program, parse_program(text)) is not None


def test_classes_refer_to_one_another_and_are_shared() -> None:
    program = parse_program(EVERYTHING)
    point = program.classes["Point"]
    assert point.attributes["y"].element is point
    assert program.classes["Net"].is_module and program.classes["Color"].is_enum
    assert dict(program.classes["Color"].values) == {"RED": 1, "GREEN": "g"}
    pair = program.classes["Pair"]
    assert isinstance(pair, StructType)
    pointer = pair.fields["next"]
    assert isinstance(pointer, Pointer) and pointer.element is pair


def test_exceptions_are_new_classes_with_the_same_bases() -> None:
    program = parse_program(EVERYTHING)
    wrong, very = program.classes["app.Wrong"], program.classes["app.VeryWrong"]
    assert wrong.__bases__ == (ValueError,) and very.__bases__ == (wrong,)
    assert (very.__module__, very.__name__) == ("app", "VeryWrong")


def test_names() -> None:
    graph = Graph("f", INT)
    a, again, _strange, unnamed = (graph.block.add_param(INT, name) for name in ("a", "a", "odd name", ""))
    graph.block.append(Node("prim::return", [again]))
    text = print_graph(graph)
    assert text == "graph @f(%a: int, %a.1: int, %odd_name: int, %1: int) -> int:\n  return(%a.1)\n"
    assert [p.name for p in parse_graph(text).params] == ["a", "a", "odd_name", ""]
    assert a is not unnamed


def test_graph_of_kernel_types() -> None:
    pair = StructType("Pair", {"n": I64})
    graph = Graph("k", NONE)
    graph.block.add_param(Pointer(pair), "p")
    graph.block.append(Node("ll::store", graph.params, align=8, volatile=False, types=(I64, TensorType(DTYPES[3], 2, "cuda"))))
    text = print_graph(graph)
    assert graph_difference(graph, parse_graph(text, classes={"Pair": pair})) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.sampled_from(DTYPES),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(VALUES)
def test_every_constant_reads_back_to_the_last_bit(value: object) -> None:
    graph = Graph("f", FLOAT)
    graph.block.append(Node("prim::Constant", types=[TupleType(())], value=value))
    graph.defaults = {}
    again = parse_graph(print_graph(graph))
    assert literal_key(next(again.walk()).attributes["value"]) == literal_key(value)


def test_nan_bits() -> None:
    (value,) = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000123))
    assert write_literal(value) == "nan(0xfff8000000000123)"
    assert write_literal(math.nan) == "nan"


def test_unknown_values_need_a_hook() -> None:
    graph = Graph("f", NONE)
    graph.block.append(Node("ll::call", target=None, kernel=print))
    with pytest.raises(IRError, match="no IR literal for <built-in function print>"):
        print_graph(graph)
    text = print_graph(graph, hook=lambda v: v.__name__)
    assert 'kernel=&"print"' in text
    with pytest.raises(IRError, match="line 2: the reference 'print' is not allowed here"):
        parse_graph(text)
    assert next(parse_graph(text, references=lambda name: getattr(__builtins__, name, print)).walk()).attributes["kernel"] is print


def test_inlined_range_written_by_hand() -> None:
    source = Source("a\nb\n", "x.py")
    inner = SourceRange(source, 2, 0, 2, 1, "g", SourceRange(source, 1, 0, 1, 1, "f"))
    graph = Graph("f", NONE, inner)
    program = Program("f", {"f": graph})
    assert program_difference(program, parse_program(print_program(program))) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text has no graph"),
        ("graph @f() -> int:\n  return(%x)\n", "line 2: %x is not defined"),
        ("graph @f() -> int:\n  %x: int = 1\n  %x: int = 2\n  return(%x)\n", "line 3: %x is defined twice"),
        ("graph @f() -> Foo:\n  return()\n", "line 1: unknown type Foo"),
        ("graph @f() -> int:\n  exit @L1()\n", "line 2: exit needs the label of a node around it, not @L1"),
        ("graph @f() -> int:\n  %x int = 1\n", "unexpected 'int' (line 2, column 6)"),
        ("graph @f() -> int:\n  %x: int = py::add(\n", "unexpected end of"),
        ("graph @f() -> int:\n  return() at $0:1:2-3\n", "line 2: the scope $0 or its source is not defined"),
        ("graph @f() -> int:\n  return()\ngraph @f() -> int:\n  return()\n", "line 3: the function f is defined twice"),
        ("entry @g\ngraph @f() -> int:\n  return()\n", "the entry g is not defined"),
        ("graph @f() -> int:\n  %x: str = \"\\q\"\n", "unknown escape"),
        ("graph @f() -> int:\n  %x: dtype = dtype.float9\n", "unknown dtype float9"),
        ("graph @f() -> int:\n    return()\n  return()\n", "cannot read IR"),
        ("graph @f(%c: bool) -> int:\n  prim::If(%c):\n    else():\n      yield()\n", "line 3: expected the block then, found else"),
        (
            "graph @f(%c: bool) -> int:\n  prim::If(%c):\n    then():\n      %x: int = 1\n      yield()\n    else():\n      yield()\n  return(%x)\n",
            "line 8: %x is defined in a block that this place is not inside",
        ),
        ("exception app.E(nosuch)\ngraph @f() -> int:\n  return()\n", "line 1: nosuch is no exception class"),
        ("exception app.E(int)\ngraph @f() -> int:\n  return()\n", "line 1: int is no exception class"),
        ('source !0 = "a" line 1 indent 0\nscope $0 = !0 "f" called at $0:1:0-1\ngraph @f() -> int at $0:1:0-1:\n  return()\n', "is called from itself"),
    ],
)  # fmt: skip
def test_refused(text: str, message: str) -> None:
    with pytest.raises(IRError) as caught:
        parse_program(text)
    assert message in str(caught.value)


def test_the_line_is_shown() -> None:
    with pytest.raises(IRError) as caught:
        parse_program("graph @f() -> int:\n  %x: int = py::add(%a %b)\n")
    assert str(caught.value) == "cannot read IR: unexpected '%b' (line 2, column 24)\n    %x: int = py::add(%a %b)\n                         ^"


def test_importing_the_reader_does_not_import_lark() -> None:
    code = "import sys, jitlang.ir.reader, jitlang.ir.printer, jitlang.grammar.schema; sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_lists_keep_their_types() -> None:
    kind = ClassType("a.b.<locals>.C", {"x": ListType(INT)})
    graph = Graph("f", kind)
    graph.block.append(Node("prim::New", types=[kind], cls=kind.name))
    program = Program("f", {"f": graph}, {kind.name: kind})
    again = parse_program(print_program(program))
    assert program_difference(program, again) is None
    assert again.main.result is again.classes[kind.name]


def test_attributes_that_are_no_identifiers() -> None:
    layers = ClassType("net.Layers", {"0": INT, "a b": STR, "class": INT}, is_module=True)
    graph = Graph("f", INT)
    graph.block.add_param(layers, "self")
    graph.block.append(Node("prim::GetAttr", graph.params, [INT], name="0"))
    graph.block.append(Node("prim::return", graph.block.nodes[0].outputs))
    program = Program("f", {"f": graph}, {layers.name: layers})
    text = print_program(program)
    assert '  "0": int' in text
    again = parse_program(text)
    assert list(again.classes["net.Layers"].attributes) == ["0", "a b", "class"]
    assert print_program(again) == text
