"""What the documents say about the tree: folders, layers, links and recipes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.packaging.test_layers import LAYERS, files

ROOT = Path(__file__).parents[2]
LAYOUT = (ROOT / "docs" / "layout.md").read_text("utf-8")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \|", re.MULTILINE)


def paths_in(cell: str) -> list[str]:
    return [p.rstrip("/") for p in re.findall(r"`([^`]+)`", cell)]


def test_layout_names_each_folder_with_code() -> None:
    named = {p for _, cell, _ in ROW.findall(LAYOUT) for p in paths_in(cell)}
    for path in sorted(named):
        assert list(ROOT.glob(path)), f"docs/layout.md: there is no {path}"
    parts = {f.relative_to(ROOT).parts for f in files()}
    folders = {"/".join(p[:2]) if p[0] == "jitlang" else p[0] for p in parts if len(p) > 2 or p[0] != "jitlang"}
    assert folders <= named, f"docs/layout.md does not say what {folders - named} is for"


def test_layout_has_the_layers_that_are_enforced() -> None:
    found: dict[str, int] = {}
    for level, _, names in ROW.findall(LAYOUT):
        for name in paths_in(names):
            part = name.removeprefix("jitlang.") if name != "jitlang" else "__init__"
            found[part] = int(level)
    enforced = {part: level for level, layer in enumerate(LAYERS) for room in layer for part in room if part != "__main__"}
    assert found == enforced


def test_layout_names_what_stands_at_the_top() -> None:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("no git checkout")
    tops = {line.split("/")[0] for line in done.stdout.splitlines() if "/" in line}
    assert {top for top in tops if f"`{top}/" not in LAYOUT} == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: p.name)
def test_links_lead_somewhere(document: Path) -> None:
    text = document.read_text("utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert "://" in target or (document.parent / target).exists(), f"{document.name}: {target}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: p.name)
def test_paths_exist(document: Path) -> None:
    """What stands in code marks and begins with a folder of this tree is there."""
    tops = {p.name for p in ROOT.iterdir() if p.is_dir()}
    now = document.read_text("utf-8").split("## Where later work goes")[0]
    for name in re.findall(r"`([\w./*]+)`", now):
        if "/" in name and name.split("/")[0] in tops - {"build"}:
            assert list(ROOT.glob(name.rstrip("/"))), f"{document.name}: {name}"
