"""A finished schedule, read together with its kernel: which role runs what, where, at which stage, inside which spans.

Every family's ``check`` works on a :class:`Reading`. Reading never fails: unresolved names are left out, and the
placement and pipeline families report them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from warpwright.solver.device.cycles import LOADS, plain_copy
from warpwright.solver.domain.kernel import ROOT, Op
from warpwright.solver.domain.schedule import Fence, Instruction, OpRef, Pipeline, Role, Sync, SyncKind, WarpSchedule
from warpwright.solver.warp.layout.proxies import fences_release
from warpwright.solver.warp.problem import WarpProblem

__all__ = ["PipelineSpan", "ReadInstruction", "Reading"]

OPENING = (SyncKind.PRODUCER_ACQUIRE, SyncKind.CONSUMER_WAIT)
PRODUCING = (SyncKind.PRODUCER_ACQUIRE, SyncKind.PRODUCER_COMMIT)


@dataclass(frozen=True, slots=True)
class ReadInstruction:
    """One instruction of a role's body: its place in the list and its stage relative to the body's smallest."""

    position: int
    instruction: Instruction
    delta: int

    @property
    def item(self) -> str:
        """Id of the operation or child scope; empty for a synchronisation or a fence."""
        return self.instruction.id if isinstance(self.instruction, OpRef) else ""


@dataclass(frozen=True, slots=True)
class PipelineSpan:
    """An open-to-close stretch of one pipeline in one role's body; ``close`` is the list's end if nothing closes it."""

    pipeline: str
    producing: bool
    opened: int
    close: int
    stage: int


class Reading:
    """A schedule with its problem. All lookups are total: unknown names give empty answers."""

    def __init__(self, problem: WarpProblem, schedule: WarpSchedule) -> None:
        self.problem = problem
        self.schedule = schedule
        self.roles: dict[str, Role] = {role.name: role for role in schedule.roles}
        self.pipelines: dict[str, Pipeline] = {pipeline.name: pipeline for pipeline in schedule.pipelines}
        self.bodies: dict[tuple[str, str], tuple[Instruction, ...]] = {
            (program.scope, body.role): body.instructions for program in schedule.scopes for body in program.bodies
        }

    @cached_property
    def placement(self) -> dict[str, tuple[str, ...]]:
        """Roles that run each operation, in body order of the schedule's roles."""
        found: dict[str, list[str]] = {}
        for (scope, role), body in self.bodies.items():
            for instruction in body:
                op = self.problem.ops.get(instruction.id) if isinstance(instruction, OpRef) else None
                if op is not None and op.scope == scope and role not in found.setdefault(op.id, []):
                    found[op.id].append(role)
        return {op_id: tuple(roles) for op_id, roles in found.items()}

    @cached_property
    def scope_of(self) -> dict[str, str]:
        """The scope with a pipeline's synchronisations (the first one if a wrong schedule has several)."""
        found: dict[str, str] = {}
        for (scope, _), body in self.bodies.items():
            for instruction in body:
                if isinstance(instruction, Sync):
                    found.setdefault(instruction.pipeline, scope)
        return found

    @cached_property
    def ops(self) -> dict[str, Op]:
        """Operations by id as they run: a load into a buffer that no pipeline protects is a plain copy."""
        protected = {name for pipeline in self.schedule.pipelines for name in pipeline.buffers}
        percent = self.problem.device.load_latency_percent
        return {
            op.id: plain_copy(op, percent)
            if op.kind in LOADS and not protected & {access.buffer for access in op.writes}
            else op
            for op in self.problem.graph.ops
        }

    def values(self, pipeline: str) -> tuple[frozenset[str], ...]:
        """Items inside each value that a pipeline hands over in one iteration: the producer's n-th span and the consumer's."""
        scope = self.scope_of.get(pipeline, "")
        found: dict[int, set[str]] = {}
        for role in self.roles:
            body = self.bodies.get((scope, role), ())
            spans = [span for span in self.spans(scope, role) if span.pipeline == pipeline]
            for n, span in enumerate(spans):
                inside = body[span.opened + 1 : span.close]
                found.setdefault(n, set()).update(entry.id for entry in inside if isinstance(entry, OpRef))
        return tuple(frozenset(found[n]) for n in sorted(found))

    def protecting(self, buffer: str) -> tuple[Pipeline, ...]:
        """Pipelines of a buffer, outermost scope first."""
        holding = [p for p in self.schedule.pipelines if buffer in p.buffers and p.name in self.scope_of]
        known = [p for p in holding if self.scope_of[p.name] in self.problem.scopes]
        return tuple(sorted(known, key=lambda p: len(self.problem.source.path_to(self.scope_of[p.name]))))

    def versions(self, buffer: str) -> int:
        """Versions of a buffer: the product of the depths of its pipelines."""
        total = 1
        for pipeline in self.schedule.pipelines:
            total *= max(pipeline.depth, 1) if buffer in pipeline.buffers else 1
        return total

    def touched(self, item: str, role: str) -> frozenset[str]:
        """Buffers that a role touches in an item: an operation's own, or those of its operations in a child loop."""
        names: set[str] = set()
        for op in self._ops_of(item, role):
            names |= {access.buffer for access in (*op.reads, *op.writes)}
        return frozenset(names)

    def _ops_of(self, item: str, role: str) -> Iterator[Op]:
        if item in self.problem.ops:
            yield self.problem.ops[item]
        elif item in self.problem.scopes:
            for op in self.problem.graph.ops:
                if role in self.placement.get(op.id, ()) and item in self.problem.source.path_to(op.scope):
                    yield op

    def spans(self, scope: str, role: str) -> tuple[PipelineSpan, ...]:
        """Spans of a role's body, in order of opening. Unmatched closings are left out."""
        body = self.bodies.get((scope, role), ())
        open_at: dict[str, tuple[int, Sync]] = {}
        found: list[PipelineSpan] = []
        for position, instruction in enumerate(body):
            if not isinstance(instruction, Sync):
                continue
            name = instruction.pipeline
            if instruction.sync in OPENING:
                open_at.setdefault(name, (position, instruction))
            elif name in open_at:
                start, opening = open_at.pop(name)
                found.append(PipelineSpan(name, opening.sync in PRODUCING, start, position, opening.stage))
        for name, (start, opening) in open_at.items():
            found.append(PipelineSpan(name, opening.sync in PRODUCING, start, len(body), opening.stage))
        return tuple(sorted(found, key=lambda span: span.opened))

    def entries(self, scope: str, role: str) -> tuple[ReadInstruction, ...]:
        """The body with each entry's delta: synchronisations by their stage, items and fences by the open spans they touch.

        The rule of TileLang 0.1.15 (MWS:1863-1936): an item that touches no open pipeline runs at delta 0. Where an item
        touches spans of several stages, the first counts; the body-order family reports it.
        """
        body = self.bodies.get((scope, role), ())
        spans = self.spans(scope, role)
        least = min((i.stage for i in body if isinstance(i, Sync)), default=0)
        made = []
        for position, instruction in enumerate(body):
            if isinstance(instruction, Sync):
                made.append(ReadInstruction(position, instruction, instruction.stage - least))
                continue
            if isinstance(instruction, Fence):
                around = self.around(position, instruction.pipeline, spans)
            else:
                around = self.spans_around(scope, role, position, instruction.id, spans)
            stages = [span.stage for span in around]
            made.append(ReadInstruction(position, instruction, (stages[0] - least) if stages else 0))
        return tuple(made)

    def spans_around(
        self, scope: str, role: str, position: int, item: str, spans: tuple[PipelineSpan, ...] | None = None
    ) -> tuple[PipelineSpan, ...]:
        """Open spans of pipelines whose buffers an item touches."""
        touched = self.touched(item, role)
        return tuple(
            span
            for span in (self.spans(scope, role) if spans is None else spans)
            if span.opened < position < span.close and touched & set(self.buffers_of(span.pipeline))
        )

    @staticmethod
    def around(position: int, pipeline: str, spans: tuple[PipelineSpan, ...]) -> tuple[PipelineSpan, ...]:
        """The span of a pipeline that is open at a position, if there is one."""
        return tuple(span for span in spans if span.pipeline == pipeline and span.opened < position < span.close)

    def fences_release(self, pipeline: str, producer: str, consumer: str) -> bool:
        """Whether the consumer's releases of a pipeline come behind a fence (:mod:`warpwright.solver.warp.layout.proxies`)."""
        scope = self.scope_of.get(pipeline, "")
        body = self.bodies.get((scope, consumer), ())
        spans = [span for span in self.spans(scope, consumer) if span.pipeline == pipeline]
        inside = [e.id for s in spans for e in body[s.opened + 1 : s.close] if isinstance(e, OpRef)]
        fills = [op for op in self.problem.graph.ops if producer in self.placement.get(op.id, ())]
        uses = [op for item in inside for op in self._ops_of(item, consumer)]
        wgmma = self.problem.device.wgmma
        return any(fences_release(buffer, fills, uses, wgmma=wgmma) for buffer in self.buffers_of(pipeline))

    def buffers_of(self, pipeline: str) -> tuple[str, ...]:
        """Buffers of a pipeline; none if it is unknown."""
        return self.pipelines[pipeline].buffers if pipeline in self.pipelines else ()

    def order(self, role: str) -> list[Op]:
        """Every operation a role runs, in emission order, child loops in place."""
        return [self.ops[item] for item in self.items(role) if item in self.ops]

    def items(self, role: str, scope: str = ROOT) -> list[str]:
        """Every operation a role runs and every loop it enters, in emission order; a loop comes before its content."""
        ordered: list[str] = []
        for instruction in self.bodies.get((scope, role), ()):
            if not isinstance(instruction, OpRef):
                continue
            if instruction.id in self.problem.scopes:
                ordered += [instruction.id, *self.items(role, instruction.id)]
            elif instruction.id in self.problem.ops:
                ordered.append(instruction.id)
        return ordered

    def body(self, scope: str, role: str) -> tuple[str, ...]:
        """Items of a role's body in source order, whatever order it runs them in."""
        inside = {i.id for i in self.bodies.get((scope, role), ()) if isinstance(i, OpRef)}
        items = self.problem.scopes[scope].items if scope in self.problem.scopes else ()
        return tuple(item for item in items if item in inside)

    def protected(self, scope: str) -> frozenset[str]:
        """Buffers that a pipeline of this scope protects."""
        return frozenset(
            buffer for name, where in self.scope_of.items() if where == scope for buffer in self.buffers_of(name)
        )
