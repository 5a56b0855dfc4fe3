"""The pool of native threads. In: a native function and a number of chunks. Out: the function has run for each chunk.

``jl.host.parallel(ptr function, ptr argument, i64 chunks)`` calls ``void function(ptr argument, i64 chunk)`` for each chunk,
in any order, on the pool's threads and on the calling one; it returns when all have run. Chunks are handed out one by
one by an atomic counter and the caller works too, so a thread that the machine does not run at the moment costs nothing
but the chunk it holds. The function must not raise and must not touch Python; what it computes may depend on the chunk
only, never on the thread, nor may the number of chunks depend on the number of threads: results are the same with 1 and
16. It may be called with or without the GIL. A call from inside a chunk, or while another thread's call is under way,
runs its chunks alone.

The threads are made by the first call that wants them, know nothing of Python, take no signals, and wait for work first
spinning (about 20 µs), then asleep. A call costs 0.1 µs beside its chunks, and 20 µs when it has to wake threads (two cores,
measured); so work for less than some 50 µs should not be split.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal

from jitlang.config import flag
from jitlang.native import cache, engine, host

LIMIT_CELL = "jl.threads"  # i64: how many threads a call may use, the caller counted
_POOL_BYTES = 512
_SPINS = 400


def _pause() -> str:
    if platform.machine() in ("x86_64", "AMD64"):
        return "call void @llvm.x86.sse2.pause()"
    if platform.machine() in ("aarch64", "arm64"):
        return "call void @llvm.aarch64.hint(i32 1)"
    return "fence seq_cst"


def _text() -> str:
    pause = _pause()
    declare_pause = f"declare void {pause.split('void ')[1].replace('i32 1', 'i32')}" if pause.startswith("call") else ""
    return f"""
; mutex, work, done; 3 generation, 4 open, 5 function, 6 argument, 7 chunks, 8 running, 9 sleeping, 10 workers; 12 next; 14 busy
%Pool = type {{ [8 x i64], [8 x i64], [8 x i64], i64, i64, ptr, ptr, i64, i64, i64, i64, [8 x i64], i64, [7 x i64], i64, [7 x i64] }}
@pool = external global %Pool
@limit = external global i64
{declare_pause}
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define internal void @lock() alwaysinline {{
  %r = call i32 @pthread_mutex_lock(ptr @pool)
  ret void
}}
define internal void @unlock() alwaysinline {{
  %r = call i32 @pthread_mutex_unlock(ptr @pool)
  ret void
}}

define internal void @chunks(ptr %function, ptr %argument, i64 %n) {{
  br label %loop
loop:
  %i = atomicrmw add ptr getelementptr (%Pool, ptr @pool, i32 0, i32 12), i64 1 seq_cst
  %more = icmp slt i64 %i, %n
  br i1 %more, label %run, label %done
run:
  call void %function(ptr %argument, i64 %i)
  br label %loop
done:
  ret void
}}

define internal void @serial(ptr %function, ptr %argument, i64 %n) {{
  br label %head
head:
  %i = phi i64 [ 0, %0 ], [ %next, %run ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %run, label %done
run:
  call void %function(ptr %argument, i64 %i)
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}}

define internal ptr @worker(ptr %number) {{
  %mask = alloca [16 x i64]
  %index = ptrtoint ptr %number to i64
  call void @llvm.memset.p0.i64(ptr %mask, i8 -1, i64 128, i1 false)
  %m = call i32 @pthread_sigmask(i32 {int(signal.SIG_BLOCK)}, ptr %mask, ptr null)
  br label %rest
rest:
  %seen = phi i64 [ 0, %0 ], [ %mine, %finished ]
  br label %spin
spin:
  %k = phi i64 [ 0, %rest ], [ %k1, %spinning ]
  %g = load atomic i64, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 3) monotonic, align 8
  %news = icmp ne i64 %g, %seen
  br i1 %news, label %enter, label %spinning
spinning:
  {pause}
  %k1 = add i64 %k, 1
  %again = icmp slt i64 %k1, {_SPINS}
  br i1 %again, label %spin, label %enter
enter:
  call void @lock()
  br label %check
check:
  %open = load i64, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 4)
  %is.open = icmp ne i64 %open, 0
  %mine = load i64, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 3)
  %fresh = icmp ne i64 %mine, %seen
  %limit = load i64, ptr @limit
  %allowed = icmp slt i64 %index, %limit
  %both = and i1 %is.open, %fresh
  %join = and i1 %both, %allowed
  br i1 %join, label %work, label %sleep
sleep:
  %s = load i64, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 9)
  %s1 = add i64 %s, 1
  store i64 %s1, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 9)
  %w = call i32 @pthread_cond_wait(ptr getelementptr (%Pool, ptr @pool, i32 0, i32 1), ptr @pool)
  %t = load i64, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 9)
  %t1 = sub i64 %t, 1
  store i64 %t1, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 9)
  br label %check
work:
  %r = load i64, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 8)
  %r1 = add i64 %r, 1
  store i64 %r1, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 8)
  %function = load ptr, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 5)
  %argument = load ptr, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 6)
  %n = load i64, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 7)
  call void @unlock()
  call void @chunks(ptr %function, ptr %argument, i64 %n)
  call void @lock()
  %u = load i64, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 8)
  %u1 = sub i64 %u, 1
  store atomic i64 %u1, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 8) release, align 8
  %last = icmp eq i64 %u1, 0
  br i1 %last, label %tell, label %finished.locked
tell:
  %c = call i32 @pthread_cond_signal(ptr getelementptr (%Pool, ptr @pool, i32 0, i32 2))
  br label %finished.locked
