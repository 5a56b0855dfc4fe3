"""jitlang: ordinary Python functions, classes and models, compiled; saved in one file; run without their source.

```python
import jitlang as jl

@jl.script
def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps
```

Tensor operators (`jl.sin`, `jl.cat`, …) are attributes of this module, made when they are first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jitlang.operators  # noqa: F401  registers the operators of Python's own types
from jitlang.errors import ArchiveError, CompileError, JitlangError
from jitlang.grammar.loader import keep_tables as _keep_tables
from jitlang.limits import finfo, iinfo
from jitlang.native.tables import CachedTables as _CachedTables
from jitlang.tensor.callables import has_variant as _has_variant
from jitlang.tensor.callables import on_change as _on_change
from jitlang.tensor.callables import set_makers as _set_makers
from jitlang.tensor.tensor import Device, Size, Tensor, as_tensor, device, from_dlpack, from_numpy, is_tensor, set_printoptions, tensor
from jitlang.types import DTYPES as _DTYPES
from jitlang.version import VERSION as __version__  # noqa: N811  the name that Python's tools know


def _compiled_operator(rows: Any) -> Any:
    from jitlang.runtime.operators import operator_function  # compilers are imported with the first operator, not with jitlang

    return operator_function(rows)


def _compiled_row(row: Any) -> Any:
    from jitlang.runtime.operators import row_function

    return row_function(row)


_set_makers(_compiled_operator, _compiled_row)
_keep_tables(_CachedTables())
for _dtype in _DTYPES:
    globals()[_dtype.name] = _dtype
float, double, int, long = (globals()[n] for n in ("float32", "float64", "int32", "int64"))

__all__ = [
    "ArchiveError",
    "CompileError",
    "Device",
    "JitlangError",
    "ScriptModule",
    "Size",
    "Tensor",
    "__version__",
    "as_tensor",
    "device",
    "export",
    "finfo",
    "from_dlpack",
    "from_numpy",
    "iinfo",
    "is_tensor",
    "script",
    "set_printoptions",
    "status",
    "tensor",
    "wait_for_compilation",
]

if TYPE_CHECKING:  # the names that `__getattr__` finds, for editors and type checkers
    from jitlang import nn as nn
    from jitlang.native.threads import get_num_threads as get_num_threads
    from jitlang.native.threads import set_num_threads as set_num_threads
    from jitlang.runtime.module import ScriptModule as ScriptModule
    from jitlang.runtime.module import export as export
    from jitlang.runtime.script import script as script
    from jitlang.runtime.status import status as status
    from jitlang.runtime.status import wait_for_compilation as wait_for_compilation
    from jitlang.serialization.loading import load as load
    from jitlang.serialization.saving import save as save

_operators: set[str] = set()
_LAZY = {"nn": "jitlang.nn", "jit": "jitlang.jit"}
_LAZY_NAMES = {
    "script": ("jitlang.runtime.script", "script"),
    "export": ("jitlang.runtime.module", "export"),
    "ScriptModule": ("jitlang.runtime.module", "ScriptModule"),
    "status": ("jitlang.runtime.status", "status"),
    "wait_for_compilation": ("jitlang.runtime.status", "wait_for_compilation"),
    "save": ("jitlang.serialization.saving", "save"),
    "load": ("jitlang.serialization.loading", "load"),
    "set_num_threads": ("jitlang.native.threads", "set_num_threads"),
    "get_num_threads": ("jitlang.native.threads", "get_num_threads"),
}


def __getattr__(name: str) -> Any:
    import importlib

    if name in _LAZY:
        return importlib.import_module(_LAZY[name])
    if name in _LAZY_NAMES:
        module, attribute = _LAZY_NAMES[name]
        found = globals()[name] = getattr(importlib.import_module(module), attribute)
        return found
    from jitlang.tensor import tensor as tensors

    try:
        found = getattr(tensors, name)
    except AttributeError:
        raise AttributeError(f"module 'jitlang' has no attribute {name!r}") from None
    if _has_variant(name, "function"):
        _operators.add(name)
        globals()[name] = found  # the next look-up is an ordinary one
    return found


def _look_up_anew(names: list[str] | None) -> None:
    for name in list(_operators) if names is None else names:
        if name in _operators:
            _operators.discard(name)
            globals().pop(name, None)


_on_change(_look_up_anew)


def __dir__() -> list[str]:
    from jitlang.registry import all_operators

    return sorted({*globals(), *_LAZY, *_LAZY_NAMES, *(o.name for o in all_operators() if o.namespace == "aten" and "function" in o.variants)})
