"""Storage that one role writes and another touches changes hands through a pipeline, in the scope that contains both.

TileLang emits no synchronisation and no message for a buffer outside all pipelines (rule book 1.14.4 and 1.14.5; the
``TODO`` at ``auto_schedule.cc:21-24`` names it). A span hands over everything that its producer did in it at once, so a buffer
that is filled, used and filled again needs a span for each (TileLang checks no order between roles, rule book 1.5). Private
storage never changes hands: each role has its own instance.
"""

from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.kernel import ROOT, Memory, Op, ScopeKind
from warpwright.solver.domain.schedule import OpRef, Sync
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import linear
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.layout.buffer_channels import PRIVATE_MEMORIES
from warpwright.solver.warp.layout.structure import structure_of
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.schedule_reader import PRODUCING, Reading

NAME = "hand_offs"


def build(enc: WarpEncoding) -> None:
    """Infeasible if the placement needs a hand-off that no pipeline can do."""
    for conflict in enc.structure.conflicts:
        enc.model.at_least(linear(constant=0), 1, note=conflict.message)


def check(reading: Reading) -> tuple[Violation, ...]:
    """Checks every buffer with its accesses by role."""
    found: list[Violation] = []
    for buffer in reading.problem.graph.buffers:
        touching = [op for op in reading.problem.graph.ops if buffer.name in _buffers(op)]
        writers = [op for op in touching if buffer.name in {access.buffer for access in op.writes}]
        if buffer.memory in PRIVATE_MEMORIES:
            _check_private(reading, buffer.name, touching, writers, found)
            continue
        for writer in writers:
            for other in touching:
                for source in reading.placement.get(writer.id, ()):
                    for target in reading.placement.get(other.id, ()):
                        if source != target:
                            _check_pair(reading, buffer.name, (writer, source), (other, target), found)
    return tuple(dict.fromkeys(found))


def explain(problem: WarpProblem, reading: Reading | None) -> tuple[Fact, ...]:
    """Buffers that change hands, with the roles on both sides."""
    structure = structure_of(problem)
    notes = [f"{c.buffer} from {c.producer} to {c.consumer} in {_where(c.scope)}" for c in structure.channels]
    notes += [conflict.message for conflict in structure.conflicts]
    if structure.plain:
        held = f"{' and '.join(sorted(structure.plain))} run as plain copies of the role that uses them"
        notes.append("; ".join([held, *dict.fromkeys(conflict.message for conflict in structure.stayed)]))
    return (Fact("buffers that change hands", len(structure.channels), None, "buffers", note="; ".join(notes)),)


def _where(scope: str) -> str:
    return "the root" if scope == ROOT else scope


def _buffers(op: Op) -> set[str]:
    return {access.buffer for access in (*op.reads, *op.writes)}


def _check_private(
    reading: Reading, buffer: str, touching: list[Op], writers: list[Op], found: list[Violation]
) -> None:
    for scope in reading.problem.graph.scopes:
        for role in reading.roles if buffer in scope.reads else ():
            missing = [writer.id for writer in writers if role not in reading.placement.get(writer.id, ())]
            if missing and reading.bodies.get((scope.id, role)):
                message = f"{role} enters {scope.id}, which depends on {buffer}, but {missing[0]} fills another role's instance"
                found.append(Violation(NAME, "private-storage", message, scope.id))
    roles = {role for op in touching for role in reading.placement.get(op.id, ())}
    if len(roles) < 2:
        return
    for op in touching:
        for role in reading.placement.get(op.id, ()):
            missing = [writer.id for writer in writers if role not in reading.placement.get(writer.id, ())]
            if missing and buffer in {access.buffer for access in op.reads}:
                message = f"{role} reads {buffer} in {op.id}, but {missing[0]} fills another role's instance of it"
                found.append(Violation(NAME, "private-storage", message, op.id))


