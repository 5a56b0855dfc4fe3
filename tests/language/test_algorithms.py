"""Algorithms over lists, strings, dicts, objects and tensors at once: both tiers answer as the same function does without a script."""

import math
from typing import NamedTuple

import pytest

import jitlang as jl
from tests.language.oracle import check


class RingBuffer:
    def __init__(self, cap: int) -> None:
        self.data = jl.zeros(cap)
        self.cap = cap
        self.n = 0

    def push(self, v: float) -> None:
        self.data[self.n % self.cap] = v
        self.n += 1

    def mean(self) -> float:
        m = min(self.n, self.cap)
        return float(self.data[:m].mean()) if m > 0 else 0.0


class Hyp(NamedTuple):
    tokens: list[int]
    score: float
    done: bool


def ring(xs: list[float]) -> list[float]:
    b = RingBuffer(3)
    out: list[float] = []
    for x in xs:
        b.push(x)
        out.append(b.mean())
    return out


def beam(logp: jl.Tensor, width: int, eos: int) -> list[Hyp]:
    hyps = [Hyp([0], 0.0, False)]
    for t in range(logp.size(0)):
        cand: list[Hyp] = []
        for h in hyps:
            if h.done:
                cand.append(h)
                continue
            top, idx = logp[t, h.tokens[-1]].topk(width)
            for k in range(width):
                tok = int(idx[k])
                cand.append(Hyp(h.tokens + [tok], h.score + float(top[k]), tok == eos))
        cand.sort(key=lambda h: -h.score)
        hyps = cand[:width]
        if all([h.done for h in hyps]):
            break
    return hyps


def parse(s: str) -> tuple[float, int]:
    toks: list[str] = []
    i = 0
    while i < len(s):
        c = s[i]
        if c.isspace():
            i += 1
        elif c.isdigit() or c == ".":
            j = i
            while j < len(s) and (s[j].isdigit() or s[j] == "."):
                j += 1
            toks.append(s[i:j])
            i = j
        else:
            toks.append(c)
            i += 1
    prec = {"+": 1, "-": 1, "*": 2, "/": 2}
    out: list[float] = []
    ops: list[str] = []
    n = 0
    for t in toks + ["$"]:
        if t in prec or t in (")", "$"):
            while ops and ops[-1] != "(" and (t not in prec or prec[ops[-1]] >= prec[t]):
                b, a = out.pop(), out.pop()
                op = ops.pop()
                n += 1
                if op == "+":
                    out.append(a + b)
                elif op == "-":
                    out.append(a - b)
                elif op == "*":
                    out.append(a * b)
                else:
                    if b == 0:
                        raise ZeroDivisionError(f"division of {a} by zero")
                    out.append(a / b)
            if t == ")":
                ops.pop()
            elif t != "$":
                ops.append(t)
        elif t == "(":
            ops.append(t)
        else:
            out.append(float(t))
    return out[0], n


def bpe(word: str, merges: dict[tuple[str, str], int]) -> list[str]:
    parts = list(word)
    while len(parts) > 1:
        best, at = 1 << 30, -1
        for i in range(len(parts) - 1):
            r = merges.get((parts[i], parts[i + 1]), 1 << 30)
            if r < best:
                best, at = r, i
        if at < 0:
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def conv_pool(x: jl.Tensor, w: jl.Tensor, b: jl.Tensor) -> jl.Tensor:
    y = jl.nn.functional.conv1d(x, w, b, stride=2, padding=1)
    y = jl.nn.functional.relu(y)
    return y.mean(-1, keepdim=True) + y.amax(dim=(1, 2), keepdim=True)


def norm(x: jl.Tensor, w: jl.Tensor | None, eps: float = 1e-5) -> jl.Tensor:
    m = x.mean(-1, keepdim=True)
    v = x.var(-1, unbiased=False, keepdim=True)
    y = (x - m) * jl.rsqrt(v + eps)
    return y if w is None else y * w


def posenc(n: int, d: int) -> jl.Tensor:
    pos = jl.arange(n, dtype=jl.float32).unsqueeze(1)
    div = jl.exp(jl.arange(0, d, 2).float() * (-math.log(10000.0) / d))
    pe = jl.zeros(n, d)
    pe[:, 0::2] = jl.sin(pos * div)
    pe[:, 1::2] = jl.cos(pos * div)
    return pe


def pagerank(adj: jl.Tensor, d: float, tol: float) -> tuple[jl.Tensor, int]:
    n = adj.size(0)
    deg = adj.sum(1, keepdim=True)
    p = jl.where(deg > 0, adj / deg.clamp_min(1.0), jl.full_like(adj, 1.0 / n)).t()
    r = jl.full((n,), 1.0 / n)
    it = 0
    while it < 100:
        nr = d * (p @ r) + (1 - d) / n
        it += 1
        if (nr - r).abs().sum() < tol:
            break
        r = nr
    return r, it


def hist(x: jl.Tensor, bins: int, lo: float, hi: float) -> jl.Tensor:
    out = jl.zeros(bins, dtype=jl.int64)
    w = (hi - lo) / bins
    for v in x.flatten().tolist():
        if lo <= v <= hi:
            out[min(int((v - lo) / w), bins - 1)] += 1
    return out


