"""Program → text, the form that `jitlang.ir.reader` reads back and people write in tests.

In: a `Program` or a `Graph`, also a broken one (the verifier shows it). Out: text, complete: reading it gives an equal
program (`jitlang.ir.equal`), with types, constants, defaults, source ranges, function names and inlined callers.

```
entry @main                                     # the first function, where there is no such line
exception app.TooLarge(ValueError)              # an exception class of the user's
class Point:                                    # `class Net module:`, `class Color enum:`, `struct Pair:`
  x: int
  y?: Optional[int]                             # an object may lack it
graph @main(%a: int, %b: float = 1.0) -> float with [pure=True] at $0:1:0-9:20:
  %1: float = py::float(%a) at $0:2:8-16        # scope 0, line 2, columns 8 to 16 (counted from 0)
  %k: int = 3                                   # short for prim::Constant[value=3]()
  %x: float, %i: int = prim::While(%1, %k) @L1: # a label, for `exit` and `next`
    body(%x0: float, %i0: int):
      %c: bool = py::lt(%i0, %a)
      prim::If(%c):
        then():
          yield()
        else():
          exit @L1(%x0, %i0)
      yield(%x0, %i0)
  return(%x)
source !0 = "report.py" line 1 indent 0:        # the file's text; may be left out
  "def main(a, b=1.0):"
scope $0 = !0 "main"                            # file and function
scope $1 = !0 "helper" called at $0:3:4-14      # inlined there
```

A name behind ``%`` is any word; one of digits only is no name; a suffix ``.1`` tells equal names apart and is dropped
when the text is read. Attribute values are numbers, strings, True, False, None, ``type(List[int])``,
``dtype.float32`` and tuples; for anything else the caller gives a hook that names it: ``&"name"``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from jitlang.errors import IRError
from jitlang.grammar.literals import write_float, write_string
from jitlang.ir.graph import Block, Graph, Node, Program, Value
from jitlang.source import Source, SourceRange
from jitlang.types import ClassType, DType, Pointer, StructType, Type

Hook = Callable[[Any], str | None]
_SYMBOL = re.compile(r"[\w.<>$/-]+")
_ATTRIBUTE = re.compile(r"(?!\d)\w+")
_SUFFIX = re.compile(r"\.\d+$")


def print_program(program: Program, *, ranges: bool = True, texts: bool = True, hook: Hook | None = None) -> str:
    """The text of a program.

    Args:
        ranges: whether source ranges are printed.
        texts: whether the text of the sources is, too.
        hook: names an attribute value that has no literal; None where it does not know it either.

    Raises IRError for an attribute value that cannot be written.
    """
    table = _Places(ranges)
    parts = [f"entry {_symbol(program.entry)}"]
    parts += _declarations(program, hook)
    for graph in program.functions.values():
        parts += _Printer(graph, table, hook).lines()
    return "\n".join(parts + table.lines(texts)) + "\n"


def print_graph(graph: Graph, *, ranges: bool = True, texts: bool = True, hook: Hook | None = None) -> str:
    """The text of one function, without the classes it uses; arguments and errors as for `print_program`."""
    table = _Places(ranges)
    return "\n".join([*_Printer(graph, table, hook).lines(), *table.lines(texts)]) + "\n"


def print_nodes(graph: Graph, marked: Node | None) -> list[tuple[bool, str]]:
    """The lines of the function without ranges, each with whether it is the first line of `marked`."""
    printer = _Printer(graph, _Places(False), repr)
    lines = printer.lines()
    at = printer.first_line.get(marked) if marked is not None else None
    return [(i == at, line) for i, line in enumerate(lines)]


def write_literal(value: Any, hook: Hook | None = None) -> str:
    """An attribute value as text. Raises IRError for one that has no literal and that `hook` does not name."""
    if value is None or value is True or value is False:
        return str(value)
    kind = type(value)
    if kind is int:
        return str(value)
    if kind is float:
        return write_float(value)
    if kind is str:
        return write_string(value)
    if kind is DType:
        return f"dtype.{value.name}"
    if kind is tuple:
        inner = [write_literal(v, hook) for v in value]
        return f"({inner[0]},)" if len(inner) == 1 else f"({', '.join(inner)})"
    if isinstance(value, Type):
        return f"type({value})"
    name = hook(value) if hook is not None else None
    if name is None:
        raise IRError(f"no IR literal for {value!r} of type {kind.__name__}")
    return f"&{write_string(name)}"


def exceptions_of(program: Program) -> dict[str, type[BaseException]]:
    """The user's exception classes in the program's table, each behind the one that it derives from."""
    found = {name: cls for name, cls in program.classes.items() if isinstance(cls, type) and issubclass(cls, BaseException)}
    return dict(sorted(found.items(), key=lambda item: len(item[1].__mro__)))


def base_of(cls: type[BaseException], program: Program) -> str:
    """The name of the nearest base class that is builtin or in the program's table."""
    known = {other: name for name, other in exceptions_of(program).items()}
    for base in cls.__mro__[1:]:
        if base in known:
            return known[base]
        if base.__module__ == "builtins":
            return base.__name__
    return "Exception"


