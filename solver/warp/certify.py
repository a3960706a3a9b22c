"""The certificate of a schedule: its interval and bound, what binds it, and what the search spent."""

from dataclasses import replace

from warpwright.solver.device.cycles import unit_cycles
from warpwright.solver.device.limits import WARPGROUP_THREADS
from warpwright.solver.device.shared_memory import block_bytes
from warpwright.solver.domain.kernel import Unit
from warpwright.solver.domain.proof_sentence import proof_sentence
from warpwright.solver.domain.schedule import WarpSchedule
from warpwright.solver.domain.verdict import Bound, Certificate
from warpwright.solver.engines import Budget, EngineResult, EngineStatus
from warpwright.solver.warp.bounds import unit_bounds
from warpwright.solver.warp.families import FAMILIES
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.proof_scope import scope_of
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.timing import loop_times
from warpwright.solver.warp.verify import bounds_of, expected

__all__ = ["certificate_of"]


def certificate_of(
    problem: WarpProblem, schedule: WarpSchedule, result: EngineResult, name: str, version: str, budget: Budget
) -> Certificate:
    """The certificate of a schedule that a search found: its numbers, its bound, and what was spent on it."""
    reading = Reading(problem, schedule)
    claims = expected(problem, schedule)
    times = loop_times(reading)
    interval = times[0].interval if times else None
    known = bounds_of(problem, schedule) or (Bound(0, "time:no loop"),)
    lower = known[0]
    anywhere = max(unit_bounds(problem, times[0].scope), key=lambda bound: bound.cycles) if times else None
    if interval is not None and lower.cycles < interval and result.status is EngineStatus.OPTIMAL:
        lower = Bound(interval, f"search:{name} proved that no schedule of this scope is shorter")
    made = Certificate(
        initiation_interval_cycles=interval,
        lower_bound=lower,
        gap_cycles=0 if interval is None else interval - lower.cycles,
        schedule_length_cycles=times[0].length if times else 0,
        on_chip_bytes=int(str(claims["on_chip_bytes"])),
        synchronisations=int(str(claims["synchronisations"])),
        engine=name,
        engine_version=version,
        seed=budget.seed,
        work=result.work,
        work_limit=budget.work_limit,
        constraint_set=problem.constraint_set,
        problem_digest=problem.digest,
        profile_digest=problem.profile_digest,
        verified=True,
        binding=binding(reading),
        bounds=known,
        scope=scope_of(reading, lower, anywhere),
    )
    return replace(made, sentence=proof_sentence(made))


def binding(reading: Reading) -> tuple[str, ...]:
    """Resources without slack: units busy for the whole interval, memory without room for another version, full pools."""
    problem, found = reading.problem, []
    for time in loop_times(reading)[:1]:
        found += [f"{unit.value}" for unit in Unit if unit_cycles(problem.source, time.scope, unit) >= time.interval]
    rings = [p for p in reading.schedule.pipelines if reading.scope_of[p.name] in problem.scopes]
    rings = [p for p in rings if problem.scopes[reading.scope_of[p.name]].parent is not None]
    limit = problem.device.shared_bytes_per_block
    if any(block_bytes(problem.graph, _deeper(reading.schedule, ring.name)) > limit for ring in rings):
        found.append("shared_memory")
    for family in FAMILIES:
        if family.NAME == "register_pool":
            pool = family.explain(problem, reading)[0]
            step = WARPGROUP_THREADS * problem.device.setmaxnreg_step
            if pool.slack is not None and pool.slack < step:
                found.append("register_pool")
    return tuple(found)


def _deeper(schedule: WarpSchedule, pipeline: str) -> WarpSchedule:
    """The schedule with one more version in a pipeline."""
    pipelines = tuple(replace(p, depth=p.depth + 1) if p.name == pipeline else p for p in schedule.pipelines)
    return replace(schedule, pipelines=pipelines)
