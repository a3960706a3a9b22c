"""How far a ring's settled interval is above the loop's floor: the life of a version while loads and products slow each other.

The proven interval counts every operation as if its units were free, so that no forecast is below it. Once a loop has
settled, loads run beside products and both take longer; a ring that was just deep enough then is not. One version less than
the settled life needs was 2 to 30 % slower on an H200 (six tile shapes, 8192 cubed), so the search prefers schedules whose
rings are deep enough for it, in coarse steps.
"""

from collections.abc import Mapping, Sequence

from warpwright.solver.device.stream_steps import Crew
from warpwright.solver.domain.kernel import ROOT, OpKind
from warpwright.solver.domain.schedule import OpRef
from warpwright.solver.warp.floors import Floor, Floored, crew_in
from warpwright.solver.warp.layout.instruction_order import free_after
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.timing import floor_of_reading

__all__ = ["MOST_STEPS", "Ring", "steps_late", "steps_late_of"]

MOST_STEPS = 200
"""More steps than this are not told apart: the ring is several times too short then."""

STEP = 0.08
"""The forecast of GEMM kernels is off by 4 to 7 % in the mean, so that smaller differences say nothing."""


class Ring:
    """One pipeline's versions in a loop: who fills and uses them, and the items of each value of an iteration."""

    def __init__(
        self,
        problem: WarpProblem,
        placed: Floored,
        scope: str,
        roles: tuple[str, str],
        values: Sequence[tuple[tuple[str, ...], tuple[str, ...]]],
        *,
        fenced: bool,
    ) -> None:
        """``roles`` are producer and consumer, ``values`` the items that fill and that use each value."""
        self.problem, self.placed, self.scope, self.fenced = problem, placed, scope, fenced
        self.producer, self.consumer = roles
        self.values = values

    def lives(self, crews: Mapping[str, Crew], floor: Floor) -> tuple[float, float]:
        """Cycles from a version's refill to its release, with warpgroups that take turns, and in step; 0 if another kind of
        operation than bulk loads fills it.
        """
        found = [self._life(fills, uses, crews, floor) for fills, uses in self.values]
        return max(one for one, _ in found), max(other for _, other in found)

    def _life(
        self, fills: tuple[str, ...], uses: tuple[str, ...], crews: Mapping[str, Crew], floor: Floor
    ) -> tuple[float, float]:
        times, ops = self.problem.times, self.placed.ops
        body = self.placed.body(self.scope, self.consumer)
        chain = body[body.index(uses[0]) : body.index(free_after(ops, body, uses)) + 1]
        loads = [ops[item] for item in fills if item in ops and ops[item].kind is OpKind.TMA_LOAD]
        if len(loads) < len(fills) or any(item not in ops for item in chain):
            return 0.0, 0.0
        crew = crews[self.consumer]
        around = 2 * self.problem.device.barrier_latency_cycles
        around += self.problem.device.proxy_fence_cycles if self.fenced else 0
        lead = max(times.step(op, crews[self.producer]).job.lead for op in loads)
        held = [times.held(ops[item], crew) for item in chain]
        trails = times.finished(ops[chain[-1]], crew) - held[-1][0]
        lives = []
        for play, (product, load) in enumerate(floor.speeds):
            moved = floor.moved / load
            slowed = (1.0 - product) * moved if any(ops[item].gemm is not None for item in chain) else 0.0
            spent = sum(cycles[play] for cycles in held) + times.release(crew)[play] + (0.0 if play else trails)
            lives.append(lead + moved + slowed + spent + around)
        return lives[0], lives[1]


def steps_late(problem: WarpProblem, ring: Ring, crews: Mapping[str, Crew], floor: Floor, depth: int) -> int:
    """By how many steps the ring's settled interval at this depth is above the loop's floor."""
    turns, in_step = (life * len(ring.values) / depth for life in ring.lives(crews, floor))
    mixed = problem.times.mixed(max(floor.apart, turns), max(floor.together, in_step))
    return int((mixed / problem.times.mixed(floor.apart, floor.together) - 1.0) / STEP)


def steps_late_of(reading: Reading) -> int:
    """The steps of a schedule: of every loop the worst ring's, together."""
    times = reading.problem.times
    crews = {name: crew_in(times, reading, name, max(role.warps, 1)) for name, role in reading.roles.items()}
    worst: dict[str, int] = {}
    for pipeline in reading.schedule.pipelines:
        scope = reading.scope_of.get(pipeline.name, ROOT)
        if scope == ROOT:
            continue
        ring = _ring_of(reading, scope, pipeline.name)
        late = steps_late(reading.problem, ring, crews, floor_of_reading(reading, scope, crews), pipeline.depth)
        worst[scope] = max(worst.get(scope, 0), min(late, MOST_STEPS))
    return sum(worst.values())


def _ring_of(reading: Reading, scope: str, pipeline: str) -> Ring:
    buffers, sides, roles = set(reading.buffers_of(pipeline)), dict[bool, list[tuple[str, ...]]](), dict[bool, str]()
    for role in reading.roles:
        source = reading.body(scope, role)
        for span in reading.spans(scope, role):
            if span.pipeline != pipeline:
                continue
            inside = {i.id for i in reading.bodies[scope, role][span.opened : span.close] if isinstance(i, OpRef)}
            items = tuple(item for item in source if item in inside and reading.touched(item, role) & buffers)
            sides.setdefault(span.producing, []).append(items)
            roles[span.producing] = role
    fenced = reading.fences_release(pipeline, roles[True], roles[False])
    values = list(zip(sides[True], sides[False], strict=True))
    return Ring(reading.problem, reading, scope, (roles[True], roles[False]), values, fenced=fenced)
