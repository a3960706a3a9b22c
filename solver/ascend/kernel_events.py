"""Event ids of a whole kernel: what TileLang has to place beside the flags must fit into the pool of mutexes.

TileLang waits between pipes by flags, 8 ids for each pair of pipes; every version of a buffer that is handed over takes one in
each direction. A block of ids that does not fit is placed in a pool of 32 mutexes that all pairs share, and a kernel that needs
more is not compiled (TileLang 0.1.15 wheel, ``rewrite_flag_to_buf.cc:243-355``). Which hand-overs need a flag follows from the
order of the tasks (:mod:`warpwright.solver.ascend.hand_overs`). What is counted here is never more than what TileLang needs, so a
schedule that is refused is one that is not compiled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from warpwright.solver.ascend.hand_overs import HandOver, hand_overs
from warpwright.solver.domain import (
    BufferSchedule,
    ChosenBy,
    Conflict,
    KernelGraph,
    Memory,
    Unit,
    VersionMode,
    Violation,
)

__all__ = ["FLAG_IDS", "MUTEXES", "NAME", "EventUse", "check", "conflicts", "event_use", "with_fewest"]

NAME = "event_flags"
FLAG_IDS = 8
"""Flag ids of one ordered pair of pipes (TileLang 0.1.15 wheel, ``rewrite_flag_to_buf.cc:64``)."""
MUTEXES = 32
"""Mutexes of a core, for all pairs together (``rewrite_flag_to_buf.cc:61``)."""
PRODUCT_MUTEXES = 2
"""Mutexes that a product from L1 takes for itself (``rewrite_flag_to_buf.cc:69``)."""


@dataclass(frozen=True, slots=True)
class EventUse:
    """Ids that a schedule needs. ``blocks`` are the ids of each hand-over by pair of pipes, ``spilled`` those without a flag."""

    blocks: Mapping[tuple[str, str], tuple[int, ...]]
    spilled: Mapping[tuple[str, str], int]
    reserved: int

    @property
    def mutexes(self) -> int:
        """Mutexes needed."""
        return self.reserved + sum(self.spilled.values())

    @property
    def fits(self) -> bool:
        """Whether the pool is large enough, or is not touched."""
        return self.mutexes <= MUTEXES or not any(self.spilled.values())

    def text(self) -> str:
        """The sum for a person."""
        parts = [
            f"{a} to {b} {' + '.join(map(str, self.blocks[a, b]))} ids, {count} of them without a flag"
            for (a, b), count in self.spilled.items()
            if count
        ]
        reserved = f", {self.reserved} for products" if self.reserved else ""
        return f"{'; '.join(parts)}{reserved}: {self.mutexes} mutexes needed, {MUTEXES} available"


def event_use(graph: KernelGraph, schedule: BufferSchedule) -> EventUse | None:
    """What a schedule needs, or less; None where rings are indexed by hand or by counters, which is not modelled."""
    if any(
        each.manual_versions is not None or (each.mode is VersionMode.COUNTER and each.versions > 1)
        for each in schedule.buffers
    ):
        return None
    found = hand_overs(graph, schedule)
    if found is None:
        return None
    blocks: dict[tuple[str, str], tuple[int, ...]] = {}
    for pair in dict.fromkeys((each.source, each.target) for each in found):
        mine = [each for each in found if (each.source, each.target) == pair]
        blocks[pair] = _allocated(mine)
    spilled = {pair: sum(sizes) - _kept(sizes) for pair, sizes in blocks.items()}
    return EventUse(blocks, spilled, PRODUCT_MUTEXES if _product_from_l1(graph) else 0)


def conflicts(graph: KernelGraph, schedule: BufferSchedule) -> tuple[Conflict, ...]:
    """A conflict if the pool is too small."""
    use = event_use(graph, schedule)
    if use is None or use.fits:
        return ()
    return (Conflict(NAME, use.text(), "fewer versions of the buffers that these pipes hand over", "event ids"),)


def with_fewest(schedule: BufferSchedule) -> BufferSchedule:
    """The schedule with one version of each buffer whose count the solver chose: whoever lacks ids then lacks them always."""
    fewest = tuple(
        replace(each, versions=1) if each.versions_chosen_by is ChosenBy.SOLVER else each for each in schedule.buffers
    )
    return replace(schedule, buffers=fewest)


def check(graph: KernelGraph, schedule: BufferSchedule) -> tuple[Violation, ...]:
    """A violation if the pool is too small."""
    return tuple(Violation(NAME, "mutexes", each.message, each.place) for each in conflicts(graph, schedule))


def _allocated(found: Sequence[HandOver]) -> tuple[int, ...]:
    """Sizes of the blocks of one pair of pipes. Above the limit TileLang lets blocks share ids whose lifetimes do not meet."""
    sizes = tuple(each.ids for each in found)
    if sum(sizes) <= FLAG_IDS:
        return sizes
    kept: list[HandOver] = []
    for each in sorted(found, key=lambda one: (not one.carried, -one.ids)):
        if not any(each.may_share(other) for other in kept):
            kept.append(each)
    return tuple(each.ids for each in kept)


def _kept(sizes: Sequence[int]) -> int:
    """The most ids that fit into the flags with whole blocks."""
    sums = {0}
    for size in sizes:
        sums |= {total + size for total in sums if total + size <= FLAG_IDS}
    return max(sums)


def _product_from_l1(graph: KernelGraph) -> bool:
    l1 = {buffer.name for buffer in graph.buffers if buffer.memory is Memory.L1}
    return any(
        any(use.unit is Unit.CUBE for use in op.uses) and any(access.buffer in l1 for access in op.reads)
        for op in graph.ops
    )
