"""The Ascend search beside CP-SAT on the same calls: ``python -m benchmarks.ascend_engines [FILE.json ...]``.

CP-SAT solves the whole model of each interval alone, and once more from what a short exact search proposes, as it is used.
One JSON object: by call the tasks, and by method the interval, what is proven (interval, bytes, length) and CPU seconds. See
docs/decisions/0164.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from warpwright.solver.ascend.modelled import optimise_with_engine
from warpwright.solver.ascend.optimise import NodeLimits, Optimum, optimise_loop
from warpwright.solver.ascend.problem import LoopProblem, problem_from_call
from warpwright.solver.engines import Budget, engine

CALLS = Path(__file__).parent / "ascend_calls"


def solved(optimise: Callable[[], Optimum]) -> dict[str, Any]:
    """How one method solved a call."""
    begun = time.process_time()
    optimum = optimise()
    seconds = time.process_time() - begun
    return {
        "interval": optimum.interval,
        "length": optimum.length,
        "proven": [optimum.proven, optimum.bytes_proven, optimum.length_proven],
        "cpu_s": round(seconds, 4),
    }


def compared(problem: LoopProblem, budget: Budget) -> dict[str, Any]:
    """One call, solved by every method."""
    return {
        "tasks": len(problem.latencies),
        "exact": solved(lambda: optimise_loop(problem, NodeLimits())),
        "cpsat": solved(lambda: optimise_with_engine(problem, "cpsat", budget, proposals=False)),
        "cpsat_with_proposals": solved(lambda: optimise_with_engine(problem, "cpsat", budget)),
    }


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="captured calls; benchmarks/ascend_calls by default")
    parser.add_argument("--seconds", type=float, default=20.0, help="wall-clock limit of one solve of an engine")
    options = parser.parse_args()
    engine("cpsat")  # imported now and not within the first call
    budget = Budget(work_limit=round(options.seconds * 1000), wall_seconds=options.seconds)
    found: dict[str, Any] = {}
    for file in options.files or sorted(CALLS.glob("*.json")):
        for number, call in enumerate(json.loads(file.read_text("utf-8"))["calls"]):
            problem = problem_from_call(call)
            if isinstance(problem, LoopProblem):
                found[f"{file.stem} {number}"] = compared(problem, budget)
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
