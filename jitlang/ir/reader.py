"""Text → program: builds the `Program` of the syntax tree that `jitlang.grammar.ir` makes.

In: the form that `jitlang.ir.printer` describes. Out: a `Program` whose names, labels and types are resolved; whether
it keeps the invariants of the IR is the verifier's business. Raises IRError with the line of the text.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Mapping
from typing import Any

from jitlang.errors import IRError
from jitlang.grammar.ir import BlockTree, ClassTree, Definition, ExceptionTree, GraphTree, Literal, NodeTree, Place, ProgramTree, parse_ir
from jitlang.grammar.types import TypeTree, build_type
from jitlang.ir.graph import Block, Graph, Node, Program, Value
from jitlang.source import Source, SourceRange
from jitlang.types import ClassType, StructType, Type

_SUFFIX = re.compile(r"\.\d+$")
_TARGETED = {"prim::exit", "prim::next"}


def parse_program(
    text: str,
    *,
    classes: Mapping[str, Type] | None = None,
    texts: Mapping[str, str] | None = None,
    references: Callable[[str], Any] | None = None,
) -> Program:
    """The program that `text` says.

    Args:
        classes: classes and structs that the text uses without declaring them.
        texts: texts of sources, by file name, for those whose text is not in `text`.
        references: the value of ``&"name"``; without it such a value is refused.

    Raises IRError, with line and column or the line, for text that is no program.
    """
    return _Reader(parse_ir(text), classes or {}, texts or {}, references).program()


def parse_graph(text: str, *, classes: Mapping[str, Type] | None = None, references: Callable[[str], Any] | None = None) -> Graph:
    """The only function of `text`; arguments and errors as for `parse_program`."""
    program = parse_program(text, classes=classes, references=references)
    if len(program.functions) != 1:
        raise IRError(f"expected one graph, found {len(program.functions)}")
    return program.main


def _exception(tree: ExceptionTree, declared: dict[str, Any]) -> type[BaseException]:
    """A new exception class: nothing is imported by name."""
    base = declared.get(tree.base) or vars(builtins).get(tree.base)
    if not isinstance(base, type) or not issubclass(base, BaseException):
        raise IRError(f"line {tree.line}: {tree.base} is no exception class")
    module, _, name = tree.name.rpartition(".")
    return type(name, (base,), {"__module__": module or "__main__"})


class _Names:
    """The values that can be read at the place that is being built; a name stands for one value in a whole function."""

    def __init__(self) -> None:
        self.visible: dict[str, Value] = {}
        self.taken: set[str] = set()
        self.order: list[str] = []

    def define(self, name: str, value: Value) -> bool:
        """Whether the name was free; it stands for `value` then."""
        if name in self.taken:
            return False
        self.taken.add(name)
        self.order.append(name)
        self.visible[name] = value
        return True

    def leave(self, mark: int) -> None:
        """Ends a block: what was defined since `order` was `mark` long is no longer seen."""
        for name in self.order[mark:]:
            del self.visible[name]
        del self.order[mark:]

    def use(self, name: str, line: int) -> Value:
        """The value of a name that can be read here; IRError otherwise."""
        if name in self.visible:
            return self.visible[name]
        reason = "is defined in a block that this place is not inside" if name in self.taken else "is not defined"
        raise IRError(f"line {line}: %{name} {reason}")


class _Reader:
    def __init__(self, tree: ProgramTree, classes: Mapping[str, Type], texts: Mapping[str, str], references: Callable[[str], Any] | None) -> None:
        self.tree = tree
        self.classes: dict[str, Type] = dict(classes)
        self.texts = texts
        self.references = references
        self.types: dict[TypeTree, Type] = {}
        self.sources: dict[int, Source] = {}
        self.places: dict[Place, SourceRange] = {}
        self.scopes = {s.number: s for s in tree.scopes}

    def program(self) -> Program:
        tree = self.tree
        if not tree.graphs:
            raise IRError("the text has no graph")
        for source in tree.sources:
            text = source.text if source.text is not None else self.texts.get(source.filename, "")
            self.sources[source.number] = Source(text, source.filename, source.first_line, source.indent)
        declared = self._declare()
        program = Program(tree.entry if tree.entry is not None else tree.graphs[0].name, classes=declared)
        for graph in tree.graphs:
            if graph.name in program.functions:
                raise IRError(f"line {graph.line}: the function {graph.name} is defined twice")
            program.functions[graph.name] = self._graph(graph)
        if program.entry not in program.functions:
            raise IRError(f"the entry {program.entry} is not defined")
        return program

    # -- names of types, places, literals

    def _declare(self) -> dict[str, Any]:
        declared: dict[str, Any] = {}
        for exception in self.tree.exceptions:
            if exception.name in declared:
                raise IRError(f"line {exception.line}: the class {exception.name} is defined twice")
            declared[exception.name] = _exception(exception, declared)
        for tree in self.tree.classes:
            if tree.name in declared:
                raise IRError(f"line {tree.line}: the class {tree.name} is defined twice")
            kind: Type = (
                StructType(tree.name) if "struct" in tree.flags else ClassType(tree.name, is_module="module" in tree.flags, is_enum="enum" in tree.flags)
            )
            declared[tree.name] = self.classes[tree.name] = kind
        for tree in self.tree.classes:
            self._fill(tree, declared[tree.name])
        return declared

    def _fill(self, tree: ClassTree, kind: Any) -> None:
        members = {name: self._type(inner, tree.line) for name, inner in tree.members}
        if len(members) < len(tree.members):
            raise IRError(f"line {tree.line}: a member of {tree.name} is defined twice")
        if isinstance(kind, StructType):
            kind.fields.update(members)
        else:
            kind.attributes.update(members)
            kind.missing.update(tree.missing)
            kind.values = {name: self._literal(value, tree.line) for name, value in tree.values.items()}

    def _type(self, tree: TypeTree, line: int) -> Type:
        found = self.types.get(tree)
        if found is None:
            try:
                found = self.types[tree] = build_type(tree, self.classes)
            except IRError as error:
                raise IRError(f"line {line}: {error}") from None
        return found

    def _literal(self, value: Any, line: int) -> Any:
        if not isinstance(value, Literal):
            return value
        if value.kind == "type":
            return self._type(value.value, line)
        if value.kind == "tuple":
            return tuple(self._literal(v, line) for v in value.value)
        if self.references is None:
            raise IRError(f"line {line}: the reference {value.value!r} is not allowed here")
        return self.references(value.value)

    def _attributes(self, attributes: dict[str, Any], line: int) -> dict[str, Any]:
        return {name: self._literal(value, line) for name, value in attributes.items()}

    def _range(self, place: Place | None, line: int, depth: int = 0) -> SourceRange | None:
        if place is None:
            return None
        found = self.places.get(place)
        if found is None:
            scope = self.scopes.get(place.scope)
            if scope is None or scope.source not in self.sources:
                raise IRError(f"line {line}: the scope ${place.scope} or its source is not defined")
            if depth > len(self.scopes):
                raise IRError(f"line {line}: the scope ${place.scope} is called from itself")
            caller = self._range(scope.caller, line, depth + 1)
            found = SourceRange(self.sources[scope.source], place.line, place.col, place.end_line, place.end_col, scope.function, caller)
            self.places[place] = found
        return found

    # -- graphs

    def _graph(self, tree: GraphTree) -> Graph:
        graph = Graph(tree.name, self._type(tree.result, tree.line), self._range(tree.place, tree.line))
        graph.attributes = self._attributes(tree.attributes, tree.line)
        names = _Names()
        for param in tree.params:
            value = self._define(param, names, graph.block.add_param(self._type(param.type, param.line)))
            if param.default is not None:
                graph.defaults[value.name] = self._literal(param.default[0], param.line)
        self._nodes(tree.nodes, graph.block, names, {})
        return graph

    def _define(self, definition: Definition, names: _Names, value: Value) -> Value:
        if not names.define(definition.name, value):
            raise IRError(f"line {definition.line}: %{definition.name} is defined twice")
        base = _SUFFIX.sub("", definition.name)
        value.name = "" if base.isdigit() else base
        return value

    def _nodes(self, trees: list[NodeTree], block: Block, names: _Names, labels: dict[str, Node]) -> None:
        for tree in trees:
            self._node(tree, block, names, labels)

    def _node(self, tree: NodeTree, block: Block, names: _Names, labels: dict[str, Node]) -> None:
        line = tree.line or tree.outputs[0].line
        node = Node(tree.kind, [names.use(name, line) for name in tree.inputs], where=self._range(tree.place, line))
        node.attributes = self._attributes(tree.attributes, line)
        block.append(node)
        if tree.kind in _TARGETED:
            node.target = self._target(tree, labels, line)
        inner = labels if tree.label is None or tree.kind in _TARGETED else {**labels, tree.label: node}
        for body in tree.blocks:
            self._block(node, body, names, inner)
        for output in tree.outputs:
            self._define(output, names, node.add_output(self._type(output.type, output.line)))

    def _block(self, node: Node, tree: BlockTree, names: _Names, labels: dict[str, Node]) -> None:
        expected = ("then", "else")[len(node.blocks) % 2] if node.kind == "prim::If" else "body"
        if tree.name != expected:
            raise IRError(f"line {tree.line}: expected the block {expected}, found {tree.name}")
        block = node.add_block()
        mark = len(names.order)
        for param in tree.params:
            self._define(param, names, block.add_param(self._type(param.type, param.line)))
        self._nodes(tree.nodes, block, names, labels)
        names.leave(mark)

    def _target(self, tree: NodeTree, labels: dict[str, Node], line: int) -> Node:
        if tree.label is None or tree.label not in labels:
            raise IRError(f"line {line}: {tree.kind.partition('::')[2]} needs the label of a node around it" + (f", not @{tree.label}" if tree.label else ""))
        return labels[tree.label]
