"""Whether a schedule refers to this kernel. Checked before anything is built, so that a wrong name is an error with a place.

Only references are checked here; the verifier decides whether the schedule is legal. Pure except for the tree that it reads.
"""

from typing import Any

from warpwright.lowering.frontend.statements import Leaf, Loop, Node
from warpwright.lowering.frontend.walk import WalkedKernel
from warpwright.solver.device.limits import WARPGROUP
from warpwright.solver.domain import ROOT, GraphError, OpRef, WarpSchedule

__all__ = ["check_references"]


def check_references(kernel: WalkedKernel, buffers: dict[str, Any], schedule: WarpSchedule) -> None:
    """Raise GraphError ``schedule-unknown-op``, ``-scope``, ``-buffer``, ``-role``, ``-pipeline`` or ``schedule-num-warps``."""
    if schedule.num_warps <= 0 or schedule.num_warps % WARPGROUP:
        message = f"num_warps={schedule.num_warps} is not a positive multiple of {WARPGROUP}"
        raise GraphError(message, code="schedule-num-warps", place="num_warps")
    ops, scopes = _ids(kernel.body)
    scopes.add(ROOT)
    roles = {role.name for role in schedule.roles}
    pipelines = {pipeline.name for pipeline in schedule.pipelines}
    for pipeline in schedule.pipelines:
        for buffer in pipeline.buffers:
            _known(buffer, set(buffers), "buffer")
    for program in schedule.scopes:
        _known(program.scope, scopes, "scope")
        for body in program.bodies:
            _known(body.role, roles, "role")
            for item in body.instructions:
                if isinstance(item, OpRef):
                    _known(item.id, ops | scopes, "op")
                else:
                    _known(item.pipeline, pipelines, "pipeline")


def _known(name: str, names: set[str], kind: str) -> None:
    if name not in names:
        raise GraphError(f"the kernel has no {kind} {name!r}", code=f"schedule-unknown-{kind}", place=name)


def _ids(nodes: list[Node]) -> tuple[set[str], set[str]]:
    ops, scopes = set[str](), set[str]()
    for node in nodes:
        if isinstance(node, Leaf):
            ops.add(node.id)
            continue
        if isinstance(node, Loop):
            scopes.add(node.id)
        inner_ops, inner_scopes = _ids(node.body)
        ops |= inner_ops
        scopes |= inner_scopes
    return ops, scopes
