"""Loops over elements that are compiled when a dtype first needs them.

A `Loop` is a table in shared memory, by dtype code, of compiled instances of one loop kernel. Kernels look a loop up with
`loop_of`; an empty entry calls the host, which compiles the instance (or takes it from the object cache) and fills the entry.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from jitlang.frontend.kernel import Instance, Kernel, address, array, check, extern, i64, kernel, null, ptr, shared, size_of, struct, text, u8, unlikely
from jitlang.native import host
from jitlang.tensor.layout import LoopTable
from jitlang.types import DType, dtype_coded

ask = extern("jl.host.ask", [ptr[u8], i64, i64], ptr[u8])
FAILED = 1  # in place of an address


@struct
class Reason:
    """Why the last `fill` failed, as text that ends with 0."""

    text: array[u8, 4096]


@struct
class Host:
    """The address of `fill`."""

    fill: ptr[u8]


REASON = shared("jl.loop.reason", Reason)
HOST = shared("jl.loop.host", Host)

Maker = Callable[[DType], "Instance | None"]

_loops: list[Loop] = []
_by_address: dict[int, Loop] = {}
_lock = threading.RLock()


class Loop:
    """The loops of one operator.

    Args:
        name: how error messages name the operator.
        make: the instance for a dtype, or None where the operator is not defined for it.
        table: the struct of the table; its first field is the array of entries.
    """

    def __init__(self, name: str, make: Maker, table: Any = LoopTable) -> None:
        self.name = name
        self.make = make
        if any(loop.name == name for loop in _loops):
            raise ValueError(f"two operators have loops called {name}")
        self.table = shared(f"jl.loop.{name}", table)
        _loops.append(self)

    def instance(self, key: int) -> Instance:
        """The instance for an entry of the table.

        Raises:
            NotImplementedError: the operator is not defined for that dtype.
        """
        made = self.make(dtype_coded(key))
        if made is None:
            raise NotImplementedError(f"\"{self.name}\" not implemented for '{dtype_coded(key).name}'")
        return made


def all_loops() -> list[Loop]:
    """The loops of all operators."""
    return list(_loops)


def _address_of(instance: Instance) -> int:
    from jitlang.codegen.kernels import address_of  # loads the code generator, which an import of the tensors does not need

    return int(address_of(instance))


def _loop_at(address: int) -> Loop:
    if address not in _by_address:
        for loop in _loops:
            _by_address[host.shared_cell(loop.table.name, size_of(loop.table.type))] = loop
    return _by_address[address]


@host.host_function("jl.host.compile_loop", ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
def fill(table: int, key: int) -> int:
    """Compiles an entry of a table and stores it there; `FAILED`, with the reason in `REASON`, where it cannot be; 0 where a signal came in between
    (see ``jl.host.ask``)."""
    try:
        with _lock:
            made = _address_of(_loop_at(table).instance(key))
            ctypes.c_void_p.from_address(table + 8 * key).value = made
            return made
    except KeyboardInterrupt:
        return 0
    except BaseException as error:  # native code is waiting: whatever it is, it is told as text
        message = str(error).encode()[:4000] + b"\0"
        ctypes.memmove(host.shared_cell(REASON.name, size_of(REASON.type)), message, len(message))
        return FAILED


ctypes.c_void_p.from_address(host.shared_cell(HOST.name, size_of(HOST.type))).value = host.lookup("jl.host.compile_loop")


@kernel(extern=True)
def missing_loop(table: ptr[LoopTable], key: i64) -> ptr[u8]:
    """Asks the host for a loop that no one has needed before."""
    made = ask(HOST.fill, address(table), key)
    check(address(made) != FAILED, "RuntimeError", "{}", text(REASON.text))
    return made


@kernel
def loop_of(table: ptr[LoopTable], key: i64) -> ptr[u8]:
    """The compiled loop for a dtype code."""
    found = table.loops[key]
    if unlikely(found == null(ptr[u8])):
        found = missing_loop(table, key)
    return found


def static(value: Any) -> Any:
    """A compile-time argument of `Kernel.instance`."""
    from jitlang.frontend.emitter import Static

    return Static(value)


LOOP_ARGUMENTS = (i64, ptr[ptr[u8]], ptr[i64])


def pointwise(kernel: Kernel, *statics: Any) -> Instance:
    """The instance of a loop kernel (static arguments…, n, data, strides)."""
    return kernel.instance(*map(static, statics), *LOOP_ARGUMENTS)
