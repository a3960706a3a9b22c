"""The schedule of a proposed candidate, which is one of warps."""

from warpwright.solver.domain import Candidate, WarpSchedule

__all__ = ["warp_schedule"]


def warp_schedule(candidate: Candidate) -> WarpSchedule:
    assert isinstance(candidate.schedule, WarpSchedule)
    return candidate.schedule
