"""Native number and comparison slots of `Tensor`: ``x + y`` enters the compiled operator without passing through Python code.

In: nothing. Out: slot name → address, for `jitlang.native.pytypes.handle_type`. A slot looks at the types of its operands: where both are
tensors or Python numbers it calls the operator's callable, which it finds in a cell; for anything else it calls the Python method, which answers
NotImplemented where it does not know the other operand. Cells are filled when an operator is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitlang.native import cache, engine, host

BINARY = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "true_divide": "div",
    "floor_divide": "floor_divide",
    "remainder": "remainder",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    "matrix_multiply": "matmul",
}
INPLACE = tuple(name for name in BINARY if name != "matrix_multiply")
UNARY = {"negative": "neg", "absolute": "abs", "invert": "bitwise_not"}
COMPARE = ("lt", "le", "eq", "ne", "gt", "ge")  # CPython's numbers of comparisons, 0 to 5

_PRELUDE = """
@type = external global ptr
@PyFloat_Type = external global i8
@PyLong_Type = external global i8
@PyBool_Type = external global i8
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)

define internal i1 @known(ptr %o) alwaysinline {
  %p = getelementptr i8, ptr %o, i64 8
  %t = load ptr, ptr %p
  %tensor = load ptr, ptr @type
  %a = icmp eq ptr %t, %tensor
  %b = icmp eq ptr %t, @PyFloat_Type
  %c = icmp eq ptr %t, @PyLong_Type
  %d = icmp eq ptr %t, @PyBool_Type
  %ab = or i1 %a, %b
  %cd = or i1 %c, %d
  %r = or i1 %ab, %cd
  ret i1 %r
}

define internal ptr @call2(ptr %fast, ptr %slow, ptr %a, ptr %b) alwaysinline {
  %args = alloca [3 x ptr]
  %a.p = getelementptr ptr, ptr %args, i64 1
  %b.p = getelementptr ptr, ptr %args, i64 2
  store ptr %a, ptr %a.p
  store ptr %b, ptr %b.p
  %ka = call i1 @known(ptr %a)
  %kb = call i1 @known(ptr %b)
  %k = and i1 %ka, %kb
  %cell = select i1 %k, ptr %fast, ptr %slow
  %f = load ptr, ptr %cell
  %r = call ptr @PyObject_Vectorcall(ptr %f, ptr %a.p, i64 -9223372036854775806, ptr null)
  ret ptr %r
}
"""


def _cell(name: str) -> str:
    return f"jl.slot.{name}"


def text() -> tuple[str, dict[str, str], list[str]]:
    """The LLVM text, slot name → symbol, and the operators whose cells it reads."""
    lines: list[str] = [_PRELUDE]
    slots: dict[str, str] = {}
    names: list[str] = []

    def cells(operator: str, python: str) -> tuple[str, str]:
        names.extend((operator, python))
        return _cell(operator), _cell(python)

    for slot, operator in [*BINARY.items(), *((f"inplace_{n}", f"{BINARY[n]}_") for n in INPLACE)]:
        fast, slow = cells(operator, f"python.{slot}")
        symbol = slots[f"nb_{slot}"] = f"slot.nb_{slot}"
        lines.append(f'define ptr @"{symbol}"(ptr %a, ptr %b) {{\n  %r = call ptr @call2(ptr @"{fast}", ptr @"{slow}", ptr %a, ptr %b)\n  ret ptr %r\n}}')
    for slot, operator in (("power", "pow"), ("inplace_power", "pow_")):
        fast, slow = cells(operator, f"python.{slot}")
        symbol = slots[f"nb_{slot}"] = f"slot.nb_{slot}"
        lines.append(
            f'define ptr @"{symbol}"(ptr %a, ptr %b, ptr %m) {{\n  %r = call ptr @call2(ptr @"{fast}", ptr @"{slow}", ptr %a, ptr %b)\n  ret ptr %r\n}}'
        )
    for slot, operator in UNARY.items():
        names.append(operator)
        symbol = slots[f"nb_{slot}"] = f"slot.nb_{slot}"
        lines.append(
            f'define ptr @"{symbol}"(ptr %a) {{\n  %args = alloca [2 x ptr]\n  %p = getelementptr ptr, ptr %args, i64 1\n  store ptr %a, ptr %p\n'
            f'  %f = load ptr, ptr @"{_cell(operator)}"\n  %r = call ptr @PyObject_Vectorcall(ptr %f, ptr %p, i64 -9223372036854775807, ptr null)\n  ret ptr %r\n}}'
        )
    cases = " ".join(f"i32 {i}, label %{n}" for i, n in enumerate(COMPARE))
    body = [f"define ptr @slot.richcompare(ptr %a, ptr %b, i32 %op) {{\n  switch i32 %op, label %none [ {cases} ]\nnone:\n  unreachable"]
    for name in COMPARE:
        fast, slow = cells(name, f"python.{name}")
        body.append(f'{name}:\n  %{name}.r = call ptr @call2(ptr @"{fast}", ptr @"{slow}", ptr %a, ptr %b)\n  ret ptr %{name}.r')
    lines.append("\n".join([*body, "}"]))
    slots["tp_richcompare"] = "slot.richcompare"
    names = list(dict.fromkeys(names))
    lines[1:1] = [f'@"{_cell(n)}" = external global ptr' for n in names]
    return "\n".join(lines), slots, names


def addresses(type_symbol: str) -> dict[str, int]:
    """The slots' addresses; `type_symbol` names the cell that will hold the type of tensors."""
    code_text, slots, names = text()
    code, _, _ = cache.cached_object(["slots", code_text], lambda: (code_text, {}), level=2, whole_package=False)
    imports = {"type": host.shared_cell(type_symbol), **{_cell(n): host.shared_cell(_cell(n)) for n in names}}
    linked = engine.link(code, list(slots.values()), {**imports, **host.resolve(["PyFloat_Type", "PyLong_Type", "PyBool_Type"])})
    return {slot: linked[symbol] for slot, symbol in slots.items()}


