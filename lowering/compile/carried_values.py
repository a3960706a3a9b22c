"""Values that live from one iteration to the next in a pipelined loop. For children only.

TileLang's software pipelining gives each buffer that a pipelined loop fills one version a stage (0.1.15 wheel,
``src/transform/inject_pipeline.cc``), and does not ask whether an iteration leaves a part of it as it was: a copy under a guard,
or a read before the first write. Such a buffer then holds the value of several iterations ago. On an H200 the pipelined build of
a kernel with a guarded copy had a relative error of 0.85 (``docs/results/corpus.md``), and it was the reference.
"""

from typing import Any

from warpwright.lowering.frontend.graph import read_graph
from warpwright.lowering.frontend.walk import walk_kernel
from warpwright.solver.domain import HardwareProfile, Memory, OpKind, WarpwrightError
from warpwright.solver.domain.source_order import SourceOrder

__all__ = ["carried_value"]

FILLS = frozenset({OpKind.TMA_LOAD, OpKind.ASYNC_LOAD, OpKind.COPY})


def carried_value(function: Any, profile: HardwareProfile) -> str:
    """Which buffer a pipelined loop fills and must not have in several versions, and why; empty if there is none.

    Empty as well for a kernel that has no graph: then the loop is TileLang's to judge.
    """
    try:
        graph = read_graph(walk_kernel(function), profile)
    except WarpwrightError:
        return ""
    source, shared = SourceOrder(graph), {b.name for b in graph.buffers if b.memory is Memory.SHARED}
    for scope in graph.scopes:
        if scope.num_stages < 2:
            continue
        fills = (op for op in source.below(scope.id) if op.kind in FILLS)
        for buffer in dict.fromkeys(access.buffer for op in fills for access in op.writes if access.buffer in shared):
            if reason := source.loop_carried(buffer, scope.id):
                return f"{buffer}: {reason}"
    return ""
