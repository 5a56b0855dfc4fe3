"""The loops of pointwise operators. In: addresses, strides, a count. Out: results in memory.

A loop kernel takes the scalar operation and its machine types as static arguments. Operands that are not dense are staged
through small buffers on the stack, so each loop has one body that the vectoriser sees, whatever the strides; an operand of
stride 0 is spread over its buffer once.
"""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import (
    b1,
    cast,
    i64,
    kernel,
    local,
    memcpy,
    minimum,
    ptr,
    sizeof,
    typeof,
    u8,
)
from jitlang.tensor.kernels.elementary import FAST

CHUNK = 256


# ---- staging ------------------------------------------------------------------------------------------------------


@kernel(inline="never")
def gather(buffer: Any, source: ptr[u8], stride: i64, n: i64) -> None:
    """Copies n elements, `stride` bytes apart, to a dense buffer."""
    T = typeof(buffer)
    if stride == sizeof(T.element):
        memcpy(cast(ptr[u8], buffer), source, n * stride)
        return
    for i in range(n):
        buffer[i] = cast(T, source + i * stride)[0]


@kernel(inline="never")
def scatter(target: ptr[u8], stride: i64, buffer: Any, n: i64) -> None:
    """Copies a dense buffer to n elements that are `stride` bytes apart."""
    T = typeof(buffer)
    for i in range(n):
        cast(T, target + i * stride)[0] = buffer[i]


@kernel
def staged(buffer: Any, source: ptr[u8], stride: i64, direct: Any, done: i64, n: i64) -> Any:
    """Where n elements of an operand stand densely: in place, or in `buffer`."""
    T = typeof(buffer)
    if direct:
        return cast(T, source + done * stride)
    if stride != 0:
        gather(buffer, source + done * stride, stride, n)
    return buffer


@kernel
def spread(buffer: Any, source: ptr[u8], stride: i64, direct: Any, n: i64) -> None:
    """Fills the buffer of an operand of stride 0."""
    if not direct and stride == 0:
        gather(buffer, source, stride, n)


# ---- loops --------------------------------------------------------------------------------------------------------


def fast_form(op: Any) -> Any:
    """The cheaper form of an operation, or None."""
    return FAST.get(op)


@kernel
def apply(op: Any, a: Any, o: Any, n: i64) -> None:
    """o = op(a), all dense."""
    fast = fast_form(op)
    if fast is None:
        for i in range(n):
            o[i] = op(a[i])
        return
    done = 0
    while done < n:
        m = minimum(CHUNK, n - done)
        p, r = a + done, o + done
        all_hold = b1(True)
        for i in range(m):
            r[i] = fast.form(p[i])
            all_hold = all_hold & fast.holds(r[i], p[i])
        if not all_hold:
            for i in range(m):
                if not fast.holds(r[i], p[i]):
                    r[i] = op(p[i])
        done += m


@kernel
def apply_two(op: Any, a: Any, b: Any, o: Any, n: i64) -> None:
    """o = op(a, b), all dense."""
    fast = fast_form(op)
    if fast is None:
        for i in range(n):
            o[i] = op(a[i], b[i])
        return
    done = 0
    while done < n:
        m = minimum(CHUNK, n - done)
        p, q, r = a + done, b + done, o + done
        all_hold = b1(True)
        for i in range(m):
            r[i] = fast.form(p[i], q[i])
            all_hold = all_hold & fast.holds(r[i], p[i], q[i])
        if not all_hold:
            for i in range(m):
                if not fast.holds(r[i], p[i], q[i]):
                    r[i] = op(p[i], q[i])
        done += m


@kernel
def unary_loop(op: Any, T: Any, R: Any, n: i64, data: ptr[ptr[u8]], strides: ptr[i64]) -> None:
    """out = op(a)."""
    o, a = data[0], data[1]
    so, sa = strides[0], strides[1]
    ta, to = local(T, CHUNK), local(R, CHUNK)
    da, do = sa == sizeof(T) and a != o, so == sizeof(R)
    chunk = n
    if not (da and do):
        chunk = minimum(n, CHUNK)
    spread(ta, a, sa, da, chunk)
    done = 0
    while done < n:
        m = minimum(chunk, n - done)
        pa = staged(ta, a, sa, da, done, m)
        po = to
        if do:
            po = cast(ptr[R], o + done * so)
        apply(op, pa, po, m)
        if not do:
            scatter(o + done * so, so, to, m)
        done += m


