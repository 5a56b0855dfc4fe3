"""Pointwise operators: the drivers that promote, broadcast, allocate, and run the loops of `jitlang.tensor.kernels.pointwise_loops`."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import (
    array,
    cast,
    check,
    f64,
    fail,
    i64,
    kernel,
    likely,
    local,
    maximum,
    minimum,
    ptr,
    sizeof,
    struct,
    text,
    typeof,
    u8,
)
from jitlang.tensor.kernels.iteration import broadcast_into, check_target, compute, compute_into, line, same_shape
from jitlang.tensor.kernels.scalars import convert, store_element
from jitlang.tensor.kernels.tensors import empty_as, release, retain, text_slot
from jitlang.tensor.layout import BOOL, CONTIGUOUS, FLOAT32, FLOAT64, INT32, INT64, MAX_OPERANDS, NUMBER, READ_ONLY, UNDEFINED, Iteration, LoopTable, TensorImpl
from jitlang.tensor.loops import Loop, loop_of, pointwise
from jitlang.tensor.promotion import category, combine, computing, item_bytes, produced, promote
from jitlang.types import dtype_coded, machine_type

# ---- conversion of whole tensors ------------------------------------------------------------------------------------


@struct
class CastTable:
    """Loops that convert, by 16 * target + source."""

    loops: array[ptr[u8], 256]


@kernel
def cast_loop(S: Any, T: Any, to_bool: Any, n: i64, data: ptr[ptr[u8]], strides: ptr[i64]) -> None:
    """out = convert(a)."""
    o, a = data[0], data[1]
    so, sa = strides[0], strides[1]
    if so == sizeof(T) and sa == sizeof(S):
        source, target = cast(ptr[S], a), cast(ptr[T], o)
        for i in range(n):
            target[i] = converted(T, to_bool, source[i])
        return
    if so == sizeof(T) and sa == 0:
        value, target = converted(T, to_bool, cast(ptr[S], a)[0]), cast(ptr[T], o)
        for i in range(n):
            target[i] = value
        return
    for i in range(n):
        cast(ptr[T], o + i * so)[0] = converted(T, to_bool, cast(ptr[S], a + i * sa)[0])


@kernel
def converted(T: Any, to_bool: Any, x: Any) -> Any:
    """One element as type T; for bool as 0 or 1."""
    S = typeof(x)
    if to_bool:
        return u8(x != S(0))
    return convert(T, x)


def _cast_instance(key: int) -> Any:
    target, source = dtype_coded(key >> 4), dtype_coded(key & 15)
    to_bool = target.kind == "b" and source.kind != "b"
    return pointwise(cast_loop, machine_type(source), machine_type(target), to_bool)


class CastLoop(Loop):
    """The table of conversions."""

    def instance(self, key: int) -> Any:
        return _cast_instance(key)


CAST = CastLoop("cast", lambda _: None, CastTable)


@kernel
def cast_function(target: i64, source: i64) -> ptr[u8]:
    """The loop that converts from one dtype to another."""
    return loop_of(cast(ptr[LoopTable], CAST.table), target * 16 + source)


@kernel(extern=True)
def cast_tensor(t: ptr[TensorImpl], dtype: i64) -> ptr[TensorImpl]:
    """A new tensor with the same values in another dtype (or the same one), in the same order of dimensions."""
    loop = cast_function(dtype, t.dtype)
    if t.flags & CONTIGUOUS != 0:
        result = empty_as(t, dtype)
        data, strides = local(ptr[u8], 2), local(i64, 2)
        data[0], data[1] = result.data, t.data
        strides[0], strides[1] = item_bytes(dtype), item_bytes(t.dtype)
        line(loop, t.numel, 2, data, strides)
        return result
    inputs = local(ptr[TensorImpl], 1)
    inputs[0] = t
    return compute(loop, 1, inputs, dtype)


@kernel(extern=True)
def copy_into(target: ptr[TensorImpl], source: ptr[TensorImpl]) -> None:
    """Copies `source`, broadcast and converted, to `target`."""
    inputs = local(ptr[TensorImpl], 1)
    inputs[0] = source
    check_target(target, 1, inputs)
    loop = cast_function(target.dtype, source.dtype)
    compute_into(loop, 1, inputs, target)


@kernel(extern=True)
def assign(target: ptr[TensorImpl], source: ptr[TensorImpl]) -> ptr[TensorImpl]:
    """target[...] = source as a script's in-place operator: counts the write; returns `target`, retained."""
    inputs = local(ptr[TensorImpl], 1)
    inputs[0] = source
    check_target(target, 1, inputs)
    writing(target)
    if overlaps(target, source):
        kept = cast_tensor(source, source.dtype)
        copy_into(target, kept)
        release(kept)
    else:
        copy_into(target, source)
    retain(target)
    return target


