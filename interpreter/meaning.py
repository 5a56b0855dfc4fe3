"""What a node's operator and types mean in Python.

In: rows of operators; names of classes. Out: the Python function of an operator that the VM calls, and the Python classes of
script objects, named tuples and exceptions.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from jitlang.errors import IRError
from jitlang.frontend.annotations import stored_class, stored_tuple
from jitlang.ir.graph import Program
from jitlang.registry import Operator
from jitlang.tensor.callables import row_callable
from jitlang.types import ClassType, TupleType


def operator_callable(row: Operator) -> Callable[..., Any]:
    """The Python function that applies an operator to Python values: all arguments of the row, by position.

    ``row.python`` for Python's own types; for tensors the row's compiled kernel. IRError where the row has no meaning.
    """
    if row.namespace == "aten" and row.native is not None:
        return row_callable(row)
    if row.python is None:
        raise IRError(f"operator {row.schema.full_name} has no meaning that Python can call")
    return row.python


def tuple_class(type: TupleType, program: Program) -> type:
    """The Python class of a NamedTuple type: the user's own, or for one from an archive a class of the same name and fields."""
    known = python_class(program.classes.get(type.name))
    return known if known is not None else stored_tuple(type.name, type.fields)


def python_class(declared: Any) -> type | None:
    """The Python class behind an entry of ``Program.classes``, or None."""
    if isinstance(declared, ClassType):
        return stored_class(declared)
    return declared if isinstance(declared, type) else None


def exception_class(name: str, program: Program) -> type[BaseException]:
    """The exception class of a ``prim::raise``: a builtin or a class of the program; IRError for another name."""
    found = python_class(program.classes.get(name)) or getattr(builtins, name, None)
    if isinstance(found, type) and issubclass(found, BaseException):
        return found
    raise IRError(f"there is no exception class {name}")
