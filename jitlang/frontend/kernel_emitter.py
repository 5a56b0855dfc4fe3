"""The kernel dialect: Python expressions with machine types to ``ll::`` nodes.

In: an `Instance` (a kernel and its argument types). Out: its `Graph`. The language is described in ``docs/kernels.md``.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Sequence
from typing import Any

from jitlang.errors import CompileError, ScriptAttributeError, ScriptSyntaxError, ScriptTypeError, ScriptValueError
from jitlang.frontend.emitter import Entry, Result, Static
from jitlang.frontend.kernel import Extern, Instance, Intrinsic, Kernel, Shared, size_of
from jitlang.frontend.kernel_intrinsics import INTRINSICS
from jitlang.frontend.loops import LoopEmitter
from jitlang.frontend.python_source import function_ast
from jitlang.ir.graph import Graph, Value
from jitlang.types import (
    B1,
    F64,
    I64,
    NONE,
    VOID,
    ArrayType,
    Machine,
    OptionalType,
    Pointer,
    StructType,
    TupleType,
    Type,
)

_BINARY: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("sub", operator.sub),
    ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv),
    ast.FloorDiv: ("floordiv", operator.floordiv),
    ast.Mod: ("mod", operator.mod),
    ast.Pow: ("pow", operator.pow),
    ast.BitAnd: ("and", operator.and_),
    ast.BitOr: ("or", operator.or_),
    ast.BitXor: ("xor", operator.xor),
    ast.LShift: ("shl", operator.lshift),
    ast.RShift: ("shr", operator.rshift),
}
_COMPARE: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
    ast.Is: ("is", operator.is_),
    ast.IsNot: ("is not", operator.is_not),
    ast.In: ("in", lambda a, b: a in b),
    ast.NotIn: ("not in", lambda a, b: a not in b),
}
_FLOAT_ONLY = {"div", "pow"}
_INT_ONLY = {"floordiv", "mod", "and", "or", "xor", "shl", "shr"}


def _nothing() -> None:
    return None


class KernelEmitter(LoopEmitter):
    """Emits one instance."""

    tracks_undefined = False

    def __init__(self, instance: Instance, graph: Graph, source: Any, function: Any) -> None:
        super().__init__(graph, source, function.__name__)
        self.instance = instance
        self.globals = function.__globals__
        closure = function.__closure__ or ()
        self.closure = {n: c.cell_contents for n, c in zip(function.__code__.co_freevars, closure, strict=True)}

    # ---- conversions ----------------------------------------------------------------------------------------------

    def constant(self, value: Any, type: Type) -> Value:
        """A constant of a machine type."""
        return self.emit("prim::Constant", (), (type,), value=value).output

    def truth_constant(self, value: bool) -> Value:
        return self.constant(value, B1)

    def materialise(self, entry: Static, what: str) -> Value:
        value = entry.value
        if isinstance(value, bool):
            return self.constant(value, B1)
        if isinstance(value, int):
            return self.constant(value, I64)
        if isinstance(value, float):
            return self.constant(value, F64)
        if isinstance(value, tuple) and all(isinstance(v, Value | Static) for v in value):
            parts = [self.value(v, what) for v in value]
            return self.emit("prim::Tuple", parts, (TupleType(tuple(p.type for p in parts)),)).output
        if value is None:
            return self.constant(None, NONE)
        if isinstance(value, Shared):
            return self.emit("ll::global", (), (Pointer(value.type),), name=value.name, size=size_of(value.type)).output
        self.fail(ScriptTypeError, f"{what} is the compile-time object {value!r}, expected a run-time value")

    def convert(self, value: Value, type: Type, what: str) -> Value:
        if value.type == type:
            return value
        if type in (VOID, NONE) and value.type in (VOID, NONE):
            return value
        self.fail(ScriptTypeError, f"{what} is {value.type}, expected {type}", hint=f"convert it: {type}(…)")

    def coerce(self, entry: Result, type: Type, what: str) -> Value:
        """`entry` as a value of `type`: a static number takes any number type that holds it."""
        if isinstance(entry, Value):
            return self.convert(entry, type, what)
        value = entry.value
        if isinstance(type, Machine) and isinstance(value, int | float):
            if type.kind == "f":
                return self.constant(float(value), type)
            if isinstance(value, int):
                bits = type.bits
                low, high = (-(1 << (bits - 1)), 1 << bits) if type.kind != "b" else (0, 2)
                if low <= value < high:
                    return self.constant(bool(value) if type.kind == "b" else value, type)
            self.fail(ScriptValueError, f"{what}: {value!r} does not fit {type}")
        if isinstance(type, TupleType) and isinstance(value, tuple):
            parts = [self.coerce(v, t, what) for v, t in zip(value, type.elements, strict=True)]
            return self.emit("prim::Tuple", parts, (type,)).output
        if isinstance(type, OptionalType):
            if value is None:
                return self.constant(None, type)
            return self.emit("prim::Some", (self.coerce(entry, type.element, what),), (type,)).output
        return self.convert(self.materialise(entry, what), type, what)

    def number(self, node: ast.expr, what: str) -> Result:
        """An expression that must not be static None or the like; used for operands."""
        result = self.expression(node)
        if isinstance(result, Value) and isinstance(result.type, OptionalType):
            self.fail(ScriptTypeError, f"{what} is optional", hint="test has(x) and use get(x)")
        return result

    # ---- expressions ----------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> Result:
        with self.at(node):
            method = getattr(self, f"_{type(node).__name__.lower()}", None)
            if method is None:
                self.unsupported(node)
            result: Result = method(node)
            return result

    def _constant(self, node: ast.Constant) -> Result:
        return Static(node.value)

    def _name(self, node: ast.Name) -> Result:
        local = self.read(node.id)
        if local is not None:
            return local
        for scope in (self.closure, self.globals, vars(builtins)):
            if node.id in scope:
                return Static(scope[node.id])
        self.undefined(node.id)

    def _tuple(self, node: ast.Tuple) -> Result:
        return Static(tuple(self.expression(e) for e in node.elts))

    def _joinedstr(self, node: ast.JoinedStr) -> Result:
        parts: list[str] = []
        for part in node.values:
            inner = self.expression(part.value if isinstance(part, ast.FormattedValue) else part)
            if not isinstance(inner, Static):
                self.fail(ScriptTypeError, "an f-string in a kernel must be static")
            parts.append(str(inner.value))
        return Static("".join(parts))

    def _binop(self, node: ast.BinOp) -> Result:
        left, right = self.number(node.left, "the left operand"), self.number(node.right, "the right operand")
        with self.at(node):
            return self.binary(type(node.op), left, right)

    def binary(self, op: type[ast.operator], left: Result, right: Result) -> Result:
        """``left op right``."""
        if op not in _BINARY:
            self.fail(ScriptSyntaxError, f"{op.__name__} is not supported in a kernel")
        name, python = _BINARY[op]
        if isinstance(left, Static) and isinstance(right, Static):
            return Static(python(left.value, right.value))
        if isinstance(left, Value) and isinstance(left.type, Pointer) and name in ("add", "sub"):
            index = self.coerce(right, I64, "the offset")
            if name == "sub":
                index = self.emit("ll::sub", (self.constant(0, I64), index), (I64,)).output
            return self.emit("ll::offset", (left, index), (left.type,)).output
        a, b = self.pair(left, right)
        kind = a.type
        if not isinstance(kind, Machine) or (name in _FLOAT_ONLY and kind.kind != "f") or (name in _INT_ONLY and kind.kind == "f"):
            self.fail(ScriptTypeError, f"'{name}' is not defined for {kind}")
        return self.emit(f"ll::{name}", (a, b), (kind,)).output

    def pair(self, left: Result, right: Result) -> tuple[Value, Value]:
        """Two operands of one type."""
        if isinstance(left, Static):
            assert isinstance(right, Value)
            return self.coerce(left, right.type, "the left operand"), right
        b = self.coerce(right, left.type, "the right operand")
        return left, b

    def _unaryop(self, node: ast.UnaryOp) -> Result:
        operand = self.number(node.operand, "the operand")
        if isinstance(operand, Static):
            python: Any = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_, ast.Invert: operator.invert}[type(node.op)]
            return Static(python(operand.value))
        if isinstance(node.op, ast.Not):
            return self.emit("ll::not", (self.coerce(operand, B1, "the operand of not"),), (B1,)).output
        if isinstance(node.op, ast.UAdd):
            return operand
        return self.emit("ll::neg" if isinstance(node.op, ast.USub) else "ll::not", (operand,), (operand.type,)).output

    def _compare(self, node: ast.Compare) -> Result:
        left = self.expression(node.left)
        result: Result | None = None
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.expression(right_node)
            part = self.compare(op, left, right)
            result = part if result is None else self._and_values(result, part)
            left = right
        assert result is not None
        return result

    def compare(self, op: ast.cmpop, left: Result, right: Result) -> Result:
        """One comparison."""
        name, python = _COMPARE[type(op)]
        if isinstance(left, Static) and isinstance(right, Static):
            return Static(python(left.value, right.value))
        if name in ("is", "is not") and (isinstance(left, Static) or isinstance(right, Static)):
            return Static(name == "is not")  # a run-time value is no static object
        a, b = self.pair(left, right)
        if name not in ("eq", "ne", "lt", "le", "gt", "ge"):
            self.fail(ScriptTypeError, f"'{name}' is not defined for {a.type}")
        return self.emit(f"ll::{name}", (a, b), (B1,)).output

    def _and_values(self, a: Result, b: Result) -> Result:
        if isinstance(a, Static):
            return b if a.value else a
        if isinstance(b, Static):
            return a if b.value else b
        return self.emit("ll::and", (a, b), (B1,)).output

    def _boolop(self, node: ast.BoolOp) -> Result:
        is_and = isinstance(node.op, ast.And)
        result = self.expression(node.values[0])
        for i, operand in enumerate(node.values[1:], 1):
            if isinstance(result, Static):
                if bool(result.value) != is_and:
                    return result
                result = self.expression(operand)
                continue
            rest = ast.BoolOp(node.op, node.values[i:]) if i + 1 < len(node.values) else operand
            ast.copy_location(rest, operand)
            return self._decide(self.coerce(result, B1, "the operand"), rest, is_and)
        return result

    def _decide(self, cond: Value, rest: ast.expr, is_and: bool) -> Value:
        """``cond and rest`` or ``cond or rest``."""

        def evaluated() -> Result:
            return self.expression(rest)

        def decided() -> Result:
            return Static(not is_and)

        return self._choose(cond, evaluated, decided) if is_and else self._choose(cond, decided, evaluated)

    def _ifexp(self, node: ast.IfExp) -> Result:
        cond, _, _ = self.condition(node.test)
        if isinstance(cond, Static):
            return self.expression(node.body if cond.value else node.orelse)
        return self._choose(cond, lambda: self.expression(node.body), lambda: self.expression(node.orelse))

    def _choose(self, cond: Value, then: Callable[[], Result], other: Callable[[], Result]) -> Value:
        from jitlang.ir.graph import Node

        node = Node("prim::If", (cond,), where=self.where)
        blocks, results = [], []
        for emit in (then, other):
            block = node.add_block()
            with self.inside(block):
                results.append(emit())
            blocks.append(block)
        typed = [r for r in results if isinstance(r, Value)]
        with self.inside(blocks[0]):
            first = self.coerce(results[0], typed[0].type, "the value") if typed else self.value(results[0], "the value")
            self.emit("prim::yield", (first,))
        with self.inside(blocks[1]):
            self.emit("prim::yield", (self.coerce(results[1], first.type, "the value"),))
        self.block.append(node)
        return node.add_output(first.type)

    def condition(self, node: ast.expr) -> tuple[Result, Callable[[], None], Callable[[], None]]:
        result = self.expression(node)
        if isinstance(result, Static):
            return Static(bool(result.value)), _nothing, _nothing
        if result.type != B1:
            self.fail(ScriptTypeError, f"the condition is {result.type}, expected b1", hint="compare it: x != 0")
        return result, _nothing, _nothing

    def _attribute(self, node: ast.Attribute) -> Result:
        base = self.expression(node.value)
        if isinstance(base, Static) and not isinstance(base.value, Shared):
            try:
                return Static(getattr(base.value, node.attr))
            except AttributeError as error:
                self.fail(ScriptAttributeError, str(error))
        pointer = self.value(base, "the object")
        field = self._field(pointer, node.attr)
        if isinstance(field, ArrayType):
            return self.emit("ll::addr", (pointer,), (Pointer(field.element),), name=node.attr).output
        if isinstance(field, StructType):
            return self.emit("ll::addr", (pointer,), (Pointer(field),), name=node.attr).output
        return self.emit("ll::field", (pointer,), (field,), name=node.attr).output

    def _field(self, pointer: Value, name: str) -> Type:
        target = pointer.type.element if isinstance(pointer.type, Pointer) else None
        if not isinstance(target, StructType) or name not in target.fields:
            self.fail(ScriptAttributeError, f"{pointer.type} has no field '{name}'")
        return target.fields[name]

    def _subscript(self, node: ast.Subscript) -> Result:
        base, index = self.expression(node.value), self.expression(node.slice)
        if isinstance(base, Static) and not isinstance(base.value, Shared):
            if not isinstance(index, Static):
                self.fail(ScriptTypeError, "a static object needs a static index")
            key = index.value
            if isinstance(key, tuple):
                key = tuple(k.value if isinstance(k, Static) else k for k in key)
            item = base.value[key]
            return item if isinstance(item, Value | Static) else Static(item)
        pointer = self.value(base, "the pointer")
        if isinstance(pointer.type, TupleType) and isinstance(index, Static):
            return self.emit("prim::TupleIndex", (pointer,), (pointer.type.elements[index.value],), index=index.value).output
        element = self._element(pointer)
        if isinstance(element, StructType):
            return self.emit("ll::offset", (pointer, self.coerce(index, I64, "the index")), (pointer.type,)).output
        return self.emit("ll::load", (pointer, self.coerce(index, I64, "the index")), (element,)).output

    def _element(self, pointer: Value) -> Type:
        if not isinstance(pointer.type, Pointer):
            self.fail(ScriptTypeError, f"{pointer.type} cannot be indexed, expected a pointer")
        return pointer.type.element

    def _call(self, node: ast.Call) -> Result:
        callee = self.expression(node.func)
        if not isinstance(callee, Static):
            self.fail(ScriptTypeError, f"{callee.type} cannot be called")
        target = callee.value
        if isinstance(target, Intrinsic):
            if node.keywords:
                self.fail(ScriptTypeError, f"{target.name}() takes positional arguments")
            handler = INTRINSICS.get(target.name)
            if handler is None:
                self.fail(ScriptSyntaxError, f"{target.name}() cannot be used here")
            if target.name == "addr":
                return self._addr(node)
            return handler(self, [self.expression(a) for a in node.args])
        arguments = self._arguments(node)
        if isinstance(target, Machine):
            return self.cast(arguments[0], target)
        if isinstance(target, Kernel):
            return self.call_kernel(target, self._bind(target, arguments, node))
        if isinstance(target, Extern):
            values = [self.coerce(a, t, f"argument {i + 1} of {target.name}") for i, (a, t) in enumerate(zip(arguments, target.arguments, strict=True))]
            out = self.emit("ll::extern", values, () if target.result == VOID else (target.result,), name=target.name)
            return out.output if out.outputs else Static(None)
        if all(isinstance(a, Static) for a in arguments) and not node.keywords:
            return Static(target(*[a.value for a in arguments if isinstance(a, Static)]))
        self.fail(ScriptTypeError, f"{target!r} cannot be called with run-time arguments in a kernel")

    def _arguments(self, node: ast.Call) -> list[Result]:
        arguments: list[Result] = []
        for a in node.args:
            if isinstance(a, ast.Starred):
                inner = self.expression(a.value)
                if not (isinstance(inner, Static) and isinstance(inner.value, tuple)):
                    self.fail(ScriptTypeError, "only a static tuple can be unpacked here")
                arguments.extend(v if isinstance(v, Value | Static) else Static(v) for v in inner.value)
            else:
                arguments.append(self.expression(a))
        return arguments

    def _bind(self, target: Kernel, arguments: list[Result], node: ast.Call) -> list[Result]:
        code = target.function.__code__
        names = code.co_varnames[: code.co_argcount]
        bound = dict(zip(names, arguments, strict=False))
        if len(arguments) > len(names):
            self.fail(ScriptTypeError, f"{target.__name__}() takes {len(names)} arguments, {len(arguments)} given")
        for keyword in node.keywords:
            if keyword.arg not in names or keyword.arg in bound:
                self.fail(ScriptTypeError, f"{target.__name__}() got an unexpected argument '{keyword.arg}'")
            bound[keyword.arg] = self.expression(keyword.value)
        defaults = target.function.__defaults__ or ()
        for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True):
            bound.setdefault(name, Static(default))
        missing = [n for n in names if n not in bound]
        if missing:
            self.fail(ScriptTypeError, f"{target.__name__}() is missing the argument '{missing[0]}'")
        return [bound[n] for n in names]

    def call_kernel(self, target: Kernel, arguments: Sequence[Result]) -> Result:
        """A call of another kernel, specialised for these arguments."""
        instance = specialise(target, arguments, self)
        annotated = instance.arguments
        values = [self.coerce(a, t, "the argument") for a, t in zip(arguments, annotated, strict=True) if isinstance(t, Type)]
        try:
            graph = instance.graph
        except CompileError as error:
            if self.where is not None:
                error.called_from(self.where)
            raise
        if instance.raises:
            self.instance.raises = True
        types = () if graph.result in (VOID, NONE) else (graph.result,)
        node = self.emit("ll::call", values, types, instance=instance)
        return node.output if types else Static(None)

    def cast(self, entry: Result, target: Machine) -> Result:
        """``f32(x)``: a numeric conversion."""
        if isinstance(entry, Static):
            return self.coerce(Static(_static_cast(entry.value, target)), target, "the value")
        source = entry.type
        if source == target:
            return entry
        if not isinstance(source, Machine):
            self.fail(ScriptTypeError, f"{source} cannot be converted to {target}")
        if target == B1:
            return self.emit("ll::ne", (entry, self.coerce(Static(0), source, "zero")), (B1,)).output
        return self.emit("ll::cast", (entry,), (target,)).output

    def _addr(self, node: ast.Call) -> Result:
        field = node.args[0]
        if not isinstance(field, ast.Attribute):
            self.fail(ScriptSyntaxError, "addr() takes a field: addr(s.field)")
        pointer = self.value(self.expression(field.value), "the object")
        return self.emit("ll::addr", (pointer,), (Pointer(self._field(pointer, field.attr)),), name=field.attr).output

    # ---- statements -----------------------------------------------------------------------------------------------

    def store(self, target: ast.expr, value: Result) -> None:
        if isinstance(target, ast.Attribute):
            pointer = self.value(self.expression(target.value), "the object")
            field = self._field(pointer, target.attr)
            self.emit("ll::setfield", (pointer, self.coerce(value, field, f"field '{target.attr}'")), name=target.attr)
        elif isinstance(target, ast.Subscript):
            pointer = self.value(self.expression(target.value), "the pointer")
            index = self.coerce(self.expression(target.slice), I64, "the index")
            self.emit("ll::store", (pointer, index, self.coerce(value, self._element(pointer), "the stored value")))
        else:
            self.unsupported(target)

    def unpack(self, value: Result, targets: Sequence[ast.expr]) -> list[Result]:
        if isinstance(value, Static) and isinstance(value.value, tuple) and len(value.value) == len(targets):
            return [v if isinstance(v, Value | Static) else Static(v) for v in value.value]
        if isinstance(value, Value) and isinstance(value.type, TupleType) and len(value.type.elements) == len(targets):
            return [self.emit("prim::TupleIndex", (value,), (t,), index=i).output for i, t in enumerate(value.type.elements)]
        self.fail(ScriptTypeError, f"cannot unpack into {len(targets)} names")

    def augmented(self, statement: ast.AugAssign) -> None:
        load: Any = statement.target
        read: ast.expr = type(load)(**{**{f: getattr(load, f) for f in load._fields}, "ctx": ast.Load()})
        ast.copy_location(read, load)
        current = self.number(read, "the target")
        value = self.number(statement.value, "the operand")
        self.assign(statement.target, self.binary(type(statement.op), current, value))

    def other_statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            kind = self.expression(statement.annotation)
            value = self.expression(statement.value)
            if isinstance(kind, Static) and isinstance(kind.value, Type):
                value = self.coerce(value, kind.value, "the value")
            self.assign(statement.target, value)
            return
        self.unsupported(statement)

    def iterate(self, statement: ast.For) -> None:
        call = statement.iter
        callee = self.expression(call.func) if isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or not isinstance(callee, Static) or statement.orelse:
            self.unsupported(statement, "a kernel's for runs over range(…) or unrolled(n)")
        arguments = [self.expression(a) for a in call.args]
        if callee.value is builtins.range:
            self._for_range(statement, arguments)
        elif isinstance(callee.value, Intrinsic) and callee.value.name == "unrolled":
            sequence = arguments[0].value if isinstance(arguments[0], Static) else None
            if sequence is None:
                self.fail(ScriptTypeError, "unrolled() needs a static number or sequence")
            for item in range(sequence) if isinstance(sequence, int) else sequence:
                self.assign(statement.target, item if isinstance(item, Value | Static) else Static(item))
                self.body(statement.body)
                if self.block.terminated:
                    return
        else:
            self.unsupported(statement, "a kernel's for runs over range(…) or unrolled(n)")

    def _for_range(self, statement: ast.For, arguments: list[Result]) -> None:
        start, stop, step = (
            (Static(0), arguments[0], Static(1)) if len(arguments) == 1 else (arguments[0], arguments[1], arguments[2] if len(arguments) > 2 else Static(1))
        )
        types = [a.type for a in (start, stop, step) if isinstance(a, Value)]
        kind = types[0] if types else I64
        leading = [self.coerce(a, kind, "a bound of range()") for a in (start, stop, step)]

        def body(params: list[Value]) -> None:
            self.assign(statement.target, params[0])
            self.body(statement.body)

        self.loop("prim::For", leading, (kind,), self.carried_names(statement), body)


def _static_cast(value: Any, target: Machine) -> Any:
    if target.kind == "f":
        return float(value)
    if target.kind == "b":
        return bool(value)
    if isinstance(value, float):
        return int(value)
    wrapped = int(value) & ((1 << target.bits) - 1)
    return wrapped - (1 << target.bits) if target.kind == "i" and wrapped >> (target.bits - 1) else wrapped


def specialise(target: Kernel, arguments: Sequence[Result], emitter: KernelEmitter | None = None) -> Instance:
    """The instance of `target` for these arguments: annotated parameters take their type, others the argument's."""
    annotations = parameter_types(target)
    chosen: list[Type | Static] = []
    for annotation, argument in zip(annotations, arguments, strict=True):
        if annotation is not None and not (isinstance(argument, Static) and isinstance(annotation, OptionalType)):
            chosen.append(annotation)
        elif isinstance(argument, Value):
            chosen.append(argument.type)
        elif isinstance(argument.value, tuple) and any(isinstance(v, Value) for v in argument.value) and emitter is not None:
            emitter.fail(ScriptTypeError, "a tuple of run-time values cannot be a kernel's argument")
        else:
            chosen.append(argument)
    return target.instance(*chosen)


