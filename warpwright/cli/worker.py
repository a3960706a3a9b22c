"""``warpwright worker``: takes tasks that it can do from the queues until it is stopped."""

import os
from collections.abc import Callable

from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.failures import in_the_foreground
from warpwright.service.settings import Settings
from warpwright.solver.domain.errors import WarpwrightError

__all__ = ["run_worker_command"]


def run_worker_command(capabilities: str | None, slots: int, name: str, broker: str | None) -> ExitCode:
    """Works until SIGTERM or Ctrl-C.

    Raises:
        UnknownCapability: there is no queue for a capability. DeviceMissing: it names a device that is not present.
        SettingsError: an environment variable does not parse.
        WarpwrightError: ``extra-missing`` without the extra ``cluster``.
    """
    try:
        from warpwright.tuning.task_runners.queues import QUEUES
        from warpwright.tuning.workers.celery_worker import run_worker
    except ModuleNotFoundError as error:
        message = f"a worker needs the extra 'cluster' (pip install 'warpwright[cluster]'): {error}"
        raise WarpwrightError(message, code="extra-missing") from error
    settings = Settings.from_environment()
    wanted = [part.strip() for part in capabilities.split(",") if part.strip()] if capabilities else list(QUEUES)

    def work(begun: Callable[[], None]) -> ExitCode:
        begun()
        run_worker(
            broker or settings.broker_url,
            wanted,
            slots=slots,
            name=name,
            service_url=settings.service_url,
            token=os.environ.get("WARPWRIGHT_TOKEN", ""),
        )
        return ExitCode.OK

    return in_the_foreground(settings.log_format, f"Warpwright worker for {', '.join(wanted)}", work)
