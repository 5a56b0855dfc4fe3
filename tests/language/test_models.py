"""Programs as users of TorchScript write them, with data-dependent control flow: both tiers answer as the same function does without a script."""

import copy
import math

import pytest

import jitlang as jl
from tests.language.oracle import check


def nms(boxes: jl.Tensor, scores: jl.Tensor, thr: float) -> list[int]:
    order = scores.argsort(descending=True)
    keep: list[int] = []
    alive = jl.ones(boxes.shape[0], dtype=jl.bool)
    for k in range(order.shape[0]):
        i = int(order[k].item())
        if not bool(alive[i]):
            continue
        keep.append(i)
        x1 = jl.maximum(boxes[:, 0], boxes[i, 0])
        y1 = jl.maximum(boxes[:, 1], boxes[i, 1])
        x2 = jl.minimum(boxes[:, 2], boxes[i, 2])
        y2 = jl.minimum(boxes[:, 3], boxes[i, 3])
        inter = (x2 - x1).clamp(min=0) * (y2 - y1).clamp(min=0)
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        iou = inter / (area + area[i] - inter)
        alive = alive & (iou <= thr)
    return keep


def viterbi(em: jl.Tensor, tr: jl.Tensor) -> tuple[float, list[int]]:
    T, N = em.shape
    score = em[0]
    back: list[jl.Tensor] = []
    for t in range(1, T):
        m = score.unsqueeze(1) + tr + em[t].unsqueeze(0)
        best, idx = m.max(dim=0)
        back.append(idx)
        score = best
    last = int(score.argmax())
    path = [last]
    for idx in back[::-1]:
        last = int(idx[last])
        path.append(last)
    path.reverse()
    return float(score.max()), path


def ctc_greedy(logits: jl.Tensor, vocab: str, blank: int = 0) -> str:
    ids = logits.argmax(-1).tolist()
    out = ""
    prev = -1
    for i in ids:
        if i != prev and i != blank:
            out += vocab[i]
        prev = i
    return out


def kmeans(x: jl.Tensor, k: int, steps: int) -> tuple[jl.Tensor, list[int]]:
    c = x[:k].clone()
    assign = jl.zeros(x.size(0), dtype=jl.int64)
    for _ in range(steps):
        d = ((x[:, None, :] - c[None]) ** 2).sum(-1)
        assign = d.argmin(1)
        for j in range(k):
            m = assign == j
            if m.any():
                c[j] = x[m].mean(0)
    counts: list[int] = [int((assign == j).sum()) for j in range(k)]
    return c, counts


def lstm(x: jl.Tensor, h: jl.Tensor, c: jl.Tensor, wi: jl.Tensor, wh: jl.Tensor) -> tuple[jl.Tensor, tuple[jl.Tensor, jl.Tensor]]:
    outs: list[jl.Tensor] = []
    for t in range(x.size(0)):
        g = x[t] @ wi.t() + h @ wh.t()
        i, f, o, u = g.chunk(4, dim=-1)
        c = jl.sigmoid(f) * c + jl.sigmoid(i) * jl.tanh(u)
        h = jl.sigmoid(o) * jl.tanh(c)
        outs.append(h)
    return jl.stack(outs), (h, c)


def attention(q: jl.Tensor, k: jl.Tensor, v: jl.Tensor, causal: bool, lens: list[int] | None = None) -> jl.Tensor:
    s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if causal:
        n = s.size(-1)
        s = s.masked_fill(jl.triu(jl.ones(n, n, dtype=jl.bool), 1), float("-inf"))
    if lens is not None:
        for b, l in enumerate(lens):
            s[b, :, l:] = float("-inf")
    return jl.softmax(s, -1) @ v


def life(g: jl.Tensor, n: int) -> jl.Tensor:
    for _ in range(n):
        p = jl.zeros(g.shape[0] + 2, g.shape[1] + 2, dtype=jl.int64)
        p[1:-1, 1:-1] = g
        nb = jl.zeros_like(g)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if (dy, dx) != (0, 0):
                    nb += p[1 + dy : p.shape[0] - 1 + dy, 1 + dx : p.shape[1] - 1 + dx]
        g = ((nb == 3) | ((g == 1) & (nb == 2))).long()
    return g


def words(text: str) -> dict[str, list[int]]:
    d: dict[str, list[int]] = {}
    for i, w in enumerate(text.lower().replace(",", " ").split()):
        d.setdefault(w.strip(".!?"), []).append(i)
    return {k: v for k, v in sorted(d.items(), key=lambda kv: (-len(kv[1]), kv[0])) if len(k) > 2}


def dijkstra(g: dict[int, list[tuple[int, float]]], s: int) -> dict[int, float]:
    dist = {s: 0.0}
    todo = [(0.0, s)]
    while todo:
        todo.sort()
        d, u = todo.pop(0)
        if d > dist[u]:
            continue
        for v, w in g.get(u, []):
            nd = d + w
            if v not in dist or nd < dist[v]:
                dist[v] = nd
                todo.append((nd, v))
    return dist


