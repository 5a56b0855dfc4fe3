"""Tensors as text, in PyTorch's form.

Numbers of one tensor share a width: integers print as ``1.``, fractions with four digits, and numbers whose magnitudes
differ too much in scientific form. Of a tensor with more than a thousand elements the corners are shown.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from jitlang.tensor.callables import operator


@dataclasses.dataclass
class Options:
    """How tensors print."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


OPTIONS = Options()


def set_printoptions(
    precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None, linewidth: int | None = None, sci_mode: bool | None = None
) -> None:
    """Changes how tensors print; what is None stays, except `sci_mode`, where None lets the numbers decide."""
    for name, value in (("precision", precision), ("threshold", threshold), ("edgeitems", edgeitems), ("linewidth", linewidth)):
        if value is not None:
            setattr(OPTIONS, name, value)
    OPTIONS.sci_mode = sci_mode


class _Formatter:
    """Formats the numbers of one tensor; `values` are those that will be shown."""

    def __init__(self, values: list[Any], floating: bool) -> None:
        self.floating = floating
        self.whole = True
        self.scientific = False
        self.width = 1
        if not floating:
            self.width = max([1, *(len(str(v)) for v in values)])
            return
        usable = [v for v in values if math.isfinite(v) and v != 0]
        if not usable:
            return
        low, high = min(map(abs, usable)), max(map(abs, usable))
        self.whole = all(v == math.ceil(v) for v in usable)
        if self.whole:
            self.scientific = high / low > 1000.0 or high > 1.0e8
        else:
            self.scientific = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
        if OPTIONS.sci_mode is not None:
            self.scientific = OPTIONS.sci_mode
        self.width = max([1, *(len(self.plain(v)) for v in usable)])

    def plain(self, value: Any) -> str:
        """A number without padding."""
        if not self.floating:
            return str(value)
        if self.scientific:
            return f"{value:.{OPTIONS.precision}e}"
        if self.whole:
            return f"{value:.0f}" + ("." if math.isfinite(value) else "")
        return f"{value:.{OPTIONS.precision}f}"

    def __call__(self, value: Any) -> str:
        return self.plain(value).rjust(self.width)


def _summarised(tensor: Any) -> list[Any]:
    """The elements that are shown, flat."""
    if tensor.ndim == 0:
        return [tensor.item()]
    edge = OPTIONS.edgeitems
    if tensor.numel() > OPTIONS.threshold:
        for dim in range(tensor.ndim):
            size = tensor.shape[dim]
            if size > 2 * edge:
                ends = [operator("narrow")(tensor, dim, 0, edge), operator("narrow")(tensor, dim, size - edge, edge)]
                tensor = operator("cat")(ends, dim)
    flat: list[Any] = operator("reshape")(tensor, [-1]).tolist()
    return flat


def _vector(tensor: Any, indent: int, summarise: bool, formatter: _Formatter) -> str:
    edge = OPTIONS.edgeitems
    if summarise and tensor.shape[0] > 2 * edge:
        values = tensor.tolist()
        texts = [*map(formatter, values[:edge]), " ...", *map(formatter, values[-edge:])]
    else:
        texts = [formatter(v) for v in tensor.tolist()]
    per_line = max(1, math.floor((OPTIONS.linewidth - indent) / (formatter.width + 2)))
    lines = [texts[i : i + per_line] for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(", ".join(line) for line in lines) + "]"


def _nested(tensor: Any, indent: int, summarise: bool, formatter: _Formatter) -> str:
    dim = tensor.ndim
    if dim == 0:
        return formatter(tensor.item())
    if dim == 1:
        return _vector(tensor, indent, summarise, formatter)
    edge, size = OPTIONS.edgeitems, tensor.shape[0]
    if summarise and size > 2 * edge:
        parts = [_nested(tensor[i], indent + 1, summarise, formatter) for i in range(edge)]
        parts += ["..."] + [_nested(tensor[i], indent + 1, summarise, formatter) for i in range(size - edge, size)]
    else:
        parts = [_nested(tensor[i], indent + 1, summarise, formatter) for i in range(size)]
    separator = "," + "\n" * (dim - 1) + " " * (indent + 1)
    return f"[{separator.join(parts)}]"


def tensor_text(tensor: Any) -> str:
    """``tensor([1., 2.])``."""
    tail = []
    name = tensor.dtype.name
    default = name in ("float32", "int64", "bool")
    if tensor.numel() == 0:
        if tensor.ndim != 1:
            tail.append(f"size={tuple(tensor.shape)}")
        if name != "float32":
            tail.append(f"dtype=jitlang.{name}")
        return f"tensor({', '.join(['[]', *tail])})"
    if not default:
        tail.append(f"dtype=jitlang.{name}")
    formatter = _Formatter(_summarised(tensor), tensor.dtype.is_floating_point)
    body = _nested(tensor, len("tensor("), tensor.numel() > OPTIONS.threshold, formatter)
    text = f"tensor({body}"
    last = len(text) - text.rfind("\n") - 1
    for part in tail:
        if last + len(part) + 2 > OPTIONS.linewidth:
            text += f",\n       {part}"
            last = 7 + len(part)
        else:
            text += f", {part}"
            last += len(part) + 2
    return text + ")"
