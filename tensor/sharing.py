"""Who else may write to a tensor's memory. Copies that are made of the memory are good only while nobody does behind the runtime's back.

In: what keeps foreign memory alive; tensors whose memory is given to others. Out: an answer to native code, and marks on storages.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

from jitlang.native import host

_probe = (object(),)
_SOLE = sys.getrefcount(_probe[0])  # the count of an object that only its container refers to


def _nobody_else_has(container: Any) -> bool:
    """Whether the first item of a tuple is an array with memory that is reached through it alone."""
    import numpy

    if type(container[0]) is not numpy.ndarray or sys.getrefcount(container[0]) > _SOLE:
        return False
    array: Any = container[0]
    while type(array.base) is numpy.ndarray:
        if sys.getrefcount(array.base) > _SOLE:
            return False
        array = array.base
    if array.base is None:
        return bool(array.flags.owndata)
    base: Any = array.base
    memory = base.obj if type(base) is memoryview else base
    # Of other buffers nobody can tell who has them: a memoryview leaves no trace in them.
    return type(memory) is bytes or getattr(memory, "private", False) is True


@host.host_function("jl.host.is_private", ctypes.c_int64, ctypes.c_int64)
def is_private(owner: int) -> int:
    """1 if nobody but a storage can reach the foreign memory that it stands over; `owner` is the storage's, a tuple."""
    try:
        return int(_nobody_else_has(ctypes.cast(owner, ctypes.py_object).value))
    except Exception:  # an unusual object: it may be anybody's
        return 0


@functools.cache
def _kernels() -> tuple[Any, Any]:
    from jitlang.codegen.kernels import address_of  # loads the code generator
    from jitlang.tensor.kernels import loans
    from jitlang.tensor.layout import Storage
    from jitlang.types import U8, Pointer

    storage: Any = Storage
    begin = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(address_of(loans.begin_loan.instance(Pointer(U8))))
    return begin, ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(address_of(loans.give_away.instance(Pointer(storage))))


def loan(tensor: Any) -> Any:
    """An object that holds a tensor whose memory others may write to until the object is freed."""
    return _kernels()[0](tensor)


def give_away(storage: int) -> None:
    """Marks memory whose address somebody outside has."""
    _kernels()[1](storage)
