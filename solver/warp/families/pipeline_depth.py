"""A version is free again only after its last user released it: ``acquire(i + depth)`` comes after ``release(i)``.

So the interval is at least the time from a version's refill to its release, divided by the depth; loads are counted with
the latency they have under load. A value that lives across iterations allows one version only (TileLang would hand out the
value of ``depth`` iterations ago, rule book 1.14.8), and more versions than values are never used. A pipeline with several
spans per iteration hands over a value in each, so its refills come sooner and no span sees another one's value. Source: rule book
1.4, 1.8; literature.md 2.1 (depth = ceil(R / II)); facebookexperimental/triton pull 1804 (versions >= lead + 1).
"""

from warpwright.solver.device.limits import WARP_THREADS, WARPGROUP
from warpwright.solver.device.stream_steps import Crew
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.kernel import ROOT, Op
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import Literal, Var
from warpwright.solver.warp.encoding import WarpEncoding, default_warps, fewest_closings
from warpwright.solver.warp.floors import crew_in, floor_of
from warpwright.solver.warp.layout.buffer_channels import Channel, together
from warpwright.solver.warp.layout.instruction_order import wait_behind
from warpwright.solver.warp.layout.structure import release_is_fenced, structure_of
from warpwright.solver.warp.problem import CONSUMER, WarpProblem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.settled import MOST_STEPS, Ring, steps_late
from warpwright.solver.warp.timing import iteration_limit

NAME = "pipeline_depth"


def build(enc: WarpEncoding) -> None:
    """Depth limits of every channel, and for loops the ring of full, release and refill."""
    model = enc.model
    for index, channel in enumerate(enc.structure.channels):
        depth = enc.depth[index]
        if channel.carried:
            model.at_most(depth, 1, note=f"{channel.buffer} may have only one version: {channel.carried}")
        limit = iteration_limit(enc.problem, channel.scope)
        if limit is not None:
            values = limit * len(channel.hand_offs)
            model.at_most(depth, values, note=f"{channel.scope} runs {limit} times")
        if channel.scope != ROOT:
            _build_ring(enc, index)
    for (first, second), literal in enc.merged.items():
        model.equal(enc.depth[first] - enc.depth[second], 0, when=[literal], note="one pipeline, one depth")
        for times in (enc.full, enc.release):
            for index, n in times:
                if index == first:
                    both = times[first, n] - times[second, n]
                    model.equal(both, 0, when=[literal], note="one pipeline, one barrier")
    for scope in enc.loops:
        _build_floor(enc, scope.id)


def _build_floor(enc: WarpEncoding, scope: str) -> None:
    """The least interval by units, queues and streams, at every width, and how late settled rings are."""
    closings = fewest_closings(enc.problem, enc.structure, scope)
    for groups, wide in enc.width.items() or {1: None}.items():
        floor = floor_of(enc.problem, enc.structure, scope, enc.crews(groups), closings)
        note = f"{floor.bounds[0].reason} takes {floor.cycles} cycles per iteration"
        enc.model.at_least(enc.interval[scope], floor.cycles, when=[wide] if wide else [], note=note)
        for ring, depths, merged in _rings(enc, scope):
            for depth, literal in depths.items():
                late = min(steps_late(enc.problem, ring, enc.crews(groups), floor, depth), MOST_STEPS)
                if late:
                    when = [given for given in (wide, literal, merged) if given is not None]
                    enc.model.at_least(enc.late[scope], late, when=when)


def _rings(enc: WarpEncoding, scope: str) -> list[tuple[Ring, dict[int, Literal], Literal | None]]:
    """Every channel of a loop as a ring, and every pair that may share one: a shared ring is held from its first use to its
    last, so the worst pair decides.
    """
    found: list[tuple[Ring, dict[int, Literal], Literal | None]] = []
    mine = [index for index, channel in enumerate(enc.structure.channels) if channel.scope == scope]
    pairs = [(pair, literal) for pair, literal in enc.merged.items() if pair[0] in mine]
    for members, literal in [*(((index,), None) for index in mine), *pairs]:
        channels = [enc.structure.channels[index] for index in members]
        values = [(value.writes, value.reads) for value in together(channels)]
        fenced = any(release_is_fenced(enc.problem, channel) for channel in channels)
        roles = (channels[0].producer, channels[0].consumer)
        ring = Ring(enc.problem, enc.structure, scope, roles, values, fenced=fenced)
        found.append((ring, enc.depth_is[members[0]], literal))
    return found


def _build_ring(enc: WarpEncoding, index: int) -> None:
    model, channel, latency = enc.model, enc.structure.channels[index], enc.problem.device.barrier_latency_cycles
    interval, values = enc.interval[channel.scope], len(channel.hand_offs)
    arrived = enc.arrived(channel.consumer)
    fence = enc.problem.device.proxy_fence_cycles
    fenced = release_is_fenced(enc.problem, channel)
    freed_late = arrived + fence if fenced else arrived
    shared = [
        literal
        for pair, literal in enc.merged.items()
        if index in pair and any(release_is_fenced(enc.problem, enc.structure.channels[n]) for n in pair)
    ]
    """Whether a fence of another buffer stands before the common release."""
    for n, value in enumerate(channel.hand_offs):
        full, release = enc.full[index, n], enc.release[index, n]
        for item in value.writes:
            start = enc.start[channel.scope, channel.producer, item]
            model.at_least(full - start - enc.finished(channel.producer, item), 0)
            for earlier, queued in _loads_before(enc, channel, item):
                first = enc.start[channel.scope, channel.producer, earlier]
                model.at_least(full - first - enc.finished(channel.producer, item), queued)
        for depth, literal in enc.depth_is[index].items():
            iterations, next_value = divmod(n + depth, values)
            for item in channel.hand_offs[next_value].writes:
                start = enc.start[channel.scope, channel.producer, item]
                refill = start + iterations * interval - release
                model.at_least(refill, latency, when=[literal], note=f"refill of {channel.buffer} after its release")
        for item in value.reads:
            start = enc.start[channel.scope, channel.consumer, item]
            model.at_least(start - full, latency, note=f"{item} waits for {channel.buffer}")
            model.at_least(release - start - enc.finished(channel.consumer, item) - freed_late, 0)
            late = _results_in_flight(enc, channel.scope, channel.consumer, item)
            for wait in late:
                model.at_least(release - wait - freed_late, 1, note=f"{item} reads {channel.buffer} until its wait")
            for literal in [] if fenced else shared:
                end = release - start - enc.finished(channel.consumer, item) - arrived
                model.at_least(end, fence, when=[literal])
                for wait in late:
                    model.at_least(release - wait - arrived, 1 + fence, when=[literal])


