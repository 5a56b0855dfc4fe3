"""Script functions as Python sees them: specialisation by argument types, tiers, and where compiled code is kept."""
