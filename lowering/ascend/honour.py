"""The lowered kernel compared with the plan: version counts read back from the TIR, event flags simulated."""

from typing import Protocol

from warpwright.lowering.ascend.flags import flag_faults
from warpwright.lowering.compile.result import NotHonoured
from warpwright.solver.domain import BufferSchedule

__all__ = ["Shown", "differences"]


class Shown(Protocol):
    """The part of an observed lowering that is compared."""

    versions: dict[str, int]
    source: str


def differences(schedule: BufferSchedule, shown: Shown) -> tuple[NotHonoured, ...]:
    """Buffers whose count in ``tl.buffer_versions_map`` after AutoSchedule differs from the plan.

    A buffer that is missing there has one version: TileLang lists only versioned buffers.
    """
    gaps = []
    for buffer in schedule.buffers:
        found = shown.versions.get(buffer.buffer, 1)
        if found != buffer.versions:
            gaps.append(NotHonoured(f"versions of {buffer.buffer}", str(buffer.versions), str(found)))
    known = {buffer.buffer for buffer in schedule.buffers}
    gaps += [
        NotHonoured(f"versions of {name}", "not planned", str(count))
        for name, count in sorted(shown.versions.items())
        if name not in known and count > 1
    ]
    gaps += [
        NotHonoured("event flags", "a set before every wait, and none left over", f)
        for f in flag_faults(shown.source) or ()
    ]
    return tuple(gaps)
