"""From Python to native code: one value, by its plan.

In: a Python object, borrowed, and a plan. Out: an owned native value, stored at an address, and DONE; or MISFIT (the object is not what the plan
says; no Python error is set) or FAILED (one is). Then nothing is stored, and what was begun is given up, at the latest by `finish`.

Nothing but `PyObject_GetAttr` runs code of the user's here; whoever reads attributes holds a reference to what it reads them from.
"""

from __future__ import annotations

from jitlang.codegen.library import values
from jitlang.codegen.library.dicts import SMALLEST, SMALLEST_BITS
from jitlang.codegen.library.layout import ClassInfo, Dict, List, Object, Str
from jitlang.codegen.library.marshal_layout import (
    BOOL,
    DICT,
    DONE,
    DTYPE,
    FAILED,
    FLOAT,
    INT,
    LIST,
    MISFIT,
    NONE,
    NULLABLE,
    OBJECT,
    OPTIONAL,
    SET,
    STR,
    TENSOR,
    TUPLE,
    Part,
    Plan,
    State,
)
from jitlang.codegen.library.marshal_python import LIST_ITEMS, PYTHON
from jitlang.codegen.library.marshal_scalars import is_instance, read_bool, read_device, read_dtype, read_float, read_int, read_tensor, read_text
from jitlang.codegen.library.marshal_state import add, begin, block_of, find, give_up, release_at, type_of
from jitlang.codegen.library.memory import recycle
from jitlang.codegen.library.python_api import (
    clear_error,
    decref,
    dict_get,
    dict_next,
    dict_size,
    dict_update,
    error_occurred,
    get_attribute,
    incref,
    iterator,
    iterator_next,
    list_item,
    list_size,
    new_dict,
    set_size,
    tuple_item,
    tuple_size,
)
from jitlang.codegen.library.strings import hash_of
from jitlang.frontend.kernel import (
    address,
    b1,
    call_pointer,
    cast,
    f64,
    function_pointer,
    i32,
    i64,
    kernel,
    local,
    memset,
    null,
    ptr,
    sizeof,
    u8,
)
from jitlang.types import BOOL as BOOL_TYPE
from jitlang.types import FLOAT as FLOAT_TYPE

# ---- containers -----------------------------------------------------------------------------------------------------


@kernel
def read_part(state: ptr[State], object: ptr[u8], plan: ptr[Plan], to: ptr[u8]) -> i64:
    """`read_any`, from inside it."""
    return call_pointer(i64, function_pointer(read_any, ptr[State], ptr[u8], ptr[Plan], ptr[u8]), state, object, plan, to)


@kernel
def hand_over(made: ptr[u8], to: ptr[ptr[u8]]) -> i64:
    """Stores a container or object, with a reference beside that of its entry."""
    cast(ptr[i64], made)[0] = cast(ptr[i64], made)[0] + 1
    to[0] = made
    return DONE


@kernel
def list_data(object: ptr[u8]) -> ptr[ptr[u8]]:
    """The elements of a Python list."""
    return cast(ptr[ptr[ptr[u8]]], object + LIST_ITEMS)[0]


@kernel
def item_of(object: ptr[u8], i: i64) -> ptr[u8]:
    """Element i of a Python list, which is there and which nothing takes away meanwhile."""
    if LIST_ITEMS != 0:
        return list_data(object)[i]
    return list_item(object, i)


@kernel
def read_numbers(state: ptr[State], object: ptr[u8], made: ptr[List], length: i64, kind) -> i64:
    """The elements of a list of int, float or bool."""
    lenient = state.lenient
    status = i64(DONE)
    data = made.data
    for i in range(length):
        item = item_of(object, i)
        if kind == INT:
            status = read_int(item, lenient, cast(ptr[i64], data) + i)
        elif kind == FLOAT:
            status = read_float(item, lenient, cast(ptr[f64], data) + i)
        else:
            status = read_bool(item, lenient, data + i)
        if status != DONE:
            return status
    made.length = length
    return DONE


