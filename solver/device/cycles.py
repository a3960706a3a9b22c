"""Cycles of one operation inside one role: how long it holds the role's instruction stream, and when its result is available.

Every warpgroup of a role runs the same program on its share of the tile, so a stream is as long as one warpgroup's share,
while a unit (tensor core, special-function unit, ALU) is busy for the whole block's work. The share of a unit's time falls
with the number of warpgroups; the latency around it does not. A role of fewer than four warps can use only its part of
the SM's four partitions.
"""

from dataclasses import replace

from warpwright.solver.device.limits import WARPGROUP
from warpwright.solver.domain.kernel import Issue, Op, OpKind, Scope, Unit
from warpwright.solver.domain.source_order import SourceOrder

__all__ = [
    "LOADS",
    "arrival_cycles",
    "nominal_trips",
    "plain_copy",
    "release_cycles",
    "result_cycles",
    "skew_cycles",
    "stream_cycles",
    "unit_cycles",
]

LOADS = (OpKind.TMA_LOAD, OpKind.ASYNC_LOAD)

NOMINAL_TRIPS = 16
"""Trips assumed for a loop whose count is only known at run time; this only weights loops against each other and
never affects legality.
"""

ISSUE_CYCLES = 1
"""Stream time of an asynchronous operation, which is only started. No issue cost was measured, hence the minimum."""


def nominal_trips(scope: Scope) -> int:
    """Trips of a loop; an assumption if only the launch knows them."""
    return NOMINAL_TRIPS if scope.trips is None else scope.trips


def stream_cycles(op: Op, warps: int) -> int:
    """How long the operation holds the stream of a role of this many warps."""
    if op.issue is Issue.ASYNCHRONOUS:
        return ISSUE_CYCLES
    return max(result_cycles(op, warps), ISSUE_CYCLES)


def result_cycles(op: Op, warps: int) -> int:
    """Issue to result of one warpgroup's share if the units are free.

    One elected thread starts bulk copies and products into tensor memory: the unit then does all of the work, whatever the width.
    """
    longest = max((use.cycles for use in op.uses), default=0)
    if longest == 0 or op.kind in (*LOADS, OpKind.TMA_STORE) or op.arrives_itself:
        return op.latency_cycles
    share = -(-longest * WARPGROUP // warps) if warps < WARPGROUP else -(-longest // (warps // WARPGROUP))
    return share + max(op.latency_cycles - longest, 0)


def arrival_cycles(op: Op, warps: int, load_latency_percent: int) -> int:
    """From issue until the data is usable. Loads are planned with the latency that they have if all SMs load at once."""
    if op.kind in LOADS:
        return _loaded(op.latency_cycles, load_latency_percent)
    return max(result_cycles(op, warps), ISSUE_CYCLES)


def release_cycles(op: Op, warps: int) -> int:
    """From issue until what the operation reads may be refilled, if nothing else in its role has to be waited for.

    A blocking operation has ended with its stream time. A product into tensor memory gives its operands back itself, when it has
    ended (``tcgen05.commit``), long after its role went on.
    """
    return max(result_cycles(op, warps), ISSUE_CYCLES) if op.arrives_itself else stream_cycles(op, warps)


def plain_copy(op: Op, load_latency_percent: int) -> Op:
    """The load as it runs outside all pipelines: blocking, by all threads, from issue to the last byte's arrival.

    ``load_latency_percent`` is the load latency when all SMs load, in percent of the idle one.
    """
    cycles = max((use.cycles for use in op.uses), default=1)
    uses = tuple(replace(use, unit=Unit.LSU) for use in op.uses if use.cycles == cycles)[:1]
    latency = max(_loaded(op.latency_cycles, load_latency_percent), cycles)
    return replace(
        op, kind=OpKind.COPY, issue=Issue.BLOCKING, latency_cycles=latency, uses=uses, through_registers=True
    )


def unit_cycles(source: SourceOrder, scope_id: str, unit: Unit) -> int:
    """Cycles for which one iteration of a scope keeps a unit busy, child loops included."""
    total = 0
    for item in source.scopes[scope_id].items:
        if item in source.scopes:
            total += nominal_trips(source.scopes[item]) * unit_cycles(source, item, unit)
        else:
            total += sum(use.cycles for use in source.ops[item].uses if use.unit is unit)
    return total


def skew_cycles(ops: tuple[Op, ...], warps: int) -> int:
    """How far the last warpgroup of a role trails the first in one iteration.

    Warpgroups that share the tensor core take turns, so the last one trails by the tensor core time of all others.
    Only the last warpgroup completes a full barrier and releases an empty one.
    """
    groups = warps // WARPGROUP
    if groups < 2:
        return 0
    busy = sum(use.cycles for op in ops for use in op.uses if use.unit is Unit.TENSOR_CORE)
    return (groups - 1) * -(-busy // groups)


def _loaded(cycles: int, percent: int) -> int:
    return -(-cycles * percent // 100)
