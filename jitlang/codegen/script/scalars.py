"""Native meanings of the ``py::`` rows of int, float, bool and ``math``."""

from __future__ import annotations

from collections.abc import Callable

from jitlang.codegen.function import FunctionBuilder
from jitlang.codegen.library import numbers
from jitlang.codegen.machine import floor_division
from jitlang.codegen.script.checked import checked_add, checked_multiply, checked_subtract
from jitlang.codegen.script.rows import NATIVE, call_kernel, kernel_row, native
from jitlang.ir.graph import Node
from jitlang.types import FLOAT, INT

_ORDER = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}


def _two(b: FunctionBuilder, node: Node) -> tuple[str, str]:
    x, y = b.inputs(node)
    return x, y


@native("add.int")
def _add(b: FunctionBuilder, node: Node) -> str:
    return checked_add(b, node, *_two(b, node))


@native("sub.int")
def _sub(b: FunctionBuilder, node: Node) -> str:
    return checked_subtract(b, node, *_two(b, node))


@native("mul.int")
def _mul(b: FunctionBuilder, node: Node) -> str:
    return checked_multiply(b, node, *_two(b, node))


@native("neg.int")
def _neg(b: FunctionBuilder, node: Node) -> str:
    return checked_subtract(b, node, "0", b.inputs(node)[0])


@native("abs.int")
def _abs(b: FunctionBuilder, node: Node) -> str:
    (x,) = b.inputs(node)
    negative = b.op(f"icmp slt i64 {x}, 0")
    return b.op(f"select i1 {negative}, i64 {checked_subtract(b, node, '0', x)}, i64 {x}") if x != "0" else x


def _instruction(words: str) -> Callable[[FunctionBuilder, Node], str]:
    """The lowering of an operator that is one instruction on its operands."""

    def lower(b: FunctionBuilder, node: Node) -> str:
        return b.op(f"{words} {', '.join(b.inputs(node))}")

    return lower


for _name, _op in {"add": "fadd", "sub": "fsub", "mul": "fmul"}.items():
    NATIVE[f"{_name}.float"] = _instruction(f"{_op} double")
for _name in ("and", "or", "xor"):
    NATIVE[f"{_name}.int"] = _instruction(f"{_name} i64")
    NATIVE[f"{_name}.bool"] = _instruction(f"{_name} i1")
NATIVE["neg.float"] = lambda b, node: b.op(f"fneg double {b.inputs(node)[0]}")
NATIVE["invert.int"] = lambda b, node: b.op(f"xor i64 {b.inputs(node)[0]}, -1")
NATIVE["not"] = lambda b, node: b.op(f"xor i1 {b.inputs(node)[0]}, true")


def _fabs(b: FunctionBuilder, node: Node) -> str:
    return b.op(f"call double {b.module.declare('llvm.fabs.f64', 'double (double)')}(double {b.inputs(node)[0]})")


NATIVE["abs.float"] = NATIVE["math_fabs"] = _fabs


@native("floordiv.int", "mod.int")
def _division(b: FunctionBuilder, node: Node) -> str:
    x, y = _two(b, node)
    division = node.kind == "py::floordiv"
    divisor = node.inputs[1]
    if divisor.is_constant and divisor.constant > 0:
        d = divisor.constant
        if d & (d - 1) == 0:
            return b.op(f"ashr i64 {x}, {d.bit_length() - 1}") if division else b.op(f"and i64 {x}, {d - 1}")
        return floor_division(b, "i64", x, y, division)
    return call_kernel(b, node, numbers.floordiv_int if division else numbers.mod_int, [(INT, x), (INT, y)])


@native("truediv.int")
def _truediv(b: FunctionBuilder, node: Node) -> str:
    return call_kernel(b, node, numbers.truediv_int, [(INT, x) for x in _two(b, node)])


