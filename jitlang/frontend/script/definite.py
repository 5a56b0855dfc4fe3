"""Which attributes ``__init__`` certainly sets before anything can read them.

In: a class. Out: names. An attribute that is not among them may be missing at run time; it is kept as an Optional, and reading it raises
AttributeError while it is missing, as in Python. Methods that ``__init__`` calls on the object are looked into.
"""

from __future__ import annotations

import ast
import dataclasses
import types
from collections.abc import Sequence

from jitlang.errors import CompileError
from jitlang.frontend.script.functions import function_info

MAX_DEPTH = 8


def certain_attributes(cls: type) -> set[str]:
    """The attributes that every object of `cls` has when its construction is over, and that nothing reads before."""
    found = _Walk(cls)
    if dataclasses.is_dataclass(cls):
        given = {f.name for f in dataclasses.fields(cls) if f.init or f.default is not dataclasses.MISSING or f.default_factory is not dataclasses.MISSING}
        found.certain |= given
    for name in ("__init__", "__post_init__") if dataclasses.is_dataclass(cls) else ("__init__",):
        found.call(name, cls.__mro__)
    certain = found.certain - found.early
    return certain if found.complete is None else certain & found.complete


class _Walk:
    """Walks ``__init__`` in the order of execution. `early` are attributes that may be read before they are set."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.certain: set[str] = set()
        self.early: set[str] = set()
        self.complete: set[str] | None = None  # what was set when the object was first passed on
        self.ends: list[set[str]] = []
        self.depth = 0
        self.this = "self"
        self.owner = cls

    def call(self, name: str, classes: Sequence[type]) -> None:
        """A call of the method `name` of the first of `classes` that has one."""
        for cls in classes:
            if name in cls.__dict__:
                self.method(cls.__dict__[name], cls)
                return

    def method(self, function: object, owner: type) -> None:
        """The body of a method that is called on the object."""
        if not isinstance(function, types.FunctionType) or self.depth >= MAX_DEPTH:
            return
        try:
            info = function_info(function)
        except CompileError:  # made by @dataclass: its fields are known already
            return
        if not info.parameters:
            return
        saved = self.this, self.ends, self.owner
        self.this, self.ends, self.owner = info.parameters[0].name, [], owner
        self.depth += 1
        falls = self.block(info.body)
        self.depth -= 1
        exits = [*self.ends, *([self.certain] if falls else [])]
        self.certain = set.intersection(*exits) if exits else self.certain
        self.this, self.ends, self.owner = saved

    def block(self, statements: Sequence[ast.stmt]) -> bool:
        """Statements in order; whether control gets behind them."""
        return all(self.statement(s) for s in statements)

    def statement(self, s: ast.stmt) -> bool:
        """One statement; whether control gets behind it."""
        if isinstance(s, ast.If):
            self.read(s.test)
            before = set(self.certain)
            ends: list[set[str]] = []
            for side in (s.body, s.orelse):
                self.certain = set(before)
                if self.block(side):
                    ends.append(self.certain)
            self.certain = set.intersection(*ends) if ends else before
            return bool(ends)
        if isinstance(s, ast.For | ast.While):
            self.read(s.iter if isinstance(s, ast.For) else s.test)
            before = set(self.certain)
            self.block(s.body)
            self.certain = before
            return self.block(s.orelse)
        if isinstance(s, ast.Raise):
            return False
        if isinstance(s, ast.Return):
            if s.value is not None:
                self.read(s.value)
            self.ends.append(set(self.certain))
            return False
        if isinstance(s, ast.Break | ast.Continue):
            return False
        if isinstance(s, ast.Assign | ast.AnnAssign | ast.AugAssign):
            self.assignment(s)
            return True
        for child in ast.iter_child_nodes(s):
            self.read(child)
        return True

    def assignment(self, s: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        """``self.x = value``."""
        if s.value is None:
            return
        self.read(s.value)
        targets = s.targets if isinstance(s, ast.Assign) else [s.target]
        for target in targets:
            if isinstance(s, ast.AugAssign):
                self.read(target)
            self.store(target)

    def store(self, target: ast.expr) -> None:
        """One target."""
        if isinstance(target, ast.Tuple | ast.List):
            for e in target.elts:
                self.store(e)
        elif isinstance(target, ast.Starred):
            self.store(target.value)
        elif isinstance(target, ast.Attribute) and self.is_this(target.value):
            self.certain.add(target.attr)
        elif not isinstance(target, ast.Name):
            for child in ast.iter_child_nodes(target):
                self.read(child)

    def is_this(self, node: ast.AST) -> bool:
        """Whether an expression is the object itself."""
        return isinstance(node, ast.Name) and node.id == self.this

    def read(self, node: ast.AST) -> None:
        """An expression: attributes that it reads, methods that it calls."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            for arg in (*node.args, *(k.value for k in node.keywords)):
                self.read(arg)
            base, name = node.func.value, node.func.attr
            if self.is_this(base):
                self.call(name, self.cls.__mro__)
                return
            if isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "super":
                mro = self.cls.__mro__
                self.call(name, mro[mro.index(self.owner) + 1 :])
                return
            self.read(node.func)
            return
        if isinstance(node, ast.Attribute) and self.is_this(node.value):
            if node.attr not in self.certain:
                self.early.add(node.attr)
            return
        if self.is_this(node):
            self.complete = set(self.certain) if self.complete is None else self.complete & self.certain
            return
        for child in ast.iter_child_nodes(node):
            self.read(child)
