"""The ``ast`` of a live Python function, and where it stands in its file.

In: a function object. Out: its `Source` and its ``FunctionDef`` or ``Lambda``. Files are parsed once each.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import types

from jitlang.errors import ScriptSyntaxError
from jitlang.source import Source

FunctionNode = ast.FunctionDef | ast.Lambda


@functools.lru_cache(maxsize=256)
def _parsed(filename: str, text: str) -> tuple[Source, dict[int, list[FunctionNode | ast.ClassDef]]]:
    tree = ast.parse(text, filename)
    index: dict[int, list[FunctionNode | ast.ClassDef]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            first = node.lineno
            if not isinstance(node, ast.Lambda) and node.decorator_list:
                first = node.decorator_list[0].lineno
            index.setdefault(first, []).append(node)
    return Source(text, filename), index


def _file_text(filename: str) -> str:
    return "".join(linecache.getlines(filename))


def function_ast(function: types.FunctionType) -> tuple[Source, FunctionNode]:
    """The source and syntax tree of `function`; ScriptSyntaxError where the source cannot be found."""
    code = function.__code__
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        where = f"{code.co_filename}:{code.co_firstlineno}"
        raise ScriptSyntaxError(f"{function.__qualname__} ({where}) is an async function, which is not supported in a script", hint="write a plain function")
    text = _file_text(code.co_filename)
    if text:
        source, index = _parsed(code.co_filename, text)
        wanted = ast.Lambda if code.co_name == "<lambda>" else ast.FunctionDef
        found = [n for n in index.get(code.co_firstlineno, []) if isinstance(n, wanted) and getattr(n, "name", "<lambda>") == code.co_name]
        if len(found) > 1:
            found = _at_the_same_place(found, code)
        if len(found) > 1:
            raise ScriptSyntaxError(f"{len(found)} functions begin in line {code.co_firstlineno} of {code.co_filename}", hint="give each its own line")
        if found:
            return source, found[0]
    raise ScriptSyntaxError(
        f"the source of {function.__qualname__} is not available",
        hint="define it in a file or a notebook cell, not in exec() or at an interactive prompt without history",
    )


def _at_the_same_place(nodes: list[FunctionNode], code: types.CodeType) -> list[FunctionNode]:
    """Of several functions in one line, the one whose body the code was made of; all of them where the code has no columns."""
    places = [p for p in code.co_positions() if None not in p and p[2:] != (0, 0)]
    if not places:
        return nodes
    first, last = min((p[0], p[2]) for p in places), max((p[1], p[3]) for p in places)
    fitting = [n for n in nodes if _begin(n) <= first and last <= _end(n)]
    return sorted(fitting, key=_begin, reverse=True)[:1] or nodes  # of lambdas in each other the innermost


def _begin(node: FunctionNode) -> tuple[int, int]:
    body = node.body if isinstance(node, ast.Lambda) else node.body[0]
    return body.lineno, body.col_offset


def _end(node: FunctionNode) -> tuple[int, int]:
    body = node.body if isinstance(node, ast.Lambda) else node.body[-1]
    return body.end_lineno or body.lineno, body.end_col_offset or 0


def class_ast(cls: type) -> tuple[Source, ast.ClassDef]:
    """The source and syntax tree of a class; ScriptSyntaxError where the source cannot be found."""
    try:
        lines, first = inspect.getsourcelines(cls)
        filename = inspect.getsourcefile(cls) or "<string>"
    except (OSError, TypeError) as error:
        raise ScriptSyntaxError(f"the source of class {cls.__qualname__} is not available: {error}") from None
    text = _file_text(filename)
    if text:
        source, index = _parsed(filename, text)
        for line in range(first, first + len(lines)):
            for node in index.get(line, []):
                if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
                    return source, node
    raise ScriptSyntaxError(f"the source of class {cls.__qualname__} is not available")
