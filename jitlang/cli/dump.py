"""``jitlang dump``: a function at one stage of its way to machine code."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from jitlang.cli.files import PATH, open_archive
from jitlang.cli.report import BadFile, ScriptRaised, need_scripts
from jitlang.config import flag
from jitlang.errors import IRError, JitlangError
from jitlang.source import Source, SourceRange, highlight

STAGES = ("ast", "ir", "opt", "bytecode", "llvm", "asm")


@click.command("dump")
@click.argument("file", type=PATH)
@click.option(
    "--stage", type=click.Choice(STAGES), required=True, help="Python's syntax tree; IR as emitted; IR after the passes; bytecode; LLVM IR; assembly."
)
@click.option("--function", "name", metavar="NAME", help="The script or entry point; needed where there are several.")
@click.option("--types", "argument_types", metavar="TYPES", help='Argument types, "int, Tensor[float32, 2]", for parameters without annotation.')
def dump_command(file: Path, stage: str, name: str | None, argument_types: str | None) -> None:
    """Show a function of FILE, an archive or a Python file, at one stage of its way to machine code.

    A Python file is run, as 'import' would, to find its scripts; an archive is not. An archive's syntax trees are shown for all that it holds.
    """
    if file.suffix == ".py":
        need_scripts()
        script, module = choose_script(run_file(file), name, file)
        if stage == "ast":
            click.echo(syntax_of(script))
            return
        program = program_of(script, module, argument_types)
    else:
        if argument_types is not None:
            raise click.UsageError("--types is for Python files; the functions of an archive have their types")
        archive = open_archive(file)
        program = program_in(archive, name, file)
        if stage == "ast":
            for text in archive.sources.values():
                click.echo(ast.dump(ast.parse(unindented(text)), indent=1))
            return
    click.echo(SHOW[stage](program).rstrip())


# ---- finding the program --------------------------------------------------------------------------------------------


def run_file(path: Path) -> dict[str, Any]:
    """The names that a Python file defines. Raises ScriptRaised for what it raises."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise BadFile(f"{path}: no such file")
    try:
        compile(path.read_bytes(), str(path), "exec")
    except (SyntaxError, ValueError) as error:
        raise BadFile(not_python(path, error)) from None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except JitlangError:
        raise
    except BaseException as error:
        raise ScriptRaised from error
    return vars(module)


def not_python(path: Path, error: SyntaxError | ValueError) -> str:
    """What Python's parser has against a file."""
    if not isinstance(error, SyntaxError) or error.lineno is None or error.text is None:
        return f"{path}: not Python: {error}"
    last = error.end_offset if error.end_lineno == error.lineno else None
    column = max(1, error.offset or 1)
    where = SourceRange(Source(path.read_text("utf-8", "replace"), str(path)), error.lineno, column - 1, error.lineno, max(column, (last or 0) - 1))
    return f"{type(error).__name__}: {error.msg}\n{highlight(where)}"


def scripts_in(names: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Each script among some names, and each entry point of a scripted module: the script function, and the module or None."""
    from jitlang.runtime.function import function_type
    from jitlang.runtime.module import ScriptModule

    found: dict[str, tuple[Any, Any]] = {}
    for name, value in names.items():
        if isinstance(value, function_type().type):
            found[name] = value, None
        elif isinstance(value, ScriptModule):
            found |= {f"{name}.{entry}": (function, value.module) for entry, function in value.entry_points.items()}
    return found


def choose_script(names: dict[str, Any], name: str | None, path: Path) -> tuple[Any, Any]:
    """The script of that name, or the function of that name as a script; without one, the only script. Raises UsageError."""
    import jitlang

    scripts = scripts_in(names)
    if name is None:
        if len(scripts) == 1:
            return next(iter(scripts.values()))
        raise click.UsageError(f"{path} has {len(scripts)} scripts; choose one with --function: {', '.join(scripts) or 'there is none'}")
    if name in scripts:
        return scripts[name]
    if isinstance(names.get(name), types.FunctionType):
        return jitlang.script(names[name]), None
    raise click.UsageError(f"{path} has no script {name!r}; there are: {', '.join(scripts) or 'none'}")


def program_of(script: Any, module: Any, given: str | None) -> Any:
    """The program of a script for these argument types, else for its annotations. Raises UsageError where neither says all of them."""
    from jitlang.frontend.annotations import type_of_value
    from jitlang.grammar.types import parse_type

    first = [] if module is None else [type_of_value(module)]
    parameters = script.callee.info.parameters[len(first) :]
    try:
        kinds = [p.type for p in parameters] if given is None else [parse_type(t) for t in split(given)]
    except IRError as error:
        raise click.UsageError(f"--types {given}: {error}") from None
    if None in kinds or len(kinds) != len(parameters):
        raise click.UsageError(f"give the types of the parameters with --types: {', '.join(p.name for p in parameters)}")
    return script.callee.program((*first, *kinds))


def split(given: str) -> list[str]:
    """Splits at the commas that stand outside brackets."""
    parts, depth = [""], 0
    for character in given:
        depth += (character in "[(") - (character in "])")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def program_in(archive: Any, name: str | None, path: Path) -> Any:
    """The program of an entry point of that name; without one, the only program. Raises UsageError."""
    points = {p.name: p for p in archive.entry_points}
    if name is None and len(archive.programs) == 1:
        return next(iter(archive.programs.values()))
    if name not in points:
        raise click.UsageError(f"{path}: choose an entry point with --function: {', '.join(points) or 'there is none'}")
    return archive.programs[points[name].program]


# ---- showing it -----------------------------------------------------------------------------------------------------


def syntax_of(script: Any) -> str:
    """The syntax tree of a script's Python function or class."""
    return ast.dump(ast.parse(unindented(inspect.getsource(script.__wrapped__))), indent=1)


def unindented(text: str) -> str:
    """Source without the indentation of its first line, as a statement of its own."""
    import textwrap

    return textwrap.dedent("\n".join(line for line in text.split("\n") if line.strip()))


def _ir(program: Any) -> str:
    from jitlang.ir.printer import print_program

    return print_program(program, ranges=False, hook=repr)


def _optimised(program: Any) -> Any:
    from jitlang.passes.manager import optimise

    return optimise(program)


def _bytecode(program: Any) -> str:
    from jitlang.interpreter.disassembler import disassemble_program

    return disassemble_program(program)


def _llvm(program: Any) -> str:
    from jitlang.runtime.units import module_of

    return module_of(_optimised(program)).text()


def _assembly(program: Any) -> str:
    from jitlang.native import engine

    return engine.assembly(_llvm(program), level=flag("JITLANG_OPT_LEVEL"))


SHOW: dict[str, Callable[[Any], str]] = {
    "ir": _ir,
    "opt": lambda program: _ir(_optimised(program)),
    "bytecode": _bytecode,
    "llvm": _llvm,
    "asm": _assembly,
}
