"""The TorchScript-shaped door: ``torch.jit`` code finds here what it calls, by the same names.

`script`, `export`, `save`, `load` and `ScriptModule` are jitlang's own. The rest are marks that mean something inside scripts
and do the plain thing outside of them.
"""

from __future__ import annotations

import builtins
from typing import Any, Final, get_args, get_origin

from jitlang.errors import CompileError as Error
from jitlang.runtime.module import ScriptModule, export
from jitlang.runtime.script import script
from jitlang.serialization.loading import load
from jitlang.serialization.saving import save

__all__ = ["Error", "Final", "ScriptModule", "annotate", "export", "is_scripting", "is_tracing", "isinstance", "load", "save", "script"]


def annotate(the_type: Any, the_value: Any) -> Any:
    """`the_value`; in a script it has the type `the_type`."""
    return the_value


def is_scripting() -> bool:
    """False; in a script, True at compile time."""
    return False


def is_tracing() -> bool:
    """False: there is no tracing."""
    return False


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether `obj` is of a type, which may be a container's type with its element types (``List[int]``)."""
    origin, args = get_origin(target_type), get_args(target_type)
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, t) for t in target_type)
    if origin is None or not args:
        return builtins.isinstance(obj, target_type)
    if origin in (list, set):
        return builtins.isinstance(obj, origin) and all(isinstance(o, args[0]) for o in obj)
    if origin is dict:
        return builtins.isinstance(obj, dict) and all(isinstance(k, args[0]) and isinstance(v, args[1]) for k, v in obj.items())
    if origin is tuple:
        return builtins.isinstance(obj, tuple) and len(obj) == len(args) and all(map(isinstance, obj, args))
    return any(isinstance(obj, t) for t in args)