kernel_row("truediv.float", numbers.truediv_float)
kernel_row("floordiv.float", numbers.floordiv_float)
kernel_row("mod.float", numbers.mod_float)
kernel_row("pow.int", numbers.power_int)
kernel_row("pow.float", numbers.power_float)
kernel_row("lshift.int", numbers.lshift_int)
kernel_row("rshift.int", numbers.rshift_int)
kernel_row("int.float", numbers.int_of_float, numbers.whole_trunc)
kernel_row("math_trunc.float", numbers.int_of_float, numbers.whole_trunc)
kernel_row("math_floor.float", numbers.int_of_float, numbers.whole_floor)
kernel_row("math_ceil.float", numbers.int_of_float, numbers.whole_ceil)
kernel_row("round.float", numbers.int_of_float, numbers.whole_rint)
for _name in ("sqrt", "exp", "exp2", "expm1", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"):
    kernel_row(f"math_{_name}", numbers.math_unary, _name)
for _name in ("log", "log2", "log10"):
    kernel_row(f"math_{_name}", numbers.math_logarithm, _name)


def _compare(b: FunctionBuilder, node: Node) -> str:
    x, y = _two(b, node)
    name = node.kind[4:]
    kind = node.inputs[0].type
    if kind == FLOAT:
        return b.op(f"fcmp {'une' if name == 'ne' else 'o' + name} double {x}, {y}")
    text = "i64" if kind == INT else "i1"
    sign = "" if name in ("eq", "ne") else "s" if kind == INT else "u"
    return b.op(f"icmp {sign}{name} {text} {x}, {y}")


def _compare_mixed(b: FunctionBuilder, node: Node) -> str:
    name = node.kind[4:]
    first = node.inputs[0].type
    operands = [(v.type, b.operand(v)) for v in node.inputs]
    order = call_kernel(b, node, numbers.compare_int_float, operands if first == INT else operands[::-1])
    if first == FLOAT:
        name = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}.get(name, name)
    if name == "ne":
        return b.op(f"icmp ne i64 {order}, 0")
    known = b.op(f"icmp ne i64 {order}, 2")
    relation = name if name == "eq" else f"s{name}"
    return b.op(f"and i1 {known}, {b.op(f'icmp {relation} i64 {order}, 0')}")


for _name in _ORDER:
    for _kind in ("int", "float", "bool"):
        NATIVE[f"{_name}.{_kind}"] = _compare
    for _kind in ("int_float", "float_int"):
        NATIVE[f"{_name}.{_kind}"] = _compare_mixed


def _extremum(b: FunctionBuilder, node: Node) -> str:
    # Python keeps the first unless the second is strictly better: no minnum, NaN and -0.0 would differ.
    x, y = _two(b, node)
    relation = "lt" if node.kind == "py::min" else "gt"
    if node.inputs[0].type == INT:
        return b.op(f"select i1 {b.op(f'icmp s{relation} i64 {y}, {x}')}, i64 {y}, i64 {x}")
    return b.op(f"select i1 {b.op(f'fcmp o{relation} double {y}, {x}')}, double {y}, double {x}")


for _name in ("min.int", "min.float", "max.int", "max.float"):
    NATIVE[_name] = _extremum
NATIVE["float.int"] = lambda b, node: b.op(f"sitofp i64 {b.inputs(node)[0]} to double")
NATIVE["float.bool"] = lambda b, node: b.op(f"uitofp i1 {b.inputs(node)[0]} to double")
NATIVE["int.bool"] = lambda b, node: b.op(f"zext i1 {b.inputs(node)[0]} to i64")
NATIVE["bool.int"] = lambda b, node: b.op(f"icmp ne i64 {b.inputs(node)[0]}, 0")
NATIVE["bool.float"] = lambda b, node: b.op(f"fcmp une double {b.inputs(node)[0]}, {'0.0'}")
NATIVE["round.int"] = NATIVE["math_floor.int"] = NATIVE["math_ceil.int"] = NATIVE["math_trunc.int"] = lambda b, node: b.inputs(node)[0]
NATIVE["math_isnan"] = lambda b, node: b.op(f"fcmp uno double {b.inputs(node)[0]}, 0.0")
NATIVE["math_isinf"] = lambda b, node: b.op(f"fcmp oeq double {_fabs(b, node)}, 0x7FF0000000000000")
NATIVE["math_isfinite"] = lambda b, node: b.op(f"fcmp one double {_fabs(b, node)}, 0x7FF0000000000000")


@native("math_copysign")
def _copysign(b: FunctionBuilder, node: Node) -> str:
    x, y = _two(b, node)
    return b.op(f"call double {b.module.declare('llvm.copysign.f64', 'double (double, double)')}(double {x}, double {y})")
