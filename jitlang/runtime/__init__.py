"""Script functions as Python sees them: specialisation by argument types, tiers, and where compiled code is kept."""

import jitlang.runtime.install  # noqa: F401  connects the layers below
