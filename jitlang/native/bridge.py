"""Native functions between generated code and CPython, as LLVM text. In: nothing. Out: symbols ``jl.host.*``.

They are compiled once (and kept in the object cache) when the first of them is looked up. None of them runs Python
code of jitlang's while a script runs normally: a signal handler's exception, which may arrive at any byte code, can
therefore not get lost in library code.

| symbol | type | meaning |
|---|---|---|
| ``jl.host.context`` | ``ptr ()`` | the calling thread's context, where `INLINE`'s fast path did not find it |
| ``jl.host.wake`` | ``void ()`` | starts the ticker, or wakes it |
| ``jl.host.interrupted`` | ``i64 (ptr ctx)`` | call at a back-edge when the context's interrupt word is not 0: runs signal handlers and the hook; 1: an error was recorded, stop |
| ``jl.host.acquire`` | ``void (ptr ctx)`` | takes the GIL, unless held |
| ``jl.host.release`` | ``void (ptr ctx)`` | gives the GIL up, unless already released |
| ``jl.host.failed`` | ``void (ptr ctx)`` | records that Python's error indicator is set (GIL held) |
| ``jl.host.raise`` | ``void (ptr ctx)`` | takes the GIL and turns the record into Python's error indicator |
| ``jl.host.ticker`` | ``void (i32 fd)`` | the ticker's loop; see `jitlang.native.interrupts` |

`INLINE` is text to put into a module with entries from Python: ``@jl.enter() -> ptr ctx`` and ``@jl.leave(ptr ctx)``.
A native entry is called with the GIL held. A loop that runs past a tick gives the GIL up at its next back-edge, so
short calls never pay for it; `jl.leave` takes it back. Code that touches Python objects calls ``jl.host.acquire``.
"""

from __future__ import annotations

from jitlang.native import cache, context, engine, host
from jitlang.native.interrupts import ASLEEP, IDLE_TICKS, NOT_STARTED, TICK_US, TICKING
from jitlang.native.layouts import CONTEXT, PYTHON_ERROR, field_index, llvm_struct

EXPORTS = tuple(f"jl.host.{name}" for name in ("context", "wake", "interrupted", "acquire", "release", "failed", "raise", "ticker", "ask"))


def _field(name: str) -> str:
    return f"getelementptr %Context, ptr %ctx, i32 0, i32 {field_index(CONTEXT, name)}"


_CONTEXT = f"%Context = type {llvm_struct(CONTEXT)}\n"

INLINE = f"""
@jl.current = external global ptr
@jl.ticker = external global i64
declare ptr @jl.host.context()
declare void @jl.host.wake()
declare void @jl.host.acquire(ptr)

define internal ptr @jl.enter() alwaysinline {{
  %here = alloca i8
  %sp = ptrtoint ptr %here to i64
  %cached = load ptr, ptr @jl.current
  %none = icmp eq ptr %cached, null
  br i1 %none, label %find, label %look, !prof !9000
look:
  %low.p = getelementptr %Context, ptr %cached, i32 0, i32 {field_index(CONTEXT, "stack_low")}
  %high.p = getelementptr %Context, ptr %cached, i32 0, i32 {field_index(CONTEXT, "stack_high")}
  %low = load i64, ptr %low.p
  %high = load i64, ptr %high.p
  %size = sub i64 %high, %low
  %at = sub i64 %sp, %low
  %mine = icmp ult i64 %at, %size
  br i1 %mine, label %found, label %find, !prof !9001
find:
  %new = call ptr @jl.host.context()
  br label %found
found:
  %ctx = phi ptr [ %cached, %look ], [ %new, %find ]
  %active.p = {_field("active")}
  %active = load i64, ptr %active.p
  %more = add i64 %active, 1
  store volatile i64 %more, ptr %active.p
  %ticker = load volatile i64, ptr @jl.ticker
  %ticks = icmp eq i64 %ticker, {TICKING}
  br i1 %ticks, label %done, label %wake, !prof !9001
wake:
  call void @jl.host.wake()
  br label %done
done:
  ret ptr %ctx
}}

define internal void @jl.leave(ptr %ctx) alwaysinline {{
  %active.p = {_field("active")}
  %active = load i64, ptr %active.p
  %less = sub i64 %active, 1
  store volatile i64 %less, ptr %active.p
  %gil.p = {_field("gil")}
  %gil = load ptr, ptr %gil.p
  %held = icmp eq ptr %gil, null
  br i1 %held, label %done, label %take, !prof !9001
take:
  call void @jl.host.acquire(ptr %ctx)
  br label %done
done:
  ret void
}}

!9000 = !{{!"branch_weights", i32 1, i32 1000}}
!9001 = !{{!"branch_weights", i32 1000, i32 1}}
"""

