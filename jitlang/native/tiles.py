"""The inner loops of matrix products, as LLVM IR. In: the host's vector features. Out: native functions and a table of their geometry.

A *tile* is `rows` × `vectors` registers of sums, one element of the result in each lane. For k = 0, 1, 2 … it adds
``a[row, k] * b[k, column]`` to each of them by one fused multiply-add. That is the order of every product in jitlang: one
accumulator an element, k ascending, whatever the shape, the packing, the blocking and the threads. A block of k may begin with the
sums that the block before it left in the result, which changes no bit.

Functions, for T = f32 and f64 (counts and strides in elements):

- ``jl.tiles.T(m, vectors, lanes, k, a, lda, b, ldb, c, ldc, bias, more, ahead)``: m rows of a panel of ``vectors`` registers, the last of which
  has `lanes` columns. ``more`` is 1 to go on from what stands in c; `bias`, where not null, is added to the sums at the end, one element a
  column; from `ahead` on is memory that will be read next.
- ``jl.tiles.T.turn(k, rows, source, ld, target, pitch)``: writes rows of k ≥ ``width`` elements as columns. There are ``width`` columns; those
  behind the given rows hold the last row again.

``jl.tiles.geometry`` holds {width, rows, vectors} of f32, then of f64; it is filled when the functions are linked.
"""

from __future__ import annotations

import ctypes
import dataclasses
import platform

from jitlang.native import cache, engine, host

GEOMETRY_CELL = "jl.tiles.geometry"
GEOMETRY_BYTES = 64
TYPES = {"f32": ("float", 4), "f64": ("double", 8)}


@dataclasses.dataclass(frozen=True)
class Geometry:
    """How a tile lies in registers: lanes of a register, rows and registers a row at most, and whether there is a fused multiply-add."""

    width: int
    rows: int
    vectors: int
    fused: bool


