"""Kernels to machine code: which instances go into which module, their units on disk, and their addresses.

An instance of an ``extern`` kernel is a unit of its own: compiled once, kept in the object cache under its name and
arguments (its IR need not be made again to load it), called by address. Any other instance is emitted into each module that calls it.
"""

from __future__ import annotations

import ctypes
import importlib
import itertools
import os
import sys
import threading
import traceback
from collections.abc import Mapping
from typing import Any

from jitlang.codegen import literals, machine, structured  # noqa: F401  lowerings enter themselves
from jitlang.codegen.function import FunctionBuilder, lowering, result_type
from jitlang.codegen.llvm_types import quote, register_type
from jitlang.codegen.module import CPU, UNIT, Module, Target
from jitlang.config import flag
from jitlang.errors import CodegenError
from jitlang.frontend.emitter import Static
from jitlang.frontend.kernel import SHARED_RESOLVER, Instance, Kernel
from jitlang.frontend.kernel_emitter import parameter_types
from jitlang.ir.graph import Node
from jitlang.native import cache, context, engine, host, tracebacks
from jitlang.types import (
    F64,
    I64,
    MACHINE_TYPES,
    NONE,
    VOID,
    Machine,
    OptionalType,
    Pointer,
    StructType,
    TupleType,
    Type,
)

SHARED_RESOLVER.append(host.shared_cell)
_lock = threading.RLock()
_addresses: dict[Instance, int] = {}
_abi: dict[Instance, tuple[Type, bool]] = {}
_units = itertools.count(1)


def abi(instance: Instance) -> tuple[Type, bool]:
    """The result type of an instance, and whether it may raise."""
    found = _abi.get(instance)
    if found is None:
        graph = instance.graph
        found = _abi[instance] = (graph.result, instance.raises)
    return found


def reference(module: Module, instance: Instance) -> str:
    """The LLVM name by which `module` calls an instance: its code there, or (``extern``) a stub that finds it when it is first called."""
    if instance.symbol not in module.functions:
        if instance.kernel.extern and module.target.name == CPU.name:
            _add_stub(module, instance)
        else:
            emit(module, instance)
    return f"@{quote(instance.symbol)}"


def _add_stub(module: Module, instance: Instance) -> None:
    """Calls by way of a cell, which at first leads to a function that asks the host for the code and puts its address there.

    So a unit is compiled, or loaded, when the first call needs it: what a kernel does in rare cases costs nothing before.
    """
    result, raises = abi(instance)
    types = [*(["ptr"] if raises else []), *(register_type(t) for t in instance.types)]
    kind = result_type(result, raises)
    symbol, cell, lazy = (f"@{quote(instance.symbol + suffix)}" for suffix in ("", _CELL, ".find"))
    given = ", ".join(f"{t} %a{i}" for i, t in enumerate(types))
    ask, find = module.declare("jl.host.ask", "ptr (ptr, i64, i64)"), module.declare(FIND, "ptr (i64, i64)")
    name = module.string(instance.symbol.encode())
    returned = ("", "ret void") if kind == "void" else ("%r = ", f"ret {kind} %r")
    module.kernels[instance.symbol] = instance
    module.constant(instance.symbol + _CELL, f"global ptr {lazy}, align 8")
    module.functions[instance.symbol] = (
        f"define internal {kind} {symbol}({given}) nounwind alwaysinline {{\n  %f = load atomic ptr, ptr {cell} monotonic, align 8\n"
        f"  {returned[0]}call {kind} %f({given})\n  {returned[1]}\n}}"
    )
    module.functions[instance.symbol + ".find"] = (
        f"define internal {kind} {lazy}({given}) nounwind cold noinline {{\n"
        f"  %n = ptrtoint ptr {name} to i64\n  %f = call ptr {ask}(ptr {find}, i64 %n, i64 0)\n"
        f"  store atomic ptr %f, ptr {cell} monotonic, align 8\n  {returned[0]}call {kind} %f({given})\n  {returned[1]}\n}}"
    )


def _instance(held: Any) -> Instance:
    return held if isinstance(held, Instance) else decode_instance(held)


def _nothing() -> int:
    """The address of a function that does nothing."""
    if not _by_symbol.get(""):
        _by_symbol[""] = engine.link(engine.compile_ir("define i64 @nothing() {\n  ret i64 0\n}", level=0), ["nothing"])["nothing"]
    return _by_symbol[""]


