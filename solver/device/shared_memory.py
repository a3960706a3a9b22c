"""Shared memory of one block: every version of every buffer, room for reductions across warps, and the barriers.

The two halves of a warp-specialised kernel keep every buffer alive, so TileLang reuses nothing (0.1.15 wheel,
merge_shared_memory_allocations.cc:975-1040). What a block takes was read back from compiled kernels (``dyn_shared_memory_buf``
and ptxas 13.0.88, docs/decisions/0168):

- the versions of a buffer are adjacent, so alignment counts once per buffer, not once per version;
- a reduction whose threads span more than a warp needs one element per thread (``reduce.cc:22``, ``AllReduceNeedsWorkspace``);
- a pipeline has two arrays of one 8-byte mbarrier per version, each aligned to 16 bytes; they are static, and as the dynamic
  array after them is aligned to 1024, so is their sum.

A buffer's start is aligned by the largest alignment of the block, which bounds any order in which TileLang packs them: the sum
is exact if every size is a multiple of it, and otherwise at most one alignment per buffer more than what is allocated.
"""

from collections.abc import Iterable, Mapping

from warpwright.solver.device.element_types import element_bits
from warpwright.solver.device.limits import WARP_THREADS
from warpwright.solver.device.wgmma import is_wgmma, partition
from warpwright.solver.domain.kernel import ROOT, Buffer, GemmShape, KernelGraph, Memory, Op, OpKind
from warpwright.solver.domain.schedule import OpRef, WarpSchedule

__all__ = [
    "ARRAY_ALIGNMENT",
    "BARRIERS",
    "MATRIX_ALIGNMENT",
    "STATIC_STEP",
    "alignment_of",
    "area_bytes",
    "barrier_bytes",
    "block_bytes",
    "holders",
    "reduction_bytes",
    "reused_bytes",
    "shared_buffers",
    "static_bytes",
    "versions_of",
]

BARRIERS = "barriers"
"""The name of the static bytes in :func:`holders`."""
MBARRIER_BYTES = 8
ARRAY_ALIGNMENT = 16
"""Alignment of every shared array that no bulk copy and no matrix instruction touches."""
MATRIX_ALIGNMENT = 1024
"""Of buffers of bulk copies and matrix instructions: a swizzle atom (0.1.15, merge_shared_memory_allocations.cc:402)."""
REGISTER_BITS = 32
STATIC_STEP = 1024
"""Of ``extern __shared__`` in TileLang's code (0.1.15 wheel, codegen_cuda.cc): the static part before it is padded to it."""
_SAME_LAYOUT = (OpKind.PARALLEL, OpKind.COPY, OpKind.FILL)


def shared_buffers(graph: KernelGraph) -> tuple[Buffer, ...]:
    """Buffers of the block in shared memory."""
    return tuple(buffer for buffer in graph.buffers if buffer.memory is Memory.SHARED)


def alignment_of(graph: KernelGraph) -> int:
    """Bytes to which each buffer's start is aligned."""
    return max([ARRAY_ALIGNMENT, *(buffer.alignment_bytes for buffer in shared_buffers(graph))])


def area_bytes(graph: KernelGraph, size: int, versions: int = 1) -> int:
    """Bytes of ``versions`` adjacent copies of ``size`` bytes in a block of this kernel."""
    return _round_up(size * versions, alignment_of(graph))


def barrier_bytes(depth: int) -> int:
    """Bytes of one pipeline's barriers: a full and an empty one per version."""
    return 2 * _round_up(MBARRIER_BYTES * max(depth, 0), ARRAY_ALIGNMENT)


def static_bytes(depths: Iterable[int]) -> int:
    """Static shared memory of the barriers of pipelines with these depths: whole :data:`STATIC_STEP`."""
    return _round_up(sum(barrier_bytes(depth) for depth in depths), STATIC_STEP)


