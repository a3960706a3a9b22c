"""The server of ``warpwright serve``. Imports the whole service."""

import contextlib
import logging
from collections.abc import Callable
from socket import socket
from types import FrameType

import uvicorn

from warpwright.cli.exit_codes import ExitCode
from warpwright.service.app import create_app
from warpwright.service.settings import Settings
from warpwright.tuning import telemetry

__all__ = ["serve_until_told"]


class _Server(uvicorn.Server):
    """Wakes waiting requests when it is asked to stop: otherwise it would wait for them and then cut them off."""

    def __init__(self, config: uvicorn.Config, begun: Callable[[], None]) -> None:
        super().__init__(config)
        self._begun = begun

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Starts; reports when requests are answered."""
        await super().startup(sockets)
        if self.started:
            self._begun()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """SIGTERM or Ctrl-C."""
        if (context := getattr(self.config.app.state, "context", None)) is not None:  # type: ignore[union-attr]  # ours
            context.bulletin.closing = True
        super().handle_exit(sig, frame)


def serve_until_told(settings: Settings, begun: Callable[[], None]) -> ExitCode:
    """Serves until SIGTERM or Ctrl-C; calls ``begun`` when requests are answered. A failed start is raised."""
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
