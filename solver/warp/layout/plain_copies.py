"""Loads whose buffer no pipeline can hand over stay in the role that uses it, and run there as plain copies.

A pipeline is in one scope, between two roles, and hands over the value of the same iteration. If a kernel needs more
(one buffer filled in two loops, a manual ring, a refill after the use), its load cannot go to a role of its own. It
need not: outside every pipeline TileLang copies through the registers of all of the role's threads and synchronises them, as
for any other buffer of one role. Seen in the CUDA text of TileLang 0.1.15: a bulk copy becomes 16-byte loads and stores with
``__sync_thread_partial``, a ``cp.async`` copy is followed by its commit and wait.
"""

from collections.abc import Mapping

from warpwright.solver.device.cycles import LOADS
from warpwright.solver.domain.kernel import KernelGraph, Op
from warpwright.solver.domain.verdict import Conflict
from warpwright.solver.warp.layout.role_placement import private_needs, private_results
from warpwright.solver.warp.problem import CONSUMER, LOAD, WarpProblem

__all__ = ["loads_that_stay"]


def loads_that_stay(
    problem: WarpProblem, placement: Mapping[str, tuple[str, ...]], conflicts: list[Conflict]
) -> dict[str, str]:
    """The loads that cause these conflicts, with the role that they go to instead. Pinned loads stay where the user put them."""
    pinned = {pin.op for pin in problem.pins.placements}
    movable = [
        op for op in problem.graph.ops if op.kind in LOADS and placement[op.id] == (LOAD,) and op.id not in pinned
    ]
    found: dict[str, str] = {}
    for conflict in conflicts:
        for op in movable:
            if conflict.place in {access.buffer for access in (*op.reads, *op.writes)}:
                found[op.id] = _user(problem.graph, placement, conflict.place)
            elif conflict.place == op.id or conflict.place in _sources(problem, op):
                found[op.id] = CONSUMER
    return found


def _user(graph: KernelGraph, placement: Mapping[str, tuple[str, ...]], buffer: str) -> str:
    """The role beside the load role that touches a buffer; the consumer where there are several."""
    touching = {
        role
        for op in graph.ops
        if buffer in {access.buffer for access in (*op.reads, *op.writes)}
        for role in placement[op.id]
    } - {LOAD}
    return touching.pop() if len(touching) == 1 else CONSUMER


def _sources(problem: WarpProblem, op: Op) -> set[str]:
    """Operations whose private results an operation needs, directly or through others."""
    found: set[str] = set()
    waiting = [op]
    while waiting:
        needs = private_needs(problem, waiting.pop())
        for other in problem.graph.ops:
            if other.id not in found and needs & private_results(problem, other):
                found.add(other.id)
                waiting.append(other)
    return found
