"""Operators of Python's own types: every ``py::`` row, registered when this package is imported.

In: nothing. Out: rows in `jitlang.registry`, by topic: one module for each kind of operand. To add an operator, add a
line to the module of its topic; the schema's text, the doc, the flags and the exact Python meaning stand together there.
"""

from jitlang.operators import booleans, comparison, conversion, dicts, formatting, lists, mathematics, numbers, strings, tuples

__all__ = ["booleans", "comparison", "conversion", "dicts", "formatting", "lists", "mathematics", "numbers", "strings", "tuples"]
