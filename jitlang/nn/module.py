"""`Module`, the base class of models, and `Parameter`, the mark of what is learnt.

In: attributes as they are assigned. Out: the same attributes, filed as parameters, buffers, submodules and plain values, with the names
that archives and ``state_dict`` use. A module runs as ordinary Python; `jitlang.script` compiles ``forward`` and the methods marked with `jitlang.export`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jitlang.runtime.module import UNDEFINED
from jitlang.tensor.state import copy_state
from jitlang.tensor.tensor import Tensor


class ParameterMark:
    """A tensor on its way into a module; see `Parameter`."""

    def __init__(self, data: Any) -> None:
        self.data = data


def Parameter(data: Any) -> Any:  # noqa: N802  (PyTorch's name)
    """Marks a tensor that is assigned to a module's attribute as a parameter: ``self.weight = Parameter(tensor)``.

    The attribute is the tensor itself; the mark is gone. Raises TypeError for what is no tensor.
    """
    if not isinstance(data, Tensor):
        raise TypeError(f"Parameter expects a Tensor, not {type(data).__name__}")
    return ParameterMark(data)


class Module:
    """A model or a part of one. Subclasses call ``super().__init__()`` first and define ``forward``."""

    training: bool

    def __init__(self) -> None:
        for name in ("_parameters", "_buffers", "_modules"):
            object.__setattr__(self, name, {})
        object.__setattr__(self, "training", True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What a call of the module does. Raises NotImplementedError unless a subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    setattr(forward, UNDEFINED, True)

    # ---- attributes -------------------------------------------------------------------------------------------------

    def _groups(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        held = self.__dict__
        try:
            return held["_parameters"], held["_buffers"], held["_modules"]
        except KeyError:
            raise AttributeError(f"{type(self).__name__}.__init__ must call super().__init__() before it sets parameters and submodules") from None

    def __getattr__(self, name: str) -> Any:
        # Only reached for what is not in __dict__.
        for group in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(group, {})
            if name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ParameterMark):
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self.add_module(name, value)
        else:
            holder = next((g for g in (self.__dict__.get("_parameters", {}), self.__dict__.get("_buffers", {})) if name in g), None)
            if holder is None:
                self.__dict__.get("_modules", {}).pop(name, None)
                object.__setattr__(self, name, value)
            elif value is None or isinstance(value, Tensor):
                holder[name] = value
            else:
                raise TypeError(f"{name!r} is a tensor of the module; it cannot become {type(value).__name__}")

    def __delattr__(self, name: str) -> None:
        for group in self._groups():
            if name in group:
                del group[name]
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *(name for group in self._groups() for name in group)})

    def register_parameter(self, name: str, parameter: ParameterMark | None) -> None:
        """Makes a parameter. Raises KeyError for a name that is taken or holds a dot, TypeError for what is no Parameter."""
        if parameter is not None and not isinstance(parameter, ParameterMark):
            raise TypeError(f"a Parameter is expected for {name!r}, not {type(parameter).__name__}")
        self._claim(name, 0)[name] = None if parameter is None else parameter.data

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Makes a tensor that is part of the state but not learnt. Raises KeyError as `register_parameter`, TypeError for what is no tensor."""
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"a Tensor is expected for {name!r}, not {type(tensor).__name__}")
        self._claim(name, 1)[name] = tensor
        transient = self.__dict__.setdefault("_non_persistent_buffers_set", set())
        transient.discard(name) if persistent else transient.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Makes a submodule. Raises KeyError as `register_parameter`, TypeError for what is no module."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"a Module is expected for {name!r}, not {type(module).__name__}")
        self._claim(name, 2)[name] = module

    def _claim(self, name: str, group: int) -> dict[str, Any]:
        """The group that `name` is to be put in, after it was taken out of the others."""
        if "." in name or not name:
            raise KeyError(f"{name!r} cannot be the name of a parameter, buffer or submodule")
        groups = self._groups()
        if name not in groups[group] and hasattr(type(self), name):
            raise KeyError(f"attribute {name!r} exists already")
        self.__dict__.pop(name, None)
        for number, other in enumerate(groups):
            if number != group:
                other.pop(name, None)
        return groups[group]

    # ---- looking at all of it ---------------------------------------------------------------------------------------

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The direct submodules; those in plain lists and dicts are not among them."""
        yield from ((name, module) for name, module in self._groups()[2].items() if module is not None)

    def children(self) -> Iterator[Module]:
        """As `named_children`, without names."""
        yield from (module for _, module in self.named_children())

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module and all below it, each once."""
        seen: set[int] = set()

        def walk(module: Module, path: str) -> Iterator[tuple[str, Module]]:
            if id(module) not in seen:
                seen.add(id(module))
                yield path, module
                for name, child in module.named_children():
                    yield from walk(child, f"{path}.{name}" if path else name)

        yield from walk(self, prefix)

    def modules(self) -> Iterator[Module]:
        """As `named_modules`, without names."""
        yield from (module for _, module in self.named_modules())

    def _named_tensors(self, group: int) -> Iterator[tuple[str, Any]]:
        seen: list[Any] = []
        for path, module in self.named_modules():
            for name, tensor in module._groups()[group].items():
                if tensor is not None and not any(tensor is other for other in seen):
                    seen.append(tensor)
                    yield f"{path}.{name}" if path else name, tensor

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """All parameters with their dotted names, each tensor once."""
        yield from self._named_tensors(0)

    def parameters(self) -> Iterator[Any]:
        """As `named_parameters`, without names."""
        yield from (tensor for _, tensor in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Any]]:
        """All buffers with their dotted names, each tensor once."""
        yield from self._named_tensors(1)

    def buffers(self) -> Iterator[Any]:
        """As `named_buffers`, without names."""
        yield from (tensor for _, tensor in self.named_buffers())

    def state_dict(self) -> dict[str, Any]:
        """Parameters and persistent buffers by dotted name; the tensors themselves, not copies."""
        found: dict[str, Any] = {}
        for path, module in self.named_modules():
            transient = module.__dict__.get("_non_persistent_buffers_set", ())
            for group in module._groups()[:2]:
                found |= {f"{path}.{n}" if path else n: t for n, t in group.items() if t is not None and n not in transient}
        return found

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Copies tensors into the parameters and buffers of those names. Raises KeyError for missing and unknown names, RuntimeError for other shapes; nothing is copied then."""
        copy_state(type(self).__name__, self.state_dict(), state)

    def apply(self, function: Callable[[Module], Any]) -> Module:
        """Calls `function` on every module below and on this one; returns this one."""
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    def train(self, mode: bool = True) -> Module:
        """Sets ``training`` here and below; returns this module."""
        for module in self.modules():
            object.__setattr__(module, "training", mode)
        return self

    def eval(self) -> Module:
        """``train(False)``."""
        return self.train(False)

    def extra_repr(self) -> str:
        """What a subclass adds to its line in ``repr``."""
        return ""

    def __repr__(self) -> str:
        head = f"{type(self).__name__}({self.extra_repr()}"
        children = [f"  ({name}): " + repr(child).replace("\n", "\n  ") for name, child in self.named_children()]
        return head + ("\n" + "\n".join(children) + "\n" if children else "") + ")"
