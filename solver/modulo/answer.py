"""Problem file in, answer document out: what ``warpwright solve --problem FILE.json`` prints."""

import json
import time
from pathlib import Path
from typing import Any

from warpwright.solver.domain.errors import DocumentError
from warpwright.solver.domain.identity import digest_text
from warpwright.solver.engines import Budget, engine_names
from warpwright.solver.modulo.document import problem_document, read_problem
from warpwright.solver.modulo.families import FAMILIES
from warpwright.solver.modulo.problem import ModuloProblem
from warpwright.solver.modulo.schedule_reader import ModuloReading
from warpwright.solver.modulo.solve import ModuloAnswer, solve
from warpwright.solver.modulo.verify import verify

__all__ = ["ANSWER_SCHEMA", "answer_document", "solve_file"]

ANSWER_SCHEMA = "warpwright.modulo-answer/1"


def solve_file(path: str | Path, engine: str = "cpsat", budget: Budget | None = None) -> dict[str, Any]:
    """Reads, solves and reports a problem.

    Args:
        path: A JSON file in the form of ``docs/modulo.md``.
        engine: ``cpsat``, ``z3`` or ``enumerate``.
        budget: The default is enough for loop bodies of a few hundred operations.

    Raises:
        DocumentError: the file is not a problem, or ``modulo-unknown-engine``.
    """
    if engine not in engine_names():
        message = f"there is no engine {engine!r}; choose one of {', '.join(engine_names())}"
        raise DocumentError(message, code="modulo-unknown-engine", place="engine")
    problem = read_problem(path)
    began = time.monotonic()
    answer = solve(problem, engine_name=engine, budget=budget)
    return answer_document(problem, answer, seconds=time.monotonic() - began)


def answer_document(problem: ModuloProblem, answer: ModuloAnswer, *, seconds: float) -> dict[str, Any]:
    """The answer as JSON values; only ``seconds`` differs between two runs."""
    schedule = answer.schedule
    document: dict[str, Any] = {
        "schema": ANSWER_SCHEMA,
        "problem": problem.name,
        "problem_digest": digest_text(json.dumps(problem_document(problem), sort_keys=True)),
        "ops": len(problem.ops),
        "status": answer.status,
        "proven": answer.status == "proven_optimal",
        "interval": schedule.interval if schedule else None,
        "bound": {"cycles": answer.bound.cycles, "reason": answer.bound.reason},
        "bounds": [{"cycles": bound.cycles, "reason": bound.reason} for bound in answer.bounds],
        "max_stages": problem.max_stages,
        "engine": answer.engine,
        "engine_version": answer.engine_version,
        "proven_by": answer.proven_by,
        "polished_by": answer.polished_by,
        "attempts": [
            {"engine": a.engine, "low": a.low, "high": a.high, "status": a.status, "work": a.work}
            for a in answer.attempts
        ],
        "reason": answer.reason,
        "seconds": round(seconds, 4),
    }
    if schedule is None:
        document["conflicts"] = [
            {"family": c.family, "message": c.message, "relaxation": c.relaxation, "place": c.place}
            for c in answer.conflicts
        ]
        return document
    reading = ModuloReading(problem, schedule)
    return {
        **document,
        "length": schedule.length(problem),
        "length_proven": answer.length_proven,
        "schedule": [
            {
                "op": op.id,
                "start": schedule.starts[op.id],
                "stage": schedule.starts[op.id] // schedule.interval,
                "group": schedule.groups.get(op.id),
            }
            for op in sorted(problem.ops, key=lambda op: schedule.starts[op.id])
        ],
        "verified": not verify(problem, schedule),
        "explanation": {family.NAME: [str(fact) for fact in family.explain(problem, reading)] for family in FAMILIES},
    }