@kernel
def binary_loop(op: Any, A: Any, B: Any, R: Any, n: i64, data: ptr[ptr[u8]], strides: ptr[i64]) -> None:
    """out = op(a, b)."""
    o, a, b = data[0], data[1], data[2]
    so, sa, sb = strides[0], strides[1], strides[2]
    ta, tb, to = local(A, CHUNK), local(B, CHUNK), local(R, CHUNK)
    da, db, do = sa == sizeof(A) and a != o, sb == sizeof(B) and b != o, so == sizeof(R)
    chunk = n
    if not (da and db and do):
        chunk = minimum(n, CHUNK)
    spread(ta, a, sa, da, chunk)
    spread(tb, b, sb, db, chunk)
    done = 0
    while done < n:
        m = minimum(chunk, n - done)
        pa = staged(ta, a, sa, da, done, m)
        pb = staged(tb, b, sb, db, done, m)
        po = to
        if do:
            po = cast(ptr[R], o + done * so)
        apply_two(op, pa, pb, po, m)
        if not do:
            scatter(o + done * so, so, to, m)
        done += m


@kernel
def ternary_loop(op: Any, A: Any, B: Any, C: Any, R: Any, n: i64, data: ptr[ptr[u8]], strides: ptr[i64]) -> None:
    """out = op(a, b, c)."""
    o, a, b, c = data[0], data[1], data[2], data[3]
    so, sa, sb, sc = strides[0], strides[1], strides[2], strides[3]
    ta, tb, tc, to = local(A, CHUNK), local(B, CHUNK), local(C, CHUNK), local(R, CHUNK)
    da, db, dc, do = sa == sizeof(A) and a != o, sb == sizeof(B) and b != o, sc == sizeof(C) and c != o, so == sizeof(R)
    chunk = n
    if not (da and db and dc and do):
        chunk = minimum(n, CHUNK)
    spread(ta, a, sa, da, chunk)
    spread(tb, b, sb, db, chunk)
    spread(tc, c, sc, dc, chunk)
    done = 0
    while done < n:
        m = minimum(chunk, n - done)
        pa = staged(ta, a, sa, da, done, m)
        pb = staged(tb, b, sb, db, done, m)
        pc = staged(tc, c, sc, dc, done, m)
        po = to
        if do:
            po = cast(ptr[R], o + done * so)
        for i in range(m):
            po[i] = op(pa[i], pb[i], pc[i])
        if not do:
            scatter(o + done * so, so, to, m)
        done += m


@kernel
def quaternary_loop(op: Any, T: Any, n: i64, data: ptr[ptr[u8]], strides: ptr[i64]) -> None:
    """out = op(a, b, c, d), all of one type."""
    o, a, b, c, d = data[0], data[1], data[2], data[3], data[4]
    so, sa, sb, sc, sd = strides[0], strides[1], strides[2], strides[3], strides[4]
    ta, tb, tc, td, to = local(T, CHUNK), local(T, CHUNK), local(T, CHUNK), local(T, CHUNK), local(T, CHUNK)
    do = so == sizeof(T)
    da, db, dc, dd = sa == sizeof(T) and a != o, sb == sizeof(T) and b != o, sc == sizeof(T) and c != o, sd == sizeof(T) and d != o
    chunk = minimum(n, CHUNK)
    spread(ta, a, sa, da, chunk)
    spread(tb, b, sb, db, chunk)
    spread(tc, c, sc, dc, chunk)
    spread(td, d, sd, dd, chunk)
    done = 0
    while done < n:
        m = minimum(chunk, n - done)
        pa = staged(ta, a, sa, da, done, m)
        pb = staged(tb, b, sb, db, done, m)
        pc = staged(tc, c, sc, dc, done, m)
        pd = staged(td, d, sd, dd, done, m)
        po = to
        if do:
            po = cast(ptr[T], o + done * so)
        for i in range(m):
            po[i] = op(pa[i], pb[i], pc[i], pd[i])
        if not do:
            scatter(o + done * so, so, to, m)
        done += m
