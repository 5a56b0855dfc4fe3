"""What every value has, by its script type: references, equality, order, hash, truth.

In: native values and, as a static argument, their script type. Out: kernels that unfold along the type at compile time. A class
instance ends the unfolding: its type's own function is called through its head (`jitlang.codegen.library.objects`).
"""

from __future__ import annotations

from typing import Any

from jitlang.codegen.library import strings
from jitlang.codegen.library.layout import Dict, List, Object, Str
from jitlang.codegen.library.memory import FREE, is_owner, recycle
from jitlang.errors import CodegenError
from jitlang.frontend.kernel import (
    Kernel,
    address,
    align_of,
    b1,
    bitcast,
    call_pointer,
    cast,
    f64,
    get,
    has,
    i64,
    kernel,
    local,
    minimum,
    null,
    ptr,
    size_of,
    sizeof,
    u8,
    u64,
    unrolled,
)
from jitlang.frontend.kernel_emitter import parameter_types
from jitlang.types import (
    B1,
    BOOL,
    DEVICE,
    DTYPE,
    F64,
    FLOAT,
    I8,
    I64,
    INT,
    NEVER,
    NONE,
    STR,
    U8,
    VOID,
    ClassType,
    DictType,
    ListType,
    OptionalType,
    Pointer,
    SetType,
    TensorType,
    TupleType,
    Type,
)

TENSOR: dict[str, Kernel] = {}  # "retain" and "release", entered by the tensor runtime
_SIMPLE: dict[Type, Type] = {INT: I64, FLOAT: F64, BOOL: B1, NONE: I8, NEVER: I8, DTYPE: I64, DEVICE: I64}


# ---- types, at compile time ---------------------------------------------------------------------------------------


def slot(type: Type) -> Type:
    """The machine type of a script type's values."""
    if type in _SIMPLE:
        return _SIMPLE[type]
    if isinstance(type, TupleType):
        return TupleType(tuple(slot(e) for e in type.elements)) if type.elements else I8
    if isinstance(type, OptionalType):
        inner = slot(type.element)
        return inner if isinstance(inner, Pointer) else OptionalType(inner)
    if type == STR or isinstance(type, ListType | DictType | SetType | TensorType | ClassType):
        return Pointer(U8)
    raise CodegenError(f"{type} has no native form")


def is_managed(type: Type) -> bool:
    """Whether values of a type hold references."""
    if isinstance(type, TupleType):
        return any(is_managed(e) for e in type.elements)
    if isinstance(type, OptionalType):
        return is_managed(type.element)
    return isinstance(slot(type), Pointer)


def is_pointer(type: Type) -> bool:
    """Whether values of a type are pointers, null standing for None."""
    return isinstance(slot(type), Pointer)


def parts(type: Type) -> list[tuple[int, Type]]:
    """The elements of a tuple type with their numbers."""
    return list(enumerate(type.children()))


def is_tuple(type: Type) -> bool:
    """Whether it is a tuple type."""
    return isinstance(type, TupleType)


def is_flagged(type: Type) -> bool:
    """Whether it is an Optional that is not a pointer."""
    return isinstance(type, OptionalType) and not is_pointer(type)


def is_optional(type: Type) -> bool:
    """Whether it is an Optional type."""
    return isinstance(type, OptionalType)


def bare(type: Type) -> Type:
    """The type without Optional."""
    return type.element if isinstance(type, OptionalType) else type


def holds_float(type: Type) -> bool:
    """Whether a value of the type may be unequal to itself, for a NaN in it."""
    return type == FLOAT or (not is_class(type) and any(map(holds_float, type.children())))


def is_list(type: Type) -> bool:
    """Whether it is a list type."""
    return isinstance(type, ListType)


def is_dict(type: Type) -> bool:
    """Whether it is a dict or set type."""
    return isinstance(type, DictType | SetType)


def is_tensor(type: Type) -> bool:
    """Whether it is a tensor type."""
    return isinstance(type, TensorType)


