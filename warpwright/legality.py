"""Whether a schedule of either kind is legal, by the verifier that knows its rules. No engine is involved."""

from warpwright.solver.ascend.verify import verify_buffers
from warpwright.solver.domain import (
    BufferSchedule,
    HardwareProfile,
    KernelGraph,
    NotApplicable,
    Schedule,
    TargetFamily,
    Violation,
    WarpSchedule,
)
from warpwright.solver.warp.verify import verify

__all__ = ["violations_of"]


def violations_of(graph: KernelGraph, profile: HardwareProfile, schedule: Schedule) -> tuple[Violation, ...]:
    """Every rule that the schedule breaks; empty when it is legal.

    Raises:
        NotApplicable: the kernel, the device and the schedule do not belong together.
    """
    wanted = WarpSchedule if profile.family is TargetFamily.CUDA else BufferSchedule
    if not isinstance(schedule, wanted):
        raise NotApplicable(
            f"kernels of {profile.name} take a {wanted.__name__}, this is a {type(schedule).__name__}",
            code="schedule-family",
        )
    if isinstance(schedule, BufferSchedule):
        return verify_buffers(graph, profile, schedule)
    return verify(graph, profile, schedule)