@kernel
def operand(slot: ptr[TensorImpl], room: ptr[u8], t: ptr[TensorImpl], dtype: i64) -> ptr[TensorImpl]:
    """`t` in a dtype: itself, a converted number in `slot`, or a new tensor that `drop` must free."""
    if likely(t.dtype == dtype):
        return t
    if t.rank == 0:
        store_element(room, dtype, t.data, t.dtype)
        slot.data = room
        slot.dtype = dtype
        slot.rank = 0
        slot.numel = 1
        slot.flags = NUMBER | CONTIGUOUS
        return slot
    return cast_tensor(t, dtype)


@kernel
def drop(converted: ptr[TensorImpl], slot: ptr[TensorImpl], t: ptr[TensorImpl]) -> None:
    """Frees what `operand` made."""
    if converted != t and converted != slot:
        release(converted)


# ---- promotion ----------------------------------------------------------------------------------------------------


@kernel
def joined_dtype(a: ptr[TensorImpl], b: ptr[TensorImpl]) -> i64:
    """The common dtype of two operands: tensors with dimensions count first, then those without, then Python numbers."""
    if likely(a.dtype == b.dtype and (a.flags | b.flags) & NUMBER == 0):
        return a.dtype
    full = promote(full_dtype(a), full_dtype(b))
    single = promote(single_dtype(a), single_dtype(b))
    literal = promote(literal_dtype(a), literal_dtype(b))
    return combine(full, combine(single, literal))


@kernel
def joined_dtype_of(a: ptr[TensorImpl], b: ptr[TensorImpl], c: ptr[TensorImpl]) -> i64:
    """The common dtype of three operands."""
    full = promote(promote(full_dtype(a), full_dtype(b)), full_dtype(c))
    single = promote(promote(single_dtype(a), single_dtype(b)), single_dtype(c))
    literal = promote(promote(literal_dtype(a), literal_dtype(b)), literal_dtype(c))
    return combine(full, combine(single, literal))


@kernel
def full_dtype(t: ptr[TensorImpl]) -> i64:
    """The dtype of a tensor with dimensions."""
    return t.dtype if t.rank > 0 else UNDEFINED


@kernel
def single_dtype(t: ptr[TensorImpl]) -> i64:
    """The dtype of a tensor without dimensions."""
    return t.dtype if t.rank == 0 and t.flags & NUMBER == 0 else UNDEFINED


@kernel
def literal_dtype(t: ptr[TensorImpl]) -> i64:
    """The dtype of a Python number; a float counts as float32."""
    if t.flags & NUMBER == 0:
        return UNDEFINED
    return t.dtype if category(t.dtype) < 2 else FLOAT32


# ---- drivers ------------------------------------------------------------------------------------------------------


def packed(name: str) -> int:
    """A text of at most seven bytes as the integer that holds it in memory, zero-ended."""
    return int.from_bytes(name.encode().ljust(8, b"\0"), "little")


@kernel
def dtype_text(dtype: i64) -> ptr[u8]:
    """The name of a dtype in error messages."""
    slot = text_slot()
    name = packed("Byte")
    if dtype == FLOAT32:
        name = packed("Float")
    elif dtype == FLOAT64:
        name = packed("Double")
    elif dtype == INT64:
        name = packed("Long")
    elif dtype == INT32:
        name = packed("Int")
    elif dtype == BOOL:
        name = packed("Bool")
    cast(ptr[i64], slot)[0] = name
    return slot


