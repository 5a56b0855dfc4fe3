"""Rows that join, repeat, mirror and pad; triangles and diagonals."""

from __future__ import annotations

from typing import Any

from jitlang.frontend.kernel import cast, check, f64, get, has, i64, kernel, local, ptr, u8
from jitlang.registry import PURE
from jitlang.tensor.kernels import creation as make
from jitlang.tensor.kernels import gathering as along
from jitlang.tensor.kernels import joining as join
from jitlang.tensor.kernels import pointwise as drivers
from jitlang.tensor.kernels import views
from jitlang.tensor.kernels.creation import Ints, Tensor
from jitlang.tensor.kernels.scalars import number
from jitlang.tensor.kernels.tensors import drop_ints, int_at, new_ints, new_list, put_tensor, release, retain, tensor_at
from jitlang.tensor.kernels.views import wrapped_dim
from jitlang.tensor.layout import MAX_RANK, TensorImpl
from jitlang.tensor.ops import pointwise as point
from jitlang.tensor.ops import reductions, rules
from jitlang.tensor.ops.families import row
from jitlang.tensor.ops.samples import A, Sample
from jitlang.tensor.promotion import SAME, sum_dtype
from jitlang.types import ListType, TensorType

X, M, V = A((2, 3, 4)), A((4, 3), layout="t"), A((5,))
_FUNCTION: Any = {"variants": ("function",)}
_METHOD: Any = {"variants": ("method",)}


def _of_list(more: int) -> Any:
    def infer(types: Any, _: Any) -> Any:
        element = types[0].element if isinstance(types[0], ListType) else None
        if not isinstance(element, TensorType):
            return [TensorType()]
        return [TensorType(element.dtype, None if element.rank is None else element.rank + more)]

    return infer


@kernel
def cat_native(tensors: Ints, dim: i64) -> Tensor:
    """Tensors one after the other."""
    return join.cat(tensors, dim)


@kernel
def stack_native(tensors: Ints, dim: i64) -> Tensor:
    """Tensors along a new dimension."""
    return join.stack(tensors, dim)


@kernel
def vstack_native(tensors: Ints) -> Tensor:
    """Tensors row by row."""
    return joined_rows(tensors, 0)


@kernel
def hstack_native(tensors: Ints) -> Tensor:
    """Tensors column by column."""
    return joined_rows(tensors, 1)


@kernel(extern=True)
def joined_rows(tensors: Ints, dim: i64) -> Tensor:
    """`cat` after numbers and vectors have become matrices (or, along columns, vectors)."""
    check(tensors.length > 0, "RuntimeError", "stack expects a non-empty TensorList")
    made = new_list(tensors.length)
    wanted = 2 if dim == 0 else 1
    for i in range(tensors.length):
        t = tensor_at(tensors, i)
        retain(t)
        while t.rank < wanted:
            u = views.unsqueeze(t, 0)
            release(t)
            t = u
        put_tensor(made, i, t)
    result = join.cat(made, dim if tensor_at(made, 0).rank > 1 else 0)
    for i in range(made.length):
        release(tensor_at(made, i))
    drop_ints(made)
    return result


_CATS = [
    Sample([X, X], 1),
    Sample([X, A((2, 3, 4), "int64")], -1),
    Sample([M, M]),
    Sample([A((0,)), V]),
    Sample([V, A((3,), "bool")]),
    Sample([], error=True),
    Sample([X, V], error=True),
    Sample([X, A((2, 4, 4))], 0, error=True),
    Sample([A(()), V], error=True),
    Sample([A((4, 3), layout="t"), A((2, 3))], 0),
]
for _name in ("cat", "concat", "concatenate"):
    row(
        f"{_name}(Tensor[] tensors, int dim=0) -> Tensor",
        "Tensors one after the other along a dimension.",
        cat_native,
        PURE,
        infer=_of_list(0),
        samples=_CATS,
        **_FUNCTION,
    )
