"""Tables in native code: a list or dict of constants is made once in a process and copied where it is asked for; not even that where it is only read.

In: ``prim::Table``. Out: LLVM text that converts the Python object of the table when it is first needed, and keeps the native one for ever in a cell of the module. A tensor is that of
the Python object.
"""

from __future__ import annotations

from jitlang.codegen.function import FunctionBuilder, lowering
from jitlang.codegen.library import dicts, lists
from jitlang.codegen.library.strings import IMMORTAL
from jitlang.codegen.llvm_types import quote
from jitlang.codegen.script.host_calls import acquire
from jitlang.codegen.script.managed import invoke
from jitlang.codegen.script.marshal import from_python, tensor_pointer
from jitlang.codegen.script.marshal_objects import cell
from jitlang.ir.alias import is_reference, may_write
from jitlang.ir.graph import Node, Value
from jitlang.ir.rows import row_or_none
from jitlang.ir.tables import KIND, table_name
from jitlang.types import ListType, TensorType


@lowering(KIND)
def _lower_table(b: FunctionBuilder, node: Node) -> None:
    type, name = node.output.type, table_name(node)
    object = cell(b.module, ["table", name])
    if isinstance(type, TensorType):
        made = tensor_pointer(b, b.op(f"load ptr, ptr {object}"))
        b.managed.retain(b, type, made)
        b.values[node.output] = made
        return
    place = f"@{quote(f'jl.table<{name}:{type}>')}"
    b.module.globals[place] = f"{place} = internal global ptr null, align 8"
    # Two threads may make it at the same time: one of the two is used by nobody but the call that made it.
    first, ready = b.block("first"), b.block("ready")
    held = b.op(f"load atomic ptr, ptr {place} acquire, align 8")
    b.branch(b.op(f"icmp eq ptr {held}, null"), first, ready, likely=False)
    b.place(first)
    acquire(b)
    made = from_python(b, node, type, b.op(f"load ptr, ptr {object}"))
    b.do(f"store i64 {IMMORTAL}, ptr {made}, align 8")
    b.do(f"store atomic ptr {made}, ptr {place} release, align 8")
    b.jump(ready)
    b.place(ready)
    table = b.op(f"load atomic ptr, ptr {place} acquire, align 8")
    if not is_only_read(node.output):
        table = invoke(b, node, *((lists.copied, [(type, table)], type.element) if isinstance(type, ListType) else (dicts.copied, [(type, table)], type)))
    b.values[node.output] = table


def is_only_read(value: Value) -> bool:
    """Whether nobody can change a container or keep it: all that uses it are operators that give no alias of it."""
    for use in value.uses:
        row = row_or_none(use.node) if use.node.kind.startswith("py::") else None
        if row is None or may_write(use.node):
            return False
        if any(r.alias is not None and is_reference(o.type) for r, o in zip(row.schema.returns, use.node.outputs, strict=True)):
            return False
    return True
