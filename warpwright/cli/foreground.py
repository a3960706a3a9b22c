"""Commands that run until they are ended, with a log of their own: ``serve`` and ``worker``."""

import os
import sys
from collections.abc import Callable

import structlog

from warpwright.cli.exit_codes import ExitCode, exit_code_of
from warpwright.service.logs import configure
from warpwright.solver.domain.errors import WarpwrightError

__all__ = ["in_the_foreground"]

PRIVATE = 0o077
"""What a server or a worker writes, its owner alone may read: kernels are secrets of their authors."""
log = structlog.get_logger(__name__)


def in_the_foreground(log_format: str, words: str, work: Callable[[Callable[[], None]], ExitCode]) -> ExitCode:
    """Runs a server or a worker, which writes a log: with ``json`` its first and last messages are JSON lines too.

    ``work`` calls the function that it gets when it has begun: ``words`` are printed then, and not before.
    """
    os.umask(PRIVATE)
    configure(log_format, whole_process=True)
    if log_format != "json":
        return work(lambda: print(f"{words}; press Ctrl-C to stop", file=sys.stderr, flush=True))  # noqa: T201 - for the user
    try:
        return work(lambda: log.info("begins", told=words))
    except WarpwrightError as error:
        log.error("ended", code=error.code, told=error.message, place=error.place)
        return exit_code_of(error)
    except Exception:
        log.exception("ended", code="fault")
        return ExitCode.FAULT
