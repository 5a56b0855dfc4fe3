"""A specialisation's native code: from its program to an entry that Python can call.

In: a program. Out: a `Unit`: the addresses of its entry and of its chain cell. The object cache is asked first; its key is
the program's text with everything that the code depends on, so that a hit needs neither passes nor code generation.
"""

from __future__ import annotations

import ctypes
import dataclasses
import time
from collections.abc import Callable
from typing import Any

from jitlang.codegen import kernels
from jitlang.codegen.module import UNIT, Module
from jitlang.codegen.script.entry import ENTRY, NEXT, SINGLE, add_entry
from jitlang.codegen.script.marshal_objects import OBJECTS, bind, keys_of
from jitlang.codegen.script.program import lower_program
from jitlang.config import flag
from jitlang.ir.graph import Program
from jitlang.ir.printer import print_program
from jitlang.native import cache, context, engine, host
from jitlang.native.pytypes import CallableType, callable_type
from jitlang.passes.manager import optimise
from jitlang.source import SourceRange

DISPATCH_CELL = "jl.py.dispatch"  # the Python function that every chain ends at
CLEAN_CELL = "jl.py.clean"  # error → traceback
# Calls dispatch(callable, *args, **kwargs). If that raises, clean(error) gives the traceback that the user is to see.
_SLOW = """
@dispatch = external global ptr
@clean = external global ptr
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare i32 @PyException_SetTraceback(ptr, ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare void @PyErr_Clear()
declare void @Py_DecRef(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare i64 @PyTuple_Size(ptr)
define ptr @jl.slow(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames) {
  %n = and i64 %nargsf, 9223372036854775807
  %plain = icmp eq ptr %kwnames, null
  br i1 %plain, label %go, label %count
count:
  %k = call i64 @PyTuple_Size(ptr %kwnames)
  br label %go
go:
  %extra = phi i64 [ 0, %0 ], [ %k, %count ]
  %total = add i64 %n, %extra
  %room = add i64 %total, 1
  %copy = alloca ptr, i64 %room
  store ptr %callable, ptr %copy
  %rest = getelementptr ptr, ptr %copy, i64 1
  %bytes = mul i64 %total, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %args, i64 %bytes, i1 false)
  %f = load ptr, ptr @dispatch
  %m = add i64 %n, 1
  %r = call ptr @PyObject_Vectorcall(ptr %f, ptr %copy, i64 %m, ptr %kwnames)
  %failed = icmp eq ptr %r, null
  br i1 %failed, label %bad, label %good
good:
  ret ptr %r
bad:
  %cls = alloca ptr
  %error = alloca ptr
  %trace = alloca ptr
  call void @PyErr_Fetch(ptr %cls, ptr %error, ptr %trace)
  call void @PyErr_NormalizeException(ptr %cls, ptr %error, ptr %trace)
  %c = load ptr, ptr %cls
  %e = load ptr, ptr %error
  %t = load ptr, ptr %trace
  %none = icmp eq ptr %t, null
  br i1 %none, label %restore, label %look
look:
  %ignored = call i32 @PyException_SetTraceback(ptr %e, ptr %t)
  %cleaner = load ptr, ptr @clean
  %seen = call ptr @PyObject_Vectorcall(ptr %cleaner, ptr %error, i64 1, ptr null)
  %lost = icmp eq ptr %seen, null
  br i1 %lost, label %keep, label %swap
keep:
  call void @PyErr_Clear()
  br label %restore
swap:
  ; None, which no traceback is, stands for an empty one
  %empty = icmp eq ptr %seen, @none
  %set = call i32 @PyException_SetTraceback(ptr %e, ptr %seen)
  call void @Py_DecRef(ptr %t)
  br i1 %empty, label %bare, label %restore
bare:
  call void @Py_DecRef(ptr %seen)
  br label %restore
restore:
  %shown = phi ptr [ null, %bad ], [ %t, %keep ], [ %seen, %swap ], [ null, %bare ]
  call void @PyErr_Restore(ptr %c, ptr %e, ptr %shown)
  ret ptr null
}
@none = external global i8
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""
_types: list[CallableType] = []
_slow: list[int] = []


@dataclasses.dataclass
class Unit:
    """Linked code. `entry` is a vectorcall function; `next` the cell that says where a call goes that does not fit."""

    entry: int
    next: int
    seconds: float
    cache_hit: bool
    chained: bool = False

    def chain(self, address: int) -> None:
        """Calls that do not fit go to `address`."""
        ctypes.c_void_p.from_address(self.next).value = address
        self.chained = True


def entry_type() -> CallableType:
    """The native type of the callables that stand for one unit each."""
    if not _types:
        _types.append(callable_type(type("NativeEntry", (), {"__module__": "jitlang", "__slots__": ()})))
        host.object_cell(SINGLE, _types[0].type)
    return _types[0]


def slow_entry() -> int:
    """The end of every chain: a vectorcall function that calls Python's dispatcher."""
    if not _slow:
        code, _, _ = cache.cached_object([_SLOW], lambda: (_SLOW, {}), level=1, whole_package=False)
        _slow.append(
            engine.link(code, ["jl.slow"], {"dispatch": host.shared_cell(DISPATCH_CELL), "clean": host.shared_cell(CLEAN_CELL), "none": id(None)})["jl.slow"]
        )
    return _slow[0]


