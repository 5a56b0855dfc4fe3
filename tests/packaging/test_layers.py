"""The layers of docs/design.md: a module imports its own room or a lower layer, never sideways, never upward."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# From the bottom up. A layer holds rooms, a room holds parts that may import one another.
LAYERS: tuple[tuple[frozenset[str], ...], ...] = (
    (frozenset({"errors", "source", "config", "version"}), frozenset({"types", "limits", "schema", "registry"})),
    (frozenset({"grammar"}), frozenset({"operators"})),
    (frozenset({"ir"}),),
    (frozenset({"frontend"}), frozenset({"passes"}), frozenset({"native"})),
    (frozenset({"codegen"}),),
    (frozenset({"tensor"}),),
    (frozenset({"interpreter"}),),
    (frozenset({"runtime"}),),
    (frozenset({"nn"}), frozenset({"serialization"}), frozenset({"testing"})),
    (frozenset({"cli", "jit", "__init__", "__main__"}),),
)
PLACE = {part: (level, room) for level, layer in enumerate(LAYERS) for room in layer for part in room}
# (importing file, imported part): why it may.
ALLOWED = {
    ("jitlang/registry.py", "grammar"): "inside a function: a row's schema is read on first use, so that registering hundreds of rows costs nothing",
}


def files() -> list[Path]:
    found = [p for top in ("jitlang", "grammar", "interpreter", "tensor") for p in (ROOT / top).rglob("*.py")]
    links = [ROOT / "jitlang" / name for name in ("grammar", "interpreter", "tensor")]
    return sorted(p for p in found if not any(link in p.parents for link in links))


def part_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return parts[1] if parts[0] == "jitlang" else parts[0]


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "jitlang":
            names = [f"jitlang.{a.name}" if a.name in PLACE else "jitlang" for a in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [node.module]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "jitlang":
                yield node.lineno, (name.split(".") + ["__init__"])[1]


@pytest.mark.parametrize("file", files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(file: Path) -> None:
    part, name = part_of(file), str(file.relative_to(ROOT))
    assert part in PLACE, f"{name}: say in LAYERS where {part} stands"
    level, room = PLACE[part]
    for line, other in imported(ast.parse(file.read_text("utf-8"))):
        assert other in PLACE, f"{name}:{line} imports jitlang.{other}, which has no place in LAYERS"
        fine = PLACE[other][0] < level or other in room or (name, other) in ALLOWED
        # The types stand on the errors and the flags, though both are at the bottom.
        fine = fine or (level == 0 and PLACE[other][1] == LAYERS[0][0])
        assert fine, f"{name}:{line}: {part} (layer {level}) imports {other} (layer {PLACE[other][0]})"


def test_every_file_is_looked_at() -> None:
    assert len(files()) > 10
    assert {part_of(f) for f in files()} >= {"grammar", "interpreter", "tensor", "ir", "types"}
