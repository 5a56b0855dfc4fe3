"""Changes back into the Python objects that natives were copied from.

In: a native list, dict, set or object and its Python object. Out: the Python object made equal to it, by as few changes as are easily found: what
agrees stays the object that it was. False with Python's error set where that fails. `State.writer` is the function that makes Python objects.

Any function of the API that gives up a reference may run Python code, which may change what is being changed: nothing is borrowed over such a call.
"""

from __future__ import annotations

from jitlang.codegen.library.layout import Dict, List, Object, Str
from jitlang.codegen.library.marshal_layout import (
    BOOL,
    DICT,
    DONE,
    FLOAT,
    INT,
    LIST,
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
from jitlang.codegen.library.marshal_python import PYTHON, TENSORS
from jitlang.codegen.library.marshal_read import attribute, module_holder
from jitlang.codegen.library.marshal_scalars import is_instance, read_bool, read_float, read_int
from jitlang.codegen.library.marshal_state import add, type_of
from jitlang.codegen.library.marshal_text import same_text
from jitlang.codegen.library.python_api import (
    any_set,
    call_method,
    clear_error,
    decref,
    dict_clear,
    dict_get,
    dict_next,
    dict_set,
    dict_update,
    error_occurred,
    get_attribute,
    incref,
    list_append,
    list_item,
    list_set,
    list_set_slice,
    list_size,
    new_dict,
    set_add,
    set_attribute,
    set_clear,
    set_size,
    tuple_item,
    tuple_size,
)
from jitlang.frontend.kernel import (
    addr,
    address,
    b1,
    bitcast,
    call_pointer,
    cast,
    f64,
    function_pointer,
    i32,
    i64,
    kernel,
    local,
    minimum,
    null,
    ptr,
    u8,
)


@kernel
def write_part(state: ptr[State], plan: ptr[Plan], at: ptr[u8]) -> ptr[u8]:
    """A new reference to the Python object of a native value; null with Python's error set."""
    return call_pointer(ptr[u8], state.writer, state, plan, at)


@kernel
def owner_of(native: ptr[u8], plan: ptr[Plan]) -> ptr[i64]:
    """Where a container or object says which Python object it belongs to; the lowest bit: it was seen in this snapshot."""
    if plan.kind == LIST:
        return addr(cast(ptr[List], native).owner)
    if plan.kind == OBJECT:
        return addr(cast(ptr[Object], native).owner)
    return addr(cast(ptr[Dict], native).owner)


@kernel
def version_of(native: ptr[u8], plan: ptr[Plan]) -> ptr[i64]:
    """Where a container or object counts its changes."""
    if plan.kind == LIST:
        return addr(cast(ptr[List], native).version)
    if plan.kind == OBJECT:
        return addr(cast(ptr[Object], native).version)
    return addr(cast(ptr[Dict], native).version)


@kernel
def claim(state: ptr[State], plan: ptr[Plan], native: ptr[u8], object: ptr[u8]) -> b1:
    """Notes that a native belongs to a Python object from here on; False with MemoryError set where there is no memory."""
    owner = owner_of(native, plan)
    if not add(state, object, native, plan, owner[0], False):
        return False
    if state.snapshot == 0:
        cast(ptr[i64], native)[0] = cast(ptr[i64], native)[0] + 1
    owner[0] = address(object) | state.snapshot
    return True


@kernel
def put(object: ptr[u8], key: ptr[u8], value: ptr[u8]) -> i32:
    """``object[key] = value`` of a dict."""
    if type_of(object) == PYTHON.dict:
        return dict_set(object, key, value)
    return any_set(object, key, value)  # a subclass may keep an order of its own


@kernel
def fill_dict(state: ptr[State], plan: ptr[Plan], native: ptr[Dict], object: ptr[u8], old: ptr[u8], start: i64) -> b1:
    """Sets the items from an entry on in a Python dict; a value that `old` (null, or another dict) has already is taken from there."""
    for n in range(start, native.used):
        e = native.entries + n * plan.entry
        if cast(ptr[i64], e)[0] != -1:
            key = write_part(state, plan.first, e + plan.offset)
            if key == null(ptr[u8]):
                return False
            value = null(ptr[u8])
            if old != null(ptr[u8]):
                held = dict_get(old, key)
                if held != null(ptr[u8]):
                    incref(held)
                    value = replacement(state, held, plan.second, e + plan.second_offset)
                    decref(held)
                elif error_occurred() != null(ptr[u8]):
                    decref(key)
                    return False
                else:
                    value = write_part(state, plan.second, e + plan.second_offset)
            else:
                value = write_part(state, plan.second, e + plan.second_offset)
            status = i32(-1)
            if value != null(ptr[u8]):
                status = put(object, key, value)
                decref(value)
            decref(key)
            if status != 0:
                return False
    return True


@kernel
def fill_set(state: ptr[State], plan: ptr[Plan], native: ptr[Dict], object: ptr[u8]) -> b1:
    """The elements of a Python set."""
    for n in range(native.used):
        e = native.entries + n * plan.entry
        if cast(ptr[i64], e)[0] != -1:
            key = write_part(state, plan.first, e + plan.offset)
            if key == null(ptr[u8]):
                return False
            status = set_add(object, key)
            decref(key)
            if status != 0:
                return False
    return True


@kernel
def is_unset(part: ptr[Part], at: ptr[u8]) -> b1:
    """Whether an attribute was never set: a null pointer that does not mean None, or None where that means that it is missing."""
    kind = part.plan.kind
    if part.missing != 0:
        return cast(ptr[ptr[u8]], at)[0] == null(ptr[u8]) if kind == NULLABLE else at[0] == 0
    if kind == STR or kind == OBJECT or (kind >= TENSOR and kind <= SET):
        return cast(ptr[ptr[u8]], at)[0] == null(ptr[u8])
    return False


# ---- what is there already ------------------------------------------------------------------------------------------


@kernel
def agrees(state: ptr[State], object: ptr[u8], plan: ptr[Plan], at: ptr[u8]) -> b1:
    """Whether a Python object, to which the caller has a reference, is what a native value would become."""
    return call_pointer(i64, function_pointer(is_same, ptr[State], ptr[u8], ptr[Plan], ptr[u8]), state, object, plan, at) != 0


@kernel
def same_tuple(state: ptr[State], object: ptr[u8], plan: ptr[Plan], at: ptr[u8]) -> b1:
    """`agrees` of tuples."""
    wanted = PYTHON.tuple
    if plan.python != null(ptr[u8]):
        wanted = cast(ptr[ptr[u8]], plan.python)[0]
    if not is_instance(object, wanted):
        return False
    if tuple_size(object) != plan.count:
        return False
    for i in range(plan.count):
        part = cast(ptr[Part], plan.parts) + i
        if not agrees(state, tuple_item(object, i), part.plan, at + part.offset):
            return False
    return True


@kernel
def same_number(object: ptr[u8], plan: ptr[Plan], at: ptr[u8]) -> b1:
    """`agrees` of int and float."""
    if plan.kind == INT:
        found = local(i64, 1)
        if read_int(object, 1, found) == DONE:
            return found[0] == cast(ptr[i64], at)[0]
    else:
        real = local(f64, 1)
        if read_float(object, 1, real) == DONE:
            return bitcast(i64, real[0]) == bitcast(i64, cast(ptr[f64], at)[0])
    clear_error()
    return False


@kernel
def same_bool(object: ptr[u8], at: ptr[u8]) -> b1:
    """`agrees` of bool."""
    found = local(u8, 1)
    return read_bool(object, 1, found) == DONE and found[0] == at[0]


@kernel
def is_same(state: ptr[State], object: ptr[u8], plan: ptr[Plan], at: ptr[u8]) -> i64:
    """1 where `agrees` holds, else 0."""
    kind = plan.kind
    if kind == INT or kind == FLOAT:
        return i64(same_number(object, plan, at))
    if kind == BOOL:
        return i64(same_bool(object, at))
    if kind == NONE:
        return i64(object == PYTHON.none)
    if kind == TUPLE:
        return i64(same_tuple(state, object, plan, at))
    if kind == OPTIONAL:
        if at[0] == 0:
            return i64(object == PYTHON.none)
        return i64(object != PYTHON.none and agrees(state, object, plan.first, at + plan.offset))
    if kind == STR or kind >= TENSOR:
        v = cast(ptr[ptr[u8]], at)[0]
        if v == null(ptr[u8]) or object == PYTHON.none:
            return i64(object == PYTHON.none and v == null(ptr[u8]))
        if kind == NULLABLE:
            return i64(agrees(state, object, plan.first, at))
        if kind == STR:
            return i64(is_instance(object, PYTHON.str) and same_text(object, cast(ptr[Str], v)))
        if kind == TENSOR:
            if not is_instance(object, TENSORS.type):
                return 0
            return i64(cast(ptr[ptr[u8]], object + TENSORS.at)[0] == v)
        if state.snapshot == 0:
            return i64(owner_of(v, plan)[0] == address(object))
    return 0


# ---- changes back ---------------------------------------------------------------------------------------------------


@kernel
def replacement(state: ptr[State], held: ptr[u8], plan: ptr[Plan], at: ptr[u8]) -> ptr[u8]:
    """A new reference to what is to stand in the place of an object, to which the caller has a reference: the object itself if it agrees."""
    if agrees(state, held, plan, at):
        incref(held)
        return held
    return write_part(state, plan, at)


@kernel
def is_number(plan: ptr[Plan]) -> b1:
    """Whether it is the plan of int or float."""
    return plan.kind == INT or plan.kind == FLOAT


@kernel
def update_items(state: ptr[State], plan: ptr[Plan], native: ptr[List], object: ptr[u8], count: i64) -> b1:
    """The first `count` elements of a Python list, as `update_list`."""
    size = plan.first.size
    numbers = is_number(plan.first)
    for i in range(count):
        at = native.data + i * size
        held = list_item(object, i)
        if held == null(ptr[u8]):
            return False
        if not (numbers and same_number(held, plan.first, at)):
            incref(held)
            item = replacement(state, held, plan.first, at)
            decref(held)
            if item == null(ptr[u8]):
                return False
            if item == held:
                decref(item)
            elif list_set(object, i, item) != 0:
                return False
    return True


@kernel
def update_list(state: ptr[State], plan: ptr[Plan], native: ptr[List], object: ptr[u8]) -> b1:
    """Makes a Python list what the native one is; elements that agree stay."""
    size = plan.first.size
    before = list_size(object)
    if not update_items(state, plan, native, object, minimum(before, native.length)):
        return False
    for i in range(before, native.length):
        item = write_part(state, plan.first, native.data + i * size)
        if item == null(ptr[u8]):
            return False
        status = list_append(object, item)
        decref(item)
        if status != 0:
            return False
    if native.length < before:
        return list_set_slice(object, native.length, before, null(ptr[u8])) == 0
    return True


@kernel
def next_entry(d: ptr[Dict], n: i64, plan: ptr[Plan]) -> i64:
    """The first entry from n on that was not removed."""
    while n < d.used:
        if cast(ptr[i64], d.entries + n * plan.entry)[0] != -1:
            return n
        n += 1
    return n


@kernel
def update_values(state: ptr[State], plan: ptr[Plan], native: ptr[Dict], object: ptr[u8]) -> i64:
    """Sets the values of the keys that a Python dict has; the entry behind the last, -1 where the keys are others, -2 with an error set."""
    position = local(i64, 1)
    key = local(ptr[u8], 1)
    value = local(ptr[u8], 1)
    position[0] = 0
    n = i64(0)
    while dict_next(object, position, key, value) != 0:
        k = key[0]
        v = value[0]
        n = next_entry(native, n, plan)
        if n == native.used:
            return -1
        e = native.entries + n * plan.entry
        incref(k)
        incref(v)
        status = i64(0)
        if not agrees(state, k, plan.first, e + plan.offset):
            status = i64(-1)
        else:
            item = replacement(state, v, plan.second, e + plan.second_offset)
            if item == null(ptr[u8]):
                status = i64(-2)
            else:
                if item != v:
                    if put(object, k, item) != 0:
                        status = i64(-2)
                decref(item)
        decref(k)
        decref(v)
        if status != 0:
            return status
        n += 1
    return n


@kernel
def refill(object: ptr[u8], made: ptr[u8]) -> b1:
    """Gives a dict the items of another one in the place of its own."""
    if type_of(object) == PYTHON.dict:
        dict_clear(object)
        return dict_update(object, made) == 0
    slot = local(ptr[u8], 1)
    slot[0] = object
    nothing = call_method(PYTHON.clear_name, slot, 1, null(ptr[u8]))
    if nothing == null(ptr[u8]):
        return False
    decref(nothing)
    position = local(i64, 1)
    value = local(ptr[u8], 1)
    position[0] = 0
    while dict_next(made, position, slot, value) != 0:
        if any_set(object, slot[0], value[0]) != 0:
            return False
    return True


@kernel
def update_dict(state: ptr[State], plan: ptr[Plan], native: ptr[Dict], object: ptr[u8]) -> b1:
    """Makes a Python dict what the native one is, in its order."""
    after = update_values(state, plan, native, object)
    if after >= 0:
        return fill_dict(state, plan, native, object, null(ptr[u8]), after)
    if after == -2:
        return False
    made = new_dict()
    if made == null(ptr[u8]):
        return False
    done = fill_dict(state, plan, native, made, object, 0)
    if done:
        done = refill(object, made)
    decref(made)
    return done


@kernel
def update_set(state: ptr[State], plan: ptr[Plan], native: ptr[Dict], object: ptr[u8]) -> b1:
    """Makes a Python set what the native one is."""
    if not fill_set(state, plan, native, object):
        return False
    if set_size(object) == native.length:
        return True
    set_clear(object)
    return fill_set(state, plan, native, object)


@kernel
def set_module_attribute(object: ptr[u8], held: ptr[u8], key: ptr[u8], item: ptr[u8]) -> b1:
    """Sets an attribute of an object, or (`held` is its __dict__) of a module, where it is now."""
    if held != null(ptr[u8]):
        holder = module_holder(held, key)
        if holder != null(ptr[u8]):
            return dict_set(holder, key, item) == 0
    return set_attribute(object, key, item) == 0


@kernel
def update_attributes(state: ptr[State], plan: ptr[Plan], native: ptr[u8], object: ptr[u8], held: ptr[u8]) -> b1:
    """Sets the attributes of a Python object that do not agree."""
    for i in range(plan.count):
        part = cast(ptr[Part], plan.parts) + i
        at = native + part.offset
        key = cast(ptr[ptr[u8]], part.name)[0]
        if not is_unset(part, at):
            item = null(ptr[u8])
            done = b1(True)
            old = attribute(object, held, key)
            if old == null(ptr[u8]):
                clear_error()
                item = write_part(state, part.plan, at)
            else:
                item = replacement(state, old, part.plan, at)
                decref(old)
            if item == null(ptr[u8]):
                return False
            if item != old:
                done = set_module_attribute(object, held, key, item)
            decref(item)
            if not done:
                return False
    return True


@kernel
def update_object(state: ptr[State], plan: ptr[Plan], native: ptr[u8], object: ptr[u8]) -> b1:
    """Makes a Python object what the native one is."""
    held = null(ptr[u8])
    if plan.module != 0:
        held = get_attribute(object, PYTHON.dict_name)
        if held == null(ptr[u8]):
            return False
    done = update_attributes(state, plan, native, object, held)
    if held != null(ptr[u8]):
        decref(held)
    return done


@kernel
def update(state: ptr[State], plan: ptr[Plan], native: ptr[u8], object: ptr[u8]) -> b1:
    """Makes a Python object what its native container or object is; False with Python's error set where that fails."""
    kind = plan.kind
    if kind == LIST:
        return update_list(state, plan, cast(ptr[List], native), object)
    if kind == DICT:
        return update_dict(state, plan, cast(ptr[Dict], native), object)
    if kind == SET:
        return update_set(state, plan, cast(ptr[Dict], native), object)
    return update_object(state, plan, native, object)
