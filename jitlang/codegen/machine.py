"""Lowerings of the ``ll::`` nodes: machine arithmetic, memory, calls."""

from __future__ import annotations

from jitlang.codegen.function import FunctionBuilder, lowering
from jitlang.codegen.llvm_types import memory_type, register_type
from jitlang.codegen.records import record_error
from jitlang.frontend.kernel import align_of, offset_of, size_of
from jitlang.ir.graph import Node
from jitlang.types import B1, Machine, Pointer, StructType, Type

_INT = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor", "shl": "shl"}
_FLOAT = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_ORDER = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}


def _machine(type: Type) -> Machine:
    assert isinstance(type, Machine), type
    return type


@lowering("ll::add", "ll::sub", "ll::mul", "ll::div", "ll::and", "ll::or", "ll::xor", "ll::shl")
def _arithmetic(b: FunctionBuilder, node: Node) -> None:
    x, y = b.inputs(node)
    kind = _machine(node.output.type)
    name = node.kind[4:]
    op = _FLOAT[name] if kind.kind == "f" else _INT[name]
    b.values[node.output] = b.op(f"{op} {register_type(kind)} {x}, {y}")


@lowering("ll::shr")
def _shr(b: FunctionBuilder, node: Node) -> None:
    x, y = b.inputs(node)
    kind = _machine(node.output.type)
    b.values[node.output] = b.op(f"{'ashr' if kind.kind == 'i' else 'lshr'} {register_type(kind)} {x}, {y}")


@lowering("ll::floordiv", "ll::mod")
def _floor(b: FunctionBuilder, node: Node) -> None:
    x, y = b.inputs(node)
    kind = _machine(node.output.type)
    text = register_type(kind)
    division = node.kind == "ll::floordiv"
    if kind.kind != "i":
        b.values[node.output] = b.op(f"{'udiv' if division else 'urem'} {text} {x}, {y}")
        return
    b.values[node.output] = floor_division(b, text, x, y, division)


def floor_division(b: FunctionBuilder, text: str, x: str, y: str, division: bool) -> str:
    """Python's ``//`` or ``%`` of two signed integers, y not 0 and not (lowest, -1)."""
    rest = b.op(f"srem {text} {x}, {y}")
    signs = b.op(f"icmp slt {text} {b.op(f'xor {text} {rest}, {y}')}, 0")
    uneven = b.op(f"icmp ne {text} {rest}, 0")
    adjust = b.op(f"and i1 {signs}, {uneven}")
    if division:
        whole = b.op(f"sdiv {text} {x}, {y}")
        return b.op(f"add {text} {whole}, {b.op(f'sext i1 {adjust} to {text}')}")
    return b.op(f"add {text} {rest}, {b.op(f'select i1 {adjust}, {text} {y}, {text} 0')}")


@lowering("ll::neg")
def _neg(b: FunctionBuilder, node: Node) -> None:
    (x,) = b.inputs(node)
    kind = _machine(node.output.type)
    b.values[node.output] = b.op(f"fneg {register_type(kind)} {x}" if kind.kind == "f" else f"sub {register_type(kind)} 0, {x}")


@lowering("ll::not")
def _not(b: FunctionBuilder, node: Node) -> None:
    (x,) = b.inputs(node)
    text = register_type(node.output.type)
    b.values[node.output] = b.op(f"xor {text} {x}, {'true' if text == 'i1' else '-1'}")


@lowering("ll::eq", "ll::ne", "ll::lt", "ll::le", "ll::gt", "ll::ge")
def _compare(b: FunctionBuilder, node: Node) -> None:
    x, y = b.inputs(node)
    kind = node.inputs[0].type
    name = node.kind[4:]
    if isinstance(kind, Machine) and kind.kind == "f":
        b.values[node.output] = b.op(f"fcmp {'une' if name == 'ne' else 'o' + name} {register_type(kind)} {x}, {y}")
        return
    sign = "s" if isinstance(kind, Machine) and kind.kind == "i" else "u"
    b.values[node.output] = b.op(f"icmp {sign + _ORDER[name] if name in _ORDER else name} {register_type(kind)} {x}, {y}")


@lowering("ll::cast")
def _cast(b: FunctionBuilder, node: Node) -> None:
    (source,) = node.inputs
    from_, to = _machine(source.type), _machine(node.output.type)
    if from_.kind == "f" and to.kind == "f":
        op = "fpext" if to.bits > from_.bits else "fptrunc"
    elif from_.kind == "f":
        op = "fptosi" if to.kind == "i" else "fptoui"
    elif to.kind == "f":
        op = "sitofp" if from_.kind == "i" else "uitofp"
    elif to.bits > from_.bits:
        op = "sext" if from_.kind == "i" else "zext"
    elif to.bits < from_.bits:
        op = "trunc"
    else:
        b.values[node.output] = b.operand(source)
        return
    b.values[node.output] = b.op(f"{op} {b.typed(source)} to {register_type(to)}")


