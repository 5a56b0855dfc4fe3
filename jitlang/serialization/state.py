"""The state of an object as a tree and named tensors.

In: an object of a script class or module, with all it holds. Out: a document of `tree`, and the tensors in it under the dotted names of
the attributes that lead to them; and back.

| leaf | meaning |
|---|---|
| ``{"tensor": "layer.weight"}`` | that tensor |
| ``{"tensor": "x", "shape": …, "strides": …, "offset": …}`` | a view of that tensor's elements: other tensors share them |
| ``{"dtype": "float32"}``, ``{"device": "cpu"}`` | a dtype, a device |

A member of an enumeration has no leaf: it is part of the compiled code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from jitlang.errors import ArchiveError
from jitlang.frontend.annotations import fits, is_named_tuple, named_tuple_name, stored_class, type_of_value
from jitlang.ir.graph import Program
from jitlang.serialization.tree import Decoder, Encoder
from jitlang.serialization.weights import StoredTensor
from jitlang.tensor.devices import Device
from jitlang.tensor.exchange import from_numpy
from jitlang.tensor.handles import Tensor, impl
from jitlang.types import BOOL, FLOAT, INT, STR, TENSOR, ClassType, DictType, DType, ListType, OptionalType, SetType, TupleType, Type, dtype_named

MAX_RANK = 8
_FLAT = (INT, FLOAT, BOOL, STR, TENSOR)
MAX_NESTING = 100  # of containers in the type of an attribute

# ---- writing ------------------------------------------------------------------------------------------------------


def encode_state(root: Any, kind: ClassType) -> tuple[dict[str, Any], dict[str, StoredTensor]]:
    """The document and the tensors of an object of a class.

    Raises TypeError for a value that cannot be stored.
    """
    kinds, names = _kinds_of(root, kind)
    tensors = _Tensors(root, kinds)

    def leaf(value: Any) -> Any:
        if isinstance(value, Tensor):
            return tensors.leaf(value)
        if isinstance(value, DType):
            return {"dtype": value.name}
        return {"device": str(value)} if isinstance(value, Device) else None

    def attributes(value: Any) -> tuple[str, Mapping[str, Any]]:
        if id(value) not in kinds:
            raise TypeError(f"a {type(value).__name__} cannot be stored in an archive")
        return kinds[id(value)].name, _attributes(value, kinds[id(value)])

    return Encoder(leaf, attributes, lambda cls: names.get(cls, cls.__name__)).encode(root), tensors.stored


def _attributes(value: Any, kind: ClassType) -> dict[str, Any]:
    return {name: getattr(value, name) for name in kind.attributes if hasattr(value, name)}


def _kinds_of(root: Any, kind: ClassType) -> tuple[dict[int, ClassType], dict[type, str]]:
    """The class type of each object that is reached, by its id, and the names of NamedTuple classes: as the types of the attributes say."""
    kinds: dict[int, ClassType] = {}
    names: dict[type, str] = {}
    work: list[tuple[Any, Type]] = [(root, kind)]
    for value, wanted in work:
        if isinstance(wanted, ClassType):
            if id(value) not in kinds:
                kinds[id(value)] = wanted
                work.extend((item, wanted.attributes[name]) for name, item in _attributes(value, wanted).items())
        elif isinstance(wanted, TupleType):
            if wanted.name:
                names[type(value)] = wanted.name
            work.extend(zip(value, wanted.elements, strict=True))
        elif isinstance(wanted, OptionalType) and value is not None:
            work.append((value, wanted.element))
        elif isinstance(wanted, DictType):
            work.extend((key, wanted.key) for key in value)
            work.extend((item, wanted.value) for item in value.values())
        elif isinstance(wanted, ListType | SetType) and wanted.element not in _FLAT:
            work.extend((item, wanted.element) for item in value)
    return kinds, names


class _Tensors:
    """Names of tensors, and what is stored under them. Tensors that share elements are views of one that holds them all."""

    def __init__(self, root: Any, kinds: Mapping[int, ClassType]) -> None:
        self.kinds = kinds
        self.names: dict[int, str] = {}
        self.groups: dict[int, list[Any]] = {}
        self.stored: dict[str, StoredTensor] = {}
        self.leaves: dict[int, Any] = {}
        for path, tensor in self._walk(root):
            if id(tensor) not in self.names:
                self.names[id(tensor)] = self._free(path or "tensor")
                self.groups.setdefault(impl(tensor).storage, []).append(tensor)
        for group in self.groups.values():
            self._store(group)

    def _free(self, path: str) -> str:
        name, number = path, 1
        while name in self.names.values():
            number += 1
            name = f"{path}-{number}"
        return name

    def _walk(self, root: Any) -> Iterator[tuple[str, Any]]:
        """Each tensor with the path that leads to it, nearest first; without recursion, for long chains of objects."""
        seen: set[int] = set()
        work: list[tuple[str, Any]] = [("", root)]
        for path, value in work:
            if isinstance(value, Tensor):
                yield path, value
            elif value is not None and type(value) not in (bool, int, float, str) and id(value) not in seen:
                seen.add(id(value))
                work.extend((f"{path}.{name}" if path else name, inner) for name, inner in self._children(value))

    def _children(self, value: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(value, dict):
            yield from ((str(k), v) for k, v in value.items())
        elif isinstance(value, list | tuple | set):
            yield from ((str(i), v) for i, v in enumerate(value))
        elif id(value) in self.kinds:
            yield from _attributes(value, self.kinds[id(value)]).items()

    def _store(self, group: list[Any]) -> None:
        first = group[0]
        name = self.names[id(first)]
        if len(group) == 1:
            self._keep(name, np.ascontiguousarray(first.numpy()))
            self.leaves[id(first)] = {"tensor": name}
            return
        arrays = [tensor.numpy() for tensor in group]
        start = min(a.__array_interface__["data"][0] for a in arrays)
        end = max(a.__array_interface__["data"][0] + _reach(a) for a in arrays)
        whole = next((a for a in arrays if a.__array_interface__["data"][0] == start and a.nbytes == end - start and a.flags.c_contiguous), None)
        if len({a.dtype for a in arrays}) > 1:
            raise TypeError(f"the tensors {', '.join(self.names[id(t)] for t in group)} share elements under different dtypes")
        if whole is None:
            count = (end - start) // arrays[0].itemsize
            at = next(a for a in arrays if a.__array_interface__["data"][0] == start)
            whole = np.lib.stride_tricks.as_strided(at, (count,), (at.itemsize,))
        self._keep(name, np.ascontiguousarray(whole))
        for tensor, array in zip(group, arrays, strict=True):
            same = array.shape == whole.shape and array.strides == whole.strides and array.__array_interface__["data"][0] == start
            view = {
                "shape": list(array.shape),
                "strides": [s // array.itemsize for s in array.strides],
                "offset": (array.__array_interface__["data"][0] - start) // array.itemsize,
            }
            self.leaves[id(tensor)] = {"tensor": name} | ({} if same else view)

    def _keep(self, name: str, array: Any) -> None:
        self.stored[name] = StoredTensor(str(array.dtype), array.shape, array.reshape(-1).view(np.uint8).data if array.size else b"")

    def leaf(self, tensor: Any) -> Any:
        return self.leaves[id(tensor)]


def _reach(array: Any) -> int:
    """How many bytes behind its first element an array's elements end."""
    return 0 if array.size == 0 else sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)) + array.itemsize


