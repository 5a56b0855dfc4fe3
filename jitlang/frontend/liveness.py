"""Which local names are still to be read: a backward analysis of a function's statements.

In: a list of ``ast`` statements. Out: for every statement the names that may be read after it, and for every loop the
names that may be read at its head. The emitter merges and carries only those, so the IR has no dead merges.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

Names = frozenset[str]
_NOTHING: Names = frozenset()


def reads(node: ast.AST | None) -> Names:
    """All names read anywhere in an expression or statement, nested functions included."""
    if node is None:
        return _NOTHING
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


def stores(node: ast.AST) -> list[str]:
    """The names bound by a target, a statement or an expression (walrus), in order; not those of nested functions."""
    found: dict[str, None] = {}
    _stores(node, found)
    return list(found)


def _stores(node: ast.AST, found: dict[str, None]) -> None:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
        found[node.id] = None
    elif isinstance(node, ast.FunctionDef | ast.ClassDef):
        found[node.name] = None
        return
    elif isinstance(node, ast.Lambda):
        return
    elif isinstance(node, ast.ExceptHandler) and node.name:
        found[node.name] = None
    elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
        found[node.name] = None
    elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        # The comprehension's own variables are local to it; a walrus inside binds outside.
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                _stores(inner.target, found)
        return
    for child in ast.iter_child_nodes(node):
        _stores(child, found)


def assigned(statements: Iterable[ast.stmt]) -> list[str]:
    """The names bound by these statements, in order of first appearance."""
    found: dict[str, None] = {}
    for statement in statements:
        _stores(statement, found)
    return list(found)


class Liveness:
    """The analysis of one function body.

    `after[statement]` are the names that may be read after a statement; `head[loop]` those that may be read when
    a loop's body or test begins anew.
    """

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.after: dict[ast.stmt, Names] = {}
        self.head: dict[ast.stmt, Names] = {}
        self._block(body, _NOTHING, _NOTHING, _NOTHING)

    def _block(self, body: Sequence[ast.stmt], out: Names, on_break: Names, on_continue: Names) -> Names:
        for statement in reversed(body):
            self.after[statement] = self.after.get(statement, _NOTHING) | out
            out = self._statement(statement, out, on_break, on_continue)
        return out

    def _statement(self, s: ast.stmt, out: Names, on_break: Names, on_continue: Names) -> Names:
        if isinstance(s, ast.If):
            then = self._block(s.body, out, on_break, on_continue)
            other = self._block(s.orelse, out, on_break, on_continue)
            return (then | other) - frozenset(stores(s.test)) | reads(s.test)
        if isinstance(s, ast.While | ast.For):
            return self._loop(s, out, on_break, on_continue)
        if isinstance(s, ast.Return | ast.Raise):
            return reads(s)
        if isinstance(s, ast.Break):
            return on_break
        if isinstance(s, ast.Continue):
            return on_continue
        if isinstance(s, ast.With):
            bound = {n for item in s.items for n in stores(item)}
            return self._block(s.body, out, on_break, on_continue) - frozenset(bound) | frozenset().union(*(reads(i) for i in s.items))
        if isinstance(s, ast.Try | ast.Match):
            return self._conservative(s, out | on_break | on_continue)
        used = reads(s)
        if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name):
            used |= {s.target.id}
        return out - frozenset(stores(s)) | used

    def _loop(self, s: ast.While | ast.For, out: Names, on_break: Names, on_continue: Names) -> Names:
        orelse = self._block(s.orelse, out, on_break, on_continue)
        head = orelse
        while True:
            body = self._block(s.body, head, out, head)
            if isinstance(s, ast.While):
                new = head | body | orelse | reads(s.test)
            else:
                new = head | (body - frozenset(stores(s.target))) | orelse | reads(s.target)
            if new == head:
                break
            head = new
        self.head[s] = head
        return head if isinstance(s, ast.While) else head | reads(s.iter)

    def _conservative(self, s: ast.stmt, out: Names) -> Names:
        """For statements whose parts may be left anywhere: everything read inside, and everything live behind, is live throughout."""
        live = out | reads(s)
        for inner in ast.walk(s):
            if isinstance(inner, ast.stmt):
                self.after[inner] = self.after.get(inner, _NOTHING) | live
                if isinstance(inner, ast.While | ast.For):
                    self.head[inner] = self.head.get(inner, _NOTHING) | live
        return live


def walrus_names(*nodes: ast.AST | None) -> list[str]:
    """The names that walrus operators in these expressions bind."""
    return list(dict.fromkeys(n for node in nodes if node is not None for n in stores(node)))
