"""``warpwright serve``: the HTTP service in the foreground, until Ctrl-C or SIGTERM."""

import contextlib
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from socket import socket
from types import FrameType

import structlog
import uvicorn

from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.failures import in_the_foreground
from warpwright.service.app import create_app
from warpwright.service.settings import Settings
from warpwright.tuning import telemetry

__all__ = ["run_serve"]

log = structlog.get_logger(__name__)


def run_serve(host: str | None, port: int | None, data: Path | None, jobs: int | None) -> ExitCode:
    """Serves until it is stopped; options override ``WARPWRIGHT_*`` variables.

    Raises:
        SettingsError: a variable does not parse.
        TokensMissing: reachable from other machines, and there is no token.
        Unavailable: the database or the data folder cannot be used.
    """
    settings = Settings.from_environment()
    settings = replace(
        settings,
        host=host if host is not None else settings.host,
        port=port if port is not None else settings.port,
        data=data if data is not None else settings.data,
        job_slots=jobs if jobs is not None else settings.job_slots,
    )
    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    words = f"Warpwright on http://{shown}:{settings.port} (data in {settings.data})"
    return in_the_foreground(settings.log_format, words, lambda begun: _serve(settings, begun))


class _Server(uvicorn.Server):
    """Wakes waiting requests when it is asked to stop: otherwise it would wait for them and then cut them off."""

    def __init__(self, config: uvicorn.Config, begun: Callable[[], None]) -> None:
        super().__init__(config)
        self._begun = begun

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Starts; says so when requests are answered."""
        await super().startup(sockets)
        if self.started:
            self._begun()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """SIGTERM or Ctrl-C."""
        if (context := getattr(self.config.app.state, "context", None)) is not None:  # type: ignore[union-attr]  # ours
            context.bulletin.closing = True
        super().handle_exit(sig, frame)


def _serve(settings: Settings, begun: Callable[[], None]) -> ExitCode:
    telemetry.configure("warpwright")
    app = create_app(settings)
    # A failed start is reported once, by the command line.
    logging.getLogger("uvicorn.error").addFilter(lambda record: not hasattr(app.state, "failure"))
    server = _Server(
        uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            log_config=None,
            log_level="warning",
            timeout_graceful_shutdown=max(1, round(settings.shutdown_seconds)),
        ),
        begun,
    )
    # uvicorn's exit code of a failed start has another meaning here.
    with contextlib.suppress(SystemExit):
        server.run()
    if (failure := getattr(app.state, "failure", None)) is not None:
        raise failure
    return ExitCode.OK if server.started else ExitCode.FAULT
