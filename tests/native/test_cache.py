"""The object cache: hits, damage, folders that cannot be used, several processes, eviction."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jitlang.native import cache, engine

IR = "define i64 @f() {\n ret i64 42\n}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JITLANG_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file())


def test_round_trip(folder: Path) -> None:
    code, metadata, hit = cache.cached_object(["f"], lambda: (IR, {"exports": ["f"]}), level=1)
    assert not hit
    again = cache.cached_object(["f"], lambda: pytest.fail("compiled again"), level=1)
    assert again == (code, {"exports": ["f"]}, True)
    assert metadata == {"exports": ["f"]}
    assert code == engine.compile_ir(IR, level=1)


def test_keys_differ_by_each_part() -> None:
    names = {cache.key(parts, level=level) for parts in (["a", "b"], ["ab"], ["a", "c"], [b"a"]) for level in (0, 1)}
    assert len(names) == 8
    assert cache.key(["a"], level=1) != cache.key(["a"], level=1, whole_package=False)


def test_damage_is_a_miss(folder: Path) -> None:
    name = cache.key(["x"], level=0)
    assert cache.store(name, {"a": 1}, b"code" * 100)
    assert cache.load(name) == ({"a": 1}, b"code" * 100)
    (path,) = files(folder)
    whole = path.read_bytes()
    for damaged in [whole[:n] for n in range(0, len(whole), 7)] + [whole[:i] + bytes([whole[i] ^ 4]) + whole[i + 1 :] for i in range(0, len(whole), 5)]:
        path.write_bytes(damaged)
        assert cache.load(name) is None
    assert cache.store(name, {"a": 1}, b"code" * 100)
    assert cache.load(name) is not None
    path.unlink()
    path.mkdir()
    assert cache.load(name) is None
    assert not cache.store(name, {}, b"")


def test_empty_name_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_CACHE_DIR", "")
    assert cache.folder() is None
    assert not cache.store("ab" * 32, {}, b"")
    assert cache.load("ab" * 32) is None


def test_unusable_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("JITLANG_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert cache.cached_object(["f"], lambda: (IR, {}), level=0)[2] is False
    assert cache.cached_object(["f"], lambda: (IR, {}), level=0)[2] is False


def test_read_only_folder_is_read(folder: Path) -> None:
    cache.cached_object(["f"], lambda: (IR, {}), level=0)
    modes = [(p, p.stat().st_mode) for p in [folder, *folder.iterdir()]]
    for path, _ in modes:
        path.chmod(0o500)
    try:
        assert cache.cached_object(["f"], lambda: pytest.fail("compiled again"), level=0)[2]
        cache.cached_object(["g"], lambda: (IR, {}), level=0)
    finally:
        for path, mode in modes:
            path.chmod(mode)


def test_entries_of_strangers_are_not_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = cache.key(["x"], level=0)
    cache.store(name, {}, b"code")
    monkeypatch.setattr(cache, "_trusted", lambda owner: False)
    assert cache.load(name) is None


def test_eviction_removes_the_oldest(folder: Path) -> None:
    names = [cache.key([str(i)], level=0) for i in range(6)]
    for age, name in enumerate(names):
        cache.store(name, {}, bytes(1000))
        os.utime(cache._path(folder, name), (1e9 + age, 1e9 + age))
    left = folder / names[0][:2] / ".new-abandoned"
    left.write_bytes(b"x")
    os.utime(left, (1, 1))
    size = cache._path(folder, names[0]).stat().st_size
    assert cache.evict(folder, 3 * size) == 4
    assert [cache.load(n) is not None for n in names] == [False] * 3 + [True] * 3


def test_processes_that_write_the_same_entries(folder: Path) -> None:
    program = (
        "from jitlang.native import cache\n"
        "for k in range(200):\n"
        "    name = format(k % 5, '064x')\n"
        "    cache.store(name, {'k': k % 5}, bytes([k % 5]) * 5000)\n"
        "    found = cache.load(name)\n"
        "    assert found == ({'k': k % 5}, bytes([k % 5]) * 5000), found\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "JITLANG_CACHE_DIR": str(folder)}) for _ in range(3)]
    assert [p.wait() for p in running] == [0, 0, 0]
    assert len([f for f in files(folder) if f.stem.startswith("0" * 60)]) == 5  # beside what importing jitlang itself keeps