_TEXT = f"""
@jl.current = external global ptr
@jl.contexts = external global ptr
@jl.ticker = external global i64
@jl.ticker.pipe = external global i64
@jl.interrupt = external global i64
@jl.py.context = external global ptr
@jl.py.exception = external global ptr
@jl.py.ticker = external global ptr
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @PyErr_CheckSignals()
@PyExc_KeyboardInterrupt = external global ptr
declare void @PyErr_Clear()
declare void @PyErr_SetInterrupt()
declare i32 @PyErr_ExceptionMatches(ptr)
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare i32 @PyException_SetTraceback(ptr, ptr)
declare void @PyErr_SetObject(ptr, ptr)
declare ptr @PyObject_Type(ptr)
declare ptr @PyObject_CallNoArgs(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyLong_FromLongLong(i64)
declare i64 @PyLong_AsLongLong(ptr)
declare void @Py_DecRef(ptr)
declare void @abort() noreturn
declare i32 @usleep(i32)
declare i64 @read(i32, ptr, i64)
declare i64 @write(i32, ptr, i64)

define ptr @jl.host.context() {{
  %here = alloca i8
  %sp = ptrtoint ptr %here to i64
  %first = load ptr, ptr @jl.contexts
  br label %walk
walk:
  %ctx = phi ptr [ %first, %0 ], [ %next, %other ]
  %end = icmp eq ptr %ctx, null
  br i1 %end, label %make, label %look
look:
  %low.p = {_field("stack_low")}
  %high.p = {_field("stack_high")}
  %low = load i64, ptr %low.p
  %high = load i64, ptr %high.p
  %size = sub i64 %high, %low
  %at = sub i64 %sp, %low
  %mine = icmp ult i64 %at, %size
  br i1 %mine, label %found, label %other
other:
  %next.p = {_field("next")}
  %next = load ptr, ptr %next.p
  br label %walk
found:
  store ptr %ctx, ptr @jl.current
  ret ptr %ctx
make:
  %late = phi i1 [ false, %walk ], [ true, %again ]
  %maker = load ptr, ptr @jl.py.context
  %number = call ptr @PyObject_CallNoArgs(ptr %maker)
  %failed = icmp eq ptr %number, null
  br i1 %failed, label %again, label %made
again:
  ; a signal handler raised in it: no error can be recorded before there is a context
  call void @PyErr_Clear()
  br label %make
made:
  %address = call i64 @PyLong_AsLongLong(ptr %number)
  call void @Py_DecRef(ptr %number)
  %new = inttoptr i64 %address to ptr
  br i1 %late, label %resend, label %give
resend:
  call void @PyErr_SetInterrupt()
  br label %give
give:
  ret ptr %new
}}

define void @jl.host.wake() {{
  %byte = alloca i8
  %swap = cmpxchg ptr @jl.ticker, i64 {ASLEEP}, i64 {TICKING} seq_cst seq_cst
  %was = extractvalue {{ i64, i1 }} %swap, 0
  switch i64 %was, label %done [ i64 {ASLEEP}, label %poke i64 {NOT_STARTED}, label %start ]
poke:
  %fd = load i64, ptr @jl.ticker.pipe
  %fd32 = trunc i64 %fd to i32
  store i8 0, ptr %byte
  %n = call i64 @write(i32 %fd32, ptr %byte, i64 1)
  br label %done
start:
  %starter = load ptr, ptr @jl.py.ticker
  %r = call ptr @PyObject_CallNoArgs(ptr %starter)
  %failed = icmp eq ptr %r, null
  br i1 %failed, label %clear, label %drop
clear:
  ; it could not start, or Ctrl-C came: the one is tried again at the next call, the other is sent again, and met at the next check
  %key = load ptr, ptr @PyExc_KeyboardInterrupt
  %stopped = call i32 @PyErr_ExceptionMatches(ptr %key)
  call void @PyErr_Clear()
  %resend = icmp ne i32 %stopped, 0
  br i1 %resend, label %send, label %done
send:
  call void @PyErr_SetInterrupt()
  br label %done
drop:
  call void @Py_DecRef(ptr %r)
  br label %done
done:
  ret void
}}

define i64 @jl.host.interrupted(ptr %ctx) {{
  %word.p = {_field("interrupt")}
  store atomic i64 0, ptr %word.p monotonic, align 8
  store atomic i64 0, ptr @jl.interrupt monotonic, align 8
  call void @jl.host.acquire(ptr %ctx)
  %signal = call i32 @PyErr_CheckSignals()
  %raised = icmp ne i32 %signal, 0
  br i1 %raised, label %stop, label %hooks
hooks:
  %hook.p = {_field("hook")}
  %hook = load ptr, ptr %hook.p
  %none = icmp eq ptr %hook, null
  br i1 %none, label %go, label %run
run:
  %r = call ptr @PyObject_CallNoArgs(ptr %hook)
  %failed = icmp eq ptr %r, null
  br i1 %failed, label %stop, label %drop
drop:
  call void @Py_DecRef(ptr %r)
  br label %go
go:
  call void @jl.host.release(ptr %ctx)
  ret i64 0
stop:
  call void @jl.host.failed(ptr %ctx)
  ret i64 1
}}

; What function(a, b), a callback into Python, answers. It must not raise and gives null only where a signal ended it, which can happen at its very
; first instruction. So what is pending is handled before, what comes meanwhile is a new attempt, and either is signalled once more at the end, to be met
; at the next check. Called with or without the GIL; an error that is on its way is set aside.
define ptr @jl.host.ask(ptr %function, i64 %a, i64 %b) {{
entry:
  %cls = alloca ptr
  %value = alloca ptr
  %trace = alloca ptr
  %gil = call i32 @PyGILState_Ensure()
  call void @PyErr_Fetch(ptr %cls, ptr %value, ptr %trace)
  br label %ready
ready:
  %late = phi i1 [ false, %entry ], [ true, %call ]
  %signal = call i32 @PyErr_CheckSignals()
  %came = icmp ne i32 %signal, 0
  br i1 %came, label %clear, label %call
clear:
  call void @PyErr_Clear()
  br label %call
call:
  %resend = phi i1 [ %late, %ready ], [ true, %clear ]
  %answer = call ptr %function(i64 %a, i64 %b)
  %ended = icmp eq ptr %answer, null
  br i1 %ended, label %ready, label %answered
answered:
  %c = load ptr, ptr %cls
  %v = load ptr, ptr %value
  %t = load ptr, ptr %trace
  call void @PyErr_Restore(ptr %c, ptr %v, ptr %t)
  br i1 %resend, label %send, label %done
send:
  call void @PyErr_SetInterrupt()
  br label %done
done:
  call void @PyGILState_Release(i32 %gil)
  ret ptr %answer
}}

define void @jl.host.acquire(ptr %ctx) {{
  %gil.p = {_field("gil")}
  %gil = load ptr, ptr %gil.p
  %held = icmp eq ptr %gil, null
  br i1 %held, label %done, label %take
take:
  store ptr null, ptr %gil.p
  call void @PyEval_RestoreThread(ptr %gil)
  br label %done
done:
  ret void
}}

define void @jl.host.release(ptr %ctx) {{
  %gil.p = {_field("gil")}
  %gil = load ptr, ptr %gil.p
  %held = icmp eq ptr %gil, null
  br i1 %held, label %give, label %done
give:
  %state = call ptr @PyEval_SaveThread()
  store ptr %state, ptr %gil.p
  br label %done
done:
  ret void
}}

define void @jl.host.failed(ptr %ctx) {{
  %flags.p = {_field("flags")}
  store i64 {PYTHON_ERROR}, ptr %flags.p
  ret void
}}

define void @jl.host.raise(ptr %ctx) {{
  %cls = alloca ptr
  %value = alloca ptr
  %trace = alloca ptr
  %argv = alloca [2 x ptr]
  call void @jl.host.acquire(ptr %ctx)
  store ptr null, ptr %value
  %flags.p = {_field("flags")}
  %flags = load i64, ptr %flags.p
  %set = icmp ne i64 %flags, 0
  br i1 %set, label %fetch, label %build
fetch:
  call void @PyErr_Fetch(ptr %cls, ptr %value, ptr %trace)
  call void @PyErr_NormalizeException(ptr %cls, ptr %value, ptr %trace)
  %c = load ptr, ptr %cls
  call void @drop(ptr %c)
  %t = load ptr, ptr %trace
  %bare = icmp eq ptr %t, null
  br i1 %bare, label %build, label %dress
dress:
  %v0 = load ptr, ptr %value
  %ignored = call i32 @PyException_SetTraceback(ptr %v0, ptr %t)
  call void @drop(ptr %t)
  br label %build
build:
  %maker = load ptr, ptr @jl.py.exception
  %address = ptrtoint ptr %ctx to i64
  %number = call ptr @PyLong_FromLongLong(i64 %address)
  %v = load ptr, ptr %value
  store ptr %number, ptr %argv
  %second = getelementptr ptr, ptr %argv, i64 1
  store ptr %v, ptr %second
  %pending = icmp ne ptr %v, null
  %count = select i1 %pending, i64 2, i64 1
  %error = call ptr @PyObject_Vectorcall(ptr %maker, ptr %argv, i64 %count, ptr null)
  call void @drop(ptr %number)
  call void @drop(ptr %v)
  ; if making it failed (a signal, no memory), the error of that is set
  %failed = icmp eq ptr %error, null
  br i1 %failed, label %done, label %set.it
set.it:
  %type = call ptr @PyObject_Type(ptr %error)
  call void @PyErr_SetObject(ptr %type, ptr %error)
  call void @drop(ptr %type)
  call void @drop(ptr %error)
  br label %done
done:
  store i64 0, ptr %flags.p
  %depth.p = {_field("depth")}
  store i64 0, ptr %depth.p
  ret void
}}

define internal void @drop(ptr %o) {{
  %none = icmp eq ptr %o, null
  br i1 %none, label %done, label %some
some:
  call void @Py_DecRef(ptr %o)
  br label %done
done:
  ret void
}}

; Sets the interrupt word of each context with active native code; whether there was one.
define internal i1 @tick() {{
  %first = load atomic ptr, ptr @jl.contexts acquire, align 8
  br label %walk
walk:
  %ctx = phi ptr [ %first, %0 ], [ %next, %step ]
  %any = phi i1 [ false, %0 ], [ %now, %step ]
  %end = icmp eq ptr %ctx, null
  br i1 %end, label %done, label %look
look:
  %active.p = {_field("active")}
  %active = load atomic i64, ptr %active.p monotonic, align 8
  %busy = icmp sgt i64 %active, 0
  br i1 %busy, label %set, label %step
set:
  %word.p = {_field("interrupt")}
  store atomic i64 1, ptr %word.p monotonic, align 8
  br label %step
step:
  %now = or i1 %any, %busy
  %next.p = {_field("next")}
  %next = load atomic ptr, ptr %next.p monotonic, align 8
  br label %walk
done:
  br i1 %any, label %both, label %out
both:
  store atomic i64 1, ptr @jl.interrupt monotonic, align 8
  br label %out
out:
  ret i1 %any
}}

define void @jl.host.ticker(i32 %fd) {{
  %byte = alloca i8
  br label %loop
loop:
  %idle = phi i64 [ 0, %0 ], [ 0, %busy ], [ %idle1, %quiet ], [ 0, %woken ]
  %s = call i32 @usleep(i32 {TICK_US})
  %any = call i1 @tick()
  br i1 %any, label %busy, label %quiet.first
busy:
  br label %loop
quiet.first:
  %idle1 = add i64 %idle, 1
  %long = icmp sgt i64 %idle1, {IDLE_TICKS}
  br i1 %long, label %doze, label %quiet
quiet:
  br label %loop
doze:
  ; An entry stores `active` and then loads the ticker's state; the other way round here. Its store may still be in its
  ; core's buffer when the state changes: a millisecond later it is visible.
  store atomic i64 {ASLEEP}, ptr @jl.ticker seq_cst, align 8
  %s2 = call i32 @usleep(i32 1000)
  %late = call i1 @tick()
  br i1 %late, label %cancel, label %wait
cancel:
  %swap = cmpxchg ptr @jl.ticker, i64 {ASLEEP}, i64 {TICKING} seq_cst seq_cst
  %mine = extractvalue {{ i64, i1 }} %swap, 1
  br i1 %mine, label %woken, label %wait
wait:
  %n = call i64 @read(i32 %fd, ptr %byte, i64 1)
  %state = load atomic i64, ptr @jl.ticker seq_cst, align 8
  %up = icmp eq i64 %state, {TICKING}
  br i1 %up, label %woken, label %check
check:
  ; interrupted by a signal: go on waiting; the pipe was closed: end
  %closed = icmp eq i64 %n, 0
  br i1 %closed, label %out, label %wait
woken:
  br label %loop
out:
  ret void
}}
"""


def inline() -> str:
    """The text of ``%Context``, `jl.enter` and `jl.leave`, for modules that define no ``%Context`` of their own."""
    return _CONTEXT + INLINE


def install() -> None:
    """Compiles and links the bridge and defines its symbols; `host.lookup` does it when the first of them is looked up."""
    text = _CONTEXT + _TEXT
    code, _, _ = cache.cached_object([text], lambda: (text, {}), level=1, whole_package=False)
    imports = {name: host.shared_cell(name) for name in ("jl.contexts", "jl.current", "jl.ticker", "jl.ticker.pipe", "jl.interrupt", "jl.py.ticker")}
    imports["jl.py.context"] = host.object_cell("jl.py.context", context.address)
    imports["jl.py.exception"] = host.object_cell("jl.py.exception", context.exception_of)
    addresses = engine.link(code, EXPORTS, imports)
    for name, address in addresses.items():
        host.define(name, address)