@kernel
def read_texts(state: ptr[State], object: ptr[u8], made: ptr[List], length: i64) -> i64:
    """The elements of a list of str."""
    for i in range(length):
        status = read_text(item_of(object, i), state.lenient, cast(ptr[ptr[u8]], made.data) + i)
        if status != DONE:
            return status
        made.length = i + 1
    return DONE


@kernel
def read_items(state: ptr[State], object: ptr[u8], plan: ptr[Plan], made: ptr[List], length: i64) -> i64:
    """The elements of any list; what they run may change the Python list."""
    size = plan.first.size
    for i in range(length):
        item = list_item(object, i)
        if item == null(ptr[u8]):
            clear_error()
            return MISFIT
        incref(item)
        status = read_part(state, item, plan.first, made.data + i * size)
        decref(item)
        if status != DONE:
            return status
        made.length = i + 1
    return DONE


@kernel
def read_list(state: ptr[State], object: ptr[u8], plan: ptr[Plan], to: ptr[ptr[u8]]) -> i64:
    """A list."""
    length = list_size(object)
    made = cast(ptr[List], block_of(sizeof(List)))
    if made == null(ptr[List]):
        return FAILED
    made.references = 1
    made.length = 0
    made.capacity = 0
    made.data = null(ptr[u8])
    made.version = 0
    made.owner = address(object)
    if not add(state, object, cast(ptr[u8], made), plan, 0, True):
        recycle(cast(ptr[u8], made), sizeof(List))
        return FAILED
    if length > 0:
        made.data = block_of(length * plan.first.size)
        if made.data == null(ptr[u8]):
            return FAILED
        made.capacity = length
        kind = plan.first.kind
        status = i64(DONE)
        if kind == INT:
            status = read_numbers(state, object, made, length, INT)
        elif kind == FLOAT:
            status = read_numbers(state, object, made, length, FLOAT)
        elif kind == BOOL:
            status = read_numbers(state, object, made, length, BOOL)
        elif kind == STR:
            status = read_texts(state, object, made, length)
        else:
            status = read_items(state, object, plan, made, length)
        if status != DONE:
            return status
    return hand_over(cast(ptr[u8], made), to)


@kernel
def hash_key(plan: ptr[Plan], at: ptr[u8]) -> i64:
    """The hash of a key, as `values.hash_of` says."""
    kind = plan.kind
    if kind == OBJECT:
        return values.hash_word(cast(ptr[i64], at)[0])
    if plan.native != null(ptr[u8]):
        return call_pointer(i64, plan.native, at)
    if kind == STR:
        return hash_of(cast(ptr[ptr[Str]], at)[0])
    if kind == FLOAT:
        return values.hash_of(cast(ptr[f64], at)[0], FLOAT_TYPE)
    if kind == BOOL:
        return values.hash_of(b1(at[0]), BOOL_TYPE)
    if kind == NONE:
        return i64(1)
    return values.hash_word(cast(ptr[i64], at)[0])


@kernel
def new_table(d: ptr[Dict], room: i64, plan: ptr[Plan]) -> b1:
    """Room for that many keys in a new dict; False with MemoryError set where there is no memory."""
    slots = i64(SMALLEST)
    shift = i64(63 - SMALLEST_BITS)
    while slots >> 1 < room:
        slots = slots * 2
        shift -= 1
    capacity = slots >> 1
    bytes = capacity * plan.entry
    block = block_of(bytes + slots * 4)
    if block == null(ptr[u8]):
        return False
    d.entries = block
    d.index = cast(ptr[i32], block + bytes)
    memset(block + bytes, 255, slots * 4)
    d.mask = slots - 1
    d.shift = shift
    d.capacity = capacity
    return True


@kernel
def add_key(d: ptr[Dict], plan: ptr[Plan]) -> None:
    """Counts the entry behind the last one, whose key and value are set."""
    n = d.used
    e = d.entries + n * plan.entry
    hash = hash_key(plan.first, e + plan.offset)
    cast(ptr[i64], e)[0] = hash
    at = hash >> d.shift
    while d.index[at] >= 0:
        at = (at + 1) & d.mask
    d.index[at] = i32(n)
    d.used = n + 1
    d.filled = n + 1
    d.length = n + 1


