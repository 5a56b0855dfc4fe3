"""Checked 64-bit integer arithmetic.

In straight code an operation that overflows branches to its error at once. In a loop whose body has no side effect
(`FunctionBuilder.overflow_flag` is set) it only raises a flag, by a test of the operands that is off the critical path;
the flag is looked at where the iteration ends, and an iteration that raised it is run again with immediate checks.
"""

from __future__ import annotations

from jitlang.codegen.function import FunctionBuilder
from jitlang.codegen.library.numbers import OVERFLOW
from jitlang.codegen.records import record_error
from jitlang.ir.graph import Node

LOWEST, HIGHEST = -(2**63), 2**63 - 1
_WIDEST = (LOWEST, HIGHEST)


def _literal(operand: str) -> int | None:
    return int(operand) if operand.lstrip("-").isdigit() else None


def _range(b: FunctionBuilder, operand: str) -> tuple[int, int]:
    """The values that `operand` may have in a fast iteration that raises no flag."""
    c = _literal(operand)
    return (c, c) if c is not None else b.ranges.get(operand, _WIDEST)


def _limit(b: FunctionBuilder, x: str, low: int, high: int) -> None:
    """Raises the flag unless low <= x <= high.

    The iteration that raises it is run again with exact checks, so a narrower range is as right as a wider one: it is narrowed to a
    power of two, and the flag is raised on paths too that do not need x.
    """
    known = _range(b, x)
    if low <= known[0] and known[1] <= high:
        return
    bound = 1 << (min(-low, high + 1).bit_length() - 1)
    moved = b.op(f"add i64 {x}, {bound}")
    b.raise_flag(b.op(f"icmp ugt i64 {moved}, {2 * bound - 1}"), everywhere=True)
    b.ranges[x] = (max(known[0], -bound), min(known[1], bound - 1))


def checked_add(b: FunctionBuilder, node: Node, x: str, y: str) -> str:
    """x + y."""
    if _literal(x) is not None:
        x, y = y, x
    c = _literal(y)
    if b.overflow_flag and c is not None and abs(c) < 2**61:
        _limit(b, x, LOWEST - min(c, 0), HIGHEST - max(c, 0))
        low, high = _range(b, x)
        made = b.op(f"add i64 {x}, {y}")
        b.ranges[made] = (low + c, high + c)
        return made
    return _general(b, node, "sadd", x, y)


def checked_subtract(b: FunctionBuilder, node: Node, x: str, y: str) -> str:
    """x - y."""
    c = _literal(y)
    if b.overflow_flag and c is not None and abs(c) < 2**61:
        _limit(b, x, LOWEST + max(c, 0), HIGHEST + min(c, 0))
        low, high = _range(b, x)
        made = b.op(f"sub i64 {x}, {y}")
        b.ranges[made] = (low - c, high - c)
        return made
    return _general(b, node, "ssub", x, y)


def checked_multiply(b: FunctionBuilder, node: Node, x: str, y: str) -> str:
    """x * y."""
    if _literal(x) is not None:
        x, y = y, x
    c = _literal(y)
    if b.overflow_flag and c is not None and 0 < c < 2**61:
        _limit(b, x, -(2**63 // c), HIGHEST // c)
        low, high = _range(b, x)
        made = b.op(f"mul i64 {x}, {y}")
        b.ranges[made] = (low * c, high * c)
        return made
    return _general(b, node, "smul", x, y)


def _general(b: FunctionBuilder, node: Node, name: str, x: str, y: str) -> str:
    callee = b.module.declare(f"llvm.{name}.with.overflow.i64", "{i64, i1} (i64, i64)")
    pair = b.op(f"call {{i64, i1}} {callee}(i64 {x}, i64 {y})")
    made, over = b.op(f"extractvalue {{i64, i1}} {pair}, 0"), b.op(f"extractvalue {{i64, i1}} {pair}, 1")
    if b.overflow_flag:
        b.raise_flag(over)
        return made
    bad, following = b.block("overflow"), b.block("ok")
    b.branch(over, bad, following, likely=False)
    b.place(bad)
    record_error(b, "OverflowError", OVERFLOW)
    b.do(f"br label %{b.failure(node)}")
    b.current.closed = True
    b.place(following)
    return made
