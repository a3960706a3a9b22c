"""Nobody who reads the log: a line is lost, the work goes on."""

import io
import logging
import os
from collections.abc import Iterator

import pytest
import structlog

from warpwright.service import logs


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = structlog.get_config()
    handlers = {name: list(logging.getLogger(name).handlers) for name in logs.STANDARD}
    yield
    structlog.configure(**before)
    for name, kept in handlers.items():
        logging.getLogger(name).handlers = kept


@pytest.mark.parametrize("log_format", ["console", "json"])
def test_a_closed_stream_loses_lines_and_raises_nothing(log_format: str) -> None:
    stream = io.StringIO()
    logs.configure(log_format, stream=stream)
    structlog.get_logger().info("seen")
    assert "seen" in stream.getvalue()
    stream.close()
    structlog.get_logger().info("lost")
    logging.getLogger("warpwright.lowering").warning("lost too")


def test_a_pipe_without_a_reader_raises_nothing() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", buffering=1) as stream:
        logs.configure("json", stream=stream)
        structlog.get_logger().info("lost", text="x" * 70_000)
        with pytest.raises(BrokenPipeError):
            stream.flush()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # so that closing can write what is left
        os.close(nowhere)
