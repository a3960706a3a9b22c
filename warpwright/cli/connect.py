"""The client that a command uses: of a server, or of the service in this process."""

from dataclasses import replace

from warpwright.client import Client
from warpwright.extras import can_tune, needs_service, needs_tuning
from warpwright.service.settings import Settings

__all__ = ["check_tuning", "client_of"]

INSTEAD = "name a server that has it with --server"


def check_tuning(server: str | None) -> None:
    """Returns when tunings can be asked for: on ``server``, or on this machine without one.

    Raises:
        ExtraMissing: this machine cannot tune.
    """
    if not server:
        needs_tuning(Settings.from_environment(), "tuning on this machine", instead=INSTEAD)


def client_of(server: str | None, token: str | None) -> Client:
    """A client of ``server``; without one, of the service inside this process.

    Raises:
        ExtraMissing: there is no service inside this process.
        WarpwrightError: the data folder or its database cannot be used.
    """
    if server:
        return Client(server, token=token)
    settings = Settings.from_environment()
    needs_service(settings, "the service in this process", instead=INSTEAD)
    from warpwright.embedded import embedded_client

    # Jobs that an earlier command left behind wait for one that can do them.
    return embedded_client(settings if can_tune(settings) else replace(settings, job_slots=0))
