"""The operator rows, by family; importing this package registers them all."""

from jitlang.tensor.ops import creation, elements, pointwise, views  # noqa: F401
