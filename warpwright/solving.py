"""One schedule with its proof, without building anything: the frontend's child reads, a solver's child solves."""

import tempfile
from pathlib import Path
from typing import Any

from warpwright.graphs import read_graph, reply_error
from warpwright.kernel_file import KernelFile
from warpwright.solver.domain import HardwareProfile, KernelGraph, Pins, SolverFault, TargetFamily, Verdict, documents
from warpwright.tuning.children import ChildPool, Limits, OutOfMemory, Raised, Reply, Returned, TimedOut, run_task
from warpwright.tuning.partial_answer import kept
from warpwright.tuning.solver_attempts import answered, died

__all__ = ["solve_kernel"]

WORK_LIMIT = 2_000_000
WALL_SECONDS = 120.0
GRACE_SECONDS = 30.0
"""Time for the engine to start and to end after its own time limit, before its process is killed."""


def solve_kernel(
    kernel: KernelFile,
    profile: HardwareProfile,
    *,
    engine: str = "cpsat",
    pins: Pins | None = None,
    seed: int = 0,
    wall_seconds: float = WALL_SECONDS,
    pool: ChildPool | None = None,
    graph: KernelGraph | None = None,
) -> Verdict:
    """The verdict on the default variant; the best that it had of a solve that was killed.

    ``graph``: of the default variant, where the caller has read it already. An Ascend kernel is solved from its IR.

    Raises:
        WarpwrightError: the kernel was refused, the profile lacks a number, or the solve itself failed.
    """
    ir = kernel.variants[0].ir
    subject: dict[str, Any]
    payload: dict[str, Any] = {
        "profile": documents.dump(profile),
        "pins": documents.dump(pins or Pins()),
        "engine": engine,
        "seed": seed,
        "work_limit": WORK_LIMIT,
        "wall_seconds": wall_seconds,
    }
    if profile.family is TargetFamily.CUDA:
        graph = graph or read_graph(ir, profile, pool=pool)
        task, subject = "solve.warp", {"graph": documents.dump(graph)}
    else:
        task, subject = "solve.buffer", {"ir": ir}
    patience = Limits(wall_seconds=wall_seconds + GRACE_SECONDS, cpu_seconds=2 * wall_seconds + GRACE_SECONDS)
    with tempfile.TemporaryDirectory(prefix="warpwright-solve-") as folder:
        payload = {**payload, **subject, "output": folder}
        reply: Reply = answered(lambda asked: run_task(task, asked, patience), payload, lambda found: found)
        best = kept({path.name: path.read_bytes() for path in Path(folder).iterdir()})
    if best is not None and (isinstance(reply, TimedOut | OutOfMemory) or died(reply)):
        return load_verdict(best)
    if isinstance(reply, Raised):
        raise SolverFault(
            f"the solver raised {reply.type}: {reply.message}; this is a bug in Warpwright, please report it"
        )
    if died(reply):
        raise SolverFault(
            "the solver's process died, also with another seed and with the other engine", code="solver-died"
        )
    if not isinstance(reply, Returned):
        raise reply_error(reply, "solving")
    return load_verdict(reply.value)


def load_verdict(answer: dict[str, Any]) -> Verdict:
    """The verdict in a task's answer."""
    verdict: Verdict = documents.load(Verdict, answer["verdict"])
    return verdict