# ---- reading ------------------------------------------------------------------------------------------------------


def decode_state(document: Any, entry: str, tensors: Mapping[str, StoredTensor], program: Program, declared: Mapping[str, Mapping[str, Type]]) -> Any:
    """The object that a document describes, of classes of `program`.

    `declared` holds the types of the classes' attributes as the file says them. Raises ArchiveError where the document does not fit them.
    """
    made: dict[str, Any] = {}
    views: dict[str, Any] = {}

    def leaf(given: Any) -> Any:
        if "tensor" in given:
            key = repr(given)
            if key not in views:
                views[key] = _view(given, made, tensors)
            return views[key]
        if "dtype" in given:
            return dtype_named(given["dtype"])
        if "device" in given:
            return Device(given["device"])
        raise ValueError(f"{given!r} is no kind of value")

    def class_of(name: str) -> ClassType:
        kind = program.classes[name]
        if not isinstance(kind, ClassType) or kind.is_enum:
            raise ValueError(f"{name} is no class of objects")
        return kind

    kinds: dict[int, ClassType] = {}
    objects: list[Any] = []

    def new(name: str) -> Any:
        cls: Any = stored_class(class_of(name))
        value = cls.__new__(cls)
        kinds[id(value)] = class_of(name)
        objects.append(value)
        return value

    def fill(value: Any, attributes: dict[str, Any]) -> None:
        kind = kinds[id(value)]
        if attributes.keys() - kind.attributes.keys():
            raise ValueError(f"{kind} has no attribute {sorted(attributes.keys() - kind.attributes.keys())[0]!r}")
        vars(value).update(attributes)

    root = Decoder(document, entry, leaf, new, fill).decode()
    _check_attributes(objects, kinds, declared, entry)
    return root


