"""Per-thread contexts, and the error record in them. In: a record that native code left. Out: a Python exception.

A record is a class name with one of: an owned message (`Str`), a format with up to six arguments, arguments alone (they
become the exception's arguments, as of ``KeyError(key)``); or the mark that Python's error indicator is set. Each
native frame that passes an error on pushes its place (unit, index); the exception gets them as its traceback.
Making an exception of a record takes 3 to 5 µs.
"""

from __future__ import annotations

import builtins
import ctypes
import os
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any

from jitlang import errors
from jitlang.native import host, tracebacks
from jitlang.native.layouts import ARGUMENT_BOOL, ARGUMENT_FLOAT, ARGUMENT_INT, ARGUMENT_TEXT, MAX_SITES, STR_DATA, Context, StrHead

_classes: dict[str, type[BaseException]] = {}
_lock = threading.Lock()
_free: list[Any] = []  # contexts whose thread has ended
_all: list[Any] = []
_local = threading.local()

LIST_CELL = "jl.contexts"  # head of the list of all contexts
MEMORY_CELL = "jl.memory.counters"  # whether allocated blocks are counted, and their number
CURRENT_CELL = "jl.current"  # the context that was asked for last; valid if the stack pointer lies in its bounds


# ---- contexts -----------------------------------------------------------------------------------------------------


class _Owner:
    """Held by a thread's local storage; gives its context back when the thread ends."""

    # Not globals: module globals are gone when the main thread's owner goes.
    pool = _free
    getpid = staticmethod(os.getpid)
    process = -1  # an interrupt may leave a half-made object

    def __init__(self, context: Any) -> None:
        self.context = context
        self.process = self.getpid()

    def __del__(self) -> None:
        if self.process != self.getpid():
            return  # of a thread that a fork left behind, or half-made
        self.context.stack_low = self.context.stack_high = 0
        self.pool.append(self.context)


def current() -> Any:
    """The `Context` (a ctypes structure) of the calling thread, made on its first call."""
    owner: _Owner | None = getattr(_local, "owner", None)
    if owner is None:
        owner = _local.owner = _Owner(_new_context())
    return owner.context


def address() -> int:
    """The address of `current`, which becomes the cached one; native code calls this when the cached one is not its own."""
    found = ctypes.addressof(current())
    ctypes.c_int64.from_address(host.shared_cell(CURRENT_CELL)).value = found
    return found


