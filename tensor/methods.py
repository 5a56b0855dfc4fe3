"""The Python side of `Tensor`: operators, attributes, conversions; methods come from the operator rows.

`TensorMethods` is the Python base class of the native type (`jitlang.tensor.handles`). It holds nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MethodType
from typing import Any, cast

from jitlang.frontend.python_kinds import base_type
from jitlang.tensor.callables import has_variant, on_change, operator
from jitlang.types import DType, dtype_named

_NUMBERS = (int, float, bool)


class Size(tuple[int, ...]):
    """A tensor's shape."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements."""
        product = 1
        for size in self:
            product *= size
        return product

    def __repr__(self) -> str:
        return f"jitlang.Size({list(self)})"


def _is_all(args: tuple[Any, ...], keywords: dict[str, Any] | None) -> bool:
    return (not keywords and args in ((), (None,))) or (not args and keywords == {"dim": None})


def _is_operand(value: Any) -> bool:
    return isinstance(value, (*_NUMBERS, TensorMethods)) or base_type(type(value)) in _NUMBERS or hasattr(value, "__index__")


def _binary(name: str, swapped: bool = False) -> Any:
    def method(self: Any, other: Any) -> Any:
        if not _is_operand(other):
            return NotImplemented
        return operator(name)(other, self) if swapped else operator(name)(self, other)

    return method


def _unary(name: str) -> Any:
    def method(self: Any) -> Any:
        return operator(name)(self)

    return method


