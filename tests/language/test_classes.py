"""Script classes: attributes, methods, operators, properties, dataclasses, inheritance, objects passed from Python."""

import dataclasses
from collections.abc import Callable
from typing import Any, Optional

import pytest

from tests.language.oracle import check


class Counter:
    """Counts."""

    step = 2

    def __init__(self, start: int = 0):
        self.value = start
        self.log: list[str] = []

    def up(self, n: int = 1):
        self.value += n * self.step
        self.log.append(f"+{n}")
        return self

    @property
    def double(self):
        return self.value * 2

    @double.setter
    def double(self, v: int):
        self.value = v // 2

    @staticmethod
    def helper(a: int):
        return a + 1

    @classmethod
    def make(cls, n: int):
        return cls(n * 10)

    def __len__(self):
        return self.value

    def __getitem__(self, i: int):
        return self.log[i]

    def __setitem__(self, i: int, v: str):
        self.log[i] = v

    def __contains__(self, s: str):
        return s in self.log

    def __call__(self, x: int):
        return x + self.value

    def __str__(self):
        return f"Counter({self.value})"


def counting(n: int):
    c = Counter(n)
    c.up().up(3)
    d = Counter.make(2)
    d.double = 50
    d.up(n)[0]
    d[0] = "first"
    return c.value, c.double, c.log, d.value, len(c), c[0], d[0], "+1" in c, c(5), str(c), f"{d}", Counter.helper(3), c.step, Counter.step, bool(c)


class Vec:
    def __init__(self, x: float, y: float):
        self.x, self.y = x, y

    def __add__(self, o: "Vec") -> "Vec":
        return Vec(self.x + o.x, self.y + o.y)

    def __mul__(self, k: float) -> "Vec":
        return Vec(self.x * k, self.y * k)

    def __rmul__(self, k: float) -> "Vec":
        return self * k

    def __neg__(self):
        return Vec(-self.x, -self.y)

    def __iadd__(self, o: "Vec"):
        self.x += o.x
        self.y += o.y
        return self

    def __eq__(self, o: "Vec") -> bool:
        return self.x == o.x and self.y == o.y

    def __lt__(self, o: "Vec") -> bool:
        return self.x < o.x

    def __abs__(self):
        return (self.x**2 + self.y**2) ** 0.5

    def __repr__(self):
        return f"<{self.x}, {self.y}>"


def vectors(a: float):
    u, v = Vec(a, 1.0), Vec(3.0, 4.0)
    w = u + v * 2.0
    x = 0.5 * v
    before = w
    w += u
    vs = [v, u, x]
    best = min(vs, key=lambda p: p.x)
    return (
        w,
        before.x,
        before is w,
        -u,
        u == v,
        u != v,
        u < v,
        u > v,
        abs(v),
        repr(x),
        str(u),
        f"{v}",
        u == Vec(a, 1.0),
        best,
        max(vs, key=abs),
        u in vs,
        vs.index(u),
        Vec(9.0, 9.0) in vs,
    )


class Node:
    def __init__(self, key: int):
        self.key = key
        self.next: Optional["Node"] = None


class Stack:
    def __init__(self):
        self.top: Optional[Node] = None
        self.size = 0

    def push(self, key: int):
        node = Node(key)
        node.next = self.top
        self.top = node
        self.size += 1

    def pop(self) -> int:
        node = self.top
        if node is None:
            raise IndexError("pop from empty stack")
        self.top = node.next
        self.size -= 1
        return node.key


def linked(n: int):
    s = Stack()
    for i in range(n):
        s.push(i * i)
    keys = []
    node = s.top
    while node is not None:
        keys.append(node.key)
        node = node.next
    return keys, s.pop(), s.size


def empty_stack():
    return Stack().pop()


class Lazy:
    def __init__(self):
        self.cache = None
        self.items = []
        self.table = {}

    def get(self, k: str):
        if self.cache is None:
            self.cache = k + "!"
        self.items.append(len(k))
        self.table[k] = self.items[-1]
        return self.cache


def lazy():
    a = Lazy()
    return a.get("x"), a.get("yy"), a.items, a.table, a.cache


class Shape:
    sides = 0

    def __init__(self, name: str):
        self.name = name

    def area(self) -> float:
        raise NotImplementedError

    def describe(self):
        return f"{self.name} {self.sides} {self.area():.2f}"


