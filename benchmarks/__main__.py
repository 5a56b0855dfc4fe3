"""Runs the benchmarks: ``python -m benchmarks [NAME …]``; a name picks the cases that hold it."""

from __future__ import annotations

import argparse
import sys

from benchmarks import startup
from benchmarks.cases import models, scalars, tensors
from benchmarks.harness import measure, single_thread, table


def main() -> None:
    """Measures, and prints Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the names of cases; 'start-up' is one too (default: all)")
    parser.add_argument("--rounds", type=int, default=15, help="rounds in which the peers take turns")
    parser.add_argument("--slice", type=float, default=0.02, help="seconds that a peer runs in a round")
    options = parser.parse_args()
    single_thread()
    results = []
    for case in [*scalars.CASES, *tensors.CASES, *models.CASES]:
        if not options.names or any(name in case.name for name in options.names):
            print(f"{case.name} …", file=sys.stderr)
            results.append(measure(case, options.rounds, options.slice))
    if results:
        print(table(results))
    if not options.names or "start-up" in options.names:
        print("\n" + startup.table())


if __name__ == "__main__":
    main()
