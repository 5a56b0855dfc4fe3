"""Rows of strings in native code against their Python meaning: characters of one, two and four bytes."""

import pytest

from tests.codegen.rowcheck import check_row

LAST = 2**63 - 1
TEXTS = ["", "a", "hello world", "\xfcn\xef", "\u4e2d\u6587abc", "\U0001f600x", "  a  b ", "aXbXc", "ab" * 50, "123", "\x1c\t ", "\u2003a\u2003", "Ab1", "\xdf"]
PAIRS = [(a, b) for a in TEXTS for b in ["", "b", "X", "ab", "o w", "\u6587", "\xfc", "hello world!"]]


@pytest.mark.parametrize(
    "name", ["add.str", "eq.str", "ne.str", "lt.str", "le.str", "gt.str", "ge.str", "contains.str", "min.str", "removeprefix", "removesuffix", "partition"]
)
def test_two_strings(name: str) -> None:
    check_row(name, "str; str", *PAIRS)


@pytest.mark.parametrize("name", ["find", "rfind", "index.str", "rindex.str", "count.str", "startswith", "endswith"])
def test_search(name: str) -> None:
    bounds = [(0, LAST), (1, 3), (-2, LAST), (99, LAST), (0, -1), (3, 1)]
    check_row(name, "str; str; int; int", *[(*pair, *b) for pair in PAIRS for b in bounds])


def test_parts() -> None:
    check_row("mul.str", "str; int", *[(t, n) for t in TEXTS for n in (0, 1, 3, -1)], ("ab", 2**60))
    check_row("getitem.str", "str; int", *[(t, n) for t in TEXTS for n in (0, 1, -1, 5, -99)])
    bounds = [(a, b, c) for a in (None, 0, 1, -1, 99) for b in (None, 2, -1, 99) for c in (None, 1, 2, -1, 0)]
    check_row("slice.str", "str; Optional[int]; Optional[int]; Optional[int]", *[(t, *b) for t in TEXTS for b in bounds])


@pytest.mark.parametrize(
    "name", ["len.str", "bool.str", "list.str", "upper", "lower", "isalpha", "isalnum", "isdigit", "isspace", "isascii", "title", "ord", "repr.str", "int.str"]
)
def test_one_string(name: str) -> None:
    check_row(name, "str", *[(t,) for t in TEXTS])


@pytest.mark.parametrize("name", ["strip", "lstrip", "rstrip"])
def test_strip(name: str) -> None:
    check_row(name, "str; Optional[str]", *[(t, c) for t in TEXTS for c in (None, "", "a ", "x\u6587c")])


@pytest.mark.parametrize("name", ["split", "rsplit"])
def test_split(name: str) -> None:
    texts = [*TEXTS, "a b  c d ", "  x y", "aXXbX"]
    check_row(name, "str; Optional[str]; int", *[(t, c, n) for t in texts for c in (None, "X", "ab", "", "\u6587") for n in (-1, 0, 1, 2)])


def test_replace_and_join() -> None:
    check_row("replace", "str; str; str; int", *[(*pair, new, n) for pair in PAIRS for new in ("", "Q", "\u4e2d") for n in (-1, 1, 0)])
    check_row("join", "str; List[str]", *[(t, parts) for t in TEXTS for parts in ([], ["a"], ["a", "b"], ["", "\u4e2d", "x"], ["", ""])])


def test_numbers() -> None:
    check_row("str.int", "int", *[(n,) for n in (0, 5, -5, 10, 123456789, -(2**63), LAST, 99, 100)])
    check_row("int.str", "str", *[(t,) for t in ("0", "-5", "+17", " 3 ", "1_000", "", "-", "9" * 18, str(LAST), "9" * 30, "\u0663", "1a")])
    check_row("str.float", "float", (1.0,), (0.1,), (float("inf"),), (1e300,))
    check_row("chr", "int", (0,), (65,), (255,), (256,), (0x10FFFF,), (0x110000,), (-1,), (2**40,))
    check_row("str.any", "Dict[str, Optional[int]]", ({"a": None, "b": 1},))
    check_row("format.float", "float; str", (1.5, ".3f"), (2.0, "zz"))
