"""Names that native code refers to, and their addresses. In: a symbol's name. Out: its address at link time.

A name is looked up in this order: host functions (Python functions made callable from native code), shared cells
(named pieces of process memory), the process (libc, libm, CPython's C
API), libgcc (128-bit division). Native code that is cached on disk holds names only, never addresses.
"""

from __future__ import annotations

import ctypes
import importlib
import threading
from collections.abc import Callable, Iterable
from typing import Any

from jitlang.errors import CodegenError

_ALIGN = 64  # one cache line a cell: cells that different threads write do not share one

_lock = threading.Lock()
_loading = threading.RLock()
_addresses: dict[str, int] = {}
_cells: dict[str, tuple[int, int]] = {}
_alive: list[Any] = []  # callbacks and objects that native code points to
_libraries: dict[str, Any] = {}

_calloc = ctypes.pythonapi.PyMem_RawCalloc
_calloc.restype = ctypes.c_void_p
_calloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]


def shared_cell(name: str, size: int = 8) -> int:
    """The address of `size` zero-initialised bytes that all users of `name` in the process share; never freed.

    Raises:
        CodegenError: the name is in use with another size.
    """
    with _lock:
        if name in _cells:
            address, known = _cells[name]
            if known != size:
                raise CodegenError(f"shared cell {name!r} has {known} bytes, not {size}")
            return address
        block = _calloc(1, size + 2 * _ALIGN)
        if not block:
            raise MemoryError(f"shared cell {name!r} of {size} bytes")
        address = (int(block) + _ALIGN - 1) // _ALIGN * _ALIGN
        _cells[name] = (address, size)
        _addresses[name] = address
        return address


def object_cell(name: str, value: object) -> int:
    """The address of a cell that holds a pointer to a Python object, which is kept alive; a second call replaces it."""
    address = shared_cell(name, 8)
    _alive.append(value)
    ctypes.c_void_p.from_address(address).value = id(value)
    return address


def define(name: str, address: int, keep: object = None) -> None:
    """Gives a symbol an address (of linked code, say); `keep` is kept alive with it.

    Raises:
        CodegenError: the name has another address already.
    """
    with _lock:
        if _addresses.setdefault(name, address) != address:
            raise CodegenError(f"symbol {name!r} is defined twice")
        _alive.append(keep)


# Which function of which module defines a symbol; the others are bridge's.
_OWN = {"jl.host.parallel": "threads.install", "jl.threads": "threads.install"}
_OWN |= {f"jl.tiles.{kind}{part}": f"tiles.install_{kind}" for kind in ("f32", "f64") for part in ("", ".turn")}
_loaded: set[str] = set()


def _load_own(name: str) -> None:
    where = _OWN.get(name, "bridge.install")
    module, _, function = where.partition(".")
    with _loading:
        if where not in _loaded:
            getattr(importlib.import_module(f"jitlang.native.{module}"), function)()
            _loaded.add(where)


def host_function(name: str, result: Any, *arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: makes a Python function callable from native code by `name`, with these ctypes types.

    It may be called with or without the GIL; the call takes it. The function must not raise: a signal handler's
    exception that arrives while it begins is lost. What may raise is called as a Python object by bridge code.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        callback = ctypes.CFUNCTYPE(result, *arguments)(function)
        address = ctypes.cast(callback, ctypes.c_void_p).value
        assert address is not None
        define(name, address, callback)
        return function

    return register


def _symbol(library: Any, name: str) -> int | None:
    try:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    except AttributeError:
        return None


def _library(key: str, open_it: Callable[[], Any]) -> Any:
    # Not under the lock: opening may run Python code. Opening twice gives the same handle.
    if key not in _libraries:
        try:
            _libraries[key] = open_it()
        except OSError:
            _libraries[key] = None
    return _libraries[key]


def _open_process() -> Any:
    return ctypes.PyDLL(None)


def process() -> Any:
    """The process itself as a ctypes library whose functions keep the GIL (libc, pthread, CPython's C API)."""
    return _library("process", _open_process)


def lookup(name: str) -> int | None:
    """The address of a symbol, or None where there is none."""
    found = _addresses.get(name)
    if found is None and name.startswith("jl."):
        _load_own(name)
        found = _addresses.get(name)
    if found is not None:
        return found
    found = _symbol(process(), name)
    if found is None and name.startswith("__"):
        found = _symbol(_library("gcc", lambda: ctypes.CDLL("libgcc_s.so.1")), name)
    if found is not None:
        with _lock:
            _addresses.setdefault(name, found)
    return found


def resolve(names: Iterable[str]) -> dict[str, int]:
    """The addresses of symbols, for `engine.link`.

    Raises:
        CodegenError: a name is unknown.
    """
    found = {name: lookup(name) for name in names}
    missing = sorted(name for name, address in found.items() if address is None)
    if missing:
        raise CodegenError(f"native code needs symbols that this process does not have: {', '.join(missing)}")
    return {name: address for name, address in found.items() if address is not None}


def runtime_support() -> dict[str, int]:
    """Functions that LLVM calls by itself (128-bit division) and that are no symbols of the process everywhere."""
    names = ("__divti3", "__modti3", "__udivti3", "__umodti3", "__muloti4")
    return {name: address for name in names if (address := lookup(name)) is not None}
