"""Structured logs: one event a line, with the trace id of the request that caused it, also in jobs and children."""

import logging
import sys
from typing import TextIO

import structlog

__all__ = ["configure"]

STANDARD = ("lowering", "solver")
"""Packages of ours that log by the standard library: they run in children too, and know nothing of the service."""


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
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info if log_format == "json" else _as_it_is,
    ]
    _standard_loggers([*shared, structlog.stdlib.ExtraAdder()], renderer, level, stream or sys.stderr)
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(stream or sys.stderr),
        cache_logger_on_first_use=False,
    )


def _standard_loggers(
    processors: list[structlog.typing.Processor], renderer: structlog.typing.Processor, level: int, stream: TextIO
) -> None:
    """Lines of ``lowering`` and of its children come through the standard library, and look like all others."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=processors,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    for name in STANDARD:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False


def _as_it_is(
    logger: structlog.typing.WrappedLogger, name: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """The console renderer formats tracebacks itself."""
    return event
