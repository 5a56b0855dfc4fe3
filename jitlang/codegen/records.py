"""Error records from native code: the helper that pushes a site, and the stores that describe an error.

The layout is `jitlang.native.layouts.CONTEXT`; Python turns a record into an exception (`jitlang.native.context`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jitlang.codegen.llvm_types import register_type
from jitlang.codegen.module import UNIT, Module
from jitlang.native.layouts import (
    ARGUMENT_BOOL,
    ARGUMENT_FLOAT,
    ARGUMENT_INT,
    ARGUMENT_STR,
    ARGUMENT_TEXT,
    CONTEXT,
    MAX_SITES,
    offset,
)
from jitlang.types import STR, Machine, Type

if TYPE_CHECKING:
    from jitlang.codegen.function import FunctionBuilder

_SITE = "jl.site"


def site_helper(module: Module) -> str:
    """The LLVM name of ``void (ptr ctx, i64 site)``, which pushes (this unit, site) on the context's site stack."""
    if _SITE not in module.functions:
        module.constant(UNIT, "global i64 0, align 8")
        depth, units, indices = (offset(CONTEXT, n) for n in ("depth", "site_units", "site_indices"))
        module.functions[_SITE] = f"""define internal void @"{_SITE}"(ptr %ctx, i64 %site) nounwind cold noinline {{
  %dp = getelementptr i8, ptr %ctx, i64 {depth}
  %d = load i64, ptr %dp
  %room = icmp ult i64 %d, {MAX_SITES}
  br i1 %room, label %push, label %done
push:
  %us = getelementptr i8, ptr %ctx, i64 {units}
  %up = getelementptr i64, ptr %us, i64 %d
  %unit = load i64, ptr @"{UNIT}"
  store i64 %unit, ptr %up
  %is = getelementptr i8, ptr %ctx, i64 {indices}
  %ip = getelementptr i64, ptr %is, i64 %d
  store i64 %site, ptr %ip
  br label %done
done:
  %d1 = add i64 %d, 1
  store i64 %d1, ptr %dp
  ret void
}}"""
    return f'@"{_SITE}"'


def field(b: FunctionBuilder, name: str) -> str:
    """The address of a field of the context."""
    at = offset(CONTEXT, name)
    return b.op(f"getelementptr i8, ptr %ctx, i64 {at}") if at else "%ctx"


def record_error(b: FunctionBuilder, cls: str, form: str | None, arguments: Sequence[tuple[Type, str]] = (), message: str = "null") -> None:
    """Stores an error: its class, and a format with arguments or (form None) an owned message string."""
    b.do(f"store ptr {b.module.string(cls.encode())}, ptr {field(b, 'error_class')}")
    b.do(f"store ptr {b.module.string(form.encode()) if form is not None else 'null'}, ptr {field(b, 'error_format')}")
    b.do(f"store ptr {message}, ptr {field(b, 'error_message')}")
    b.do(f"store i64 {len(arguments)}, ptr {field(b, 'error_count')}")
    for index, (type, operand) in enumerate(arguments):
        kind, bits = _argument(b, type, operand)
        values, kinds = field(b, "error_values"), field(b, "error_kinds")
        b.do(f"store i64 {bits}, ptr {b.op(f'getelementptr i64, ptr {values}, i64 {index}')}")
        b.do(f"store i64 {kind}, ptr {b.op(f'getelementptr i64, ptr {kinds}, i64 {index}')}")


def _argument(b: FunctionBuilder, type: Type, operand: str) -> tuple[int, str]:
    text = register_type(type)
    if type == STR:
        return ARGUMENT_STR, b.op(f"ptrtoint ptr {operand} to i64")
    if text == "ptr":
        return ARGUMENT_TEXT, b.op(f"ptrtoint ptr {operand} to i64")
    if text == "double":
        return ARGUMENT_FLOAT, b.op(f"bitcast double {operand} to i64")
    if text == "float":
        return ARGUMENT_FLOAT, b.op(f"bitcast double {b.op(f'fpext float {operand} to double')} to i64")
    if text == "i64":
        return ARGUMENT_INT, operand
    if text == "i1":
        return ARGUMENT_BOOL, b.op(f"zext i1 {operand} to i64")
    signed = not isinstance(type, Machine) or type.kind == "i"
    return ARGUMENT_INT, b.op(f"{'sext' if signed else 'zext'} {text} {operand} to i64")
