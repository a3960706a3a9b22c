"""Cycles of one operation inside one role: how long it holds the role's instruction stream, and when its result is there.

Every warpgroup of a role runs the same program on its share of the tile, so a stream is as long as one warpgroup's share,
while a unit (tensor core, special-function unit, ALU) is busy for the whole block's work. The share of a unit's time falls
with the number of warpgroups; the latency around it does not. A role of fewer than four warps reaches only its part of
the SM's four partitions.
"""

from warpwright.solver.device.wgmma import WARPGROUP
from warpwright.solver.domain.kernel import Issue, Op, OpKind, Unit
from warpwright.solver.warp.problem import WarpProblem

__all__ = ["NOMINAL_TRIPS", "arrival_cycles", "skew_cycles", "stream_cycles", "unit_cycles"]

NOMINAL_TRIPS = 16
"""Trips assumed for a loop whose count is only known at run time; it weighs loops against each other, never legality."""

ISSUE_CYCLES = 1
"""Stream time of an asynchronous operation: it is only started. No issue cost is known from measurement, so the least."""

_LOADS = (OpKind.TMA_LOAD, OpKind.ASYNC_LOAD)


def stream_cycles(op: Op, warps: int) -> int:
    """How long the operation holds the stream of a role of this many warps."""
    if op.issue is Issue.ASYNCHRONOUS:
        return ISSUE_CYCLES
    return max(result_cycles(op, warps), ISSUE_CYCLES)


def result_cycles(op: Op, warps: int) -> int:
    """Issue to result of one warpgroup's share, units free."""
    longest = max((use.cycles for use in op.uses), default=0)
    if longest == 0 or op.kind in (*_LOADS, OpKind.TMA_STORE):
        return op.latency_cycles
    share = -(-longest * WARPGROUP // warps) if warps < WARPGROUP else -(-longest // (warps // WARPGROUP))
    return share + max(op.latency_cycles - longest, 0)


def arrival_cycles(problem: WarpProblem, op: Op, warps: int) -> int:
    """Issue to the data being usable. Loads are planned with the latency they have when all SMs load at once."""
    if op.kind in _LOADS:
        return -(-op.latency_cycles * problem.device.load_latency_percent // 100)
    return max(result_cycles(op, warps), ISSUE_CYCLES)


def unit_cycles(problem: WarpProblem, scope_id: str, unit: Unit) -> int:
    """Cycles for which one iteration of a scope keeps a unit busy, child loops included."""
    total = 0
    for item in problem.scopes[scope_id].items:
        if item in problem.scopes:
            trips = problem.scopes[item].trips
            total += (NOMINAL_TRIPS if trips is None else trips) * unit_cycles(problem, item, unit)
        else:
            total += sum(use.cycles for use in problem.ops[item].uses if use.unit is unit)
    return total


def skew_cycles(ops: tuple[Op, ...], warps: int) -> int:
    """How far the last warpgroup of a role trails the first in one iteration.

    Warpgroups that share the tensor core take turns on it, so the last one trails by the tensor core time of all others.
    A full barrier is complete, and an empty one released, only with the last warpgroup.
    """
    groups = warps // WARPGROUP
    if groups < 2:
        return 0
    busy = sum(use.cycles for op in ops for use in op.uses if use.unit is Unit.TENSOR_CORE)
    return (groups - 1) * -(-busy // groups)
