"""Loans: while one is open, somebody outside may write to a storage's memory behind the runtime's back (see `jitlang.tensor.sharing`).

A loan is a capsule over the storage that holds the Python tensor. It ends natively: no Python code of ours runs then, which a Ctrl-C could meet
where nobody takes it.
"""

from __future__ import annotations

from jitlang.codegen.library.python_api import O, decref, incref
from jitlang.frontend.kernel import addr, atomic_add, atomic_load, cast, extern, function_pointer, i32, kernel, null, ptr, u8
from jitlang.tensor.kernels.objects import impl_of
from jitlang.tensor.layout import GIVEN, LOAN, Storage

new_capsule = extern("PyCapsule_New", [ptr[u8], ptr[u8], ptr[u8]], O)
pointer_of = extern("PyCapsule_GetPointer", [O, ptr[u8]], ptr[u8])
set_context = extern("PyCapsule_SetContext", [O, O], i32)
context_of = extern("PyCapsule_GetContext", [O], O)


@kernel(extern=True)
def end_loan(loan: O) -> None:
    """What a loan does when it is freed; the caller holds the GIL."""
    s = cast(ptr[Storage], pointer_of(loan, null(ptr[u8])))
    atomic_add(addr(s.version), 1)
    atomic_add(addr(s.references), -LOAN)
    decref(context_of(loan))


@kernel(extern=True)
def begin_loan(tensor: O) -> O:
    """A loan of a Python tensor's memory; null, with Python's error set, where there is no memory for it."""
    s = impl_of(tensor).storage
    loan = new_capsule(cast(ptr[u8], s), null(ptr[u8]), function_pointer(end_loan, O))
    if loan != null(O):
        incref(tensor)
        set_context(loan, tensor)
        atomic_add(addr(s.references), LOAN)
    return loan


@kernel(extern=True)
def give_away(s: ptr[Storage]) -> None:
    """Marks memory whose address somebody outside has; the caller holds the GIL."""
    if atomic_load(addr(s.state)) & GIVEN == 0:
        atomic_add(addr(s.state), GIVEN)
