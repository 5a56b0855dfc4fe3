"""A device that is the CPU: runs a launchable kernel over a grid, thread after thread, from the very LLVM IR that its PTX is made of.

In: a `Launchable`, a grid, and arguments (addresses as ints). Out: what the kernel has written. For tests: threads run one after the other, so this
shows wrong indices and wrong arithmetic, not races.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from jitlang.codegen.kernels import link
from jitlang.codegen.llvm_types import quote, register_type
from jitlang.codegen.module import CPU, Module
from jitlang.native import engine
from jitlang.tensor.cuda.launch import PLACES, Launchable

LAUNCH = "jl.emulator.launch"


class Emulator:
    """A launchable kernel on the emulated device."""

    def __init__(self, kernel: Launchable) -> None:
        self.kernel = kernel
        module = kernel.module(CPU)
        module.functions[LAUNCH] = _driver(module, kernel)
        address = link(engine.compile_ir(module.text(), level=1), module, [LAUNCH])[LAUNCH]
        self._launch: Callable[..., None] = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * (2 + len(kernel.parameters)))(address)

    def __call__(self, blocks: int, threads: int, *arguments: int) -> None:
        """Runs `blocks` × `threads` threads; ValueError where the arguments are not as many as the kernel's parameters."""
        if len(arguments) != len(self.kernel.parameters):
            raise ValueError(f"{self.kernel.name} takes {len(self.kernel.parameters)} arguments, {len(arguments)} are given")
        self._launch(blocks, threads, *arguments)


def _driver(module: Module, kernel: Launchable) -> str:
    """A function (blocks, threads, arguments…) that calls the entry once for each place in the grid."""
    cells = {place: f"@{quote(f'jl.cell.{place}')}" for place in PLACES}
    kinds = [register_type(t) for _, t in kernel.parameters]
    casts = [f"  %p{i} = inttoptr i64 %a{i} to ptr" if k == "ptr" else f"  %p{i} = add i64 %a{i}, 0" for i, k in enumerate(kinds)]
    given = "".join(f", i64 %a{i}" for i in range(len(kinds)))
    passed = ", ".join(f"{k} %p{i}" for i, k in enumerate(kinds))
    return (
        f"define void @{quote(LAUNCH)}(i64 %blocks, i64 %threads{given}) {{\nentry:\n" + "\n".join(casts) + "\n"
        f"  store i64 %blocks, ptr {cells['nctaid']}\n  store i64 %threads, ptr {cells['ntid']}\n  %total = mul i64 %blocks, %threads\n  br label %test\n"
        "test:\n  %i = phi i64 [ 0, %entry ], [ %j, %run ]\n  %more = icmp slt i64 %i, %total\n  br i1 %more, label %run, label %end\n"
        f"run:\n  %block = udiv i64 %i, %threads\n  %thread = urem i64 %i, %threads\n  store i64 %block, ptr {cells['ctaid']}\n"
        f"  store i64 %thread, ptr {cells['tid']}\n  call void @{quote(kernel.name)}({passed})\n  %j = add i64 %i, 1\n  br label %test\nend:\n  ret void\n}}"
    )
