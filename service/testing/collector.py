"""A collector of traces for tests: takes what an OTLP exporter sends over HTTP, from any number of processes."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

__all__ = ["CollectedSpan", "TraceCollector"]


@dataclass(frozen=True, slots=True)
class CollectedSpan:
    """One span as it arrived; ids in hex, ``parent`` empty for a root."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, Any]


class TraceCollector:
    """Use as a context manager; ``environment`` makes a process send its traces here."""

    def __init__(self) -> None:
        self.spans: list[CollectedSpan] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._take))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        place = f"http://127.0.0.1:{self._server.server_port}"
        self.environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": place, "OTEL_BSP_SCHEDULE_DELAY": "100"}

    def named(self, name: str, trace: str) -> list[CollectedSpan]:
        """Spans of this name in this trace."""
        return [span for span in self.spans if (span.name, span.trace) == (name, trace)]

    def wait(self, found: Callable[[], bool], seconds: float = 20.0) -> bool:
        """Wait until something has arrived; False if nothing does."""
        until = time.monotonic() + seconds
        while not found() and time.monotonic() < until:
            time.sleep(0.02)
        return found()

    def _take(self, body: bytes) -> None:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = _attributes(resource.resource)["service.name"]
            self.spans += [
                CollectedSpan(
                    service,
                    span.name,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    _attributes(span),
                )
                for scope in resource.scope_spans
                for span in scope.spans
            ]

    def __enter__(self) -> "TraceCollector":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def _attributes(holder: Any) -> dict[str, Any]:
    return {each.key: each.value.string_value or each.value.int_value for each in holder.attributes}


def _handler(take: Callable[[bytes], None]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            import gzip

            body = self.rfile.read(int(self.headers["content-length"]))
            take(gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Suppresses the server's log."""

    return Handler
