"""How conversions between Python and native code are described: a plan for each type, and the state of one call.

In: nothing. Out: the structs `Plan` (made as constants by `jitlang.codegen.script.marshal_plans`), `Part` and `State`, and their numbers.

A state lives on the stack of the native entry. Its entries are the containers and objects that were copied in, each with its Python object,
both with a reference; the first `ROOM` entries stand in the state itself and are searched one by one, more are found by a hash table.
"""

from __future__ import annotations

from jitlang.frontend.kernel import array, i32, i64, ptr, struct, u8

# What a plan is of.
INT, FLOAT, BOOL, NONE, STR, DTYPE, DEVICE, TENSOR, LIST, DICT, SET, TUPLE, OPTIONAL, OBJECT, NULLABLE = range(15)

# What `read` says.
DONE, MISFIT, FAILED = range(3)  # FAILED: Python's error indicator is set

# What `end` does.
WRITE, ALONE, BACK, BACK_FAILED, FINISH = range(5)

ROOM = 8
ENTRY_BYTES = 32


@struct
class Plan:
    """How one type is converted.

    `size`: bytes of a value. `first`: the plan of a list's elements, a dict's or set's keys, of what an Optional (NULLABLE: one whose None
    is the null pointer) holds, which stands at `offset`. `second`: that of a dict's values. `offset`, `second_offset`, `entry`: where key and value stand in an entry of
    a dict, and its size. `parts`: `count` elements of a tuple or attributes of an object. `python`: the cell with the Python class of a NamedTuple or an object. `native`: the
    `ClassInfo` of a class, or the function that hashes a key. `module`: attributes are read as those of a module. `dtype`, `rank`: of a tensor, -1 for any.
    """

    kind: i64
    size: i64
    first: ptr[Plan]
    second: ptr[Plan]
    offset: i64
    second_offset: i64
    entry: i64
    count: i64
    parts: ptr[u8]
    python: ptr[u8]
    native: ptr[u8]
    module: i64
    cyclic: i64
    dtype: i64
    rank: i64


@struct
class Part:
    """An element of a tuple or an attribute of an object: the cell with its interned name, its plan, where it stands; `missing`: an object may lack it."""

    name: ptr[u8]
    plan: ptr[Plan]
    offset: i64
    missing: i64


@struct
class Entry:
    """A container or object and the Python object that it was copied from, or that was made from it."""

    object: ptr[u8]
    native: ptr[u8]
    plan: ptr[Plan]
    owner: i64


@struct
class State:
    """One call. `lenient`: values that convert to what a plan wants are taken, not only those that are it.

    `read` of the `count` entries were copied in, the rest were made from native ones; the attributes of objects behind `filled` have not been copied yet: that is
    done one by one, so that a long chain of objects needs no deep stack. `snapshot`: objects are made for a moment's use, and
    what the natives say of their owners is restored after. `writer`: makes the Python object of a value.
    """

    lenient: i64
    snapshot: i64
    count: i64
    read: i64
    filled: i64
    capacity: i64
    entries: ptr[Entry]
    table: ptr[i32]
    mask: i64
    writer: ptr[u8]
    room: array[u8, ROOM * ENTRY_BYTES]