def is_class(type: Type) -> bool:
    """Whether it is a class type."""
    return isinstance(type, ClassType)


def is_word(type: Type) -> bool:
    """Whether its values are 64-bit integers."""
    return slot(type) == I64


def key_type(type: Type) -> Type:
    """The key type of a dict, the element type of a set."""
    return type.children()[0]


def value_type(type: Type) -> Type:
    """The value type of a dict; None's of a set."""
    return type.value if isinstance(type, DictType) else NONE


def entry_bytes(type: Type) -> int:
    """The size of an entry of a dict."""
    return size_of(TupleType((I64, slot(key_type(type)), slot(value_type(type)))))


def key_offset(type: Type) -> int:
    """Where the key stands in an entry of a dict."""
    align = align_of(slot(key_type(type)))
    return (8 + align - 1) // align * align


def value_offset(type: Type) -> int:
    """Where the value stands in an entry of a dict."""
    align = align_of(slot(value_type(type)))
    return (key_offset(type) + size_of(slot(key_type(type))) + align - 1) // align * align


def tensor_kernel(name: str) -> Kernel:
    """The tensor runtime's kernel of that name; CodegenError where there is no tensor runtime."""
    if name not in TENSOR:
        raise CodegenError("tensors need jitlang.tensor, which is not loaded")
    return TENSOR[name]


def parameter(target: Kernel) -> Any:
    """The type of a kernel's first parameter."""
    return parameter_types(target)[0]


# ---- references ---------------------------------------------------------------------------------------------------


@kernel(inline="always")
def retain(v, t):
    """One more reference to each object that the value of type t holds."""
    if is_pointer(t):
        if v != null(ptr[u8]):
            if is_tensor(bare(t)):
                tensor_kernel("retain")(cast(parameter(tensor_kernel("retain")), v))
            else:
                cast(ptr[i64], v)[0] = cast(ptr[i64], v)[0] + 1
    elif is_flagged(t):
        if is_managed(t):
            if has(v):
                retain(get(v), bare(t))
    elif is_tuple(t):
        for i, e in unrolled(parts(t)):
            if is_managed(e):
                retain(v[i], e)


@kernel
def release(v, t):
    """One reference less; what has none left is freed."""
    if is_pointer(t):
        if v != null(ptr[u8]):
            if is_tensor(bare(t)):
                tensor_kernel("release")(cast(parameter(tensor_kernel("release")), v))
            else:
                left = cast(ptr[i64], v)[0] - 1
                cast(ptr[i64], v)[0] = left
                if left == 0:
                    destroy(v, bare(t))
    elif is_flagged(t):
        if is_managed(t):
            if has(v):
                release(get(v), bare(t))
    elif is_tuple(t):
        for i, e in unrolled(parts(t)):
            if is_managed(e):
                release(v[i], e)


@kernel(inline="never")
def destroy(v, t):
    """Frees a string, container or object, and gives up the references in it."""
    if is_list(t):
        items = cast(ptr[List], v)
        E = t.element
        if is_managed(E):
            release_range(items.data, 0, items.length, E)
        recycle(items.data, items.capacity * size_of(slot(E)))
        recycle(v, sizeof(List))
    elif is_dict(t):
        release_entries(cast(ptr[Dict], v), t)
        recycle(cast(ptr[Dict], v).entries, block_bytes(cast(ptr[Dict], v), t))
        recycle(v, sizeof(Dict))
    elif is_class(t):
        destroy_object(v)
    else:
        s = cast(ptr[Str], v)
        recycle(v, strings.block_bytes(strings.HEAD + s.length * s.kind))


@kernel
def release_range(data: ptr[u8], start: i64, stop: i64, t):
    """Gives up the references in elements [start, stop) of an array."""
    for i in range(start, stop):
        release(cast(ptr[slot(t)], data)[i], t)


@kernel
def retain_range(data: ptr[u8], start: i64, stop: i64, t):
    """Takes another reference to each of the elements [start, stop) of an array."""
    if is_managed(t):
        for i in range(start, stop):
            retain(cast(ptr[slot(t)], data)[i], t)


