"""The solver's tasks. Run in children only: importing this module imports a constraint engine.

A solve may ignore every limit that its engine offers (native code, lost timeouts), so it runs where it can be killed. With an
``output`` folder in its payload it keeps the best answer so far there, complete at every moment
(:mod:`warpwright.tuning.partial_answer`).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from warpwright.solver.ascend.kernel_solve import solve_graph
from warpwright.solver.ascend.optimise import QUICK
from warpwright.solver.candidates import propose_family
from warpwright.solver.domain import (
    Feasible,
    HardwareProfile,
    Infeasible,
    KernelGraph,
    Pins,
    Proposals,
    ProvenOptimal,
    TargetFamily,
    Verdict,
    dump,
    load,
)
from warpwright.solver.engines import Budget
from warpwright.solver.explain import explain
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.solve import solve
from warpwright.tuning.partial_answer import keep

__all__ = ["explain_warp", "propose_warp", "solve_warp"]


def propose_warp(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``propose.warp``: structurally different verified schedules of a kernel family, best forecast first.

    Keys: ``kernels`` (list of ``variant``, ``params``, ``graph``, ``ir_hash``), ``profile``, ``pins``, ``count``, ``engine``,
    ``seed``, ``work_limit``, ``wall_seconds``. Returns ``proposals``.
    """
    kernels = payload["kernels"]
    numbers = [int(kernel["variant"]) for kernel in kernels]

    def progress(found: Proposals) -> None:
        keep(payload, {"proposals": dump(_numbered(found, numbers))})

    proposals = propose_family(
        [(dict(kernel["params"]), _graph(kernel["graph"])) for kernel in kernels],
        _profile(payload),
        count=int(payload["count"]),
        engine=str(payload["engine"]),
        budget=_budget(payload),
        pins=_pins(payload),
        kernels=[str(kernel["ir_hash"]) for kernel in kernels],
        progress=progress,
    )
    return {"proposals": dump(_numbered(proposals, numbers))}


def solve_warp(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``solve.warp``: one kernel's verdict. Keys as ``propose.warp`` with ``graph`` in place of ``kernels``."""
    graph = _graph(payload["graph"])
    if graph.family is TargetFamily.ASCEND:
        return {"verdict": dump(_solve_buffers(graph, payload))}
    problem = close_problem(graph, _profile(payload), _pins(payload))

    def progress(found: Feasible) -> None:
        keep(payload, {"verdict": dump(found)})

    verdict = solve(problem, engine=str(payload["engine"]), budget=_budget(payload), progress=progress)
    return {"verdict": dump(verdict)}


def _solve_buffers(graph: KernelGraph, payload: dict[str, Any]) -> Verdict:
    """The verdict on an Ascend kernel; the answer of a short search is kept until the whole one has ended."""
    profile, pins = _profile(payload), _pins(payload)
    quick = solve_graph(graph, profile, pins, limits=QUICK)
    if isinstance(quick, Infeasible):
        return quick
    if isinstance(quick, ProvenOptimal | Feasible):
        keep(payload, {"verdict": dump(quick)})
    return solve_graph(graph, profile, pins, engine=str(payload["engine"]))


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


def _numbered(proposals: Proposals, numbers: Sequence[int]) -> Proposals:
    """The proposals with the request's numbers of the variants: those that could not be read are not among the kernels."""
    return Proposals(
        tuple(replace(each, variant=numbers[each.variant]) for each in proposals.candidates),
        tuple(replace(each, variant=numbers[each.variant]) for each in proposals.rejected),
        tuple(replace(each, variant=numbers[each.variant]) for each in proposals.undecided),
    )


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
