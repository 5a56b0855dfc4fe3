"""The state of a call between Python and native code: memory without exceptions, entries, references by plan.

In: a `State` that `begin` has set up. Out: entries found and added; `finish` gives everything up. Nothing here raises: what fails says so
by a null pointer or a status, so that the caller can undo what it has done.
"""

from __future__ import annotations

from jitlang.codegen.library import values
from jitlang.codegen.library.layout import Dict, List, Str
from jitlang.codegen.library.marshal_layout import DICT, ENTRY_BYTES, LIST, NULLABLE, OBJECT, OPTIONAL, ROOM, SET, STR, TENSOR, TUPLE, Entry, Part, Plan, State
from jitlang.codegen.library.marshal_python import PYTHON, TENSORS
from jitlang.codegen.library.memory import CLASSES, COUNTERS, FREE, is_owner, malloc, recycle
from jitlang.codegen.library.python_api import decref, incref, no_memory, set_string
from jitlang.codegen.library.strings import HEAD, block_bytes
from jitlang.frontend.kernel import (
    addr,
    address,
    atomic_add,
    b1,
    call_pointer,
    cast,
    function_pointer,
    i32,
    i64,
    kernel,
    likely,
    local,
    memcpy,
    memset,
    null,
    ptr,
    sizeof,
    u8,
    u64,
    unlikely,
)
from jitlang.types import VOID

# ---- memory and errors ----------------------------------------------------------------------------------------------


@kernel
def block_of(size: i64) -> ptr[u8]:
    """A block of memory, or null with MemoryError set: `memory.allocate` for those who undo what they have done."""
    number = (size + 15) >> 4
    block = null(ptr[u8])
    if number < CLASSES and is_owner():
        block = FREE.heads[number]
    if likely(block != null(ptr[u8])):
        FREE.heads[number] = cast(ptr[ptr[u8]], block)[0]
        FREE.counts[number] = FREE.counts[number] - 1
    else:
        block = malloc((size + 15) & -16)
        if unlikely(block == null(ptr[u8])):
            no_memory()
            return block
    if unlikely(COUNTERS.on != 0):
        atomic_add(addr(COUNTERS.live), 1)
    return block


@kernel(inline="never")
def overflow() -> None:
    """Sets OverflowError: an integer does not fit into 64 bits."""
    set_string(PYTHON.overflow, PYTHON.overflow_text)


@kernel
def type_of(object: ptr[u8]) -> ptr[u8]:
    """type(object)."""
    return cast(ptr[ptr[u8]], object)[1]


# ---- references -----------------------------------------------------------------------------------------------------


@kernel(inline="never")
def destroy(v: ptr[u8], plan: ptr[Plan]) -> None:
    """Frees a string, container or object, and gives up the references in it."""
    again = function_pointer(release_at, ptr[Plan], ptr[u8])
    kind = plan.kind
    if kind == OBJECT:
        values.destroy_object(v)
    elif kind == LIST:
        items = cast(ptr[List], v)
        if is_counted(plan.first):
            for i in range(items.length):
                call_pointer(VOID, again, plan.first, items.data + i * plan.first.size)
        recycle(items.data, items.capacity * plan.first.size)
        recycle(v, sizeof(List))
    elif kind == DICT or kind == SET:
        d = cast(ptr[Dict], v)
        for n in range(d.used):
            e = d.entries + n * plan.entry
            if cast(ptr[i64], e)[0] != -1:
                call_pointer(VOID, again, plan.first, e + plan.offset)
                if kind == DICT:
                    call_pointer(VOID, again, plan.second, e + plan.second_offset)
        recycle(d.entries, d.capacity * plan.entry + (d.mask + 1) * 4)
        recycle(v, sizeof(Dict))
    else:
        text = cast(ptr[Str], v)
        recycle(v, block_bytes(HEAD + text.length * text.kind))


@kernel
def release_at(plan: ptr[Plan], at: ptr[u8]) -> None:
    """Gives up the references in the value at an address, and what has none left with them."""
    again = function_pointer(release_at, ptr[Plan], ptr[u8])
    kind = plan.kind
    if kind == TUPLE:
        for i in range(plan.count):
            part = cast(ptr[Part], plan.parts) + i
            call_pointer(VOID, again, part.plan, at + part.offset)
    elif kind == OPTIONAL:
        if at[0] != 0:
            call_pointer(VOID, again, plan.first, at + plan.offset)
    elif kind == STR or kind >= TENSOR:
        v = cast(ptr[ptr[u8]], at)[0]
        if v != null(ptr[u8]):
            if kind == NULLABLE:
                call_pointer(VOID, again, plan.first, at)
            elif kind == TENSOR:
                call_pointer(VOID, TENSORS.release, v)
            else:
                left = cast(ptr[i64], v)[0] - 1
                cast(ptr[i64], v)[0] = left
                if left == 0:
                    destroy(v, plan)