def _check_pair(
    reading: Reading, buffer: str, first: tuple[Op, str], second: tuple[Op, str], found: list[Violation]
) -> None:
    (writer, source), (other, target) = first, second
    problem = reading.problem
    if problem.graph.buffer(buffer).memory is Memory.GLOBAL:
        message = f"{source} writes global {buffer} in {writer.id}, {target} touches it in {other.id}, without synchronisation"
        found.append(Violation(NAME, "global-hand-off", message, buffer))
        return
    scope = problem.source.meeting_scope(writer, other)
    guarding = [p for p in reading.protecting(buffer) if reading.scope_of[p.name] == scope]
    sides = {side for p in guarding for side in _sides(reading, p.name, scope)}
    if not guarding or {source, target} != {role for role, _ in sides}:
        message = (
            f"{source} writes {buffer} in {writer.id} and {target} touches it in {other.id}, "
            f"but no pipeline in {scope} synchronises them"
        )
        found.append(Violation(NAME, "no-pipeline", message, buffer))
        return
    producing = (source, True) in sides
    if (
        producing
        and problem.scopes[scope].kind is not ScopeKind.ROOT
        and _is_older(reading, scope, buffer, other, source)
    ):
        message = (
            f"{other.id} uses the {buffer} of an earlier iteration of {scope}; "
            "a pipeline hands over the value of the same iteration"
        )
        found.append(Violation(NAME, "loop-carried-hand-off", message, buffer))
        return
    filling, using = (first, second) if producing else (second, first)
    for pipeline in guarding:
        _check_order(reading, pipeline.name, scope, buffer, filling, using, found)


def _check_order(
    reading: Reading,
    pipeline: str,
    scope: str,
    buffer: str,
    filling: tuple[Op, str],
    using: tuple[Op, str],
    found: list[Violation],
) -> None:
    """A use that comes before a fill in the source must be of an earlier span: a span hands over all of its fills at once."""
    problem = reading.problem
    fill, use = (_cycle(reading, pipeline, scope, op, role) for op, role in (filling, using))
    if fill is None or use is None:
        return
    if problem.source.comes_first(filling[0], using[0]):
        if use < fill:
            message = (
                f"{using[0].id} uses {buffer} in a span of {pipeline} before the one in which {filling[0].id} fills it"
            )
            found.append(Violation(NAME, "used-before-filled", message, buffer))
    elif fill <= use:
        message = (
            f"{using[0].id} uses {buffer} before {filling[0].id} touches it again, "
            f"but {pipeline} hands over the value after both"
        )
        found.append(Violation(NAME, "refilled-before-use", message, buffer))


def _cycle(reading: Reading, pipeline: str, scope: str, op: Op, role: str) -> int | None:
    """Which of the role's spans of a pipeline in this scope contains an operation; None if none does."""
    item = reading.problem.source.item_in(scope, op)
    body = reading.bodies.get((scope, role), ())
    places = [n for n, entry in enumerate(body) if isinstance(entry, OpRef) and entry.id == item]
    spans = [span for span in reading.spans(scope, role) if span.pipeline == pipeline]
    return next((n for n, span in enumerate(spans) if places and span.opened < places[0] < span.close), None)


def _sides(reading: Reading, pipeline: str, scope: str) -> set[tuple[str, bool]]:
    return {
        (role, instruction.sync in PRODUCING)
        for (where, role), body in reading.bodies.items()
        if where == scope
        for instruction in body
        if isinstance(instruction, Sync) and instruction.pipeline == pipeline
    }


def _is_older(reading: Reading, scope: str, buffer: str, other: Op, producer: str) -> bool:
    """Whether the other role's read is before all of the producer's accesses in source order."""
    problem = reading.problem
    order = [op.id for op in problem.source.below(scope)]
    filling = [
        order.index(op.id)
        for op in problem.source.below(scope)
        if buffer in _buffers(op) and producer in reading.placement.get(op.id, ())
    ]
    reads = buffer in {access.buffer for access in other.reads}
    same_item = any(
        problem.source.item_in(scope, problem.ops[order[n]]) == problem.source.item_in(scope, other) for n in filling
    )
    return reads and not same_item and order.index(other.id) < min(filling)
