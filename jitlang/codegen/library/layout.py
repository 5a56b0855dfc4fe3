"""Structs of the containers that generated code, the native library and the tensor runtime share.

In: nothing. Out: one `StructType` each. `references` comes first in all of them; strings are `jitlang.native.layouts.STR`.

`version` is 0 in a container that was copied in from Python, and another number after any change of it; who has written
the changes back sets it to 0 again. `owner` is the Python object that it was copied from, or 0.
"""

from __future__ import annotations

from jitlang.frontend.kernel import i32, i64, ptr, struct, u8
from jitlang.native.layouts import STR

Str = STR
CHANGED = 1 << 62  # what a store to an element sets `version` to: a constant needs no load of the old one


@struct
class List:
    """A list: `data` points to `capacity` elements of the element type's size, of which `length` are in use.

    `version` grows with each change of the list; `owner` is the Python list that it was copied from, or 0.
    """

    references: i64
    length: i64
    capacity: i64
    data: ptr[u8]
    version: i64
    owner: i64


@struct
class Dict:
    """A dict in insertion order: `used` entries (hash, key, value) of `capacity`, of which `length` live; a removed one has hash -1.

    `index` is an open-addressing table of `mask` + 1 numbers of entries, -1 where it was never used, probed from ``hash >> shift`` on;
    `filled` of its slots are in use. Entries and index stand in one block, at `entries`; a new dict has none. A set is a dict whose values are None.
    """

    references: i64
    length: i64
    version: i64
    owner: i64
    capacity: i64
    used: i64
    filled: i64
    mask: i64
    shift: i64
    entries: ptr[u8]
    index: ptr[i32]


@struct
class ClassInfo:
    """What native code knows of a class: `destroy` takes (object, pointer to the head of a chain of dead objects)."""

    destroy: ptr[u8]
    bytes: i64
    name: ptr[u8]


@struct
class Object:
    """The head of a class instance; the attributes follow, in order, as in a C struct."""

    references: i64
    version: i64
    owner: i64
    type: ptr[ClassInfo]


OBJECT_BYTES = 32
