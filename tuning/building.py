"""The building phase of a tuning: plans become candidates with an outcome, several at a time, in their order."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import replace

from warpwright.solver.domain import Candidate
from warpwright.tuning.build import BuildPlan, build, skipped
from warpwright.tuning.events import StepStarted
from warpwright.tuning.result import Step
from warpwright.tuning.run import Run
from warpwright.tuning.verify_baselines import judged

__all__ = ["Known", "build_all", "nothing_known"]

Known = Callable[[str], Candidate | None]
"""Gives a candidate that need not be built again, by id."""


def nothing_known(candidate: str) -> Candidate | None:
    """No earlier attempt and no other job built it."""
    return None


def build_all(run: Run, plans: Sequence[BuildPlan], known: Known, parallel: int) -> None:
    """Build plans, ``parallel`` at a time, except those whose end is known; every one has ended when this returns."""
    waiting: list[BuildPlan] = []
    kernels = {plan.id: plan.kernel for plan in plans}

    def ended(record: Candidate) -> None:
        run.ended(judged(record, kernels[record.id], run.request.profile, run.toolchain))

    for plan in plans:
        record = known(plan.id)
        if record is None:
            waiting.append(plan)
        else:
            asked = plan.candidate
            ended(replace(record, variant=asked.variant, params=asked.params, forecast_ns=asked.forecast_ns))
    with ThreadPoolExecutor(max_workers=parallel, thread_name_prefix="build") as pool:
        running: set[Future[Candidate]] = set()
        while waiting or running:
            while waiting and len(running) < parallel and not run.building_is_over():
                plan = waiting.pop(0)
                run.emit(StepStarted(plan.id, Step.COMPILE))
                # With this thread's context, so that logs and children of the step carry the job's trace.
                running.add(pool.submit(copy_context().run, build, run.request, plan, run.toolchain, run.patience))
            if not running:
                break
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=lambda f: f.result().id):
                ended(future.result())
    run.cut = run.cut or bool(waiting)
    for plan in waiting:
        run.ended(skipped(plan, run.stop.reason or "budget"))