class TensorMethods:
    """A tensor: elements of one dtype in up to eight dimensions, perhaps a view of another tensor's memory."""

    __slots__ = ()
    __array_priority__ = 1000

    # ---- attributes -----------------------------------------------------------------------------------------------

    # `jitlang.tensor.attributes` has these, and the methods below that say that native code asks them.
    shape: Size
    dtype: DType
    device: Any
    ndim: int

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return int(_impl(self).numel) * self.dtype.itemsize

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are recorded: never, so far."""
        return False

    @property
    def is_cuda(self) -> bool:
        """Whether the elements are on a CUDA device."""
        return False

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made it: always, as none is recorded."""
        return True

    @property
    def is_sparse(self) -> bool:
        """Whether only some elements are stored: never, so far."""
        return False

    @property
    def data(self) -> Any:
        """The same elements, as another tensor."""
        return operator("detach")(self)

    @property
    def T(self) -> Any:  # noqa: N802  PyTorch's name
        """The dimensions in reverse order."""
        return operator("numpy_T")(self)

    @property
    def mT(self) -> Any:  # noqa: N802  PyTorch's name
        """The last two dimensions swapped."""
        return operator("mT")(self)

    @property
    def _version(self) -> int:
        """How often the memory was written in place."""
        from jitlang.tensor.handles import storage

        return int(storage(self).version)

    def size(self, args: tuple[Any, ...], keywords: dict[str, Any] | None) -> Any:
        """Asked by native code, with what the user passed, where that is not one int in range."""
        return self.shape if _is_all(args, keywords) else operator("size")(self, *args, **keywords or {})

    def stride(self, args: tuple[Any, ...], keywords: dict[str, Any] | None) -> Any:
        """As `size`."""
        return cast(Any, self).stride() if _is_all(args, keywords) else operator("stride")(self, *args, **keywords or {})

    def storage_offset(self) -> int:
        """The number of elements in the storage before the first one of the tensor."""
        from jitlang.tensor.handles import storage

        return int(_impl(self).data - storage(self).data) // self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first element."""
        from jitlang.tensor.sharing import give_away

        give_away(_impl(self).storage)
        return int(_impl(self).data)

    # ---- conversions ----------------------------------------------------------------------------------------------

    def item(self) -> Any:
        """Asked by native code where there is not one element."""
        raise RuntimeError(f"a Tensor with {_impl(self).numel} elements cannot be converted to Scalar")

    def tolist(self) -> Any:
        """Asked by native code where it found no memory."""
        raise MemoryError("out of memory: cannot make the list")

    def numpy(self) -> Any:
        """A NumPy array over the same memory."""
        from jitlang.tensor.exchange import to_numpy

        return to_numpy(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
        from jitlang.tensor.exchange import to_dlpack

        return to_dlpack(operator("clone")(self) if copy else self)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __reduce_ex__(self, protocol: Any) -> Any:
        from jitlang.tensor.exchange import reduce_tensor

        return reduce_tensor(self)

    def __copy__(self) -> Any:
        return operator("alias")(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = memo[id(self)] = operator("clone")(self)
        return made

    def __len__(self) -> int:
        raise TypeError("len() of a 0-d tensor")

    def __iter__(self) -> Iterator[Any]:
        if _impl(self).rank == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(operator("unbind")(self))

    def __contains__(self, value: Any) -> bool:
        return bool(operator("any")(operator("eq")(self, value)))

    # Asked by native code where there is not one element (of the right kind).

    def __bool__(self) -> bool:
        what = "no values" if _impl(self).numel == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")

    def __int__(self) -> int:
        raise ValueError("only one element tensors can be converted to Python scalars")

    def __float__(self) -> float:
        raise ValueError("only one element tensors can be converted to Python scalars")

    def __index__(self) -> int:
        raise TypeError("only integer tensors of a single element can be converted to an index")

    def __repr__(self) -> str:
        from jitlang.tensor.printing import tensor_text

        return tensor_text(self)

    def __format__(self, spec: str) -> str:
        if _impl(self).rank == 0:
            return format(self.item(), spec)
        if spec:
            raise TypeError("a tensor with dimensions takes no format specification")
        return repr(self)

    # ---- indexing -------------------------------------------------------------------------------------------------

    # Asked by native code where an entry is of a kind that it does not know.

    def __getitem__(self, index: Any) -> Any:
        from jitlang.tensor.attributes import load_subscripts
        from jitlang.tensor.indexing import prepared

        load_subscripts()
        return cast(Any, self)[prepared(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        from jitlang.tensor.attributes import load_subscripts
        from jitlang.tensor.indexing import prepared, prepared_value

        load_subscripts()
        cast(Any, self)[prepared(index)] = prepared_value(self, value)

    def __delitem__(self, index: Any) -> None:
        raise TypeError("elements of a tensor cannot be deleted")

    def new_tensor(self, data: Any, dtype: DType | None = None) -> Any:
        """A new tensor with the values of `data`, of this one's dtype unless another is given; errors as `jitlang.tensor`."""
        from jitlang.tensor.conversion import tensor

        return tensor(data, dtype=self.dtype if dtype is None else dtype)

    # ---- choices --------------------------------------------------------------------------------------------------

    def where(self, condition: Any, other: Any) -> Any:
        """The elements where the condition holds, else those of `other`."""
        return operator("where")(condition, self, other)

    # ---- dtypes ---------------------------------------------------------------------------------------------------

    def float(self) -> Any:
        """As float32."""
        return operator("to")(self, dtype_named("float32"))

    def double(self) -> Any:
        """As float64."""
        return operator("to")(self, dtype_named("float64"))

    def long(self) -> Any:
        """As int64."""
        return operator("to")(self, dtype_named("int64"))

    def int(self) -> Any:
        """As int32."""
        return operator("to")(self, dtype_named("int32"))

    def bool(self) -> Any:
        """As bool."""
        return operator("to")(self, dtype_named("bool"))

    def byte(self) -> Any:
        """As uint8."""
        return operator("to")(self, dtype_named("uint8"))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not has_variant(name, "method"):
            raise AttributeError(f"'Tensor' object has no attribute '{name}'")
        found = operator(name)
        # From now on the class has it: the next look-up binds it without passing through Python code.
        _installed.add(name)
        setattr(TensorMethods, name, found)
        return MethodType(found, self)

    def __dir__(self) -> list[str]:
        from jitlang.registry import all_operators

        return sorted({*object.__dir__(self), *(r.name for r in all_operators() if r.namespace == "aten" and "method" in r.variants)})


_installed: set[str] = set()


def _look_up_anew(names: list[str] | None) -> None:
    """Takes operators off the class whose callables have changed."""
    for name in list(_installed) if names is None else names:
        if name in _installed:
            _installed.discard(name)
            delattr(TensorMethods, name)


on_change(_look_up_anew)


def _impl(tensor: Any) -> Any:
    from jitlang.tensor.handles import impl

    return impl(tensor)


_OPERATORS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
for _name, _operator in _OPERATORS.items():
    setattr(TensorMethods, f"__{_name}__", _binary(_operator))
    setattr(TensorMethods, f"__r{_name}__", _binary(_operator, swapped=True))
    setattr(TensorMethods, f"__i{_name}__", _binary(f"{_operator}_"))
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "matmul"):
    setattr(TensorMethods, f"__{_name}__", _binary(_name))
for _name, _operator in {"neg": "neg", "pos": "positive", "abs": "abs", "invert": "bitwise_not"}.items():
    setattr(TensorMethods, f"__{_name}__", _unary(_operator))