@lowering("ll::bitcast")
def _bitcast(b: FunctionBuilder, node: Node) -> None:
    (source,) = node.inputs
    from_, to = register_type(source.type), register_type(node.output.type)
    b.values[node.output] = b.operand(source) if from_ == to else b.op(f"bitcast {from_} {b.operand(source)} to {to}")


@lowering("ll::select")
def _select(b: FunctionBuilder, node: Node) -> None:
    cond, x, y = node.inputs
    b.values[node.output] = b.op(f"select {b.typed(cond)}, {b.typed(x)}, {b.typed(y)}")


@lowering("ll::expect")
def _expect(b: FunctionBuilder, node: Node) -> None:
    callee = b.module.declare("llvm.expect.i1", "i1 (i1, i1)")
    b.values[node.output] = b.op(f"call i1 {callee}(i1 {b.operand(node.inputs[0])}, i1 {'true' if node.attributes['value'] else 'false'})")


_INTRINSIC = {"rint": "roundeven", "fmin": "minnum", "fmax": "maxnum"}


@lowering("ll::intrinsic")
def _intrinsic(b: FunctionBuilder, node: Node) -> None:
    name: str = node.attributes["name"]
    kind = _machine(node.output.type)
    text = register_type(kind)
    values = b.inputs(node)
    if name in ("udiv", "urem", "sdiv", "srem"):
        made = b.op(f"{name} {text} {values[0]}, {values[1]}")
    elif name in ("minimum", "maximum"):
        full = f"llvm.{'s' if kind.kind == 'i' else 'u'}{name[:3]}.{text}"
        made = b.op(f"call {text} {b.module.declare(full, f'{text} ({text}, {text})')}({text} {values[0]}, {text} {values[1]})")
    elif name == "mulhi":
        wide = f"i{kind.bits * 2}"
        x, y = (b.op(f"zext {text} {v} to {wide}") for v in values)
        product = b.op(f"mul {wide} {x}, {y}")
        made = b.op(f"trunc {wide} {b.op(f'lshr {wide} {product}, {kind.bits}')} to {text}")
    elif name in ("ctlz", "cttz"):
        callee = b.module.declare(f"llvm.{name}.{text}", f"{text} ({text}, i1)")
        made = b.op(f"call {text} {callee}({text} {values[0]}, i1 false)")
    else:
        short = {"popcount": "ctpop"}.get(name, _INTRINSIC.get(name, name))
        suffix = {"float": "f32", "double": "f64"}.get(text, text)
        callee = b.module.declare(f"llvm.{short}.{suffix}", f"{text} ({', '.join([text] * len(values))})")
        made = b.op(f"call {text} {callee}({', '.join(f'{text} {v}' for v in values)})")
    b.values[node.output] = made


# ---- memory -----------------------------------------------------------------------------------------------------------


def _pointee(pointer: Type) -> Type:
    assert isinstance(pointer, Pointer)
    return pointer.element


def load(b: FunctionBuilder, address: str, type: Type) -> str:
    """Reads a value from memory (a bool is stored as a byte)."""
    align = align_of(type)
    if type == B1:
        return b.op(f"trunc i8 {b.op(f'load i8, ptr {address}, align 1')} to i1")
    return b.op(f"load {memory_type(type)}, ptr {address}, align {align}")


def store(b: FunctionBuilder, address: str, type: Type, operand: str) -> None:
    """Writes a value to memory."""
    if type == B1:
        b.do(f"store i8 {b.op(f'zext i1 {operand} to i8')}, ptr {address}, align 1")
    else:
        b.do(f"store {memory_type(type)} {operand}, ptr {address}, align {align_of(type)}")


def element_address(b: FunctionBuilder, pointer: str, type: Type, index: str) -> str:
    """The address of element `index`."""
    if index == "0":
        return pointer
    if isinstance(type, StructType):
        return b.op(f"getelementptr i8, ptr {pointer}, i64 {b.op(f'mul i64 {index}, {size_of(type)}')}")
    return b.op(f"getelementptr {memory_type(type)}, ptr {pointer}, i64 {index}")


@lowering("ll::load")
def _load(b: FunctionBuilder, node: Node) -> None:
    pointer, index = node.inputs
    b.values[node.output] = load(b, element_address(b, b.operand(pointer), _pointee(pointer.type), b.operand(index)), node.output.type)


@lowering("ll::store")
def _store(b: FunctionBuilder, node: Node) -> None:
    pointer, index, value = node.inputs
    element = _pointee(pointer.type)
    store(b, element_address(b, b.operand(pointer), element, b.operand(index)), element, b.operand(value))


@lowering("ll::offset")
def _offset(b: FunctionBuilder, node: Node) -> None:
    pointer, index = node.inputs
    b.values[node.output] = element_address(b, b.operand(pointer), _pointee(pointer.type), b.operand(index))


def field_address(b: FunctionBuilder, pointer: str, type: Type, name: str) -> str:
    """The address of a field of the struct that `pointer`, of that pointer type, points to."""
    target = _pointee(type)
    assert isinstance(target, StructType)
    offset = offset_of(target, name)
    return pointer if offset == 0 else b.op(f"getelementptr inbounds i8, ptr {pointer}, i64 {offset}")


