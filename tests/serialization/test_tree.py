"""State trees: values, shared and cyclic references, and documents that are no trees."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from jitlang.errors import ArchiveError
from jitlang.serialization.tree import Decoder, Encoder


class Point:
    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


def attributes(value: Any) -> tuple[str, dict[str, Any]]:
    if not isinstance(value, Point):
        raise TypeError(f"a {type(value).__name__} cannot be stored")
    return "Point", vars(value)


def new(name: str) -> Point:
    return {"Point": Point}[name]()


def fill(value: Any, fields: dict[str, Any]) -> None:
    vars(value).update(fields)


def encoded(value: Any) -> dict[str, Any]:
    return Encoder(lambda v: ["bytes", v.hex()] if isinstance(v, bytes) else None, attributes).encode(value)


def decoded(document: Any) -> Any:
    return Decoder(document, "state.json", lambda leaf: bytes.fromhex(leaf[1]), new, fill).decode()


def through(value: Any) -> Any:
    return decoded(json.loads(json.dumps(encoded(value), allow_nan=False)))


@pytest.mark.parametrize(
    "value", [None, True, 0, -(2**63), 1.0, 0.1, -0.0, math.inf, "ü\n\ud800", (), (1, (2.0, "x")), [], [1, [2]], {}, {1: "a", (1, 2): []}, {3, 4}, b"leaf"]
)
def test_values(value: Any) -> None:
    back = through(value)
    assert back == value and repr(back) == repr(value)


def test_nan_and_types() -> None:
    assert math.isnan(through(math.nan))
    assert [type(v) for v in through([1, 1.0, True])] == [int, float, bool]


def test_shared_and_cyclic() -> None:
    shared = [1]
    root = Point(a=shared, b=(shared, {"k": shared}))
    root.me = root  # type: ignore[attr-defined]
    back = through(root)
    assert back.me is back and back.a is back.b[0] and back.a is back.b[1]["k"] and back.a == [1]


def test_order_of_dicts() -> None:
    assert list(through({"z": 1, "a": 2})) == ["z", "a"]


def test_long_chains_need_no_recursion() -> None:
    head: list[Any] = []
    for _ in range(50_000):
        head = [head]
    back = through(head)
    for _ in range(50_000):
        (back,) = back
    assert back == []


def test_what_cannot_be_stored() -> None:
    with pytest.raises(TypeError, match="a object cannot be stored"):
        encoded([object()])
    with pytest.raises(ValueError, match="does not fit in 64 bits"):
        encoded(2**63)
    deep: tuple[Any, ...] = ()
    for _ in range(200):
        deep = (deep,)
    with pytest.raises(ValueError, match="nested more than"):
        encoded(deep)


def nested(n: int) -> Any:
    atom: Any = None
    for _ in range(n):
        atom = {"tuple": [atom]}
    return atom


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        {"root": 1},
        {"root": 1, "cells": 3},
        {"root": {"cell": 0}, "cells": []},
        {"root": {"cell": True}, "cells": [{"list": []}]},
        {"root": {"cell": -1}, "cells": [{"list": []}]},
        {"root": {"other": 0}, "cells": []},
        {"root": {"tuple": [], "cell": 0}, "cells": []},
        {"root": {}, "cells": []},
        {"root": [1], "cells": []},
        {"root": 2**63, "cells": []},
        {"root": {"float": "wide"}, "cells": []},
        {"root": {"float": 3}, "cells": []},
        {"root": 1, "cells": [{"bag": []}]},
        {"root": 1, "cells": [3]},
        {"root": 1, "cells": [{"object": "Unknown", "attributes": {}}]},
        {"root": 1, "cells": [{"object": "Point"}]},
        {"root": 1, "cells": [{"dict": [[1]]}]},
        {"root": 1, "cells": [{"dict": [[{"cell": 0}, 1]]}]},
        {"root": 1, "cells": [{"list": {"a": 1}}]},
        {"root": {"leaf": 3}, "cells": []},
        {"root": nested(5000), "cells": []},
    ],
)
def test_documents_that_are_no_trees(document: Any) -> None:
    with pytest.raises(ArchiveError, match=r"entry 'state\.json': not a tree of values"):
        decoded(document)
