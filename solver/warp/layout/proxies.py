"""Through which proxy an operation accesses shared memory, and where a role needs a fence between two of them.

Ordinary loads and stores, ``ldmatrix`` and ``cp.async`` use the generic proxy; bulk copies and products that read operands by
descriptors (wgmma, tcgen05) use the asynchronous one. Accesses of one address through both are ordered only where a thread
executes ``fence.proxy.async`` between them (PTX ISA 8.x, memory consistency model, "proxies" and ``membar/fence``). TileLang
0.1.15 fences what a role *writes* generically before another one touches it asynchronously (MWS:375-401, 1391-1419) and
nothing else; ``docs/proxies.md`` lists every pair with what it emits.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from warpwright.solver.device.wgmma import is_wgmma
from warpwright.solver.domain.kernel import Access, KernelGraph, Memory, Op, OpKind
from warpwright.solver.domain.schedule import Fence, Instruction, OpRef, RoleBody, ScopeProgram, SyncKind, WarpSchedule

__all__ = ["Gap", "Proxy", "fences_release", "gaps", "read_by", "with_fences", "written_by"]


class Proxy(StrEnum):
    """A path to shared memory."""

    GENERIC = "generic"
    ASYNC = "async"


def written_by(op: Op) -> Proxy:
    """The proxy through which an operation writes shared memory. ``cp.async`` is an ordinary store that ends later."""
    return Proxy.ASYNC if op.kind is OpKind.TMA_LOAD else Proxy.GENERIC


def read_by(op: Op, *, wgmma: bool) -> Proxy:
    """The proxy through which an operation reads shared memory; ``wgmma``: the device has warpgroup products."""
    if op.kind is OpKind.TMA_STORE:
        return Proxy.ASYNC
    if op.gemm is not None and (op.gemm.c_memory is Memory.TENSOR or (wgmma and is_wgmma(op.gemm))):
        return Proxy.ASYNC
    return Proxy.GENERIC


def fences_release(buffer: str, fills: Iterable[Op], uses: Iterable[Op], *, wgmma: bool) -> bool:
    """Whether a role that uses a buffer in these ways fences before it releases a version of it: bulk copies refill what it reads
    through the generic proxy.
    """
    bulk = any(written_by(op) is Proxy.ASYNC and _touches(op.writes, frozenset({buffer})) for op in fills)
    return bulk and any(
        read_by(op, wgmma=wgmma) is Proxy.GENERIC and _touches(op.reads, frozenset({buffer})) for op in uses
    )


@dataclass(frozen=True, slots=True)
class Gap:
    """A place in a role's body where a fence is missing: before the entry at ``position``.

    ``because`` names the operation or loop whose accesses it would order; ``before_release`` distinguishes the two rules: before
    a release after generic reads, or before an asynchronous read of what ``cp.async`` filled.
    """

    scope: str
    role: str
    position: int
    pipeline: str
    because: str
    before_release: bool


@dataclass(slots=True)
class _Open:
    """A consumer's span while it is open: generic reads since its last fence, and whether there was a fence at all."""

    stage: int
    read: str = ""
    fenced: bool = False


def with_fences(graph: KernelGraph, schedule: WarpSchedule, *, wgmma: bool) -> WarpSchedule:
    """The schedule with a fence in every gap: once per release, and one fence for adjacent releases."""
    missing = {(gap.scope, gap.role, gap.position): Fence(gap.pipeline) for gap in gaps(graph, schedule, wgmma=wgmma)}
    programs = []
    for program in schedule.scopes:
        bodies = []
        for body in program.bodies:
            entries: list[Instruction] = []
            for position, entry in enumerate(body.instructions):
                fence = missing.get((program.scope, body.role, position))
                entries += [entry] if fence is None else [fence, entry]
            bodies.append(RoleBody(body.role, tuple(entries)))
        programs.append(ScopeProgram(program.scope, tuple(bodies)))
    return replace(schedule, scopes=tuple(programs)) if missing else schedule


def gaps(graph: KernelGraph, schedule: WarpSchedule, *, wgmma: bool) -> Iterator[Gap]:
    """Where fences are missing, in order of the bodies; total on schedules that are wrong otherwise."""
    reader = _Reader(graph, schedule, wgmma)
    for program in schedule.scopes:
        for body in program.bodies:
            yield from reader.body(program.scope, body.role, body.instructions)


