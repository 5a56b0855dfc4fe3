"""Arrays of others as tensors, natively: what an object says of its memory through Python's buffer protocol (PEP 3118).

In: a Python object, with the GIL held. Out: a new tensor object that keeps it alive; None where Python code has to say why there is none.
"""

from __future__ import annotations

from jitlang.codegen.library.marshal_python import PYTHON
from jitlang.codegen.library.python_api import O, clear_error, incref, new_tuple, tuple_set
from jitlang.frontend.kernel import extern, function_pointer, i32, i64, kernel, local, null, ptr, struct, u8, unrolled
from jitlang.tensor.kernels.attributes import counted
from jitlang.tensor.kernels.objects import drop_object, wrapped
from jitlang.tensor.kernels.tensors import foreign
from jitlang.tensor.layout import MAX_RANK, READ_ONLY
from jitlang.types import dtype_named

STRIDES_AND_FORMAT = 0x18 | 0x04  # PyBUF_STRIDES, PyBUF_FORMAT: memory that cannot be written to is taken, too
# Letters of the module struct → dtypes; what such an element has in bytes depends on the platform.
FORMATS = {"f": "float32", "d": "float64", "i": "int32", "l": "int64", "q": "int64", "B": "uint8", "?": "bool"}
CODES = tuple((ord(letter), dtype_named(name).code, dtype_named(name).itemsize) for letter, name in FORMATS.items())


@struct
class Buffer:
    """Py_buffer."""

    data: ptr[u8]
    object: O
    bytes: i64
    item: i64
    readonly: i32
    rank: i32
    format: ptr[u8]
    sizes: ptr[i64]
    strides: ptr[i64]
    suboffsets: ptr[i64]
    internal: ptr[u8]


get_buffer = extern("PyObject_GetBuffer", [O, ptr[Buffer], i32], i32)
release_buffer = extern("PyBuffer_Release", [ptr[Buffer]])


@kernel
def dtype_of(view: ptr[Buffer]) -> i64:
    """The dtype's code, or -1 for elements that tensors do not have."""
    if view.format == null(ptr[u8]):
        return -1
    if view.format[1] != 0:
        return -1
    for letter, code, size in unrolled(CODES):
        if view.format[0] == letter and view.item == size:
            return code
    return -1


@kernel
def steps_of(view: ptr[Buffer], steps: ptr[i64]) -> i64:
    """1 if the strides count whole elements, which it stores; 0 if not, or if there are too many dimensions."""
    rank = i64(view.rank)
    if rank > MAX_RANK:
        return 0
    for d in range(rank):
        stride = view.strides[d]
        if stride < 0 or stride % view.item != 0:
            return 0
        steps[d] = stride // view.item
    return 1


@kernel
def tensor_over(array: O) -> O:
    """A tensor over the memory of an array."""
    view = local(Buffer, 1)
    if get_buffer(array, view, STRIDES_AND_FORMAT) != 0:
        clear_error()
        return counted(PYTHON.none)
    steps = local(i64, MAX_RANK)
    dtype = dtype_of(view)
    made = null(O)
    if dtype < 0 or steps_of(view, steps) == 0:
        made = counted(PYTHON.none)
    else:
        owner = new_tuple(1)
        if owner != null(O):
            incref(array)
            tuple_set(owner, 0, array)
            flags = READ_ONLY if view.readonly != 0 else 0
            t = foreign(i64(view.rank), view.sizes, steps, dtype, view.data, view.bytes, owner, function_pointer(drop_object, O), flags)
            made = wrapped(t)
    release_buffer(view)
    return made