@lowering("ll::field", "ll::addr")
def _field(b: FunctionBuilder, node: Node) -> None:
    (pointer,) = node.inputs
    at = field_address(b, b.operand(pointer), pointer.type, node.attributes["name"])
    b.values[node.output] = at if node.kind == "ll::addr" else load(b, at, node.output.type)


@lowering("ll::setfield")
def _setfield(b: FunctionBuilder, node: Node) -> None:
    pointer, value = node.inputs
    store(b, field_address(b, b.operand(pointer), pointer.type, node.attributes["name"]), value.type, b.operand(value))


@lowering("ll::null")
def _null(b: FunctionBuilder, node: Node) -> None:
    b.values[node.output] = "null"


@lowering("ll::address")
def _address(b: FunctionBuilder, node: Node) -> None:
    b.values[node.output] = b.op(f"ptrtoint ptr {b.operand(node.inputs[0])} to i64")


@lowering("ll::pointer")
def _pointer(b: FunctionBuilder, node: Node) -> None:
    b.values[node.output] = b.op(f"inttoptr i64 {b.operand(node.inputs[0])} to ptr")


@lowering("ll::local")
def _local(b: FunctionBuilder, node: Node) -> None:
    element = _pointee(node.output.type)
    b.values[node.output] = b.stack("i8", size_of(element) * node.attributes["length"])


@lowering("ll::global")
def _global(b: FunctionBuilder, node: Node) -> None:
    b.values[node.output] = b.module.external(node.attributes["name"], node.attributes["size"])


@lowering("ll::memory")
def _memory(b: FunctionBuilder, node: Node) -> None:
    to, what, count = b.inputs(node)
    name = node.attributes["name"]
    kind = "i8" if name == "memset" else "ptr"
    full = f"llvm.{name}.p0.i64" if name == "memset" else f"llvm.{name}.p0.p0.i64"
    callee = b.module.declare(full, f"void (ptr, {kind}, i64, i1)")
    b.do(f"call void {callee}(ptr {to}, {kind} {what}, i64 {count}, i1 false)")


@lowering("ll::prefetch")
def _prefetch(b: FunctionBuilder, node: Node) -> None:
    callee = b.module.declare("llvm.prefetch.p0", "void (ptr, i32, i32, i32)")
    b.do(f"call void {callee}(ptr {b.operand(node.inputs[0])}, i32 0, i32 3, i32 1)")


@lowering("ll::atomic")
def _atomic(b: FunctionBuilder, node: Node) -> None:
    pointer, *values = b.inputs(node)
    text = register_type(_pointee(node.inputs[0].type))
    align = size_of(_pointee(node.inputs[0].type))
    name = node.attributes["name"]
    if name == "atomic_add":
        b.values[node.output] = b.op(f"atomicrmw add ptr {pointer}, {text} {values[0]} acq_rel, align {align}")
    elif name == "atomic_load":
        b.values[node.output] = b.op(f"load atomic {text}, ptr {pointer} acquire, align {align}")
    elif name == "atomic_store":
        b.do(f"store atomic {text} {values[0]}, ptr {pointer} release, align {align}")
    else:
        pair = b.op(f"cmpxchg ptr {pointer}, {text} {values[0]}, {text} {values[1]} acq_rel acquire, align {align}")
        b.values[node.output] = b.op(f"extractvalue {{{text}, i1}} {pair}, 0")


# ---- calls and errors -------------------------------------------------------------------------------------------------


@lowering("ll::context")
def _context(b: FunctionBuilder, node: Node) -> None:
    b.values[node.output] = "%ctx"


@lowering("ll::extern")
def _extern(b: FunctionBuilder, node: Node) -> None:
    result = register_type(node.outputs[0].type) if node.outputs else "void"
    types = [register_type(v.type) for v in node.inputs]
    callee = b.module.declare(node.attributes["name"], f"{result} ({', '.join(types)})")
    # nobuiltin: the C library's own bits, never LLVM's idea of pow or exp
    text = f"call {result} {callee}({', '.join(b.typed(v) for v in node.inputs)}) nobuiltin"
    if node.outputs:
        b.values[node.output] = b.op(text)
    else:
        b.do(text)


@lowering("ll::call_pointer")
def _call_pointer(b: FunctionBuilder, node: Node) -> None:
    callee, *arguments = node.inputs
    result = register_type(node.outputs[0].type) if node.outputs else "void"
    text = f"call {result} {b.operand(callee)}({', '.join(b.typed(v) for v in arguments)})"
    if node.outputs:
        b.values[node.output] = b.op(text)
    else:
        b.do(text)


@lowering("ll::raise")
def _raise(b: FunctionBuilder, node: Node) -> None:
    record_error(b, node.attributes["cls"], node.attributes["format"], [(v.type, b.operand(v)) for v in node.inputs])
    b.do(f"br label %{b.failure(node)}")
    b.current.closed = True
