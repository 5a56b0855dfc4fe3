"""Containers of modules and parameters. A script unrolls a loop over one; an index must be known when the script is compiled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jitlang.nn.module import Module, Parameter, ParameterMark
from jitlang.tensor.tensor import Tensor


def _position(index: int, length: int, what: str) -> str:
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range of a {what} of {length}")
    return str(index % length if length else index)


class ModuleList(Module):
    """Modules in order, named ``0``, ``1``, …"""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)

    def append(self, module: Module) -> ModuleList:
        """Adds a module at the end; returns the list."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Adds modules at the end; returns the list."""
        for module in modules:
            self.append(module)
        return self

    def __len__(self) -> int:
        return len(self._groups()[2])

    def __iter__(self) -> Iterator[Module]:
        return iter(self._groups()[2].values())

    def __getitem__(self, index: int | slice) -> Any:
        held = list(self)
        if isinstance(index, slice):
            return type(self)(held[index])
        return self._groups()[2][_position(index, len(held), type(self).__name__)]

    def __setitem__(self, index: int, module: Module) -> None:
        self.add_module(_position(index, len(self), type(self).__name__), module)


class Sequential(ModuleList):
    """Modules that run one after the other."""

    def __init__(self, *modules: Any) -> None:
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            super().__init__()
            for name, module in modules[0].items():
                self.add_module(name, module)
        elif len(modules) == 1 and isinstance(modules[0], list):
            super().__init__(modules[0])
        else:
            super().__init__(modules)

    def __getitem__(self, index: int | slice) -> Any:
        held = list(self)
        return type(self)(held[index]) if isinstance(index, slice) else held[int(_position(index, len(held), "Sequential"))]

    def forward(self, input: Any) -> Any:
        """Each module's result is the next one's input."""
        for module in self:
            input = module(input)
        return input


class ModuleDict(Module):
    """Modules by name, in order."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def update(self, modules: Mapping[str, Module]) -> None:
        """Adds or replaces modules."""
        for name, module in modules.items():
            self.add_module(name, module)

    def __len__(self) -> int:
        return len(self._groups()[2])

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups()[2])

    def __contains__(self, name: str) -> bool:
        return name in self._groups()[2]

    def __getitem__(self, name: str) -> Any:
        return self._groups()[2][name]

    def __setitem__(self, name: str, module: Module) -> None:
        self.add_module(name, module)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._groups()[2].keys()

    def values(self) -> Iterable[Module]:
        """The modules."""
        return self._groups()[2].values()

    def items(self) -> Iterable[tuple[str, Module]]:
        """Names and modules."""
        return self._groups()[2].items()


def _mark(value: Any) -> ParameterMark:
    made: ParameterMark = value if isinstance(value, ParameterMark) else Parameter(value)
    return made


class ParameterList(Module):
    """Parameters in order, named ``0``, ``1``, …"""

    def __init__(self, parameters: Iterable[Any] = ()) -> None:
        super().__init__()
        for parameter in parameters:
            self.append(parameter)

    def append(self, parameter: Any) -> ParameterList:
        """Adds a parameter (or a tensor, which becomes one) at the end; returns the list."""
        self.register_parameter(str(len(self)), _mark(parameter))
        return self

    def __len__(self) -> int:
        return len(self._groups()[0])

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self._groups()[0].values())

    def __getitem__(self, index: int) -> Any:
        return self._groups()[0][_position(index, len(self), "ParameterList")]


class ParameterDict(Module):
    """Parameters by name, in order."""

    def __init__(self, parameters: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        for name, parameter in (parameters or {}).items():
            self[name] = parameter

    def __len__(self) -> int:
        return len(self._groups()[0])

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups()[0])

    def __contains__(self, name: str) -> bool:
        return name in self._groups()[0]

    def __getitem__(self, name: str) -> Any:
        return self._groups()[0][name]

    def __setitem__(self, name: str, parameter: Any) -> None:
        self.register_parameter(name, _mark(parameter))

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._groups()[0].keys()

    def values(self) -> Iterable[Any]:
        """The parameters."""
        return self._groups()[0].values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and parameters."""
        return self._groups()[0].items()
