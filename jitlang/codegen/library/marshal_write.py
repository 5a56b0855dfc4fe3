"""From native code to Python: one value, by its plan; and changes back into the Python objects that natives were copied from.

In: the address of a native value, borrowed, and its plan. Out: a new reference to a Python object, or null with Python's error set.

A native that came from a Python object becomes that object again; one that a call has made becomes one new object, however often it occurs. In a
snapshot (for a function that Python runs in the middle of a call) the objects are brought up to date first, and what is made is forgotten
after. `write_back` does the same for all natives of a call at its end. Python's own code may run in any of the API's functions that give a reference up.
"""

from __future__ import annotations

from jitlang.codegen.library.layout import Dict, List, Str
from jitlang.codegen.library.marshal_back import claim, fill_dict, fill_set, is_unset, owner_of, update, version_of, write_part
from jitlang.codegen.library.marshal_layout import (
    ALONE,
    BACK,
    BOOL,
    DICT,
    DONE,
    DTYPE,
    FAILED,
    FINISH,
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
    WRITE,
    Part,
    Plan,
    State,
)
from jitlang.codegen.library.marshal_python import PYTHON, TENSORS
from jitlang.codegen.library.marshal_state import begin, give_up
from jitlang.codegen.library.marshal_text import text_to
from jitlang.codegen.library.python_api import (
    call_method,
    clear_error,
    decref,
    fetch_error,
    incref,
    list_set,
    new_dict,
    new_float,
    new_int,
    new_list,
    new_set,
    new_tuple,
    restore_error,
    set_attribute,
    tuple_set,
    vectorcall,
)
from jitlang.frontend.kernel import b1, call_pointer, cast, f64, function_pointer, i64, kernel, likely, local, null, pointer, ptr, select, u8


@kernel
def shared_object(object: ptr[u8]) -> ptr[u8]:
    """Another reference to an object that always is there."""
    incref(object)
    return object


# ---- new objects ----------------------------------------------------------------------------------------------------


@kernel
def write_tuple(state: ptr[State], plan: ptr[Plan], at: ptr[u8]) -> ptr[u8]:
    """A tuple or an instance of a NamedTuple class."""
    made = new_tuple(plan.count)
    if made == null(ptr[u8]):
        return made
    for i in range(plan.count):
        part = cast(ptr[Part], plan.parts) + i
        item = write_part(state, part.plan, at + part.offset)
        if item == null(ptr[u8]):
            decref(made)
            return item
        tuple_set(made, i, item)
    if plan.python == null(ptr[u8]):
        return made
    arguments = local(ptr[u8], 2)
    arguments[0] = cast(ptr[ptr[u8]], plan.python)[0]
    arguments[1] = made
    named = vectorcall(PYTHON.tuple_new, arguments, 2, null(ptr[u8]))
    decref(made)
    return named


@kernel
def fill_list(state: ptr[State], plan: ptr[Plan], native: ptr[List], object: ptr[u8]) -> b1:
    """The elements of a new Python list of the right length."""
    size = plan.first.size
    kind = plan.first.kind
    for i in range(native.length):
        at = native.data + i * size
        item = null(ptr[u8])
        if kind == INT:
            item = new_int(cast(ptr[i64], at)[0])
        elif kind == FLOAT:
            item = new_float(cast(ptr[f64], at)[0])
        else:
            item = write_part(state, plan.first, at)
        if item == null(ptr[u8]):
            return False
        list_set(object, i, item)
    return True


@kernel
def new_instance(plan: ptr[Plan]) -> ptr[u8]:
    """``cls.__new__(cls)``."""
    cls = cast(ptr[ptr[u8]], plan.python)[0]
    arguments = local(ptr[u8], 2)
    arguments[0] = cls
    arguments[1] = cls
    return call_method(PYTHON.new_name, arguments, 2, null(ptr[u8]))


@kernel
def fill_object(state: ptr[State], plan: ptr[Plan], native: ptr[u8], object: ptr[u8]) -> b1:
    """The attributes of a new Python object."""
    for i in range(plan.count):
        part = cast(ptr[Part], plan.parts) + i
        if not is_unset(part, native + part.offset):
            item = write_part(state, part.plan, native + part.offset)
            if item == null(ptr[u8]):
                return False
            status = set_attribute(object, cast(ptr[ptr[u8]], part.name)[0], item)
            decref(item)
            if status != 0:
                return False
    return True


@kernel
def write_new(state: ptr[State], plan: ptr[Plan], native: ptr[u8]) -> ptr[u8]:
    """A new Python object for a native container or object; it is claimed before it is filled, so that cycles end. The attributes of an object come later."""
    kind = plan.kind
    made = null(ptr[u8])
    if kind == LIST:
        made = new_list(cast(ptr[List], native).length)
    elif kind == DICT:
        made = new_dict()
    elif kind == SET:
        made = new_set(null(ptr[u8]))
    else:
        made = new_instance(plan)
    if made == null(ptr[u8]):
        return made
    if not claim(state, plan, native, made):
        decref(made)
        return null(ptr[u8])
    done = b1(True)
    if kind == LIST:
        done = fill_list(state, plan, cast(ptr[List], native), made)
    elif kind == DICT:
        done = fill_dict(state, plan, cast(ptr[Dict], native), made, null(ptr[u8]), 0)
    elif kind == SET:
        done = fill_set(state, plan, cast(ptr[Dict], native), made)
    if not done:
        decref(made)
        return null(ptr[u8])
    return made