@kernel
def is_counted(plan: ptr[Plan]) -> b1:
    """Whether values may hold references."""
    return plan.kind == STR or plan.kind >= TENSOR


# ---- entries --------------------------------------------------------------------------------------------------------


@kernel
def begin(state: ptr[State], lenient: i64, snapshot: i64) -> None:
    """Sets a state up."""
    state.lenient = lenient
    state.snapshot = snapshot
    state.count = 0
    state.read = 0
    state.filled = 0
    state.capacity = ROOM
    state.entries = cast(ptr[Entry], state.room)
    state.table = null(ptr[i32])


@kernel
def entry_at(state: ptr[State], n: i64) -> ptr[Entry]:
    """Entry n."""
    return state.entries + n


@kernel
def spread(object: ptr[u8]) -> i64:
    """The hash of an address."""
    return i64((u64(address(object)) * 0x9E3779B97F4A7C15) >> 24)


@kernel
def find(state: ptr[State], object: ptr[u8], plan: ptr[Plan]) -> ptr[u8]:
    """The native that was copied from an object by this plan, or null."""
    if likely(state.table == null(ptr[i32])):
        for n in range(state.count):
            e = state.entries + n
            if e.object == object and e.plan == plan:
                return e.native
        return null(ptr[u8])
    at = spread(object) & state.mask
    n = i64(state.table[at])
    while n >= 0:
        e = state.entries + n
        if e.object == object and e.plan == plan:
            return e.native
        at = (at + 1) & state.mask
        n = i64(state.table[at])
    return null(ptr[u8])


@kernel
def enter(state: ptr[State], n: i64) -> None:
    """Puts entry n into the hash table."""
    at = spread((state.entries + n).object) & state.mask
    while state.table[at] >= 0:
        at = (at + 1) & state.mask
    state.table[at] = i32(n)


@kernel(inline="never")
def grow(state: ptr[State], hashed: b1) -> b1:
    """Room for more entries, and a table of them if they were copied in; False with MemoryError set where there is no memory."""
    capacity = state.capacity * 4
    made = cast(ptr[Entry], block_of(capacity * ENTRY_BYTES))
    if made == null(ptr[Entry]):
        return False
    memcpy(cast(ptr[u8], made), cast(ptr[u8], state.entries), state.count * ENTRY_BYTES)
    if state.entries != cast(ptr[Entry], state.room):
        recycle(cast(ptr[u8], state.entries), state.capacity * ENTRY_BYTES)
    state.entries = made
    state.capacity = capacity
    if hashed:
        table = cast(ptr[i32], block_of(capacity * 8))
        if table == null(ptr[i32]):
            return False
        memset(cast(ptr[u8], table), 255, capacity * 8)
        if state.table != null(ptr[i32]):
            recycle(cast(ptr[u8], state.table), (state.mask + 1) * 4)
        state.table = table
        state.mask = capacity * 2 - 1
        for n in range(state.count):
            enter(state, n)
    return True


@kernel
def add(state: ptr[State], object: ptr[u8], native: ptr[u8], plan: ptr[Plan], owner: i64, hashed: b1) -> b1:
    """Adds an entry, which takes another reference to the object; False with MemoryError set where there is no memory."""
    n = state.count
    if not likely(n < state.capacity):
        if not grow(state, hashed):
            return False
    e = state.entries + n
    e.object = object
    e.native = native
    e.plan = plan
    e.owner = owner
    state.count = n + 1
    incref(object)
    if hashed:
        state.read = n + 1
        if state.table != null(ptr[i32]):
            enter(state, n)
    return True


@kernel
def forget_attributes(e: ptr[Entry]) -> None:
    """Takes the attributes out of an object that may be part of a cycle."""
    v = e.native
    for i in range(e.plan.count):
        part = cast(ptr[Part], e.plan.parts) + i
        release_at(part.plan, v + part.offset)  # the entry's own reference keeps the object itself alive
        memset(v + part.offset, 0, part.plan.size)


@kernel
def give_up(state: ptr[State], forget: b1) -> None:
    """Gives up all entries; `forget`: the natives end here, cycles of those that Python has seen too."""
    if forget:
        for n in range(state.count):
            e = state.entries + n
            if e.plan.cyclic != 0:
                forget_attributes(e)
    slot = local(ptr[u8], 1)
    for n in range(state.count):
        e = state.entries + n
        if state.snapshot == 0:
            slot[0] = e.native
            release_at(e.plan, cast(ptr[u8], slot))
        decref(e.object)
    if state.entries != cast(ptr[Entry], state.room):
        recycle(cast(ptr[u8], state.entries), state.capacity * ENTRY_BYTES)
    if state.table != null(ptr[i32]):
        recycle(cast(ptr[u8], state.table), (state.mask + 1) * 4)
