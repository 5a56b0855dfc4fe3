"""Rows of reductions, running totals and places of extremes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitlang.frontend.kernel import Kernel, b1, cast, check, f64, get, has, i64, kernel, local, ptr, text, u8
from jitlang.registry import PURE
from jitlang.tensor.kernels import arithmetic as a
from jitlang.tensor.kernels import pointwise as drivers
from jitlang.tensor.kernels import reduction as r
from jitlang.tensor.kernels import views
from jitlang.tensor.kernels.creation import Ints, Tensor
from jitlang.tensor.kernels.reduction import all_dims
from jitlang.tensor.kernels.scalars import number
from jitlang.tensor.kernels.tensors import release, retain
from jitlang.tensor.kernels.views import wrapped_dim
from jitlang.tensor.layout import BOOL, INT64, UINT8, TensorImpl
from jitlang.tensor.loops import Loop, pointwise, static
from jitlang.tensor.ops import pointwise as point
from jitlang.tensor.ops import rules
from jitlang.tensor.ops.families import row
from jitlang.tensor.ops.samples import ALL, FLOATS, A, D, Sample
from jitlang.tensor.promotion import SAME, is_float, sum_dtype
from jitlang.types import DType, Machine, TensorType, dtype_coded, machine_type

INFINITY = float("inf")


# ---- tables -------------------------------------------------------------------------------------------------------


def _result(dtype: DType, kind: str) -> Machine:
    if kind == "sum":
        return machine_type(dtype) if dtype.kind == "f" else machine_type(dtype_coded(INT64))
    if kind == "count":
        return machine_type(dtype_coded(INT64))
    if kind == "bool":
        return machine_type(dtype_coded(BOOL))
    return machine_type(dtype)


def table(name: str, op: Kernel, prepare: Kernel, kind: str, initial: Any) -> Any:
    """The loops of a reduction. `kind` says what results are: "sum" (integers in int64), "count", "bool", "float" (floats only) or "same"."""

    def make(dtype: DType) -> Any:
        if kind == "float" and dtype.kind != "f":
            return None
        S = _result(dtype, kind)
        start = initial(dtype) if callable(initial) else initial
        statics = (op, prepare, start, machine_type(dtype), S)
        return r.reduce_loop.instance(*map(static, statics), *r.LOOP_ARGUMENTS)

    return Loop(name, make).table


def lowest(dtype: DType) -> Any:
    """The neutral value of max."""
    if dtype.kind == "f":
        return -INFINITY
    return -(1 << (dtype.itemsize * 8 - 1)) if dtype.kind == "i" else 0


def highest(dtype: DType) -> Any:
    """The neutral value of min."""
    if dtype.kind == "f":
        return INFINITY
    return {"i": (1 << (dtype.itemsize * 8 - 1)) - 1, "u": 255, "b": 1}[dtype.kind]


SUM = table("sum", a.add, r.as_is, "sum", 0)
PROD = table("prod", a.mul, r.as_is, "sum", 1)
MAX = table("max", a.maximum, r.as_is, "same", lowest)
MIN = table("min", a.minimum, r.as_is, "same", highest)
ANY = table("any", a.bit_or, r.is_set, "bool", 0)
ALL_OF = table("all", a.bit_and, r.is_set, "bool", 1)
SQUARES = table("sum of squares", a.add, r.squared, "float", 0)
MAGNITUDES = table("sum of magnitudes", a.add, r.magnitude, "float", 0)
LARGEST = table("largest magnitude", a.maximum, r.magnitude, "float", 0)
SMALLEST = table("smallest magnitude", a.minimum, r.magnitude, "float", INFINITY)
COUNT = table("count_nonzero", a.add, r.count_set, "count", 0)
PLACES = Loop("argmax", lambda d: r.place_loop.instance(static(machine_type(d)), *r.PLACE_ARGUMENTS)).table
CUMSUM = Loop("cumsum", lambda d: None if d.kind in "ub" else pointwise(r.scan_loop, a.add, machine_type(d))).table
CUMPROD = Loop("cumprod", lambda d: None if d.kind in "ub" else pointwise(r.scan_loop, a.mul, machine_type(d))).table


@kernel
def in_dtype(self: Tensor, dtype: i64) -> Tensor:
    """The tensor in a dtype, owned."""
    if self.dtype == dtype:
        retain(self)
        return self
    return drivers.cast_tensor(self, dtype)


@kernel
def mask_of(self: Tensor, dim: Any) -> i64:
    """Dimensions to reduce as bits: all of them for None or an empty list."""
    if not has(dim):
        return all_dims(self)
    if get(dim).length == 0:
        return all_dims(self)
    return views.dim_mask(get(dim), self.rank)


@kernel
def single(self: Tensor, dim: i64) -> i64:
    """One dimension as a bit."""
    return 1 << wrapped_dim(dim, self.rank)


# ---- type rules -----------------------------------------------------------------------------------------------------


def reduced_rank(first: Any, dims: Any, keep: Any) -> int | None:
    """The rank after reducing constant dimensions."""
    if not isinstance(first, TensorType) or first.rank is None or not isinstance(keep, bool):
        return None
    if keep:
        return first.rank
    if isinstance(dims, int):
        return max(first.rank - 1, 0)
    if dims is None or isinstance(dims, list | tuple):
        return max(first.rank - len(dims), 0) if dims else 0  # none named: all of them
    return None


def rule(dtype: Any, dims_at: int | None, keep_at: int | None, dtype_at: int | None = None) -> rules.Rule:
    """Of reductions: `dtype` maps the first argument's dtype to the result's."""

    def infer(types: Sequence[Any], constants: Sequence[Any]) -> list[Any]:
        first = types[0]
        known = first.dtype if isinstance(first, TensorType) else None
        kind = dtype(known) if known is not None else dtype(None)
        if dtype_at is not None:
            kind = rules.dtype_of(constants[dtype_at], kind)
        dims = constants[dims_at] if dims_at is not None else None
        keep = constants[keep_at] if keep_at is not None else False
        return [TensorType(kind, reduced_rank(first, dims, keep))]

    return infer


def sum_type(d: DType | None) -> DType | None:
    """Integers and bool give int64."""
    return None if d is None else d if d.kind == "f" else dtype_coded(INT64)


def same_type(d: DType | None) -> DType | None:
    """The same dtype."""
    return d


def bool_type(d: DType | None) -> DType | None:
    """Bool."""
    return None if d is None else dtype_coded(BOOL)


def int_type(_: DType | None) -> DType | None:
    """Always int64."""
    return dtype_coded(INT64)


X, M = A((2, 3, 4)), A((4, 3), layout="t")


def pair_rule(types: Any, constants: Any, dims_at: int, keep_at: int) -> Any:
    """Of reductions along one dimension that also give places."""
    first = rule(same_type, dims_at, keep_at)(types, constants)[0]
    return [first, TensorType(dtype_coded(INT64), first.rank)]


_LAYOUTS = [X, M, A((3, 4), layout="e"), A((5,), layout="s"), A((0, 3)), A(()), A((3, 100)), A((300, 5)), A((2, 5000)), A((5000, 3)), A((2, 3, 40), "float64")]
_DIMS: list[tuple[A, Any, bool]] = [
    (X, 1, False),
    (X, -1, True),
    (X, (0, 2), False),
    (X, (0, 1), True),
    (M, 0, False),
    (M, 1, False),
    (A((300, 40)), 0, False),
    (A((40, 300)), 1, False),
    (A((5, 1, 9000)), 2, False),
    (A((9000, 20)), 0, True),
    (A((3, 4), layout="e"), 0, False),
    (A(()), 0, False),
]


def whole(dtypes: Sequence[str], loose: float = 1.0, low: float = -4.0) -> list[Sample]:
    """Samples of a reduction of everything."""
    made = [Sample(A((3, 4), d, max(low, 0) if d == "uint8" else low), loose=loose) for d in dtypes]
    return made + [Sample(A(x.shape, x.dtype if dtypes[0] != "bool" else "bool", low, 4.0, x.layout), loose=loose) for x in _LAYOUTS]


def along(loose: float = 1.0, single_only: bool = False, low: float = -4.0, listed: bool = True) -> list[Sample]:
    """Samples of a reduction along dimensions."""
    made = []
    for x, dims, keep in _DIMS:
        x = A(x.shape, x.dtype, low, 4.0, x.layout)
        if not single_only or isinstance(dims, int):
            made.append(Sample(x, dims, keep, loose=loose))
    return [*made, Sample(X, 3, error=True)] + ([] if single_only or not listed else [Sample(X, (0, 0), error=True)])


# ---- sums ---------------------------------------------------------------------------------------------------------


@kernel
def summed(self: Tensor, mask: i64, keepdim: b1, dtype: Any) -> Tensor:
    """A sum in the dtype that is asked for."""
    code = sum_dtype(self.dtype)
    if has(dtype):
        code = get(dtype)
    return sum_in(self, mask, i64(keepdim), code)


@kernel(extern=True)
def sum_in(self: Tensor, mask: i64, keepdim: i64, dtype: i64) -> Tensor:
    """A sum in a dtype."""
    if sum_dtype(self.dtype) == dtype:
        return r.reduce(SUM, self, mask, keepdim, dtype)
    x = in_dtype(self, dtype)
    wide = r.reduce(SUM, x, mask, keepdim, sum_dtype(dtype))
    release(x)
    result = in_dtype(wide, dtype)
    release(wide)
    return result


@kernel
def sum_all(self: Tensor, dtype: Any) -> Tensor:
    """The sum of all elements."""
    return summed(self, all_dims(self), False, dtype)


@kernel
def sum_dims(self: Tensor, dim: Any, keepdim: b1, dtype: Any) -> Tensor:
    """Sums along dimensions."""
    return summed(self, mask_of(self, dim), keepdim, dtype)


@kernel
def mean_dtype(self: Tensor, dtype: Any) -> i64:
    """The dtype of a mean."""
    code = self.dtype
    if has(dtype):
        code = get(dtype)
    check(
        is_float(code) == 1,
        "RuntimeError",
        "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {}",
        text(drivers.dtype_text(code)),
    )
    return code


@kernel(extern=True)
def mean_in(self: Tensor, mask: i64, keepdim: i64, dtype: i64) -> Tensor:
    """A mean in a dtype."""
    total = sum_in(self, mask, keepdim, dtype)
    divide_by(total, f64(r.count_of(self, mask)))
    return total


@kernel(extern=True)
def divide_by(t: Tensor, divisor: f64) -> None:
    """Divides a new tensor by a number, in place."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    same = drivers.binary_into(point.DIV, SAME, t, number(slot, cast(ptr[u8], room), divisor))
    release(same)