row(
    "stack(Tensor[] tensors, int dim=0) -> Tensor",
    "Tensors of one shape along a new dimension.",
    stack_native,
    PURE,
    infer=_of_list(1),
    samples=[
        Sample([X, X]),
        Sample([V, V], 1),
        Sample([V, V], -1),
        Sample([A(()), A((), seed=1)]),
        Sample([V, A((4,))], error=True),
        Sample([], error=True),
        Sample([M, M], 1),
    ],
    **_FUNCTION,
)
row(
    "vstack(Tensor[] tensors) -> Tensor",
    "Tensors row by row.",
    vstack_native,
    PURE,
    infer=lambda _t, _c: [TensorType()],
    samples=[Sample([V, V]), Sample([A((2, 3)), A((3,))])],
    **_FUNCTION,
)
row(
    "hstack(Tensor[] tensors) -> Tensor",
    "Tensors column by column.",
    hstack_native,
    PURE,
    infer=lambda _t, _c: [TensorType()],
    samples=[Sample([V, A((2,))]), Sample([A((2, 3)), A((2, 1))])],
    **_FUNCTION,
)


# ---- repetition -----------------------------------------------------------------------------------------------------


@kernel
def repeat_native(self: Tensor, repeats: Ints) -> Tensor:
    """Side by side with itself."""
    return join.repeat(self, repeats)


@kernel
def tile_native(self: Tensor, dims: Ints) -> Tensor:
    """Side by side with itself; dimensions that are not named once."""
    if dims.length >= self.rank:
        return join.repeat(self, dims)
    full = new_ints(self.rank)
    numbers = cast(ptr[i64], full.data)
    for k in range(self.rank):
        shift = self.rank - dims.length
        numbers[k] = int_at(dims, k - shift) if k >= shift else 1
    result = join.repeat(self, full)
    drop_ints(full)
    return result


@kernel
def interleave_native(self: Tensor, repeats: i64, dim: Any) -> Tensor:
    """Each element so many times in a row."""
    if has(dim):
        return join.repeat_interleave(self, repeats, get(dim))
    size = local(i64, 1)
    size[0] = self.numel
    flat = views.reshape(self, 1, size)
    result = join.repeat_interleave(flat, repeats, 0)
    release(flat)
    return result


@kernel
def flip_native(self: Tensor, dims: Ints) -> Tensor:
    """Some dimensions in reverse order."""
    return join.flip(self, views.dim_mask(dims, self.rank))


@kernel
def fliplr_native(self: Tensor) -> Tensor:
    """The columns in reverse order."""
    check(self.rank >= 2, "RuntimeError", "Input must be >= 2-d.")
    return join.flip(self, 2)


@kernel
def flipud_native(self: Tensor) -> Tensor:
    """The rows in reverse order."""
    check(self.rank >= 1, "RuntimeError", "Input must be >= 1-d.")
    return join.flip(self, 1)


@kernel
def roll_native(self: Tensor, shifts: Ints, dims: Ints) -> Tensor:
    """The elements of dimensions moved on."""
    if dims.length == 0:
        check(shifts.length == 1, "RuntimeError", "shifts and dimensions must align. shifts: {}, dims:0", shifts.length)
        return rolled_flat(self, int_at(shifts, 0))
    check(shifts.length == dims.length, "RuntimeError", "shifts and dimensions must align. shifts: {}, dims:{}", shifts.length, dims.length)
    for i in range(dims.length):
        wrapped_dim(int_at(dims, i), self.rank)
    result = join.roll(self, int_at(shifts, 0), int_at(dims, 0))
    for i in range(1, dims.length):
        again = join.roll(result, int_at(shifts, i), int_at(dims, i))
        release(result)
        result = again
    return result


@kernel
def rolled_flat(self: Tensor, shift: i64) -> Tensor:
    """All elements moved on, in row-major order."""
    size = local(i64, 1)
    size[0] = self.numel
    flat = views.reshape(self, 1, size)
    moved = join.roll(flat, shift, 0)
    release(flat)
    result = views.view(moved, self.rank, self.sizes)
    release(moved)
    return result


