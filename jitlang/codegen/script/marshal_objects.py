"""Python objects that a module's code refers to: interned names, classes, defaults.

In: keys, while code is generated. Out: the cells that hold them, in the module's global `OBJECTS`, which `bind` fills in each process that
links the code. A key is plain data, so that it can stand in the object cache: ``["name", text]``, ``["class", name in the program]``,
``["named tuple", name, field…]``, ``["default", parameter]``, ``["table", name]``, ``["static", "none"]``, ``["static", "text", text]``.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any

from jitlang.codegen.module import Module
from jitlang.errors import CodegenError
from jitlang.frontend.annotations import stored_class, stored_tuple
from jitlang.ir.graph import Program
from jitlang.ir.tables import tables_of
from jitlang.types import ClassType

OBJECTS = "jl.objects"
_kept: list[Any] = []
Key = Sequence[str]


def keys_of(module: Module) -> list[list[str]]:
    """The keys of a module's cells, in order."""
    keys: list[list[str]] = module.__dict__.setdefault("object_keys", [])
    return keys


def cell(module: Module, key: Key) -> str:
    """The address of the cell of an object, as an LLVM constant."""
    keys = keys_of(module)
    if list(key) not in keys:
        keys.append(list(key))
        module.globals[OBJECTS] = f'@"{OBJECTS}" = global [{len(keys)} x ptr] zeroinitializer, align 8'
    return f'getelementptr (i8, ptr @"{OBJECTS}", i64 {8 * keys.index(list(key))})'


def bind(address: int, keys: Sequence[Key], program: Program) -> None:
    """Fills the cells of a linked module, at `address`; the objects live as long as the process, as the code does.

    Raises:
        CodegenError: the program has no such class.
    """
    tables = tables_of(program) if any(key[0] == "table" for key in keys) else {}
    for index, key in enumerate(keys):
        found = tables[key[1]] if key[0] == "table" else _object(key, program)
        _kept.append(found)
        ctypes.c_void_p.from_address(address + 8 * index).value = id(found)


def _object(key: Key, program: Program) -> Any:
    kind, name, *rest = key
    if kind == "name":
        return sys.intern(name)
    if kind == "default":
        return program.main.defaults[name]
    if kind == "static":
        return rest[0] if rest else None
    known = program.classes.get(name)
    if kind == "named tuple":
        return known if isinstance(known, type) else stored_tuple(name, tuple(rest))
    if not isinstance(known, ClassType):
        raise CodegenError(f"the program has no class {name}")
    return stored_class(known)
