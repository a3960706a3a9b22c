"""Ways out of an impossible choice of an Ascend kernel; each was solved before it is named."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from warpwright.solver.ascend.kernel_capacity import NAME as MEMORY
from warpwright.solver.ascend.kernel_capacity import SECTIONS
from warpwright.solver.ascend.kernel_solve import solve_graph
from warpwright.solver.ascend.pins import merged_pins
from warpwright.solver.domain.explanation import Relaxation
from warpwright.solver.domain.kernel import KernelGraph
from warpwright.solver.domain.pins import BufferPin, Pins
from warpwright.solver.domain.profile import HardwareProfile
from warpwright.solver.domain.verdict import Conflict, Feasible, ProvenOptimal

__all__ = ["ways_out"]

LIFTED = {section: "shared" if section == "ub" else f"shared.{section}" for section in SECTIONS.values()}
"""What a memory is called where its limit is lifted."""


def ways_out(
    graph: KernelGraph, profile: HardwareProfile, base: Pins, asked: Pins, conflicts: Sequence[Conflict], engine: str
) -> tuple[Relaxation, ...]:
    """Changes after which there is a schedule, the smallest of each kind.

    Args:
        graph: The kernel.
        profile: The device.
        base: Pins from before the question.
        asked: The question's pins; with ``base`` there is no schedule.
        conflicts: What stands in the way.
        engine: Engine of the searches.
    """
    kinds = (
        _fewer_versions(base, asked),
        _without_a_pin(base, asked),
        _freed_memory(merged_pins(base, asked), conflicts),
        _other_rules(merged_pins(base, asked), conflicts),
    )
    found = []
    for kind in kinds:
        for way, pins in kind:
            if pins is None or _possible(graph, profile, pins, engine):
                found.append(way)
                break
    return tuple(found)


def _possible(graph: KernelGraph, profile: HardwareProfile, pins: Pins, engine: str) -> bool:
    return isinstance(solve_graph(graph, profile, pins, engine=engine), ProvenOptimal | Feasible)


Attempts = Iterator[tuple[Relaxation, Pins | None]]


def _fewer_versions(base: Pins, asked: Pins) -> Attempts:
    """All requested counts one lower, then two, and so on."""
    counted = [pin for pin in asked.buffers if pin.versions is not None]
    for less in range(1, max((pin.versions or 1 for pin in counted), default=1)):
        lower = [_at(pin, max((pin.versions or 1) - less, 1)) for pin in counted]
        others = tuple(pin for pin in asked.buffers if pin not in counted)
        text = " and ".join(
            f"{pin.versions} version{'' if pin.versions == 1 else 's'} of {pin.buffer}" for pin in lower
        )
        why = ", ".join(f"buffers.{pin.buffer}.versions={pin.versions}" for pin in lower)
        yield Relaxation(f"with {text}", why), merged_pins(base, replace(asked, buffers=(*others, *lower)))


def _at(pin: BufferPin, versions: int) -> BufferPin:
    return replace(pin, versions=versions, mode="auto" if versions == 1 and pin.mode is None else pin.mode)


def _without_a_pin(base: Pins, asked: Pins) -> Attempts:
    """Without one pin from before the question."""
    for pin in base.buffers:
        kept = replace(base, buffers=tuple(other for other in base.buffers if other != pin))
        yield Relaxation(f"without the pin of {pin.buffer}"), merged_pins(kept, asked)


def _freed_memory(pins: Pins, conflicts: Sequence[Conflict]) -> Attempts:
    """A smaller kernel in the memories that overflow: there is a schedule once their limits are lifted."""
    over = [each for each in conflicts if each.family == MEMORY and each.relaxation]
    if not over:
        return
    names = (LIFTED.get(each.place, each.place) for each in over)
    lifted = tuple(dict.fromkeys((*pins.unlimited_memories, *names)))
    text = " and ".join(dict.fromkeys(each.relaxation for each in over))
    yield Relaxation(f"if you {text}"), replace(pins, unlimited_memories=lifted)


def _other_rules(pins: Pins, conflicts: Sequence[Conflict]) -> Attempts:
    """Rules that the scope was solved without already (:mod:`warpwright.solver.ascend.conflicts`)."""
    for each in conflicts:
        if each.family != MEMORY and each.relaxation:
            yield Relaxation(f"with {each.relaxation}"), None
