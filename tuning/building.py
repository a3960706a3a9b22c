"""The building phase of a tuning: plans become candidates with an outcome, several at a time, in their order.

It ends early enough to measure what was built. The first few plans may use nearly all of the time: without a reference
nothing can be checked, and without the compiler's default and our best there is no answer.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, field, replace

from warpwright.solver.domain import Candidate, Outcome
from warpwright.tuning.build import BuildPlan, build, skipped
from warpwright.tuning.events import StepStarted
from warpwright.tuning.measure.session_time import ESSENTIAL
from warpwright.tuning.result import Step
from warpwright.tuning.run import TuningRun
from warpwright.tuning.toolchain import Patience, Stop
from warpwright.tuning.verify_baselines import judged

__all__ = ["Known", "build_all", "nothing_known"]

Known = Callable[[str], Candidate | None]
"""Returns a candidate that need not be built again, by id."""

LOOK_SECONDS = 0.2
"""How often the time is checked while builds run."""


@dataclass(slots=True)
class _Builds:
    """Running builds, which are stopped when the building phase ends: first those that are not essential."""

    run: TuningRun
    pool: ThreadPoolExecutor
    essential: Stop = field(default_factory=Stop)
    rest: Stop = field(default_factory=Stop)
    running: dict[Future[Candidate], BuildPlan] = field(default_factory=dict)

    def begin(self, plan: BuildPlan, *, essential: bool) -> None:
        stop = self.essential if essential else self.rest

        def patience(seconds: float) -> Patience:
            return Patience(seconds, self.run.deadline, stop)

        self.run.emit(StepStarted(plan.id, Step.COMPILE))
        # With this thread's context, so that logs and children of the step carry the job's trace.
        future = self.pool.submit(copy_context().run, build, self.run.request, plan, self.run.toolchain, patience)
        self.running[future] = plan

    def ended(self) -> list[tuple[BuildPlan, Candidate]]:
        """Builds that have ended by now, in the order in which they began; waits a moment for one."""
        done, _ = wait(self.running, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
        for stop, essential in ((self.essential, True), (self.rest, False)):
            if self.run.building_is_over(essential=essential):
                stop.raise_flag(self.run.stop.reason or "budget")
        return [(self.running.pop(future), future.result()) for future in list(self.running) if future in done]


def nothing_known(candidate: str) -> Candidate | None:
    """Default: no earlier attempt and no other job built the candidate."""
    return None


def build_all(run: TuningRun, plans: Sequence[BuildPlan], known: Known, parallel: int) -> None:
    """Build plans, ``parallel`` at a time, except those whose outcome is known; all have ended when this returns."""

    def ended(plan: BuildPlan, record: Candidate) -> None:
        run.ended(judged(record, plan.kernel, run.request.profile, run.toolchain))

    essential = {plan.id for plan in plans[:ESSENTIAL]}
    waiting: list[BuildPlan] = []
    unbuilt: list[BuildPlan] = []
    for plan in plans:
        record = known(plan.id)
        if record is None:
            waiting.append(plan)
        else:
            asked = plan.candidate
            cycles = record.forecast_cycles if asked.forecast_cycles is None else asked.forecast_cycles
            known_by = replace(record, variant=asked.variant, params=asked.params)
            ended(plan, replace(known_by, forecast_ns=asked.forecast_ns, forecast_cycles=cycles))
    with ThreadPoolExecutor(max_workers=parallel, thread_name_prefix="build") as pool:
        builds = _Builds(run, pool)
        while waiting or builds.running:
            while waiting and len(builds.running) < parallel and _may_begin(run, waiting[0], essential):
                plan = waiting.pop(0)
                builds.begin(plan, essential=plan.id in essential)
            if not builds.running:
                break
            for plan, record in builds.ended():
                if record.outcome is Outcome.SKIPPED:
                    unbuilt.append(plan)
                else:
                    ended(plan, record)
    unbuilt += waiting
    run.cut = run.cut or bool(unbuilt)
    for plan in unbuilt:
        run.ended(skipped(plan, run.stop.reason or "budget"))


def _may_begin(run: TuningRun, plan: BuildPlan, essential: set[str]) -> bool:
    return not run.building_is_over(essential=plan.id in essential)