def named_types(program: Program) -> list[ClassType | StructType]:
    """The classes and structs that the program uses, its own table first."""
    found: dict[int, ClassType | StructType] = {}
    pending: list[Any] = [*program.classes.values()]
    for graph in program.functions.values():
        pending += _types_in(graph)
    pending.reverse()
    while pending:
        kind = pending.pop()
        if isinstance(kind, ClassType | StructType):
            if id(kind) not in found:
                found[id(kind)] = kind
                pending += (kind.attributes if isinstance(kind, ClassType) else kind.fields).values()
        elif isinstance(kind, Pointer):
            pending.append(kind.element)
        elif isinstance(kind, Type | tuple):
            pending += kind.children() if isinstance(kind, Type) else kind
    return list(found.values())


def _types_in(graph: Graph) -> Iterator[Any]:
    yield graph.result
    yield from (p.type for p in graph.params)
    yield from graph.attributes.values()
    for node in graph.walk():
        yield from (o.type for o in node.outputs)
        yield from node.attributes.values()
        for block in node.blocks:
            yield from (p.type for p in block.params)


def _declarations(program: Program, hook: Hook | None) -> list[str]:
    lines = [f"exception {name}({base_of(cls, program)})" for name, cls in exceptions_of(program).items()]
    for kind in named_types(program):
        if isinstance(kind, StructType):
            members = [f"  {name}: {inner}" for name, inner in kind.fields.items()]
            head = f"struct {kind.name}"
        else:
            members = [f"  {_member(name)}{'?' * (name in kind.missing)}: {inner}" for name, inner in kind.attributes.items()]
            members += [f"  {_member(name)} = {write_literal(value, hook)}" for name, value in written_values(kind).items()]
            head = f"class {kind.name}{' module' * kind.is_module}{' enum' * kind.is_enum}"
        lines += [head + ":" * bool(members), *members]
    return lines


def written_values(kind: ClassType) -> Mapping[str, Any]:
    """The members of an enumeration. What a module holds beside its attributes (functions, say) is known to the frontend only."""
    return kind.values if kind.is_enum else {}


def _member(name: str) -> str:
    """An attribute's name; in quotes where it is no identifier (the parts of a module list are called 0, 1, …)."""
    return name if name.isidentifier() and name.isascii() else write_string(name)


def _symbol(name: str) -> str:
    return f"@{name}" if _SYMBOL.fullmatch(name) else f"@{write_string(name)}"


