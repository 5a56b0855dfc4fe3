"""One LLVM module in the making: functions, declarations, structs, strings, and the sites of errors.

In: function bodies as text from `jitlang.codegen.function`. Out: the module's text, the process symbols it needs, and the
table of source ranges that its error sites index.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from jitlang.codegen.llvm_types import bytes_text, memory_type, quote
from jitlang.source import SourceRange
from jitlang.types import StructType, Type

UNIT = "jl.unit"  # each module's own number, written by the loader; error sites are (unit, index)


@dataclasses.dataclass(frozen=True)
class Target:
    """What code is made for."""

    name: str = "cpu"
    triple: str = ""
    layout: str = ""


CPU = Target()
PTX = Target("ptx", "nvptx64-nvidia-cuda", "e-i64:64-i128:128-v16:16-v32:32-n16:32:64")
AARCH64 = Target("aarch64", "aarch64-unknown-linux-gnu", "")


class Module:
    """Collects the parts of one module."""

    def __init__(self, target: Target = CPU) -> None:
        self.target = target
        self.functions: dict[str, str] = {}
        self.declared: dict[str, str] = {}
        self.globals: dict[str, str] = {}
        self.structs: dict[str, StructType] = {}
        self.imports: set[str] = set()
        self.shared: dict[str, int] = {}
        self.kernels: dict[str, Any] = {}  # instances of extern kernels that it calls, by symbol
        self.sites: list[SourceRange | None] = []
        self._site_index: dict[SourceRange | None, int] = {}
        self._strings: dict[bytes, str] = {}

    def declare(self, name: str, signature: str) -> str:
        """Declares an outside function, ``signature`` as in ``i64 (ptr, i64)``; returns its LLVM name."""
        if name not in self.functions:
            result, _, arguments = signature.partition(" (")
            self.declared.setdefault(name, f"declare {result} @{quote(name)}({arguments}")
            if not name.startswith("llvm."):
                self.imports.add(name)
        return f"@{quote(name)}"

    def external(self, name: str, size: int = 0) -> str:
        """An outside variable: the process's own, or (size > 0) shared memory of `size` bytes; returns its LLVM name."""
        self.globals.setdefault(name, f"@{quote(name)} = external global i8, align 8")
        if size:
            self.shared[name] = size
        self.imports.add(name)
        return f"@{quote(name)}"

    def string(self, data: bytes) -> str:
        """A zero-ended constant; returns its LLVM name."""
        name = self._strings.get(data)
        if name is None:
            name = self._strings[data] = f"@.str{len(self._strings)}"
            self.globals[name] = f'{name} = private unnamed_addr constant [{len(data) + 1} x i8] c"{bytes_text(data)}\\00"'
        return name

    def constant(self, name: str, text: str) -> str:
        """A module-level definition, ``text`` what stands behind ``=``; returns its LLVM name."""
        self.globals.setdefault(name, f"@{quote(name)} = {text}")
        return f"@{quote(name)}"

    def struct(self, type: Type) -> str:
        """The LLVM name of a struct, defined in the module."""
        assert isinstance(type, StructType)
        if self.structs.get(type.name, type) is not type:
            raise TypeError(f"two structs are named {type.name}")
        self.structs[type.name] = type
        return memory_type(type)

    def site(self, where: SourceRange | None) -> int:
        """The number of an error site."""
        index = self._site_index.get(where)
        if index is None:
            index = self._site_index[where] = len(self.sites)
            self.sites.append(where)
        return index

    def text(self) -> str:
        """The whole module."""
        head = [f'target triple = "{self.target.triple}"'] if self.target.triple else []
        head += [f'target datalayout = "{self.target.layout}"'] if self.target.layout else []
        done: dict[str, str] = {}
        while len(done) < len(self.structs):
            for name, made in list(self.structs.items()):
                if name not in done:
                    done[name] = f"{memory_type(made)} = type {{ {', '.join(self._field(f) for f in made.fields.values())} }}"
        declared = [d for n, d in self.declared.items() if n not in self.functions]
        return "\n".join([*head, *done.values(), *self.globals.values(), *declared, *self.functions.values(), ""])

    def _field(self, type: Type) -> str:
        for inner in type.walk():
            if isinstance(inner, StructType):
                self.struct(inner)
        return memory_type(type)
