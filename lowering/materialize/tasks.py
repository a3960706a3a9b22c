"""The task ``materialize.warp``, run in child processes only: importing this module imports TileLang, which warms a child."""

from typing import Any

from tilelang import tvm

from warpwright.lowering.compile.empty_loops import guard_empty_loops
from warpwright.lowering.frontend.precheck import LIMIT_BYTES, precheck
from warpwright.lowering.frontend.storage import Storages
from warpwright.lowering.frontend.tasks import load_function
from warpwright.lowering.frontend.walk import walk_kernel
from warpwright.lowering.materialize.annotate import with_schedule
from warpwright.lowering.materialize.objects import schedule_object
from warpwright.lowering.materialize.references import check_references
from warpwright.lowering.materialize.source import kernel_source
from warpwright.solver.domain import NotApplicable, WarpSchedule, load

__all__ = ["warp"]


def warp(payload: dict[str, Any]) -> dict[str, Any]:
    """``{"ir", "schedule", "limit_bytes"?}`` -> ``{"ir", "source"}``: the kernel with ids and the schedule in it.

    Raises:
        DocumentError, ForeignCode, NotApplicable: as ``frontend.read``.
        GraphError: the schedule names operations, scopes or buffers that the kernel does not have.
    """
    ir, schedule = payload["ir"], load(WarpSchedule, payload["schedule"])
    precheck(ir, limit_bytes=int(payload.get("limit_bytes", LIMIT_BYTES)))
    kernel = walk_kernel(guard_empty_loops(load_function(ir)))  # the source is compiled by its reader's own TileLang
    buffers = Storages(kernel).tvm_buffers()
    check_references(kernel, buffers, schedule)
    function = with_schedule(kernel, schedule_object(schedule, buffers))
    try:
        source, reason = kernel_source(kernel, schedule), ""
    except NotApplicable as error:
        source, reason = "", str(error)
    return {"ir": tvm.ir.save_json(function), "source": source, "source_missing": reason}
