"""The smallest changes that make an impossible choice possible; each was tried and found feasible before it is named.

Changes are tried in order of their size: the requested value a step lower, another grouping or width, a dropped
pin, and last a smaller tile or one buffer less, which only the kernel's author can do.
"""

from collections.abc import Iterator
from dataclasses import replace

from warpwright.solver.device.limits import WARPGROUP_THREADS
from warpwright.solver.device.shared_memory import area_bytes, shared_buffers
from warpwright.solver.domain.explanation import Relaxation
from warpwright.solver.domain.kernel import Buffer
from warpwright.solver.domain.pins import DepthPin, Pins, PlacementPin, RolePin, StagePin
from warpwright.solver.engines import Budget, EngineStatus
from warpwright.solver.engines import engine as engine_named
from warpwright.solver.engines.model import linear
from warpwright.solver.explain.question import Question
from warpwright.solver.warp.decode import decode
from warpwright.solver.warp.layout.structure import structure_of
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.solve import build_rules, starting_point
from warpwright.solver.warp.verify import violations

__all__ = ["feasible", "relaxations"]

MOST = 6
"""Relaxations named in one answer."""


def feasible(problem: WarpProblem, intervals: tuple[tuple[str, int], ...], engine: str, budget: Budget) -> bool | None:
    """Whether a schedule exists that the verifier accepts; None if the budget ended first."""
    enc = build_rules(problem)
    with enc.model.family("asked"):
        for scope, cycles in intervals:
            enc.model.at_most(enc.interval[scope], cycles, note=f"interval of {scope} at most {cycles}")
    result = engine_named(engine).solve(enc.model, budget, starting_point(enc))
    if result.values is not None:
        return not violations(problem, decode(enc, result.values))
    return None if result.status is EngineStatus.UNKNOWN else False


def relaxations(problem: WarpProblem, question: Question, engine: str, budget: Budget) -> tuple[Relaxation, ...]:
    """Changes that were found to help, smallest first; at most one of each kind."""
    found: list[Relaxation] = []
    for kind in _candidates(problem, question, engine, budget):
        for relaxation, changed, intervals in kind:
            if feasible(changed, intervals, engine, budget):
                found.append(relaxation)
                break
        if len(found) == MOST:
            break
    if not found:
        # Only as a last resort: it changes the kernel more than any other.
        tiles = _smaller_accumulators(problem, question)
        found += [change for change, smaller, caps in tiles if feasible(smaller, caps, engine, budget)][:1]
    return tuple(found)


Attempt = tuple[Relaxation, WarpProblem, tuple[tuple[str, int], ...]]


def _candidates(problem: WarpProblem, question: Question, engine: str, budget: Budget) -> Iterator[Iterator[Attempt]]:
    """Kinds of changes; within a kind the smallest first."""
    yield _smaller_depths(problem, question)
    yield _longer_intervals(problem, question, engine, budget)
    for pin in question.pins.roles:
        if pin.registers_per_thread is not None:
            yield _other_registers(problem, question, pin, engine, budget)
    yield _smaller_stages(problem, question)
    yield _other_roles(problem, question)
    yield _other_groupings(problem, question)
    yield _other_widths(problem, question)
    yield _dropped_pins(problem, question)
    yield _smaller_tiles(problem, question)
    yield _fewer_buffers(problem, question)


def _asked(problem: WarpProblem, pins: Pins) -> WarpProblem:
    return problem.with_pins(pins)


def _smaller_depths(problem: WarpProblem, question: Question) -> Iterator[Attempt]:
    depths = question.pins.depths
    for less in range(1, max((pin.depth for pin in depths), default=1)):
        lower = tuple(DepthPin(pin.buffer, max(pin.depth - less, 1)) for pin in depths)
        text = "with " + " and ".join(f"{pin.buffer} at depth {pin.depth}" for pin in lower)
        why = ", ".join(f"buffers.{pin.buffer}.depth={pin.depth}" for pin in lower)
        pins = replace(question.pins, depths=lower)
        yield Relaxation(text, why), _asked(problem, pins), question.intervals


