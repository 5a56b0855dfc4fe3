"""Memory shared with others: NumPy, DLPack, pickle. NumPy is imported only here, and only when it is asked for.

A tensor over foreign memory keeps the foreign object alive through its storage; an object over a tensor's memory keeps the
tensor alive. Either may go first.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from jitlang.tensor import sharing
from jitlang.tensor.attributes import over_array
from jitlang.tensor.callables import operator
from jitlang.tensor.conversion import elements, new
from jitlang.tensor.handles import impl, take
from jitlang.tensor.kernels.tensors import foreign
from jitlang.tensor.layout import CONTIGUOUS, READ_ONLY
from jitlang.types import DTYPES, I64, U8, DType, Pointer, dtype_coded, dtype_named

_FOREIGN = foreign.instance(I64, Pointer(I64), Pointer(I64), I64, Pointer(U8), I64, Pointer(U8), Pointer(U8), I64)
_alive: dict[int, Any] = {}  # what DLPack consumers use, by the address of their struct


def _release_managed(address: int) -> None:
    _alive.pop(address, None)


_keep = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))


@functools.cache
def _drop_object() -> int:
    from jitlang.codegen.kernels import address_of  # loads the code generator
    from jitlang.tensor.kernels.objects import drop_object

    return int(address_of(drop_object.instance(Pointer(U8))))


def over(data: int, size: int, shape: Any, strides: Any, dtype: DType, owner: Any, *, writable: bool = True) -> Any:
    """A tensor over `size` bytes of memory at `data` that `owner` keeps alive; strides count elements."""
    from jitlang.codegen.kernels import run_instance

    rank = len(shape)
    sizes = (ctypes.c_int64 * max(1, rank))(*shape)
    steps = (ctypes.c_int64 * max(1, rank))(*strides)
    container = (owner,)
    flags = 0 if writable else READ_ONLY
    made = run_instance(_FOREIGN, [rank, ctypes.addressof(sizes), ctypes.addressof(steps), dtype.code, data, size, id(container), _drop_object(), flags])
    _keep(container)
    return take(made)


@functools.cache
def _dtypes() -> dict[Any, DType]:
    """NumPy's dtypes, of this machine's byte order, and ours."""
    import numpy

    return {numpy.dtype(d.name): d for d in DTYPES}


@functools.cache
def _numpy_dtypes() -> dict[int, Any]:
    """NumPy's dtype by the code of ours."""
    return {ours.code: theirs for theirs, ours in _dtypes().items()}


# ---- NumPy --------------------------------------------------------------------------------------------------------


def to_numpy(tensor: Any) -> Any:
    """An array over the tensor's memory."""
    import numpy

    t = impl(tensor)
    rank, numel, flags = t.rank, t.numel, t.flags
    dtype = _numpy_dtypes()[t.dtype]
    item = dtype.itemsize
    sizes, strides, span = t.sizes[:rank], None, numel
    if not flags & CONTIGUOUS:
        counts = t.strides[:rank]
        span = 1 + sum((n - 1) * s for n, s in zip(sizes, counts, strict=True)) if numel else 0
        strides = [s * item for s in counts]
    room: Any = (ctypes.c_char * (span * item)).from_address(t.data)
    room.owner = tensor if flags & READ_ONLY else sharing.loan(tensor)
    array = numpy.ndarray(sizes, dtype, room, 0, strides)
    if flags & READ_ONLY:
        array.flags.writeable = False
    return array


