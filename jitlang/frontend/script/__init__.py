"""The script dialect: Python functions, methods and classes to typed IR.

In: a Python function and argument types. Out: a `Program`. `compile_function` and `compile_method` are the entries, `signature_of` says what a
function declares; `jitlang.frontend.annotations` turns annotations and values into types. The parts, from the bottom up:

| module | what it knows |
|---|---|
| `match` | schema matching and the implicit conversions |
| `functions` | a Python function's syntax tree, parameters, names around it |
| `statics`, `words` | things that exist at compile time only; words of messages |
| `base` | constants, operators, conversions, truth |
| `operators` | arithmetic, comparison, and/or/not, ternary, refinement of optionals |
| `tables` | dispatch tables |
| `subscripts` | indices and slices |
| `tensors` | attributes and methods of tensors |
| `class_types` | the attributes of classes, instances and modules |
| `classes` | objects, NamedTuples, dataclasses, modules |
| `items`, `iteration`, `comprehensions` | loops |
| `conversions`, `narrowing`, `conditions`, `definite` | types of values; what is known of attributes and names |
| `strings` | text of values, f-strings, print |
| `sequences`, `copies`, `builtins` | Python's builtin functions, the module `copy` |
| `methods` | methods of Python's own types |
| `nested` | functions in functions |
| `calls` | callees, arguments, nested functions |
| `emitter` | the table of expressions and the statements |
| `unit` | programs, recursion, entry points |
"""

from jitlang.frontend.script.unit import compile_function, compile_method, signature_of

__all__ = ["compile_function", "compile_method", "signature_of"]
