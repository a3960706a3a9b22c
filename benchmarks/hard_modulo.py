"""How many random modulo graphs with tight resources are proven within a time, and how far the others are from their bound.

``python -m benchmarks.hard_modulo`` prints one JSON object: for each size the graphs, the share that was proven, the gaps of the
others in percent of their bound (``null`` without a schedule), and every case as :mod:`benchmarks.solve` reports it. Graphs are
:func:`benchmarks.graphs.shapes.random_loop` with seeds 1 to ``--seeds``, at 50, 100 and 200 operations, without groups of warps
and with two.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.graphs.shapes import random_loop
from benchmarks.solve import measure
from warpwright.solver.engines import Budget, engine

__all__ = ["main", "summary"]

SIZES = (50, 100, 200)
GROUPS = (0, 2)
WORK_A_SECOND = 1000
"""Work units of a second on a current core: the wall clock is the limit here."""


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The share that was proven, and the gaps of the others."""
    open_ = [row for row in rows if not row["proven"]]
    gaps = [100 * (row["interval"] / row["bound"] - 1) for row in open_ if row["interval"] is not None]
    return {
        "graphs": len(rows),
        "proven": len(rows) - len(open_),
        "without_a_schedule": len(open_) - len(gaps),
        "median_gap_percent": round(median(gaps), 1) if gaps else None,
        "largest_gap_percent": round(max(gaps), 1) if gaps else None,
        "median_seconds": median(row["seconds"] for row in rows),
    }


def main(arguments: list[str] | None = None) -> None:
    """Prints the results; progress goes to standard error."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hard_modulo", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="graphs of each size and number of groups")
    parser.add_argument("--seconds", type=float, default=60.0, help="wall limit of one graph")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="operations of a graph")
    options = parser.parse_args(arguments)
    engine("cpsat")  # loads the solver library before any clock runs
    rows: dict[str, list[dict[str, Any]]] = {}
    for ops in options.sizes:
        for groups in GROUPS:
            for seed in range(1, options.seeds + 1):
                problem = random_loop(ops, groups=groups, seed=seed)
                budget = Budget(int(WORK_A_SECOND * options.seconds), options.seconds)
                row = measure(problem.name, problem, "cpsat", budget)
                rows.setdefault(f"{ops} operations, {groups} groups", []).append(row)
                print(f"{problem.name}: {row['status']} {row['interval']} / {row['bound']}", file=sys.stderr)
    told = {"seconds": options.seconds, "sizes": {size: summary(found) for size, found in rows.items()}}
    print(json.dumps(told | {"cases": [row for found in rows.values() for row in found]}, indent=1))


if __name__ == "__main__":
    main()
