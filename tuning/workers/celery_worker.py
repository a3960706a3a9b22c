"""Starts a Celery worker of this machine: prefork, the queues of its capabilities, a heartbeat, nothing else."""

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from celery import signals
from redis.exceptions import RedisError

from warpwright.solver.domain import TargetFamily, WarpwrightError
from warpwright.tuning import telemetry
from warpwright.tuning.compilers import compilers_here
from warpwright.tuning.task_runners.celery_app import VISIBILITY_SECONDS, ledger_of, make_celery
from warpwright.tuning.task_runners.ledger import SILENCE_SECONDS, Ledger
from warpwright.tuning.task_runners.queues import checked
from warpwright.tuning.workers.devices import devices_for
from warpwright.tuning.workers.duty import Duty
from warpwright.tuning.workers.heartbeat import BEAT_SECONDS, Heartbeat

__all__ = ["CompilersDiffer", "run_worker"]

log = structlog.get_logger(__name__)

BROKER_WAIT_SECONDS = 1.0
COMPILES = {"compile.cuda": TargetFamily.CUDA, "compile.ascend": TargetFamily.ASCEND}


class CompilersDiffer(WarpwrightError):
    """Live workers of this capability have other compilers; stop them first, because results name one set of compilers."""

    code = "compilers-differ"


def run_worker(
    broker_url: str,
    capabilities: Sequence[str],
    *,
    slots: int = 1,
    name: str = "",
    service_url: str = "",
    token: str = "",
    devices: Sequence[Mapping[str, Any]] | None = None,
    silence_seconds: int = SILENCE_SECONDS,
    visibility_seconds: int = VISIBILITY_SECONDS,
    heartbeat_seconds: float = BEAT_SECONDS,
) -> None:
    """Work until stopped; SIGTERM lets running tasks end, SIGKILL loses nothing.

    Args:
        broker_url: Redis.
        capabilities: members of ``QUEUES``, ``measure.<profile>``, or ``measure`` for every device of this machine.
        slots: tasks that run at the same time.
        name: shown to people; the host's name is added.
        service_url: where reports and files go; without it there are no reports, and files go where the task says.
        token: of the service, scope ``work``.
        devices: options of the devices to use instead of those that the operating system shows.
        silence_seconds: as in the Celery runner.
        heartbeat_seconds: interval of reports to the service.
        visibility_seconds: after this time Redis delivers an unacknowledged task again.

    Raises:
        UnknownCapability: there is no such capability. DeviceMissing: this machine has no device of that profile.
        CompilersDiffer: live workers have others.
    """
    wanted, found = devices_for([each for each in capabilities if each], devices)
    capabilities = checked(wanted)
    duty = Duty({capability: device.options for capability, device in found.items()}, service_url, token)
    app = make_celery(broker_url, duty, silence_seconds=silence_seconds, visibility_seconds=visibility_seconds)
    ledger = ledger_of(app, silence_seconds)
    _wait_for_broker(ledger)
    compilers = {each: compilers_here(family) for each, family in COMPILES.items() if each in capabilities}
    for capability, here in compilers.items():
        if ledger.offered(capability) and (there := ledger.compilers(capability)) != here:
            message = f"workers of {capability} have {there!r}, this machine has {here!r}: results would be mixed"
            raise CompilersDiffer(message, place=capability)
    heartbeat = Heartbeat(
        app, ledger, capabilities, found, compilers, service_url=service_url, token=token, seconds=heartbeat_seconds
    )
    # Signals keep weak references by default: these objects live as long as this call.
    signals.celeryd_after_setup.connect(heartbeat.before_work, weak=False)
    signals.worker_ready.connect(heartbeat.start, weak=False)
    signals.worker_shutting_down.connect(heartbeat.stop, weak=False)
    # Exporters have threads, so each process of the pool makes its own after the fork.
    signals.worker_process_init.connect(lambda **_: telemetry.configure("warpwright-worker"), weak=False)
    signals.worker_process_shutdown.connect(lambda **_: duty.close(), weak=False)
    signals.worker_process_shutdown.connect(lambda **_: telemetry.flush(), weak=False)
    # Celery must not configure logging: this process has its own.
    signals.setup_logging.connect(lambda **_: None, weak=False)
    # Worker processes of a pool are forked before any task, so nothing heavy may be imported before.
    app.start(
        [
            "--quiet",  # no banner on standard output
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


def _wait_for_broker(ledger: Ledger) -> None:
    """A worker may start before its broker: its first question must not end it, just as Celery's later ones do not."""
    told = ""
    while True:
        try:
            return ledger.ping()
        except RedisError as error:
            if str(error) != told:
                told = str(error)
                log.warning("broker-away", error=told[:200])
            time.sleep(BROKER_WAIT_SECONDS)
