"""Class instances: making them.

In: a class's size and its `ClassInfo`. Out: an object whose attributes are all zero bits: null, 0, False. Freeing them is
`jitlang.codegen.library.values.destroy_object`.
"""

from __future__ import annotations

from jitlang.codegen.library.layout import ClassInfo, Object
from jitlang.codegen.library.memory import allocate
from jitlang.frontend.kernel import cast, i64, kernel, memset, ptr, u8


@kernel
def new(info: ptr[ClassInfo], size: i64) -> ptr[Object]:
    """An object of `size` bytes, head included."""
    made = cast(ptr[Object], allocate(size))
    memset(cast(ptr[u8], made), 0, size)
    made.references = 1
    made.type = info
    return made
