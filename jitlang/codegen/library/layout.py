"""Structs of the containers that generated code, the native library and the tensor runtime share."""

from __future__ import annotations

from jitlang.frontend.kernel import i64, ptr, struct, u8


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
