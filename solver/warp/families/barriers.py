"""Signals: a tcgen05 product signals with one arrival from a role of exactly one warp; there are few named barriers.

Each role of several warps that does not cover the block takes one named barrier for its internal synchronisation, of the 13
that generated code may use. A product into tensor memory writes a pipeline buffer. Source: TileLang 0.1.15 wheel,
MWS:1318-1325, 1344-1441, ``src/transform/common/thread_sync_types.h:22-32``; rule book 1.9 and 1.10.
"""

from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.kernel import Memory
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import linear
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.schedule_reader import Reading

NAME = "barriers"


def tensor_products(problem: WarpProblem) -> list[str]:
    """Operations that accumulate in tensor memory."""
    return [op.id for op in problem.graph.ops if op.gemm is not None and op.gemm.c_memory is Memory.TENSOR]


def build(enc: WarpEncoding) -> None:
    """One warp for every role that issues tcgen05; accumulators in a channel; enough named barriers."""
    model, structure = enc.model, enc.structure
    channelled = {channel.buffer for channel in structure.channels}
    for op_id in tensor_products(enc.problem):
        model.at_least(linear(constant=int(enc.problem.device.tcgen05)), 1, note=f"{op_id} needs tcgen05")
        for role in structure.placement[op_id]:
            model.equal(enc.warps[role], 1, note=f"{op_id} signals from exactly one warp")
        outputs = {access.buffer for access in enc.problem.ops[op_id].writes}
        model.at_least(linear(constant=len(outputs & channelled)), 1, note=f"{op_id} writes a pipeline buffer")
    model.at_most(linear(constant=len(structure.roles)), enc.problem.device.named_barriers, note="named barriers")


def check(reading: Reading) -> tuple[Violation, ...]:
    """Single-warp signalling, protected accumulators, named barriers."""
    found: list[Violation] = []
    problem = reading.problem
    for op_id in tensor_products(problem):
        if not problem.device.tcgen05:
            found.append(
                Violation(
                    NAME, "no-tcgen05", f"{op_id} needs tcgen05, which {problem.device.arch} does not have", op_id
                )
            )
        for name in reading.placement.get(op_id, ()):
            role = reading.roles.get(name)
            if role is not None and role.warps != 1:
                message = f"{op_id} signals from one warp; {name} has {role.warps}"
                found.append(Violation(NAME, "single-warp", message, op_id))
        if not any(reading.protecting(access.buffer) for access in problem.ops[op_id].writes):
            message = f"{op_id} accumulates in tensor memory outside every pipeline"
            found.append(Violation(NAME, "unprotected-accumulator", message, op_id))
    ranges = [role for role in reading.schedule.roles if 1 < role.warps < reading.schedule.num_warps]
    if len(ranges) > problem.device.named_barriers:
        message = (
            f"{len(ranges)} partial thread ranges need a named barrier each; there are {problem.device.named_barriers}"
        )
        found.append(Violation(NAME, "named-barriers", message))
    return tuple(found)


def explain(problem: WarpProblem, reading: Reading | None) -> tuple[Fact, ...]:
    """Named barriers and mbarriers in use."""
    if reading is None:
        return ()
    ranges = tuple((role.name, 1) for role in reading.schedule.roles if 1 < role.warps < reading.schedule.num_warps)
    pairs = tuple((pipeline.name, 2 * pipeline.depth) for pipeline in reading.schedule.pipelines)
    return (
        Fact("named barriers", len(ranges), problem.device.named_barriers, "barriers", ranges),
        Fact("mbarriers", sum(count for _, count in pairs), None, "barriers", pairs),
    )
