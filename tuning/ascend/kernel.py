"""One Ascend kernel from IR to schedule, certificate and Ascend C: lower with the solver's answers, check the whole,
repeat if needed.

Child processes only. The first lowering gives every scope its optimum under TileLang's own limits. Where the kernel as a whole
then overflows a memory, a second lowering plans each scope within what the others leave.
"""

from dataclasses import dataclass, replace
from typing import Any

from warpwright.lowering.ascend.annotations import read_pins, storage_shapes, with_pins
from warpwright.lowering.ascend.lower import LoweringFailed, Watched, lower_watched
from warpwright.lowering.ascend.rings import check_rings
from warpwright.solver.ascend import kernel_capacity, kernel_events
from warpwright.solver.ascend.certify import all_proven, certificate_of
from warpwright.solver.ascend.optimise import NodeLimits
from warpwright.solver.ascend.pins import checked_pins, merged_pins
from warpwright.solver.ascend.verify import verify_buffers
from warpwright.solver.ascend.versions import buffer_versions, override_warnings
from warpwright.solver.domain import (
    BufferPin,
    BufferSchedule,
    Certificate,
    ChosenBy,
    Conflict,
    HardwareProfile,
    KernelGraph,
    Memory,
    PinError,
    Pins,
    TargetFamily,
)
from warpwright.tuning.ascend.budget import KernelBudget
from warpwright.tuning.ascend.graph import read_graph
from warpwright.tuning.ascend.oracle import find_oracle, opinion_text
from warpwright.tuning.ascend.plan import InfeasibleKernel, Planner, Policy, Replay, ScheduleRefused, Solver

__all__ = [
    "Planned",
    "overflows_of",
    "pinned",
    "plan_kernel",
    "replay_kernel",
    "schedule_pins",
]


@dataclass(frozen=True, slots=True)
class Planned:
    """A lowered kernel with its plan; ``warnings`` are for the user, one per storage."""

    watched: Watched
    graph: KernelGraph
    schedule: BufferSchedule
    certificate: Certificate
    proven: bool
    warnings: tuple[str, ...]
    settled: bool = False
    """Whether more work could change nothing: interval, bytes and length of every scope are proven."""


def pinned(function: Any, pins: Pins) -> tuple[Any, Pins]:
    """The function annotated with the source's own pins, overridden by the request's, and those pins.

    Raises:
        PinError: a wrong form, an unknown buffer, a manual ring that is too small.
    """
    merged = checked_pins(merged_pins(read_pins(function), pins), storage_shapes(function))
    function = with_pins(function, merged)
    check_rings(function, merged)
    return function, merged


def plan_kernel(
    function: Any,
    profile: HardwareProfile,
    pins: Pins,
    *,
    engine: str = "exact",
    limits: NodeLimits | None = None,
) -> Planned:
    """Solve every scheduler call of a kernel and lower it with the answers.

    Raises:
        InfeasibleKernel: proven: a scope, or the kernel as a whole, has no schedule in this profile's memories.
        PinError, NotApplicable, LoweringFailed: the kernel or the pins are at fault.
    """
    _check_family(profile)
    function, merged = pinned(function, pins)
    work = limits or NodeLimits()
    planned = _lowered(function, profile, merged, Solver(engine, work), engine, work)
    if not _overflows(planned, profile):
        return planned
    assert planned.watched.layout is not None
    budget = KernelBudget(planned.graph, profile, merged, Solver(engine, work))
    planned = _lowered(function, profile, merged, budget, engine, work)
    overflow = _overflows(planned, profile)
    if overflow:
        raise InfeasibleKernel(f"the kernel as a whole: {_joined(overflow)}", place="memory", conflicts=overflow)
    return planned


def replay_kernel(function: Any, profile: HardwareProfile, schedule: BufferSchedule) -> Planned:
    """Lower a kernel with a given schedule, every answer verified against the live problem first.

    Raises:
        ScheduleRefused: an answer breaks a rule, or the kernel with these versions overflows a memory.
    """
    _check_family(profile)
    function = with_pins(function, checked_pins(schedule_pins(schedule), storage_shapes(function)))
    planned = _lowered(function, profile, read_pins(function), Replay(schedule), "replay", NodeLimits())
    planned = replace(planned, schedule=schedule)
    overflow = _overflows(planned, profile)
    if overflow:
        raise ScheduleRefused(f"memory_capacity: {_joined(overflow)}", place="memory")
    return planned


def schedule_pins(schedule: BufferSchedule) -> Pins:
    """The annotations that make TileLang keep a schedule's versions and modes."""
    entries = []
    for buffer in schedule.buffers:
        mode = buffer.mode.value if buffer.mode_chosen_by is ChosenBy.USER else None
        if buffer.manual_versions is not None:
            entries.append(BufferPin(buffer.buffer, manual_versions=buffer.manual_versions))
        elif buffer.eligible:
            entries.append(
                BufferPin(buffer.buffer, buffer.versions, mode or ("auto" if buffer.versions == 1 else None))
            )
        elif buffer.versions_chosen_by is ChosenBy.USER:
            entries.append(BufferPin(buffer.buffer, 1))
    return Pins(buffers=tuple(entries), unlimited_memories=schedule.unlimited_memories)


def _check_family(profile: HardwareProfile) -> None:
    if profile.family is not TargetFamily.ASCEND:
        raise PinError(f"profile {profile.name!r} is not an Ascend profile", code="profile-family", place=profile.name)