@kernel
def begin_dict(state: ptr[State], object: ptr[u8], plan: ptr[Plan], room: i64) -> ptr[Dict]:
    """A new native dict that is to be filled from an object; null with an error set where there is no memory."""
    made = cast(ptr[Dict], block_of(sizeof(Dict)))
    if made == null(ptr[Dict]):
        return made
    memset(cast(ptr[u8], made), 0, sizeof(Dict))
    made.references = 1
    made.owner = address(object)
    if not add(state, object, cast(ptr[u8], made), plan, 0, True):
        recycle(cast(ptr[u8], made), sizeof(Dict))
        return null(ptr[Dict])
    if room > 0:
        if not new_table(made, room, plan):
            return null(ptr[Dict])
    return made


@kernel
def read_item(state: ptr[State], made: ptr[Dict], key: ptr[u8], value: ptr[u8], plan: ptr[Plan]) -> i64:
    """One item of a dict."""
    if made.used == made.capacity:
        return MISFIT  # the Python dict has grown meanwhile
    e = made.entries + made.used * plan.entry
    status = read_part(state, key, plan.first, e + plan.offset)
    if status != DONE:
        return status
    status = read_part(state, value, plan.second, e + plan.second_offset)
    if status != DONE:
        release_at(plan.first, e + plan.offset)
        return status
    add_key(made, plan)
    return DONE


@kernel
def read_items_of(state: ptr[State], object: ptr[u8], made: ptr[Dict], plan: ptr[Plan]) -> i64:
    """The items of a Python dict."""
    position = local(i64, 1)
    key = local(ptr[u8], 1)
    value = local(ptr[u8], 1)
    position[0] = 0
    while dict_next(object, position, key, value) != 0:
        k = key[0]
        v = value[0]
        incref(k)
        incref(v)
        status = read_item(state, made, k, v, plan)
        decref(k)
        decref(v)
        if status != DONE:
            return status
    return DONE


@kernel
def read_dict(state: ptr[State], object: ptr[u8], plan: ptr[Plan], to: ptr[ptr[u8]]) -> i64:
    """A dict."""
    made = begin_dict(state, object, plan, dict_size(object))
    if made == null(ptr[Dict]):
        return FAILED
    status = i64(FAILED)
    if type_of(object) == PYTHON.dict:
        status = read_items_of(state, object, made, plan)
    else:
        copy = new_dict()  # a subclass may keep an order of its own
        if copy != null(ptr[u8]):
            if dict_update(copy, object) == 0:
                status = read_items_of(state, copy, made, plan)
            decref(copy)
    if status != DONE:
        return status
    return hand_over(cast(ptr[u8], made), to)


@kernel
def read_set(state: ptr[State], object: ptr[u8], plan: ptr[Plan], to: ptr[ptr[u8]]) -> i64:
    """A set."""
    made = begin_dict(state, object, plan, set_size(object))
    if made == null(ptr[Dict]):
        return FAILED
    steps = iterator(object)
    if steps == null(ptr[u8]):
        return FAILED
    status = i64(DONE)
    item = iterator_next(steps)
    while item != null(ptr[u8]) and status == DONE:
        if made.used == made.capacity:
            status = i64(MISFIT)
        else:
            status = read_part(state, item, plan.first, made.entries + made.used * plan.entry + plan.offset)
            if status == DONE:
                add_key(made, plan)
        decref(item)
        item = null(ptr[u8])
        if status == DONE:
            item = iterator_next(steps)
    decref(steps)
    if status != DONE:
        return status
    if error_occurred() != null(ptr[u8]):
        return FAILED
    return hand_over(cast(ptr[u8], made), to)


@kernel
def read_tuple(state: ptr[State], object: ptr[u8], plan: ptr[Plan], to: ptr[u8]) -> i64:
    """A tuple, part by part."""
    if tuple_size(object) != plan.count:
        return MISFIT
    parts = cast(ptr[Part], plan.parts)
    for i in range(plan.count):
        part = parts + i
        status = read_part(state, tuple_item(object, i), part.plan, to + part.offset)
        if status != DONE:
            for k in range(i):
                done = parts + k
                release_at(done.plan, to + done.offset)
            return status
    return DONE


