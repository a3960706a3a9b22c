"""``warpwright serve``: the HTTP service in the foreground, until Ctrl-C or SIGTERM."""

from dataclasses import replace
from pathlib import Path

from warpwright.cli.exit_codes import ExitCode
from warpwright.extras import needs_service, needs_tuning
from warpwright.service.settings import Settings

__all__ = ["run_serve"]

INSTEAD = (
    "leave jobs to workers (WARPWRIGHT_TASK_RUNNER=celery) or where they are (--jobs 0), for which 'warpwright[serve]'"
    " is enough"
)


def run_serve(host: str | None, port: int | None, data: Path | None, jobs: int | None) -> ExitCode:
    """Serves until it is stopped; options override ``WARPWRIGHT_*`` variables.

    Raises:
        SettingsError: a variable does not parse.
        ExtraMissing: the service, or what works on its jobs, is not installed.
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
    if settings.job_slots > 0:
        needs_tuning(settings, "a service that works on jobs", instead=INSTEAD)
    else:
        needs_service(settings, "the service")
    from warpwright.cli.foreground import in_the_foreground
    from warpwright.cli.server import serve_until_told

    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    words = f"Warpwright on http://{shown}:{settings.port} (data in {settings.data})"
    return in_the_foreground(settings.log_format, words, lambda begun: serve_until_told(settings, begun))
