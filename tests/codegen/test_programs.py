"""Whole programs in native code and in the interpreter: loops over containers, objects, ownership along every way out."""

from jitlang.codegen.library import memory
from jitlang.frontend.script import compile_function
from jitlang.types import INT
from tests.codegen.rowcheck import check, compile_native

LINKED = """
class Node:
  value: int
  next: Optional[Node]
  items: List[int]
graph @f(%n: int) -> int:
  %0: int = 0
  %1: int = 1
  %none: Optional[Node] = None
  %list: Optional[Node] = prim::For(%0, %n, %1, %none):
    body(%i: int, %head: Optional[Node]):
      %x: Node = prim::New[cls="Node"]()
      prim::SetAttr[name="value"](%x, %i)
      prim::SetAttr[name="next"](%x, %head)
      %e: List[int] = prim::List(%i, %i)
      prim::SetAttr[name="items"](%x, %e)
      %some: Optional[Node] = prim::Some(%x)
      yield(%some)
  %total: int = prim::While(%list, %0) @L:
    body(%at: Optional[Node], %sum: int):
      %end: bool = py::is_none(%at)
      prim::If(%end):
        then():
          exit @L(%sum)
        else():
          yield()
      %node: Node = prim::Unwrap(%at)
      %v: int = prim::GetAttr[name="value"](%node)
      %items: List[int] = prim::GetAttr[name="items"](%node)
      %w: int = py::getitem(%items, %1)
      %s1: int = py::add(%sum, %v)
      %s2: int = py::add(%s1, %w)
      %next: Optional[Node] = prim::GetAttr[name="next"](%node)
      yield(%next, %s2)
  return(%total)
"""

SEARCH = """
graph @f(%words: List[str], %limit: int) -> str:
  %0: int = 0
  %1: int = 1
  %empty: str = ""
  %n: int = py::len(%words)
  %text: str = prim::For(%0, %n, %1, %empty) @L:
    body(%i: int, %s: str):
      %w: str = py::getitem(%words, %i)
      %t: str = py::add(%s, %w)
      %size: int = py::len(%t)
      %long: bool = py::gt(%size, %limit)
      prim::If(%long):
        then():
          exit @L(%w)
        else():
          yield()
      %broken: bool = py::eq(%w, %empty)
      prim::If(%broken):
        then():
          raise[cls="ValueError"](%t)
        else():
          yield()
      yield(%t)
  return(%text)
"""

DEFERRED = """
graph @f(%items: List[int], %index: List[int], %known: Dict[str, int], %key: str) -> int:
  %0: int = 0
  %1: int = 1
  %n: int = py::len(%index)
  %total: int = prim::For(%0, %n, %1, %0):
    body(%i: int, %sum: int):
      %at: int = py::getitem(%index, %i)
      %v: int = py::getitem(%items, %at)
      %k: int = py::getitem(%known, %key)
      %p: int = py::mul(%v, %k)
      %s: int = py::add(%sum, %p)
      yield(%s)
  return(%total)
"""


def test_a_long_chain_of_objects_is_freed() -> None:
    check(LINKED, (5,), (0,), (300_000,))


class Tree:
    def __init__(self, value: int):
        self.value = value
        self.children: list[Tree] = []


def deep(n: int) -> int:
    root = Tree(0)
    at = root
    for i in range(n):
        child = Tree(i)
        at.children.append(child)
        at = child
    return at.value


def test_a_deep_tree_is_freed() -> None:
    native = compile_native(compile_function(deep, [INT]))
    memory.counted(True)
    assert native(300_000) == 299_999
    assert memory.counted(False) == 0


def test_ways_out_of_a_loop() -> None:
    assert [r[0] for r in check(SEARCH, (["ab", "cd"], 10), (["ab", "cd", "e"], 3), (["ab", ""], 10), ([], 1))] == ["str", "str", "ValueError", "str"]


def test_errors_in_a_loop_that_is_run_twice() -> None:
    items, known = [1, 2, 2**62], {"a": 2, "b": 1}
    got = check(DEFERRED, (items, [0, 1, -1], known, "b"), (items, [0, 9], known, "b"), (items, [0, 2], known, "a"), (items, [1, 1], known, "zz"))
    assert [r[0] for r in got] == ["int", "IndexError", "OverflowError", "KeyError"]