@kernel
def dense(loop: ptr[u8], result: ptr[TensorImpl], a: ptr[TensorImpl], b: ptr[TensorImpl]) -> None:
    """Runs a loop over a dense result and operands that are dense alike or have one element."""
    data, strides = local(ptr[u8], 3), local(i64, 3)
    data[0] = result.data
    data[1] = a.data
    data[2] = b.data
    strides[0] = item_bytes(result.dtype)
    strides[1] = 0 if a.rank == 0 else item_bytes(a.dtype)
    strides[2] = 0 if b.rank == 0 else item_bytes(b.dtype)
    line(loop, result.numel, 3, data, strides)


@kernel(extern=True)
def unary(table: ptr[LoopTable], rule: i64, a: ptr[TensorImpl]) -> ptr[TensorImpl]:
    """A new tensor op(a)."""
    dtype = computing(rule, a.dtype)
    loop = loop_of(table, dtype)
    slot, room = local(TensorImpl, 1), local(f64, 2)
    x = operand(slot, cast(ptr[u8], room), a, dtype)
    if likely(a.flags & CONTIGUOUS != 0):
        result = empty_as(a, produced(rule, dtype))
        dense(loop, result, x, x)
        drop(x, slot, a)
        return result
    inputs = local(ptr[TensorImpl], 1)
    inputs[0] = x
    result = compute(loop, 1, inputs, produced(rule, dtype))
    drop(x, slot, a)
    return result


@kernel
def writing(t: ptr[TensorImpl]) -> None:
    """Must be called before a kernel writes to a tensor that a script sees."""
    check(t.flags & READ_ONLY == 0, "RuntimeError", "the tensor is read-only: its memory belongs to a file or to a read-only array; clone() it first")
    s = t.storage
    s.version = s.version + 1


@kernel
def check_result(dtype: i64, target: ptr[TensorImpl]) -> None:
    """Raises where an in-place operator's result does not fit the target's dtype."""
    if category(dtype) > category(target.dtype):
        fail("RuntimeError", "result type {} can't be cast to the desired output type {}", text(dtype_text(dtype)), text(dtype_text(target.dtype)))


@kernel(extern=True)
def unary_into(table: ptr[LoopTable], rule: i64, a: ptr[TensorImpl]) -> ptr[TensorImpl]:
    """a = op(a), in place; returns `a`, retained."""
    dtype = computing(rule, a.dtype)
    check_result(produced(rule, dtype), a)
    loop = loop_of(table, dtype)
    writing(a)
    if a.dtype == dtype and produced(rule, dtype) == dtype:
        if a.flags & CONTIGUOUS != 0:
            dense(loop, a, a, a)
        else:
            inputs = local(ptr[TensorImpl], 1)
            inputs[0] = a
            check_target(a, 1, inputs)
            compute_into(loop, 1, inputs, a)
    else:
        made = unary(table, rule, a)
        copy_into(a, made)
        release(made)
    retain(a)
    return a


@kernel(extern=True)
def binary(table: ptr[LoopTable], rule: i64, a: ptr[TensorImpl], b: ptr[TensorImpl]) -> ptr[TensorImpl]:
    """A new tensor op(a, b)."""
    dtype = computing(rule, joined_dtype(a, b))
    loop = loop_of(table, dtype)
    if likely(a.flags & b.flags & CONTIGUOUS != 0 and a.dtype == dtype and b.dtype == dtype and same_shape(a, b)):
        result = empty_as(a, produced(rule, dtype))
        dense(loop, result, a, b)
        return result
    check_broadcast(a, b)
    slots, room = local(TensorImpl, 2), local(f64, 2)
    x = operand(slots, cast(ptr[u8], room), a, dtype)
    y = operand(slots + 1, cast(ptr[u8], room + 1), b, dtype)
    result = combined(loop, produced(rule, dtype), x, y)
    drop(x, slots, a)
    drop(y, slots + 1, b)
    return result


