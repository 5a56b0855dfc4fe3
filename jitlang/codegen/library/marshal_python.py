"""CPython's objects as kernels see them: its types, and the few struct offsets that conversions of many elements need.

In: the running interpreter. Out: the shared table `PYTHON` of objects that native code compares with, and
offsets. The offsets are measured on known objects when this module is imported; one that does not hold is 0, and the API is used in
its place.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from jitlang.codegen.library.numbers import OVERFLOW
from jitlang.frontend.kernel import array, i64, ptr, shared, struct, u8
from jitlang.native.layouts import ctypes_type
from jitlang.types import DTYPES

TYPE = 8  # offset of PyObject.ob_type
_word = ctypes.c_int64.from_address
DEVICES = 8


@struct
class Python:
    """Objects of CPython's that native code needs: types, singletons, exceptions; dtypes by code, devices by number.

    NumPy's types are null until `know_numpy` was called, and there can be no values of them before.
    """

    int: ptr[u8]
    float: ptr[u8]
    bool: ptr[u8]
    str: ptr[u8]
    list: ptr[u8]
    dict: ptr[u8]
    set: ptr[u8]
    frozenset: ptr[u8]
    tuple: ptr[u8]
    numpy_int: ptr[u8]
    numpy_float: ptr[u8]
    numpy_bool: ptr[u8]
    none: ptr[u8]
    true: ptr[u8]
    false: ptr[u8]
    overflow: ptr[u8]
    overflow_text: ptr[u8]
    tuple_new: ptr[u8]
    new_name: ptr[u8]
    dict_name: ptr[u8]
    parameters_name: ptr[u8]
    buffers_name: ptr[u8]
    clear_name: ptr[u8]
    modules_name: ptr[u8]
    dtypes: array[ptr[u8], 16]
    devices: array[ptr[u8], DEVICES]


@struct
class TensorHook:
    """What the tensor runtime says of its Python type; see `jitlang.codegen.script.marshal.install_tensors`.

    `type` is the type object, `at` the offset of the native pointer in an object, `dtype` and `rank` those of the fields in the native
    tensor; `wrap` makes an object and takes a reference over.
    """

    type: ptr[u8]
    at: i64
    dtype: i64
    rank: i64
    wrap: ptr[u8]
    retain: ptr[u8]
    release: ptr[u8]


PYTHON = shared("jl.py.objects", Python)
TENSORS = shared("jl.py.tensors", TensorHook)
_kept: list[Any] = []


def hold(value: Any) -> int:
    """The address of an object, which is never freed from here on."""
    _kept.append(value)
    return id(value)


def _fill() -> None:
    table = ctypes_type(Python).from_address(PYTHON.address)
    objects: dict[str, Any] = {"int": int, "float": float, "bool": bool, "str": str, "list": list, "dict": dict, "set": set}
    objects |= {"frozenset": frozenset, "tuple": tuple, "none": None, "true": True, "false": False, "overflow": OverflowError, "tuple_new": tuple.__new__}
    names = {"new_name": "__new__", "dict_name": "__dict__", "parameters_name": "_parameters", "buffers_name": "_buffers", "modules_name": "_modules"}
    names["clear_name"] = "clear"
    objects |= {field: sys.intern(name) for field, name in names.items()}
    for field, value in objects.items():
        setattr(table, field, hold(value))
    text = ctypes.create_string_buffer(OVERFLOW.encode())
    _kept.append(text)
    table.overflow_text = ctypes.addressof(text)
    for dtype in DTYPES:
        table.dtypes[dtype.code] = hold(dtype)


_fill()


def set_device(number: int, device: Any) -> None:
    """Says which Python object stands for the device of that number."""
    ctypes_type(Python).from_address(PYTHON.address).devices[number] = hold(device)


def know_numpy(types: dict[str, type]) -> None:
    """Says what the types ``int``, ``float`` and ``bool`` of NumPy's numbers are."""
    table = ctypes_type(Python).from_address(PYTHON.address)
    for name, kind in types.items():
        setattr(table, f"numpy_{name}", hold(kind))


# ---- offsets ------------------------------------------------------------------------------------------------------


def _list_items() -> int:
    probe = [object(), object()]
    items = _word(id(probe) + 24).value if list.__basicsize__ == 40 and _word(id(probe) + 16).value == 2 else 0
    found = bool(items) and [_word(items).value, _word(items + 8).value] == [id(p) for p in probe]
    return 24 if found else 0


def _int_form() -> int:
    """How an int of one digit looks: 1 signed number of digits at 16 (3.11), 2 tag of sign and number of digits there (3.12 on); digits follow."""
    probes = [5, 987654321, -5, -987654321]
    digits = all(ctypes.c_uint32.from_address(id(p) + 24).value == abs(p) for p in probes)
    heads = [_word(id(p) + 16).value for p in [*probes, 1 << 40]]
    if digits and heads == [1, 1, -1, -1, 2] and _word(id(0) + 16).value == 0:
        return 1
    masked = [h & ~4 for h in heads]  # bit 2: an immortal object, since 3.14
    return 2 if digits and masked == [8, 8, 10, 10, 16] and _word(id(0) + 16).value & ~4 == 1 else 0


def _text_offsets() -> tuple[int, int]:
    """Where the characters of an ASCII string and of another compact string begin."""
    ascii, wide = sys.getsizeof("") - 1, sys.getsizeof("\u20ac" * 3) - 8
    probes = {"jitlang": (1, 1, ascii), "\xe4\xf6\xfc": (1, 0, wide), "\u20ac\u20ad": (2, 0, wide), "\U0001f600a": (4, 0, wide)}
    for text, (kind, plain, at) in probes.items():
        made = "".join(list(text))  # not the constant: its size may count an encoded copy
        state = ctypes.c_uint32.from_address(id(made) + 32).value
        data = b"".join(ord(c).to_bytes(kind, "little") for c in made)
        known = (state >> 2 & 7, state >> 5 & 1, state >> 6 & 1) == (kind, 1, plain) and _word(id(made) + 16).value == len(made)
        if not known or ctypes.string_at(id(made) + at, len(data)) != data:
            return 0, 0
    return ascii, wide


_cpython = sys.implementation.name == "cpython" and sys.byteorder == "little" and bool(getattr(sys, "_is_gil_enabled", lambda: True)())
LIST_ITEMS: int = _list_items() if _cpython else 0  # offset of PyListObject.ob_item
INT_FORM: int = _int_form() if _cpython else 0
TEXT_ASCII, TEXT_WIDE = _text_offsets() if _cpython else (0, 0)
FLOAT_VALUE: int = 16 if _cpython and ctypes.c_double.from_address(id(_probe := 1.5 + len(sys.argv)) + 16).value == _probe else 0
