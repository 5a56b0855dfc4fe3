"""How often a pass may rewrite.

In: ``JITLANG_OPT_LIMIT``, through the pass manager. Out: `Budget.take`, asked before each rewrite.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass
class Budget:
    """`limit` rewrites, or as many as there are (None)."""

    limit: int | None = None
    used: int = 0

    def take(self) -> bool:
        """Whether one more rewrite is allowed; it is counted."""
        if self.limit is not None and self.used >= self.limit:
            return False
        self.used += 1
        return True
