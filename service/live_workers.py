"""Who waits for work that no live worker can do is told at once; jobs that are queued already wait (docs/decisions/0121)."""

from collections.abc import Sequence

from warpwright.service.errors import Unavailable
from warpwright.solver.domain import HardwareProfile, TargetFamily
from warpwright.tuning.task_runners.queues import QUEUES
from warpwright.tuning.toolchain import Toolchain

__all__ = ["CAPABILITIES", "READING", "SOLVING", "require_workers", "tuning", "workers_away"]

READING = ("frontend",)
SOLVING = ("frontend", "solve")
CAPABILITIES = QUEUES
"""Everything that some job needs, measuring aside: without a device a job ends with forecasts."""
RETRY_SECONDS = 10
"""A worker that starts offers itself within two heartbeats."""


def tuning(profile: HardwareProfile) -> tuple[str, ...]:
    """What a job for this device needs."""
    return (*SOLVING, "compile.cuda" if profile.family is TargetFamily.CUDA else "compile.ascend")


def workers_away(toolchain: Toolchain, needed: Sequence[str]) -> Unavailable | None:
    """The refusal of what needs these capabilities; None if all of them are offered, or nobody can know."""
    gone = toolchain.missing(needed)
    if not gone:
        return None
    message = f"no live worker can do {' or '.join(gone)}; 'warpwright workers list' shows those that are known"
    return Unavailable(message, code="workers-away", headers={"Retry-After": str(RETRY_SECONDS)})


def require_workers(toolchain: Toolchain, needed: Sequence[str]) -> None:
    """Refuse at once what would wait for a worker in vain.

    Raises:
        Unavailable: ``workers-away``.
    """
    refusal = workers_away(toolchain, needed)
    if refusal is not None:
        raise refusal