def _lowered(
    function: Any, profile: HardwareProfile, pins: Pins, policy: Policy, engine: str, limits: NodeLimits
) -> Planned:
    planner = Planner(policy, {pin.buffer: pin for pin in pins.buffers}, profile, pins.unlimited_memories)
    planner.judge = lambda: _judge_events(planner, profile, pins)
    try:
        watched = lower_watched(function, planner, planner.begin)
    except LoweringFailed as error:
        raise _explained(error, planner, profile, pins) from error
    layout = watched.layout
    assert layout is not None
    graph = read_graph(layout, planner.asked, profile, pins, watched.shared)
    entries = buffer_versions(graph, watched.versions)
    schedule = BufferSchedule(entries, planner.loops(), pins.unlimited_memories)
    warnings = override_warnings(graph, layout.explicit) + _freed(graph, profile, schedule)
    results = [(asked.call, asked.problem, asked.result) for asked in planner.asked]
    verified = not verify_buffers(graph, profile, schedule)
    certificate = certificate_of(graph, profile, schedule, results, engine, limits.interval, verified=verified)
    opinion = opinion_text(find_oracle(), graph, profile, {b.buffer: b.versions for b in schedule.buffers})
    certificate = replace(certificate, oracle=opinion)
    solved = [result for _, _, result in results if result is not None]
    settled = all(each.proven and each.bytes_proven and each.length_proven for each in solved)
    return Planned(watched, graph, schedule, certificate, all_proven(certificate), warnings, settled)


def _judge_events(planner: Planner, profile: HardwareProfile, pins: Pins) -> None:
    """Refuse a plan for which TileLang has too few event ids, before it is lowered.

    Raises:
        InfeasibleKernel: the versions that the user fixed alone take too many. ScheduleRefused: the solver's own do.
    """
    assert planner.layout is not None
    graph = read_graph(planner.layout, planner.asked, profile, pins, {})
    chosen: dict[str, int] = {}
    for asked in planner.asked:
        for name, count in zip(asked.call.buffers, asked.answer.versions, strict=False):
            chosen[name] = max(count, chosen.get(name, 1))
    schedule = BufferSchedule(buffer_versions(graph, chosen), planner.loops(), pins.unlimited_memories)
    if not (found := kernel_events.conflicts(graph, schedule)):
        return
    if kernel_events.conflicts(graph, kernel_events.with_fewest(schedule)):
        raise InfeasibleKernel(_joined(found), place="event ids", conflicts=found)
    raise ScheduleRefused(_joined(found), code="solve-unknown", place="event ids")


def _overflows(planned: Planned, profile: HardwareProfile) -> tuple[Conflict, ...]:
    return overflows_of(planned.graph, planned.watched, planned.schedule, profile)


def overflows_of(
    graph: KernelGraph, watched: Watched, schedule: BufferSchedule, profile: HardwareProfile
) -> tuple[Conflict, ...]:
    """Memories that the kernel overflows: by the rule over all buffers, or by the arenas that TileLang merged."""
    versions = {buffer.buffer: buffer.versions for buffer in schedule.buffers}
    unlimited = schedule.unlimited_memories
    found = list(kernel_capacity.overflows(graph, profile, versions, unlimited))
    for scope, used in sorted(watched.arenas.items()):
        memory = Memory("ub" if scope == "shared" else scope.removeprefix("shared."))
        limit = kernel_capacity.limit_of(profile, memory, simt=graph.simt)
        if used > limit and scope not in unlimited and all(c.place != memory.value for c in found):
            text = f"{memory.value}: TileLang merges its buffers into {used} bytes, of {limit} available"
            found.append(kernel_capacity.conflict_of(memory, text, used, limit))
    return tuple(found)


def _joined(conflicts: tuple[Conflict, ...]) -> str:
    return "; ".join(conflict.message for conflict in conflicts)


def _freed(graph: KernelGraph, profile: HardwareProfile, schedule: BufferSchedule) -> tuple[str, ...]:
    """A warning for each memory whose limit was lifted and that does overflow: the hardware's limit stays."""
    if not schedule.unlimited_memories:
        return ()
    versions = {buffer.buffer: buffer.versions for buffer in schedule.buffers}
    return tuple(
        f"{use.text()}: the user lifted its limit, but the hardware's limit stays"
        for use in kernel_capacity.uses(graph, profile, versions)
        if not use.fits
    )


def _explained(error: LoweringFailed, planner: Planner, profile: HardwareProfile, pins: Pins) -> Exception:
    """TileLang's capacity error as a proof that names the buffers; any other error unchanged."""
    layout = planner.layout
    if layout is not None and "event ids" in error.message and any(pin.versions is not None for pin in pins.buffers):
        lack = Conflict(kernel_events.NAME, error.message, "fewer fixed versions", "event ids")
        return InfeasibleKernel(error.message, place="event ids", conflicts=(lack,))
    if layout is None or "capacity" not in error.message:
        return error
    graph = read_graph(layout, planner.asked, profile, pins, {})
    counts = {b.buffer: b.versions for b in buffer_versions(graph, {})}
    over = kernel_capacity.overflows(graph, profile, counts, pins.unlimited_memories)
    if not over:
        over = (Conflict(kernel_capacity.NAME, error.message),)
    return InfeasibleKernel(_joined(over), place="memory", conflicts=over)
