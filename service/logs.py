"""Structured logs: one event a line, with the trace id of the request that caused it, also in jobs and children."""

import logging
import sys
from typing import TextIO

import structlog

__all__ = ["configure"]


def configure(log_format: str, *, level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Set structlog up for this process: ``console`` for people, ``json`` for machines. Logs go to stderr."""
    renderer: structlog.typing.Processor
    if log_format == "json":
        renderer = structlog.processors.JSONRenderer()
    else:
        # Plain tracebacks: the pretty ones print local variables, which takes seconds and shows secrets.
        renderer = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info if log_format == "json" else _as_it_is,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(stream or sys.stderr),
        cache_logger_on_first_use=False,
    )


def _as_it_is(
    logger: structlog.typing.WrappedLogger, name: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """The console renderer formats tracebacks itself."""
    return event