@kernel
def write_container(state: ptr[State], plan: ptr[Plan], native: ptr[u8]) -> ptr[u8]:
    """A list, dict, set or object."""
    owner = owner_of(native, plan)[0]
    if owner == 0:
        return write_new(state, plan, native)
    object = pointer(ptr[u8], owner & -2)
    incref(object)
    if state.snapshot != 0 and owner & 1 == 0:
        done = claim(state, plan, native, object)
        if done and plan.kind != OBJECT:
            done = update(state, plan, native, object)
        if not done:
            decref(object)
            return null(ptr[u8])
    return object


@kernel
def write_any(state: ptr[State], plan: ptr[Plan], at: ptr[u8]) -> ptr[u8]:
    """One value."""
    kind = plan.kind
    if kind == INT:
        return new_int(cast(ptr[i64], at)[0])
    if kind == FLOAT:
        return new_float(cast(ptr[f64], at)[0])
    if kind == BOOL:
        return shared_object(select(at[0] != 0, PYTHON.true, PYTHON.false))
    if kind == NONE:
        return shared_object(PYTHON.none)
    if kind == DTYPE:
        return shared_object(PYTHON.dtypes[cast(ptr[i64], at)[0]])
    if kind == TUPLE:
        return write_tuple(state, plan, at)
    if kind == OPTIONAL:
        if at[0] == 0:
            return shared_object(PYTHON.none)
        return write_part(state, plan.first, at + plan.offset)
    if kind == STR or kind >= TENSOR:
        v = cast(ptr[ptr[u8]], at)[0]
        if v == null(ptr[u8]):
            return shared_object(PYTHON.none)
        if kind == NULLABLE:
            return write_part(state, plan.first, at)
        if kind == STR:
            return text_to(cast(ptr[Str], v))
        if kind == TENSOR:
            call_pointer(None, TENSORS.retain, v)
            return call_pointer(ptr[u8], TENSORS.wrap, v)
        return write_container(state, plan, v)
    return shared_object(PYTHON.devices[cast(ptr[i64], at)[0]])


# ---- roots --------------------------------------------------------------------------------------------------------


@kernel
def complete(state: ptr[State]) -> b1:
    """Sets the attributes of all objects that were made or, in a snapshot, met; False with Python's error set where that fails."""
    while state.filled < state.count:
        e = state.entries + state.filled
        state.filled = state.filled + 1
        if e.plan.kind == OBJECT:
            done = b1(True)
            if e.owner == 0:
                done = fill_object(state, e.plan, e.native, e.object)
            else:
                done = update(state, e.plan, e.native, e.object)
            if not done:
                return False
    return True


@kernel
def write_whole(state: ptr[State], plan: ptr[Plan], at: ptr[u8]) -> ptr[u8]:
    """One value with all objects that can be reached from it."""
    made = write_any(state, plan, at)
    if made != null(ptr[u8]):
        if not complete(state):
            decref(made)
            return null(ptr[u8])
    return made


@kernel
def prepare(state: ptr[State]) -> None:
    """Lets `write_part` find `write_any`."""
    state.writer = function_pointer(write_any, ptr[State], ptr[Plan], ptr[u8])


@kernel
def write_alone(plan: ptr[Plan], at: ptr[u8]) -> ptr[u8]:
    """One value, in the middle of a call."""
    state = local(State, 1)
    begin(state, 1, 1)
    prepare(state)
    made = write_whole(state, plan, at)
    for n in range(state.count):
        e = state.entries + n
        owner_of(e.native, e.plan)[0] = e.owner
        if made != null(ptr[u8]) and e.owner != 0:
            version_of(e.native, e.plan)[0] = 0  # what it was changed to has been written
    give_up(state, False)
    return made


@kernel
def write_back(state: ptr[State]) -> i64:
    """Writes all changes back at the end of a call; FAILED with Python's first error set where that fails, but what can be written is."""
    status = i64(DONE)
    for n in range(state.read):
        e = state.entries + n
        if not likely(version_of(e.native, e.plan)[0] == 0):
            error = local(ptr[u8], 3)
            if status != DONE:
                fetch_error(cast(ptr[u8], error), cast(ptr[u8], error + 1), cast(ptr[u8], error + 2))
            done = update(state, e.plan, e.native, e.object)
            if status != DONE:
                clear_error()
                restore_error(error[0], error[1], error[2])
            elif not done:
                status = i64(FAILED)
    return status


@kernel
def write_back_failed(state: ptr[State]) -> None:
    """`write_back` while an exception is set, which stays."""
    error = local(ptr[u8], 3)
    fetch_error(cast(ptr[u8], error), cast(ptr[u8], error + 1), cast(ptr[u8], error + 2))
    for n in range(state.read):
        e = state.entries + n
        if version_of(e.native, e.plan)[0] != 0:
            if not update(state, e.plan, e.native, e.object):
                clear_error()
    if not complete(state):
        clear_error()
    restore_error(error[0], error[1], error[2])


@kernel(extern=True)
def end(op: i64, state: ptr[State], plan: ptr[Plan], at: ptr[u8]) -> ptr[u8]:
    """All that leads from native code to Python, as one function: compiling it once is what costs.

    WRITE: the object of a value, at the end of a call. ALONE: the same in the middle of one, without a state. BACK: `write_back`, null if that
    failed. BACK_FAILED: `write_back_failed`. FINISH: gives the state up.
    """
    if op == ALONE:
        return write_alone(plan, at)
    if op == FINISH:
        give_up(state, True)
        return at
    prepare(state)
    if op == WRITE:
        return write_whole(state, plan, at)
    if op == BACK:
        if write_back(state) == FAILED or not complete(state):
            return null(ptr[u8])
        return at
    write_back_failed(state)
    return at
