"""Lowerings of scripts: what ``prim::`` and ``py::`` nodes are in native code."""
