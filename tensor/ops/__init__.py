"""The operator rows, by family; importing this package registers them all."""

from jitlang.tensor.ops import creation, elementary, elements, indexing, joining, matrix, neural, pointwise, reductions, sorting, views  # noqa: F401
