"""The list of packages in pyproject.toml is the folders that have an ``__init__.py``; the links stand; nothing hides."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
LINKED = ("grammar", "interpreter", "tensor")


def package_of(folder: Path) -> str:
    parts = folder.relative_to(ROOT).parts
    return ".".join(parts if parts[0] == "jitlang" else ("jitlang", *parts))


def package_folders() -> list[Path]:
    tops = [ROOT / "jitlang", *(ROOT / name for name in LINKED)]
    links = [ROOT / "jitlang" / name for name in LINKED]
    folders = [p.parent for top in tops for p in top.rglob("__init__.py")]
    return [f for f in folders if not any(link == f or link in f.parents for link in links)]


def test_pyproject_lists_every_package() -> None:
    assert sorted(SETTINGS["packages"]) == sorted(package_of(f) for f in package_folders())


def test_every_folder_with_python_files_is_a_package() -> None:
    for top in (ROOT / "jitlang", *(ROOT / name for name in LINKED)):
        for file in top.rglob("*.py"):
            assert (file.parent / "__init__.py").exists(), file


def test_the_links_point_to_the_top_level_folders() -> None:
    for name in LINKED:
        link = ROOT / "jitlang" / name
        assert link.is_symlink()
        assert str(link.readlink()) == f"../{name}"
        assert SETTINGS["package-dir"][f"jitlang.{name}"] == name


@pytest.mark.parametrize("name", LINKED)
def test_the_folders_cannot_be_imported_by_their_bare_name(name: str) -> None:
    run = subprocess.run([sys.executable, "-c", f"import {name}"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode != 0
    assert f"import this package as jitlang.{name}" in run.stderr


def data_files(folder: Path) -> list[Path]:
    """What belongs to a package and is no Python: beside its modules, or in folders below that are no packages."""
    found: list[Path] = []
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink() and entry.name != "__pycache__" and not (entry / "__init__.py").exists():
            found += [p for p in entry.rglob("*") if p.is_file()]
        elif entry.is_file() and entry.suffix not in (".py", ".pyc"):
            found.append(entry)
    return found


def test_data_files_beside_the_code_are_packaged() -> None:
    patterns = SETTINGS["package-data"]
    for folder in package_folders():
        wanted = [*patterns.get("*", ()), *patterns.get(package_of(folder), ())]
        for file in data_files(folder):
            assert any(file.relative_to(folder).match(p) for p in wanted), f"{file.relative_to(ROOT)} is not in package-data"


def test_what_the_type_checker_is_told_to_leave_out_is_there() -> None:
    overrides = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]["overrides"]
    for name in (m for o in overrides for m in ([o["module"]] if isinstance(o["module"], str) else o["module"])):
        parts = name.removesuffix(".*").split(".")
        if parts[0] in ("jitlang", "tests"):
            place = ROOT.joinpath(*parts)
            assert place.is_dir() if name.endswith(".*") else place.with_suffix(".py").exists() or place.is_dir(), f"mypy override: there is no {name}"
