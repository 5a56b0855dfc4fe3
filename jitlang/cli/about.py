"""Commands that tell about jitlang and the machine: ops, flags, doctor."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import click

from jitlang.cli.words import counted


@click.command("ops")
@click.argument("pattern", default="")
@click.option("--namespace", type=click.Choice(["py", "aten"]), help="Only Python's own operators (py) or only tensor operators (aten).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--markdown", is_flag=True, help="Print the reference page of the documentation.")
def ops_command(pattern: str, namespace: str | None, as_json: bool, markdown: bool) -> None:
    """List operators whose name holds PATTERN: schema, and what each does."""
    import jitlang  # noqa: F401  (registers the rows)
    from jitlang.registry import all_operators

    rows = [row for row in all_operators() if pattern in row.qualified and namespace in (None, row.namespace)]
    rows.sort(key=lambda row: (row.namespace, row.qualified))
    if as_json:
        click.echo(json.dumps([_operator(row) for row in rows], indent=1))
    elif markdown:
        click.echo(operators_page(rows))
    else:
        for row in rows:
            click.echo(f"{row.namespace}::{row.text}\n    {row.doc}")
        click.echo(counted(len(rows), "operator"), err=True)


def _operator(row: Any) -> dict[str, Any]:
    table = {"name": f"{row.namespace}::{row.qualified}", "schema": row.text, "doc": row.doc, "flags": sorted(row.flags)}
    return table | {"variants": list(row.variants) if row.namespace == "aten" else []}


def operators_page(rows: list[Any]) -> str:
    """The reference page: one table for each namespace, made from the rows."""
    titles = {"aten": "Tensor operators", "py": "Operators of Python's own types"}
    parts = ["# Operators", "", "Made by `jitlang ops --markdown` from the operator rows."]
    for namespace, title in titles.items():
        own = [row for row in rows if row.namespace == namespace]
        parts += ["", f"## {title}", "", "| schema | what it does |", "|---|---|"]
        parts += [f"| `{row.text}` | {row.doc} |".replace("||", "\\|\\|") for row in own]
    return "\n".join(parts)


@click.command("flags")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def flags_command(as_json: bool) -> None:
    """List the environment variables that jitlang reads, with their values now."""
    from jitlang.config import FLAGS, flag

    rows = []
    for row in FLAGS:
        try:
            value = flag(row.name)
        except ValueError as error:
            value = f"! {error}"
        rows.append(
            {
                "name": row.name,
                "value": value if value is None or isinstance(value, bool | int | str) else str(value),
                "set": row.name in os.environ,
                "help": row.help,
            }
        )
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    for entry in rows:
        mark = "" if entry["set"] else " (default)"
        click.echo(f"{entry['name']} = {entry['value']!r}{mark}\n    {entry['help']}")


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor_command(as_json: bool) -> None:
    """Check what jitlang needs of this machine: LLVM, CPU, cache, matrix products, threads; and say whether there is a GPU.

    Leaves with exit code 1 where something that is needed does not work.
    """
    found = {name: _examined(check) for name, check in CHECKS.items()}
    if as_json:
        click.echo(json.dumps({name: {"ok": ok, "details": details} for name, (ok, details) in found.items()}, indent=1))
    else:
        for name, (ok, details) in found.items():
            click.echo(f"{click.style('ok ', fg='green') if ok else click.style('BAD', fg='red')} {name:8} {details}")
    if not all(ok for ok, _ in found.values()):
        from jitlang.cli.report import Failed

        raise Failed("something that jitlang needs does not work here")


def _examined(check: Callable[[], str]) -> tuple[bool, str]:
    try:
        return True, check()
    except Exception as error:  # whatever is wrong with the machine is what this command is there to show
        return False, f"{type(error).__name__}: {error}"


def _python() -> str:
    if platform.python_implementation() != "CPython" or not (3, 11) <= sys.version_info[:2] <= (3, 14):
        raise RuntimeError(f"{platform.python_implementation()} {platform.python_version()}; CPython 3.11 to 3.14 is supported")
    return f"CPython {platform.python_version()} on {platform.system()} {platform.machine()}"


def _llvm() -> str:
    from jitlang.native import engine

    host = engine.host()
    return f"LLVM {host.llvm} (llvmlite {host.llvmlite}), {host.triple}"


def _cpu() -> str:
    from jitlang.native import engine

    host = engine.host()
    wide = [name for name in ("avx2", "avx512f", "amx-tile", "neon", "sve") if f"+{name}" in host.features.split(",")]
    return f"{host.cpu}, {len(os.sched_getaffinity(0))} cores for this process; {' '.join(wide) or 'no wide vectors'}"


def _cache() -> str:
    from jitlang.native import cache

    folder = cache.folder()
    if folder is None:
        return "off (JITLANG_CACHE_DIR is empty)"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            writable = "writable"
    except OSError as error:
        writable = f"cannot be written ({error.strerror}): new code is compiled in each process"
    files = [p for p in folder.rglob("*") if p.is_file()] if folder.is_dir() else []
    size = sum(p.stat().st_size for p in files)
    return f"{folder}: {len(files)} files, {size / 1e6:.1f} MB, {writable}"


def _products() -> str:
    from jitlang.native import engine, tiles

    shape = tiles.geometry("f32", engine.host().features, platform.machine())
    fused = "fused multiply-add" if shape.fused else "multiply and add"
    return f"none used: products run on generated tiles, here of {shape.rows} rows of {shape.vectors} registers of {shape.width} floats, {fused}"


def _threads() -> str:
    import jitlang

    return f"{jitlang.get_num_threads()} for tensor kernels"


def _compile() -> str:
    import time

    from jitlang.native import engine

    start = time.perf_counter()
    text = "define i64 @doctor(i64 %x) {\n  %y = mul i64 %x, 6\n  ret i64 %y\n}\n"
    address = engine.link(engine.compile_ir(text, level=0), ["doctor"])["doctor"]

    answer = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(7)
    if answer != 42:
        raise RuntimeError(f"compiled code says 6 * 7 = {answer}")
    return f"a function compiled, linked and run in {(time.perf_counter() - start) * 1e3:.1f} ms"


def _gpu() -> str:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "none (no CUDA driver); not needed"
    count, version = ctypes.c_int(), ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        return "a CUDA driver, but no device; not needed"
    driver.cuDriverGetVersion(ctypes.byref(version))
    names = []
    for index in range(count.value):
        name = ctypes.create_string_buffer(256)
        driver.cuDeviceGetName(name, 256, index)
        names.append(name.value.decode())
    return f"{', '.join(names)}; CUDA {version.value // 1000}.{version.value % 1000 // 10}"


CHECKS: dict[str, Callable[[], str]] = {
    "Python": _python,
    "LLVM": _llvm,
    "CPU": _cpu,
    "compiler": _compile,
    "cache": _cache,
    "BLAS": _products,
    "threads": _threads,
    "GPU": _gpu,
}
