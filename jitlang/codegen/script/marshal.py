"""Values between Python and native code: guards, unboxing, boxing, by type.

In: an operand that points to a Python object, or a native operand. Out: LLVM text for the conversion. A conversion
never coerces: an object whose type is not exactly the expected one fails its guard, and another specialisation is found.

Each script type has a `Marshaller`. Those of numbers are here; containers, objects and tensors enter theirs in `MARSHALLERS`.
"""

from __future__ import annotations

from collections.abc import Callable

from jitlang.codegen.function import BasicBlock, FunctionBuilder
from jitlang.errors import CodegenError
from jitlang.types import BOOL, FLOAT, INT, NONE, Type

OB_TYPE = 8  # offset of PyObject.ob_type


class Marshaller:
    """The conversions of one family of types. `fail` is a label to branch to; no Python error is set there.

    `unbox` returns an owned native value and may branch to `fail` having made nothing; `box` returns a new
    reference (null, with Python's error set, if there is no memory) and leaves the native value as it is.
    """

    def guard(self, b: FunctionBuilder, type: Type, object: str, fail: BasicBlock) -> None:
        """Emits the test that `object` is exactly of this type; makes nothing."""
        raise NotImplementedError

    def unbox(self, b: FunctionBuilder, type: Type, object: str, fail: BasicBlock) -> str:
        """Emits the conversion of an object that has passed the guard."""
        raise NotImplementedError

    def box(self, b: FunctionBuilder, type: Type, operand: str) -> str:
        """Emits the making of a Python object."""
        raise NotImplementedError


MARSHALLERS: list[Callable[[Type], Marshaller | None]] = []


def marshaller(type: Type) -> Marshaller:
    """The marshaller of a type; CodegenError where there is none."""
    for find in MARSHALLERS:
        found = find(type)
        if found is not None:
            return found
    raise CodegenError(f"{type} cannot be passed between Python and native code")


def exact_type(b: FunctionBuilder, object: str, python_type: str, fail: BasicBlock) -> None:
    """Emits the test that the type of `object` is the static CPython type of that name."""
    at = b.op(f"getelementptr i8, ptr {object}, i64 {OB_TYPE}")
    same = b.op(f"icmp eq ptr {b.op(f'load ptr, ptr {at}')}, {b.module.external(python_type)}")
    require(b, same, fail)


def require(b: FunctionBuilder, condition: str, fail: BasicBlock) -> None:
    """Goes on if `condition`, else to `fail`."""
    following = b.block("go")
    b.branch(condition, following, fail, likely=True)
    b.place(following)


class _Int(Marshaller):
    def guard(self, b: FunctionBuilder, type: Type, object: str, fail: BasicBlock) -> None:
        exact_type(b, object, "PyLong_Type", fail)

    def unbox(self, b: FunctionBuilder, type: Type, object: str, fail: BasicBlock) -> str:
        overflow = b.stack("i32", 1, 4)
        value = b.op(f"call i64 {b.module.declare('PyLong_AsLongLongAndOverflow', 'i64 (ptr, ptr)')}(ptr {object}, ptr {overflow})")
        require(b, b.op(f"icmp eq i32 {b.op(f'load i32, ptr {overflow}')}, 0"), fail)
        return value

    def box(self, b: FunctionBuilder, type: Type, operand: str) -> str:
        return b.op(f"call ptr {b.module.declare('PyLong_FromLongLong', 'ptr (i64)')}(i64 {operand})")


class _Float(Marshaller):
    def guard(self, b: FunctionBuilder, type: Type, object: str, fail: BasicBlock) -> None:
        exact_type(b, object, "PyFloat_Type", fail)

    def unbox(self, b: FunctionBuilder, type: Type, object: str, fail: BasicBlock) -> str:
        return b.op(f"call double {b.module.declare('PyFloat_AsDouble', 'double (ptr)')}(ptr {object})")

    def box(self, b: FunctionBuilder, type: Type, operand: str) -> str:
        return b.op(f"call ptr {b.module.declare('PyFloat_FromDouble', 'ptr (double)')}(double {operand})")


class _Bool(Marshaller):
    def guard(self, b: FunctionBuilder, type: Type, object: str, fail: BasicBlock) -> None:
        exact_type(b, object, "PyBool_Type", fail)

    def unbox(self, b: FunctionBuilder, type: Type, object: str, fail: BasicBlock) -> str:
        return b.op(f"icmp eq ptr {object}, {b.module.external('_Py_TrueStruct')}")

    def box(self, b: FunctionBuilder, type: Type, operand: str) -> str:
        true, false = b.module.external("_Py_TrueStruct"), b.module.external("_Py_FalseStruct")
        return new_reference(b, b.op(f"select i1 {operand}, ptr {true}, ptr {false}"))


class _None(Marshaller):
    def guard(self, b: FunctionBuilder, type: Type, object: str, fail: BasicBlock) -> None:
        require(b, b.op(f"icmp eq ptr {object}, {b.module.external('_Py_NoneStruct')}"), fail)

    def unbox(self, b: FunctionBuilder, type: Type, object: str, fail: BasicBlock) -> str:
        return "0"

    def box(self, b: FunctionBuilder, type: Type, operand: str) -> str:
        return new_reference(b, b.module.external("_Py_NoneStruct"))


def new_reference(b: FunctionBuilder, object: str) -> str:
    """One more reference to a Python object; returns it."""
    b.do(f"call void {b.module.declare('Py_IncRef', 'void (ptr)')}(ptr {object})")
    return object


_NUMBERS: dict[Type, Marshaller] = {INT: _Int(), FLOAT: _Float(), BOOL: _Bool(), NONE: _None()}
MARSHALLERS.append(_NUMBERS.get)
