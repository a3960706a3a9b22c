"""Cycles of a whole kernel: every loop's interval times its trips, with prologue and epilogue, and waves of blocks.

A loop runs ``interval * (trips - 1) + length`` cycles, where ``length`` is one iteration from its first issue to its last
completion; a nested loop is a task of that length. TileLang counts the same way (TileLang 0.1.15 wheel,
``auto_schedule.cc:1272-1282``), but it takes 100 trips where the number is not known. Here such a kernel has no total.

The device runs as many blocks at a time as it has cores of the kind that the kernel needs; the rest waits for the next wave.
"""

from collections.abc import Mapping

from warpwright.solver.domain import ROOT, HardwareProfile, KernelGraph, LoopSchedule, Memory, Scope, Unit

__all__ = ["loop_cycles", "total_cycles", "trips_known", "waves"]

CUBE_UNITS = frozenset({Unit.CUBE, Unit.MTE1, Unit.FIXPIPE})
CUBE_MEMORIES = frozenset({Memory.L1, Memory.L0A, Memory.L0B, Memory.L0C})


def loop_cycles(trips: int, interval: int, length: int) -> int:
    """Cycles of a loop from its first issue to its last completion."""
    return interval * (trips - 1) + length if trips > 0 else 0


def waves(graph: KernelGraph, profile: HardwareProfile) -> int | None:
    """How often the device's cores take a new block; None if the number of blocks is not known.

    A kernel that uses the cube core's units or memories takes a cube core a block, others a vector core a block (TileLang 0.1.15
    wheel, ``codegen_ascend.cc:342-348``).
    """
    blocks = 1
    for extent in graph.grid:
        if not extent:
            return None
        blocks *= extent
    cube = any(buffer.memory in CUBE_MEMORIES for buffer in graph.buffers) or any(
        use.unit in CUBE_UNITS for op in graph.ops for use in op.uses
    )
    path = "cores.cube" if cube else "cores.vector"
    if not profile.has(path):
        return 1 if blocks == 1 else None
    return -(-blocks // profile.integer(path, "count"))


def total_cycles(graph: KernelGraph, profile: HardwareProfile, loops: Mapping[str, LoopSchedule]) -> int | None:
    """Cycles of the whole kernel under these schedules of its scopes.

    Args:
        graph: The kernel.
        profile: The device: number of cores.
        loops: The schedule of each scope by its id.

    Returns:
        None if a trip count or the number of blocks is not known, or a scope has no schedule.
    """
    rounds = waves(graph, profile)
    if rounds is None:
        return None
    scopes = {scope.id: scope for scope in graph.scopes}
    latencies = {op.id: op.latency_cycles for op in graph.ops}

    def cycles(item: str) -> int | None:
        if item in latencies:
            return latencies[item]
        scope, loop = scopes[item], loops.get(item)
        if loop is None or loop.initiation_interval_cycles is None or scope.trips is None:
            return None
        if not all(trips_known(scopes[inner], scopes) for inner in scope.items if inner in scopes):
            return None
        return loop_cycles(scope.trips, loop.initiation_interval_cycles, loop.makespan_cycles)

    items = scopes[ROOT].items
    if ROOT in loops:
        known = all(trips_known(scopes[item], scopes) for item in items if item in scopes)
        block = loops[ROOT].makespan_cycles if known else None
    else:
        block = cycles(items[0]) if len(items) == 1 else None
    return None if block is None else rounds * block


def trips_known(scope: Scope, scopes: Mapping[str, Scope]) -> bool:
    """Whether the trip counts of a scope and of all loops inside it are known."""
    return scope.trips is not None and all(trips_known(scopes[item], scopes) for item in scope.items if item in scopes)