@kernel
def mean_all(self: Tensor, dtype: Any) -> Tensor:
    """The mean of all elements."""
    return mean_in(self, all_dims(self), 0, mean_dtype(self, dtype))


@kernel
def mean_dims(self: Tensor, dim: Any, keepdim: b1, dtype: Any) -> Tensor:
    """Means along dimensions."""
    return mean_in(self, mask_of(self, dim), i64(keepdim), mean_dtype(self, dtype))


@kernel(extern=True)
def prod_in(self: Tensor, mask: i64, keepdim: i64, dtype: i64) -> Tensor:
    """A product in a dtype."""
    x = in_dtype(self, dtype)
    wide = r.reduce(PROD, x, mask, keepdim, sum_dtype(dtype))
    release(x)
    result = in_dtype(wide, dtype)
    release(wide)
    return result


@kernel
def prod_all(self: Tensor, dtype: Any) -> Tensor:
    """The product of all elements."""
    code = sum_dtype(self.dtype)
    if has(dtype):
        code = get(dtype)
    return prod_in(self, all_dims(self), 0, code)


@kernel
def prod_dim(self: Tensor, dim: i64, keepdim: b1, dtype: Any) -> Tensor:
    """Products along a dimension."""
    code = sum_dtype(self.dtype)
    if has(dtype):
        code = get(dtype)
    return prod_in(self, single(self, dim), i64(keepdim), code)