def single_entry(unit: Unit) -> Any:
    """A callable that calls `unit`."""
    if not unit.chained:
        unit.chain(slow_entry())
    kind = entry_type()
    made = kind.type()
    kind.set_entry(made, unit.entry)
    return made


def module_of(program: Program) -> Module:
    """The LLVM module of an optimised program, with its entry."""
    module = lower_program(program)
    add_entry(module, program.main)
    return module


def compile_unit(program: Program, *, cached: bool = True) -> Unit:
    """Compiles and links `program`, whose passes have not been run; CodegenError where that is not possible."""
    began = time.perf_counter()
    for class_name, cls in program.classes.items():
        if isinstance(cls, type) and issubclass(cls, BaseException):
            context.register_exception(class_name, cls)
    level = flag("JITLANG_OPT_LEVEL")
    name = cache.key(["script", print_program(program, hook=_default_name(program))], level=level) if cached else ""
    found = cache.load(name) if cached else None
    if found is not None:
        metadata, code = found
        sites = list(_unpack_sites(metadata["sites"], program))
        addresses = kernels.link(code, metadata, _exports(metadata))
    else:
        module = module_of(optimise(program, level))
        code = engine.compile_ir(module.text(), level=level)
        sites = module.sites
        metadata = {**kernels.metadata_of(module), "sites": _pack_sites(sites), "unit": UNIT in module.globals, "objects": keys_of(module)}
        if cached and None not in metadata["kernels"].values():
            cache.store(name, metadata, code)
        addresses = kernels.link(code, module, _exports(metadata))
    kernels.number_unit(addresses, sites)
    if OBJECTS in addresses:
        bind(addresses[OBJECTS], metadata["objects"], program)
    return Unit(addresses[ENTRY], addresses[NEXT], time.perf_counter() - began, found is not None)


def _default_name(program: Program) -> Callable[[Any], str | None]:
    """Names the defaults that have no literal (a list, say): code refers to them by their parameter, through a cell."""
    names = {id(value): name for name, value in program.main.defaults.items()}
    return lambda value: f"default {names[id(value)]}" if id(value) in names else None


def _exports(metadata: dict[str, Any]) -> list[str]:
    return [ENTRY, NEXT, *([UNIT] if metadata["unit"] else []), *([OBJECTS] if metadata["objects"] else [])]


def _pack_sites(sites: list[SourceRange | None]) -> list[Any]:
    """Sites as data: the file by name, the range by numbers. The texts are those of the program that is loaded later."""
    return [[_pack(frame) for frame in site.frames()] if site is not None else [] for site in sites]


def _pack(frame: SourceRange) -> list[Any]:
    return [frame.source.filename, frame.line, frame.col, frame.end_line, frame.end_col, frame.function]


def _unpack_sites(packed: list[Any], program: Program) -> list[SourceRange | None]:
    sources = {}
    for graph in program.functions.values():
        for node in graph.walk():
            for frame in node.range.frames() if node.range is not None else ():
                sources[frame.source.filename] = frame.source
    sites: list[SourceRange | None] = []
    for frames in packed:
        where: SourceRange | None = None
        for filename, line, col, end_line, end_col, function in reversed(frames):
            where = SourceRange(sources[filename], line, col, end_line, end_col, function, where)
        sites.append(where)
    return sites
