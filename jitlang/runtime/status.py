"""What has become of a script function: its specialisations, their tiers, and what compiling them took."""

from __future__ import annotations

import dataclasses
from typing import Any

from jitlang.runtime import background


@dataclasses.dataclass(frozen=True)
class SpecialisationStatus:
    """One specialisation. Times are in seconds; `cache_hit` says whether its code came from the disk; `failure` why it stays in the VM."""

    arguments: tuple[str, ...]
    tier: str
    calls_in_vm: int
    frontend_seconds: float
    compile_seconds: float | None
    cache_hit: bool | None
    failure: str = ""


def status(function: Any) -> list[SpecialisationStatus]:
    """The specialisations of a script function (or of an operator), in the order in which they were made.

    Raises:
        TypeError: `function` is no script function.
    """
    found = getattr(function, "specialisations", None)
    if found is None:
        raise TypeError(f"status() takes a script function, not {type(function).__name__}")
    return [
        SpecialisationStatus(
            tuple(map(str, s.key)) if isinstance(s.key, tuple) else (str(s.key),),
            s.tier,
            s.calls,
            s.frontend_seconds,
            s.unit.seconds if s.unit is not None else None,
            s.unit.cache_hit if s.unit is not None else None,
            s.failure,
        )
        for s in list(found.values())
    ]


def wait_for_compilation(seconds: float | None = None) -> bool:
    """Waits until the background compiler has nothing left to do; False if that took longer than `seconds`."""
    return background.wait(seconds)
