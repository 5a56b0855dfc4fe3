"""Launchable kernels: a grid kernel of `jitlang.tensor.kernels.grid` with an entry that knows the thread's place in the grid.

In: an instance of a loop of an operator (as `jitlang.tensor.loops` has them). Out: LLVM IR, PTX text, the names and types of the entry's parameters.

The entry asks for its place through four functions, ``jl.place.tid`` and so on: special registers on the device, cells of memory in the emulator
(`jitlang.tensor.cuda.emulator`). All else is one text for both.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from jitlang.codegen.kernels import abi, emit
from jitlang.codegen.llvm_types import quote, register_type
from jitlang.codegen.module import PTX, Module
from jitlang.errors import CodegenError
from jitlang.frontend.kernel import Instance, Kernel
from jitlang.native import engine
from jitlang.tensor.kernels import grid
from jitlang.tensor.kernels.pointwise_loops import binary_loop, quaternary_loop, ternary_loop, unary_loop
from jitlang.tensor.kernels.reduction import reduce_loop
from jitlang.types import I64, U8, Pointer, Type

TRIPLE = "nvptx64-nvidia-cuda"
# Places in the grid, and the special registers that hold them.
PLACES: Mapping[str, str] = {"tid": "tid.x", "ntid": "ntid.x", "ctaid": "ctaid.x", "nctaid": "nctaid.x"}
# The loop of a CPU core → what a grid runs in its place, and its parameters behind the thread's place.
GRIDS: Mapping[Kernel, tuple[Kernel, tuple[str, ...]]] = {
    unary_loop: (grid.grid_unary, ("n", "out", "a")),
    binary_loop: (grid.grid_binary, ("n", "out", "a", "b")),
    ternary_loop: (grid.grid_ternary, ("n", "out", "a", "b", "c")),
    quaternary_loop: (grid.grid_quaternary, ("n", "out", "a", "b", "c", "d")),
    reduce_loop: (grid.grid_reduce, ("m", "n", "x", "stride", "gap", "out", "out_gap")),
}
_POINTERS = frozenset({"out", "a", "b", "c", "d", "x"})


@dataclasses.dataclass(frozen=True)
class Launchable:
    """An entry. `parameters` are names with their types: i64 or a pointer into the device's memory."""

    name: str
    instance: Instance
    parameters: tuple[tuple[str, Type], ...]

    def module(self, target: object = PTX) -> Module:
        """The module with the entry, for PTX, or for the emulator if `target` is another."""
        on_device = target is PTX
        made = Module(PTX) if on_device else Module()
        emit(made, self.instance)
        for place, register in PLACES.items():
            made.functions[f"jl.place.{place}"] = _device_place(made, place, register) if on_device else _memory_place(made, place)
        made.functions[self.name] = self._entry("ptx_kernel" if on_device else "")
        return made

    def _entry(self, convention: str) -> str:
        parameters = ", ".join(f"{register_type(t)} %{n}" for n, t in self.parameters)
        arguments = ", ".join(f"{register_type(t)} %{n}" for n, t in self.parameters)
        places = "\n".join(f"  %{p} = call i64 @jl.place.{p}()" for p in PLACES)
        return (
            f"define {convention} void @{quote(self.name)}({parameters}) {{\n{places}\n"
            "  %before = mul i64 %ctaid, %ntid\n  %first = add i64 %before, %tid\n  %step = mul i64 %nctaid, %ntid\n"
            f"  call void @{quote(self.instance.symbol)}(i64 %first, i64 %step, {arguments})\n  ret void\n}}"
        )

    def ptx(self, architecture: str = "sm_80", *, level: int = 2) -> str:
        """The PTX text."""
        return engine.compile_for(self.module().text(), TRIPLE, architecture, level=level).decode()


def _device_place(module: Module, place: str, register: str) -> str:
    read = module.declare(f"llvm.nvvm.read.ptx.sreg.{register}", "i32 ()")
    return f"define internal i64 @jl.place.{place}() alwaysinline {{\n  %a = call i32 {read}()\n  %b = zext i32 %a to i64\n  ret i64 %b\n}}"


def _memory_place(module: Module, place: str) -> str:
    cell = module.constant(f"jl.cell.{place}", "internal global i64 0, align 8")
    return f"define internal i64 @jl.place.{place}() alwaysinline {{\n  %a = load i64, ptr {cell}\n  ret i64 %a\n}}"


def ptx_kernel(loop: Instance, name: str) -> Launchable | None:
    """The launchable kernel for a loop of an operator; None where a grid of independent threads does not fit its form.

    Raises:
        CodegenError: the scalar operation may raise, which a device kernel cannot.
    """
    found = GRIDS.get(loop.kernel)
    if found is None:
        return None
    kernel, names = found
    types = tuple(Pointer(U8) if n in _POINTERS else I64 for n in names)
    statics = [a for a in loop.arguments if not isinstance(a, Type)]
    instance = kernel.instance(*statics, I64, I64, *types)
    if abi(instance)[1]:
        raise CodegenError(f"{loop.symbol} may raise: it cannot run on a device")
    return Launchable(name, instance, tuple(zip(names, types, strict=True)))