def parameter_types(target: Kernel) -> list[Type | None]:
    """The annotated types of a kernel's parameters; None where there is none."""
    function = target.function
    code = function.__code__
    closure = {n: c.cell_contents for n, c in zip(code.co_freevars, function.__closure__ or (), strict=True)}
    found: list[Type | None] = []
    for name in code.co_varnames[: code.co_argcount]:
        annotation = function.__annotations__.get(name)
        if isinstance(annotation, str):
            annotation = eval(annotation, function.__globals__, closure)
        found.append(annotation if isinstance(annotation, Type) else None)
    return found


def emit_instance(instance: Instance) -> Graph:
    """The IR of a kernel instance; CompileError where the kernel is wrong."""
    if instance.emitting:
        raise ScriptSyntaxError(f"kernel {instance.kernel.qualified} calls itself")
    instance.emitting = True
    try:
        function = instance.kernel.function
        source, definition = function_ast(function)
        assert isinstance(definition, ast.FunctionDef)
        graph = Graph(instance.symbol)
        emitter = KernelEmitter(instance, graph, source, function)
        graph.range = emitter.range_of(definition)
        env: dict[str, Entry] = {}
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        for name, argument in zip(names, instance.arguments, strict=True):
            env[name] = graph.block.add_param(argument, name) if isinstance(argument, Type) else argument
        annotation = function.__annotations__.get("return")
        if isinstance(annotation, str):
            closure = emitter.closure
            annotation = eval(annotation, function.__globals__, closure)
        result = VOID if annotation is None and "return" in function.__annotations__ else annotation
        emitter.function_body(definition.body, env, result if isinstance(result, Type) else None)
        return graph
    finally:
        instance.emitting = False
