"""Tensors in scripts: attributes, methods, numbers out of tensors and into them.

In: a tensor value and a name. Out: ``aten::`` operators, found by name in the registry and chosen by their schemas; what every
tensor has without an operator of that name (``shape``, ``ndim``, ``float()``) is spelled out here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitlang.errors import ScriptAttributeError
from jitlang.frontend.emitter import Result, Static
from jitlang.frontend.script.match import constant_of
from jitlang.frontend.script.module_tables import tensor_table
from jitlang.frontend.script.statics import Callee
from jitlang.frontend.script.subscripts import Subscripts
from jitlang.frontend.script.words import suggestion
from jitlang.ir.graph import Value
from jitlang.registry import Operator, kinds, overloads
from jitlang.schema import MISSING
from jitlang.types import (
    BOOL,
    CLASS_DTYPES,
    DEVICE,
    DTYPE,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
    dtype_named,
)

CASTS = {"float": "float32", "double": "float64", "int": "int32", "long": "int64", "bool": "bool", "byte": "uint8", "half": "float16", "short": "int16"}
# Python spellings of operators: attribute or method → kind.
ALIASES = {"T": "t", "mT": "mT", "element_size": "element_size"}


MAX_CONSTANT = 16384
NO_FLOAT = "item() of a tensor whose dtype is not known when the script is compiled gives a float, and this one holds no floats: write int(x) or bool(x)"


class BoundTensorMethod(Callee):
    """``tensor.method``, not called yet."""

    def __init__(self, value: Value, name: str) -> None:
        self.value, self.name = value, name


class Tensors(Subscripts):
    """Attributes and methods of tensors."""

    def number_tensor(self, number: Value, like: Value) -> Value:
        """A number as a 0-dimensional tensor that does not decide the dtype of the result."""
        assert isinstance(like.type, TensorType)
        if overloads("aten::wrapped_number"):
            return self.op("aten::wrapped_number", number)
        return self.op("aten::scalar_tensor", number) if overloads("aten::scalar_tensor") else self.op("aten::tensor", number)

    def tensor_number(self, value: Value, type: Type) -> Value:
        """float(tensor), int(tensor), bool(tensor)."""
        name = {"float": "float", "int": "int", "bool": "bool"}[str(type)]
        for kind in (f"aten::item_{name}",):
            if overloads(kind):
                return self.op(kind, value)
        item = self.op("aten::item", value)
        if item.type == type:
            return item
        return self.as_bool(self.truth(item)) if type == BOOL else self.op(f"py::{name}", item)

    def tensor_attribute(self, value: Value, name: str) -> Result:
        """``tensor.name``."""
        assert isinstance(value.type, TensorType)
        rank = value.type.rank
        if name == "shape":
            return self.shape(value)
        if name == "ndim":
            return self.constant(rank) if rank is not None else self.op("aten::dim", value)
        if name == "dtype":
            return self.constant(value.type.dtype, DTYPE) if value.type.dtype is not None else self.op("aten::dtype", value)
        if name == "device":
            return self.constant(value.type.device or "cpu", DEVICE) if value.type.device or not overloads("aten::device") else self.op("aten::device", value)
        if name in ("is_cuda", "requires_grad", "is_leaf", "is_sparse", "is_quantized", "is_meta") and not overloads(f"aten::{name}"):
            return self.constant(value.type.device == "cuda" if name == "is_cuda" else name == "is_leaf")
        if name == "grad" and not overloads("aten::grad"):
            return self.none()
        if name == "T":
            return self.op("aten::t", value) if rank == 2 else self.op("aten::numpy_T", value)
        if name == "mT":
            return self.op("aten::mT", value)
        if name in ("data", "real") and not overloads(f"aten::{name}"):
            return self.op("aten::detach", value) if overloads("aten::detach") else self.op("aten::alias", value)
        if self.tensor_rows(name) or name in CASTS or name in ("size", "item", "tolist", "type", "dim", "numel", "to", "where", "new_tensor"):
            return Static(BoundTensorMethod(value, name))
        rows = overloads(f"aten::{name}")
        if rows and len(rows[0].schema.arguments) == 1:
            return self.op(f"aten::{name}", value)
        self.fail(ScriptAttributeError, f"a Tensor has no attribute '{name}'", hint=self.nearest(name))

    def nearest(self, name: str) -> str:
        """A hint with the operator of the nearest name."""
        return suggestion(name, [k.split("::")[1] for k in kinds(("aten",))])

    def tensor_rows(self, name: str) -> list[Operator]:
        """The rows that can be called as a method of that name."""
        return [r for r in overloads(f"aten::{name}") if "method" in r.variants]

    def shape(self, value: Value) -> Value:
        """``tensor.shape``: a tuple where the rank is known, else a list."""
        assert isinstance(value.type, TensorType)
        if value.type.rank is None:
            made = self.op("aten::size", value)
        else:
            made = self.tuple_of([self.op("aten::size", value, self.constant(i)) for i in range(value.type.rank)])
        self.shapes.add(made)
        return made

    def tensor_method(self, value: Value, name: str, positional: Sequence[Result], keywords: dict[str, Result]) -> Result:
        """``tensor.name(…)``."""
        special = self.special_method(value, name, positional, keywords)
        if special is not None:
            return special
        rows = self.tensor_rows(ALIASES.get(name, name))
        if not rows:
            self.fail(ScriptAttributeError, f"a Tensor has no method '{name}'", hint=self.nearest(name))
        return self.tensor_call(f"aten::{ALIASES.get(name, name)}", [value, *positional], keywords)

    def special_method(self, value: Value, name: str, positional: Sequence[Result], keywords: dict[str, Result]) -> Result | None:
        """Methods whose result's type depends on more than a schema says."""
        assert isinstance(value.type, TensorType)
        rank = value.type.rank
        if name == "size" and not positional and not keywords:
            return self.shape(value)
        if name in ("dim", "ndimension") and not positional:
            return self.constant(rank) if rank is not None else self.op("aten::dim", value)
        if name in CASTS and not positional and not keywords:
            if overloads(f"aten::{name}"):
                return self.op(f"aten::{name}", value)
            return self.to_dtype(value, CASTS[name])
        if name == "item":
            return self.item(value)
        if name == "tolist":
            return self.tolist(value)
        if name == "new_tensor":
            dtype = keywords.get("dtype", self.tensor_attribute(value, "dtype"))
            return self.make_tensor("tensor", list(positional), {**keywords, "dtype": dtype})
        if name == "where":
            named = dict(keywords)
            if not positional and "condition" not in named:
                self.type_error("where() lacks the argument 'condition'")
            condition, *rest = positional or [named.pop("condition")]
            return self.tensor_call("aten::where", [condition, value, *rest], named)
        if name == "type_as" and not overloads("aten::type_as"):
            return self.op("aten::to", value, self.tensor_attribute(self.value(positional[0], "the argument"), "dtype"))
        return None

    def to_dtype(self, value: Value, name: str) -> Value:
        """``tensor.to(dtype)``."""
        try:
            dtype = dtype_named(name)
        except KeyError:
            self.type_error(f"the dtype {name} is not available")
        return self.op("aten::to", value, self.constant(dtype, DTYPE))

    def item(self, value: Value) -> Value:
        """``tensor.item()``; the dtype says what number it is. One that is not known before the call is taken as a float, and looked at."""
        assert isinstance(value.type, TensorType)
        dtype = value.type.dtype
        self.check_single(value)
        if dtype is not None:
            return self.tensor_number(value, {"f": FLOAT, "b": BOOL}.get(dtype.kind, INT))
        self.when(self.op("py::not", self.op("aten::is_floating_point", value)), lambda: self.raise_error("TypeError", NO_FLOAT))
        return self.tensor_number(value, FLOAT)

    def check_single(self, value: Value) -> None:
        """Raises the error of ``item()`` where a tensor has not one element."""
        assert isinstance(value.type, TensorType)
        if value.type.rank != 0:
            count = self.op("aten::numel", value)
            self.when(self.op("py::ne", count, self.constant(1)), lambda: self.no_scalar(count))

    def no_scalar(self, count: Value) -> None:
        """Says how many elements there are."""
        parts = [self.constant("a Tensor with "), self.op("py::str", count), self.constant(" elements cannot be converted to Scalar")]
        self.raise_error("RuntimeError", self.op("py::join", self.constant(""), self.list_of(parts)))

    wanted: Type | None = None  # the annotation of what the statement assigns to

    def tolist(self, value: Value) -> Value:
        """``tensor.tolist()``: nested lists of numbers, or a number; depth and kind come from the tensor's type or from the annotation."""
        assert isinstance(value.type, TensorType)
        rank, dtype = value.type.rank, value.type.dtype
        number: Type | None = None if dtype is None else {"f": FLOAT, "b": BOOL}.get(dtype.kind, INT)
        declared = _list_shape(self.wanted)
        if declared is not None and declared[1] in (INT, FLOAT, BOOL):
            number = number or declared[1]
            if rank is None:
                rank = declared[0]
                wrong = self.op("py::ne", self.op("aten::dim", value), self.constant(rank))
                self.when(wrong, lambda: self.raise_error("RuntimeError", f"tolist() of a tensor that has not the annotated {rank} dimensions"))
        if rank is None or number is None:
            self.type_error("tolist() needs a tensor whose dtype and rank are known", hint="annotate what it is assigned to: values: List[float] = x.tolist()")
        return self.nested_list(value, rank, number)

    def nested_list(self, value: Value, rank: int, number: Type) -> Value:
        """The elements of a tensor of known rank."""
        if rank == 0:
            return self.tensor_number(value, number)
        if rank == 1 and overloads(f"aten::tolist_{number}"):
            return self.op(f"aten::tolist_{number}", value)
        result: Type = number
        for _ in range(rank):
            result = ListType(result)
        made = self.emit("prim::List", (), (result,)).output
        size = self.op("aten::size", value, self.constant(0))

        def body(params: list[Value]) -> None:
            part = self.op("aten::select", value, self.constant(0), params[0])
            self.op("py::append", made, self.nested_list(part, rank - 1, number))

        self.loop("prim::For", (self.constant(0), size, self.constant(1)), (INT,), [], body)
        return made

    # ---- tensors from data ------------------------------------------------------------------------------------------

    def tensor_of(self, data: Value, dtype: Value | None) -> Value:
        """``tensor(data)`` of numbers in nested lists or tuples."""
        if isinstance(data.type, TensorType):
            made = self.op("aten::clone", data)
            return made if dtype is None else self.op("aten::to", made, dtype)
        rank, number = self.data_shape(data.type)
        kind = dtype if dtype is not None else self.constant(dtype_named("int64" if number == INT else "bool" if number == BOOL else "float32"), DTYPE)
        if rank == 0:
            return self.op("aten::scalar_tensor", data, dtype=kind)
        data = self.nested_lists(data)
        sizes: list[Value] = []
        level: Value = data
        for at in range(rank):
            sizes.append(self.op("py::len", level))
            if at < rank - 1:
                level = self.first_or_empty(level)
        made = self.op("aten::empty", self.emit("prim::List", sizes, (ListType(INT),)).output, dtype=kind)
        self.fill_data(made, data, sizes, 0)
        return made

    def tensor_constant(self, value: Any, what: str) -> Value:
        """A copy of a tensor of the module; a large one belongs in a module or an argument."""
        if value.numel() > MAX_CONSTANT:
            self.type_error(
                f"{what} is a tensor of {value.numel()} elements outside the script", hint="pass it as an argument, or make it a buffer of a module"
            )
        return self.op("aten::clone", self.table(*tensor_table(value)))

    def data_shape(self, type: Type) -> tuple[int, Type]:
        """How deep lists of numbers are nested, and what numbers they hold."""
        rank = 0
        while isinstance(type, ListType | TupleType):
            inner = type.element if isinstance(type, ListType) else self.common(type.elements, "items of the data")
            type, rank = inner, rank + 1
        if type == NEVER:
            return rank, FLOAT
        if type not in (INT, FLOAT, BOOL):
            self.type_error(f"a tensor cannot be made of {type}", hint="pass numbers, or lists of numbers of one shape")
        return rank, type

    def nested_lists(self, data: Value) -> Value:
        """Nested tuples as nested lists."""
        if isinstance(data.type, TupleType):
            return self.list_of([self.nested_lists(p) for p in self.parts_of(data)])
        if isinstance(data.type, ListType) and isinstance(data.type.element, TupleType):
            made = self.list_of([])
            size = self.op("py::len", data)

            def body(params: list[Value]) -> None:
                self.op("py::append", made, self.nested_lists(self.op("py::getitem", data, params[0])))

            self.loop("prim::For", (self.constant(0), size, self.constant(1)), (INT,), [], body)
            return made
        if data.type == ListType(NEVER):
            return self.convert(data, ListType(FLOAT), "the data")
        return data

    def first_or_empty(self, items: Value) -> Value:
        """The first of some lists, or an empty list."""
        assert isinstance(items.type, ListType)
        element = items.type.element
        some = self.op("py::bool", items)
        return self.choose(some, lambda: self.op("py::getitem", items, self.constant(0)), lambda: self.emit("prim::List", (), (element,)).output)

    def fill_data(self, made: Value, data: Value, sizes: list[Value], depth: int) -> None:
        """Writes nested lists into a tensor; ValueError where their lengths differ."""
        if depth:
            uneven = self.op("py::ne", self.op("py::len", data), sizes[depth])
            self.when(uneven, lambda: self.raise_error("ValueError", self.uneven_message(data, sizes[depth], depth)))

        def body(params: list[Value]) -> None:
            place = self.op("aten::select", made, self.constant(0), params[0])
            item = self.op("py::getitem", data, params[0])
            if isinstance(item.type, ListType):
                self.fill_data(place, item, sizes, depth + 1)
            else:
                self.op("aten::fill_", place, item)

        self.loop("prim::For", (self.constant(0), sizes[depth], self.constant(1)), (INT,), [], body)

    def uneven_message(self, data: Value, size: Value, depth: int) -> Value:
        """PyTorch's text."""
        text = self.op("py::add", self.constant("expected sequence of length "), self.op("py::str", size))
        text = self.op("py::add", text, self.constant(f" at dim {depth} (got "))
        return self.op("py::add", self.op("py::add", text, self.op("py::str", self.op("py::len", data))), self.constant(")"))

    # ---- calls of operators -----------------------------------------------------------------------------------------

    def tensor_call(self, kind: str, positional: Sequence[Result], keywords: dict[str, Result]) -> Result:
        """Calls an ``aten`` operator as Python code does: ``view(2, 3)`` for ``view([2, 3])``, lists of sizes from shapes."""
        args = [self.operand(p, "an argument") for p in positional]
        named = {k: self.operand(v, f"'{k}'") for k, v in keywords.items() if not self.ignored(k, v)}
        rows = overloads(kind)
        found = self.try_op(kind, args, named)
        if found is None:
            found = self.with_varargs(kind, args, named)
        if found is None:
            found = self.with_numbers(kind, args, named)
        if found is None:
            if not rows:
                self.fail(ScriptAttributeError, f"there is no operator {kind.split('::')[1]}", hint=self.nearest(kind.split("::")[1]))
            self.op(kind, *args, **named)
            raise AssertionError
        return found

    def make_tensor(self, name: str, positional: list[Result], keywords: dict[str, Result]) -> Value:
        """``tensor(data, dtype=…)`` and ``as_tensor``."""
        raise NotImplementedError

    def operand(self, value: Result, what: str) -> Value:
        """An argument of an operator: of Python's classes, those that stand for dtypes are such."""
        if isinstance(value, Static) and isinstance(value.value, type) and value.value in CLASS_DTYPES:
            return self.constant(CLASS_DTYPES[value.value], DTYPE)
        return self.value(value, what)

    def ignored(self, name: str, value: Result) -> bool:
        """Keyword arguments of creation functions that have no effect here."""
        if name not in ("requires_grad", "pin_memory", "layout", "non_blocking", "memory_format"):
            return False
        constant = constant_of(value) if isinstance(value, Value) else value.value
        return constant in (False, None, MISSING) or name in ("layout", "non_blocking", "memory_format")

    def with_varargs(self, kind: str, args: list[Value], named: dict[str, Value]) -> Value | None:
        """Several ints in a row (``view(2, 3)``, ``permute(0, 2, 1)``, ``zeros(2, 3)``) as one list."""
        for row in overloads(kind):
            formal = row.schema.arguments
            for at, argument in enumerate(formal):
                inner = argument.type.element if isinstance(argument.type, OptionalType) else argument.type
                if not (isinstance(inner, ListType) and inner.element in (INT, TensorType())) or argument.keyword_only:
                    continue
                rest = args[at:]
                fits = all(a.type == inner.element or (isinstance(a.type, TensorType) and inner.element != INT) for a in rest)
                if rest and fits:
                    packed = self.emit("prim::List", [self.retype(r, inner.element) for r in rest], (inner,)).output
                    return self.try_op(kind, [*args[:at], packed], named, [row])
                break
        return None

    def with_numbers(self, kind: str, args: list[Value], named: dict[str, Value]) -> Value | None:
        """Tensors of no dimension where a number is wanted, numbers where a tensor is."""
        tensor = next((a for a in args if isinstance(a.type, TensorType)), None)
        if tensor is None:
            return None
        as_tensors = [self.number_tensor(a, tensor) if a.type in (INT, FLOAT, BOOL) else a for a in args]
        found = self.try_op(kind, as_tensors, named)
        if found is not None:
            return found
        as_numbers = [args[0], *(self.item(a) if isinstance(a.type, TensorType) and a.type.rank == 0 and a.type.dtype else a for a in args[1:])]
        return self.try_op(kind, as_numbers, named)

    def str_argument(self, value: Result) -> Any:
        """A constant str argument, or MISSING."""
        return value.constant if isinstance(value, Value) and value.is_constant and value.type == STR else MISSING

    def tuple_names(self, value: Value, name: str) -> Value | None:
        """A field of a result with named parts (``x.max(dim=1).values``)."""
        if isinstance(value.type, TupleType) and name in value.type.fields:
            return self.part(value, value.type.fields.index(name))
        return None

    def is_none(self, value: Value) -> bool:
        """Whether a value is None by its type."""
        return value.type == NONE


def _list_shape(type: Type | None) -> tuple[int, Type] | None:
    """How deep a declared list is nested, and what it holds."""
    depth = 0
    while isinstance(type, ListType):
        type, depth = type.element, depth + 1
    return (depth, type) if type is not None and depth else None