def geometry(kind: str, features: str, machine: str) -> Geometry:
    """The tile for a machine: as many sums as fit in its registers beside the operands."""
    item = TYPES[kind][1]
    have = set(features.split(","))
    if machine in ("aarch64", "arm64"):
        return Geometry(16 // item, 8, 3, True)
    if "+avx512f" in have:
        return Geometry(64 // item, 8, 3, True)
    if "+avx2" in have and "+fma" in have:
        return Geometry(32 // item, 4, 3, True)
    return Geometry(16 // item, 4, 2, False)


class _Text:
    """Writes the functions for one element type."""

    def __init__(self, kind: str, shape: Geometry) -> None:
        self.kind = kind
        self.shape = shape
        self.scalar, self.item = TYPES[kind]
        self.vector = f"<{shape.width} x {self.scalar}>"
        self.flags = f"<{shape.width} x i1>"
        self.suffix = f"v{shape.width}{kind}"

    def all(self) -> str:
        shape = self.shape
        tiles = [self.tile(rows, vectors) for vectors in range(1, shape.vectors + 1) for rows in range(1, shape.rows + 1)]
        return "\n".join([self.declarations(), *tiles, self.table(), self.rows(), self.turn()])

    def declarations(self) -> str:
        v, m, s = self.vector, self.flags, self.suffix
        return f"""
declare {v} @llvm.fma.{s}({v}, {v}, {v})
declare {v} @llvm.masked.load.{s}.p0(ptr, i32, {m}, {v})
declare void @llvm.masked.store.{s}.p0({v}, ptr, i32, {m})
"""

    def _at(self, base: str, index: str) -> str:
        return f"getelementptr {self.scalar}, ptr {base}, i64 {index}"

    def _masked(self, vectors: int, j: int) -> bool:
        return j == vectors - 1

    def _load(self, name: str, pointer: str, masked: bool) -> str:
        if masked:
            return f"  {name} = call {self.vector} @llvm.masked.load.{self.suffix}.p0(ptr {pointer}, i32 {self.item}, {self.flags} %mask, {self.vector} zeroinitializer)"
        return f"  {name} = load {self.vector}, ptr {pointer}, align {self.item}"

    def _store(self, value: str, pointer: str, masked: bool) -> str:
        if masked:
            return f"  call void @llvm.masked.store.{self.suffix}.p0({self.vector} {value}, ptr {pointer}, i32 {self.item}, {self.flags} %mask)"
        return f"  store {self.vector} {value}, ptr {pointer}, align {self.item}"

    def _multiply_add(self, name: str, a: str, b: str, c: str) -> list[str]:
        v = self.vector
        if self.shape.fused:
            return [f"  {name} = call {v} @llvm.fma.{self.suffix}({v} {a}, {v} {b}, {v} {c})"]
        return [f"  {name}.p = fmul {v} {a}, {b}", f"  {name} = fadd {v} {c}, {name}.p"]

    def _mask(self) -> list[str]:
        w = self.shape.width
        numbers = ", ".join(f"i64 {i}" for i in range(w))
        return [
            f"  %lanes.one = insertelement <{w} x i64> poison, i64 %lanes, i32 0",
            f"  %lanes.all = shufflevector <{w} x i64> %lanes.one, <{w} x i64> poison, <{w} x i32> zeroinitializer",
            f"  %mask = icmp ult <{w} x i64> <{numbers}>, %lanes.all",
        ]

    def tile(self, rows: int, vectors: int) -> str:
        """One tile; ``pace`` is how many elements the reading ahead goes on by for each k."""
        v, w = self.vector, self.shape.width
        grid = [(r, j) for r in range(rows) for j in range(vectors)]
        one = "i64 %lanes, i64 %k, ptr noalias %a, i64 %lda, ptr noalias %b, i64 %ldb, ptr %c, i64 %ldc, ptr %bias, i64 %more, ptr %ahead, i64 %pace"
        out = [
            f"define internal void @{self.kind}.tile.{rows}.{vectors}({one}) noinline {{",
            *self._mask(),
        ]
        for r in range(rows):
            out += [f"  %ao{r} = mul i64 %lda, {r}", f"  %a{r} = {self._at('%a', f'%ao{r}')}"]
            out += [f"  %co{r} = mul i64 %ldc, {r}", f"  %c{r} = {self._at('%c', f'%co{r}')}"]
            out += [f"  %c{r}.{j} = {self._at(f'%c{r}', str(j * w))}" for j in range(vectors)]
        out += ["  %goes.on = icmp ne i64 %more, 0", "  br i1 %goes.on, label %resume, label %begin", "resume:"]
        out += [self._load(f"%old{r}.{j}", f"%c{r}.{j}", self._masked(vectors, j)) for r, j in grid]
        out += ["  br label %begin", "begin:"]
        out += [f"  %s{r}.{j} = phi {v} [ zeroinitializer, %0 ], [ %old{r}.{j}, %resume ]" for r, j in grid]
        out += ["  %any = icmp sgt i64 %k, 0", "  br i1 %any, label %loop, label %end", "loop:"]
        out += [
            "  %i = phi i64 [ 0, %begin ], [ %i1, %loop ]",
            "  %bp = phi ptr [ %b, %begin ], [ %bp1, %loop ]",
            "  %fp = phi ptr [ %ahead, %begin ], [ %fp1, %loop ]",
        ]
        out += [f"  %x{r}.{j} = phi {v} [ %s{r}.{j}, %begin ], [ %n{r}.{j}, %loop ]" for r, j in grid]
        lines = max(1, vectors * w * self.item // 64)
        for j in range(lines):
            out += [f"  %f{j} = getelementptr i8, ptr %fp, i64 {64 * j}", f"  call void @llvm.prefetch.p0(ptr %f{j}, i32 0, i32 3, i32 1)"]
        for j in range(vectors):
            out += [f"  %bp.{j} = {self._at('%bp', str(j * w))}", self._load(f"%b{j}", f"%bp.{j}", False)]
        for r in range(rows):
            out += [f"  %ap{r} = {self._at(f'%a{r}', '%i')}", f"  %as{r} = load {self.scalar}, ptr %ap{r}"]
            out += [f"  %ai{r} = insertelement {v} poison, {self.scalar} %as{r}, i32 0"]
            out += [f"  %av{r} = shufflevector {v} %ai{r}, {v} poison, <{w} x i32> zeroinitializer"]
            for j in range(vectors):
                out += self._multiply_add(f"%n{r}.{j}", f"%av{r}", f"%b{j}", f"%x{r}.{j}")
        out += [f"  %bp1 = {self._at('%bp', '%ldb')}", f"  %fp1 = {self._at('%fp', '%pace')}", "  %i1 = add nuw nsw i64 %i, 1"]
        out += ["  %again = icmp slt i64 %i1, %k", "  br i1 %again, label %loop, label %end", "end:"]
        out += [f"  %t{r}.{j} = phi {v} [ %s{r}.{j}, %begin ], [ %n{r}.{j}, %loop ]" for r, j in grid]
        out += ["  %plain = icmp eq ptr %bias, null", "  br i1 %plain, label %store, label %biased", "biased:"]
        for j in range(vectors):
            out += [f"  %zp{j} = {self._at('%bias', str(j * w))}", self._load(f"%z{j}", f"%zp{j}", self._masked(vectors, j))]
        out += [f"  %u{r}.{j} = fadd {v} %t{r}.{j}, %z{j}" for r, j in grid]
        out += ["  br label %store", "store:"]
        out += [f"  %v{r}.{j} = phi {v} [ %t{r}.{j}, %end ], [ %u{r}.{j}, %biased ]" for r, j in grid]
        out += [self._store(f"%v{r}.{j}", f"%c{r}.{j}", self._masked(vectors, j)) for r, j in grid]
        return "\n".join([*out, "  ret void", "}", ""])

    def table(self) -> str:
        """The tiles by registers and rows."""
        shape = self.shape
        names = [f"ptr @{self.kind}.tile.{rows}.{vectors}" for vectors in range(1, shape.vectors + 1) for rows in range(1, shape.rows + 1)]
        return f"@{self.kind}.tiles = internal constant [{len(names)} x ptr] [{', '.join(names)}]"

    def rows(self) -> str:
        """All rows of a panel, in tiles of nearly equal height."""
        high, w = self.shape.rows, self.shape.width
        return f"""
define void @jl.tiles.{self.kind}(i64 %m, i64 %vectors, i64 %lanes, i64 %k, ptr %a, i64 %lda, ptr %b, i64 %ldb, ptr %c, i64 %ldc, ptr %bias, i64 %more, ptr %ahead) {{
  %up = add i64 %m, {high - 1}
  %count = udiv i64 %up, {high}
  %v1 = sub i64 %vectors, 1
  %row.of.table = mul i64 %v1, {high}
  %wide = mul i64 %vectors, {w}
  %many = icmp sgt i64 %count, 0
  br i1 %many, label %some, label %done
some:
  %pace = udiv i64 %wide, %count
  %share = mul i64 %pace, %k
  br label %loop
loop:
  %i = phi i64 [ 0, %some ], [ %i1, %loop ]
  %left = phi i64 [ %count, %some ], [ %left1, %loop ]
  %fp = phi ptr [ %ahead, %some ], [ %fp1, %loop ]
  %rest = sub i64 %m, %i
  %rest.up = add i64 %rest, %left
  %rest.up1 = sub i64 %rest.up, 1
  %high = udiv i64 %rest.up1, %left
  %ao = mul i64 %i, %lda
  %ap = {self._at("%a", "%ao")}
  %co = mul i64 %i, %ldc
  %cp = {self._at("%c", "%co")}
  %n0 = add i64 %row.of.table, %high
  %n = sub i64 %n0, 1
  %entry = getelementptr ptr, ptr @{self.kind}.tiles, i64 %n
  %tile = load ptr, ptr %entry
  call void %tile(i64 %lanes, i64 %k, ptr %ap, i64 %lda, ptr %b, i64 %ldb, ptr %cp, i64 %ldc, ptr %bias, i64 %more, ptr %fp, i64 %pace)
  %i1 = add i64 %i, %high
  %left1 = sub i64 %left, 1
  %fp1 = {self._at("%fp", "%share")}
  %again = icmp sgt i64 %left1, 0
  br i1 %again, label %loop, label %done
done:
  ret void
}}
"""

    def turn(self) -> str:
        """Transposes squares of width × width in registers: log2(width) steps, each of which swaps off-diagonal squares."""
        v, w = self.vector, self.shape.width
        out = [f"define void @jl.tiles.{self.kind}.turn(i64 %k, i64 %rows, ptr noalias %source, i64 %ld, ptr noalias %target, i64 %pitch) {{"]
        out += ["  %last = sub i64 %rows, 1", f"  %end = sub i64 %k, {w}"]
        for r in range(w):
            out += [f"  %in{r} = icmp slt i64 %last, {r}", f"  %row{r} = select i1 %in{r}, i64 %last, i64 {r}"]
            out += [f"  %so{r} = mul i64 %ld, %row{r}", f"  %s{r} = {self._at('%source', f'%so{r}')}"]
        # The last square ends with the row and may overlap the one before, which writes the same values twice.
        out += ["  br label %loop", "loop:", "  %next = phi i64 [ 0, %0 ], [ %next1, %loop ]", "  %over = icmp sgt i64 %next, %end"]
        out += ["  %i = select i1 %over, i64 %end, i64 %next", "  %to = mul i64 %i, %pitch", f"  %t0 = {self._at('%target', '%to')}"]
        names = []
        for r in range(w):
            out += [f"  %p{r} = {self._at(f'%s{r}', '%i')}", f"  %l{r} = load {v}, ptr %p{r}, align {self.item}"]
            names.append(f"%l{r}")
        distance = 1
        while distance < w:
            names = self._swap(out, names, distance)
            distance *= 2
        for r in range(w):
            if r:
                out.append(f"  %t{r} = {self._at(f'%t{r - 1}', '%pitch')}")
            out.append(f"  store {v} {names[r]}, ptr %t{r}, align {self.item}")
        out += [f"  %next1 = add i64 %next, {w}", "  %again = icmp slt i64 %next1, %k"]
        return "\n".join([*out, "  br i1 %again, label %loop, label %done", "done:", "  ret void", "}", ""])

    def _swap(self, out: list[str], names: list[str], distance: int) -> list[str]:
        v, w = self.vector, self.shape.width
        after = list(names)
        for r in (r for r in range(w) if not r & distance):
            low = [lane if not lane & distance else w + lane - distance for lane in range(w)]
            high = [lane + distance if not lane & distance else w + lane for lane in range(w)]
            for target, lanes in ((r, low), (r + distance, high)):
                after[target] = f"%d{distance}.{target}"
                order = ", ".join(f"i32 {lane}" for lane in lanes)
                out.append(f"  {after[target]} = shufflevector {v} {names[r]}, {v} {names[r + distance]}, <{w} x i32> <{order}>")
        return after


def text(kind: str, shape: Geometry) -> str:
    """The module for one element type."""
    return "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n" + _Text(kind, shape).all()


def exports(kind: str) -> list[str]:
    """The functions of that module."""
    return [f"jl.tiles.{kind}", f"jl.tiles.{kind}.turn"]


def install(kind: str) -> None:
    """Compiles and links the functions of one element type and fills in its geometry."""
    cell = host.shared_cell(GEOMETRY_CELL, GEOMETRY_BYTES)
    shape = geometry(kind, engine.host().features, platform.machine())
    module = text(kind, shape)
    code, _, _ = cache.cached_object([module], lambda: (module, {}), level=1, whole_package=False)
    at = 3 * list(TYPES).index(kind)
    (ctypes.c_int64 * (GEOMETRY_BYTES // 8)).from_address(cell)[at : at + 3] = [shape.width, shape.rows, shape.vectors]
    for name, address in engine.link(code, exports(kind)).items():
        host.define(name, address)


def install_f32() -> None:
    """`install` for f32; `host.lookup` calls it when one of the functions is looked up."""
    install("f32")


def install_f64() -> None:
    """`install` for f64."""
    install("f64")