def prepare(instance: Instance) -> int:
    """The address of an instance all of whose callees are loaded too: for what runs when the interpreter ends."""
    _nothing()
    address = address_of(instance)
    for held in _callees.get(instance, {}).values():
        callee = _instance(held)
        if callee.symbol not in _by_symbol:
            prepare(callee)
    return address


FIND = "jl.host.kernel"
_CELL = ".cell"
_by_symbol: dict[str, int] = {}
_waiting: dict[str, list[int]] = {}  # symbol → cells of linked units that lead to its code once it is loaded
_callees: dict[Instance, Mapping[str, Any]] = {}
_known: dict[str, Any] = {}  # symbol → an instance, or its encoded form


@host.host_function(FIND, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
def _find(symbol: int, _: int) -> int:
    """The address of the code of an instance that a linked unit knows by this symbol; 0 where a signal came in between (see ``jl.host.ask``)."""
    try:
        name = ctypes.string_at(symbol).decode()
        known = _by_symbol.get(name)
        if known is not None:
            return known
        if sys.is_finalizing():
            return _nothing()  # nothing can be compiled any more; what is called now only gives things up
        return address_of(_instance(_known[name]))
    except KeyboardInterrupt:
        return 0
    except BaseException:
        traceback.print_exc()
        os.abort()  # a fault of jitlang; the caller cannot go on, and no error can be handed to it


# Loops of kernels are worth the widest vectors; LLVM alone stops at half of them on AVX-512.
_WIDE = '"prefer-vector-width"="512"'


def emit(module: Module, instance: Instance, linkage: str = "internal", attributes: str = "") -> None:
    """Adds the code of an instance to `module`."""
    _, raises = abi(instance)
    inline = {"always": "alwaysinline", "never": "noinline"}.get(instance.kernel.inline, "")
    module.functions[instance.symbol] = ""  # known from here on
    builder = FunctionBuilder(module, instance.graph, instance.symbol, raises=raises, linkage=linkage, attributes=f"{inline} {_WIDE} {attributes}".strip())
    builder.lower()


@lowering("ll::call")
def _call(b: FunctionBuilder, node: Node) -> None:
    instance: Instance = node.attributes["instance"]
    result, raises = abi(instance)
    made = b.call(node, reference(b.module, instance), result, [b.typed(v) for v in node.inputs], raises=raises)
    if node.outputs:
        b.values[node.output] = made


@lowering("ll::function")
def _function(b: FunctionBuilder, node: Node) -> None:
    b.values[node.output] = reference(b.module, node.attributes["instance"])


# ---- units ------------------------------------------------------------------------------------------------------------


def link(code: bytes, module_or_metadata: Module | dict[str, Any], exports: list[str]) -> dict[str, int]:
    """Links a unit into the process: finds the addresses of what it calls, and numbers its error sites."""
    if isinstance(module_or_metadata, Module):
        metadata = metadata_of(module_or_metadata)
        known: Mapping[str, Any] = module_or_metadata.kernels
    else:
        metadata = module_or_metadata
        known = metadata["kernels"]
    for name, instance in known.items():
        _known.setdefault(name, instance)
    cells = [name + _CELL for name in known]
    imports: dict[str, int] = {}
    for name in metadata["imports"]:
        if name in metadata["shared"]:
            imports[name] = host.shared_cell(name, metadata["shared"][name])
        else:
            imports.update(host.resolve([name]))
    addresses = engine.link(code, [*exports, *cells], imports)
    with _lock:
        for name in known:
            cell = addresses[name + _CELL]
            if name in _by_symbol:
                ctypes.c_void_p.from_address(cell).value = _by_symbol[name]
            else:
                _waiting.setdefault(name, []).append(cell)
    return addresses


def metadata_of(module: Module) -> dict[str, Any]:
    """What the cache keeps of a module beside its code, to link it again."""
    kernels = {name: encode_instance(i) for name, i in module.kernels.items()}
    return {"imports": sorted(module.imports), "shared": module.shared, "kernels": kernels}


def number_unit(addresses: dict[str, int], sites: list[Any]) -> None:
    """Gives a linked unit that has error sites its number."""
    if UNIT in addresses:
        number = next(_units)
        ctypes.c_int64.from_address(addresses[UNIT]).value = number
        tracebacks.register_unit(number, sites)


def address_of(instance: Instance) -> int:
    """The address of an instance's compiled code; compiles it, or takes it from the object cache."""
    found = _addresses.get(instance)
    if found is not None:
        return found
    with _lock:
        if instance not in _addresses:
            address = _addresses[instance] = _by_symbol[instance.symbol] = _load(instance)
            for cell in _waiting.pop(instance.symbol, ()):
                ctypes.c_void_p.from_address(cell).value = address
        return _addresses[instance]


def _load(instance: Instance) -> int:
    level = max(1, int(flag("JITLANG_OPT_LEVEL")))
    encoded = encode_instance(instance)
    parts = ["kernel", repr(encoded)] if encoded is not None else []
    if parts and not instance.kernel.function.__module__.startswith("jitlang."):
        parts.append(llvm_text(instance))  # the package's fingerprint does not cover it
    name = cache.key(parts, level=level) if parts else ""
    found = cache.load(name) if name else None
    if found is not None:
        metadata, code = found
        _abi[instance] = (decode_type(metadata["result"]), metadata["raises"])
    else:
        module = Module()
        emit(module, instance, linkage="")
        code = engine.compile_ir(module.text(), level=level)
        result, raises = abi(instance)
        metadata = {**metadata_of(module), "result": encode_type(result), "raises": raises}
        if name and None not in metadata["kernels"].values():
            cache.store(name, metadata, code)
        _callees[instance] = module.kernels
        return link(code, module, [instance.symbol])[instance.symbol]
    _callees[instance] = metadata["kernels"]
    return link(code, metadata, [instance.symbol])[instance.symbol]


def llvm_text(instance: Instance, target: Target = CPU) -> str:
    """The LLVM IR of an instance and of what is emitted with it."""
    module = Module(target)
    emit(module, instance, linkage="")
    return module.text()


# ---- instances as data, for the cache -----------------------------------------------------------------------------------


def encode_type(type: Type) -> Any:
    """A type as JSON data."""
    if isinstance(type, Machine) or type in (VOID, NONE):
        return str(type)
    if isinstance(type, Pointer):
        return ["ptr", encode_type(type.element)]
    if isinstance(type, OptionalType):
        return ["opt", encode_type(type.element)]
    if isinstance(type, TupleType):
        return ["tuple", *(encode_type(t) for t in type.elements)]
    if isinstance(type, StructType):
        return ["struct", type.name]
    raise CodegenError(f"kernel type {type} has no encoding")


def decode_type(data: Any) -> Type:
    """The type that `encode_type` encoded."""
    if isinstance(data, str):
        return {"void": VOID, "None": NONE}.get(data) or MACHINE_TYPES[data]
    kind, *rest = data
    if kind == "ptr":
        return Pointer(decode_type(rest[0]))
    if kind == "opt":
        return OptionalType(decode_type(rest[0]))
    if kind == "tuple":
        return TupleType(tuple(decode_type(t) for t in rest))
    return StructType.named[rest[0]]


def encode_instance(instance: Instance) -> Any:
    """An instance as JSON data; None where an argument has no such form (the unit is then not cached)."""
    arguments: list[Any] = []
    for argument in instance.arguments:
        if isinstance(argument, Type):
            arguments.append(["type", encode_type(argument)])
            continue
        value = argument.value
        if isinstance(value, Kernel):
            arguments.append(["kernel", value.function.__module__, value.function.__qualname__])
        elif isinstance(value, Type):
            arguments.append(["static type", encode_type(value)])
        elif value is None or isinstance(value, bool | int | str):
            arguments.append(["value", value])
        elif isinstance(value, float):
            arguments.append(["float", value.hex()])
        else:
            return None
    function = instance.kernel.function
    if "<locals>" in function.__qualname__:
        return None
    return [function.__module__, function.__qualname__, arguments]


def decode_instance(data: Any) -> Instance:
    """The instance that `encode_instance` encoded."""
    module, name, arguments = data
    decoded: list[Any] = []
    for kind, *rest in arguments:
        if kind == "type":
            decoded.append(decode_type(rest[0]))
        elif kind == "static type":
            decoded.append(Static(decode_type(rest[0])))
        elif kind == "kernel":
            decoded.append(Static(_kernel(rest[0], rest[1])))
        else:
            decoded.append(Static(float.fromhex(rest[0]) if kind == "float" else rest[0]))
    return _kernel(module, name).instance(*decoded)


def _kernel(module: str, name: str) -> Kernel:
    # The cache is the user's own, yet a name in it imports nothing but jitlang's modules.
    found: Any = sys.modules.get(module) or (importlib.import_module(module) if module.startswith("jitlang.") else None)
    for part in name.split("."):
        found = getattr(found, part)
    if not isinstance(found, Kernel):
        raise CodegenError(f"{module}.{name} is no kernel")
    return found


# ---- calling a kernel from Python ----------------------------------------------------------------------------------------

_CTYPES: dict[str, Any] = {
    "i1": ctypes.c_bool,
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "ptr": ctypes.c_void_p,
}
_entries: dict[Instance, tuple[Any, Type]] = {}


def run(kernel: Kernel, arguments: tuple[Any, ...]) -> Any:
    """Runs a kernel on Python values: numbers, addresses (for pointers), static objects; raises what the kernel raises.

    For tests and start-up code: each call costs a few µs.
    """
    annotated = parameter_types(kernel)
    chosen: list[Type | Static] = []
    for value, annotation in zip(arguments, annotated, strict=True):
        if annotation is not None:
            chosen.append(annotation)
        elif type(value) in (int, float):
            chosen.append(I64 if isinstance(value, int) else F64)
        else:
            chosen.append(Static(value))
    return run_instance(kernel.instance(*chosen), [v for v, t in zip(arguments, chosen, strict=True) if isinstance(t, Type)])


def run_instance(instance: Instance, values: list[Any]) -> Any:
    """Runs an instance on values for its run-time parameters."""
    entry, result = _entry(instance)
    out = (ctypes.c_char * 256)()
    status = entry(context.address(), ctypes.addressof(out), *values)
    if status:
        raise context.exception_of(context.address())
    if result in (VOID, NONE):
        return None
    if isinstance(result, TupleType):
        return tuple(_read(out, t, 8 * i) for i, t in enumerate(result.elements))
    return _read(out, result, 0)


def _read(out: Any, type: Type, at: int) -> Any:
    kind = _CTYPES[register_type(type)]
    if isinstance(type, Machine) and type.kind == "u":
        kind = getattr(ctypes, f"c_uint{type.bits}")
    return kind.from_buffer(out, at).value


def _entry(instance: Instance) -> tuple[Any, Type]:
    """A C function ``i64 (ctx, ptr out, arguments…)`` that calls the instance and stores its result to `out`, 8 bytes a part."""
    found = _entries.get(instance)
    if found is None:
        result, raises = abi(instance)
        module = Module()
        callee = reference(module, instance)
        arguments = [f"{register_type(t)} %a{i}" for i, t in enumerate(instance.types)]
        lines = [f"define i64 @entry({', '.join(['ptr %ctx', 'ptr %out', *arguments])}) {{"]
        kind = result_type(result, raises)
        call = f"call {kind} {callee}({', '.join([*(['ptr %ctx'] if raises else []), *arguments])})"
        lines.append(f"  {call}" if kind == "void" else f"  %r = {call}")
        value = "%r"
        if raises:
            value = "%v"
            lines.append("  %e = bitcast i1 %r to i1" if kind == "i1" else f"  %e = extractvalue {kind} %r, 1")
            lines.append("  br i1 %e, label %bad, label %good\nbad:\n  ret i64 1\ngood:")
            if kind != "i1":
                lines.append(f"  %v = extractvalue {kind} %r, 0")
        if result not in (VOID, NONE):
            parts = result.elements if isinstance(result, TupleType) else (result,)
            for i, part in enumerate(parts):
                text = register_type(part)
                if isinstance(result, TupleType):
                    lines.append(f"  %p{i} = extractvalue {register_type(result)} {value}, {i}")
                lines.append(
                    f"  %o{i} = getelementptr i8, ptr %out, i64 {8 * i}\n  store {text} {f'%p{i}' if isinstance(result, TupleType) else value}, ptr %o{i}"
                )
        lines.append("  ret i64 0\n}")
        module.functions["entry"] = "\n".join(lines)
        address = link(engine.compile_ir(module.text(), level=2), module, ["entry"])["entry"]
        prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, *(_CTYPES[register_type(t)] for t in instance.types))
        found = _entries[instance] = (prototype(address), result)
    return found


Kernel.runner = staticmethod(run)
Instance.llvm = lambda self, target=CPU: llvm_text(self, target)  # type: ignore[attr-defined]