# ---- objects --------------------------------------------------------------------------------------------------------


@kernel
def module_group(held: ptr[u8], name: ptr[u8], key: ptr[u8]) -> ptr[u8]:
    """The dict among the groups of a module that holds a key, or null; all borrowed."""
    group = dict_get(held, name)
    if group != null(ptr[u8]):
        if type_of(group) == PYTHON.dict:
            if dict_get(group, key) != null(ptr[u8]):
                return group
    return null(ptr[u8])


@kernel
def module_holder(held: ptr[u8], key: ptr[u8]) -> ptr[u8]:
    """The dict that holds an attribute of a module, or null: its own, or that of its parameters, buffers or submodules; borrowed."""
    if dict_get(held, key) != null(ptr[u8]):
        return held
    found = module_group(held, PYTHON.parameters_name, key)
    if found == null(ptr[u8]):
        found = module_group(held, PYTHON.modules_name, key)
    if found == null(ptr[u8]):
        found = module_group(held, PYTHON.buffers_name, key)
    return found


@kernel
def attribute(object: ptr[u8], held: ptr[u8], key: ptr[u8]) -> ptr[u8]:
    """An attribute of an object, or (`held` is its __dict__) of a module; null with an error set where there is none."""
    if held != null(ptr[u8]):
        holder = module_holder(held, key)
        if holder != null(ptr[u8]):
            found = dict_get(holder, key)
            incref(found)
            return found
    return get_attribute(object, key)


@kernel
def read_attributes(state: ptr[State], object: ptr[u8], held: ptr[u8], plan: ptr[Plan], made: ptr[u8]) -> i64:
    """The attributes of an object."""
    for i in range(plan.count):
        part = cast(ptr[Part], plan.parts) + i
        item = attribute(object, held, cast(ptr[ptr[u8]], part.name)[0])
        if item == null(ptr[u8]):
            clear_error()
            if part.missing == 0:
                return MISFIT
            continue  # None, as it is
        status = read_part(state, item, part.plan, made + part.offset)
        decref(item)
        if status != DONE:
            memset(made + part.offset, 0, part.plan.size)
            return status
    return DONE


@kernel
def read_object(state: ptr[State], object: ptr[u8], plan: ptr[Plan], to: ptr[ptr[u8]]) -> i64:
    """An instance of a class, whose attributes are read later."""
    info = cast(ptr[ClassInfo], plan.native)
    made = cast(ptr[Object], block_of(info.bytes))
    if made == null(ptr[Object]):
        return FAILED
    memset(cast(ptr[u8], made), 0, info.bytes)
    made.references = 1
    made.owner = address(object)
    made.type = info
    if not add(state, object, cast(ptr[u8], made), plan, 0, True):
        recycle(cast(ptr[u8], made), info.bytes)
        return FAILED
    return hand_over(cast(ptr[u8], made), to)


@kernel
def fill(state: ptr[State], object: ptr[u8], plan: ptr[Plan], made: ptr[u8]) -> i64:
    """The attributes of an object that was entered."""
    held = null(ptr[u8])
    if plan.module != 0:
        held = get_attribute(object, PYTHON.dict_name)
        if held == null(ptr[u8]):
            clear_error()
            return MISFIT
    status = read_attributes(state, object, held, plan, made)
    if held != null(ptr[u8]):
        decref(held)
    return status


# ---- any value ------------------------------------------------------------------------------------------------------


@kernel
def is_a(state: ptr[State], object: ptr[u8], type: ptr[u8]) -> b1:
    """Whether an object is exactly of a type, or, where it is lenient, an instance of it."""
    return type_of(object) == type or (state.lenient != 0 and is_instance(object, type))