finished.locked:
  call void @unlock()
  br label %finished
finished:
  br label %rest
}}

define internal void @hire(i64 %wanted) {{
  %id = alloca [2 x i64]
  br label %loop
loop:
  %n = load i64, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 10)
  %enough = icmp sge i64 %n, %wanted
  br i1 %enough, label %done, label %make
make:
  %index = add i64 %n, 1
  %number = inttoptr i64 %index to ptr
  %r = call i32 @pthread_create(ptr %id, ptr null, ptr @worker, ptr %number)
  %failed = icmp ne i32 %r, 0
  br i1 %failed, label %done, label %made
made:
  %t = load ptr, ptr %id
  %d = call i32 @pthread_detach(ptr %t)
  store i64 %index, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 10)
  br label %loop
done:
  ret void
}}

define void @jl.host.parallel(ptr %function, ptr %argument, i64 %n) {{
  %limit = load i64, ptr @limit
  %single = icmp sle i64 %limit, 1
  %few = icmp sle i64 %n, 1
  %plain = or i1 %single, %few
  br i1 %plain, label %alone, label %take
take:
  %swap = cmpxchg ptr getelementptr (%Pool, ptr @pool, i32 0, i32 14), i64 0, i64 1 seq_cst seq_cst
  %mine = extractvalue {{ i64, i1 }} %swap, 1
  br i1 %mine, label %begin, label %alone
alone:
  call void @serial(ptr %function, ptr %argument, i64 %n)
  ret void
begin:
  %helpers = sub i64 %limit, 1
  %others = sub i64 %n, 1
  %less = icmp slt i64 %others, %helpers
  %wanted = select i1 %less, i64 %others, i64 %helpers
  call void @hire(i64 %wanted)
  call void @lock()
  store ptr %function, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 5)
  store ptr %argument, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 6)
  store i64 %n, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 7)
  store atomic i64 0, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 12) seq_cst, align 8
  store i64 1, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 4)
  %g = load i64, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 3)
  %g1 = add i64 %g, 1
  store atomic i64 %g1, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 3) release, align 8
  %asleep = load i64, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 9)
  call void @unlock()
  %some = icmp ne i64 %asleep, 0
  br i1 %some, label %wake, label %work
wake:
  %b = call i32 @pthread_cond_broadcast(ptr getelementptr (%Pool, ptr @pool, i32 0, i32 1))
  br label %work
work:
  call void @chunks(ptr %function, ptr %argument, i64 %n)
  call void @lock()
  store i64 0, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 4)
  call void @unlock()
  br label %spin
spin:
  %k = phi i64 [ 0, %work ], [ %k1, %spinning ]
  %busy = load atomic i64, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 8) acquire, align 8
  %idle = icmp eq i64 %busy, 0
  br i1 %idle, label %end, label %spinning
spinning:
  {pause}
  %k1 = add i64 %k, 1
  %again = icmp slt i64 %k1, {_SPINS}
  br i1 %again, label %spin, label %wait
wait:
  call void @lock()
  br label %check
check:
  %running = load i64, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 8)
  %over = icmp eq i64 %running, 0
  br i1 %over, label %release, label %sleep
sleep:
  %c = call i32 @pthread_cond_wait(ptr getelementptr (%Pool, ptr @pool, i32 0, i32 2), ptr @pool)
  br label %check
release:
  call void @unlock()
  br label %end
end:
  store atomic i64 0, ptr getelementptr (%Pool, ptr @pool, i32 0, i32 14) seq_cst, align 8
  ret void
}}
"""


_pool = host.shared_cell("jl.pool", _POOL_BYTES)
_limit = ctypes.c_int64.from_address(host.shared_cell(LIMIT_CELL))


def _reset() -> None:
    ctypes.memset(_pool, 0, _POOL_BYTES)
    c = host.process()
    c.pthread_mutex_init(ctypes.c_void_p(_pool), None)
    c.pthread_cond_init(ctypes.c_void_p(_pool + 64), None)
    c.pthread_cond_init(ctypes.c_void_p(_pool + 128), None)


def default_threads() -> int:
    """``JITLANG_THREADS``, or the number of cores that this process may use.

    Raises:
        ValueError: the variable is no positive number.
    """
    chosen: int | None = flag("JITLANG_THREADS")
    if chosen is None:
        try:
            return len(os.sched_getaffinity(0))
        except AttributeError:  # macOS
            return os.cpu_count() or 1
    if chosen < 1:
        raise ValueError(f"environment variable JITLANG_THREADS={chosen}: expected 1 or more")
    return chosen


def get_num_threads() -> int:
    """How many threads a tensor kernel may use."""
    return _limit.value


def set_num_threads(count: int) -> None:
    """Sets how many threads a tensor kernel may use, the calling one counted; results do not depend on it.

    Raises:
        ValueError: `count` is less than 1.
        TypeError: `count` is no int.
    """
    if type(count) is not int:
        raise TypeError(f"set_num_threads expects an int, but got {type(count).__name__}")
    if count < 1:
        raise ValueError(f"set_num_threads expects 1 or more, but got {count}")
    _limit.value = count


def install() -> None:
    """Compiles and links the pool and defines its symbol; `host.lookup` does it when the symbol is looked up."""
    text = _text()
    code, _, _ = cache.cached_object([text], lambda: (text, {}), level=1, whole_package=False)
    imports = {"pool": _pool, "limit": host.shared_cell(LIMIT_CELL)}
    host.define("jl.host.parallel", engine.link(code, ["jl.host.parallel"], imports)["jl.host.parallel"])


_reset()
_limit.value = default_threads()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset)  # the threads do not exist in the child
