"""``warpwright serve``: the HTTP service in the foreground, until Ctrl-C or SIGTERM."""

import sys
from dataclasses import replace
from pathlib import Path

import uvicorn

from service import telemetry
from service.app import create_app
from service.logs import configure
from service.settings import Settings
from warpwright.cli.exit_codes import ExitCode

__all__ = ["run_serve"]


def run_serve(host: str | None, port: int | None, data: Path | None, jobs: int | None) -> ExitCode:
    """Serves until it is told to stop; options win over ``WARPWRIGHT_*`` variables.

    Raises:
        SettingsError: a variable does not parse.
        TokensMissing: reachable from elsewhere, and no token was made.
    """
    settings = Settings.from_environment()
    settings = replace(
        settings,
        host=host if host is not None else settings.host,
        port=port if port is not None else settings.port,
        data=data if data is not None else settings.data,
        job_slots=jobs if jobs is not None else settings.job_slots,
    )
    configure(settings.log_format)
    telemetry.configure("warpwright")
    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    sys.stderr.write(f"Warpwright on http://{shown}:{settings.port} (data in {settings.data}); Ctrl-C ends it\n")
    server = uvicorn.Server(
        uvicorn.Config(
            create_app(settings),
            host=settings.host,
            port=settings.port,
            log_level="warning",
            timeout_graceful_shutdown=max(1, round(settings.shutdown_seconds)),
        )
    )
    server.run()
    return ExitCode.OK if server.started else ExitCode.FAULT