row(
    "repeat(Tensor self, int[] repeats) -> Tensor",
    "Side by side with itself.",
    repeat_native,
    PURE,
    infer=lambda types, constants: [TensorType(types[0].dtype, rules.length_of(1)(types, constants))],
    samples=[
        Sample(A((2, 3)), [2, 2]),
        Sample(V, [2, 3]),
        Sample(M, [1, 2]),
        Sample(V, [0]),
        Sample(X, [2], error=True),
        Sample(V, [-1], error=True),
        Sample(A(()), [3]),
    ],
    **_METHOD,
)
row(
    "tile(Tensor self, int[] dims) -> Tensor",
    "Side by side with itself.",
    tile_native,
    PURE,
    infer=rules.same_dtype,
    samples=[Sample(A((2, 3)), [2]), Sample(V, [2, 2])],
)
row(
    "repeat_interleave.self_int(Tensor self, int repeats, int? dim=None) -> Tensor",
    "Each element so many times in a row.",
    interleave_native,
    PURE,
    infer=rules.same_dtype,
    samples=[Sample(A((2, 3)), 2), Sample(A((2, 3)), 3, 1), Sample(M, 2, 0), Sample(V, -1, error=True)],
)
row(
    "flip(Tensor self, int[] dims) -> Tensor",
    "Some dimensions in reverse order.",
    flip_native,
    PURE,
    infer=rules.same,
    samples=[Sample(X, [0]), Sample(X, [1, -1]), Sample(V, [0]), Sample(A((0, 3)), [1]), Sample(X, [0, 0], error=True), Sample(A((3, 4), "bool"), [0, 1])],
)
row("fliplr(Tensor self) -> Tensor", "The columns in reverse order.", fliplr_native, PURE, infer=rules.same, samples=[Sample(X), Sample(V, error=True)])
row("flipud(Tensor self) -> Tensor", "The rows in reverse order.", flipud_native, PURE, infer=rules.same, samples=[Sample(X)])
row(
    "roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor",
    "The elements of dimensions moved on.",
    roll_native,
    PURE,
    infer=rules.same,
    samples=[Sample(X, 1), Sample(X, -1, 2), Sample(X, [1, 2], [0, 1]), Sample(V, 7, 0), Sample(X, [1, 2], [0], error=True)],
)


# ---- padding ------------------------------------------------------------------------------------------------------


@kernel
def pad_native(self: Tensor, pad: Ints, mode: Any, value: Any) -> Tensor:
    """A border around the tensor."""
    if mode == "constant":
        slot, room = local(TensorImpl, 1), local(f64, 1)
        fill = 0.0
        if has(value):
            fill = f64(get(value))
        return join.pad_constant(self, pad, number(slot, cast(ptr[u8], room), fill))
    check(not has(value), "RuntimeError", "Padding mode doesn't take in value argument")
    if mode == "reflect":
        return mirrored(self, pad, join.REFLECT)
    if mode == "replicate":
        return mirrored(self, pad, join.REPLICATE)
    check(mode == "circular", "NotImplementedError", "Unrecognised padding mode {}", mode)
    return mirrored(self, pad, join.CIRCULAR)


@kernel(extern=True)
def mirrored(self: Tensor, pad: Ints, mode: i64) -> Tensor:
    """A border of the tensor's own elements."""
    join.check_pad(self, pad)
    pairs = pad.length // 2
    check(
        pairs <= 3 and (self.rank == pairs + 1 or self.rank == pairs + 2),
        "NotImplementedError",
        "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now",
    )
    join.check_mirror(self, pad, mode)
    result = self
    retain(result)
    for i in range(pairs):
        d = self.rank - 1 - i
        before, after = int_at(pad, 2 * i), int_at(pad, 2 * i + 1)
        places = join.padding_places(self.sizes[d], before, after, mode)
        wider = along.index_select(result, d, places)
        release(places)
        release(result)
        result = wider
    return result


@kernel
def constant_pad_native(self: Tensor, pad: Ints, value: Any) -> Tensor:
    """A border of one value."""
    slot, room = local(TensorImpl, 1), local(f64, 1)
    return join.pad_constant(self, pad, number(slot, cast(ptr[u8], room), value))


