"""Dtypes of results: PyTorch's promotion rules, written once for the compiler and for the running kernel.

The functions are kernels whose text is also plain Python (`as_python`): type rules of operators run the same text while a
script is compiled.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from jitlang.frontend.kernel import Kernel, i64, kernel
from jitlang.tensor.layout import BOOL, FLOAT32, INT64, UNDEFINED
from jitlang.types import DTYPES

# Four bits a dtype: log2 of the element's size.
SHIFTS = sum((d.itemsize.bit_length() - 1) << (4 * d.code) for d in DTYPES)
FLOATS = sum(1 << d.code for d in DTYPES if d.kind == "f")

# What an operator does to the common dtype of its operands.
SAME = 0  # computes in it
TO_FLOAT = 1  # integers are computed in float32
RESULT_BOOL = 2  # the result is bool whatever was computed in


@kernel
def is_float(dtype: i64) -> i64:
    """1 for a floating-point dtype."""
    return (FLOATS >> dtype) & 1


@kernel
def item_bytes(dtype: i64) -> i64:
    """The size of one element."""
    return 1 << ((SHIFTS >> (dtype * 4)) & 15)


@kernel
def promote(a: i64, b: i64) -> i64:
    """The smallest dtype that holds both; the codes grow with what a dtype holds, except for bool."""
    if a == UNDEFINED or a == BOOL:
        return a if b == UNDEFINED else b
    if b == UNDEFINED or b == BOOL:
        return a
    return a if a > b else b


@kernel
def category(dtype: i64) -> i64:
    """0 bool, 1 integer, 2 floating point; -1 for none."""
    if dtype == UNDEFINED:
        return -1
    if dtype == BOOL:
        return 0
    return 1 + is_float(dtype)


@kernel
def combine(higher: i64, lower: i64) -> i64:
    """The dtype of operands of two priorities: the lower one counts only where its category is higher."""
    if higher == UNDEFINED:
        return lower
    return promote(higher, lower) if category(lower) > category(higher) else higher


@kernel
def computing(rule: i64, common: i64) -> i64:
    """The dtype that an operator computes in."""
    return FLOAT32 if rule & TO_FLOAT != 0 and is_float(common) == 0 else common


@kernel
def produced(rule: i64, common: i64) -> i64:
    """The dtype of the result of an operator that computes in `common`."""
    return BOOL if rule & RESULT_BOOL != 0 else common


@kernel
def sum_dtype(dtype: i64) -> i64:
    """The dtype of sums and products: integers and bool give int64."""
    return dtype if is_float(dtype) == 1 else INT64


def as_python(kernel: Kernel) -> Callable[..., Any]:
    """The kernel's text as a Python function; kernels that it calls are Python functions too."""
    function = kernel.function
    names = function.__code__.co_names
    bound = {n: as_python(v) if isinstance(v, Kernel) else v for n, v in function.__globals__.items() if n in names}
    return types.FunctionType(function.__code__, bound | {"__builtins__": __builtins__}, function.__name__, function.__defaults__)


def can_cast(source: int, target: int) -> bool:
    """Whether an in-place operator may store a result of dtype `source` in a tensor of dtype `target`."""
    rank = as_python(category)
    return bool(rank(source) <= rank(target))
