"""Scripted modules: the methods of a module's instance as script functions.

In: an instance of `jitlang.nn.Module`. Out: a `ScriptModule`. The instance stays the one holder of its parameters, buffers and state: what a
method changes is seen on the instance, and what is set on the instance is seen by the next call.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from jitlang.runtime.function import make_function
from jitlang.runtime.script import FunctionCallee

EXPORT = "_jitlang_export"
UNDEFINED = "_jitlang_undefined"  # marks the base class's forward


def export(method: Any) -> Any:
    """Marks a method as an entry point of its module: it is compiled and saved, as ``forward`` is."""
    setattr(method, EXPORT, True)
    return method


def entry_names(cls: type) -> list[str]:
    """The entry points of a module class: ``forward`` if it is defined, and the exported methods."""
    forward = getattr(cls, "forward", None)
    names = [] if forward is None or getattr(forward, UNDEFINED, False) else ["forward"]
    for base in reversed(cls.__mro__):
        names += [n for n, m in vars(base).items() if getattr(m, EXPORT, False) and n not in names]
    return names


class ScriptModule:
    """A module whose entry points run as scripts; every other attribute is the wrapped module's own."""

    def __init__(self, module: Any) -> None:
        object.__setattr__(self, "_module", module)
        functions = {name: make_function(FunctionCallee(_function(type(module), name), _owner(type(module), name))) for name in entry_names(type(module))}
        object.__setattr__(self, "_functions", functions)

    @property
    def module(self) -> Any:
        """The wrapped Python module."""
        return self._module

    @property
    def entry_points(self) -> dict[str, Any]:
        """The script functions of the entry points by name; their first argument is the module."""
        found: dict[str, Any] = self._functions
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._functions["forward"](self._module, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        function = self._functions.get(name)
        if function is not None:
            return types.MethodType(function, self._module)
        return getattr(self._module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._module, name, value)

    def __dir__(self) -> Iterator[str]:
        yield from {*object.__dir__(self), *dir(self._module), *self._functions}

    def __len__(self) -> int:
        return len(self._module)

    def __repr__(self) -> str:
        return f"ScriptModule({self._module!r})"


def _owner(cls: type, name: str) -> type | None:
    return next((c for c in cls.__mro__ if name in vars(c)), None)


def _function(cls: type, name: str) -> Any:
    return getattr(cls, name)


def script_module(module: Any) -> ScriptModule:
    """The scripted form of a module instance."""
    return ScriptModule(module)