_PADS = [
    Sample(A((2, 3)), [1, 2]),
    Sample(X, [1, 1, 2, 0], "constant", 2.5),
    Sample(A((2, 3), "int64"), [1, 0], value=7),
    Sample(A((2, 5)), [-1, 2]),
    Sample(A((2, 3)), [1], error=True),
    Sample(V, [1, 1, 1, 1], error=True),
    Sample(A((2, 3)), [-2, -2], error=True),
    Sample(M, [0, 1, 1, 0]),
]
for _mode in ("reflect", "replicate", "circular"):
    _PADS += [Sample(A((2, 5)), [2, 1], _mode), Sample(A((2, 3, 5)), [1, 2, 1, 0], _mode), Sample(A((2, 3, 5)), [1, 2], _mode)]
_PADS += [Sample(A((2, 5)), [5, 1], "reflect", error=True)]
row(
    "pad(Tensor self, int[] pad, str mode='constant', float? value=None) -> Tensor",
    "A border around the tensor.",
    pad_native,
    PURE,
    infer=rules.same,
    samples=_PADS,
    variants=("function",),
    extra={"oracle": "nn.functional.pad"},
)
row(
    "constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor",
    "A border of one value.",
    constant_pad_native,
    PURE,
    infer=rules.same,
    samples=[Sample(A((2, 3)), [1, 2], 3)],
    variants=("function",),
)


# ---- triangles and diagonals ----------------------------------------------------------------------------------------


@kernel
def triu_native(self: Tensor, diagonal: i64) -> Tensor:
    """The part on and above a diagonal."""
    return make.triangle(self, diagonal, 1)


@kernel
def tril_native(self: Tensor, diagonal: i64) -> Tensor:
    """The part on and below a diagonal."""
    return make.triangle(self, diagonal, 0)


@kernel
def triu_into(self: Tensor, diagonal: i64) -> Tensor:
    """Zeroes what is below a diagonal."""
    made = make.triangle(self, diagonal, 1)
    result = drivers.assign(self, made)
    release(made)
    return result


@kernel
def tril_into(self: Tensor, diagonal: i64) -> Tensor:
    """Zeroes what is above a diagonal."""
    made = make.triangle(self, diagonal, 0)
    result = drivers.assign(self, made)
    release(made)
    return result


@kernel
def diag_native(self: Tensor, diagonal: i64) -> Tensor:
    """A vector as a diagonal matrix, or the diagonal of a matrix."""
    check(self.rank == 1 or self.rank == 2, "RuntimeError", "diag(): Supports 1D or 2D tensors. Got {}D", self.rank)
    if self.rank == 2:
        line = views.diagonal(self, diagonal, 0, 1)
        copy = views.contiguous_copy(line)
        release(line)
        return copy
    sizes = local(i64, 2)
    size = self.sizes[0] + (diagonal if diagonal >= 0 else -diagonal)
    sizes[0] = size
    sizes[1] = size
    return join.diag_embed(self, diagonal, make.zeros(2, sizes, self.dtype))


@kernel
def outer_native(self: Tensor, vec2: Tensor) -> Tensor:
    """All products of two vectors."""
    check(self.rank == 1, "RuntimeError", "outer: Expected 1-D argument self, but got {}-D", self.rank)
    check(vec2.rank == 1, "RuntimeError", "outer: Expected 1-D argument vec2, but got {}-D", vec2.rank)
    tall = views.unsqueeze(self, 1)
    result = drivers.binary(point.MUL, SAME, tall, vec2)
    release(tall)
    return result


@kernel
def trace_native(self: Tensor) -> Tensor:
    """The sum of the diagonal."""
    check(self.rank == 2, "RuntimeError", "trace: expected a matrix, but got tensor with dim {}", self.rank)
    line = views.diagonal(self, 0, 0, 1)
    result = reductions.sum_in(line, 1, 0, sum_dtype(line.dtype))
    release(line)
    return result


