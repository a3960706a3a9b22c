"""Sentences for the two reasons that users meet most: memory does not hold the versions, versions do not hide the latency."""

from warpwright.solver.domain.kernel import ROOT
from warpwright.solver.explain.question import Question
from warpwright.solver.warp.families.pipeline_depth import life_cycles
from warpwright.solver.warp.families.shared_memory import BARRIER_BYTES, aligned_bytes, shared_buffers, static_bytes
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.structure import structure_of

__all__ = ["memory_sentence", "ring_sentence"]


def kib(amount: int) -> str:
    """Bytes as KiB where that is exact to a tenth, as people say them."""
    return f"{amount / 1024:.1f}".removesuffix(".0") + " KiB"


def memory_sentence(problem: WarpProblem, question: Question) -> str:
    """What the versions take, what else is there, and how many versions the block's memory holds."""
    sizes = {buffer.name: aligned_bytes(buffer) for buffer in shared_buffers(problem)}
    depths = {pin.buffer: pin.depth for pin in problem.pins.depths if pin.buffer in sizes}
    limit = problem.device.shared_bytes_per_block
    pairs = sum(depths.get(channel.buffer, 1) for channel in structure_of(problem).channels)
    static = static_bytes(BARRIER_BYTES * pairs)
    asked = [buffer for buffer in dict.fromkeys(pin.buffer for pin in question.pins.depths) if buffer in sizes]
    total = sum(size * depths.get(name, 1) for name, size in sizes.items()) + static
    rest = [f"{name} {kib(size * depths.get(name, 1))}" for name, size in sizes.items() if name not in asked]
    rest.append(f"barriers {kib(static)}")
    if not asked:
        return f"one version of each buffer takes {kib(total)} ({', '.join(rest)}); a block has {kib(limit)}"
    group = sum(sizes[name] for name in asked)
    depth = max(depths[name] for name in asked)
    fits = max((limit - (total - group * depth)) // group, 0)
    return (
        f"{' and '.join(asked)} at depth {depth} take {depth} x {kib(group)} = {kib(group * depth)}, with "
        f"{', '.join(rest)} that is {kib(total)}; a block has {kib(limit)}, which hold depth {fits} "
        f"({kib(total - limit)} too much)"
    )


def ring_sentence(problem: WarpProblem, question: Question) -> str:
    """Depth that each asked interval needs of each channel, and what memory holds."""
    sizes = {buffer.name: aligned_bytes(buffer) for buffer in shared_buffers(problem)}
    warps = max(problem.graph.threads // 32, 4)
    needed: dict[str, int] = {}
    texts = []
    for scope, cycles in question.intervals:
        for channel in structure_of(problem).channels:
            if channel.scope != scope or channel.scope == ROOT or channel.buffer not in sizes:
                continue
            life = life_cycles(problem, channel, warps)
            needed[channel.buffer] = -(-life // max(cycles, 1))
            texts.append(
                f"{channel.consumer} needs depth >= {needed[channel.buffer]} of {channel.buffer} "
                f"({kib(sizes[channel.buffer])}, in use for {life:,} cycles)"
            )
    if not needed:
        return "no order of the streams is short enough"
    total = sum(size * needed.get(name, 1) for name, size in sizes.items())
    total += static_bytes(BARRIER_BYTES * sum(needed.values()))
    rest = [f"{name} {kib(size)}" for name, size in sizes.items() if name not in needed]
    others = f" with {', '.join(rest)}" if rest else ""
    limit = kib(problem.device.shared_bytes_per_block)
    return f"{' and '.join(texts)}; together{others} that is {kib(total)}, a block has {limit}"
