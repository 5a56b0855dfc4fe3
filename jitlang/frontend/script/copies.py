"""The module ``copy`` in scripts.

In: calls of ``copy.copy`` and ``copy.deepcopy``. Out: new lists and dicts. What is held twice is copied once, as in Python; objects
and tensors have no deep copy in a script.
"""

from __future__ import annotations

import dataclasses

from jitlang.frontend.emitter import Result
from jitlang.frontend.script.sequences import Sequences
from jitlang.ir.graph import Value
from jitlang.types import BOOL, DEVICE, DTYPE, FLOAT, INT, NONE, STR, DictType, ListType, OptionalType, TensorType, TupleType, Type

_PLAIN = (INT, FLOAT, BOOL, STR, NONE, DTYPE, DEVICE)


@dataclasses.dataclass(frozen=True)
class Memo:
    """The lists or dicts of one type that have been copied so far, and their copies: two lists."""

    originals: Value
    copies: Value


class Copies(Sequences):
    """Copies of containers."""

    def shallow_copy(self, value: Value) -> Result:
        """``copy.copy(value)``."""
        if isinstance(value.type, ListType | DictType):
            return self.op("py::copy", value)
        if value.type in _PLAIN or isinstance(value.type, TupleType):
            return value
        self.type_error(f"copy() of {value.type} is not possible in a script", hint="x.clone()" if isinstance(value.type, TensorType) else "")

    def deep_copy(self, value: Value) -> Result:
        """``copy.deepcopy(value)``."""
        inner = [t for t in value.type.walk() if isinstance(t, ListType | DictType)]
        memos: dict[Type, Memo] = {t: Memo(*(self.emit("prim::List", (), (ListType(t),)).output for _ in range(2))) for t in inner if t is not value.type}
        return self.copied(value, memos)

    def copied(self, value: Value, memos: dict[Type, Memo]) -> Value:
        """A deep copy; what `memos` know is not copied again."""
        type = value.type
        if type in _PLAIN:
            return value
        if isinstance(type, TupleType):
            parts = [self.copied(p, memos) for p in self.parts_of(value)]
            return self.emit("prim::Tuple", parts, (type,)).output
        if isinstance(type, OptionalType):
            if type.element in _PLAIN:
                return value
            return self.choose(
                self.op("py::is_none", value),
                lambda: value,
                lambda: self.convert(self.copied(self.emit("prim::Unwrap", (value,), (type.element,)).output, memos), type, "the copy"),
            )
        if not isinstance(type, ListType | DictType):
            self.type_error(f"deepcopy() of {type} is not possible in a script", hint="x.clone()" if isinstance(type, TensorType) else "")
        memo = memos.get(type)
        return self.copied_items(value, memos) if memo is None else self.copied_once(value, memo, memos)

    def copied_once(self, value: Value, memo: Memo, memos: dict[Type, Memo]) -> Value:
        """The copy that has been made of this very list or dict, else a new one."""
        found = self.fresh("found")
        self.env[found] = self.constant(-1)

        def look(params: list[Value]) -> None:
            def hit() -> None:
                self.env[found] = params[0]
                self.leave_loop()

            known = self.op("py::is", self.op("py::getitem", memo.originals, params[0]), value)
            self.branch(known, hit, lambda: None, {found}, frozenset())

        self.loop("prim::For", (self.constant(0), self.op("py::len", memo.originals), self.constant(1)), (INT,), [found], look)
        at = self.entry(found, pop=True)

        def make() -> Value:
            made = self.copied_items(value, memos)
            self.append(memo.originals, value)
            self.append(memo.copies, made)
            return made

        return self.choose(self.op("py::lt", at, self.constant(0)), make, lambda: self.op("py::getitem", memo.copies, at))

    def copied_items(self, value: Value, memos: dict[Type, Memo]) -> Value:
        """A new list or dict of copies."""
        type = value.type
        if all(t in _PLAIN for t in type.children()):
            return self.op("py::copy", value)
        if isinstance(type, ListType):
            made = self.emit("prim::List", (), (type,)).output
            self.for_each(self.iterate_value(value, "the list"), lambda i: self.append(made, self.copied(self.value(i, "an item"), memos)), [])
            return made
        made = self.emit("prim::Dict", (), (type,)).output

        def add(params: list[Value]) -> None:
            key = self.op("py::getitem", keys, params[0])
            self.op("py::setitem", made, key, self.copied(self.op("py::getitem", value, key), memos))

        keys = self.op("py::keys", value)
        self.loop("prim::For", (self.constant(0), self.op("py::len", keys), self.constant(1)), (INT,), [], add)
        return made
