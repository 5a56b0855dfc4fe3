"""Passes: program → program of the same meaning. `jitlang.passes.manager` runs pipelines of them."""
