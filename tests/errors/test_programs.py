"""Short programs that are wrong, or look it, by kind: each does what CPython does, in both tiers, or is refused at its line with what is wrong."""

from __future__ import annotations

import importlib.util
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import jitlang as jl

# Bodies of `def f(n: int)`, called with 3.
PROGRAMS = {
    "construct": """
        try:|    return n|except ValueError:|    return 0
        with open('x') as h:|    return n
        global Q|Q = n|return n
        yield n
        class C:|    pass|return n
        match n:|    case [1, 2]: return 1|    case _: return 2
        return eval('n')
        return open(str(n)).read()
        return getattr(n, input())
        print(f'{n:q}')|return n
        a = b'bytes'|return len(a)
        return {1, 2}.pop() + n
        return 1j * n
        return ...
        def inner(*args, **kw):|    return kw|return inner(a=n)
        raise
        return lambda: n
        return print
        del n|return n
        from os import path|return n
    """,
    "type": """
        return n + 'a'
        return 'a' * 2.5
        return [1, 'a', None]
        xs = [1]|xs.append('a')|return xs
        d = {'a': 1}|d[1] = 2|return d
        return -'a'
        return n if 'a' < n else 0
        x = 1 if n else 'a'|return x + 1
        if n > 2:|    x = [1]|else:|    x = {1: 2}|return len(x)
        return len(n)
        return n[0]
        for a, b in [1, 2]:|    n += a|return n
        a, b = n|return a
        return {}['a']
        xs: list[int] = ['a']|return xs
        x: str = n|return x
        return sum(['a', 'b'])
        return max(n, 'a')
        return n in n
        return ' '.join([1, 2])
        return int([1])
        return float(None)
        while 'a' + 1:|    pass|return 1
        return [i for i in n]
        return {i: i for i in (1, 'a')}
        a, b, c = 1, 2|return a
        return (1, 2)[5]
        return (1, 2)[n]
        assert n, n + 'a'|return n
        raise n
        raise int
        n += 'a'|return n
        x = None|return x + 1
        return n.foo
        return 'a'.foo()
        return [1].push(2)
        return abs('a')
        return ord('ab')
        return range(1.5)
        return isinstance(n, 3)
        return zip(1, 2)
        return n @ n
        return n()
    """,
    "name": """
        return m
        return undefined(n)
        return n + lenn([1])
        return math.sqrt(n)
        return self.x
        return [k for i in range(n)]
        for i in range(n):|    pass|return j
        return jl.foo(n)
        return jl.nn.Foo(n)
        return True if Flase else n
        return f'{m}'
        del m|return n
    """,
    "use before definition": """
        if n > 5:|    x = 1|return x
        while n > 5:|    x = 1|    n -= 1|return x
        for i in range(n - 3):|    x = i|return x
        for i in range(n - 3):|    pass|return i
        y = x|x = 1|return y
        if n > 5:|    return 1|elif n > 4:|    x = 2|return x
        x += 1|return x
        y = [x for x in range(n)]|return x
        while True:|    if n > 3:|        x = 1|        break|    if n > 2:|        break|return x
        def g():|    return w|return g()
        def g():|    return w|r = g()|w = 1|return r
        print(x)|x: int = 3|return x
        if n:|    pass|else:|    a = 1|return a
        for i in range(n):|    if i > 1:|        k = i|    print(k)|return k
        x: int|return x
        a = b = c|c = 2|return a
        [a, b] = [b, 1]|return a
        return (y, (y := 1))
    """,
    "arguments": """
        return h()
        return h(1)
        return h(1, 'b', 2.0)
        return h('a', 'b')
        return h(1, b='x', d=3)
        return h(1, 'b', b='c')
        return h(a=1)
        return h(1, 2)
        return h(*[1, 'b'])
        return h(**{'a': 1})
        return h(1, None)
        return h(1.5, 'a')
        return len([1], [2])
        return 'a'.replace('b')
        return [1].append(1, 2)
        return range(1, 2, 3, 4)
        return print(1, foo=2)
        return sorted([1], key=3)
        return jl.zeros('a')
        return jl.ones(2).sum(foo=1)
        return jl.ones(2).view()
        return jl.matmul(jl.ones(2))
        return jl.ones(2, 3) @ jl.ones(2, 3)
        return jl.ones(2) @ jl.ones(2, dtype=jl.int64)
        return jl.embedding(jl.ones(2, 2), jl.ones(2))
        return jl.ones(3)[:, 1]
        return jl.ones(3).t().transpose(0, 2)
    """,
}
HEAD = "import jitlang as jl\n\ndef h(a: int, b: str, *, c: float = 1.0) -> int:\n    return a\n\ndef f(n: int):\n"
FIRST = HEAD.count("\n") + 1
BODIES = [(kind, body.strip()) for kind, text in PROGRAMS.items() for body in text.strip().splitlines()]


def module_of(body: str, folder: Path) -> ModuleType:
    path = folder / "wrong.py"
    path.write_text(HEAD + "".join(f"    {line}\n" for line in body.split("|")), "utf-8")
    spec = importlib.util.spec_from_file_location("wrong", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def outcome(function: Any) -> tuple[str, ...]:
    """The result; or the class of the exception and the line in the user's file."""
    try:
        return "result", repr(function(3))
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.endswith("wrong.py")]
        return "exception", type(error).__name__, str(frames[-1].lineno) if frames else "nowhere"


@pytest.mark.parametrize("tier", ["vm", "native"])
@pytest.mark.parametrize(("kind", "body"), BODIES, ids=[f"{kind}: {body}" for kind, body in BODIES])
def test_as_cpython_or_refused(kind: str, body: str, tier: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITLANG_TIER", tier)
    monkeypatch.chdir(tmp_path)
    function = module_of(body, tmp_path).f
    try:
        scripted = jl.script(function)
        scripted(3)
    except jl.CompileError as error:
        assert error.where is not None and error.where.source.filename == str(tmp_path / "wrong.py")
        assert FIRST <= error.where.line < FIRST + len(body.split("|"))
        assert (
            error.where.function in ("f", "g", "inner")
            and error.message
            and "jitlang" not in error.message.replace("jitlang.nn", "").replace("jitlang has", "")
        )
        if kind == "use before definition":
            assert isinstance(error, NameError)
        return
    except Exception:
        pass
    assert outcome(scripted) == outcome(function)