def _new_context() -> Any:
    low, high = _stack_bounds()
    with _lock:
        if _free:
            context = _free.pop()
        else:
            # In memory that is never freed: native code may look at the list after the interpreter's end.
            context = Context.from_address(host.shared_cell(f"jl.context.{len(_all)}", ctypes.sizeof(Context)))
            _all.append(context)
            head = ctypes.c_int64.from_address(host.shared_cell(LIST_CELL))
            context.next = head.value
            head.value = ctypes.addressof(context)
    context.interrupt = context.active = context.flags = context.depth = context.error_count = 0
    context.gil = context.hook = context.error_message = None
    context.stack_low, context.stack_high = low, high
    context.stack_limit = low + min((high - low) // 8, 512 << 10)
    return context


def forget_other_threads() -> None:
    """In a forked child: gives back the contexts of threads that do not exist there."""
    global _lock
    _lock = threading.Lock()
    mine = current()
    _free.clear()
    for context in _all:
        if context is not mine:
            context.active = context.stack_low = context.stack_high = 0
            _free.append(context)


def _stack_bounds() -> tuple[int, int]:
    c = host.process()
    c.pthread_self.restype = ctypes.c_void_p
    this = ctypes.c_void_p(c.pthread_self())
    if sys.platform == "darwin":
        c.pthread_get_stackaddr_np.restype = ctypes.c_void_p
        c.pthread_get_stacksize_np.restype = ctypes.c_size_t
        high = int(c.pthread_get_stackaddr_np(this))
        return high - int(c.pthread_get_stacksize_np(this)), high
    attributes = ctypes.create_string_buffer(256)
    base, size = ctypes.c_void_p(), ctypes.c_size_t()
    if c.pthread_getattr_np(this, attributes):
        raise errors.CodegenError("the bounds of this thread's stack are unknown")
    c.pthread_attr_getstack(attributes, ctypes.byref(base), ctypes.byref(size))
    c.pthread_attr_destroy(attributes)
    low = base.value or 0
    return low, low + size.value


# ---- records ------------------------------------------------------------------------------------------------------


def register_exception(name: str, cls: type[BaseException]) -> None:
    """Lets native code raise `cls` by that name; builtin exceptions need no registration."""
    _classes[name] = cls


def exception_class(name: str) -> type[BaseException]:
    """The class of that name: a registered one, a builtin, one of `jitlang.errors`; RuntimeError where there is none."""
    for found in (_classes.get(name), getattr(builtins, name, None), getattr(errors, name, None)):
        if isinstance(found, type) and issubclass(found, BaseException):
            return found
    return RuntimeError


def read_text(pointer: int) -> str:
    """The C string at that address."""
    return ctypes.string_at(pointer).decode("utf-8", "replace")


def read_str(pointer: int) -> str:
    """The text of a `Str`."""
    head = StrHead.from_address(pointer)
    codec = {1: "latin-1", 2: "utf-16", 4: "utf-32"}[head.kind]
    if head.kind > 1:
        codec += "-le" if sys.byteorder == "little" else "-be"
    return ctypes.string_at(pointer + STR_DATA, head.length * head.kind).decode(codec, "surrogatepass")


def release_str(pointer: int) -> None:
    """Gives up one reference to a `Str`."""
    head = StrHead.from_address(pointer)
    head.refcount -= 1
    if head.refcount == 0:
        host.process().free(ctypes.c_void_p(pointer))
        counting = (ctypes.c_int64 * 2).from_address(host.shared_cell(MEMORY_CELL, 16))
        counting[1] -= bool(counting[0])


def _owned_str(pointer: int) -> str:
    text = read_str(pointer)
    release_str(pointer)
    return text


_READERS: dict[int, Callable[[int], object]] = {
    ARGUMENT_INT: lambda bits: bits,
    ARGUMENT_FLOAT: lambda bits: struct.unpack("<d", struct.pack("<q", bits))[0],
    ARGUMENT_TEXT: read_text,
    ARGUMENT_BOOL: lambda bits: bool(bits & 1),
}


def exception_of(pointer: int, pending: BaseException | None = None) -> BaseException:
    """The exception that the record in the context at `pointer` describes, with its traceback; empties the record.

    `pending` is the exception that Python's error indicator held, where the record says so; it only gets the places.
    """
    context = Context.from_address(pointer)
    depth = min(context.depth, MAX_SITES)
    units, indices = context.site_units[:depth], context.site_indices[:depth]
    context.depth = context.flags = 0
    error = _build(context) if pending is None else pending
    return tracebacks.attach(error, map(tracebacks.places, units, indices))


def _build(context: Any) -> BaseException:
    arguments = [_READERS.get(kind, _owned_str)(bits) for kind, bits in zip(*_arguments(context), strict=True)]
    context.error_count = 0
    if context.error_message:
        arguments = [_owned_str(context.error_message)]
        context.error_message = None
    elif context.error_format:
        message = read_text(context.error_format).format(*arguments)
        arguments = [message] if message else []
        context.error_format = None
    cls = exception_class(read_text(context.error_class)) if context.error_class else RuntimeError
    context.error_class = None
    try:
        return cls(*arguments)
    except Exception:  # a class whose __init__ wants something else
        error = cls.__new__(cls, *arguments)
        error.args = tuple(arguments)
        return error


def _arguments(context: Any) -> tuple[list[int], list[int]]:
    count = context.error_count
    return context.error_kinds[:count], context.error_values[:count]


# ---- what generated code does inline, for Python code that stands in for it -----------------------------------------


def record(cls: str, message_format: str, *arguments: float, where: tuple[int, int] | None = None) -> None:
    """Writes an error record into the current context, as generated code does; for tests and Python-side runtime code."""
    context = current()
    keep = [cls.encode(), message_format.encode()]
    context.error_class, context.error_format = (ctypes.cast(ctypes.c_char_p(_interned(text)), ctypes.c_void_p).value for text in keep)
    context.error_count = len(arguments)
    for index, argument in enumerate(arguments):
        is_float = isinstance(argument, float)
        context.error_kinds[index] = ARGUMENT_FLOAT if is_float else ARGUMENT_INT
        context.error_values[index] = struct.unpack("<q", struct.pack("<d", argument))[0] if is_float else argument
    if where is not None:
        push_site(context, *where)


def push_site(context: Any, unit: int, index: int) -> None:
    """Pushes a place on the site stack of the record."""
    if context.depth < MAX_SITES:
        context.site_units[context.depth], context.site_indices[context.depth] = unit, index
    context.depth += 1


_texts: dict[bytes, bytes] = {}


def _interned(text: bytes) -> bytes:
    return _texts.setdefault(text, text)
