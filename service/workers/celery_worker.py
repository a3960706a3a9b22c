"""Starts a Celery worker of this machine: prefork, the queues of its capabilities, nothing else."""

import os
from collections.abc import Sequence

from service.engines.celery_app import QUEUES, make_celery
from solver.domain import WarpwrightError

__all__ = ["UnknownCapability", "run_worker"]


class UnknownCapability(WarpwrightError):
    """There is no queue of this name."""

    code = "capability-unknown"


def run_worker(broker_url: str, capabilities: Sequence[str], *, slots: int = 1, name: str = "") -> None:
    """Work until told to stop; SIGTERM lets running tasks end, SIGKILL loses nothing.

    Raises:
        UnknownCapability: a capability is none of ``QUEUES``.
    """
    for capability in capabilities:
        if capability not in QUEUES:
            raise UnknownCapability(f"no capability {capability!r}; there are {', '.join(QUEUES)}", place=capability)
    # Worker processes of a pool are forked before any task, so nothing heavy may be imported by then.
    make_celery(broker_url).worker_main(
        [
            "worker",
            "--pool=prefork",
            f"--concurrency={slots}",
            f"--queues={','.join(capabilities)}",
            f"--hostname={name or 'warpwright-' + str(os.getpid())}@%h",
            "--loglevel=WARNING",
            "--without-gossip",
            "--without-mingle",
        ]
    )
