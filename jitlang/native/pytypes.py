"""CPython types whose slots are native code. In: a Python class with the methods, slot addresses. Out: the native type.

The native type derives from the Python class, so that methods are written in Python as usual, and is itself the type of
the objects: its own dealloc, its own vectorcall (a Python subclass of a native type would have neither: before CPython
3.12 it does not inherit vectorcall, and its dealloc takes a detour). Only API functions are used; of structs, the type
pointer of an object and the places of fields that are added here. Those are found from the base's size at run time.

- `callable_type`: objects that are called through a vectorcall pointer in the object, which can be exchanged at any time,
  and that bind as methods. Calling one takes 14 ns, as long as ``len(())``, entry and leave of the context included.
- `handle_type`: objects that hold one pointer to a native thing (a tensor). A call that makes and
  drops one takes 17 ns with the list of free objects, 30 to 40 without.
"""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Mapping
from typing import Any

from jitlang.errors import CodegenError
from jitlang.native import cache, engine, host

# Numbers of slots, from CPython's typeslots.h; part of its stable ABI.
_SLOT_NAMES = (
    "bf_getbuffer bf_releasebuffer mp_ass_subscript mp_length mp_subscript nb_absolute nb_add nb_and nb_bool nb_divmod nb_float nb_floor_divide "
    "nb_index nb_inplace_add nb_inplace_and nb_inplace_floor_divide nb_inplace_lshift nb_inplace_multiply nb_inplace_or nb_inplace_power "
    "nb_inplace_remainder nb_inplace_rshift nb_inplace_subtract nb_inplace_true_divide nb_inplace_xor nb_int nb_invert nb_lshift nb_multiply "
    "nb_negative nb_or nb_positive nb_power nb_remainder nb_rshift nb_subtract nb_true_divide nb_xor sq_ass_item sq_concat sq_contains "
    "sq_inplace_concat sq_inplace_repeat sq_item sq_length sq_repeat tp_alloc tp_base tp_bases tp_call tp_clear tp_dealloc tp_del tp_descr_get "
    "tp_descr_set tp_doc tp_getattr tp_getattro tp_hash tp_init tp_is_gc tp_iter tp_iternext tp_methods tp_new tp_repr tp_richcompare tp_setattr "
    "tp_setattro tp_str tp_traverse tp_members tp_getset tp_free nb_matrix_multiply nb_inplace_matrix_multiply"
)
SLOTS: dict[str, int] = {name: number for number, name in enumerate(_SLOT_NAMES.split(), start=1)}

_BASETYPE = 1 << 10
_DISALLOW_INSTANTIATION = 1 << 7
_HAVE_VECTORCALL = 1 << 11
_METHOD_DESCRIPTOR = 1 << 17
_DEFAULT = 1 << 18
_HAVE_GC = 1 << 14
_T_PYSSIZET, _READONLY = 19, 1
_WORD = 8
_FREE_OBJECTS = 64


class _Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("function", ctypes.c_void_p)]


class _Spec(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    ]


class _Member(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_kept: list[Any] = []


def native_type(base: type, *, words: int, slots: Mapping[str, int], flags: int = 0, members: Mapping[str, int] | None = None, name: str = "") -> Any:
    """A type derived from `base` whose objects have `words` more 8-byte fields behind those of `base`, zero at first.

    Args:
        slots: slot name as in the C API (``nb_add``, ``tp_dealloc``) → address.
        flags: type flags beside those every such type has.
        members: ``__vectorcalloffset__``, ``__weaklistoffset__`` → offset in the object.
        name: module and name; those of `base` if empty.

    Raises:
        KeyError: an unknown slot.
        CodegenError: a slot's address is 0.
    """
    for slot, address in slots.items():
        if not address:
            raise CodegenError(f"slot {slot} of {base.__name__} has no function")
    entries = [_Slot(SLOTS[slot], address) for slot, address in slots.items()]
    if members:
        table = (_Member * (len(members) + 1))(*(_Member(n.encode(), _T_PYSSIZET, at, _READONLY, None) for n, at in members.items()))
        entries.append(_Slot(SLOTS["tp_members"], ctypes.addressof(table)))
        _kept.append(table)
    array = (_Slot * (len(entries) + 1))(*entries)
    full_name = (name or f"{base.__module__}.{base.__qualname__}").encode()
    size = base.__basicsize__ + words * _WORD
    spec = _Spec(full_name, size, 0, _DEFAULT | _BASETYPE | flags, array)
    _kept.append((array, spec))
    make = ctypes.pythonapi.PyType_FromSpecWithBases
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.POINTER(_Spec), ctypes.py_object]
    made = make(ctypes.byref(spec), (base,))
    made.__doc__ = base.__doc__
    _kept.append(made)
    return made


# ---- callables ----------------------------------------------------------------------------------------------------

