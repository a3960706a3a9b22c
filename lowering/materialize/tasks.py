"""The tasks ``materialize.warp`` and ``materialize.plain``; child processes only: importing this imports TileLang."""

from collections.abc import Mapping, Sequence
from typing import Any

from tilelang import tvm

from warpwright.lowering.compile.empty_loops import guard_empty_loops
from warpwright.lowering.compile.lower import PASS_CONFIGS
from warpwright.lowering.frontend.bulk_alignment import with_aligned_bulk_copies
from warpwright.lowering.frontend.precheck import LIMIT_BYTES, precheck
from warpwright.lowering.frontend.settings_attributes import settings_of, with_settings
from warpwright.lowering.frontend.storage import Storages
from warpwright.lowering.frontend.tasks import load_function
from warpwright.lowering.frontend.walk import WalkedKernel, walk_kernel
from warpwright.lowering.materialize.annotate import with_schedule
from warpwright.lowering.materialize.fenced_choice import fenced_choice
from warpwright.lowering.materialize.fences import with_fence_statements
from warpwright.lowering.materialize.objects import schedule_object
from warpwright.lowering.materialize.references import check_references
from warpwright.lowering.materialize.source import kernel_source
from warpwright.solver.domain import CandidateKind, NotApplicable, WarpSchedule, load

__all__ = ["plain", "warp"]

FENCED_NOTE = (
    "# The fences below are missing in TileLang's own code: without them this kernel may compute wrong results."
)


def warp(payload: dict[str, Any]) -> dict[str, Any]:
    """``{"ir", "schedule", "limit_bytes"?}`` -> ``{"ir", "source"}``: the kernel with ids and the schedule in it.

    Raises:
        DocumentError, ForeignCode, NotApplicable: as ``frontend.read``.
        GraphError: the schedule names operations, scopes or buffers that the kernel does not have.
    """
    schedule = load(WarpSchedule, payload["schedule"])
    kernel = _kernel(payload)
    buffers = Storages(kernel).tvm_buffers()
    check_references(kernel, buffers, schedule)
    schedule = with_fence_statements(kernel, buffers, schedule)
    function = with_schedule(kernel, schedule_object(schedule, buffers))
    kernel.function = with_settings(kernel.function, settings_of(kernel.function).followed(default=False))
    return {"ir": tvm.ir.save_json(function), **_source(kernel, schedule)}


def plain(payload: dict[str, Any]) -> dict[str, Any]:
    """``{"ir", "variant", "fenced_for"?, "limit_bytes"?}`` -> ``{"source", "fences"}``: the kernel without a schedule, for one of
    the compiler's own choices.

    The pass configurations of the choice (``PASS_CONFIGS``) are in the source, and, where the choice is built for the
    arch ``fenced_for``, the fences between proxies that TileLang leaves out. A kernel whose text cannot have them is
    not written: compiled from it, it may compute wrong results.

    Raises:
        DocumentError, ForeignCode, NotApplicable: as ``frontend.read``.
    """
    kind = CandidateKind(payload["variant"])
    configs = PASS_CONFIGS[kind]
    told = ["# tilelang.compile(..., pass_configs=PASS_CONFIGS)", f"PASS_CONFIGS = {configs!r}", ""] if configs else []
    kernel, fences = _kernel(payload, fences=True), dict[str, str]()
    followed = settings_of(kernel.function).followed(default=kind is CandidateKind.DEFAULT)
    kernel.function = with_settings(kernel.function, followed)
    if payload.get("fenced_for"):
        choice = fenced_choice(kernel, payload["fenced_for"], kind)
        if choice.missing:
            reason = f"{choice.missing} fences between proxies that the kernel needs have no place in its text"
            return {"source": "", "source_missing": reason, "fences": 0}
        fences = dict(choice.fences)
        told = [FENCED_NOTE, "", *told] if fences else told
    return {**_source(kernel, None, told, fences), "fences": len(fences)}


def _kernel(payload: dict[str, Any], *, fences: bool = False) -> WalkedKernel:
    ir = payload["ir"]
    precheck(ir, limit_bytes=int(payload.get("limit_bytes", LIMIT_BYTES)))
    # The source is compiled by its reader's own TileLang, so what we keep from it is in the source too.
    return walk_kernel(with_aligned_bulk_copies(guard_empty_loops(load_function(ir))), fences=fences)


def _source(
    kernel: WalkedKernel,
    schedule: WarpSchedule | None,
    head: Sequence[str] = (),
    fences: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The source, or the reason why there is none."""
    try:
        return {"source": kernel_source(kernel, schedule, head, fences), "source_missing": ""}
    except NotApplicable as error:
        return {"source": "", "source_missing": str(error)}