_ANY = "bool keepdim=False, *, dtype? dtype=None"
row(
    "sum(Tensor self, *, dtype? dtype=None) -> Tensor",
    "The sum of all elements.",
    sum_all,
    PURE,
    infer=rule(sum_type, None, None, 1),
    samples=[*whole(ALL, 30), Sample(X, dtype=D("float64"), loose=1e8), Sample(A((3,), "int64"), dtype=D("float32"))],
)
row(
    f"sum.dim_IntList(Tensor self, int[1]? dim, {_ANY}) -> Tensor",
    "Sums along dimensions.",
    sum_dims,
    PURE,
    infer=rule(sum_type, 1, 2, 3),
    samples=[*along(30), Sample(X, None), Sample(X, ()), Sample(A((2, 3), "int32"), 1, dtype=D("float64"))],
)
row(
    "mean(Tensor self, *, dtype? dtype=None) -> Tensor",
    "The mean of all elements.",
    mean_all,
    PURE,
    infer=rule(same_type, None, None, 1),
    samples=[*whole(FLOATS, 30), Sample(A((3,), "int64"), error=True), Sample(A((3,), "int64"), dtype=D("float32"))],
)
row(
    f"mean.dim(Tensor self, int[1]? dim, {_ANY}) -> Tensor",
    "Means along dimensions.",
    mean_dims,
    PURE,
    infer=rule(same_type, 1, 2, 3),
    samples=[*along(30), Sample(X, None, True)],
)
row(
    "prod(Tensor self, *, dtype? dtype=None) -> Tensor",
    "The product of all elements.",
    prod_all,
    PURE,
    infer=rule(sum_type, None, None, 1),
    samples=[Sample(A((2, 3), d, 1, 3), loose=30) for d in ALL] + [Sample(A((0,))), Sample(A(())), Sample(A((4, 3), layout="t"), loose=30)],
)
row(
    f"prod.dim_int(Tensor self, int dim, {_ANY}) -> Tensor",
    "Products along a dimension.",
    prod_dim,
    PURE,
    infer=rule(sum_type, 1, 2, 3),
    samples=[Sample(X, 1, loose=30), Sample(M, 0, True, loose=30), Sample(A((3, 0)), 1)],
)


