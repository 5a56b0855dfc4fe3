"""Operators of expressions: arithmetic, comparison, and/or/not, the ternary, and what a condition says of optionals.

In: ``ast`` expressions and values. Out: nodes, with every conversion of mixed operands explicit.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import NoReturn

from jitlang.frontend.emitter import Result, Static
from jitlang.frontend.liveness import walrus_names
from jitlang.frontend.script.base import absent
from jitlang.frontend.script.class_types import compares
from jitlang.frontend.script.narrowing import Narrowing
from jitlang.frontend.script.statics import Callee, Parts
from jitlang.frontend.script.words import describe
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


@dataclasses.dataclass(frozen=True, eq=False)
class Choice(Callee):
    """One of two objects known at compile time, by a condition: ``f if test else g``."""

    condition: Value
    then: Result
    other: Result


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
        if isinstance(b, Value) and b.is_constant and b.type == INT and b.constant < 0 and isinstance(a, Value) and a.type in (INT, BOOL):
            return self.constant(float(b.constant))
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
        return self.plain_binary(symbol, name, x, y) or self.operand_error(symbol, x, y)

    def static_binary(self, symbol: str, a: Result, b: Result) -> Result | None:
        """Operations on objects known at compile time (flags, enum members)."""
        if isinstance(a, Static) and isinstance(b, Static) and not isinstance(a.value, Parts) and not isinstance(b.value, Parts):
            if type(a.value).__module__ != "builtins" and hasattr(type(a.value), "_member_map_"):
                from jitlang.frontend.script.fold import apply_binary

                return Static(apply_binary(symbol, a.value, b.value))
        return None

    def operand_error(self, symbol: str, x: Value, y: Value) -> NoReturn:
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
        if isinstance(operator, ast.In | ast.NotIn) and isinstance(node, ast.Set):  # looked into, and gone
            node = ast.copy_location(ast.Tuple(node.elts, ast.Load()), node)
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

    def of_choice(self, apply: Callable[[Result, Result], Value | Static | Result], a: Result, b: Result) -> Value | None:
        """``apply(a, b)`` on either side of a `Choice`; None where neither operand is one."""
        picked = a.value if isinstance(a, Static) else None
        if isinstance(picked, Choice):
            return self.either(picked, lambda side: apply(side, b))
        picked = b.value if isinstance(b, Static) else None
        return self.either(picked, lambda side: apply(a, side)) if isinstance(picked, Choice) else None

    def either(self, choice: Choice, apply: Callable[[Result], Value | Static | Result]) -> Value:
        """The truth of what `apply` makes of the side of a `Choice` that its condition says."""
        then, other = ((lambda side=side: self.as_bool(self.truth(apply(side)))) for side in (choice.then, choice.other))
        return self.choose(choice.condition, then, other)

    def relation(self, operator: type[ast.cmpop], a: Result, b: Result) -> Result:
        """``==``, ``<`` and so on."""
        chosen = self.of_choice(functools.partial(self.relation, operator), a, b)
        if chosen is not None:
            return chosen
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
        if name in ("eq", "ne") and x.type == y.type and isinstance(x.type, ListType | DictType) and compares(x.type):
            same = self.equal_containers(x, y)
            return same if name == "eq" else self.op("py::not", same)
        if isinstance(x.type, ListType) and name not in ("eq", "ne") and any(isinstance(t, ClassType) for t in x.type.walk()):
            self.type_error("lists of objects have no order in a script", hint="compare them item by item")
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
            left, right = (_python_name(v.type.element if isinstance(v.type, OptionalType) else v.type) for v in (x, y))
            head = f"'{symbol}' not supported between instances of"
            if NONE in (x.type, y.type):
                self.type_error(f"{head} '{left}' and '{right}'")
            x = self.present(x, "TypeError", f"{head} 'NoneType' and '{right}'")
            return self.related(symbol, name, swapped, x, self.present(y, "TypeError", f"{head} '{left}' and 'NoneType'"))
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
                lambda: self.related(symbol, name, swapped, self.emit("prim::Unwrap", (x,), (inner,)).output, self.emit("prim::Unwrap", (y,), (other,)).output),
            )
        return self.choose(
            none,
            lambda: self.constant(different),
            lambda: self.related(symbol, name, swapped, self.emit("prim::Unwrap", (x,), (inner,)).output, y),
        )

    def tuple_relation(self, symbol: str, name: str, swapped: str, x: Value, y: Value) -> Value:
        """Element by element; the first pair that differs decides."""
        return self.tuple_from(symbol, name, swapped, x, y, 0)

    def tuple_from(self, symbol: str, name: str, swapped: str, x: Value, y: Value, at: int) -> Value:
        """The relation of the elements from `at` on."""
        assert isinstance(x.type, TupleType)
        assert isinstance(y.type, TupleType)
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
        chosen = self.of_choice(self.identical, a, b)
        if chosen is not None:
            return chosen
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
            return self.choose(none, lambda: self.constant(False), lambda: self.as_bool(self.identical(self.emit("prim::Unwrap", (x,), (inner,)).output, y)))
        if isinstance(y.type, OptionalType) and not isinstance(x.type, OptionalType):
            return self.identical(y, x)
        if x.type in (FLOAT,) or isinstance(x.type, TupleType):
            self.type_error(f"'is' of {x.type} has no meaning in a script", hint="use ==")
        return self.op("py::is", x, y)

    def contains(self, container: Result, item: Result) -> Value | Static:
        """``item in container``."""
        chosen = self.of_choice(self.contains, container, item)
        if chosen is not None:
            return chosen
        known = self.in_static(container, item) if isinstance(container, Static) else None
        if known is not None:
            return known
        holder = (
            self.value(container, "the container")
            if not isinstance(container, Static) or _at_run_time(container)
            else self.materialise(container, "the container")
        )
        if absent(holder.type):
            holder = self.present(holder, "TypeError", "argument of type 'NoneType' is not iterable")
        value = self.value(item, "the item")
        if isinstance(holder.type, TupleType):
            return self.in_parts(self.parts_of(holder), value)
        if isinstance(holder.type, ClassType):
            if self.find_method(holder.type, "__contains__") is None:
                self.type_error(f"'in' is not possible: {holder.type} has no __contains__")
            return self.truth(self.call_method(holder, "__contains__", [value], {}))
        if isinstance(holder.type, ListType) and self.compares_in_script(holder.type.element):
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

    def in_parts(self, parts: Sequence[Result], item: Result) -> Value | Static:
        """Compares with one element of a tuple after the other."""
        if not parts:
            return Static(False)
        equal = self.truth(self.compare(ast.Eq(), parts[0], item))
        if isinstance(equal, Static):
            return equal if equal.value else self.in_parts(parts[1:], item)
        if len(parts) == 1:
            return equal
        return self.choose(equal, lambda: self.constant(True), lambda: self.as_bool(self.in_parts(parts[1:], item)))

    def in_static(self, container: Static, item: Result) -> Value | Static | None:
        """``item in container`` of one that is known at compile time, or whose items are; None where it becomes a value."""
        if isinstance(item, Static) and not _at_run_time(container) and not _at_run_time(item):
            return Static(item.value in container.value)
        if isinstance(container.value, Parts):
            return self.in_parts(container.value.items, item)
        if isinstance(container.value, dict) and not self.has_value(container.value):
            return self.in_parts([self.static(k) for k in container.value], item)
        return None

    def static(self, value: object) -> Result:
        """A Python object: a constant if it is a plain one, else a Static."""
        raise NotImplementedError

    def has_value(self, held: object) -> bool:
        """Whether a list or dict of the module can be a run-time value."""
        raise NotImplementedError

    def compares_in_script(self, element: Type) -> bool:
        """Whether items of that type are compared by code of the script, not by a row."""
        return isinstance(element, ClassType | TupleType | OptionalType) or compares(element)

    def in_list(self, holder: Value, value: Value) -> Value | Static:
        """Looks an item up in a list by ``==`` of the language."""
        raise NotImplementedError

    def equal_containers(self, x: Value, y: Value) -> Value:
        """Whether two lists or dicts have equal items by ``==`` of the language."""
        raise NotImplementedError


def _at_run_time(static: Static) -> bool:
    return (hasattr(static.value, "items") and isinstance(static.value, Parts)) or type(static.value).__name__ == "RangeValue"


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
__all__ = ["BINARY", "Operators", "python_name"]
