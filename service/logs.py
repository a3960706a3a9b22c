"""Structured logs: one event per line, with the trace id of the request that caused it, also in jobs and children."""

import contextlib
import logging
import sys
from typing import TextIO, cast

import structlog

__all__ = ["configure"]

STANDARD = ("warpwright",)
"""Warpwright's packages that log by the standard library: they run in children too, and do not know the service."""


def configure(
    log_format: str, *, level: int = logging.INFO, stream: TextIO | None = None, whole_process: bool = False
) -> None:
    """Set structlog up for this process: ``console`` for people, ``json`` for machines. Logs go to stderr.

    ``whole_process``: warnings of libraries (uvicorn, Celery, exporters, Python's own) become such lines too. For a process that
    belongs to Warpwright; inside a user's program their logging stays theirs.
    """
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
    lines = cast(TextIO, _Unbreakable(stream or sys.stderr))
    handler = _standard_handler([*shared, structlog.stdlib.ExtraAdder()], renderer, lines)
    for name in STANDARD:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False
    if whole_process:
        logging.getLogger().handlers = [handler]
        logging.getLogger().setLevel(logging.WARNING)
        logging.captureWarnings(True)
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(lines),
        cache_logger_on_first_use=False,
    )


class _Unbreakable:
    """A stream whose reader may go away: ``serve 2>&1 | head`` closes the pipe, and a lost line must not end an attempt."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes, or drops the text if nobody reads any more."""
        with contextlib.suppress(OSError, ValueError):  # ValueError: the file is closed
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flushes, if there is still something to flush."""
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()


def _standard_handler(
    processors: list[structlog.typing.Processor], renderer: structlog.typing.Processor, stream: TextIO
) -> logging.Handler:
    """Formats lines from the standard library (of ``lowering`` and of children) like all others."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=processors,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    return handler


def _as_it_is(
    logger: structlog.typing.WrappedLogger, name: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """The console renderer formats tracebacks itself."""
    return event
