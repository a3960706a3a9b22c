"""Rechecks of certificates. Run in children only: importing this module imports a constraint engine."""

import json
from dataclasses import asdict
from typing import Any

from warpwright.solver.ascend.recheck import recheck as recheck_buffers
from warpwright.solver.domain import (
    BufferSchedule,
    Certificate,
    HardwareProfile,
    KernelGraph,
    Schedule,
    load,
)
from warpwright.solver.domain.certificate_check import ProofCheck
from warpwright.solver.engines import Budget
from warpwright.solver.modulo.document import parse_problem
from warpwright.solver.modulo.recheck import recheck as recheck_interval
from warpwright.solver.modulo.recheck import recheck_length
from warpwright.solver.modulo.stated_answer import parse_answer
from warpwright.solver.warp.certificate_check import certified_problem
from warpwright.solver.warp.recheck import recheck

__all__ = ["recheck_answer", "recheck_certificate"]


def recheck_certificate(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``recheck.certificate``: looks for something below each bound of a certificate that holds so far.

    Keys: ``graph``, ``profile``, ``schedule``, ``certificate``, ``engine`` (the second one), ``seed``, ``work_limit``,
    ``wall_seconds``. Returns ``proofs``, one per bound.
    """
    graph: KernelGraph = load(KernelGraph, payload["graph"])
    profile: HardwareProfile = load(HardwareProfile, payload["profile"])
    schedule: Schedule = load(Schedule, payload["schedule"])
    certificate: Certificate = load(Certificate, payload["certificate"])
    if isinstance(schedule, BufferSchedule):
        name, budget = str(payload["engine"]), _budget(payload)
        return _proofs(*recheck_buffers(graph, profile, schedule, certificate, engine=name, budget=budget))
    problem, _ = certified_problem(graph, profile, schedule, certificate)
    bound = certificate.lower_bound.cycles
    return _proofs(recheck(problem, schedule, bound, engine=str(payload["engine"]), budget=_budget(payload)))


def recheck_answer(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``recheck.answer``: as ``recheck.certificate`` for a modulo answer.

    Keys: ``problem`` and ``answer`` (JSON texts), ``engine``, ``seed``, ``work_limit``, ``wall_seconds``.
    """
    problem, answer = parse_problem(payload["problem"]), parse_answer(payload["answer"])
    name, budget = str(payload["engine"]), _budget(payload)
    proofs = [recheck_interval(problem, answer.bound.cycles, engine_name=name, budget=budget)]
    if answer.length_proven:
        proofs.append(recheck_length(problem, answer.placed(problem), engine_name=name, budget=budget))
    return _proofs(*proofs)


def _proofs(*found: ProofCheck) -> dict[str, Any]:
    proofs: list[Any] = json.loads(json.dumps([asdict(proof) for proof in found]))
    return {"proofs": proofs}


def _budget(payload: dict[str, Any]) -> Budget:
    return Budget(
        work_limit=int(payload["work_limit"]),
        wall_seconds=float(payload["wall_seconds"]),
        seed=int(payload["seed"]),
    )