@kernel
def block_bytes(d: ptr[Dict], t) -> i64:
    """The size of the block of a dict's entries and index."""
    return d.capacity * entry_bytes(t) + (d.mask + 1) * 4


@kernel
def release_entries(d: ptr[Dict], t):
    """Gives up the references in the entries of a dict."""
    if is_managed(key_type(t)) or is_managed(value_type(t)):
        for i in range(d.used):
            e = d.entries + i * entry_bytes(t)
            if cast(ptr[i64], e)[0] != -1:
                release(cast(ptr[slot(key_type(t))], e + key_offset(t))[0], key_type(t))
                release(cast(ptr[slot(value_type(t))], e + value_offset(t))[0], value_type(t))


@kernel(inline="never")
def destroy_object(v: ptr[u8]) -> None:
    """Frees an object, and then one by one the objects that only it kept alive: a long chain needs no deep stack.

    Objects that die while another one is being freed wait in its chain; on threads without free lists only those that are its attributes do.
    """
    outermost = is_owner()
    if outermost:
        if FREE.dying != null(ptr[ptr[u8]]):
            chain(v, FREE.dying)
            return
    pending = local(ptr[u8], 1)
    pending[0] = null(ptr[u8])
    if outermost:
        FREE.dying = pending
    current = v
    while current != null(ptr[u8]):
        call_pointer(VOID, cast(ptr[Object], current).type.destroy, current, pending)
        current = pending[0]
        if current != null(ptr[u8]):
            pending[0] = cast(ptr[ptr[u8]], current)[1]
    if outermost:
        FREE.dying = null(ptr[ptr[u8]])


@kernel
def chain(v: ptr[u8], pending: ptr[ptr[u8]]) -> None:
    """Puts a dead object on a chain of those to be freed."""
    cast(ptr[ptr[u8]], v)[1] = pending[0]
    pending[0] = v


@kernel
def release_later(v: ptr[u8], pending: ptr[ptr[u8]]) -> None:
    """Gives up a reference to an object; if it was the last one, puts the object on the chain of those to be freed."""
    if v != null(ptr[u8]):
        left = cast(ptr[i64], v)[0] - 1
        cast(ptr[i64], v)[0] = left
        if left == 0:
            chain(v, pending)


# ---- comparison ---------------------------------------------------------------------------------------------------


@kernel
def equal(a, b, t) -> b1:
    """a == b for two values of type t."""
    if t == STR:
        return strings.equal(cast(ptr[Str], a), cast(ptr[Str], b))
    if t == NONE:
        return b1(True)
    if is_tuple(t):
        return equal_parts(a, b, t)
    if is_list(t):
        return equal_lists(cast(ptr[List], a), cast(ptr[List], b), t.element)
    if is_flagged(t):
        if has(a) != has(b):
            return False
        return not has(a) or equal(get(a), get(b), bare(t))
    if is_optional(t):
        if a == null(ptr[u8]) or b == null(ptr[u8]):
            return a == b
        return equal(a, b, bare(t))
    if is_dict(t):
        return dict_equal()(cast(ptr[Dict], a), cast(ptr[Dict], b), t)
    return a == b


@kernel
def equal_parts(a, b, t) -> b1:
    """a == b for two tuples."""
    for i, e in unrolled(parts(t)):
        if not equal(a[i], b[i], e):
            return False
    return True


@kernel
def equal_lists(a: ptr[List], b: ptr[List], e) -> b1:
    """a == b for two lists."""
    if a == b and not holds_float(e):
        return True
    if a.length != b.length:
        return False
    for i in range(a.length):
        if not equal(cast(ptr[slot(e)], a.data)[i], cast(ptr[slot(e)], b.data)[i], e):
            return False
    return True


_dict_equal: list[Kernel] = []


def dict_equal() -> Kernel:
    """The equality of dicts, which `jitlang.codegen.library.dicts` enters."""
    return _dict_equal[0]


def enter_dict_equal(target: Kernel) -> None:
    """Enters the equality of dicts."""
    _dict_equal.append(target)


