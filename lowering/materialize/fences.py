"""Fences of a schedule as statements of the kernel, each with its own id. Runs in child processes: it builds TVM objects.

``T.WSSchedule`` knows operations and synchronisations. A fence becomes ``T.ws_op(id)`` around ``T.fence_proxy_async()``, which
TileLang 0.1.15 prints as ``fence.proxy.async.shared::cta`` (tl_templates/cuda/barrier.h:165-167). An operation runs at the
stage of the open spans whose buffers it touches, and at the first one when it touches none (MWS:1863-1936): then the releases
of the last iterations, which run after the loop, would have no fence. So it also takes the address of a buffer of
its pipeline, which generates no instruction.
"""

from dataclasses import replace
from typing import Any

import tilelang.language as T  # the field's own name for it
from tilelang import tvm

from warpwright.lowering.frontend.statements import Leaf, Loop, Metadata, Node
from warpwright.lowering.frontend.walk import OP_ID, WalkedKernel
from warpwright.solver.domain import Fence, GraphError, Instruction, OpRef, RoleBody, ScopeProgram, WarpSchedule

__all__ = ["with_fence_statements"]

tirx = tvm.tirx
_SHARED = ("shared", "shared.dyn")


def with_fence_statements(kernel: WalkedKernel, buffers: dict[str, Any], schedule: WarpSchedule) -> WarpSchedule:
    """The schedule with operations in place of its fences; their statements are put into the kernel's tree.

    Each comes after the statement that precedes it in its role's body, or before the first one. ``buffers`` maps
    storage names to TVM buffers.

    Raises:
        GraphError: ``schedule-fence`` for a fence of a pipeline without shared memory, or in a body without statements.
    """
    taken = {node.id for node in _named(kernel.body)}
    programs = []
    for program in schedule.scopes:
        bodies = []
        for body in program.bodies:
            entries: list[Instruction] = []
            for position, entry in enumerate(body.instructions):
                if isinstance(entry, Fence):
                    before = [earlier.id for earlier in entries if isinstance(earlier, OpRef)]
                    leaf = _statement(_shared_buffer(schedule, buffers, entry), _free(f"fence_{entry.pipeline}", taken))
                    behind = [later.id for later in body.instructions[position:] if isinstance(later, OpRef)]
                    beside = before[-1] if before else behind[0] if behind else ""
                    if not _insert(kernel.body, beside, leaf, 1 if before else 0):
                        raise GraphError(
                            f"{body.role} has nothing to fence", code="schedule-fence", place=entry.pipeline
                        )
                    entries.append(OpRef(leaf.id))
                else:
                    entries.append(entry)
            bodies.append(RoleBody(body.role, tuple(entries)))
        programs.append(ScopeProgram(program.scope, tuple(bodies)))
    return replace(schedule, scopes=tuple(programs))


def _statement(buffer: Any, op_id: str) -> Leaf:
    touch = tirx.Evaluate(T.address_of(buffer[(0,) * len(buffer.shape)]))
    stmt = tirx.SeqStmt([touch, tirx.Evaluate(T.fence_proxy_async())])
    return Leaf(stmt, tirx.AttrStmt(None, OP_ID, tirx.StringImm(op_id), stmt), op_id)


def _shared_buffer(schedule: WarpSchedule, buffers: dict[str, Any], fence: Fence) -> Any:
    held = (buffers[name] for name in schedule.pipeline(fence.pipeline).buffers)
    found = next((buffer for buffer in held if str(buffer.scope()) in _SHARED), None)
    if found is None:
        raise GraphError(f"{fence.pipeline} has no shared memory", code="schedule-fence", place=fence.pipeline)
    return found


def _free(base: str, taken: set[str]) -> str:
    name, count = base, 1
    while name in taken:
        count += 1
        name = f"{base}_{count}"
    taken.add(name)
    return name


def _insert(nodes: list[Node], item: str, leaf: Leaf, offset: int) -> bool:
    """Inserts the leaf at an offset from the node that is or contains an item; a guard's statements belong to its scope."""
    for place, node in enumerate(nodes):
        if isinstance(node, Metadata) and _insert(node.body, item, leaf, offset):
            return True
        if item in _items(node):
            nodes.insert(place + offset, leaf)
            return True
        if isinstance(node, Loop) and _insert(node.body, item, leaf, offset):
            return True
        if not isinstance(node, (Leaf, Loop, Metadata)) and any(
            isinstance(inner, Loop) and _insert(inner.body, item, leaf, offset) for inner in node.body
        ):
            return True
    return False


def _items(node: Node) -> set[str]:
    if isinstance(node, (Leaf, Loop)):
        return {node.id}
    return set() if isinstance(node, Metadata) else {item for inner in node.body for item in _items(inner)}


def _named(nodes: list[Node]) -> list[Leaf | Loop]:
    found: list[Leaf | Loop] = []
    for node in nodes:
        found += [node] if isinstance(node, (Leaf, Loop)) else []
        found += [] if isinstance(node, Leaf) else _named(node.body)
    return found
