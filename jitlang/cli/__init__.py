"""The command line, ``jitlang``. In: arguments. Out: results on standard output, errors in one block on standard error, an exit code.

| module | commands |
|---|---|
| `run` | run |
| `look` | inspect, opt |
| `dump` | dump |
| `about` | ops, flags, doctor |
| `demo` | demo |

`values` converts inputs and results, `report` shows errors, `files` opens what a command is given, `words` writes numbers. A command's module is imported when the command is, so
that ``jitlang --help`` costs little. To add a command, add its row to `COMMANDS` and the function to a module.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import click

# name → module, one line for the list of commands
COMMANDS = {
    "run": ("run", "Run an entry point of an archive."),
    "inspect": ("look", "Show what an archive holds."),
    "dump": ("dump", "Show a function at one stage of its way to machine code."),
    "opt": ("look", "Run passes over IR text."),
    "ops": ("about", "List operators."),
    "flags": ("about", "List the JITLANG_* environment variables."),
    "doctor": ("about", "Check what jitlang needs of this machine."),
    "demo": ("demo", "Train, save and run a model that reads handwritten digits."),
}

EXIT_CODES = """\b
Exit codes:
  0    all went well
  1    the script raised an exception, or a check failed
  2    the command line is wrong: an option, an input, a name
  3    a file cannot be used: archive, source or IR is missing, damaged or does not compile
  130  interrupted (Ctrl-C)
"""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        if cmd_name not in COMMANDS:
            return None
        module, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(f"jitlang.cli.{module}"), f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in the help text, made without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from jitlang.version import VERSION

        click.echo(f"jitlang {VERSION}")
        ctx.exit()


@click.group(cls=LazyGroup, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, callback=_version, expose_value=False, is_eager=True, help="Show the version and exit.")
def cli() -> None:
    """Ordinary Python, compiled to native code, saved as one file, run without its source."""


def main(arguments: list[str] | None = None) -> Any:
    """Runs the command line and leaves the process with the exit code that `EXIT_CODES` says."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123  (for as long as the process lives)
    color = False if os.environ.get("NO_COLOR") else None  # None: where standard output is a terminal
    code = _reported(lambda: cli.main(arguments, prog_name="jitlang", standalone_mode=False, color=color))
    failed = _reported(sys.stdout.flush)
    if failed is not None:
        sys.stdout = None  # what it still holds cannot be written, and must not be tried again at exit
    # CPython remembers a KeyboardInterrupt that left exec of a string (a dataclass being made, say), until the next exec, and
    # would end the process by that signal whatever the exit code.
    exec("")
    sys.exit(code or failed or 0)


def _reported(action: Callable[[], Any]) -> int | None:
    """The exit code of what `action` raises, once it has been reported, or the one it returns."""
    try:
        code = action()
    except BaseException as error:
        from jitlang.cli.report import report

        return report(error)
    return code if isinstance(code, int) else None
