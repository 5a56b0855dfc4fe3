"""Random well-typed expressions.

In: a scope of typed names and a kind. Out: source text of an expression of exactly that type. What docs/deviations.md lists is not written
(a list of ints and floats, NaN compared within containers, `sorted` of floats); everything else may raise.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from jitlang.testing.types import (
    CONTAINERS,
    FLOATS,
    OPTIONALS,
    SCALARS,
    STRINGS,
    TENSORS,
    TUPLES,
    Kind,
    Random,
    annotation,
    attributes,
    is_tensor,
    literal,
    number,
    tensor,
)

COMPARE = ("<", "<=", ">", ">=", "==", "!=")


@dataclasses.dataclass(frozen=True)
class Helper:
    """A function that the program may call. `writes`: it changes what it is given."""

    name: str
    parameters: tuple[Kind, ...]
    result: Kind
    writes: bool


@dataclasses.dataclass(frozen=True)
class Method(Helper):
    """A method of the objects of a class."""

    owner: Kind


@dataclasses.dataclass
class Scope:
    """What an expression may refer to. `frozen`: types of which a value is being iterated, so that none may grow."""

    names: dict[str, Kind]
    fixed: frozenset[str] = frozenset()  # not to be assigned: loop variables, narrowed optionals
    frozen: frozenset[Kind] = frozenset()
    loops: int = 0

    def enter(self, names: dict[str, Kind]) -> None:
        """New names; the attributes of objects are names, too."""
        for name, kind in names.items():
            self.names[name] = kind
            self.names.update({f"{name}.{a}": t for a, t in attributes(kind).items()})

    def inner(self, loops: int = 0, fixed: tuple[str, ...] = (), frozen: tuple[Kind, ...] = ()) -> Scope:
        """A scope within this one."""
        return Scope(dict(self.names), self.fixed | set(fixed), self.frozen | set(frozen), self.loops + loops)


class Expressions:
    """Writes expressions. `tensors` says whether the program has any."""

    def __init__(self, rng: Random, tensors: bool) -> None:
        self.rng = rng
        self.tensors = tensors
        self.helpers: list[Helper] = []
        self.counter = 0
        self.depth = rng.choice((1, 2, 2, 2, 3))

    def fresh(self, prefix: str = "v") -> str:
        """A new name."""
        self.counter += 1
        return f"{prefix}{self.counter}"

    def chance(self, p: float) -> bool:
        """True with probability `p`."""
        return self.rng.random() < p

    def kind(self) -> Kind:
        """A type for a new variable."""
        groups = [SCALARS, SCALARS, CONTAINERS, TUPLES, OPTIONALS] + ([TENSORS, TENSORS] if self.tensors else [])
        return self.rng.choice(self.rng.choice(groups))

    def named(self, s: Scope, kind: Kind) -> list[str]:
        """The names of a type."""
        return [n for n, k in s.names.items() if k == kind]

    def expr(self, s: Scope, kind: Kind, depth: int | None = None) -> str:
        """An expression of type `kind`."""
        depth = self.depth if depth is None else depth
        names = self.named(s, kind)
        if names and self.chance(0.35 if depth > 0 else 0.75):
            return self.rng.choice(names)
        if depth <= 0:
            return self.leaf(kind)
        d = depth - 1
        if self.chance(0.06):
            return f"({self.expr(s, kind, d)} if {self.expr(s, 'bool', d)} else {self.expr(s, kind, d)})"
        if self.chance(0.08):
            called = self.call(s, kind, d)
            if called:
                return called
        if self.chance(0.12):
            found = self.element(s, kind, d)
            if found:
                return found
        if isinstance(kind, str):
            makers = {"int": self.int_, "float": self.float_, "bool": self.bool_, "str": self.str_}
            return makers[kind](s, d)
        containers = {"list": self.list_, "dict": self.dict_, "tuple": self.tuple_, "opt": self.opt_, "tensor": self.tensor_, "object": self.object_}
        return containers[kind[0]](s, kind, d)

    def object_(self, s: Scope, kind: Kind, d: int) -> str:
        """A new object."""
        return f"{kind[1]}({', '.join(self.expr(s, t, d) for t in kind[2:])})"

    def leaf(self, kind: Kind) -> str:
        """An expression without names. Empty displays say their type."""
        text = literal(self.rng, kind)
        if text in ("[]", "{}") or (not isinstance(kind, str) and ("[]" in text or "{}" in text or "None" in text)):
            text = self.full(kind)
        return text

    def full(self, kind: Kind) -> str:
        """A literal in which no container is empty and nothing is None, so that its type is plain."""
        if isinstance(kind, str):
            return literal(self.rng, kind)
        head, *rest = kind
        if head == "tensor":
            return tensor(self.rng, rest[0], rest[1])
        if head == "list":
            return "[" + ", ".join(self.full(rest[0]) for _ in range(self.rng.choice((1, 2, 3)))) + "]"
        if head == "dict":
            return "{" + ", ".join(f"{self.full(rest[0])}: {self.full(rest[1])}" for _ in range(self.rng.choice((1, 2)))) + "}"
        if head == "tuple":
            return "(" + ", ".join(self.full(t) for t in rest) + ")"
        if head == "object":
            return f"{rest[0]}({', '.join(self.full(t) for t in rest[1:])})"
        return self.full(rest[0])

    def call(self, s: Scope, kind: Kind, d: int) -> str:
        """A call of a helper with this result."""
        fitting = [h for h in self.helpers if h.result == kind and not (h.writes and s.frozen) and not (s.loops > 1)]
        fitting = [h for h in fitting if not isinstance(h, Method) or self.named(s, h.owner)]
        if not fitting:
            return ""
        h = self.rng.choice(fitting)
        holder = f"{self.rng.choice(self.named(s, h.owner))}." if isinstance(h, Method) else ""
        return f"{holder}{h.name}({', '.join(self.expr(s, p, d - 1) for p in h.parameters)})"

    def element(self, s: Scope, kind: Kind, d: int) -> str:
        """An element of a container, or a part of a tuple, that is in scope."""
        found: list[str] = []
        for name, k in s.names.items():
            if not isinstance(k, tuple):
                continue
            if k[0] == "list" and k[1] == kind:
                found += [f"{name}[{self.index(s, d)}]", f"{name}[{self.rng.choice(('0', '-1', '1'))}]"]
                found += [] if s.frozen or self.rng.random() < 0.7 else [f"{name}.pop()"]
            elif k[0] == "dict" and k[2] == kind:
                found += [f"{name}[{self.expr(s, k[1], d - 1)}]", f"{name}.get({self.expr(s, k[1], d - 1)}, {self.expr(s, kind, d - 1)})"]
            elif k[0] == "tuple":
                found += [f"{name}[{i}]" for i, t in enumerate(k[1:]) if t == kind]
            elif k[0] == "opt" and k[1] == kind:
                found += [f"({name} if {name} is not None else {self.expr(s, kind, d - 1)})"]
        return self.rng.choice(found) if found else ""

    def index(self, s: Scope, d: int) -> str:
        """An int that often is a fit index."""
        return self.rng.choice((self.rng.choice(("0", "1", "2", "-1")), f"({self.expr(s, 'int', d - 1)} % 3)", self.expr(s, "int", d - 1)))

    def small(self, s: Scope, d: int, n: int = 4) -> str:
        """An int in range(n), by value."""
        return f"({self.expr(s, 'int', d - 1)} % {n})" if self.chance(0.6) else str(self.rng.randrange(n))

    def of(self, s: Scope, kind: Kind, d: int) -> Callable[..., str]:
        """What writes an expression, of type `kind` if it is not told another."""

        def make(other: Kind = kind) -> str:
            return self.expr(s, other, d)

        return make

    def bounds(self, s: Scope, d: int) -> str:
        """The inside of a slice."""

        def end() -> str:
            return self.rng.choice(("", "", "0", "1", "2", "-1", "-2", "100", self.index(s, d)))

        step = self.rng.choice(("", "", "", ":2", ":-1", ":3", ":-2"))
        return f"{end()}:{end()}{step}"

    # ---- scalars ------------------------------------------------------------------------------------------------------

    def int_(self, s: Scope, d: int) -> str:
        """An int."""
        e = self.of(s, "int", d)
        r = self.rng
        options: list[Callable[[], str]] = [
            lambda: f"({e()} {r.choice(('+', '-', '*'))} {e()})",
            lambda: f"({e()} {r.choice(('+', '-', '*'))} {e()})",
            lambda: f"({e()} {r.choice(('//', '%'))} {e()})",
            lambda: f"({e()} {r.choice(('&', '|', '^'))} {e()})",
            lambda: f"({e()} {r.choice(('<<', '>>'))} {r.choice((str(r.randrange(5)), '70', self.small(s, d, 8)))})",
            lambda: f"({e()} ** {r.randrange(4)})",
            lambda: r.choice((f"(-{e()})", f"(~{e()})", f"abs({e()})")),
            lambda: f"{r.choice(('min', 'max'))}({e()}, {e()})",
            lambda: f"len({self.expr(s, r.choice((*CONTAINERS, 'str')), d)})",
            lambda: f"int({e(r.choice(('float', 'bool')))})",
            lambda: f"{r.choice(('round', 'math.floor', 'math.ceil'))}({e('float')})",
            lambda: f"sum({self.expr(s, ('list', 'int'), d)})",
            lambda: f"{r.choice(('min', 'max'))}({self.expr(s, ('list', 'int'), d)})",
            lambda: f"{e('str')}.{r.choice(('find', 'count', 'index'))}({e('str')})",
            lambda: f"ord({e('str')}[{self.index(s, d)}])",
            lambda: f"{self.expr(s, ('list', 'int'), d)}.{r.choice(('count', 'index'))}({e()})",
            lambda: f"sum([{self.comprehension(s, 'int', d)}])",
            lambda: f"divmod({e()}, {e()})[{r.randrange(2)}]",
            lambda: f"int({e('str')})",
            lambda: f"({e()} {r.choice(('and', 'or'))} {e()})",
            lambda: number(r, "int"),
        ]
        if self.tensors:
            options += [lambda: f"int({self.scalar_tensor(s, d)})", lambda: f"{self.any_tensor(s, d)}.{r.choice(('numel()', 'dim()', 'shape[0]', 'size(-1)'))}"]
        return r.choice(options)()

    def float_(self, s: Scope, d: int) -> str:
        """A float."""
        e = self.of(s, "float", d)
        r = self.rng
        options: list[Callable[[], str]] = [
            lambda: f"({e()} {r.choice(('+', '-', '*', '/'))} {e()})",
            lambda: f"({e()} {r.choice(('+', '-', '*', '/'))} {e('int')})",
            lambda: f"({e('int')} {r.choice(('/', '+', '-', '*'))} {e()})",
            lambda: f"({e('int')} / {e('int')})",
            lambda: f"({e()} {r.choice(('//', '%'))} {e()})",
            lambda: f"({e()} ** {r.choice(('2', '0.5', '-1', e()))})",
            lambda: r.choice((f"(-{e()})", f"abs({e()})", f"float({e('int')})", f"float({e('bool')})")),
            lambda: f"{r.choice(('min', 'max'))}({e()}, {e()})",
            lambda: f"math.{r.choice(('sqrt', 'sin', 'exp', 'log', 'atan', 'fabs', 'tanh', 'floor', 'log1p'))}({e()}) * 1.0",
            lambda: f"math.{r.choice(('copysign', 'fmod', 'atan2', 'hypot', 'pow'))}({e()}, {e()})",
            lambda: f"round({e()}, {r.choice(('1', '2', '-1', '0'))})",
            lambda: f"sum({self.expr(s, ('list', 'float'), d)}, 0.0)",
            lambda: f"{r.choice(('min', 'max'))}({self.expr(s, ('list', 'float'), d)})",
            lambda: f"float({r.choice((repr(r.choice(FLOATS)), e('str')))})",
            lambda: f"({e()} {r.choice(('and', 'or'))} {e()})",
            lambda: number(r, "float"),
        ]
        if self.tensors:
            options += [lambda: f"float({self.scalar_tensor(s, d)})"]
        return r.choice(options)()

    def bool_(self, s: Scope, d: int) -> str:
        """A bool."""
        e = self.of(s, "bool", d)
        r = self.rng
        kind = r.choice(("int", "int", "float", "str"))
        options: list[Callable[[], str]] = [
            lambda: f"({e(kind)} {r.choice(COMPARE)} {e(kind)})",
            lambda: f"({e('int')} {r.choice(COMPARE)} {e('int')})",
            lambda: f"({e('int')} {r.choice(COMPARE)} {e('float')})",
            lambda: f"({e('int')} {r.choice(COMPARE)} {e('int')} {r.choice(COMPARE)} {e('int')})",
            lambda: f"({e()} {r.choice(('and', 'or'))} {e()})",
            lambda: f"(not {e(r.choice(('bool', 'int', 'str', ('list', 'int'))))})",
            lambda: f"bool({e(r.choice(('int', 'float', 'str')))})",
            lambda: f"({e('int')} {r.choice(('in', 'not in'))} {self.expr(s, ('list', 'int'), d)})",
            lambda: f"({e('str')} in {self.expr(s, r.choice(('str', ('list', 'str'), ('dict', 'str', 'int'))), d)})",
            lambda: f"{e('str')}.{r.choice(('startswith', 'endswith'))}({e('str')})",
            lambda: f"{e('str')}.{r.choice(('isdigit', 'isalpha', 'isupper', 'isspace'))}()",
            lambda: f"({self.expr(s, ('list', 'int'), d)} {r.choice(('==', '!=', '<'))} {self.expr(s, ('list', 'int'), d)})",
            lambda: f"({self.expr(s, ('tuple', 'int', 'str'), d)} {r.choice(('==', '<', '>='))} {self.expr(s, ('tuple', 'int', 'str'), d)})",
            lambda: f"({self.expr(s, ('dict', 'str', 'int'), d)} == {self.expr(s, ('dict', 'str', 'int'), d)})",
            lambda: f"math.{r.choice(('isnan', 'isinf', 'isfinite'))}({e('float')})",
            lambda: f"{r.choice(('any', 'all'))}([{self.comprehension(s, 'bool', d)}])",
        ]
        optional = [n for n, k in s.names.items() if isinstance(k, tuple) and k[0] == "opt"]
        if optional:
            options += [lambda: f"({r.choice(optional)} {r.choice(('is', 'is not'))} None)"] * 2
        if self.tensors:
            options += [
                lambda: f"bool({self.scalar_tensor(s, d)} > {e('int')})",
                lambda: f"bool(({self.any_tensor(s, d)} > {number(r, 'int')}).{r.choice(('any', 'all'))}())",
            ]
        return r.choice(options)()

    def str_(self, s: Scope, d: int) -> str:
        """A str; what could double in a loop is cut."""
        e = self.of(s, "str", d)
        r = self.rng
        options: list[Callable[[], str]] = [
            lambda: f"({e()} + {e()})",
            lambda: f"({e()} * {self.small(s, d)})",
            lambda: f"{e()}[{self.index(s, d)}]",
            lambda: f"{e()}[{self.bounds(s, d)}]",
            lambda: f"{e()}.{r.choice(('upper', 'lower', 'strip', 'title', 'lstrip', 'capitalize', 'swapcase'))}()",
            lambda: f"{e()}.replace({e()}, {e()})",
            lambda: f"str({e(r.choice(('int', 'float', 'bool', 'str', ('list', 'int'), ('tuple', 'int', 'str'), ('dict', 'str', 'int'))))})",
            lambda: f"repr({e(r.choice(('str', 'float', ('list', 'str'))))})",
            lambda: f"{r.choice(STRINGS)!r}.join({self.expr(s, ('list', 'str'), d)})",
            lambda: "f" + repr(f"<{{{self.quoted(s, 'int')}}}|{{{self.quoted(s, 'float')}:{r.choice(('.2f', '.3e', '8.1f', '+g', '.0f', '<9', '%'))}}}>"),
            lambda: (
                "f"
                + repr(
                    f"{{{self.quoted(s, 'int')}:{r.choice(('d', '05d', 'x', '>6', ',', '+', 'b', '^7'))}}}{{{self.quoted(s, 'str')}!r}}{{{self.quoted(s, 'str')}:{r.choice(('>5', '<4', '^6', '.2'))}}}"
                )
            ),
            lambda: f"chr({self.expr(s, 'int', d)} % 128)",
            lambda: f"{r.choice(('min', 'max'))}({e()}, {e()})",
            lambda: f"({e()} {r.choice(('and', 'or'))} {e()})",
            lambda: f"{e()}.{r.choice(('zfill', 'ljust', 'rjust', 'center'))}({self.small(s, d, 9)})",
            lambda: f"{r.choice(('hex', 'bin', 'oct'))}({e('int')})",
            lambda: repr(r.choice(STRINGS)),
        ]
        text = r.choice(options)()
        return f"({text})[:24]" if s.loops else text

    def quoted(self, s: Scope, kind: Kind) -> str:
        """An expression that may stand in an f-string: a name, else a literal without quotes."""
        names = self.named(s, kind)
        if names:
            return self.rng.choice(names)
        return "str(7)" if kind == "str" else literal(self.rng, kind)

    # ---- containers ---------------------------------------------------------------------------------------------------

    def iterable(self, s: Scope, d: int) -> tuple[str, str, dict[str, Kind]]:
        """Something to iterate: (target names, source text, the names' kinds)."""
        r = self.rng
        x = self.fresh("c")
        choice = r.randrange(6)
        if choice == 0:
            return x, f"range({self.small(s, d, 5)})", {x: "int"}
        if choice == 1:
            return x, self.expr(s, "str", d - 1) + "[:9]", {x: "str"}
        if choice == 2:
            y = self.fresh("c")
            return f"{x}, {y}", f"enumerate({self.expr(s, ('list', 'str'), d - 1)})", {x: "int", y: "str"}
        if choice == 3:
            y = self.fresh("c")
            return f"{x}, {y}", f"zip({self.expr(s, ('list', 'int'), d - 1)}, {self.expr(s, ('list', 'float'), d - 1)})", {x: "int", y: "float"}
        kind = r.choice(("int", "int", "float", "str", ("tuple", "int", "str"), ("list", "int")))
        return x, self.expr(s, ("list", kind), d - 1), {x: kind}

    def comprehension(self, s: Scope, kind: Kind, d: int) -> str:
        """The inside of a list comprehension."""
        target, source, kinds = self.iterable(s, d)
        inner = s.inner(loops=1, fixed=tuple(kinds), frozen=CONTAINERS)
        inner.names.update(kinds)
        condition = f" if {self.condition(inner, kinds, d - 1)}" if self.chance(0.4) else ""
        return f"{self.expr(inner, kind, d - 1)} for {target} in {source}{condition}"

    def condition(self, s: Scope, kinds: dict[str, Kind], d: int) -> str:
        """A condition on a variable of a loop; one that the compiler can decide would leave the element without a type."""
        name, kind = self.rng.choice(list(kinds.items()))
        if kind in ("int", "float", "str"):
            return f"{name} {self.rng.choice(COMPARE)} {self.expr(s, kind, d)}"
        return f"len({name}) > {self.expr(s, 'int', d)}" if kind[0] == "list" else f"{name}[0] {self.rng.choice(COMPARE)} {self.expr(s, kind[1], d)}"

    def list_(self, s: Scope, kind: Kind, d: int) -> str:
        """A list."""
        item = kind[1]
        e = self.of(s, kind, d)
        r = self.rng
        options: list[Callable[[], str]] = [
            lambda: "[" + ", ".join(self.expr(s, item, d) for _ in range(r.choice((1, 2, 3)))) + "]",
            lambda: f"[{self.comprehension(s, item, d)}]",
            lambda: f"[{self.comprehension(s, item, d)}]",
            lambda: f"{e()}[{self.bounds(s, d)}]",
            lambda: f"({e()} + {e()})[:8]",
            lambda: f"({e()} * {self.small(s, d, 3)})[:8]",
            lambda: f"list({e()})",
            lambda: f"{e()}.copy()",
            lambda: f"list(reversed({e()}))",
        ]
        if item in ("int", "str", ("tuple", "int", "str")):
            options += [lambda: f"sorted({e()}{r.choice(('', ', reverse=True'))})"]
        if item == "str":
            options += [
                lambda: f"{e('str')}.split({r.choice(('', repr(','), repr('X')))})",
                lambda: f"list({e('str')})[:8]",
                lambda: f"list({e(('dict', 'str', 'int'))}.keys())",
            ]
        if item == "int":
            options += [
                lambda: f"list(range({self.small(s, d)}, {self.small(s, d, 9)}{r.choice(('', ', 2'))}))",
                lambda: f"list({e(('dict', 'str', 'int'))}.values())",
                lambda: f"[len(w) for w in {e(('list', 'str'))}]",
            ]
            if self.tensors:
                options += [lambda: f"[int(t) for t in {self.expr(s, ('tensor', 'int64', 1), d)}]", lambda: f"list({self.any_tensor(s, d)}.shape)"]
        return r.choice(options)()

    def dict_(self, s: Scope, kind: Kind, d: int) -> str:
        """A dict."""
        _, key, value = kind
        r = self.rng
        options: list[Callable[[], str]] = [
            lambda: "{" + ", ".join(f"{self.expr(s, key, d - 1)}: {self.expr(s, value, d)}" for _ in range(r.choice((1, 2)))) + "}",
            lambda: "{" + self.pairs(s, key, value, d) + "}",
            lambda: f"{self.expr(s, kind, d)}.copy()",
            lambda: f"dict({self.expr(s, kind, d)})",
        ]
        return r.choice(options)()

    def pairs(self, s: Scope, key: Kind, value: Kind, d: int) -> str:
        """The inside of a dict comprehension."""
        target, source, kinds = self.iterable(s, d)
        inner = s.inner(loops=1, fixed=tuple(kinds), frozen=CONTAINERS)
        inner.names.update(kinds)
        return f"{self.expr(inner, key, d - 1)}: {self.expr(inner, value, d - 1)} for {target} in {source}"

    def tuple_(self, s: Scope, kind: Kind, d: int) -> str:
        """A tuple."""
        return "(" + ", ".join(self.expr(s, t, d) for t in kind[1:]) + ")"

    def opt_(self, s: Scope, kind: Kind, d: int) -> str:
        """An optional."""
        inner = kind[1]
        tables = [n for n, k in s.names.items() if isinstance(k, tuple) and k[0] == "dict" and k[2] == inner]
        if tables and self.chance(0.4):
            name = self.rng.choice(tables)
            return f"{name}.get({self.expr(s, s.names[name][1], d)})"
        return f"({self.expr(s, inner, d)} if {self.expr(s, 'bool', d)} else None)"

    # ---- tensors ------------------------------------------------------------------------------------------------------

    def any_tensor(self, s: Scope, d: int) -> str:
        """A tensor of any type."""
        names = [n for n, k in s.names.items() if is_tensor(k)]
        return self.rng.choice(names) if names and self.chance(0.7) else self.expr(s, self.rng.choice(TENSORS), d - 1)

    def scalar_tensor(self, s: Scope, d: int) -> str:
        """A tensor of one element."""
        r = self.rng
        dtype, rank = r.choice(("float32", "float64", "int64")), r.choice((1, 2))
        x = self.expr(s, ("tensor", dtype, rank), d - 1)
        at = self.index(s, d)
        return r.choice((f"{x}.sum()", f"{x}.max()", f"{x}[{at}]" if rank == 1 else f"{x}[{at}, {r.choice(('0', '-1', '2'))}]", f"{x}.min()"))

    def tensor_(self, s: Scope, kind: Kind, d: int) -> str:
        """A tensor of a dtype and a rank."""
        _, dtype, rank = kind
        r = self.rng
        e = self.of(s, kind, d)
        other: Kind = ("tensor", dtype, r.choice((1, rank)))
        mask: Kind = ("tensor", dtype, rank)
        factor = r.choice(("2", "3", "-1", self.expr(s, "int", d - 1)) if dtype == "int64" else ("0.5", "2", "-1.5", self.expr(s, "float", d - 1)))
        options: list[Callable[[], str]] = [
            lambda: f"({e()} {r.choice(('+', '-', '*'))} {e(other)})",
            lambda: f"({e()} {r.choice(('+', '-', '*'))} {factor})",
            lambda: f"({factor} {r.choice(('+', '-', '*'))} {e()})",
            lambda: f"{e()}.{r.choice(('abs()', 'neg()', 'clone()', 'contiguous()', 'clamp(-1, 2)', 'cumsum(0)', 'relu()'))}",
            lambda: f"jl.where({e(mask)} > {r.choice(('0', '1'))}, {e()}, {e()})",
            lambda: f"jl.{r.choice(('maximum', 'minimum'))}({e()}, {e()})",
            lambda: f"{e()}.to({ {'float32': 'jl.float32', 'float64': 'jl.float64', 'int64': 'jl.int64'}[dtype] })",
            lambda: f"jl.{r.choice(('zeros', 'ones'))}({'3' if rank == 1 else '2, 3'}, dtype=jl.{dtype})",
            lambda: tensor(r, dtype, rank),
        ]
        if dtype != "int64":
            options += [
                lambda: f"({e()} / {e(other)})",
                lambda: f"{e()}.{r.choice(('sin', 'exp', 'tanh', 'sqrt', 'sigmoid', 'floor'))}()",
                lambda: f"{e()}.{r.choice(('softmax', 'cumsum'))}({r.choice(('0', '-1'))})",
            ]
        wider: Kind = ("tensor", dtype, rank + 1)
        if rank == 1:
            options += [
                lambda: f"{e(wider)}[{self.index(s, d)}]",
                lambda: f"{e(wider)}[:, {self.index(s, d)}]",
                lambda: f"{e(wider)}.{r.choice(('sum', 'mean' if dtype != 'int64' else 'sum', 'amax'))}({r.choice(('0', '1', '-1'))})",
                lambda: f"{e(wider)}.{r.choice(('flatten()', 'reshape(-1)', 'view(-1)'))}",
                lambda: f"{e()}[{self.positive_bounds(s, d)}]",
                lambda: f"jl.cat([{e()}, {e()}]).reshape(-1)[:6]",
                lambda: f"{e()}[{e()} > 0]",
            ]
            if dtype == "int64":
                options += [lambda: f"jl.tensor({self.expr(s, ('list', 'int'), d)} + [1])", lambda: f"jl.arange({self.small(s, d, 5)})"]
        else:
            narrower: Kind = ("tensor", dtype, 1)
            options += [
                lambda: f"{e()}.{r.choice(('t()', 'transpose(0, 1)', 'permute(1, 0)', 'reshape(3, 2)', 'view(2, 3)', 'reshape(-1, 3)'))}",
                lambda: f"jl.stack([{e(narrower)}, {e(narrower)}]).view(2, -1)",
                lambda: f"{e(narrower)}.unsqueeze({r.choice(('0', '1'))})",
                lambda: f"{e()}[{self.positive_bounds(s, d)}]",
                lambda: f"{e()}[:, {self.positive_bounds(s, d)}]",
            ]
            if dtype != "int64":
                options += [lambda: f"({e()} @ {e()}.t())"]
        return r.choice(options)()

    def positive_bounds(self, s: Scope, d: int) -> str:
        """The inside of a slice of a tensor, whose steps are positive."""
        return self.rng.choice((":2", "1:", "-2:", "::2", ":-1", f":{self.small(s, d)}", f"{self.index(s, d)}:"))

    def typed(self, name: str, kind: Kind, value: str) -> str:
        """An assignment that says the type."""
        return f"{name}: {annotation(kind)} = {value}"