@kernel
def count_dims(self: Tensor, dim: Ints) -> Tensor:
    """How many elements along dimensions are not zero."""
    return r.reduce(COUNT, self, mask_of(self, dim), 0, INT64)


@kernel
def count_all(self: Tensor, dim: Any) -> Tensor:
    """How many elements are not zero."""
    mask = all_dims(self)
    if has(dim):
        mask = single(self, get(dim))
    return r.reduce(COUNT, self, mask, 0, INT64)


row(
    "count_nonzero(Tensor self, int? dim=None) -> Tensor",
    "How many elements are not zero.",
    count_all,
    PURE,
    infer=rule(int_type, 1, None),
    samples=[Sample(A((3, 4), d, 0)) for d in ALL] + [Sample(X, 1)],
)
row(
    "count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
    "How many elements along dimensions are not zero.",
    count_dims,
    PURE,
    infer=rule(int_type, 1, None),
    samples=[Sample(X, [0, 1]), Sample(X, [-1]), Sample(X, []), Sample(X, [0, 0], error=True)],
)


# ---- any and all ----------------------------------------------------------------------------------------------------


def _truth(name: str, loop: Any, doc: str) -> None:
    @kernel
    def everything(self: Tensor) -> Tensor:
        made = r.reduce(loop, self, all_dims(self), 0, BOOL)
        return for_bytes(self, made)

    @kernel
    def one(self: Tensor, dim: i64, keepdim: b1) -> Tensor:
        return for_bytes(self, r.reduce(loop, self, single(self, dim), i64(keepdim), BOOL))

    @kernel
    def some(self: Tensor, dim: Any, keepdim: b1) -> Tensor:
        return for_bytes(self, r.reduce(loop, self, mask_of(self, dim), i64(keepdim), BOOL))

    samples = [Sample(A((3, 4), d, 0)) for d in ALL] + [Sample(A((0,), "bool")), Sample(A((), "bool")), Sample(A((4, 3), "bool", layout="t"))]
    row(f"{name}(Tensor self) -> Tensor", f"{doc} of all elements.", everything, PURE, infer=rule(_truth_type, None, None), samples=samples)
    dims = [Sample(A((3, 4), "bool"), 1), Sample(A((2, 3, 4), "bool"), -1, True), Sample(A((3,)), 1, error=True), Sample(A((3, 0), "bool"), 1)]
    row(f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", f"{doc} along a dimension.", one, PURE, infer=rule(_truth_type, 1, 2), samples=dims)
    row(
        f"{name}.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
        f"{doc} along dimensions.",
        some,
        PURE,
        infer=rule(_truth_type, 1, 2),
        samples=[Sample(A((2, 3, 4), "bool"), (0, 2)), Sample(A((2, 3), "bool"), (0, 1), True)],
    )


@kernel
def for_bytes(self: Tensor, made: Tensor) -> Tensor:
    """The result of any and all of a uint8 tensor is uint8."""
    if self.dtype == UINT8:
        made.dtype = UINT8
    return made


def _truth_type(d: DType | None) -> DType | None:
    return None if d is None else d if d.code == UINT8 else dtype_coded(BOOL)


_truth("any", ANY, "Whether any is not zero")
_truth("all", ALL_OF, "Whether none is zero")


# ---- running totals -------------------------------------------------------------------------------------------------


def _running(name: str, loop: Any, doc: str) -> None:
    @kernel
    def native(self: Tensor, dim: i64, dtype: Any) -> Tensor:
        code = sum_dtype(self.dtype)
        if has(dtype):
            code = get(dtype)
        d = wrapped_dim(dim, self.rank)
        x = in_dtype(self, code)
        made = r.scan(loop, x, d)
        release(x)
        return made

    def infer(types: Any, constants: Any) -> Any:
        first = types[0]
        return [TensorType(rules.dtype_of(constants[2], sum_type(first.dtype)), first.rank)]

    row(
        f"{name}(Tensor self, int dim, *, dtype? dtype=None) -> Tensor",
        doc,
        native,
        PURE,
        infer=infer,
        samples=[Sample(A((3, 4), d, 0, 3), 1, loose=10) for d in ALL]
        + [
            Sample(X, 0, loose=10),
            Sample(M, 0, loose=10),
            Sample(A(()), 0),
            Sample(A((0, 3)), 0),
            Sample(X, 3, error=True),
            Sample(A((3,), "int32"), 0, dtype=D("float64")),
        ],
    )


_running("cumsum", CUMSUM, "Running sums.")
_running("cumprod", CUMPROD, "Running products.")