_DESCR_GET = """
@none = external global i8
declare ptr @PyMethod_New(ptr, ptr)
declare void @Py_IncRef(ptr)
define ptr @jl.type.descr_get(ptr %function, ptr %object, ptr %type) {
  %class = icmp eq ptr %object, null
  %is.none = icmp eq ptr %object, @none
  %unbound = or i1 %class, %is.none
  br i1 %unbound, label %self, label %bind
self:
  call void @Py_IncRef(ptr %function)
  ret ptr %function
bind:
  %method = call ptr @PyMethod_New(ptr %function, ptr %object)
  ret ptr %method
}
"""
_linked: dict[str, int] = {}


def _descr_get() -> int:
    if not _linked:
        code, _, _ = cache.cached_object([_DESCR_GET], lambda: (_DESCR_GET, {}), level=1, whole_package=False)
        _linked.update(engine.link(code, ["jl.type.descr_get"], {"none": id(None)}))
    return _linked["jl.type.descr_get"]


@dataclasses.dataclass(frozen=True)
class CallableType:
    """A type of native callables. `type` makes the objects; `words` fields of 8 bytes follow the vectorcall pointer.

    Native code gets the object itself as the first argument of its vectorcall function, and finds the fields at
    `data_offset`.
    """

    type: Any
    vectorcall_offset: int
    words: int

    @property
    def data_offset(self) -> int:
        """Offset of the first field behind the vectorcall pointer."""
        return self.vectorcall_offset + _WORD

    def entry(self, instance: object) -> int:
        """The address that calls of `instance` go to; 0 before the first `set_entry`."""
        return ctypes.c_void_p.from_address(id(instance) + self.vectorcall_offset).value or 0

    def set_entry(self, instance: object, address: int) -> None:
        """Lets calls of `instance` go to a vectorcallfunc: ``ptr (ptr callable, ptr args, i64 nargsf, ptr kwnames)``.

        One store: threads that call meanwhile enter the old function or the new one.
        """
        ctypes.c_void_p.from_address(id(instance) + self.vectorcall_offset).value = address

    def data(self, instance: object, index: int = 0) -> int:
        """Field `index` behind the vectorcall pointer, as a number."""
        return ctypes.c_void_p.from_address(id(instance) + self._field(index)).value or 0

    def set_data(self, instance: object, value: int, index: int = 0) -> None:
        """Writes field `index`; it owns nothing."""
        ctypes.c_void_p.from_address(id(instance) + self._field(index)).value = value

    def _field(self, index: int) -> int:
        if not 0 <= index < self.words:
            raise IndexError(f"field {index} of {self.words}")
        return self.data_offset + index * _WORD


def callable_type(base: type, *, words: int = 1, name: str = "") -> CallableType:
    """Makes a type of native callables from a Python class that gives it its methods and attributes.

    Objects whose entry was never set raise TypeError when called. `base` must not define ``__call__``.
    """
    offset = base.__basicsize__
    call = host.resolve(["PyVectorcall_Call"])["PyVectorcall_Call"]
    made = native_type(
        base,
        words=1 + words,
        slots={"tp_call": call, "tp_descr_get": _descr_get()},
        flags=_HAVE_VECTORCALL | _METHOD_DESCRIPTOR,
        members={"__vectorcalloffset__": offset},
        name=name,
    )
    return CallableType(made, offset, words)


# ---- handles ------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class HandleType:
    """A type whose objects hold one native pointer, at `offset`.

    `wrap` is the address of ``ptr (ptr thing)``: an object (a new reference) that takes over one reference to the thing (null, with
    MemoryError set and the reference given up, where there is no memory). `cell` is the address of a cell with the
    type's address, for comparing an object's type with it.
    """

    type: Any
    offset: int
    wrap: int
    cell: int

    def pointer(self, instance: object) -> int:
        """The native pointer that an object holds."""
        return ctypes.c_void_p.from_address(id(instance) + self.offset).value or 0


def _again(back: int | None) -> str:
    """Wrapping a thing that knows its object gives that object, unless it is on its way out (its count, the low word of the object, is 0)."""
    if back is None:
        return "br label %make"
    return f"""
  %home = getelementptr i8, ptr %thing, i64 {back}
  %held = load ptr, ptr %home
  %known = icmp ne ptr %held, null
  br i1 %known, label %look, label %make
look:
  %count.of = load i32, ptr %held
  %alive = icmp ne i32 %count.of, 0
  br i1 %alive, label %share, label %make
share:
  call void @Py_IncRef(ptr %held)
  call void @release(ptr %thing)
  ret ptr %held"""


def _settle(back: int | None) -> str:
    """A new object is noted in its thing."""
    return "" if back is None else f"%settled = getelementptr i8, ptr %thing, i64 {back}\n  store ptr %object, ptr %settled"


def _part(back: int | None) -> str:
    """A thing whose object goes forgets it, unless it has another one by now."""
    if back is None:
        return "br label %gone"
    return f"""%home = getelementptr i8, ptr %thing, i64 {back}
  %held = load ptr, ptr %home
  %own = icmp eq ptr %held, %self
  br i1 %own, label %forget, label %gone
forget:
  store ptr null, ptr %home
  br label %gone"""


