"""Transfers a schedule from one kernel to another that differs only in names. Pure Python.

Kernels with the same hash have their operations, scopes and buffers in the same order; ``copy_As`` of a stored schedule is the
operation at the same place in the requested kernel.
"""

from dataclasses import replace

from warpwright.solver.domain import GraphError, Instruction, KernelGraph, OpRef, RoleBody, ScopeProgram, WarpSchedule

__all__ = ["renamed"]


def renamed(schedule: WarpSchedule, source: KernelGraph, target: KernelGraph) -> WarpSchedule:
    """The schedule made for ``source``, in the names of ``target``.

    Raises:
        GraphError: ``kernels-differ`` if the two are not one kernel with two sets of names.
    """
    if _shape(source) != _shape(target):
        raise GraphError("the kernels differ in more than names", code="kernels-differ", place=target.name)
    ids = dict(zip((op.id for op in source.ops), (op.id for op in target.ops), strict=True))
    ids |= dict(zip((s.id for s in source.scopes), (s.id for s in target.scopes), strict=True))
    buffers = dict(zip((b.name for b in source.buffers), (b.name for b in target.buffers), strict=True))
    pipelines = tuple(replace(p, buffers=tuple(buffers[name] for name in p.buffers)) for p in schedule.pipelines)
    return replace(schedule, pipelines=pipelines, scopes=tuple(_program(program, ids) for program in schedule.scopes))


def _program(program: ScopeProgram, ids: dict[str, str]) -> ScopeProgram:
    bodies = tuple(
        RoleBody(body.role, tuple(_instruction(item, ids) for item in body.instructions)) for body in program.bodies
    )
    return ScopeProgram(ids[program.scope], bodies)


def _instruction(item: Instruction, ids: dict[str, str]) -> Instruction:
    return replace(item, id=ids[item.id]) if isinstance(item, OpRef) else item


def _shape(graph: KernelGraph) -> tuple[object, ...]:
    """Everything that must agree: kinds, costs, shapes and places, without names."""
    scopes = {scope.id: number for number, scope in enumerate(graph.scopes)}
    ops = tuple((op.kind, op.issue, op.latency_cycles, op.uses, scopes[op.scope], op.guarded) for op in graph.ops)
    nesting = tuple((s.kind, s.trips, len(s.items), scopes.get(s.parent or "")) for s in graph.scopes)
    buffers = tuple((b.memory, b.shape, b.dtype, b.registers_per_block) for b in graph.buffers)
    return graph.arch, graph.threads, graph.grid, ops, nesting, buffers
