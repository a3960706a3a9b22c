"""``warpwright workers``: lists the workers of a service, drains one, or resumes it."""

import json
import sys

from rich.table import Table
from rich.text import Text

from warpwright.cli.connect import client_of
from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.render import console
from warpwright.service.workers.schemas import WorkerView

__all__ = ["drain_worker", "list_workers"]


def list_workers(server: str | None, token: str | None, *, as_json: bool) -> ExitCode:
    """Lists all workers that ever reported.

    Raises:
        WarpwrightError: the service refused, or does not answer.
    """
    with client_of(server, token) as client:
        found = list(client.workers())
    if as_json:
        sys.stdout.write(json.dumps({"workers": [worker.model_dump(mode="json") for worker in found]}) + "\n")
        return ExitCode.OK
    table = Table("worker", "state", "takes", "devices", "tasks", "last heartbeat", "last error", header_style="bold")
    for worker in found:
        cells = (
            worker.id,
            _state(worker),
            ", ".join(worker.capabilities),
            ", ".join(str(device.get("name", "")) for device in worker.devices),
            str(worker.tasks_done),
            f"{worker.heartbeat_at:%Y-%m-%d %H:%M:%S}",
            str((worker.last_error or {}).get("message", ""))[:80],
        )
        table.add_row(*map(Text, cells))
    console().print(table)
    return ExitCode.OK


def drain_worker(name: str, server: str | None, token: str | None, *, on: bool) -> ExitCode:
    """Drains a worker, or resumes it.

    Raises:
        WarpwrightError: ``worker-unknown``.
    """
    with client_of(server, token) as client:
        worker = client.drain(name, on=on)
    sys.stdout.write(f"{worker.id} is {_state(worker)}\n")
    return ExitCode.OK


def _state(worker: WorkerView) -> str:
    if not worker.alive:
        return "silent"
    if worker.draining:
        return "draining"
    return "working" if worker.healthy else "unhealthy"
