"""Keyword arguments and defaults, without Python code.

In: the arguments of a vectorcall and what the function says of its parameters. Out: the objects for its native parameters, in order, borrowed. What
is not plain (a keyword that is not interned, a wrong call) is left to the dispatcher, which does it properly.
"""

from __future__ import annotations

from jitlang.codegen.library.python_api import clear_error, equal_objects, tuple_item, tuple_size
from jitlang.frontend.kernel import b1, cast, i64, kernel, null, ptr, struct, u8

ANY, POSITIONAL, KEYWORD = range(3)  # how a parameter may be passed
EQUAL = 2  # Py_EQ


@struct
class Parameter:
    """One parameter: cells with its interned name, its default, and (of one that is known at compile time) the value it must have; null where there
    is none. `index`: its number among the native parameters.
    """

    name: ptr[u8]
    default: ptr[u8]
    static: ptr[u8]
    how: i64
    index: i64


@kernel
def named(parameters: ptr[Parameter], count: i64, name: ptr[u8]) -> i64:
    """The number of the parameter that may be passed by this name, or -1."""
    for i in range(count):
        p = parameters + i
        if p.how != POSITIONAL:
            if cast(ptr[ptr[u8]], p.name)[0] == name:
                return i
    return -1


@kernel
def settle(parameters: ptr[Parameter], count: i64, found: ptr[ptr[u8]]) -> b1:
    """Fills defaults in, tests what must have one value, and moves the native parameters to the front."""
    for i in range(count):
        p = parameters + i
        object = found[i]
        if object == null(ptr[u8]):
            if p.default == null(ptr[u8]):
                return False
            object = cast(ptr[ptr[u8]], p.default)[0]
        if p.static == null(ptr[u8]):
            found[p.index] = object
        elif cast(ptr[ptr[u8]], p.static)[0] != object:
            same = equal_objects(cast(ptr[ptr[u8]], p.static)[0], object, EQUAL)
            if same < 0:
                clear_error()
            if same != 1:
                return False
    return True


@kernel(extern=True)
def arrange(arguments: ptr[ptr[u8]], given: i64, keywords: ptr[u8], parameters: ptr[Parameter], count: i64, found: ptr[ptr[u8]]) -> b1:
    """Puts the arguments of a call into `found`, which has room for `count`; False where the call is not plain."""
    if given > count:
        return False
    for i in range(count):
        found[i] = null(ptr[u8])
        if i < given:
            if (parameters + i).how == KEYWORD:
                return False
            found[i] = arguments[i]
    if keywords != null(ptr[u8]):
        for k in range(tuple_size(keywords)):
            i = named(parameters, count, tuple_item(keywords, k))
            if i < 0:
                return False
            if found[i] != null(ptr[u8]):
                return False
            found[i] = arguments[given + k]
    return settle(parameters, count, found)
