"""What Python asks a `Tensor` object for, natively: its shape and dtype, its elements as Python numbers and lists.

In: the Python object, with the GIL held. Out: a new reference; null where the answer is an error, or the arguments are unusual: the Python method knows.
"""

from __future__ import annotations

import sys

from jitlang.codegen.library.marshal_python import PYTHON
from jitlang.codegen.library.marshal_scalars import read_int
from jitlang.codegen.library.marshal_state import type_of
from jitlang.codegen.library.python_api import O, decref, incref, list_set, new_float, new_int, new_list, new_tuple, tuple_item, tuple_set, tuple_size
from jitlang.codegen.library.python_api import vectorcall as call_object
from jitlang.frontend.kernel import call_pointer, extern, f64, function_pointer, i32, i64, kernel, local, null, ptr, u8
from jitlang.tensor.kernels.objects import FACES, Tensor, impl_of
from jitlang.tensor.kernels.scalars import load_float, load_int
from jitlang.tensor.kernels.views import from_start
from jitlang.tensor.layout import BOOL
from jitlang.tensor.promotion import is_float, item_bytes

int_of_float = extern("PyLong_FromDouble", [f64], O)
new_object = extern("PyType_GenericAlloc", [O, i64], O)
DIRECT = sys.version_info < (3, 14)  # since then a tuple holds its hash, which only its own constructor sets up


@kernel
def counted(object: O) -> O:
    """The object, with one more reference."""
    incref(object)
    return object


# ---- attributes ---------------------------------------------------------------------------------------------------------


@kernel
def put_ints(made: O, count: i64, values: ptr[i64]) -> O:
    """Fills a new tuple (null where there is none)."""
    if made != null(O):
        for i in range(count):
            tuple_set(made, i, new_int(values[i]))
    return made


@kernel
def shape(self: O) -> O:
    """The sizes of the dimensions."""
    t = impl_of(self)
    if DIRECT:
        return put_ints(new_object(FACES.size, t.rank), t.rank, t.sizes)
    plain = put_ints(new_tuple(t.rank), t.rank, t.sizes)
    if plain == null(O):
        return plain
    argument = local(O, 2)
    argument[1] = plain
    made = call_object(FACES.size, argument + 1, 1, null(O))
    decref(plain)
    return made


@kernel
def dtype(self: O) -> O:
    """The type of the elements."""
    return counted(PYTHON.dtypes[impl_of(self).dtype])


@kernel
def device(self: O) -> O:
    """Where the elements are."""
    return counted(FACES.cpu)


@kernel
def ndim(self: O) -> O:
    """The number of dimensions."""
    return new_int(impl_of(self).rank)


@kernel
def length(self: O) -> i64:
    """``len(x)``; -1 where there are no dimensions."""
    t = impl_of(self)
    return t.sizes[0] if t.rank > 0 else -1


@kernel
def one_of(t: Tensor, values: ptr[i64], args: O, keywords: O) -> O:
    """Of a call with a dimension: its value; null where the arguments are not one int in range."""
    at = local(i64, 1)
    if keywords != null(O) or tuple_size(args) != 1:
        return null(O)
    first = tuple_item(args, 0)
    if type_of(first) != PYTHON.int or read_int(first, 0, at) != 0:
        return null(O)
    d = from_start(at[0], t.rank)
    if d < 0 or d >= t.rank:
        return null(O)
    return new_int(values[d])


@kernel
def size(self: O, args: O, keywords: O) -> O:
    """The shape, or one size of it."""
    if keywords == null(O) and tuple_size(args) == 0:
        return shape(self)
    t = impl_of(self)
    return one_of(t, t.sizes, args, keywords)


@kernel
def stride(self: O, args: O, keywords: O) -> O:
    """The strides in elements, or one of them."""
    t = impl_of(self)
    if keywords == null(O) and tuple_size(args) == 0:
        return put_ints(new_tuple(t.rank), t.rank, t.strides)
    return one_of(t, t.strides, args, keywords)


# ---- elements -------------------------------------------------------------------------------------------------------------


@kernel
def boxed(p: ptr[u8], dtype: i64) -> O:
    """An element as a Python number."""
    if is_float(dtype) == 1:
        return new_float(load_float(p, dtype))
    if dtype == BOOL:
        return counted(PYTHON.true if p[0] != 0 else PYTHON.false)
    return new_int(load_int(p, dtype))


@kernel
def item(self: O) -> O:
    """The only element as a Python number; RuntimeError where there are more."""
    t = impl_of(self)
    return boxed(t.data, t.dtype) if t.numel == 1 else null(O)


@kernel
def as_float(self: O) -> O:
    """``float(x)``."""
    t = impl_of(self)
    return new_float(load_float(t.data, t.dtype)) if t.numel == 1 else null(O)


@kernel
def as_int(self: O) -> O:
    """``int(x)``."""
    t = impl_of(self)
    if t.numel != 1:
        return null(O)
    if is_float(t.dtype) == 1:
        return int_of_float(load_float(t.data, t.dtype))
    return new_int(load_int(t.data, t.dtype))


@kernel
def as_index(self: O) -> O:
    """``x.__index__()``."""
    t = impl_of(self)
    if t.numel != 1 or is_float(t.dtype) == 1:
        return null(O)
    return new_int(load_int(t.data, t.dtype))


@kernel
def truth(self: O) -> i32:
    """``bool(x)``; -1 where there is not one element."""
    t = impl_of(self)
    if t.numel != 1:
        return i32(-1)
    if is_float(t.dtype) == 1:
        return i32(i64(load_float(t.data, t.dtype) != 0.0))
    return i32(i64(load_int(t.data, t.dtype) != 0))


@kernel
def inner(t: Tensor, d: i64, p: ptr[u8]) -> O:
    """`nested`, from inside it."""
    return call_pointer(O, function_pointer(nested, Tensor, i64, ptr[u8]), t, d, p)


@kernel(inline="never")
def nested(t: Tensor, d: i64, p: ptr[u8]) -> O:
    """The elements from `p` on in dimensions `d` and below, as lists."""
    made = new_list(t.sizes[d])
    if made == null(O):
        return made
    step = t.strides[d] * item_bytes(t.dtype)
    for i in range(t.sizes[d]):
        at = p + i * step
        part = boxed(at, t.dtype) if d == t.rank - 1 else inner(t, d + 1, at)
        if part == null(O):
            decref(made)
            return part
        list_set(made, i, part)
    return made


@kernel
def tolist(self: O) -> O:
    """The elements as nested lists of Python numbers."""
    t = impl_of(self)
    return boxed(t.data, t.dtype) if t.rank == 0 else nested(t, 0, t.data)