def _longer_intervals(problem: WarpProblem, question: Question, engine: str, budget: Budget) -> Iterator[Attempt]:
    """The least interval of one loop, with what was asked of the others kept."""
    for scope, cycles in question.intervals:
        others = tuple(other for other in question.intervals if other != (scope, cycles))
        enc = build_rules(_asked(problem, question.pins))
        for other, most in others:
            enc.model.at_most(enc.interval[other], most)
        enc.model.minimize(linear((1, enc.interval[scope])))
        result = engine_named(engine).solve(enc.model, budget)
        if result.values is not None and result.objectives[0] > cycles:
            reached = result.objectives[0]
            relaxation = Relaxation(f"with an interval of {reached:,} cycles", f"loops.{scope}.interval={reached}")
            yield relaxation, _asked(problem, question.pins), (*others, (scope, reached))


def _other_registers(
    problem: WarpProblem, question: Question, pin: RolePin, engine: str, budget: Budget
) -> Iterator[Attempt]:
    """The nearest budget for one role, with everything else that was asked kept."""
    asked = pin.registers_per_thread or 0
    others = tuple(other for other in question.pins.roles if other != pin)
    free = _asked(problem, replace(question.pins, roles=(*others, replace(pin, registers_per_thread=None))))
    enc = build_rules(free)
    if pin.role not in enc.registers:
        return
    budget_of, most = enc.registers[pin.role], max(asked, enc.registers[pin.role].hi)
    away = enc.model.integer("distance from the requested registers", 0, most)
    enc.model.at_least(away + budget_of, asked)
    enc.model.at_least(away - budget_of, -asked)
    enc.model.at_least(budget_of, problem.device.setmaxnreg_minimum)
    enc.model.minimize(linear((1, away)))
    result = engine_named(engine).solve(enc.model, budget, starting_point(enc))
    if result.values is None:
        return
    value = result.values[budget_of.index]
    changed = replace(question.pins, roles=(*others, replace(pin, registers_per_thread=value)))
    relaxation = Relaxation(f"with {value} registers for {pin.role}", f"roles.{pin.role}.registers={value}")
    yield relaxation, _asked(problem, changed), question.intervals


def _smaller_stages(problem: WarpProblem, question: Question) -> Iterator[Attempt]:
    for pin in question.pins.stages:
        for stage in range(pin.stage - 1, -1, -1):
            others = tuple(other for other in question.pins.stages if other != pin)
            changed = replace(question.pins, stages=(*others, StagePin(pin.op, stage)))
            relaxation = Relaxation(f"with {pin.op} at stage {stage}", f"ops.{pin.op}.stage={stage}")
            yield relaxation, _asked(problem, changed), question.intervals


def _other_roles(problem: WarpProblem, question: Question) -> Iterator[Attempt]:
    """Another role for an operation whose role was requested; those that the search would choose come first."""
    own = structure_of(problem).placement
    for pin in question.pins.placements:
        others = tuple(other for other in question.pins.placements if other != pin)
        for role in dict.fromkeys((*own[pin.op], *structure_of(problem).roles)):
            if role != pin.role:
                changed = replace(question.pins, placements=(*others, PlacementPin(pin.op, role)))
                relaxation = Relaxation(f"with {pin.op} in the {role} role", f"ops.{pin.op}.role={role}")
                yield relaxation, _asked(problem, changed), question.intervals


def _other_groupings(problem: WarpProblem, question: Question) -> Iterator[Attempt]:
    if question.pins.pipelines:
        changed = replace(question.pins, pipelines=())
        yield Relaxation("with the same depths in other pipelines"), _asked(problem, changed), question.intervals
    if question.pins.merged_pipelines is not None:
        changed = replace(question.pins, merged_pipelines=None)
        yield Relaxation("with some buffers merged and some not"), _asked(problem, changed), question.intervals