@dataclass(slots=True)
class _Reader:
    graph: KernelGraph
    schedule: WarpSchedule
    wgmma: bool
    _ops: dict[str, Op] = field(default_factory=dict)
    _buffers: dict[str, frozenset[str]] = field(default_factory=dict)
    _placed: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ops = {op.id: op for op in self.graph.ops}
        self._buffers = {pipeline.name: frozenset(pipeline.buffers) for pipeline in self.schedule.pipelines}
        self._placed = {
            (program.scope, body.role): tuple(e.id for e in body.instructions if isinstance(e, OpRef))
            for program in self.schedule.scopes
            for body in program.bodies
        }

    def body(self, scope: str, role: str, entries: tuple[Instruction, ...]) -> Iterator[Gap]:
        """The gaps of one body. A fence helps the spans of its own stage: at another one it runs in other steps."""
        spans: dict[str, _Open] = {}
        for position, entry in enumerate(entries):
            if isinstance(entry, OpRef):
                for name in sorted(spans):
                    if self._starts_async(entry.id, role, name) and not spans[name].fenced:
                        yield Gap(scope, role, position, name, entry.id, before_release=False)
                        _fence(spans, name)
                for name, span in spans.items():
                    if self._bulk_filled(name, role) and self._reads_generically(entry.id, role, name):
                        span.read = entry.id
            elif isinstance(entry, Fence):
                _fence(spans, entry.pipeline)
            elif entry.sync is SyncKind.CONSUMER_WAIT:
                spans[entry.pipeline] = _Open(entry.stage)
            elif entry.sync is SyncKind.CONSUMER_RELEASE and entry.pipeline in spans:
                because = spans[entry.pipeline].read
                if because and not self._compiler_fences(entry.pipeline, role):
                    yield Gap(scope, role, position, entry.pipeline, because, before_release=True)
                    _fence(spans, entry.pipeline)
                del spans[entry.pipeline]

    def _below(self, item: str, role: str) -> Iterator[Op]:
        """The operation, or everything that the role runs in the loop."""
        if item in self._ops:
            yield self._ops[item]
            return
        for inner in self._placed.get((item, role), ()):
            if inner != item:
                yield from self._below(inner, role)

    def _fills(self, pipeline: str, role: str) -> Iterator[Op]:
        """Operations of other roles that write the pipeline's buffers."""
        for where, placed in self._placed.items():
            if where[1] == role:
                continue
            for op in (self._ops[item] for item in placed if item in self._ops):
                if _touches(op.writes, self._buffers.get(pipeline, frozenset())):
                    yield op

    def _bulk_filled(self, pipeline: str, role: str) -> bool:
        return any(written_by(op) is Proxy.ASYNC for op in self._fills(pipeline, role))

    def _reads_generically(self, item: str, role: str, pipeline: str) -> bool:
        return any(
            read_by(op, wgmma=self.wgmma) is Proxy.GENERIC and self._in_shared(op, pipeline)
            for op in self._below(item, role)
        )

    def _starts_async(self, item: str, role: str, pipeline: str) -> bool:
        """Whether the item reads asynchronously what ``cp.async`` wrote: TileLang's deferred arrival is not a fence."""
        if not any(op.kind is OpKind.ASYNC_LOAD for op in self._fills(pipeline, role)):
            return False
        return any(
            read_by(op, wgmma=self.wgmma) is Proxy.ASYNC and self._in_shared(op, pipeline)
            for op in self._below(item, role)
        )

    def _in_shared(self, op: Op, pipeline: str) -> bool:
        mine = self._buffers.get(pipeline, frozenset())
        read = [access.buffer for access in op.reads if access.buffer in mine]
        return any(buffer.memory is Memory.SHARED for buffer in self.graph.buffers if buffer.name in read)

    def _compiler_fences(self, pipeline: str, role: str) -> bool:
        """Whether TileLang fences this release itself: the releasing role also writes the pipeline's buffers (MWS:1391-1419)."""
        mine = self._buffers.get(pipeline, frozenset())
        return any(
            _touches(self._ops[item].writes, mine) and written_by(self._ops[item]) is Proxy.GENERIC
            for (_, where), placed in self._placed.items()
            for item in placed
            if where == role and item in self._ops and self._ops[item].kind is not OpKind.ASYNC_LOAD
        )


def _touches(accesses: tuple[Access, ...], buffers: frozenset[str]) -> bool:
    return any(access.buffer in buffers for access in accesses)


def _fence(spans: Mapping[str, _Open], pipeline: str) -> None:
    if pipeline not in spans:
        return
    for span in spans.values():
        if span.stage == spans[pipeline].stage:
            span.read, span.fenced = "", True
