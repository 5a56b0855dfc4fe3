"""Makes a failing program small.

In: the text of a program and a test that says whether a text still fails in the same way. Out: a smaller text that does. Tried are, again and again
until nothing helps: statements left out, blocks replaced by their bodies, expressions replaced by their parts or by a literal.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

Fails = Callable[[str], bool]


def shrunk(text: str, fails: Fails, attempts: int = 400) -> str:
    """The smallest text found within so many attempts."""
    left = attempts
    while left > 0:
        for candidate in candidates(text):
            left -= 1
            if len(candidate) < len(text) and fails(candidate):
                text = candidate
                break
            if left <= 0:
                break
        else:
            break
    return text


def candidates(text: str) -> Iterator[str]:
    """Smaller programs, the much smaller ones first."""
    tree = ast.parse(text)
    for at, statement in enumerate(tree.body):
        if isinstance(statement, ast.FunctionDef) and statement.name not in ("main", "arguments"):
            yield _without(tree, at)
    for count in (4, 1):
        yield from _statements(tree, count)
    yield from _expressions(tree)


def _without(tree: ast.Module, at: int) -> str:
    return ast.unparse(ast.Module([s for i, s in enumerate(tree.body) if i != at], []))


def _walk(tree: ast.AST) -> list[ast.AST]:
    """The nodes of all functions but `arguments`, which stays as it is."""
    functions = [f for f in getattr(tree, "body", []) if isinstance(f, ast.FunctionDef) and f.name != "arguments"]
    return [n for f in functions for n in ast.walk(f)]


def _blocks(tree: ast.AST) -> list[tuple[ast.AST, str]]:
    found = []
    for node in _walk(tree):
        for field in ("body", "orelse"):
            if isinstance(getattr(node, field, None), list) and not isinstance(node, ast.Module):
                found.append((node, field))
    return found


def _statements(tree: ast.Module, count: int) -> Iterator[str]:
    for at, (node, field) in enumerate(_blocks(tree)):
        size = len(getattr(node, field))
        for begin in range(size - count, -1, -1):
            made = copy.deepcopy(tree)
            holder, name = _blocks(made)[at]
            block = getattr(holder, name)
            removed = block[begin : begin + count]
            bodies = [removed[0].body, removed[0].body + getattr(removed[0], "orelse", [])] if count == 1 and hasattr(removed[0], "body") else []
            for inside in [[], *bodies]:
                rest = block[:begin] + inside + block[begin + count :]
                setattr(holder, name, rest or ([ast.Pass()] if name == "body" else []))
                yield _text(made)


def _text(tree: ast.AST) -> str:
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    except (AttributeError, ValueError):
        return " " * 100_000


def _parts(node: ast.expr) -> list[ast.expr]:
    inside = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr) and not isinstance(n, ast.Name | ast.Constant)]
    names = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.Name | ast.Constant)]
    plain: list[ast.expr] = [ast.Constant(v) for v in (1, 0.5, "a", True)]
    return inside + names + plain


def _expressions(tree: ast.Module) -> Iterator[str]:
    spots = [i for i, n in enumerate(_walk(tree)) if isinstance(n, ast.expr) and not isinstance(n, ast.Name | ast.Constant)]
    for spot in spots:
        node = _walk(tree)[spot]
        assert isinstance(node, ast.expr)
        for at in range(len(_parts(node))):
            made = copy.deepcopy(tree)
            target = _walk(made)[spot]
            assert isinstance(target, ast.expr)
            yield _text(_Replace(target, _parts(target)[at]).visit(made))


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        """The node, or what takes its place."""
        if node is self.old:
            return self.new
        found: ast.AST = self.generic_visit(node)
        return found
