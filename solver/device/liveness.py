"""Peak registers of a role's private storage, by live ranges over the role's program.

A count of all buffers would refuse good schedules: in attention the scores are dead once they are cast, and a cap by
count cost others half their speed (literature.md 2.1). So ranges are followed through the program, across loop back edges.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warpwright.solver.device.limits import WARP_THREADS
from warpwright.solver.domain.kernel import Memory, Op
from warpwright.solver.domain.source_order import SourceOrder

__all__ = ["PRIVATE_MEMORIES", "RegisterPeak", "peak_registers"]

PRIVATE_MEMORIES = frozenset({Memory.FRAGMENT, Memory.LOCAL})
"""Memories of which each role has its own instance."""


@dataclass(frozen=True, slots=True)
class RegisterPeak:
    """The largest need of a program: registers per thread, the operation, and the share of each buffer."""

    registers: int
    op: str
    holders: tuple[tuple[str, int], ...]


def peak_registers(
    source: SourceOrder, program: Sequence[Op], warps: int, overhead: Mapping[str, int], spread: frozenset[str]
) -> RegisterPeak:
    """The peak of a role's program.

    Args:
        source: The kernel.
        program: The role's operations in the order it runs them.
        warps: Width of the role; its threads share each buffer's registers.
        overhead: Registers that an operation needs in addition to live buffers, by operation id.
        spread: Loop scopes whose body runs several iterations at once (stage offsets): private storage that is touched
            inside lives through the whole loop.
    """
    lives = _lives(source, program, warps, spread)
    needs = (_need_at(position, op, lives, overhead.get(op.id, 0)) for position, op in enumerate(program))
    return max((RegisterPeak(0, "", ()), *needs), key=lambda need: need.registers)


@dataclass(frozen=True, slots=True)
class _Life:
    """A private buffer in one thread: first and last place of the program at which it lives, and its registers."""

    first: int
    last: int
    registers: int


def _lives(source: SourceOrder, program: Sequence[Op], warps: int, spread: frozenset[str]) -> dict[str, _Life]:
    """The lives of a program's private buffers, in the order in which it touches them."""
    buffers = {buffer.name: buffer for buffer in source.graph.buffers}
    touched = dict.fromkeys(access.buffer for op in program for access in (*op.reads, *op.writes))
    # A share of a fragment, but the whole of a thread's own scalar.
    sharing = {Memory.FRAGMENT: WARP_THREADS * warps, Memory.LOCAL: source.graph.threads}
    return {
        name: _Life(
            *_range(source, program, name, spread),
            -(-buffers[name].registers_per_block // max(sharing[buffers[name].memory], 1)),
        )
        for name in touched
        if buffers[name].memory in PRIVATE_MEMORIES
    }


def _need_at(position: int, op: Op, lives: Mapping[str, _Life], overhead: int) -> RegisterPeak:
    """What lives while one operation runs, less what passes from its dying operands to its results."""
    live = {name: life.registers for name, life in lives.items() if life.first <= position <= life.last}
    passed_on = _passed_on(position, op, lives)
    held = tuple((name, amount) for name, amount in live.items() if amount)
    total = sum(live.values()) - passed_on + overhead
    return RegisterPeak(total, op.id, (*held, ("addresses and temporaries", overhead - passed_on)))


def _passed_on(position: int, op: Op, lives: Mapping[str, _Life]) -> int:
    """Registers of operands that die here and become a result's, element by element; none of a matrix product's do."""
    if op.gemm is not None:
        return 0
    born = {a.buffer for a in op.writes if a.buffer in lives and lives[a.buffer].first == position}
    dying = {a.buffer for a in op.reads if a.buffer in lives and lives[a.buffer].last == position}
    return min(sum(lives[name].registers for name in born), sum(lives[name].registers for name in dying - born))


def _range(source: SourceOrder, program: Sequence[Op], buffer: str, spread: frozenset[str]) -> tuple[int, int]:
    """First and last place of a buffer's life: its uses, and the whole of each loop that a value crosses or that overlaps."""
    places = [n for n, op in enumerate(program) if buffer in {a.buffer for a in (*op.reads, *op.writes)}]
    first, last = places[0], places[-1]
    paths = [source.path_to(program[n].scope) for n in places]
    for scope in dict.fromkeys(scope for path in paths for scope in path[1:]):
        extent = [n for n, op in enumerate(program) if scope in source.path_to(op.scope)]
        outside = any(scope not in path for path in paths)
        if outside or scope in spread or source.loop_carried(buffer, scope):
            first, last = min(first, extent[0]), max(last, extent[-1])
    return first, last
