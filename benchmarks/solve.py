"""Times the modulo solver on attention-class graphs and on a series of growing size.

``python -m benchmarks.solve`` prints a JSON list, one object per case: ``case``, ``ops``, ``interval``, ``bound``,
``proven``, ``seconds``, ``engine``, and with them the status, what gives the bound, processor seconds, work, and the
peak memory of the process so far. ``seconds`` is the wall time from the problem to a replayed schedule with its proof,
building the model included. Nothing is cached; every case is solved in this one process, one thread.
"""

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.graphs import SIZES, attention_cases, scaling_case, shape_cases
from warpwright.solver.engines import Budget, engine, engine_names
from warpwright.solver.modulo import ModuloProblem, problem_document, solve, verify

__all__ = ["cases", "main", "measure"]


def cases(*, scaling: bool, shapes: bool = False) -> Iterator[tuple[str, Callable[[], ModuloProblem]]]:
    """Names and generators: the attention graphs, then the series; or graphs of other shapes."""
    if shapes:
        yield from shape_cases().items()
        return
    yield from attention_cases().items()
    if scaling:
        for size in SIZES:
            yield f"scaling-{size}", lambda size=size: scaling_case(size)  # type: ignore[misc]  # bound now, not later


def measure(
    case: str, problem: ModuloProblem, engine_name: str, budget: Budget, *, constructive: bool = True
) -> dict[str, Any]:
    """Solves one problem and reports it as JSON values."""
    wall, processor = time.perf_counter(), time.process_time()
    answer = solve(problem, engine_name=engine_name, budget=budget, polish=False, constructive=constructive)
    seconds, busy = time.perf_counter() - wall, time.process_time() - processor
    schedule = answer.schedule
    return {
        "case": case,
        "ops": len(problem.ops),
        "edges": len(problem.edges),
        "interval": schedule.interval if schedule else None,
        "bound": answer.bound.cycles,
        "bound_reason": answer.bound.reason,
        "proven": answer.status == "proven_optimal",
        "status": answer.status,
        "verified": schedule is not None and not verify(problem, schedule),
        "seconds": round(seconds, 3),
        "processor_seconds": round(busy, 3),
        "work": sum(attempt.work for attempt in answer.attempts),
        "engine": answer.engine,
        "engine_version": answer.engine_version,
        "proven_by": answer.proven_by,
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main(arguments: list[str] | None = None) -> None:
    """Prints the results; progress goes to standard error."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.solve", description=__doc__)
    parser.add_argument("case", nargs="*", help="cases to run; all by default")
    parser.add_argument("--engine", default="cpsat", choices=engine_names())
    parser.add_argument("--work", type=int, default=8_000, help="work limit of one case")
    parser.add_argument("--seconds", type=float, default=90.0, help="wall limit of one case")
    parser.add_argument("--no-scaling", action="store_true", help="leave the series of growing size out")
    parser.add_argument("--shapes", action="store_true", help="graphs of other shapes instead: chains, random loops")
    parser.add_argument("--engine-only", action="store_true", help="without the constructive search")
    parser.add_argument("--save", type=Path, help="also write the problems as JSON files into this folder")
    options = parser.parse_args(arguments)
    engine(options.engine)  # loads the solver library before any clock runs
    rows = []
    for name, generate in cases(scaling=not options.no_scaling, shapes=options.shapes):
        if options.case and name not in options.case:
            continue
        problem = generate()
        if options.save:
            options.save.mkdir(parents=True, exist_ok=True)
            (options.save / f"{name}.json").write_text(json.dumps(problem_document(problem), indent=1) + "\n")
        budget = Budget(options.work, options.seconds)
        row = measure(name, problem, options.engine, budget, constructive=not options.engine_only)
        print(f"{name}: {row['status']} {row['interval']} in {row['seconds']} s", file=sys.stderr)
        rows.append(row)
    print(json.dumps(rows, indent=1))
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", file=sys.stderr)


if __name__ == "__main__":
    main()
