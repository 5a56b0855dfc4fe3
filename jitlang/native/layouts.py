"""Structs that Python, the bridge and generated code share: one `StructType` each, from which the ctypes class is made.

`CONTEXT` is what every native function gets as its first argument: one per thread, kept for ever, handed from a thread
that ended to the next one. Offsets are those of the C compiler, also in the LLVM text that `llvm_struct` writes.
"""

from __future__ import annotations

import ctypes
import types
from typing import Any

from jitlang.types import F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, ArrayType, Machine, Pointer, StructType, Type

MAX_ARGUMENTS = 6  # of an error message
MAX_SITES = 64  # of the stack of places that an error passed through; the outermost ones beyond it are not kept

# Kinds of message arguments.
ARGUMENT_INT, ARGUMENT_FLOAT, ARGUMENT_TEXT, ARGUMENT_BOOL, ARGUMENT_STR = range(5)

# Bits of Context.flags.
PYTHON_ERROR = 1  # the thread's Python error indicator is set; the record holds only sites

STR = StructType(
    "Str",
    {
        "refcount": I64,
        "hash": I64,  # -1: not computed yet
        "length": I64,  # code points
        "kind": I64,  # bytes of each code point: 1, 2 or 4, the least that holds them all; the code points follow
    },
)
STR_DATA = 32  # offset of the first code point

CONTEXT = StructType(
    "Context",
    {
        "interrupt": I64,  # not 0: call jl_poll at the next back-edge
        "stack_limit": I64,  # a frame below this address raises RecursionError
        "flags": I64,
        "depth": I64,  # of the site stack; may exceed MAX_SITES
        "error_class": Pointer(U8),  # C string: "ValueError", or a qualified name
        "error_format": Pointer(U8),  # C string for str.format; null: the arguments are the exception's arguments
        "error_message": Pointer(U8),  # an owned Str, used instead of the format where not null
        "error_count": I64,
        "error_values": ArrayType(I64, MAX_ARGUMENTS),  # bits of an int, a float, a C string, a bool, an owned Str
        "error_kinds": ArrayType(I64, MAX_ARGUMENTS),
        "gil": Pointer(U8),  # the saved PyThreadState while the GIL is released, else null
        "active": I64,  # native calls on this thread's stack; the ticker looks at threads that have some
        "hook": Pointer(U8),  # a Python callable that jl_poll calls, or null (time limits)
        "stack_low": I64,
        "stack_high": I64,
        "next": Pointer(U8),  # the list of all contexts
        "site_units": ArrayType(I64, MAX_SITES),
        "site_indices": ArrayType(I64, MAX_SITES),
    },
)

_CTYPES: dict[Type, Any] = {
    I8: ctypes.c_int8,
    I16: ctypes.c_int16,
    I32: ctypes.c_int32,
    I64: ctypes.c_int64,
    U8: ctypes.c_uint8,
    U16: ctypes.c_uint16,
    U32: ctypes.c_uint32,
    U64: ctypes.c_uint64,
    F32: ctypes.c_float,
    F64: ctypes.c_double,
}
_structures: dict[StructType, Any] = {}


def ctypes_type(type: Type) -> Any:
    """The ctypes type with the same layout; pointers are `c_void_p`.

    Raises:
        TypeError: the type has no fixed layout (a script type).
    """
    if isinstance(type, Pointer):
        return ctypes.c_void_p
    if isinstance(type, ArrayType):
        return ctypes_type(type.element) * type.length
    if isinstance(type, StructType):
        if type not in _structures:
            fields = [(name, ctypes_type(field)) for name, field in type.fields.items()]
            _structures[type] = types.new_class(type.name, (ctypes.Structure,), {}, lambda body: body.update(_fields_=fields))
        return _structures[type]
    if isinstance(type, Machine) and type.kind == "b":
        return ctypes.c_uint8
    if type not in _CTYPES:
        raise TypeError(f"{type} has no machine layout")
    return _CTYPES[type]


def llvm_struct(struct: StructType) -> str:
    """The LLVM type of a struct whose fields are machine numbers, pointers and arrays of them."""
    return "{ " + ", ".join(_llvm(field) for field in struct.fields.values()) + " }"


def _llvm(type: Type) -> str:
    if isinstance(type, Pointer):
        return "ptr"
    if isinstance(type, ArrayType):
        return f"[{type.length} x {_llvm(type.element)}]"
    if isinstance(type, StructType):
        return llvm_struct(type)
    if isinstance(type, Machine):
        return {"f32": "float", "f64": "double", "b1": "i8"}.get(type.name, f"i{type.bits}")
    raise TypeError(f"{type} has no machine layout")


def field_index(struct: StructType, name: str) -> int:
    """The number of a field, for getelementptr; ValueError where there is none."""
    return list(struct.fields).index(name)


def offset(struct: StructType, name: str) -> int:
    """The offset of a field in bytes; AttributeError where there is none."""
    result: int = getattr(ctypes_type(struct), name).offset
    return result


Context: Any = ctypes_type(CONTEXT)
StrHead: Any = ctypes_type(STR)
