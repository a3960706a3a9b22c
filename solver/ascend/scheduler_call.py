"""Scheduler calls from files: what ``warpwright solve --scheduler-call FILE.json`` prints, one JSON object per call."""

import json
from pathlib import Path
from typing import Any

from warpwright.solver.ascend.families import event_flags
from warpwright.solver.ascend.optimise import NodeLimits
from warpwright.solver.ascend.problem import LoopProblem
from warpwright.solver.ascend.solve import CallResult, solve_call
from warpwright.solver.domain import DocumentError

__all__ = ["read_calls", "run", "solve_file"]


def read_calls(path: str | Path) -> list[dict[str, Any]]:
    """The calls of a file: an object with ``calls``, a list of calls, or one call.

    Raises:
        DocumentError: ``call-unreadable`` if the file cannot be read, ``call-invalid`` if it has no calls.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DocumentError(f"cannot read {path}: {error.strerror}", code="call-unreadable", place=str(path)) from error
    except ValueError as error:
        raise DocumentError(f"{path} is not JSON: {error}", code="call-invalid", place=str(path)) from error
    calls = data.get("calls", [data]) if isinstance(data, dict) else data
    if not isinstance(calls, list) or not calls or not all(isinstance(call, dict) for call in calls):
        raise DocumentError(f"{path} has no scheduler calls", code="call-invalid", place=str(path))
    return calls


def solve_file(path: str | Path, *, engine: str = "exact", budget: NodeLimits | None = None) -> list[CallResult]:
    """Solve every call of a file, in order."""
    return [solve_call(call, engine=engine, budget=budget) for call in read_calls(path)]


def run(path: str | Path, engine: str = "exact", budget: NodeLimits | None = None) -> list[dict[str, Any]]:
    """Solve every call of a file; a JSON-ready row each.

    Keys of the issue: ``file``, ``call``, ``ii`` (None for a straight-line list, with ``makespan`` beside it),
    ``lower_bound``, ``proven``, ``versions``, ``bytes``, ``seconds``; then the starts and the reason of the bound.
    """
    return [
        _row(str(path), index, result) for index, result in enumerate(solve_file(path, engine=engine, budget=budget))
    ]


def _row(file: str, index: int, result: CallResult) -> dict[str, Any]:
    answer, loop = result.answer, isinstance(result.problem, LoopProblem)
    row: dict[str, Any] = {"file": Path(file).name, "call": index, "ii": answer.interval if answer else None}
    if not loop:
        row["makespan"] = result.length if answer else None
    status = "solved" if answer else ("infeasible" if result.proven else "unknown")
    return row | {
        "lower_bound": result.lower_bound.cycles,
        "proven": result.proven,
        "versions": list(answer.versions) if answer and loop else [],
        "bytes": result.bytes,
        "seconds": round(result.seconds, 6),
        "status": status,
        "engine": result.engine,
        "bound_reason": result.lower_bound.reason,
        "bytes_proven": result.bytes_proven,
        "length": result.length,
        "length_proven": result.length_proven,
        "start_times": list(answer.starts) if answer else [],
        "notes": event_flags.notes(result.problem, answer) if answer else [],
        "work": result.work,
    }
