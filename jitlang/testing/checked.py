"""CPython with the integers of the language: the arithmetic of a module's text is wrapped so that a result outside 64 bits raises.

In: source text. Out: a syntax tree that CPython runs. The only changes are those that docs/deviations.md lists: the range of int, ``int ** int``,
and powers that would be complex.
"""

from __future__ import annotations

import ast
import math
from typing import Any

LOW, HIGH = -(2**63), 2**63 - 1


def checked(value: Any) -> Any:
    """`value`; OverflowError for an int outside 64 bits."""
    if type(value) is int and not LOW <= value <= HIGH:
        raise OverflowError("int out of range")
    if type(value) is tuple:
        return tuple(map(checked, value))
    return value


def power(a: Any, b: Any) -> Any:
    """``a ** b`` as the language has it."""
    if type(a) is int and type(b) is int:
        if b < 0:
            raise ValueError("negative exponent")
        if abs(a) > 1 and b > 64:
            raise OverflowError("int out of range")
    value = a**b
    if isinstance(value, complex):
        raise ValueError("negative number cannot be raised to a fractional power (the result is complex)")
    return checked(value)


def shifted(a: Any, b: Any) -> Any:
    """``a << b`` without making a huge int."""
    if type(a) is int and type(b) is int and a and b > 64:
        raise OverflowError("int out of range")
    return checked(a << b)


def total(items: Any, start: Any = 0) -> Any:
    """``sum``, whose result must fit; what it adds up on the way need not."""
    return checked(sum(items, start))


NAMES = {"_checked": checked, "_power": power, "_shifted": shifted, "sum": total}


class _Wrap(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow | ast.LShift):
            return _call("_power" if isinstance(node.op, ast.Pow) else "_shifted", node.left, node.right)
        return _call("_checked", node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return node if isinstance(node.op, ast.Not) else _call("_checked", node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
        return _call("_checked", node) if name in ("int", "round", "abs", "floor", "ceil", "divmod") else node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            return [node, ast.Expr(_call("_checked", ast.Name(node.target.id, ast.Load())))]
        if isinstance(node.target, ast.Attribute):
            # The attribute is left as it was where the result does not fit. A list is changed in place.
            number = _call("isinstance", _loaded(node.target), ast.Name("int", ast.Load()))
            return ast.If(number, [ast.Assign([node.target], _call("_checked", ast.BinOp(_loaded(node.target), node.op, node.value)))], [node])
        if isinstance(node.target.value, ast.Name | ast.Attribute) and _constant(node.target.slice):
            # The element may be left as it was: the check comes before it is written. A slice of a tensor has no such check.
            return ast.If(
                _call(
                    "isinstance",
                    node.target.value,
                    ast.Tuple([ast.Name("list", ast.Load()), ast.Name("dict", ast.Load())], ast.Load()),
                ),
                [ast.Assign([node.target], _call("_checked", ast.BinOp(_loaded(node.target), node.op, node.value)))],
                [node],
            )
        return node


def _constant(node: ast.expr) -> bool:
    return not any(isinstance(n, ast.Name) and n.id not in NAMES for n in ast.walk(node))


def _loaded(node: ast.Subscript | ast.Attribute) -> ast.Subscript | ast.Attribute:
    if isinstance(node, ast.Attribute):
        return ast.Attribute(node.value, node.attr, ast.Load())
    return ast.Subscript(node.value, node.slice, ast.Load())


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def checked_module(text: str, filename: str) -> dict[str, Any]:
    """Runs the text with checked arithmetic; its names."""
    tree = ast.parse(text, filename)
    keep = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "arguments"]
    tree.body = [n if n in keep else _Wrap().visit(n) for n in tree.body]
    names: dict[str, Any] = {**NAMES, "math": math, "__name__": "checked"}
    exec(compile(ast.fix_missing_locations(tree), filename, "exec"), names)  # a program of ours, not a user's
    return names