class Square(Shape):
    sides = 4

    def __init__(self, side: float):
        super().__init__("square")
        self.side = side

    def area(self):
        return self.side**2


class Cube(Square):
    sides = 6

    def area(self):
        return super().area() * 6


def shapes(x: float):
    return Square(x).describe(), Cube(x).describe(), isinstance(Cube(x), Shape), isinstance(Square(x), Cube)


def abstract():
    return Shape("x").describe()


@dataclasses.dataclass(order=True)
class Item:
    price: float
    name: str = "?"
    tags: list[str] = dataclasses.field(default_factory=list)

    def total(self, n: int):
        return self.price * n


def items():
    a, b = Item(2.5, "a"), Item(1.0, "b", ["x"])
    a.tags.append("t")
    ordered = [i.name for i in sorted([a, b], key=lambda i: i.price)]
    return a, b.total(3), a == Item(2.5, "a", ["t"]), a == b, a < b, str(b), repr(Item(3.0)), sorted([i.price for i in [a, b]]), ordered


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: int
    y: int = 0

    def __post_init__(self):
        if self.x < 0:
            raise ValueError(f"bad {self}")

    def moved(self, n: int) -> "Frozen":
        return dataclasses.replace(self, x=self.x + n) if n < 0 else Frozen(self.x + n, self.y)


def frozen(n: int):
    f = Frozen(n)
    return f.moved(3), f.moved(-1), f == Frozen(n, 0), f


def containers_of_objects(n: int):
    vs = [Vec(float(i), 0.0) for i in range(n)]
    by_name = {f"v{i}": v for i, v in enumerate(vs)}
    by_name["v0"].x = 7.5
    vs[1] += Vec(1.0, 1.0)
    pairs = [(v.x, v) for v in vs]
    return [v.x for v in vs], pairs[1][1].y, by_name["v0"].x, vs[0].x, len(by_name), sum(v.x for v in vs)


def changes_argument(c: Counter, v: Vec):
    c.up(5)
    v.x = 8.0
    c.log.append("seen")
    return c.value, v.y, c.double


class Matrix:
    def __init__(self, rows: list[list[float]]):
        self.rows = rows

    def __matmul__(self, o: "Matrix") -> "Matrix":
        return Matrix([[sum(a * b for a, b in zip(r, c)) for c in zip_columns(o.rows)] for r in self.rows])

    def __getitem__(self, at: tuple[int, int]) -> float:
        return self.rows[at[0]][at[1]]

    def __bool__(self):
        return len(self.rows) > 0


def zip_columns(rows: list[list[float]]) -> list[list[float]]:
    return [[r[j] for r in rows] for j in range(len(rows[0]))]


def matrices(a: list[list[float]]):
    m = Matrix(a)
    p = m @ m
    return p.rows, p[0, 1], bool(m), "yes" if m else "no", not m


def attribute_tools(n: int):
    c = Counter(n)
    setattr(c, "value", 9)
    return getattr(c, "value"), hasattr(c, "log"), hasattr(c, "nope"), getattr(c, "nope", 3)


def aliased(n: int):
    a = Counter(n)
    b = a
    b.up()
    cs = [a] * 2
    cs[1].up()
    return a.value, a is b, a is cs[0], cs[0] is not Counter(n)


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (counting, (3,)),
    (vectors, (1.5,)),
    (linked, (4,)),
    (empty_stack, ()),
    (lazy, ()),
    (shapes, (1.5,)),
    (abstract, ()),
    (items, ()),
    (frozen, (2,)),
    (frozen, (-2,)),
    (containers_of_objects, (3,)),
    (changes_argument, (Counter(3), Vec(1.0, 2.0))),
    (matrices, ([[1.0, 2.0], [3.0, 4.0]],)),
    (attribute_tools, (2,)),
    (aliased, (2,)),
]


@pytest.mark.parametrize(("function", "args"), CASES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_classes(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(function, *args)


class Partly:
    def __init__(self, n: int):
        self.reset(n)
        if n > 0:
            self.items = [n]
        for i in range(n):
            self.last = i

    def reset(self, n: int):
        self.count = n

    def size(self):
        return len(self.items)

    def total(self):
        return self.last + self.count


def missing_list(n: int):
    return Partly(n).size()


def missing_number(n: int):
    return Partly(n).total()


@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize("function", [missing_list, missing_number])
def test_an_attribute_may_be_missing(function: Callable[..., Any], n: int) -> None:
    check(function, n, messages=True)