def _loads_before(enc: WarpEncoding, channel: Channel, item: str) -> list[tuple[str, int]]:
    """Loads that a producer starts before one of its loads in the same iteration, each with the cycles of the queue from it to
    that load: they arrive in the order of their start.
    """
    role, queued, found = channel.producer, 0, list[tuple[str, int]]()
    items = enc.structure.body(channel.scope, role)
    if not enc.queued(role, item) or enc.is_staged(channel.scope, role):
        return []
    for earlier in reversed(items[: items.index(item)]):
        cycles = enc.queued(role, earlier)
        if cycles:
            queued += cycles
            found.append((earlier, queued))
    return found


def _results_in_flight(enc: WarpEncoding, scope: str, role: str, item: str) -> list[Var]:
    """Start of the wait operation that an asynchronous product needs before its operands are free."""
    op = enc.problem.ops.get(item)
    if op is None or not op.left_in_flight:
        return []
    wait = wait_behind(enc.problem.ops, enc.structure.body(scope, role), item)
    return [enc.start[scope, role, wait]] if wait is not None else []


def check(reading: Reading) -> tuple[Violation, ...]:
    """Depth of every pipeline against carried values and the number of iterations."""
    found: list[Violation] = []
    for pipeline in reading.schedule.pipelines:
        scope = reading.scope_of.get(pipeline.name, ROOT)
        if scope not in reading.problem.scopes:
            continue
        values = reading.values(pipeline.name)
        for buffer in pipeline.buffers:
            reason = reading.problem.source.loop_carried(buffer, scope, values)
            if reason and pipeline.depth > 1:
                message = (
                    f"{pipeline.name} has depth {pipeline.depth}, but {buffer} may have only one version: {reason}"
                )
                found.append(Violation(NAME, "loop-carried", message, buffer))
        limit = iteration_limit(reading.problem, scope)
        if limit is not None and pipeline.depth > limit * max(len(values), 1):
            message = (
                f"{pipeline.name} has depth {pipeline.depth}; {scope} runs only {limit} times, "
                "so the other versions are never used"
            )
            found.append(Violation(NAME, "deeper-than-trips", message, pipeline.name))
    return tuple(found)


def life_cycles(problem: WarpProblem, channel: Channel, consumer_warps: int) -> int:
    """Cycles from a version's refill to its release if nothing else delays it; divided by the interval, the depth
    that it needs.
    """
    structure, latency, times = structure_of(problem), problem.device.barrier_latency_cycles, problem.times

    def crew(role: str) -> Crew:
        warps = consumer_warps if role == CONSUMER else default_warps(problem, structure, role)
        return crew_in(times, structure, role, warps)

    def ops(items: tuple[str, ...]) -> tuple[Op, ...]:
        return tuple(structure.ops[item] for item in items if item in problem.ops)

    producer, consumer = crew(channel.producer), crew(channel.consumer)
    late = problem.device.proxy_fence_cycles if release_is_fenced(problem, channel) else 0
    spent = []
    for value in channel.hand_offs:
        fill = max((times.finished(op, producer) for op in ops(value.writes)), default=0)
        reads = [times.finished(op, consumer) for op in ops(value.reads)]
        spent.append(fill + sum(reads))
    return max(spent) + late + times.arrived(consumer) + 2 * latency


def explain(problem: WarpProblem, reading: Reading | None) -> tuple[Fact, ...]:
    """Versions of each channel against the useful maximum, with the cycles that one version is in use."""
    facts = []
    widths = [role.warps for role in reading.schedule.roles if role.name == CONSUMER] if reading is not None else []
    consumer_warps = widths[0] if widths else max(problem.graph.threads // WARP_THREADS, WARPGROUP)
    for channel in structure_of(problem).channels:
        runs = iteration_limit(problem, channel.scope)
        limit = 1 if channel.carried else None if runs is None else runs * len(channel.hand_offs)
        pinned = [pin.depth for pin in problem.pins.depths if pin.buffer == channel.buffer and not channel.encloses]
        used = max([1, *pinned])
        if reading is not None:
            inside = [p for p in reading.protecting(channel.buffer) if reading.scope_of[p.name] == channel.scope]
            used = inside[0].depth if inside else 1
        note = channel.carried
        if channel.scope != ROOT:
            life = life_cycles(problem, channel, consumer_warps)
            note = "; ".join(text for text in (note, f"one version is in use for {life:,} cycles") if text)
        facts.append(Fact(f"depth of {channel.buffer}", used, limit, "versions", note=note))
    return tuple(facts)
