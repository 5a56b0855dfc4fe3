"""Random programs in the language, and CPython as their oracle: what the proof of law 1 (docs/design.md) runs on.

`generator` writes programs, `oracle` runs and compares them, `shrink` makes a failing one small, ``python -m jitlang.testing.fuzz``
does so without end.
"""
