"""The certificate of a schedule: its interval and bound, what binds it, and what the search spent."""

from dataclasses import dataclass, replace

from warpwright.solver.device.limits import WARPGROUP_THREADS
from warpwright.solver.device.shared_memory import block_bytes
from warpwright.solver.domain.pins import Pins
from warpwright.solver.domain.proof_scope import Why
from warpwright.solver.domain.proof_sentence import proof_sentence
from warpwright.solver.domain.schedule import Sync, WarpSchedule
from warpwright.solver.domain.verdict import Bound, Certificate
from warpwright.solver.engines import Budget, EngineResult, EngineStatus
from warpwright.solver.warp.bounds import lower_bounds
from warpwright.solver.warp.every_schedule import bound_of_every_schedule
from warpwright.solver.warp.families import FAMILIES
from warpwright.solver.warp.placements import as_placed
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.proof_scope import Reach, scope_of
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.timing import loop_times
from warpwright.solver.warp.verify import bounds_of

__all__ = ["EngineAccount", "account_of", "certificate_of", "certificate_with", "searched"]

UNITS = ("resource", "busy")
"""Reasons of bounds that name a unit."""
SHARED = "shared"
"""Bandwidth of shared memory: what products and loads contend for."""


@dataclass(frozen=True, slots=True)
class EngineAccount:
    """What a search says about itself; ``proven`` that nothing in its reach is shorter than the schedule, ``undecided`` which
    placements it did not get to the end of.
    """

    engine: str
    version: str
    seed: int
    work: int
    work_limit: int
    proven: bool
    undecided: tuple[str, ...] = ()


def certificate_of(
    problem: WarpProblem, schedule: WarpSchedule, result: EngineResult, name: str, version: str, budget: Budget
) -> Certificate:
    """The certificate of a schedule that a search found: its numbers, its bound, and what was spent on it."""
    # The main loop's interval is the first level: a limit that stopped a later one leaves its proof.
    proven = result.status is EngineStatus.OPTIMAL or result.bounds[:1] == result.objectives[:1] != ()
    account = EngineAccount(name, version, budget.seed, result.work, budget.work_limit, proven)
    return certificate_with(problem, schedule, account)


def certificate_with(problem: WarpProblem, schedule: WarpSchedule, account: EngineAccount) -> Certificate:
    """The only certificate that is true of a legal schedule if the search's account of itself is."""
    reading = Reading(problem, schedule)
    times = loop_times(reading)
    interval = times[0].interval if times else None
    known = reached_bounds(reading) if times else (Bound(0, "time:no loop"),)
    # Under a pinned width a unit may be busy for longer than it has to be: without pins the bound is every schedule's.
    every, pinned = bound_of_every_schedule(replace(problem, pins=Pins())), bound_of_every_schedule(problem)
    lower, reach = known[0], Reach.PLACED
    for bound, widely in ((pinned, Reach.PINNED_WIDTH), (every, Reach.EVERY)):
        if bound is not None and bound.cycles >= lower.cycles:
            lower, reach = bound, widely
    if interval is not None and lower.cycles < interval and account.proven:
        lower, reach = Bound(interval, searched(account.engine)), Reach.SEARCHED
    entries = [instruction for body in reading.bodies.values() for instruction in body]
    made = Certificate(
        initiation_interval_cycles=interval,
        lower_bound=lower,
        gap_cycles=0 if interval is None else interval - lower.cycles,
        schedule_length_cycles=times[0].length if times else 0,
        on_chip_bytes=block_bytes(problem.graph, schedule),
        synchronisations=sum(isinstance(entry, Sync) for entry in entries),
        engine=account.engine,
        engine_version=account.version,
        seed=account.seed,
        work=account.work,
        work_limit=account.work_limit,
        constraint_set=problem.constraint_set,
        problem_digest=problem.digest,
        profile_digest=problem.profile_digest,
        verified=True,
        binding=binding(reading),
        bounds=known,
        scope=scope_of(reading, lower, reach, every, account.undecided),
        pins=problem.pins,
    )
    return replace(made, sentence=proof_sentence(made))


def reached_bounds(reading: Reading) -> tuple[Bound, ...]:
    """Bounds of the main loop's interval for schedules of the same placement and any width that the pins allow."""
    placed = as_placed(reading)
    return (Bound(1, "time:one cycle"),) if placed is None else next(iter(lower_bounds(placed).values()))


def account_of(certificate: Certificate) -> EngineAccount:
    """What a certificate says that its search did."""
    proven = certificate.lower_bound.reason == searched(certificate.engine)
    version, seed = certificate.engine_version, certificate.seed
    choices = certificate.scope.choices if certificate.scope is not None else ()
    left = tuple(left.what for covered in choices for left in covered.left_out if left.why is Why.BUDGET)
    return EngineAccount(certificate.engine, version, seed, certificate.work, certificate.work_limit, proven, left)


def searched(engine: str) -> str:
    """The reason of a bound that an engine's search is said to have proven."""
    return f"search:{engine} proved that no schedule of this scope is shorter"


def binding(reading: Reading) -> tuple[str, ...]:
    """Resources without slack: units busy for the whole interval, memory without room for another version, full pools."""
    problem, found = reading.problem, list[str]()
    for time in loop_times(reading)[:1]:
        busy = [bound for bound in bounds_of(problem, reading.schedule) if bound.cycles >= time.interval]
        found += dict.fromkeys(unit for bound in busy for unit in _units_in(bound.reason))
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


def _units_in(reason: str) -> list[str]:
    """Units that a bound's reason names."""
    parts = [part.partition(":") for part in reason.removeprefix("phases:").split("/")]
    return [SHARED if kind == "contention" else unit for kind, _, unit in parts if kind in (*UNITS, "contention")]


def _deeper(schedule: WarpSchedule, pipeline: str) -> WarpSchedule:
    """The schedule with one more version in a pipeline."""
    pipelines = tuple(replace(p, depth=p.depth + 1) if p.name == pipeline else p for p in schedule.pipelines)
    return replace(schedule, pipelines=pipelines)
