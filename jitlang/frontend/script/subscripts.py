"""Subscripts: reading, writing, deleting ``a[i]`` and ``a[i:j:k]`` of lists, dicts, strings, tuples, objects and tensors.

In: ``ast.Subscript``. Out: ``py::getitem`` and its kin; for tensors the lowering of PyTorch: select, slice and unsqueeze views, ``index``
for tensors as indices, and ``copy_``, ``fill_`` or ``index_put_`` into the view for assignment.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from typing import Any, NoReturn

from jitlang.frontend.emitter import Left, Result, Static
from jitlang.frontend.script.base import absent
from jitlang.frontend.script.statics import Parts, RangeValue
from jitlang.frontend.script.tables import Tables
from jitlang.frontend.script.words import describe
from jitlang.ir.graph import Value
from jitlang.registry import overloads
from jitlang.types import (
    BOOL,
    DTYPE,
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

OPTIONAL_INT = OptionalType(INT)


@dataclasses.dataclass(frozen=True)
class SliceValue:
    """A slice at compile time: three values, each INT, Optional[int] or None."""

    start: Value
    stop: Value
    step: Value

    def parts(self) -> tuple[Value, Value, Value]:
        """start, stop, step."""
        return self.start, self.stop, self.step


class Subscripts(Tables):
    """``a[i]`` in all its uses."""

    def subscript_expression(self, node: ast.Subscript) -> Result:
        """Reads ``a[i]``."""
        base = self.expr(node.value)
        index = self.index(node.slice)
        return self.get_item(base, index)

    def index(self, node: ast.expr) -> Result:
        """What stands between the brackets: a value, a Static SliceValue, or Static Parts of them."""
        if isinstance(node, ast.Slice):
            return Static(SliceValue(*(self.bound(b) for b in (node.lower, node.upper, node.step))))
        if isinstance(node, ast.Tuple):
            items: list[Result] = []
            for e in node.elts:
                if isinstance(e, ast.Starred):
                    items.extend(self.parts_of(self.run(e.value)))
                else:
                    items.append(self.index(e))
            return Static(Parts(items))
        return self.expr(node)

    def bound(self, node: ast.expr | None) -> Value:
        """A bound of a slice."""
        if node is None:
            return self.none()
        value = self.run(node)
        if value.type == BOOL:
            return self.convert(value, INT, "the bound")
        if isinstance(value.type, TensorType):
            return self.tensor_number(value, INT)
        if value.type not in (INT, NONE, OPTIONAL_INT):
            with self.at(node):
                self.type_error(f"slice indices must be int or None, {describe(node)} is {value.type}")
        return value

    def get_item(self, base: Result, index: Result) -> Result:
        """``base[index]``."""
        if isinstance(base, Static):
            return self.static_item(base, index)
        type = base.type
        if absent(type):
            base = self.present(base, "TypeError", "'NoneType' object is not subscriptable")
            type = base.type
        if isinstance(type, TensorType):
            return self.tensor_item(base, index)
        if isinstance(index, Static) and isinstance(index.value, SliceValue) and not isinstance(type, ClassType):
            return self.slice_of(base, index.value)
        if isinstance(type, TupleType):
            return self.tuple_item(base, index)
        if isinstance(type, ClassType):
            parts = self.module_parts(base)
            if parts is not None:
                return self.module_item(parts, index, type)
            return self.call_method(base, "__getitem__", [self.value(index, "the index")], {})
        if isinstance(type, ListType) or type == STR:
            return self.op("py::getitem", base, self.whole(index, type))
        if isinstance(type, DictType):
            key = self.value(index, "the key")
            if type.key == NEVER:
                self.settle(base, DictType(key.type, NEVER))
            self.check_key(key, type)
            factory = self.factories.get(base)
            if factory is not None:
                return self.item_or_default(base, key, factory)
            return self.op("py::getitem", base, key)
        self.type_error(f"a value of type {type} cannot be subscripted")

    @property
    def factories(self) -> dict[Value, Result]:
        """The dicts made by ``defaultdict`` in this function, with what makes a missing value."""
        found: dict[Value, Result] = self.__dict__.setdefault("_factories", {})
        return found

    def item_or_default(self, base: Value, key: Value, factory: Result) -> Value:
        """An item of a defaultdict: one that is missing is made and stored."""

        def make() -> Value:
            made = self.value(self.call_value(factory, [], {}), "the default")
            self.op("py::setitem", base, key, made)
            return made

        assert isinstance(base.type, DictType)
        if NEVER in base.type.value.walk():  # the first use says what is held
            self.when(self.op("py::not", self.op("py::contains", base, key)), lambda: void(make()))
            return self.op("py::getitem", base, key)
        return self.choose(self.op("py::contains", base, key), lambda: self.op("py::getitem", base, key), make)

    def module_parts(self, value: Value) -> list[tuple[str, Value]] | None:
        """The parts of a module list, sequential or dict; None for any other value."""
        raise NotImplementedError

    def module_item(self, parts: list[tuple[str, Value]], index: Result, type: ClassType) -> Result:
        """A part of a module list by number (a constant one, unless all have one type), of a module dict by name; a slice gives some parts."""
        if isinstance(index, Static) and isinstance(index.value, SliceValue):
            bounds: list[Any] = [b.constant if b.is_constant else NEVER for b in index.value.parts()]
            if NEVER in bounds:
                self.type_error("a slice of modules needs constant bounds")
            return Static(Parts([v for _, v in parts][slice(bounds[0], bounds[1], bounds[2])]))
        at = self.value(index, "the index")
        if at.is_constant and at.type == STR:
            found: Value | None = dict(parts).get(at.constant)
            if found is None:
                self.type_error(f"{type} has no part '{at.constant}'")
            return found
        if at.is_constant:
            if not -len(parts) <= at.constant < len(parts):
                self.type_error(f"index {at.constant} is out of range, {type} has {len(parts)} parts")
            part: Value = parts[at.constant][1]
            return part
        if len({v.type for _, v in parts}) != 1:
            self.type_error("the index of modules of different types must be a constant", hint="loop over them, or compare the index in ifs")
        if at.type == STR:
            return self.op("py::getitem", self.dict_of([(self.constant(n), v) for n, v in parts]), at)
        return self.op("py::getitem", self.list_of([v for _, v in parts]), at)

    def check_key(self, key: Value, type: DictType) -> None:
        """A compile error for a key that cannot be in the dict."""
        if NEVER not in type.key.walk() and not self.convertible(key.type, type.key) and not isinstance(key.type, TupleType | OptionalType):
            self.type_error(f"the key is {key.type}, the dict has keys of type {type.key}")

    def static_item(self, base: Static, index: Result) -> Result:
        """An item of an object known at compile time: a module list, a range, a constant tuple, list or dict."""
        held = base.value
        if isinstance(held, Parts):
            at = self.static_index(index)
            if at is not None:
                return held.items[at]
        if isinstance(held, RangeValue):
            if isinstance(index, Static):
                return self.get_item(self.materialise(base, "the range"), index)
            return self.op("py::getitem", self.materialise(base, "the range"), index)
        at = self.static_index(index)
        if at is not None and isinstance(held, tuple) and -len(held) <= at < len(held):
            return self.static(held[at])
        if isinstance(index, Value) and index.is_constant and isinstance(held, dict) and index.constant in held and not self.has_value(held):
            return self.static(held[index.constant])
        if at is not None and isinstance(held, list) and -len(held) <= at < len(held) and not self.has_value(held):
            return self.static(held[at])
        if isinstance(held, type) and hasattr(held, "__members__"):
            name = self.value(index, "the index")
            if name.is_constant:
                return Static(held[name.constant])  # type: ignore[index]
        entries = self.table_entries(held)
        if entries is not None and isinstance(index, Value):
            return self.table_item(held, entries, index)
        return self.get_item(self.materialise(base, "the object"), index)

    def has_value(self, held: object) -> bool:
        """Whether a list or dict of the module can be a run-time value."""
        from jitlang.frontend.annotations import type_of_value

        if isinstance(held, dict) and any(isinstance(v, Value | Static) for v in held.values()):
            return False
        return type_of_value(held) is not None

    def static_index(self, index: Result) -> int | None:
        """The int, if the index is a constant one."""
        if isinstance(index, Value) and index.is_constant and index.type in (INT, BOOL):
            return int(index.constant)
        return None

    def whole(self, index: Result, type: Type) -> Value:
        """An index into a list or string."""
        value = self.value(index, "the index")
        if isinstance(value.type, TensorType):
            value = self.tensor_number(value, INT)
        if value.type == BOOL:
            value = self.convert(value, INT, "the index")
        if value.type != INT:
            self.type_error(f"indices of {'a string' if type == STR else 'a list'} must be int, not {value.type}")
        return value

    def tuple_item(self, base: Value, index: Result) -> Result:
        """An element of a tuple; an index that is not constant needs elements of one type."""
        assert isinstance(base.type, TupleType)
        elements = base.type.elements
        at = self.static_index(index)
        if at is None:
            value = self.whole(index, base.type)
            kinds = {self.common([e], "") for e in elements}
            if len(kinds) != 1:
                self.type_error(
                    f"the index of a tuple of different types must be a constant, the tuple is {base.type}", hint="index it by a literal, or use a list"
                )
            size = self.constant(len(elements))
            inside = self.op("py::lt", value, size), self.op("py::ge", value, self.op("py::neg", size))
            self.when(self.op("py::not", self.op("py::and", *inside)), lambda: self.raise_error("IndexError", "tuple index out of range"))
            return self.op("py::getitem", self.list_of(self.parts_of(base)), value)
        if not -len(elements) <= at < len(elements):
            self.type_error(f"tuple index {at} is out of range, the tuple has {len(elements)} elements")
        return self.part(base, at % len(elements))

    def slice_of(self, base: Value, cut: SliceValue) -> Result:
        """``base[start:stop:step]``."""
        if isinstance(base.type, TupleType):
            bounds: list[Any] = [b.constant if b.is_constant else NEVER for b in cut.parts()]
            if NEVER in bounds:
                self.type_error("a slice of a tuple needs constant bounds", hint="use a list")
            return self.tuple_of(self.parts_of(base)[slice(bounds[0], bounds[1], bounds[2])])
        if isinstance(base.type, ClassType):
            self.type_error(f"{base.type} cannot be sliced in a script")
        if base.type != STR and not isinstance(base.type, ListType):
            self.type_error(f"a value of type {base.type} cannot be sliced")
        return self.op("py::slice", base, *(self.convert(b, OPTIONAL_INT, "the bound") for b in cut.parts()))

    # ---- writing ----------------------------------------------------------------------------------------------------

    def set_item(self, base: Value, index: Result, value: Result) -> None:
        """``base[index] = value``."""
        if absent(base.type):
            base = self.present(base, "TypeError", "'NoneType' object does not support item assignment")
        type = base.type
        if isinstance(type, TensorType):
            self.set_tensor_item(base, index, self.value(value, "the value"))
        elif isinstance(index, Static) and isinstance(index.value, SliceValue):
            self.set_slice(base, index.value, self.value(value, "the value"))
        elif isinstance(type, ListType):
            item = self.value(value, "the value")
            if type.element == NEVER:
                self.settle(base, ListType(item.type))
            self.op("py::setitem", base, self.whole(index, type), item)
        elif isinstance(type, DictType):
            key = self.value(index, "the key")
            self.check_key(key, type)
            self.op("py::setitem", base, key, self.value(value, "the value"))
        elif isinstance(type, ClassType):
            self.call_method(base, "__setitem__", [self.value(index, "the index"), value], {})
        else:
            self.type_error(
                f"'{python_type(type)}' object does not support item assignment", hint="make a new value" if isinstance(type, TupleType) or type == STR else ""
            )

    def set_slice(self, base: Value, cut: SliceValue, value: Value) -> None:
        """``base[start:stop:step] = value``."""
        if not isinstance(base.type, ListType):
            self.type_error(f"a slice of {base.type} cannot be assigned to")
        values = self.as_list(value)
        self.op("py::set_slice", base, *(self.convert(b, OPTIONAL_INT, "the bound") for b in cut.parts()), values)

    def as_list(self, value: Result) -> Value:
        """The elements of an iterable as a list."""
        raise NotImplementedError

    def delete(self, node: ast.expr) -> None:
        """``del`` of one target."""
        with self.at(node):
            if isinstance(node, ast.Name):
                if node.id not in self.env:
                    self.undefined(node.id)
                del self.env[node.id]
            elif isinstance(node, ast.Subscript):
                self.delete_item(self.run(node.value), self.index(node.slice))
            elif isinstance(node, ast.Tuple | ast.List):
                for e in node.elts:
                    self.delete(e)
            else:
                self.unsupported(node, "attributes of an object cannot be deleted in a script")

    def delete_item(self, base: Value, index: Result) -> None:
        """``del base[index]``."""
        if absent(base.type):
            base = self.present(base, "TypeError", "'NoneType' object does not support item deletion")
        if isinstance(index, Static) and isinstance(index.value, SliceValue):
            self.op("py::del_slice", base, *(self.convert(b, OPTIONAL_INT, "the bound") for b in index.value.parts()))
        elif isinstance(base.type, ClassType):
            self.call_method(base, "__delitem__", [self.value(index, "the index")], {})
        elif isinstance(base.type, ListType):
            self.op("py::delitem", base, self.whole(index, base.type))
        elif isinstance(base.type, DictType):
            self.op("py::delitem", base, self.value(index, "the key"))
        else:
            self.type_error(f"items of {base.type} cannot be deleted")

    # ---- tensors ----------------------------------------------------------------------------------------------------

    def tensor_item(self, base: Value, index: Result) -> Value:
        """A view, or a copy where an index is a tensor or list."""
        view, indices = self.tensor_view(base, self.index_parts(index))
        if not indices:
            return view if view is not base else self.op("aten::alias", base) if overloads("aten::alias") else self.op("aten::slice", base, self.constant(0))
        found = self.op("aten::index", view, self.index_list(indices))
        rank = indexed_rank(view.type, indices)
        known = found.type if isinstance(found.type, TensorType) else TensorType()
        return self.retype(found, TensorType(known.dtype, rank, known.device)) if rank is not None and known.rank is None else found

    def index_parts(self, index: Result) -> list[Result]:
        """The indices of a subscript, one for each comma-separated place."""
        if isinstance(index, Static) and isinstance(index.value, Parts):
            return index.value.items
        if isinstance(index, Value) and isinstance(index.type, TupleType):
            return list(self.parts_of(index))
        if isinstance(index, Static) and isinstance(index.value, tuple):
            return [self.static(v) for v in index.value]
        return [index]

    def tensor_view(self, base: Value, parts: list[Result]) -> tuple[Value, list[Value]]:
        """Applies ints, slices, None and ``...``; returns the view and, if there are any, the tensors that index its dimensions."""
        view, indices, used = base, [], False
        dim, place = 0, 0  # of the view, and of the tensor itself
        consumed = sum(self.dims_of(p) for p in parts)
        self.check_indices(base, parts, consumed)
        assert isinstance(base.type, TensorType)
        rank = base.type.rank
        dots = [_is_dots(p) for p in parts]
        if rank is None and any(dots):
            view = self.view_from_the_end(view, parts[dots.index(True) + 1 :])
            parts = parts[: dots.index(True)]
        for at, part in enumerate(parts):
            if _is_dots(part):
                assert rank is not None
                skipped = rank - consumed
                for _ in range(skipped):
                    indices.append(self.no_index())
                dim += skipped
                place += skipped
                continue
            if isinstance(part, Static) and isinstance(part.value, SliceValue):
                view = self.sliced(view, dim, part.value)
                indices.append(self.no_index())
                dim += 1
                place += 1
                continue
            value = self.number_index(self.value(part, "the index"))
            if value.type == NONE:
                view = self.op("aten::unsqueeze", view, self.constant(dim))
                indices.append(self.no_index())
                dim += 1
            elif value.type == INT:
                named = [] if place == dim else [self.constant(place)]
                view = self.op("aten::select", view, self.constant(dim), value, *named)
                place += 1
            else:
                tensor = self.index_tensor(value)
                indices.append(self.emit("prim::Some", (tensor,), (OptionalType(tensor.type),)).output)
                taken = tensor.type.rank if isinstance(tensor.type, TensorType) and _is_mask(tensor.type) else 1
                if taken is None and at + 1 < len(parts):
                    self.type_error("the rank of a mask must be known where more indices follow it")
                dim += taken or 0
                place += taken or 0
                used = True
        return view, indices if used else []

    def view_from_the_end(self, view: Value, parts: list[Result]) -> Value:
        """Applies what follows ``...`` in the index of a tensor whose rank is not known: dimensions are counted from the last one."""
        kept = 0
        for part in reversed(parts):
            dim = -1 - kept
            if isinstance(part, Static) and isinstance(part.value, SliceValue):
                view = self.sliced(view, dim, part.value)
                kept += 1
                continue
            value = self.number_index(self.value(part, "the index"))
            if value.type == NONE:
                view = self.op("aten::unsqueeze", view, self.constant(dim))
                kept += 1
            elif value.type == INT:
                view = self.op("aten::select", view, self.constant(dim), value)
            else:
                self.type_error(
                    f"{value.type} behind '...' in an index needs a tensor whose rank is known",
                    hint="index with ':' for each dimension, or pass the tensor as an argument of the script",
                )
        return view

    def number_index(self, value: Value) -> Value:
        """A tensor of one whole number, without dimensions, as that number: it selects, and does not copy."""
        whole = isinstance(value.type, TensorType) and value.type.rank == 0 and value.type.dtype is not None and value.type.dtype.name in ("int32", "int64")
        return self.op("aten::item_int", value) if whole else value

    def check_indices(self, base: Value, parts: list[Result], consumed: int) -> None:
        """Raises IndexError where an index has more places than the tensor has dimensions, as eager code does before it looks at any of them."""
        assert isinstance(base.type, TensorType)
        if sum(map(_is_dots, parts)) > 1:
            self.leave_with("IndexError", "an index can only have a single ellipsis ('...')")
        none = "invalid index of a 0-dim tensor: use x.item() to get its number"
        rank = base.type.rank
        if rank is not None and consumed > rank:
            self.leave_with("IndexError", f"too many indices for tensor of dimension {rank}" if rank else none)
        if rank is None and consumed:
            for least in range(consumed):
                text = f"too many indices for tensor of dimension {least}" if least else none
                short = self.op("py::eq", self.op("aten::dim", base), self.constant(least))
                self.when(short, functools.partial(self.raise_error, "IndexError", text))

    def leave_with(self, cls: str, message: str) -> NoReturn:
        """Raises a Python exception when the script comes to this place."""
        self.raise_error(cls, message)
        raise Left

    def no_index(self) -> Value:
        """A dimension that no tensor indexes."""
        return self.constant(None, OptionalType(TensorType()))

    def dims_of(self, part: Result) -> int:
        """How many dimensions of the tensor an index takes up."""
        if isinstance(part, Static):
            return 1 if isinstance(part.value, SliceValue) else 0
        if part.type == NONE or part.type == BOOL:
            return 0
        if isinstance(part.type, TensorType) and _is_mask(part.type):
            return part.type.rank or 0
        return 1

    def sliced(self, view: Value, dim: int, cut: SliceValue) -> Value:
        """One dimension cut."""
        start, stop, step = cut.parts()
        if start.type == NONE and stop.type == NONE and (step.type == NONE or (step.is_constant and step.constant == 1)):
            return view
        return self.op("aten::slice", view, self.constant(dim), start, stop, self.constant(1) if step.type == NONE else step)

    def index_tensor(self, value: Value) -> Value:
        """A tensor, list or bool as an index."""
        if isinstance(value.type, TensorType):
            return value
        if isinstance(value.type, OptionalType):
            return self.index_tensor(self.present(value, "TypeError", "an index is None"))
        if isinstance(value.type, ListType) or value.type == BOOL:
            return self.tensor_of(value, None)
        self.type_error(f"a tensor cannot be indexed by {value.type}")

    def tensor_of(self, data: Value, dtype: Value | None) -> Value:
        """``tensor(data)``."""
        raise NotImplementedError

    def index_list(self, indices: list[Value]) -> Value:
        """The indices as the list that ``aten::index`` takes."""
        while indices and indices[-1].is_constant:
            indices = indices[:-1]
        element = OptionalType(TensorType())
        return self.emit("prim::List", [self.retype(i, element) for i in indices], (ListType(element),)).output

    def set_tensor_item(self, base: Value, index: Result, value: Value) -> None:
        """``tensor[index] = value``."""
        view, indices = self.tensor_view(base, self.index_parts(index))
        if indices:
            self.op("aten::index_put_", view, self.index_list(indices), value if isinstance(value.type, TensorType) else self.number_like(value, base))
        elif isinstance(value.type, TensorType):
            self.op("aten::copy_", view, value)
        else:
            self.op("aten::fill_", view, value)

    def number_like(self, number: Value, like: Value) -> Value:
        """A number as a tensor of the dtype of `like`."""
        assert isinstance(like.type, TensorType)
        return self.tensor_of(number, self.constant(like.type.dtype, DTYPE) if like.type.dtype is not None else self.op("aten::dtype", like))


def indexed_rank(type: Type, indices: list[Value]) -> int | None:
    """The rank of ``view[tensors]``: the dimensions that no tensor indexes, and those of the broadcast tensors."""
    if not isinstance(type, TensorType) or type.rank is None:
        return None
    taken, broadcast = 0, 0
    for index in indices:
        if index.is_constant:
            continue
        assert index.node is not None
        tensor = index.node.inputs[0].type
        if not isinstance(tensor, TensorType) or tensor.rank is None or tensor.dtype is None:
            return None
        taken += tensor.rank if _is_mask(tensor) else 1
        broadcast = max(broadcast, 1 if _is_mask(tensor) else tensor.rank)
    return type.rank - taken + broadcast


def _is_dots(part: Result) -> bool:
    return isinstance(part, Static) and part.value is Ellipsis


def _is_mask(type: TensorType) -> bool:
    return type.dtype is not None and type.dtype.name in ("bool", "uint8")


def python_type(type: Type) -> str:
    """The name of the Python type."""
    from jitlang.frontend.script.operators import python_name

    return python_name(type)


def void(_: object) -> None:
    """Nothing."""
