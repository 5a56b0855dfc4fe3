"""Commands that look at archives and IR text: inspect, opt."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import click

from jitlang.cli.files import PATH, open_archive, read_text
from jitlang.cli.report import BadFile
from jitlang.cli.words import counted, size
from jitlang.errors import IRError


@click.command("inspect")
@click.argument("file", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def inspect_command(file: Path, as_json: bool) -> None:
    """Show what the archive FILE holds: entry points, parameters, sizes, operators. Compiles and runs nothing."""
    table = description(open_archive(file), file)
    if as_json:
        click.echo(json.dumps(table, indent=1, ensure_ascii=False))
    else:
        show(table)


def description(archive: Any, file: Path) -> dict[str, Any]:
    """An archive as a table of JSON values."""
    operators: Counter[str] = Counter()
    for program in archive.programs.values():
        for graph in program.functions.values():
            operators.update(node.kind for node in graph.walk() if not node.kind.startswith("prim::"))
    return {
        "file": str(file),
        "bytes": file.stat().st_size,
        "producer": archive.producer,
        "entry_points": [{"name": p.name, "signature": str(p), "doc": p.doc} for p in archive.entry_points],
        "tensors": [{"name": name, "dtype": t.dtype, "shape": list(t.shape), "bytes": t.nbytes} for name, t in archive.tensors.items()],
        "functions": sum(len(p.functions) for p in archive.programs.values()),
        "operators": dict(sorted(operators.items())),
        "entries": archive.sizes,
        "extra": sorted(archive.extra),
    }


def show(table: dict[str, Any]) -> None:
    """Prints the table for people."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, soft_wrap=True)
    console.print(f"{table['file']}: {size(table['bytes'])}, written by {table['producer']}, {counted(table['functions'], 'function')}", markup=False)
    console.print("\nentry points", style="bold")
    for point in table["entry_points"]:
        console.print(f"  {point['signature']}" + (f"\n      {point['doc']}" if point["doc"] else ""), markup=False)
    if table["tensors"]:
        total = sum(math.prod(t["shape"]) for t in table["tensors"])
        console.print(f"\ntensors: {len(table['tensors'])}, {total:,} elements, {size(sum(t['bytes'] for t in table['tensors']))}", style="bold")
        rows = Table(box=None, padding=(0, 1), show_header=False)
        for tensor in table["tensors"]:
            rows.add_row(" " + tensor["name"], tensor["dtype"], str(tensor["shape"]), size(tensor["bytes"]))
        console.print(rows)
    console.print("\noperators", style="bold")
    console.print("  " + (", ".join(f"{name} ×{count}" if count > 1 else name for name, count in table["operators"].items()) or "none"), markup=False)
    console.print("\nentries", style="bold")
    for name, length in table["entries"].items():
        console.print(f"  {name}: {size(length)}", markup=False)


@click.command("opt")
@click.argument("file", type=PATH)
@click.option(
    "-p",
    "--pipeline",
    required=True,
    metavar="PIPELINE",
    help='Passes, "inline,fold,unroll(max_trips=4)", or a level: 0, 1, 2. An empty text only reads and verifies.',
)
@click.option("--ranges", is_flag=True, help="Print source positions too.")
def opt_command(file: Path, pipeline: str, ranges: bool) -> None:
    """Run passes over the IR text FILE ('-': standard input), and print what comes out.

    The flags of the pass manager apply: JITLANG_LOG=passes counts rewrites, JITLANG_DUMP=DIR writes every step, JITLANG_OPT_LIMIT=PASS=N bisects.
    """
    import jitlang  # noqa: F401  (registers the operators)
    from jitlang.ir.printer import print_program
    from jitlang.ir.reader import parse_program
    from jitlang.ir.verifier import verify_program
    from jitlang.passes.manager import passes_of, run_pipeline

    steps: str | int = int(pipeline) if pipeline.strip().isdigit() else pipeline
    try:
        passes_of(steps)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    try:
        program = parse_program(read_text(file))
        verify_program(program)
    except IRError as error:
        raise BadFile(f"{file}: {error}") from None
    run_pipeline(program, steps)
    verify_program(program)
    click.echo(print_program(program, ranges=ranges, texts=ranges), nl=False)