@kernel
def read_container(state: ptr[State], object: ptr[u8], plan: ptr[Plan], to: ptr[ptr[u8]]) -> i64:
    """A list, dict, set or object: the native that it was copied to before, or a new one."""
    known = find(state, object, plan)
    if known != null(ptr[u8]):
        return hand_over(known, to)
    kind = plan.kind
    if kind == LIST:
        return read_list(state, object, plan, to) if is_a(state, object, PYTHON.list) else MISFIT
    if kind == DICT:
        return read_dict(state, object, plan, to) if is_a(state, object, PYTHON.dict) else MISFIT
    if kind == SET:
        return read_set(state, object, plan, to) if is_a(state, object, PYTHON.set) or is_a(state, object, PYTHON.frozenset) else MISFIT
    return read_object(state, object, plan, to) if type_of(object) == cast(ptr[ptr[u8]], plan.python)[0] else MISFIT


@kernel
def read_plain(state: ptr[State], object: ptr[u8], plan: ptr[Plan], to: ptr[u8]) -> i64:
    """A value that holds no others."""
    kind = plan.kind
    if kind == INT:
        return read_int(object, state.lenient, cast(ptr[i64], to))
    if kind == FLOAT:
        return read_float(object, state.lenient, cast(ptr[f64], to))
    if kind == STR:
        return read_text(object, state.lenient, cast(ptr[ptr[u8]], to))
    if kind == BOOL:
        return read_bool(object, state.lenient, to)
    if kind == TENSOR:
        return read_tensor(object, plan, cast(ptr[ptr[u8]], to))
    if kind == NONE:
        to[0] = u8(0)
        return DONE if object == PYTHON.none else MISFIT
    if kind == DTYPE:
        return read_dtype(object, cast(ptr[i64], to))
    return read_device(object, cast(ptr[i64], to))


@kernel
def read_any(state: ptr[State], object: ptr[u8], plan: ptr[Plan], to: ptr[u8]) -> i64:
    """One value."""
    kind = plan.kind
    if kind >= LIST:
        if kind == NULLABLE:
            if object == PYTHON.none:
                cast(ptr[ptr[u8]], to)[0] = null(ptr[u8])
                return DONE
            return read_part(state, object, plan.first, to)
        if kind == TUPLE:
            wanted = PYTHON.tuple
            if plan.python != null(ptr[u8]):
                wanted = cast(ptr[ptr[u8]], plan.python)[0]
            return read_tuple(state, object, plan, to) if is_a(state, object, wanted) else MISFIT
        if kind == OPTIONAL:
            memset(to, 0, plan.size)
            if object == PYTHON.none:
                return DONE
            to[0] = u8(1)
            return read_part(state, object, plan.first, to + plan.offset)
        return read_container(state, object, plan, cast(ptr[ptr[u8]], to))
    return read_plain(state, object, plan, to)


@kernel
def read_whole(state: ptr[State], object: ptr[u8], plan: ptr[Plan], to: ptr[u8]) -> i64:
    """One value and all objects that can be reached from it."""
    status = read_any(state, object, plan, to)
    if status != DONE:
        return status
    while state.filled < state.read:
        e = state.entries + state.filled
        state.filled = state.filled + 1
        if e.plan.kind == OBJECT:
            status = fill(state, e.object, e.plan, e.native)
            if status != DONE:
                release_at(plan, to)
                return status
    return DONE


@kernel
def read_alone(object: ptr[u8], plan: ptr[Plan], to: ptr[u8]) -> i64:
    """One value that has nothing to do with any other; what it is copied from does not see changes."""
    state = local(State, 1)
    begin(state, 1, 0)
    status = read_whole(state, object, plan, to)
    for n in range(state.read):
        e = state.entries + n
        if e.plan.kind == LIST:
            cast(ptr[List], e.native).owner = 0
        elif e.plan.kind == OBJECT:
            cast(ptr[Object], e.native).owner = 0
        else:
            cast(ptr[Dict], e.native).owner = 0
    give_up(state, status != DONE)
    return status


@kernel(extern=True)
def read(state: ptr[State], object: ptr[u8], plan: ptr[Plan], to: ptr[u8]) -> i64:
    """One value of a call; without a state, one on its own, which is copied: changes are not written back."""
    if state == null(ptr[State]):
        return read_alone(object, plan, to)
    return read_whole(state, object, plan, to)
