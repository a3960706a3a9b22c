"""The solver's tasks. Run in children only: importing this module imports a constraint engine.

A solve may ignore every limit that its engine offers (native code, lost timeouts), so it runs where it can be killed. With an
``output`` folder in its payload it keeps the best answer so far there, complete at every moment
(:mod:`warpwright.tuning.partial_answer`).
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from warpwright.solver.ascend.kernel_solve import solve_graph
from warpwright.solver.candidates import Candidate, Rejected, propose_family
from warpwright.solver.domain import Feasible, HardwareProfile, Infeasible, KernelGraph, Pins, TargetFamily, dump, load
from warpwright.solver.engines import Budget
from warpwright.solver.explain import explain
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.solve import solve
from warpwright.tuning.partial_answer import keep

__all__ = ["explain_warp", "propose_warp", "solve_warp"]


def propose_warp(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``propose.warp``: structurally different verified schedules of a kernel family, best forecast first.

    Keys: ``kernels`` (list of ``variant``, ``params``, ``graph``), ``profile``, ``pins``, ``count``, ``engine``, ``seed``,
    ``work_limit``, ``wall_seconds``. Returns ``schedules``, ``rejected`` (proven impossible) and ``unknown`` (why the search
    was not exhaustive if nothing was found).
    """
    kernels = payload["kernels"]
    numbers = [int(kernel["variant"]) for kernel in kernels]

    def progress(found: Sequence[Candidate]) -> None:
        keep(payload, {"schedules": [_candidate(candidate, numbers[candidate.variant]) for candidate in found]})

    proposals = propose_family(
        [(dict(kernel["params"]), _graph(kernel["graph"])) for kernel in kernels],
        _profile(payload),
        count=int(payload["count"]),
        engine=str(payload["engine"]),
        budget=_budget(payload),
        pins=_pins(payload),
        progress=progress,
    )
    infeasible = [rejected for rejected in proposals.rejected if isinstance(rejected.verdict, Infeasible)]
    unknown = [rejected for rejected in proposals.rejected if not isinstance(rejected.verdict, Infeasible)]
    return {
        "schedules": [_candidate(candidate, numbers[candidate.variant]) for candidate in proposals.candidates],
        "rejected": [_rejected(rejected, numbers[rejected.variant]) for rejected in infeasible],
        "unknown": _reason(unknown),
    }


def solve_warp(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``solve.warp``: one kernel's verdict. Keys as ``propose.warp`` with ``graph`` in place of ``kernels``."""
    graph = _graph(payload["graph"])
    if graph.family is TargetFamily.ASCEND:
        return {"verdict": dump(solve_graph(graph, _profile(payload), _pins(payload), engine=str(payload["engine"])))}
    problem = close_problem(graph, _profile(payload), _pins(payload))

    def progress(found: Feasible) -> None:
        keep(payload, {"verdict": dump(found)})

    verdict = solve(problem, engine=str(payload["engine"]), budget=_budget(payload), progress=progress)
    return {"verdict": dump(verdict)}


def explain_warp(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``explain.warp``: why a choice is impossible, or what it costs. Keys as ``solve.warp`` with ``why``."""
    found = explain(
        _graph(payload["graph"]),
        _profile(payload),
        payload.get("why"),
        pins=_pins(payload),
        engine=str(payload["engine"]),
        budget=_budget(payload),
    )
    return {"explanation": found.to_dict()}


def _candidate(candidate: Candidate, variant: int) -> dict[str, Any]:
    return {
        "variant": variant,
        "schedule": dump(candidate.schedule),
        "certificate": dump(candidate.certificate),
        "status": candidate.status,
        "forecast_ns": candidate.forecast_ns,
        "structure": candidate.structure,
    }


def _rejected(rejected: Rejected, variant: int) -> dict[str, Any]:
    assert isinstance(rejected.verdict, Infeasible)
    return {
        "variant": variant,
        "structure": rejected.structure,
        "conflicts": [asdict(conflict) for conflict in rejected.verdict.conflicts],
    }


def _reason(unknown: list[Rejected]) -> str:
    reasons = sorted({getattr(rejected.verdict, "reason", "") for rejected in unknown})
    return f"{len(unknown)} structures undecided: {'; '.join(reasons)[:300]}" if unknown else ""


def _graph(document: dict[str, Any]) -> KernelGraph:
    graph: KernelGraph = load(KernelGraph, document)
    return graph


def _profile(payload: dict[str, Any]) -> HardwareProfile:
    profile: HardwareProfile = load(HardwareProfile, payload["profile"])
    return profile


def _pins(payload: dict[str, Any]) -> Pins:
    pins: Pins = load(Pins, payload["pins"])
    return pins


def _budget(payload: dict[str, Any]) -> Budget:
    return Budget(
        work_limit=int(payload["work_limit"]),
        wall_seconds=float(payload["wall_seconds"]),
        seed=int(payload["seed"]),
    )
