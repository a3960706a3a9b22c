"""Domain schedules as TileLang's objects, one to one (seeds: tilelang.language.ws_schedule). Runs in child processes only."""

from typing import Any

import tilelang.language as T  # the field's own name for it

from warpwright.solver.domain import ROOT, Fence, GraphError, Instruction, OpRef, SyncKind, WarpSchedule

__all__ = ["schedule_object"]

_SYNCS = {
    SyncKind.PRODUCER_ACQUIRE: T.WSSync.producer_acquire,
    SyncKind.PRODUCER_COMMIT: T.WSSync.producer_commit,
    SyncKind.CONSUMER_WAIT: T.WSSync.consumer_wait,
    SyncKind.CONSUMER_RELEASE: T.WSSync.consumer_release,
}


def schedule_object(schedule: WarpSchedule, buffers: dict[str, Any]) -> Any:
    """``T.WSSchedule`` of a schedule whose fences are statements (:mod:`warpwright.lowering.materialize.fences`).

    ``buffers`` maps storage names to the block's TVM buffers.
    """
    return T.WSSchedule(
        num_warps=schedule.num_warps,
        roles=[
            T.WSRole(r.name, warps_lo=r.warps_lo, warps_hi=r.warps_hi, max_nreg=r.registers_per_thread)
            for r in schedule.roles
        ],
        pipelines=[T.WSPipeline(p.name, [buffers[name] for name in p.buffers], p.depth) for p in schedule.pipelines],
        scopes=[
            T.WSScope(
                T.WSScope.ROOT if program.scope == ROOT else program.scope,
                {body.role: [_instruction(item) for item in body.instructions] for body in program.bodies},
            )
            for program in schedule.scopes
        ],
    )


def _instruction(instruction: Instruction) -> Any:
    if isinstance(instruction, OpRef):
        return T.WSOpRef(instruction.id)
    if isinstance(instruction, Fence):
        raise GraphError("TileLang's schedules have no fences", code="schedule-fence", place=instruction.pipeline)
    return _SYNCS[instruction.sync](instruction.pipeline, stage=instruction.stage)
