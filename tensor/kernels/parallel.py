"""Work that is shared among threads.

In: a function of chunks, how many there are. Out: all are done, on the threads of `jitlang.native.threads`, and without the GIL, which other Python threads may
have meanwhile. What is a chunk depends on the work alone, never on the number of threads, so no bit of a result does.

Waking a thread costs 20 µs: work for less than `SPLIT` elements is not shared, and costs one comparison more than if it never were.
"""

from __future__ import annotations

from jitlang.frontend.kernel import cast, context, extern, i32, i64, kernel, ptr, u8
from jitlang.native.layouts import CONTEXT, offset

SPLIT = 1 << 17  # elements
GRAIN = 1 << 15  # elements of a chunk, about: 10 µs of the cheapest operations
ACTIVE = offset(CONTEXT, "active")

parallel = extern("jl.host.parallel", [ptr[u8], ptr[u8], i64])
release_gil = extern("jl.host.release", [ptr[u8]])
holds_gil = extern("PyGILState_Check", [], i32)


@kernel(inline="never")
def leave_python() -> None:
    """Gives up the GIL, if it is held, before work that takes long. Whoever touches Python objects again takes it back, an entry at its end."""
    ctx = context()
    # Not in a call from ctypes without an entry: nobody would take it back.
    if cast(ptr[i64], ctx + ACTIVE)[0] > 0 and holds_gil() == 1:
        release_gil(ctx)


@kernel
def leave_python_for(elements: i64) -> None:
    """Gives up the GIL before work on so many elements on one thread, where it takes long."""
    if elements >= SPLIT:
        leave_python()


@kernel
def share(function: ptr[u8], argument: ptr[u8], chunks: i64) -> None:
    """Calls ``function(argument, chunk)`` for each chunk."""
    leave_python()
    parallel(function, argument, chunks)
