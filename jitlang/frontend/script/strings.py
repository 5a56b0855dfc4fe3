"""Text of values: f-strings, ``str``, ``repr``, ``format``, ``str.format``, ``print``.

In: ``ast.JoinedStr`` and values. Out: concatenations of ``py::str``, ``py::repr`` and ``py::format``.
"""

from __future__ import annotations

import ast
import string

from jitlang.errors import ScriptValueError
from jitlang.frontend.emitter import Result, Static
from jitlang.frontend.script.comprehensions import Comprehensions
from jitlang.frontend.script.statics import Parts, RangeValue
from jitlang.frontend.script.words import describe
from jitlang.ir.graph import Value
from jitlang.types import INT, STR, ClassType, DictType, ListType, OptionalType, TupleType, Type


class Strings(Comprehensions):
    """Text."""

    def joined_string(self, node: ast.JoinedStr) -> Value:
        """An f-string."""
        parts: list[Value] = []
        for piece in node.values:
            if isinstance(piece, ast.Constant):
                parts.append(self.constant(piece.value))
            elif isinstance(piece, ast.FormattedValue):
                parts.append(self.formatted(piece))
        return self.concatenate(parts)

    def concatenate(self, parts: list[Value]) -> Value:
        """The parts in a row; two as a sum, more by one join."""
        if not parts:
            return self.constant("")
        if len(parts) == 1:
            return parts[0]
        if len(parts) == 2:
            return self.op("py::add", *parts)
        return self.op("py::join", self.constant(""), self.list_of(parts))

    def formatted(self, node: ast.FormattedValue) -> Value:
        """``{value!conversion:spec}``."""
        conversion = chr(node.conversion) if node.conversion != -1 else ""

        def text(value: Result) -> Value:
            spec = self.joined_string(node.format_spec) if isinstance(node.format_spec, ast.JoinedStr) else None
            return self.format_value(value, conversion, spec)

        with self.at(node.value):
            if isinstance(node.value, ast.IfExp):  # the sides may have different types: each becomes text
                return self.value(self.ternary(node.value, text), "the text")
            return text(self.expr(node.value))

    def format_value(self, value: Result, conversion: str, spec: Value | None) -> Value:
        """A value by a conversion (r, s, a or none) and a specification."""
        if conversion:
            text = self.op("py::ascii", self.value(value, "the value")) if conversion == "a" else self.text(value, {"r": "repr", "s": "str"}[conversion])
            return text if spec is None else self.op("py::format", text, spec)
        if spec is None or (spec.is_constant and spec.constant == ""):
            return self.text(value, "str")
        held = self.value(value, "the value")
        if isinstance(held.type, ClassType):
            if self.find_method(held.type, "__format__") is not None:
                return self.value(self.call_method(held, "__format__", [spec], {}), "the text")
            return self.op("py::format", self.text_of(held, "str"), spec)
        return self.op("py::format", held, spec)

    def text(self, value: Result, how: str) -> Value:
        """str(value) or repr(value) of anything."""
        if isinstance(value, Static) and not self.is_run_time(value):
            return self.constant(str(value.value) if how == "str" else repr(value.value))
        return self.text_of(self.value(value, "the value"), how)

    def is_run_time(self, value: Static) -> bool:
        """Whether a Static stands for a value made at run time."""
        return isinstance(value.value, Parts | RangeValue | tuple | list | dict)

    def text_of(self, value: Value, how: str) -> Value:
        """str(value) or repr(value)."""
        type = value.type
        if type == STR and how == "str":
            return value
        if value in self.shapes:
            return self.shape_text(value)
        if isinstance(type, ClassType):
            return self.object_text(value, type, how)
        if isinstance(type, OptionalType) and has_objects(type):
            inner = type.element
            return self.choose(
                self.op("py::is_none", value), lambda: self.constant("None"), lambda: self.text_of(self.emit("prim::Unwrap", (value,), (inner,)).output, how)
            )
        if isinstance(type, TupleType) and (has_objects(type) or type.name):
            return self.tuple_text(value, type)
        if isinstance(type, ListType) and has_objects(type):
            items = self.empty_list()
            self.for_each(self.iterate_value(value, "the list"), lambda i: self.append(items, self.text(i, "repr")), [])
            return self.concatenate([self.constant("["), self.op("py::join", self.constant(", "), items), self.constant("]")])
        if isinstance(type, DictType) and has_objects(type):
            self.type_error("the text of a dict that holds objects of script classes is not supported", hint="build it in a loop")
        return self.op(f"py::{how}", value)

    def object_text(self, value: Value, type: ClassType, how: str) -> Value:
        """By ``__str__`` or ``__repr__``."""
        for name in ("__str__", "__repr__") if how == "str" else ("__repr__",):
            if self.find_method(type, name) is not None:
                return self.value(self.call_method(value, name, [], {}), "the text")
        return self.op(f"py::{how}", value)

    def shape_text(self, value: Value) -> Value:
        """``jitlang.Size([2, 3])``."""
        sizes = self.as_list(value)
        return self.concatenate([self.constant("jitlang.Size("), self.op("py::str", sizes), self.constant(")")])

    def tuple_text(self, value: Value, type: TupleType) -> Value:
        """``(a, b)``, or ``Name(x=a, y=b)``."""
        parts = [self.constant(f"{type.name.rpartition('.')[2]}(" if type.name else "(")]
        for at in range(len(type.elements)):
            head = (", " if at else "") + (f"{type.fields[at]}=" if type.name else "")
            if head:
                parts.append(self.constant(head))
            parts.append(self.text_of(self.part(value, at), "repr"))
        parts.append(self.constant(",)" if len(type.elements) == 1 and not type.name else ")"))
        return self.concatenate(parts)

    def str_format(self, pattern: Value, positional: list[Result], keywords: dict[str, Result]) -> Value:
        """``pattern.format(…)``."""
        if not pattern.is_constant:
            if keywords:
                self.type_error("format() of a text that is not constant takes no keyword arguments in a script")
            return self.op("py::format_text", pattern, self.tuple_of([self.value(p, "an argument") for p in positional]))
        parts: list[Value] = []
        automatic = 0
        try:
            pieces = list(string.Formatter().parse(pattern.constant))
        except ValueError as error:
            self.fail(ScriptValueError, str(error))
        for literal, field, spec, conversion in pieces:
            if literal:
                parts.append(self.constant(literal))
            if field is None:
                continue
            if field == "" or field[0] in ".[":
                field, automatic = f"{automatic}{field}", automatic + 1
            value = self.format_field(field, positional, keywords)
            written = self.str_format(self.constant(spec), positional, keywords) if spec and "{" in spec else self.constant(spec or "")
            parts.append(self.format_value(value, conversion or "", written))
        return self.concatenate(parts)

    def translation_table(self, positional: list[Result]) -> Value:
        """``str.maketrans(before, after)``."""
        if len(positional) != 2:
            self.type_error("str.maketrans() takes two texts of one length in a script", hint="write a dict of code points")
        before, after = (self.value(p, "the text") for p in positional)
        same = self.op("py::eq", self.op("py::len", before), self.op("py::len", after))
        uneven = "the first two maketrans arguments must have equal length"
        self.when(self.op("py::not", same), lambda: self.raise_error("ValueError", uneven))
        made = self.dict_of([])

        def add(params: list[Value]) -> None:
            self.op("py::setitem", made, self.op("py::ord", self.op("py::getitem", before, params[0])), self.op("py::getitem", after, params[0]))

        self.loop("prim::For", (self.constant(0), self.op("py::len", before), self.constant(1)), (INT,), [], add)
        return made

    def format_map(self, pattern: Value, mapping: Value) -> Value:
        """``pattern.format_map(mapping)``: the names in the pattern are keys."""
        fields = [field for _, field, _, _ in string.Formatter().parse(pattern.constant) if field]
        names = dict.fromkeys(f.split(".")[0].split("[")[0] for f in fields)
        return self.str_format(pattern, [], {n: self.get_item(mapping, self.constant(n)) for n in names})

    def format_field(self, field: str, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """The argument that a replacement field of ``str.format`` names."""
        first, rest = string.Formatter().parse, field
        del first
        head = rest.split(".")[0].split("[")[0]
        tree = ast.parse(f"_{rest[len(head) :]}", mode="eval").body if len(head) < len(rest) else None
        if head.isdigit():
            if int(head) >= len(positional):
                self.fail(ScriptValueError, f"the text has a field {head}, but format() gets {len(positional)} arguments")
            value = positional[int(head)]
        elif head in keywords:
            value = keywords[head]
        else:
            self.fail(ScriptValueError, f"format() gets no argument '{head}'")
        return self.format_access(tree, value) if tree is not None else value

    def format_access(self, tree: ast.expr, value: Result) -> Result:
        """``{0.name[1]}``."""
        if isinstance(tree, ast.Attribute):
            return self.attribute(self.format_access(tree.value, value), tree.attr)
        if isinstance(tree, ast.Subscript):
            key = tree.slice.value if isinstance(tree.slice, ast.Constant) else describe(tree.slice).strip("'")
            return self.get_item(self.format_access(tree.value, value), self.constant(key))
        return value

    def print_values(self, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """``print(a, b, sep=…, end=…)``."""
        unknown = keywords.keys() - {"sep", "end", "flush"}
        if unknown:
            self.type_error(f"print() takes no '{sorted(unknown)[0]}' in a script")
        sep = self.optional_text(keywords.get("sep"), " ")
        end = self.optional_text(keywords.get("end"), "\n")
        parts: list[Value] = []
        for at, value in enumerate(positional):
            if at and not (sep.is_constant and sep.constant == ""):
                parts.append(sep)
            parts.append(self.text(value, "str"))
        parts.append(end)
        self.op("py::print", self.concatenate(parts))
        if "flush" in keywords:
            self.op("py::flush")
        return self.none()

    def optional_text(self, value: Result | None, default: str) -> Value:
        """A keyword argument of print."""
        if value is None:
            return self.constant(default)
        held = self.value(value, "the argument")
        return self.constant(default) if str(held.type) == "None" else held


def has_objects(type: Type) -> bool:
    """Whether values of `type` hold objects of script classes or NamedTuples."""
    return any(isinstance(t, ClassType) or (isinstance(t, TupleType) and t.name) for t in type.walk())