def _handle_text(symbol: str, offset: int, free_objects: int, collected: bool, back: int | None) -> str:
    # A collector that comes across an object on the list of free ones would revive and drop it again.
    untrack = "call void @PyObject_GC_UnTrack(ptr %self)" if collected else ""
    return f"""
@type = external global ptr
@free = internal global [{max(1, free_objects)} x ptr] zeroinitializer
@count = internal global i64 0
declare ptr @PyType_GenericAlloc(ptr, i64)
declare void @_Py_NewReference(ptr)
declare void @PyObject_ClearWeakRefs(ptr)
declare void @PyObject_GC_UnTrack(ptr)
declare ptr @PyType_GetSlot(ptr, i32)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare void @release(ptr)

define ptr @{symbol}.wrap(ptr %thing) {{
  {_again(back)}
make:
  %n = load i64, ptr @count
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %reuse, label %fresh
reuse:
  %m = sub i64 %n, 1
  store i64 %m, ptr @count
  %at = getelementptr ptr, ptr @free, i64 %m
  %old = load ptr, ptr %at
  call void @_Py_NewReference(ptr %old)
  br label %fill
fresh:
  %type = load ptr, ptr @type
  %new = call ptr @PyType_GenericAlloc(ptr %type, i64 0)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %drop, label %fill
drop:
  call void @release(ptr %thing)
  ret ptr null
fill:
  %object = phi ptr [ %old, %reuse ], [ %new, %fresh ]
  %p = getelementptr i8, ptr %object, i64 {offset}
  store ptr %thing, ptr %p
  {_settle(back)}
  ret ptr %object
}}

define void @{symbol}.dealloc(ptr %self) {{
  {untrack}
  %wp = getelementptr i8, ptr %self, i64 {offset + _WORD}
  %weak = load ptr, ptr %wp
  %watched = icmp ne ptr %weak, null
  br i1 %watched, label %clear, label %give
clear:
  call void @PyObject_ClearWeakRefs(ptr %self)
  br label %give
give:
  %p = getelementptr i8, ptr %self, i64 {offset}
  %thing = load ptr, ptr %p
  store ptr null, ptr %p
  %some = icmp ne ptr %thing, null
  br i1 %some, label %release, label %put
release:
  {_part(back)}
gone:
  call void @release(ptr %thing)
  br label %put
put:
  %tp = getelementptr i8, ptr %self, i64 8
  %type = load ptr, ptr %tp
  %exact = load ptr, ptr @type
  %same = icmp eq ptr %type, %exact
  %n = load i64, ptr @count
  %room = icmp slt i64 %n, {free_objects}
  %keep = and i1 %same, %room
  br i1 %keep, label %push, label %free.it
push:
  %at = getelementptr ptr, ptr @free, i64 %n
  store ptr %self, ptr %at
  %m = add i64 %n, 1
  store i64 %m, ptr @count
  ret void
free.it:
  %free.f = call ptr @PyType_GetSlot(ptr %type, i32 {SLOTS["tp_free"]})
  call void %free.f(ptr %self)
  call void @Py_DecRef(ptr %type)
  ret void
}}
"""


def handle_type(
    base: type,
    release: int,
    *,
    slots: Mapping[str, int] | None = None,
    name: str = "",
    back: int | None = None,
    free_objects: int = _FREE_OBJECTS,
) -> HandleType:
    """Makes a type of handles from a Python class with ``__slots__ = ()`` that gives it its methods.

    Objects are made by native code only; Python subclasses are allowed (they may add attributes), weak references too.

    Args:
        release: address of ``void (ptr thing)``, called with the GIL when an object goes, perhaps while an exception is
            on its way: it must not run Python code.
        slots: further slots, name → address (`nb_add`, `mp_subscript`, …).
        back: offset in the thing of a word, null at first, that names its object: each thing then has one object as long as that lives.
        free_objects: how many dropped objects are kept for reuse.

    Raises:
        CodegenError: `base` has fields of its own.
    """
    if base.__basicsize__ != object.__basicsize__ or base.__dictoffset__:
        raise CodegenError(f"{base.__name__} must have __slots__ = ()")
    offset = base.__basicsize__
    symbol = f"jl.handle.{name or base.__qualname__}"
    cell = host.shared_cell(f"{symbol}.type")
    text = _handle_text(symbol, offset, free_objects, bool(base.__flags__ & _HAVE_GC), back)
    code, _, _ = cache.cached_object([text], lambda: (text, {}), level=1, whole_package=False)
    linked = engine.link(code, [f"{symbol}.wrap", f"{symbol}.dealloc"], {"type": cell, "release": release})
    made = native_type(
        base,
        words=2,
        slots={"tp_dealloc": linked[f"{symbol}.dealloc"], **(slots or {})},
        flags=_DISALLOW_INSTANTIATION,
        members={"__weaklistoffset__": offset + _WORD},
        name=name,
    )
    ctypes.c_void_p.from_address(cell).value = id(made)
    return HandleType(made, offset, linked[f"{symbol}.wrap"], cell)
