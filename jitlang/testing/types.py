"""The types of generated programs, and values of them as source text.

A type is a name (``int``) or a tuple: ``("list", t)``, ``("dict", k, v)``, ``("tuple", t, …)``, ``("opt", t)``, ``("tensor", dtype, rank)``,
``("object", name of the class, t, …)``: the class's attributes are `a0`, `a1`, …
"""

from __future__ import annotations

import random
from typing import Any

Kind = Any  # str or a tuple that begins with one
Random = random.Random

SCALARS: tuple[Kind, ...] = ("int", "float", "bool", "str")
CONTAINERS: tuple[Kind, ...] = (
    ("list", "int"),
    ("list", "float"),
    ("list", "str"),
    ("list", "bool"),
    ("list", ("list", "int")),
    ("list", ("tuple", "int", "str")),
    ("dict", "str", "int"),
    ("dict", "int", "float"),
    ("dict", "int", "str"),
    ("dict", "str", ("list", "int")),
    ("dict", ("tuple", "int", "int"), "int"),
)
TUPLES: tuple[Kind, ...] = (("tuple", "int", "str"), ("tuple", "int", "int"), ("tuple", "float", "bool", "int"), ("tuple", "str", ("list", "int")))
OPTIONALS: tuple[Kind, ...] = (("opt", "int"), ("opt", "str"), ("opt", "float"), ("opt", ("list", "int")))
TENSORS: tuple[Kind, ...] = tuple(("tensor", d, r) for d in ("float32", "float64", "int64") for r in (1, 2))
INTS = ("0", "1", "2", "3", "-1", "-2", "5", "7", "10", "-7", "100")
WIDE_INTS = ("9223372036854775807", "(-9223372036854775807 - 1)", "4611686018427387904", "9007199254740993", "-4294967296", "3037000500")
FLOATS = ("0.0", "1.0", "0.5", "-1.5", "2.25", "3.0", "-0.0", "0.1", "10.0", "-7.75")
WIDE_FLOATS = ("1e308", "-1e308", "5e-324", "math.inf", "-math.inf", "math.nan", "1e16", "9007199254740993.0", "1e22")
STRINGS = ("", "a", "b", "ab", "Abc", "x y", "  pad ", "12", "-3", "é", "日本", "a,b,c", "\n", "😀k", "aXbXc", "'q'", "0")
DTYPES = {"float32": "jl.float32", "float64": "jl.float64", "int64": "jl.int64", "bool": "jl.bool"}


def annotation(kind: Kind) -> str:
    """A type as an annotation."""
    if isinstance(kind, str):
        return kind
    head, *rest = kind
    if head == "tensor":
        return "jl.Tensor"
    if head == "opt":
        return f"Optional[{annotation(rest[0])}]"
    if head == "object":
        return str(rest[0])
    return f"{head}[{', '.join(map(annotation, rest))}]"


def is_tensor(kind: Kind) -> bool:
    """Whether it is a tensor's type."""
    return isinstance(kind, tuple) and kind[0] == "tensor"


def is_object(kind: Kind) -> bool:
    """Whether it is a class."""
    return isinstance(kind, tuple) and kind[0] == "object"


def attributes(kind: Kind) -> dict[str, Kind]:
    """The attributes of a class; of any other type none."""
    return {f"a{i}": t for i, t in enumerate(kind[2:])} if is_object(kind) else {}


def grows(kind: Kind) -> bool:
    """Whether it is a list or a dict."""
    return isinstance(kind, tuple) and kind[0] in ("list", "dict")


def number(rng: Random, kind: str) -> str:
    """A literal of an int or a float; one in eight is at the edge of the range."""
    plain, wide = (INTS, WIDE_INTS) if kind == "int" else (FLOATS, WIDE_FLOATS)
    return rng.choice(wide if rng.random() < 0.12 else plain)


def literal(rng: Random, kind: Kind, depth: int = 0) -> str:
    """Source text of a value."""
    if kind in ("int", "float"):
        return number(rng, kind)
    if kind == "bool":
        return rng.choice(("True", "False"))
    if kind == "str":
        return repr(rng.choice(STRINGS))
    head, *rest = kind
    size = rng.choice((0, 1, 2, 3, 4))
    if head == "list":
        return "[" + ", ".join(literal(rng, rest[0], depth + 1) for _ in range(size)) + "]"
    if head == "dict":
        return "{" + ", ".join(f"{literal(rng, rest[0])}: {literal(rng, rest[1], depth + 1)}" for _ in range(size)) + "}"
    if head == "tuple":
        return "(" + ", ".join(literal(rng, t, depth + 1) for t in rest) + ")"
    if head == "object":
        return f"{rest[0]}({', '.join(literal(rng, t, depth + 1) for t in rest[1:])})"
    if head == "opt":
        return "None" if rng.random() < 0.4 else literal(rng, rest[0])
    return tensor(rng, rest[0], rest[1])


def tensor(rng: Random, dtype: str, rank: int) -> str:
    """Source text of a small tensor: 3 elements, or 2 × 3."""
    values: tuple[str, ...] = ("0", "1", "2", "-3", "5", "-1") if dtype == "int64" else ("0.0", "1.5", "-2.0", "0.25", "3.0", "-0.5")
    if dtype != "int64" and rng.random() < 0.1:
        values = (*values, "math.nan", "math.inf")

    def row() -> str:
        return "[" + ", ".join(rng.choice(values) for _ in range(3)) + "]"

    data = rng.choice(values) if rank == 0 else row() if rank == 1 else f"[{row()}, {row()}]"
    return f"jl.tensor({data}, dtype={DTYPES[dtype]})"