_TRIANGLES = [Sample(A((3, 4), d), k) for d in ("float32", "int64", "bool") for k in (0, 1, -1)] + [
    Sample(X),
    Sample(M, 1),
    Sample(A((3, 3)), 5),
    Sample(A((3, 3)), -5),
    Sample(V, error=True),
]
for _name, _fresh, _into, _side in (("triu", triu_native, triu_into, "above"), ("tril", tril_native, tril_into, "below")):
    row(f"{_name}(Tensor self, int diagonal=0) -> Tensor", f"The part on and {_side} a diagonal.", _fresh, PURE, infer=rules.same, samples=_TRIANGLES)
    row(
        f"{_name}_(Tensor(a!) self, int diagonal=0) -> Tensor(a!)",
        f"The part on and {_side} a diagonal, in place.",
        _into,
        infer=rules.same,
        samples=_TRIANGLES[:6],
        **_METHOD,
    )
row(
    "diag(Tensor self, int diagonal=0) -> Tensor",
    "A vector as a diagonal matrix, or the diagonal of a matrix.",
    diag_native,
    PURE,
    infer=lambda types, _: [TensorType(types[0].dtype, {1: 2, 2: 1}.get(types[0].rank))],
    samples=[Sample(V), Sample(V, 1), Sample(V, -2), Sample(A((3, 4))), Sample(A((3, 4)), 1), Sample(X, error=True), Sample(A((5,), layout="s"))],
)
for _name in ("outer", "ger"):
    row(
        f"{_name}(Tensor self, Tensor vec2) -> Tensor",
        "All products of two vectors.",
        outer_native,
        PURE,
        infer=lambda types, _: [TensorType(rules.pointwise()(types, _)[0].dtype, 2)],
        samples=[Sample(V, A((3,))), Sample(V, A((3,), "int64")), Sample(A((2, 2)), V, error=True)],
    )
row(
    "trace(Tensor self) -> Tensor",
    "The sum of the diagonal.",
    trace_native,
    PURE,
    infer=lambda types, _: [TensorType(reductions.sum_type(types[0].dtype), 0)],
    samples=[Sample(A((3, 4)), loose=9), Sample(A((3, 3), "int32")), Sample(V, error=True)],
)


@kernel
def meshgrid_native(tensors: Ints, indexing: Any) -> Ints:
    """Vectors spread over a common grid."""
    check(indexing == "ij" or indexing == "xy", "RuntimeError", 'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {}', indexing)
    return spread_grid(tensors, 1 if indexing == "xy" else 0)


@kernel(extern=True)
def spread_grid(tensors: Ints, swapped: i64) -> Ints:
    """Vectors spread over a common grid; the first two change places if `swapped`."""
    count = tensors.length
    check(count > 0 and count <= MAX_RANK, "RuntimeError", "meshgrid expects a non-empty TensorList")
    sizes = local(i64, MAX_RANK)
    for i in range(count):
        t = tensor_at(tensors, i)
        check(t.rank <= 1, "RuntimeError", "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {}-D", t.rank)
        place = i
        if swapped != 0 and count > 1 and i < 2:
            place = 1 - i
        sizes[place] = t.numel
    made = new_list(count)
    shape = local(i64, MAX_RANK)
    for i in range(count):
        place = i
        if swapped != 0 and count > 1 and i < 2:
            place = 1 - i
        for k in range(count):
            shape[k] = -1 if k == place else 1
        for k in range(count):
            if shape[k] == -1:
                shape[k] = tensor_at(tensors, i).numel
        line = views.view(tensor_at(tensors, i), count, shape)
        put_tensor(made, i, views.expand(line, count, sizes))
        release(line)
    return made


row(
    "meshgrid.indexing(Tensor[] tensors, *, str indexing='ij') -> Tensor[]",
    "Vectors spread over a common grid.",
    meshgrid_native,
    PURE,
    infer=lambda _t, _c: [ListType(TensorType())],
    samples=[Sample([V, A((3,))], indexing="ij"), Sample([V, A((3,)), A((2,))], indexing="xy")],
    variants=("function",),
    extra={"oracle": lambda tensors, **k: __import__("torch").meshgrid(*tensors, **k)},
)