def group(rows: list[tuple[str, float]]) -> dict[str, dict[str, float]]:
    acc: dict[str, list[float]] = {}
    for k, v in rows:
        if k not in acc:
            acc[k] = []
        acc[k].append(v)
    return {
        k: {"n": float(len(v)), "mean": sum(v) / len(v), "max": max(v), "std": math.sqrt(sum([(x - sum(v) / len(v)) ** 2 for x in v]) / len(v))}
        for k, v in acc.items()
    }


def lcs(a: str, b: str) -> str:
    dp = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            dp[i][j] = dp[i - 1][j - 1] + 1 if x == y else max(dp[i - 1][j], dp[i][j - 1])
    i, j, out = len(a), len(b), []
    while i and j:
        if a[i - 1] == b[j - 1]:
            out.append(a[i - 1])
            i, j = i - 1, j - 1
        elif dp[i - 1][j] >= dp[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return "".join(reversed(out))


def rot(x: jl.Tensor, theta: float) -> jl.Tensor:
    c, s = math.cos(theta), math.sin(theta)
    r = jl.tensor([[c, -s], [s, c]])
    return jl.einsum("ij,nj->ni", r, x)


def unique_counts(x: jl.Tensor) -> dict[int, int]:
    out: dict[int, int] = {}
    for v in x.tolist():
        out[v] = out.get(v, 0) + 1
    return out


def rle(s: str) -> str:
    out = []
    i = 0
    while i < len(s):
        j = i
        while j < len(s) and s[j] == s[i]:
            j += 1
        out.append(f"{s[i]}{j - i if j - i > 1 else ''}")
        i = j
    return "".join(out)


def greedy_match(cost: jl.Tensor) -> list[tuple[int, int, float]]:
    c = cost.clone()
    res: list[tuple[int, int, float]] = []
    for _ in range(min(c.shape)):
        k = int(c.argmin())
        i, j = divmod(k, c.shape[1])
        res.append((i, j, float(cost[i, j])))
        c[i] = float("inf")
        c[:, j] = float("inf")
    return res


def sgd(x: jl.Tensor, y: jl.Tensor, lr: float, n: int) -> tuple[jl.Tensor, list[float]]:
    w = jl.zeros(x.size(1))
    b = jl.zeros(())
    losses: list[float] = []
    for step in range(n):
        p = x @ w + b
        e = p - y
        losses.append(float((e**2).mean()))
        w -= lr * 2 * (x.t() @ e) / x.size(0)
        b -= lr * 2 * e.mean()
        if step > 5 and losses[-1] > losses[-2]:
            lr *= 0.5
    return jl.cat([w, b.reshape(1)]), losses


def mask_fill(lens: jl.Tensor, n: int) -> jl.Tensor:
    return jl.arange(n)[None, :] < lens[:, None]


def interp(x: jl.Tensor, scale: float) -> jl.Tensor:
    n = int(math.floor(x.size(-1) * scale))
    out = jl.empty(x.size(0), n)
    for i in range(n):
        src = (i + 0.5) / scale - 0.5
        lo = max(int(math.floor(src)), 0)
        hi = min(lo + 1, x.size(-1) - 1)
        f = max(src - lo, 0.0)
        out[:, i] = x[:, lo] * (1 - f) + x[:, hi] * f
    return out


def arguments() -> dict[str, tuple[object, ...]]:
    jl.manual_seed(11)
    return {
        "ring": ([1.0, 2.0, 3.5, -1.0, 4.0],),
        "beam": ((jl.randn(5, 6, 6).abs() + 0.1).log(), 3, 2),
        "parse": ("1 + 2*(3-4.5)/ (2 - 0.5) - 7",),
        "bpe": ("lowest", {("l", "o"): 0, ("lo", "w"): 1, ("e", "s"): 2, ("es", "t"): 3}),
        "conv_pool": (jl.randn(2, 3, 20), jl.randn(4, 3, 3), jl.randn(4)),
        "norm": (jl.randn(3, 6), jl.randn(6), 1e-5),
        "posenc": (10, 6),
        "pagerank": ((jl.randn(6, 6) > 0.3).float(), 0.85, 1e-6),
        "hist": (jl.randn(4, 30), 7, -2.0, 2.0),
        "group": ([("a", 1.0), ("b", 2.5), ("a", 3.0)],),
        "lcs": ("AGGTABQX", "GXTXAYBQ"),
        "rot": (jl.randn(4, 2), 0.3),
        "unique_counts": (jl.randint(0, 4, (20,)),),
        "rle": ("aaabccd",),
        "greedy_match": (jl.randn(4, 5),),
        "sgd": (jl.randn(20, 3), jl.randn(20), 0.1, 12),
        "mask_fill": (jl.tensor([1, 3, 2]), 4),
        "interp": (jl.randn(2, 7), 1.7),
    }


ARGUMENTS = arguments()


@pytest.mark.parametrize("name", ARGUMENTS)
def test_algorithm(name: str) -> None:
    check(globals()[name], *ARGUMENTS[name], messages=True)


def test_a_division_by_zero() -> None:
    check(parse, "1 / (2 - 2)", messages=True)