def holds_on_end(op: str) -> bool:
    """Whether the relation `op` holds between equal sequences."""
    return op in ("le", "ge")


@kernel
def relation(a, b, op) -> b1:
    """a op b for two numbers; `op` is static."""
    if op == "lt":
        return a < b
    if op == "le":
        return a <= b
    if op == "gt":
        return a > b
    return a >= b


@kernel
def ordered(a, b, t, op) -> b1:
    """``a op b`` for two values of type t; `op` is lt, le, gt or ge."""
    if t == STR:
        return relation(strings.compare(cast(ptr[Str], a), cast(ptr[Str], b)), i64(0), op)
    if is_tuple(t):
        return ordered_parts(a, b, t, op)
    if is_list(t):
        return ordered_lists(cast(ptr[List], a), cast(ptr[List], b), t.element, op)
    return relation(a, b, op)


@kernel
def ordered_parts(a, b, t, op) -> b1:
    """The order of two tuples: that of the first elements that differ."""
    for i, e in unrolled(parts(t)):
        if not equal(a[i], b[i], e):
            return ordered(a[i], b[i], e, op)
    return b1(holds_on_end(op))


@kernel
def ordered_lists(a: ptr[List], b: ptr[List], e, op) -> b1:
    """The order of two lists: that of the first elements that differ, else that of the lengths."""
    count = minimum(a.length, b.length)
    for i in range(count):
        x = cast(ptr[slot(e)], a.data)[i]
        y = cast(ptr[slot(e)], b.data)[i]
        if not equal(x, y, e):
            return ordered(x, y, e, op)
    return relation(a.length, b.length, op)


def is_orderable(type: Type) -> bool:
    """Whether values of a type have an order."""
    if type in (INT, FLOAT, BOOL, STR):
        return True
    return isinstance(type, TupleType | ListType) and all(is_orderable(e) for e in type.children())


# ---- hash and truth -----------------------------------------------------------------------------------------------


@kernel
def hash_word(x: i64) -> i64:
    """The hash of 64 bits; not negative. Its high bits, which choose the slot, spread consecutive numbers evenly (Fibonacci hashing)."""
    return i64((u64(x) * 0x9E3779B97F4A7C15) >> 1)


@kernel
def hash_of(v, t) -> i64:
    """The hash of a value, not negative; equal values of the type have the same."""
    if t == STR:
        return strings.hash_of(cast(ptr[Str], v))
    if t == FLOAT:
        bits = bitcast(i64, v + f64(0))  # -0.0 + 0.0 is 0.0
        return hash_word(bits ^ (bits >> 32))
    if t == BOOL:
        return hash_word(i64(v))
    if t == NONE:
        return i64(1)
    if is_tuple(t):
        return hash_parts(v, t)
    if is_flagged(t):
        return hash_of(get(v), bare(t)) if has(v) else i64(1)
    if is_optional(t):
        return i64(1) if v == null(ptr[u8]) else hash_of(v, bare(t))
    if is_word(t):
        return hash_word(v)
    return hash_word(address(v))


@kernel
def hash_parts(v, t) -> i64:
    """The hash of a tuple."""
    h = i64(0x345678)
    for i, e in unrolled(parts(t)):
        h = (h ^ (h >> 32)) * 31 + hash_of(v[i], e)
    return hash_word(h ^ (h >> 32))


@kernel
def truth(v, t) -> b1:
    """bool(v)."""
    if t == BOOL:
        return v
    if t == NONE:
        return b1(False)
    if is_flagged(t):
        return has(v) and truth(get(v), bare(t))
    if is_optional(t):
        return v != null(ptr[u8]) and truth(v, bare(t))
    if t == STR:
        return cast(ptr[Str], v).length != 0
    if is_list(t) or is_dict(t):
        return cast(ptr[List], v).length != 0  # a Dict has its length at the same place
    if is_tuple(t):
        return b1(len(t.elements) != 0)
    if is_class(t):
        return b1(True)
    return v != 0