def reduction_bytes(graph: KernelGraph, op: Op, warps: int) -> int:
    """Shared memory that a reduction needs in a role of this many warps; 0 for every other operation.

    A row of an accumulator spans warpgroups when they share its columns. Any other fragment's row spans as many threads as
    hold its result: known for the kernel's own width, and assumed to grow with a wider role.
    """
    if op.kind is not OpKind.REDUCE or not op.writes:
        return 0
    result = graph.buffer(op.writes[0].buffer)
    bits = element_bits(result.dtype)
    shapes = _products_behind(graph, op)
    if shapes:
        splits = [partition(shape, warps) if is_wgmma(shape) else None for shape in shapes]
        spans = any(split is None or split.columns > 1 for split in splits)
    else:
        threads_a_row = result.registers_per_block * REGISTER_BITS / max(8 * result.bytes, 1)
        wider = max(1.0, WARP_THREADS * warps / max(graph.threads, 1))
        spans = threads_a_row * wider > WARP_THREADS
    return area_bytes(graph, WARP_THREADS * warps * bits // 8) if spans else 0


def reused_bytes(graph: KernelGraph, versions: Mapping[str, int], warps: int) -> int:
    """Shared memory of a block without roles, where buffers that are never live together share their bytes.

    Live from the first to the last item of the kernel's body that touches it, as TileLang packs them.
    """
    parents = {scope.id: scope for scope in graph.scopes}

    def below(item: str) -> list[Op]:
        return [op for child in parents[item].items for op in below(child)] if item in parents else [graph.op(item)]

    places: dict[str, list[int]] = {}
    room: dict[str, int] = {b.name: area_bytes(graph, b.bytes, versions.get(b.name, 1)) for b in shared_buffers(graph)}
    for index, item in enumerate(parents[ROOT].items):
        for op in below(item):
            room[op.id] = reduction_bytes(graph, op, warps)
            for name in (op.id, *(access.buffer for access in (*op.reads, *op.writes))):
                places.setdefault(name, []).append(index)
    return max(
        (
            sum(size for name, size in room.items() if name in places and places[name][0] <= index <= places[name][-1])
            for index in range(len(parents[ROOT].items))
        ),
        default=0,
    )


def versions_of(schedule: WarpSchedule) -> dict[str, int]:
    """Versions of each buffer of a pipeline: the product of the depths of its pipelines."""
    found: dict[str, int] = {}
    for pipeline in schedule.pipelines:
        for name in pipeline.buffers:
            found[name] = found.get(name, 1) * max(pipeline.depth, 1)
    return found


def holders(graph: KernelGraph, schedule: WarpSchedule) -> tuple[tuple[str, int], ...]:
    """Bytes of one block by holder: buffers, reductions, and the barriers last."""
    versions = versions_of(schedule)
    held = [(b.name, area_bytes(graph, b.bytes, versions.get(b.name, 1))) for b in shared_buffers(graph)]
    ops = {op.id: op for op in graph.ops}
    for role in schedule.roles:
        placed = [i.id for p in schedule.scopes for i in p.body(role.name) if isinstance(i, OpRef) and i.id in ops]
        room = ((op, reduction_bytes(graph, ops[op], role.warps)) for op in dict.fromkeys(placed))
        held += [(op, amount) for op, amount in room if amount]
    return (*held, (BARRIERS, static_bytes(pipeline.depth for pipeline in schedule.pipelines)))


def block_bytes(graph: KernelGraph, schedule: WarpSchedule) -> int:
    """Shared memory of one block under a schedule."""
    return sum(amount for _, amount in holders(graph, schedule))


def _products_behind(graph: KernelGraph, reduction: Op) -> list[GemmShape]:
    """Products whose accumulator gives the reduced fragment its layout, directly or through element-wise operations."""
    fragments = {buffer.name: buffer.shape for buffer in graph.buffers if buffer.memory is Memory.FRAGMENT}
    results = {access.buffer for access in reduction.writes}
    alike = {access.buffer for access in reduction.reads if access.buffer in fragments} - results
    waiting = list(alike)
    while waiting:
        shape = fragments[waiting.pop()]
        for op in graph.ops:
            touched = {a.buffer for a in (*op.reads, *op.writes) if fragments.get(a.buffer) == shape}
            if op.kind in _SAME_LAYOUT and touched & alike and not touched <= alike:
                waiting += touched - alike
                alike |= touched
    return [op.gemm for op in graph.ops if op.gemm is not None and alike & {access.buffer for access in op.writes}]


def _round_up(amount: int, step: int) -> int:
    return -(-amount // step) * step
