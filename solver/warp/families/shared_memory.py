"""All versions of all shared buffers, room for reductions and the barriers fit one block over the whole kernel.

What a block takes is the device model's (:mod:`warpwright.solver.device.shared_memory`); here stands the limit. TileLang
refuses nothing at compile time. Source: rule book 1.11; the limit is the profile's ``shared.per_block``.
"""

from warpwright.solver.device.shared_memory import (
    BARRIERS,
    STATIC_STEP,
    area_bytes,
    barrier_bytes,
    holders,
    reduction_bytes,
    shared_buffers,
    static_bytes,
)
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.kernel import Op
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import Expr, linear
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.layout.structure import structure_of
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.schedule_reader import Reading

NAME = "shared_memory"


def on_chip(enc: WarpEncoding) -> Expr:
    """Bytes of all buffers and reductions, as an expression of depths and widths; also the second objective."""
    graph, total = enc.problem.graph, linear()
    for buffer in shared_buffers(graph):
        counted = enc.versions_is.get(buffer.name)
        if counted is None:
            total += area_bytes(graph, buffer.bytes)
            continue
        total += linear(*((area_bytes(graph, buffer.bytes, n), literal.var) for n, literal in counted.items()))
    for op in graph.ops:
        for role in enc.structure.placement[op.id]:
            total += _room(enc, op, role)
    return total


def _room(enc: WarpEncoding, op: Op, role: str) -> Expr:
    """Shared memory that an operation takes for itself in a role."""
    return enc.by_width(role, lambda warps: reduction_bytes(enc.problem.graph, op, warps))


def build(enc: WarpEncoding) -> None:
    """Buffers, reductions and barriers within the block's limit."""
    model = enc.model
    total = linear()
    for index, lead in enumerate(enc.leads):
        sizes = {depth: barrier_bytes(depth) for depth in enc.depth_is[index]}
        counted = model.integer(f"barrier bytes of {index}", 0, max(sizes.values()))
        of_depth = linear(*((sizes[depth], literal.var) for depth, literal in enc.depth_is[index].items()))
        model.equal(counted - of_depth, 0, when=[lead])
        model.equal(counted, 0, when=[lead.negated()])
        total += counted
    steps = model.integer(
        "steps of static shared memory",
        0,
        static_bytes(max(values) for values in enc.depth_is) // STATIC_STEP,
    )
    model.at_least(STATIC_STEP * steps - total, 0)
    model.at_most(STATIC_STEP * steps - total, STATIC_STEP - 1)
    limit = enc.problem.device.shared_bytes_per_block
    model.at_most(on_chip(enc) + STATIC_STEP * steps, limit, note=f"shared memory within {limit:,} bytes")


def check(reading: Reading) -> tuple[Violation, ...]:
    """The sum against the block's limit."""
    held = holders(reading.problem.graph, reading.schedule)
    used, limit = sum(amount for _, amount in held), reading.problem.device.shared_bytes_per_block
    if used <= limit:
        return ()
    text = ", ".join(f"{who} {amount:,}" for who, amount in held if amount)
    return (Violation(NAME, "over-capacity", f"{used:,} bytes of shared memory ({text}); a block has {limit:,}"),)


def explain(problem: WarpProblem, reading: Reading | None) -> tuple[Fact, ...]:
    """Bytes by buffer; without a schedule, of the fewest versions that the pins allow."""
    limit = problem.device.shared_bytes_per_block
    if reading is not None:
        held = tuple((who, amount) for who, amount in holders(problem.graph, reading.schedule) if amount)
        return (Fact("shared memory", sum(amount for _, amount in held), limit, "bytes", held),)
    channels = structure_of(problem).channels
    pinned = {pin.buffer: pin.depth for pin in problem.pins.depths}
    buffers = shared_buffers(problem.graph)
    held = tuple((b.name, area_bytes(problem.graph, b.bytes, pinned.get(b.name, 1))) for b in buffers)
    depths = [1 if channel.encloses else pinned.get(channel.buffer, 1) for channel in channels]
    held = (*held, (BARRIERS, static_bytes(depths)))
    note = "the fewest versions that the pins allow" if pinned else "one version of each buffer"
    return (Fact("shared memory", sum(amount for _, amount in held), limit, "bytes", held, note),)
