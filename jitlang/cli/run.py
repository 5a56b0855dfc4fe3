"""``jitlang run``: an entry point of an archive on inputs from files and literals."""

from __future__ import annotations

import functools
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from jitlang.cli.files import PATH, open_archive, replacing
from jitlang.cli.report import BadFile, ScriptRaised
from jitlang.cli.values import WrongInput, as_json, changed, parse_input, save_result
from jitlang.cli.words import counted, duration
from jitlang.errors import JitlangError
from jitlang.schema import MISSING


@click.command("run")
@click.argument("file", type=PATH)
@click.option("--entry", metavar="NAME", help="The entry point; needed where there are several and none is called forward.")
@click.option(
    "--input", "inputs", multiple=True, metavar="NAME=VALUE", help="An argument: a .npy, .npz or .json file, or a Python literal. May be given many times."
)
@click.option(
    "--output", metavar="DIR|-", help="Write tensors as .npy and the rest as .json to DIR; '-' prints JSON, on a line of its own after what the script prints."
)
@click.option("--time", "repeats", type=click.IntRange(min=1), metavar="N", help="Run N more times and print the times to standard error.")
def run_command(file: Path, entry: str | None, inputs: tuple[str, ...], output: str | None, repeats: int | None) -> None:
    """Run an entry point of the archive FILE. Needs nothing but the file: no source, no Python of the model.

    \b
    jitlang run model.jlm --input x=x.npy --output results
    jitlang run model.jlm --entry scale --input "x=[1.0, 2.0]" --input factor=3
    """
    archive = open_archive(file)
    point, arguments = best_fit(choose_entry(archive, entry, file), inputs)
    from jitlang.serialization.loading import entry_points, from_archive

    function = entry_points(from_archive(archive))[point.name]
    positional, named = in_order(point, arguments)
    call = functools.partial(function, *positional, **named)
    start = time.perf_counter()
    result = called(call)
    first = time.perf_counter() - start
    deliver(result, output)
    if repeats is not None:
        show_times(first, measured(call, repeats))


def choose_entry(archive: Any, name: str | None, file: Path) -> list[Any]:
    """The forms of the entry point of that name; without a name, of the only one or ``forward``. Raises UsageError."""
    names = list(dict.fromkeys(point.name for point in archive.entry_points))
    if name is None:
        name = names[0] if len(names) == 1 else "forward"
        if name not in names:
            raise click.UsageError(f"{file} has several entry points: choose one with --entry: {', '.join(names) or 'none'}")
    if name not in names:
        raise click.UsageError(f"{file} has no entry point {name!r}; there are: {', '.join(names) or 'none'}")
    return [point for point in archive.entry_points if point.name == name]


def best_fit(points: list[Any], inputs: tuple[str, ...]) -> tuple[Any, dict[str, Any]]:
    """The form of an entry point that takes the inputs with the least change to what they say, and the arguments. Raises UsageError where none does."""
    fitting, reasons = [], []
    for point in points:
        try:
            fitting.append((point, *read_arguments(point, inputs)))
        except WrongInput as error:
            reasons.append(error)
    if fitting:
        point, arguments, _ = min(fitting, key=lambda found: found[2])
        return point, arguments
    if len(points) == 1:
        raise reasons[0]
    forms = [f"\n  {point}: {reason.format_message()}" for point, reason in zip(points, reasons, strict=True)]
    raise WrongInput(f"no form of {points[0].name} takes these inputs" + "".join(forms))


def read_arguments(point: Any, inputs: tuple[str, ...]) -> tuple[dict[str, Any], int]:
    """The arguments, by name, and how far they are from what the inputs say. Raises WrongInput: names that are unknown, missing or given twice; values that do not fit."""
    from jitlang.grammar.types import parse_type

    parameters = {p.name: p for p in point.parameters}
    arguments: dict[str, Any] = {}
    change = 0
    for item in inputs:
        name, equals, text = item.partition("=")
        if not equals:
            raise WrongInput(f"--input {item}: expected NAME=VALUE")
        if name not in parameters:
            raise WrongInput(f"{point.name} has no parameter {name!r}: {point}")
        if name in arguments:
            raise WrongInput(f"the input {name!r} is given twice")
        arguments[name] = parse_input(name, text, parse_type(parameters[name].type))
        change += changed(text, arguments[name])
    missing = [p.name for p in point.parameters if p.default is MISSING and p.name not in arguments]
    if missing:
        raise WrongInput(f"missing --input {', '.join(f'{n}=…' for n in missing)} for {point}")
    return arguments, change


def in_order(point: Any, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments as positional ones, as far as there is none missing before, and the rest by name."""
    positional = []
    for parameter in point.parameters:
        if parameter.keyword_only or parameter.name not in arguments:
            break
        positional.append(arguments[parameter.name])
    return positional, {p.name: arguments[p.name] for p in point.parameters[len(positional) :] if p.name in arguments}


def called(call: Callable[[], Any]) -> Any:
    """The result; what the script raises becomes ScriptRaised."""
    try:
        return call()
    except JitlangError:
        raise
    except BaseException as error:
        raise ScriptRaised from error


def deliver(result: Any, output: str | None) -> None:
    """Prints a result, or writes it to files."""
    if output is None:
        if result is not None:
            click.echo(repr(result))
    elif output == "-":
        click.echo(json.dumps(as_json(result), allow_nan=False))
    else:
        folder = Path(output)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = "it is no folder" if folder.exists() and not folder.is_dir() else error.strerror
            raise BadFile(f"--output {output}: {reason}") from None
        for path in save_result(result, folder, _write):
            click.echo(f"wrote {path}", err=True)


def _write(path: Path, fill: Callable[[Any], None]) -> None:
    with replacing(path) as stream:
        fill(stream)


def measured(call: Callable[[], Any], repeats: int) -> list[float]:
    """Seconds of each of `repeats` calls; a progress bar where standard error is a terminal."""
    times = []
    with click.progressbar(length=repeats, label="timing", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        for _ in range(repeats):
            start = time.perf_counter()
            called(call)
            times.append(time.perf_counter() - start)
            bar.update(1)
    return times


def show_times(first: float, times: list[float]) -> None:
    """The first call, and median and fastest of the others."""
    middle, least = duration(statistics.median(times)), duration(min(times))
    click.echo(f"first call {duration(first)}; then {counted(len(times), 'call')}: median {middle}, fastest {least}", err=True)
