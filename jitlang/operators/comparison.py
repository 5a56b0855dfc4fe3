"""Comparisons. An int and a float compare exactly, as in Python, hence rows of their own for mixed operands.

The last overload of each kind takes operands of whatever type (containers); ``==`` of class instances without
``__eq__`` is identity, and the frontend calls ``__eq__`` itself where there is one.
"""

from __future__ import annotations

import operator

from jitlang.operators.equality import RELATIONS
from jitlang.operators.rows import row
from jitlang.registry import COMMUTATIVE, PURE, TOTAL

for _name, _function, _doc in (
    ("eq", operator.eq, "Equal."),
    ("ne", operator.ne, "Not equal."),
    ("lt", operator.lt, "Less."),
    ("le", operator.le, "Less or equal."),
    ("gt", operator.gt, "Greater."),
    ("ge", operator.ge, "Greater or equal."),
):
    _equality = (COMMUTATIVE,) if _name in ("eq", "ne") else ()
    row(f"{_name}.int(int a, int b) -> bool", _doc, _function, PURE, TOTAL, *_equality)
    row(f"{_name}.float(float a, float b) -> bool", _doc, _function, PURE, TOTAL, *_equality)
    row(f"{_name}.int_float(int a, float b) -> bool", f"{_doc} Exact: the int is not rounded.", _function, PURE, TOTAL)
    row(f"{_name}.float_int(float a, int b) -> bool", f"{_doc} Exact: the int is not rounded.", _function, PURE, TOTAL)
    row(f"{_name}.bool(bool a, bool b) -> bool", _doc, _function, PURE, TOTAL, *_equality)
    row(f"{_name}.str(str a, str b) -> bool", f"{_doc} By code points.", _function, PURE, TOTAL, *_equality)
    for _type in ("dtype", "device") if _equality else ():
        row(f"{_name}.{_type}({_type} a, {_type} b) -> bool", _doc, _function, PURE, TOTAL, *_equality)
    row(f"{_name}.list(List[t] a, List[t] b) -> bool", f"{_doc} Element by element.", RELATIONS[_name], PURE, *_equality)
    row(f"{_name}.any(Any a, Any b) -> bool", f"{_doc} Operands of the same type.", RELATIONS[_name], PURE)
