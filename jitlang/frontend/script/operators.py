"""Operators of expressions: arithmetic, comparison, and/or/not, the ternary, and what a condition says of optionals.

In: ``ast`` expressions and values. Out: nodes, with every conversion of mixed operands explicit.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from jitlang.errors import ScriptTypeError
from jitlang.frontend.emitter import Left, Result, Static
from jitlang.frontend.script.base import Parts, ScriptBase, absent, describe, walrus_names
from jitlang.frontend.script.narrowing import PREFIX, Narrowing
from jitlang.ir.graph import Value
from jitlang.registry import overloads
from jitlang.types import (
    BOOL,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    ClassType,
    DictType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
)

NUMBERS = (INT, FLOAT, BOOL)
# symbol of an ast operator: (py kind, aten kind, method, reflected method, in-place method)
BINARY: dict[type[ast.operator], tuple[str, str, str]] = {
    ast.Add: ("+", "add", "add"),
    ast.Sub: ("-", "sub", "sub"),
    ast.Mult: ("*", "mul", "mul"),
    ast.Div: ("/", "div", "truediv"),
    ast.FloorDiv: ("//", "floor_divide", "floordiv"),
    ast.Mod: ("%", "remainder", "mod"),
    ast.Pow: ("**", "pow", "pow"),
    ast.MatMult: ("@", "matmul", "matmul"),
    ast.BitAnd: ("&", "bitwise_and", "and"),
    ast.BitOr: ("|", "bitwise_or", "or"),
    ast.BitXor: ("^", "bitwise_xor", "xor"),
    ast.LShift: ("<<", "bitwise_left_shift", "lshift"),
    ast.RShift: (">>", "bitwise_right_shift", "rshift"),
}
SYMBOLS = {symbol: (aten, name) for symbol, aten, name in BINARY.values()}
COMPARISONS: dict[type[ast.cmpop], tuple[str, str, str]] = {
    ast.Eq: ("==", "eq", "eq"),
    ast.NotEq: ("!=", "ne", "ne"),
    ast.Lt: ("<", "lt", "gt"),
    ast.LtE: ("<=", "le", "ge"),
    ast.Gt: (">", "gt", "lt"),
    ast.GtE: (">=", "ge", "le"),
}


@dataclasses.dataclass(frozen=True)
class Fact:
    """While a condition holds, the name `name`, standing for `value`, has the type `type`."""

    name: str
    value: Value
    type: Type


@dataclasses.dataclass
class Condition:
    """A truth and what it says of names."""

    truth: Value | Static
    when_true: list[Fact] = dataclasses.field(default_factory=list)
    when_false: list[Fact] = dataclasses.field(default_factory=list)


class Operators(Narrowing):
    """Arithmetic, comparison and logic."""

    # ---- arithmetic -------------------------------------------------------------------------------------------------

    def binary_expression(self, node: ast.BinOp) -> Result:
        """``a op b``."""
        a, b = self.expr(node.left), self.expr(node.right)
        if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
            return self.percent_format(self.value(a, "the format"), b)
        if isinstance(node.op, ast.Pow):
            b = self.power_operand(node.right, a, b)
        return self.binary(BINARY[type(node.op)][0], a, b)

    def power_operand(self, node: ast.expr, a: Result, b: Result) -> Result:
        """A literal negative exponent makes the power of ints a float, as in Python."""
        negative = isinstance(b, Value) and b.is_constant and b.type == INT and b.constant < 0
        if negative and isinstance(a, Value) and a.type in (INT, BOOL):
            return self.constant(float(b.constant))  # type: ignore[union-attr]
        return b

    def percent_format(self, pattern: Value, args: Result) -> Result:
        """``pattern % args``."""
        values = self.value(args, "the arguments")
        packed = values if isinstance(values.type, TupleType) else self.tuple_of([values])
        return self.op("py::percent", pattern, packed)

    def binary(self, symbol: str, a: Result, b: Result) -> Result:
        """``a symbol b``, by the types of both."""
        folded = self.static_binary(symbol, a, b)
        if folded is not None:
            return folded
        x, y = self.value(a, "the left operand"), self.value(b, "the right operand")
        aten, name = SYMBOLS[symbol]
        for value in (x, y):
            if isinstance(value.type, OptionalType) or value.type == NONE:
                left, right = (_python_name(v.type if v is not value else NONE) for v in (x, y))
                text = f"unsupported operand type(s) for {symbol}: '{left}' and '{right}'"
                x, y = (self.present(v, "TypeError", text) if v is value else v for v in (x, y))
        user = self.user_binary(name, x, y)
        if user is not None:
            return user
        if isinstance(x.type, TensorType) or isinstance(y.type, TensorType):
            return self.tensor_binary(symbol, aten, x, y)
        made = self.plain_binary(symbol, name, x, y)
        if made is None:
            self.operand_error(symbol, x, y)
        return made

    def static_binary(self, symbol: str, a: Result, b: Result) -> Result | None:
        """Operations on objects known at compile time (flags, enum members)."""
        if isinstance(a, Static) and isinstance(b, Static) and not isinstance(a.value, Parts) and not isinstance(b.value, Parts):
            if type(a.value).__module__ != "builtins" and hasattr(type(a.value), "_member_map_"):
                from jitlang.frontend.script.fold import apply_binary

                return Static(apply_binary(symbol, a.value, b.value))
        return None

    def operand_error(self, symbol: str, x: Value, y: Value) -> None:
        """Raises the error for operands that do not go together."""
        hint = ""
        if symbol == "+" and STR in (x.type, y.type):
            hint = "write str(…) around the operand that is no str"
        left, right = _python_name(x.type), _python_name(y.type)
        self.type_error(f"unsupported operand types for {symbol}: '{left}' and '{right}'", note=f"{x.type} {symbol} {y.type}", hint=hint)

    def user_binary(self, name: str, x: Value, y: Value) -> Result | None:
        """``x.__name__(y)`` or ``y.__rname__(x)`` of script classes; None where there is neither."""
        if isinstance(x.type, ClassType) and self.find_method(x.type, f"__{name}__") is not None:
            return self.call_method(x, f"__{name}__", [y], {})
        if isinstance(y.type, ClassType) and self.find_method(y.type, f"__r{name}__") is not None:
            return self.call_method(y, f"__r{name}__", [x], {})
        return None

    def plain_binary(self, symbol: str, name: str, x: Value, y: Value) -> Value | None:
        """Arithmetic of Python's own types; None where Python has none."""
        if x.type in NUMBERS and y.type in NUMBERS:
            return self.number_binary(symbol, name, x, y)
        if isinstance(x.type, TupleType) and symbol == "+":
            if isinstance(y.type, TupleType):
                return self.tuple_of([*self.parts_of(x), *self.parts_of(y)])
            if isinstance(y.type, ListType):
                return None
        if isinstance(x.type, TupleType) and symbol == "*" and y.is_constant and y.type == INT:
            return self.tuple_of(self.parts_of(x) * max(0, y.constant))
        if symbol == "*" and y.type in (STR,) and x.type == INT:
            x, y = y, x
        if symbol == "*" and isinstance(y.type, ListType) and x.type == INT:
            x, y = y, x
        if symbol == "+" and isinstance(x.type, ListType) and isinstance(y.type, ListType):
            x, y = self.same_lists(x, y)
        return self.try_op(f"py::{name}", [x, y])

    def same_lists(self, x: Value, y: Value) -> tuple[Value, Value]:
        """Two lists with one element type, where one is empty or fresh."""
        if x.type == y.type:
            return x, y
        if NEVER in x.type.walk():
            return self.convert(x, y.type, "the left operand"), y
        rebuilt = self.rebuild(y, x.type, "the right operand") if x.type != y.type else y
        return x, rebuilt if rebuilt is not None else self.convert(y, x.type, "the right operand")

    def parts_of(self, value: Value) -> list[Value]:
        """The elements of a tuple."""
        assert isinstance(value.type, TupleType)
        return [self.part(value, i) for i in range(len(value.type.elements))]

    def number_binary(self, symbol: str, name: str, x: Value, y: Value) -> Value:
        """Arithmetic of numbers: bools count as ints, an int next to a float becomes one."""
        if symbol == "@":
            self.operand_error(symbol, x, y)
        if symbol in "&|^" and x.type == y.type == BOOL:
            return self.op(f"py::{name}", x, y)
        kind = FLOAT if FLOAT in (x.type, y.type) else INT
        if kind == FLOAT and symbol in ("&", "|", "^", "<<", ">>"):
            self.operand_error(symbol, x, y)
        return self.op(f"py::{name}", self.convert(x, kind, "the left operand"), self.convert(y, kind, "the right operand"))

    def tensor_binary(self, symbol: str, aten: str, x: Value, y: Value) -> Value:
        """Arithmetic with a tensor on either side."""
        kind = f"aten::{aten}"
        found = self.try_op(kind, [x, y])
        if found is not None:
            return found
        if x.type in NUMBERS and isinstance(y.type, TensorType):
            swapped = self.reflected(symbol, aten, x, y)
            if swapped is not None:
                return swapped
        if not overloads(kind):
            self.type_error(f"{symbol} of tensors is not available: there is no operator {kind}")
        self.operand_error(symbol, x, y)
        raise AssertionError

    def reflected(self, symbol: str, aten: str, x: Value, y: Value) -> Value | None:
        """``number op tensor``."""
        if symbol in "+*&|^":
            found = self.try_op(f"aten::{aten}", [y, x])
            if found is not None:
                return found
        if symbol == "-":
            found = self.try_op("aten::rsub", [y, x])
            if found is not None:
                return found
        return self.try_op(f"aten::{aten}", [self.number_tensor(x, y), y])

    def number_tensor(self, number: Value, like: Value) -> Value:
        """A number as a 0-dimensional tensor that does not decide the dtype of the result."""
        raise NotImplementedError

    def unary_expression(self, node: ast.UnaryOp) -> Result:
        """``-a``, ``+a``, ``~a``, ``not a``."""
        if isinstance(node.op, ast.Not):
            return self.as_bool(self.negate(self.truth(self.expr(node.operand))))
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant) and type(node.operand.value) in (int, float):
            return self.constant(-node.operand.value)  # type: ignore[operator]
        value = self.value(self.expr(node.operand), describe(node.operand))
        symbol, name = {ast.USub: ("-", "neg"), ast.UAdd: ("+", "pos"), ast.Invert: ("~", "invert")}[type(node.op)]
        if absent(value.type):
            value = self.present(value, "TypeError", f"bad operand type for unary {symbol}: 'NoneType'")
        if isinstance(value.type, ClassType) and self.find_method(value.type, f"__{name}__") is not None:
            return self.call_method(value, f"__{name}__", [], {})
        if isinstance(value.type, TensorType):
            if name == "pos":
                return value
            return self.op("aten::neg" if name == "neg" else "aten::bitwise_not", value)
        if value.type == BOOL:
            value = self.convert(value, INT, "the operand")
        if value.type not in (INT, FLOAT) or (name == "invert" and value.type == FLOAT):
            self.type_error(f"bad operand type for unary {symbol}: '{_python_name(value.type)}'")
        return value if name == "pos" else self.op(f"py::{name}", value)

    # ---- comparison -------------------------------------------------------------------------------------------------

    def compare_expression(self, node: ast.Compare) -> Result:
        """``a < b < c``: each operand once, from left to right, and no further than needed."""
        return self.chain(self.expr(node.left), list(zip(node.ops, node.comparators, strict=True)))

    def chain(self, left: Result, rest: list[tuple[ast.cmpop, ast.expr]]) -> Result:
        """The comparison of `left` with the operands that follow."""
        operator, node = rest[0]
        right = self.expr(node)
        first = self.compare(operator, left, right)
        if len(rest) == 1:
            return first
        truth = self.truth(first)
        if isinstance(truth, Static):
            return self.chain(right, rest[1:]) if truth.value else self.constant(False)
        names = walrus_names(*(n for _, n in rest[1:]))
        return self.choose(truth, lambda: self.as_bool(self.truth(self.chain(right, rest[1:]))), lambda: self.constant(False), names)

    def compare(self, operator: ast.cmpop, a: Result, b: Result) -> Result:
        """One comparison."""
        if isinstance(operator, ast.Is | ast.IsNot):
            truth = self.identical(a, b)
            return self.as_bool(self.negate(truth) if isinstance(operator, ast.IsNot) else truth)
        if isinstance(operator, ast.In | ast.NotIn):
            found = self.contains(b, a)
            return self.as_bool(self.negate(found) if isinstance(operator, ast.NotIn) else found)
        return self.relation(type(operator), a, b)

    def relation(self, operator: type[ast.cmpop], a: Result, b: Result) -> Result:
        """``==``, ``<`` and so on."""
        symbol, name, swapped = COMPARISONS[operator]
        if isinstance(a, Static) and isinstance(b, Static) and not _at_run_time(a) and not _at_run_time(b):
            from jitlang.frontend.script.fold import apply_comparison

            return self.constant(apply_comparison(symbol, a.value, b.value))
        x, y = self.value(a, "the left operand"), self.value(b, "the right operand")
        if isinstance(x.type, TensorType) or isinstance(y.type, TensorType):
            if isinstance(x.type, TensorType):
                return self.op(f"aten::{name}", x, y)
            return self.op(f"aten::{swapped}", y, x)
        return self.related(symbol, name, swapped, x, y)

    def related(self, symbol: str, name: str, swapped: str, x: Value, y: Value) -> Value:
        """A relation of values that are no tensors."""
        if isinstance(x.type, OptionalType) or isinstance(y.type, OptionalType) or NONE in (x.type, y.type):
            return self.related_optional(symbol, name, swapped, x, y)
        user = self.user_relation(name, swapped, x, y)
        if user is not None:
            return user
        if x.type in NUMBERS and y.type in NUMBERS:
            return self.number_relation(name, x, y)
        if isinstance(x.type, TupleType) and isinstance(y.type, TupleType):
            return self.tuple_relation(symbol, name, swapped, x, y)
        if isinstance(x.type, ListType) and isinstance(y.type, ListType) and x.type != y.type and NEVER in (*x.type.walk(), *y.type.walk()):
            x, y = self.same_lists(x, y)
        if x.type == y.type and (name in ("eq", "ne") or x.type == STR or isinstance(x.type, ListType)):
            return self.op(f"py::{name}", x, y)
        if isinstance(x.type, DictType) and isinstance(y.type, DictType) and name in ("eq", "ne"):
            return self.op(f"py::{name}", x, y)
        if name in ("eq", "ne"):
            return self.constant(name == "ne")  # Python: values of unrelated types are not equal
        self.type_error(f"'{symbol}' is not supported between '{_python_name(x.type)}' and '{_python_name(y.type)}'", note=f"{x.type} {symbol} {y.type}")

    def number_relation(self, name: str, x: Value, y: Value) -> Value:
        """Numbers compare exactly, whatever their types; a constant int that is a float exactly becomes one."""
        if x.type == y.type:
            return self.op(f"py::{name}", x, y)
        if FLOAT not in (x.type, y.type):
            return self.op(f"py::{name}", self.convert(x, INT, "the left operand"), self.convert(y, INT, "the right operand"))
        sides = []
        for v in (x, y):
            exact = v.type == BOOL or (v.type == INT and v.is_constant and abs(v.constant) <= 2**53)
            sides.append(self.convert(v, FLOAT, "the operand") if exact else v)
        return self.op(f"py::{name}", *sides)

    def user_relation(self, name: str, swapped: str, x: Value, y: Value) -> Value | None:
        """A relation by the methods of script classes."""
        for value, other, method in ((x, y, f"__{name}__"), (y, x, f"__{swapped}__")):
            if isinstance(value.type, ClassType) and self.find_method(value.type, method) is not None:
                return self.value(self.call_method(value, method, [other], {}), "the result")
        if name == "ne":
            equal = self.user_relation("eq", "eq", x, y)
            return None if equal is None else self.as_bool(self.negate(self.truth(equal)))
        if name == "eq" and isinstance(x.type, ClassType) and isinstance(y.type, ClassType):
            return self.op("py::is", x, y)
        return None

    def related_optional(self, symbol: str, name: str, swapped: str, x: Value, y: Value) -> Value:
        """Relations with None: equality is of presence and value; ordering raises TypeError."""
        if name not in ("eq", "ne"):
            text = f"'{symbol}' not supported between instances of '{_python_name(x.type)}' and '{_python_name(y.type)}'"
            if NONE in (x.type, y.type):
                self.type_error(text)
            return self.related(symbol, name, swapped, self.present(x, "TypeError", text), self.present(y, "TypeError", text))
        missing = self.constant(name == "eq")
        different = name == "ne"
        if not isinstance(x.type, OptionalType):
            x, y = y, x
        if not isinstance(x.type, OptionalType):
            return self.constant((x.type == y.type) != different)
        none = self.op("py::is_none", x)
        inner = x.type.element
        if y.type == NONE:
            return none if name == "eq" else self.op("py::not", none)
        if isinstance(y.type, OptionalType):
            other = y.type.element
            both = self.op("py::and", none, self.op("py::is_none", y))
            return self.choose(
                self.op("py::or", none, self.op("py::is_none", y)),
                lambda: both if name == "eq" else self.op("py::not", both),
                lambda: self.related(
                    symbol, name, swapped, self.emit("prim::Unwrap", (x,), (inner,)).output, self.emit("prim::Unwrap", (y,), (other,)).output
                ),
            )
        del missing
        return self.choose(
            none,
            lambda: self.constant(different),
            lambda: self.related(symbol, name, swapped, self.emit("prim::Unwrap", (x,), (inner,)).output, y),
        )

    def tuple_relation(self, symbol: str, name: str, swapped: str, x: Value, y: Value) -> Value:
        """Element by element; the first pair that differs decides."""
        assert isinstance(x.type, TupleType) and isinstance(y.type, TupleType)
        return self.tuple_from(symbol, name, swapped, x, y, 0)

    def tuple_from(self, symbol: str, name: str, swapped: str, x: Value, y: Value, at: int) -> Value:
        """The relation of the elements from `at` on."""
        assert isinstance(x.type, TupleType) and isinstance(y.type, TupleType)
        n, m = len(x.type.elements), len(y.type.elements)
        if name in ("eq", "ne"):
            if n != m:
                return self.constant(name == "ne")
            if at == n:
                return self.constant(name == "eq")
        elif at >= min(n, m):
            return self.constant({"lt": n < m, "le": n <= m, "gt": n > m, "ge": n >= m}[name])
        a, b = self.part(x, at), self.part(y, at)
        equal = self.truth(self.relation(ast.Eq, a, b))
        last = at == max(n, m) - 1 if name in ("eq", "ne") else False
        if last:
            return self.as_bool(equal if name == "eq" else self.negate(equal))

        def differs() -> Result:
            return self.constant(name == "ne") if name in ("eq", "ne") else self.as_bool(self.truth(self.related(symbol, name, swapped, a, b)))

        if isinstance(equal, Static):
            return self.tuple_from(symbol, name, swapped, x, y, at + 1) if equal.value else self.value(differs(), "the result")
        return self.choose(equal, lambda: self.tuple_from(symbol, name, swapped, x, y, at + 1), differs)

    def identical(self, a: Result, b: Result) -> Value | Static:
        """``a is b``."""
        if isinstance(a, Static) and isinstance(b, Static) and not _at_run_time(a) and not _at_run_time(b):
            return Static(a.value is b.value)
        if isinstance(a, Static) != isinstance(b, Static):
            static = a if isinstance(a, Static) else b
            assert isinstance(static, Static)
            if not _at_run_time(static) and not isinstance(static.value, bool | int | str | float | tuple | list | dict):
                if static.value is not None and not hasattr(static.value, "itemsize"):
                    return Static(False)
        x, y = self.value(a, "the left operand"), self.value(b, "the right operand")
        if x.type == NONE:
            x, y = y, x
        if y.type == NONE:
            if isinstance(x.type, OptionalType):
                return self.op("py::is_none", x)
            return Static(x.type == NONE)
        if x.type in (INT, BOOL, STR) or str(x.type) in ("dtype", "device"):
            return self.truth(self.relation(ast.Eq, x, y)) if x.type == y.type else Static(False)
        if isinstance(x.type, OptionalType) and not isinstance(y.type, OptionalType):
            inner = x.type.element
            none = self.op("py::is_none", x)
            return self.choose(
                none, lambda: self.constant(False), lambda: self.as_bool(self.identical(self.emit("prim::Unwrap", (x,), (inner,)).output, y))
            )
        if isinstance(y.type, OptionalType) and not isinstance(x.type, OptionalType):
            return self.identical(y, x)
        if x.type in (FLOAT,) or isinstance(x.type, TupleType):
            self.type_error(f"'is' of {x.type} has no meaning in a script", hint="use ==")
        return self.op("py::is", x, y)

    def contains(self, container: Result, item: Result) -> Value | Static:
        """``item in container``."""
        if isinstance(container, Static) and isinstance(item, Static) and not _at_run_time(container) and not _at_run_time(item):
            return Static(item.value in container.value)
        holder = self.value(container, "the container") if not isinstance(container, Static) or _at_run_time(container) else self.materialise(container, "the container")
        if absent(holder.type):
            holder = self.present(holder, "TypeError", "argument of type 'NoneType' is not iterable")
        value = self.value(item, "the item")
        if isinstance(holder.type, TupleType):
            return self.in_tuple(holder, value, 0)
        if isinstance(holder.type, ClassType):
            if self.find_method(holder.type, "__contains__") is None:
                self.type_error(f"'in' is not possible: {holder.type} has no __contains__")
            return self.truth(self.call_method(holder, "__contains__", [value], {}))
        if isinstance(holder.type, ListType) and isinstance(holder.type.element, ClassType | TupleType | OptionalType):
            return self.in_list(holder, value)
        if isinstance(holder.type, ListType | DictType):
            wanted = holder.type.element if isinstance(holder.type, ListType) else holder.type.key
            if NEVER not in wanted.walk() and not self.convertible(value.type, wanted) and not isinstance(value.type, TupleType | OptionalType):
                if {value.type, wanted} == {INT, FLOAT} and isinstance(holder.type, ListType):
                    return self.in_list(holder, value)
                return Static(False)
            if isinstance(value.type, OptionalType) and not isinstance(wanted, OptionalType):
                inner = value.type.element
                none = self.op("py::is_none", value)
                return self.choose(
                    none, lambda: self.constant(False), lambda: self.as_bool(self.contains(holder, self.emit("prim::Unwrap", (value,), (inner,)).output))
                )
        found = self.try_op("py::contains", [holder, value], rows=[r for r in overloads("py::contains") if r.schema.overload != "tuple"])
        if found is None:
            self.type_error(f"'in' is not possible between {value.type} and {holder.type}")
        return found

    def in_tuple(self, holder: Value, value: Value, at: int) -> Value | Static:
        """Compares with one element after the other."""
        assert isinstance(holder.type, TupleType)
        if at == len(holder.type.elements):
            return Static(False)
        equal = self.truth(self.relation(ast.Eq, self.part(holder, at), value))
        if isinstance(equal, Static):
            return equal if equal.value else self.in_tuple(holder, value, at + 1)
        if at == len(holder.type.elements) - 1:
            return equal
        return self.choose(equal, lambda: self.constant(True), lambda: self.as_bool(self.in_tuple(holder, value, at + 1)))

    def in_list(self, holder: Value, value: Value) -> Value | Static:
        """Looks an item up in a list by ``==`` of the language."""
        raise NotImplementedError

    # ---- and, or, the ternary ---------------------------------------------------------------------------------------

    def bool_expression(self, node: ast.BoolOp) -> Result:
        """``a and b``, ``a or b``: Python's values."""
        return self.bool_values(isinstance(node.op, ast.And), list(node.values))

    def bool_values(self, conjunction: bool, nodes: list[ast.expr]) -> Result:
        """The value of the operands from the first of `nodes` on."""
        if len(nodes) == 1:
            return self.expr(nodes[0])
        if all(self.is_boolean(n) for n in nodes[:-1]):
            cond = self.test(nodes[0])
            first: Result | None = None
        else:
            first = self.expr(nodes[0])
            cond = Condition(self.truth(first))
        if isinstance(cond.truth, Static):
            if bool(cond.truth.value) is conjunction:
                self.assume(cond.when_true if conjunction else cond.when_false)
                return self.bool_values(conjunction, nodes[1:])
            return first if first is not None else self.constant(bool(cond.truth.value))

        def short() -> Result:
            if first is None:
                return self.constant(not conjunction)
            if not conjunction and isinstance(first, Value) and isinstance(first.type, OptionalType):
                return self.emit("prim::Unwrap", (first,), (first.type.element,)).output  # it is true, hence not None
            return first

        def long() -> Result:
            self.assume(cond.when_true if conjunction else cond.when_false)
            return self.bool_values(conjunction, nodes[1:])

        names = walrus_names(*nodes[1:])
        return self.choose(cond.truth, long if conjunction else short, short if conjunction else long, names)

    def is_boolean(self, node: ast.expr) -> bool:
        """Whether an expression is a bool whatever its operands (so that its value is that of its test)."""
        if isinstance(node, ast.Compare):
            return all(isinstance(o, ast.Is | ast.IsNot | ast.In | ast.NotIn) for o in node.ops)
        return (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)) or (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        )

    def ternary(self, node: ast.IfExp) -> Result:
        """``a if test else b``."""
        cond = self.test(node.test)
        if isinstance(cond.truth, Static):
            self.assume(cond.when_true if cond.truth.value else cond.when_false)
            return self.expr(node.body if cond.truth.value else node.orelse)

        def then() -> Result:
            self.assume(cond.when_true)
            return self.expr(node.body)

        def other() -> Result:
            self.assume(cond.when_false)
            return self.expr(node.orelse)

        return self.choose(cond.truth, then, other, walrus_names(node.body, node.orelse))

    # ---- conditions -------------------------------------------------------------------------------------------------

    def condition(self, node: ast.expr) -> tuple[Result, Callable[[], None], Callable[[], None]]:
        """An expression as a truth value, and what to do where it holds or not."""
        cond = self.test(node)
        return cond.truth, lambda: self.assume(cond.when_true), lambda: self.assume(cond.when_false)

    def assume(self, facts: Sequence[Fact]) -> None:
        """Narrows the names that facts speak of."""
        for fact in facts:
            if fact.name.startswith(PREFIX):
                if self.is_current(fact.value) and fact.type != NONE:
                    self.note_path(fact.name, self.emit("prim::Unwrap", (fact.value,), (fact.type,)).output)
                continue
            if self.env.get(fact.name) is not fact.value:
                continue
            if fact.type == NONE:
                self.env[fact.name] = self.none()
            elif isinstance(fact.value.type, OptionalType):
                self.env[fact.name] = self.emit("prim::Unwrap", (fact.value,), (fact.type,)).output

    def test(self, node: ast.expr) -> Condition:
        """An expression as a condition."""
        with self.at(node):
            if isinstance(node, ast.BoolOp):
                return self.test_bool(isinstance(node.op, ast.And), list(node.values))
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
                inner = self.test(node.operand)
                return Condition(self.negate(inner.truth), inner.when_false, inner.when_true)
            if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot):
                return self.test_none(node)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                return self.test_instance(node)
            value = self.expr(node)
            name = self.name_of(node)
            facts = []
            if name and isinstance(value, Value) and isinstance(value.type, OptionalType):
                facts.append(Fact(name, value, value.type.element))
            return Condition(self.truth(value), facts)

    def name_of(self, node: ast.expr) -> str:
        """The name, or the key of the attribute path, that an expression reads; '' for any other expression."""
        if isinstance(node, ast.NamedExpr):
            node = node.target
        return node.id if isinstance(node, ast.Name) else self.path_of(node)

    def test_bool(self, conjunction: bool, nodes: list[ast.expr]) -> Condition:
        """``a and b`` or ``a or b`` as a condition: facts of all operands hold together on one side."""
        first = self.test(nodes[0])
        if len(nodes) == 1:
            return first
        if isinstance(first.truth, Static):
            if bool(first.truth.value) is not conjunction:
                return first
            self.assume(first.when_true if conjunction else first.when_false)
            return self.test_bool(conjunction, nodes[1:])
        rest: list[Condition] = []

        def long() -> Result:
            self.assume(first.when_true if conjunction else first.when_false)
            rest.append(self.test_bool(conjunction, nodes[1:]))
            return self.as_bool(rest[0].truth)

        def short() -> Result:
            return self.constant(not conjunction)

        truth = self.choose(first.truth, long if conjunction else short, short if conjunction else long, walrus_names(*nodes[1:]))
        if conjunction:
            return Condition(truth, [*first.when_true, *(rest[0].when_true if rest else [])])
        return Condition(truth, [], [*first.when_false, *(rest[0].when_false if rest else [])])

    def test_none(self, node: ast.Compare) -> Condition:
        """``x is None`` and ``x is not None``."""
        value, other = self.expr(node.left), self.expr(node.comparators[0])
        truth = self.identical(value, other)
        name = self.name_of(node.left)
        present: list[Fact] = []
        absent: list[Fact] = []
        other_none = (isinstance(other, Value) and other.type == NONE) or (isinstance(other, Static) and other.value is None)
        if name and other_none and isinstance(value, Value) and isinstance(value.type, OptionalType):
            present.append(Fact(name, value, value.type.element))
            absent.append(Fact(name, value, NONE))
        if isinstance(node.ops[0], ast.IsNot):
            return Condition(self.negate(truth), present, absent)
        return Condition(truth, absent, present)

    def test_instance(self, node: ast.Call) -> Condition:
        """``isinstance(x, T)``."""
        raise NotImplementedError


def _at_run_time(static: Static) -> bool:
    return hasattr(static.value, "items") and isinstance(static.value, Parts) or type(static.value).__name__ == "RangeValue"


def _python_name(type: Type) -> str:
    if isinstance(type, ListType):
        return "list"
    if isinstance(type, DictType):
        return "dict"
    if isinstance(type, TupleType):
        return "tuple"
    if isinstance(type, TensorType):
        return "Tensor"
    if isinstance(type, OptionalType):
        return f"Optional[{_python_name(type.element)}]"
    return "NoneType" if type == NONE else str(type)


python_name = _python_name
__all__ = ["BINARY", "Condition", "Fact", "Left", "Operators", "ScriptTypeError", "python_name", "suppress"]
_unused: Any = None
