"""Random programs: functions with control flow over random expressions.

In: a random generator. Out: the text of a module with `main`, its helpers, and `arguments`, which makes fresh arguments for each call.
Every loop ends: ranges are short, ``while`` counts, and nothing that is iterated grows.
"""

from __future__ import annotations

from collections.abc import Callable

from jitlang.testing.expressions import Expressions, Helper, Method, Scope
from jitlang.testing.types import (
    CONTAINERS,
    OPTIONALS,
    SCALARS,
    TENSORS,
    TUPLES,
    Kind,
    Random,
    annotation,
    attributes,
    grows,
    is_object,
    is_tensor,
    literal,
    tensor,
)

Writer = Callable[[Scope, int], list[str]]
HEAD = "import math\nfrom typing import Optional\n\nimport jitlang as jl\n\n"
ERRORS = ("ValueError", "RuntimeError", "KeyError", "IndexError", "TypeError", "ZeroDivisionError")
PARAMETERS: tuple[tuple[Kind, ...], ...] = (SCALARS, SCALARS, CONTAINERS, CONTAINERS, TUPLES, OPTIONALS)


def program(rng: Random) -> str:
    """The text of one random program."""
    return Programs(rng).module()


class Programs(Expressions):
    """Writes statements and functions."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng, tensors=rng.random() < 0.35)
        self.result: Kind = "int"
        self.classes: list[Kind] = []

    def module(self) -> str:
        """A whole module."""
        parts = [HEAD]
        for at in range(self.rng.choice((0, 0, 0, 1, 1, 2))):
            parts.append(self.class_(f"K{at}") + "\n\n")
        for at in range(self.rng.choice((0, 1, 1, 2))):
            parts.append(self.function(f"helper{at}", small=True) + "\n\n")
        parts.append(self.function("main", small=False) + "\n\n")
        parts.append(self.arguments())
        return "\n".join(parts)

    def parameter(self) -> Kind:
        """The type of a parameter."""
        groups = PARAMETERS + ((TENSORS,) * 3 if self.tensors else ()) + ((tuple(self.classes),) * 4 if self.classes else ())
        return self.rng.choice(self.rng.choice(groups))

    def class_(self, name: str) -> str:
        """A class with annotated attributes and a few methods that read and change them."""
        kind = ("object", name, *(self.rng.choice(self.rng.choice((SCALARS, CONTAINERS))) for _ in range(self.rng.choice((1, 2, 3)))))
        own = attributes(kind)
        lines = [f"class {name}:", f"    def __init__(self, {', '.join(f'{a}: {annotation(t)}' for a, t in own.items())}):"]
        lines += [f"        self.{a} = {a}" for a in own]
        for at in range(self.rng.choice((1, 2))):
            lines += ["", *self.indent(self.method(f"m{at}", kind))]
        self.classes.append(kind)
        return "\n".join(lines)

    def method(self, name: str, owner: Kind) -> list[str]:
        """A method, noted for later functions to call."""
        parameter = self.rng.choice(SCALARS)
        scope = Scope({"x": parameter, **{f"self.{a}": t for a, t in attributes(owner).items()}})
        self.result = self.rng.choice([*SCALARS, *CONTAINERS])
        body = [*self.block(scope, self.rng.choice((1, 2)), 1), f"return {self.expr(scope, self.result)}"]
        shown = f" -> {annotation(self.result)}" if self.chance(0.5) else ""
        self.helpers.append(Method(name, (parameter,), self.result, True, owner))
        return [f"def {name}(self, x: {annotation(parameter)}){shown}:", *self.indent(body)]

    def function(self, name: str, *, small: bool) -> str:
        """A function; helpers are noted for later ones to call."""
        kinds = tuple(self.parameter() for _ in range(self.rng.choice((1, 2) if small else (1, 2, 3, 4))))
        names = [f"{name[0]}{i}" for i in range(len(kinds))]
        scope = Scope({})
        scope.enter(dict(zip(names, kinds, strict=True)))
        self.result = (
            self.rng.choice([*SCALARS, *CONTAINERS, *OPTIONALS, *TUPLES, *(TENSORS if self.tensors else ())]) if small or self.chance(0.6) else self.wide()
        )
        body = self.block(scope, self.rng.choice((1, 2)) if small else self.rng.choice((3, 4, 5, 6)), 2)
        body.append(f"return {self.expr(scope, self.result)}")
        shown = f" -> {annotation(self.result)}" if self.chance(0.5) or self.result[0] == "opt" or "opt" in str(self.result) else ""
        head = f"def {name}({', '.join(f'{n}: {annotation(k)}' for n, k in zip(names, kinds, strict=True))}){shown}:"
        if small:
            self.helpers.append(Helper(name, kinds, self.result, writes=True))
        else:
            self.kinds = kinds
        return "\n".join([head, *(f"    {line}" for line in body)])

    def wide(self) -> Kind:
        """A tuple of several types, containers among them."""
        return ("tuple", *(self.kind() for _ in range(self.rng.choice((2, 3)))))

    def block(self, s: Scope, count: int, depth: int) -> list[str]:
        """Several statements, as lines."""
        lines: list[str] = []
        for _ in range(count):
            lines += self.statement(s, depth)
        return lines

    def statement(self, s: Scope, depth: int) -> list[str]:
        """One statement, as lines."""
        simple = (self.assign, self.assign, self.reassign, self.reassign, self.mutate, self.mutate, self.unpack)
        nested = (self.if_, self.if_, self.for_, self.while_, self.leave, self.narrow, self.maybe)
        made: tuple[Writer, ...] = (self.make, self.make) if self.classes else ()
        writers: tuple[Writer, ...] = (*simple, *made, *nested) if depth > 0 else (*simple, *made, self.leave)
        return self.rng.choice(writers)(s, depth)

    def assign(self, s: Scope, depth: int) -> list[str]:
        """A new variable."""
        kind, name = self.kind(), self.fresh()
        value = self.expr(s, kind)
        told = self.chance(0.2) or (isinstance(kind, tuple) and kind[0] == "opt")
        if grows(kind) and self.chance(0.15):
            value, told = ("[]" if kind[0] == "list" else "{}"), True
        s.names[name] = kind
        return [self.typed(name, kind, value) if told else f"{name} = {value}"]

    def make(self, s: Scope, depth: int) -> list[str]:
        """A new object."""
        kind, name = self.rng.choice(self.classes), self.fresh("o")
        value = self.expr(s, kind)
        s.enter({name: kind})
        return [f"{name} = {value}"]

    def reassign(self, s: Scope, depth: int) -> list[str]:
        """A variable that exists, given a value of its type; tensors in place, so that dtype and rank stay."""
        names = [n for n in s.names if n not in s.fixed]
        if not names:
            return self.assign(s, depth)
        name = self.rng.choice(names)
        kind = s.names[name]
        if is_tensor(kind):
            return self.write_tensor(s, name)
        if kind in ("int", "float") and self.chance(0.6):
            operators = ("+=", "-=", "*=", "//=", "%=") + (("/=",) if kind == "float" else ("|=", "&=", "^="))
            return [f"{name} {self.rng.choice(operators)} {self.expr(s, kind)}"]
        if kind == "str" and self.chance(0.4) and not s.loops:
            return [f"{name} += {self.expr(s, kind)}"]
        if grows(kind) and s.frozen:
            return self.assign(s, depth)
        return [f"{name} = {self.expr(s, kind)}"]

    def mutate(self, s: Scope, depth: int) -> list[str]:
        """A container or a tensor in scope, changed."""
        names = [n for n, k in s.names.items() if (grows(k) or is_tensor(k))]
        if not names:
            return self.assign(s, depth)
        name = self.rng.choice(names)
        kind = s.names[name]
        if is_tensor(kind):
            return self.write_tensor(s, name)
        return self.write_list(s, name, kind) if kind[0] == "list" else self.write_dict(s, name, kind)

    def write_list(self, s: Scope, name: str, kind: Kind) -> list[str]:
        """A list, changed; its length only if no such list is being iterated."""
        item, r = kind[1], self.rng
        options = [lambda: f"{name}[{self.index(s, 2)}] = {self.expr(s, item)}", lambda: f"{name}.reverse()"]
        if item in ("int", "float"):
            options += [lambda: f"{name}[{r.choice(('0', '1', '-1'))}] {r.choice(('+=', '-=', '*='))} {self.expr(s, item)}"]
        if item in ("int", "str"):
            options += [lambda: f"{name}.sort()"]
        if not s.frozen:
            options += [
                lambda: f"{name}.append({self.expr(s, item)})",
                lambda: f"{name}.append({self.expr(s, item)})",
                lambda: f"{name}.insert({self.index(s, 2)}, {self.expr(s, item)})",
                lambda: f"{name}.extend({self.expr(s, kind)}[:3])",
                lambda: f"{name} += {self.expr(s, kind)}[:3]" if name not in s.fixed else f"{name}.clear()",
                lambda: f"{name}.pop({r.choice(('', '0', self.index(s, 2)))})",
                lambda: f"del {name}[{r.choice((self.index(s, 2), self.bounds(s, 2)))}]",
                lambda: f"{name}[{r.choice((':1', '1:', '1:2', ':', '5:'))}] = {self.expr(s, kind)}[:3]",
            ]
            if item != "float":
                options += [lambda: f"{name}.remove({self.expr(s, item)})"]
        return [r.choice(options)()]

    def write_dict(self, s: Scope, name: str, kind: Kind) -> list[str]:
        """A dict, changed; not while one is being iterated."""
        _, key, value = kind
        r = self.rng
        if s.frozen:
            return self.assign(s, 0)
        options = [
            lambda: f"{name}[{self.expr(s, key)}] = {self.expr(s, value)}",
            lambda: f"{name}[{self.expr(s, key)}] = {self.expr(s, value)}",
            lambda: f"{name}.update({self.expr(s, kind)})",
            lambda: f"{name}.setdefault({self.expr(s, key)}, {self.expr(s, value)})",
            lambda: f"{name}.pop({self.expr(s, key)}, {self.expr(s, value)})",
            lambda: f"del {name}[{self.expr(s, key)}]",
        ]
        if value in ("int", "float"):
            k = literal(r, key)
            options += [lambda: f"{name}[{k}] += {self.expr(s, value)}", lambda: f"{name}[{k}] = {name}.get({k}, {'0' if value == 'int' else '0.0'}) + 1"]
        return [r.choice(options)()]

    def write_tensor(self, s: Scope, name: str) -> list[str]:
        """A tensor, changed in place."""
        _, dtype, rank = s.names[name]
        r, kind = self.rng, s.names[name]
        scalar = "int" if dtype == "int64" else "float"
        at = self.index(s, 2) if rank == 1 else r.choice((f"{self.index(s, 2)}, {self.index(s, 2)}", self.index(s, 2), ":, 1"))
        options = [
            lambda: f"{name} {r.choice(('+=', '-=', '*='))} {self.expr(s, scalar, 1)}",
            lambda: f"{name} {r.choice(('+=', '-=', '*='))} {self.expr(s, kind, 2)}",
            lambda: f"{name}[{at}] = {self.expr(s, scalar, 1)}",
            lambda: f"{name}[{r.choice(('1:', ':2', '::2'))}] {r.choice(('+=', '*=', '='))} {self.expr(s, scalar, 1)}",
            lambda: f"{name}.{r.choice(('add_', 'mul_'))}({self.expr(s, kind, 2)})",
            lambda: f"{name}.{r.choice(('zero_()', 'fill_(2)', 'neg_()', 'clamp_(-1, 1)'))}",
            lambda: f"{name}[{name} > 0] = {r.choice(('0', '1', '-1'))}",
        ]
        line = r.choice(options)()
        return [line] if name not in s.fixed or "=" not in line.split("[")[0] else [f"{name}.neg_()"]

    def unpack(self, s: Scope, depth: int) -> list[str]:
        """A tuple taken apart, or a swap."""
        names = [n for n, k in s.names.items() if k in ("int", "str") and n not in s.fixed]
        same = [(a, b) for a in names for b in names if a < b and s.names[a] == s.names[b]]
        if same and self.chance(0.4):
            a, b = self.rng.choice(same)
            return [f"{a}, {b} = {b}, {a}"]
        kind = self.rng.choice(TUPLES)
        value = self.expr(s, kind)
        made = {self.fresh(): k for k in kind[1:]}
        s.names.update(made)
        return [f"{', '.join(made)} = {value}"]

    def if_(self, s: Scope, depth: int) -> list[str]:
        """If, with elif and else; a name given in both branches lives on."""
        condition = self.expr(s, self.rng.choice(("bool", "bool", "bool", "int", "str", ("list", "int"))))
        kind, name = self.kind(), self.fresh()
        shared = self.chance(0.4) and "opt" not in str(kind)
        first, second = s.inner(), s.inner()
        value = [self.expr(s, kind), self.expr(s, kind)]
        lines = [f"if {condition}:", *self.indent(self.block(first, self.rng.choice((1, 2)), depth - 1) + ([f"{name} = {value[0]}"] if shared else []))]
        if self.chance(0.2):
            lines += [f"elif {self.expr(s, 'bool')}:", *self.indent(self.block(s.inner(), 1, depth - 1) + ([f"{name} = {value[0]}"] if shared else []))]
        if shared or self.chance(0.5):
            lines += ["else:", *self.indent(self.block(second, self.rng.choice((1, 2)), depth - 1) + ([f"{name} = {value[1]}"] if shared else []))]
        if shared:
            s.names[name] = kind
        return lines

    def maybe(self, s: Scope, depth: int) -> list[str]:
        """A name given on one path only, and read where that path is likely."""
        name, kind = self.fresh(), self.rng.choice(SCALARS)
        lines = [f"if {self.expr(s, 'bool')}:", *self.indent([f"{name} = {self.expr(s, kind)}"])]
        if self.chance(0.3):
            s.names[name] = kind
        return lines

    def narrow(self, s: Scope, depth: int) -> list[str]:
        """An optional, looked at."""
        names = [n for n, k in s.names.items() if isinstance(k, tuple) and k[0] == "opt" and n not in s.fixed]
        if not names:
            return self.assign(s, depth)
        name = self.rng.choice(names)
        inner = s.inner(fixed=(name,))
        inner.names[name] = s.names[name][1]
        if self.chance(0.3):
            s_outer = s.inner()
            lines = [f"if {name} is None:", *self.indent([*self.block(s_outer, 1, 0), f"return {self.expr(s_outer, self.result)}"])]
            s.names[name] = s.names[name][1]
            s.fixed |= {name}
            return lines
        return [f"if {name} is not None:", *self.indent(self.block(inner, 2, depth - 1))]

    def for_(self, s: Scope, depth: int) -> list[str]:
        """A for loop."""
        if s.loops > 1:
            return self.if_(s, depth)
        r = self.rng
        form = r.randrange(4)
        kinds: dict[str, Kind]
        if form == 0:
            x = self.fresh("i")
            target, kinds = x, {x: "int"}
            source = r.choice(
                (f"range({self.small(s, 2, 6)})", f"range({self.small(s, 2, 5)}, -1, -1)", f"range({self.small(s, 2, 3)}, {self.small(s, 2, 7)})")
            )
            frozen: tuple[Kind, ...] = ()
        elif form == 1:
            x, y = self.fresh("k"), self.fresh("k")
            tables = [n for n, k in s.names.items() if k == ("dict", "str", "int")]
            if not tables:
                return self.if_(s, depth)
            target, kinds, frozen = f"{x}, {y}", {x: "str", y: "int"}, CONTAINERS
            source = f"{r.choice(tables)}.items()"
        elif form == 2 and self.tensors:
            x = self.fresh("r")
            dtype = r.choice(("float32", "int64"))
            target, frozen = x, ()
            kinds = {x: ("tensor", dtype, 1)}
            source = self.expr(s, ("tensor", dtype, 2), 2)
        else:
            target, source, kinds = self.iterable(s, 2)
            frozen = CONTAINERS
        inner = s.inner(loops=1, fixed=tuple(kinds), frozen=frozen)
        inner.names.update(kinds)
        body = self.block(inner, r.choice((1, 2, 3)), depth - 1) + self.jump(inner)
        tail = ["else:", *self.indent(self.block(s.inner(), 1, 0))] if self.chance(0.08) else []
        return [f"for {target} in {source}:", *self.indent(body), *tail]

    def while_(self, s: Scope, depth: int) -> list[str]:
        """A while loop that counts."""
        if s.loops > 1:
            return self.if_(s, depth)
        counter = self.fresh("n")
        inner = s.inner(loops=1, fixed=(counter,))
        inner.names[counter] = "int"
        head = (
            f"while {counter} < {self.rng.choice(('3', '5', '7'))}{self.rng.choice(('', f' and {self.expr(s, chr(98) + chr(111) + chr(111) + chr(108), 2)}'))}:"
        )
        body = [f"{counter} += 1", *self.block(inner, self.rng.choice((1, 2, 3)), depth - 1), *self.jump(inner)]
        return [f"{counter} = 0", head, *self.indent(body)]

    def jump(self, s: Scope) -> list[str]:
        """Perhaps a break or a continue."""
        if not self.chance(0.4):
            return []
        return [f"if {self.expr(s, 'bool', 2)}:", *self.indent([self.rng.choice(("break", "continue"))]), *self.block(s, 1, 0)]

    def leave(self, s: Scope, depth: int) -> list[str]:
        """A condition under which the function returns or raises."""
        r = self.rng
        condition = self.expr(s, "bool", 2)
        form = r.randrange(5)
        if form == 0:
            return [f"assert {condition}" + r.choice(("", ", 'no'", f", f'{{{self.quoted(s, chr(105) + chr(110) + chr(116))}}}'"))]
        if form == 1:
            text = r.choice(("'wrong'", f"f'at {{{self.quoted(s, 'int')}}}'", f"'x' + {self.expr(s, 'str', 1)}"))
            return [f"if {condition}:", *self.indent([f"raise {r.choice(ERRORS)}({text})"])]
        return [f"if {condition}:", *self.indent([f"return {self.expr(s, self.result)}"])]

    def indent(self, lines: list[str]) -> list[str]:
        """Lines, one level in."""
        return [f"    {line}" for line in lines]

    def arguments(self) -> str:
        """A function that makes three tuples of arguments; now and then one object is given twice."""
        lines = ["def arguments():"]
        calls = []
        for call in range(3):
            names: list[str] = []
            for at, kind in enumerate(self.kinds):
                twin = next((n for n, k in zip(names, self.kinds, strict=False) if k == kind and (grows(k) or is_tensor(k) or is_object(k))), "")
                name = twin if twin and self.chance(0.4) else f"a{call}{at}"
                if name != twin:
                    value = tensor(self.rng, kind[1], kind[2]) if is_tensor(kind) else literal(self.rng, kind)
                    lines.append(f"    {name} = {value}")
                names.append(name)
            calls.append("(" + "".join(f"{n}, " for n in names) + ")")
        lines.append(f"    return [{', '.join(calls)}]")
        return "\n".join(lines) + "\n"
