"""The LLVM engine. In: LLVM IR as text. Out: object code, assembly, and addresses of linked code.

Object code is kept apart from linking so that it can come from the disk cache. It is position independent and names
what it needs (shared cells, host functions, libc) as external symbols, so it is the same in every process.

| level | passes | for |
|---|---|---|
| 0 | none but always-inline; fast instruction selection | start-up, debugging |
| 1 | always-inline, the function simplification pipeline (SROA, LICM, GVN, unrolling of constant trips) | glue, cold code |
| 2 | LLVM's own O2, with inliner, vectoriser, run-time unrolling; no superword vectoriser | kernels, hot scripts |
| 3 | level 2 and the superword vectoriser | what was measured to gain by it |

LLVM's C interface offers no loop vectoriser, LICM or GVN as single passes: level 2 cannot be picked by hand. Measured
on one core of an Emerald Rapids server, in ms for passes + emission (1.0 of it is the fixed cost of an object file; at level 0,
0.25): an empty function 0.25 + 1.0; Collatz in two nested loops: level 0 0.4, level 1 1.9 + 2.3, level 2 4.2 + 3.6;
an axpy loop, vectorised: level 0 0.35, level 1 0.9 + 1.7, level 2 3.5 + 4.0 (without run-time unrolling and
interleaving 2.4 + 2.7). Linking an object takes 0.15 ms. Importing llvmlite takes 50 ms, so nothing is done before the first use.

llvmlite takes one process-wide lock around each call and releases the GIL: a thread that compiles lets Python run,
but a second compilation or link waits for the end of the first one's current step. What owns memory of LLVM is closed
by name, never left to its finaliser, which may run anywhere and would wait for the lock.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import platform
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jitlang.config import flag
from jitlang.errors import CodegenError
from jitlang.native.host import runtime_support
from jitlang.native.signals import Deferred

if TYPE_CHECKING:
    import types

HOST = "host"
# LLVM ends the process over a name that PTX does not allow. Its own functions keep their names.
_QUOTED = re.compile(r'@"((?!llvm\.)[^"]*)"')
_UNFIT = re.compile(r"[^A-Za-z0-9_$]")
_lock = threading.RLock()
_machines: dict[tuple[str, str, int], Any] = {}
_kept: list[Any] = []
_numbers = itertools.count()
_state: dict[str, Any] = {}


@dataclasses.dataclass(frozen=True)
class Host:
    """The machine that code is compiled for: target triple, CPU name, features as LLVM writes them, LLVM's version."""

    triple: str
    cpu: str
    features: str
    llvm: str
    llvmlite: str


def _llvm() -> types.ModuleType:
    if "llvm" not in _state:
        import llvmlite.binding as llvm

        with _lock:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
            _state["llvm"] = llvm
    module: types.ModuleType = _state["llvm"]
    return module


def host() -> Host:
    """The host as the compiler sees it; part of every cache key."""
    if "host" not in _state:
        llvm = _llvm()
        import llvmlite

        _state["host"] = Host(
            llvm.get_process_triple(),
            llvm.get_host_cpu_name(),
            llvm.get_host_cpu_features().flatten(),
            ".".join(map(str, llvm.llvm_version_info)),
            llvmlite.__version__,
        )
    found: Host = _state["host"]
    return found


def _machine(triple: str, cpu: str, level: int) -> Any:
    key = (triple, cpu, min(level, 2))
    with _lock:
        if key not in _machines:
            _machines[key] = _create_machine(*key)
        return _machines[key]


def _create_machine(triple: str, cpu: str, level: int) -> Any:
    llvm = _llvm()
    if triple == HOST:
        here = host()
        target = llvm.Target.from_triple(here.triple)
        return target.create_target_machine(cpu=here.cpu, features=here.features, opt=level, reloc="pic", jit=True)
    if "targets" not in _state:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        _state["targets"] = True
    try:
        return llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=level, reloc="pic")
    except RuntimeError as error:
        raise CodegenError(f"LLVM has no target {triple!r}: {error}") from None


@contextlib.contextmanager
def _compiled(text: str, triple: str, cpu: str, level: int) -> Iterator[tuple[Any, Any]]:
    """The optimised module and its machine, for as long as the context lasts."""
    if not 0 <= level <= 3:
        raise ValueError(f"level must be 0 to 3, not {level}")
    machine = _machine(triple, cpu, level)
    # A context of its own: types and constants of the module go when the module goes.
    with Deferred(), _llvm().create_context() as context, _parse(text, context, machine) as module:
        _optimise(module, text, machine, level)
        yield module, machine


def _parse(text: str, context: Any, machine: Any) -> Any:
    try:
        module = _llvm().parse_assembly(text, context)
        module.triple = machine.triple
        with machine.target_data as layout:
            module.data_layout = str(layout)
        if flag("JITLANG_DEBUG") >= 2:
            module.verify()
    except RuntimeError as error:
        raise CodegenError(f"generated LLVM IR is malformed: {str(error).strip()}") from None
    return module


