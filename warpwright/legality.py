"""Legality of a schedule of either kind, by the verifier that knows its rules. No engine is involved."""

from solver.domain import HardwareProfile, KernelGraph, NotApplicable, Schedule, Violation, WarpSchedule
from solver.verify import verify

__all__ = ["violations_of"]


def violations_of(graph: KernelGraph, profile: HardwareProfile, schedule: Schedule) -> tuple[Violation, ...]:
    """Every rule that the schedule breaks; empty when it is legal.

    Raises:
        NotApplicable: the kernel, the device and the schedule are not of one family.
    """
    if not isinstance(schedule, WarpSchedule):
        raise NotApplicable(
            f"a buffer schedule does not fit {profile.name}, whose kernels take warp schedules", code="schedule-family"
        )
    return verify(graph, profile, schedule)
