"""The structs of the tensor runtime: `Storage`, `TensorImpl`, `LoopTable`, `Iteration`, and the constants in them.

A `TensorImpl` is one view; a `Storage` is the memory that views share. A new tensor is one block of `HEAD_BYTES` that
holds its `TensorImpl` and the `Storage`; up to `INLINE_BYTES` of elements follow in the same block, more stand in a block of
their own. The storage owns the head block, so a view may outlive the tensor that it was made from.
"""

from __future__ import annotations

import jitlang.codegen.library.layout as library
from jitlang.frontend.kernel import array, i32, i64, ptr, struct, u8
from jitlang.types import DTYPES

MAX_RANK = 8
HEAD_BYTES = 256
INLINE_BYTES = 1024
ALIGNMENT = 64

# TensorImpl.flags
CONTIGUOUS = 1  # row-major and dense; dimensions of size 1 may have any stride
HEAD = 2  # the struct stands in its storage's own block
NUMBER = 4  # a Python number on its way through a kernel: promoted as such ("wrapped number")
READ_ONLY = 8  # the memory must not be written (a mapped file)

# Storage.state
FOREIGN = 1  # the memory is somebody else's
GIVEN = 2  # somebody else may write to the memory, which `version` does not count: the address was given away
STATE_BITS = 63

# Storage.references
LOAN = 1 << 40  # as `GIVEN`, until the loan ends

CPU = 0
(UINT8, INT32, INT64, FLOAT32, FLOAT64, BOOL) = (d.code for d in DTYPES)
UNDEFINED = 15  # no dtype yet; the largest number that fits in a table row


@struct
class Storage:
    """Memory that views share.

    `references` counts the views, and in steps of `LOAN` the open loans; a loan holds a view. `block` is the element block to give back to
    the allocator (null: elements are inline or foreign); `destroy`, where not null, is called with `owner` when the last view is gone.
    `version` counts in-place writes. `state` is the bits `FOREIGN` and `GIVEN`, and above them the address of the first packed copy (see
    `jitlang.tensor.kernels.packs`).
    """

    references: i64
    data: ptr[u8]
    bytes: i64
    block: ptr[u8]
    owner: ptr[u8]
    destroy: ptr[u8]
    version: i64
    state: i64


@struct
class TensorImpl:
    """One view: `data` is the address of its first element; strides count elements.

    `python` is the Python object that stands for the view, borrowed, or null: one view is one object. Whoever holds the GIL may touch it.
    """

    references: i64
    storage: ptr[Storage]
    data: ptr[u8]
    numel: i64
    dtype: i64
    rank: i64
    device: i32
    flags: i32
    python: ptr[u8]
    sizes: array[i64, MAX_RANK]
    strides: array[i64, MAX_RANK]


@struct
class LoopTable:
    """Compiled loops of one operator, by dtype code; null where none has been compiled yet."""

    loops: array[ptr[u8], 16]


MAX_OPERANDS = 5


@struct
class Iteration:
    """A loop nest over several operands, fastest dimension first; strides are in bytes, `MAX_RANK` to an operand."""

    count: i64
    rank: i64
    numel: i64
    sizes: array[i64, MAX_RANK]
    strides: array[i64, MAX_OPERANDS * MAX_RANK]
    data: array[ptr[u8], MAX_OPERANDS]
    order: array[i64, MAX_RANK]


IntList = library.List
TensorList = library.List