class _Places:
    """The tables of sources and scopes, filled while nodes are printed."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self.sources: dict[int, tuple[int, Source]] = {}
        self.scopes: dict[tuple[int, str, SourceRange | None], tuple[int, str]] = {}

    def suffix(self, where: SourceRange | None) -> str:
        return f" {self._place(where)}" if where is not None and self.enabled else ""

    def _place(self, where: SourceRange) -> str:
        key = (id(where.source), where.function, where.caller)
        if key not in self.scopes:
            source = self.sources.setdefault(id(where.source), (len(self.sources), where.source))[0]
            called = f" called {self._place(where.caller)}" if where.caller is not None else ""
            self.scopes[key] = (len(self.scopes), f"!{source} {write_string(where.function)}{called}")
        end = f"{where.end_line}:" if where.end_line != where.line else ""
        return f"at ${self.scopes[key][0]}:{where.line}:{where.col}-{end}{where.end_col}"

    def lines(self, texts: bool) -> list[str]:
        found: list[str] = []
        for number, source in self.sources.values():
            head = f"source !{number} = {write_string(source.filename)} line {source.first_line} indent {source.indent}"
            found += [head + ":", *(f"  {write_string(line)}" for line in source.text.split("\n"))] if texts else [head]
        return found + [f"scope ${number} = {text}" for number, text in self.scopes.values()]


class _Printer:
    """One function."""

    def __init__(self, graph: Graph, places: _Places, hook: Hook | None) -> None:
        self.graph = graph
        self.places = places
        self.hook = hook
        self.out: list[str] = []
        self.first_line: dict[Node, int] = {}
        self.names: dict[Value, str] = {}
        self.taken: set[str] = set()
        self.suffixes: dict[str, int] = {}
        self.unnamed = 0
        targets = {n.target for n in graph.walk() if n.target is not None}
        self.labels: dict[Node, str] = {}
        for node in graph.walk():
            if node in targets:
                self.labels[node] = f"L{len(self.labels) + 1}"

    def lines(self) -> list[str]:
        graph = self.graph
        params = ", ".join(self._param(p) for p in graph.params)
        extra = f" with {self._attributes(graph.attributes)}" if graph.attributes else ""
        self.out.append(f"graph {_symbol(graph.name)}({params}) -> {graph.result}{extra}{self.places.suffix(graph.range)}:")
        self._nodes(graph.block, "  ")
        return self.out

    def _param(self, value: Value) -> str:
        text = self._define(value)
        if value.name in self.graph.defaults:
            text += f" = {write_literal(self.graph.defaults[value.name], self.hook)}"
        return text

    def _nodes(self, block: Block, indent: str) -> None:
        for node in block.nodes:
            self._node(node, indent)

    def _node(self, node: Node, indent: str) -> None:
        self.first_line[node] = len(self.out)
        if node.is_terminator and node.kind.startswith("prim::"):
            self.out.append(indent + self._terminator(node))
            return
        inputs = self._uses(node.inputs)
        outputs = ", ".join([self._define(o) for o in node.outputs])
        if node.kind == "prim::Constant" and node.attributes.keys() == {"value"} and not node.inputs:
            operation = write_literal(node.attributes["value"], self.hook)
        else:
            operation = f"{node.kind}{self._attributes(node.attributes)}({inputs})"
        label = f" @{self.labels[node]}" if node in self.labels else ""
        text = f"{indent}{outputs + ' = ' if outputs else ''}{operation}{label}{self.places.suffix(node.range)}"
        self.out.append(text + ":" if node.blocks else text)
        for name, block in zip(_block_names(node), node.blocks, strict=True):
            params = ", ".join([self._define(p) for p in block.params])
            self.out.append(f"{indent}  {name}({params}):")
            self._nodes(block, indent + "    ")

    def _terminator(self, node: Node) -> str:
        name = node.kind.partition("::")[2]
        target = f" @{self.labels.get(node.target, '?')}" if node.target is not None else ""
        return f"{name}{self._attributes(node.attributes)}{target}({self._uses(node.inputs)}){self.places.suffix(node.range)}"

    def _attributes(self, attributes: dict[str, Any]) -> str:
        if not attributes:
            return ""
        for name in attributes:
            if not _ATTRIBUTE.fullmatch(name):
                raise IRError(f"{name!r} is no name of an attribute")
        return f"[{', '.join([f'{k}={write_literal(v, self.hook)}' for k, v in attributes.items()])}]"

    def _uses(self, values: Iterable[Value]) -> str:
        return ", ".join([f"%{self.names[v] if v in self.names else self._undefined(v)}" for v in values])

    def _undefined(self, value: Value) -> str:
        # Only a broken graph reads what is not defined yet.
        return f"{re.sub(r'[^0-9A-Za-z_]', '_', value.name) or 'unnamed'}.undefined"

    def _define(self, value: Value) -> str:
        base = _SUFFIX.sub("", value.name)
        if not base or base.isdigit():
            name = self._fresh_number()
        else:
            base = re.sub(r"[^\w.]", "_", base)
            name = base
            while name in self.taken:
                self.suffixes[base] = self.suffixes.get(base, 0) + 1
                name = f"{base}.{self.suffixes[base]}"
        self.taken.add(name)
        self.names[value] = name
        return f"%{name}: {value.type}"

    def _fresh_number(self) -> str:
        self.unnamed += 1
        return str(self.unnamed)


def _block_names(node: Node) -> list[str]:
    if node.kind == "prim::If" and len(node.blocks) == 2:
        return ["then", "else"]
    return ["body"] * len(node.blocks)
