"""CPython's C API as kernels call it."""

from __future__ import annotations

from jitlang.frontend.kernel import extern, i32, i64, ptr, u8
from jitlang.types import F64

O = ptr[u8]
incref = extern("Py_IncRef", [O])
decref = extern("Py_DecRef", [O])
is_subtype = extern("PyType_IsSubtype", [O, O], i32)
no_memory = extern("PyErr_NoMemory", [], O)
set_string = extern("PyErr_SetString", [O, O])
clear_error = extern("PyErr_Clear", [])
error_occurred = extern("PyErr_Occurred", [], O)
fetch_error = extern("PyErr_Fetch", [O, O, O])
restore_error = extern("PyErr_Restore", [O, O, O])

take_gil = extern("PyGILState_Ensure", [], i32)
give_gil = extern("PyGILState_Release", [i32])

int_value = extern("PyLong_AsLongLongAndOverflow", [O, ptr[i32]], i64)
new_int = extern("PyLong_FromLongLong", [i64], O)
int_as_float = extern("PyLong_AsDouble", [O], F64)
index_of = extern("PyNumber_Index", [O], O)
truth = extern("PyObject_IsTrue", [O], i32)
float_value = extern("PyFloat_AsDouble", [O], F64)
new_float = extern("PyFloat_FromDouble", [F64], O)

text_length = extern("PyUnicode_GetLength", [O], i64)
text_codes = extern("PyUnicode_AsUCS4", [O, O, i64, i32], O)
new_text = extern("PyUnicode_FromKindAndData", [i32, O, i64], O)

list_size = extern("PyList_Size", [O], i64)
list_item = extern("PyList_GetItem", [O, i64], O)
list_set = extern("PyList_SetItem", [O, i64, O], i32)
list_append = extern("PyList_Append", [O, O], i32)
list_set_slice = extern("PyList_SetSlice", [O, i64, i64, O], i32)
new_list = extern("PyList_New", [i64], O)

tuple_size = extern("PyTuple_Size", [O], i64)
tuple_item = extern("PyTuple_GetItem", [O, i64], O)
tuple_set = extern("PyTuple_SetItem", [O, i64, O], i32)
new_tuple = extern("PyTuple_New", [i64], O)

dict_size = extern("PyDict_Size", [O], i64)
dict_next = extern("PyDict_Next", [O, ptr[i64], ptr[O], ptr[O]], i32)
dict_get = extern("PyDict_GetItemWithError", [O, O], O)
dict_set = extern("PyDict_SetItem", [O, O, O], i32)
dict_clear = extern("PyDict_Clear", [O])
dict_update = extern("PyDict_Update", [O, O], i32)
any_set = extern("PyObject_SetItem", [O, O, O], i32)
new_dict = extern("PyDict_New", [], O)

set_size = extern("PySet_Size", [O], i64)
set_add = extern("PySet_Add", [O, O], i32)
set_clear = extern("PySet_Clear", [O], i32)
new_set = extern("PySet_New", [O], O)
iterator = extern("PyObject_GetIter", [O], O)
iterator_next = extern("PyIter_Next", [O], O)

get_attribute = extern("PyObject_GetAttr", [O, O], O)
set_attribute = extern("PyObject_GenericSetAttr", [O, O, O], i32)
set_any_attribute = extern("PyObject_SetAttr", [O, O, O], i32)
vectorcall = extern("PyObject_Vectorcall", [O, ptr[O], i64, O], O)
call_method = extern("PyObject_VectorcallMethod", [O, ptr[O], i64, O], O)
equal_objects = extern("PyObject_RichCompareBool", [O, O, i32], i32)
