"""Hot code of a running VM: loops and functions that are compiled in the background and entered in the middle of a run.

In: what the VM reports as hot. Out: a callable on Python values, once its code is ready; until then None, and the VM goes on.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from jitlang.errors import CodegenError
from jitlang.interpreter.osr import take_out
from jitlang.ir.graph import Graph, Node, Program, clone_graph, clone_program
from jitlang.runtime import background
from jitlang.runtime.units import compile_unit, single_entry

_log = logging.getLogger("jitlang.tiers")
_numbers = itertools.count()


class HotCode:
    """The compiled pieces of one program.

    Args:
        program: the program that the VM runs; it is only read.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.lock = threading.Lock()
        self.ready: dict[Any, Callable[..., Any] | None] = {}

    def loop(self, graph: Graph, node: Node, values: Sequence[Any]) -> Callable[..., Any] | None:
        """Native code that goes on with a loop from its present state, if there is some yet."""
        return self._ask(node, lambda: take_out(graph, node))

    def function(self, graph: Graph) -> Callable[..., Any] | None:
        """Native code of a function of the program, if there is some yet."""
        return self._ask(graph, lambda: clone_graph(graph))

    def _ask(self, key: Any, make: Callable[[], Graph]) -> Callable[..., Any] | None:
        with self.lock:
            if key in self.ready:
                return self.ready[key]
            self.ready[key] = None
        background.submit(lambda: self._compile(key, make))
        return None

    def _compile(self, key: Any, make: Callable[[], Graph]) -> None:
        graph = make()
        graph.name = f"{graph.name}.hot{next(_numbers)}"
        try:
            unit = compile_unit(clone_program(self.program, graph), cached=False)
        except CodegenError as error:
            _log.info("%s stays in the VM: %s", graph.name, error)
            return
        self.ready[key] = single_entry(unit)
