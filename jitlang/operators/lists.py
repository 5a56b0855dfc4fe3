"""Lists: building, indexing, slices, the methods of ``list``, and the builtin functions on them."""

from __future__ import annotations

import operator
from typing import Any

from jitlang.operators import equality
from jitlang.operators.rows import checking, method, row
from jitlang.registry import PURE, TOTAL


def getitem(items: list[Any], index: int) -> Any:
    """items[index]."""
    return items[index]


def setitem(items: list[Any], index: int, value: Any) -> None:
    """items[index] = value."""
    items[index] = value


def delitem(items: list[Any], index: int) -> None:
    """del items[index]."""
    del items[index]


def slice_of(items: list[Any], start: int | None, stop: int | None, step: int | None) -> list[Any]:
    """items[start:stop:step]."""
    return items[start:stop:step]


def set_slice(items: list[Any], start: int | None, stop: int | None, step: int | None, values: list[Any]) -> None:
    """items[start:stop:step] = values."""
    items[start:stop:step] = values


def del_slice(items: list[Any], start: int | None, stop: int | None, step: int | None) -> None:
    """del items[start:stop:step]."""
    del items[start:stop:step]


def iadd(items: list[Any], values: list[Any]) -> None:
    """items += values, in place."""
    items += values


def imul(items: list[Any], n: int) -> None:
    """items *= n, in place."""
    items *= n


def sort(items: list[Any], reverse: bool) -> None:
    """items.sort(reverse=reverse)."""
    items.sort(reverse=reverse)


def sorted_list(items: list[Any], reverse: bool) -> list[Any]:
    """sorted(items, reverse=reverse)."""
    return sorted(items, reverse=reverse)


def sorted_by(items: list[Any], keys: list[Any], reverse: bool) -> list[Any]:
    """`items` in the stable order of `keys`, which has the same length."""
    order = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
    return [items[i] for i in order]


def reversed_list(items: list[Any]) -> list[Any]:
    """list(reversed(items))."""
    return items[::-1]


def range_list(start: int, stop: int, step: int) -> list[int]:
    """list(range(start, stop, step))."""
    return list(range(start, stop, step))


def range_length(start: int, stop: int, step: int) -> int:
    """len(range(start, stop, step)), without the limit of Py_ssize_t that len() has."""
    values = range(start, stop, step)
    return (values[-1] - start) // step + 1 if values else 0


def sum_int(items: list[int], start: int) -> int:
    """The sum."""
    return sum(items, start)


def sum_float(items: list[float], start: float) -> float:
    """sum(items, start), with the running Python's own algorithm."""
    return sum(items, start)


def min_list(items: list[Any]) -> Any:
    """min(items)."""
    return min(items)


def max_list(items: list[Any]) -> Any:
    """max(items)."""
    return max(items)


row("add.list(List[t] a, List[t] b) -> List[t]", "Concatenate into a new list.", operator.add, PURE)
row("mul.list(List[t] a, int n) -> List[t]", "Repeat into a new list.", operator.mul, PURE)
row("iadd.list(List[t](a!) self, List[t] values) -> ()", "Append all, in place.", iadd)
row("imul.list(List[t](a!) self, int n) -> ()", "Repeat, in place.", imul)
row("len.list(List[t] a) -> int", "The number of elements.", len, PURE, TOTAL)
row("getitem.list(List[t] a, int index) -> t(*)", "One element; IndexError outside.", getitem, PURE)
row("setitem.list(List[t](a!) self, int index, t(*) value) -> ()", "Replace one element; IndexError outside.", setitem)
row("delitem.list(List[t](a!) self, int index) -> ()", "Remove one element; IndexError outside.", delitem)
row("slice.list(List[t] a, int? start, int? stop, int? step) -> List[t]", "A part, as a new list.", slice_of, PURE)
row("set_slice(List[t](a!) self, int? start, int? stop, int? step, List[t] values) -> ()", "Replace a part.", set_slice)
row("del_slice(List[t](a!) self, int? start, int? stop, int? step) -> ()", "Remove a part.", del_slice)
row("contains.list(List[t] a, t item) -> bool", "Whether an equal element is there.", equality.contains, PURE)
row("list.list(List[t] a) -> List[t]", "A new list of the same elements.", list, PURE, TOTAL)
row("sorted(List[t] a, bool reverse=False) -> List[t]", "A new sorted list.", sorted_list, PURE)
row("sorted_by(List[t] a, List[k] keys, bool reverse=False) -> List[t]", "A new list in the stable order of `keys`.", sorted_by, PURE)
row("reversed(List[t] a) -> List[t]", "A new list in the opposite order.", reversed_list, PURE, TOTAL)
row("range_list(int start, int stop, int step) -> List[int]", "The numbers of a range.", range_list, PURE)
row("range_length(int start, int stop, int step) -> int", "How many numbers a range has.", checking(range_length), PURE)
row("sum.int(List[int] items, int start=0) -> int", "The sum.", checking(sum_int), PURE)
row("sum.float(List[float] items, float start=0.0) -> float", "The sum.", sum_float, PURE, TOTAL)
row("min.list(List[t] a) -> t(*)", "The smallest; ValueError for none.", min_list, PURE)
row("max.list(List[t] a) -> t(*)", "The largest; ValueError for none.", max_list, PURE)

method("append(List[t](a!) self, t(*) item) -> ()", "Add at the end.", list.append)
method("extend(List[t](a!) self, List[t] items) -> ()", "Add all at the end.", list.extend)
method("insert(List[t](a!) self, int index, t(*) item) -> ()", "Add in front of a position.", list.insert)
method("pop.list(List[t](a!) self, int index=-1) -> t(*)", "Remove and return one; IndexError outside.", list.pop)
method("remove(List[t](a!) self, t item) -> ()", "Remove the first equal one; ValueError for none.", equality.remove)
method("clear.list(List[t](a!) self) -> ()", "Remove all.", list.clear)
method("copy.list(List[t] self) -> List[t]", "A new list of the same elements.", list.copy, PURE, TOTAL)
method("count.list(List[t] self, t item) -> int", "How many are equal.", equality.count, PURE)
method("index.list(List[t] self, t item, int start=0, int stop=9223372036854775807) -> int", "Where; ValueError for none.", equality.index, PURE)
method("reverse(List[t](a!) self) -> ()", "Turn round, in place.", list.reverse)
method("sort(List[t](a!) self, *, bool reverse=False) -> ()", "Sort, in place; stable.", sort)
