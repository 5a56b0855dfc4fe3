"""The plan of each type, as a constant of the module that converts it.

In: a script type. Out: the LLVM name of a `jitlang.codegen.library.marshal_layout.Plan`. Plans of classes may refer to themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jitlang.codegen.function import FunctionBuilder
from jitlang.codegen.kernels import reference
from jitlang.codegen.library import marshal_layout as m
from jitlang.codegen.library import values
from jitlang.codegen.library.marshal_layout import Plan
from jitlang.codegen.llvm_types import is_nullable, quote, size_and_align
from jitlang.codegen.script.marshal_objects import cell
from jitlang.errors import CodegenError
from jitlang.frontend.emitter import Static
from jitlang.frontend.kernel import cast, i64, kernel, ptr, u8
from jitlang.types import (
    BOOL,
    DEVICE,
    DTYPE,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    U8,
    ClassType,
    DictType,
    ListType,
    Machine,
    OptionalType,
    Pointer,
    SetType,
    TensorType,
    TupleType,
    Type,
)

_SIMPLE = {INT: m.INT, FLOAT: m.FLOAT, BOOL: m.BOOL, NONE: m.NONE, NEVER: m.NONE, STR: m.STR, DTYPE: m.DTYPE, DEVICE: m.DEVICE}
Fields = dict[str, int | str]


@kernel
def hash_at(at: ptr[u8], t) -> i64:
    """The hash of the key of type t at an address."""
    return values.hash_of(cast(ptr[values.slot(t)], at)[0], t)


def has_identity(type: Type) -> bool:
    """Whether values are containers or objects, or hold some: what a call keeps a record of."""
    if isinstance(type, ListType | DictType | SetType | ClassType):
        return True
    return isinstance(type, TupleType | OptionalType) and any(has_identity(t) for t in type.children())


def parts_of(kinds: Sequence[Type], at: int = 0) -> Iterator[tuple[Type, int]]:
    """Each type of a C struct with its offset."""
    for kind in kinds:
        size, align = size_and_align(kind)
        at = (at + align - 1) // align * align
        yield kind, at
        at += size


def plan_of(b: FunctionBuilder, type: Type, *, key: bool = False) -> str:
    """The name of the plan of a type in the module of `b`; `key`: of the keys of a dict or set.

    Raises:
        CodegenError: Python and native code cannot exchange values of this type.
    """
    key = key and isinstance(type, TupleType | OptionalType)
    name = f"jl.{'key' if key else 'plan'}<{type}>"
    if name not in b.module.globals:
        b.module.globals[name] = ""  # known from here on: a class may hold itself
        fields = _fields(b, type)
        if key:
            fields["native"] = reference(b.module, hash_at.instance(Pointer(U8), Static(type)))
        fields["size"] = size_and_align(type)[0]
        body = ", ".join(f"{_word(t)} {fields.get(f, 'null' if _word(t) == 'ptr' else 0)}" for f, t in Plan.fields.items())
        b.module.globals[name] = f"@{quote(name)} = internal constant {{{', '.join(map(_word, Plan.fields.values()))}}} {{{body}}}, align 8"
    return f"@{quote(name)}"


def _word(type: Type) -> str:
    return "i64" if isinstance(type, Machine) else "ptr"


def _fields(b: FunctionBuilder, type: Type) -> Fields:
    if type in _SIMPLE:
        return {"kind": _SIMPLE[type]}
    if isinstance(type, TensorType):
        return {"kind": m.TENSOR, "dtype": type.dtype.code if type.dtype else -1, "rank": -1 if type.rank is None else type.rank}
    if isinstance(type, ListType):
        return {"kind": m.LIST, "first": plan_of(b, type.element)}
    if isinstance(type, SetType):
        return {"kind": m.SET, "first": plan_of(b, type.element, key=True), "offset": values.key_offset(type), "entry": values.entry_bytes(type)}
    if isinstance(type, DictType):
        first, second = plan_of(b, type.key, key=True), plan_of(b, type.value)
        offsets: Fields = {"offset": values.key_offset(type), "second_offset": values.value_offset(type), "entry": values.entry_bytes(type)}
        return {"kind": m.DICT, "first": first, "second": second, **offsets}
    if isinstance(type, OptionalType):
        if is_nullable(type):
            return {"kind": m.NULLABLE, "first": plan_of(b, type.element)}
        return {"kind": m.OPTIONAL, "first": plan_of(b, type.element), "offset": size_and_align(type.element)[1]}
    if isinstance(type, TupleType):
        parts = [("null", kind, at, False) for kind, at in parts_of(type.elements)]
        made: Fields = {"kind": m.TUPLE, "count": len(parts), "parts": _parts(b, type, parts)}
        return {**made, "python": cell(b.module, ["named tuple", type.name, *type.fields])} if type.name else made
    if isinstance(type, ClassType) and not type.is_enum:
        return _class_fields(b, type)
    raise CodegenError(f"{type} cannot be passed between Python and native code")


def _class_fields(b: FunctionBuilder, type: ClassType) -> Fields:
    from jitlang.codegen.script.objects import class_info, layout  # it imports the conversions that import this module

    offsets, _ = layout(type)
    parts = [(cell(b.module, ["name", name]), kind, offsets[name], name in type.missing) for name, kind in type.attributes.items()]
    return {
        "kind": m.OBJECT,
        "count": len(parts),
        "parts": _parts(b, type, parts),
        "python": cell(b.module, ["class", type.name]),
        "native": class_info(b, type),
        "module": int(type.is_module),
        "cyclic": int(is_cyclic(type)),
    }


def _parts(b: FunctionBuilder, type: Type, parts: list[tuple[str, Type, int, bool]]) -> str:
    if not parts:
        return "null"
    word = "{ptr, ptr, i64, i64}"
    items = ", ".join(f"{word} {{ptr {name}, ptr {plan_of(b, kind)}, i64 {at}, i64 {int(missing)}}}" for name, kind, at, missing in parts)
    return b.module.constant(f"jl.parts<{type}>", f"internal constant [{len(parts)} x {word}] [{items}], align 8")


def is_cyclic(type: ClassType) -> bool:
    """Whether an object may hold itself, at whatever depth."""
    seen: set[Type] = set()
    todo: list[Type] = list(type.attributes.values())
    while todo:
        for inner in todo.pop().walk():
            if inner is type:
                return True
            if isinstance(inner, ClassType) and inner not in seen:
                seen.add(inner)
                todo.extend(inner.attributes.values())
    return False
