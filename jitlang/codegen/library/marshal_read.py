"""From Python to native code: one value, by its plan.

In: a Python object, borrowed, and a plan. Out: an owned native value, stored at an address, and DONE; or MISFIT (the object is not what the plan
says; no Python error is set) or FAILED (one is). Then nothing is stored, and what was begun is given up, at the latest by `finish`.

Nothing but `PyObject_GetAttr` runs code of the user's here; whoever reads attributes holds a reference to what it reads them from.
"""

from __future__ import annotations

from jitlang.codegen.library import values
from jitlang.codegen.library.dicts import index_bytes, index_slots
from jitlang.codegen.library.layout import OBJECT_BYTES, ClassInfo, Dict, List, Object
from jitlang.codegen.library.marshal_layout import (
    BOOL,
    DEVICE,
    DICT,
    DONE,
    DTYPE,
    FAILED,
    FLOAT,
    INT,
    LIST,
    MISFIT,
    NONE,
    OBJECT,
    OPTIONAL,
    SET,
    STR,
    TENSOR,
    TUPLE,
    Part,
    Plan,
    State,
)
from jitlang.codegen.library.marshal_python import (
    DEVICES,
    FLOAT_VALUE,
    INT_FORM,
    LIST_ITEMS,
    PYTHON,
    TENSORS,
    clear_error,
    decref,
    dict_get,
    dict_next,
    dict_size,
    equal_objects,
    error_occurred,
    float_value,
    get_attribute,
    incref,
    int_as_float,
    int_value,
    is_subtype,
    iterator,
    iterator_next,
    list_item,
    list_size,
    set_size,
    tuple_item,
    tuple_size,
)
from jitlang.codegen.library.marshal_state import add, begin, block_of, find, finish, is_counted, overflow, release_at, type_of
from jitlang.codegen.library.marshal_text import text_from
from jitlang.codegen.library.memory import LARGEST, give_back
from jitlang.codegen.library.strings import hash_of