def _check_attributes(objects: list[Any], kinds: Mapping[int, ClassType], declared: Mapping[str, Mapping[str, Type]], entry: str) -> None:
    """Every attribute is there and has the type that the compiled code takes it to have."""
    for value in objects:
        kind = kinds[id(value)]
        for name, wanted in declared[kind.name].items():
            if name not in vars(value):
                continue  # not set yet; reading it raises AttributeError
            if not _conforms(vars(value)[name], wanted, kinds, 0):
                raise ArchiveError(f"entry {entry!r}: the attribute {name!r} of {kind} is no {wanted}")


def _conforms(value: Any, wanted: Type, kinds: Mapping[int, ClassType], depth: int) -> bool:
    """Whether a value has a type; objects of the archive's classes are known by `kinds`."""
    if depth > MAX_NESTING:
        return False
    if isinstance(wanted, ClassType):
        found = kinds.get(id(value))
        return found is not None and found.name == wanted.name
    if not any(isinstance(t, ClassType) for t in wanted.walk()):
        try:
            given = type_of_value(value)
        except TypeError:
            return False
        return given is not None and fits(given, wanted, details=True)

    def all_conform(values: Iterable[Any], kind: Type) -> bool:
        return all(_conforms(v, kind, kinds, depth + 1) for v in values)

    if isinstance(wanted, OptionalType):
        return value is None or _conforms(value, wanted.element, kinds, depth + 1)
    if isinstance(wanted, ListType):
        return type(value) is list and all_conform(value, wanted.element)
    if isinstance(wanted, DictType):
        return type(value) is dict and all_conform(value, wanted.key) and all_conform(value.values(), wanted.value)
    if isinstance(wanted, TupleType) and isinstance(value, tuple) and len(value) == len(wanted.elements):
        cls: Any = type(value)
        named = (named_tuple_name(cls), cls._fields) if is_named_tuple(cls) else ("", ())
        return named == (wanted.name, wanted.fields) and all(_conforms(v, k, kinds, depth + 1) for v, k in zip(value, wanted.elements, strict=True))
    return False


def _view(given: Any, made: dict[str, Any], tensors: Mapping[str, StoredTensor]) -> Any:
    """A tensor over the elements of the archive, which are not copied."""
    name = given["tensor"]
    stored = tensors[name]
    if len(stored.shape) > MAX_RANK:
        raise ValueError(f"tensor {name!r} has {len(stored.shape)} dimensions; at most {MAX_RANK} are supported")
    if name not in made:
        made[name] = np.frombuffer(stored.data, dtype=stored.dtype).reshape(stored.shape) if stored.nbytes else np.zeros(stored.shape, stored.dtype)
    base = made[name]
    if "shape" not in given:
        return from_numpy(base)
    shape, strides, offset = (given[key] for key in ("shape", "strides", "offset"))
    numbers = [*shape, *strides, offset]
    if not all(type(n) is int and 0 <= n < 1 << 48 for n in numbers) or len(shape) != len(strides) or len(shape) > MAX_RANK:
        raise ValueError(f"a view of {name!r} has an impossible shape")
    empty = math.prod(shape) == 0
    if not empty and offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) >= base.size:
        raise ValueError(f"a view of {name!r} reaches past its end")
    flat = base.reshape(-1)[0 if empty else offset :]
    return from_numpy(np.lib.stride_tricks.as_strided(flat, shape, [s * base.itemsize for s in strides]))
