"""Registers that a role's private storage needs at its fullest moment, by live ranges over the role's program.

A count of all buffers would refuse good schedules: in attention the scores are dead once they are cast, and a cap by
count cost others half their speed (literature.md 2.1). So ranges are followed through the program, across loop back edges.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warpwright.solver.device.limits import WARP_THREADS
from warpwright.solver.domain.kernel import Memory, Op
from warpwright.solver.domain.source_order import SourceOrder

__all__ = ["PRIVATE_MEMORIES", "Peak", "peak_registers"]

PRIVATE_MEMORIES = frozenset({Memory.FRAGMENT, Memory.LOCAL})
"""Memories of which each role has its own instance."""


@dataclass(frozen=True, slots=True)
class Peak:
    """The largest need of a program: registers per thread, where, and by buffer."""

    registers: int
    op: str
    holders: tuple[tuple[str, int], ...]


def peak_registers(
    source: SourceOrder, program: Sequence[Op], warps: int, overhead: Mapping[str, int], spread: frozenset[str]
) -> Peak:
    """The peak of a role's program.

    Args:
        source: The kernel.
        program: The role's operations in the order it runs them.
        warps: Width of the role; its threads share each buffer's registers.
        overhead: Registers that an operation needs beside live buffers, by operation id.
        spread: Loop scopes whose body runs several iterations at once (stage offsets): private storage that is touched
            inside lives through the whole loop.
    """
    buffers = {buffer.name: buffer for buffer in source.graph.buffers}
    touched = [access.buffer for op in program for access in (*op.reads, *op.writes)]
    private = [name for name in dict.fromkeys(touched) if buffers[name].memory in PRIVATE_MEMORIES]
    ranges = {name: _range(source, program, name, spread) for name in private}
    sharing = {Memory.FRAGMENT: WARP_THREADS * warps, Memory.LOCAL: source.graph.threads}
    sizes = {
        # A share of a fragment, but the whole of a thread's own scalar.
        name: -(-buffers[name].registers_per_block // max(sharing[buffers[name].memory], 1))
        for name in private
    }
    best = Peak(0, "", ())
    for position, op in enumerate(program):
        live = {name: sizes[name] for name, (first, last) in ranges.items() if first <= position <= last}
        born = {access.buffer for access in op.writes if ranges.get(access.buffer, (-1, -1))[0] == position}
        dying = {access.buffer for access in op.reads if ranges.get(access.buffer, (-1, -1))[1] == position}
        shared = 0
        if op.gemm is None:
            # Element by element a dying operand's registers become the result's.
            shared = min(sum(sizes[name] for name in born), sum(sizes[name] for name in dying - born))
        total = sum(live.values()) - shared + overhead.get(op.id, 0)
        if total > best.registers:
            held = tuple((name, amount) for name, amount in live.items() if amount)
            best = Peak(total, op.id, (*held, ("addresses and temporaries", overhead.get(op.id, 0) - shared)))
    return best


def _range(source: SourceOrder, program: Sequence[Op], buffer: str, spread: frozenset[str]) -> tuple[int, int]:
    places = [n for n, op in enumerate(program) if buffer in {a.buffer for a in (*op.reads, *op.writes)}]
    first, last = places[0], places[-1]
    paths = [source.path_to(program[n].scope) for n in places]
    for scope in dict.fromkeys(scope for path in paths for scope in path[1:]):
        extent = [n for n, op in enumerate(program) if scope in source.path_to(op.scope)]
        outside = any(scope not in path for path in paths)
        if outside or scope in spread or source.loop_carried(buffer, scope):
            first, last = min(first, extent[0]), max(last, extent[-1])
    return first, last