def stft(x: jl.Tensor, n: int, hop: int) -> jl.Tensor:
    w = 0.5 - 0.5 * jl.cos(2 * math.pi * jl.arange(n) / n)
    frames = x.unfold(0, n, hop) * w
    k = jl.arange(n // 2 + 1).unsqueeze(1) * jl.arange(n).unsqueeze(0) * (2 * math.pi / n)
    re, im = frames @ jl.cos(k).t(), frames @ jl.sin(k).t()
    return (re**2 + im**2).sqrt()


def sample(logits: jl.Tensor, temp: float, top_k: int, top_p: float) -> jl.Tensor:
    logits = logits / max(temp, 1e-5)
    if top_k > 0:
        v, _ = jl.topk(logits, min(top_k, logits.size(-1)))
        logits = jl.where(logits < v[..., -1:], jl.full_like(logits, -float("inf")), logits)
    p = jl.softmax(logits, -1)
    sp, si = jl.sort(p, descending=True)
    c = sp.cumsum(-1)
    m = c - sp > top_p
    sp[m] = 0.0
    sp = sp / sp.sum(-1, keepdim=True)
    return jl.zeros_like(p).scatter(-1, si, sp)


def det(m: list[list[float]]) -> float:
    n = len(m)
    if n == 1:
        return m[0][0]
    s = 0.0
    for j in range(n):
        s += (-1) ** j * m[0][j] * det([r[:j] + r[j + 1 :] for r in m[1:]])
    return s


def fmt(xs: list[float], names: list[str]) -> str:
    w = max(len(n) for n in names)
    rows = [f"{n:<{w}} | {x:>10.3f} {x:e} {int(x):+05d} {x:%}" for n, x in zip(names, xs)]
    return "\n".join(rows) + f"\n{'total':-^20}{sum(xs)!r}"


def batch(seqs: list[list[int]], pad: int = 0) -> tuple[jl.Tensor, jl.Tensor]:
    n = max([len(s) for s in seqs])
    out = jl.full((len(seqs), n), pad)
    mask = jl.zeros(len(seqs), n, dtype=jl.bool)
    for i, s in enumerate(seqs):
        out[i, : len(s)] = jl.tensor(s)
        mask[i, : len(s)] = True
    return out, mask


def newton(a: float, tol: float = 1e-12) -> tuple[float, int]:
    x = a if a > 1 else 1.0
    n = 0
    while True:
        nx = 0.5 * (x + a / x)
        n += 1
        if abs(nx - x) < tol or n > 100:
            return nx, n
        x = nx


def ema(xs: jl.Tensor, alpha: float) -> jl.Tensor:
    out = jl.empty_like(xs)
    acc: jl.Tensor | None = None
    for i, x in enumerate(xs):
        acc = x if acc is None else alpha * x + (1 - alpha) * acc
        out[i] = acc
    return out


def quant(x: jl.Tensor, bits: int) -> tuple[jl.Tensor, float, int]:
    lo, hi = x.min().item(), x.max().item()
    qmax = 2**bits - 1
    scale = (hi - lo) / qmax if hi > lo else 1.0
    zp = round(-lo / scale)
    q = jl.clamp(jl.round(x / scale) + zp, 0, qmax).to(jl.uint8)
    return q, scale, zp


def topo(deps: dict[str, list[str]]) -> list[str]:
    seen: dict[str, int] = {}
    out: list[str] = []
    stack: list[tuple[str, bool]] = [(k, False) for k in sorted(deps, reverse=True)]
    while len(stack) > 0:
        n, done = stack.pop()
        if done:
            seen[n] = 2
            out.append(n)
            continue
        s = seen.get(n, 0)
        if s == 2:
            continue
        if s == 1:
            raise ValueError("cycle at " + n)
        seen[n] = 1
        stack.append((n, True))
        for d in deps.get(n, []):
            if seen.get(d, 0) != 2:
                stack.append((d, False))
    return out


def noise(*shape: int) -> jl.Tensor:
    return jl.randn(*shape)


def arguments() -> dict[str, tuple[object, ...]]:
    jl.manual_seed(7)
    cube = (noise(2, 5, 8), noise(2, 5, 8), noise(2, 5, 8))
    return {
        "nms": (noise(12, 4).abs() + jl.tensor([0.0, 0.0, 2.0, 2.0]), noise(12), 0.3),
        "viterbi": (noise(7, 4), noise(4, 4)),
        "ctc_greedy": (noise(20, 5), "_abcd", 0),
        "kmeans": (noise(40, 3), 4, 5),
        "lstm": (noise(6, 2, 3), noise(2, 4), noise(2, 4), noise(16, 3), noise(16, 4)),
        "attention": (*cube, True, [3, 5]),
        "life": (jl.randint(0, 2, (8, 9)), 4),
        "words": ("The cat, the dog and the bird. A cat saw the dog! Yes?",),
        "dijkstra": ({0: [(1, 4.0), (2, 1.0)], 2: [(1, 2.0), (3, 7.5)], 1: [(3, 1.0)]}, 0),
        "stft": (noise(400), 64, 16),
        "sample": (noise(3, 10), 0.7, 5, 0.8),
        "det": ([[2.0, -1.0, 3.0, 1.0], [0.5, 2.0, 4.0, -2.0], [1.0, 1.0, 1.0, 5.0], [3.0, 0.0, 2.0, 1.0]],),
        "fmt": ([1.5, -2.25, 1e6], ["a", "bcd", "ef"]),
        "batch": ([[1, 2, 3], [4], [5, 6]], 7),
        "newton": (2.0, 1e-12),
        "ema": (noise(6, 2), 0.3),
        "quant": (noise(5, 5), 8),
        "topo": ({"a": ["b", "c"], "b": ["c"], "d": ["a"]},),
    }


ARGUMENTS = arguments()


@pytest.mark.parametrize("name", ARGUMENTS)
def test_program(name: str) -> None:
    check(globals()[name], *copy.copy(ARGUMENTS[name]), messages=True)


def test_a_cycle() -> None:
    check(topo, {"a": ["b"], "b": ["a"]}, messages=True)