@kernel
def check_broadcast(a: ptr[TensorImpl], b: ptr[TensorImpl]) -> None:
    """Raises where two shapes do not broadcast."""
    shared_rank = minimum(a.rank, b.rank)
    for i in range(shared_rank):
        x = a.sizes[a.rank - 1 - i]
        y = b.sizes[b.rank - 1 - i]
        if x != y:
            check(
                x == 1 or y == 1,
                "RuntimeError",
                "The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton dimension {}",
                x,
                y,
                maximum(a.rank, b.rank) - 1 - i,
            )


@kernel
def combined(loop: ptr[u8], dtype: i64, x: ptr[TensorImpl], y: ptr[TensorImpl]) -> ptr[TensorImpl]:
    """A new tensor of `dtype`: a loop over two operands that have the dtypes it expects."""
    both = x.flags & y.flags & CONTIGUOUS != 0
    if both and (y.rank == 0 or same_shape(x, y)):
        result = empty_as(x, dtype)
        dense(loop, result, x, y)
        return result
    if both and x.rank == 0:
        result = empty_as(y, dtype)
        dense(loop, result, x, y)
        return result
    inputs = local(ptr[TensorImpl], 2)
    inputs[0] = x
    inputs[1] = y
    return compute(loop, 2, inputs, dtype)


@kernel(extern=True)
def binary_into(table: ptr[LoopTable], rule: i64, a: ptr[TensorImpl], b: ptr[TensorImpl]) -> ptr[TensorImpl]:
    """a = op(a, b), in place; returns `a`, retained."""
    dtype = computing(rule, joined_dtype(a, b))
    result = produced(rule, dtype)
    check_result(result, a)
    loop = loop_of(table, dtype)
    inputs = local(ptr[TensorImpl], 2)
    inputs[0] = a
    inputs[1] = b
    check_target(a, 2, inputs)
    writing(a)
    if a.dtype == dtype and result == dtype:
        slot, room = local(TensorImpl, 1), local(f64, 2)
        y = operand(slot, cast(ptr[u8], room), b, dtype)
        if overlaps(a, y):
            y = cast_tensor(y, dtype)
        if a.flags & y.flags & CONTIGUOUS != 0 and (y.rank == 0 or same_shape(a, y)):
            dense(loop, a, a, y)
        else:
            inputs[1] = y
            compute_into(loop, 2, inputs, a)
        drop(y, slot, b)
    else:
        made = binary(table, rule, a, b)
        copy_into(a, made)
        release(made)
    retain(a)
    return a


@kernel
def overlaps(target: ptr[TensorImpl], t: ptr[TensorImpl]) -> Any:
    """Whether writing `target` element by element could change what is still to be read of `t`."""
    if t.flags & NUMBER != 0 or target.storage != t.storage or target.numel == 0:
        return False
    same = target.data == t.data and target.rank == t.rank
    if same:
        for d in range(target.rank):
            same = same and target.sizes[d] == t.sizes[d] and target.strides[d] == t.strides[d]
    return not same


@kernel(extern=True)
def several(table: ptr[LoopTable], dtype: i64, result: i64, first: i64, count: i64, operands: ptr[ptr[TensorImpl]]) -> ptr[TensorImpl]:
    """A new tensor of `result` dtype: op of `count` operands, those from `first` on converted to `dtype`."""
    loop = loop_of(table, dtype)
    it = local(Iteration, 1)
    it.rank = 0
    for k in range(count):
        broadcast_into(it, operands[k])
    slots, room = local(TensorImpl, MAX_OPERANDS), local(f64, MAX_OPERANDS)
    inputs = local(ptr[TensorImpl], MAX_OPERANDS)
    for k in range(count):
        inputs[k] = operands[k]
        if k >= first:
            inputs[k] = operand(slots + k, cast(ptr[u8], room + k), operands[k], dtype)
    made = compute(loop, count, inputs, result)
    for k in range(first, count):
        drop(inputs[k], slots + k, operands[k])
    return made
