"""Several programs as one, so that what they share is stored once.

In: programs by name, one for each entry point, whose classes have one name each (`naming`). Out: one program, and where each entry is in it. The programs given stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from jitlang.ir.equal import graph_difference
from jitlang.ir.graph import Graph, Program, clone_block


def merge_programs(programs: Mapping[str, Program]) -> tuple[Program, dict[str, str]]:
    """One program with all functions and classes, and the name of each entry's function in it.

    Functions of one name that are equal, and call equal ones, are stored once; others get new names. Raises ValueError for two
    different classes of one name.
    """
    merged = Program("")
    entries: dict[str, str] = {}
    for entry, program in programs.items():
        names = _new_names(program, merged)
        for name, graph in program.functions.items():
            if names[name] not in merged.functions:
                merged.functions[names[name]] = _renamed(graph, names)
        for name, kind in program.classes.items():
            if merged.classes.setdefault(name, kind) is not kind:
                raise ValueError(f"two different classes are called {name}")
        entries[entry] = names[program.entry]
    merged.entry = next(iter(entries.values()), "")
    return merged, entries


def _new_names(program: Program, merged: Program) -> dict[str, str]:
    """The name in `merged` of each function of `program`."""
    differs = {name for name, graph in program.functions.items() if name in merged.functions and graph_difference(graph, merged.functions[name]) is not None}
    calls = {name: {n.attributes["callee"] for n in graph.walk() if n.kind == "prim::Call"} for name, graph in program.functions.items()}
    growing = True
    while growing:  # who calls a function that gets another name cannot be shared either
        more = {name for name, callees in calls.items() if name in merged.functions and callees & differs} - differs
        differs |= more
        growing = bool(more)
    names = {name: name for name in program.functions}
    taken = {*merged.functions, *program.functions}
    for name in sorted(differs):
        number = 2
        while f"{name}${number}" in taken:
            number += 1
        names[name] = f"{name}${number}"
        taken.add(names[name])
    return names


def _renamed(graph: Graph, names: Mapping[str, str]) -> Graph:
    """A copy of a function under its new name, calling the others by theirs."""
    copy = Graph(names[graph.name], graph.result, graph.range)
    copy.defaults, copy.attributes = dict(graph.defaults), dict(graph.attributes)
    mapping = {param: copy.block.add_param(param.type, param.name) for param in graph.params}
    clone_block(graph.block, copy.block, mapping)
    for node in copy.walk():
        if node.kind == "prim::Call":
            node.attributes["callee"] = names[node.attributes["callee"]]
    return copy