def fill(operator: Callable[[str], Any], methods: type, names: list[str] | None = None) -> None:
    """Fills cells: an operator's with a stand-in that looks it up when it is first called, a method's with the Python method.

    Args:
        operator: name → callable.
        methods: the class with the Python methods (``__add__``, ``__radd__`` …).
        names: only the cells of these operators.
    """
    for name in names if names is not None else text()[2]:
        if name.startswith("python."):
            host.object_cell(_cell(name), _python_method(methods, name.removeprefix("python.")))
        else:
            host.object_cell(_cell(name), _first_call(operator, name))


def _first_call(operator: Callable[[str], Any], name: str) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        found = operator(name)
        host.object_cell(_cell(name), found)
        return found(*args)

    return call


_PYTHON = {
    "subtract": "sub",
    "multiply": "mul",
    "true_divide": "truediv",
    "floor_divide": "floordiv",
    "remainder": "mod",
    "power": "pow",
    "matrix_multiply": "matmul",
}


def _python_method(methods: type, slot: str) -> Callable[..., Any]:
    """What a slot means for operands that it does not know: the tensor's own method, reflected where the tensor stands on the right."""
    if slot in COMPARE:
        found: Callable[..., Any] = getattr(methods, f"__{slot}__")
        swapped = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}.get(slot, slot)
        reflected = getattr(methods, f"__{swapped}__")
        return lambda a, b: found(a, b) if isinstance(a, methods) else reflected(b, a)
    inplace = slot.startswith("inplace_")
    bare = slot.removeprefix("inplace_")
    name = _PYTHON.get(bare, bare)
    own = getattr(methods, f"__{'i' if inplace else ''}{name}__")
    right = getattr(methods, f"__r{name}__", None)

    def call(a: Any, b: Any) -> Any:
        if isinstance(a, methods):
            return own(a, b)
        return right(b, a) if right is not None else NotImplemented

    return call