def _optimise(module: Any, text: str, machine: Any, level: int) -> None:
    llvm = _llvm()
    with llvm.create_pipeline_tuning_options(speed_level=min(level, 2)) as options:
        options.loop_vectorization = options.loop_interleaving = options.loop_unrolling = level >= 2
        options.slp_vectorization = level >= 3
        with llvm.create_pass_builder(machine, options) as builder:
            if level >= 2:
                with builder.getModulePassManager() as passes:
                    passes.run(module, builder)
                return
            if "alwaysinline" in text:
                with llvm.create_new_module_pass_manager() as inliner:
                    inliner.add_always_inliner_pass()
                    inliner.add_global_dead_code_eliminate_pass()
                    inliner.run(module, builder)
            if level == 0:
                return
            # Its loop passes unroll constant trip counts only if unrolling is on; the run-time unroller is not in it.
            options.loop_unrolling = True
            with builder.getFunctionPassManager() as simplify, module.functions as functions:
                for function in functions:
                    if not function.is_declaration:
                        simplify.run(function, builder)


def compile_ir(text: str, *, level: int = 2) -> bytes:
    """Object code of one LLVM module for the host.

    Raises:
        CodegenError: the text is no valid LLVM module.
        ValueError: `level` is not 0 to 3.
    """
    with _compiled(text, HOST, "", level) as (module, machine):
        return bytes(machine.emit_object(module))


def assembly(text: str, *, level: int = 2) -> str:
    """Assembly text of one LLVM module for the host; errors as `compile_ir`."""
    with _compiled(text, HOST, "", level) as (module, machine):
        return str(machine.emit_assembly(module))


def optimized(text: str, *, level: int = 2) -> str:
    """The module after the passes of that level, as LLVM IR; errors as `compile_ir`."""
    with _compiled(text, HOST, "", level) as (module, _):
        return str(module)


def compile_for(text: str, triple: str, cpu: str = "", *, level: int = 2, asm: bool = False) -> bytes:
    """Code for another target: PTX text for `nvptx64-nvidia-cuda` (cpu `sm_80` …), else an object, or assembly if `asm`.

    Raises:
        CodegenError: LLVM has no such target, or the text is no valid module.
        ValueError: `level` is not 0 to 3.
    """
    if triple.startswith("nvptx"):
        text = _QUOTED.sub(lambda match: f'@"{_UNFIT.sub(lambda c: f"_{ord(c[0]):x}_", match[1])}"', text)
    with _compiled(text, triple, cpu, level) as (module, machine):
        if asm or triple.startswith("nvptx"):
            return str(machine.emit_assembly(module)).encode()
        return bytes(machine.emit_object(module))


# ---- linking ------------------------------------------------------------------------------------------------------


class Library:
    """Linked code. `addresses` maps exported names to addresses, valid until `close`."""

    def __init__(self, tracker: Any, addresses: dict[str, int]) -> None:
        self._tracker = tracker
        self.addresses = addresses

    def __getitem__(self, name: str) -> int:
        return self.addresses[name]

    def keep(self) -> Library:
        """Lets the code live as long as the process, past the end of the interpreter too; returns the library."""
        if self._tracker is not None:
            # Objects may be deallocated by this code after module globals are cleared: never unload it.
            _kept.append(self._tracker)
            self._tracker.detach()
            self._tracker = None
        return self

    def close(self) -> None:
        """Unloads the code, unless it is kept; nothing may run in it or hold its addresses."""
        if self._tracker is not None:
            self._tracker.close()
            self._tracker = None
        self.addresses = {}


def _jit() -> Any:
    with _lock:
        if "jit" not in _state:
            llvm = _llvm()
            machine = _machine(HOST, "", 2)
            # RuntimeDyld on x86; elsewhere JITLink, whose veneers reach the whole address space.
            jit = llvm.create_lljit_compiler(machine, use_jit_link=platform.machine() not in ("x86_64", "AMD64"))
            # Threads may still run compiled code when the interpreter ends: never tear the engine down.
            jit._dispose = lambda: None
            _state["jit"] = jit
        return _state["jit"]


def _support() -> dict[str, int]:
    if "support" not in _state:
        _state["support"] = runtime_support()
    found: dict[str, int] = _state["support"]
    return found


def load(objects: bytes | Iterable[bytes], exports: Iterable[str], imports: Mapping[str, int] | None = None) -> Library:
    """Links one object, or several that refer to each other, into the process.

    Args:
        exports: names of functions and globals whose addresses are wanted.
        imports: addresses of external symbols; what is not there is looked up among the process's own symbols.

    Raises:
        CodegenError: a symbol is missing (LLVM prints which to standard error), or the object is damaged.
    """
    llvm = _llvm()
    wanted = list(exports)
    builder = llvm.JITLibraryBuilder()
    for code in [objects] if isinstance(objects, bytes) else objects:
        builder.add_object_img(code)
    builder.add_current_process()
    for name, address in {**_support(), **(imports or {})}.items():
        builder.import_symbol(name, address)
    for name in wanted:
        builder.export_symbol(name)
    try:
        with Deferred():
            tracker = builder.link(_jit(), f"unit{next(_numbers)}")
    except RuntimeError as error:
        raise CodegenError(f"native code could not be linked: {error}") from None
    return Library(tracker, {name: tracker[name] for name in wanted})


def link(objects: bytes | Iterable[bytes], exports: Iterable[str], imports: Mapping[str, int] | None = None) -> dict[str, int]:
    """As `load`, for code that lives as long as the process; returns the addresses of `exports`."""
    return load(objects, exports, imports).keep().addresses
