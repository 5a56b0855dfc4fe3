"""What loops run over: how long each kind of iterable is, and what stands at each place.

In: values. Out: `Items`, which `jitlang.frontend.script.iteration` makes loops of.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jitlang.frontend.emitter import Result, Static
from jitlang.frontend.script.statics import Parts
from jitlang.ir.graph import Value
from jitlang.types import INT, ListType

if TYPE_CHECKING:
    from jitlang.frontend.script.iteration import Iteration


class Items:
    """What a loop runs over: how long it is, and what stands at each place."""

    unrolled: Sequence[Result] | None = None  # the items, where their number is known and they have no common type
    changes: Value | None = None  # a list or dict whose length the loop may change

    def length(self, e: Iteration) -> Value:
        """How many items there are, at that moment."""
        raise NotImplementedError

    def item(self, e: Iteration, index: Value) -> Result:
        """The item at a place within the length."""
        raise NotImplementedError

    def resizable(self) -> list[Value]:
        """The lists and dicts whose length this depends on."""
        return [self.changes] if self.changes is not None else []

    def watch(self, e: Iteration) -> None:
        """What a loop that may change those lengths does before each iteration, and before it ends."""

    def indexable(self, e: Iteration) -> Items | None:
        """The same with items that a run-time index reaches; None where items have different types."""
        return self


@dataclasses.dataclass(eq=False)
class Ranged(Items):
    """``range(start, stop, step)``."""

    start: Value
    stop: Value
    step: Value

    def length(self, e: Iteration) -> Value:
        """How many items there are."""
        return e.op("py::range_length", self.start, self.stop, self.step)

    def item(self, e: Iteration, index: Value) -> Result:
        """The item at a place."""
        return e.op("py::add", self.start, e.op("py::mul", index, self.step))

    def simple(self) -> bool:
        """Whether item i is i."""
        return self.start.is_constant and self.start.constant == 0 and self.step.is_constant and self.step.constant == 1


@dataclasses.dataclass(eq=False)
class Indexed(Items):
    """A list or a string."""

    value: Value

    def __post_init__(self) -> None:
        self.changes = self.value if isinstance(self.value.type, ListType) else None

    def length(self, e: Iteration) -> Value:
        """How many items there are."""
        return e.op("py::len", self.value)

    def item(self, e: Iteration, index: Value) -> Result:
        """The item at a place."""
        return e.op("py::getitem", self.value, index)


@dataclasses.dataclass(eq=False)
class Rows(Items):
    """A tensor, along its first dimension."""

    value: Value

    def length(self, e: Iteration) -> Value:
        """How many items there are."""
        return e.op("aten::size", self.value, e.constant(0))

    def item(self, e: Iteration, index: Value) -> Result:
        """The item at a place."""
        return e.op("aten::select", self.value, e.constant(0), index)


@dataclasses.dataclass(eq=False)
class Keyed(Items):
    """A dict: its keys as they are when the loop begins; the loop must not change their number."""

    value: Value
    keys: Value
    what: str  # keys, values or items

    def __post_init__(self) -> None:
        self.changes = self.value

    def length(self, e: Iteration) -> Value:
        """How many items there are."""
        return e.op("py::len", self.keys)

    def item(self, e: Iteration, index: Value) -> Result:
        """The item at a place."""
        key = e.op("py::getitem", self.keys, index)
        if self.what == "keys":
            return key
        value = e.op("py::getitem", self.value, key)
        return value if self.what == "values" else Static(Parts([key, value]))

    def watch(self, e: Iteration) -> None:
        """Raises RuntimeError where the number of keys has changed."""
        same = e.op("py::eq", e.op("py::len", self.value), e.op("py::len", self.keys))
        e.when(e.op("py::not", same), lambda: e.raise_error("RuntimeError", "dictionary changed size during iteration"))


@dataclasses.dataclass(eq=False)
class Fixed(Items):
    """Items known one by one: a tuple, a module list, an enum class."""

    items: Sequence[Result]

    def __post_init__(self) -> None:
        self.unrolled = self.items

    def length(self, e: Iteration) -> Value:
        """How many items there are."""
        return e.constant(len(self.items))

    def item(self, e: Iteration, index: Value) -> Result:
        """The item at a place."""
        if index.is_constant:
            found: Result = self.items[index.constant]
            return found
        raise AssertionError("an unrolled loop has constant indices")

    def indexable(self, e: Iteration) -> Items | None:
        """With a run-time index, if possible."""
        items = [i for i in self.items if isinstance(i, Value)]
        if len(items) < len(self.items) or len({e.generalised(i.type) for i in items}) != 1:
            return None
        return Indexed(e.list_of(items))


@dataclasses.dataclass(eq=False)
class Enumerated(Items):
    """``enumerate(inner, start)``."""

    inner: Items
    start: Value

    def __post_init__(self) -> None:
        if self.inner.unrolled is not None:
            self.unrolled = self.inner.unrolled

    def length(self, e: Iteration) -> Value:
        """How many items there are."""
        return self.inner.length(e)

    def item(self, e: Iteration, index: Value) -> Result:
        """The item at a place."""
        zero = self.start.is_constant and self.start.constant == 0
        return Static(Parts([index if zero else e.op("py::add", index, self.start), self.inner.item(e, index)]))

    def resizable(self) -> list[Value]:
        """The lists and dicts whose length this depends on."""
        return self.inner.resizable()

    def watch(self, e: Iteration) -> None:
        """As `inner`."""
        self.inner.watch(e)

    def indexable(self, e: Iteration) -> Items | None:
        """With a run-time index, if possible."""
        inner = self.inner.indexable(e)
        return None if inner is None else Enumerated(inner, self.start)


@dataclasses.dataclass(eq=False)
class Zipped(Items):
    """``zip(a, b, …)``: as long as the shortest."""

    parts: Sequence[Items]
    strict: bool = False

    def __post_init__(self) -> None:
        fixed = [p.unrolled for p in self.parts if p.unrolled is not None]
        if fixed and len(fixed) == len(self.parts):
            self.unrolled = [Static(None)] * min(map(len, fixed))

    def length(self, e: Iteration) -> Value:
        """How many items there are."""
        lengths = [p.length(e) for p in self.parts]
        shortest = lengths[0]
        for other in lengths[1:]:
            if self.strict:
                uneven = e.op("py::ne", shortest, other)
                e.when(e.as_bool(e.truth(uneven)), lambda: e.raise_error("ValueError", "zip() arguments have different lengths"))
            shortest = e.op("py::min", shortest, other)
        return shortest

    def item(self, e: Iteration, index: Value) -> Result:
        """The item at a place."""
        return Static(Parts([p.item(e, index) for p in self.parts]))

    def resizable(self) -> list[Value]:
        """The lists and dicts whose length this depends on."""
        return [v for p in self.parts for v in p.resizable()]

    def watch(self, e: Iteration) -> None:
        """As each of the parts."""
        for part in self.parts:
            part.watch(e)

    def indexable(self, e: Iteration) -> Items | None:
        """With a run-time index, if possible."""
        parts = [p.indexable(e) for p in self.parts]
        return None if None in parts else Zipped([p for p in parts if p is not None], self.strict)


@dataclasses.dataclass(eq=False)
class Reversed(Items):
    """``reversed(inner)``: the length is that at the beginning."""

    inner: Items
    size: Value

    def __post_init__(self) -> None:
        if self.inner.unrolled is not None:
            self.unrolled = list(reversed(self.inner.unrolled))

    def length(self, e: Iteration) -> Value:
        """How many items there are."""
        return self.size

    def item(self, e: Iteration, index: Value) -> Result:
        """The item at a place."""
        return self.inner.item(e, e.op("py::sub", e.op("py::sub", self.size, e.constant(1)), index))

    def indexable(self, e: Iteration) -> Items | None:
        """With a run-time index, if possible."""
        inner = self.inner.indexable(e)
        return None if inner is None else Reversed(inner, self.size)


@dataclasses.dataclass(eq=False)
class Columns(Items):
    """``zip(*rows)`` of a list of lists: its columns, as lists, because their length is not known before."""

    rows: Value

    def length(self, e: Iteration) -> Value:
        """The length of the shortest row."""
        shortest = e.fresh("shortest")
        e.env[shortest] = e.constant(0)
        count = e.op("py::len", self.rows)

        def body(params: list[Value]) -> None:
            size = e.op("py::len", e.op("py::getitem", self.rows, params[0]))
            least = e.op("py::min", e.entry(shortest), size)
            e.env[shortest] = e.choose(e.op("py::eq", params[0], e.constant(0)), lambda: size, lambda: least)

        e.loop("prim::For", (e.constant(0), count, e.constant(1)), (INT,), [shortest], body)
        return e.entry(shortest, pop=True)

    def item(self, e: Iteration, index: Value) -> Result:
        """The column at a place."""
        made = e.empty_list()
        count = e.op("py::len", self.rows)

        def body(params: list[Value]) -> None:
            e.append(made, e.op("py::getitem", e.op("py::getitem", self.rows, params[0]), index))

        e.loop("prim::For", (e.constant(0), count, e.constant(1)), (INT,), [], body)
        return made


class LazyIterable:
    """An iterable at compile time: what ``zip(…)``, ``enumerate(…)``, ``reversed(…)``, ``d.items()`` stand for as values."""

    def __init__(self, iterable: Items) -> None:
        self.iterable = iterable


class IteratorValue(LazyIterable):
    """``iter(…)``: may be looped over or passed on where it stands; it has no place to keep how far it has come."""