def _other_widths(problem: WarpProblem, question: Question) -> Iterator[Attempt]:
    own = question.pins.consumer_warpgroups or problem.pins.consumer_warpgroups
    start = own or max(problem.graph.threads // WARPGROUP_THREADS, 1)
    if own is None:
        return  # the search could already choose any width
    bare = replace(problem, pins=replace(problem.pins, consumer_warpgroups=None))
    for groups in sorted(range(1, 8), key=lambda groups: abs(groups - start)):
        if groups != own:
            changed = replace(question.pins, consumer_warpgroups=groups)
            relaxation = Relaxation(f"with {groups} consumer warpgroups", f"consumer_warpgroups={groups}")
            yield relaxation, _asked(bare, changed), question.intervals


def _dropped_pins(problem: WarpProblem, question: Question) -> Iterator[Attempt]:
    """Pins from before the question: of the kernel or of the request."""
    pins = problem.pins
    for label, dropped in _without_one(pins):
        changed = replace(problem, pins=dropped)
        yield Relaxation(f"without the pin {label}"), _asked(changed, question.pins), question.intervals
    switches = (
        ("store_role", pins.store_role, replace(pins, store_role=None)),
        ("software_pipelining", pins.software_pipelining, replace(pins, software_pipelining=None)),
        ("merged_pipelines", pins.merged_pipelines, replace(pins, merged_pipelines=None)),
    )
    for name, value, dropped in switches:
        if value is not None:
            changed = replace(problem, pins=dropped)
            text = f"without the pin {name}={str(value).lower()}"
            yield Relaxation(text), _asked(changed, question.pins), question.intervals


def _without_one(pins: Pins) -> Iterator[tuple[str, Pins]]:
    """Each listed pin in words, with the pins that remain without it."""
    for role in pins.roles:
        yield f"of role {role.role}", replace(pins, roles=tuple(p for p in pins.roles if p != role))
    for placed in pins.placements:
        kept = tuple(p for p in pins.placements if p != placed)
        yield f"ops.{placed.op}.role={placed.role}", replace(pins, placements=kept)
    for group in pins.pipelines:
        kept_groups = tuple(p for p in pins.pipelines if p != group)
        yield f"pipeline {'+'.join(group.buffers)}", replace(pins, pipelines=kept_groups)
    for depth in pins.depths:
        kept_depths = tuple(p for p in pins.depths if p != depth)
        yield f"buffers.{depth.buffer}.depth={depth.depth}", replace(pins, depths=kept_depths)
    for stage in pins.stages:
        kept_stages = tuple(p for p in pins.stages if p != stage)
        yield f"ops.{stage.op}.stage={stage.stage}", replace(pins, stages=kept_stages)


def _smaller_tiles(problem: WarpProblem, question: Question) -> Iterator[Attempt]:
    """Half the bytes of every buffer that is refilled in a loop: the effect of half the K step."""
    ring = {channel.buffer for channel in structure_of(problem).channels if channel.scope != "tl.ws_scope_root"}
    halved = {buffer.name: replace(buffer, bytes=-(-buffer.bytes // 2)) for buffer in shared_buffers(problem.graph)}
    if not ring & halved.keys():
        return
    sizes = ", ".join(f"{name} {halved[name].bytes:,} bytes" for name in halved if name in ring)
    changed = _with_buffers(problem, {name: halved[name] for name in halved if name in ring})
    yield Relaxation(f"with half the tile in each refill ({sizes})"), _asked(changed, question.pins), question.intervals


def _fewer_buffers(problem: WarpProblem, question: Question) -> Iterator[Attempt]:
    """Leaves out one shared buffer that is not refilled in a loop, the smallest that helps."""
    ring = {channel.buffer for channel in structure_of(problem).channels if channel.scope != "tl.ws_scope_root"}
    for buffer in sorted(shared_buffers(problem.graph), key=lambda buffer: buffer.bytes):
        if buffer.name not in ring:
            text = f"without {buffer.name} ({area_bytes(problem.graph, buffer.bytes):,} bytes) in shared memory"
            changed = _with_buffers(problem, {buffer.name: replace(buffer, bytes=0)})
            yield Relaxation(text), _asked(changed, question.pins), question.intervals


def _smaller_accumulators(problem: WarpProblem, question: Question) -> Iterator[Attempt]:
    """A block tile of a half, a quarter or an eighth: fewer accumulators per thread and smaller buffers."""
    for part, name in ((2, "half"), (4, "a quarter of"), (8, "an eighth of")):
        smaller = {
            buffer.name: replace(
                buffer,
                bytes=-(-buffer.bytes // part),
                registers_per_block=-(-buffer.registers_per_block // part),
            )
            for buffer in problem.graph.buffers
            if buffer.private or buffer in shared_buffers(problem.graph)
        }
        changed = _with_buffers(problem, smaller)
        yield Relaxation(f"with {name} the block tile"), _asked(changed, question.pins), question.intervals


def _with_buffers(problem: WarpProblem, changed: dict[str, Buffer]) -> WarpProblem:
    buffers = tuple(changed.get(buffer.name, buffer) for buffer in problem.graph.buffers)
    return replace(problem, graph=replace(problem.graph, buffers=buffers))
