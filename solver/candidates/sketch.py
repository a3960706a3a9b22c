"""A structure as a schedule in source order, without a solver: good enough to be forecast, never handed out.

The search forecasts sketches by the dozen and asks the solver only for the structures that come out in front.
"""

from solver.candidates.structures import Space, Structure
from solver.domain import ROOT, KernelGraph, Memory, OpKind, Pipeline, Role, WarpSchedule
from solver.simulate.assemble import assemble

__all__ = ["sketch"]

LOADS = (OpKind.TMA_LOAD, OpKind.ASYNC_LOAD)


def sketch(space: Space, structure: Structure) -> WarpSchedule:
    """The structure's schedule in source order.

    Raises:
        GraphError: the graph names something that it does not hold.
    """
    graph = space.graph
    warps = 4 * structure.warpgroups
    names = ["consumer", *(["load"] if any(op.kind in LOADS for op in graph.ops) else [])]
    names += ["store"] if structure.store_role else []
    roles = [Role("consumer", 0, warps, structure.consumer_registers)]
    for index, name in enumerate(names[1:]):
        roles.append(Role(name, warps + index, warps + index + 1, structure.load_registers))
    placement = {op.id: _role(op.kind, structure) for op in graph.ops}
    pipelines: list[Pipeline] = []
    producers: dict[str, str] = {}
    for group, depth in _groups(graph, structure, placement):
        pipeline = Pipeline("_".join(name.lower() for name in group), group, depth)
        pipelines.append(pipeline)
        producers[pipeline.name] = "load" if _written_by(graph, group[0], placement) == "load" else "consumer"
    return assemble(graph, roles, placement, pipelines, producers, -(-(warps + len(names) - 1) // 4) * 4)


def _role(kind: OpKind, structure: Structure) -> str:
    if kind in LOADS:
        return "load"
    return "store" if kind is OpKind.TMA_STORE and structure.store_role else "consumer"


def _written_by(graph: KernelGraph, buffer: str, placement: dict[str, str]) -> str:
    return next(placement[op.id] for op in graph.ops if any(a.buffer == buffer for a in op.writes))


def _groups(graph: KernelGraph, structure: Structure, placement: dict[str, str]) -> list[tuple[tuple[str, ...], int]]:
    """Buffers that change hands between roles, grouped into pipelines, with their depths."""
    found: dict[tuple[str, ...], list[str]] = {}
    for buffer in graph.buffers:
        touching = [op for op in graph.ops if any(a.buffer == buffer.name for a in (*op.reads, *op.writes))]
        if buffer.memory is not Memory.SHARED or len({placement[op.id] for op in touching}) != 2:
            continue
        writer = next(op for op in touching if any(a.buffer == buffer.name for a in op.writes))
        readers = tuple(op.id for op in touching if any(a.buffer == buffer.name for a in op.reads))
        alone = not structure.merged or writer.scope == ROOT
        key = (buffer.name,) if alone else (writer.scope, *readers)
        found.setdefault(key, []).append(buffer.name)
    return [(tuple(names), min(structure.depth(name) for name in names)) for names in found.values()]
