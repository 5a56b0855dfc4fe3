"""``x[index]`` and ``x[index] = value`` of eager code, natively.

In: a tensor and Python objects, borrowed, with the GIL held. Out: a new tensor, or elements written; `DONE`, or `MISFIT` where an entry of the index (or
the value) is of a kind that only Python code knows, or `FAILED` with Python's error set.

The index is worked out into a view on the stack, and a list on the stack of its index tensors, so nothing is allocated that an error could lose.
"""

from __future__ import annotations

from jitlang.codegen.library.layout import List
from jitlang.codegen.library.marshal_layout import DONE, FAILED, MISFIT
from jitlang.codegen.library.marshal_python import PYTHON
from jitlang.codegen.library.marshal_state import type_of
from jitlang.codegen.library.python_api import O, float_value, int_value, tuple_item, tuple_size
from jitlang.frontend.kernel import array, b1, cast, check, extern, f64, i32, i64, kernel, local, memcpy, null, ptr, sizeof, struct, u8
from jitlang.tensor.kernels.creation import fill_from
from jitlang.tensor.kernels.indexing import index as by_tensors
from jitlang.tensor.kernels.indexing import index_put as by_tensors_put
from jitlang.tensor.kernels.indexing import is_mask
from jitlang.tensor.kernels.objects import FACES, Tensor, impl_of, tensor_of
from jitlang.tensor.kernels.pointwise import assign
from jitlang.tensor.kernels.scalars import load_int, number
from jitlang.tensor.kernels.stack_views import STACK, begin_view, keep_dims, put_dim, put_new_dim
from jitlang.tensor.kernels.tensors import finish, new_view
from jitlang.tensor.kernels.views import position, slice_bounds
from jitlang.tensor.layout import HEAD, MAX_RANK, TensorImpl
from jitlang.tensor.promotion import is_float, item_bytes

slice_parts = extern("PySlice_Unpack", [O, ptr[i64], ptr[i64], ptr[i64]], i32)


@struct
class Subscript:
    """An index, worked out.

    `list` are the index tensors for the first `reached` dimensions of `view`, null where there is none; `masks` of them have no dimensions. `flags` stand
    for bools, which are such masks.
    """

    view: array[TensorImpl, 1]
    list: array[List, 1]
    tensors: array[ptr[u8], 2 * MAX_RANK]
    reached: i64
    masks: i64
    flags: array[TensorImpl, 2]
    rooms: array[i64, 2]


@kernel
def taken(object: O) -> i64:
    """How many dimensions of the tensor an entry takes; -1 where it is of no known kind."""
    kind = type_of(object)
    if kind == PYTHON.int or kind == FACES.slice:
        return 1
    if object == PYTHON.none or object == FACES.ellipsis or kind == PYTHON.bool:
        return 0
    t = tensor_of(object)
    if t == null(Tensor):
        return -1
    return t.rank if is_mask(t) else 1


@kernel
def entry(index: O, i: i64) -> O:
    """Entry i of an index that is a tuple, or the index itself."""
    if type_of(index) == PYTHON.tuple:
        return tuple_item(index, i)
    return index


@kernel
def put_tensor(s: ptr[Subscript], t: Tensor, takes: i64) -> None:
    """Enters an index tensor for the `takes` dimensions that are added next."""
    check(s.view.rank + takes <= MAX_RANK, "RuntimeError", "a tensor has at most 8 dimensions, not {}", s.view.rank + takes)
    if takes == 0:
        check(s.masks < MAX_RANK, "RuntimeError", "a tensor has at most 8 dimensions, not {}", s.masks + 1)
        s.masks = s.masks + 1
    while s.reached < s.view.rank:
        s.tensors[s.list.length] = null(ptr[u8])
        s.list.length = s.list.length + 1
        s.reached = s.reached + 1
    s.tensors[s.list.length] = cast(ptr[u8], t)
    s.list.length = s.list.length + 1
    s.reached = s.reached + takes


@kernel
def put_flag(s: ptr[Subscript], value: b1) -> None:
    """Enters a bool: a mask without dimensions."""
    put_tensor(s, number(s.flags + i64(value), cast(ptr[u8], s.rooms + i64(value)), value), 0)


@kernel
def whole_number(object: O) -> i64:
    """The value of a Python int."""
    excess = local(i32, 1)
    value = int_value(object, excess)
    check(excess[0] == 0, "IndexError", "the index does not fit in 64 bits")
    return value


@kernel
def put_slice(view: Tensor, self: Tensor, d: i64, object: O) -> i64:
    """A slice of dimension `d` of the tensor."""
    parts = local(i64, 3)
    if slice_parts(object, parts, parts + 1, parts + 2) < 0:
        return FAILED
    check(parts[2] > 0, "ValueError", "step must be greater than zero")
    first, length, step = slice_bounds(parts[0], parts[1], parts[2], self.sizes[d])
    view.data = view.data + first * self.strides[d] * item_bytes(self.dtype)
    put_dim(view, length, self.strides[d] * step)
    return DONE


@kernel
def drop_dim(view: Tensor, self: Tensor, d: i64, at: i64) -> None:
    """Element `at` of dimension `d` of the tensor: the view has no such dimension."""
    view.data = view.data + position(at, self.sizes[d], d) * self.strides[d] * item_bytes(self.dtype)


