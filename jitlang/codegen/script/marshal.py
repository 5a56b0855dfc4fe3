"""Values between Python and native code: guards, unboxing, boxing, by type.

In: an operand that points to a Python object, or a native operand. Out: LLVM text for the conversion. Numbers, strings and tensors are converted in line; what
holds other values goes by its plan (`jitlang.codegen.script.marshal_plans`) through `jitlang.codegen.library.marshal_read` and `marshal_write`.

A call from Python has a state, in which the containers and objects that it copied in are kept, so that they keep their identity and changes can be
written back. Its conversions are strict: an object that is not exactly of its type is left to another specialisation. Without a state (calls of Python functions out
of native code) what converts to the type is taken too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from jitlang.codegen.function import BasicBlock, FunctionBuilder
from jitlang.codegen.kernels import reference
from jitlang.codegen.library.layout import Str
from jitlang.codegen.library.marshal_layout import ALONE, DONE, FAILED, MISFIT, WRITE, Plan, State
from jitlang.codegen.library.marshal_python import PYTHON, TENSORS, Python, TensorHook
from jitlang.codegen.library.marshal_read import read
from jitlang.codegen.library.marshal_text import text_from, text_to
from jitlang.codegen.library.marshal_write import end
from jitlang.codegen.library.numbers import OVERFLOW
from jitlang.codegen.llvm_types import memory_type, register_type, size_and_align
from jitlang.codegen.records import record_error
from jitlang.codegen.script.marshal_objects import cell
from jitlang.codegen.script.marshal_plans import plan_of
from jitlang.errors import CodegenError
from jitlang.frontend.kernel import offset_of, size_of
from jitlang.ir.graph import Node
from jitlang.native.layouts import ctypes_type
from jitlang.native.pytypes import HandleType
from jitlang.types import BOOL, FLOAT, I64, INT, NEVER, NONE, STR, U8, ClassType, DictType, ListType, Pointer, SetType, TensorType, TupleType, Type

OB_TYPE = 8  # offset of PyObject.ob_type


@dataclasses.dataclass(frozen=True)
class Exit:
    """Where a conversion goes that fails: `status` is the address of an i64 that says why (MISFIT, or FAILED with Python's error set)."""

    block: BasicBlock
    status: str

    def leave(self, b: FunctionBuilder, status: str) -> None:
        """Ends the block."""
        b.do(f"store i64 {status}, ptr {self.status}")
        b.jump(self.block)

    def unless(self, b: FunctionBuilder, condition: str, status: int) -> None:
        """Goes on if `condition`, else leaves."""
        following, bad = b.block("go"), b.block("bad")
        b.branch(condition, following, bad, likely=True)
        b.place(bad)
        self.leave(b, str(status))
        b.place(following)


class Marshaller:
    """The conversions of one family of types."""

    def guard(self, b: FunctionBuilder, type: Type, object: str, fail: BasicBlock) -> None:
        """Emits the test that `object` is, at first sight, exactly of this type; makes nothing, sets no error."""
        raise NotImplementedError

    def take(self, b: FunctionBuilder, type: Type, object: str, state: str, exit: Exit) -> str:
        """Emits the conversion of an object that has passed the guard: an owned native value. `state` may be null."""
        raise NotImplementedError

    def give(self, b: FunctionBuilder, type: Type, operand: str, state: str) -> str:
        """Emits the making of a Python object: a new reference, null with Python's error set where that fails; the native value stays as it is."""
        raise NotImplementedError

    def unbox(self, b: FunctionBuilder, type: Type, object: str, fail: BasicBlock) -> str:
        """`take` without a state; at `fail` no Python error is set."""
        status, bad = b.stack("i64", 1, 8), b.block("bad")
        operand = self.take(b, type, object, "null", Exit(bad, status))
        here = b.current
        b.place(bad)
        b.do(f"call void {b.module.declare('PyErr_Clear', 'void ()')}()")
        b.jump(fail)
        b.current = here
        return operand

    def box(self, b: FunctionBuilder, type: Type, operand: str) -> str:
        """`give` without a state."""
        return self.give(b, type, operand, "null")


MARSHALLERS: list[Callable[[Type], Marshaller | None]] = []


def marshaller(type: Type) -> Marshaller:
    """The marshaller of a type; CodegenError where there is none."""
    for find in MARSHALLERS:
        found = find(type)
        if found is not None:
            return found
    raise CodegenError(f"{type} cannot be passed between Python and native code")


def to_python(b: FunctionBuilder, type: Type, operand: str) -> str:
    """Emits the making of a Python object in the middle of a call: a new reference, null with Python's error set where that fails. The GIL is held.

    A container or object that came from Python is brought up to date and handed out itself.
    """
    return marshaller(type).box(b, type, operand)


def from_python(b: FunctionBuilder, node: Node, type: Type, object: str, undo: Callable[[], None] = lambda: None) -> str:
    """Emits the conversion of an object, borrowed, to an owned native value. The GIL is held.

    What is not of `type` is a TypeError, as the failure of `node`, before which `undo` emits what has to be given up.
    """
    status, bad = b.stack("i64", 1, 8), b.block("bad")
    operand = marshaller(type).take(b, type, object, "null", Exit(bad, status))
    here, misfit, failed = b.current, b.block("misfit"), b.block("failed")
    b.place(bad)
    undo()
    b.branch(b.op(f"icmp eq i64 {b.op(f'load i64, ptr {status}')}, {FAILED}"), failed, misfit)
    b.place(failed)
    b.do(f"call void {b.module.declare('jl.host.failed', 'void (ptr)')}(ptr %ctx)")
    b.do(f"br label %{b.failure(node)}")
    b.current.closed = True
    b.place(misfit)
    record_error(b, "TypeError", f"the function returned a value that is not {type}".replace("{", "{{").replace("}", "}}"))
    b.do(f"br label %{b.failure(node)}")
    b.current.closed = True
    b.current = here
    return operand


# ---- building blocks ------------------------------------------------------------------------------------------------


def require(b: FunctionBuilder, condition: str, fail: BasicBlock) -> None:
    """Goes on if `condition`, else to `fail`."""
    following = b.block("go")
    b.branch(condition, following, fail, likely=True)
    b.place(following)


def type_of(b: FunctionBuilder, object: str) -> str:
    """type(object)."""
    at = b.op(f"getelementptr i8, ptr {object}, i64 {OB_TYPE}")
    return b.op(f"load ptr, ptr {at}")


def exact_type(b: FunctionBuilder, object: str, python_type: str, fail: BasicBlock) -> None:
    """Emits the test that the type of `object` is the static CPython type of that name."""
    require(b, b.op(f"icmp eq ptr {type_of(b, object)}, {b.module.external(python_type)}"), fail)


def new_reference(b: FunctionBuilder, object: str) -> str:
    """One more reference to a Python object; returns it."""
    b.do(f"call void {b.module.declare('Py_IncRef', 'void (ptr)')}(ptr {object})")
    return object


def python_object(b: FunctionBuilder, name: str) -> str:
    """An entry of the table of CPython's objects."""
    table = b.module.external("jl.py.objects", size_of(PYTHON.type))
    return b.op(f"load ptr, ptr {b.op(f'getelementptr i8, ptr {table}, i64 {offset_of(Python, name)}')}")


def call_end(b: FunctionBuilder, op: int, state: str, plan: str = "null", at: str = "null") -> str:
    """A call of `marshal_write.end`."""
    callee = reference(b.module, end.instance(I64, Pointer(State), Pointer(Plan), Pointer(U8)))
    return b.op(f"call ptr {callee}(i64 {op}, ptr {state}, ptr {plan}, ptr {at})")


# ---- numbers --------------------------------------------------------------------------------------------------------


class _Int(Marshaller):
    def guard(self, b: FunctionBuilder, type: Type, object: str, fail: BasicBlock) -> None:
        exact_type(b, object, "PyLong_Type", fail)

    def take(self, b: FunctionBuilder, type: Type, object: str, state: str, exit: Exit) -> str:
        if state == "null":
            return _planned(b, type, object, state, exit)
        overflow = b.stack("i32", 1, 4)
        value = b.op(f"call i64 {b.module.declare('PyLong_AsLongLongAndOverflow', 'i64 (ptr, ptr)')}(ptr {object}, ptr {overflow})")
        wide, following = b.block("wide"), b.block("go")
        b.branch(b.op(f"icmp eq i32 {b.op(f'load i32, ptr {overflow}')}, 0"), following, wide, likely=True)
        b.place(wide)
        # No specialisation takes it: native integers have 64 bits.
        text = b.module.string(OVERFLOW.encode())
        b.do(f"call void {b.module.declare('PyErr_SetString', 'void (ptr, ptr)')}(ptr {python_object(b, 'overflow')}, ptr {text})")
        exit.leave(b, str(FAILED))
        b.place(following)
        return value

    def give(self, b: FunctionBuilder, type: Type, operand: str, state: str) -> str:
        return b.op(f"call ptr {b.module.declare('PyLong_FromLongLong', 'ptr (i64)')}(i64 {operand})")


class _Float(Marshaller):
    def guard(self, b: FunctionBuilder, type: Type, object: str, fail: BasicBlock) -> None:
        exact_type(b, object, "PyFloat_Type", fail)

    def take(self, b: FunctionBuilder, type: Type, object: str, state: str, exit: Exit) -> str:
        if state == "null":
            return _planned(b, type, object, state, exit)
        return b.op(f"call double {b.module.declare('PyFloat_AsDouble', 'double (ptr)')}(ptr {object})")

    def give(self, b: FunctionBuilder, type: Type, operand: str, state: str) -> str:
        return b.op(f"call ptr {b.module.declare('PyFloat_FromDouble', 'ptr (double)')}(double {operand})")


class _Bool(Marshaller):
    def guard(self, b: FunctionBuilder, type: Type, object: str, fail: BasicBlock) -> None:
        exact_type(b, object, "PyBool_Type", fail)

    def take(self, b: FunctionBuilder, type: Type, object: str, state: str, exit: Exit) -> str:
        if state == "null":
            return _planned(b, type, object, state, exit)
        return b.op(f"icmp eq ptr {object}, {b.module.external('_Py_TrueStruct')}")

    def give(self, b: FunctionBuilder, type: Type, operand: str, state: str) -> str:
        true, false = b.module.external("_Py_TrueStruct"), b.module.external("_Py_FalseStruct")
        return new_reference(b, b.op(f"select i1 {operand}, ptr {true}, ptr {false}"))


class _None(Marshaller):
    def guard(self, b: FunctionBuilder, type: Type, object: str, fail: BasicBlock) -> None:
        require(b, b.op(f"icmp eq ptr {object}, {b.module.external('_Py_NoneStruct')}"), fail)

    def take(self, b: FunctionBuilder, type: Type, object: str, state: str, exit: Exit) -> str:
        exit.unless(b, b.op(f"icmp eq ptr {object}, {b.module.external('_Py_NoneStruct')}"), MISFIT)
        return "0"

    def give(self, b: FunctionBuilder, type: Type, operand: str, state: str) -> str:
        return new_reference(b, b.module.external("_Py_NoneStruct"))


class _Str(Marshaller):
    def guard(self, b: FunctionBuilder, type: Type, object: str, fail: BasicBlock) -> None:
        exact_type(b, object, "PyUnicode_Type", fail)

    def take(self, b: FunctionBuilder, type: Type, object: str, state: str, exit: Exit) -> str:
        if state == "null":
            return _planned(b, type, object, state, exit)
        made = b.op(f"call ptr {reference(b.module, text_from.instance(Pointer(U8)))}(ptr {object})")
        exit.unless(b, b.op(f"icmp ne ptr {made}, null"), FAILED)
        return made

    def give(self, b: FunctionBuilder, type: Type, operand: str, state: str) -> str:
        return b.op(f"call ptr {reference(b.module, text_to.instance(Pointer(Str)))}(ptr {operand})")


_PLAIN: dict[Type, Marshaller] = {INT: _Int(), FLOAT: _Float(), BOOL: _Bool(), NONE: _None(), NEVER: _None(), STR: _Str()}
MARSHALLERS.append(_PLAIN.get)


# ---- tensors --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class TensorLayout:
    """What conversions know of tensors at compile time: offsets of the native pointer in a Python object, of dtype and rank in the native tensor."""

    at: int
    dtype: int
    rank: int


TENSOR_MARSHALLER: list[TensorLayout] = []


def install_tensors(handle: HandleType, *, retain: int, release: int, dtype: int, rank: int) -> None:
    """Tells the conversions of tensors; the tensor runtime calls this when it is imported.

    Args:
        handle: the Python type of tensors.
        retain, release: addresses of ``void (ptr tensor)``.
        dtype, rank: offsets of these fields in a native tensor, both i64.
    """
    table = ctypes_type(TensorHook).from_address(TENSORS.address)
    table.type, table.at, table.wrap = id(handle.type), handle.offset, handle.wrap
    table.retain, table.release, table.dtype, table.rank = retain, release, dtype, rank
    TENSOR_MARSHALLER[:] = [TensorLayout(handle.offset, dtype, rank)]


class _Tensor(Marshaller):
    def guard(self, b: FunctionBuilder, type: Type, object: str, fail: BasicBlock) -> None:
        assert isinstance(type, TensorType)
        kind, exact = type_of(b, object), b.block("tensor")
        wanted = b.op(f"load ptr, ptr {_hook(b, 'type')}")
        other = b.block("other.type")
        b.branch(b.op(f"icmp eq ptr {kind}, {wanted}"), exact, other, likely=True)
        b.place(other)
        below = b.op(f"call i32 {b.module.declare('PyType_IsSubtype', 'i32 (ptr, ptr)')}(ptr {kind}, ptr {wanted})")
        b.branch(b.op(f"icmp ne i32 {below}, 0"), exact, fail)
        b.place(exact)
        layout = _layout()
        native = tensor_pointer(b, object) if type.dtype is not None or type.rank is not None else ""
        for wish, at in ((type.dtype.code if type.dtype is not None else None, layout.dtype), (type.rank, layout.rank)):
            if wish is not None:
                held = b.op(f"load i64, ptr {b.op(f'getelementptr i8, ptr {native}, i64 {at}')}")
                require(b, b.op(f"icmp eq i64 {held}, {wish}"), fail)

    def take(self, b: FunctionBuilder, type: Type, object: str, state: str, exit: Exit) -> str:
        if state == "null":
            return _planned(b, type, object, state, exit)
        native = tensor_pointer(b, object)
        b.managed.retain(b, type, native)
        return native

    def give(self, b: FunctionBuilder, type: Type, operand: str, state: str) -> str:
        b.managed.retain(b, type, operand)
        hook = _hook(b, "wrap")
        return b.op(f"call ptr {b.op(f'load ptr, ptr {hook}')}(ptr {operand})")


def tensor_pointer(b: FunctionBuilder, object: str) -> str:
    """The native tensor of a Python one, borrowed."""
    return b.op(f"load ptr, ptr {b.op(f'getelementptr i8, ptr {object}, i64 {_layout().at}')}")


def _hook(b: FunctionBuilder, name: str) -> str:
    _layout()
    table = b.module.external("jl.py.tensors", size_of(TENSORS.type))
    return b.op(f"getelementptr i8, ptr {table}, i64 {offset_of(TensorHook, name)}")


def _layout() -> TensorLayout:
    if not TENSOR_MARSHALLER:
        raise CodegenError("tensors need jitlang.tensor, which is not loaded")
    return TENSOR_MARSHALLER[0]


_TENSOR = _Tensor()
MARSHALLERS.append(lambda type: _TENSOR if isinstance(type, TensorType) else None)


# ---- what goes by its plan ------------------------------------------------------------------------------------------


def _planned(b: FunctionBuilder, type: Type, object: str, state: str, exit: Exit) -> str:
    """Reads a value by its plan."""
    text, (size, align) = memory_type(type), size_and_align(type)
    slot = b.stack("i8", max(size, 1), max(align, 8))
    callee = reference(b.module, read.instance(Pointer(State), Pointer(U8), Pointer(Plan), Pointer(U8)))
    status = b.op(f"call i64 {callee}(ptr {state}, ptr {object}, ptr {plan_of(b, type)}, ptr {slot})")
    following, bad = b.block("go"), b.block("bad")
    b.branch(b.op(f"icmp eq i64 {status}, {DONE}"), following, bad, likely=True)
    b.place(bad)
    exit.leave(b, status)
    b.place(following)
    if text == "{}":
        return "zeroinitializer"
    value = b.op(f"load {text}, ptr {slot}, align {align}")
    return b.op(f"trunc i8 {value} to i1") if register_type(type) == "i1" else value


def _small_tuple(b: FunctionBuilder, type: TupleType, operand: str) -> str:
    """Makes a tuple of plain values in line."""
    made = b.op(f"call ptr {b.module.declare('PyTuple_New', 'ptr (i64)')}(i64 {len(type.elements)})")
    fill, broken, joined = b.block("fill"), b.block("broken"), b.block("tuple")
    edges = [(b.current.label, "null")]
    b.branch(b.op(f"icmp ne ptr {made}, null"), fill, joined, likely=True)
    b.place(fill)
    whole = "true"
    for index, element in enumerate(type.elements):
        part = marshaller(element).give(b, element, b.op(f"extractvalue {register_type(type)} {operand}, {index}"), "null")
        whole = b.op(f"and i1 {whole}, {b.op(f'icmp ne ptr {part}, null')}")
        b.do(f"call i32 {b.module.declare('PyTuple_SetItem', 'i32 (ptr, i64, ptr)')}(ptr {made}, i64 {index}, ptr {part})")
    edges.append((b.current.label, made))
    b.branch(whole, joined, broken, likely=True)
    b.place(broken)
    b.do(f"call void {b.module.declare('Py_DecRef', 'void (ptr)')}(ptr {made})")
    edges.append((b.current.label, "null"))
    b.jump(joined)
    b.place(joined)
    return b.phi(joined, Pointer(U8), edges)


class _Planned(Marshaller):
    def guard(self, b: FunctionBuilder, type: Type, object: str, fail: BasicBlock) -> None:
        name = {ListType: "PyList_Type", DictType: "PyDict_Type", SetType: "PySet_Type"}.get(type.__class__)
        if name is not None:
            exact_type(b, object, name, fail)
        elif isinstance(type, ClassType):
            wanted = b.op(f"load ptr, ptr {cell(b.module, ['class', type.name])}")
            require(b, b.op(f"icmp eq ptr {type_of(b, object)}, {wanted}"), fail)
        elif isinstance(type, TupleType) and not type.name:
            exact_type(b, object, "PyTuple_Type", fail)

    def take(self, b: FunctionBuilder, type: Type, object: str, state: str, exit: Exit) -> str:
        return _planned(b, type, object, state, exit)

    def give(self, b: FunctionBuilder, type: Type, operand: str, state: str) -> str:
        if isinstance(type, TupleType) and not type.name and 0 < len(type.elements) <= _INLINE and all(map(is_plain, type.elements)):
            return _small_tuple(b, type, operand)
        text, (size, align) = memory_type(type), size_and_align(type)
        slot = b.stack("i8", max(size, 1), max(align, 8))
        if text != "{}":
            b.do(f"store {text} {operand}, ptr {slot}, align {align}")
        return call_end(b, ALONE if state == "null" else WRITE, state, plan_of(b, type), slot)


_INLINE = 8  # elements of a tuple that is made in line
_PLANNED = _Planned()
MARSHALLERS.append(lambda type: _PLANNED)


def is_plain(type: Type) -> bool:
    """Whether values are converted without a state."""
    return type in _PLAIN or isinstance(type, TensorType)
