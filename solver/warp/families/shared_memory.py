"""All versions of all shared buffers, with alignment and barriers, fit one block over the whole kernel.

``sum(aligned bytes * product of depths) + barriers <= limit``. The two halves of a warp-specialised kernel keep every buffer
alive, so nothing is reused: no overlap of the epilogue tile with the ring was seen in TileLang's output. Barrier arrays are
static and take whole KiB beside an aligned dynamic array. TileLang refuses nothing at compile time. Source: rule book 1.11;
``merge_shared_memory_allocations.cc:402-409``; the limit is the profile's ``shared.per_block``.
"""

from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.kernel import Buffer, Memory
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import Expr, linear
from warpwright.solver.warp.encoding import Encoding
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.structure import structure_of

NAME = "shared_memory"
BARRIER_BYTES = 16
"""One full and one empty mbarrier of 8 bytes a version."""
STATIC_GRANULE = 1024


def shared_buffers(problem: WarpProblem) -> tuple[Buffer, ...]:
    """Buffers of the block that live in shared memory."""
    return tuple(buffer for buffer in problem.graph.buffers if buffer.memory is Memory.SHARED)


def aligned_bytes(buffer: Buffer) -> int:
    """Bytes of one version, rounded up to the alignment that lowering gives it."""
    step = max(buffer.alignment_bytes, 1)
    return -(-buffer.bytes // step) * step


def static_bytes(barrier_bytes: int) -> int:
    """Static shared memory that the barrier arrays take, in whole granules."""
    return -(-barrier_bytes // STATIC_GRANULE) * STATIC_GRANULE


def on_chip(enc: Encoding) -> Expr:
    """Bytes of all versions of all shared buffers, as an expression of the depths; also the second objective."""
    terms = []
    for buffer in shared_buffers(enc.problem):
        counted = enc.versions_is.get(buffer.name)
        versions = linear(constant=1)
        if counted is not None:
            versions = linear(*((count, literal.var) for count, literal in counted.items()))
        terms.append(aligned_bytes(buffer) * versions)
    return sum(terms, linear())


def build(enc: Encoding) -> None:
    """Buffers and barriers within the block's limit."""
    model = enc.model
    barriers = []
    for index, lead in enumerate(enc.leads):
        most = max(enc.depth_is[index])
        counted = model.integer(f"barrier pairs of {index}", 0, most)
        model.equal(counted - enc.depth[index], 0, when=[lead])
        model.equal(counted, 0, when=[lead.negated()])
        barriers.append(linear((BARRIER_BYTES, counted)))
    total = sum(barriers, linear())
    most = sum(BARRIER_BYTES * max(values) for values in enc.depth_is)
    granules = model.integer("granules of static shared memory", 0, -(-most // STATIC_GRANULE))
    model.at_least(STATIC_GRANULE * granules - total, 0)
    model.at_most(STATIC_GRANULE * granules - total, STATIC_GRANULE - 1)
    limit = enc.problem.device.shared_bytes_per_block
    model.at_most(on_chip(enc) + STATIC_GRANULE * granules, limit, note=f"shared memory within {limit:,} bytes")


def holders(reading: Reading) -> tuple[tuple[str, int], ...]:
    """Bytes by buffer, barriers last."""
    held = [(b.name, aligned_bytes(b) * reading.versions(b.name)) for b in shared_buffers(reading.problem)]
    pairs = sum(max(pipeline.depth, 0) for pipeline in reading.schedule.pipelines)
    return (*held, ("barriers", static_bytes(BARRIER_BYTES * pairs)))


def check(reading: Reading) -> tuple[Violation, ...]:
    """The sum against the block's limit."""
    held = holders(reading)
    used, limit = sum(amount for _, amount in held), reading.problem.device.shared_bytes_per_block
    if used <= limit:
        return ()
    text = ", ".join(f"{who} {amount:,}" for who, amount in held if amount)
    return (Violation(NAME, "over-capacity", f"{used:,} bytes of shared memory ({text}); a block has {limit:,}"),)


def explain(problem: WarpProblem, reading: Reading | None) -> tuple[Fact, ...]:
    """Bytes by buffer; without a schedule, of the fewest versions that the pins allow."""
    limit = problem.device.shared_bytes_per_block
    if reading is not None:
        held = tuple((who, amount) for who, amount in holders(reading) if amount)
        return (Fact("shared memory", sum(amount for _, amount in held), limit, "bytes", held),)
    channels = structure_of(problem).channels
    pinned = {pin.buffer: pin.depth for pin in problem.pins.depths}
    held = tuple((b.name, aligned_bytes(b) * pinned.get(b.name, 1)) for b in shared_buffers(problem))
    pairs = sum(1 if channel.encloses else pinned.get(channel.buffer, 1) for channel in channels)
    held = (*held, ("barriers", static_bytes(BARRIER_BYTES * pairs)))
    note = "the fewest versions that the pins allow" if pinned else "one version of each buffer"
    return (Fact("shared memory", sum(amount for _, amount in held), limit, "bytes", held, note),)
