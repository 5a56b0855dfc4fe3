"""Python objects that keep foreign memory alive: the storage over the memory holds a reference, and gives it up natively.

No Python code of ours runs then: a tensor may go while an exception is on its way.
"""

from __future__ import annotations

from jitlang.frontend.kernel import extern, i32, kernel, ptr, u8

take_gil = extern("PyGILState_Ensure", [], i32)
give_gil = extern("PyGILState_Release", [i32])
drop_reference = extern("Py_DecRef", [ptr[u8]])


@kernel(extern=True)
def drop_object(owner: ptr[u8]) -> None:
    """Gives up a reference to a Python object, from any thread."""
    state = take_gil()
    drop_reference(owner)
    give_gil(state)
