"""Sentences for the two most frequent reasons: memory does not hold the versions, versions do not hide the latency."""

from collections.abc import Sequence

from warpwright.solver.device.limits import WARP_THREADS, WARPGROUP
from warpwright.solver.device.shared_memory import area_bytes, shared_buffers, static_bytes
from warpwright.solver.domain.kernel import ROOT
from warpwright.solver.explain.question import Question
from warpwright.solver.warp.families.pipeline_depth import life_cycles
from warpwright.solver.warp.layout.structure import structure_of
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.schedule_reader import Reading

__all__ = ["memory_sentence", "ring_sentence"]


def kib(amount: int) -> str:
    """Bytes as KiB if that is exact to a tenth, as people write them."""
    return f"{amount / 1024:.1f}".removesuffix(".0") + " KiB"


def memory_sentence(problem: WarpProblem, question: Question, least: Reading) -> str:
    """The size of the versions, of everything else, and how many versions the block's memory holds.

    ``least`` is the schedule with the fewest bytes that keeps the question and every rule but this one.
    """
    graph, limit = problem.graph, problem.device.shared_bytes_per_block
    sizes = {buffer.name: buffer.bytes for buffer in shared_buffers(graph)}
    depths = {name: least.versions(name) for name in sizes}
    static = static_bytes(pipeline.depth for pipeline in least.schedule.pipelines)
    pinned = {pin.buffer for pin in question.pins.depths if pin.buffer in sizes}
    deepest = max((depths[name] for name in pinned), default=1)
    asked = [name for name in sizes if name in pinned or (pinned and depths[name] == deepest > 1)]
    areas = {name: area_bytes(graph, size, depths[name]) for name, size in sizes.items()}
    total = sum(areas.values()) + static
    rest = [f"{name} {kib(area)}" for name, area in areas.items() if name not in asked]
    rest.append(f"barriers {kib(static)}")
    if not asked:
        return f"one version of each buffer takes {kib(total)} ({', '.join(rest)}); a block has {kib(limit)}"
    group = sum(sizes[name] for name in asked)
    depth = max(depths[name] for name in asked)
    others = total - sum(areas[name] for name in asked)
    fits = max(n for n in range(depth + 1) if n == 0 or others + _areas(problem, asked, n) <= limit)
    return (
        f"{' and '.join(asked)} at depth {depth} take {depth} x {kib(group)} = {kib(group * depth)}, with "
        f"{', '.join(rest)} that is {kib(total)}; a block has {kib(limit)}, which hold depth {fits} "
        f"({kib(total - limit)} too much)"
    )


def _areas(problem: WarpProblem, buffers: Sequence[str], versions: int) -> int:
    return sum(area_bytes(problem.graph, problem.graph.buffer(name).bytes, versions) for name in buffers)


def ring_sentence(problem: WarpProblem, question: Question) -> str:
    """Depth that each requested interval needs of each channel, and what memory holds."""
    sizes = {buffer.name: buffer.bytes for buffer in shared_buffers(problem.graph)}
    warps = max(problem.graph.threads // WARP_THREADS, WARPGROUP)
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
    total = sum(_areas(problem, [name], needed.get(name, 1)) for name in sizes)
    total += static_bytes(needed.values())
    rest = [f"{name} {kib(size)}" for name, size in sizes.items() if name not in needed]
    others = f" with {', '.join(rest)}" if rest else ""
    limit = kib(problem.device.shared_bytes_per_block)
    return f"{' and '.join(texts)}; together{others} that is {kib(total)}, a block has {limit}"
