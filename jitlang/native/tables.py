"""Keeps the tables of the grammars' parsers in the object cache. In: bytes by name. Out: the same bytes in a later process."""

from __future__ import annotations

from jitlang.native import cache


class CachedTables:
    """The `jitlang.grammar.loader.Tables` of this user."""

    def load(self, name: str) -> bytes | None:
        """What an earlier process stored under `name`, or None; an entry is good for one state of jitlang's files, as code is."""
        found = cache.load(_key(name))
        return None if found is None else found[1]

    def store(self, name: str, data: bytes) -> None:
        """Keeps `data` if the cache can be written."""
        cache.store(_key(name), {}, data)


def _key(name: str) -> str:
    return cache.key(["tables", name], level=0)