@kernel
def check_entries(self: Tensor, index: O, count: i64) -> i64:
    """How many dimensions an index takes; -1 where it has an entry of no known kind."""
    used = 0
    dots = 0
    for i in range(count):
        object = entry(index, i)
        takes = taken(object)
        if takes < 0:
            return -1
        used += takes
        dots += i64(object == FACES.ellipsis)
    check(self.rank > 0 or used == 0, "IndexError", "invalid index of a 0-dim tensor: use x.item() to get its number")
    check(used <= self.rank, "IndexError", "too many indices for tensor of dimension {}", self.rank)
    check(dots <= 1, "IndexError", "an index can only have a single ellipsis ('...')")
    return used


@kernel(inline="never")
def work_out(self: Tensor, index: O, s: ptr[Subscript]) -> i64:
    """Fills `s`."""
    count = tuple_size(index) if type_of(index) == PYTHON.tuple else 1
    used = check_entries(self, index, count)
    if used < 0:
        return MISFIT
    view = s.view
    begin_view(view, self)
    s.list.length = 0
    s.list.data = cast(ptr[u8], s.tensors)
    s.reached = 0
    s.masks = 0
    d = 0
    for i in range(count):
        object = entry(index, i)
        kind = type_of(object)
        if kind == PYTHON.int:
            drop_dim(view, self, d, whole_number(object))
            d += 1
        elif kind == FACES.slice:
            if put_slice(view, self, d, object) == FAILED:
                return FAILED
            d += 1
        elif object == PYTHON.none:
            put_new_dim(view, self, d)
        elif object == FACES.ellipsis:
            keep_dims(view, self, d, self.rank - used)
            d += self.rank - used
        elif kind == PYTHON.bool:
            put_flag(s, object == PYTHON.true)
        else:
            t = tensor_of(object)
            if t.rank == 0 and is_float(t.dtype) == 0 and not is_mask(t):
                drop_dim(view, self, d, load_int(t.data, t.dtype))
                d += 1
            else:
                takes = t.rank if is_mask(t) else 1
                put_tensor(s, t, takes)
                keep_dims(view, self, d, takes)
                d += takes
    keep_dims(view, self, d, self.rank - d)
    finish(view)
    return DONE


@kernel(extern=True)
def get_item(object: O, index: O, to: ptr[Tensor]) -> i64:
    """``object[index]``: a view, or a copy where index tensors or masks are among its entries."""
    self = impl_of(object)
    s = local(Subscript, 1)
    status = work_out(self, index, s)
    if status != DONE:
        return status
    if s.list.length > 0:
        to[0] = by_tensors(s.view, s.list)
        return DONE
    view = s.view
    made = new_view(view, view.rank, 0)
    memcpy(made.sizes, view.sizes, MAX_RANK * 8)
    memcpy(made.strides, view.strides, MAX_RANK * 8)
    made.numel = view.numel
    made.flags = view.flags
    to[0] = made
    return DONE


@kernel
def read_value(object: O, slot: Tensor, room: ptr[u8]) -> Tensor:
    """What is assigned: a tensor, or `slot` for a Python number; null where it is of no known kind."""
    kind = type_of(object)
    if kind == PYTHON.float:
        return number(slot, room, float_value(object))
    if kind == PYTHON.bool:
        return number(slot, room, object == PYTHON.true)
    if kind == PYTHON.int:
        excess = local(i32, 1)
        value = int_value(object, excess)
        return number(slot, room, value) if excess[0] == 0 else null(Tensor)
    return tensor_of(object)


@kernel(extern=True)
def set_item(object: O, index: O, given: O) -> i64:
    """``object[index] = given``. A bool alone is no mask: it says whether to assign to the whole."""
    if index == PYTHON.false:
        return DONE
    if index == PYTHON.true:
        index = FACES.ellipsis
    self = impl_of(object)
    s, slot, spare, room = local(Subscript, 1), local(TensorImpl, 1), local(TensorImpl, 1), local(f64, 1)
    status = work_out(self, index, s)
    if status != DONE:
        return status
    value = read_value(given, slot, cast(ptr[u8], room))
    if value == null(Tensor):
        return MISFIT
    if s.list.length > 0:
        by_tensors_put(s.view, s.list, without_leading(value, 0, spare), 0)
    elif value == slot:
        fill_from(s.view, value)
    else:
        assign(s.view, without_leading(value, s.view.rank, spare))
    return DONE


@kernel
def without_leading(value: Tensor, rank: i64, slot: Tensor) -> Tensor:
    """The value with no more than `rank` dimensions, where those too many in front are of size 1."""
    extra = 0
    while value.rank - extra > rank and value.sizes[extra] == 1:
        extra += 1
    if extra == 0:
        return value
    memcpy(cast(ptr[u8], slot), cast(ptr[u8], value), sizeof(TensorImpl))
    slot.references = STACK
    slot.flags = value.flags & ~HEAD
    slot.rank = value.rank - extra
    for d in range(slot.rank):
        slot.sizes[d] = value.sizes[d + extra]
        slot.strides[d] = value.strides[d + extra]
    return slot
