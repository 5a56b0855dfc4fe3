"""Inputs and results of ``jitlang run``. In: texts and files, and the types that an entry point declares. Out: Python values; and results as text or files."""

from __future__ import annotations

import ast
import functools
import json
import math
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import click

from jitlang.cli.words import counted
from jitlang.types import (
    BOOL,
    DEVICE,
    DTYPE,
    FLOAT,
    INT,
    NONE,
    STR,
    DictType,
    ListType,
    OptionalType,
    SetType,
    TensorType,
    TupleType,
    Type,
    dtype_named,
)

FILES = (".npy", ".npz", ".json")


class WrongInput(click.UsageError):
    """An input that does not fit the parameter it is for."""


def parse_input(name: str, text: str, kind: Type) -> Any:
    """The value of ``--input NAME=text`` for a parameter of type `kind`. Raises WrongInput."""
    try:
        return convert(_raw(name, text, kind), kind)
    except (ValueError, TypeError, KeyError, SyntaxError, OSError, MemoryError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise WrongInput(f"input {name}={shortened(text)}: {str(reason).rstrip('.')}; the parameter is {kind}") from None


def changed(text: str, value: Any) -> int:
    """How far a value is from what the text says without a type: 0 where they are of one kind, 1 for another kind of number, more for anything else."""
    try:
        plain = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return 0  # a file, or text
    if type(plain) is type(value) or (isinstance(plain, list | tuple) and not isinstance(value, str)):
        return 0
    return 1 if isinstance(plain, int | float) and isinstance(value, int | float) else 2 if is_tensor(value) else 3


def _raw(name: str, text: str, kind: Type) -> Any:
    """What the text says, before it is fitted to the type."""
    suffix = Path(text).suffix.lower()
    if suffix in FILES and (kind != STR or Path(text).is_file()):
        return _file(name, Path(text), suffix)
    try:
        value = ast.literal_eval(text)
        return text if kind == STR and type(value) is not str else value
    except (ValueError, SyntaxError):
        if STR in (kind, getattr(kind, "element", None)) or kind in (DTYPE, DEVICE):
            return text
        if text in ("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[text]
        if text.lstrip("+-").lower() in ("inf", "infinity", "nan"):
            return float(text)
        raise ValueError("neither a Python literal nor the name of a .npy, .npz or .json file") from None


def _file(name: str, path: Path, suffix: str) -> Any:
    if suffix == ".json":
        return json.loads(path.read_text("utf-8-sig"))
    import struct
    import zipfile
    import zlib

    import numpy as np

    with path.open("rb") as stream:
        if not stream.read(6).startswith((b"\x93NUMPY", b"PK")):  # what else numpy.load would take is a pickle
            raise ValueError("no arrays as NumPy writes them: the file is empty, damaged, or of another kind")
        stream.seek(0)
        try:
            loaded = np.load(stream, allow_pickle=False)
            return loaded if isinstance(loaded, np.ndarray) else _member(name, loaded)
        except (EOFError, zipfile.BadZipFile, zlib.error, struct.error) as error:
            raise ValueError(f"damaged: {error}") from None


def _member(name: str, loaded: Any) -> Any:
    """The array of that name, or the only one, of a file with several."""
    with loaded:
        names = loaded.files
        chosen = names[0] if len(names) == 1 else name
        if chosen not in names:
            raise ValueError(f"the file holds {'the arrays ' + ', '.join(names) if names else 'nothing'}, and none is called {name}")
        found = loaded[chosen]
    if isinstance(found, bytes):
        raise ValueError(f"{chosen} in the file is no array")
    return found


def convert(value: Any, kind: Type) -> Any:
    """`value`, from JSON, a literal or NumPy, as a value of a script type. Raises TypeError or ValueError."""
    if isinstance(kind, OptionalType):
        return None if value is None else convert(value, kind.element)
    if isinstance(kind, TensorType):
        return _fitting(_tensor(value), kind)
    if isinstance(kind, ListType | SetType):
        items = [convert(v, kind.element) for v in _items(value, kind)]
        return items if isinstance(kind, ListType) else set(items)
    if isinstance(kind, TupleType):
        items = _items(value, kind)
        if len(items) != len(kind.elements):
            raise TypeError(f"{len(items)} values for a tuple of {len(kind.elements)}")
        return tuple(convert(v, k) for v, k in zip(items, kind.elements, strict=True))
    if isinstance(kind, DictType):
        if not isinstance(value, dict):
            raise TypeError(f"{type(value).__name__} where {kind} is expected")
        return {_key(k, kind.key): convert(v, kind.value) for k, v in value.items()}
    return _scalar(value, kind)


def _scalar(value: Any, kind: Type) -> Any:
    if hasattr(value, "ndim") and value.ndim == 0:
        value = value.item()
    accepted = _ACCEPTED.get(kind)
    if accepted is None:
        raise TypeError("a value of this type cannot be given on the command line")
    if type(value) not in accepted:
        raise TypeError(f"{type(value).__name__} where {kind} is expected")
    if kind == INT and not -(2**63) <= value < 2**63:
        raise ValueError("an int has 64 bits")
    if kind == DTYPE:
        return dtype_named(value)
    return float(value) if kind == FLOAT else value


_ACCEPTED: dict[Type, tuple[type, ...]] = {INT: (int,), FLOAT: (int, float), BOOL: (bool,), STR: (str,), NONE: (type(None),), DTYPE: (str,), DEVICE: (str,)}


def _key(text: Any, kind: Type) -> Any:
    """The keys of a JSON object are strings, whatever the dict's are."""
    return convert(ast.literal_eval(text), kind) if isinstance(text, str) and kind in (INT, FLOAT, BOOL) else convert(text, kind)


def _items(value: Any, kind: Type) -> list[Any]:
    if hasattr(value, "ndim"):
        value = value.tolist()
    if not isinstance(value, list | tuple | set):
        raise TypeError(f"{type(value).__name__} where {kind} is expected")
    return list(value)


def _fitting(tensor: Any, kind: TensorType) -> Any:
    """The tensor, if its dtype and number of dimensions are those that the type says. Raises TypeError."""
    if kind.dtype not in (None, tensor.dtype) or kind.rank not in (None, tensor.dim()):
        raise TypeError(f"a tensor of {tensor.dtype.name} with {counted(tensor.dim(), 'dimension')} where {kind} is expected")
    return tensor


def _tensor(value: Any) -> Any:
    import jitlang

    if hasattr(value, "ndim"):
        import numpy as np

        return jitlang.from_numpy(np.array(value, value.dtype.newbyteorder("="), order="C"))
    return jitlang.tensor(value)


# ---- results ------------------------------------------------------------------------------------------------------


def is_tensor(value: Any) -> bool:
    """Whether `value` is a tensor."""
    import jitlang

    return isinstance(value, jitlang.Tensor)


def as_json(value: Any) -> Any:
    """A result as JSON has it: tensors as nested lists, tuples and sets as lists, non-finite floats as strings."""
    if is_tensor(value):
        return as_json(value.tolist())
    if isinstance(value, dict):
        return {k if isinstance(k, str) else repr(k): as_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set):
        return [as_json(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def save_result(value: Any, folder: Path, write: Callable[[Path, Callable[[Any], None]], None]) -> list[Path]:
    """Writes a result below `folder`: tensors, alone or in a tuple, list or dict, as ``.npy``, the rest as ``result.json``; returns the files."""
    tensors = dict(_tensors(value, "result"))
    written = []
    for name, tensor in tensors.items():
        path = folder / f"{name}.npy"
        write(path, functools.partial(_save, array=tensor.numpy()))
        written.append(path)
    if not is_tensor(value):
        path = folder / "result.json"
        text = json.dumps(as_json(_without_tensors(value, "result")), indent=1, allow_nan=False) + "\n"
        write(path, lambda stream: stream.write(text.encode()))
        written.append(path)
    return written


def _save(stream: BinaryIO, array: Any) -> None:
    """Writes an array through `stream.write`, whose errors say what is wrong; NumPy's own way for files does not."""
    import numpy as np

    np.save(types.SimpleNamespace(write=stream.write), array, allow_pickle=False)


def _children(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [("".join(c if c.isalnum() or c in "-." else "_" for c in str(k)), v) for k, v in value.items()]
    return [(str(i), v) for i, v in enumerate(value)] if isinstance(value, list | tuple) else []


def _tensors(value: Any, name: str) -> list[tuple[str, Any]]:
    if is_tensor(value):
        return [(name, value)]
    return [found for part, inner in _children(value) for found in _tensors(inner, f"{name}_{part}")]


def _without_tensors(value: Any, name: str) -> Any:
    """The value with the name of its file in place of each tensor."""
    if is_tensor(value):
        return f"{name}.npy"
    children = _children(value)
    if isinstance(value, dict):
        return {k: _without_tensors(v, f"{name}_{part}") for (k, v), (part, _) in zip(value.items(), children, strict=True)}
    return [_without_tensors(v, f"{name}_{part}") for part, v in children] if isinstance(value, list | tuple) else value


def shortened(text: str, width: int = 60) -> str:
    """At most `width` characters of a text."""
    return text if len(text) <= width else text[: width - 1] + "…"
