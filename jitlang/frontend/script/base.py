"""What every part of the script dialect builds on: constants, operators, conversions, truth.

In: values and types. Out: nodes. The parts of the dialect form a chain of classes, each using those below it:
`ScriptBase`, operators, subscripts, tensors, classes, iteration, comprehensions, strings, builtins, calls, `ScriptEmitter`. What a lower
part needs of a higher one is declared here.
"""

from __future__ import annotations

import ast
import builtins
import enum
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from jitlang.errors import ScriptNameError, ScriptTypeError
from jitlang.frontend.annotations import general, is_named_tuple, is_tensor, join_containers, named_tuple_type
from jitlang.frontend.emitter import Left, Result, Static
from jitlang.frontend.loops import LoopEmitter
from jitlang.frontend.python_kinds import base_type, plain
from jitlang.frontend.script.functions import ForwardNameError, FunctionInfo
from jitlang.frontend.script.match import Match, constant_of, match
from jitlang.frontend.script.module_tables import may_change, table_of
from jitlang.frontend.script.statics import Parts, RangeValue, constant_type, show_static
from jitlang.frontend.script.words import describe, signature_text, suggestion
from jitlang.ir.graph import Block, Graph, Node, Value
from jitlang.registry import PURE, Operator, overloads
from jitlang.schema import MISSING
from jitlang.source import Source
from jitlang.types import (
    BOOL,
    DEVICE,
    DTYPE,
    FLOAT,
    INT,
    NEVER,
    NONE,
    SCALAR,
    STR,
    ClassType,
    DictType,
    DType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
    TypeVariable,
    is_subtype,
    join,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jitlang.frontend.script.unit import Unit

INT_MIN, INT_MAX = -(2**63), 2**63 - 1


class ScriptBase(LoopEmitter):
    """Constants, operators, conversions and truth."""

    def __init__(self, unit: Unit, graph: Graph, source: Source, function: str, lookup: Callable[[str], Any]) -> None:
        super().__init__(graph, source, function)
        self.unit = unit
        self.lookup = lookup
        self.temporaries = 0
        self.cells: dict[int, Value] = {}
        self.header = Block(graph)
        self.found_types: dict[Any, Type] = {}  # of empty displays, by place and kind: what an emission before this one found out
        self.read_early: set[Node] = set()  # displays of which an element was taken before its type was known: a later iteration may find one
        self.shapes: set[Value] = set()  # they print as shapes

    # ---- declared here, defined by the parts above ----------------------------------------------------------------

    def expr(self, node: ast.expr) -> Result:
        """Emits an expression."""
        raise NotImplementedError

    def call_static(self, function: Any, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """Calls a Python object known at compile time."""
        raise NotImplementedError

    def call_value(self, value: Result, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """Calls whatever `value` is."""
        raise NotImplementedError

    def call_method(self, value: Value, name: str, positional: list[Result], keywords: dict[str, Result]) -> Result:
        """Calls a method of a value."""
        raise NotImplementedError

    def find_method(self, type: ClassType, name: str) -> Any:
        """The Python function of a method of a script class, or None."""
        raise NotImplementedError

    def attribute(self, value: Result, name: str) -> Result:
        """``value.name``."""
        raise NotImplementedError

    def binary(self, symbol: str, a: Result, b: Result) -> Result:
        """``a symbol b``."""
        raise NotImplementedError

    def is_object(self, value: Any) -> bool:
        """Whether a Python object is one that has no run-time value (a function, a class, a module)."""
        raise NotImplementedError

    def text_of(self, value: Value, how: str) -> Value:
        """str(value) or repr(value)."""
        raise NotImplementedError

    # ---- small things -----------------------------------------------------------------------------------------------

    def fresh(self, hint: str) -> str:
        """A name for `env` that no script can use; such names survive merges."""
        self.temporaries += 1
        return f"${hint}{self.temporaries}"

    def type_error(self, message: str, *, note: str = "", hint: str = "") -> NoReturn:
        """Raises ScriptTypeError at the current place."""
        self.fail(ScriptTypeError, message, note=note, hint=hint)

    def constant(self, value: Any, type: Type | None = None) -> Value:
        """A constant node."""
        kind = type if type is not None else constant_type(value)
        if isinstance(value, int) and not isinstance(value, bool) and not INT_MIN <= value <= INT_MAX:
            self.fail(OverflowConstantError, f"the integer {value} does not fit in 64 bits", hint="a script's int has 64 bits; write it as a float")
        return self.emit("prim::Constant", (), (kind,), value=value).output

    def none(self) -> Value:
        """The constant None."""
        return self.constant(None, NONE)

    def run(self, node: ast.expr) -> Value:
        """An expression as a run-time value."""
        with self.at(node):
            return self.value(self.expr(node), describe(node))

    def entry(self, name: str, pop: bool = False) -> Value:
        """A temporary."""
        value = self.env.pop(name) if pop else self.env[name]
        assert isinstance(value, Value)
        return value

    @contextmanager
    def scoped(self, names: Sequence[str]) -> Iterator[None]:
        """Within the block, `names` may be rebound; afterwards they stand for what they stood for."""
        saved = {n: self.env.get(n) for n in names}
        try:
            yield
        finally:
            for name, entry in saved.items():
                if entry is None:
                    self.env.pop(name, None)
                else:
                    self.env[name] = entry

    def choose(self, cond: Value, then: Callable[[], Result], other: Callable[[], Result], names: Sequence[str] = ()) -> Value:
        """An If whose value is that of the branch taken; `names` are bound (by a walrus) in it."""
        result = self.fresh("value")

        def arm(emit: Callable[[], Result]) -> Callable[[], None]:
            def run() -> None:
                with suppress(Left):
                    self.env[result] = self.value(emit(), "the value")

            return run

        self.branch(cond, arm(then), arm(other), {result, *names}, frozenset(names))
        if self.block.terminated:
            raise Left
        value = self.env.pop(result)
        assert isinstance(value, Value)
        return value

    def when(self, cond: Value, then: Callable[[], None], names: Sequence[str] = ()) -> None:
        """An If without else and without value."""

        def run() -> None:
            with suppress(Left):
                then()

        self.branch(cond, run, lambda: None, set(names), frozenset(names))
        if self.block.terminated:
            raise Left

    def raise_error(self, cls: str, *args: str | Value) -> None:
        """Ends the block by raising a Python exception."""
        self.emit("prim::raise", [a if isinstance(a, Value) else self.constant(a) for a in args], cls=cls)

    # ---- operators --------------------------------------------------------------------------------------------------

    def op(self, kind: str, *args: Result, **keywords: Result) -> Value:
        """Applies the operator `kind` to these arguments; a compile error where no overload takes them."""
        found = self.try_op(kind, args, keywords)
        if found is None:
            given = ", ".join([str(self.value(a, "an argument").type) for a in args] + [f"{k}={self.value(v, k).type}" for k, v in keywords.items()])
            rows = overloads(kind)
            name = kind.split("::")[1]
            if not rows:
                self.type_error(f"there is no operator {kind}")
            shapes = [signature_text(r) for r in rows if r.schema.overload != "any"]
            self.type_error(f"{name}({given}) is not possible", hint="it takes " + "\n           or ".join(shapes[:6]))
        return found

    def try_op(self, kind: str, args: Sequence[Result], keywords: Mapping[str, Result] | None = None, rows: Sequence[Operator] | None = None) -> Value | None:
        """Applies `kind` if an overload takes the arguments; None otherwise."""
        values = [self.value(a, "an argument") for a in args]
        named = {k: self.value(v, f"'{k}'") for k, v in (keywords or {}).items()}
        found = match(overloads(kind) if rows is None else rows, values, named)
        return None if found is None else self.apply(found)

    def apply(self, found: Match) -> Value:
        """Emits the node of a match, converting its arguments."""
        row = found.row
        inputs: list[Value] = []
        for argument, value, type in zip(row.schema.arguments, found.values, found.types, strict=True):
            exact = any(isinstance(t, TypeVariable) for t in argument.type.walk())
            inputs.append(self.argument(value, type, argument.name, argument.broadcast, exact))
        folded = self.folded(row, inputs)
        if folded is not None:
            return folded
        types = self.result_types(row, inputs, found)
        attributes = {"overload": row.schema.overload} if row.schema.overload else {}
        node = self.emit(row.kind, inputs, types, **attributes)
        if types == [NEVER]:
            self.note_unknown(node)
        if not types:
            return self.none()
        if len(types) == 1:
            return node.output
        fields = tuple(r.name for r in row.schema.returns)
        kind = TupleType(tuple(types), row.name, fields) if all(fields) else TupleType(tuple(types))
        return self.emit("prim::Tuple", node.outputs, (kind,)).output

    def folded(self, row: Operator, inputs: Sequence[Value]) -> Value | None:
        """The result of a pure operator on constants, as a constant; None where it cannot be one (or raises)."""
        if row.namespace != "py" or row.python is None or not row.has(PURE) or not all(v.is_constant for v in inputs):
            return None
        if len(row.schema.returns) != 1 or row.schema.returns[0].type not in (INT, FLOAT, BOOL, STR):
            return None
        try:
            made = row.python(*(v.constant for v in inputs))
        except Exception:
            return None  # it raises at run time
        if isinstance(made, str) and len(made) > 1000:
            return None
        return self.constant(made)

    def note_unknown(self, node: Node) -> None:
        """Notes that an element of a container of unknown type was taken out."""
        raise NotImplementedError

    def result_types(self, row: Operator, inputs: Sequence[Value], found: Match) -> list[Type]:
        """The types of a node's outputs, by the row's own rule or by its schema."""
        from jitlang.frontend.script.match import substitute

        if row.infer is not None:
            types, constants = [_precise(v) for v in inputs], [constant_of(v) for v in inputs]
            try:
                inferred = row.infer(types, constants)
            except TypeError:  # the rule does not expect a list of which some items are not known
                inferred = row.infer(types, [MISSING if isinstance(c, tuple) and MISSING in c else c for c in constants])
            if inferred is not None:
                return list(inferred) if isinstance(inferred, list | tuple) else [inferred]
        return [substitute(r.type, found.bindings) for r in row.schema.returns]

    def argument(self, value: Any, type: Type, name: str, broadcast: int = 0, exact: bool = False) -> Value:
        """An argument or a default as an operator takes it; `exact` where a type variable says what is stored in a container."""
        if not isinstance(value, Value):
            return self.default(value, type, broadcast)
        inner = type.element if isinstance(type, OptionalType) else type
        if isinstance(inner, ListType) and isinstance(value.type, TupleType):
            items = [self.convert(self.part(value, i), inner.element, f"'{name}'") for i in range(len(value.type.elements))]
            value = self.emit("prim::List", items, (inner,)).output
        elif isinstance(inner, ListType) and broadcast and not isinstance(value.type, ListType | OptionalType) and value.type != NONE:
            item = self.convert(value, inner.element, f"'{name}'")
            value = self.emit("prim::List", [item] * broadcast, (inner,)).output
        elif inner == SCALAR and not isinstance(value.type, OptionalType) and value.type != NONE:
            return value if inner is type else self.emit("prim::Some", (value,), (OptionalType(value.type),)).output
        elif inner == SCALAR:
            return value if value.type != NONE else self.constant(None, OptionalType(FLOAT))
        elif inner == DEVICE and value.type == STR and value.is_constant:
            value = self.constant(value.constant, DEVICE)
        elif str(inner) == "Any":
            return value
        elif isinstance(inner, ListType) and isinstance(value.type, ListType) and value.type != inner and not is_subtype(value.type, inner):
            if NEVER not in value.type.walk() and isinstance(inner.element, OptionalType):  # List[Tensor] read as List[Optional[Tensor]]
                value = self.emit("prim::Cast", (value,), (inner,)).output
        made = self.convert(value, type, f"'{name}'")
        return self.retype(made, type) if exact and NEVER not in type.walk() else made

    def default(self, value: Any, type: Type, broadcast: int = 0) -> Value:
        """A schema's default value as a node."""
        if value is None:
            return self.constant(
                None, type if isinstance(type, OptionalType) and type.element != SCALAR else OptionalType(FLOAT) if isinstance(type, OptionalType) else NONE
            )
        inner = type.element if isinstance(type, OptionalType) else type
        if isinstance(inner, ListType):
            values = list(value) if isinstance(value, list | tuple) else [value] * broadcast
            made = self.emit("prim::List", [self.default(v, inner.element) for v in values], (inner,)).output
        elif inner == SCALAR:
            made = self.constant(value)
        elif inner == DEVICE:
            made = self.constant(value, DEVICE)
        else:
            made = self.constant(float(value) if inner == FLOAT else value)
        return made if inner is type else self.emit("prim::Some", (made,), (OptionalType(made.type),)).output

    # ---- values -----------------------------------------------------------------------------------------------------

    def materialise(self, entry: Static, what: str) -> Value:
        """A Python object as a run-time value."""
        value = entry.value
        if isinstance(value, RangeValue):
            return self.op("py::range_list", value.start, value.stop, value.step)
        if isinstance(value, Parts):
            return self.tuple_of([self.value(p, what) for p in value.items])
        if isinstance(value, enum.Enum) and not isinstance(value, int | str):
            self.type_error(f"{what} is the enum member {value}, which is known at compile time only", hint="compare it, or use its .value")
        if value is None:
            return self.constant(None)
        for base in (bool, int, float, str):
            if isinstance(value, base):
                return self.constant(plain(value, base))
        if isinstance(value, DType):
            return self.constant(value, DTYPE)
        if type(value).__name__ == "device" and hasattr(value, "type"):
            return self.constant(str(value), DEVICE)
        if isinstance(value, tuple):
            parts = [self.materialise(Static(v), what) for v in value]
            made = self.tuple_of(parts)
            if is_named_tuple(type(value)):
                self.unit.note_class(type(value))
                return self.retype(made, named_tuple_type(type(value), tuple(p.type for p in parts)))
            return made
        if isinstance(value, list | dict) or is_tensor(value):
            return self.container_constant(value, what)
        number = base_type(type(value))
        if number in (bool, int, float):  # NumPy's
            return self.constant(plain(value, number))
        self.type_error(f"{what} is {show_static(value)}, which has no value at run time", hint="call it, or pass a value")

    def tensor_constant(self, value: Any, what: str) -> Value:
        """A tensor of the module, made anew from its elements."""
        raise NotImplementedError

    def container_constant(self, value: Any, what: str) -> Value:
        """A list, dict or tensor of the module, as it is now; built once, at the function's start."""
        known = self.cells.get(id(value))
        if known is None:
            with self.inside(self.header):
                table = table_of(value) if isinstance(value, list | dict) else None
                if table is not None:
                    known = self.table(*table)
                elif isinstance(value, list):
                    known = self.list_of([self.materialise(Static(v), what) for v in value])
                elif not isinstance(value, dict):
                    known = self.tensor_constant(value, what)
                else:
                    known = self.dict_of([(self.materialise(Static(k), what), self.materialise(Static(v), what)) for k, v in value.items()])
            self.cells[id(value)] = known
            self.unit.keep(value)
        return known

    def table(self, value: tuple[Any, ...], kind: Type) -> Value:
        """A table of constants."""
        return self.emit("prim::Table", (), (kind,), value=value).output

    def finish(self) -> None:
        """Puts the constants of the module in front of the function's body."""
        for node in self.header.nodes:
            node.block = self.graph.block
        self.graph.block.nodes[:0] = self.header.nodes
        self.header.nodes = []

    def tuple_of(self, parts: Sequence[Value]) -> Value:
        """(a, b, …)."""
        return self.emit("prim::Tuple", parts, (TupleType(tuple(p.type for p in parts)),)).output

    def list_of(self, items: Sequence[Value]) -> Value:
        """[a, b, …]; the elements are brought to one type."""
        element = self.common([i.type for i in items], "elements of the list")
        found = self.found_types.get((self.where, "prim::List")) if not items else None
        if isinstance(found, ListType):
            element = found.element
        return self.emit("prim::List", [self.convert(i, element, "an element") for i in items], (ListType(element),)).output

    def dict_of(self, items: Sequence[tuple[Value, Value]]) -> Value:
        """{k: v, …}."""
        key = self.common([k.type for k, _ in items], "keys of the dict")
        value = self.common([v.type for _, v in items], "values of the dict")
        found = self.found_types.get((self.where, "prim::Dict")) if not items else None
        if isinstance(found, DictType):
            key, value = found.key, found.value
        flat = [x for k, v in items for x in (self.convert(k, key, "a key"), self.convert(v, value, "a value"))]
        return self.emit("prim::Dict", flat, (DictType(key, value),)).output

    def common(self, types: Sequence[Type], what: str) -> Type:
        """The one type of the elements of a container; Never of none."""
        found: Type = NEVER
        for type in types:
            kind = general(type, True)
            wider = join_containers(found, kind) or _joined_displays(found, kind)
            if wider is None:
                self.type_error(f"{what} are {found} and {type}", hint="a script's container holds values of one type; use a tuple")
            found = wider
        return found

    def retype(self, value: Value, type: Type) -> Value:
        """The same bits under another type."""
        return value if value.type == type else self.emit("prim::Cast", (value,), (type,)).output

    def part(self, value: Value, index: int) -> Value:
        """Element `index` of a tuple."""
        assert isinstance(value.type, TupleType)
        if value.node is not None and value.node.kind == "prim::Tuple":
            return value.node.inputs[index]
        return self.emit("prim::TupleIndex", (value,), (value.type.elements[index],), index=index).output

    # ---- truth ------------------------------------------------------------------------------------------------------

    def truth(self, result: Result) -> Value | Static:
        """bool(result): a BOOL value, or a Static bool where it is known."""
        if isinstance(result, Static):
            if not isinstance(result.value, RangeValue | Parts) and not may_change(result.value):
                return Static(bool(result.value))
            result = self.materialise(result, "the value")
        value, type = result, result.type
        if value.is_constant and type != DEVICE:
            return Static(bool(value.constant))
        if type == BOOL:
            return value
        if type == NONE:
            return Static(False)
        if isinstance(type, TupleType):
            return Static(bool(type.elements))
        if isinstance(type, OptionalType):
            return self.truth_of_optional(value, type)
        if isinstance(type, ClassType):
            return self.truth_of_object(value, type)
        if isinstance(type, TensorType):
            return self.tensor_number(value, BOOL)
        if type in (DTYPE, DEVICE):
            return Static(True)
        return self.op("py::bool", value)

    def truth_of_optional(self, value: Value, type: OptionalType) -> Value:
        """None is false; else as the value says."""
        return self.choose(
            self.op("py::is_none", value),
            lambda: self.constant(False),
            lambda: self.as_bool(self.truth(self.emit("prim::Unwrap", (value,), (type.element,)).output)),
        )

    def truth_of_object(self, value: Value, type: ClassType) -> Value | Static:
        """By ``__bool__``, else by ``__len__``, else true."""
        for name in ("__bool__", "__len__"):
            if self.find_method(type, name) is not None:
                return self.truth(self.call_method(value, name, [], {}))
        return Static(True)

    def as_bool(self, truth: Value | Static) -> Value:
        """A truth as a BOOL value."""
        return self.constant(bool(truth.value)) if isinstance(truth, Static) else truth

    def negate(self, truth: Value | Static) -> Value | Static:
        """not truth."""
        return Static(not truth.value) if isinstance(truth, Static) else self.op("py::not", truth)

    def tensor_number(self, value: Value, type: Type) -> Value:
        """A one-element tensor as a number."""
        raise NotImplementedError

    # ---- optionals --------------------------------------------------------------------------------------------------

    def present(self, value: Value, cls: str, message: str) -> Value:
        """The value in an Optional; raises at run time, as Python does, if it is None."""
        if value.type == NONE:
            self.raise_error(cls, message)
            raise Left
        if not isinstance(value.type, OptionalType):
            return value
        node = self.emit("prim::If", (self.op("py::is_none", value),))
        with self.inside(node.add_block()):
            self.raise_error(cls, message)
        with self.inside(node.add_block()):
            self.emit("prim::yield")
        return self.emit("prim::Unwrap", (value,), (value.type.element,)).output

    def undefined(self, name: str) -> NoReturn:
        """Raises the error for a name that stands for nothing, with the nearest known name as a hint."""
        info = getattr(self.lookup, "__self__", None)
        if isinstance(info, FunctionInfo) and info.is_bound_later(name):
            self.fail(ForwardNameError, f"name '{name}' is not defined yet", hint="it is bound further down")
        known = [n for n in (*self.env, *dir(builtins)) if not n.startswith("$")]
        hint = f"import it in the module: import {name}" if name in sys.stdlib_module_names else suggestion(name, known)
        self.fail(ScriptNameError, f"name '{name}' is not defined", hint=hint)


def _joined_displays(a: Type, b: Type) -> Type | None:
    """The type of displays of displays, of which some hold ints and others floats: `[[1, 2], [0.5, 1]]`; None for any others."""
    if not (isinstance(a, ListType) and isinstance(b, ListType)):
        return None
    inner = join_containers(a.element, b.element) or _joined_displays(a.element, b.element)
    return None if inner is None else ListType(inner)


class OverflowConstantError(ScriptTypeError, OverflowError):
    """An integer literal outside 64 bits."""


def _precise(value: Value) -> Type:
    """A value's type; of a list display of tensors also what is known of them: nothing else can have changed the list yet."""
    node = value.node
    if node is None or node.kind != "prim::List" or not node.inputs or not isinstance(node.inputs[0].type, TensorType):
        return value.type
    element: Type | None = node.inputs[0].type
    for item in node.inputs[1:]:
        element = join(element, item.type) if element is not None else None
    return value.type if element is None else ListType(element)


def absent(type: Type) -> bool:
    """Whether a value of `type` may be None."""
    return type == NONE or isinstance(type, OptionalType)