def from_numpy(array: Any) -> Any:
    """A tensor over an array's memory.

    Raises:
        TypeError: the array's dtype has no counterpart, or it is no array.
        ValueError: a stride is negative or no multiple of the element's size.
    """
    import numpy

    if not isinstance(array, numpy.ndarray):
        raise TypeError(f"expected an np.ndarray (got {type(array).__name__})")
    made = over_array()(array)
    if made is not None:
        return made
    dtype = _dtypes().get(array.dtype)
    if dtype is None:
        known = ", ".join(d.name for d in DTYPES)
        raise TypeError(f"can't convert np.ndarray of type {array.dtype}. The supported types are: {known}.")
    item = array.itemsize
    if any(s < 0 for s in array.strides):
        raise ValueError("the array has a negative stride, which tensors do not have; pass array.copy()")
    if any(s % item for s in array.strides):
        raise ValueError("the array's strides are no multiples of its element size; pass array.copy()")
    writable = array.flags.writeable
    return over(array.ctypes.data, array.nbytes, array.shape, [s // item for s in array.strides], dtype, array, writable=writable)


def from_array_copy(array: Any) -> Any:
    """A new tensor with the values of an array or of an array's scalar."""
    import numpy

    return from_numpy(numpy.array(array, copy=True, order="C"))


# ---- DLPack -------------------------------------------------------------------------------------------------------


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _DLManaged(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_DLManaged._fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]
_DL_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
_NAME, _USED = b"dltensor", b"used_dltensor"
_CAPSULE_END = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _api(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_new_capsule = _api("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_capsule_pointer = _api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_is_capsule = _api("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_rename = _api("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_raw_is_valid = _api("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_raw_pointer = _api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)


def _end_capsule(capsule: int) -> None:
    # Nobody took the tensor out of the capsule: it is ours to let go.
    if _raw_is_valid(capsule, _NAME):
        _alive.pop(_raw_pointer(capsule, _NAME), None)


_delete = _DELETER(_release_managed)
_capsule_end = _CAPSULE_END(_end_capsule)


def to_dlpack(tensor: Any) -> Any:
    """A DLPack capsule over the tensor's memory."""
    t = impl(tensor)
    dtype = dtype_coded(t.dtype)
    rank = t.rank
    shape, strides = (ctypes.c_int64 * max(1, rank))(*t.sizes[:rank]), (ctypes.c_int64 * max(1, rank))(*t.strides[:rank])
    managed = _DLManaged()
    managed.tensor = _DLTensor(t.data, 1, 0, rank, _DL_CODES[dtype.kind], dtype.itemsize * 8, 1, shape, strides, 0)
    managed.deleter = ctypes.cast(_delete, ctypes.c_void_p).value
    address = ctypes.addressof(managed)
    _alive[address] = (managed, shape, strides, sharing.loan(tensor))
    return _new_capsule(address, _NAME, ctypes.cast(_capsule_end, ctypes.c_void_p))


class _Taken:
    """What came out of a capsule; tells its producer when it is no longer needed."""

    managed: Any = None  # an interrupt may leave a half-made object

    def __init__(self, managed: Any) -> None:
        self.managed = managed

    def __del__(self) -> None:
        if self.managed is not None and self.managed.deleter:
            _DELETER(self.managed.deleter)(ctypes.addressof(self.managed))


def from_dlpack(source: Any) -> Any:
    """A tensor over the memory of an object with ``__dlpack__``, or of a capsule.

    Raises:
        ValueError: it is no (unused) DLPack capsule, or not on the CPU.
        TypeError: its dtype has no counterpart.
    """
    capsule = source.__dlpack__() if hasattr(source, "__dlpack__") else source
    if not _is_capsule(capsule, _NAME):
        raise ValueError("expected an object with __dlpack__, or a DLPack capsule that was not used before")
    managed = _DLManaged.from_address(_capsule_pointer(capsule, _NAME))
    d = managed.tensor
    if d.device_type != 1:
        raise ValueError(f"the DLPack tensor is on a device of type {d.device_type}, expected the CPU (1)")
    known = [t for t in DTYPES if (_DL_CODES[t.kind], t.itemsize * 8, 1) == (d.code, d.bits, d.lanes)]
    if not known:
        raise TypeError(f"DLPack dtype (code {d.code}, {d.bits} bits, {d.lanes} lanes) has no counterpart")
    _rename(capsule, _USED)
    shape = d.shape[: d.ndim]
    strides = d.strides[: d.ndim] if d.strides else _dense(shape)
    span = (1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))) if all(shape) else 0
    return over((d.data or 0) + d.byte_offset, span * known[0].itemsize, shape, strides, known[0], _Taken(managed))


def _dense(shape: list[int]) -> list[int]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(1, size)
    return strides[::-1]


# ---- pickle -------------------------------------------------------------------------------------------------------


def rebuild(name: str, shape: tuple[int, ...], data: bytes) -> Any:
    """The tensor that `reduce_tensor` described."""
    made = new(shape, dtype_named(name))
    ctypes.memmove(impl(made).data, data, len(data))
    return made


def reduce_tensor(tensor: Any) -> Any:
    """How pickle stores a tensor: its values, without what shares its memory."""
    dense = operator("contiguous")(tensor)
    return rebuild, (tensor.dtype.name, tuple(tensor.shape), bytes(elements(dense)))
