"""What an instruction stream does for one operation: the step that the forecast plays and the proven interval counts.

A role is a crew: so many warps, in one stream per warpgroup if its threads share the work, else in one stream that only
issues. Source of the barriers around staged tiles and split rows: TileLang 0.1.15's generated code.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from warpwright.solver.device.cycles import LOADS
from warpwright.solver.device.limits import WARPGROUP
from warpwright.solver.device.operation_costs import OperationCost, OperationCosts
from warpwright.solver.device.wgmma import partition
from warpwright.solver.domain.kernel import Op, OpKind

__all__ = ["Crew", "StreamStep", "crew_of", "is_plain", "step_of"]

PARALLEL_KINDS = (OpKind.GEMM, OpKind.COPY, OpKind.FILL, OpKind.REDUCE, OpKind.PARALLEL, OpKind.ASYNC_LOAD)
NOTHING_TO_DO = (OpKind.BIND, OpKind.WAIT, OpKind.TASK)
"""Operations that take an instruction and occupy nothing. What a wait waits for is counted where it is started."""


@dataclass(frozen=True, slots=True)
class Crew:
    """A role's warps as instruction streams. ``splits_columns``: its warpgroups share rows of a matrix product."""

    warps: int
    streams: int
    splits_columns: bool


@dataclass(frozen=True, slots=True)
class StreamStep:
    """One operation in one stream.

    The stream waits for the job if it ``holds``, else it starts the job and goes on. ``behind`` cycles after the job its data
    is there; the stream waits for that too if ``waits``. Thread barriers of all streams stand in front and behind.
    """

    job: OperationCost
    holds: bool = True
    behind: float = 0.0
    waits: bool = False
    barrier_before: bool = False
    barrier_after: bool = False


def crew_of(costs: OperationCosts, ops: Iterable[Op], warps: int, plain: Iterable[str] = ()) -> Crew:
    """The streams of a role of this many warps that runs these operations; ``plain`` are loads that run as plain copies."""
    mine, copied = list(ops), set(plain)
    works = any(op.id in copied or _all_threads(costs, op) for op in mine)
    streams = max(1, warps // WARPGROUP) if works else 1
    splits = [partition(op.gemm, warps) for op in mine if op.gemm is not None]
    # Tensor memory gives a row of a tile to one lane of each warpgroup: several warpgroups have a part of its columns each.
    halves = streams > 1 and any(costs.in_lanes(access.buffer) for op in mine for access in op.reads)
    return Crew(warps, streams, halves or any(split is not None and split.columns > 1 for split in splits))


def step_of(
    costs: OperationCosts, op: Op, crew: Crew, miss: float, spilled: int = 0, *, plain: bool = False
) -> StreamStep:
    """What one of the crew's streams does for an operation.

    ``miss`` is the share of loaded bytes that comes from memory; ``plain``: a load outside all pipelines, which all threads copy.
    """
    if op.kind in NOTHING_TO_DO:
        return StreamStep(costs.issue())
    if plain or op.kind is OpKind.ASYNC_LOAD:
        copied = costs.thread_copy(op, crew.streams, miss)
        return StreamStep(copied, behind=costs.machine.copy_latency, waits=plain, barrier_after=plain)
    job = costs.of(op, crew.streams, crew.warps, miss, spilled)
    if op.left_in_flight or costs.in_tensor_memory(op) or op.kind is OpKind.TMA_LOAD:
        return StreamStep(job, holds=False)
    shared = crew.streams > 1 and any(costs.on_chip(access.buffer) for access in op.writes)
    # A row that spans several warpgroups is reduced through shared memory, with a barrier on each side.
    staged = shared or (op.kind is OpKind.REDUCE and crew.splits_columns)
    return StreamStep(job, barrier_before=staged, barrier_after=staged)


def _all_threads(costs: OperationCosts, op: Op) -> bool:
    return op.kind in PARALLEL_KINDS and not costs.in_tensor_memory(op)


def is_plain(op: Op, as_run: Op) -> bool:
    """Whether a load runs as a plain copy: the operation of the graph, and the same one as it runs."""
    return op.kind in LOADS and as_run.kind not in LOADS
