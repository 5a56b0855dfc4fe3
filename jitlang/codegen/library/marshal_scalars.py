"""Numbers, strings, tensors, dtypes and devices from Python.

In: a Python object, borrowed. Out: its value at an address and DONE; or MISFIT, or FAILED with Python's error set.
"""

from __future__ import annotations

from jitlang.codegen.library.layout import Str
from jitlang.codegen.library.marshal_layout import DONE, FAILED, MISFIT, Plan
from jitlang.codegen.library.marshal_python import DEVICES, FLOAT_VALUE, INT_FORM, PYTHON, TENSORS
from jitlang.codegen.library.marshal_state import overflow, type_of
from jitlang.codegen.library.marshal_text import text_from
from jitlang.codegen.library.python_api import decref, equal_objects, error_occurred, float_value, index_of, int_as_float, int_value, is_subtype, truth
from jitlang.frontend.kernel import b1, call_pointer, cast, f64, i32, i64, kernel, likely, local, null, ptr, u8, u32

EQUAL = 2  # Py_EQ


# ---- numbers --------------------------------------------------------------------------------------------------------


@kernel(inline="never")
def long_int(object: ptr[u8], to: ptr[i64]) -> i64:
    """The value of an int of any size."""
    excess = local(i32, 1)
    value = int_value(object, excess)
    if excess[0] != 0:
        overflow()
        return FAILED
    to[0] = value
    return DONE


@kernel
def is_instance(object: ptr[u8], type: ptr[u8]) -> b1:
    """Whether an object is an instance of a type, which may be null: then of none."""
    return type != null(ptr[u8]) and is_subtype(type_of(object), type) != 0


@kernel(inline="never")
def other_int(object: ptr[u8], to: ptr[i64]) -> i64:
    """What stands for an int: a bool, an instance of a subclass, a number of NumPy's."""
    if is_instance(object, PYTHON.int):
        return long_int(object, to)
    if not is_instance(object, PYTHON.numpy_int):
        return MISFIT
    plain = index_of(object)
    if plain == null(ptr[u8]):
        return FAILED
    status = long_int(plain, to)
    decref(plain)
    return status


@kernel(inline="always")
def read_int(object: ptr[u8], lenient: i64, to: ptr[i64]) -> i64:
    """An int; where it is lenient what stands for one too."""
    if not likely(type_of(object) == PYTHON.int):
        return MISFIT if lenient == 0 else other_int(object, to)
    if INT_FORM == 1:
        digits = cast(ptr[i64], object)[2]
        if likely(digits == 1):
            to[0] = i64(cast(ptr[u32], object)[6])
            return DONE
        if digits == -1:
            to[0] = 0 - i64(cast(ptr[u32], object)[6])
            return DONE
    elif INT_FORM == 2:
        tag = cast(ptr[i64], object)[2]
        if likely(tag >> 3 <= 1):
            to[0] = i64(cast(ptr[u32], object)[6]) * (1 - (tag & 3))
            return DONE
    return long_int(object, to)


@kernel(inline="never")
def other_float(object: ptr[u8], to: ptr[f64]) -> i64:
    """What stands for a float: an instance of a subclass of float, an int, a number of NumPy's."""
    value = 0.0
    if is_instance(object, PYTHON.int):
        value = int_as_float(object)
    elif is_instance(object, PYTHON.float) or is_instance(object, PYTHON.numpy_float) or is_instance(object, PYTHON.numpy_int):
        value = float_value(object)
    else:
        return MISFIT
    to[0] = value
    if value == -1.0:
        if error_occurred() != null(ptr[u8]):
            return FAILED
    return DONE


@kernel(inline="always")
def read_float(object: ptr[u8], lenient: i64, to: ptr[f64]) -> i64:
    """A float."""
    if likely(type_of(object) == PYTHON.float):
        if FLOAT_VALUE != 0:
            to[0] = cast(ptr[f64], object)[2]
        else:
            to[0] = float_value(object)
        return DONE
    if lenient == 0:
        return MISFIT
    return other_float(object, to)


@kernel(inline="always")
def read_bool(object: ptr[u8], lenient: i64, to: ptr[u8]) -> i64:
    """A bool."""
    if object == PYTHON.true:
        to[0] = u8(1)
        return DONE
    to[0] = u8(0)
    if object == PYTHON.false:
        return DONE
    if lenient == 0 or not is_instance(object, PYTHON.numpy_bool):
        return MISFIT
    to[0] = u8(truth(object))
    return DONE


@kernel
def read_text(object: ptr[u8], lenient: i64, to: ptr[ptr[u8]]) -> i64:
    """A string."""
    if not likely(type_of(object) == PYTHON.str):
        if lenient == 0 or not is_instance(object, PYTHON.str):
            return MISFIT
    made = text_from(object)
    to[0] = cast(ptr[u8], made)
    return FAILED if made == null(ptr[Str]) else DONE


@kernel
def read_tensor(object: ptr[u8], plan: ptr[Plan], to: ptr[ptr[u8]]) -> i64:
    """A tensor of the plan's dtype and rank."""
    if not likely(type_of(object) == TENSORS.type):
        if not is_instance(object, TENSORS.type):
            return MISFIT
    v = cast(ptr[ptr[u8]], object + TENSORS.at)[0]
    if plan.dtype >= 0 and cast(ptr[i64], v + TENSORS.dtype)[0] != plan.dtype:
        return MISFIT
    if plan.rank >= 0 and cast(ptr[i64], v + TENSORS.rank)[0] != plan.rank:
        return MISFIT
    call_pointer(None, TENSORS.retain, v)
    to[0] = v
    return DONE


@kernel
def read_dtype(object: ptr[u8], to: ptr[i64]) -> i64:
    """A dtype, by its number."""
    for code in range(16):
        if PYTHON.dtypes[code] == object:
            to[0] = code
            return DONE
    return MISFIT


@kernel
def read_device(object: ptr[u8], to: ptr[i64]) -> i64:
    """A device, by its number."""
    for number in range(DEVICES):
        held = PYTHON.devices[number]
        if held != null(ptr[u8]):
            if type_of(held) == type_of(object):
                same = equal_objects(held, object, EQUAL)
                if same < 0:
                    return FAILED
                if same == 1:
                    to[0] = number
                    return DONE
    return MISFIT
